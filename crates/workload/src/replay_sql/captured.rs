//! The statements of a packet capture.
//!
//! In: a capture, as pcap or pcapng. Out: the statements of the server whose statements come first, for a [`LogTaker`]. Limits: those of
//! [`capture`].

use super::answer::RecordedAnswer;
use super::log_taker::{FoundStatement, LogTaker, RecordedServer, TakenLog};
use super::skipped::Skipped;
use super::wanted::LogDialect;
use crate::recording_error::RecordingError;
use capture::{AnswerCounts, CaptureEvent, CapturedStatement, Dialect, Values};
use sql::BoundText;
use std::io::Read;
use std::ops::ControlFlow;

/// Passes a capture on to the taker that `make` makes once it is known whose statements they are.
pub(super) fn read<T: LogTaker>(
    reader: impl Read + Send,
    make: impl FnOnce(LogDialect) -> Result<T, RecordingError>,
) -> Result<TakenLog<T>, RecordingError> {
    let mut found: Option<Found<T>> = None;
    let mut make = Some(make);
    let mut failed = None;
    let summary = capture::read_capture(reader, |event| {
        let taken = match event {
            CaptureEvent::Statement(statement) => {
                let dialect = dialect_of(&statement);
                let begun = make.take().map_or(Ok(()), |make| {
                    found = Some(Found { taker: make(dialect)?, dialect, count: 0 });
                    Ok(())
                });
                begun.and_then(|()| found.as_mut().expect("it was begun").take(&statement))
            }
            CaptureEvent::SessionEnded { session, .. } => {
                found.as_mut().map_or(Ok(()), |found| found.taker.end_session(&session.to_string()))
            }
        };
        failed = taken.err();
        if failed.is_none() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    let summary = summary.map_err(|error| RecordingError::of_file(error.to_string()))?;
    if let Some(error) = failed {
        return Err(error);
    }
    let Some(Found { mut taker, dialect, .. }) = found else {
        let skipped = summary.skipped.sentences().join("; ");
        let skipped = if skipped.is_empty() { String::new() } else { format!(": {skipped}") };
        return Err(RecordingError::of_file(format!("the capture has no statement{skipped}")));
    };
    if let Some((version, address)) = summary.server {
        taker.set_server(RecordedServer { version, port: Some(address.port()), socket: None });
    }
    summary.skipped.counts().for_each(|(count, what, _)| taker.skip_many(what, count, 0));
    Ok(TakenLog { dialect, taker, has_whole_seconds: false, of_lines: Skipped::default() })
}

fn dialect_of(statement: &CapturedStatement) -> LogDialect {
    match statement.dialect {
        Dialect::Mysql => LogDialect::Mysql,
        Dialect::Postgres => LogDialect::Postgres,
    }
}

/// What the capture has of the answer to a statement.
fn answer_of(statement: &CapturedStatement) -> RecordedAnswer {
    let counts = statement.counts;
    RecordedAnswer {
        failed: statement.took_us.map(|_| statement.failed),
        sent: counts.map(|counts| counts.sent),
        affected: counts.map(|counts| counts.affected),
        made_id: counts.map(|counts| made_id(&statement.text, &counts)).filter(|id| *id > 0),
        ..RecordedAnswer::default()
    }
}

/// The id that the server made for the first row that `text` inserted; 0 if none is known. MariaDB tells that of INSERT .. RETURNING in what it
/// returns only.
fn made_id(text: &str, counts: &AnswerCounts) -> u64 {
    let first = text.split_whitespace().next().unwrap_or_default();
    let inserts = ["insert", "replace"].iter().any(|word| first.eq_ignore_ascii_case(word));
    if inserts && counts.made_id == 0 { counts.returned_id } else { counts.made_id }
}

struct Found<T> {
    taker: T,
    dialect: LogDialect,
    count: u64,
}

impl<T: LogTaker> Found<T> {
    fn take(&mut self, statement: &CapturedStatement) -> Result<(), RecordingError> {
        self.count += 1;
        if dialect_of(statement) != self.dialect {
            self.taker.skip("statement of another kind of server", self.count);
            return Ok(());
        }
        let Some(bound) = self.bound(statement) else {
            self.taker.count_unbound(1);
            return Ok(());
        };
        let text = bound.as_ref().map_or(&*statement.text, |bound| &bound.text);
        let kept = bound.as_ref().filter(|_| statement.stays_prepared);
        let params = kept.and_then(|bound| Some(bound.params(&sql::tokens(text, self.dialect.sql()).ok()?)));
        let (session, began_us) = (statement.session.to_string(), statement.began_us);
        let schema = statement.schema.as_str();
        let made = statement
            .made
            .as_ref()
            .map_or_else(String::new, |made| format!("{}\t{}", made.column, made.ids.join("\t")));
        self.taker.add(&FoundStatement {
            line: self.count,
            began_us,
            took_us: None,
            session: &session,
            schema,
            text,
            answer: answer_of(statement),
            made: &made,
            params: params.as_deref(),
        })?;
        if let Some(took_us) = statement.took_us {
            self.taker.end_last_of(&session, began_us.saturating_add_unsigned(took_us), false)?;
        }
        Ok(())
    }

    /// The text with its values, if it was sent without; `None` if they are not known.
    fn bound(&self, statement: &CapturedStatement) -> Option<Option<BoundText>> {
        match &statement.values {
            Values::Known(values) if values.is_empty() && !statement.stays_prepared => Some(None),
            Values::Known(values) => sql::with_values(&statement.text, self.dialect.sql(), values).ok()?.map(Some),
            Values::Unknown(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_insert_returns_is_the_id_that_it_made_and_what_another_statement_returns_is_none() {
        let returned = AnswerCounts { sent: 2, returned_id: 7, ..AnswerCounts::default() };
        assert_eq!(made_id("Insert INTO t (v) VALUES (1), (2) RETURNING id", &returned), 7);
        assert_eq!([made_id("SELECT id FROM t", &returned), made_id("CALL p()", &returned)], [0, 0]);
        assert_eq!(made_id("INSERT INTO t (v) VALUES (1)", &AnswerCounts { made_id: 9, ..returned }), 9);
    }
}
