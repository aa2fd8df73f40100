//! The command that this process was started with, as a person would type it again.
//!
//! In: the arguments and the environment. Out: one line for a shell. Limits: it is kept in run files, so nothing in it may be a secret: a
//! password is never an argument, and variables that are named after one are left out.

use crate::output::shell_word;
use std::ffi::OsString;

/// Variables that change no result, or that hold a secret.
const LEFT_OUT: [&str; 6] = ["PASSWORD", "TOKEN", "SECRET", "BUS_KEY", "PLIMSOLL_PLAIN", "PLIMSOLL_RELAUNCHED"];

/// The command of this process.
pub fn command_line() -> String {
    as_typed(std::env::args_os().skip(1), std::env::vars_os())
}

fn as_typed(
    arguments: impl Iterator<Item = OsString>,
    variables: impl Iterator<Item = (OsString, OsString)>,
) -> String {
    let text = |word: OsString| word.to_string_lossy().into_owned();
    let variables = variables.map(|(name, value)| (text(name), text(value)));
    let is_kept = |name: &str| name.starts_with("PLIMSOLL_") && !LEFT_OUT.iter().any(|part| name.contains(part));
    let mut set: Vec<String> = variables
        .filter(|(name, value)| is_kept(name) && !value.is_empty())
        .map(|(name, value)| format!("{name}={}", shell_word(&value)))
        .collect();
    set.sort();
    let arguments = arguments.map(|argument| shell_word(&text(argument)).into_owned());
    set.into_iter().chain(["plimsoll".to_owned()]).chain(arguments).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_has_its_arguments_and_its_variables_and_no_secret() {
        let words = |all: &[&str]| all.iter().map(OsString::from).collect::<Vec<_>>().into_iter();
        let variables = [
            ("PLIMSOLL_TIME", "5s"),
            ("PLIMSOLL_PASSWORD", "hunter2"),
            ("PLIMSOLL_BUS_KEY", "hunter3"),
            ("PLIMSOLL_BUS_PASSWORD", "hunter4"),
            ("PLIMSOLL_PLAIN", "1"),
            ("PLIMSOLL_RUNS", "a b"),
            ("PLIMSOLL_DIR", ""),
            ("HOME", "/root"),
        ];
        let variables = variables.map(|(name, value)| (name.into(), value.into())).into_iter();
        let command = as_typed(words(&["oltp", "--set", "a=it's"]), variables);
        assert_eq!(command, "PLIMSOLL_RUNS='a b' PLIMSOLL_TIME=5s plimsoll oltp --set 'a=it'\\''s'");
    }
}
