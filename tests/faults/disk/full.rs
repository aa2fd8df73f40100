//! Disks that are too small, or become full.

use super::places::{SHORT, SMALL, is_root, refused};
use crate::disks::{Disk, done};
use crate::lab::{Finished, Lab, wait_until};
use std::process::Command;

pub fn is_too_small(lab: &Lab) -> Option<Finished> {
    is_root()?;
    let place = Disk::with(64, "mkfs.ext4", &["-q"]).mount();
    let before = done("df", &["--output=used,iused", place.text()]);
    let words = ["not enough space", "the plan needs", "1 GiB must stay free", "are free"];
    let flags = |more: &[&'static str]| [&["file", "--dir", place.text(), "--quiet"], more, &SHORT].concat();
    refused(lab, &flags(&["--file-size", "200MiB"]), 3, &words);
    let finished = refused(lab, &flags(&["--file-size", "200MiB", "--fs", "xfs"]), 3, &words);
    assert_eq!(done("df", &["--output=used,iused", place.text()]), before, "nothing was written");
    Some(finished)
}

/// plimsoll under a limit on the size of files: a disk that is full, without filling one.
fn with_file_limit(lab: &Lab, kib: u32, arguments: &[&str]) -> Finished {
    let script = format!("ulimit -f {kib} && exec \"$0\" \"$@\"");
    let mut command = Command::new("bash");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_plimsoll")]).args(arguments).current_dir(lab.path());
    command.output().unwrap().into()
}

/// 100,000 rows without indexes take 4 MiB; with three they take more than the limit.
pub fn is_full_in_the_second_point(lab: &Lab) -> Option<Finished> {
    let load = ["insert", "--step", "l.i1", "--schema", "iibench-2012", "--rows", "0", "--engine", "sqlite"];
    let ends = ["--indexes", "0,3", "--durability", "none", "--ops-max", "10000", "--time", "300s"];
    let flags = [&load[..], &ends, &["--rows-per-commit", "10", "--json", "--no-report"]].concat();
    let finished = with_file_limit(lab, 6 << 10, &flags);
    let run = finished.json();
    let points = run["points"].as_array().unwrap();
    assert_eq!((&points[0]["state"], &points[1]["state"]), (&"complete".into(), &"failed".into()));
    assert!(points[1]["ops"].as_u64().unwrap() > 0, "what was measured is kept");
    assert_eq!(points[1]["validity"], "invalid");
    assert_eq!(lab.left_behind(), Vec::<String>::new());
    Some(finished)
}

pub fn is_filled_by_others(lab: &Lab) -> Option<Finished> {
    is_root()?;
    let place = Disk::with(1600, "mkfs.ext4", &["-q"]).mount();
    let load = ["insert", "--step", "l.i1", "--rows", "0", "--rows-per-commit", "1", "--rate", "500", "--time", "60s"];
    let site = ["--engine", "sqlite", "--durability", "none", "--dir", place.text()];
    let mut child =
        lab.command(&[&load[..], &site, &["--interval", "50ms", "--no-report", "--json"]].concat()).spawn().unwrap();
    lab.wait_for_load(&mut child, 3);
    done("fallocate", &["--length", "500MiB", place.path().join("theirs").to_str().unwrap()]);
    let finished: Finished = child.wait_with_output().unwrap().into();
    let point = &finished.json()["points"][0];
    assert_eq!(point["state"], "partial", "{}", finished.stderr);
    assert!(point["ops"].as_u64().unwrap() > 0);
    let left: Vec<_> = std::fs::read_dir(place.path()).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert!(left.iter().all(|name| name == "theirs" || name == "lost+found"), "{left:?}");
    Some(finished)
}

pub fn has_no_inodes(lab: &Lab) -> Option<Finished> {
    is_root()?;
    let place = Disk::with(2100, "mkfs.ext4", &["-q", "-N", "16"]).mount();
    (0..10_000).take_while(|nth| std::fs::write(place.path().join(format!("theirs{nth}")), b"").is_ok()).count();
    Some(lab.run(&[&["file", "--dir", place.text(), "--quiet"], &SMALL[..], &SHORT].concat()))
}

/// A file system of 2 MiB for the run files. The run file that is left is copied to where the others are.
pub fn is_full_of_runs(lab: &Lab) -> Option<Finished> {
    is_root()?;
    let runs = lab.path().join("small");
    std::fs::create_dir(&runs).unwrap();
    done("mount", &["-t", "tmpfs", "-o", "size=2m", "plimsoll-test", runs.to_str().unwrap()]);
    let load = ["file", "--engine", "null", "--service", "1ms", "--clients", "4", "--time", "120s"];
    let finished = lab.run(&[&load[..], &["--interval", "10ms", "--runs", "small"]].concat());
    let table = finished.stdout.clone();
    std::fs::create_dir(lab.path().join("plimsoll-runs")).unwrap();
    for entry in std::fs::read_dir(&runs).unwrap().flatten().filter(|entry| entry.path().is_file()) {
        std::fs::copy(entry.path(), lab.path().join("plimsoll-runs").join(entry.file_name())).unwrap();
    }
    wait_until("the end of its users", || {
        Command::new("umount").arg(&runs).status().is_ok_and(|status| status.success())
    });
    assert!(table.contains("reads/s"), "the table of what was measured is shown: {table} {}", finished.stderr);
    Some(finished)
}
