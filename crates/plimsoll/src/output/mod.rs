//! Data on stdout, everything else on stderr.
//!
//! In: finished text or JSON. Out: stdout and stderr. Limits: a reader that has closed the pipe (`| head`) ends the output,
//! not the program.

pub mod ceiling_json;
pub mod history_json;
pub mod json;
pub mod label;
pub mod live;
pub mod progress;
pub mod so_far;
pub mod why_json;

use std::borrow::Cow;
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::sync::OnceLock;

/// Why stdout could not be written to.
static BROKEN: OnceLock<String> = OnceLock::new();

/// Prints `text` as it is.
pub fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => drop(BROKEN.set(model::system_words(&error))),
        _ => {}
    }
}

/// Why the output is not complete; `None` if it is.
pub fn broken() -> Option<&'static str> {
    BROKEN.get().map(String::as_str)
}

/// Prints `text` on stderr, as a line of its own without control characters.
pub fn say(text: impl std::fmt::Display) {
    let _ = writeln!(std::io::stderr(), "{}", escaped(&text.to_string()));
}

/// `path` as it may be printed.
pub fn shown(path: &Path) -> String {
    escaped(&path.display().to_string()).into_owned()
}

/// `text` with its control characters escaped: names of files and arguments may hold some, and a terminal would obey them.
pub fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(char::is_control) {
        return text.into();
    }
    let mut safe = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if c.is_control() { safe.extend(c.escape_default()) } else { safe.push(c) }
    }
    safe.into()
}

/// `text` as one word of a command line, ready to paste.
pub fn shell_word(text: &str) -> Cow<'_, str> {
    if !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_./:=,@+%".contains(c)) {
        text.into()
    } else {
        format!("'{}'", text.replace('\'', r"'\''")).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_of_a_shell_is_quoted_if_a_shell_would_read_more_into_it() {
        assert_eq!(
            ["r/x-1.plimsoll", "a b", "it's", "", "$HOME"].map(shell_word),
            ["r/x-1.plimsoll", "'a b'", r"'it'\''s'", "''", "'$HOME'"]
        );
    }

    #[test]
    fn control_characters_are_escaped_and_nothing_else_is() {
        assert_eq!(escaped("a\x1b[31m\nb\u{9b}c"), "a\\u{1b}[31m\\nb\\u{9b}c");
        assert_eq!(escaped("Zürich `5 %`"), "Zürich `5 %`");
        assert_eq!(shown(Path::new("d/\tf")), "d/\\tf");
    }
}
