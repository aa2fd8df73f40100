//! One pread, pwrite or fsync at a time.
//!
//! In: open files and a buffer. Out: each operation as one system call. Limits: a call that moves less than asked for
//! counts as failed; it is not continued, because its time would be that of two operations.

use super::buffers::IoBuffers;
use super::errno::LastFailure;
use super::files::OpenFiles;
use super::verifier::{self, Verifier};
use load::Driver;
use model::{IoKind, IoOp, Outcome};
use rustix::fs::{fdatasync, fsync};
use rustix::io::{ReadWriteFlags, pread, pwrite, pwritev2, retry_on_intr};
use std::io::IoSlice;

/// Performs reads, writes and syncs by pread, pwrite and fsync.
pub struct SyncFile {
    files: OpenFiles,
    buffers: IoBuffers,
    verifier: Option<Verifier>,
    failure: LastFailure,
}

impl SyncFile {
    /// The driver of `files` with one block of `buffers`.
    pub fn new(files: OpenFiles, buffers: IoBuffers, verifier: Option<Verifier>) -> Self {
        SyncFile { files, buffers, verifier, failure: LastFailure::default() }
    }
}

impl Driver for SyncFile {
    type Op = IoOp;
    const ENDS_IN_KERNEL: bool = true;

    #[inline]
    fn prepare_op(&mut self, op: &IoOp) {
        verifier::prepare_memory(&mut self.verifier, &mut self.buffers, 0, op);
    }

    #[inline]
    fn execute_op(&mut self, op: &IoOp) -> Outcome {
        let (file, len) = (self.files.file_of(op), op.len.0 as usize);
        let moved = match op.io {
            IoKind::Read => {
                // SAFETY: `block` vouches for `len` bytes; they are initialised and only this driver uses them.
                let into = unsafe { std::slice::from_raw_parts_mut(self.buffers.block(0, len), len) };
                retry_on_intr(|| pread(file, &mut *into, op.at.0))
            }
            IoKind::Write | IoKind::WriteFua => {
                // SAFETY: as above.
                let from = unsafe { std::slice::from_raw_parts(self.buffers.block(0, len), len) };
                let moved = retry_on_intr(|| match op.io {
                    IoKind::WriteFua => pwritev2(file, &[IoSlice::new(from)], op.at.0, ReadWriteFlags::DSYNC),
                    _ => pwrite(file, from, op.at.0),
                });
                if let Ok(bytes) = moved
                    && bytes < len
                {
                    return Outcome::Failed(self.failure.short_write(op, file, &from[bytes..]));
                }
                moved
            }
            IoKind::Fsync => retry_on_intr(|| fsync(file)).map(|()| 0),
            IoKind::Fdatasync => retry_on_intr(|| fdatasync(file)).map(|()| 0),
        };
        match moved {
            Ok(bytes) if bytes == len => Outcome::Ok { bytes: len as u32 },
            Ok(bytes) => Outcome::Failed(self.failure.record_short(op, bytes)),
            Err(errno) => Outcome::Failed(self.failure.record_errno(op, errno.raw_os_error())),
        }
    }

    #[inline]
    fn check_outcome(&mut self, _: &IoOp, outcome: Outcome) -> Outcome {
        verifier::verified_outcome(&self.verifier, &self.buffers, 0, outcome, &mut self.failure)
    }

    fn describe_failure(&self) -> String {
        self.failure.describe(self.files.paths())
    }
}
