//! The server: one thread waits for all clients, and either it or a few others answer them.
//!
//! In: an address, a handler, and a descriptor that ends it. Out: answers. Limits: [`WAITING_MAX`] clients are waited for at once: a further one
//! takes the place of the one that has been silent for longest, so that clients that say nothing keep out nobody. As many requests wait for
//! an answer; who finds no room there is answered `busy`.

use crate::connection::{ClientProgress, Connection};
use crate::request::Request;
use crate::response::{Response, Status};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The most clients that are taken before those that are there are looked at again.
const ACCEPTED_AT_ONCE_MAX: usize = 256;
/// The most clients that are waited for at once.
const WAITING_MAX: usize = 64;
/// If the process has no descriptor left for another client, it looks again after this time.
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);

/// Makes the answer to a request.
pub type Handler = Arc<dyn Fn(&Request) -> Response + Send + Sync>;

/// A server that listens and does not answer yet.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
}

impl Server {
    /// Listens at `address`; at port 0 the kernel chooses one.
    ///
    /// # Errors
    /// If the address cannot be listened at.
    pub fn bind(address: SocketAddr) -> io::Result<Server> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok(Server { listener, address })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers by `handler` until `stop` can be read or its other end is closed. With `threads` = 0 the calling thread answers, one
    /// request after the other; else so many threads do, which are not waited for in the end.
    ///
    /// # Errors
    /// If the kernel refuses threads, or to wait.
    pub fn serve(self, handler: Handler, threads: usize, stop: impl AsFd) -> io::Result<()> {
        let answering = Answering::start(handler, threads)?;
        let mut waiting: Vec<Connection> = Vec::new();
        loop {
            let ready = wait(&self.listener, &waiting, &stop)?;
            if ready.stop {
                return Ok(());
            }
            let now = Instant::now();
            let clients = std::mem::take(&mut waiting).into_iter().zip(ready.clients);
            waiting = clients.filter_map(|(client, is_ready)| advance(client, is_ready, now, &answering)).collect();
            if ready.listener {
                accept(&self.listener, &mut waiting, now, &answering);
            }
        }
    }
}

/// What can be read.
struct Ready {
    stop: bool,
    listener: bool,
    /// In the order of the clients.
    clients: Vec<bool>,
}

/// Waits until something can be read or the first client is overdue.
fn wait(listener: &TcpListener, waiting: &[Connection], stop: &impl AsFd) -> io::Result<Ready> {
    let mut all = vec![PollFd::new(stop, PollFlags::IN)];
    all.extend(waiting.iter().map(|client| PollFd::new(client.stream(), PollFlags::IN)));
    all.push(PollFd::new(listener, PollFlags::IN));
    let next = waiting.iter().map(Connection::until).min();
    let left = next.map(|next| next.saturating_duration_since(Instant::now()) + Duration::from_millis(1));
    let left = left.and_then(|left| Timespec::try_from(left).ok());
    match poll(&mut all, left.as_ref()) {
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    let mut ready = all.iter().map(|one| !one.revents().is_empty());
    let stop = ready.next() == Some(true);
    let clients: Vec<bool> = ready.by_ref().take(waiting.len()).collect();
    Ok(Ready { stop, clients, listener: ready.next() == Some(true) })
}

/// Takes the clients that have come.
fn accept(listener: &TcpListener, waiting: &mut Vec<Connection>, now: Instant, answering: &Answering) {
    for _ in 0..ACCEPTED_AT_ONCE_MAX {
        match listener.accept() {
            Ok((stream, _)) => {
                make_room(waiting, now, answering);
                waiting.extend(Connection::new(stream, now).ok());
            }
            Err(error) if [ErrorKind::Interrupted, ErrorKind::ConnectionAborted].contains(&error.kind()) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return,
            Err(_) => return thread::sleep(ACCEPT_AGAIN),
        }
    }
}

/// Gives up those that have been waited for longest, if there are too many. What they have asked by now is answered.
fn make_room(waiting: &mut Vec<Connection>, now: Instant, answering: &Answering) {
    while waiting.len() >= WAITING_MAX {
        let longest = waiting.remove(0);
        drop(advance(longest, true, now, answering));
    }
}

/// What becomes of `client`: it is waited for further, or it is none of the waiting ones any more.
fn advance(mut client: Connection, is_ready: bool, now: Instant, answering: &Answering) -> Option<Connection> {
    let progress = if is_ready { client.advance() } else { ClientProgress::Waits };
    match progress {
        ClientProgress::Asks(request) => answering.answer(client, request, now),
        ClientProgress::Refused(status) => {
            client.refuse(status, now);
            Some(client)
        }
        ClientProgress::Waits if now >= client.until() => {
            let status = client.overdue_answer()?;
            client.refuse(status, now);
            Some(client)
        }
        ClientProgress::Waits => Some(client),
        ClientProgress::Gone => None,
    }
}

enum Answering {
    /// The thread that waits.
    Here(Handler),
    /// Threads at the other end.
    There(SyncSender<(Connection, Request)>),
}

impl Answering {
    fn start(handler: Handler, threads: usize) -> io::Result<Answering> {
        if threads == 0 {
            return Ok(Answering::Here(handler));
        }
        let (sender, receiver) = sync_channel(WAITING_MAX);
        let receiver = Arc::new(Mutex::new(receiver));
        for nth in 0..threads {
            let (handler, receiver) = (handler.clone(), receiver.clone());
            thread::Builder::new().name(format!("web-{nth}")).spawn(move || answer_all(&handler, &receiver))?;
        }
        Ok(Answering::There(sender))
    }

    /// Has `request` answered. A client for which there is no room is refused and comes back.
    fn answer(&self, client: Connection, request: Request, now: Instant) -> Option<Connection> {
        let sender = match self {
            Answering::Here(handler) => {
                answer_one(handler, &client.into_stream(), &request);
                return None;
            }
            Answering::There(sender) => sender,
        };
        let (TrySendError::Full((mut client, _)) | TrySendError::Disconnected((mut client, _))) =
            sender.try_send((client, request)).err()?;
        client.refuse(Status::Busy, now);
        Some(client)
    }
}

fn answer_all(handler: &Handler, receiver: &Mutex<Receiver<(Connection, Request)>>) {
    loop {
        // A thread that waits holds the lock; the others wait for it, which is the same.
        let next = receiver.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok((client, request)) = next else { return };
        answer_one(handler, &client.into_stream(), &request);
    }
}

/// Answers one request. A handler that panics is a bug, and no reason to answer no others.
fn answer_one(handler: &Handler, stream: &TcpStream, request: &Request) {
    let made = catch_unwind(AssertUnwindSafe(|| handler(request)));
    let response = made.unwrap_or_else(|_| Response::text(Status::Internal, "this is a bug of plimsoll"));
    // Who has gone or does not read is not waited for.
    let _ = response.send(request.method, stream);
}
