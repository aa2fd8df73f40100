//! What a run that ended by force leaves behind.
//!
//! In: the directory in which it worked, its process number. Out: the processes, mounts, devices, control groups and settings that are left;
//! the next run, which removes what the killed one left. Limits: a process is found by the directory in which it works.

use anyhow::{Result, ensure};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// The processes that work below `dir`, each with its number and its name.
pub fn processes_in(dir: &Path) -> Vec<(u32, String)> {
    let ids = names_in("/proc").into_iter().filter_map(|name| name.parse::<u32>().ok());
    // A process that has ended meanwhile has no directory any more.
    let works_there = |id: &u32| fs::read_link(format!("/proc/{id}/cwd")).is_ok_and(|place| place.starts_with(dir));
    ids.filter(works_there).map(|id| (id, process_name(id))).collect()
}

/// The processes that the threads of `process` started.
pub fn children_of(process: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let lists = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().filter_map(|id| id.parse().ok()).collect::<Vec<_>>()).collect()
}

/// The lines of mounts that name `dir`.
pub fn mounts_in(dir: &Path) -> Result<Vec<String>> {
    let (mounts, dir) = (fs::read_to_string("/proc/self/mounts")?, dir.to_string_lossy());
    Ok(mounts.lines().filter(|line| line.contains(dir.as_ref())).map(str::to_owned).collect())
}

/// The loop devices on files below `dir`.
pub fn loop_devices_on(dir: &Path) -> Vec<String> {
    let file_of = |name: &String| fs::read_to_string(format!("/sys/block/{name}/loop/backing_file"));
    names_in("/sys/block")
        .into_iter()
        .filter(|name| file_of(name).is_ok_and(|file| Path::new(&file).starts_with(dir)))
        .collect()
}

/// The control groups of the process `program`, in whatever hierarchy.
pub fn control_groups_of(program: u32) -> Vec<String> {
    let (prefix, mut found, mut open) = (format!("plimsoll-{program}-"), Vec::new(), vec!["/sys/fs/cgroup".to_owned()]);
    while let Some(group) = open.pop() {
        for name in names_in(&group) {
            let path = format!("{group}/{name}");
            if name.starts_with(&prefix) {
                found.push(path);
            } else if fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_dir()) {
                open.push(path);
            }
        }
    }
    found
}

/// The settings of the machine that the process `program` changed and that are not back.
pub fn settings_of(program: u32) -> Vec<String> {
    let changes = fs::read_to_string("/run/plimsoll/system-changes.json").unwrap_or_default();
    changes.contains(&format!("\"process\":{program},")).then_some(changes).into_iter().collect()
}

fn names_in(dir: &str) -> Vec<String> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
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
