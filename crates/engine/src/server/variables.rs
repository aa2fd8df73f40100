//! Variables of a private server that a plan sets, beside those that plimsoll sets itself.
//!
//! In: parameters such as `mariadb.innodb_purge_threads`, what an engine keeps to itself. Out: names and values for the server's
//! command line, or why not. Limits: names are checked, and of values that they hold no path: nothing that a plan says can lead the
//! server out of its directory, to a network, to a program or to a library. Whether a value is a good one, the server says.

use host::error::TargetError;
use model::{Fact, Params};

/// What a server's variables are called in plans and facts, and which of them a plan may not set.
pub struct Rules {
    /// What stands before the dot.
    pub server: &'static str,
    /// Variables that follow from a parameter of the engine, with that parameter.
    pub by_parameter: &'static [(&'static str, &'static str)],
    /// Variables that lead out of the server's directory, or that the measurement stands on; a `*` stands for any beginning or end.
    pub closed: &'static [&'static str],
}

/// The variables that a plan sets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Variables(Vec<(String, String)>);

impl Rules {
    /// The variables that `params` set.
    pub fn variables(&self, params: &Params) -> Variables {
        let name = |key: &str| Some(key.strip_prefix(self.server)?.strip_prefix('.')?.to_owned());
        Variables(params.0.iter().filter_map(|(key, value)| Some((name(key)?, value.to_string()))).collect())
    }

    /// Refuses those that a plan may not set.
    pub fn check(&self, variables: &Variables) -> Result<(), TargetError> {
        variables.0.iter().try_for_each(|(name, value)| match self.refusal(name, value) {
            Some(why) => Err(TargetError::Unsupported(format!("`{}.{name}` {why}", self.server))),
            None => Ok(()),
        })
    }

    /// Servers take the beginning of a name for the name if it is the only one that begins so.
    fn refusal(&self, name: &str, value: &str) -> Option<String> {
        if let Some((_, parameter)) = self.by_parameter.iter().find(|(own, _)| own.starts_with(name)) {
            return Some(format!("follows from `{parameter}`: set that"));
        }
        if self.closed.iter().any(|pattern| matches(pattern, name)) {
            return Some(
                "cannot be set: it would let the server leave its directory, or the measurement depends on it".into(),
            );
        }
        let path = value.contains('/') || value.contains("..");
        path.then(|| format!("cannot be `{value}`: a path of this machine does not belong in a plan"))
    }

    /// As facts, each as `read_back` says it is.
    pub fn facts(&self, variables: &Variables, read_back: impl Fn(&str) -> Option<String>) -> Vec<Fact> {
        let fact = |name: &String| Some(Fact::new(format!("{}.{name}", self.server), read_back(name)?));
        variables.0.iter().filter_map(|(name, _)| fact(name)).collect()
    }

    /// What the server made other values of, for the user.
    pub fn warnings(&self, variables: &Variables, read_back: impl Fn(&str) -> Option<String>) -> Vec<String> {
        let told = |(name, asked): &(String, String)| {
            let found = read_back(name).filter(|found| !are_same(asked, found))?;
            Some(format!("{}.{name} = `{asked}` was requested, but the server uses `{found}`", self.server))
        };
        variables.0.iter().filter_map(told).collect()
    }

    /// Refuses a variable that the running server does not know by this name.
    pub fn known(&self, variables: &Variables, read_back: impl Fn(&str) -> Option<String>) -> Result<(), TargetError> {
        match variables.0.iter().find(|(name, _)| read_back(name).is_none()) {
            Some((name, _)) => {
                Err(TargetError::Unsupported(format!("`{}.{name}`: this server has no such variable", self.server)))
            }
            None => Ok(()),
        }
    }

    /// A server that did not start because of a variable says so: then it is the plan that is wrong, and not the server.
    pub fn blamed(&self, variables: &Variables, error: TargetError) -> TargetError {
        let text = error.to_string();
        let (plain, dashed) = (|name: &str| text.contains(name), |name: &str| text.contains(&name.replace('_', "-")));
        match variables.0.iter().find(|(name, _)| plain(name) || dashed(name)) {
            Some((name, value)) => {
                TargetError::Unsupported(format!("`{}.{name}` = `{value}` was refused: {text}", self.server))
            }
            None => error,
        }
    }
}

impl Variables {
    /// Names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

fn matches(pattern: &str, name: &str) -> bool {
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(end), _) => name.ends_with(end),
        (None, Some(beginning)) => name.starts_with(beginning) || beginning.starts_with(name),
        (None, None) => pattern.starts_with(name),
    }
}

/// Whether a server says the same in its own way: `ON` for 1, `64MB` for 67108864.
fn are_same(asked: &str, found: &str) -> bool {
    let plain = |text: &str| match text.to_ascii_lowercase().as_str() {
        "on" | "true" | "yes" => "1".to_owned(),
        "off" | "false" | "no" => "0".to_owned(),
        other => amount(other).map_or(other.to_owned(), |amount| amount.to_string()),
    };
    plain(asked) == plain(found)
}

/// A number with the letter of a size behind it, in capitals or not.
fn amount(text: &str) -> Option<f64> {
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

    const RULES: Rules = Rules {
        server: "maria",
        by_parameter: &[("innodb_buffer_pool_size", "cache")],
        closed: &["datadir", "plugin_*", "*_command"],
    };

    fn set(pairs: &[(&str, &str)]) -> Variables {
        let params = pairs.iter().map(|(name, value)| (name.to_string(), Value::Word(value.to_string())));
        RULES.variables(&Params(params.collect()))
    }

    #[test]
    fn only_the_variables_of_the_server_are_taken() {
        let found = set(&[("maria.a", "1"), ("cache", "2"), ("other.b", "3"), ("mariab", "4")]);
        assert_eq!(found.iter().collect::<Vec<_>>(), [("a", "1")]);
    }

    #[test]
    fn what_leads_out_of_the_directory_or_follows_from_a_parameter_is_refused_also_when_abbreviated() {
        let refusal = |name: &str, value| RULES.check(&set(&[(name, value)])).unwrap_err().to_string();
        for name in ["maria.datadir", "maria.datad", "maria.plugin_load", "maria.plug", "maria.archive_command"] {
            assert!(refusal(name, "1").contains("cannot be set"), "{name}");
        }
        assert!(refusal("maria.innodb_buffer_pool", "1").contains("follows from `cache`"));
        assert!(
            refusal("maria.x", "/etc").contains("a path of this machine") && refusal("maria.x", "..").contains("path")
        );
        RULES.check(&set(&[("maria.innodb_purge_threads", "4"), ("maria.cf_options", "a=b;c=4k")])).unwrap();
    }

    #[test]
    fn a_server_that_says_the_same_in_its_own_way_is_no_surprise() {
        for (asked, found) in [("1", "ON"), ("off", "OFF"), ("512M", "536870912"), ("64MB", "64MB"), ("0.50", "0.5")] {
            assert!(are_same(asked, found), "{asked} {found}");
        }
        let warnings = RULES.warnings(&set(&[("maria.capacity", "5")]), |_| Some("100".into()));
        assert_eq!(warnings, ["maria.capacity = `5` was requested, but the server uses `100`"]);
    }

    #[test]
    fn a_server_that_names_the_variable_blames_the_plan() {
        let variables = set(&[("maria.no_such", "1")]);
        let failed = |text: &str| RULES.blamed(&variables, TargetError::Failed(text.into()));
        assert!(
            matches!(failed("unknown variable 'no-such=1'"), TargetError::Unsupported(text) if text.contains("unknown"))
        );
        assert!(matches!(failed("No space left"), TargetError::Failed(_)));
        assert!(RULES.known(&variables, |_| None).unwrap_err().to_string().contains("no such variable"));
    }
}
