//! A client of an SQL server that does not wait for an answer before it sends what comes next: one connection, and as many operations in
//! flight on it as the client is deep.
//!
//! In: how to connect, and a non-blocking connection that takes operations as a whole. Out: a [`BatchDriver`]. Limits: the server performs
//! the operations of a connection one after the other, so that each waits for those before it, and that is in its time. What an operation
//! needs of its own answers cannot be sent ahead.
//!
//! An operation is stamped before the bytes of its batch are sent, and after its own answer was read. If the server refuses one, those after it
//! go on: a conflict is retried behind them, within the time of its operation. A lost connection fails all that are in flight on it.

use crate::sql::client_tally::ClientTally;
use crate::sql::multiplex::{PollableSession, copy_op};
use crate::sql::row_tally::RowTally;
use crate::sql::{OpFailure, OpNames, PAUSE, SessionFactory, connect_after_pause};
use load::{BatchDriver, FinishedOp};
use model::{Nanos, OpKind, Outcome, RowCounts, SqlOp};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::time::Timespec;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// An operation of one slot.
struct PipelinedOp {
    op: SqlOp,
    rows: RowTally,
    /// When it first failed with a conflict.
    began: Option<Instant>,
}

pub struct PipelinedDriver<C: SessionFactory> {
    connect: C,
    names: OpNames,
    tally: Arc<ClientTally>,
    /// Opened on the client's own thread; `None` while it is lost.
    session: Option<C::Session>,
    /// Each operation, at its slot.
    ops: Vec<PipelinedOp>,
    /// Slots whose operations are not in the send buffer yet.
    pushed: VecDeque<u32>,
    /// Slots whose operations were put there, in this order, which is that of the answers.
    sent: VecDeque<u32>,
    /// Whether the socket takes no more for now.
    is_full: bool,
    /// Since when nothing has come although something is awaited, as far as that was looked at.
    silent_since: Option<Instant>,
    /// Before the next attempt to connect.
    pause: Duration,
    is_over: bool,
    /// The last, with the kind of its operation.
    failure: Option<(OpKind, OpFailure)>,
}

impl<C: SessionFactory<Session: PollableSession>> PipelinedDriver<C> {
    /// A client that keeps up to `depth` operations in flight.
    pub fn new(connect: C, depth: u32, names: OpNames, tally: Arc<ClientTally>) -> Self {
        let rows = RowTally::new(&connect.session_options().rows);
        let idle = || PipelinedOp { op: SqlOp::default(), rows: rows.clone(), began: None };
        PipelinedDriver {
            names,
            tally,
            session: None,
            ops: (0..depth).map(|_| idle()).collect(),
            pushed: VecDeque::with_capacity(depth as usize),
            sent: VecDeque::with_capacity(depth as usize),
            is_full: false,
            silent_since: None,
            pause: PAUSE,
            is_over: false,
            failure: None,
            connect,
        }
    }

    /// Sends what was pushed, and takes what has come within `timeout`. An error is that of the connection.
    #[inline]
    fn send_and_take(&mut self, timeout: Nanos, done: &mut Vec<FinishedOp>) -> Result<(), OpFailure> {
        if self.session.is_none() {
            self.connect_again()?;
        }
        let session = self.session.as_mut().expect("connected above");
        let has_new = !self.pushed.is_empty();
        while let Some(slot) = self.pushed.pop_front() {
            let PipelinedOp { op, rows, .. } = &mut self.ops[slot as usize];
            rows.begin(op);
            self.sent.push_back(slot);
            session.put_ahead(op)?;
        }
        if has_new || self.is_full {
            self.is_full = !session.send_some()?;
        }
        if self.wait_for_answer(timeout)? { self.take_answers(done) } else { Ok(()) }
    }

    /// Whether something has come within `timeout`.
    #[inline]
    fn wait_for_answer(&mut self, timeout: Nanos) -> Result<bool, OpFailure> {
        let session = self.session.as_ref().expect("connected: something was sent");
        let events = if self.is_full { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN };
        let mut awaited = [PollFd::from_borrowed_fd(session.socket_fd(), events)];
        let timeout =
            Timespec { tv_sec: (timeout.0 / 1_000_000_000) as i64, tv_nsec: (timeout.0 % 1_000_000_000) as i64 };
        match poll(&mut awaited, Some(&timeout)) {
            Ok(1..) => {
                self.silent_since = None;
                // An error or the end of the connection is read like an answer.
                Ok(awaited[0].revents() != PollFlags::OUT)
            }
            // Nothing yet, or a signal: the loop looks again.
            Ok(0) | Err(Errno::INTR) => self.check_silence().map(|()| false),
            Err(errno) => Err(OpFailure::connection_lost(&errno.into())),
        }
    }

    /// An error if an answer is overdue. The wait is counted from the first look that found nothing.
    #[cold]
    fn check_silence(&mut self) -> Result<(), OpFailure> {
        let since = *self.silent_since.get_or_insert_with(Instant::now);
        let is_overdue = since.elapsed() > self.connect.session_options().patience;
        if is_overdue { Err(OpFailure::timed_out()) } else { Ok(()) }
    }

    /// Takes all answers that have come, in the order of their operations.
    #[inline]
    fn take_answers(&mut self, done: &mut Vec<FinishedOp>) -> Result<(), OpFailure> {
        while let Some(slot) = self.sent.front().copied() {
            let session = self.session.as_mut().expect("connected: something was sent");
            let PipelinedOp { op, rows, .. } = &mut self.ops[slot as usize];
            match session.take_ahead(op, rows) {
                Ok(false) => break,
                Ok(true) => {
                    rows.end_transaction(true);
                    done.push(FinishedOp { slot, outcome: Outcome::Ok { bytes: 0 } });
                }
                Err(failure) if failure.class.asks_for_reconnect() => return Err(failure),
                Err(failure) => self.retry_or_give_up(slot, failure, done),
            }
            self.sent.pop_front();
            // One more look at the socket would cost a call of the kernel, and in most cases find nothing.
            if self.session.as_ref().is_some_and(|session| !session.has_received()) {
                break;
            }
        }
        Ok(())
    }

    /// The server has refused the operation of `slot`.
    #[cold]
    fn retry_or_give_up(&mut self, slot: u32, failure: OpFailure, done: &mut Vec<FinishedOp>) {
        if self.connect.session_options().should_retry(failure.class, &mut self.ops[slot as usize].began) {
            self.tally.retried.fetch_add(1, Relaxed);
            return self.pushed.push_back(slot);
        }
        self.give_up(slot, failure, done);
    }

    #[cold]
    fn give_up(&mut self, slot: u32, failure: OpFailure, done: &mut Vec<FinishedOp>) {
        done.push(FinishedOp { slot, outcome: Outcome::Failed(failure.class) });
        self.failure = Some((self.ops[slot as usize].op.op_kind, failure));
    }

    /// The connection is lost, and all operations in flight with it.
    #[cold]
    fn lose_connection(&mut self, failure: &OpFailure, done: &mut Vec<FinishedOp>) {
        let OpFailure { class, text } = failure;
        self.is_over |= self.connect.session_options().ends_load_on(*class);
        self.tally.lost.fetch_add(1, Relaxed);
        (self.session, self.is_full, self.silent_since) = (None, false, None);
        let all: Vec<u32> = self.sent.drain(..).chain(self.pushed.drain(..)).collect();
        for slot in all {
            self.give_up(slot, OpFailure { class: *class, text: text.clone() }, done);
        }
    }

    #[cold]
    fn connect_again(&mut self) -> Result<(), OpFailure> {
        let stop_waiting = |session: &mut C::Session| session.stop_waiting();
        self.session = Some(connect_after_pause(&self.connect, &mut self.pause, &self.tally, stop_waiting)?);
        Ok(())
    }
}

impl<C: SessionFactory<Session: PollableSession>> BatchDriver for PipelinedDriver<C> {
    type Op = SqlOp;
    const HAS_ROWS: bool = true;

    fn depth(&self) -> u32 {
        self.ops.len() as u32
    }

    fn open(&mut self) -> Result<(), String> {
        let opened = self.connect.connect().and_then(|mut session| session.stop_waiting().map(|()| session));
        self.session = Some(opened.map_err(|failure| failure.of_opening(&self.connect.server_name()))?);
        Ok(())
    }

    #[inline]
    fn push_op(&mut self, slot: u32, op: &SqlOp) {
        let mine = &mut self.ops[slot as usize];
        copy_op(&mut mine.op, op);
        mine.began = None;
        self.pushed.push_back(slot);
    }

    #[inline]
    fn submit_and_wait(&mut self, timeout: Nanos, done: &mut Vec<FinishedOp>) {
        if let Err(failure) = self.send_and_take(timeout, done) {
            self.lose_connection(&failure, done);
        }
    }

    #[inline]
    fn rows_of(&self, slot: u32) -> RowCounts {
        self.ops[slot as usize].rows.rows()
    }

    fn describe_miss_of(&self, slot: u32) -> String {
        let PipelinedOp { op, rows, .. } = &self.ops[slot as usize];
        format!("{}: {}", self.names.within(&self.connect.server_name(), op.op_kind), rows.describe_miss())
    }

    fn describe_failure(&self) -> String {
        let server = self.connect.server_name();
        self.failure.as_ref().map_or_else(String::new, |(op, failure)| self.names.describe(&server, *op, failure))
    }

    fn is_over(&self) -> bool {
        self.is_over
    }
}

#[cfg(test)]
mod tests {
    //! The other end of the connection is here; PostgreSQL itself is in the contract tests.

    use super::*;
    use crate::server::memory::HandedSocket;
    use crate::sql::SqlSession;
    use crate::sql::kept::KeptRows;
    use crate::sql::multiplex::SqlCommand;
    use crate::sql::row_tally::Answered;
    use crate::sql::session_options::SessionOptions;
    use crate::sql::testing::options;
    use crate::sql::variant::rows::RowBuffer;
    use model::FailureClass;
    use std::io::{ErrorKind, Read, Write};
    use std::os::fd::{AsFd, BorrowedFd};
    use std::os::unix::net::UnixStream;
    use std::sync::Mutex;

    /// A server whose connections the test answers: the other ends, in the order in which they were made.
    #[derive(Clone)]
    struct Server {
        ends: Arc<Mutex<Vec<UnixStream>>>,
        options: SessionOptions,
    }

    /// An operation is the letter of its kind, and its answer another.
    struct Letters {
        socket: UnixStream,
        out: Vec<u8>,
    }

    fn failure(class: FailureClass) -> OpFailure {
        OpFailure { class, text: "no".into() }
    }

    impl SessionFactory for Server {
        type Session = Letters;
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
        fn connect(&self) -> Result<Letters, OpFailure> {
            let (socket, end) = UnixStream::pair().unwrap();
            self.ends.lock().unwrap().push(end);
            Ok(Letters { socket, out: Vec::new() })
        }
    }

    impl SqlSession for Letters {
        fn perform_op(&mut self, _: &SqlOp, _: &mut RowTally) -> Result<(), OpFailure> {
            unreachable!("operations are sent ahead")
        }
        fn run_text(&mut self, _: &str) -> Result<(), OpFailure> {
            unreachable!("operations are sent ahead")
        }
        fn fetch_text(&mut self, _: &str, _: &mut RowBuffer) -> Result<(), OpFailure> {
            unreachable!("operations are sent ahead")
        }
        fn roll_back(&mut self) -> Result<(), OpFailure> {
            unreachable!("operations are sent ahead")
        }
    }

    impl PollableSession for Letters {
        fn stop_waiting(&mut self) -> Result<(), OpFailure> {
            self.socket.set_nonblocking(true).map_err(|error| OpFailure::connection_lost(&error))
        }
        fn socket_fd(&self) -> BorrowedFd<'_> {
            self.socket.as_fd()
        }
        fn hand_over_socket(&mut self) {
            unreachable!("the socket is its own")
        }
        fn handed_socket(&mut self) -> HandedSocket<'_> {
            unreachable!("the socket is its own")
        }
        fn put_command(&mut self, _: SqlCommand<'_>) -> Result<bool, OpFailure> {
            unreachable!("operations are sent ahead")
        }
        fn write_command(&mut self) -> Result<(), OpFailure> {
            unreachable!("the socket is its own")
        }
        fn send_some(&mut self) -> Result<bool, OpFailure> {
            self.socket
                .write_all(&std::mem::take(&mut self.out))
                .map_err(|error| OpFailure::connection_lost(&error))?;
            Ok(true)
        }
        fn take_some(&mut self, _: &SqlOp) -> Result<bool, OpFailure> {
            unreachable!("operations are sent ahead")
        }
        fn put_ahead(&mut self, op: &SqlOp) -> Result<(), OpFailure> {
            self.out.push(b'a' + op.op_kind.0);
            Ok(())
        }
        fn take_ahead(&mut self, _: &SqlOp, _: &mut RowTally) -> Result<bool, OpFailure> {
            let mut letter = [0];
            match self.socket.read(&mut letter) {
                Ok(1) if letter == *b"y" => Ok(true),
                Ok(1) if letter == *b"c" => Err(failure(FailureClass::Conflict)),
                Ok(1) => Err(failure(FailureClass::Other)),
                Ok(_) => Err(failure(FailureClass::Lost)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(false),
                Err(error) => Err(OpFailure::connection_lost(&error)),
            }
        }
        fn has_received(&self) -> bool {
            true
        }
        fn keep_rows(&mut self, _: u8) {
            unreachable!("operations are sent ahead")
        }
        fn kept_rows(&self) -> &KeptRows {
            unreachable!("operations are sent ahead")
        }
        fn answered(&self) -> Answered {
            unreachable!("operations are sent ahead")
        }
    }

    impl Server {
        /// What has come over the last connection, which is answered by `letters`.
        fn answer(&self, letters: &[u8]) -> String {
            let mut ends = self.ends.lock().unwrap();
            let end = ends.last_mut().expect("it is open");
            let mut said = [0; 100];
            let count = end.read(&mut said).unwrap();
            end.write_all(letters).unwrap();
            String::from_utf8_lossy(&said[..count]).into_owned()
        }
    }

    /// A client with operations of the kinds 0 to 2 in its slots 0 to 2.
    fn client() -> (Server, PipelinedDriver<Server>) {
        let server = Server { ends: Arc::default(), options: options() };
        let mut driver = PipelinedDriver::new(server.clone(), 3, OpNames::default(), Arc::default());
        driver.open().unwrap();
        (0..3).for_each(|slot| push(&mut driver, slot));
        (server, driver)
    }

    fn push(driver: &mut PipelinedDriver<Server>, slot: u32) {
        driver.push_op(slot, &SqlOp { op_kind: OpKind(slot as u8), ..SqlOp::default() });
    }

    /// The slots that one look finds done, and how they ended.
    fn look(driver: &mut PipelinedDriver<Server>) -> Vec<(u32, Result<(), FailureClass>)> {
        let mut done = Vec::new();
        driver.submit_and_wait(Nanos(0), &mut done);
        let ended = |outcome| if let Outcome::Failed(class) = outcome { Err(class) } else { Ok(()) };
        done.into_iter().map(|it| (it.slot, ended(it.outcome))).collect()
    }

    #[test]
    fn operations_are_sent_together_and_a_place_that_is_free_again_is_filled_while_others_are_in_flight() {
        let (server, mut driver) = client();
        assert_eq!(look(&mut driver), []);
        assert_eq!(server.answer(b"yy"), "abc");
        assert_eq!(look(&mut driver), [(0, Ok(())), (1, Ok(()))]);
        push(&mut driver, 0);
        assert_eq!(look(&mut driver), []);
        assert_eq!(server.answer(b"yy"), "a");
        assert_eq!(look(&mut driver), [(2, Ok(())), (0, Ok(()))]);
    }

    #[test]
    fn an_operation_that_is_refused_fails_alone_and_a_conflict_is_retried_behind_those_in_flight() {
        let (server, mut driver) = client();
        look(&mut driver);
        assert_eq!(server.answer(b"cny"), "abc");
        assert_eq!(look(&mut driver), [(1, Err(FailureClass::Other)), (2, Ok(()))]);
        assert_eq!(look(&mut driver), []);
        assert_eq!(server.answer(b"y"), "a");
        assert_eq!(look(&mut driver), [(0, Ok(()))]);
        assert_eq!(driver.tally.take_facts()[0].value, "1");
    }

    #[test]
    fn a_lost_connection_fails_all_that_are_in_flight_and_the_next_operation_connects_again() {
        let (server, mut driver) = client();
        look(&mut driver);
        server.answer(b"y");
        server.ends.lock().unwrap().clear();
        let lost = Err(FailureClass::Lost);
        assert_eq!(look(&mut driver), [(0, Ok(())), (1, lost), (2, lost)]);
        push(&mut driver, 1);
        assert_eq!(look(&mut driver), []);
        assert_eq!(server.answer(b"y"), "b");
        assert_eq!(look(&mut driver), [(1, Ok(()))]);
    }

    #[test]
    fn an_answer_that_is_overdue_loses_the_connection() {
        let (_server, mut driver) = client();
        driver.connect.options.patience = Duration::ZERO;
        let mut seen = Vec::new();
        while seen.is_empty() {
            seen = look(&mut driver);
        }
        assert_eq!(seen, [0, 1, 2].map(|slot| (slot, Err(FailureClass::Lost))));
        assert!(driver.describe_failure().contains("did not answer"));
    }
}
