//! `limits`: what the engine used of what it may have, as its control groups count it.
//!
//! In: the groups of a point. Out: one source. Limits: storage is counted for the groups' own processes, and for a device that is
//! limited as a whole, for whoever uses it. What the kernel writes later in its own name is not in a group of version 1.

use super::memory::Memory;
use super::storage::Storage;
use crate::engines::counters::{ServerSource, own, within};
use model::CounterKind::{Counter as Counts, Gauge};
use model::{CounterRole, CounterSource};

/// The source, for the reference.
pub static LIMITS: ServerSource = ServerSource {
    name: "limits",
    help: "memory, reads and writes of an engine that is held to limits, as its control groups count them",
    counters: &[
        own(Gauge, "memory_bytes", "bytes", "memory of the engine and page cache of its files"),
        own(Counts, "memory_hits", "count", "times that the memory limit was met and something had to go"),
        own(Counts, "read_ops", "ops", "reads of who is held to the limit").read_as(CounterRole::LimitedReadOps),
        own(Counts, "write_ops", "ops", "writes of who is held to the limit").read_as(CounterRole::LimitedWriteOps),
        own(Counts, "read_bytes", "bytes", "bytes read by who is held to the limit")
            .read_as(CounterRole::LimitedReadBytes),
        own(Counts, "write_bytes", "bytes", "bytes written by who is held to the limit")
            .read_as(CounterRole::LimitedWriteBytes),
    ],
};

/// All of them.
pub const SOURCES: &[&ServerSource] = &[&LIMITS];

/// The source of a point whose engine is in groups.
pub fn sources(memory: Option<&Memory>, storage: Option<&Storage>) -> Vec<Box<dyn CounterSource>> {
    let (memory, storage) = (memory.cloned(), storage.cloned());
    vec![within(&LIMITS, move || {
        let used = storage.as_ref().map_or([None; 4], Storage::used);
        let memory = memory.as_ref();
        [memory.and_then(Memory::used), memory.and_then(Memory::hits)].into_iter().chain(used).collect()
    })]
}
