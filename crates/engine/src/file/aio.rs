//! Several operations in flight on one thread, by the older asynchronous I/O of Linux: what libaio wraps, and what the
//! `async` of sysbench and the `libaio` of fio are.
//!
//! In: open files and one buffer per slot. Out: operations submitted by one system call and completed by another.
//! Limits: asynchronous with O_DIRECT only. Through the page cache the kernel performs each operation before `io_submit`
//! returns: it takes depth 1 of what was asked for, and the times of a batch are those of its submission.

use super::buffers::IoBuffers;
use super::files::OpenFiles;
use super::in_flight::InFlight;
use super::verifier::Verifier;
use host::error::TargetError;
use libc::{SYS_io_destroy, SYS_io_getevents, SYS_io_setup, SYS_io_submit, c_long, syscall};
use load::{BatchDriver, FinishedOp};
use model::{IoKind, IoOp, Nanos, Outcome};
use std::io::Error;
use std::os::fd::AsRawFd;

/// `struct iocb` of linux/aio_abi.h. The first two words after `data` change places with the byte order.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Iocb {
    data: u64,
    key_and_flags: [u32; 2],
    opcode: u16,
    priority: i16,
    fd: u32,
    buffer: u64,
    bytes: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    event_fd: u32,
}

impl Iocb {
    /// The `RWF_` flags, in the half of the first words that the byte order puts second.
    fn set_write_flags(&mut self, flags: u32) {
        self.key_and_flags[usize::from(cfg!(target_endian = "little"))] = flags;
    }
}

/// `struct io_event` of linux/aio_abi.h.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct IoEvent {
    data: u64,
    iocb: u64,
    result: i64,
    result2: i64,
}

const IOCB_CMD_PREAD: u16 = 0;
const IOCB_CMD_PWRITE: u16 = 1;
const IOCB_CMD_FSYNC: u16 = 2;
const IOCB_CMD_FDSYNC: u16 = 3;

/// What the kernel keeps operations in.
struct AioContext(u64);

impl AioContext {
    fn new(operations: u32) -> Result<AioContext, Error> {
        let mut context = 0u64;
        // SAFETY: the kernel writes one word to a place of our own.
        match unsafe { syscall(SYS_io_setup, c_long::from(operations), &raw mut context) } {
            0 => Ok(AioContext(context)),
            _ => Err(Error::last_os_error()),
        }
    }
}

impl Drop for AioContext {
    /// Waits for everything in flight in it.
    fn drop(&mut self) {
        // SAFETY: made by io_setup and not used from here on.
        unsafe { syscall(SYS_io_destroy, self.0) };
    }
}

/// Refuses more operations in flight over all clients than the kernel allows.
pub fn check_aio(operations: u32) -> Result<(), TargetError> {
    AioContext::new(operations).map(drop).map_err(|error| {
        let why = host::error::system_words(&error);
        let text = format!("asynchronous I/O with {operations} operations in flight cannot be set up here: {why}");
        TargetError::Unsupported(format!("{text}; {}", aio_advice(&error)))
    })
}

/// What to do if a context cannot be set up. EAGAIN: the operations of all processes together would exceed `fs.aio-max-nr`.
fn aio_advice(error: &Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EAGAIN) => "raise `sysctl fs.aio-max-nr`, or use a lower depth or fewer clients",
        _ => "use io = `uring` or io = `sync`",
    }
}

/// Performs reads, writes and syncs by io_submit and io_getevents.
pub struct AioFile {
    /// Dropped before the slots: their buffers are not freed under an operation.
    context: Option<AioContext>,
    slots: InFlight,
    iocbs: Box<[Iocb]>,
    /// Addresses of the entries of `iocbs` to submit. As numbers, because a driver moves between threads before it is opened.
    queued: Vec<usize>,
    events: Box<[IoEvent]>,
}

impl AioFile {
    /// The driver of `files` with as many slots as `buffers` has blocks.
    pub fn new(files: OpenFiles, buffers: IoBuffers, verifier: Option<Verifier>) -> Self {
        let depth = buffers.count() as usize;
        AioFile {
            context: None,
            slots: InFlight::new(files, buffers, verifier),
            iocbs: vec![Iocb::default(); depth].into(),
            queued: Vec::with_capacity(depth),
            events: vec![IoEvent::default(); depth].into(),
        }
    }

    /// Submits what is queued. What the kernel has no room for stays queued; what it refuses has failed.
    fn submit_queued(&mut self, context: u64, done: &mut Vec<FinishedOp>) {
        let mut taken = 0;
        while taken < self.queued.len() {
            // The kernel stops at the first operation that it refuses and returns how many it took before: the next call begins
            // there.
            let rest = &self.queued[taken..];
            // SAFETY: each address is that of an entry of `iocbs`, which names an open file and, unless it is a sync, a block
            // that holds its length and belongs to its slot alone until it is completed (see `InFlight`).
            let submitted = unsafe { syscall(SYS_io_submit, context, rest.len() as c_long, rest.as_ptr()) };
            match (submitted, Error::last_os_error().raw_os_error().unwrap_or(0)) {
                (1.., _) => taken += submitted as usize,
                (_, libc::EINTR) if submitted < 0 => {}
                // No room for now: what is in flight completes first.
                (_, libc::EAGAIN) => break,
                (0, _) => break,
                (_, errno) => {
                    let slot = self.slot_at(rest[0]);
                    done.push(self.slots.finish_op(slot, -i64::from(errno)));
                    taken += 1;
                }
            }
        }
        self.queued.drain(..taken);
    }

    fn slot_at(&self, address: usize) -> u32 {
        ((address - self.iocbs.as_ptr().addr()) / size_of::<Iocb>()) as u32
    }

    /// Takes what is completed; waits for it up to `timeout` if nothing has failed already.
    fn take_completed(&mut self, context: u64, timeout: Nanos, done: &mut Vec<FinishedOp>) {
        // With a failure to hand over already, a wait would only delay it.
        let least = c_long::from(timeout.0 > 0 && done.is_empty());
        let mut wait = libc::timespec {
            tv_sec: (timeout.0 / 1_000_000_000) as _, // not `libc::time_t`, which is deprecated for musl
            tv_nsec: (timeout.0 % 1_000_000_000) as c_long,
        };
        let room = self.events.len() as c_long;
        // SAFETY: the kernel writes at most `room` events to as many of ours, and reads a time of ours.
        let found = unsafe { syscall(SYS_io_getevents, context, least, room, self.events.as_mut_ptr(), &raw mut wait) };
        match (found, Error::last_os_error()) {
            (0.., _) => {
                for event in &self.events[..found as usize] {
                    done.push(self.slots.finish_op(event.data as u32, event.result));
                }
            }
            (_, error) if error.raw_os_error() == Some(libc::EINTR) => {}
            (_, error) => self.slots.lose_all("io_getevents", &error, done),
        }
    }
}

impl BatchDriver for AioFile {
    type Op = IoOp;

    fn depth(&self) -> u32 {
        self.slots.depth()
    }

    fn open(&mut self) -> Result<(), String> {
        let context = AioContext::new(self.depth())
            .map_err(|error| format!("cannot set up asynchronous I/O: {}", host::error::system_words(&error)))?;
        self.context = Some(context);
        Ok(())
    }

    #[inline]
    fn push_op(&mut self, slot: u32, op: &IoOp) {
        let Some(memory) = self.slots.begin_op(slot, op) else { return };
        let iocb = &mut self.iocbs[slot as usize];
        *iocb = Iocb {
            data: slot.into(),
            opcode: match op.io {
                IoKind::Read => IOCB_CMD_PREAD,
                IoKind::Write | IoKind::WriteFua => IOCB_CMD_PWRITE,
                IoKind::Fsync => IOCB_CMD_FSYNC,
                IoKind::Fdatasync => IOCB_CMD_FDSYNC,
            },
            fd: self.slots.files.file_of(op).as_raw_fd() as u32,
            ..Iocb::default()
        };
        // The kernel refuses a sync that names memory.
        iocb.set_write_flags(if op.io == IoKind::WriteFua { libc::RWF_DSYNC as u32 } else { 0 });
        if op.io == IoKind::Read || op.io.writes() {
            (iocb.buffer, iocb.bytes, iocb.offset) = (memory.expose_provenance() as u64, op.len.0, op.at.0 as i64);
        }
        self.queued.push((&raw mut *iocb).expose_provenance());
    }

    #[inline]
    fn submit_and_wait(&mut self, timeout: Nanos, done: &mut Vec<FinishedOp>) {
        let Some(AioContext(context)) = self.context.as_ref().filter(|_| self.slots.buffers().is_some()) else {
            return self.slots.lose_all("io_submit", &Error::other("the context is gone"), done);
        };
        let context = *context;
        self.submit_queued(context, done);
        self.take_completed(context, timeout, done);
    }

    #[inline]
    fn check_outcome(&mut self, done: &FinishedOp) -> Outcome {
        self.slots.check_outcome(done)
    }

    fn describe_failure(&self) -> String {
        self.slots.describe_failure()
    }
}
