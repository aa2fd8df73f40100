//! Ends the wait for a server that says nothing: one thread for all connections in place of a timer for each answer.
//!
//! In: a connection, and how long it waits for an answer at most. Out: one that has waited longer is shut down, so that its read
//! returns. Limits: looked at once a second, so a wait ends up to two seconds late.
//!
//! A time-out of the socket (SO_RCVTIMEO) has the kernel set and remove a timer for each answer: 0.3 to 0.8 us of the 5 to 7 that a
//! round trip costs its client (docs/journal/2026-11-21-sql-clients.md). Here it is two stores.

use std::io;
use std::mem::ManuallyDrop;
use std::net::Shutdown;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::time::Duration;

/// How long one connection waits. To be dropped before its socket is closed.
pub struct Patience(Arc<Waiting>);

struct Waiting {
    socket: RawFd,
    longest_s: u64,
    /// The second in which it began to wait; 0 while it does not.
    since: AtomicU64,
    is_over: AtomicBool,
}

/// Seconds that the watcher has counted. A process that is stopped does not count, nor does it lose patience.
static NOW: AtomicU64 = AtomicU64::new(1);
static ALL: Mutex<Vec<Arc<Waiting>>> = Mutex::new(Vec::new());
static WATCHER: Once = Once::new();

impl Patience {
    /// Takes the time-out from `socket` and watches over it instead.
    pub fn with(socket: BorrowedFd, longest: Duration) -> io::Result<Patience> {
        stream(socket.as_raw_fd()).set_read_timeout(None)?;
        let (since, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
        let longest_s = longest.as_secs_f64().ceil() as u64;
        let waiting = Arc::new(Waiting { socket: socket.as_raw_fd(), longest_s, since, is_over });
        all().push(waiting.clone());
        WATCHER.call_once(watch);
        Ok(Patience(waiting))
    }

    /// A wait begins,
    #[inline]
    pub fn begin(&self) {
        self.0.since.store(NOW.load(Relaxed), Relaxed);
    }

    /// and ends.
    #[inline]
    pub fn end(&self) {
        self.0.since.store(0, Relaxed);
    }

    /// What `error` is in truth: a connection that was shut down here has lost patience, and nobody has hung up.
    #[cold]
    pub fn explain(&self, error: io::Error) -> io::Error {
        if self.0.is_over.load(Relaxed) { io::ErrorKind::TimedOut.into() } else { error }
    }
}

impl Drop for Patience {
    fn drop(&mut self) {
        all().retain(|other| !Arc::ptr_eq(other, &self.0));
    }
}

impl Waiting {
    /// Ends the wait where it has been too long in second `now`.
    fn look(&self, now: u64) {
        let since = self.since.load(Relaxed);
        if since != 0 && now > since + self.longest_s {
            self.is_over.store(true, Relaxed);
            let _ = stream(self.socket).shutdown(Shutdown::Both); // one that is gone already needs no end
        }
    }
}

/// What is in the list has an open socket, as long as the list is locked.
fn all() -> std::sync::MutexGuard<'static, Vec<Arc<Waiting>>> {
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}

fn watch() {
    let count = || loop {
        std::thread::sleep(Duration::from_secs(1));
        let now = NOW.fetch_add(1, Relaxed) + 1;
        all().iter().for_each(|waiting| waiting.look(now));
    };
    // Without it clients wait as long as the server lets them, and are named when the grace time is over.
    let _ = std::thread::Builder::new().name("patience".into()).stack_size(64 << 10).spawn(count);
}

/// Any socket, for the calls that all have. It stays open.
fn stream(socket: RawFd) -> ManuallyDrop<UnixStream> {
    // SAFETY: callers hold a borrow or the lock of the list, so the socket is open; and it is not closed here.
    ManuallyDrop::new(unsafe { UnixStream::from_raw_fd(socket) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::fd::AsFd;

    fn waiting(socket: &UnixStream) -> Waiting {
        let (since, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
        Waiting { socket: socket.as_raw_fd(), longest_s: 30, since, is_over }
    }

    #[test]
    fn a_read_that_waits_too_long_returns_and_one_in_time_does_not() {
        let (mut ours, mut theirs) = UnixStream::pair().unwrap();
        let patience = Patience(Arc::new(waiting(&ours)));
        patience.0.since.store(100, Relaxed);
        patience.0.look(130);
        io::Write::write_all(&mut theirs, b"in time").unwrap();
        assert_eq!(ours.read(&mut [0; 7]).unwrap(), 7);
        patience.0.look(131);
        assert_eq!(ours.read(&mut [0; 7]).unwrap(), 0);
        let error = patience.explain(io::ErrorKind::UnexpectedEof.into());
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn a_connection_that_does_not_wait_is_left_alone() {
        let (mut ours, mut theirs) = UnixStream::pair().unwrap();
        let patience = Patience(Arc::new(waiting(&ours)));
        patience.begin();
        patience.end();
        patience.0.look(u64::MAX);
        io::Write::write_all(&mut ours, b"still open").unwrap();
        assert_eq!(theirs.read(&mut [0; 10]).unwrap(), 10);
        assert_eq!(patience.explain(io::ErrorKind::UnexpectedEof.into()).kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn a_connection_is_watched_from_its_beginning_to_its_end_without_a_time_out_of_its_own() {
        let (ours, _theirs) = UnixStream::pair().unwrap();
        ours.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
        let patience = Patience::with(ours.as_fd(), Duration::from_millis(1_500)).unwrap();
        assert_eq!((ours.read_timeout().unwrap(), patience.0.longest_s), (None, 2));
        let watched = patience.0.clone();
        assert!(all().iter().any(|waiting| Arc::ptr_eq(waiting, &watched)));
        drop(patience);
        assert!(!all().iter().any(|waiting| Arc::ptr_eq(waiting, &watched)));
    }
}
