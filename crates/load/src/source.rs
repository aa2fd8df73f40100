//! A client's supply of operations: made some at a time by the workload, taken one at a time by the loop.
//!
//! In: one op stream of a workload and the client's slot. Out: references to ready operations: the client's own share, or as many as it
//! comes to take from the count of all. Limits: operations made ahead and not taken when a phase ends are performed in the next phase.

use model::{Nanos, Op};
use workload::{ClientIndex, OpStream, SharedBudget, Workload};

/// The operations of a loop with several slots.
pub trait OpSupply<O> {
    /// Whether each slot is a client with operations of its own. Otherwise all belong to one client, whose next operation goes to
    /// any free slot.
    const SLOTS_ARE_CLIENTS: bool;
    /// Whether there is an operation for `slot`. Once there is none, there will be none.
    fn has_more(&mut self, slot: u32) -> bool;
    /// The next operation of `slot`.
    fn take_op(&mut self, slot: u32) -> &O;
    /// How long `slot` waits before its next operation; no time if there is none.
    fn next_pause(&mut self, slot: u32) -> Nanos;
    /// When the next operation of `slot` falls due after the start of its phase; at once if there is none.
    fn next_due(&mut self, slot: u32) -> Nanos;
}

impl<O: Op> OpSupply<O> for OpSource<O> {
    const SLOTS_ARE_CLIENTS: bool = false;
    #[inline]
    fn has_more(&mut self, _: u32) -> bool {
        OpSource::has_more(self)
    }
    #[inline]
    fn take_op(&mut self, _: u32) -> &O {
        OpSource::take_op(self)
    }
    fn next_pause(&mut self, _: u32) -> Nanos {
        OpSource::next_pause(self)
    }
    fn next_due(&mut self, _: u32) -> Nanos {
        OpSource::next_due(self)
    }
}

impl<O: Op> OpSupply<O> for Vec<OpSource<O>> {
    const SLOTS_ARE_CLIENTS: bool = true;
    #[inline]
    fn has_more(&mut self, slot: u32) -> bool {
        self[slot as usize].has_more()
    }
    #[inline]
    fn take_op(&mut self, slot: u32) -> &O {
        self[slot as usize].take_op()
    }
    fn next_pause(&mut self, slot: u32) -> Nanos {
        self[slot as usize].next_pause()
    }
    fn next_due(&mut self, slot: u32) -> Nanos {
        self[slot as usize].next_due()
    }
}

/// The operations of one client, in their order.
pub struct OpSource<O> {
    workload: Box<dyn Workload<O>>,
    ready: Vec<O>,
    /// How many of these were made, and how many of them were taken.
    made: usize,
    taken: usize,
    left: OpsLeft,
    /// The statements that they call, if those are not all.
    statements: Option<Vec<u16>>,
}

/// Operations that may still be taken.
enum OpsLeft {
    /// So many, by this client alone.
    Own(u64),
    /// What the others leave of a count, in addition to those already made.
    Shared(SharedBudget, u32),
}

impl<O: Op> OpSource<O> {
    /// The operations of `stream` for the client in `slot`. Nothing is made before the first is asked for.
    pub fn new(stream: &OpStream<O>, slot: ClientIndex) -> Self {
        OpSource::with_ahead(stream, slot, stream.ahead)
    }

    /// The same with at most `ahead` operations made at a time.
    pub fn with_ahead(stream: &OpStream<O>, slot: ClientIndex, ahead: usize) -> Self {
        let source = OpSource::from_workload((stream.make)(slot), stream.ahead.min(ahead), stream.ops_of(slot));
        let statements = stream.statements_of(slot);
        match &stream.shared_budget {
            Some(shared_budget) => {
                OpSource { statements, ..source.with_shared_budget(shared_budget.clone(), slot.clients) }
            }
            None => OpSource { statements, ..source },
        }
    }

    /// The same operations, as many as this one of `clients` clients comes to take from `shared_budget`.
    fn with_shared_budget(self, shared_budget: SharedBudget, clients: u32) -> Self {
        OpSource { left: OpsLeft::Shared(shared_budget, clients), ..self }
    }

    /// The operations of `workload`, made `ahead` at a time, `limit` in all.
    pub fn from_workload(workload: Box<dyn Workload<O>>, ahead: usize, limit: Option<u64>) -> Self {
        // Each slot keeps the buffers of its operation, which are reused by the next one: after the first round nothing is
        // allocated.
        let ready = std::iter::repeat_with(O::default).take(ahead).collect();
        OpSource { workload, ready, made: 0, taken: 0, left: OpsLeft::Own(limit.unwrap_or(u64::MAX)), statements: None }
    }

    /// The numbers of the statements that the operations call; `None` if they may be any.
    pub fn statements(&self) -> Option<&[u16]> {
        self.statements.as_deref()
    }

    /// Whether there is an operation to take.
    #[inline]
    pub fn has_more(&mut self) -> bool {
        if let OpsLeft::Own(left) = self.left {
            return left > 0;
        }
        if self.taken == self.made {
            self.refill();
        }
        self.taken < self.made
    }

    /// Whether the next operation follows in the turn of the one before.
    pub fn next_follows(&mut self) -> bool {
        self.peek_op().is_some_and(O::follows)
    }

    /// How long the client waits before the next operation; no time if there is none.
    pub fn next_pause(&mut self) -> Nanos {
        self.peek_op().map_or(Nanos(0), O::pause_before)
    }

    /// When the next operation falls due after the start of its phase; at once if there is none.
    pub fn next_due(&mut self) -> Nanos {
        self.peek_op().map_or(Nanos(0), O::due)
    }

    /// The next operation, which stays the next; `None` if there is none.
    fn peek_op(&mut self) -> Option<&O> {
        if !self.has_more() {
            return None;
        }
        if self.taken == self.made {
            self.refill();
        }
        Some(&self.ready[self.taken])
    }

    /// The next operation of the client.
    #[inline]
    pub fn take_op(&mut self) -> &O {
        if self.taken == self.made {
            self.refill();
        }
        self.taken += 1;
        if let OpsLeft::Own(left) = &mut self.left {
            *left -= 1;
        }
        &self.ready[self.taken - 1]
    }

    #[cold]
    fn refill(&mut self) {
        self.made = match &self.left {
            // What is made and never taken may be missing elsewhere: clients of several tables count their rows down together.
            OpsLeft::Own(left) => (*left).min(self.ready.len() as u64) as usize,
            OpsLeft::Shared(shared_budget, clients) => {
                shared_budget.take_ops(self.ready.len() as u64, *clients) as usize
            }
        };
        self.workload.fill_ops(&mut self.ready[..self.made]);
        self.taken = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::IoOp;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    struct Anything;
    impl Workload<IoOp> for Anything {
        fn fill_ops(&mut self, _: &mut [IoOp]) {}
    }

    /// Counts the operations that it makes.
    struct Counting(Arc<AtomicU64>);
    impl Workload<IoOp> for Counting {
        fn fill_ops(&mut self, ops: &mut [IoOp]) {
            self.0.fetch_add(ops.len() as u64, Relaxed);
        }
    }

    #[test]
    fn no_more_operations_are_made_than_a_client_has_to_perform() {
        let made = Arc::new(AtomicU64::new(0));
        let mut source = OpSource::from_workload(Box::new(Counting(made.clone())), 64, Some(100));
        let taken = std::iter::from_fn(|| source.has_more().then(|| source.take_op().kind())).count();
        assert_eq!((taken, made.load(Relaxed)), (100, 100));
    }

    #[test]
    fn clients_of_unlike_speed_end_together_when_they_take_from_one_count() {
        let shared_budget = SharedBudget::new(10_000);
        let source = || {
            OpSource::from_workload(Box::new(Anything), 64, Some(5_000)).with_shared_budget(shared_budget.clone(), 2)
        };
        let (mut fast, mut slow) = (source(), source());
        let (mut of_fast, mut of_slow) = (0, 0);
        while fast.has_more() {
            fast.take_op();
            of_fast += 1;
            if of_fast % 9 == 0 && slow.has_more() {
                slow.take_op();
                of_slow += 1;
            }
        }
        let at_the_end = of_slow;
        while slow.has_more() {
            slow.take_op();
            of_slow += 1;
        }
        assert_eq!(of_fast + of_slow, 10_000);
        assert!(of_slow - at_the_end <= 1 && of_fast > 8 * of_slow, "{of_fast}, {of_slow} after {at_the_end}");
    }
}
