//! The statements of a packet capture.
//!
//! In: a capture, as pcap or pcapng. Out: the statements of the server whose statements come first, for a [`LogTaker`], in the order of their ends.
//! Limits: those of [`capture`]. A statement of which no end was captured is taken to have ended when the one before it did, if its
//! session goes on. If that does not, nobody knows how long it ran, and a replay might wait for it for ever: it is left out and counted. Of
//! several that a session sent at once without an end, that is the last one.

use super::answer::RecordedAnswer;
use super::log_taker::{FoundStatement, LogTaker, RecordedServer, TakenLog};
use super::skipped::Skipped;
use super::wanted::LogDialect;
use crate::recording_error::RecordingError;
use capture::{AnswerCounts, CaptureEvent, CapturedStatement, Dialect, Session, Values};
use sql::BoundText;
use std::collections::HashMap;
use std::io::Read;
use std::ops::ControlFlow;

/// What is counted of a statement that was the last of its session and has no end. `Trust:` looks for it by this name.
const WITHOUT_END: &str = "statements without an end";

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
                    found = Some(Found::new(taker, dialect));
                    Ok(())
                });
                begun.and_then(|()| found.as_mut().expect("it was begun").take(statement))
            }
            CaptureEvent::SessionEnded { session, .. } => {
                found.as_mut().map_or(Ok(()), |found| found.end_session(&session))
            }
        };
        failed = taken.err();
        if failed.is_none() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    let summary = summary.map_err(|error| RecordingError::of_file(error.to_string()))?;
    if let Some(error) = failed {
        return Err(error);
    }
    let Some(found) = found else {
        let skipped = summary.skipped.sentences().join("; ");
        let skipped = if skipped.is_empty() { String::new() } else { format!(": {skipped}") };
        return Err(RecordingError::of_file(format!("the capture has no statement{skipped}")));
    };
    let dialect = found.dialect;
    let mut taker = found.finish();
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
    /// The last statement of each session, by its number, if it has no end.
    open: HashMap<u64, CapturedStatement>,
    /// How many there were of sessions that are over.
    without_end: u64,
}

impl<T: LogTaker> Found<T> {
    fn new(taker: T, dialect: LogDialect) -> Found<T> {
        Found { taker, dialect, count: 0, ended_us: i64::MIN, open: HashMap::new(), without_end: 0 }
    }

    /// Takes up the next statement. One without an end waits until its session goes on.
    fn take(&mut self, statement: CapturedStatement) -> Result<(), RecordingError> {
        if let Some(before) = self.open.remove(&statement.session.number) {
            self.keep(&before)?;
        }
        if statement.took_us.is_some() {
            return self.keep(&statement);
        }
        self.open.insert(statement.session.number, statement);
        Ok(())
    }

    fn end_session(&mut self, session: &Session) -> Result<(), RecordingError> {
        self.without_end += u64::from(self.open.remove(&session.number).is_some());
        self.taker.end_session(&session.to_string())
    }

    /// Who has taken up all of them.
    fn finish(mut self) -> T {
        let without_end = self.without_end + self.open.len() as u64;
        if without_end > 0 {
            self.taker.skip_many(WITHOUT_END, without_end, 0);
        }
        self.taker
    }

    fn keep(&mut self, statement: &CapturedStatement) -> Result<(), RecordingError> {
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
    use std::net::SocketAddr;

    fn statement(number: u64, began_us: i64, took_us: Option<u64>, text: &str) -> CapturedStatement {
        let server = SocketAddr::from(([127, 0, 0, 1], 5432));
        let client = SocketAddr::from(([127, 0, 0, 1], number as u16));
        CapturedStatement {
            began_us,
            took_us,
            session: Session { number, client, server, began_us: 0 },
            dialect: Dialect::Postgres,
            schema: "shop".to_owned(),
            text: text.to_owned(),
            values: Values::Known(Vec::new()),
            stays_prepared: false,
            failed: false,
            counts: None,
            made: None,
        }
    }

    /// A capture of statements with the session, the beginning and the duration of each.
    fn captured(statements: &[(u64, i64, Option<u64>, &str)]) -> SqlRecording {
        let dialect = LogDialect::Postgres;
        let taker = RecordingBuilder::new(dialect, &LogWanted { writes: true, ..LogWanted::default() });
        let mut found = Found::new(taker, dialect);
        for (number, began_us, took_us, text) in statements {
            found.take(statement(*number, *began_us, *took_us, text)).unwrap();
        }
        found.finish().finish(false).unwrap()
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
        let recording = captured(&[
            (1, hour_us, Some(10), update),
            (2, 0, None, update),
            (1, hour_us + 20, Some(5), update),
            (2, hour_us + 30, Some(5), "SELECT 1"),
        ]);
        assert_eq!(recording.skipped.total(), 0);
        assert_eq!(recording.length(), model::Nanos(hour_us as u64 * 1_000 + 30_000));
        let after: Vec<bool> = told(&recording).into_iter().map(|(_, is_after)| is_after).collect();
        assert_eq!(after, [true, false, false, false], "it may have ended as late as its session went on");
    }

    #[test]
    fn the_last_statement_of_a_session_is_left_out_if_it_has_no_end() {
        let sleep = "SELECT pg_sleep(600)";
        let recording = captured(&[
            (1, 0, Some(10), "SELECT 1"),
            (2, 5, None, sleep),
            (3, 6, None, sleep),
            (1, 20, None, "SELECT 2"),
        ]);
        let texts: Vec<String> = told(&recording).into_iter().map(|(text, _)| text).collect();
        assert_eq!(texts, ["SELECT 1"]);
        let skipped: Vec<(&str, u64)> = recording.skipped.kinds().map(|(name, kind)| (name, kind.count)).collect();
        assert_eq!(skipped, [("statements_without_an_end", 3)]);
    }

    #[test]
    fn a_statement_that_was_open_when_its_session_ended_is_left_out() {
        let taker = RecordingBuilder::new(LogDialect::Postgres, &LogWanted::default());
        let mut found = Found::new(taker, LogDialect::Postgres);
        found.take(statement(1, 0, Some(10), "SELECT 1")).unwrap();
        let open = statement(2, 5, None, "SELECT pg_sleep(600)");
        let session = open.session;
        found.take(open).unwrap();
        found.end_session(&session).unwrap();
        assert_eq!((found.without_end, found.open.len()), (1, 0));
        let recording = found.finish().finish(false).unwrap();
        assert_eq!((recording.len(), recording.skipped.total()), (1, 1));
    }

    #[test]
    fn what_an_insert_returns_is_the_id_that_it_made_and_what_another_statement_returns_is_none() {
        let returned = AnswerCounts { sent: 2, returned_id: 7, ..AnswerCounts::default() };
        assert_eq!(made_id("Insert INTO t (v) VALUES (1), (2) RETURNING id", &returned), 7);
        assert_eq!([made_id("SELECT id FROM t", &returned), made_id("CALL p()", &returned)], [0, 0]);
        assert_eq!(made_id("INSERT INTO t (v) VALUES (1)", &AnswerCounts { made_id: 9, ..returned }), 9);
    }
}
