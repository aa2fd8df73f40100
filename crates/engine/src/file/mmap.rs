//! Copies from and to a mapping of each file: no system call for an operation, the page cache does what I/O there is.
//!
//! In: open files, mapped once for all clients. Out: each operation as one copy. Limits: a write is done when it is in memory;
//! it reaches the device when the kernel likes, or with a sync. There is no error to return: if a file is cut off under its
//! mapping or its device fails, the kernel sends SIGBUS. plimsoll then prints a message and ends with the exit code of a target that
//! failed; what was recorded is kept. Before a trial begins, files that are too short are refused.

use super::buffers::IoBuffers;
use super::errno::LastFailure;
use super::files::{FileOpening, FilePaths, OpenFiles, open_one};
use super::verifier::{self, Verifier};
use host::error::{IoContext, TargetError};
use load::Driver;
use model::{Bytes, IoKind, IoOp, Outcome};
use rustix::fs::{fdatasync, fsync};
use rustix::io::retry_on_intr;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::path::Path;
use std::ptr::null_mut;
use std::sync::{Arc, Once};

/// The mappings of all files, shared by all clients.
pub type FileMappings = Arc<[FileMapping]>;

/// A file in memory.
pub struct FileMapping {
    start: *mut u8,
    len: usize,
}

// SAFETY: the memory is that of a file, which any process may change at any time; no reference into it is held, and bytes are
// only ever copied.
unsafe impl Send for FileMapping {}
// SAFETY: as above.
unsafe impl Sync for FileMapping {}

/// Maps the first `each` of the files at `paths`, which have been found to be that long.
pub fn map_all(paths: &FilePaths, each: Bytes, opening: FileOpening) -> Result<FileMappings, TargetError> {
    explain_sigbus();
    paths.iter().map(|path| FileMapping::new(path, each, opening)).collect()
}

impl FileMapping {
    fn new(path: &Path, length: Bytes, opening: FileOpening) -> Result<FileMapping, TargetError> {
        let (file, len) = (open_one(path, opening)?, length.0 as usize);
        let access = if opening.writes { ProtFlags::READ | ProtFlags::WRITE } else { ProtFlags::READ };
        // SAFETY: a new mapping at a place of the kernel's choice replaces nothing.
        let start = unsafe { mmap(null_mut(), len, access, MapFlags::SHARED, &file, 0) }.trying("map", path)?;
        Ok(FileMapping { start: start.cast(), len })
    }

    /// The first of the bytes that `op` moves.
    #[inline]
    fn address_of(&self, op: &IoOp) -> *mut u8 {
        let (at, len) = (op.at.0 as usize, op.len.0 as usize);
        // An assertion also in release builds: beyond the mapping is foreign memory.
        assert!(at <= self.len && len <= self.len - at, "an operation lies within its file");
        self.start.wrapping_add(at)
    }
}

impl Drop for FileMapping {
    fn drop(&mut self) {
        // SAFETY: mapped in `new` with this length; the drivers that use it hold it alive.
        let _ = unsafe { munmap(self.start.cast(), self.len) };
    }
}

/// Performs reads and writes by copying, and syncs by fsync.
pub struct MmapFile {
    mapped: FileMappings,
    files: OpenFiles,
    buffers: IoBuffers,
    verifier: Option<Verifier>,
    failure: LastFailure,
}

impl MmapFile {
    /// The driver of `files`, which are `mapped`, with one block of `buffers`.
    pub fn new(mapped: FileMappings, files: OpenFiles, buffers: IoBuffers, verifier: Option<Verifier>) -> Self {
        MmapFile { mapped, files, buffers, verifier, failure: LastFailure::default() }
    }

    #[inline]
    fn copy_bytes(from: *const u8, into: *mut u8, len: usize) {
        // SAFETY: both sides hold `len` bytes, as `FileMapping::address_of` and `IoBuffers::block` vouch for, and are different memory.
        // Another client may write the same block at the same time, as with pwrite; the bytes mean nothing to us.
        unsafe { libc::memcpy(into.cast(), from.cast(), len) };
    }
}

impl Driver for MmapFile {
    type Op = IoOp;

    #[inline]
    fn prepare_op(&mut self, op: &IoOp) {
        verifier::prepare_memory(&mut self.verifier, &mut self.buffers, 0, op);
    }

    #[inline]
    fn execute_op(&mut self, op: &IoOp) -> Outcome {
        let (mapping, len) = (&self.mapped[op.file as usize], op.len.0 as usize);
        let synced = match op.io {
            IoKind::Read => {
                let into = self.buffers.block(0, len);
                Self::copy_bytes(mapping.address_of(op), into, len);
                std::hint::black_box(into); // a compiler may leave out a copy that is not read
                Ok(())
            }
            IoKind::Write => {
                Self::copy_bytes(self.buffers.block(0, len), mapping.address_of(op), len);
                Ok(())
            }
            IoKind::WriteFua => {
                Self::copy_bytes(self.buffers.block(0, len), mapping.address_of(op), len);
                retry_on_intr(|| fdatasync(self.files.file_of(op)))
            }
            // A sync of the file covers the pages that were changed through a mapping.
            IoKind::Fsync => retry_on_intr(|| fsync(self.files.file_of(op))),
            IoKind::Fdatasync => retry_on_intr(|| fdatasync(self.files.file_of(op))),
        };
        match synced {
            Ok(()) => Outcome::Ok { bytes: len as u32 },
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

/// The exit code of a target that failed, with what was measured kept.
const EXIT_TARGET_FAILED: i32 = 4;

/// From now on a SIGBUS ends the process with a word of explanation instead of none.
fn explain_sigbus() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: a zeroed sigaction is a valid one; the handler calls nothing that is not async-signal-safe.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_sigbus as extern "C" fn(libc::c_int) as usize;
            action.sa_flags = libc::SA_ONSTACK;
            libc::sigaction(libc::SIGBUS, &action, null_mut());
        }
    });
}

extern "C" fn on_sigbus(_: libc::c_int) {
    const TEXT: &[u8] =
        b"plimsoll: a mapped file was cut off or its device failed (SIGBUS); what was recorded is kept; \
        measure with io = `sync` to have such failures counted\n";
    // SAFETY: write and _exit are async-signal-safe; the text lives for ever.
    unsafe {
        libc::write(libc::STDERR_FILENO, TEXT.as_ptr().cast(), TEXT.len());
        libc::_exit(EXIT_TARGET_FAILED);
    }
}
