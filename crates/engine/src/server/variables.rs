//! Variables of a private server that a plan sets, in addition to those that plimsoll sets itself.
//!
//! In: parameters such as `mariadb.innodb_purge_threads`, what an engine keeps to itself. Out: names and values for the server's
//! command line, or why not. Limits: names are checked, and of values that they hold no path: nothing in a plan can lead the
//! server out of its directory, to a network, to a program or to a library. Whether a value is valid, the server decides.

use host::error::TargetError;
use model::{Fact, Params};
use std::fmt;

/// What a server's variables are called in plans and facts, and which of them a plan may not set.
pub struct VariableRules {
    /// The word before the dot.
    pub server: &'static str,
    /// Variables that follow from a parameter of the engine, with that parameter, in lists that servers may share.
    pub by_parameter: &'static [&'static [(&'static str, &'static str)]],
    /// Variables that lead out of the server's directory, or that the measurement depends on; a `*` matches any beginning or end.
    pub closed: &'static [&'static str],
}

/// Why a plan may not set a variable. As text: the words that follow the variable's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VariableRefusal {
    /// It follows from this parameter. With two sources of one value, the facts of a run would name the one that did not apply.
    FollowsFrom(&'static str),
    /// It leads out of the server's directory, or the measurement depends on it.
    Closed,
    /// It is a password, which a run file would keep.
    Secret,
    /// Its value is a path.
    HoldsPath(String),
}

/// The variables that a plan sets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerVariables(Vec<(String, String)>);

impl VariableRules {
    /// The variables that `params` set.
    pub fn variables_in(&self, params: &Params) -> ServerVariables {
        let own = params.0.iter().filter_map(|(key, value)| {
            let name = key.strip_prefix(self.server)?.strip_prefix('.')?;
            Some((name.to_owned(), value.to_string()))
        });
        ServerVariables(own.collect())
    }

    /// Refuses those that a plan may not set.
    pub fn check_allowed(&self, variables: &ServerVariables) -> Result<(), TargetError> {
        variables.0.iter().try_for_each(|(name, value)| match self.refusal_of(name, value) {
            Some(why) => Err(TargetError::Unsupported(format!("`{}.{name}` {why}", self.server))),
            None => Ok(()),
        })
    }

    /// Why the variable `name` may not be `value`; `None` if it may. Servers take the beginning of a name for the name if it is the only
    /// one that begins so.
    pub fn refusal_of(&self, name: &str, value: &str) -> Option<VariableRefusal> {
        let mut followers = self.by_parameter.iter().copied().flatten();
        let parameter = followers.find(|(own, _)| own.starts_with(name)).map(|(_, parameter)| *parameter);
        let is_closed = || self.closed.iter().any(|pattern| matches_pattern(pattern, name));
        match parameter {
            Some(parameter) => Some(VariableRefusal::FollowsFrom(parameter)),
            None if is_closed() => Some(VariableRefusal::Closed),
            None if is_secret(name) => Some(VariableRefusal::Secret),
            None if value.contains('/') || value.contains("..") => Some(VariableRefusal::HoldsPath(value.to_owned())),
            None => None,
        }
    }

    /// As facts, each with the value that `read_back` returns.
    pub fn facts_of(&self, variables: &ServerVariables, read_back: impl Fn(&str) -> Option<String>) -> Vec<Fact> {
        let named = variables.0.iter().map(|(name, _)| (format!("{}.{name}", self.server), read_back(name)));
        named.filter_map(|(name, value)| Some(Fact::new(name, value?))).collect()
    }

    /// What the server made other values of, for the user.
    pub fn warnings_of(&self, variables: &ServerVariables, read_back: impl Fn(&str) -> Option<String>) -> Vec<String> {
        let warnings = variables.0.iter().filter_map(|(name, asked)| {
            // Servers silently round sizes to their block, and cut what is above their limit.
            let found = read_back(name).filter(|found| !are_same(asked, found))?;
            Some(format!("{}.{name} = `{asked}` was requested, but the server uses `{found}`", self.server))
        });
        warnings.collect()
    }

    /// Refuses a variable that the running server does not know by this name.
    pub fn check_known(
        &self,
        variables: &ServerVariables,
        read_back: impl Fn(&str) -> Option<String>,
    ) -> Result<(), TargetError> {
        match variables.0.iter().find(|(name, _)| read_back(name).is_none()) {
            Some((name, _)) => {
                Err(TargetError::Unsupported(format!("`{}.{name}`: this server has no such variable", self.server)))
            }
            None => Ok(()),
        }
    }

    /// A server that did not start because of a variable names it in its error: then the plan is wrong, and not the server.
    pub fn blame(&self, variables: &ServerVariables, error: TargetError) -> TargetError {
        let text = error.to_string();
        // Command lines spell names with dashes, and so do some messages.
        let named = variables.0.iter().find(|(name, _)| text.contains(name) || text.contains(&name.replace('_', "-")));
        match named {
            Some((name, value)) => {
                TargetError::Unsupported(format!("`{}.{name}` = `{value}` was refused: {text}", self.server))
            }
            None => self.add_suspects(variables, error),
        }
    }

    /// A server may fail because of a variable and not name it: then the error lists all.
    fn add_suspects(&self, variables: &ServerVariables, error: TargetError) -> TargetError {
        match error {
            TargetError::Failed(text) if !variables.is_empty() => {
                let set = variables.iter().map(|(name, _)| format!("`{}.{name}`", self.server));
                TargetError::Failed(format!("{text}; the plan sets {}", set.collect::<Vec<_>>().join(", ")))
            }
            other => other,
        }
    }
}

impl ServerVariables {
    /// Sets `name` if it is not set.
    pub fn set_unless_set(&mut self, name: &str, value: &str) {
        if !self.0.iter().any(|(known, _)| known == name) {
            self.0.push((name.to_owned(), value.to_owned()));
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The variables with their values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

impl fmt::Display for VariableRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            VariableRefusal::FollowsFrom(parameter) => write!(f, "follows from `{parameter}`: set that"),
            VariableRefusal::Closed => f.write_str(
                "cannot be set: it would let the server leave its directory, or the measurement depends on it",
            ),
            VariableRefusal::Secret => {
                f.write_str("cannot be set: it may be a password, and a run file keeps all values")
            }
            VariableRefusal::HoldsPath(value) => {
                write!(f, "cannot be `{value}`: a path of this machine does not belong in a plan")
            }
        }
    }
}

/// Whether the value of the variable `name` is a password.
fn is_secret(name: &str) -> bool {
    ["password", "passphrase", "secret"].iter().any(|word| name.ends_with(word))
}

fn matches_pattern(pattern: &str, name: &str) -> bool {
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(end), _) => name.ends_with(end),
        (None, Some(beginning)) => name.starts_with(beginning) || beginning.starts_with(name),
        (None, None) => pattern.starts_with(name),
    }
}

/// Whether a server writes the same value in its own way: `ON` for 1, `64MB` for 67108864.
fn are_same(asked: &str, found: &str) -> bool {
    plain_value(asked) == plain_value(found)
}

/// A value without the differences of spelling: `1` for `ON`, bytes for a size.
fn plain_value(text: &str) -> String {
    match text.to_ascii_lowercase().as_str() {
        "on" | "true" | "yes" => "1".to_owned(),
        "off" | "false" | "no" => "0".to_owned(),
        other => parse_amount(other).map_or(other.to_owned(), |amount| amount.to_string()),
    }
}

/// A number with the letter of a size behind it, in capitals or not.
fn parse_amount(text: &str) -> Option<f64> {
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match text[number.len()..].trim_end_matches('b') {
        "" => 1u64,
        "k" => 1 << 10,
        "m" => 1 << 20,
        "g" => 1 << 30,
        "t" => 1 << 40,
        _ => return None,
    };
    Some(number.parse::<f64>().ok()? * factor as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Value;

    const RULES: VariableRules = VariableRules {
        server: "maria",
        by_parameter: &[&[("innodb_buffer_pool_size", "cache")]],
        closed: &["datadir", "plugin_*", "*_command"],
    };

    fn set(pairs: &[(&str, &str)]) -> ServerVariables {
        let params = pairs.iter().map(|(name, value)| (name.to_string(), Value::Word(value.to_string())));
        RULES.variables_in(&Params(params.collect()))
    }

    #[test]
    fn only_the_variables_of_the_server_are_taken() {
        let found = set(&[("maria.a", "1"), ("cache", "2"), ("other.b", "3"), ("mariab", "4")]);
        assert_eq!(found.iter().collect::<Vec<_>>(), [("a", "1")]);
    }

    #[test]
    fn what_leads_out_of_the_directory_or_follows_from_a_parameter_is_refused_also_when_abbreviated() {
        let refusal = |name: &str, value| RULES.check_allowed(&set(&[(name, value)])).unwrap_err().to_string();
        for name in ["maria.datadir", "maria.datad", "maria.plugin_load", "maria.plug", "maria.archive_command"] {
            assert!(refusal(name, "1").contains("cannot be set"), "{name}");
        }
        assert!(refusal("maria.innodb_buffer_pool", "1").contains("follows from `cache`"));
        assert!(
            refusal("maria.x", "/etc").contains("a path of this machine") && refusal("maria.x", "..").contains("path")
        );
        RULES.check_allowed(&set(&[("maria.innodb_purge_threads", "4"), ("maria.cf_options", "a=b;c=4k")])).unwrap();
    }

    #[test]
    fn a_server_that_says_the_same_in_its_own_way_is_no_surprise() {
        for (asked, found) in [("1", "ON"), ("off", "OFF"), ("512M", "536870912"), ("64MB", "64MB"), ("0.50", "0.5")] {
            assert!(are_same(asked, found), "{asked} {found}");
        }
        let warnings = RULES.warnings_of(&set(&[("maria.capacity", "5")]), |_| Some("100".into()));
        assert_eq!(warnings, ["maria.capacity = `5` was requested, but the server uses `100`"]);
    }

    #[test]
    fn a_server_that_names_the_variable_blames_the_plan() {
        let variables = set(&[("maria.no_such", "1")]);
        let failed = |text: &str| RULES.blame(&variables, TargetError::Failed(text.into()));
        assert!(
            matches!(failed("unknown variable 'no-such=1'"), TargetError::Unsupported(text) if text.contains("unknown"))
        );
        assert!(
            matches!(failed("No space left"), TargetError::Failed(text) if text.ends_with("; the plan sets `maria.no_such`"))
        );
        assert!(RULES.check_known(&variables, |_| None).unwrap_err().to_string().contains("no such variable"));
    }
}
