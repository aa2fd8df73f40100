//! Places that are not plimsoll's to write to.

use super::failing::on_volume;
use crate::disks::{Disk, done, mounts_in, with_own_mounts};
use crate::lab::{Finished, Lab, NULL};
use std::os::unix::fs::symlink;
use std::path::PathBuf;

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
