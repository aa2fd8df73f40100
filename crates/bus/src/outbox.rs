//! The messages of a host on its own disk: what was sent, what waits, and what may be asked for again.
//!
//! In: payloads, from the thread that stores. Out: the payload of each number, to the thread that sends. Limits: the file has no name, so
//! nothing is left of it when the process ends. It holds all messages of one run, so what waits while the bus is away takes disk and no
//! memory. A message has a number from 1, and a length of at most [`PAYLOAD_BYTES_MAX`].

use crate::PAYLOAD_BYTES_MAX;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The messages of a host.
pub struct Outbox {
    file: File,
    index: Mutex<OutboxIndex>,
    changed: Condvar,
}

/// Where each message ends in the file, and how many are on the bus.
#[derive(Default)]
struct OutboxIndex {
    ends: Vec<u64>,
    sent: u64,
    closed: bool,
}

impl Outbox {
    /// A new one on the disk of the directory `dir`.
    pub fn create_in(dir: &Path) -> io::Result<Outbox> {
        Ok(Outbox { file: tempfile::tempfile_in(dir)?, index: Mutex::default(), changed: Condvar::new() })
    }

    fn lock(&self) -> MutexGuard<'_, OutboxIndex> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends a message and returns its number. It is called by one thread.
    pub fn push(&self, payload: &[u8]) -> io::Result<u64> {
        if payload.len() > PAYLOAD_BYTES_MAX {
            return Err(io::Error::other(format!("a message of {} bytes is too long for the bus", payload.len())));
        }
        let start = self.lock().end();
        // Without the lock: the thread that sends reads only what is in the index.
        self.file.write_all_at(payload, start)?;
        let mut index = self.lock();
        index.ends.push(start + payload.len() as u64);
        self.changed.notify_all();
        Ok(index.ends.len() as u64)
    }

    /// Message `number`; `None` if there is none of that number.
    pub fn get(&self, number: u64) -> io::Result<Option<Vec<u8>>> {
        let Some((start, end)) = self.lock().place(number) else { return Ok(None) };
        let mut payload = vec![0; (end - start) as usize];
        self.file.read_exact_at(&mut payload, start)?;
        Ok(Some(payload))
    }

    /// How many messages there are.
    pub fn len(&self) -> u64 {
        self.lock().ends.len() as u64
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Waits until there is a message beyond `number`, or until it is closed, for `wait` at most. Returns whether more may come.
    pub(crate) fn wait_beyond(&self, number: u64, wait: Duration) -> bool {
        let is_waiting = |index: &mut OutboxIndex| index.ends.len() as u64 <= number && !index.closed;
        let waited = self.changed.wait_timeout_while(self.lock(), wait, is_waiting);
        !waited.unwrap_or_else(PoisonError::into_inner).0.closed
    }

    /// The messages up to `number` are on the bus.
    pub(crate) fn note_sent(&self, number: u64) {
        self.lock().sent = number;
        self.changed.notify_all();
    }

    /// Waits until all messages are on the bus, for `wait` at most. Returns whether they are.
    pub fn wait_sent(&self, wait: Duration) -> bool {
        let is_waiting = |index: &mut OutboxIndex| index.sent < index.ends.len() as u64 && !index.closed;
        let waited = self.changed.wait_timeout_while(self.lock(), wait, is_waiting);
        let index = waited.unwrap_or_else(PoisonError::into_inner).0;
        index.sent >= index.ends.len() as u64
    }

    /// No more will be sent.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }
}

impl OutboxIndex {
    fn end(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    /// Where message `number` begins and ends.
    fn place(&self, number: u64) -> Option<(u64, u64)> {
        let nth = usize::try_from(number.checked_sub(1)?).ok()?;
        let end = *self.ends.get(nth)?;
        let start = nth.checked_sub(1).map_or(0, |before| self.ends[before]);
        Some((start, end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_message_is_found_by_its_number() {
        let dir = tempfile::tempdir().unwrap();
        let outbox = Outbox::create_in(dir.path()).unwrap();
        assert_eq!(
            [outbox.push(b"one").unwrap(), outbox.push(b"").unwrap(), outbox.push(b"three").unwrap()],
            [1, 2, 3]
        );
        let read = |number| outbox.get(number).unwrap();
        assert_eq!((read(1), read(2), read(3)), (Some(b"one".to_vec()), Some(Vec::new()), Some(b"three".to_vec())));
        assert_eq!((read(0), read(4), read(u64::MAX)), (None, None, None));
        assert!(outbox.push(&vec![0; PAYLOAD_BYTES_MAX + 1]).is_err());
        assert_eq!(outbox.len(), 3);
    }

    #[test]
    fn waiting_ends_when_all_is_sent_or_nothing_more_will_be() {
        let dir = tempfile::tempdir().unwrap();
        let outbox = Outbox::create_in(dir.path()).unwrap();
        assert!(outbox.wait_sent(Duration::ZERO));
        outbox.push(b"x").unwrap();
        assert!(!outbox.wait_sent(Duration::ZERO));
        assert!(outbox.wait_beyond(0, Duration::ZERO));
        outbox.note_sent(1);
        assert!(outbox.wait_sent(Duration::ZERO));
        outbox.push(b"y").unwrap();
        outbox.close();
        assert!(!outbox.wait_sent(Duration::from_secs(600)));
        assert!(!outbox.wait_beyond(2, Duration::from_secs(600)));
    }
}
