//! Does something about once a second, beside the load: what makes `durability = os` mean the same on every embedded engine.
//!
//! In: what to do. Out: it is done until the value is dropped. Limits: best effort; an error is the next sync's affair.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// A thread that acts about once a second until dropped.
pub struct EverySecond {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl EverySecond {
    /// Calls `act` once a second from now on.
    pub fn start(name: &str, mut act: impl FnMut() + Send + 'static) -> std::io::Result<EverySecond> {
        let (stop, stopped) = channel::<()>();
        let run = move || {
            while stopped.recv_timeout(Duration::from_secs(1)) == Err(RecvTimeoutError::Timeout) {
                act();
            }
        };
        let thread = std::thread::Builder::new().name(name.into()).spawn(run)?;
        Ok(EverySecond { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for EverySecond {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join(); // a panic there has been printed; there is nothing to add
        }
    }
}
