//! Records a watch in one file after the other, as fast as intervals may be short.
//!
//! In: what is watched, how many intervals a file has and how long they are. Out: the files, and what an observer sees. Limits: all that
//! `plimsoll observe` does is done, but for the time between two readings: a day of seconds is as many intervals of some milliseconds.

use load::Stop;
use model::Nanos;
use runner::{RunObserver, RunSite, RunnerError, Watch, WatchSession};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What each file has.
#[derive(Clone, Copy, Debug)]
pub struct FileLength {
    pub intervals: u32,
    pub interval: Nanos,
}

/// Records `files` files in `dir`.
///
/// # Errors
/// If what is watched ends, or a file cannot be written.
pub fn record_files(
    watch: Watch,
    dir: &Path,
    (files, length): (u32, FileLength),
    observer: &mut dyn RunObserver,
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
            session.create_file(&plan, (Some(&name), false), "watched_day".to_owned(), &site, observer)?;
        session.record(&plan, &mut writer, nth < files, observer)?;
        writer.finish()?;
        all.push(path);
    }
    Ok(all)
}
