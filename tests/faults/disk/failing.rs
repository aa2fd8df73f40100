//! File systems and devices that fail under the load.

use super::places::{SMALL, is_root};
use crate::disks::{Disk, Mounted, done, loops_in, mounts_in};
use crate::fault::signal;
use crate::lab::{CALM, Finished, Lab, assert_runs, wait_until};
use std::process::Child;

/// A long load on a file system of plimsoll's own.
pub fn on_volume(lab: &Lab, fs: &str, more: &[&str]) -> Child {
    let load = ["file", "--fs", fs, "--mode", "rndrw", "--time", "600s", "--interval", "50ms", "--no-report", "--json"];
    lab.command(&[&load, &SMALL[..], more].concat()).spawn().unwrap()
}

/// Nothing of plimsoll's is in the directory, mounted in it or attached to a file in it.
pub fn assert_nothing_left(lab: &Lab) {
    assert_eq!(lab.left_behind(), Vec::<String>::new());
    assert_eq!(mounts_in(lab.path()), Vec::<String>::new());
    // A device clears itself when its last user is gone, which the kernel does a moment after the unmount.
    wait_until("the end of all loop devices", || loops_in(lab.path()).is_empty());
}

/// What a power cut leaves of a file system is what it has sent to its device until then: here to the image below the device.
pub fn under_the_run_file(lab: &Lab) -> Option<Finished> {
    is_root()?;
    let disk = Disk::with(64, "mkfs.ext4", &["-q"]).mount();
    let runs = lab.path().join("plimsoll-runs");
    std::os::unix::fs::symlink(disk.path(), &runs).unwrap();
    let mut child = lab.command(&[CALM, &["--time", "600s"]].concat()).spawn().unwrap();
    // More than what the kernel writes by itself within its 5 s.
    lab.wait_for_load(&mut child, 60);
    // Intervals of 50 ms: those of 2 s may be under way.
    let at_least = lab.intervals(1, "run") - 40;
    let copied = tempfile::tempdir().unwrap();
    let image = copied.path().join("image");
    std::fs::copy(disk.disk().image(), &image).unwrap();
    let after = copied.path().join("after");
    std::fs::create_dir(&after).unwrap();
    done("mount", &["-o", "loop", image.to_str().unwrap(), after.to_str().unwrap()]);
    let name = lab.run_files()[0].file_name().unwrap().to_owned();
    let kept = lab.run(&["export", after.join(name).to_str().unwrap(), "--what", "intervals", "--format", "jsonl"]);
    done("umount", &[after.to_str().unwrap()]);
    assert_eq!(kept.exit, 0, "{}", kept.stderr);
    assert!(kept.stdout.lines().count() as u32 >= at_least, "{} of {at_least}", kept.stdout.lines().count());
    signal(&child, "INT");
    let finished = child.wait_with_output().unwrap().into();
    // The run file is read when the test has ended; the disk has gone then.
    let files: Vec<_> = lab.run_files();
    std::fs::remove_file(&runs).unwrap();
    std::fs::create_dir(&runs).unwrap();
    for file in files {
        std::fs::copy(disk.path().join(file.file_name().unwrap()), &file).unwrap();
    }
    Some(finished)
}

pub fn dies_under_system_calls(lab: &Lab) -> Option<Finished> {
    dies(lab, &["--io", "sync"])
}

pub fn dies_under_completions(lab: &Lab) -> Option<Finished> {
    dies(lab, &["--io", "uring", "--depth", "8"])
}

fn dies(lab: &Lab, io: &[&str]) -> Option<Finished> {
    is_root()?;
    let mut child = on_volume(lab, "xfs", io);
    lab.wait_for_load(&mut child, 3);
    done("xfs_io", &["-x", "-c", "shutdown -f", &mounts_in(lab.path())[0]]);
    let finished: Finished = child.wait_with_output().unwrap().into();
    let run = finished.json();
    let point = &run["points"][0];
    assert_eq!((&point["state"], &point["validity"]), (&"failed".into(), &"invalid".into()), "{}", finished.stderr);
    assert!(point["ops"].as_u64().unwrap() > 0 && point["failed"].as_u64().unwrap() > 0, "{point}");
    assert_nothing_left(lab);
    Some(finished)
}

pub fn is_counted(lab: &Lab) -> Option<Finished> {
    is_root()?;
    let mut child = on_volume(lab, "xfs", &["--io", "uring", "--depth", "4", "--on-error", "count"]);
    lab.wait_for_load(&mut child, 3);
    done("xfs_io", &["-x", "-c", "shutdown -f", &mounts_in(lab.path())[0]]);
    let before = lab.intervals(1, "run");
    lab.wait_for_load(&mut child, before + 30);
    signal(&child, "INT");
    let finished: Finished = child.wait_with_output().unwrap().into();
    let point = &finished.json()["points"][0];
    assert_eq!(point["validity"], "invalid");
    let (ops, failed) = (point["ops"].as_u64().unwrap(), point["failed"].as_u64().unwrap());
    assert!(failed > ops, "a dead file system fails faster than a disk reads: {ops} done, {failed} failed");
    assert_nothing_left(lab);
    Some(finished)
}

/// The image of a loop device is cut to nothing.
pub fn loses_its_device(lab: &Lab) -> Option<Finished> {
    is_root()?;
    let place = Disk::with(1600, "mkfs.ext4", &["-q"]).mount();
    let load =
        ["file", "--mode", "rndrd", "--file-size", "64MiB", "--time", "600s", "--interval", "50ms", "--io", "sync"];
    let mut child =
        lab.command(&[&load[..], &["--dir", place.text(), "--no-report", "--json"]].concat()).spawn().unwrap();
    lab.wait_for_load(&mut child, 3);
    let image = std::fs::read_to_string(format!(
        "/sys/block/{}/loop/backing_file",
        place.disk().node.trim_start_matches("/dev/")
    ));
    std::fs::File::options().write(true).open(image.unwrap().trim()).unwrap().set_len(0).unwrap();
    let finished: Finished = child.wait_with_output().unwrap().into();
    let point = &finished.json()["points"][0];
    assert_eq!((&point["state"], &point["validity"]), (&"failed".into(), &"invalid".into()), "{}", finished.stderr);
    Some(finished)
}

/// The file system of the run files goes without writing what it holds in memory, as if power were lost, in the second point.
pub fn loses_power(lab: &Lab) -> Option<Finished> {
    is_root()?;
    let place = Disk::with(1600, "mkfs.xfs", &["-q"]).mount();
    std::os::unix::fs::symlink(place.path(), lab.path().join("plimsoll-runs")).unwrap();
    let mut child = lab.command(&[CALM, &["--clients", "1,2", "--time", "1500ms"]].concat()).spawn().unwrap();
    wait_until("the second point", || {
        assert_runs(&mut child);
        lab.intervals(2, "run") > 3
    });
    done("xfs_io", &["-x", "-c", "shutdown", place.text()]);
    signal(&child, "KILL");
    child.wait().unwrap();
    // As long as mounts of another process have it, the device is still that of the file system that is gone.
    wait_until("the file system as the disk has it", || {
        done("umount", &[place.text()]);
        done("mount", &[&place.disk().node, place.text()]);
        std::fs::metadata(place.text()).is_ok()
    });
    let runs = lab.path().join("plimsoll-runs");
    std::fs::remove_file(&runs).unwrap();
    done("cp", &["-r", place.text(), runs.to_str().unwrap()]);
    let finished = lab.run(&["show", lab.run_files()[0].to_str().unwrap(), "--json"]);
    assert_eq!(finished.json()["points"][0]["state"], "complete", "{}", finished.stdout);
    Some(finished)
}

/// SQLite says no more than `disk I/O error`; the data cannot be removed, and the next start tries again.
pub fn dies_under_sqlite(lab: &Lab) -> Option<Finished> {
    fails_under_sqlite(lab, "xfs", |place| drop(done("xfs_io", &["-x", "-c", "shutdown -f", place.text()])))
}

/// As after an error of its journal.
pub fn turns_read_only(lab: &Lab) -> Option<Finished> {
    fails_under_sqlite(lab, "ext4", |place| drop(done("mount", &["-o", "remount,abort", place.text()])))
}

fn fails_under_sqlite(lab: &Lab, fs: &str, fail: fn(&Mounted)) -> Option<Finished> {
    is_root()?;
    let place = Disk::with(1600, &format!("mkfs.{fs}"), &["-q"]).mount();
    let load = ["insert", "--engine", "sqlite", "--step", "l.i1", "--rows", "0", "--rows-per-commit", "1"];
    let times =
        ["--rate", "200", "--time", "60s", "--interval", "50ms", "--no-report", "--json", "--dir", place.text()];
    let mut child = lab.command(&[&load[..], &times].concat()).spawn().unwrap();
    lab.wait_for_load(&mut child, 3);
    fail(&place);
    let finished: Finished = child.wait_with_output().unwrap().into();
    let point = &finished.json()["points"][0];
    assert_eq!((&point["state"], &point["validity"]), (&"failed".into(), &"invalid".into()), "{}", finished.stderr);
    assert!(point["ops"].as_u64().unwrap() > 0, "{point}");
    assert!(finished.stderr.contains("plimsoll-data"), "what is left is named: {}", finished.stderr);
    Some(finished)
}

/// A mapped file has no system call that could fail.
pub fn is_cut_off_under_a_mapping(lab: &Lab) -> Option<Finished> {
    let load = ["file", "--io", "mmap", "--direct", "false", "--mode", "rndrd", "--time", "600s", "--interval", "50ms"];
    let mut child = lab.command(&[&load, &SMALL[..], &["--no-report", "--json"]].concat()).spawn().unwrap();
    lab.wait_for_load(&mut child, 3);
    let dir = lab.path().join(lab.left_behind().remove(0));
    let longest =
        std::fs::read_dir(dir).unwrap().flatten().max_by_key(|entry| entry.metadata().unwrap().len()).unwrap();
    std::fs::File::options().write(true).open(longest.path()).unwrap().set_len(4096).unwrap();
    let finished: Finished = child.wait_with_output().unwrap().into();
    let point = &finished.json()["points"][0];
    assert_eq!((&point["state"], &point["validity"]), (&"failed".into(), &"invalid".into()), "{}", finished.stderr);
    assert_eq!(lab.left_behind(), Vec::<String>::new());
    Some(finished)
}
