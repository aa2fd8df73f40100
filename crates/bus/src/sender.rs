//! Sends what is in an outbox, on a thread of its own.
//!
//! In: an outbox, the key of its stream. Out: its messages on the bus, in their order. Limits: while the bus is away it tries again, for as long as
//! it takes; nothing waits for it but [`Outbox::wait_sent`].

use crate::{BusConnector, BusError, Outbox};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long the thread waits for a message before it looks whether it is to end.
const LOOK_EACH: Duration = Duration::from_millis(500);
/// The rest after an answer that refuses: it would come again at once.
const REST: Duration = Duration::from_secs(1);

/// The thread that sends the messages of an outbox.
pub struct OutboxSender {
    outbox: Arc<Outbox>,
    end: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl OutboxSender {
    /// Sends what is in `outbox`, and what will be, to the stream `key`.
    pub fn start(connector: BusConnector, key: String, outbox: Arc<Outbox>) -> Result<OutboxSender, BusError> {
        let end = Arc::new(AtomicBool::new(false));
        let (own, ended) = (outbox.clone(), end.clone());
        let thread = std::thread::Builder::new().name("bus-send".into());
        let thread = thread.spawn(move || send_all(&connector, &key, &own, &ended)).map_err(|error| {
            BusError::Refused(format!("the thread that sends cannot be started: {}", model::system_words(&error)))
        })?;
        Ok(OutboxSender { outbox, end, thread: Some(thread) })
    }
}

fn send_all(connector: &BusConnector, key: &str, outbox: &Outbox, ended: &AtomicBool) {
    let (mut link, mut sent) = (connector.link(), 0);
    while !ended.load(Relaxed) && outbox.wait_beyond(sent, LOOK_EACH) {
        // The file is ours and was written by us: what cannot be read from it now may be the next time.
        let Ok(Some(payload)) = outbox.get(sent + 1) else { continue };
        match link.ask(|bus| bus.append(key, sent + 1, &payload)) {
            Ok(_) => {
                sent += 1;
                outbox.note_sent(sent);
            }
            Err(BusError::Away(_)) => {}
            Err(_) => std::thread::sleep(REST),
        }
    }
}

impl Drop for OutboxSender {
    fn drop(&mut self) {
        self.end.store(true, Relaxed);
        self.outbox.close();
        self.thread.take().map(JoinHandle::join);
    }
}
