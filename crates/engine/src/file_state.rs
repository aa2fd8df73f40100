//! By what it is seen that a file was changed.
//!
//! In: what the file system knows of a file. Out: a value that differs after a change. Limits: a change that keeps size, time and number of the
//! file is not seen.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

/// What a file was at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileState {
    device: u64,
    inode: u64,
    /// Its length in bytes.
    pub(crate) bytes: u64,
    modified_ns: i128,
}

impl FileState {
    /// The state of the file that `file` is of.
    pub(crate) fn of(file: &Metadata) -> FileState {
        let modified_ns = i128::from(file.mtime()) * 1_000_000_000 + i128::from(file.mtime_nsec());
        FileState { device: file.dev(), inode: file.ino(), bytes: file.len(), modified_ns }
    }
}
