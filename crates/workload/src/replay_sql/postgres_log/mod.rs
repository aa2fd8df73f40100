//! PostgreSQL's log, with `log_statement = all` or `log_min_duration_statement = 0`: in CSV, in JSON, or as lines with a `log_line_prefix`.
//!
//! In: lines. Out: statements for a [`LogTaker`]. Limits: the logs of PostgreSQL 9.6 to 18, with messages in English. A statement of the
//! extended protocol is replayed with its values as literals, if the log has them whole (`log_parameter_max_length`); its PARSE and BIND are
//! no statements, and an execution that fetches its rows in parts is one.

mod binding;
mod csv;
mod json;
mod messages;
mod prefix;
mod prefixed;
mod record;
mod sessions;
mod syslog;
mod times;

use super::lines::Lines;
use super::log_taker::LogTaker;
use super::wanted::LogWanted;
use crate::recording_error::RecordingError;
use sessions::Sessions;
use std::io::BufRead;

/// Whether `line` is the first of such a log.
pub(super) fn is_first_line(line: &str, wanted: &LogWanted) -> bool {
    csv::is_first_line(line)
        || json::is_first_line(line)
        || !wanted.log_line_prefix.is_empty()
        || prefixed::is_line(line)
}

/// Passes a log on to `taker`. Whether its times have no fractions.
pub(super) fn read<R: BufRead>(
    lines: &mut Lines<R>,
    wanted: &LogWanted,
    taker: &mut dyn LogTaker,
) -> Result<bool, RecordingError> {
    let first = lines.next_line()?.unwrap_or_default();
    lines.put_back();
    let mut sessions = Sessions::new(taker);
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
    Ok(sessions.finish())
}
