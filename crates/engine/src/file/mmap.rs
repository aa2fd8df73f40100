//! Copies from and to a mapping of each file: no system call for an operation, the page cache does what I/O there is.
//!
//! In: open files, mapped once for all clients. Out: each operation as one copy. Limits: a write is done when it is in memory;
//! it reaches the device when the kernel likes, or with a sync. If a file is cut off under its mapping or its device fails, the
//! kernel sends SIGBUS instead of an error. Then the operation fails, and so does every later one on the same file: what its mapping
//! holds is no longer known. Before a trial begins, files that are too short are refused.

use super::buffers::IoBuffers;
use super::errno::LastFailure;
use super::files::{FileOpening, FilePaths, OpenFiles, open_one};
use super::verifier::{self, Verifier};
use host::error::{IoContext, TargetError};
use load::Driver;
use model::{Bytes, IoKind, IoOp, Outcome};
use rustix::fs::{fdatasync, fsync};
use rustix::io::{Errno, retry_on_intr};
use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};
use std::path::Path;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering::Relaxed, Ordering::SeqCst, compiler_fence};
use std::sync::{Arc, Once};

/// The mappings of all files, shared by all clients.
pub type FileMappings = Arc<[FileMapping]>;

/// A file in memory.
pub struct FileMapping {
    start: *mut u8,
    len: usize,
    /// The size of a page.
    page: usize,
    /// Whether a page could not be read or written.
    is_broken: AtomicBool,
}

// SAFETY: the memory is that of a file, which any process may change at any time; no reference into it is held, and bytes are
// only ever copied.
unsafe impl Send for FileMapping {}
// SAFETY: as above.
unsafe impl Sync for FileMapping {}

/// Maps the first `each` of the files at `paths`, which have been found to be that long.
pub fn map_all(paths: &FilePaths, each: Bytes, opening: FileOpening) -> Result<FileMappings, TargetError> {
    catch_sigbus();
    paths.iter().map(|path| FileMapping::new(path, each, opening)).collect()
}

impl FileMapping {
    fn new(path: &Path, length: Bytes, opening: FileOpening) -> Result<FileMapping, TargetError> {
        let (file, len) = (open_one(path, opening)?, length.0 as usize);
        let access = if opening.writes { ProtFlags::READ | ProtFlags::WRITE } else { ProtFlags::READ };
        // SAFETY: a new mapping at a place of the kernel's choice replaces nothing.
        let start = unsafe { mmap(null_mut(), len, access, MapFlags::SHARED, &file, 0) }.trying("map", path)?;
        let (page, is_broken) = (rustix::param::page_size(), AtomicBool::new(false));
        Ok(FileMapping { start: start.cast(), len, page, is_broken })
    }

    /// Puts an empty page in the place of the one at the address `at`, which cannot be read or written, so that the copy can end. False if
    /// the address is not in this mapping. It only makes system calls.
    fn replace_page(&self, at: usize) -> bool {
        let offset = at.wrapping_sub(self.start.addr());
        if offset >= self.len {
            return false;
        }
        // Before the page is there, so that no other thread takes what it reads from it for the file's.
        self.is_broken.store(true, SeqCst);
        let start = self.start.wrapping_add(offset / self.page * self.page);
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the page is one of this mapping, of which no reference is held.
        unsafe { mmap_anonymous(start.cast(), self.page, access, MapFlags::PRIVATE | MapFlags::FIXED) }.is_ok()
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

    /// Copies `len` bytes from or to `mapping`.
    #[inline]
    fn copy_bytes(mapping: &FileMapping, from: *const u8, into: *mut u8, len: usize) -> Result<(), Errno> {
        IN_COPY.with(|in_copy| in_copy.store(std::ptr::from_ref(mapping).cast_mut(), Relaxed));
        compiler_fence(SeqCst);
        // SAFETY: both sides hold `len` bytes, as `FileMapping::address_of` and `IoBuffers::block` vouch for, and are different memory.
        // Another client may write the same block at the same time, as with pwrite; the bytes mean nothing to us.
        unsafe { libc::memcpy(into.cast(), from.cast(), len) };
        compiler_fence(SeqCst);
        IN_COPY.with(|in_copy| in_copy.store(null_mut(), Relaxed));
        if mapping.is_broken.load(Relaxed) { Err(Errno::IO) } else { Ok(()) }
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
                let copied = Self::copy_bytes(mapping, mapping.address_of(op), into, len);
                std::hint::black_box(into); // a compiler may leave out a copy that is not read
                copied
            }
            IoKind::Write => Self::copy_bytes(mapping, self.buffers.block(0, len), mapping.address_of(op), len),
            IoKind::WriteFua => {
                let copied = Self::copy_bytes(mapping, self.buffers.block(0, len), mapping.address_of(op), len);
                copied.and_then(|()| retry_on_intr(|| fdatasync(self.files.file_of(op))))
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

thread_local! {
    /// The mapping that this thread copies from or to.
    static IN_COPY: AtomicPtr<FileMapping> = const { AtomicPtr::new(null_mut()) };
}

/// From now on a SIGBUS fails the copy that it interrupts. Any other ends the process as before.
fn catch_sigbus() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: a zeroed sigaction is a valid one; the handler calls nothing that is not async-signal-safe.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction =
                on_sigbus as extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) as usize;
            action.sa_flags = libc::SA_ONSTACK | libc::SA_SIGINFO;
            libc::sigaction(libc::SIGBUS, &action, null_mut());
        }
    });
}

/// The value of the thread's variable needs neither memory nor a destructor, so that a handler may read it.
extern "C" fn on_sigbus(signal: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel gives a handler with SA_SIGINFO what it knows of the signal.
    let at = unsafe { (*info).si_addr() }.addr();
    let mapping = IN_COPY.with(|in_copy| in_copy.load(Relaxed));
    // SAFETY: a thread that copies holds its mapping alive.
    let is_mended = unsafe { mapping.as_ref() }.is_some_and(|mapping| mapping.replace_page(at));
    if !is_mended {
        // The access is made again when this returns, and then ends the process.
        // SAFETY: `signal` is async-signal-safe.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}
