//! How the clients of an SQL engine talk to it: the parameters of the clients' side, which no data depends on.
//!
//! In: a trial. Out: a [`Manner`]. Limits: the load is always made over kept connections with prepared statements, at the server's
//! own isolation: it is to be over soon, and its rows are the same.

use crate::error::TargetError;
use crate::server::url::Url;
use model::{Fact, FailureClass, Meaning, Nanos, ParamDef, ParamKind, ParamRole, Params, Trial};
use std::time::{Duration, Instant};

/// How a statement comes to the engine.
pub const STATEMENTS: ParamDef = ParamDef {
    name: "statements",
    kind: ParamKind::OneOf(&["prepared", "plain"]),
    default: "prepared",
    help: "how statements come to the engine: prepared once per connection, or as plain text that is parsed each time (SQLite: \
           prepared anew each time)",
    scales: false,
    shapes_data: false,
    role: ParamRole::Tuning,
    meaning: None,
    used_if: None,
};

/// What transactions may see of each other.
pub const ISOLATION: ParamDef = ParamDef {
    name: "isolation",
    kind: ParamKind::OneOf(&["default", "read-uncommitted", "read-committed", "repeatable-read", "serializable"]),
    default: "default",
    help: "isolation level of the clients' transactions; default: the server's own",
    scales: false,
    shapes_data: false,
    role: ParamRole::Ground,
    meaning: None,
    used_if: None,
};

/// How long a connection lasts.
pub const CONNECTION: ParamDef = ParamDef {
    name: "connection",
    kind: ParamKind::OneOf(&["kept", "per-transaction"]),
    default: "kept",
    help: "connections are kept, or each operation opens and closes one of its own, which is part of its response time",
    scales: false,
    shapes_data: false,
    role: ParamRole::Tuning,
    meaning: None,
    used_if: None,
};

/// What becomes of a client that has lost its connection.
pub const RECONNECT: ParamDef = ParamDef {
    name: "reconnect",
    kind: ParamKind::OneOf(&["again", "stop"]),
    default: "again",
    help: "after a lost connection, where failures are counted: connect again, or end the point",
    scales: false,
    shapes_data: false,
    role: ParamRole::Tuning,
    meaning: None,
    used_if: None,
};

/// How long an operation that lost against others is tried again.
pub const RETRIES_FOR: ParamDef = ParamDef {
    name: "retries_for",
    kind: ParamKind::Duration,
    // Less than the grace time by default, so that the end of a phase does not find a client still trying.
    default: "5s",
    help: "how long an operation is tried again that lost against others (deadlock, lock wait, serialization), within its response \
           time; 0 = a conflict is a failure",
    scales: false,
    shapes_data: false,
    role: ParamRole::Tuning,
    meaning: None,
    used_if: None,
};

/// How many threads the clients have.
pub const THREADS: ParamDef = ParamDef {
    name: "threads",
    kind: ParamKind::Int { min: 0, max: 16_384 },
    default: "0",
    help: "on how many threads the clients are served, each with a connection of its own; 0 = a thread each. Fewer cost less CPU, \
           and an answer waits until its thread has looked at those before it",
    scales: false,
    shapes_data: false,
    role: ParamRole::Tuning,
    meaning: Some(Meaning::ClientThreads),
    used_if: None,
};

/// Whether statements are prepared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statements {
    /// Once per connection.
    Prepared,
    /// Never.
    Plain,
}

/// How long a connection lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connection {
    /// As long as its client.
    Kept,
    /// As long as an operation.
    PerTransaction,
}

/// After a lost connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reconnect {
    /// The client connects again.
    Again,
    /// The load ends.
    Stop,
}

/// Who serves the clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// A thread each.
    Each,
    /// So many threads, fewer than there are clients.
    Shared(u32),
}

/// A server that says nothing for so long is lost, or for the trial's grace time where that is longer. A stall below it is a
/// measurement and no failure.
const SILENCE_MAX: Duration = Duration::from_secs(30);

/// How the clients of a trial talk to their server.
#[derive(Clone, Debug)]
pub struct Manner {
    /// Whether they prepare their statements.
    pub statements: Statements,
    /// The isolation level in the words of SQL, where it is not the server's own.
    pub isolation: Option<String>,
    /// How long their connections last.
    pub connection: Connection,
    /// What becomes of a lost one.
    pub reconnect: Reconnect,
    /// How long they try again what lost against others.
    pub retries_for: Duration,
    /// How long they wait for an answer.
    pub patience: Duration,
    /// Who serves them.
    pub threads: Threads,
}

impl Manner {
    /// That of the clients of `trial`.
    pub fn of(trial: &Trial) -> Manner {
        let params = &trial.target.params;
        let Nanos(retries_for) = params.nanos(RETRIES_FOR.name);
        Manner {
            statements: statements(params),
            isolation: isolation(params),
            connection: connection(params),
            reconnect: if params.word(RECONNECT.name) == "stop" { Reconnect::Stop } else { Reconnect::Again },
            retries_for: Duration::from_nanos(retries_for),
            threads: threads(trial),
            ..Manner::of_loaders(trial)
        }
    }

    /// That of the clients that make the data of `trial`.
    pub fn of_loaders(trial: &Trial) -> Manner {
        let Nanos(grace) = trial.phases.grace;
        Manner {
            statements: Statements::Prepared,
            isolation: None,
            connection: Connection::Kept,
            reconnect: Reconnect::Again,
            retries_for: Duration::from_secs(5),
            patience: SILENCE_MAX.max(Duration::from_nanos(grace)),
            threads: Threads::Each,
        }
    }

    /// Whether all statements are prepared when a connection is made. One that serves one operation prepares what that needs.
    pub fn prepares_all(&self) -> bool {
        self.statements == Statements::Prepared && self.connection == Connection::Kept
    }

    /// Whether an operation that failed with `class`, for the first time when it `began` to, is performed again.
    pub fn tries_again(&self, class: FailureClass, began: &mut Option<Instant>) -> bool {
        let mut since = || began.get_or_insert_with(Instant::now).elapsed();
        class == FailureClass::Conflict && since() < self.retries_for
    }

    /// What is to be known of clients that share threads, where they do.
    pub fn facts(&self) -> Option<Fact> {
        let Threads::Shared(threads) = self.threads else { return None };
        let told = format!("{threads}; an answer waits until its thread has looked at those before it");
        Some(Fact::new("client.threads", told))
    }

    /// Whether a failure of `class` ends the load, whatever becomes of others.
    pub fn ends_with(&self, class: FailureClass) -> bool {
        class == FailureClass::Lost && self.reconnect == Reconnect::Stop
    }
}

/// Refuses what no client of a server can do: several operations at once, and threads that cannot be shared.
pub fn check(trial: &Trial) -> Result<(), TargetError> {
    super::depth_one_only(trial)?;
    let (threads, clients) = (trial.target.params.int(THREADS.name), trial.load.clients);
    if threads > clients.into() {
        return Err(TargetError::Unsupported(format!(
            "threads = `{threads}` is more than there are clients (`{clients}`): use at most as many, or 0 for a thread each"
        )));
    }
    match (self::threads(trial), connection(&trial.target.params)) {
        (Threads::Shared(_), Connection::PerTransaction) => Err(TargetError::Unsupported(format!(
            "threads = `{threads}` for {clients} clients needs connection = `kept`: while one connects, its neighbours would wait"
        ))),
        _ => Ok(()),
    }
}

/// Refuses threads that are shared over an encrypted connection to `url`: what TLS keeps back does not show at the socket.
pub fn check_over(trial: &Trial, url: &Url) -> Result<(), TargetError> {
    match (threads(trial), &url.tls) {
        (Threads::Shared(shared), Some(_)) => Err(TargetError::Unsupported(format!(
            "threads = `{shared}` for {} clients needs a connection without TLS: leave `threads` out, or TLS",
            trial.load.clients
        ))),
        _ => Ok(()),
    }
}

fn threads(trial: &Trial) -> Threads {
    let threads = trial.target.params.int(THREADS.name) as u32;
    if (1..trial.load.clients).contains(&threads) { Threads::Shared(threads) } else { Threads::Each }
}

/// Whether the clients of `params` prepare their statements.
pub fn statements(params: &Params) -> Statements {
    if params.word(STATEMENTS.name) == "plain" { Statements::Plain } else { Statements::Prepared }
}

/// How long the connections of `params` last.
pub fn connection(params: &Params) -> Connection {
    if params.word(CONNECTION.name) == "kept" { Connection::Kept } else { Connection::PerTransaction }
}

/// `READ COMMITTED`.
fn isolation(params: &Params) -> Option<String> {
    let word = params.word(ISOLATION.name);
    (word != "default").then(|| word.replace('-', " ").to_uppercase())
}

/// A server's word for a level as one of [`ISOLATION`]: `REPEATABLE-READ`, `repeatable read`.
pub fn isolation_word(told: &str) -> String {
    told.trim().to_lowercase().replace(' ', "-")
}
