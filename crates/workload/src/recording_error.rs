//! Why a recording cannot be replayed.
//!
//! In: what is wrong, and in which line. Out: a text that follows the name of the file: `FILE, line 3: ...`, `FILE: ...`. Limits: it does not
//! know the file.

/// Why a text is no recording that can be replayed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{what}", .line.map_or(String::new(), |line| format!("line {line}: ")))]
pub struct RecordingError {
    /// The line, from 1; `None` if it is no single line.
    pub line: Option<u64>,
    /// What is wrong, and what to do.
    pub what: String,
}

impl RecordingError {
    pub(crate) fn at(line: u64, what: impl Into<String>) -> RecordingError {
        RecordingError { line: Some(line), what: what.into() }
    }

    pub(crate) fn of_file(what: impl Into<String>) -> RecordingError {
        RecordingError { line: None, what: what.into() }
    }

    /// The error with the name of the file before it.
    pub fn in_file(&self, name: &str) -> String {
        let separator = if self.line.is_some() { ", " } else { ": " };
        format!("`{name}`{separator}{self}")
    }
}
