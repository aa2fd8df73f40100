//! Brings what was recorded to the disk while the run goes on.
//!
//! In: a run file, and the word after each commit that there is something new. Out: its log on the disk, a moment later. Limits: at most one
//! sync a second, on a thread of its own: whoever records never waits for the disk, which may be the one that is measured. So a power cut, or
//! a file system that dies, takes the last interval, or the last second if intervals are shorter, and what the disk had still to write.
//! What a disk answers that has failed is of no use here: the next commit fails, too.

use crate::open::sibling_path;
use std::fs::File;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

/// Each sync is a flush on the disk of the run file, which may be the one that is measured.
const LEAST_PAUSE: Duration = Duration::from_secs(1);

/// The thread that syncs the log of a run file. It ends with this.
pub(crate) struct LogSync {
    wish: SyncSender<()>,
}

impl LogSync {
    /// Begins to sync the log of the run file at `path`. `None` if it has no log: then each commit is synced by SQLite. Without a thread
    /// more than the last interval may be lost, which is no reason to record nothing.
    pub fn start(path: &Path) -> Option<LogSync> {
        let log = model::open_regular(&sibling_path(path, "-wal")).ok()?;
        // Whoever may write to a directory need not be able to read it.
        let directory = File::open(model::folder_of(path)).ok();
        // One wish is enough: it is for all that was recorded until it is heard.
        let (wish, wishes) = sync_channel(1);
        let sync = move || sync_when_asked(&log, directory.as_ref(), &wishes);
        thread::Builder::new().name("run-sync".into()).stack_size(128 << 10).spawn(sync).ok()?;
        Some(LogSync { wish })
    }

    /// There is something new in the log.
    pub fn ask(&self) {
        let _ = self.wish.try_send(()); // if it is full, the sync that is to come is for this, too
    }
}

fn sync_when_asked(log: &File, directory: Option<&File>, wishes: &Receiver<()>) {
    let mut last: Option<Instant> = None;
    while wishes.recv().is_ok() {
        if let Some(last) = last {
            thread::sleep(LEAST_PAUSE.saturating_sub(last.elapsed()));
        }
        let _ = log.sync_data();
        if last.is_none() {
            let _ = directory.map(File::sync_all); // the name of the log
        }
        last = Some(Instant::now());
    }
}
