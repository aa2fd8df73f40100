//! Limits that plimsoll itself holds a server to: what the server gets is the limit, and nothing of it stays.
//!
//! In: a private server on a file system of its own. Out: reads and memory at their limits, groups and rules that are gone.
//! Limits: needs root, cgroup v1 and MariaDB; elsewhere each test says so on stderr and passes there only.

use crate::disks::with_own_mounts;
use crate::lab::{Finished, Lab, assert_runs, is_so, one_of, wait_until};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

const BLKIO: &str = "/sys/fs/cgroup/blkio";

/// The tests of this file one at a time, because they look at what is left; `None` where nothing can be limited here.
fn possible(lab: &Lab) -> Option<MutexGuard<'static, ()>> {
    static ALONE: Mutex<()> = Mutex::new(());
    let groups = Path::new(BLKIO).exists() && Path::new("/sys/fs/cgroup/memory").exists();
    let engines = lab.json(&["engines"]);
    let is_here = |entry: &Value| entry["engine"] == "mariadb:innodb" && entry["version"].is_string();
    let server = engines["engines"].as_array().unwrap().iter().any(is_here);
    if rustix::process::geteuid().is_root() && groups && server {
        return Some(ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
    }
    eprintln!("skipped: limits need root, cgroup v1 with blkio and memory, and MariaDB");
    None
}

/// A load of point selects on more data than InnoDB may cache, on a file system of its own.
const LARGER_THAN_CACHE: [&str; 18] = [
    "oltp",
    "--engine",
    "mariadb",
    "--mix",
    "point_select",
    "--table-rows",
    "60000",
    "--cache",
    "6MiB",
    "--clients",
    "8",
    "--fs",
    "ext4",
    "--durability",
    "none",
    "--memory-limit",
    "256MiB",
    "--no-report",
];

#[test]
fn a_server_on_a_device_of_its_own_gets_the_reads_it_may_have_and_the_memory() {
    let lab = Lab::new();
    let Some(_alone) = possible(&lab) else { return };
    // Others on the disk can take away what is not held back.
    let (run, pid) = one_of(3, || free_and_held(&lab));
    let params = &run["points"][1]["params"];
    assert_eq!((&params["storage_limit"], &params["memory_limit"]), (&"iops=300".into(), &(256 << 20).into()));
    let facts = facts(&lab, 1);
    let fact = |name: &str| facts.iter().find(|fact| fact["name"] == name).map(|fact| fact["value"].as_str().unwrap());
    assert_eq!((fact("limit.storage"), fact("limit.storage_holds")), (Some("iops=300"), Some("all")));
    assert_eq!(fact("limit.memory_bytes"), Some("268435456"));
    let peak: u64 = fact("limit.memory_peak_bytes").unwrap().parse().unwrap();
    assert!((6 << 20..=256 << 20).contains(&peak), "{peak}");
    assert_eq!((lab.left_behind(), groups_left(pid)), (vec![], vec![]));
}

/// Reads without a limit and with one, and the process that measured them.
fn free_and_held(lab: &Lab) -> Result<(Value, u32), String> {
    let limits = ["--storage-limit", "none,iops=300", "--time", "3s", "--interval", "500ms", "--json", "--quiet"];
    let child = lab.command(&[&LARGER_THAN_CACHE[..], &limits].concat()).spawn().unwrap();
    let pid = child.id();
    let finished: Finished = child.wait_with_output().unwrap().into();
    assert_eq!((finished.exit, finished.stderr.as_str()), (0, ""));
    let run = finished.json();
    let reads_per_s = |nth: usize| {
        let point = &run["points"][nth];
        Some(point["cost"]["read_bytes_per_op"].as_f64()? * point["ops_per_s"].as_f64()? / 16384.0)
    };
    let (Some(free), Some(held)) = (reads_per_s(0), reads_per_s(1)) else { return Err(format!("no reads: {run}")) };
    println!("{free:.0} reads of pages a second, and {held:.0} of 300");
    // The limit is enforced in slices of 100 ms, so that a short run may hold one more.
    assert!(held <= 335.0, "{held} reads a second of 300");
    is_so(held >= 1.0 && free > 2.0 * held, || format!("{free} without a limit, {held} of 300"))?;
    Ok((run, pid))
}

#[test]
fn limits_of_a_plimsoll_that_was_killed_are_lifted_by_the_next() {
    let lab = Lab::new();
    let Some(_alone) = possible(&lab) else { return };
    with_own_mounts(|| kill_limited_and_start_again(&lab));
}

fn kill_limited_and_start_again(lab: &Lab) {
    let limited = ["--storage-limit", "iops=4321", "--time", "600s"];
    let mut child = lab.command(&[&LARGER_THAN_CACHE[..], &limited].concat()).spawn().unwrap();
    let rules = || fs::read_to_string(Path::new(BLKIO).join("blkio.throttle.write_iops_device")).unwrap();
    wait_until("the rule", || {
        assert_runs(&mut child);
        rules().contains(" 4321")
    });
    let own = child.id();
    let is_there = || !groups_left(own).is_empty();
    assert!(is_there());
    child.kill().unwrap();
    child.wait().unwrap();
    let next = ["oltp", "--engine", "sqlite", "--table-rows", "10", "--time", "100ms", "--no-report"];
    let next = lab.run(&next);
    // What it says is not looked at: any other start may have been faster.
    assert_eq!((next.exit, is_there()), (0, false), "{}", next.stderr);
    assert!(!rules().contains(" 4321"), "{}", rules());
    assert_eq!(lab.left_behind(), Vec::<String>::new());
}

/// The facts of a point of the newest run.
fn facts(lab: &Lab, nth: usize) -> Vec<Value> {
    let file = lab.run_files().pop().unwrap();
    let run = rusqlite::Connection::open(file).unwrap();
    let text: String =
        run.query_row("SELECT facts FROM point WHERE id = ?1", [nth as i64 + 1], |row| row.get(0)).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Groups of plimsoll's own that the process made.
fn groups_left(pid: u32) -> Vec<String> {
    let own = format!("plimsoll-{pid}-");
    let mut waiting = vec![PathBuf::from("/sys/fs/cgroup")];
    let mut found = Vec::new();
    while let Some(dir) = waiting.pop() {
        for entry in fs::read_dir(dir).into_iter().flatten().flatten().filter(|entry| entry.path().is_dir()) {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with(&own) { found.push(name) } else { waiting.push(entry.path()) }
        }
    }
    found
}
