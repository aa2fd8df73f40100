//! Session options of the clients of an SQL engine: parameters that do not shape the data.
//!
//! In: a trial. Out: a [`SessionOptions`]. Limits: data is always loaded over kept connections with prepared statements, at
//! the server's own isolation level, because that is fast and the rows are the same.

use crate::engine::workload_of;
use crate::server::identity::IdentityWatch;
use crate::server::network::AnswerLimits;
use crate::server::private_network::{NetworkWay, VIA};
use crate::server::url::ServerUrl;
use crate::sql::OpFailure;
use crate::sql::open_connections::OpenConnections;
use crate::sql::rejection::{custom_ops, rejection};
use crate::sql::row_tally::StatementRows;
use crate::sql::sockets::SocketWay;
use host::error::TargetError;
use model::statement::CustomOp;
use model::{Fact, FailureClass, Meaning, Nanos, ParamDef, ParamKind, ParamRole, Params, Phrase, Trial};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How statements are sent.
pub const STATEMENTS: ParamDef = ParamDef {
    help: "how statements are sent: `prepared` once per connection, or as `plain` text that is parsed each time",
    phrase: Phrase::Words(&[("prepared", "prepared statements"), ("plain", "plain statements")]),
    ..ParamDef::new("statements", ParamRole::Tuning, ParamKind::OneOf(&["prepared", "plain"]), "prepared")
};

/// The same if the server takes arrays of rows.
pub const STATEMENTS_OR_ARRAYS: ParamDef = ParamDef {
    help: "how statements are sent: `prepared` once per connection, as `plain` text that is parsed each time, or prepared with the rows of \
           an INSERT as `arrays` (MariaDB's bulk protocol)",
    phrase: Phrase::Words(&[
        ("prepared", "prepared statements"),
        ("plain", "plain statements"),
        ("arrays", "arrays of rows"),
    ]),
    kind: ParamKind::OneOf(&["prepared", "plain", "arrays"]),
    ..STATEMENTS
};

/// What transactions may see of each other.
pub const ISOLATION: ParamDef = ParamDef {
    help: "isolation level of the clients' transactions; default = the server's own",
    phrase: Phrase::Words(&[
        ("default", "the server's own isolation"),
        ("read-uncommitted", "read-uncommitted isolation"),
        ("read-committed", "read-committed isolation"),
        ("repeatable-read", "repeatable-read isolation"),
        ("serializable", "serializable isolation"),
    ]),
    ..ParamDef::new(
        "isolation",
        ParamRole::Ground,
        ParamKind::OneOf(&["default", "read-uncommitted", "read-committed", "repeatable-read", "serializable"]),
        "default",
    )
};

/// How long a connection lasts.
pub const CONNECTION: ParamDef = ParamDef {
    help: "keep connections open (`kept`), or open and close one for each operation, counted in its response time \
           (`per-transaction`)",
    phrase: Phrase::Words(&[
        ("kept", "connections that stay open"),
        ("per-transaction", "a new connection per transaction"),
    ]),
    meaning: Some(Meaning::ConnectionLife { per_op: "per-transaction" }),
    ..ParamDef::new("connection", ParamRole::Tuning, ParamKind::OneOf(&["kept", "per-transaction"]), "kept")
};

/// What a client does after it has lost its connection.
const RECONNECT: ParamDef = ParamDef {
    help: "with on_error = `count`, after a lost connection: connect `again`, or `stop` the point",
    ..ParamDef::new("reconnect", ParamRole::Tuning, ParamKind::OneOf(&["again", "stop"]), "again")
};

/// For how long conflicts are retried.
const RETRIES_FOR: ParamDef = ParamDef {
    // Less than the grace time by default, so that the end of a phase does not find a client still trying.
    help: "retry after deadlock, lock timeout or serialization failure for up to this long (counted in the \
           response time); 0 = count as failed",
    ..ParamDef::new("retries_for", ParamRole::Tuning, ParamKind::Duration, "5s")
};

/// How many threads the clients have.
const THREADS: ParamDef = ParamDef {
    help: "client threads, 0 = one per client. With fewer, connections are multiplexed: less CPU, but a reply may \
           wait for its thread",
    meaning: Some(Meaning::ClientThreads),
    phrase: Phrase::Counted { zero: "one thread per client", one: "one client thread", many: "{} client threads" },
    ..ParamDef::new("threads", ParamRole::Tuning, ParamKind::Int { min: 0, max: 16_384 }, "0")
};

/// How the sockets of clients that share threads are read and written.
const SOCKETS: ParamDef = ParamDef {
    help: "how clients that share threads send and receive: by io_uring (`uring`), one call for many, or by `epoll`; best = io_uring where \
           the kernel has it",
    phrase: Phrase::Words(&[
        ("best", "sockets by the best way"),
        ("uring", "sockets by uring"),
        ("epoll", "sockets by epoll"),
    ]),
    ..ParamDef::new("sockets", ParamRole::Tuning, ParamKind::OneOf(&["best", "uring", "epoll"]), "best")
};

/// How long connecting and control queries may take.
pub const CONTROL_TIMEOUT: ParamDef = ParamDef {
    help: "give up if connecting, or the answer to a control query, takes longer than this",
    ..ParamDef::new("control_timeout", ParamRole::Tuning, ParamKind::Duration, "5s")
};

/// How long a statement of set-up may take.
pub const SETUP_TIMEOUT: ParamDef = ParamDef {
    name: "setup_timeout",
    default: "30s",
    help: "give up if a statement that makes a schema or a table takes longer than this",
    ..CONTROL_TIMEOUT
};

/// How long a server by URL may take for its answers outside of the load.
pub fn answer_limits(params: &Params) -> AnswerLimits {
    let [control, setup] = [CONTROL_TIMEOUT, SETUP_TIMEOUT].map(|def| Duration::from_nanos(params.nanos(def.name).0));
    AnswerLimits { control, setup }
}

/// The parameters of an engine with clients of a server: its `own`, the session options with this way of `statements` and this `isolation`,
/// and `more`; N in all.
pub const fn params_with<const N: usize>(
    own: &[ParamDef],
    [statements, isolation]: [ParamDef; 2],
    more: &[ParamDef],
) -> [ParamDef; N] {
    let session = [statements, isolation, CONNECTION, RECONNECT, RETRIES_FOR, THREADS, SOCKETS];
    let more_from = own.len() + session.len();
    assert!(N == more_from + more.len(), "N is the number of all parameters");
    let (mut all, mut nth) = ([isolation; N], 0);
    // Constants have no iterators.
    while nth < N {
        all[nth] = match nth {
            _ if nth < own.len() => own[nth],
            _ if nth < more_from => session[nth - own.len()],
            _ => more[nth - more_from],
        };
        nth += 1;
    }
    all
}

/// Whether statements are prepared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatementMode {
    Prepared,
    /// Prepared, with the rows of an INSERT as an array of arguments.
    Arrays,
    Plain,
}

/// How long a connection lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionLifetime {
    /// As long as its client.
    Kept,
    /// As long as an operation.
    PerTransaction,
}

/// After a lost connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReconnectPolicy {
    /// The client connects again.
    Again,
    Stop,
}

/// Which threads run the clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientThreads {
    /// One thread for each client.
    Each,
    /// So many threads, fewer than there are clients.
    Shared(u32),
}

/// A connection without an answer for this long, or for the trial's grace time if that is longer, is lost. A shorter stall is
/// a measurement and not a failure.
const SILENCE_MAX: Duration = Duration::from_secs(30);

/// The session options of a trial's clients.
#[derive(Clone, Debug)]
pub struct SessionOptions {
    /// Whether they prepare their statements.
    pub statements: StatementMode,
    /// The isolation level in the words of SQL, if it is not the server's own.
    pub isolation: Option<String>,
    /// How long their connections last.
    pub connection: ConnectionLifetime,
    /// What happens after one is lost.
    pub reconnect: ReconnectPolicy,
    /// For how long they retry conflicts.
    pub retries_for: Duration,
    /// How long they wait for the first or the next bytes of an answer.
    pub patience: Duration,
    /// How long they wait for a complete answer, if that is limited. What is measured may be long, and ends with its phase.
    pub answer_limit: Option<Duration>,
    /// The connections that they have open.
    pub open: OpenConnections,
    /// The servers that have answered them.
    pub identity: IdentityWatch,
    /// Which threads run them.
    pub threads: ClientThreads,
    /// How the sockets of those that share threads are read and written.
    pub sockets: SocketWay,
    /// How many operations each keeps in flight on its connection.
    pub depth: u32,
    /// The operations that the user wrote, for messages.
    pub written: Arc<[CustomOp]>,
    /// What each connection executes first.
    pub begins_with: Vec<&'static str>,
    /// The rows that each statement must return and change.
    pub rows: StatementRows,
}

impl SessionOptions {
    /// Those of the clients of `trial`.
    pub fn from_trial(trial: &Trial) -> SessionOptions {
        let params = &trial.target.params;
        let Nanos(retries_for) = params.nanos(RETRIES_FOR.name);
        SessionOptions {
            statements: statement_mode(params),
            isolation: isolation_level(params),
            connection: connection_lifetime(params),
            reconnect: if params.word(RECONNECT.name) == "stop" {
                ReconnectPolicy::Stop
            } else {
                ReconnectPolicy::Again
            },
            retries_for: Duration::from_nanos(retries_for),
            threads: client_threads(trial),
            sockets: socket_way(trial),
            depth: trial.load.depth,
            written: custom_ops(trial).into(),
            answer_limit: None,
            ..SessionOptions::for_loading(trial)
        }
    }

    /// Those of the clients that load the data of `trial`.
    pub fn for_loading(trial: &Trial) -> SessionOptions {
        let patience = SILENCE_MAX.max(Duration::from_nanos(trial.phases.grace.0));
        SessionOptions {
            statements: StatementMode::Prepared,
            isolation: None,
            connection: ConnectionLifetime::Kept,
            reconnect: ReconnectPolicy::Again,
            retries_for: Duration::from_secs(5),
            patience,
            answer_limit: Some(patience),
            open: OpenConnections::default(),
            identity: IdentityWatch::default(),
            threads: ClientThreads::Each,
            sockets: SocketWay::Epoll,
            depth: 1,
            written: Arc::default(),
            begins_with: Vec::new(),
            rows: StatementRows::default(),
        }
    }

    /// Whether all statements are prepared when a connection is made. One that serves one operation prepares what that needs.
    pub fn prepares_all(&self) -> bool {
        self.statements != StatementMode::Plain && self.connection == ConnectionLifetime::Kept
    }

    /// The failure of a connection whose server did not prepare `statement`. A lost connection shows nothing about the statement.
    pub fn failed_preparation(&self, statement: &str, failure: OpFailure) -> OpFailure {
        match failure.class {
            class if class.is_of_connection() => failure,
            class => OpFailure { class, text: rejection(statement, &self.written, &failure.text) },
        }
    }

    /// Whether an operation that failed with `class` is retried. `began` is when it first failed.
    pub fn should_retry(&self, class: FailureClass, began: &mut Option<Instant>) -> bool {
        // In this order: only conflicts start the clock.
        class == FailureClass::Conflict && began.get_or_insert_with(Instant::now).elapsed() < self.retries_for
    }

    /// Facts about threads that clients share, if they do, and about operations that they send ahead.
    pub fn facts(&self) -> Vec<Fact> {
        let mut facts = Vec::new();
        if let ClientThreads::Shared(threads) = self.threads {
            facts.push(Fact::new("client.threads", format!("{threads}; a reply may wait for its thread")));
            facts.extend(self.sockets.facts());
        }
        if self.depth > 1 {
            let told = format!("{} on a connection; each waits for those before it; no BEGIN and COMMIT", self.depth);
            facts.push(Fact::new("client.pipeline", told));
        }
        facts
    }

    /// Whether a failure of `class` ends the load.
    pub fn ends_load_on(&self, class: FailureClass) -> bool {
        class.is_of_connection() && self.reconnect == ReconnectPolicy::Stop
    }
}

/// Refuses more threads than clients, and sockets that do not fit the threads.
pub fn check_threads(trial: &Trial) -> Result<(), TargetError> {
    let (threads, clients) = (trial.target.params.int(THREADS.name), trial.load.clients);
    if threads > clients.into() {
        let threads_word = if clients == 1 { "thread" } else { "threads" };
        return Err(TargetError::Unsupported(format!(
            "threads ({threads}) exceeds clients ({clients}); raise --clients, use at most {clients} {threads_word}, or 0 \
             for one thread per client"
        )));
    }
    let is_shared = client_threads(trial) != ClientThreads::Each;
    check_sockets(socket_word(&trial.target.params), is_shared)
}

fn check_sockets(word: &str, is_shared: bool) -> Result<(), TargetError> {
    if word != "best" && !is_shared {
        return Err(TargetError::Unsupported(format!(
            "sockets = `{word}` is for clients that share threads; use fewer `threads` than clients, or leave out `sockets`"
        )));
    }
    if word == "uring"
        && let Err(why) = SocketWay::by_ring()
    {
        return Err(TargetError::Unsupported(format!(
            "sockets = `uring`: io_uring cannot be used here: {why} (see `sysctl kernel.io_uring_disabled` or the container's seccomp \
             profile); use sockets = `epoll`"
        )));
    }
    Ok(())
}

/// Refuses operations sent ahead over TLS: data that TLS has buffered does not show at the socket.
pub fn check_url(trial: &Trial, url: &ServerUrl) -> Result<(), TargetError> {
    if url.tls.is_some() && trial.load.depth > 1 { Err(deep_over_tls(trial)) } else { Ok(()) }
}

fn deep_over_tls(trial: &Trial) -> TargetError {
    TargetError::Unsupported(format!(
        "depth = `{}` does not work over TLS; use depth = `1`, or no TLS",
        trial.load.depth
    ))
}

/// Refuses what does not work over the network of a private server.
pub fn check_via(trial: &Trial) -> Result<(), TargetError> {
    let Some(way) = NetworkWay::from_params(&trial.target.params) else { return Ok(()) };
    let via = trial.target.params.word(VIA.name);
    if (workload_of(trial).traits)(&trial.workload.params).variant.is_some() {
        let text = format!("via = `{via}`: the variants of a statement are executed over the socket; leave out `via`");
        return Err(TargetError::Unsupported(text));
    }
    if way == NetworkWay::Tls && trial.load.depth > 1 {
        return Err(deep_over_tls(trial));
    }
    Ok(())
}

/// How the sockets of the clients of `trial` are read and written, if they share threads.
fn socket_way(trial: &Trial) -> SocketWay {
    match client_threads(trial) {
        ClientThreads::Shared(_) if socket_word(&trial.target.params) != "epoll" => SocketWay::best(),
        _ => SocketWay::Epoll,
    }
}

/// The word in [`SOCKETS`], which older plans do not have.
fn socket_word(params: &Params) -> &str {
    if params.0.contains_key(SOCKETS.name) { params.word(SOCKETS.name) } else { SOCKETS.default }
}

/// Which threads run the clients of `trial`.
pub fn client_threads(trial: &Trial) -> ClientThreads {
    let threads = trial.target.params.int(THREADS.name) as u32;
    if (1..trial.load.clients).contains(&threads) { ClientThreads::Shared(threads) } else { ClientThreads::Each }
}

/// Whether the clients of `params` prepare their statements.
pub fn statement_mode(params: &Params) -> StatementMode {
    match params.word(STATEMENTS.name) {
        "plain" => StatementMode::Plain,
        "arrays" => StatementMode::Arrays,
        _ => StatementMode::Prepared,
    }
}

/// How long the connections of `params` last.
pub fn connection_lifetime(params: &Params) -> ConnectionLifetime {
    if params.word(CONNECTION.name) == "kept" { ConnectionLifetime::Kept } else { ConnectionLifetime::PerTransaction }
}

/// `READ COMMITTED`.
fn isolation_level(params: &Params) -> Option<String> {
    let word = params.word(ISOLATION.name);
    (word != "default").then(|| word.replace('-', " ").to_uppercase())
}

/// A server's name of a level (`REPEATABLE-READ`, `repeatable read`) in the words of [`ISOLATION`].
pub fn isolation_word(told: &str) -> String {
    told.trim().to_lowercase().replace(' ', "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_waited_for_as_long_as_what_is_in_flight_may_take_however_long_a_replay_may_be_silent() {
        let mut trial = Trial::simple("postgres", "replay-sql");
        let mut patience = |grace_s: u64| {
            trial.phases.grace = Nanos::from_secs(grace_s);
            trial.phases.silence = Some(Nanos::from_secs(600));
            SessionOptions::for_loading(&trial).patience.as_secs()
        };
        assert_eq!([10, 45].map(&mut patience), [30, 45]);
    }
}
