//! Clients of an SQL server that share threads: a thread serves many connections, each of which has one operation in flight.
//!
//! In: how to connect, and connections that take answers from a memory. Out: a [`BatchDriver`] whose slots are clients, each with
//! operations of its own. Limits: a statement that does not fit into the socket buffer is continued when there is room, and delays no
//! other client. How sockets are read and written is in [`super::sockets`].
//!
//! Each operation has its own two stamps, before its first statement is written and after its last answer is read, as with a thread
//! per client. The difference is in between: a statement may wait until those of other clients are sent with it, and an answer that has
//! arrived waits until the thread has handled those before it. So an overloaded thread makes times longer, never shorter, and they are the
//! times that an event-driven program would see. For that, the driver hands over one operation at a time, takes no answer while a client
//! that is free may start, and waits for the sockets again only when it has handled all that the last wait brought.
//!
//! Conflicts and lost connections are treated as in [`super`], and so is a connection per transaction. A connection is made without a wait:
//! between the parts of its login the thread handles what comes for others. What a login computes is computed on this thread, as the
//! operations are. What a lost connection was lost by is found out by [`super::inquiries`].

use crate::engine::{WorkloadClients, background_clients, background_load};
use crate::server::memory::HandedSocket;
use crate::server::network::QUEUE_IS_FULL;
use crate::sql::client_tally::ClientTally;
use crate::sql::inquiries::{Inquiries, Inquiry};
use crate::sql::kept::{AfterAnswer, KeptRows, KeptValues, NOT_THERE, answer_kept};
use crate::sql::row_tally::{Answered, ROLLED_BACK, RowTally};
use crate::sql::session_options::{ConnectionLifetime, SessionOptions};
use crate::sql::sockets::{ConnectionSlots, Sockets};
use crate::sql::{OpFailure, OpNames, PAUSE, PAUSE_MAX, SessionFactory, SqlSession, args_of, end_text, for_source};
use load::{BatchClient, BatchDriver, Client, FinishedOp, OpSource, StampMode};
use model::{FailureClass, LoadPart, Nanos, OpKind, Outcome, RowCounts, SqlArg, SqlOp, TransactionEnd};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::{Duration, Instant};
use workload::{BackgroundOps, ClientIndex, OpKindDef, OpStream};

pub trait PollableSession: SqlSession {
    /// Makes the socket non-blocking.
    fn stop_waiting(&mut self) -> Result<(), OpFailure>;
    fn socket_fd(&self) -> BorrowedFd<'_>;
    /// From now on the socket is another's to read and write: this side has a memory in its place.
    fn hand_over_socket(&mut self);
    fn handed_socket(&mut self) -> HandedSocket<'_>;
    /// Puts a command into the send buffer. False if it is the preparation of its statement, after whose answer it is to be put again.
    fn put_command(&mut self, next: SqlCommand<'_>) -> Result<bool, OpFailure>;
    /// Writes all that is in the send buffer into the memory.
    fn write_command(&mut self) -> Result<(), OpFailure>;
    /// Sends as much as the socket takes; true if that was all.
    fn send_some(&mut self) -> Result<bool, OpFailure>;
    /// Reads what has arrived of the answer to `op`; true if that was all of it.
    fn take_some(&mut self, op: &SqlOp) -> Result<bool, OpFailure>;
    /// Puts `op` as a whole into the send buffer, behind what is there. Only an engine that takes more than one operation at a time does.
    fn put_ahead(&mut self, _: &SqlOp) -> Result<(), OpFailure> {
        unreachable!("the depth was checked")
    }
    /// Takes what has arrived of the answer to the oldest of those, `op`, and counts its rows; true if that was all of it.
    fn take_ahead(&mut self, _: &SqlOp, _: &mut RowTally) -> Result<bool, OpFailure> {
        unreachable!("the depth was checked")
    }
    /// Whether bytes were received that are not taken.
    fn has_received(&self) -> bool {
        false
    }
    /// Keeps the integers in the first `columns` columns of the answer to the command in the send buffer.
    fn keep_rows(&mut self, columns: u8);
    /// What was kept of the last such answer.
    fn kept_rows(&self) -> &KeptRows;
    /// What the last answer shows.
    fn answered(&self) -> Answered;
    /// What finds out why the connection is lost, if the failure does not say it.
    fn inquiry(&self) -> Option<Inquiry> {
        None
    }
}

/// What is sent to a server.
pub enum SqlCommand<'a> {
    /// A text without arguments.
    Text(&'a str),
    /// A statement with its arguments.
    Call {
        statement: u16,
        args: &'a [SqlArg],
        /// Texts among them are in here.
        text: &'a [u8],
    },
}

/// How many clients, and on how many threads.
#[derive(Clone, Copy)]
pub struct SharedThreads {
    /// Clients: those of this host among all.
    pub clients: LoadPart,
    /// Threads, at most as many.
    pub threads: u32,
}

/// Operations made ahead per client: with more, hundreds of clients would fill the CPU caches.
const AHEAD_MAX: usize = 2;

/// How often it is looked whether an inquiry has an end.
const INQUIRY_EVERY: Duration = Duration::from_millis(2);

/// How often connections are checked for answers that are overdue.
const SWEEP_EVERY: Duration = Duration::from_millis(100);

/// The clients of `sharing` for `stream`, and those of the `background` loads on at most as many threads each.
pub fn multiplexed_clients<C: SessionFactory<Session: PollableSession>>(
    stream: &OpStream<SqlOp>,
    background: &[BackgroundOps<SqlOp>],
    kinds: &[OpKindDef],
    sharing: SharedThreads,
    connect: &C,
    tally: &Arc<ClientTally>,
) -> WorkloadClients {
    let names = OpNames::new(kinds);
    let background = background.iter().map(|ops| {
        let clients = background_clients(ops, sharing.clients);
        let sharing = SharedThreads { clients, threads: sharing.threads.min(clients.count()) };
        background_load(ops, clients_by_thread(&ops.stream, sharing, connect, (&names, tally)))
    });
    let background = background.collect();
    WorkloadClients {
        kinds: kinds.to_vec(),
        clients: clients_by_thread(stream, sharing, connect, (&names, tally)),
        background,
        parts: Vec::new(),
        due: None,
    }
}

fn clients_by_thread<C: SessionFactory<Session: PollableSession>>(
    stream: &OpStream<SqlOp>,
    sharing: SharedThreads,
    connect: &C,
    told: (&OpNames, &Arc<ClientTally>),
) -> Vec<Box<dyn Client>> {
    (0..sharing.threads).map(|nth| client_of_thread(stream, sharing, nth, connect, told)).collect()
}

/// Thread number `nth` of `sharing`.
fn client_of_thread<C: SessionFactory<Session: PollableSession>>(
    stream: &OpStream<SqlOp>,
    sharing: SharedThreads,
    nth: u32,
    connect: &C,
    (names, tally): (&OpNames, &Arc<ClientTally>),
) -> Box<dyn Client> {
    let sources: Vec<OpSource<SqlOp>> =
        slots_of(sharing, nth).map(|slot| OpSource::with_ahead(stream, slot, AHEAD_MAX)).collect();
    let factories = sources.iter().map(|source| for_source(connect, source)).collect();
    Box::new(BatchClient::new(
        sources,
        MultiplexedDriver::new(factories, names.clone(), tally.clone()),
        StampMode::Each,
    ))
}

/// The clients on thread number `nth`: neighbours by their numbers, as many as on the others or one more.
fn slots_of(sharing: SharedThreads, nth: u32) -> impl Iterator<Item = ClientIndex> {
    let SharedThreads { clients, threads } = sharing;
    let of_thread = LoadPart::new(nth, 1, threads).cut_of(clients.count().into());
    let first = clients.first() + of_thread.start as u32;
    ClientIndex::all_in(LoadPart::new(first, (of_thread.end - of_thread.start) as u32, clients.of()))
}

/// One client's connection, with its operation.
struct MultiplexedConnection<C: SessionFactory> {
    connect: C,
    /// `None` while it is lost, and between transactions if each has its own. It is not ready for operations while the state is
    /// [`OpState::Connecting`].
    session: Option<C::Session>,
    /// Whether the last one was lost, and not just closed.
    is_lost: bool,
    /// Before the next attempt to connect after a loss.
    pause: Duration,
    /// When the operation that waits for a connection may try to make one, or when it is looked for the end of an inquiry.
    connect_at: Option<Instant>,
    op: SqlOp,
    state: OpState,
    /// Whether the last command only prepares the statement that `state` is at.
    is_preparing: bool,
    /// What the operation has kept of its answers.
    kept: KeptValues,
    rows: RowTally,
    /// When the answer was first found missing; `None` if that was not checked since the last command.
    silent_since: Option<Instant>,
    /// When the operation first failed with a conflict.
    began: Option<Instant>,
}

impl<C: SessionFactory> MultiplexedConnection<C> {
    fn unconnected(connect: C) -> Self {
        MultiplexedConnection {
            rows: RowTally::new(&connect.session_options().rows),
            connect,
            session: None,
            is_lost: false,
            pause: PAUSE,
            connect_at: None,
            op: SqlOp::default(),
            state: OpState::Idle,
            is_preparing: false,
            kept: KeptValues::default(),
            silent_since: None,
            began: None,
        }
    }
}

impl<C: SessionFactory<Session: PollableSession>> MultiplexedConnection<C> {
    /// Fills what the operation has kept into the arguments of its next call. Returns how many columns are kept of the answer.
    #[inline]
    fn fill_in_kept(&mut self) -> Option<u8> {
        let OpState::Call { nth, args } = self.state else { return None };
        if self.op.keeps.is_empty() {
            return None;
        }
        let mine = &self.op.args[args - usize::from(self.op.calls[nth].args)..args];
        self.kept.fill_in(mine);
        answer_kept(&self.op, nth).map(|answer| answer.columns)
    }

    /// Counts the rows of the answer for which the operation waited in `state`. Returns what it tells.
    #[inline]
    fn count_answer(&mut self, state: &OpState) -> Answered {
        let answered = self.session.as_ref().expect("connected: it has answered").answered();
        if let OpState::Call { nth, .. } = state {
            self.rows.add(self.op.calls[*nth].statement, &answered);
        }
        answered
    }

    /// Whether the transaction has ended before its COMMIT, by what its last answer shows.
    #[inline]
    fn is_over(&self, last: &Answered) -> bool {
        self.rows.is_over(&self.op, last)
    }

    /// What follows call number `nth`, which was answered; its arguments end at `args`. `None` if a row that is needed is missing.
    fn call_after(&mut self, nth: usize, args: usize) -> Option<OpState> {
        let Some(answer) = answer_kept(&self.op, nth) else { return Some(next_call(&self.op, nth + 1, args)) };
        let session = self.session.as_ref().expect("connected: it has answered");
        match self.kept.keep(answer, session.kept_rows())? {
            AfterAnswer::Again => Some(OpState::Call { nth, args }),
            AfterAnswer::Next { skipped } => {
                let next = nth + 1 + usize::from(skipped);
                Some(next_call(&self.op, next, args + args_of(&self.op, nth + 1..next)))
            }
        }
    }
}

impl<C: SessionFactory<Session: PollableSession>> ConnectionSlots for Vec<MultiplexedConnection<C>> {
    #[inline]
    fn socket_of(&mut self, slot: u32) -> Option<HandedSocket<'_>> {
        self[slot as usize].session.as_mut().map(PollableSession::handed_socket)
    }
}

/// What the operation of a connection waits for.
enum OpState {
    /// There is no operation.
    Idle,
    /// It waits for the time to connect again after a loss.
    Unconnected,
    /// Its connection is being made.
    Connecting,
    /// The answer to BEGIN.
    Begin,
    /// The answer to call number `nth`. The arguments of the next call begin at `args`.
    Call { nth: usize, args: usize },
    /// The answer to COMMIT.
    Commit,
    /// The answer to ROLLBACK, sent because of this failure.
    RollBack(OpFailure),
    /// What an inquiry finds about the loss of its connection. If that is nothing, it failed by this failure.
    Inquiry { failure: OpFailure, found: Receiver<OpFailure> },
}

/// The connections of one thread.
struct MultiplexedDriver<C: SessionFactory> {
    connections: Vec<MultiplexedConnection<C>>,
    /// Opened on the clients' own thread.
    sockets: Option<Sockets>,
    /// Slots with an operation that is not started yet.
    pushed: Vec<u32>,
    /// Slots whose operations wait until they may connect, the first of them first. Only the time that a slot still has counts.
    waiting: BinaryHeap<Reverse<(Instant, u32)>>,
    /// When the last wait ended, and when overdue answers are checked next.
    waited_at: Instant,
    check_silence_at: Instant,
    is_over: bool,
    names: OpNames,
    /// The last, with the kind of its operation.
    failure: Option<(OpKind, OpFailure)>,
    inquiries: Inquiries,
    tally: Arc<ClientTally>,
}

impl<C: SessionFactory<Session: PollableSession>> MultiplexedDriver<C> {
    fn new(factories: Vec<C>, names: OpNames, tally: Arc<ClientTally>) -> Self {
        let now = Instant::now();
        let connections: Vec<_> = factories.into_iter().map(MultiplexedConnection::unconnected).collect();
        let many = connections.len();
        MultiplexedDriver {
            sockets: None,
            pushed: Vec::with_capacity(many),
            waiting: BinaryHeap::with_capacity(many),
            waited_at: now,
            check_silence_at: now,
            is_over: false,
            names,
            failure: None,
            inquiries: Inquiries::default(),
            tally,
            connections,
        }
    }

    fn session_options(&self) -> &SessionOptions {
        self.connections[0].connect.session_options()
    }

    /// Takes over a new connection for `slot`.
    fn adopt_session(&mut self, slot: u32, mut session: C::Session) -> Result<(), OpFailure> {
        session.hand_over_socket();
        let sockets = self.sockets.as_mut().expect("opened with the clients");
        sockets.add(slot, session.handed_socket()).map_err(|error| socket_failure(&error))?;
        self.connections[slot as usize].session = Some(session);
        Ok(())
    }

    /// Starts the operation of `slot`, from its beginning.
    #[inline]
    fn start_op(&mut self, slot: u32, done: &mut Vec<FinishedOp>) {
        let connection = &mut self.connections[slot as usize];
        if connection.session.is_none() {
            connection.silent_since = None;
            return if connection.is_lost { self.wait_after_loss(slot) } else { self.begin_connecting(slot, done) };
        }
        connection.rows.begin(&connection.op);
        let first = if connection.op.transaction { OpState::Begin } else { next_call(&connection.op, 0, 0) };
        self.send_command(slot, first, done);
    }

    /// Sends the command of `next`, or finishes the operation if there is none left.
    #[inline]
    fn send_command(&mut self, slot: u32, next: OpState, done: &mut Vec<FinishedOp>) {
        let connection = &mut self.connections[slot as usize];
        (connection.state, connection.silent_since) = (next, None);
        let columns = connection.fill_in_kept();
        let Some(command) = command_for(&connection.state, &connection.op, &connection.kept) else {
            return self.finish_op(slot, Outcome::Ok { bytes: 0 }, done);
        };
        let session = connection.session.as_mut().expect("connected: it is at a statement");
        let written = session.put_command(command).and_then(|is_itself| {
            columns.into_iter().filter(|_| is_itself).for_each(|columns| session.keep_rows(columns));
            session.write_command().map(|()| is_itself)
        });
        match written {
            Ok(is_itself) => connection.is_preparing = !is_itself,
            Err(failure) => return self.handle_failure(slot, failure, done),
        }
        let sockets = self.sockets.as_mut().expect("opened with the clients");
        sockets.send(slot, session.handed_socket());
        if session.handed_socket().memory.has_ended() {
            // No answer will come: what did come says why.
            self.take_answer(slot, done);
        }
    }

    /// Something has come to `slot`, or more of its statement was sent.
    #[inline]
    fn take_answer(&mut self, slot: u32, done: &mut Vec<FinishedOp>) {
        let connection = &mut self.connections[slot as usize];
        match connection.state {
            OpState::Idle | OpState::Unconnected | OpState::Inquiry { .. } => return, // the server closed an idle connection: the next operation on it will notice
            OpState::Connecting => return self.go_on_connecting(slot, done),
            _ => connection.silent_since = None,
        }
        let Some(session) = &mut connection.session else { return };
        match session.take_some(&connection.op) {
            Ok(true) => self.send_next(slot, done),
            Ok(false) => {}
            Err(failure) => self.handle_failure(slot, failure, done),
        }
    }

    /// The last command of `slot` was answered.
    #[inline]
    fn send_next(&mut self, slot: u32, done: &mut Vec<FinishedOp>) {
        let connection = &mut self.connections[slot as usize];
        let state = std::mem::replace(&mut connection.state, OpState::Idle);
        if connection.is_preparing {
            return self.send_command(slot, state, done);
        }
        let answered = connection.count_answer(&state);
        let next = match state {
            OpState::Begin => next_call(&connection.op, 0, 0),
            OpState::Call { nth, args } if connection.op.keeps.is_empty() => next_call(&connection.op, nth + 1, args),
            OpState::Call { nth, args } => match connection.call_after(nth, args) {
                Some(next) => next,
                None => {
                    let failure = OpFailure { class: FailureClass::Other, text: NOT_THERE.into() };
                    return self.handle_failure(slot, failure, done);
                }
            },
            OpState::RollBack(failure) => return self.rolled_back(slot, failure, done),
            OpState::Commit if connection.rows.is_undone(&connection.op, &answered) => {
                return self.handle_failure(slot, rolled_back(), done);
            }
            OpState::Commit => {
                connection.rows.end_transaction(connection.op.ending == TransactionEnd::Commit);
                OpState::Idle
            }
            OpState::Idle | OpState::Unconnected | OpState::Connecting | OpState::Inquiry { .. } => OpState::Idle,
        };
        if matches!(next, OpState::Commit) && self.connections[slot as usize].is_over(&answered) {
            return self.handle_failure(slot, rolled_back(), done);
        }
        self.send_command(slot, next, done);
    }

    /// The last command of `slot` failed.
    #[cold]
    fn handle_failure(&mut self, slot: u32, failure: OpFailure, done: &mut Vec<FinishedOp>) {
        let connection = &mut self.connections[slot as usize];
        match std::mem::replace(&mut connection.state, OpState::Idle) {
            // A connection that cannot roll back is useless. The operation failed for the first reason.
            OpState::RollBack(cause) => self.drop_connection(slot, cause, done),
            _ if failure.class.asks_for_reconnect() => self.drop_connection(slot, failure, done),
            _ => self.send_command(slot, OpState::RollBack(failure), done),
        }
    }

    /// The operation of `slot` was rolled back: it is retried, or it has failed.
    #[cold]
    fn rolled_back(&mut self, slot: u32, failure: OpFailure, done: &mut Vec<FinishedOp>) {
        let connection = &mut self.connections[slot as usize];
        if connection.connect.session_options().should_retry(failure.class, &mut connection.began) {
            self.tally.retried.fetch_add(1, Relaxed);
            return self.start_op(slot, done);
        }
        self.give_up(slot, failure, done);
    }

    /// The connection of `slot` is lost, and its operation with it.
    #[cold]
    fn drop_connection(&mut self, slot: u32, failure: OpFailure, done: &mut Vec<FinishedOp>) {
        let connection = &mut self.connections[slot as usize];
        connection.is_lost = true;
        let session = connection.session.as_ref().filter(|_| failure.class == FailureClass::Lost);
        let inquiry = session.and_then(PollableSession::inquiry);
        self.close_connection(slot);
        let Some(inquiry) = inquiry else { return self.give_up(slot, failure, done) };
        let found = self.inquiries.ask(inquiry);
        self.connections[slot as usize].state = OpState::Inquiry { failure, found };
        self.connect_after(slot, INQUIRY_EVERY);
    }

    /// The wait of `slot` is over: it connects, or the inquiry about its loss may have an end.
    fn end_wait(&mut self, slot: u32, done: &mut Vec<FinishedOp>) {
        let state = &mut self.connections[slot as usize].state;
        let OpState::Inquiry { found, .. } = state else { return self.begin_connecting(slot, done) };
        let found = found.try_recv();
        if matches!(found, Err(TryRecvError::Empty)) {
            return self.connect_after(slot, INQUIRY_EVERY);
        }
        if let OpState::Inquiry { failure, .. } = std::mem::replace(state, OpState::Idle) {
            self.give_up(slot, found.unwrap_or(failure), done);
        }
    }

    fn close_connection(&mut self, slot: u32) {
        let connection = &mut self.connections[slot as usize];
        connection.connect_at = None;
        let session = connection.session.take();
        if let (Some(sockets), Some(session)) = (&mut self.sockets, &session) {
            sockets.remove(slot, session.socket_fd());
        }
    }

    #[cold]
    fn give_up(&mut self, slot: u32, failure: OpFailure, done: &mut Vec<FinishedOp>) {
        let class = failure.class;
        self.is_over |= self.session_options().ends_load_on(class);
        self.tally.lost.fetch_add(u64::from(class.is_of_connection()), Relaxed);
        self.failure = Some((self.connections[slot as usize].op.op_kind, failure));
        self.finish_op(slot, Outcome::Failed(class), done);
    }

    #[inline]
    fn finish_op(&mut self, slot: u32, outcome: Outcome, done: &mut Vec<FinishedOp>) {
        self.connections[slot as usize].state = OpState::Idle;
        if self.session_options().connection == ConnectionLifetime::PerTransaction {
            // Before its time is taken, as on a thread of its own.
            self.close_connection(slot);
        }
        done.push(FinishedOp { slot, outcome });
    }

    /// The operation of `slot` connects again when its pause is over, as one with a thread of its own does.
    #[cold]
    fn wait_after_loss(&mut self, slot: u32) {
        let connection = &mut self.connections[slot as usize];
        let pause = connection.pause;
        // Doubled before the attempt, so that it also grows if connecting fails.
        (connection.state, connection.pause) = (OpState::Unconnected, (2 * pause).min(PAUSE_MAX));
        self.connect_after(slot, pause);
    }

    #[cold]
    fn connect_after(&mut self, slot: u32, pause: Duration) {
        let at = Instant::now() + pause;
        self.connections[slot as usize].connect_at = Some(at);
        self.waiting.push(Reverse((at, slot)));
    }

    /// Goes on with those whose time has come.
    fn connect_due(&mut self, done: &mut Vec<FinishedOp>) {
        while done.is_empty()
            && let Some(Reverse((at, slot))) = self.waiting.peek().copied().filter(|next| next.0.0 <= self.waited_at)
        {
            self.waiting.pop();
            if self.connections[slot as usize].connect_at.take_if(|mine| *mine == at).is_some() {
                self.end_wait(slot, done);
            }
        }
    }

    fn begin_connecting(&mut self, slot: u32, done: &mut Vec<FinishedOp>) {
        let connection = &mut self.connections[slot as usize];
        connection.state = OpState::Connecting;
        match connection.connect.begin_connecting(connection.is_lost) {
            Ok(None) => self.connect_after(slot, QUEUE_IS_FULL),
            Ok(Some(session)) => match self.adopt_session(slot, session) {
                Ok(()) => self.go_on_connecting(slot, done),
                Err(failure) => self.drop_connection(slot, failure.into_lost(), done),
            },
            Err(failure) => self.drop_connection(slot, failure.into_lost(), done),
        }
    }

    /// Goes on with the connection of `slot` as far as what has come allows, and starts its operation if it is ready.
    fn go_on_connecting(&mut self, slot: u32, done: &mut Vec<FinishedOp>) {
        loop {
            let MultiplexedConnection { connect, session: Some(session), .. } = &mut self.connections[slot as usize]
            else {
                return;
            };
            let is_ready = match connect.go_on_connecting(session) {
                Ok(is_ready) => is_ready,
                Err(failure) => return self.drop_connection(slot, failure.into_lost(), done),
            };
            if !session.handed_socket().memory.outgoing.is_empty() {
                let sockets = self.sockets.as_mut().expect("opened with the clients");
                sockets.send(slot, session.handed_socket());
            }
            if is_ready {
                return self.start_connected(slot, done);
            }
            if !session.handed_socket().memory.has_ended() {
                return;
            }
            // Nothing more will come: what did come says why.
        }
    }

    fn start_connected(&mut self, slot: u32, done: &mut Vec<FinishedOp>) {
        let connection = &mut self.connections[slot as usize];
        if std::mem::take(&mut connection.is_lost) {
            connection.pause = PAUSE;
            self.tally.reconnected.fetch_add(1, Relaxed);
        }
        self.start_op(slot, done);
    }

    /// Waits for the sockets, for at most `timeout`.
    #[inline]
    fn wait_for_sockets(&mut self, timeout: Nanos) {
        let timeout = timeout.min(self.until_attempt());
        self.sockets.as_mut().expect("opened with the clients").wait_at_most(timeout);
        self.waited_at = Instant::now();
    }

    /// Time until the next attempt to connect; for ever if no client waits for it.
    #[inline]
    fn until_attempt(&self) -> Nanos {
        match self.waiting.peek() {
            None => Nanos(u64::MAX),
            Some(Reverse((at, _))) => Nanos(at.saturating_duration_since(Instant::now()).as_nanos() as u64),
        }
    }

    /// Gives up connections whose answer is overdue. The wait is counted from the first check here: the last poll may have been long
    /// before the command was sent, if all clients were in think time. For a connection that is being made it is not begun again by what
    /// comes: all of its answers have this time together.
    #[inline]
    fn end_silent_connections(&mut self, done: &mut Vec<FinishedOp>) {
        if self.waited_at < self.check_silence_at {
            return;
        }
        self.check_silence_at = self.waited_at + SWEEP_EVERY;
        let (patience, waited_at) = (self.session_options().patience, self.waited_at);
        for slot in 0..self.connections.len() as u32 {
            let connection = &mut self.connections[slot as usize];
            if matches!(connection.state, OpState::Idle | OpState::Unconnected | OpState::Inquiry { .. }) {
                continue;
            }
            let since = *connection.silent_since.get_or_insert(waited_at);
            if waited_at.saturating_duration_since(since) > patience {
                self.handle_failure(slot, OpFailure::timed_out(), done);
            }
        }
    }
}

/// The failure of a transaction that was rolled back behind its client's back.
fn rolled_back() -> OpFailure {
    OpFailure { class: FailureClass::Other, text: ROLLED_BACK.into() }
}

fn socket_failure(error: &std::io::Error) -> OpFailure {
    OpFailure { class: FailureClass::Other, text: host::error::system_words(error) }
}

/// The state of an operation whose next call is number `nth`, with arguments from `args` on.
#[inline]
fn next_call(op: &SqlOp, nth: usize, args: usize) -> OpState {
    match op.calls.get(nth) {
        Some(call) => OpState::Call { nth, args: args + call.args as usize },
        None if op.transaction => OpState::Commit,
        None => OpState::Idle,
    }
}

/// The command that brings `op` into `state`.
#[inline]
fn command_for<'a>(state: &OpState, op: &'a SqlOp, kept: &'a KeptValues) -> Option<SqlCommand<'a>> {
    Some(match *state {
        OpState::Idle | OpState::Unconnected | OpState::Connecting | OpState::Inquiry { .. } => return None,
        OpState::Begin => SqlCommand::Text("BEGIN"),
        OpState::Commit => SqlCommand::Text(end_text(op)),
        OpState::RollBack(_) => SqlCommand::Text("ROLLBACK"),
        OpState::Call { nth, args } => {
            let call = op.calls[nth];
            let args = match op.keeps.is_empty() {
                true => &op.args[args - call.args as usize..args],
                false => kept.filled(),
            };
            SqlCommand::Call { statement: call.statement, args, text: &op.text }
        }
    })
}

/// Copies `op` into the buffers of `mine`.
#[inline]
pub fn copy_op(mine: &mut SqlOp, op: &SqlOp) {
    (mine.op_kind, mine.transaction, mine.writes) = (op.op_kind, op.transaction, op.writes);
    mine.ending = op.ending;
    mine.keeps.clone_from(&op.keeps);
    mine.calls.clone_from(&op.calls);
    mine.args.clone_from(&op.args);
    mine.text.clone_from(&op.text);
}

impl<C: SessionFactory<Session: PollableSession>> BatchDriver for MultiplexedDriver<C> {
    type Op = SqlOp;
    const HAS_ROWS: bool = true;

    fn depth(&self) -> u32 {
        self.connections.len() as u32
    }

    fn open(&mut self) -> Result<(), String> {
        let sockets = Sockets::open(self.session_options().sockets, self.depth());
        self.sockets = Some(sockets.map_err(|error| socket_failure(&error).text)?);
        // Of connections per transaction one shows that the server takes them.
        let is_kept = self.session_options().connection == ConnectionLifetime::Kept;
        let opened = if is_kept { self.depth() } else { 1 };
        for slot in 0..opened {
            let connect = &self.connections[slot as usize].connect;
            let server = connect.server_name();
            let connected = connect.connect().and_then(|session| match is_kept {
                true => self.adopt_session(slot, session),
                false => Ok(()),
            });
            connected.map_err(|failure| failure.of_opening(&server))?;
        }
        Ok(())
    }

    #[inline]
    fn push_op(&mut self, slot: u32, op: &SqlOp) {
        let connection = &mut self.connections[slot as usize];
        copy_op(&mut connection.op, op);
        connection.began = None;
        self.pushed.push(slot);
    }

    #[inline]
    fn submit_and_wait(&mut self, timeout: Nanos, done: &mut Vec<FinishedOp>) {
        while let Some(slot) = self.pushed.pop() {
            self.start_op(slot, done);
        }
        if timeout == Nanos(0) {
            // Free clients come first. With an answer taken for each start, those that wait to start would never become fewer: they would
            // wait for this thread outside of their operations, and the server would have fewer clients than it was to have.
            return;
        }
        // Sockets are waited for only when all that the last wait brought is handled: a wait in between would cost a system call an answer.
        if done.is_empty() && !self.sockets.as_mut().is_some_and(Sockets::has_more) {
            self.wait_for_sockets(timeout);
            self.end_silent_connections(done);
            self.connect_due(done);
        }
        while done.is_empty()
            && let Some(slot) = self.sockets.as_mut().and_then(|sockets| sockets.take_next(&mut self.connections))
        {
            self.take_answer(slot, done);
        }
    }

    #[inline]
    fn rows_of(&self, slot: u32) -> RowCounts {
        self.connections[slot as usize].rows.rows()
    }

    fn describe_miss_of(&self, slot: u32) -> String {
        let MultiplexedConnection { connect, op, rows, .. } = &self.connections[slot as usize];
        format!("{}: {}", self.names.within(&connect.server_name(), op.op_kind), rows.describe_miss())
    }

    fn describe_failure(&self) -> String {
        let server = self.connections[0].connect.server_name();
        self.failure.as_ref().map_or_else(String::new, |(op, failure)| self.names.describe(&server, *op, failure))
    }

    fn is_over(&self) -> bool {
        self.is_over
    }
}

#[cfg(test)]
mod tests {
    //! The way of operations on sockets whose other ends are here; the real servers are in the contract tests.

    use super::*;
    use crate::server::memory::SocketMemory;
    use crate::sql::session_options::{ClientThreads, ReconnectPolicy};
    use crate::sql::sockets::SocketWay;
    use crate::sql::testing::options;
    use crate::sql::variant::rows::RowBuffer;
    use model::{IfEmpty, KeptAnswer, KeptRow, SqlCall, TransactionEnd};
    use std::collections::BTreeSet;
    use std::io::{ErrorKind, Read, Write};
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicBool, AtomicU32};

    /// A server that says what the test says: the other ends of its connections, in the order in which they were made.
    #[derive(Clone)]
    struct Server {
        ends: Arc<Mutex<Vec<Option<UnixStream>>>>,
        is_gone: Arc<AtomicBool>,
        /// Whether a connection is ready only when a letter has come.
        greets: bool,
        /// How often the queue is full before a connection is taken.
        full: Arc<AtomicU32>,
        attempts: Arc<AtomicU32>,
        inquiry: Arc<SlowInquiry>,
        options: SessionOptions,
    }

    /// Finds that a connection was killed, if it looks; not before it gets the lock.
    #[derive(Default)]
    struct SlowInquiry {
        looks: AtomicBool,
        lock: Mutex<()>,
    }

    /// A client's end: commands are lines, and answers are letters.
    struct Line {
        socket: UnixStream,
        memory: SocketMemory,
        out: Vec<u8>,
        prepared: BTreeSet<u16>,
        kept: KeptRows,
        answered: Answered,
        inquiry: Arc<SlowInquiry>,
    }

    fn lost(text: &str) -> OpFailure {
        OpFailure { class: FailureClass::Lost, text: text.into() }
    }

    impl SessionFactory for Server {
        type Session = Line;
        fn server_name(&self) -> String {
            "a server".into()
        }
        fn session_options(&self) -> &SessionOptions {
            &self.options
        }
        fn with_statements(&self, _: &[u16]) -> Server {
            self.clone()
        }
        fn with_patience(&self, _: Duration) -> Server {
            self.clone()
        }
        fn connect(&self) -> Result<Line, OpFailure> {
            self.attempts.fetch_add(1, Relaxed);
            if self.is_gone.load(Relaxed) {
                return Err(lost("it is not there"));
            }
            let (socket, end) = UnixStream::pair().unwrap();
            self.ends.lock().unwrap().push(Some(end));
            let answered = Answered { in_transaction: true, ..Answered::default() };
            let (memory, kept, out) = (SocketMemory::default(), KeptRows::default(), Vec::new());
            let inquiry = self.inquiry.clone();
            Ok(Line { socket, memory, out, prepared: BTreeSet::new(), kept, answered, inquiry })
        }
        fn begin_connecting(&self, _: bool) -> Result<Option<Line>, OpFailure> {
            let is_full = self.full.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_ok();
            if is_full { Ok(None) } else { self.connect().map(Some) }
        }
        fn go_on_connecting(&self, line: &mut Line) -> Result<bool, OpFailure> {
            if self.greets { line.take_some(&SqlOp::default()) } else { Ok(true) }
        }
    }

    impl SqlSession for Line {
        fn perform_op(&mut self, _: &SqlOp, _: &mut RowTally) -> Result<(), OpFailure> {
            unreachable!("nobody waits here")
        }
        fn run_text(&mut self, _: &str) -> Result<(), OpFailure> {
            unreachable!("operations have calls here")
        }
        fn fetch_text(&mut self, _: &str, _: &mut RowBuffer) -> Result<(), OpFailure> {
            unreachable!("operations have calls here")
        }
        fn roll_back(&mut self) -> Result<(), OpFailure> {
            unreachable!("nobody waits here")
        }
    }

    impl PollableSession for Line {
        fn stop_waiting(&mut self) -> Result<(), OpFailure> {
            unreachable!("the socket is handed over")
        }
        fn socket_fd(&self) -> BorrowedFd<'_> {
            self.socket.as_fd()
        }
        fn hand_over_socket(&mut self) {}
        fn handed_socket(&mut self) -> HandedSocket<'_> {
            HandedSocket { fd: self.socket.as_fd(), memory: &mut self.memory }
        }
        fn put_command(&mut self, next: SqlCommand<'_>) -> Result<bool, OpFailure> {
            // A statement whose number is a multiple of ten is prepared first.
            if let SqlCommand::Call { statement, .. } = next
                && statement % 10 == 0
                && self.prepared.insert(statement)
            {
                self.out = format!("prepare {statement}\n").into();
                return Ok(false);
            }
            self.out = match next {
                SqlCommand::Text(text) => format!("{text}\n").into(),
                SqlCommand::Call { statement, args, text } => {
                    [format!("{statement} {args:?} ").as_bytes(), text, b"\n"].concat()
                }
            };
            Ok(true)
        }
        fn write_command(&mut self) -> Result<(), OpFailure> {
            self.memory.write_all(&self.out).map_err(|error| lost(&error.to_string()))
        }
        fn send_some(&mut self) -> Result<bool, OpFailure> {
            unreachable!("the socket is handed over")
        }
        fn keep_rows(&mut self, columns: u8) {
            self.kept.begin(columns);
        }
        fn kept_rows(&self) -> &KeptRows {
            &self.kept
        }
        fn answered(&self) -> Answered {
            self.answered
        }
        fn inquiry(&self) -> Option<Inquiry> {
            let inquiry = self.inquiry.clone();
            let killed = || OpFailure { class: FailureClass::Killed, text: "killed".into() };
            let look = move || inquiry.lock.lock().is_ok().then(killed);
            self.inquiry.looks.load(Relaxed).then(|| Box::new(look) as Inquiry)
        }
        fn take_some(&mut self, _: &SqlOp) -> Result<bool, OpFailure> {
            let mut letter = [0];
            match self.memory.read(&mut letter) {
                Ok(1) if letter == *b"y" => Ok(true),
                // A row with this digit.
                Ok(1) if letter[0].is_ascii_digit() => {
                    self.kept.push(Some((letter[0] - b'0').into()));
                    Ok(true)
                }
                Ok(1) => Err(OpFailure { class: FailureClass::Conflict, text: "deadlock".into() }),
                Ok(_) => Err(lost("it hung up")),
                Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(false),
                Err(error) => Err(lost(&error.to_string())),
            }
        }
    }

    impl Server {
        /// Says `letter` over connection number `nth`, unasked.
        fn say(&self, nth: usize, letter: &[u8]) {
            self.ends.lock().unwrap()[nth].as_mut().expect("it is open").write_all(letter).unwrap();
        }

        /// Answers connection number `nth` if something came over it.
        fn answer_if_asked(&self, nth: usize) {
            let mut ends = self.ends.lock().unwrap();
            let end = ends[nth].as_mut().expect("it is open");
            end.set_nonblocking(true).unwrap();
            if end.read(&mut [0; 1 << 10]).is_ok() {
                end.write_all(b"y").unwrap();
            }
        }

        /// What came over connection number `nth`, which is answered by `letter`.
        fn answer(&self, nth: usize, letter: &[u8]) -> String {
            let mut ends = self.ends.lock().unwrap();
            let end = ends[nth].as_mut().expect("it is open");
            let mut said = vec![0; 1 << 10];
            let count = end.read(&mut said).unwrap();
            end.write_all(letter).unwrap();
            String::from_utf8_lossy(&said[..count]).trim_end().to_owned()
        }
    }

    /// With io_uring, if this kernel has it, and with epoll.
    fn in_both_ways(test: impl Fn(SocketWay)) {
        [SocketWay::best(), SocketWay::Epoll].into_iter().for_each(test);
    }

    /// A server and its clients on one thread, which wait for an answer as long as `patience`.
    fn clients(sockets: SocketWay, count: usize, patience: Duration) -> (Server, MultiplexedDriver<Server>) {
        clients_with(SessionOptions { patience, threads: ClientThreads::Shared(1), sockets, ..options() }, count)
    }

    fn clients_with(options: SessionOptions, count: usize) -> (Server, MultiplexedDriver<Server>) {
        let greets = options.connection == ConnectionLifetime::PerTransaction;
        let (ends, is_gone, attempts, full) = (Arc::default(), Arc::default(), Arc::default(), Arc::default());
        let inquiry = Arc::default();
        let server = Server { ends, is_gone, greets, full, attempts, inquiry, options };
        let mut driver = MultiplexedDriver::new(vec![server.clone(); count], OpNames::default(), Arc::default());
        driver.open().unwrap();
        (server, driver)
    }

    /// The same whose connections each last for one transaction, and are ready when a letter has come. The first was made to look.
    fn visitors(sockets: SocketWay, count: usize) -> (Server, MultiplexedDriver<Server>) {
        let (connection, threads) = (ConnectionLifetime::PerTransaction, ClientThreads::Shared(1));
        clients_with(SessionOptions { patience: HOUR, threads, sockets, connection, ..options() }, count)
    }

    const HOUR: Duration = Duration::from_secs(3600);

    fn operation(transaction: bool) -> SqlOp {
        let calls = vec![SqlCall { statement: 7, args: 1 }, SqlCall { statement: 8, args: 2 }];
        SqlOp { transaction, calls, args: [1, 2, 3].map(SqlArg::Int).into(), ..SqlOp::default() }
    }

    /// What is found by looking until an operation is done, or often enough: a call may bring only what was for a connection before, and
    /// what follows an answer is sent by the next call.
    fn look(driver: &mut MultiplexedDriver<Server>) -> Vec<FinishedOp> {
        let mut done = Vec::new();
        for _ in 0..10 {
            if done.is_empty() {
                driver.submit_and_wait(Nanos(1), &mut done);
            }
        }
        done
    }

    /// Looks until an operation is done.
    fn until_done(driver: &mut MultiplexedDriver<Server>) -> Vec<FinishedOp> {
        let mut done = Vec::new();
        while done.is_empty() {
            driver.submit_and_wait(Nanos::from_millis(100), &mut done);
        }
        done
    }

    const OK: Outcome = Outcome::Ok { bytes: 0 };

    fn counts(driver: &MultiplexedDriver<Server>) -> [String; 2] {
        let facts = driver.tally.take_facts();
        [0, 1].map(|nth| facts[nth].value.clone())
    }

    #[test]
    fn an_operation_says_its_statements_one_after_the_other_while_its_neighbours_go_on() {
        in_both_ways(|way| {
            let (server, mut driver) = clients(way, 2, HOUR);
            driver.push_op(0, &operation(true));
            assert_eq!(look(&mut driver), []);
            driver.push_op(1, &operation(false));
            assert_eq!(look(&mut driver), []);
            for said in ["BEGIN", "7 [Int(1)]", "8 [Int(2), Int(3)]"] {
                assert_eq!(server.answer(0, b"y"), said);
                assert_eq!(look(&mut driver), []);
            }
            assert_eq!(server.answer(1, b"y"), "7 [Int(1)]");
            assert_eq!(look(&mut driver), []);
            assert_eq!(
                (server.answer(1, b"y"), server.answer(0, b"y")),
                ("8 [Int(2), Int(3)]".into(), "COMMIT".into())
            );
            // Both are there, and each is handed over alone.
            let both = [look(&mut driver), look(&mut driver)].map(|done| (done.len(), done[0].outcome));
            assert_eq!(both, [(1, OK); 2]);
        });
    }

    #[test]
    fn the_neighbours_of_a_lost_connection_go_on_while_it_is_found_out_why() {
        in_both_ways(|way| {
            let (server, mut driver) = clients(way, 2, HOUR);
            server.inquiry.looks.store(true, Relaxed);
            let waits = server.inquiry.lock.lock().unwrap();
            for slot in [0, 1] {
                driver.push_op(slot, &operation(false));
                assert_eq!(look(&mut driver), []);
            }
            server.ends.lock().unwrap()[0] = None;
            assert_eq!(look(&mut driver), []);
            server.answer(1, b"y");
            assert_eq!(look(&mut driver), []);
            server.answer(1, b"y");
            assert_eq!(until_done(&mut driver), [FinishedOp { slot: 1, outcome: OK }]);
            drop(waits);
            let outcome = Outcome::Failed(FailureClass::Killed);
            assert_eq!(until_done(&mut driver), [FinishedOp { slot: 0, outcome }]);
        });
    }

    #[test]
    fn an_operation_that_loses_is_rolled_back_and_performed_again_within_itself() {
        in_both_ways(|way| {
            let (server, mut driver) = clients(way, 1, HOUR);
            driver.push_op(0, &operation(true));
            let talk =
                [("BEGIN", b"y"), ("7 [Int(1)]", b"n"), ("ROLLBACK", b"y"), ("BEGIN", b"y"), ("7 [Int(1)]", b"y")];
            for (said, letter) in talk {
                assert_eq!(look(&mut driver), []);
                assert_eq!(server.answer(0, letter), said);
            }
            assert_eq!(look(&mut driver), []);
            server.answer(0, b"y");
            assert_eq!(look(&mut driver), []);
            assert_eq!(server.answer(0, b"y"), "COMMIT");
            assert_eq!(look(&mut driver), [FinishedOp { slot: 0, outcome: OK }]);
            assert_eq!(counts(&driver), ["1", "0"]);
        });
    }

    #[test]
    fn what_a_call_has_returned_is_an_argument_of_a_later_one_and_is_read_again_after_a_conflict() {
        in_both_ways(|way| {
            let (server, mut driver) = clients(way, 1, HOUR);
            let call = |statement, args| SqlCall { statement, args };
            let keep = |call, if_empty| KeptAnswer { call, row: KeptRow::First, columns: 1, place: 0, if_empty };
            let op = SqlOp {
                transaction: true,
                ending: TransactionEnd::RollBack,
                calls: vec![call(1, 0), call(2, 2), call(3, 0), call(4, 1), call(5, 1)],
                args: vec![SqlArg::Kept(0), SqlArg::Int(9), SqlArg::Int(8), SqlArg::Kept(0)],
                keeps: vec![keep(0, IfEmpty::Fail), keep(2, IfEmpty::Skip(1))],
                ..SqlOp::default()
            };
            driver.push_op(0, &op);
            let talk = [
                ("BEGIN", "y"),
                ("1 []", "4"),
                ("2 [Int(4), Int(9)]", "n"),
                ("ROLLBACK", "y"),
                ("BEGIN", "y"),
                ("1 []", "5"),
                ("2 [Int(5), Int(9)]", "y"),
                ("3 []", "y"),
                ("3 []", "y"),
                ("5 [Int(5)]", "y"),
                ("ROLLBACK", "y"),
            ];
            for (said, letter) in talk {
                assert_eq!(look(&mut driver), []);
                assert_eq!(server.answer(0, letter.as_bytes()), said);
            }
            assert_eq!(look(&mut driver), [FinishedOp { slot: 0, outcome: OK }]);
            assert_eq!(counts(&driver), ["1", "0"]);
            // A row that must be there is not.
            driver.push_op(0, &op);
            for (said, letter) in [("BEGIN", b"y"), ("1 []", b"y"), ("ROLLBACK", b"y")] {
                assert_eq!(look(&mut driver), []);
                assert_eq!(server.answer(0, letter), said);
            }
            assert_eq!(look(&mut driver), [FinishedOp { slot: 0, outcome: Outcome::Failed(FailureClass::Other) }]);
        });
    }

    #[test]
    fn without_time_for_retries_a_conflict_is_a_failure_after_its_roll_back() {
        in_both_ways(|way| {
            let (server, mut driver) = clients(way, 1, HOUR);
            driver.connections[0].connect.options.retries_for = Duration::ZERO;
            driver.push_op(0, &operation(false));
            look(&mut driver);
            server.answer(0, b"n");
            assert_eq!(look(&mut driver), []);
            assert_eq!(server.answer(0, b"y"), "ROLLBACK");
            let failed = Outcome::Failed(FailureClass::Conflict);
            assert_eq!(look(&mut driver), [FinishedOp { slot: 0, outcome: failed }]);
            assert_eq!(
                (driver.describe_failure().as_str(), counts(&driver)),
                ("a server: deadlock", ["0".into(), "0".into()])
            );
        });
    }

    #[test]
    fn a_server_that_says_nothing_is_lost_when_its_time_is_over_and_others_are_not() {
        in_both_ways(|way| {
            let (server, mut driver) = clients(way, 2, Duration::from_millis(300));
            [0, 1].into_iter().for_each(|slot| driver.push_op(slot, &operation(false)));
            let mut done = Vec::new();
            while done.is_empty() {
                driver.submit_and_wait(Nanos::from_millis(20), &mut done);
                server.answer_if_asked(1);
                done.retain(|done| done.slot == 0);
                if matches!(driver.connections[1].state, OpState::Idle) {
                    driver.push_op(1, &operation(false));
                }
            }
            assert_eq!(done, [FinishedOp { slot: 0, outcome: Outcome::Failed(FailureClass::Lost) }]);
            assert!(driver.describe_failure().contains("did not answer") && driver.connections[1].session.is_some());
        });
    }

    #[test]
    fn a_server_is_not_lost_because_nobody_looked_for_long_before_it_was_told_anything() {
        in_both_ways(|way| {
            let (server, mut driver) = clients(way, 1, HOUR);
            // All clients thought for two hours.
            driver.waited_at -= 2 * HOUR;
            driver.push_op(0, &operation(false));
            assert_eq!(look(&mut driver), []);
            server.answer(0, b"y");
            assert_eq!(look(&mut driver), []);
            server.answer(0, b"y");
            assert_eq!(look(&mut driver), [FinishedOp { slot: 0, outcome: OK }]);
        });
    }

    #[test]
    fn in_an_outage_each_client_tries_again_by_itself_and_they_come_back_when_it_is_over() {
        in_both_ways(|way| {
            let (server, mut driver) = clients(way, 3, HOUR);
            (0..3).for_each(|slot| driver.push_op(slot, &operation(true)));
            look(&mut driver);
            server.is_gone.store(true, Relaxed);
            server.ends.lock().unwrap().iter_mut().for_each(|end| *end = None);
            let (mut failed, before) = (Vec::new(), server.attempts.load(Relaxed));
            while failed.len() < 3 {
                failed.extend(until_done(&mut driver));
            }
            (0..3).for_each(|slot| driver.push_op(slot, &operation(true)));
            while failed.len() < 6 {
                failed.extend(until_done(&mut driver));
            }
            assert_eq!(server.attempts.load(Relaxed) - before, 3, "{failed:?}");
            assert!(failed.iter().all(|done| done.outcome == Outcome::Failed(FailureClass::Lost)));
            server.is_gone.store(false, Relaxed);
            (0..3).for_each(|slot| driver.push_op(slot, &operation(true)));
            while server.ends.lock().unwrap().len() < 6 {
                assert_eq!(look(&mut driver), []);
            }
            assert_eq!(look(&mut driver), [], "what the last one says is sent");
            assert_eq!((server.answer(5, b"y"), counts(&driver)), ("BEGIN".into(), ["0".into(), "3".into()]));
        });
    }

    #[test]
    fn a_connection_per_transaction_is_made_while_others_go_on_and_is_closed_within_its_operation() {
        in_both_ways(|way| {
            let (server, mut driver) = visitors(way, 2);
            for round in [0, 2] {
                server.full.store(2, Relaxed);
                driver.push_op(0, &operation(false));
                while server.ends.lock().unwrap().len() < round + 2 {
                    assert_eq!(look(&mut driver), []);
                }
                driver.push_op(1, &operation(false));
                assert_eq!(look(&mut driver), []);
                // The second is greeted first.
                for (slot, nth) in [(1, round + 2), (0, round + 1)] {
                    server.say(nth, b"y");
                    for said in ["7 [Int(1)]", "8 [Int(2), Int(3)]"] {
                        assert_eq!(look(&mut driver), []);
                        assert_eq!(server.answer(nth, b"y"), said);
                    }
                    assert_eq!(look(&mut driver), [FinishedOp { slot, outcome: OK }]);
                    assert_eq!(server.ends.lock().unwrap()[nth].as_mut().unwrap().read(&mut [0]).unwrap(), 0);
                }
            }
            assert_eq!(counts(&driver), ["0", "0"], "no connection was lost");
        });
    }

    #[test]
    fn a_connection_that_is_refused_or_not_ready_in_time_fails_its_operation_and_no_other() {
        in_both_ways(|way| {
            let (server, mut driver) = visitors(way, 3);
            (0..3).for_each(|slot| driver.push_op(slot, &operation(false)));
            assert_eq!(look(&mut driver), []);
            // In the order of the slots, from the last.
            let failed = |slot| FinishedOp { slot, outcome: Outcome::Failed(FailureClass::Lost) };
            server.say(3, b"n");
            assert_eq!(until_done(&mut driver), [failed(0)]);
            assert_eq!(driver.describe_failure(), "a server: deadlock");
            // The others: one is greeted and served, and the other hears nothing.
            server.say(2, b"y");
            for said in ["7 [Int(1)]", "8 [Int(2), Int(3)]"] {
                assert_eq!(look(&mut driver), []);
                assert_eq!(server.answer(2, b"y"), said);
            }
            assert_eq!(look(&mut driver), [FinishedOp { slot: 1, outcome: OK }]);
            driver.connections[0].connect.options.patience = Duration::from_millis(50);
            assert_eq!(until_done(&mut driver), [failed(2)]);
            assert!(driver.describe_failure().contains("did not answer"));
        });
    }

    #[test]
    fn a_statement_that_is_not_prepared_yet_is_prepared_before_it_is_called() {
        in_both_ways(|way| {
            let (server, mut driver) = clients(way, 1, HOUR);
            let calls = vec![SqlCall { statement: 10, args: 1 }, SqlCall { statement: 10, args: 1 }];
            let args = [1, 2].map(SqlArg::Int).into();
            let op = SqlOp { transaction: true, calls, args, ..SqlOp::default() };
            driver.push_op(0, &op);
            for (said, letter) in
                [("BEGIN", b"y"), ("prepare 10", b"y"), ("10 [Int(1)]", b"y"), ("10 [Int(2)]", b"y"), ("COMMIT", b"y")]
            {
                assert_eq!(look(&mut driver), []);
                assert_eq!(server.answer(0, letter), said);
            }
            assert_eq!(look(&mut driver), [FinishedOp { slot: 0, outcome: OK }]);
        });
    }

    #[test]
    fn a_lost_connection_is_the_end_where_the_clients_are_to_stop() {
        in_both_ways(|way| {
            for reconnect in [ReconnectPolicy::Again, ReconnectPolicy::Stop] {
                let (server, mut driver) = clients(way, 1, HOUR);
                driver.connections[0].connect.options.reconnect = reconnect;
                driver.push_op(0, &operation(true));
                look(&mut driver);
                server.ends.lock().unwrap()[0] = None;
                until_done(&mut driver);
                assert_eq!(driver.is_over(), reconnect == ReconnectPolicy::Stop);
            }
        });
    }

    #[test]
    fn a_statement_for_which_there_is_no_room_goes_on_when_there_is_and_holds_nobody_up() {
        in_both_ways(|way| {
            let (server, mut driver) = clients(way, 2, HOUR);
            let call = SqlCall { statement: 1, args: 0 };
            let long = SqlOp { calls: vec![call], text: vec![b'x'; 3 << 20], ..SqlOp::default() };
            [0, 1].into_iter().zip([&long, &operation(false)]).for_each(|(slot, op)| driver.push_op(slot, op));
            assert_eq!(look(&mut driver), []);
            server.answer(1, b"y");
            look(&mut driver);
            server.answer(1, b"y");
            assert_eq!(look(&mut driver), [FinishedOp { slot: 1, outcome: OK }]);
            let mut received = 0;
            while received < long.text.len() {
                received += server.answer(0, b"").len();
                look(&mut driver);
            }
            server.ends.lock().unwrap()[0].as_mut().unwrap().write_all(b"y").unwrap();
            assert_eq!(until_done(&mut driver), [FinishedOp { slot: 0, outcome: OK }]);
        });
    }

    #[test]
    fn the_clients_are_spread_over_the_threads_and_none_is_left_out() {
        for (first, count, threads) in [(0, 16, 2), (0, 7, 3), (0, 512, 5), (0, 9, 8), (16, 16, 3)] {
            let clients = LoadPart::new(first, count, first + count);
            let of_thread = |nth| slots_of(SharedThreads { clients, threads }, nth).map(|slot| slot.client).collect();
            let all: Vec<Vec<u32>> = (0..threads).map(of_thread).collect();
            assert!(all.iter().flatten().copied().eq(first..first + count), "{all:?}");
            let counts = all.iter().map(Vec::len);
            assert!(counts.clone().max().unwrap() - counts.min().unwrap() <= 1, "{all:?}");
        }
    }
}
