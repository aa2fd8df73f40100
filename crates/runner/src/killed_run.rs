//! The newest run of a directory, if plimsoll was killed during it. The next start reports that, with the command that continues the run.
//!
//! In: the directory of run files. Out: a note. Limits: a run that ended in order has no log next to it, and one that is being recorded is
//! locked. That memory ran out is known from the kernel's log, which only root may read.

use crate::events::{RunObserver, note};
use crate::preflight::RunSite;
use std::path::{Path, PathBuf};

/// Tells `observer` of the newest run in the directory of run files if its plimsoll was killed.
pub(crate) fn note_newest(site: &RunSite, observer: &mut dyn RunObserver) {
    if let Some(run) = newest_run(&site.runs).filter(|run| is_killed(run)) {
        let (name, how) = (host::error::shown(&run), how_it_ended(&run));
        let command = format!("plimsoll run --resume {}", host::error::shown(&run));
        note(observer, format_args!("the plimsoll that recorded `{name}` {how}; `{command}` continues it"));
    }
}

fn newest_run(runs: &Path) -> Option<PathBuf> {
    let files = std::fs::read_dir(runs).ok()?.flatten().map(|entry| entry.path());
    files.filter(|path| path.extension().is_some_and(|extension| extension == store::EXTENSION)).max()
}

/// Whether its log is still there and no process records it.
fn is_killed(run: &Path) -> bool {
    log_of(run).exists() && !store::is_being_recorded(run)
}

fn log_of(run: &Path) -> PathBuf {
    let mut log = run.as_os_str().to_owned();
    log.push("-wal");
    log.into()
}

fn how_it_ended(run: &Path) -> &'static str {
    let last_written = std::fs::metadata(log_of(run)).and_then(|meta| meta.modified());
    let name = std::fs::read_to_string("/proc/self/comm").unwrap_or_default();
    if last_written.is_ok_and(|at| host::out_of_memory::was_killed_at(name.trim_end(), at)) {
        "was killed by the kernel, because memory ran out"
    } else {
        "was killed"
    }
}
