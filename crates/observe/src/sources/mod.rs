//! All counter sources, one file each. To add one: its file here, its line in [`SOURCES`].
//!
//! In: a subject. Out: open sources. Limits: names and units of counters are part of the run file; the analysis relies on them.

pub mod client_threads;
pub mod cpu;
pub mod disk;
pub mod engine_threads;
pub mod frequency;
pub mod io_delay;
pub mod kernel_threads;
pub mod memory;
pub mod network;
pub mod power;
pub mod process;
pub mod psi;
pub mod tcp;
pub mod writes;

use crate::SourceEntry;

/// Every source, in the order in which they are read.
pub const SOURCES: &[&SourceEntry] = &[
    &cpu::ENTRY,
    &kernel_threads::ENTRY,
    &disk::ENTRY,
    &memory::ENTRY,
    &psi::ENTRY,
    &process::ENTRY,
    &io_delay::ENTRY,
    &writes::ENTRY,
    &power::ENTRY,
    &frequency::ENTRY,
    &tcp::ENTRY,
    &network::ENTRY,
    &engine_threads::ENTRY,
    &client_threads::ENTRY,
];

/// Tests that write much wait here for each other: they count what this process writes.
#[cfg(test)]
fn hold_large_writes() -> std::sync::MutexGuard<'static, ()> {
    static LARGE_WRITES: std::sync::Mutex<()> = std::sync::Mutex::new(());
    LARGE_WRITES.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
