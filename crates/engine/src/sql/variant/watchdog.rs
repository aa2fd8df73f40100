//! Cancels a statement that takes longer than its limit.
//!
//! In: a limit, and a function that cancels what the connection executes. Out: whether it had to. Limits: the function is called from a
//! thread of its own, again each second until the statement has ended; it may need a connection to the server.

use host::error::TargetError;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Cancels what a connection executes.
pub type CancelStatement = Box<dyn FnMut() + Send>;

/// A server may miss the first call if the statement has just been sent.
const AGAIN_AFTER: Duration = Duration::from_secs(1);

/// Watches the statements of one connection.
pub struct Watchdog {
    limit: Duration,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<CancelState>,
    changed: Condvar,
}

#[derive(Default)]
struct CancelState {
    /// When the statement in flight is cancelled.
    deadline: Option<Instant>,
    has_cancelled: bool,
    is_over: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, CancelState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watchdog {
    /// A watchdog that calls `cancel` when a statement has taken `limit`.
    ///
    /// # Errors
    /// If its thread cannot be started.
    pub fn start(limit: Duration, cancel: CancelStatement) -> Result<Watchdog, TargetError> {
        let shared = Arc::<Shared>::default();
        let of_thread = shared.clone();
        let thread = std::thread::Builder::new().name("statement-timeout".into());
        let spawned = thread.spawn(move || watch(&of_thread, cancel));
        spawned.map_err(|error| TargetError::Failed(format!("cannot start a thread: {error}")))?;
        Ok(Watchdog { limit, shared })
    }

    pub fn arm(&self) {
        let mut state = self.shared.lock();
        (state.deadline, state.has_cancelled) = (Some(Instant::now() + self.limit), false);
        self.shared.changed.notify_one();
    }

    /// The statement has ended. True if it was cancelled. A call in flight is awaited, so that it does not meet the next statement.
    pub fn disarm(&self) -> bool {
        let mut state = self.shared.lock();
        state.deadline = None;
        std::mem::take(&mut state.has_cancelled)
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.shared.lock().is_over = true;
        self.shared.changed.notify_one();
    }
}

fn watch(shared: &Shared, mut cancel: CancelStatement) {
    let mut state = shared.lock();
    while !state.is_over {
        let now = Instant::now();
        state = match state.deadline {
            None => shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            Some(deadline) if now < deadline => {
                let waited = shared.changed.wait_timeout(state, deadline - now);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
            Some(_) => {
                // With the lock: `disarm` waits for it.
                cancel();
                state.has_cancelled = true;
                state.deadline = Some(Instant::now() + AGAIN_AFTER);
                state
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn a_statement_is_cancelled_at_its_limit_and_one_that_ends_before_is_not() {
        let (called, calls) = mpsc::channel();
        let cancel = Box::new(move || called.send(()).expect("the test waits"));
        let watchdog = Watchdog::start(Duration::from_millis(1), cancel).unwrap();
        watchdog.arm();
        calls.recv().expect("it calls");
        assert!(watchdog.disarm());
        let patient =
            Watchdog::start(Duration::from_secs(3_600), Box::new(|| panic!("nothing is to be cancelled"))).unwrap();
        patient.arm();
        assert!(!patient.disarm() && !watchdog.disarm(), "and it is told once");
    }
}
