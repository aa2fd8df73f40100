//! The connections that the clients of a server have open, so that what blocks one of them can be ended.
//!
//! In: a client registers its connection when it is open. Out: all that are left are ended: what they execute is cancelled at the server over
//! another connection, and their sockets are shut down. Limits: a statement is cancelled as long as the server takes another connection;
//! one that ends meanwhile by itself may have been cancelled, too.

use super::OpFailure;
use host::deadline::Deadline;
use std::collections::BTreeMap;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long it may take to cancel what a connection executes.
pub const CANCEL_WITHIN: Duration = Duration::from_secs(1);

/// By what a server knows a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectionKey {
    pub id: u32,
    /// What PostgreSQL asks for together with the number; 0 on other servers.
    pub secret: u32,
}

/// Cancels what a connection executes.
pub trait CancelAtServer: Send + Sync {
    /// Cancels what the connection known by `key` executes, over another connection that gives up after `allowed`.
    fn cancel(&self, key: ConnectionKey, allowed: Duration) -> Result<(), OpFailure>;
}

/// All that are open.
#[derive(Clone, Default)]
pub struct OpenConnections(Arc<Shared>);

#[derive(Default)]
struct Shared {
    next: AtomicU64,
    open: Mutex<BTreeMap<u64, OpenConnection>>,
}

impl std::fmt::Debug for OpenConnections {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} open connections", self.lock().len())
    }
}

struct OpenConnection {
    key: ConnectionKey,
    server: Arc<dyn CancelAtServer>,
    /// Open until the registration is dropped, which takes it out.
    socket: RawFd,
}

/// Takes the connection out when it is dropped: before its socket is closed.
pub struct Registration {
    of: OpenConnections,
    number: u64,
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.of.lock().remove(&self.number);
    }
}

impl OpenConnections {
    /// Registers a connection over `socket`, which must stay open until the registration is dropped.
    pub fn register(
        &self,
        key: ConnectionKey,
        server: Arc<dyn CancelAtServer>,
        socket: BorrowedFd<'_>,
    ) -> Registration {
        let number = self.0.next.fetch_add(1, Relaxed);
        self.lock().insert(number, OpenConnection { key, server, socket: socket.as_raw_fd() });
        Registration { of: self.clone(), number }
    }

    /// Ends all that are open, within about `allowed`. False if a server did not answer.
    pub fn end_all(&self, allowed: Duration) -> bool {
        let answered = self.cancel_all(allowed);
        self.lock().values().for_each(OpenConnection::shut_down);
        answered
    }

    fn cancel_all(&self, allowed: Duration) -> bool {
        let deadline = Deadline::after(allowed);
        let left: Vec<_> = self.lock().values().map(|open| (open.key, open.server.clone())).collect();
        left.into_iter().all(|(key, server)| deadline.time_left().is_ok_and(|time| server.cancel(key, time).is_ok()))
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, OpenConnection>> {
        self.0.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OpenConnection {
    /// Wakes whoever waits at the socket.
    fn shut_down(&self) {
        // SAFETY: the socket is open while it is registered, and the lock is held.
        let socket = unsafe { BorrowedFd::borrow_raw(self.socket) };
        // It fails if the server has closed the connection, which is as good.
        let _ = rustix::net::shutdown(socket, rustix::net::Shutdown::Both);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::FailureClass;
    use std::io::Read;
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    /// A server that answers or does not, and notes whom it was to cancel.
    struct Scripted(bool, Mutex<Vec<u32>>);

    impl CancelAtServer for Scripted {
        fn cancel(&self, key: ConnectionKey, _: Duration) -> Result<(), OpFailure> {
            self.1.lock().unwrap().push(key.id);
            if self.0 { Ok(()) } else { Err(OpFailure::from_server(FailureClass::Lost, "it is silent")) }
        }
    }

    fn ended(answers: bool) -> (bool, Vec<u32>) {
        let (open, server) = (OpenConnections::default(), Arc::new(Scripted(answers, Mutex::default())));
        let (first, _other_end) = UnixStream::pair().unwrap();
        let (mut second, _its_other_end) = UnixStream::pair().unwrap();
        let key = |id| ConnectionKey { id, secret: 0 };
        drop(open.register(key(1), server.clone(), first.as_fd()));
        let _registered = open.register(key(2), server.clone(), second.as_fd());
        let answered = open.end_all(Duration::from_secs(5));
        assert_eq!(second.read(&mut [0]).unwrap(), 0, "whoever waits is woken");
        (answered, server.1.lock().unwrap().clone())
    }

    #[test]
    fn what_is_still_open_is_cancelled_and_shut_down_also_if_the_server_is_silent() {
        assert_eq!(ended(true), (true, vec![2]));
        assert_eq!(ended(false), (false, vec![2]));
    }
}
