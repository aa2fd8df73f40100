//! Writes out what the page cache holds of a file system, so that its device has what was written so far.
//!
//! In: a place on it, and how long to wait. Out: whether it was done. Limits: of the whole file system, with what other processes
//! have written to it; a call that is given up goes on in the kernel.

use rustix::fs::{CWD, Mode, OFlags, fsync, openat, syncfs};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

/// Writes out the file system of `place`, or the block device that it is. False if that failed or took longer than `patience`.
pub fn write_out(place: &Path, patience: Duration) -> bool {
    let opened = openat(CWD, place, OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK, Mode::empty());
    let is_device = place.metadata().is_ok_and(|data| data.file_type().is_block_device());
    opened.is_ok_and(|file| sync_within(file, is_device, patience))
}

/// On a thread of its own: a call that waits for a slow disk cannot be interrupted.
fn sync_within(file: OwnedFd, is_device: bool, patience: Duration) -> bool {
    let (done, answer) = mpsc::channel();
    let sync = move || {
        // A device node is on another file system than the data of the device.
        let synced = if is_device { fsync(&file) } else { syncfs(&file) };
        // Whoever gave up waiting does not listen any more.
        let _ = done.send(synced.is_ok());
    };
    let started = std::thread::Builder::new().name("write-out".into()).spawn(sync);
    started.is_ok() && answer.recv_timeout(patience).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_written_out_and_what_is_not_there_is_not() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("f"), [7; 4096]).unwrap();
        assert!(write_out(dir.path(), Duration::from_secs(600)));
        assert!(!write_out(&dir.path().join("nothing"), Duration::from_secs(600)));
    }
}
