//! The settings of points in words, such as `sqlite oltp read_write clients 16`: a finding names by them where it was seen, and reports make
//! their labels of them.

use crate::recorded::dimensions::{CPU_LIMIT, MEMORY_LIMIT, STORAGE_LIMIT, Setting, SettingValue, arrivals_word};
use model::{Nanos, Pacing, Until, Value};

/// `settings` in words: `sqlite indexes 3`.
pub fn settings_label<'a>(settings: impl IntoIterator<Item = &'a Setting>) -> String {
    phrases(settings).join(" ")
}

/// Each of `settings` in words.
pub fn phrases<'a>(settings: impl IntoIterator<Item = &'a Setting>) -> Vec<String> {
    settings.into_iter().filter(|setting| !goes_without_saying(setting)).map(distinguishing_phrase).collect()
}

/// A run ends by time unless the plan has something else.
fn goes_without_saying(setting: &Setting) -> bool {
    setting.value == SettingValue::Until(Until::Time)
}

/// A setting in words; in parentheses if it has no effect on the point yet, and only distinguishes its sequence from another.
fn distinguishing_phrase(setting: &Setting) -> String {
    if setting.used { phrase(setting) } else { format!("({})", phrase(setting)) }
}

/// A setting in words: `rndrd`, `indexes 3`, `closed loop`.
pub fn phrase(setting: &Setting) -> String {
    let name = spoken_name(&setting.name);
    match &setting.value {
        SettingValue::Name(name) => name.clone(),
        SettingValue::FileSystem(kind) => kind.to_string(),
        SettingValue::Pacing(pacing) => pacing_phrase(pacing),
        SettingValue::Until(Until::Time) => "until time".to_owned(),
        SettingValue::Until(Until::Steady { .. }) => "until steady".to_owned(),
        SettingValue::Until(Until::Sure(within)) => format!("until sure to {within}"),
        SettingValue::Param(Value::Word(word)) if speaks_for_itself(&setting.name, word) => word.clone(),
        SettingValue::Param(Value::Access(access)) => access.to_string(),
        other => match other.to_string() {
            nothing if nothing.is_empty() => format!("no {name}"),
            value => format!("{name} {value}"),
        },
    }
}

/// What paces the load: `closed loop`, `poisson arrivals, rate 5000`.
fn pacing_phrase(pacing: &Pacing) -> String {
    match pacing {
        Pacing::Closed { think: Nanos(0) } => "closed loop".to_owned(),
        Pacing::Closed { think } => format!("think {think}"),
        Pacing::Open { arrivals } => format!("{} arrivals, rate {}", arrivals_word(arrivals), arrivals.per_s()),
    }
}

/// A name in everyday words.
fn spoken_name(name: &str) -> &str {
    match name {
        MEMORY_LIMIT => "memory limit",
        STORAGE_LIMIT => "storage limit",
        CPU_LIMIT => "CPU limit",
        name => name,
    }
}

/// Words that could be the value of any setting.
const NEED_THEIR_NAME: [&str; 13] =
    ["system", "none", "os", "disk", "default", "keep", "kept", "again", "stop", "on", "off", "true", "false"];

/// Whether a word is understood without the name of its setting. A server's variable (`innodb.x`) needs its name.
fn speaks_for_itself(name: &str, word: &str) -> bool {
    let begins_as_word = word.starts_with(|c: char| c.is_alphabetic());
    begins_as_word && !name.contains('.') && !NEED_THEIR_NAME.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::ParamRole;

    #[test]
    fn a_value_of_nothing_is_said_as_none() {
        let said = |name: &str, value: Value| phrase(&Setting::of_workload(name, ParamRole::Work, value));
        assert_eq!(said("table", Value::Tables(Vec::new())), "no table");
        assert_eq!(said("functions", Value::Word(String::new())), "no functions");
        assert_eq!(said("rows", Value::Int(5)), "rows 5");
    }
}
