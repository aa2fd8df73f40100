//! What a watch of days keeps in memory and on disk.
//!
//! In: this process, which is watched in many short files. Out: neither memory nor files grow. Limits: alone in its program, because the memory
//! is all that the program has allocated, without what SQLite has; a bench has a whole day, and the memory that the kernel sees.

mod watched_files;

use model::Nanos;
use runner::{RunEvent, RunObserver, Watch};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};
use watched_files::{FileLength, record_files};

const FILES: u32 = 24;
const INTERVALS: u32 = 40;
/// A file begins with the same facts, whatever was in those before it. A busy machine leaves out an interval, or adds an event to one.
const FILE_GROWTH_MAX: u64 = 2_048 * INTERVALS as u64;
const MEMORY_GROWTH_MAX: u64 = 1 << 20;

/// Bytes that were allocated and not given back. What the allocator keeps from the kernel beside them depends on the order in which threads run.
static ALLOCATED: AtomicU64 = AtomicU64::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The allocator of the system, whose bytes are counted.
struct Counting;

// SAFETY: the allocator of the system does all of the work, with the arguments as they came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATED.fetch_add(layout.size() as u64, Ordering::Relaxed);
        // SAFETY: the caller keeps to the contract, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        ALLOCATED.fetch_sub(layout.size() as u64, Ordering::Relaxed);
        // SAFETY: the caller keeps to the contract, which is the same.
        unsafe { System.dealloc(memory, layout) }
    }
}

/// The memory whenever a file has all of its intervals.
struct MemoryOfFiles(Vec<u64>);

impl RunObserver for MemoryOfFiles {
    fn on(&mut self, event: RunEvent<'_>) {
        if let RunEvent::PointEnded { .. } = event {
            self.0.push(ALLOCATED.load(Ordering::Relaxed));
        }
    }
}

fn median(values: impl Iterator<Item = u64>) -> u64 {
    let mut values: Vec<u64> = values.collect();
    values.sort_unstable();
    values[values.len() / 2]
}

#[test]
fn neither_the_memory_nor_the_files_of_a_watch_grow_with_its_time() {
    let dir = tempfile::tempdir().unwrap();
    let length = FileLength { intervals: INTERVALS, interval: Nanos::from_millis(5) };
    let mut memory = MemoryOfFiles(Vec::new());
    let watch = Watch::of_process(std::process::id()).unwrap();
    let files = record_files(watch, dir.path(), (FILES, length), &mut memory).unwrap();
    let sizes: Vec<u64> = files.iter().map(|file| file.metadata().unwrap().len()).collect();
    // The first file has the warming up of everything.
    let [early, late] = [&sizes[1..9], &sizes[16..]].map(|sizes| *sizes.iter().max().unwrap());
    assert!(late < early + FILE_GROWTH_MAX, "the files grow: {sizes:?}");
    let bytes = memory.0;
    assert_eq!(bytes.len(), FILES as usize);
    let [early, late] = [&bytes[1..9], &bytes[16..]].map(|bytes| median(bytes.iter().copied()));
    assert!(late < early + MEMORY_GROWTH_MAX, "the memory grows: {bytes:?}");
}
