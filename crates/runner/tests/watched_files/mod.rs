//! Records a watch in one file after the other, as fast as intervals may be short, and looks at the memory of this process.
//!
//! In: what is watched, how many intervals a file has and how long they are. Out: the files, and the memory after each stretch. Limits: all that
//! `plimsoll observe` does is done, but for the time between two readings: a day of seconds is as many intervals of some milliseconds.

use load::Stop;
use model::Nanos;
use runner::{RunEvent, RunObserver, RunSite, RunnerError, Watch, WatchSession};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What each file has.
#[derive(Clone, Copy, Debug)]
pub struct FileLength {
    pub intervals: u32,
    pub interval: Nanos,
}

/// How much was recorded, and the memory that this process had of its own then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeenMemory {
    pub intervals: u64,
    pub bytes: u64,
}

/// Looks at the memory each `every` intervals.
pub struct MemoryWatch {
    every: u64,
    intervals: u64,
    pub seen: Vec<SeenMemory>,
}

impl MemoryWatch {
    pub fn each(every: u64) -> MemoryWatch {
        MemoryWatch { every, intervals: 0, seen: Vec::new() }
    }
}

impl RunObserver for MemoryWatch {
    fn on(&mut self, event: RunEvent<'_>) {
        let RunEvent::Interval { rows, .. } = event else { return };
        let before = self.intervals / self.every;
        self.intervals += rows.len() as u64;
        if self.intervals / self.every > before {
            self.seen.push(SeenMemory { intervals: self.intervals, bytes: own_memory() });
        }
    }
}

/// Bytes of this process that are backed by no file.
fn own_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("the kernel tells it");
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).expect("it has that line");
    1024 * line.trim().trim_end_matches(" kB").parse::<u64>().expect("it is a number")
}

/// Records `files` files in `dir`.
///
/// # Errors
/// If what is watched ends, or a file cannot be written.
pub fn record_files(
    watch: Watch,
    dir: &Path,
    (files, length): (u32, FileLength),
    memory: &mut MemoryWatch,
) -> Result<Vec<PathBuf>, RunnerError> {
    let mut session = WatchSession::new(watch, Vec::new(), Arc::new(Stop::default()));
    let time = Nanos(length.interval.0 * u64::from(length.intervals));
    let plan = session.watch().plan(time, length.interval);
    let site = RunSite {
        dir: dir.to_owned(),
        runs: dir.to_owned(),
        destroy: Vec::new(),
        system_changes: Default::default(),
        writes: Default::default(),
        if_held: Default::default(),
        restore: None,
    };
    let mut all = Vec::new();
    for nth in 1..=files {
        let name = format!("watched-{nth}");
        let (path, mut writer) =
            session.create_file(&plan, (Some(&name), false), "watched_day".to_owned(), &site, memory)?;
        session.record(&plan, &mut writer, nth < files, memory)?;
        writer.finish()?;
        all.push(path);
    }
    Ok(all)
}
