//! Memory into which the kernel receives: it takes a buffer of a ring when bytes have come, and gets it back when they were copied.
//!
//! In: a ring of io_uring. Out: received bytes by the number of their buffer. Limits: Linux 5.19. The memory must outlive what the kernel
//! receives into it.

use io_uring::IoUring;
use io_uring::types::BufRingEntry;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use std::io;
use std::sync::atomic::{AtomicU16, Ordering::Release};

/// Bytes of each; a longer answer takes several.
const BUFFER_BYTES: usize = 8 << 10;
/// From one to the next: at distances that are powers of two, all would begin in the same lines of the CPU's caches.
const STRIDE: usize = BUFFER_BYTES + 5 * 64;

/// The number of the group of buffers.
pub const GROUP: u16 = 0;

/// The buffers of a ring. Their pages take memory when something is received into them.
pub struct ReceiveBuffers {
    /// The entries, and behind them the buffers.
    start: *mut u8,
    count: u16,
    /// Buffers that were given to the kernel, in all.
    given: u16,
}

// SAFETY: the memory belongs to this value alone; the kernel writes only into buffers that it was given and has not returned.
unsafe impl Send for ReceiveBuffers {}

impl ReceiveBuffers {
    /// `count` buffers, a power of two, for `ring`.
    pub fn register(ring: &IoUring, count: u16) -> io::Result<ReceiveBuffers> {
        // SAFETY: a new mapping at a place that the kernel chooses; it begins with a page.
        let start = unsafe {
            mmap_anonymous(
                std::ptr::null_mut(),
                length_of(count),
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE | MapFlags::NORESERVE,
            )
        }?;
        let mut buffers = ReceiveBuffers { start: start.cast(), count, given: 0 };
        // SAFETY: the mapping begins with `count` entries, and is unmapped only when the ring is gone (see `RingSockets`).
        unsafe { ring.submitter().register_buf_ring_with_flags(start as u64, count, GROUP, 0) }?;
        (0..count).for_each(|number| buffers.give(number));
        Ok(buffers)
    }

    /// The first `length` bytes of buffer `number`, which the kernel has returned.
    #[inline]
    pub fn bytes(&self, number: u16, length: usize) -> &[u8] {
        assert!(number < self.count && length <= BUFFER_BYTES, "the kernel names a buffer that it was given");
        // SAFETY: the buffer is within the mapping, and the kernel does not write to it until it is given back.
        unsafe { std::slice::from_raw_parts(self.at(number), length) }
    }

    /// Gives buffer `number` to the kernel.
    #[inline]
    pub fn give(&mut self, number: u16) {
        let entries: *mut BufRingEntry = self.start.cast();
        // SAFETY: the entry at this place is within the mapping, and free: there are as many places as buffers. The tail, which lies in a
        // part of the first entry that is not written here, tells the kernel of the entry after it was written.
        unsafe {
            let entry = &mut *entries.add(usize::from(self.given & (self.count - 1)));
            entry.set_addr(self.at(number) as u64);
            entry.set_len(BUFFER_BYTES as u32);
            entry.set_bid(number);
            self.given = self.given.wrapping_add(1);
            (*BufRingEntry::tail(entries).cast::<AtomicU16>()).store(self.given, Release);
        }
    }

    #[inline]
    fn at(&self, number: u16) -> *mut u8 {
        self.start.wrapping_add(entries_bytes(self.count) + usize::from(number) * STRIDE)
    }
}

fn entries_bytes(count: u16) -> usize {
    usize::from(count) * size_of::<BufRingEntry>()
}

fn length_of(count: u16) -> usize {
    entries_bytes(count) + usize::from(count) * STRIDE
}

impl Drop for ReceiveBuffers {
    fn drop(&mut self) {
        // SAFETY: mapped in `register` with this length; the owner drops it after the ring.
        let _ = unsafe { munmap(self.start.cast(), length_of(self.count)) };
    }
}
