//! Memory for I/O: one page-aligned block per operation under way, filled with incompressible bytes.
//!
//! In: how many, how large, a seed. Out: pointers that O_DIRECT and registered buffers accept. Limits: lives as long as the
//! driver that owns it; a driver with operations under way must not drop it.

use model::Bytes;
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};

const PAGE: usize = 4096;

/// Page-aligned blocks.
pub struct Buffers {
    start: *mut u8,
    layout: Layout,
    block: usize,
    writes: u64,
}

// SAFETY: the memory is owned by this value alone; nothing else holds the pointer.
unsafe impl Send for Buffers {}

impl Buffers {
    /// `count` blocks of `block` bytes each, of pseudo-random content.
    pub fn new(count: u32, block: Bytes, seed: u64) -> Buffers {
        let block = (block.0 as usize).next_multiple_of(PAGE);
        let layout =
            Layout::from_size_align(block * count as usize, PAGE).expect("depth and block are bounded by the plan");
        // SAFETY: the layout has a size above zero: a plan has no empty block and no depth 0.
        let start = unsafe { alloc_zeroed(layout) };
        if start.is_null() {
            handle_alloc_error(layout);
        }
        let mut buffers = Buffers { start, layout, block, writes: 0 };
        Xoshiro256PlusPlus::seed_from_u64(seed).fill_bytes(buffers.all_mut());
        buffers
    }

    /// How many blocks there are.
    pub fn count(&self) -> u32 {
        (self.layout.size() / self.block) as u32
    }

    /// All blocks as one piece of memory, for registration with the kernel.
    pub fn all(&self) -> (*mut u8, usize) {
        (self.start, self.layout.size())
    }

    /// The first byte of block `slot`.
    #[inline]
    pub fn block(&self, slot: u32) -> *mut u8 {
        debug_assert!((slot as usize + 1) * self.block <= self.layout.size());
        self.start.wrapping_add(slot as usize * self.block)
    }

    /// Block `slot` with content that differs from every earlier write, so that no device can store it once.
    #[inline]
    pub fn fresh_block(&mut self, slot: u32) -> *mut u8 {
        self.writes += 1;
        let block = self.block(slot);
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
