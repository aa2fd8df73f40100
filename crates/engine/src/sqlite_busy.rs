//! How long SQLite's clients waited for their turn.
//!
//! In: the connections of clients. Out: what they waited in the busy handler, in all. Limits: a client finds out that the database is free
//! when its pause ends, so that its wait is longer than that of the lock; the pauses are SQLite's own. In WAL mode readers wait for nobody, and
//! what is waited for is the lock of the one writer.

use rusqlite::Connection;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The pauses of `sqliteDefaultBusyCallback` in SQLite's main.c, in milliseconds. The last is repeated.
const PAUSES_MS: [u64; 12] = [1, 2, 5, 10, 15, 20, 25, 25, 25, 50, 50, 100];

/// What the clients of an instance waited so far.
#[derive(Debug, Default)]
pub(crate) struct BusyTime {
    waited_ns: AtomicU64,
    waits: AtomicU64,
}

impl BusyTime {
    /// Lets `connection` wait up to `patience` while the database is busy, as SQLite does by itself, and counts it.
    pub fn watch(self: &Arc<BusyTime>, connection: &mut Connection, patience: Duration) -> rusqlite::Result<()> {
        let busy = self.clone();
        connection.busy_handler(Some(move |tries: i32| busy.wait_after(tries.max(0) as usize, patience)))
    }

    /// Nanoseconds that clients waited, and how often they had to.
    pub fn totals(&self) -> [u64; 2] {
        [&self.waited_ns, &self.waits].map(|total| total.load(Ordering::Relaxed))
    }

    /// Pauses after so many tries for one lock. False if patience is at its end.
    fn wait_after(&self, tries: usize, patience: Duration) -> bool {
        let Some(pause) = pause_after(tries, patience) else { return false };
        let began = Instant::now();
        std::thread::sleep(pause);
        self.waited_ns.fetch_add(began.elapsed().as_nanos() as u64, Ordering::Relaxed);
        self.waits.fetch_add(u64::from(tries == 0), Ordering::Relaxed);
        true
    }
}

/// The pause after so many tries; `None` if those before it have used up `patience`.
fn pause_after(tries: usize, patience: Duration) -> Option<Duration> {
    let last = PAUSES_MS.len() - 1;
    let before_ms = PAUSES_MS.iter().take(tries).sum::<u64>() + PAUSES_MS[last] * tries.saturating_sub(last + 1) as u64;
    let left = patience.checked_sub(Duration::from_millis(before_ms))?;
    let pause = Duration::from_millis(PAUSES_MS[tries.min(last)]).min(left);
    (!pause.is_zero()).then_some(pause)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_are_those_of_sqlite_until_patience_is_at_its_end() {
        let pause = |tries| pause_after(tries, Duration::from_millis(600)).map(|pause| pause.as_millis());
        assert_eq!([0, 1, 7, 11].map(pause), [Some(1), Some(2), Some(25), Some(100)]);
        assert_eq!([12, 13, 14, 15].map(pause), [Some(100), Some(100), Some(72), None]);
    }

    #[test]
    fn a_client_that_waits_for_a_writer_is_counted_with_its_time() {
        let dir = tempfile::tempdir().unwrap();
        let open = || Connection::open(dir.path().join("db")).unwrap();
        let (writer, mut waiting) = (open(), open());
        writer.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t (a); BEGIN IMMEDIATE").unwrap();
        let busy = Arc::new(BusyTime::default());
        busy.watch(&mut waiting, Duration::from_millis(20)).unwrap();
        assert!(waiting.execute_batch("BEGIN IMMEDIATE").is_err(), "the writer holds the lock");
        let [waited_ns, waits] = busy.totals();
        assert!(waits == 1 && waited_ns >= 20_000_000, "{waits} waits, {waited_ns} ns");
        writer.execute_batch("COMMIT").unwrap();
        waiting.execute_batch("BEGIN IMMEDIATE; COMMIT").unwrap();
        assert_eq!(busy.totals(), [waited_ns, waits], "there was nothing to wait for");
    }
}
