//! The CPUs of this machine: how they are arranged, and which of them a process may use.
//!
//! In: sysfs, a choice of CPUs. Out: a [`CpuTopology`], lists of CPUs, processes that are pinned to them. Limits: Linux. CPUs that are
//! offline, or that plimsoll may not use, are no part of it. Threads of the kernel itself, such as those that write the page cache
//! or serve a loop device, cannot be pinned from here.

mod pinning;
pub(crate) mod topology;

pub use pinning::{EngineCpus, allowed_cpus, pin_processes, pin_self, pin_thread, usable_cpus};
pub use topology::CpuTopology;
