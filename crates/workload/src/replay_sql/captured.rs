//! The statements of a packet capture.
//!
//! In: a capture, as pcap or pcapng. Out: the statements of the server whose statements come first, for a [`LogTaker`], in the order of their ends.
//! Limits: those of [`capture`]. A statement of which no end was captured is taken to have ended when the one before it did.

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
                    let mut taker = make(dialect)?;
                    taker.note_each_once();
                    found = Some(Found { taker, dialect, count: 0, ended_us: i64::MIN });
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
    /// When the last statement ended.
    ended_us: i64,
}

impl<T: LogTaker> Found<T> {
    fn take(&mut self, statement: &CapturedStatement) -> Result<(), RecordingError> {
        self.count += 1;
        let began_us = statement.began_us;
        let known_us = statement.took_us.map(|took_us| began_us.saturating_add_unsigned(took_us));
        self.ended_us = known_us.unwrap_or(self.ended_us.max(began_us));
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
        let session = statement.session.to_string();
        let schema = statement.schema.as_str();
        let made = statement
            .made
            .as_ref()
            .map_or_else(String::new, |made| format!("{}\t{}", made.column, made.ids.join("\t")));
        self.taker.add(&FoundStatement {
            line: self.count,
            began_us,
            took_us: u64::try_from(self.ended_us.saturating_sub(began_us)).ok(),
            session: &session,
            schema,
            text,
            answer: answer_of(statement),
            made: &made,
            params: params.as_deref(),
        })
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
    use crate::replay_sql::recording::{RecordingBuilder, SqlRecording};
    use crate::replay_sql::wanted::LogWanted;
    use capture::Session;
    use std::net::SocketAddr;

    /// A capture of statements with the session, the beginning and the duration of each.
    fn captured(statements: &[(u64, i64, Option<u64>, &str)]) -> SqlRecording {
        let dialect = LogDialect::Postgres;
        let taker = RecordingBuilder::new(dialect, &LogWanted { writes: true, ..LogWanted::default() });
        let mut found = Found { taker, dialect, count: 0, ended_us: i64::MIN };
        let server = SocketAddr::from(([127, 0, 0, 1], 5432));
        for (number, began_us, took_us, text) in statements {
            let client = SocketAddr::from(([127, 0, 0, 1], *number as u16));
            let statement = CapturedStatement {
                began_us: *began_us,
                took_us: *took_us,
                session: Session { number: *number, client, server, began_us: 0 },
                dialect: Dialect::Postgres,
                schema: "shop".to_owned(),
                text: (*text).to_owned(),
                values: Values::Known(Vec::new()),
                stays_prepared: false,
                failed: false,
                counts: None,
                made: None,
            };
            found.take(&statement).unwrap();
        }
        found.taker.finish(false).unwrap()
    }

    /// Each text, and whether it comes after a statement of another session.
    fn told(recording: &SqlRecording) -> Vec<(String, bool)> {
        let all = recording.statements().map(Result::unwrap);
        all.map(|one| (recording.text(&one).unwrap(), one.after.is_some())).collect()
    }

    #[test]
    fn of_two_that_wanted_one_lock_the_one_that_ended_first_had_it_whichever_began_first() {
        let (lock, update) = ("SELECT c FROM t WHERE id = 5 FOR UPDATE", "UPDATE t SET c = 2 WHERE id = 5");
        let ended = [(4, 593_195, Some(200), update), (9, 592_702, Some(1_070), lock)];
        let expected = [(lock.to_owned(), true), (update.to_owned(), false)];
        assert_eq!(told(&captured(&ended)), expected, "in the order in which they began");
    }

    #[test]
    fn a_statement_without_an_end_sets_no_clock_back() {
        let update = "UPDATE t SET c = 2 WHERE id = 5";
        let hour_us = 3_600_000_000;
        let recording =
            captured(&[(1, hour_us, Some(10), update), (2, 0, None, update), (1, hour_us + 20, Some(5), update)]);
        assert_eq!(recording.skipped.total(), 0);
        assert_eq!(recording.length(), model::Nanos(hour_us as u64 * 1_000 + 20_000));
        let after: Vec<bool> = told(&recording).into_iter().map(|(_, is_after)| is_after).collect();
        assert_eq!(after, [true, false, true]);
    }

    #[test]
    fn what_an_insert_returns_is_the_id_that_it_made_and_what_another_statement_returns_is_none() {
        let returned = AnswerCounts { sent: 2, returned_id: 7, ..AnswerCounts::default() };
        assert_eq!(made_id("Insert INTO t (v) VALUES (1), (2) RETURNING id", &returned), 7);
        assert_eq!([made_id("SELECT id FROM t", &returned), made_id("CALL p()", &returned)], [0, 0]);
        assert_eq!(made_id("INSERT INTO t (v) VALUES (1)", &AnswerCounts { made_id: 9, ..returned }), 9);
    }
}
