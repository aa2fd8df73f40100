//! Clients of an SQL server that share threads: a thread serves many connections, each of which has one operation under way.
//!
//! In: how to connect, and a connection that need not be waited for. Out: a [`BatchDriver`] whose slots are clients, each with
//! operations of its own. Limits: connections are kept; a statement that does not fit into the socket at once goes on when there is
//! room, and holds nobody up.
//!
//! An operation is stamped alone, before its first statement is sent and after its last answer was read: two looks at the clock,
//! as a client with a thread of its own has them. What differs is in between: an answer that has come waits until the thread has
//! looked at those before it and has sent what follows them. So a thread that has too much to do makes times longer and not
//! shorter, and they are those that a program would see which is built like this. The driver hands over one operation at a time
//! for it, and looks at the sockets again only when it has been through all that the last look had found.
//!
//! What becomes of an operation that lost against others, and of a lost connection, is as in [`super`]. Connecting again does
//! wait: it holds up the neighbours on its thread, for [`ANSWER_AT_MOST`] where the server does not answer. Who cannot connect
//! takes those along who wait for the same, so that an outage costs one attempt a pause and not one for each client.

use crate::engine::Loading;
use crate::sql::session_options::Manner;
use crate::sql::{Connect, Failure, PAUSE, PAUSE_MAX, Session, Tally, for_source};
use load::{BatchClient, BatchDriver, Client, Done, OpSource, Stamp};
use model::{FailureClass, Nanos, Outcome, SqlArg, SqlOp};
use rustix::event::epoll::{self, Event, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::time::Timespec;
use std::collections::VecDeque;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
use workload::{Beside, Kind, Part, Slot};

/// A connection on which answers are looked for and not waited for.
pub trait Polled: Session {
    /// From here on nothing here waits.
    fn stop_waiting(&mut self) -> Result<(), Failure>;
    /// The socket.
    fn socket(&self) -> BorrowedFd<'_>;
    /// Makes ready what is to be sent.
    fn put(&mut self, next: Next<'_>) -> Result<(), Failure>;
    /// Sends as much of it as there is room for: whether that was all.
    fn send_some(&mut self) -> Result<bool, Failure>;
    /// Takes what has come of the answer, for `op`: whether that was all. Otherwise the socket had nothing more.
    fn take_some(&mut self, op: &SqlOp) -> Result<bool, Failure>;
}

/// What a server is told.
pub enum Next<'a> {
    /// A text without arguments.
    Text(&'a str),
    /// A statement with its arguments.
    Call {
        /// Its number.
        statement: u16,
        /// Its arguments.
        args: &'a [SqlArg],
        /// Texts among them are in here.
        text: &'a [u8],
    },
}

/// How many clients, and on how many threads.
#[derive(Clone, Copy)]
pub struct Crowd {
    /// Clients.
    pub clients: u32,
    /// Threads, at most as many.
    pub threads: u32,
}

/// How long a client that connects again waits for each answer, which its neighbours do with it.
const ANSWER_AT_MOST: Duration = Duration::from_secs(2);

/// Operations of a client that are made at a time: with those of hundreds the caches are full.
const AHEAD_MAX: usize = 2;

/// How much one look finds; the others are found by the next.
const FOUND_MAX: usize = 64;

/// How often is looked who has waited too long for an answer.
const SWEEP_EVERY: Duration = Duration::from_millis(100);

/// The clients of `crowd` for `part`, and as many on as many threads for what is done `beside`.
pub fn loading<C: Connect<Session: Polled>>(
    part: &Part<SqlOp>,
    beside: Option<&Beside<SqlOp>>,
    kinds: &[Kind],
    crowd: Crowd,
    connect: &C,
    tally: &Arc<Tally>,
) -> Loading {
    let all = |part: &Part<SqlOp>| (0..crowd.threads).map(|nth| thread(part, crowd, nth, connect, tally)).collect();
    let beside = beside.map(|beside| load::Beside {
        clients: all(&beside.part),
        kinds: beside.kinds.clone(),
        per_s: beside.per_client_s * f64::from(crowd.clients),
    });
    Loading { kinds: kinds.to_vec(), clients: all(part), beside }
}

/// Thread number `nth` of `crowd`.
fn thread<C: Connect<Session: Polled>>(
    part: &Part<SqlOp>,
    crowd: Crowd,
    nth: u32,
    connect: &C,
    tally: &Arc<Tally>,
) -> Box<dyn Client> {
    let sources: Vec<OpSource<SqlOp>> =
        slots_of(crowd, nth).map(|slot| OpSource::with_ahead(part, slot, AHEAD_MAX)).collect();
    let connects = sources.iter().map(|source| for_source(connect, source)).collect();
    Box::new(BatchClient::new(sources, CrowdDriver::new(connects, tally.clone()), Stamp::Each))
}

/// Those of `crowd` who are on thread number `nth`: neighbours by their numbers, as many as on the others or one more.
fn slots_of(crowd: Crowd, nth: u32) -> impl Iterator<Item = Slot> {
    let Crowd { clients, threads } = crowd;
    let first = |nth: u32| (u64::from(nth) * u64::from(clients) / u64::from(threads)) as u32;
    (first(nth)..first(nth + 1)).map(move |client| Slot { client, clients })
}

/// A client's connection and what is under way on it.
struct Seat<C: Connect> {
    connect: C,
    /// Opened on the clients' own thread; `None` again while it is lost.
    session: Option<C::Session>,
    /// Whether the socket is watched for room, too.
    is_full: bool,
    op: SqlOp,
    stands: Stands,
    /// When it was first seen to say nothing to what it was told last; `None` where nobody has looked since.
    silent_since: Option<Instant>,
    /// When the operation first lost against others.
    began: Option<Instant>,
}

/// Where an operation stands: what is being answered.
enum Stands {
    /// Nothing: there is no operation.
    Idle,
    /// Nothing yet: there is no connection.
    Waits,
    /// BEGIN.
    Begin,
    /// Call number `nth`; the arguments of the next begin at `args`.
    Call { nth: usize, args: usize },
    /// COMMIT.
    Commit,
    /// ROLLBACK, for this.
    RollBack(Failure),
}

/// The connections of one thread.
struct CrowdDriver<C: Connect> {
    seats: Vec<Seat<C>>,
    /// Watches the sockets; made on the clients' own thread.
    epoll: Option<OwnedFd>,
    /// For whom the last look found something that nobody has seen to, the last first.
    found: Vec<u32>,
    /// Pushed and not started.
    fresh: Vec<u32>,
    /// Whose operations wait for a connection.
    waiting: VecDeque<u32>,
    /// When the next of them may try, and the pause after an attempt in vain.
    connect_at: Instant,
    pause: Duration,
    /// When was last looked, and when it is to be seen next who has waited too long.
    looked: Instant,
    sweep_at: Instant,
    is_over: bool,
    failure: String,
    tally: Arc<Tally>,
}

impl<C: Connect<Session: Polled>> CrowdDriver<C> {
    fn new(connects: Vec<C>, tally: Arc<Tally>) -> Self {
        let now = Instant::now();
        let seat = |connect| Seat {
            connect,
            session: None,
            is_full: false,
            op: SqlOp::default(),
            stands: Stands::Idle,
            silent_since: None,
            began: None,
        };
        let seats: Vec<Seat<C>> = connects.into_iter().map(seat).collect();
        let many = seats.len();
        CrowdDriver {
            epoll: None,
            found: Vec::with_capacity(FOUND_MAX),
            fresh: Vec::with_capacity(many),
            waiting: VecDeque::with_capacity(many),
            connect_at: now,
            pause: PAUSE,
            looked: now,
            sweep_at: now,
            is_over: false,
            failure: String::new(),
            tally,
            seats,
        }
    }

    fn manner(&self) -> &Manner {
        self.seats[0].connect.manner()
    }

    /// Takes over the new connection of `slot`.
    fn seat(&mut self, slot: u32, mut session: C::Session) -> Result<(), Failure> {
        let io = |errno: Errno| Failure { class: FailureClass::Other, text: std::io::Error::from(errno).to_string() };
        session.stop_waiting()?;
        if self.epoll.is_none() {
            self.epoll = Some(epoll::create(epoll::CreateFlags::CLOEXEC).map_err(io)?);
        }
        epoll::add(self.epoll(), session.socket(), EventData::new_u64(slot.into()), ANSWERS).map_err(io)?;
        let seat = &mut self.seats[slot as usize];
        (seat.session, seat.is_full) = (Some(session), false);
        Ok(())
    }

    fn epoll(&self) -> BorrowedFd<'_> {
        self.epoll.as_ref().expect("made with the first connection").as_fd()
    }

    /// Starts the operation of `slot`, from its beginning.
    #[inline]
    fn start(&mut self, slot: u32, done: &mut Vec<Done>) {
        let seat = &mut self.seats[slot as usize];
        if seat.session.is_none() {
            seat.stands = Stands::Waits;
            return self.wait_for_connection(slot);
        }
        let first = if seat.op.transaction { Stands::Begin } else { next_call(&seat.op, 0, 0) };
        self.tell(slot, first, done);
    }

    /// Tells the server what `next` stands for; nothing where the operation is through.
    #[inline]
    fn tell(&mut self, slot: u32, next: Stands, done: &mut Vec<Done>) {
        let seat = &mut self.seats[slot as usize];
        (seat.stands, seat.silent_since) = (next, None);
        let Some(said) = said(&seat.stands, &seat.op) else {
            return self.finish(slot, Outcome::Ok { bytes: 0 }, done);
        };
        let session = seat.session.as_mut().expect("connected: it stands at a statement");
        match session.put(said) {
            Ok(()) => self.send(slot, done),
            Err(failure) => self.fail(slot, failure, done),
        }
    }

    /// Sends what was put, as far as there is room.
    #[inline]
    fn send(&mut self, slot: u32, done: &mut Vec<Done>) {
        let seat = &mut self.seats[slot as usize];
        let Some(session) = &mut seat.session else { return };
        match session.send_some() {
            Ok(all) if all != seat.is_full => {}
            Ok(all) => self.watch(slot, !all),
            Err(failure) => self.fail(slot, failure, done),
        }
    }

    /// Watches the socket of `slot` for room to send, or no longer.
    #[cold]
    fn watch(&mut self, slot: u32, is_full: bool) {
        self.seats[slot as usize].is_full = is_full;
        let Some(session) = &self.seats[slot as usize].session else { return };
        let flags = if is_full { ANSWERS | EventFlags::OUT } else { ANSWERS };
        // What cannot be watched is found by those who look for silence.
        let _ = epoll::modify(self.epoll(), session.socket(), EventData::new_u64(slot.into()), flags);
    }

    /// Something came for `slot`, or there is room again.
    #[inline]
    fn hear(&mut self, slot: u32, done: &mut Vec<Done>) {
        let seat = &mut self.seats[slot as usize];
        if matches!(seat.stands, Stands::Idle | Stands::Waits) {
            return; // the end of a connection that nobody uses: the next to use it will see
        }
        seat.silent_since = None;
        if seat.is_full {
            return self.send(slot, done);
        }
        let Some(session) = &mut seat.session else { return };
        match session.take_some(&seat.op) {
            Ok(true) => self.answered(slot, done),
            Ok(false) => {}
            Err(failure) => self.fail(slot, failure, done),
        }
    }

    /// The server has done what the operation of `slot` stands at.
    #[inline]
    fn answered(&mut self, slot: u32, done: &mut Vec<Done>) {
        let seat = &mut self.seats[slot as usize];
        let next = match std::mem::replace(&mut seat.stands, Stands::Idle) {
            Stands::Begin => next_call(&seat.op, 0, 0),
            Stands::Call { nth, args } => next_call(&seat.op, nth + 1, args),
            Stands::RollBack(failure) => return self.rolled_back(slot, failure, done),
            Stands::Commit | Stands::Idle | Stands::Waits => Stands::Idle,
        };
        self.tell(slot, next, done);
    }

    /// What the operation of `slot` stands at failed.
    #[cold]
    fn fail(&mut self, slot: u32, failure: Failure, done: &mut Vec<Done>) {
        let seat = &mut self.seats[slot as usize];
        match std::mem::replace(&mut seat.stands, Stands::Idle) {
            // A connection on which nothing can be given up is of no use, and the operation failed for what was before.
            Stands::RollBack(cause) => self.lose(slot, cause, done),
            _ if failure.class == FailureClass::Lost => self.lose(slot, failure, done),
            _ => self.tell(slot, Stands::RollBack(failure), done),
        }
    }

    /// The operation of `slot` was given up: it is performed again, or it has failed.
    #[cold]
    fn rolled_back(&mut self, slot: u32, failure: Failure, done: &mut Vec<Done>) {
        let seat = &mut self.seats[slot as usize];
        if seat.connect.manner().tries_again(failure.class, &mut seat.began) {
            self.tally.again.fetch_add(1, Relaxed);
            return self.start(slot, done);
        }
        self.give_up(slot, failure, done);
    }

    /// The connection of `slot` is lost, and its operation with it.
    #[cold]
    fn lose(&mut self, slot: u32, failure: Failure, done: &mut Vec<Done>) {
        self.seats[slot as usize].session = None; // which closes the socket, so it is not watched any more
        self.give_up(slot, failure, done);
    }

    #[cold]
    fn give_up(&mut self, slot: u32, failure: Failure, done: &mut Vec<Done>) {
        let Failure { class, text } = failure;
        self.is_over |= self.manner().ends_with(class);
        self.tally.lost.fetch_add(u64::from(class == FailureClass::Lost), Relaxed);
        self.failure = text;
        self.finish(slot, Outcome::Failed(class), done);
    }

    #[inline]
    fn finish(&mut self, slot: u32, outcome: Outcome, done: &mut Vec<Done>) {
        self.seats[slot as usize].stands = Stands::Idle;
        done.push(Done { slot, outcome });
    }

    /// The first who waits does so for a pause, as who connects again does alone.
    #[cold]
    fn wait_for_connection(&mut self, slot: u32) {
        if self.waiting.is_empty() {
            self.connect_at = self.connect_at.max(Instant::now() + self.pause);
        }
        self.waiting.push_back(slot);
    }

    /// Connects one of those who wait, where it is time; who cannot takes the others along.
    #[cold]
    fn connect_one(&mut self, done: &mut Vec<Done>) {
        let Some(slot) = self.waiting.pop_front_if(|_| self.looked >= self.connect_at) else { return };
        let connect = &self.seats[slot as usize].connect;
        let hurried = connect.with_patience(connect.manner().patience.min(ANSWER_AT_MOST));
        match hurried.connect().and_then(|session| self.seat(slot, session)) {
            Ok(()) => {
                self.pause = PAUSE;
                self.tally.reconnected.fetch_add(1, Relaxed);
                self.start(slot, done);
            }
            Err(Failure { text, .. }) => {
                self.pause = (2 * self.pause).min(PAUSE_MAX);
                self.connect_at = Instant::now() + self.pause;
                let all: Vec<u32> = std::iter::once(slot).chain(self.waiting.drain(..)).collect();
                let lost = || Failure { class: FailureClass::Lost, text: text.clone() };
                all.into_iter().for_each(|slot| self.give_up(slot, lost(), done));
            }
        }
    }

    /// Looks once which sockets have something, for `timeout` at most.
    #[inline]
    fn look(&mut self, timeout: Nanos) {
        let timeout = Duration::from_nanos(timeout.0).min(self.until_attempt());
        let epoll = self.epoll.as_ref().expect("made when the clients were opened");
        // epoll waits for whole milliseconds: too long for what falls due before. Poll does not.
        let whole = timeout.as_nanos().is_multiple_of(1_000_000);
        if !whole && poll(&mut [PollFd::new(epoll, PollFlags::IN)], Some(&timespec(timeout))) == Ok(0) {
            self.looked = Instant::now();
            return;
        }
        let timeout = if whole { timeout } else { Duration::ZERO };
        // Where a signal comes, the loop asks again.
        if let Ok((found, _)) = epoll::wait(epoll, &mut [MaybeUninit::uninit(); FOUND_MAX], Some(&timespec(timeout))) {
            self.found.extend(found.iter().rev().map(|event: &Event| event.data.u64() as u32));
        }
        self.looked = Instant::now();
    }

    /// Until somebody may try to connect; for ever where nobody waits for it.
    #[inline]
    fn until_attempt(&self) -> Duration {
        match self.waiting.is_empty() {
            true => Duration::MAX,
            false => self.connect_at.saturating_duration_since(Instant::now()),
        }
    }

    /// Gives up the connections whose server has said nothing for too long. That is counted from the first time that it is seen
    /// here: the last look may have been long before the server was told anything, where all clients thought meanwhile.
    #[inline]
    fn sweep(&mut self, done: &mut Vec<Done>) {
        if self.looked < self.sweep_at {
            return;
        }
        self.sweep_at = self.looked + SWEEP_EVERY;
        let (patience, looked) = (self.manner().patience, self.looked);
        for slot in 0..self.seats.len() as u32 {
            let seat = &mut self.seats[slot as usize];
            if matches!(seat.stands, Stands::Idle | Stands::Waits) {
                continue;
            }
            let since = *seat.silent_since.get_or_insert(looked);
            if looked.saturating_duration_since(since) > patience {
                self.fail(slot, Failure::silent(), done);
            }
        }
    }
}

/// Each answer is told once. It is read until there is nothing more, so nothing is missed.
const ANSWERS: EventFlags = EventFlags::IN.union(EventFlags::ET);

fn timespec(time: Duration) -> Timespec {
    Timespec { tv_sec: time.as_secs() as i64, tv_nsec: time.subsec_nanos().into() }
}

/// Where an operation stands when call number `nth` is next, whose arguments begin at `args`.
#[inline]
fn next_call(op: &SqlOp, nth: usize, args: usize) -> Stands {
    match op.calls.get(nth) {
        Some(call) => Stands::Call { nth, args: args + call.args as usize },
        None if op.transaction => Stands::Commit,
        None => Stands::Idle,
    }
}

/// What is said to have the server do what `op` stands at.
#[inline]
fn said<'a>(stands: &Stands, op: &'a SqlOp) -> Option<Next<'a>> {
    Some(match *stands {
        Stands::Idle | Stands::Waits => return None,
        Stands::Begin => Next::Text("BEGIN"),
        Stands::Commit => Next::Text("COMMIT"),
        Stands::RollBack(_) => Next::Text("ROLLBACK"),
        Stands::Call { nth, args } => {
            let call = op.calls[nth];
            let args = &op.args[args - call.args as usize..args];
            Next::Call { statement: call.statement, args, text: &op.text }
        }
    })
}

/// Makes `mine` what `op` is, in the buffers that it has.
#[inline]
fn keep(mine: &mut SqlOp, op: &SqlOp) {
    (mine.op_kind, mine.transaction, mine.writes) = (op.op_kind, op.transaction, op.writes);
    mine.calls.clone_from(&op.calls);
    mine.args.clone_from(&op.args);
    mine.text.clone_from(&op.text);
}

impl<C: Connect<Session: Polled>> BatchDriver for CrowdDriver<C> {
    type Op = SqlOp;

    fn depth(&self) -> u32 {
        self.seats.len() as u32
    }

    fn open(&mut self) -> Result<(), String> {
        for slot in 0..self.seats.len() as u32 {
            let connect = &self.seats[slot as usize].connect;
            let server = connect.server();
            let connected = connect.connect().and_then(|session| self.seat(slot, session));
            connected.map_err(|failure| format!("cannot connect to {server}: {}", failure.text))?;
        }
        Ok(())
    }

    #[inline]
    fn push(&mut self, slot: u32, op: &SqlOp) {
        let seat = &mut self.seats[slot as usize];
        keep(&mut seat.op, op);
        seat.began = None;
        self.fresh.push(slot);
    }

    #[inline]
    fn submit_and_wait(&mut self, timeout: Nanos, done: &mut Vec<Done>) {
        while let Some(slot) = self.fresh.pop() {
            self.start(slot, done);
        }
        if done.is_empty() && self.found.is_empty() {
            self.look(timeout);
            self.sweep(done);
            self.connect_one(done);
        }
        while done.is_empty()
            && let Some(slot) = self.found.pop()
        {
            self.hear(slot, done);
        }
    }

    fn describe_failure(&self) -> String {
        format!("{}: {}", self.seats[0].connect.server(), self.failure)
    }

    fn is_over(&self) -> bool {
        self.is_over
    }
}

#[cfg(test)]
mod tests {
    //! The way of operations on sockets whose other ends are here; the real servers are in the contract tests.

    use super::*;
    use crate::sql::session_options::{Connection, Reconnect, Statements, Threads};
    use model::SqlCall;
    use std::io::{ErrorKind, Read, Write};
    use std::os::unix::net::UnixStream;
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicBool, AtomicU32};

    /// A server that says what the test says: the other ends of its connections, in the order in which they were made.
    #[derive(Clone)]
    struct Server {
        ends: Arc<Mutex<Vec<Option<UnixStream>>>>,
        is_gone: Arc<AtomicBool>,
        attempts: Arc<AtomicU32>,
        manner: Manner,
    }

    /// A client's end: commands are lines, and answers are letters.
    struct Line {
        socket: UnixStream,
        out: Vec<u8>,
    }

    fn lost(text: &str) -> Failure {
        Failure { class: FailureClass::Lost, text: text.into() }
    }

    impl Connect for Server {
        type Session = Line;
        fn server(&self) -> String {
            "a server".into()
        }
        fn manner(&self) -> &Manner {
            &self.manner
        }
        fn only(&self, _: &[u16]) -> Server {
            self.clone()
        }
        fn with_patience(&self, _: Duration) -> Server {
            self.clone()
        }
        fn connect(&self) -> Result<Line, Failure> {
            self.attempts.fetch_add(1, Relaxed);
            if self.is_gone.load(Relaxed) {
                return Err(lost("it is not there"));
            }
            let (socket, end) = UnixStream::pair().unwrap();
            self.ends.lock().unwrap().push(Some(end));
            Ok(Line { socket, out: Vec::new() })
        }
    }

    impl Session for Line {
        fn perform(&mut self, _: &SqlOp) -> Result<(), Failure> {
            unreachable!("nobody waits here")
        }
        fn roll_back(&mut self) -> Result<(), Failure> {
            unreachable!("nobody waits here")
        }
    }

    impl Polled for Line {
        fn stop_waiting(&mut self) -> Result<(), Failure> {
            self.socket.set_nonblocking(true).map_err(|error| lost(&error.to_string()))
        }
        fn socket(&self) -> BorrowedFd<'_> {
            self.socket.as_fd()
        }
        fn put(&mut self, next: Next<'_>) -> Result<(), Failure> {
            self.out = match next {
                Next::Text(text) => format!("{text}\n").into(),
                Next::Call { statement, args, text } => {
                    [format!("{statement} {args:?} ").as_bytes(), text, b"\n"].concat()
                }
            };
            Ok(())
        }
        fn send_some(&mut self) -> Result<bool, Failure> {
            match self.socket.write(&self.out) {
                Ok(sent) => drop(self.out.drain(..sent)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(lost(&error.to_string())),
            }
            Ok(self.out.is_empty())
        }
        fn take_some(&mut self, _: &SqlOp) -> Result<bool, Failure> {
            let mut letter = [0];
            match self.socket.read(&mut letter) {
                Ok(1) if letter == *b"y" => Ok(true),
                Ok(1) => Err(Failure { class: FailureClass::Conflict, text: "deadlock".into() }),
                Ok(_) => Err(lost("it hung up")),
                Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(false),
                Err(error) => Err(lost(&error.to_string())),
            }
        }
    }

    impl Server {
        /// Answers connection number `nth` where something came over it.
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

    /// A server and its clients on one thread, which wait for an answer as long as `patience`.
    fn clients(count: usize, patience: Duration) -> (Server, CrowdDriver<Server>) {
        let manner = Manner {
            statements: Statements::Prepared,
            isolation: None,
            connection: Connection::Kept,
            reconnect: Reconnect::Again,
            retries_for: Duration::from_secs(3600),
            patience,
            threads: Threads::Shared(1),
        };
        let server = Server { ends: Arc::default(), is_gone: Arc::default(), attempts: Arc::default(), manner };
        let mut driver = CrowdDriver::new(vec![server.clone(); count], Arc::default());
        driver.open().unwrap();
        (server, driver)
    }

    const HOUR: Duration = Duration::from_secs(3600);

    fn operation(transaction: bool) -> SqlOp {
        let calls = vec![SqlCall { statement: 7, args: 1 }, SqlCall { statement: 8, args: 2 }];
        SqlOp { transaction, calls, args: [1, 2, 3].map(SqlArg::Int).into(), ..SqlOp::default() }
    }

    /// What one look finds.
    fn look(driver: &mut CrowdDriver<Server>) -> Vec<Done> {
        let mut done = Vec::new();
        driver.submit_and_wait(Nanos(0), &mut done);
        done
    }

    /// Looks until an operation is done.
    fn until_done(driver: &mut CrowdDriver<Server>) -> Vec<Done> {
        let mut done = Vec::new();
        while done.is_empty() {
            driver.submit_and_wait(Nanos::from_millis(100), &mut done);
        }
        done
    }

    const OK: Outcome = Outcome::Ok { bytes: 0 };

    fn counts(driver: &CrowdDriver<Server>) -> [String; 2] {
        let facts = driver.tally.facts();
        [0, 1].map(|nth| facts[nth].value.clone())
    }

    #[test]
    fn an_operation_says_its_statements_one_after_the_other_while_its_neighbours_go_on() {
        let (server, mut driver) = clients(2, HOUR);
        driver.push(0, &operation(true));
        assert_eq!(look(&mut driver), []);
        driver.push(1, &operation(false));
        assert_eq!(look(&mut driver), []);
        for said in ["BEGIN", "7 [Int(1)]", "8 [Int(2), Int(3)]"] {
            assert_eq!(server.answer(0, b"y"), said);
            assert_eq!(look(&mut driver), []);
        }
        assert_eq!(server.answer(1, b"y"), "7 [Int(1)]");
        assert_eq!(look(&mut driver), []);
        assert_eq!((server.answer(1, b"y"), server.answer(0, b"y")), ("8 [Int(2), Int(3)]".into(), "COMMIT".into()));
        // Both are there, and each is handed over alone.
        let both = [look(&mut driver), look(&mut driver)].map(|done| (done.len(), done[0].outcome));
        assert_eq!(both, [(1, OK); 2]);
    }

    #[test]
    fn an_operation_that_loses_is_rolled_back_and_performed_again_within_itself() {
        let (server, mut driver) = clients(1, HOUR);
        driver.push(0, &operation(true));
        let talk = [("BEGIN", b"y"), ("7 [Int(1)]", b"n"), ("ROLLBACK", b"y"), ("BEGIN", b"y"), ("7 [Int(1)]", b"y")];
        for (said, letter) in talk {
            assert_eq!(look(&mut driver), []);
            assert_eq!(server.answer(0, letter), said);
        }
        assert_eq!(look(&mut driver), []);
        server.answer(0, b"y");
        assert_eq!(look(&mut driver), []);
        assert_eq!(server.answer(0, b"y"), "COMMIT");
        assert_eq!(look(&mut driver), [Done { slot: 0, outcome: OK }]);
        assert_eq!(counts(&driver), ["1", "0"]);
    }

    #[test]
    fn without_time_for_retries_a_conflict_is_a_failure_after_its_roll_back() {
        let (server, mut driver) = clients(1, HOUR);
        driver.seats[0].connect.manner.retries_for = Duration::ZERO;
        driver.push(0, &operation(false));
        look(&mut driver);
        server.answer(0, b"n");
        assert_eq!(look(&mut driver), []);
        assert_eq!(server.answer(0, b"y"), "ROLLBACK");
        let failed = Outcome::Failed(FailureClass::Conflict);
        assert_eq!(look(&mut driver), [Done { slot: 0, outcome: failed }]);
        assert_eq!(
            (driver.describe_failure().as_str(), counts(&driver)),
            ("a server: deadlock", ["0".into(), "0".into()])
        );
    }

    #[test]
    fn a_server_that_says_nothing_is_lost_when_its_time_is_over_and_others_are_not() {
        let (server, mut driver) = clients(2, Duration::from_millis(300));
        [0, 1].into_iter().for_each(|slot| driver.push(slot, &operation(false)));
        let mut done = Vec::new();
        while done.is_empty() {
            driver.submit_and_wait(Nanos::from_millis(20), &mut done);
            server.answer_if_asked(1);
            done.retain(|done| done.slot == 0);
            if matches!(driver.seats[1].stands, Stands::Idle) {
                driver.push(1, &operation(false));
            }
        }
        assert_eq!(done, [Done { slot: 0, outcome: Outcome::Failed(FailureClass::Lost) }]);
        assert!(driver.describe_failure().contains("did not answer") && driver.seats[1].session.is_some());
    }

    #[test]
    fn a_server_is_not_lost_because_nobody_looked_for_long_before_it_was_told_anything() {
        let (server, mut driver) = clients(1, HOUR);
        // All clients thought for two hours.
        driver.looked -= 2 * HOUR;
        driver.push(0, &operation(false));
        assert_eq!(look(&mut driver), []);
        server.answer(0, b"y");
        assert_eq!(look(&mut driver), []);
        server.answer(0, b"y");
        assert_eq!(look(&mut driver), [Done { slot: 0, outcome: OK }]);
    }

    #[test]
    fn an_outage_costs_one_attempt_for_all_on_the_thread_and_they_come_back_when_it_is_over() {
        let (server, mut driver) = clients(3, HOUR);
        (0..3).for_each(|slot| driver.push(slot, &operation(true)));
        look(&mut driver);
        server.is_gone.store(true, Relaxed);
        server.ends.lock().unwrap().iter_mut().for_each(|end| *end = None);
        let mut failed = Vec::new();
        while failed.len() < 3 {
            failed.extend(until_done(&mut driver));
        }
        let before = server.attempts.load(Relaxed);
        (0..3).for_each(|slot| driver.push(slot, &operation(true)));
        failed.extend(until_done(&mut driver));
        assert_eq!((failed.len(), server.attempts.load(Relaxed) - before), (6, 1), "{failed:?}");
        assert!(failed.iter().all(|done| done.outcome == Outcome::Failed(FailureClass::Lost)));
        server.is_gone.store(false, Relaxed);
        (0..3).for_each(|slot| driver.push(slot, &operation(true)));
        while server.ends.lock().unwrap().len() < 6 {
            assert_eq!(look(&mut driver), []);
        }
        assert_eq!((server.answer(5, b"y"), counts(&driver)), ("BEGIN".into(), ["0".into(), "3".into()]));
    }

    #[test]
    fn a_lost_connection_is_the_end_where_the_clients_are_to_stop() {
        for reconnect in [Reconnect::Again, Reconnect::Stop] {
            let (server, mut driver) = clients(1, HOUR);
            driver.seats[0].connect.manner.reconnect = reconnect;
            driver.push(0, &operation(true));
            look(&mut driver);
            server.ends.lock().unwrap()[0] = None;
            until_done(&mut driver);
            assert_eq!(driver.is_over(), reconnect == Reconnect::Stop);
        }
    }

    #[test]
    fn a_statement_for_which_there_is_no_room_goes_on_when_there_is_and_holds_nobody_up() {
        let (server, mut driver) = clients(2, HOUR);
        let call = SqlCall { statement: 1, args: 0 };
        let long = SqlOp { calls: vec![call], text: vec![b'x'; 3 << 20], ..SqlOp::default() };
        [0, 1].into_iter().zip([&long, &operation(false)]).for_each(|(slot, op)| driver.push(slot, op));
        assert_eq!(look(&mut driver), []);
        assert!(driver.seats[0].is_full && !driver.seats[1].is_full);
        server.answer(1, b"y");
        look(&mut driver);
        server.answer(1, b"y");
        assert_eq!(look(&mut driver), [Done { slot: 1, outcome: OK }]);
        let mut received = 0;
        while received < long.text.len() {
            received += server.answer(0, b"").len();
            look(&mut driver);
        }
        assert!(!driver.seats[0].is_full);
        server.ends.lock().unwrap()[0].as_mut().unwrap().write_all(b"y").unwrap();
        assert_eq!(until_done(&mut driver), [Done { slot: 0, outcome: OK }]);
    }

    #[test]
    fn the_clients_are_spread_over_the_threads_and_none_is_left_out() {
        for (clients, threads) in [(16, 2), (7, 3), (512, 5), (9, 8)] {
            let of_thread = |nth| slots_of(Crowd { clients, threads }, nth).map(|slot| slot.client).collect();
            let all: Vec<Vec<u32>> = (0..threads).map(of_thread).collect();
            assert!(all.iter().flatten().copied().eq(0..clients), "{all:?}");
            let counts = all.iter().map(Vec::len);
            assert!(counts.clone().max().unwrap() - counts.min().unwrap() <= 1, "{all:?}");
        }
    }
}
