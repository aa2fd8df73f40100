//! What all SQL servers share: a client that performs transactions over a connection, retries conflicts, and reconnects.
//!
//! In: how to connect, and what a connection does. Out: a [`Driver`]. Limits: one connection per client, and one thread; clients
//! that share threads are in [`multiplex`], and those that keep several operations in flight on their connection in [`pipeline`].
//!
//! A transaction that fails with a conflict (deadlock, serialization failure) is rolled back and retried for as long as the trial's
//! [`SessionOptions`] allow. Its response time includes all attempts, and the instance counts them. After that it fails as a conflict.
//! A lost connection fails its operation, and so do one that was ended at the server and a server that takes no writes any more: each is
//! a class of failures of its own. If the load goes on after failures, the next operation connects again, after a
//! pause that doubles from 50 ms to a second, so that an outage is a gap in the timeline and not a million failures.
//! With a connection per transaction an operation opens one, and closes it, within its response time.

pub mod admin_connection;
pub mod ahead;
pub mod bulk;
pub mod client_needs;
pub mod client_tally;
pub mod clients;
pub mod common_data;
pub mod connections;
pub mod endpoints;
pub mod external;
pub mod found_data;
pub mod inquiries;
pub mod kept;
pub mod literals;
pub mod multiplex;
pub mod open_connections;
pub mod opening;
pub mod pipeline;
pub mod preparing;
pub mod procedure_steps;
pub mod recv_buffer;
pub mod rejection;
pub mod replay;
pub mod replay_calls;
pub mod replay_catalogue;
pub mod replay_clients;
pub mod replay_copy;
pub mod replay_divergence;
pub mod replay_failures;
pub mod replay_ids;
pub mod replay_keys;
pub mod replay_order;
pub mod replay_plans;
pub mod replay_results;
pub mod replay_words;
pub mod row_tally;
pub mod server_instance;
pub mod server_kind;
pub mod session_options;
pub mod sockets;
pub mod statement;
#[cfg(test)]
pub mod testing;
pub mod variant;
pub mod watched_tables;

use crate::engine::workload_of;
use crate::sql::variant::rows::RowBuffer;
use client_tally::ClientTally;
use host::error::TargetError;
use kept::{AfterAnswer, KeptRows, KeptValues, answer_kept};
use load::{Driver, OpSource};
use model::{FailureClass, OpKind, Outcome, RowCounts, SqlArg, SqlOp, TransactionEnd, Trial};
use row_tally::{Answered, RowTally};
use session_options::{ConnectionLifetime, SessionOptions};
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
use workload::{OpKindDef, ProgramInput, SequenceState, SqlProgram};

/// The pause before the first attempt to connect again, and the longest.
pub const PAUSE: Duration = Duration::from_millis(50);
/// See [`PAUSE`].
pub const PAUSE_MAX: Duration = Duration::from_secs(1);

/// So much of a message from outside is shown. Servers quote the statement, which may be long.
const TEXT_CHARS_MAX: usize = 1_000;

/// Why an operation failed.
#[derive(Debug)]
pub struct OpFailure {
    pub class: FailureClass,
    /// The message of the server or the system.
    pub text: String,
}

impl OpFailure {
    /// A failure of this class, with a message from outside, made one line of a bearable length. That of a full disk says so: PostgreSQL
    /// may say only how few bytes were written.
    pub fn from_server(class: FailureClass, text: &str) -> OpFailure {
        const FULL: &str = "No space left on device";
        let is_unsaid = class == FailureClass::NoSpace && !text.contains(FULL);
        let text = if is_unsaid { format!("{FULL}: {text}") } else { text.to_owned() };
        let mut line: String =
            text.chars().take(TEXT_CHARS_MAX).map(|c| if c.is_control() { ' ' } else { c }).collect();
        if text.chars().nth(TEXT_CHARS_MAX).is_some() {
            line.push_str("...");
        }
        OpFailure { class, text: line }
    }

    /// The same of a client that has no connection because of it.
    fn into_lost(self) -> OpFailure {
        OpFailure { class: FailureClass::Lost, ..self }
    }

    /// No answer within the time that the client waits.
    pub fn timed_out() -> OpFailure {
        OpFailure { class: FailureClass::Lost, text: "it did not answer in time".into() }
    }

    /// A statement that was cancelled at its time limit.
    pub fn timed_out_statement() -> OpFailure {
        OpFailure { class: FailureClass::Other, text: "the statement was cancelled".into() }
    }

    /// What a person reads if a client could not begin on `server`: it did not get there, or the server refused what it asked.
    pub fn of_opening(&self, server: &str) -> String {
        match self.class {
            FailureClass::Lost => format!("cannot connect to {server}: {}", self.text),
            _ => format!("{server}: {}", self.text),
        }
    }

    /// A connection that failed by `cause`.
    #[cold]
    pub fn connection_lost(cause: &io::Error) -> OpFailure {
        let text = match cause.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => return OpFailure::timed_out(),
            // The message of rustls is longer, with an address of its documentation.
            ErrorKind::UnexpectedEof => "the connection was lost: unexpected end of file".into(),
            // One side refused the other; the message is complete.
            ErrorKind::PermissionDenied => cause.to_string(),
            _ => format!("the connection was lost: {}", host::error::system_words(cause)),
        };
        OpFailure::from_server(FailureClass::Lost, &text)
    }
}

/// The error of a server, called `server`, that failed outside of the operations.
pub fn server_error(server: &str, failure: impl Into<OpFailure>) -> TargetError {
    let failure = failure.into();
    let advice = if failure.class == FailureClass::NoSpace { "; free some space or use another directory" } else { "" };
    TargetError::Failed(format!("{server}: {}{advice}", failure.text))
}

/// Makes connections to one server for one list of statements.
pub trait SessionFactory: Clone + Send + 'static {
    type Session: SqlSession;
    /// The server, for messages: `mariadb in /data`.
    fn server_name(&self) -> String;
    /// The session options of its clients.
    fn session_options(&self) -> &SessionOptions;
    /// The same for a client that executes only the statements that are `used`, by their numbers.
    fn with_statements(&self, used: &[u16]) -> Self;
    /// The same for a client that gives up after `patience` without an answer.
    fn with_patience(&self, patience: Duration) -> Self;
    /// Connects, and prepares statements as the session options ask.
    fn connect(&self) -> Result<Self::Session, OpFailure>;
    /// The same in the place of a connection that was lost: looks, too, whether the server is another one now.
    fn connect_after_loss(&self) -> Result<Self::Session, OpFailure> {
        self.connect()
    }
    /// Begins to connect without a wait: the socket of the session is handed over. `None` if the server's queue is full; try again after
    /// [`QUEUE_IS_FULL`](crate::server::network::QUEUE_IS_FULL).
    fn begin_connecting(&self, _is_after_loss: bool) -> Result<Option<Self::Session>, OpFailure> {
        unreachable!("its clients do not share threads")
    }
    /// Goes on to connect `session` with what has come. True if it is as [`SessionFactory::connect`] makes them, or
    /// [`SessionFactory::connect_after_loss`] if it was begun so.
    fn go_on_connecting(&self, _session: &mut Self::Session) -> Result<bool, OpFailure> {
        unreachable!("its clients do not share threads")
    }
}

/// A connection with its prepared statements.
pub trait SqlSession: Send + 'static {
    /// Performs one operation, from BEGIN to COMMIT, and counts its rows.
    fn perform_op(&mut self, op: &SqlOp, rows: &mut RowTally) -> Result<(), OpFailure>;
    /// Runs a text without arguments, of one statement or several, and drops its rows.
    fn run_text(&mut self, text: &str) -> Result<(), OpFailure>;
    /// Runs one statement without arguments, and puts its rows into `rows`, which is empty.
    fn fetch_text(&mut self, text: &str, rows: &mut RowBuffer) -> Result<(), OpFailure>;
    /// Rolls back the open transaction, if any.
    fn roll_back(&mut self) -> Result<(), OpFailure>;
}

/// A connection that runs statements.
pub trait SqlConnection {
    /// Why a statement failed.
    type Error;
    /// Runs a text without arguments.
    fn run_text(&mut self, text: &str) -> Result<(), Self::Error>;
    /// Runs statement number `statement`. Its text arguments are in `text`.
    fn call_statement(&mut self, statement: u16, args: &[SqlArg], text: &[u8]) -> Result<(), Self::Error>;
    /// The same, and keeps the integers in the first `columns` columns of its rows.
    fn call_keeping(
        &mut self,
        statement: u16,
        args: &[SqlArg],
        text: &[u8],
        columns: u8,
    ) -> Result<&KeptRows, Self::Error>;
    /// What the last answer shows.
    fn answered(&self) -> Answered;
    /// The buffers for what an operation keeps.
    fn kept_values(&mut self) -> &mut KeptValues;
    /// The error of an operation that needs a row that is not there.
    fn row_missing() -> Self::Error;
    /// The error of a transaction that the server has rolled back although no statement of it failed.
    fn rolled_back() -> Self::Error;
}

/// Performs the calls of `op`, between BEGIN and COMMIT if it is a transaction.
#[inline]
pub fn run_transaction<S: SqlConnection>(server: &mut S, op: &SqlOp, rows: &mut RowTally) -> Result<(), S::Error> {
    rows.begin(op);
    if !op.transaction {
        return call_all(server, op, rows);
    }
    server.run_text("BEGIN")?;
    call_all(server, op, rows)?;
    if rows.is_over(op, &server.answered()) {
        return Err(S::rolled_back());
    }
    server.run_text(end_text(op))?;
    if rows.is_undone(op, &server.answered()) {
        return Err(S::rolled_back());
    }
    rows.end_transaction(op.ending == TransactionEnd::Commit);
    Ok(())
}

/// The statement that ends the transaction `op`.
#[inline]
pub fn end_text(op: &SqlOp) -> &'static str {
    match op.ending {
        TransactionEnd::Commit => "COMMIT",
        TransactionEnd::RollBack => "ROLLBACK",
    }
}

#[inline]
fn call_all<S: SqlConnection>(server: &mut S, op: &SqlOp, rows: &mut RowTally) -> Result<(), S::Error> {
    if !op.keeps.is_empty() {
        return call_all_keeping(server, op, rows);
    }
    for (call, args) in op.calls_with_args() {
        server.call_statement(call.statement, args, &op.text)?;
        rows.add(call.statement, &server.answered());
    }
    Ok(())
}

/// The same for an operation whose calls need what others of them have returned.
fn call_all_keeping<S: SqlConnection>(server: &mut S, op: &SqlOp, rows: &mut RowTally) -> Result<(), S::Error> {
    // Taken out of the connection, which is used meanwhile, and put back with its buffers.
    let mut kept = std::mem::take(server.kept_values());
    let done = call_each_keeping(server, op, rows, &mut kept);
    *server.kept_values() = kept;
    done
}

fn call_each_keeping<S: SqlConnection>(
    server: &mut S,
    op: &SqlOp,
    rows: &mut RowTally,
    kept: &mut KeptValues,
) -> Result<(), S::Error> {
    let (mut nth, mut args) = (0, &op.args[..]);
    while let Some(call) = op.calls.get(nth) {
        let mine = kept.fill_in(&args[..call.args.into()]);
        let after = match answer_kept(op, nth) {
            None => {
                server.call_statement(call.statement, mine, &op.text)?;
                AfterAnswer::Next { skipped: 0 }
            }
            Some(answer) => {
                let found = server.call_keeping(call.statement, mine, &op.text, answer.columns)?;
                kept.keep(answer, found).ok_or_else(S::row_missing)?
            }
        };
        rows.add(call.statement, &server.answered());
        let AfterAnswer::Next { skipped } = after else { continue };
        let next = nth + 1 + usize::from(skipped);
        args = &args[args_of(op, nth..next)..];
        nth = next;
    }
    Ok(())
}

/// How many arguments the `calls` of `op` have.
#[inline]
pub fn args_of(op: &SqlOp, calls: std::ops::Range<usize>) -> usize {
    op.calls[calls].iter().map(|call| usize::from(call.args)).sum()
}

/// The program of `trial`.
pub fn program_of(trial: &Trial, sequence: &SequenceState) -> SqlProgram {
    let program = workload_of(trial).sql_program(&ProgramInput::from_trial(trial, sequence));
    let mut program = program.expect("the plan was checked: workload and engine share a family");
    if trial.load.depth > 1 {
        // Sent ahead, a transaction ends with its Sync.
        program.kinds.iter_mut().for_each(|kind| *kind = kind.without_begin_and_commit());
    }
    program
}

/// Connects again after a loss, when `pause` is over, and makes the session ready by `prepare`. The pause grows with each attempt until one succeeds.
#[cold]
fn connect_after_pause<C: SessionFactory>(
    connect: &C,
    pause: &mut Duration,
    tally: &ClientTally,
    prepare: impl FnOnce(&mut C::Session) -> Result<(), OpFailure>,
) -> Result<C::Session, OpFailure> {
    std::thread::sleep(*pause);
    // Doubled before the attempt, so that it also grows if connecting fails.
    *pause = (2 * *pause).min(PAUSE_MAX);
    let mut session = connect.connect_after_loss().map_err(OpFailure::into_lost)?;
    prepare(&mut session)?;
    *pause = PAUSE;
    tally.reconnected.fetch_add(1, Relaxed);
    Ok(session)
}

/// The session factory of a client that takes its operations from `source`.
pub fn for_source<C: SessionFactory>(connect: &C, source: &OpSource<SqlOp>) -> C {
    source.statements().map_or_else(|| connect.clone(), |used| connect.with_statements(used))
}

/// `statements` for a client that executes only those that are `used`. The others are replaced by a tiny one, so that all keep
/// their numbers: a server needs 3 MB for a statement with 7,000 arguments, for each connection.
pub fn keep_used(statements: &[String], used: &[u16]) -> Arc<[String]> {
    let mut kept = vec![String::from("SELECT 1"); statements.len()];
    used.iter().for_each(|number| kept[*number as usize].clone_from(&statements[*number as usize]));
    kept.into()
}

/// The names of the kinds of operation of a program, for messages.
#[derive(Clone, Default)]
pub struct OpNames(Arc<[&'static str]>);

impl OpNames {
    pub fn new(kinds: &[OpKindDef]) -> OpNames {
        OpNames(kinds.iter().map(|kind| kind.name).collect())
    }

    /// `server` with the operation that it failed in: ``engine `sqlite`, operation `update_index` ``.
    pub fn within(&self, server: &str, op: OpKind) -> String {
        match self.0.get(usize::from(op.0)) {
            Some(name) => format!("{server}, operation `{name}`"),
            None => server.to_owned(),
        }
    }

    /// Why an operation of the kind `op` failed. A lost connection concerns them all, so none is named.
    fn describe(&self, server: &str, op: OpKind, failure: &OpFailure) -> String {
        match failure.class {
            class if class.is_of_connection() => format!("{server}: {}", failure.text),
            _ => format!("{}: {}", self.within(server, op), failure.text),
        }
    }
}

struct SqlDriver<C: SessionFactory> {
    connect: C,
    names: OpNames,
    /// Opened on the client's own thread; `None` again while it is lost.
    session: Option<C::Session>,
    /// Before the next attempt to connect.
    pause: Duration,
    /// Whether the last connection was lost, and not just closed.
    is_lost: bool,
    /// Whether the load should end because of that.
    is_over: bool,
    /// The last, with the kind of its operation.
    failure: Option<(OpKind, OpFailure)>,
    tally: Arc<ClientTally>,
    /// The rows of the last operation.
    rows: RowTally,
    kind: OpKind,
}

impl<C: SessionFactory> SqlDriver<C> {
    fn new(connect: C, names: OpNames, tally: Arc<ClientTally>) -> Self {
        let (is_lost, is_over, kind) = (false, false, OpKind(0));
        let (session, pause, failure) = (None, PAUSE, None);
        let rows = RowTally::new(&connect.session_options().rows);
        SqlDriver { connect, names, session, pause, is_lost, is_over, failure, tally, rows, kind }
    }

    /// Performs `op` once, over a connection that is opened again if there is none.
    #[inline]
    fn attempt(&mut self, op: &SqlOp) -> Result<(), OpFailure> {
        if self.session.is_none() {
            if self.is_lost { self.connect_again()? } else { self.session = Some(self.connect_now()?) }
        }
        self.session.as_mut().expect("connected above").perform_op(op, &mut self.rows)
    }

    fn connect_now(&self) -> Result<C::Session, OpFailure> {
        self.connect.connect().map_err(OpFailure::into_lost)
    }

    #[cold]
    fn connect_again(&mut self) -> Result<(), OpFailure> {
        self.session = Some(connect_after_pause(&self.connect, &mut self.pause, &self.tally, |_| Ok(()))?);
        self.is_lost = false;
        Ok(())
    }

    /// Performs `op`, and retries it after conflicts.
    #[inline]
    fn perform_with_retries(&mut self, op: &SqlOp) -> Outcome {
        let mut began = None;
        loop {
            let Err(failure) = self.attempt(op) else {
                return Outcome::Ok { bytes: 0 };
            };
            if let Some(class) = self.give_up(op.op_kind, failure, &mut began) {
                return Outcome::Failed(class);
            }
        }
    }

    /// What to do about a failed attempt: `None` if the operation is to be performed again.
    #[cold]
    fn give_up(&mut self, op: OpKind, failure: OpFailure, began: &mut Option<Instant>) -> Option<FailureClass> {
        let class = failure.class;
        // After a conflict some servers have rolled back already, and all accept another ROLLBACK.
        let usable = !class.asks_for_reconnect() && self.session.as_mut().is_some_and(|it| it.roll_back().is_ok());
        if !usable {
            (self.session, self.is_lost) = (None, true);
        }
        let options = self.connect.session_options();
        self.is_over = options.ends_load_on(class);
        if usable && options.should_retry(class, began) {
            self.tally.retried.fetch_add(1, Relaxed);
            return None;
        }
        self.tally.lost.fetch_add(u64::from(class.is_of_connection()), Relaxed);
        self.failure = Some((op, failure));
        Some(class)
    }
}

impl<C: SessionFactory> Driver for SqlDriver<C> {
    type Op = SqlOp;
    const HAS_ROWS: bool = true;

    fn open(&mut self) -> Result<(), String> {
        let session = self.connect.connect();
        let session = session.map_err(|failure| failure.of_opening(&self.connect.server_name()))?;
        self.session = (self.connect.session_options().connection == ConnectionLifetime::Kept).then_some(session);
        Ok(())
    }

    fn execute_op(&mut self, op: &SqlOp) -> Outcome {
        self.kind = op.op_kind;
        let outcome = self.perform_with_retries(op);
        if self.connect.session_options().connection == ConnectionLifetime::PerTransaction {
            self.session = None;
        }
        outcome
    }

    #[inline]
    fn last_rows(&self) -> RowCounts {
        self.rows.rows()
    }

    fn describe_miss(&self) -> String {
        format!("{}: {}", self.names.within(&self.connect.server_name(), self.kind), self.rows.describe_miss())
    }

    fn is_over(&self) -> bool {
        self.is_over
    }

    fn describe_failure(&self) -> String {
        let server = self.connect.server_name();
        self.failure.as_ref().map_or_else(String::new, |(op, failure)| self.names.describe(&server, *op, failure))
    }
}

#[cfg(test)]
mod tests {
    //! The policy on a scripted connection; the real servers are in the contract tests.

    use super::testing::{ScriptedServer, options};
    use super::*;
    use crate::sql::session_options::ReconnectPolicy;
    use model::{ExpectedRows, SqlCall};

    fn driver(script: &[Option<FailureClass>]) -> (SqlDriver<ScriptedServer>, ScriptedServer) {
        driver_of(script, options())
    }

    fn driver_of(
        script: &[Option<FailureClass>],
        options: SessionOptions,
    ) -> (SqlDriver<ScriptedServer>, ScriptedServer) {
        let server = ScriptedServer::new(script, options);
        let names = OpNames(["look"].into());
        let mut driver = SqlDriver::new(server.clone(), names, Arc::default());
        driver.open().unwrap();
        (driver, server)
    }

    fn counts(driver: &SqlDriver<ScriptedServer>) -> [String; 2] {
        let facts = driver.tally.take_facts();
        [0, 1].map(|nth| facts[nth].value.clone())
    }

    /// A connection whose answers tell what the test says, in this order.
    struct Telling(Vec<Answered>, Answered);

    impl SqlConnection for Telling {
        type Error = &'static str;
        fn run_text(&mut self, _: &str) -> Result<(), &'static str> {
            self.1 = self.0.remove(0);
            Ok(())
        }
        fn call_statement(&mut self, _: u16, _: &[SqlArg], _: &[u8]) -> Result<(), &'static str> {
            self.run_text("")
        }
        fn call_keeping(&mut self, _: u16, _: &[SqlArg], _: &[u8], _: u8) -> Result<&KeptRows, &'static str> {
            unreachable!("nothing is kept here")
        }
        fn answered(&self) -> Answered {
            self.1
        }
        fn kept_values(&mut self) -> &mut KeptValues {
            unreachable!("nothing is kept here")
        }
        fn row_missing() -> &'static str {
            unreachable!("no row is needed here")
        }
        fn rolled_back() -> &'static str {
            "rolled back"
        }
    }

    #[test]
    fn a_commit_that_is_answered_by_a_rollback_or_comes_too_late_fails() {
        let rows = RowCounts { changed: 1, ..RowCounts::default() };
        let open = Answered { in_transaction: true, rows, ..Answered::default() };
        let (closed, undone) = (Answered::default(), Answered { is_rollback: true, ..Answered::default() });
        let op = SqlOp { transaction: true, calls: vec![SqlCall { statement: 0, args: 0 }], ..SqlOp::default() };
        let perform = |answers: [Answered; 3], op: &SqlOp| {
            let mut tally = RowTally::of_statements(&[("UPDATE t", ExpectedRows::CHANGES_ONE)]);
            run_transaction(&mut Telling(answers.into(), closed), op, &mut tally)
        };
        assert_eq!(perform([open, open, closed], &op), Ok(()));
        assert_eq!(perform([open, open, undone], &op), Err("rolled back"));
        assert_eq!(perform([open, Answered { in_transaction: false, ..open }, closed], &op), Err("rolled back"));
        let given_up = SqlOp { ending: TransactionEnd::RollBack, ..op };
        assert_eq!(perform([open, open, undone], &given_up), Ok(()));
    }

    #[test]
    fn a_message_from_outside_is_one_line_of_a_bearable_length() {
        let shown = |text: &str| OpFailure::from_server(FailureClass::Other, text).text;
        assert_eq!(shown("a\x1b[2J\r\nb\u{9b}c"), "a [2J  b c");
        assert_eq!(shown(&"x".repeat(60_000)), "x".repeat(TEXT_CHARS_MAX) + "...");
        assert_eq!(shown(&"é".repeat(TEXT_CHARS_MAX)).chars().count(), TEXT_CHARS_MAX);
    }

    #[test]
    fn statements_of_others_have_no_size_and_all_keep_their_numbers() {
        let all = ["INSERT", "DELETE", "UPDATE"].map(String::from);
        assert_eq!(*keep_used(&all, &[2, 0]), ["INSERT", "SELECT 1", "UPDATE"]);
    }

    #[test]
    fn a_conflict_is_rolled_back_and_performed_again_within_the_same_operation() {
        let conflict = Some(FailureClass::Conflict);
        let (mut driver, server) = driver(&[conflict, conflict, None]);
        assert_eq!(driver.execute_op(&SqlOp::default()), Outcome::Ok { bytes: 0 });
        assert_eq!((server.rolled_back.load(Relaxed), counts(&driver)), (2, ["2".into(), "0".into()]));
    }

    #[test]
    fn without_retries_a_conflict_is_a_failure() {
        let (mut driver, server) =
            driver_of(&[Some(FailureClass::Conflict)], SessionOptions { retries_for: Duration::ZERO, ..options() });
        assert_eq!(driver.execute_op(&SqlOp::default()), Outcome::Failed(FailureClass::Conflict));
        assert_eq!((server.rolled_back.load(Relaxed), counts(&driver)), (1, ["0".into(), "0".into()]));
    }

    #[test]
    fn a_connection_per_transaction_is_made_for_each_and_is_no_lost_one() {
        let options = SessionOptions { connection: ConnectionLifetime::PerTransaction, ..options() };
        let (mut driver, server) = driver_of(&[None, Some(FailureClass::Conflict), None, None], options);
        let made_to_look = server.connected.load(Relaxed);
        (0..3).for_each(|_| assert_eq!(driver.execute_op(&SqlOp::default()), Outcome::Ok { bytes: 0 }));
        assert_eq!((server.connected.load(Relaxed) - made_to_look, counts(&driver)), (3, ["1".into(), "0".into()]));
    }

    #[test]
    fn a_lost_connection_is_the_end_where_the_clients_are_to_stop() {
        let lost = [Some(FailureClass::Other), Some(FailureClass::Lost)];
        for reconnect in [ReconnectPolicy::Again, ReconnectPolicy::Stop] {
            let (mut driver, _) = driver_of(&lost, SessionOptions { reconnect, ..options() });
            driver.execute_op(&SqlOp::default());
            assert!(!driver.is_over(), "another failure");
            driver.execute_op(&SqlOp::default());
            assert_eq!(driver.is_over(), reconnect == ReconnectPolicy::Stop);
        }
    }

    #[test]
    fn another_failure_is_rolled_back_and_told() {
        let (mut driver, server) = driver(&[Some(FailureClass::NoSpace), None]);
        assert_eq!(driver.execute_op(&SqlOp::default()), Outcome::Failed(FailureClass::NoSpace));
        assert_eq!(driver.describe_failure(), "a server, operation `look`: it was no space");
        assert_eq!(driver.execute_op(&SqlOp::default()), Outcome::Ok { bytes: 0 });
        assert_eq!((server.rolled_back.load(Relaxed), counts(&driver)), (1, ["0".into(), "0".into()]));
    }

    #[test]
    fn a_lost_connection_fails_its_operation_and_the_next_one_connects_again() {
        let (mut driver, server) = driver(&[Some(FailureClass::Lost), None]);
        assert_eq!(driver.execute_op(&SqlOp::default()), Outcome::Failed(FailureClass::Lost));
        assert!(driver.session.is_none());
        assert_eq!(driver.execute_op(&SqlOp::default()), Outcome::Ok { bytes: 0 });
        assert_eq!((server.rolled_back.load(Relaxed), counts(&driver)), (0, ["0".into(), "1".into()]));
    }
}
