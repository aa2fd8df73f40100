//! What the sessions of a watched server do at one moment, and who waits for whom.
//!
//! In: the rows of a server's answers. Out: a [`ServerLook`] with the first rows, and how many more there were. Limits: statements are kept
//! without their values. Where it depends on settings of another session what is a value (a backslash within quotes), the text ends there.

use crate::server::network::TextRows;
use crate::sql::OpFailure;
use crate::sql::admin_connection::WireError;
use model::{MissingPart, ObservedSession, ObservedWait, ServerLook, WATCH_ROWS_MAX};
use sql::{Dialect, Reading, lex_to_end, shape_of};

/// So many rows a server is asked for; what it has beyond these is not counted.
pub(super) const ROWS_ASKED: usize = 500;
/// The most characters of a statement.
const CHARS_MAX: usize = 200;
/// The most characters of a name or a state.
const NAME_CHARS_MAX: usize = 64;

/// What a server has answered.
#[derive(Debug, Default)]
pub(super) struct Details {
    pub look: ServerLook,
    /// What it does not tell this account.
    pub missing: Vec<MissingPart>,
}

impl Details {
    /// The sessions and waits, of which those that wait or are waited for are kept before others.
    pub fn new(mut sessions: Vec<ObservedSession>, mut waits: Vec<ObservedWait>) -> Details {
        let waits_left_out = waits.len().saturating_sub(WATCH_ROWS_MAX) as u64;
        waits.truncate(WATCH_ROWS_MAX);
        sessions.sort_by_key(|session| !waits.iter().any(|wait| [wait.waiter, wait.blocker].contains(&session.id)));
        let sessions_left_out = sessions.len().saturating_sub(WATCH_ROWS_MAX) as u64;
        sessions.truncate(WATCH_ROWS_MAX);
        let look = ServerLook { sessions, sessions_left_out, waits, waits_left_out, ..ServerLook::default() };
        Details { look, missing: Vec::new() }
    }

    /// The same without a part that the server has refused for `reason`.
    pub fn without(mut self, what: &str, reason: &str, mend: &str) -> Details {
        self.look.failed = Some(format!("{what}: {reason}"));
        self.missing.push(MissingPart { what: format!("{what}: {reason}"), mend: mend.to_owned() });
        self
    }
}

/// The rows, or the reason for which the server refuses them.
pub(super) fn rows_or_reason<E: WireError>(answer: Result<TextRows, E>) -> Result<Result<TextRows, String>, OpFailure> {
    match answer {
        Ok(rows) => Ok(Ok(rows)),
        Err(error) if error.lost().is_some() => Err(error.into_failure()),
        Err(error) => Ok(Err(error.into_failure().text)),
    }
}

/// The statement `text` without values and comments, in one line of a bearable length.
pub(super) fn without_values(text: &str, dialect: Dialect) -> String {
    shape_in_line(text, dialect, CHARS_MAX)
}

/// The same of at most so many characters, besides what says that it is cut.
pub(super) fn shape_in_line(text: &str, dialect: Dialect, chars_max: usize) -> String {
    let (known, is_cut) = text.split_once('\\').map_or((text, false), |(known, _)| (known, true));
    let lexed = lex_to_end(known, Reading::usual(dialect));
    // Servers differ in where a quote ends that is within a comment which some of them perform.
    let tokens = if lexed.is_doubtful { &lexed.tokens[..lexed.tokens.len().min(1)] } else { &lexed.tokens[..] };
    let shape = shape_of(known, tokens);
    let is_cut = is_cut || lexed.is_doubtful || shape.chars().count() > chars_max;
    let line: String = shape.chars().take(chars_max).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if is_cut { line + " .." } else { line }
}

/// A name or a state, in one line of a bearable length.
pub(super) fn name(text: Option<String>) -> Option<String> {
    let text = text.filter(|text| !text.is_empty())?;
    Some(text.chars().take(NAME_CHARS_MAX).map(|c| if c.is_control() { ' ' } else { c }).collect())
}

/// A number of seconds, which is none below 0.
pub(super) fn seconds(text: Option<String>) -> Option<f64> {
    text?.parse::<f64>().ok().filter(|seconds| seconds.is_finite()).map(|seconds| seconds.max(0.0))
}

pub(super) fn number(text: Option<String>) -> Option<u64> {
    text?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(id: u64) -> ObservedSession {
        ObservedSession { id, ..ObservedSession::default() }
    }

    #[test]
    fn no_value_of_a_statement_is_kept_whatever_the_settings_of_its_session() {
        let mysql = |text: &str| without_values(text, Dialect::Mysql);
        assert_eq!(mysql("UPDATE t\nSET a = 'canary' /* canary */ WHERE id=7"), "update t set a = ? where id = ?");
        for text in [
            "SELECT 'a\\' AND b = 'canary",
            "SELECT 'a\\', 'canary'",
            "SELECT 1, 'canary",
            "SELECT \"canary\"",
            "SELECT 'a\\'' canary '",
            "SELECT /*!99999 'a */ 'canary ' */",
        ] {
            assert!(!mysql(text).contains("canary"), "{}", mysql(text));
            assert!(mysql(text).starts_with("select"), "{}", mysql(text));
        }
        let postgres = |text: &str| without_values(text, Dialect::Postgres);
        assert_eq!(postgres("DO $$ canary $$"), "do ?");
        for text in ["SELECT E'a\\'canary'", "SELECT $a$ canary", "SELECT 'a\\' || canary || '"] {
            assert!(!postgres(text).contains("canary"), "{}", postgres(text));
        }
        assert!(mysql(&"SELECT a, ".repeat(100)).chars().count() <= CHARS_MAX + 3);
        assert_eq!(mysql(""), "");
    }

    #[test]
    fn of_many_sessions_those_are_kept_that_wait_or_are_waited_for_and_the_others_are_counted() {
        let sessions = (1..=100).map(session).collect();
        let waits = (90..=99).map(|waiter| ObservedWait { waiter, blocker: 100, ..ObservedWait::default() }).collect();
        let look = Details::new(sessions, waits).look;
        assert_eq!((look.sessions.len(), look.sessions_left_out, look.waits_left_out), (WATCH_ROWS_MAX, 70, 0));
        let ids: Vec<u64> = look.sessions.iter().take(12).map(|session| session.id).collect();
        assert_eq!(ids, [90, 91, 92, 93, 94, 95, 96, 97, 98, 99, 100, 1]);
        let many = (0..100).map(|waiter| ObservedWait { waiter, ..ObservedWait::default() }).collect();
        let look = Details::new(Vec::new(), many).look;
        assert_eq!((look.waits.len(), look.waits_left_out), (WATCH_ROWS_MAX, 70));
    }

    #[test]
    fn what_a_server_writes_as_a_time_is_never_below_zero() {
        assert_eq!(seconds(Some("-3".into())), Some(0.0));
        assert_eq!((seconds(Some("nan".into())), seconds(None), seconds(Some("1.5".into()))), (None, None, Some(1.5)));
    }
}
