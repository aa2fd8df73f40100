//! A lease that is renewed while this process runs.
//!
//! In: its key and value. Out: whether it is held. Limits: a process that is frozen, or cut off from the bus, loses it after
//! [`Lease::LENGTH`]; when it can, it takes the lease again, unless another has it by then.

use crate::{BusConnector, BusError, LeaseState};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// A lease that is renewed while this process runs, and given back at its end.
pub struct Lease {
    shared: Arc<LeaseShared>,
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

struct LeaseShared {
    key: String,
    value: Vec<u8>,
    lost: AtomicBool,
}

impl Lease {
    /// How long a lease is held without being renewed.
    pub const LENGTH: Duration = Duration::from_secs(5);
    /// How often it is renewed.
    const RENEWED_EACH: Duration = Duration::from_millis(1_500);

    /// Takes the lease `key` with `value`, and renews it from now on. `None` if another holds it.
    pub fn take(connector: &BusConnector, key: String, value: Vec<u8>) -> Result<Option<Lease>, BusError> {
        if connector.connect()?.hold_lease(&key, &value, Lease::LENGTH)? == LeaseState::HeldByAnother {
            return Ok(None);
        }
        let shared = Arc::new(LeaseShared { key, value, lost: AtomicBool::new(false) });
        let (end, ended) = channel();
        let (own, connector) = (shared.clone(), connector.clone());
        let renew = move || {
            let mut link = connector.link();
            while ended.recv_timeout(Lease::RENEWED_EACH) == Err(RecvTimeoutError::Timeout) {
                let state = link.ask(|bus| bus.hold_lease(&own.key, &own.value, Lease::LENGTH));
                own.lost.fetch_or(state.is_ok_and(|state| state == LeaseState::HeldByAnother), Relaxed);
            }
            let _ = link.ask(|bus| bus.release_lease(&own.key, &own.value)); // else it ends by itself
        };
        let thread = std::thread::Builder::new().name("bus-lease".into()).spawn(renew);
        let thread = thread.map_err(|error| {
            BusError::Refused(format!("the thread of a lease cannot be started: {}", model::system_words(&error)))
        })?;
        Ok(Some(Lease { shared, end: Some(end), thread: Some(thread) }))
    }

    /// Whether another has taken it.
    pub fn is_lost(&self) -> bool {
        self.shared.lost.load(Relaxed)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        drop(self.end.take());
        // It ends at once, or after the time that a command may take.
        self.thread.take().map(JoinHandle::join);
    }
}
