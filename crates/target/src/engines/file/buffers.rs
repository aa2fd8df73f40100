//! Memory for I/O: one page-aligned block per operation under way, filled with incompressible bytes.
//!
//! In: how many, how large, a seed. Out: pointers that O_DIRECT and registered buffers accept, valid for the length that was
//! asked for. Limits: lives as long as the driver that owns it; a driver with operations under way must not drop it.

use model::Bytes;
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};

const PAGE: usize = 4096;

/// Page-aligned blocks.
pub struct Buffers {
    start: *mut u8,
    layout: Layout,
    count: u32,
    block: usize,
    writes: u64,
}

// SAFETY: the memory is owned by this value alone; nothing else holds the pointer.
unsafe impl Send for Buffers {}

impl Buffers {
    /// `count` blocks of `block` bytes each, of pseudo-random content.
    pub fn new(count: u32, block: Bytes, seed: u64) -> Buffers {
        let mut buffers = Buffers::zeroed(count, block);
        Xoshiro256PlusPlus::seed_from_u64(seed).fill_bytes(buffers.all_mut());
        buffers
    }

    /// `count` blocks of `block` bytes each, of zeros that take no memory until somebody touches them.
    pub fn zeroed(count: u32, block: Bytes) -> Buffers {
        let block = (block.0 as usize).next_multiple_of(PAGE);
        let layout = Layout::from_size_align(block * count as usize, PAGE)
            .expect("the caller looked whether they fit in memory");
        assert!(layout.size() > 0, "a plan has no empty block and no depth 0");
        // SAFETY: the layout has a size above zero.
        let start = unsafe { alloc_zeroed(layout) };
        if start.is_null() {
            handle_alloc_error(layout);
        }
        Buffers { start, layout, count, block, writes: 0 }
    }

    /// How many blocks there are.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// All blocks as one piece of memory, for registration with the kernel.
    pub fn all(&self) -> (*mut u8, usize) {
        (self.start, self.layout.size())
    }

    /// The first of `len` bytes of block `slot`.
    #[inline]
    pub fn block(&self, slot: u32, len: usize) -> *mut u8 {
        // An assertion and not a check in debug builds alone: whoever writes beyond a block writes into foreign memory.
        assert!(len <= self.block && slot < self.count(), "an operation is no longer than its block");
        self.start.wrapping_add(slot as usize * self.block)
    }

    /// The same with content that differs from every earlier write, so that no device can store it once.
    #[inline]
    pub fn fresh_block(&mut self, slot: u32, len: usize) -> *mut u8 {
        self.writes += 1;
        let block = self.block(slot, len);
        // SAFETY: the block is page-aligned, at least a page long, owned by us, and not under way (its slot was free).
        unsafe { block.cast::<u64>().write(self.writes.wrapping_mul(0x9e37_79b9_7f4a_7c15)) };
        block
    }

    fn all_mut(&mut self) -> &mut [u8] {
        // SAFETY: the memory is ours, initialised (zeroed), and borrowed mutably through `self`.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.layout.size()) }
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout and not freed since.
        unsafe { dealloc(self.start, self.layout) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes_of(buffers: &Buffers, slot: u32) -> Vec<u8> {
        // SAFETY: 4096 bytes of the block are ours, initialised, and nobody writes to them meanwhile.
        unsafe { std::slice::from_raw_parts(buffers.block(slot, 4096), 4096) }.to_vec()
    }

    #[test]
    fn no_two_writes_have_the_same_content() {
        let mut buffers = Buffers::new(2, Bytes::from_kib(4), 1);
        let mut seen = std::collections::HashSet::new();
        for slot in [0, 0, 1, 1, 0] {
            buffers.fresh_block(slot, 4096);
            assert!(seen.insert(bytes_of(&buffers, slot)));
        }
        let zeros = bytes_of(&buffers, 1).iter().filter(|byte| **byte == 0).count();
        assert!(zeros < 64, "{zeros} zeros of 16 expected");
    }

    #[test]
    #[should_panic(expected = "no longer than its block")]
    fn an_operation_beyond_its_block_is_a_bug_that_touches_no_memory() {
        Buffers::new(2, Bytes(512), 1).block(0, 4097);
    }
}
