//! The records of a log of PostgreSQL, session by session, as statements.
//!
//! In: [`Record`]s in the order of the log. Out: statements for a [`LogTaker`]. Limits: the number of a process may be used again; that it is another
//! session is seen if connections are logged. Without a database in each record, that of a session is known if `log_connections` is on.

use super::super::answer::RecordedAnswer;
use super::super::log_taker::{FoundStatement, LogTaker, RecordedServer};
use super::super::recording::shown;
use super::binding;
use super::messages::{Event, ServerWord};
use super::record::Record;
use crate::recording_error::RecordingError;
use sql::BoundText;
use std::collections::HashMap;

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
    /// That one as it was sent, if it has not ended.
    statement: Option<String>,
}

/// A statement as it was sent.
struct Sent<'a> {
    text: &'a str,
    /// With the values that came with it; `None` if it was sent with them.
    bound: Option<&'a BoundText>,
    /// Whether it stays prepared.
    is_named: bool,
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
                self.add(record, took_us, &Sent { text, bound: None, is_named: false })?
            }
            Event::Execution { took_us, is_named, text } => match binding::bound(text, &record.detail) {
                Some(bound) => self.add(record, took_us, &Sent { text, bound: Some(&bound), is_named })?,
                None => self.leave_out(record),
            },
            Event::FunctionCall => self.leave_out(record),
            Event::Fetch => {
                self.taker.count_repeated(1);
                self.end_last(record, false)?;
            }
            Event::Ended => self.end_last(record, false)?,
            Event::Connected => self.begin_session(record, "")?,
            Event::Authorized { database } => self.begin_session(record, database)?,
            Event::Disconnected => self.end_session(&record.session)?,
            Event::OtherLanguage => return Err(other_language(record)),
            Event::Other if record.ends_statement => self.end_last(record, true)?,
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
            Session { name: count.to_string(), database: String::new(), has_sent: false, statement: None }
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
            self.leave_out(record);
            return Ok(());
        };
        let params = sent.bound.filter(|_| sent.is_named).map(|bound| bound.params(&tokens));
        self.has_fractions |= record.at.has_fraction;
        let began_us = began_us(record, took_us);
        let session = self.session(record);
        session.has_sent = true;
        session.statement = if took_us.is_none() { Some(sent.text.to_owned()) } else { None };
        let (name, known) = (session.name.clone(), session.database.clone());
        let schema = if record.database.is_empty() { &known } else { &record.database };
        let (line, answer) = (record.line, RecordedAnswer { failed: Some(false), ..RecordedAnswer::default() });
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

    /// A statement that the log does not have whole.
    fn leave_out(&mut self, record: &Record) {
        self.taker.count_unbound(1);
        // A duration behind it is its own.
        self.session(record).has_sent = false;
    }

    /// What the session did ended at the time of `record`, by an error if it `is_error`. An error may be that of a statement that was not logged.
    fn end_last(&mut self, record: &Record, is_error: bool) -> Result<(), RecordingError> {
        let session = self.session(record);
        if !session.has_sent {
            return Ok(());
        }
        let (name, ended) = (session.name.clone(), session.statement.take());
        let has_failed = is_error && ended.is_some_and(|ended| ended == record.statement);
        self.taker.end_last_of(&name, record.at.us, has_failed)
    }
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
