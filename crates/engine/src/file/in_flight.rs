//! What a driver with several operations in flight remembers of them: files, buffers, and the operation in each slot.
//!
//! In: operations that begin, results of system calls that end them. Out: memory for each, and how it ended. Limits: memory
//! that the kernel may still write to is never freed; if operations are in flight at the end, their buffers are leaked.

use super::buffers::IoBuffers;
use super::errno::LastFailure;
use super::files::OpenFiles;
use super::verifier::{self, Verifier};
use load::FinishedOp;
use model::{FailureClass, IoOp, Outcome};

/// The slots of one client.
pub struct InFlight {
    pub files: OpenFiles,
    /// `None` once the kernel is lost: then nothing more is begun.
    buffers: Option<IoBuffers>,
    /// The operation in each slot; `None` if nothing is in flight.
    ops: Vec<Option<IoOp>>,
    verifier: Option<Verifier>,
    failure: LastFailure,
    lost: Option<String>,
}

impl InFlight {
    /// As many empty slots as `buffers` has blocks.
    pub fn new(files: OpenFiles, buffers: IoBuffers, verifier: Option<Verifier>) -> InFlight {
        let ops = vec![None; buffers.count() as usize];
        InFlight { files, buffers: Some(buffers), ops, verifier, failure: LastFailure::default(), lost: None }
    }

    /// How many slots there are.
    pub fn depth(&self) -> u32 {
        self.ops.len() as u32
    }

    /// The memory of all slots; `None` once the kernel is lost.
    pub fn buffers(&self) -> Option<&IoBuffers> {
        self.buffers.as_ref()
    }

    /// `op` begins in `slot`: its block, which holds its length and belongs to the slot alone. `None` once the kernel is
    /// lost: then the operation is not to be started, and is lost with the others.
    #[inline]
    pub fn begin_op(&mut self, slot: u32, op: &IoOp) -> Option<*mut u8> {
        self.ops[slot as usize] = Some(*op);
        Some(verifier::prepare_memory(&mut self.verifier, self.buffers.as_mut()?, slot, op))
    }

    /// Looks at what an operation moved that ended and whose time was taken. Once the kernel is lost, it is unknown what was
    /// moved and what will be.
    #[inline]
    pub fn check_outcome(&mut self, done: &FinishedOp) -> Outcome {
        let Some(buffers) = &self.buffers else { return done.outcome };
        verifier::verified_outcome(&self.verifier, buffers, done.slot, done.outcome, &mut self.failure)
    }

    /// The operation in `slot` ended with `result`: bytes moved, or an error number below zero.
    #[inline]
    pub fn finish_op(&mut self, slot: u32, result: i64) -> FinishedOp {
        let op = self.ops[slot as usize].take().expect("the kernel completes what was submitted");
        let outcome = match result {
            moved if moved == op.len.0 as i64 => Outcome::Ok { bytes: op.len.0 as u32 },
            errno if errno < 0 => Outcome::Failed(self.failure.record_errno(&op, -errno as i32)),
            moved => Outcome::Failed(self.explain_short(&op, slot, moved as usize)),
        };
        FinishedOp { slot, outcome }
    }

    /// Why `op`, which is no longer in flight in `slot`, moved only `moved` bytes.
    #[cold]
    fn explain_short(&mut self, op: &IoOp, slot: u32, moved: usize) -> FailureClass {
        let (true, Some(buffers)) = (op.io.writes(), &self.buffers) else {
            return self.failure.record_short(op, moved);
        };
        let len = op.len.0 as usize;
        // SAFETY: `block` vouches for `len` bytes; they are initialised, and the kernel is done with them.
        let written = unsafe { std::slice::from_raw_parts(buffers.block(slot, len), len) };
        self.failure.short_write(op, self.files.file_of(op), &written[moved..])
    }

    /// `what` itself failed: everything in flight is lost. Its buffers may still be written to and are never freed.
    #[cold]
    pub fn lose_all(&mut self, what: &str, error: &std::io::Error, done: &mut Vec<FinishedOp>) {
        let (path, why) = (host::error::shown(&self.files.paths()[0]), host::error::system_words(error));
        self.lost = Some(format!("{what} on `{path}`: {why}"));
        std::mem::forget(self.buffers.take());
        for (slot, op) in (0..).zip(&mut self.ops) {
            if op.take().is_some() {
                done.push(FinishedOp { slot, outcome: Outcome::Failed(FailureClass::Other) });
            }
        }
    }

    /// What happened at the last failure, for messages.
    pub fn describe_failure(&self) -> String {
        self.lost.clone().unwrap_or_else(|| self.failure.describe(self.files.paths()))
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        if self.ops.iter().any(Option::is_some) {
            std::mem::forget(self.buffers.take()); // the kernel may still write to them
        }
    }
}
