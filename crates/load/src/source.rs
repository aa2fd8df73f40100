//! A client's supply of operations: made some at a time by the workload, taken one at a time by the loop.
//!
//! In: one part of a workload and the client's slot. Out: references to ready operations.
//! Limits: operations made ahead and not taken when a phase ends are performed in the next phase.

use model::Op;
use workload::{Part, Slot, Workload};

/// A client's operations.
pub struct OpSource<O> {
    workload: Box<dyn Workload<O>>,
    ready: Vec<O>,
    taken: usize,
    /// Operations that may still be taken.
    left: u64,
    /// The statements that they call, where those are not all.
    statements: Option<Vec<u16>>,
}

impl<O: Op> OpSource<O> {
    /// The operations of `part` for the client in `slot`. Nothing is made before the first is asked for.
    pub fn new(part: &Part<O>, slot: Slot) -> Self {
        let source = OpSource::of((part.make)(slot), part.ahead, part.ops_of(slot));
        OpSource { statements: part.statements_of(slot), ..source }
    }

    /// The operations of `workload`, made `ahead` at a time, `limit` in all.
    pub fn of(workload: Box<dyn Workload<O>>, ahead: usize, limit: Option<u64>) -> Self {
        let ready = std::iter::repeat_with(O::default).take(ahead).collect();
        OpSource { workload, ready, taken: ahead, left: limit.unwrap_or(u64::MAX), statements: None }
    }

    /// The numbers of the statements that the operations call; `None` where they may be any.
    pub fn statements(&self) -> Option<&[u16]> {
        self.statements.as_deref()
    }

    /// Whether there is an operation to take.
    #[inline]
    pub fn has_more(&self) -> bool {
        self.left > 0
    }

    /// The next operation.
    #[inline]
    pub fn take(&mut self) -> &O {
        if self.taken == self.ready.len() {
            self.refill();
        }
        self.taken += 1;
        self.left -= 1;
        &self.ready[self.taken - 1]
    }

    #[cold]
    fn refill(&mut self) {
        self.workload.fill(&mut self.ready);
        self.taken = 0;
    }
}
