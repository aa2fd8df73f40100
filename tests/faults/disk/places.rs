//! Places that are not plimsoll's to write to.

use super::failing::on_volume;
use crate::disks::{Disk, done, mounts_in, with_own_mounts};
use crate::lab::{CALM, Finished, Lab, NULL, wait_until};
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

pub const SHORT: [&str; 5] = ["--time", "300ms", "--interval", "30ms", "--no-report"];
pub const SMALL: [&str; 2] = ["--file-size", "32MiB"];

/// `None` if this is not root: only root makes disks.
pub fn is_root() -> Option<()> {
    rustix::process::geteuid().is_root().then_some(())
}

/// Runs `arguments`, which must be refused with `exit` and one line that has all of `words`.
pub fn refused(lab: &Lab, arguments: &[&str], exit: i32, words: &[&str]) -> Finished {
    let finished = lab.run(arguments);
    assert_eq!(finished.exit, exit, "{arguments:?}: {}", finished.stderr);
    assert_eq!((finished.stderr.lines().count(), finished.stdout.as_str()), (1, ""), "{}", finished.stderr);
    for word in words {
        assert!(finished.stderr.contains(word), "{arguments:?}: `{word}` is not in: {}", finished.stderr);
    }
    finished
}

pub fn is_not_plimsolls(lab: &Lab) -> Option<Finished> {
    std::fs::create_dir(lab.path().join("real")).unwrap();
    symlink("real", lab.path().join("link")).unwrap();
    std::fs::write(lab.path().join("thesis"), "years of work").unwrap();
    refused(lab, &["quick", "link", "--quiet"], 3, &["`link`", "symlink"]);
    refused(lab, &["quick", "/dev/null", "--quiet"], 3, &["`/dev/null`", "device"]);
    refused(lab, &["quick", "thesis", "--quiet"], 3, &["`thesis`", "a file"]);
    refused(lab, &["quick", "nowhere", "--quiet"], 3, &["`nowhere` does not exist", "choose another directory"]);
    refused(lab, &["file", "--file-size", "900TiB", "--quiet"], 3, &["not enough space", "900 TiB"]);
    let write = ["file", "--mode", "rndwr", "--file-size", "4KiB", "--block", "4KiB", "--quiet", "--path", "thesis"];
    let finished = refused(lab, &write, 3, &["`thesis`", "not made by plimsoll"]);
    assert_eq!(std::fs::read(lab.path().join("thesis")).unwrap(), b"years of work");
    let nothing = ["file", "--path", "/dev/null", "--direct", "false", "--mode", "rndwr", "--quiet"];
    refused(lab, &nothing, 3, &["`/dev/null` is the null device", "--destroy /dev/null=null"]);
    assert_eq!(std::fs::read_dir(lab.path().join("real")).unwrap().count(), 0);
    Some(finished)
}

/// In a directory such as `/tmp` anybody can make such a link before root starts plimsoll.
pub fn is_a_link_of_others(lab: &Lab) -> Option<Finished> {
    is_root()?;
    let theirs = tempfile::tempdir().unwrap();
    let link = lab.path().join("plimsoll-runs");
    symlink(theirs.path(), &link).unwrap();
    done("chown", &["--no-dereference", "nobody", link.to_str().unwrap()]);
    let finished = lab.run(&[NULL, &["--time", "100ms"]].concat());
    assert_eq!(std::fs::read_dir(theirs.path()).unwrap().count(), 0);
    Some(finished)
}

pub fn was_written_since(lab: &Lab) -> Option<Finished> {
    let load =
        ["file", "--path", "f0", "--mode", "rndwr", "--file-size", "1MiB", "--time", "300ms", "--no-report", "--quiet"];
    for time in 1..=2 {
        assert_eq!(lab.run(&load).exit, 0, "time {time}: it is plimsoll's");
    }
    let work = vec![b'w'; 1 << 20];
    let mut file = std::fs::File::options().write(true).open(lab.path().join("f0")).unwrap();
    file.write_all(&work).unwrap();
    let finished = lab.run(&load);
    assert_eq!(std::fs::read(lab.path().join("f0")).unwrap(), work);
    Some(finished)
}

/// The script that makes the files of MariaDB cuts what it is given.
pub fn has_a_blank(lab: &Lab) -> Option<Finished> {
    std::process::Command::new("mariadbd").arg("--version").output().ok()?;
    let neighbour = lab.path().join("a");
    std::fs::create_dir(&neighbour).unwrap();
    done("chmod", &["0777", neighbour.to_str().unwrap()]);
    let mut last = None;
    for name in ["a b", "a\nb"] {
        std::fs::create_dir(lab.path().join(name)).unwrap();
        let load =
            ["oltp", "--engine", "mariadb", "--table-rows", "100", "--time", "300ms", "--no-report", "--dir", name];
        let finished = lab.run(&load);
        assert_eq!(finished.exit, 0, "{name:?}: {}", finished.stderr);
        assert_eq!(std::fs::read_dir(&neighbour).unwrap().count(), 0, "{name:?}");
        last = Some(finished);
    }
    last
}

pub fn is_moved(lab: &Lab) -> Option<Finished> {
    let finished = without_its_runs(lab, |runs| std::fs::rename(runs, lab.path().join("moved")).unwrap());
    let moved: Vec<_> = std::fs::read_dir(lab.path().join("moved")).unwrap().flatten().collect();
    let run = moved.iter().map(|entry| entry.path()).find(|path| path.extension().is_some_and(|end| end == "plimsoll"));
    let exported = lab.run(&["export", run?.to_str().unwrap(), "--what", "intervals", "--format", "jsonl"]);
    assert!(exported.exit == 0 && exported.stdout.lines().count() >= 3, "{}", exported.stderr);
    Some(finished)
}

pub fn is_removed(lab: &Lab) -> Option<Finished> {
    Some(without_its_runs(lab, |runs| std::fs::remove_dir_all(runs).unwrap()))
}

/// A load under which `take` takes the directory of run files away.
fn without_its_runs(lab: &Lab, take: impl FnOnce(&Path)) -> Finished {
    let mut child = lab.command(&[CALM, &["--time", "600s"]].concat()).spawn().unwrap();
    lab.wait_for_load(&mut child, 3);
    take(&lab.path().join("plimsoll-runs"));
    wait_until("the end", || child.try_wait().unwrap().is_some());
    child.wait_with_output().unwrap().into()
}

pub fn has_a_mount_of_others(lab: &Lab) -> Option<Finished> {
    is_root()?;
    Some(with_own_mounts(|| over_a_volume(lab)))
}

fn over_a_volume(lab: &Lab) -> Finished {
    let mut child = on_volume(lab, "ext4", &[]);
    lab.wait_for_load(&mut child, 3);
    child.kill().unwrap();
    child.wait().unwrap();
    let at = mounts_in(lab.path()).remove(0);
    let theirs = Disk::with(64, "mkfs.ext4", &["-q"]);
    // Lazily: the kernel may still be ending what the killed process had under way.
    done("umount", &["--lazy", &at]);
    done("mount", &[&theirs.node, &at]);
    std::fs::write(PathBuf::from(&at).join("thesis"), "years of work").unwrap();
    let next = lab.run(&[NULL, &["--time", "100ms", "--runs", "next"]].concat());
    assert_eq!(std::fs::read_to_string(PathBuf::from(&at).join("thesis")).unwrap(), "years of work");
    done("umount", &[&at]);
    assert_eq!(lab.run(&[NULL, &["--time", "100ms", "--runs", "next"]].concat()).exit, 0);
    assert_eq!(lab.left_behind(), ["next"]);
    next
}
