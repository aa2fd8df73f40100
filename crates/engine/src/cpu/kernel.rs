//! What a kernel is, and the client that performs its rounds.
//!
//! In: a kernel for each client. Out: clients whose every round is checked. Limits: the check of a result takes no more than a look into a
//! table: what it is compared with was computed before.

use load::{Client, Driver, OpSource, SyncClient};
use model::{Bytes, FailureClass, Outcome, TaskOp};
use std::hint::black_box;
use workload::ClientIndex;

/// What input is made from.
pub(super) struct KernelSetup {
    pub seed: u64,
    /// The memory that the kernels of memory go through, over all clients.
    pub memory: Bytes,
    pub clients: u32,
}

/// A computation, with what one client needs for it.
pub(super) trait Kernel: Send + 'static {
    /// Makes what the client has for itself. Called on its own thread, so that the memory is near it.
    fn open(&mut self) -> Result<(), String> {
        Ok(())
    }
    /// Brings the input of `item` back to its beginning, in no round's time.
    fn refill(&mut self, _item: u64) {}
    /// Performs the round of `item`; returns the checksum of its result.
    fn perform(&mut self, item: u64) -> u64;
    /// The right checksum of `item`.
    fn expected(&self, item: u64) -> u64;
    /// Bytes that a round goes through; 0 if it is not about bytes.
    fn bytes(&self) -> u32 {
        0
    }
}

/// Makes the client of a slot.
pub(super) type KernelClients = Box<dyn Fn(OpSource<TaskOp>, ClientIndex) -> Box<dyn Client>>;

/// Makes what the clients of a trial share, and how each is made.
pub(super) type MakeKernels = fn(&KernelSetup) -> KernelClients;

/// The clients of the kernels that `make` makes.
pub(super) fn clients_of<K: Kernel>(name: &'static str, make: impl Fn(ClientIndex) -> K + 'static) -> KernelClients {
    Box::new(move |source, slot| {
        let driver = KernelDriver { name, kernel: make(slot), result: 0, wrong: None };
        Box::new(SyncClient::new(source, driver))
    })
}

/// Performs the rounds of one client.
struct KernelDriver<K> {
    name: &'static str,
    kernel: K,
    /// The checksum of the last round.
    result: u64,
    wrong: Option<WrongResult>,
}

/// A result that differs from the right one.
#[derive(Clone, Copy)]
struct WrongResult {
    item: u64,
    found: u64,
    expected: u64,
}

impl<K: Kernel> Driver for KernelDriver<K> {
    type Op = TaskOp;

    fn open(&mut self) -> Result<(), String> {
        self.kernel.open()
    }

    #[inline]
    fn prepare_op(&mut self, op: &TaskOp) {
        self.kernel.refill(op.item);
    }

    #[inline]
    fn execute_op(&mut self, op: &TaskOp) -> Outcome {
        self.result = black_box(self.kernel.perform(black_box(op.item)));
        Outcome::Ok { bytes: self.kernel.bytes() }
    }

    fn check_outcome(&mut self, op: &TaskOp, outcome: Outcome) -> Outcome {
        let expected = self.kernel.expected(op.item);
        if self.result == expected {
            return outcome;
        }
        self.wrong = Some(WrongResult { item: op.item, found: self.result, expected });
        Outcome::Failed(FailureClass::Corrupt)
    }

    fn describe_failure(&self) -> String {
        let Some(WrongResult { item, found, expected }) = self.wrong else { return "no round has failed".into() };
        format!(
            "kernel `{}` computed {found:#018x} for item {item:#018x} in place of {expected:#018x}: the CPU or the memory of this machine \
             makes mistakes",
            self.name
        )
    }
}

/// Adds `word` to a checksum that depends on the order.
#[inline]
pub(super) fn fold(sum: u64, word: u64) -> u64 {
    (sum.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95)
}

/// The input, of so many, that `item` chooses.
#[inline]
pub(super) fn input_of(item: u64, inputs: usize) -> usize {
    (item % inputs as u64) as usize
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Some rounds of a kernel give what is expected, and different inputs different results.
    pub(in crate::cpu) fn hold_the_contract<K: Kernel>(mut kernel: K) -> Vec<u64> {
        kernel.open().unwrap();
        let mut round = |item| {
            kernel.refill(item);
            let result = kernel.perform(item);
            assert_eq!(result, kernel.expected(item), "item {item}");
            result
        };
        let results: Vec<u64> = (0..4).map(&mut round).collect();
        assert_eq!(results, (0..4).map(&mut round).collect::<Vec<_>>(), "a round leaves the input as it was");
        assert!(results.windows(2).any(|pair| pair[0] != pair[1]), "{results:?}");
        results
    }

    struct Miscalculation;
    impl Kernel for Miscalculation {
        fn perform(&mut self, item: u64) -> u64 {
            item + u64::from(item == 3)
        }
        fn expected(&self, item: u64) -> u64 {
            item
        }
    }

    #[test]
    fn a_wrong_result_is_corrupt_and_described() {
        let mut driver = KernelDriver { name: "sort", kernel: Miscalculation, result: 0, wrong: None };
        let mut perform = |item| {
            let op = TaskOp { item, ..TaskOp::default() };
            let outcome = driver.execute_op(&op);
            driver.check_outcome(&op, outcome)
        };
        assert_eq!(perform(2), Outcome::Ok { bytes: 0 });
        assert_eq!(perform(3), Outcome::Failed(FailureClass::Corrupt));
        assert!(driver.describe_failure().contains("kernel `sort` computed 0x0000000000000004"));
    }
}
