//! Kernels through memory: a chase of pointers, a copy.
//!
//! In: a seed and the memory to go through. Out: kernels that miss the caches if that memory is larger than they are. Limits: pages are
//! those that the kernel gives (4 KiB unless it has transparent huge pages for all), so the times have misses of the TLB in them, as a
//! database's have.

use super::kernel::{Kernel, KernelSetup, fold, input_of};
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::sync::Arc;
use workload::ClientIndex;

const STEPS: usize = 4096;
const COPIED_BYTES: usize = 1 << 20;
const WORDS: usize = COPIED_BYTES / 8;
/// From one word that is read back after a copy to the next: one in each 4 KiB.
const READ_BACK_EVERY: usize = 512;

/// A cache line that has the number of the next.
#[repr(align(64))]
#[derive(Clone, Copy)]
struct CacheLine {
    next: u32,
}

/// All lines in one circle, in random order.
struct Circle {
    lines: Vec<CacheLine>,
    /// The lines in the order of the circle.
    order: Vec<u32>,
}

pub(super) struct ChaseKernel(Arc<Circle>);

/// The kernels `chase`. All clients follow one circle, from places of their own.
pub(super) fn chases(setup: &KernelSetup) -> impl Fn(ClientIndex) -> ChaseKernel + use<> {
    let circle = Arc::new(circle(setup.memory.0 as usize / size_of::<CacheLine>(), setup.seed));
    move |_| ChaseKernel(circle.clone())
}

fn circle(lines: usize, seed: u64) -> Circle {
    let count = u32::try_from(lines).unwrap_or(u32::MAX);
    let mut order: Vec<u32> = (0..count).collect();
    order.shuffle(&mut Xoshiro256PlusPlus::seed_from_u64(seed ^ (6 << 56)));
    let mut lines = vec![CacheLine { next: 0 }; order.len()];
    let nexts = order.iter().skip(1).chain(order.first());
    order.iter().zip(nexts).for_each(|(line, next)| lines[*line as usize].next = *next);
    Circle { lines, order }
}

impl Kernel for ChaseKernel {
    fn perform(&mut self, item: u64) -> u64 {
        let Circle { lines, order } = &*self.0;
        let mut at = order[input_of(item, order.len())];
        for _ in 0..STEPS {
            at = lines[at as usize].next;
        }
        at.into()
    }

    fn expected(&self, item: u64) -> u64 {
        let order = &self.0.order;
        order[(input_of(item, order.len()) + STEPS) % order.len()].into()
    }
}

/// Copies blocks from one region of the client to another.
pub(super) struct CopyKernel {
    seed: u64,
    blocks: usize,
    from: Vec<u64>,
    to: Vec<u64>,
}

/// The kernels `copy`. Each client has an equal part of the memory, half of it to copy from.
pub(super) fn copies(setup: &KernelSetup) -> impl Fn(ClientIndex) -> CopyKernel + use<> {
    let (seed, blocks) = (setup.seed, setup.memory.0 as usize / 2 / setup.clients as usize / COPIED_BYTES);
    move |slot| CopyKernel {
        seed: seed ^ (7 << 56) ^ u64::from(slot.client),
        blocks: blocks.max(1),
        from: Vec::new(),
        to: Vec::new(),
    }
}

impl CopyKernel {
    fn block_of(&self, item: u64) -> usize {
        input_of(item, self.blocks) * WORDS
    }
}

impl Kernel for CopyKernel {
    fn open(&mut self) -> Result<(), String> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(self.seed);
        self.from = (0..self.blocks * WORDS).map(|_| rng.random()).collect();
        // Written once, so that no page is made in the first round.
        self.to = vec![1; self.blocks * WORDS];
        Ok(())
    }

    fn perform(&mut self, item: u64) -> u64 {
        let block = self.block_of(item);
        let (from, to) = (&self.from[block..][..WORDS], &mut self.to[block..][..WORDS]);
        for (from, to) in from.iter().zip(&mut *to) {
            // A loop of plain stores becomes a call of the C library, which chooses its instructions by the CPU.
            // SAFETY: `to` is a reference to one word that is ours.
            unsafe { std::ptr::from_mut(to).write_volatile(*from) };
        }
        checksum_of_words(to)
    }

    fn expected(&self, item: u64) -> u64 {
        checksum_of_words(&self.from[self.block_of(item)..][..WORDS])
    }

    fn bytes(&self) -> u32 {
        COPIED_BYTES as u32
    }
}

fn checksum_of_words(words: &[u64]) -> u64 {
    words.iter().step_by(READ_BACK_EVERY).fold(0, |sum, word| fold(sum, *word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::kernel::tests::hold_the_contract;
    use model::Bytes;

    const ALONE: ClientIndex = ClientIndex { client: 0, clients: 1 };
    const SETUP: KernelSetup = KernelSetup { seed: 1, memory: Bytes::from_mib(8), clients: 1 };

    #[test]
    fn rounds_through_memory_give_the_known_results_on_every_machine() {
        let results = [hold_the_contract(chases(&SETUP)(ALONE))[0], hold_the_contract(copies(&SETUP)(ALONE))[0]];
        assert_eq!(results, [110_481, 12_895_901_056_433_745_111]);
    }

    #[test]
    fn the_circle_goes_through_every_line_once() {
        let circle = circle(1000, 7);
        let mut at = 0;
        let seen: std::collections::BTreeSet<u32> = (0..1000)
            .map(|_| {
                at = circle.lines[at as usize].next;
                at
            })
            .collect();
        assert_eq!((seen.len(), at), (1000, 0));
    }

    #[test]
    fn clients_share_the_memory_and_have_a_block_at_least() {
        let blocks = |clients| copies(&KernelSetup { clients, ..SETUP })(ALONE).blocks;
        assert_eq!([1, 2, 64].map(blocks), [4, 2, 1]);
    }
}
