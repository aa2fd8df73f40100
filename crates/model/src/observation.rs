//! What was seen of a server that others load: what was counted, which statements it executed, and what could not be seen.
//!
//! In: the watch of a server fills it. Out: the run file keeps it with the traits of its point. Limits: texts are those that the server itself
//! keeps, without values; of more statements than [`STATEMENTS_MAX`] the dearest are kept, and the rest is one sum. Of events, and of what was seen
//! at each, there are at most the numbers here, and what is more is counted.

use crate::op_class::OpClass;
use crate::thread_state::ThreadState;
use crate::units::{Nanos, Tick, is_zero};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The most statements that a point keeps.
pub const STATEMENTS_MAX: usize = 200;
/// The most characters of a statement that are kept.
pub const STATEMENT_CHARS_MAX: usize = 1_000;
/// The most events that a point keeps.
pub const WATCH_EVENTS_MAX: usize = 50;
/// How often the server is asked for details in one event at most.
pub const WATCH_LOOKS_MAX: usize = 4;
/// The most distinct messages of an error log that a point keeps.
pub const LOG_MESSAGES_MAX: usize = 50;
/// The most sessions, and the most waits, that one look keeps.
pub const WATCH_ROWS_MAX: usize = 30;
/// If less than this share of the time is known, no rate is.
const KNOWN_LEAST: f64 = 0.01;

/// What was seen of a server that plimsoll did not load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Observation {
    /// What the operations of the point are.
    pub counts: ObservedCounts,
    /// The statements that were executed while it was watched, those that took the most time first; empty if they are not known.
    pub statements: Vec<ObservedStatement>,
    /// All other statements together; `None` if there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub others: Option<ObservedStatement>,
    /// How many kinds of statement the others are at most: one that was left out and came again counts twice.
    #[serde(skip_serializing_if = "is_zero")]
    pub others_kinds: u64,
    /// For how long statements were counted, in nanoseconds: between the first and the last reading of them, without what was between two readings
    /// in which the server's account was set to zero.
    pub statements_ns: u64,
    /// For how long the server did not answer, in nanoseconds.
    #[serde(skip_serializing_if = "is_zero")]
    pub away_ns: u64,
    /// From its last answer to the end, in nanoseconds, if it did not answer then: what it did in that time is not known.
    #[serde(skip_serializing_if = "is_zero")]
    pub unknown_ns: u64,
    /// What could not be seen, and what would show it.
    pub missing: Vec<MissingPart>,
    /// The URL of the server, without a password; `None` if only its process was watched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// When a condition of the user held, and what was seen then.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<ObservedEvent>,
    /// How many further events there were.
    #[serde(skip_serializing_if = "is_zero")]
    pub events_left_out: u64,
    /// Conditions of the user that did not hold, although what they are about was known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unheld: Vec<String>,
    /// What the server wrote to its error log; `None` if that is not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<ObservedLog>,
    /// What it reported of its replication; `None` if it is no replica, or reports nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replica: Option<ObservedReplica>,
}

/// What a replica reported of its replication while it was watched.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ObservedReplica {
    /// How often it was asked.
    pub readings: u64,
    /// How often of these replication stood still.
    pub stopped: u64,
    /// Whether it stood still at the end.
    pub is_stopped: bool,
    /// What stood still last, with the number of the error; empty if nothing did.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub stopped_by: String,
    /// How many seconds it was behind its primary at the end; `None` if it did not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub behind_s: Option<f64>,
    /// The same at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub behind_max_s: Option<f64>,
}

/// What a server wrote to its error log while it was watched.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ObservedLog {
    pub file: String,
    /// Errors, and what is worse.
    pub errors: u64,
    pub warnings: u64,
    /// Messages of any other kind.
    pub notes: u64,
    /// The distinct errors and warnings, the gravest and most frequent first; of more than [`LOG_MESSAGES_MAX`] those that came first.
    pub messages: Vec<ObservedMessage>,
}

/// A message of an error log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ObservedMessage {
    /// How grave the server calls it.
    pub severity: LogSeverity,
    /// Without numbers and values.
    pub text: String,
    /// How often it came.
    pub count: u64,
}

/// How grave a message of an error log is, the gravest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogSeverity {
    /// An error, or worse.
    Error,
    Warning,
    /// A message of any other kind.
    #[default]
    Note,
}

/// What the operations of an observed point are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ObservedCounts {
    /// It has none: only the machine and the process were watched.
    #[default]
    Nothing,
    /// Statements that clients have sent.
    Statements,
    /// Transactions that have ended, as the server reports them up to a second late.
    Transactions,
}

/// A part that could not be seen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MissingPart {
    /// What is missing, and why: `statements: performance_schema is off`.
    pub what: String,
    /// What would show it; empty if nothing is known.
    pub mend: String,
}

/// What one kind of statement cost.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ObservedStatement {
    /// Its text without values; empty if the server did not tell it.
    pub text: String,
    /// The database that it ran in, if the server reports it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub database: Option<String>,
    /// Whether it reads or writes; `None` of what does neither, such as BEGIN.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<OpClass>,
    pub cost: StatementCost,
}

/// What executions of statements cost, by the server's own account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StatementCost {
    pub calls: u64,
    /// Nanoseconds in the server, waits included.
    pub time_ns: u64,
    /// Executions that failed, if the server counts them.
    pub errors: u64,
    /// Rows in the answers. PostgreSQL counts rows that were changed here, too.
    pub rows_sent: u64,
    /// Rows that were read to make them; `None` if the server does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows_read: Option<u64>,
    /// Pages of tables and indexes that were looked at; `None` if the server does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pages: Option<u64>,
}

impl StatementCost {
    /// Rows read for each row sent; `None` if the server does not tell, or none were sent.
    pub fn rows_read_per_row_sent(&self) -> Option<f64> {
        let read = self.rows_read.filter(|_| self.rows_sent > 0)?;
        Some(read as f64 / self.rows_sent as f64)
    }

    /// `None` if the server does not tell.
    pub fn pages_per_call(&self) -> Option<f64> {
        Some(self.pages? as f64 / self.calls.max(1) as f64)
    }

    pub fn add(&mut self, more: &StatementCost) {
        let sum = |one: Option<u64>, other: Option<u64>| match (one, other) {
            (Some(one), Some(other)) => Some(one.saturating_add(other)),
            (one, other) => one.or(other),
        };
        self.calls = self.calls.saturating_add(more.calls);
        self.time_ns = self.time_ns.saturating_add(more.time_ns);
        self.errors = self.errors.saturating_add(more.errors);
        self.rows_sent = self.rows_sent.saturating_add(more.rows_sent);
        self.rows_read = sum(self.rows_read, more.rows_read);
        self.pages = sum(self.pages, more.pages);
    }

    /// What came since `earlier`. None of its numbers is below 0.
    pub fn since(&self, earlier: &StatementCost) -> StatementCost {
        let difference = |one: Option<u64>, other: Option<u64>| Some(one?.saturating_sub(other.unwrap_or(0)));
        StatementCost {
            calls: self.calls.saturating_sub(earlier.calls),
            time_ns: self.time_ns.saturating_sub(earlier.time_ns),
            errors: self.errors.saturating_sub(earlier.errors),
            rows_sent: self.rows_sent.saturating_sub(earlier.rows_sent),
            rows_read: difference(self.rows_read, earlier.rows_read),
            pages: difference(self.pages, earlier.pages),
        }
    }
}

/// What a condition of a watch may be about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WatchedFigure {
    #[default]
    Qps,
    /// Nanoseconds that a statement takes on average.
    Mean,
    /// Connections that execute a statement.
    Running,
    /// Connections that wait for a lock.
    Waiting,
    /// Connections that are open.
    Connections,
    /// The share of the machine's CPU time that is used, from 0 to 1.
    Cpu,
    /// The share of the time in which the disk of the data is busy, from 0 to 1.
    Disk,
}

impl WatchedFigure {
    pub const ALL: [WatchedFigure; 7] = [
        WatchedFigure::Qps,
        WatchedFigure::Mean,
        WatchedFigure::Running,
        WatchedFigure::Waiting,
        WatchedFigure::Connections,
        WatchedFigure::Cpu,
        WatchedFigure::Disk,
    ];

    /// Its name in a condition.
    pub fn name(self) -> &'static str {
        match self {
            WatchedFigure::Qps => "qps",
            WatchedFigure::Mean => "mean",
            WatchedFigure::Running => "running",
            WatchedFigure::Waiting => "waiting",
            WatchedFigure::Connections => "connections",
            WatchedFigure::Cpu => "cpu",
            WatchedFigure::Disk => "disk",
        }
    }
}

/// A condition at which details are kept.
#[derive(Clone, Debug, PartialEq)]
pub struct WatchCondition {
    /// What it is about.
    pub figure: WatchedFigure,
    /// Whether it holds above its limit, and not below.
    pub above: bool,
    /// The limit, in the unit of the figure.
    pub limit: f64,
    /// The limit as it was written.
    pub written: String,
}

impl WatchCondition {
    /// Whether it holds at `value`.
    pub fn holds(&self, value: f64) -> bool {
        if self.above { value > self.limit } else { value < self.limit }
    }
}

impl fmt::Display for WatchCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}{}", self.figure.name(), if self.above { '>' } else { '<' }, self.written)
    }
}

/// A time in which a condition of the user held.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ObservedEvent {
    /// When the first interval began in which it held.
    pub at: Tick,
    /// From then to the end of the last interval in which it held.
    pub lasted: Nanos,
    /// Whether it had not ended when the file did.
    pub goes_on: bool,
    /// The condition: `waiting>0`.
    pub condition: String,
    /// What it is about.
    pub figure: WatchedFigure,
    /// The value that was furthest beyond the limit, in the unit of the figure.
    pub worst: f64,
    /// What the server said of itself in it.
    pub looks: Vec<ServerLook>,
}

/// What a server said at one moment about those who work on it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ServerLook {
    /// When it was asked.
    pub at: Tick,
    /// Sessions that execute a statement or hold a transaction open, the longest first.
    pub sessions: Vec<ObservedSession>,
    /// How many further sessions there were.
    #[serde(skip_serializing_if = "is_zero")]
    pub sessions_left_out: u64,
    /// Who waits for a lock of whom, the longest wait first.
    pub waits: Vec<ObservedWait>,
    /// How many further waits there were.
    #[serde(skip_serializing_if = "is_zero")]
    pub waits_left_out: u64,
    /// How many of the server's threads were in each state on average, in the interval before; empty if its process is not seen.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub threads: Vec<ObservedThreads>,
    /// What the server did not report, and why; `None` if it reported all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

/// How many threads were in a state.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ObservedThreads {
    pub state: ThreadState,
    /// Their number on average.
    pub threads: f64,
}

/// A session as its server shows it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ObservedSession {
    /// Its number: of the connection on MySQL, of the process on PostgreSQL.
    pub id: u64,
    pub user: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub database: Option<String>,
    /// What it does, in the server's words: `Query: Updating`, `idle in transaction: Client: ClientRead`.
    pub doing: String,
    /// For how many seconds it has done that.
    pub seconds: f64,
    /// Its statement without values, of a PostgreSQL session that idles the last one; empty if there is none.
    pub statement: String,
    /// How many seconds ago its transaction began; `None` if it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transaction_s: Option<f64>,
    /// Rows that its transaction has locked, if the server shows them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows_locked: Option<u64>,
    /// Rows that its transaction has changed, if the server shows them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows_changed: Option<u64>,
    /// How many transactions have begun since the oldest one that it can still see (PostgreSQL): what they removed cannot be cleaned up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub xmin_age: Option<u64>,
}

/// A session that waits for a lock of another one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ObservedWait {
    /// The number of the session that waits.
    pub waiter: u64,
    /// The number of the session that has the lock; 0 if it is a prepared transaction, which has none.
    pub blocker: u64,
    /// For how many seconds it has waited; `None` if the server does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// What is locked, if the server shows it: the table and index.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lock: Option<String>,
}

impl ObservedEvent {
    /// The look that shows most: the one with the most waits, else the one with the most sessions, of several the last, when they had lasted longest.
    pub fn telling_look(&self) -> Option<&ServerLook> {
        // Of equal ones this is the last.
        self.looks.iter().max_by_key(|look| (look.waits.len() as u64 + look.waits_left_out, look.sessions.len()))
    }
}

impl ServerLook {
    /// How many threads of the server were in `state`; `None` if that is not known.
    pub fn threads_in(&self, state: ThreadState) -> Option<f64> {
        self.threads.iter().find(|seen| seen.state == state).map(|seen| seen.threads)
    }

    pub fn session(&self, id: u64) -> Option<&ObservedSession> {
        self.sessions.iter().find(|session| session.id == id)
    }

    /// The session that most others wait for and that waits for none itself, with the waits for it; `None` if nobody waits.
    pub fn head_blocker(&self) -> Option<(u64, Vec<&ObservedWait>)> {
        let waits_itself = |id: u64| self.waits.iter().any(|wait| wait.waiter == id);
        let waits_for = |id: u64| self.waits.iter().filter(|wait| wait.blocker == id).collect::<Vec<_>>();
        let mut blockers: Vec<u64> = self.waits.iter().map(|wait| wait.blocker).collect();
        blockers.sort_by_key(|id| (waits_itself(*id), std::cmp::Reverse(waits_for(*id).len()), *id));
        blockers.first().map(|id| (*id, waits_for(*id)))
    }
}

impl ObservedSession {
    /// Whether it holds a transaction open and executes nothing.
    pub fn is_idle_in_transaction(&self) -> bool {
        let idles = self.doing.starts_with("Sleep") || self.doing.starts_with("idle in transaction");
        idles && self.transaction_s.is_some()
    }
}

impl Observation {
    pub fn all_statements(&self) -> StatementCost {
        let mut all = StatementCost::default();
        self.statements.iter().chain(&self.others).for_each(|one| all.add(&one.cost));
        all
    }

    /// How often in a second a statement was executed that was counted `calls` times; `None` if they were counted for no time.
    pub fn calls_per_s(&self, calls: u64) -> Option<f64> {
        (self.statements_ns > 0).then(|| calls as f64 / (self.statements_ns as f64 / 1e9))
    }

    /// Of how much of `all` its time it is known what was done; `None` if that is hardly any of it.
    pub fn known_of(&self, all: Nanos) -> Option<Nanos> {
        let known = all.0.saturating_sub(self.unknown_ns);
        (known as f64 >= KNOWN_LEAST * all.0 as f64).then_some(Nanos(known))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(waits: &[(u64, u64)]) -> ServerLook {
        let waits = waits.iter().map(|(waiter, blocker)| ObservedWait {
            waiter: *waiter,
            blocker: *blocker,
            ..ObservedWait::default()
        });
        ServerLook { waits: waits.collect(), ..ServerLook::default() }
    }

    #[test]
    fn at_the_head_of_a_queue_is_who_waits_for_nobody() {
        let queue = look(&[(5, 4), (4, 3), (6, 4), (7, 3)]);
        let (head, waits) = queue.head_blocker().expect("somebody waits");
        assert_eq!((head, waits.iter().map(|wait| wait.waiter).collect::<Vec<_>>()), (3, vec![4, 7]));
        assert_eq!(look(&[(1, 2), (2, 1)]).head_blocker().map(|(head, _)| head), Some(1), "a deadlock has no head");
        assert_eq!(look(&[]).head_blocker(), None);
    }

    #[test]
    fn of_several_looks_the_one_with_the_most_waits_tells_most() {
        let event =
            ObservedEvent { looks: vec![look(&[]), look(&[(1, 2), (3, 2)]), look(&[(1, 2)])], ..Default::default() };
        assert_eq!(event.telling_look(), Some(&event.looks[1]));
        let waited = |seconds| {
            let wait = ObservedWait { waiter: 1, blocker: 2, seconds: Some(seconds), lock: None };
            ServerLook { waits: vec![wait], ..ServerLook::default() }
        };
        let lasting = ObservedEvent { looks: vec![waited(0.0), waited(4.0)], ..Default::default() };
        assert_eq!(lasting.telling_look(), Some(&lasting.looks[1]), "of equal ones the last");
        assert_eq!(ObservedEvent::default().telling_look(), None);
    }
}
