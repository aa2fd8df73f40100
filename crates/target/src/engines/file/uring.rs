//! Many operations under way on one thread, by io_uring.
//!
//! In: open files and one buffer per slot. Out: operations submitted and completed in batches, one system call for both.
//! Limits: Linux 5.11 and later; what newer kernels offer (registered buffers, one issuer, deferred task work) is probed once
//! per instance and used where it works.

use super::super::errno::LastFailure;
use super::buffers::Buffers;
use super::files::Files;
use crate::error::TargetError;
use io_uring::{IoUring, opcode, squeue, types};
use load::{BatchDriver, Done};
use model::{Bytes, Fact, FailureClass, IoKind, IoOp, Nanos, Outcome};
use std::fs::File;
use std::os::fd::{AsRawFd, RawFd};

/// What io_uring can do here.
#[derive(Clone, Copy, Debug)]
pub struct RingAbilities {
    /// Buffers may be pinned once instead of at every operation.
    registered_buffers: bool,
    /// Completions are processed when the client asks, not in interrupts of its other work.
    deferred: bool,
}

impl RingAbilities {
    /// Tries on a small ring, with as much memory as `blocks` blocks of all clients will need.
    ///
    /// # Errors
    /// Where the kernel has no io_uring for this process, or one that cannot wait with a timeout.
    pub fn probe(blocks: u32, block: Bytes) -> Result<RingAbilities, TargetError> {
        let unusable = |error: std::io::Error| {
            TargetError::Unsupported(format!(
                "io_uring cannot be used here: {error} (see `sysctl kernel.io_uring_disabled` or the container's seccomp \
                 profile); use io = `sync`"
            ))
        };
        let deferred = build(8, true).is_ok();
        let ring = build(8, deferred).map_err(unusable)?;
        if !ring.params().is_feature_ext_arg() {
            return Err(unusable(std::io::Error::other("the kernel is older than Linux 5.11")));
        }
        let registered_buffers = register(&ring, &Buffers::zeroed(blocks, block)).is_ok();
        Ok(RingAbilities { registered_buffers, deferred })
    }

    /// What a reader of the run wants to know.
    pub fn facts(&self) -> [Fact; 2] {
        [
            Fact::new("uring.registered_buffers", self.registered_buffers.to_string()),
            Fact::new("uring.deferred_taskrun", self.deferred.to_string()),
        ]
    }
}

fn build(entries: u32, deferred: bool) -> std::io::Result<IoUring> {
    let mut builder = IoUring::builder();
    if deferred {
        builder.setup_single_issuer().setup_defer_taskrun();
    }
    builder.build(entries)
}

/// The most memory that the kernel takes as one registered buffer.
const REGISTERED_MAX: usize = 1 << 30;

fn register(ring: &IoUring, buffers: &Buffers) -> std::io::Result<()> {
    let (start, len) = buffers.all();
    let piece = |at| libc::iovec { iov_base: start.wrapping_add(at).cast(), iov_len: REGISTERED_MAX.min(len - at) };
    let pieces: Vec<libc::iovec> = (0..len).step_by(REGISTERED_MAX).map(piece).collect();
    // SAFETY: the kernel holds the pages from here on, so that not even freed memory would be written to by mistake; the
    // pieces lie within one allocation.
    unsafe { ring.submitter().register_buffers(&pieces) }
}

/// Performs reads, writes and syncs by io_uring.
pub struct UringFile {
    /// Made on the client's own thread: with one issuer, the maker is the only user. Dropped before the buffers.
    ring: Option<IoUring>,
    buffers: Option<Buffers>,
    registered: bool,
    files: Files,
    abilities: RingAbilities,
    /// The operation in each slot; `None` where nothing is under way.
    under_way: Vec<Option<IoOp>>,
    queued: Vec<squeue::Entry>,
    failure: LastFailure,
    broken: Option<String>,
}

impl UringFile {
    /// The driver of `files` with as many slots as `buffers` has blocks.
    pub fn new(files: Files, buffers: Buffers, abilities: RingAbilities) -> Self {
        let depth = buffers.count();
        UringFile {
            ring: None,
            buffers: Some(buffers),
            registered: false,
            files,
            abilities,
            under_way: vec![None; depth as usize],
            queued: Vec::with_capacity(depth as usize),
            failure: LastFailure::default(),
            broken: None,
        }
    }

    /// Takes what is completed.
    fn reap(&mut self, done: &mut Vec<Done>) {
        let ring = self.ring.as_mut().expect("opened before the first operation");
        for entry in ring.completion() {
            let slot = entry.user_data() as u32;
            let op = self.under_way[slot as usize].take().expect("the kernel completes what was submitted");
            let outcome = match entry.result() {
                moved if moved as i64 == op.len.0 as i64 => Outcome::Ok { bytes: op.len.0 as u32 },
                errno if errno < 0 => Outcome::Failed(self.failure.errno(&op, -errno)),
                moved => Outcome::Failed(short(
                    &mut self.failure,
                    &op,
                    self.files.of(&op),
                    &self.buffers,
                    slot,
                    moved as usize,
                )),
            };
            done.push(Done { slot, outcome });
        }
    }

    /// The ring itself failed: everything under way is lost. Its buffers may still be written to and are never freed.
    #[cold]
    fn break_down(&mut self, error: &std::io::Error, done: &mut Vec<Done>) {
        self.broken = Some(format!("io_uring on `{}`: {error}", crate::error::shown(&self.files.paths()[0])));
        std::mem::forget(self.buffers.take());
        for (slot, op) in (0..).zip(&mut self.under_way) {
            if op.take().is_some() {
                done.push(Done { slot, outcome: Outcome::Failed(FailureClass::Other) });
            }
        }
    }
}

/// Why the operation in `slot`, which is no longer under way, moved only `moved` bytes.
#[cold]
fn short(
    failure: &mut LastFailure,
    op: &IoOp,
    file: &File,
    buffers: &Option<Buffers>,
    slot: u32,
    moved: usize,
) -> FailureClass {
    let (IoKind::Write, Some(buffers)) = (op.io, buffers) else { return failure.short(op, moved) };
    let len = op.len.0 as usize;
    // SAFETY: `block` vouches for `len` bytes; they are initialised, and the kernel is done with them.
    let written = unsafe { std::slice::from_raw_parts(buffers.block(slot, len), len) };
    failure.short_write(op, file, &written[moved..])
}

impl BatchDriver for UringFile {
    type Op = IoOp;

    fn depth(&self) -> u32 {
        self.under_way.len() as u32
    }

    fn open(&mut self) -> Result<(), String> {
        let cannot = |error: std::io::Error| format!("cannot set up io_uring: {error}");
        let entries = self.depth().next_power_of_two();
        let ring = build(entries, self.abilities.deferred).map_err(cannot)?;
        let fds: Vec<RawFd> = self.files.all().iter().map(AsRawFd::as_raw_fd).collect();
        ring.submitter().register_files(&fds).map_err(cannot)?;
        // Where the limit of locked memory is too low for all of them, plain buffers do; they cost more and are not wrong.
        self.registered = self.abilities.registered_buffers
            && self.buffers.as_ref().is_some_and(|all| all.all().1 <= REGISTERED_MAX && register(&ring, all).is_ok());
        self.ring = Some(ring);
        Ok(())
    }

    #[inline]
    fn push(&mut self, slot: u32, op: &IoOp) {
        self.under_way[slot as usize] = Some(*op);
        let Some(buffers) = &mut self.buffers else { return };
        let (at, len, fd) = (op.at.0, op.len.0 as u32, types::Fixed(op.file.into()));
        let entry = match (op.io, self.registered) {
            (IoKind::Read, true) => {
                opcode::ReadFixed::new(fd, buffers.block(slot, len as usize), len, 0).offset(at).build()
            }
            (IoKind::Read, false) => opcode::Read::new(fd, buffers.block(slot, len as usize), len).offset(at).build(),
            (IoKind::Write, true) => {
                opcode::WriteFixed::new(fd, buffers.fresh_block(slot, len as usize), len, 0).offset(at).build()
            }
            (IoKind::Write, false) => {
                opcode::Write::new(fd, buffers.fresh_block(slot, len as usize), len).offset(at).build()
            }
            (IoKind::Fsync, _) => opcode::Fsync::new(fd).build(),
            (IoKind::Fdatasync, _) => opcode::Fsync::new(fd).flags(types::FsyncFlags::DATASYNC).build(),
        };
        self.queued.push(entry.user_data(slot.into()));
    }

    #[inline]
    fn submit_and_wait(&mut self, timeout: Nanos, done: &mut Vec<Done>) {
        let (Some(ring), Some(_)) = (&mut self.ring, &self.buffers) else {
            return self.break_down(&std::io::Error::other("the ring is gone"), done);
        };
        // SAFETY: every entry names a registered file and, unless it is a sync, a block of `buffers` that holds its whole
        // length and belongs to its slot alone; the buffers live until the ring is dropped, or are never freed (see `drop` and `break_down`).
        let pushed = unsafe { ring.submission().push_multiple(&self.queued) };
        pushed.expect("the ring has an entry for every slot");
        self.queued.clear();
        let wait = types::Timespec::new().sec(timeout.0 / 1_000_000_000).nsec((timeout.0 % 1_000_000_000) as u32);
        let args = types::SubmitArgs::new().timespec(&wait);
        let entered = ring.submitter().submit_with_args(usize::from(timeout.0 > 0), &args);
        match entered.map_err(|error| (error.raw_os_error(), error)) {
            // Nothing in time, a signal, or the completion queue wants to be emptied first: all are answered by looking.
            Ok(_) | Err((Some(libc::ETIME | libc::EINTR | libc::EBUSY | libc::EAGAIN), _)) => self.reap(done),
            Err((_, error)) => self.break_down(&error, done),
        }
    }

    fn describe_failure(&self) -> String {
        self.broken.clone().unwrap_or_else(|| self.failure.describe(self.files.paths()))
    }
}

impl Drop for UringFile {
    fn drop(&mut self) {
        if self.under_way.iter().any(Option::is_some) {
            std::mem::forget(self.buffers.take()); // the kernel may still write to them
        }
    }
}
