//! PostgreSQL's log, with `log_statement = all` or `log_min_duration_statement = 0`: in CSV, in JSON, or as lines with a `log_line_prefix`.
//!
//! In: lines. Out: statements for a `RecordingBuilder`. Limits: the logs of PostgreSQL 9.6 to 18, with messages in English. A statement of the
//! extended protocol is replayed with its values as literals, if the log has them whole (`log_parameter_max_length`); its PARSE and BIND are
//! no statements, and an execution that fetches its rows in parts is one.

mod binding;
mod csv;
mod json;
mod messages;
mod prefix;
mod prefixed;
mod sessions;
mod syslog;
mod times;

use super::lines::Lines;
use super::recording::shown;
use super::{LogWanted, SqlRecording};
use crate::recording_error::RecordingError;
use sessions::Sessions;
use std::io::BufRead;
use times::LogTime;

/// A record of a log, of whichever format.
#[derive(Debug)]
struct Record {
    /// The number of its first line.
    line: u64,
    at: LogTime,
    /// The session that it is of, in the log's own words.
    session: String,
    /// Whether that is the number of a process, which may be used again.
    is_process: bool,
    /// The database; empty if the log does not name it.
    database: String,
    message: String,
    detail: String,
    /// Whether it is the error that ended a statement.
    ends_statement: bool,
}

/// Whether `line` is the first of such a log.
pub(super) fn is_first_line(line: &str, wanted: &LogWanted) -> bool {
    csv::is_first_line(line)
        || json::is_first_line(line)
        || !wanted.log_line_prefix.is_empty()
        || prefixed::is_line(line)
}

/// Reads a log.
pub(super) fn read<R: BufRead>(lines: &mut Lines<R>, wanted: &LogWanted) -> Result<SqlRecording, RecordingError> {
    let first = lines.next_line()?.unwrap_or_default();
    lines.put_back();
    let mut sessions = Sessions::new(wanted);
    if csv::is_first_line(&first) {
        while let Some(record) = csv::next_record(lines)? {
            sessions.take(&record)?;
        }
    } else if json::is_first_line(&first) {
        while let Some(record) = json::next_record(lines)? {
            sessions.take(&record)?;
        }
    } else {
        prefixed::read(lines, &wanted.log_line_prefix, &mut sessions)?;
    }
    if !lines.is_whole() {
        sessions.skip("record that is cut off", lines.number());
    }
    sessions.finish()
}

/// Whether a record of this severity ends the statement that it is about.
fn is_error(severity: &str) -> bool {
    matches!(severity, "ERROR" | "FATAL" | "PANIC")
}

fn no_time(line: u64, text: &str) -> RecordingError {
    RecordingError::at(line, format!("`{}` is no time; the log is of another kind or version", shown(text)))
}
