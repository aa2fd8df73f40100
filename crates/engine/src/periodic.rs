//! Does something about once a second, outside of the load: what makes `durability = os` mean the same on every embedded engine.
//!
//! In: what to do. Out: it is done until the value is dropped; the first failure is kept, because the kernel reports
//! a failed sync once and forgets it. Limits: a sync that takes longer than a second delays the next.

use host::error::{TargetError, system_words};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// A thread that acts about once a second until dropped.
pub struct PeriodicTask {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
    failure: Arc<Mutex<Option<String>>>,
}

impl PeriodicTask {
    /// Calls `act` once a second from now on.
    pub fn start(
        name: &str,
        act: impl FnMut() -> Result<(), String> + Send + 'static,
    ) -> Result<PeriodicTask, TargetError> {
        PeriodicTask::start_every(Duration::from_secs(1), name, act).map_err(|error| {
            TargetError::Failed(format!("cannot start a thread that syncs each second: {}", system_words(&error)))
        })
    }

    fn start_every(
        pause: Duration,
        name: &str,
        mut act: impl FnMut() -> Result<(), String> + Send + 'static,
    ) -> std::io::Result<PeriodicTask> {
        let (stop, stopped) = channel::<()>();
        let failure = Arc::new(Mutex::new(None));
        let first_failure = failure.clone();
        let thread = std::thread::Builder::new().name(name.into()).spawn(move || {
            // The wait ends early when the sender is dropped, which is the request to stop.
            while stopped.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                if let Err(text) = act() {
                    lock_failure(&first_failure).get_or_insert(text);
                }
            }
        })?;
        Ok(PeriodicTask { stop: Some(stop), thread: Some(thread), failure })
    }

    /// The first failure, if there was one.
    pub fn first_failure(&self) -> Option<String> {
        lock_failure(&self.failure).clone()
    }
}

/// Nothing that can panic runs under the lock.
fn lock_failure(failure: &Mutex<Option<String>>) -> MutexGuard<'_, Option<String>> {
    failure.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for PeriodicTask {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join(); // a panic there has been printed; there is nothing to add
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_failure_is_told_at_the_end_though_later_ones_succeed() {
        let ((tell, told), mut seen) = (channel(), 0);
        let act = move || {
            seen += 1;
            let _ = tell.send(());
            if seen == 1 { Err("the disk said no".into()) } else { Ok(()) }
        };
        let every = PeriodicTask::start_every(Duration::from_micros(1), "test", act).unwrap();
        (0..3).for_each(|_| told.recv().unwrap());
        assert_eq!(every.first_failure(), Some("the disk said no".into()));
    }
}
