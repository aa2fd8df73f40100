//! A sure sign that a plimsoll lives: the lock of a directory that it has made.
//!
//! In: a directory. Out: its lock, if no other process has it. Limits: the kernel releases a lock (flock) when its process ends in any way, and
//! a lock counts in all containers of a machine. The number of a process does not: another container may have the same, or see none.

use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The lock of `dir`, until the file is closed; `None` if it is in use, or no directory.
pub fn lock_directory(dir: &Path) -> Option<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = File::from(open(dir, flags, Mode::empty()).ok()?);
    flock(&file, FlockOperation::NonBlockingLockExclusive).ok().map(|()| file)
}

/// The lock of a directory that this process made a moment ago; `None` if another plimsoll was quicker. It may have removed the directory
/// before this lock: then the name leads to another inode, or to none.
pub fn lock_new_directory(dir: &Path) -> Option<File> {
    let locked = lock_directory(dir)?;
    let is_there =
        fs::symlink_metadata(dir).is_ok_and(|meta| locked.metadata().is_ok_and(|own| own.ino() == meta.ino()));
    is_there.then_some(locked)
}
