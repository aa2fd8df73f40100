//! Whoever takes up what is found in a log: a recording that is replayed, or a workload file that is kept.
//!
//! In: what a reader finds, in the order of the log. Out: nothing; what became of it is asked of the taker itself. Limits: a reader passes on all
//! that the log has, also statements that will not be replayed.

use super::answer::RecordedAnswer;
use super::skipped::Skipped;
use super::wanted::LogDialect;
use crate::recording_error::RecordingError;
use sql::{BoundParam, Token};

/// What is counted of a statement whose bytes cannot be sent; a capture counts them by the same words.
const NOT_UTF8: &str = "statements that are not UTF-8";

/// A statement as a reader has found it.
#[derive(Clone, Copy, Debug, Default)]
pub struct FoundStatement<'a> {
    /// The number of its line, for messages.
    pub line: u64,
    /// When it began, in microseconds since 1970.
    pub began_us: i64,
    /// How long it took, if the log has that.
    pub took_us: Option<u64>,
    /// The session that sent it, in the log's own words.
    pub session: &'a str,
    /// The schema or database that names without one are in; empty for none.
    pub schema: &'a str,
    pub text: &'a str,
    /// What the server answered.
    pub answer: RecordedAnswer,
    /// The ids of the rows that it inserted (PostgreSQL): the name of their column and each of them, with tabs between; empty if they are not
    /// known.
    pub made: &'a str,
    /// Where the values stand with which it was called, if it was prepared and stayed so for other calls.
    pub params: Option<&'a [BoundParam]>,
}

impl FoundStatement<'_> {
    /// Whether it has stored rows that the log does not have. It is split into `tokens` as `text`.
    pub(super) fn loads_rows(&self, text: &str, tokens: &[Token], dialect: LogDialect) -> bool {
        self.answer.failed != Some(true) && sql::loads_rows(text, tokens, dialect.sql())
    }
}

/// What a log says of the server that wrote it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedServer {
    /// Its version; empty if the log does not name it.
    pub version: String,
    /// The TCP port on which it listened.
    pub port: Option<u16>,
    /// The path of its socket.
    pub socket: Option<String>,
}

/// Takes up what a log holds.
pub(super) trait LogTaker {
    /// Takes up what the log says of its server. A log that goes on after a restart says it again: the last counts.
    fn set_server(&mut self, server: RecordedServer);

    /// The values of the log were replaced by others before.
    fn note_hashed(&mut self) {}

    /// Its statements are those that clients have sent: none is there again in another form, as in a log of MySQL.
    fn note_each_once(&mut self);

    /// Counts what is no statement to replay, or cannot be read: its kind in a few words, and the first line, or 0 if there are no lines.
    fn skip_many(&mut self, kind: &str, count: u64, line: u64);

    /// The same of one.
    fn skip(&mut self, kind: &str, line: u64) {
        self.skip_many(kind, 1, line);
    }

    /// Takes up one statement, unless it has bytes that are no UTF-8 where nobody knows what they mean, or is a question of plimsoll itself, which has
    /// watched or loaded the server: that is no load of others.
    ///
    /// # Errors
    /// If there are too many, or no room for them.
    fn add(&mut self, found: &FoundStatement<'_>) -> Result<(), RecordingError> {
        let is_own = sql::has_own_mark(found.text);
        if !is_own && !sql::has_raw_bytes(found.text) {
            return self.keep(found);
        }
        self.forget_last_of(found.session);
        if is_own {
            self.count_own(1);
        } else {
            self.skip(NOT_UTF8, found.line);
        }
        Ok(())
    }

    /// Takes up one statement of others.
    ///
    /// # Errors
    /// If there are too many, or no room for them.
    fn keep(&mut self, found: &FoundStatement<'_>) -> Result<(), RecordingError>;

    /// What is told of the last statement of `session` from now on is of one that is not kept.
    fn forget_last_of(&mut self, session: &str);

    /// Counts questions of plimsoll itself.
    fn count_own(&mut self, many: u64);

    /// Counts statements whose values the log does not have.
    fn count_unbound(&mut self, many: u64);

    /// Counts how many of these have failed.
    fn count_failed_unbound(&mut self, many: u64);

    /// Counts statements that are no load of their own: the log has them otherwise, too.
    fn count_repeated(&mut self, many: u64);

    /// Counts statements that are left out although they stored rows, because the log does not have these.
    fn count_loads(&mut self, many: u64);

    /// The last of these has failed, as a line behind it says: it stored nothing.
    fn fail_load(&mut self);

    /// The last statement of `session` ended at `end_us`, as a line of its own says, which may be an error.
    ///
    /// # Errors
    /// If there is no room for that.
    fn end_last_of(&mut self, session: &str, end_us: i64, has_failed: bool) -> Result<(), RecordingError>;

    /// `session` is over: one of the same name is another.
    ///
    /// # Errors
    /// If there is no room for that.
    fn end_session(&mut self, session: &str) -> Result<(), RecordingError>;
}

/// A log that was read to its end.
pub(super) struct TakenLog<T> {
    /// Whose log it is.
    pub dialect: LogDialect,
    /// Who has taken it up.
    pub taker: T,
    /// Whether its times have no fractions.
    pub has_whole_seconds: bool,
    /// What was left out of its lines.
    pub of_lines: Skipped,
}
