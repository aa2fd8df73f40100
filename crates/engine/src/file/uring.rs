//! Many operations in flight on one thread, by io_uring.
//!
//! In: open files and one buffer per slot. Out: operations submitted and completed in batches, one system call for both.
//! Limits: Linux 5.11 and later; what newer kernels offer (registered buffers, one issuer, deferred task work) is probed once
//! per instance and used if it works.

use super::buffers::{BufferSizes, IoBuffers};
use super::files::OpenFiles;
use super::in_flight::InFlight;
use super::verifier::Verifier;
use super::workers::WorkerTally;
use crate::ring::{RingSetup, submit_and_wait};
use host::error::TargetError;
use io_uring::{IoUring, opcode, types};
use load::{BatchDriver, FinishedOp};
use model::{Fact, IoKind, IoOp, Nanos, Outcome};
use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;

/// What io_uring can do here.
#[derive(Clone, Copy, Debug)]
pub struct RingAbilities {
    /// Buffers may be pinned once instead of at every operation.
    registered_buffers: bool,
    setup: RingSetup,
}

impl RingAbilities {
    /// Tries on a small ring, with as much memory as all clients will need, each of them `room`.
    ///
    /// # Errors
    /// If the kernel has no io_uring for this process, or one that cannot wait with a timeout.
    pub fn probe(clients: u32, room: BufferSizes) -> Result<RingAbilities, TargetError> {
        let setup = RingSetup::probe().map_err(ring_unusable)?;
        let ring = setup.build(8, 16).map_err(ring_unusable)?;
        let registered_buffers =
            register_buffers(&ring, &IoBuffers::zeroed(BufferSizes { depth: clients * room.depth, ..room })).is_ok();
        Ok(RingAbilities { registered_buffers, setup })
    }

    /// What a reader of the run wants to know.
    pub fn facts(&self) -> [Fact; 2] {
        [Fact::new("uring.registered_buffers", self.registered_buffers.to_string()), self.setup.fact()]
    }
}

fn ring_unusable(error: std::io::Error) -> TargetError {
    let see = match error.kind() {
        std::io::ErrorKind::OutOfMemory => "`ulimit -l`, how much memory you may lock",
        _ => "`sysctl kernel.io_uring_disabled` or the container's seccomp profile",
    };
    let why = host::error::system_words(&error);
    TargetError::Unsupported(format!("io_uring cannot be used here: {why} (see {see}); use io = `sync`"))
}

/// The most memory that the kernel takes as one registered buffer.
const REGISTERED_MAX: usize = 1 << 30;

fn register_buffers(ring: &IoUring, buffers: &IoBuffers) -> std::io::Result<()> {
    let (start, len) = buffers.as_region();
    let pieces: Vec<libc::iovec> = (0..len)
        .step_by(REGISTERED_MAX)
        .map(|at| libc::iovec { iov_base: start.wrapping_add(at).cast(), iov_len: REGISTERED_MAX.min(len - at) })
        .collect();
    // SAFETY: the kernel holds the pages from here on, so that not even freed memory would be written to by mistake; the
    // pieces lie within one allocation.
    unsafe { ring.submitter().register_buffers(&pieces) }
}

/// Performs reads, writes and syncs by io_uring.
pub struct UringFile {
    /// Made on the client's own thread: with one issuer, the maker is the only user. Dropped before the slots.
    ring: Option<IoUring>,
    slots: InFlight,
    registered: bool,
    abilities: RingAbilities,
    workers: Arc<WorkerTally>,
}

impl UringFile {
    /// The driver of `files` with as many slots as `buffers` has blocks. At its end it counts the kernel's `workers`.
    pub fn new(
        files: OpenFiles,
        buffers: IoBuffers,
        verifier: Option<Verifier>,
        abilities: RingAbilities,
        workers: Arc<WorkerTally>,
    ) -> Self {
        let slots = InFlight::new(files, buffers, verifier);
        UringFile { ring: None, slots, registered: false, abilities, workers }
    }
}

impl BatchDriver for UringFile {
    type Op = IoOp;

    fn depth(&self) -> u32 {
        self.slots.depth()
    }

    fn open(&mut self) -> Result<(), String> {
        let entries = self.depth().next_power_of_two();
        let ring = self.abilities.setup.build(entries, 2 * entries).map_err(setup_failed)?;
        let fds: Vec<RawFd> = self.slots.files.as_slice().iter().map(AsRawFd::as_raw_fd).collect();
        // Registered files spare each operation the lookup of its descriptor.
        ring.submitter().register_files(&fds).map_err(setup_failed)?;
        // If the limit of locked memory is too low for all of them, plain buffers do; they cost more and are not wrong.
        self.registered = self.abilities.registered_buffers
            && self
                .slots
                .buffers()
                .is_some_and(|all| all.as_region().1 <= REGISTERED_MAX && register_buffers(&ring, all).is_ok());
        self.ring = Some(ring);
        Ok(())
    }

    #[inline]
    fn push_op(&mut self, slot: u32, op: &IoOp) {
        let Some(memory) = self.slots.begin_op(slot, op) else { return };
        let Some(ring) = &mut self.ring else { return };
        let (at, len, fd) = (op.at.0, op.len.0 as u32, types::Fixed(op.file.into()));
        let entry = match (op.io, self.registered) {
            (IoKind::Read, true) => opcode::ReadFixed::new(fd, memory, len, 0).offset(at).build(),
            (IoKind::Read, false) => opcode::Read::new(fd, memory, len).offset(at).build(),
            (IoKind::Write, true) => opcode::WriteFixed::new(fd, memory, len, 0).offset(at).build(),
            (IoKind::Write, false) => opcode::Write::new(fd, memory, len).offset(at).build(),
            (IoKind::WriteFua, true) => {
                opcode::WriteFixed::new(fd, memory, len, 0).offset(at).rw_flags(libc::RWF_DSYNC).build()
            }
            (IoKind::WriteFua, false) => {
                opcode::Write::new(fd, memory, len).offset(at).rw_flags(libc::RWF_DSYNC).build()
            }
            (IoKind::Fsync, _) => opcode::Fsync::new(fd).build(),
            (IoKind::Fdatasync, _) => opcode::Fsync::new(fd).flags(types::FsyncFlags::DATASYNC).build(),
        };
        // SAFETY: the entry names a registered file and, unless it is a sync, a block that holds its length and belongs to
        // its slot alone; the blocks live until the ring is dropped, or are never freed (see `InFlight`).
        let pushed = unsafe { ring.submission().push(&entry.user_data(slot.into())) };
        pushed.expect("the ring has an entry for every slot");
    }

    #[inline]
    fn submit_and_wait(&mut self, timeout: Nanos, done: &mut Vec<FinishedOp>) {
        let Some(ring) = self.ring.as_mut().filter(|_| self.slots.buffers().is_some()) else {
            return self.slots.lose_all("io_uring", &std::io::Error::other("the ring is gone"), done);
        };
        match submit_and_wait(ring, timeout) {
            Ok(()) => {
                for entry in ring.completion() {
                    done.push(self.slots.finish_op(entry.user_data() as u32, entry.result().into()));
                }
            }
            Err(error) => self.slots.lose_all("io_uring", &error, done),
        }
    }

    #[inline]
    fn check_outcome(&mut self, done: &FinishedOp) -> Outcome {
        self.slots.check_outcome(done)
    }

    fn describe_failure(&self) -> String {
        self.slots.describe_failure()
    }
}

fn setup_failed(error: std::io::Error) -> String {
    format!("cannot set up io_uring: {}", host::error::system_words(&error))
}

impl Drop for UringFile {
    /// On the client's own thread and with its ring still there: the workers belong to both.
    fn drop(&mut self) {
        if self.ring.is_some() {
            self.workers.count_now();
        }
    }
}
