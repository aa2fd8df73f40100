//! What a run that ended by force leaves behind.
//!
//! In: the directory in which it worked. Out: the processes that are left there; the next run, which removes what the killed one left. Limits: a
//! process is found by the directory in which it works.

use anyhow::{Result, ensure};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// The processes that work below `dir`, each with its number and its name.
pub fn processes_in(dir: &Path) -> Vec<(u32, String)> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_string_lossy().parse().ok());
    // A process that has ended meanwhile has no directory any more.
    let works_there = |id: &u32| fs::read_link(format!("/proc/{id}/cwd")).is_ok_and(|place| place.starts_with(dir));
    ids.filter(works_there).map(|id| (id, process_name(id))).collect()
}

/// The name of a process; empty if it has ended.
pub fn process_name(id: u32) -> String {
    fs::read_to_string(format!("/proc/{id}/comm")).unwrap_or_default().trim().to_owned()
}

/// Makes a short run in `data`, which removes what others have left there. `base` is where relative paths begin.
pub fn sweep(binary: &Path, base: &Path, data: &Path, runs: &Path) -> Result<()> {
    let mut command = Command::new(binary);
    command.args(["file", "--engine", "null", "--time", "20ms", "--interval", "10ms", "--no-report", "--quiet"]);
    command.arg("--dir").arg(data).arg("--runs").arg(runs).current_dir(base);
    let Output { status, stderr, .. } = command.output()?;
    ensure!(status.success(), "the next run failed: {}", String::from_utf8_lossy(&stderr));
    Ok(())
}
