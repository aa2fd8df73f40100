//! Space on the disk that is kept for the last rows of a run file.
//!
//! In: the path of a run file. Out: a file without a name in the same directory, whose space is free again when it is dropped or the process
//! ends in any way. Limits: file systems that have no such files, or cannot allocate, give no reserve.

use rustix::fs::{FallocateFlags, Mode, OFlags, fallocate, open};
use std::os::fd::OwnedFd;
use std::path::Path;

/// A point's end with its error, the end of its phase, and the pages of the tables that they change.
const BYTES: u64 = 64 << 10;

#[derive(Debug)]
pub(crate) struct SpaceReserve {
    _file: OwnedFd,
}

impl SpaceReserve {
    /// Takes it on the file system of the file at `path`.
    pub fn take(path: &Path) -> Option<SpaceReserve> {
        let file =
            open(model::folder_of(path), OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC, Mode::from_raw_mode(0o600))
                .ok()?;
        fallocate(&file, FallocateFlags::empty(), 0, BYTES).ok()?;
        Some(SpaceReserve { _file: file })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reserve_has_no_name() {
        let dir = tempfile::tempdir().unwrap();
        let reserve = SpaceReserve::take(&dir.path().join("run.plimsoll"));
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        drop(reserve);
        assert!(SpaceReserve::take(&dir.path().join("absent/run.plimsoll")).is_none());
    }
}
