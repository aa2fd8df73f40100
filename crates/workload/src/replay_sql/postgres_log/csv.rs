//! PostgreSQL's log in CSV (`log_destination = csvlog`).
//!
//! In: lines. Out: records. Other programs write such a log again with quotes where a value needs them, or around all. Limits: the columns of
//! PostgreSQL 9.6 and later; what is behind them is not read. A record that is cut off by the end of the file is left out.

use super::super::lines::{LINE_BYTES_MAX, Lines};
use super::super::recording::shown;
use super::record::{Record, no_time};
use super::times::LogTime;
use crate::recording_error::RecordingError;
use std::io::BufRead;

/// The columns of PostgreSQL 9.6 to 12; 13 has 24, 14 to 18 have 26.
const COLUMNS_MIN: usize = 23;
const COLUMNS_MAX: usize = 40;
const TIME: usize = 0;
const DATABASE: usize = 2;
const PROCESS: usize = 3;
const SESSION: usize = 5;
const BEGUN: usize = 8;
const SEVERITY: usize = 11;
const MESSAGE: usize = 13;
const DETAIL: usize = 14;
const CONTEXT: usize = 18;
const STATEMENT: usize = 19;

/// Whether `line` is the first of a record.
pub(super) fn is_first_line(line: &str) -> bool {
    let begins_with_digit = line.trim_start_matches('"').starts_with(|c: char| c.is_ascii_digit());
    begins_with_digit && (is_of_server(line) || is_written_again(line))
}

/// As PostgreSQL writes it: a time, and a user in quotes or none.
fn is_of_server(line: &str) -> bool {
    let Some((time, rest)) = line.split_once(',') else { return false };
    rest.starts_with([',', '"']) && LogTime::parse(time).is_some()
}

/// As another program writes it: by its columns up to the severity, behind which a `log_line_prefix` with commas has a colon.
fn is_written_again(line: &str) -> bool {
    let columns = split_columns(line);
    let is_time = |nth: usize| columns.get(nth).is_some_and(|text| LogTime::parse(text).is_some());
    let is_of = |nth: usize, may_have: fn(&u8) -> bool| {
        columns.get(nth).is_some_and(|text| !text.is_empty() && text.bytes().all(|byte| may_have(&byte)))
    };
    is_time(TIME) && is_time(BEGUN) && is_of(PROCESS, u8::is_ascii_digit) && is_of(SEVERITY, u8::is_ascii_alphanumeric)
}

pub(super) fn next_record<R: BufRead>(lines: &mut Lines<R>) -> Result<Option<Record>, RecordingError> {
    let Some((line, mut columns)) = next_columns(lines)? else { return Ok(None) };
    let at = LogTime::parse(&columns[TIME]).ok_or_else(|| no_time(line, &columns[TIME]))?;
    let mut take = |nth: usize| std::mem::take(&mut columns[nth]);
    let severity = take(SEVERITY);
    Ok(Some(Record {
        line,
        at,
        session: take(SESSION),
        is_process: false,
        database: take(DATABASE),
        ends_statement: super::record::is_error(&severity),
        ends_session: super::record::is_fatal(&severity),
        message: take(MESSAGE),
        detail: take(DETAIL),
        context: take(CONTEXT),
        statement: take(STATEMENT),
    }))
}

/// The columns of the next record, which may have several lines, with the number of its first.
fn next_columns<R: BufRead>(lines: &mut Lines<R>) -> Result<Option<(u64, Vec<String>)>, RecordingError> {
    let Some(mut text) = lines.next_line()? else { return Ok(None) };
    let number = lines.number();
    let mut has_odd_quotes = has_odd_quotes(&text);
    let mut swallows_record = false;
    while has_odd_quotes {
        let Some(more) = lines.next_line()? else {
            return if swallows_record { Err(open_quote(number)) } else { Ok(None) };
        };
        swallows_record |= is_first_line(&more);
        has_odd_quotes ^= self::has_odd_quotes(&more);
        text.push('\n');
        text.push_str(&more);
        if text.len() > LINE_BYTES_MAX {
            return Err(open_quote(number));
        }
    }
    if !lines.is_whole() {
        return Ok(None);
    }
    let columns = split_columns(&text);
    if (COLUMNS_MIN..=COLUMNS_MAX).contains(&columns.len()) {
        return Ok(Some((number, columns)));
    }
    let text = format!(
        "`{}` has {} columns; PostgreSQL's CSV log has {COLUMNS_MIN} or more: it is another log, or a part of a record",
        shown(&text),
        columns.len()
    );
    Err(RecordingError::at(number, text))
}

fn has_odd_quotes(text: &str) -> bool {
    text.bytes().filter(|byte| *byte == b'"').count() % 2 == 1
}

fn open_quote(number: u64) -> RecordingError {
    RecordingError::at(number, "a quote of this record is not closed: a part of the log is missing, or it was changed")
}

fn split_columns(text: &str) -> Vec<String> {
    let (mut columns, mut column, mut quoted) = (Vec::new(), String::new(), false);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.next_if_eq(&'"').is_some() => column.push('"'),
            '"' => quoted = !quoted,
            ',' if !quoted => columns.push(std::mem::take(&mut column)),
            c => column.push(c),
        }
    }
    columns.push(column);
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_known_with_and_without_quotes_and_a_prefix_with_commas_is_none() {
        let head =
            "2026-11-29 03:16:29.250 UTC,bench,shop,4711,[local],6a1b2c3d.1267,3,SELECT,2026-11-29 03:16:00 UTC,3/4,0";
        let unquoted = format!("{head},LOG,00000,statement: select 1,,,,,,,,,psql,client backend,,0");
        let all_quoted = format!("\"{}\"", unquoted.replace(',', "\",\""));
        let of_server = "2026-11-29 03:16:29.250 UTC,\"bench\",\"shop\",4711";
        for record in [unquoted.as_str(), &all_quoted, &format!("{head},LOG,00000,\"statement: select"), of_server] {
            assert!(is_first_line(record), "{record}");
        }
        for other in [format!("{head},LOG:  statement: select 1, 2"), unquoted.replace("4711", ""), String::new()] {
            assert!(!is_first_line(&other), "{other}");
        }
    }
}
