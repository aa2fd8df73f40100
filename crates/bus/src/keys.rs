//! The names of all keys on the bus.
//!
//! In: the name that the hosts of a run have in common, the id of the run. Out: keys. Limits: they begin with `plimsoll:`, so that an
//! account of the server can be limited to them.

use crate::BusError;

/// The longest name, in characters.
const NAME_CHARS_MAX: usize = 100;

/// Checks that `name`, which `what` describes, can be part of a key, a file name and a report.
pub fn check_name(what: &str, name: &str) -> Result<(), BusError> {
    match name.len() {
        1..=NAME_CHARS_MAX
            if name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c)) && !name.starts_with('.') =>
        {
            Ok(())
        }
        _ => Err(BusError::Usage(format!(
            "{what} cannot be `{}`; use letters, digits, `.`, `_` and `-`, at most {NAME_CHARS_MAX}, and no `.` at the beginning",
            name.escape_debug()
        ))),
    }
}

/// The keys of hosts that belong together.
#[derive(Clone, Debug)]
pub struct BusKeys {
    prefix: String,
}

impl BusKeys {
    /// The keys of the hosts that have `name` in common.
    pub fn new(name: &str) -> Result<BusKeys, BusError> {
        check_name("--bus-name", name)?;
        Ok(BusKeys { prefix: format!("plimsoll:{name}") })
    }

    /// The lease of the coordinator; its value describes the run.
    pub fn lead(&self) -> String {
        format!("{}:lead", self.prefix)
    }

    /// The set of the names of all agents.
    pub fn agents(&self) -> String {
        format!("{}:agents", self.prefix)
    }

    /// The lease of the agent `name`; its value describes the agent.
    pub fn agent(&self, name: &str) -> String {
        format!("{}:agent:{name}", self.prefix)
    }

    /// The stream of orders of `run`.
    pub fn orders(&self, run: &str) -> String {
        format!("{}:{run}:ctl", self.prefix)
    }

    /// The stream of all that the agent `name` reports to `run`; an earlier process of that name has another `incarnation`.
    pub fn reports(&self, run: &str, name: &str, incarnation: &str) -> String {
        format!("{}:{run}:row:{name}:{incarnation}", self.prefix)
    }

    /// The stream of the reports that are sent again because of request `number`.
    pub fn resent(&self, run: &str, name: &str, incarnation: &str, number: u64) -> String {
        format!("{}:{run}:again:{name}:{incarnation}:{number}", self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_could_be_another_key_or_path_is_refused() {
        assert!(["c1", "db-1.example_x"].iter().all(|name| check_name("--name", name).is_ok()));
        let long = "x".repeat(101);
        assert!(["", "a:b", "a/b", "..", "a b", "ä", &long].iter().all(|name| check_name("--name", name).is_err()));
    }
}
