//! Rings of io_uring: with what newer kernels offer, as far as this one has it.
//!
//! In: how many entries. Out: a ring, and one call that submits and waits. Limits: Linux 5.11 and later.

use io_uring::{IoUring, types};
use model::{Fact, Nanos};
use std::io;

/// How rings are set up here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingSetup {
    /// Completions are processed when the client asks, not in interrupts of its other work.
    deferred: bool,
    /// The kernel takes submissions in the order of the ring, without a separate array of indexes.
    plain_queue: bool,
}

impl RingSetup {
    /// Tries on small rings.
    ///
    /// # Errors
    /// If the kernel has no io_uring for this process, or one that cannot wait with a timeout.
    pub fn probe() -> io::Result<RingSetup> {
        let deferred = RingSetup { deferred: true, plain_queue: false }.build(8, 16).is_ok();
        // Each feature is tried with those that worked: a kernel refuses a ring with any flag that it does not know.
        let plain_queue = RingSetup { deferred, plain_queue: true }.build(8, 16).is_ok();
        let setup = RingSetup { deferred, plain_queue };
        match setup.build(8, 16)?.params().is_feature_ext_arg() {
            true => Ok(setup),
            false => Err(io::Error::other("the kernel is older than Linux 5.11")),
        }
    }

    /// A ring that takes up to `entries` submissions in one call, and holds up to `completions` that wait to be taken.
    pub fn build(self, entries: u32, completions: u32) -> io::Result<IoUring> {
        let mut builder = IoUring::builder();
        if self.deferred {
            builder.setup_single_issuer().setup_defer_taskrun();
        }
        if self.plain_queue {
            builder.setup_no_sqarray();
        }
        builder.setup_cqsize(completions).build(entries)
    }

    /// What a reader of the run wants to know.
    pub fn fact(self) -> Fact {
        Fact::new("uring.deferred_taskrun", self.deferred.to_string())
    }
}

/// Of `io_uring_enter`, from linux/io_uring.h.
const IORING_ENTER_GETEVENTS: u32 = 1;

/// Submits what is queued, and waits for a completion for at most `timeout`.
#[inline]
pub fn submit_and_wait(ring: &mut IoUring, timeout: Nanos) -> io::Result<()> {
    let entered = match timeout {
        Nanos(0) => {
            let queued = ring.submission().len() as u32; // with what an earlier call could not submit
            // Completions that the kernel has put off are processed by a call that asks for some, be it none.
            // SAFETY: the call has no argument that could be of the wrong size.
            unsafe { ring.submitter().enter::<libc::sigset_t>(queued, 0, IORING_ENTER_GETEVENTS, None) }
        }
        Nanos(ns) => {
            let wait = types::Timespec::new().sec(ns / 1_000_000_000).nsec((ns % 1_000_000_000) as u32);
            ring.submitter().submit_with_args(1, &types::SubmitArgs::new().timespec(&wait))
        }
    };
    match entered.map_err(|error| (error.raw_os_error(), error)) {
        // Nothing in time, a signal, or the completion queue wants to be emptied first: all are answered by looking.
        Ok(_) | Err((Some(libc::ETIME | libc::EINTR | libc::EBUSY | libc::EAGAIN), _)) => Ok(()),
        Err((_, error)) => Err(error),
    }
}
