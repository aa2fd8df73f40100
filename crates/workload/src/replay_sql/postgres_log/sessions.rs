//! The records of a log of PostgreSQL, session by session, as statements.
//!
//! In: [`Record`]s in the order of the log. Out: statements for a [`LogTaker`]. Limits: the number of a process may be used again; that it is another
//! session is seen if connections are logged. Without a database in each record, that of a session is known if `log_connections` is on. With
//! `log_min_duration_statement` only its error tells of a statement that failed, with its values if `log_parameter_max_length_on_error` has the server
//! say them. If it had some that are not told whole, it cannot be sent, and so what its transaction went on with is rolled back.

use super::super::answer::RecordedAnswer;
use super::super::log_taker::{FoundStatement, LogTaker, RecordedServer};
use super::super::recording::shown;
use super::binding;
use super::messages::{Event, ServerWord};
use super::record::Record;
use crate::recording_error::RecordingError;
use sql::{BoundText, Token, TransactionStep};
use std::collections::HashMap;

/// What the server says of each statement behind one that has aborted its transaction.
const CONSEQUENCE: &str = "current transaction is aborted";

/// All sessions of a log.
pub(super) struct Sessions<'a> {
    taker: &'a mut dyn LogTaker,
    server: RecordedServer,
    /// By their names in the log.
    open: HashMap<String, Session>,
    /// How many there were.
    count: u64,
    has_fractions: bool,
}

struct Session {
    /// Its name for whoever takes it up.
    name: String,
    /// Its database, as the record of its connection names it.
    database: String,
    /// Whether it has sent a statement, and the last one is replayed.
    has_sent: bool,
    /// The last one as it was sent, if it has not ended.
    statement: Option<String>,
    /// Whether a statement failed that is not replayed: its transaction goes on in the replay, and did not.
    is_aborted: bool,
}

/// A statement as it was sent.
struct Sent<'a> {
    text: &'a str,
    /// With the values that came with it; `None` if it was sent with them.
    bound: Option<&'a BoundText>,
    /// Whether it stays prepared.
    is_named: bool,
    /// Whether it is known from its error.
    has_failed: bool,
}

impl<'a> Sessions<'a> {
    pub(super) fn new(taker: &'a mut dyn LogTaker) -> Sessions<'a> {
        Sessions { taker, server: RecordedServer::default(), open: HashMap::new(), count: 0, has_fractions: false }
    }

    /// Takes up one record.
    pub(super) fn take(&mut self, record: &Record) -> Result<(), RecordingError> {
        if !record.at.has_known_zone {
            self.skip("time zone of a name that is not known", record.line);
        }
        self.learn_server(&record.message);
        match Event::of(&record.message) {
            Event::Statement { took_us, text } => {
                self.add(record, took_us, &Sent { text, bound: None, is_named: false, has_failed: false })?
            }
            Event::Execution { took_us, is_named, text } => match binding::bound(text, &record.detail) {
                Some(bound) => {
                    let bound = Some(&bound);
                    self.add(record, took_us, &Sent { text, bound, is_named, has_failed: false })?
                }
                None => self.leave_out(record, took_us.is_none().then_some(text)),
            },
            Event::FunctionCall => self.leave_out(record, None),
            Event::Fetch => {
                self.taker.count_repeated(1);
                self.end_last(record, false)?;
            }
            Event::Ended => self.end_last(record, false)?,
            Event::Connected => self.begin_session(record, "")?,
            Event::Authorized { database } => self.begin_session(record, database)?,
            Event::Disconnected => self.end_session(&record.session)?,
            Event::OtherLanguage => return Err(other_language(record)),
            Event::Other if record.ends_statement => self.fail(record)?,
            Event::Other => {}
        }
        Ok(())
    }

    /// Counts what is of no record.
    pub(super) fn skip(&mut self, kind: &str, line: u64) {
        self.taker.skip(kind, line);
    }

    /// The end of the log. Whether its times have no fractions.
    pub(super) fn finish(self) -> bool {
        self.taker.set_server(self.server);
        !self.has_fractions
    }

    /// A log that goes on after a restart names the server again.
    fn learn_server(&mut self, message: &str) {
        match ServerWord::of(message) {
            Some(ServerWord::Version(version)) => {
                self.server = RecordedServer { version: version.to_owned(), ..RecordedServer::default() };
            }
            Some(ServerWord::Port(port)) => self.server.port = Some(port),
            Some(ServerWord::Socket(path)) => self.server.socket = Some(path.to_owned()),
            None => {}
        }
    }

    fn session(&mut self, record: &Record) -> &mut Session {
        let count = &mut self.count;
        self.open.entry(record.session.clone()).or_insert_with(|| {
            *count += 1;
            let (name, database) = (count.to_string(), String::new());
            Session { name, database, has_sent: false, statement: None, is_aborted: false }
        })
    }

    /// A client came: the process may have served another one before.
    fn begin_session(&mut self, record: &Record, database: &str) -> Result<(), RecordingError> {
        if record.is_process && self.session(record).has_sent {
            self.end_session(&record.session)?;
        }
        self.session(record).database = database.to_owned();
        Ok(())
    }

    fn end_session(&mut self, session: &str) -> Result<(), RecordingError> {
        match self.open.remove(session) {
            Some(Session { name, .. }) => self.taker.end_session(&name),
            None => Ok(()),
        }
    }

    /// Takes up a statement. A log has the errors of all statements, also of those that it has before.
    fn add(&mut self, record: &Record, took_us: Option<u64>, sent: &Sent<'_>) -> Result<(), RecordingError> {
        let text = sent.bound.map_or(sent.text, |bound| &bound.text);
        let Ok(tokens) = sql::tokens(text, sql::Dialect::Postgres) else {
            // A server logs no statement that it could not parse: the end of its text is missing.
            self.leave_out(record, took_us.is_none().then_some(sent.text));
            return Ok(());
        };
        let rolled_back = self.follow_transaction(record, text, &tokens);
        let text = rolled_back.as_deref().unwrap_or(text);
        let params = sent.bound.filter(|_| sent.is_named).map(|bound| bound.params(&tokens));
        self.has_fractions |= record.at.has_fraction;
        let began_us = began_us(record, took_us);
        let session = self.session(record);
        session.has_sent = true;
        session.statement = if took_us.is_none() { Some(sent.text.to_owned()) } else { None };
        let (name, known) = (session.name.clone(), session.database.clone());
        let schema = if record.database.is_empty() { &known } else { &record.database };
        let answer = RecordedAnswer { failed: Some(sent.has_failed), ..RecordedAnswer::default() };
        let line = record.line;
        let params = params.as_deref();
        self.taker.add(&FoundStatement {
            line,
            began_us,
            took_us,
            session: &name,
            schema,
            text,
            answer,
            made: "",
            params,
        })
    }

    /// What a statement does to a transaction that was aborted. The text in place of its COMMIT, which the server answered with a ROLLBACK.
    fn follow_transaction(&mut self, record: &Record, text: &str, tokens: &[Token]) -> Option<String> {
        let step = TransactionStep::of(text, tokens);
        let (TransactionStep::Begins
        | TransactionStep::Commits(_)
        | TransactionStep::RollsBack(_)
        | TransactionStep::GoesBackTo(_)) = step
        else {
            return None;
        };
        let was_aborted = std::mem::take(&mut self.session(record).is_aborted);
        let commits = was_aborted && matches!(step, TransactionStep::Commits(_));
        commits.then(|| format!("ROLLBACK{}", &text[tokens[0].end..]))
    }

    /// A statement that the log does not have completely, as it was sent, if it has not ended.
    fn leave_out(&mut self, record: &Record, pending: Option<&str>) {
        self.taker.count_unbound(1);
        let session = self.session(record);
        // A duration behind it is its own.
        session.has_sent = false;
        session.statement = pending.map(str::to_owned);
    }

    /// A statement of which the log has the error only. Nothing is lost if the server has not even tried it, because its transaction had been
    /// aborted, or if its values are known and another one had aborted its transaction.
    fn leave_out_failed(&mut self, record: &Record, is_lost: bool) {
        if is_lost {
            self.taker.count_unbound(1);
            self.taker.count_failed_unbound(1);
        } else {
            self.taker.count_repeated(1);
        }
        let session = self.session(record);
        (session.has_sent, session.statement) = (false, None);
    }

    /// What the session did ended at the time of `record`, by an error if it `has_failed`.
    fn end_last(&mut self, record: &Record, has_failed: bool) -> Result<(), RecordingError> {
        let session = self.session(record);
        session.statement = None;
        if !session.has_sent {
            return Ok(());
        }
        let name = session.name.clone();
        self.taker.end_last_of(&name, record.at.us, has_failed)
    }

    /// The error of the last statement, or of one that the log has nowhere else. One that ended the session, too, was not the statement's: with it
    /// workers of a statement are sent away that others have finished.
    fn fail(&mut self, record: &Record) -> Result<(), RecordingError> {
        let session = self.session(record);
        let is_last = session.statement.as_deref() == Some(record.statement.as_str());
        // What has aborted the transaction is not sent, so that it need not fail again.
        let is_consequence = session.is_aborted && record.message.starts_with(CONSEQUENCE);
        if is_last || record.statement.is_empty() || record.ends_session {
            session.is_aborted |= is_last && !session.has_sent;
            if is_last && loads_rows(&record.statement) {
                self.taker.fail_load();
            }
            return self.end_last(record, is_last && !is_consequence);
        }
        let text = record.statement.as_str();
        let bound = binding::bound(text, binding::values_in_context(&record.context).unwrap_or(&record.detail));
        let is_unknown = bound.is_none() && !prepares(text);
        if session.is_aborted || is_unknown {
            session.is_aborted = true;
            self.leave_out_failed(record, is_unknown && !record.message.starts_with(CONSEQUENCE));
            return Ok(());
        }
        // When it began is not known, nor whether it had been prepared under a name.
        self.add(record, Some(0), &Sent { text, bound: bound.as_ref(), is_named: false, has_failed: true })
    }
}

/// Whether the parameters in `text` are those of what it prepares.
fn prepares(text: &str) -> bool {
    let tokens = sql::tokens(text, sql::Dialect::Postgres).unwrap_or_default();
    tokens.first().is_some_and(|first| first.is_word(text, &["prepare"]))
}

fn loads_rows(text: &str) -> bool {
    let tokens = sql::tokens(text, sql::Dialect::Postgres).unwrap_or_default();
    sql::loads_rows(text, &tokens, sql::Dialect::Postgres)
}

/// When the statement of `record` began. Of a time in whole seconds, parts of a second cannot be taken.
fn began_us(record: &Record, took_us: Option<u64>) -> i64 {
    let took_us = took_us.unwrap_or(0).min(i64::MAX as u64) as i64;
    let grain_us = if record.at.has_fraction { 1 } else { 1_000_000 };
    record.at.us.saturating_sub(took_us / grain_us * grain_us)
}

fn other_language(record: &Record) -> RecordingError {
    let text = format!(
        "`{}` is not in English; set lc_messages = 'C' on the recorded server and record again",
        shown(&record.message)
    );
    RecordingError::at(record.line, text)
}

#[cfg(test)]
mod tests {
    use crate::replay_sql::{LogWanted, RecordedStatement, SqlRecording, read_log};

    fn recorded(log: &str) -> SqlRecording {
        read_log(log.as_bytes(), &LogWanted { writes: true, ..LogWanted::default() }).unwrap().1
    }

    /// The texts, each with `!` before it if it failed, and how many are left out because they have no values.
    fn told(recording: &SqlRecording) -> (Vec<String>, u64) {
        let text = |it: std::io::Result<RecordedStatement>| {
            let (it, mut text) = (it.unwrap(), Vec::new());
            let failed = recording.read_text(&it, &mut text).unwrap().answer.failed == Some(true);
            format!("{}{}", if failed { "!" } else { "" }, recording.text(&it).unwrap())
        };
        (recording.statements().map(text).collect(), recording.left_out.unbound)
    }

    /// Records that each format has of the same: severities with messages, and of errors the statements.
    const FAILED: [(&str, &str, &str); 8] = [
        ("LOG", "duration: 0.020 ms  statement: BEGIN", ""),
        ("LOG", "duration: 0.200 ms  statement: UPDATE t SET n = 1 WHERE id = 1", ""),
        ("ERROR", "duplicate key value violates unique constraint", "INSERT INTO t VALUES (1)"),
        ("ERROR", "current transaction is aborted", "UPDATE t SET n = 2 WHERE id = 2"),
        ("LOG", "duration: 0.010 ms  statement: COMMIT", ""),
        ("ERROR", "syntax error", "selec 3"),
        ("FATAL", "terminating connection due to administrator command", "select 4"),
        ("LOG", "duration: 0.010 ms  statement: select 5", ""),
    ];

    fn plain(records: &[(&str, &str, &str)]) -> String {
        let record = |(nth, (severity, message, statement)): (usize, &(&str, &str, &str))| {
            let prefix = format!("2024-03-01 10:00:0{nth}.100 UTC [71] ");
            let behind = match *statement {
                "" => String::new(),
                statement => format!("{prefix}STATEMENT:  {statement}\n"),
            };
            format!("{prefix}{severity}:  {message}\n{behind}")
        };
        records.iter().enumerate().map(record).collect()
    }

    #[test]
    fn statements_of_which_only_the_error_is_in_the_log_are_sent_and_fail_again() {
        let csv = |(nth, (severity, message, statement)): (usize, &(&str, &str, &str))| {
            format!(
                "2024-03-01 10:00:0{nth}.100 UTC,\"app\",\"shop\",71,\"[local]\",65e1.1,{nth},\"x\",2024-03-01 09:59:59 UTC,3/2,0,\
                 {severity},00000,\"{message}\",,,,,,\"{statement}\",,,\"psql\",\"client backend\",,0\n"
            )
        };
        let json = |(nth, (severity, message, statement)): (usize, &(&str, &str, &str))| {
            format!(
                "{{\"timestamp\":\"2024-03-01 10:00:0{nth}.100 UTC\",\"session_id\":\"65e1.1\",\"error_severity\":\"{severity}\",\
                 \"message\":\"{message}\",\"statement\":\"{statement}\"}}\n"
            )
        };
        let all = || FAILED.iter().enumerate();
        let expected = [
            "BEGIN",
            "UPDATE t SET n = 1 WHERE id = 1",
            "!INSERT INTO t VALUES (1)",
            "!UPDATE t SET n = 2 WHERE id = 2",
            "COMMIT",
            "!selec 3",
            "select 5",
        ];
        for log in [plain(&FAILED), all().map(csv).collect(), all().map(json).collect()] {
            assert_eq!(told(&recorded(&log)), (expected.map(str::to_owned).to_vec(), 0), "{log}");
        }
    }

    #[test]
    fn a_statement_of_which_only_the_error_is_in_the_log_has_the_values_that_this_tells() {
        let (at, statement) = ("2024-03-01 10:00:00.100 UTC", "INSERT INTO t VALUES ($1, $2)");
        let logs = |last: &str| {
            let values = format!("unnamed portal with parameters: $1 = '5', $2 = '{last}'");
            let plain = format!(
                "{at} [71] ERROR:  duplicate key\n{at} [71] DETAIL:  Key (id)=(5) already exists.\n{at} [71] CONTEXT:  PL/pgSQL function f()\n\t{values}\n\
                 {at} [71] STATEMENT:  {statement}\n{at} [71] LOG:  duration: 0.010 ms  statement: COMMIT\n"
            );
            let csv = |severity: &str, message: &str, behind: &str| {
                format!(
                    "{at},\"app\",\"shop\",71,\"[local]\",65e1.1,1,\"x\",2024-03-01 09:59:59 UTC,3/2,0,{severity},00000,\"{message}\",,,,,{behind},,,\"psql\",\"client backend\",,0\n"
                )
            };
            let json = |severity: &str, message: &str, more: &str| {
                format!(
                    "{{\"timestamp\":\"{at}\",\"session_id\":\"65e1.1\",\"error_severity\":\"{severity}\",\"message\":\"{message}\"{more}}}\n"
                )
            };
            let commit = "duration: 0.010 ms  statement: COMMIT";
            let in_csv = format!("\"PL/pgSQL function f()\n{values}\",\"{statement}\"");
            let in_json = format!(",\"context\":\"PL/pgSQL function f()\\n{values}\",\"statement\":\"{statement}\"");
            [
                plain,
                csv("ERROR", "duplicate key", &in_csv) + &csv("LOG", commit, ","),
                json("ERROR", "duplicate key", &in_json) + &json("LOG", commit, ""),
            ]
        };
        for log in logs("a") {
            let expected = ["!INSERT INTO t VALUES ('5', 'a')", "COMMIT"].map(str::to_owned).to_vec();
            assert_eq!(told(&recorded(&log)), (expected, 0), "{log}");
        }
        for log in logs("a...") {
            assert_eq!(told(&recorded(&log)), (vec!["ROLLBACK".to_owned()], 1), "{log}");
        }
    }

    #[test]
    fn rows_of_a_copy_whose_error_is_in_a_line_of_its_own_are_not_missing() {
        let log = plain(&[
            ("LOG", "statement: COPY t FROM '/missing'", ""),
            ("ERROR", "could not open file", "COPY t FROM '/missing'"),
            ("LOG", "statement: COPY t FROM '/there'", ""),
            ("LOG", "statement: SELECT 1", ""),
        ]);
        let left_out = recorded(&log).left_out;
        assert_eq!((left_out.loads, left_out.repeated), (1, 1));
    }

    #[test]
    fn a_transaction_that_was_aborted_by_what_is_not_sent_is_rolled_back() {
        let sent = |records: &[(&str, &str, &str)]| {
            let (texts, unbound) = told(&recorded(&plain(records)));
            (texts.join("; "), unbound)
        };
        let begin = ("LOG", "duration: 0.020 ms  statement: BEGIN", "");
        let failed = ("ERROR", "duplicate key value", "INSERT INTO t VALUES ($1)");
        let aborted = ("ERROR", "current transaction is aborted", "UPDATE t SET n = 2");
        let commit = ("LOG", "duration: 0.010 ms  statement: commit and chain", "");
        assert_eq!(
            sent(&[begin, failed, aborted, commit, commit]),
            ("BEGIN; ROLLBACK and chain; commit and chain".to_owned(), 1)
        );
        let refused = ("ERROR", "current transaction is aborted", "UPDATE t SET n = $1");
        let log = plain(&[begin, failed, refused, aborted, commit]);
        let left_out = recorded(&log).left_out;
        assert_eq!((left_out.unbound, left_out.failed_unbound, left_out.repeated), (1, 1, 2), "these need no values");
        let back = ("LOG", "duration: 0.010 ms  statement: ROLLBACK TO s", "");
        assert_eq!(sent(&[begin, failed, back, commit]), ("BEGIN; ROLLBACK TO s; commit and chain".to_owned(), 1));
        // Of what is logged when it begins and has no values, the error says nothing new.
        let (begin, commit) = (("LOG", "statement: BEGIN", ""), ("LOG", "statement: END", ""));
        let unbound = ("LOG", "execute <unnamed>: INSERT INTO t VALUES ($1)", "");
        assert_eq!(sent(&[begin, unbound, failed, commit]), ("BEGIN; ROLLBACK".to_owned(), 1));
        assert_eq!(sent(&[begin, unbound, commit]), ("BEGIN; END".to_owned(), 1));
        let logged = ("LOG", "statement: UPDATE t SET n = 2", "");
        let told = sent(&[begin, unbound, failed, logged, aborted, commit]);
        assert_eq!(told, ("BEGIN; UPDATE t SET n = 2; ROLLBACK".to_owned(), 1), "it need not fail again");
        assert_eq!(sent(&[begin, logged, aborted, commit]).0, "BEGIN; !UPDATE t SET n = 2; END");
        let prepares = ("ERROR", "relation does not exist", "PREPARE p AS SELECT $1");
        assert_eq!(sent(&[prepares, commit]), ("!PREPARE p AS SELECT $1; END".to_owned(), 0));
    }
}
