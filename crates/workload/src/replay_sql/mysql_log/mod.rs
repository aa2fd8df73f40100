//! The slow log and the general log of MySQL and MariaDB, and of what writes as they do: Percona Server, Aurora, TiDB.
//!
//! In: lines. Out: statements for a [`LogTaker`]. Limits: logs in files, not in tables. What an entry is, is seen by its form: a command
//! or a key that is not known here is skipped and counted, and so is an entry that is cut off or has no time.
//!
//! The form of the slow log is that of `File_query_log::write_slow` in MySQL's `sql/log.cc` and of `MYSQL_QUERY_LOG::write` in MariaDB's;
//! that of the general log is in `write_general` and `MYSQL_QUERY_LOG::write` next to them.

mod general;
mod slow;
mod times;

use super::lines::Lines;
use super::log_taker::{LogTaker, RecordedServer};
use crate::recording_error::RecordingError;
use general::{GeneralLine, GeneralSessions};
use slow::SlowState;
use sql::Letters;
use std::borrow::Cow;
use std::io::BufRead;

/// A longer statement is skipped.
const STATEMENT_BYTES_MAX: usize = 16 << 20;
const CUT_OFF: &str = "entry that is cut off";
const TOO_LONG: &str = "statement of more than 16 MiB";
const TAKEN_FOR_LATIN1: &str = "statements taken for latin1";
const NO_TIME: &str = "entry whose time cannot be read";

/// Whether `line` is one that begins a part of a log of either kind: what a server writes when it opens the file, or an entry.
pub(super) fn is_first_line(line: &str) -> bool {
    is_server_head(line) || slow::is_head_line(line) || GeneralLine::parse(line).is_some()
}

/// Passes a log on to `taker`. Whether its times have no fractions.
pub(super) fn read<R: BufRead>(lines: &mut Lines<R>, taker: &mut dyn LogTaker) -> Result<bool, RecordingError> {
    let mut reader = Reader {
        taker,
        server: RecordedServer::default(),
        has_fractions: false,
        slow: SlowState::default(),
        general: GeneralSessions::default(),
    };
    while let Some(line) = lines.next_line()? {
        reader.read_entry(line, lines)?;
    }
    reader.taker.set_server(reader.server);
    Ok(!reader.has_fractions)
}

struct Reader<'a> {
    taker: &'a mut dyn LogTaker,
    server: RecordedServer,
    has_fractions: bool,
    slow: SlowState,
    general: GeneralSessions,
}

impl Reader<'_> {
    fn read_entry<R: BufRead>(&mut self, line: String, lines: &mut Lines<R>) -> Result<(), RecordingError> {
        if is_server_head(&line) {
            self.read_server_head(&line, lines)
        } else if line.starts_with("# ") {
            self.read_slow_entry(line, lines)
        } else if GeneralLine::parse(&line).is_some() {
            self.read_general_entry(&line, lines)
        } else {
            if !line.is_empty() {
                self.taker.skip("line outside of an entry", lines.number());
            }
            Ok(())
        }
    }

    /// `mariadbd, Version: 10.11.6-MariaDB ... started with:`, and two lines more. A server writes it when it opens the file, at its start or
    /// because the log was rotated.
    fn read_server_head<R: BufRead>(&mut self, line: &str, lines: &mut Lines<R>) -> Result<(), RecordingError> {
        let version = line.split("Version: ").nth(1).and_then(|rest| rest.split_whitespace().next());
        self.server = RecordedServer { version: version.unwrap_or_default().to_owned(), ..RecordedServer::default() };
        self.slow.forget_schema();
        if lines.peek(1)?.is_some_and(|line| line.starts_with(b"Tcp port:")) {
            let ports = lines.next_line()?.unwrap_or_default();
            let of = |key: &str| ports.split(key).nth(1).map(|rest| rest.split("  ").next().unwrap_or_default().trim());
            self.server.port = of("Tcp port:").and_then(|port| port.parse().ok()).filter(|port| *port > 0);
            self.server.socket = of("Unix socket:").filter(|path| !path.is_empty()).map(str::to_owned);
        }
        if lines.peek(1)?.is_some_and(|line| line.starts_with(b"Time") && line.ends_with(b"Argument")) {
            lines.next_line()?;
        }
        Ok(())
    }
}

fn is_server_head(line: &str) -> bool {
    line.trim_end().ends_with("started with:") && line.contains(", Version: ")
}

/// Adds a line to a statement; one that would become too long is only marked as such.
fn add_line(statement: &mut String, line: &str) {
    if statement.len() <= STATEMENT_BYTES_MAX {
        if !statement.is_empty() {
            statement.push('\n');
        }
        statement.push_str(line);
    }
}

/// `statement` of `line`, which is in `letters`, as it can be sent, if it has bytes that are no UTF-8. That these are taken for latin1 is counted.
fn sendable<'t>(statement: &'t str, letters: Letters, line: u64, taker: &mut dyn LogTaker) -> Cow<'t, str> {
    if !sql::has_raw_bytes(statement) {
        return Cow::Borrowed(statement);
    }
    let Some(written) = sql::with_bytes_in_literals(statement, letters) else { return Cow::Borrowed(statement) };
    if letters == Letters::Unknown && written.contains(" _latin1 x'") {
        taker.skip(TAKEN_FOR_LATIN1, line);
    }
    Cow::Owned(written)
}

fn is_too_long(statement: &str) -> bool {
    statement.len() > STATEMENT_BYTES_MAX
}

#[cfg(test)]
mod tests;
