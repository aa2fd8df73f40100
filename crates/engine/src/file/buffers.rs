//! Memory for I/O: for each operation in flight a block to read into and some to write from, filled as the trial asks.
//!
//! In: how many, how large, which content, a seed. Out: pointers that O_DIRECT and registered buffers accept, valid for the
//! length that was asked for. Limits: lives as long as the driver that owns it; a driver with operations in flight must not
//! drop it.
//!
//! No two writes have the same content, unless they are asked to: a counter is stamped into each 4 KiB of each write. That
//! costs 5 ns for 16 KiB, while making the bytes again would cost 2 us; and because the bytes come from a larger memory than
//! the nearest cache, a write of 16 KiB through the page cache costs 6 to 10 % more CPU than of one block again and again.
//! What lies between the stamps comes back after [`POOL`] bytes of writes: a compressor of 128 KiB at once sees 3 % of random
//! writes twice, and one with a window above the pool sees all of them. `compressible` is true of each 4 KiB: so much of its end is one word again and again. `dedupe` is true of
//! each block and of each 4 KiB of it: so many of the writes after the first round through the pool have the stamps, and with
//! them all of the content, that their memory had in that round.

use model::Bytes;
use rand::{Rng, RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};

const PAGE: usize = 4096;
const CACHE_LINE: usize = 64;
/// Memory to write from, over all clients: less than the 8 MiB that an ordinary user may register with the kernel, and enough
/// that a compressor's window seldom holds the same bytes twice.
const POOL: u64 = 4 << 20;
/// The same if content repeats: the first round through the pool is of new content.
const POOL_REPEATING: u64 = 1 << 20;
/// But no client has less than this, for what it writes one after the other.
const POOL_LEAST: u64 = 64 << 10;

/// What is written, in percent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteContent {
    /// Of each 4 KiB: what a compressor removes.
    pub compressible: u8,
    /// Of the blocks: those that repeat an earlier one.
    pub dedupe: u8,
}

/// How much memory one client has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferSizes {
    pub depth: u32,
    /// The most that one moves.
    pub block: Bytes,
    /// Blocks to write from for each of them; 0 if nothing is written.
    pub windows: u32,
}

impl BufferSizes {
    /// For each of `clients` that keep `depth` operations of `block` in flight.
    pub fn new(clients: u32, depth: u32, block: Bytes, writes: bool, content: WriteContent) -> BufferSizes {
        let pool = if content.dedupe > 0 { POOL_REPEATING } else { POOL };
        let each = (pool / u64::from(clients)).max(POOL_LEAST);
        // As many blocks as fit into the client's share: each write takes the next one, so that its content comes from cold
        // memory.
        let windows = (each / u64::from(depth) / stride_of(block) as u64).max(1);
        BufferSizes { depth, block, windows: if writes { windows as u32 } else { 0 } }
    }

    pub fn total_bytes(&self) -> Bytes {
        Bytes(u64::from(self.depth) * (u64::from(self.windows) + 1) * stride_of(self.block) as u64)
    }
}

/// From one block in memory to the next: O_DIRECT wants them aligned.
fn stride_of(block: Bytes) -> usize {
    (block.0 as usize).next_multiple_of(PAGE)
}

pub struct IoBuffers {
    start: *mut u8,
    layout: Layout,
    room: BufferSizes,
    stride: usize,
    /// The block of each slot that its operation uses: 0 to read into, from 1 on to write from.
    in_use: Box<[u32]>,
    /// The block that each slot wrote from last.
    written: Box<[u32]>,
    stamps: u64,
    repeats: Option<DedupeState>,
}

/// Which writes repeat an earlier one.
struct DedupeState {
    percent: u32,
    /// What repeats as a unit: a block of the run.
    grain: usize,
    /// Percent of writes that should have been repeats and were not.
    owed: u32,
    /// The stamp with which each 4 KiB of memory was first written; 0 before.
    first: Box<[u64]>,
}

// SAFETY: the memory is owned by this value alone; nothing else holds the pointer.
unsafe impl Send for IoBuffers {}

impl IoBuffers {
    /// The memory of `room` with `content`, of which `grain` bytes are repeated together.
    pub fn new(room: BufferSizes, content: WriteContent, grain: Bytes, seed: u64) -> IoBuffers {
        let mut buffers = IoBuffers::zeroed(room);
        buffers.fill_content(content, seed);
        let blocks = buffers.layout.size() / PAGE;
        buffers.repeats = (content.dedupe > 0).then(|| DedupeState {
            percent: content.dedupe.into(),
            grain: (grain.0 as usize).next_multiple_of(PAGE),
            owed: 0,
            first: vec![0; blocks].into(),
        });
        buffers
    }

    /// The memory of `room`, of zeros that take no memory until they are touched.
    pub fn zeroed(room: BufferSizes) -> IoBuffers {
        let layout = Layout::from_size_align(room.total_bytes().0 as usize, PAGE)
            .expect("the caller looked whether they fit in memory");
        assert!(layout.size() > 0, "a plan has no empty block and no depth 0");
        // SAFETY: the layout has a size above zero.
        let start = unsafe { alloc_zeroed(layout) };
        if start.is_null() {
            handle_alloc_error(layout);
        }
        let of_slots = vec![0; room.depth as usize];
        let (in_use, written) = (of_slots.clone().into(), of_slots.into());
        IoBuffers { start, layout, room, stride: stride_of(room.block), in_use, written, stamps: 0, repeats: None }
    }

    /// How many operations may be in flight.
    pub fn count(&self) -> u32 {
        self.room.depth
    }

    /// All blocks as one piece of memory, for registration with the kernel.
    pub fn as_region(&self) -> (*mut u8, usize) {
        (self.start, self.layout.size())
    }

    /// The first of `len` bytes of the block that `slot` uses.
    #[inline]
    pub fn block(&self, slot: u32, len: usize) -> *mut u8 {
        // An assertion and not a check in debug builds alone: anything that writes beyond a block writes into foreign memory.
        assert!(len <= self.stride && slot < self.count(), "an operation is no longer than its block");
        self.start.wrapping_add(self.block_offset(slot))
    }

    /// The offset of the block that `slot` uses.
    #[inline]
    fn block_offset(&self, slot: u32) -> usize {
        (slot as usize * (self.room.windows as usize + 1) + self.in_use[slot as usize] as usize) * self.stride
    }

    /// The first of `len` bytes of `slot` to read into.
    #[inline]
    pub fn room_to_read(&mut self, slot: u32, len: usize) -> *mut u8 {
        self.in_use[slot as usize] = 0;
        self.block(slot, len)
    }

    /// The first of `len` bytes of `slot` to write from. The caller makes their content differ from every other.
    #[inline]
    pub fn room_to_write(&mut self, slot: u32, len: usize) -> *mut u8 {
        assert!(self.room.windows > 0, "a trial that writes has memory to write from");
        // In turn, and not always the same block: a device or file system that compares neighbouring writes would see repeats.
        let written = &mut self.written[slot as usize];
        *written = if *written == self.room.windows { 1 } else { *written + 1 };
        self.in_use[slot as usize] = *written;
        self.block(slot, len)
    }

    /// The same with content that differs from every earlier write, or repeats one if that is asked for.
    #[inline]
    pub fn fresh_to_write(&mut self, slot: u32, len: usize) -> *mut u8 {
        let block = self.room_to_write(slot, len);
        match self.repeats.is_some() {
            false => (0..len).step_by(PAGE).for_each(|at| self.stamp_page(slot, at, len, self.stamps + 1)),
            true => self.stamp_some(slot, len),
        }
        block
    }

    /// Stamps the 4 KiB, or what there is of them, at `at` of the block of `len` that `slot` uses. Not all at their beginning:
    /// those would all share one set of each cache, and four would take 14 ns instead of 5.
    #[inline]
    fn stamp_page(&mut self, slot: u32, at: usize, len: usize, stamp: u64) {
        self.stamps = self.stamps.max(stamp);
        let place = self.block_offset(slot) + at;
        let within = if len - at < PAGE { 0 } else { place / PAGE % (PAGE / CACHE_LINE) * CACHE_LINE };
        let word = self.start.wrapping_add(place + within).cast::<u64>();
        // SAFETY: within 4 KiB that begin below `len` in the slot's block, whose memory ends at a page's end, is owned by us, and
        // not in flight (its slot was free); aligned to a cache line.
        unsafe { word.write(stamp.wrapping_mul(0x9e37_79b9_7f4a_7c15)) };
    }

    fn stamp_some(&mut self, slot: u32, len: usize) {
        let Some(mut repeats) = self.repeats.take() else { return };
        let page = self.block_offset(slot) / PAGE;
        for grain in (0..len).step_by(repeats.grain) {
            let again = repeats.next_repeats(page + grain / PAGE);
            for at in (grain..len.min(grain + repeats.grain)).step_by(PAGE) {
                let first = &mut repeats.first[page + at / PAGE];
                let new = *first == 0;
                *first = if new { self.stamps + 1 } else { *first };
                let stamp = if again || new { *first } else { self.stamps + 1 };
                self.stamp_page(slot, at, len, stamp);
            }
        }
        self.repeats = Some(repeats);
    }

    fn fill_content(&mut self, content: WriteContent, seed: u64) {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let length = self.room.block.0 as usize;
        let (stride, compressible) = (self.stride, usize::from(content.compressible));
        for block in self.all_mut().chunks_exact_mut(stride) {
            for piece in block[..length].chunks_mut(PAGE) {
                let random = piece.len() * (100 - compressible) / 100;
                rng.fill_bytes(&mut piece[..random]);
                let word = rng.random::<u64>().to_le_bytes();
                // One word again and again is what compressors remove best; the random start of the piece stays.
                piece[random..].chunks_mut(8).for_each(|part| part.copy_from_slice(&word[..part.len()]));
            }
        }
    }

    fn all_mut(&mut self) -> &mut [u8] {
        // SAFETY: the memory is ours, initialised (zeroed), and borrowed mutably through `self`.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.layout.size()) }
    }
}

impl DedupeState {
    /// Whether the next grain, which begins at `page` of the memory, repeats what was first written from there.
    fn next_repeats(&mut self, page: usize) -> bool {
        self.owed += self.percent;
        let again = self.owed >= 100 && self.first[page] > 0;
        self.owed -= if again { 100 } else { 0 };
        again
    }
}

impl Drop for IoBuffers {
    fn drop(&mut self) {
        // SAFETY: allocated in `zeroed` with this layout and not freed since.
        unsafe { dealloc(self.start, self.layout) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use std::collections::HashSet;
    use std::io::Write;

    fn buffers(depth: u32, block: Bytes, content: WriteContent) -> IoBuffers {
        IoBuffers::new(BufferSizes::new(1, depth, block, true, content), content, block, 1)
    }

    fn bytes_of(buffers: &IoBuffers, slot: u32, len: usize) -> Vec<u8> {
        // SAFETY: so many bytes of the block are ours, initialised, and nobody writes to them meanwhile.
        unsafe { std::slice::from_raw_parts(buffers.block(slot, len), len) }.to_vec()
    }

    /// What `count` writes of `len` bytes make of a file, from the slots in turn.
    fn written(buffers: &mut IoBuffers, count: u32, len: usize) -> Vec<u8> {
        let slots = buffers.count();
        let one = |nth| {
            buffers.room_to_read(nth % slots, len);
            buffers.fresh_to_write(nth % slots, len);
            bytes_of(buffers, nth % slots, len)
        };
        (0..count).flat_map(one).collect()
    }

    fn percent_removed(content: &[u8]) -> f64 {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(content).unwrap();
        100.0 - gzip.finish().unwrap().len() as f64 / content.len() as f64 * 100.0
    }

    fn percent_repeated(content: &[u8], piece: usize) -> f64 {
        let different: HashSet<&[u8]> = content.chunks(piece).collect();
        100.0 - different.len() as f64 / (content.len() / piece) as f64 * 100.0
    }

    #[test]
    fn no_4_kib_of_two_writes_have_the_same_content_and_no_compressor_removes_any() {
        for (depth, block) in [(1, 16 << 10), (16, 16 << 10), (1, 1 << 20), (8, 4096)] {
            let content = written(
                &mut buffers(depth, Bytes(block), WriteContent::default()),
                ((6 << 20) / block) as u32,
                block as usize,
            );
            assert_eq!(percent_repeated(&content, 4096), 0.0, "{depth} {block}");
            assert!(percent_removed(&content) < 0.5, "{depth} {block}: {}", percent_removed(&content));
        }
    }

    #[test]
    fn a_compressor_removes_what_was_asked_for_also_from_a_part_of_a_block_and_from_a_small_one() {
        for (block, compressible) in [(16 << 10, 25), (16 << 10, 50), (1 << 20, 75), (512, 50), (16 << 10, 100)] {
            let content = WriteContent { compressible, dedupe: 0 };
            let count = (2 << 20) / block as u32;
            let file = written(&mut buffers(1, Bytes(block), content), count, block as usize);
            let removed: Vec<f64> =
                file.chunks(4096).step_by(97).map(percent_removed).chain([percent_removed(&file)]).collect();
            let asked = f64::from(compressible);
            assert!(removed.iter().all(|removed| (removed - asked).abs() < 4.0), "{block} {asked}: {removed:?}");
        }
    }

    #[test]
    fn so_many_blocks_repeat_an_earlier_one_whole_and_in_each_4_kib() {
        for (block, grain, dedupe) in
            [(16 << 10, 16 << 10, 30), (1 << 20, 16 << 10, 50), (4096, 4096, 90), (512, 512, 50)]
        {
            let content = WriteContent { compressible: 0, dedupe };
            let room = BufferSizes::new(1, 1, Bytes(block), true, content);
            let mut buffers = IoBuffers::new(room, content, Bytes(grain), 1);
            let file = written(&mut buffers, ((16 << 20) / block) as u32, block as usize);
            for piece in [grain.min(4096), grain] {
                let repeated = percent_repeated(&file, piece as usize);
                assert!((repeated - f64::from(dedupe)).abs() < 1.0, "{block} {piece} {dedupe}: {repeated}");
            }
        }
    }

    #[test]
    fn all_clients_together_stay_below_what_a_user_may_register_and_each_has_some() {
        let room =
            |clients, depth, block| BufferSizes::new(clients, depth, Bytes(block), true, WriteContent::default());
        assert_eq!(room(1, 16, 16 << 10).total_bytes(), Bytes((4 << 20) + (256 << 10)));
        assert_eq!(room(4, 1, 16 << 10).windows, 64);
        assert_eq!(room(1000, 1, 16 << 10).windows, 4);
        assert_eq!(room(1, 64, 16 << 20).windows, 1);
        assert_eq!(
            BufferSizes::new(1, 16, Bytes(512), false, WriteContent::default()).total_bytes(),
            Bytes::from_kib(64)
        );
    }

    #[test]
    #[should_panic(expected = "no longer than its block")]
    fn an_operation_beyond_its_block_is_a_bug_that_touches_no_memory() {
        buffers(2, Bytes(512), WriteContent::default()).block(0, 4097);
    }
}
