//! PostgreSQL's log in JSON (`log_destination = jsonlog`, from PostgreSQL 15 on).
//!
//! In: lines, one object each. Out: records. Limits: other keys are not read. A line that is cut off by the end of the file is left out.

use super::super::lines::Lines;
use super::super::recording::shown;
use super::record::{Record, no_time};
use super::times::LogTime;
use crate::recording_error::RecordingError;
use serde::Deserialize;
use std::io::BufRead;

/// The keys of `write_jsonlog` in `jsonlog.c` that a replay needs; a key without a value is absent.
#[derive(Deserialize)]
struct Line {
    timestamp: String,
    session_id: String,
    #[serde(default)]
    dbname: String,
    error_severity: String,
    #[serde(default)]
    message: String,
    #[serde(default)]
    detail: String,
    #[serde(default)]
    context: String,
    #[serde(default)]
    statement: String,
}

/// Whether `line` is of such a log.
pub(super) fn is_first_line(line: &str) -> bool {
    line.starts_with("{\"timestamp\":")
}

pub(super) fn next_record<R: BufRead>(lines: &mut Lines<R>) -> Result<Option<Record>, RecordingError> {
    let Some(text) = lines.next_line()?.filter(|_| lines.is_whole()) else { return Ok(None) };
    let line = lines.number();
    let found: Line = serde_json::from_str(&text).map_err(|error| {
        let text = format!("`{}` is no record of PostgreSQL's JSON log: {error}", shown(&text));
        RecordingError::at(line, text)
    })?;
    Ok(Some(Record {
        line,
        at: LogTime::parse(&found.timestamp).ok_or_else(|| no_time(line, &found.timestamp))?,
        session: found.session_id,
        is_process: false,
        database: found.dbname,
        ends_statement: super::record::is_error(&found.error_severity),
        ends_session: super::record::is_fatal(&found.error_severity),
        message: found.message,
        detail: found.detail,
        context: found.context,
        statement: found.statement,
    }))
}
