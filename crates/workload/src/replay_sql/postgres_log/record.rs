//! A record of a log of PostgreSQL, of whichever format.

use super::super::recording::shown;
use super::times::LogTime;
use crate::recording_error::RecordingError;

/// A record of a log, of whichever format.
#[derive(Debug)]
pub(super) struct Record {
    /// The number of its first line.
    pub line: u64,
    pub at: LogTime,
    /// The session that it is of, in the log's own words.
    pub session: String,
    /// Whether that is the number of a process, which may be used again.
    pub is_process: bool,
    /// The database; empty if the log does not name it.
    pub database: String,
    pub message: String,
    pub detail: String,
    /// Where in the server an error came up, with the values of its statement if the server logs them.
    pub context: String,
    /// Whether it is the error that ended a statement.
    pub ends_statement: bool,
    /// Whether it ended the session, too.
    pub ends_session: bool,
    /// The text of that statement, as it was sent.
    pub statement: String,
}

/// Whether a record of this severity ends the statement that it is about.
pub(super) fn is_error(severity: &str) -> bool {
    matches!(severity, "ERROR" | "FATAL" | "PANIC")
}

/// Whether a record of this severity ends the session that it is of.
pub(super) fn is_fatal(severity: &str) -> bool {
    matches!(severity, "FATAL" | "PANIC")
}

pub(super) fn no_time(line: u64, text: &str) -> RecordingError {
    RecordingError::at(line, format!("`{}` is no time; the log is of another kind or version", shown(text)))
}
