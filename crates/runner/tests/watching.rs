//! What a watch of days keeps in memory and on disk.
//!
//! In: this process, which is watched in many short files. Out: neither memory nor files grow. Limits: alone in its program, because the memory
//! is that of the process; a bench has a whole day.

mod watched_files;

use model::Nanos;
use runner::Watch;
use watched_files::{FileLength, MemoryWatch, record_files};

const FILES: u32 = 24;
const INTERVALS: u32 = 40;
/// A file begins with the same facts, whatever was in those before it.
const FILE_GROWTH_MAX: f64 = 1.25;
const MEMORY_GROWTH_MAX: u64 = 1 << 20;

fn median(values: impl Iterator<Item = u64>) -> u64 {
    let mut values: Vec<u64> = values.collect();
    values.sort_unstable();
    values[values.len() / 2]
}

#[test]
fn neither_the_memory_nor_the_files_of_a_watch_grow_with_its_time() {
    let dir = tempfile::tempdir().unwrap();
    let length = FileLength { intervals: INTERVALS, interval: Nanos::from_millis(5) };
    let mut memory = MemoryWatch::each(u64::from(INTERVALS));
    let watch = Watch::of_process(std::process::id()).unwrap();
    let files = record_files(watch, dir.path(), (FILES, length), &mut memory).unwrap();
    let sizes: Vec<u64> = files.iter().map(|file| file.metadata().unwrap().len()).collect();
    // The first file has the warming up of everything.
    let (early, late) = (&sizes[1..9], &sizes[16..]);
    let grown = *late.iter().max().unwrap() as f64 / *early.iter().max().unwrap() as f64;
    assert!(grown < FILE_GROWTH_MAX, "the files grow: {sizes:?}");
    let bytes: Vec<u64> = memory.seen.iter().map(|seen| seen.bytes).collect();
    assert!(bytes.len() >= FILES as usize - 1, "each file has its intervals: {bytes:?}");
    let (early, late) = (median(bytes[4..12].iter().copied()), median(bytes[bytes.len() - 8..].iter().copied()));
    assert!(late < early + MEMORY_GROWTH_MAX, "the memory grows: {bytes:?}");
}
