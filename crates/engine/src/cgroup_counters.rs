//! `limits`: what the engine used of what it may have, as its control groups count it; and what CPU quotas did that others have set.
//!
//! In: the groups of a point, of plimsoll, of the engine's process. Out: one source each. Limits: storage is counted for the groups' own processes, and for a device that is
//! limited by a rule of its own, for anything that uses it. What the kernel writes later in its own name is not in a group of version 1.

use crate::counters::{ServerSource, in_process_source, own};
use host::privileged::cgroup::{CgroupLimits, CpuQuota};
use model::CounterKind::{Counter as Counts, Gauge};
use model::{CounterRole, CounterSource};

/// The source, for the reference.
static LIMITS: ServerSource = ServerSource {
    name: "limits",
    help: "memory, reads and writes of an engine with limits, as counted by its cgroups",
    counters: &[
        own(Gauge, "memory_bytes", "bytes", "memory of the engine and page cache of its files"),
        own(Counts, "memory_hits", "count", "times that the memory limit was reached and pages were dropped"),
        own(Counts, "read_ops", "ops", "reads of the limited processes").read_as(CounterRole::LimitedReadOps),
        own(Counts, "write_ops", "ops", "writes of the limited processes").read_as(CounterRole::LimitedWriteOps),
        own(Counts, "read_bytes", "bytes", "bytes read by the limited processes")
            .read_as(CounterRole::LimitedReadBytes),
        own(Counts, "write_bytes", "bytes", "bytes written by the limited processes")
            .read_as(CounterRole::LimitedWriteBytes),
    ],
};

/// The source of the quota that plimsoll itself was started with, for the reference.
static QUOTA: ServerSource = ServerSource {
    name: "quota",
    help: "how often and how long the CPU quota of plimsoll's own cgroup held it back, if it has one",
    counters: &[
        own(Counts, "throttled_ns", "ns", "time in which the quota held threads back, summed over CPUs")
            .read_as(CounterRole::QuotaThrottled),
        own(Counts, "throttled_periods", "count", "periods of the quota in which it held threads back")
            .read_as(CounterRole::QuotaPeriods),
        own(Gauge, "cpus", "count", "the quota: CPU time per time").read_as(CounterRole::Quota),
    ],
};

/// The source of a quota that holds the engine and not plimsoll, for the reference.
static ENGINE_QUOTA: ServerSource = ServerSource {
    name: "engine-quota",
    help: "how often and how long a CPU quota of the engine's own cgroup held it back, as in a container that has one",
    counters: &[
        own(Counts, "throttled_ns", "ns", "time in which the quota held threads back, summed over CPUs")
            .read_as(CounterRole::EngineQuotaThrottled),
        own(Counts, "throttled_periods", "count", "periods of the quota in which it held threads back")
            .read_as(CounterRole::EngineQuotaPeriods),
        own(Gauge, "cpus", "count", "the quota: CPU time per time").read_as(CounterRole::EngineQuota),
    ],
};

pub(crate) const SOURCES: &[&ServerSource] = &[&LIMITS, &QUOTA, &ENGINE_QUOTA];

/// The source of the CPU quota that holds plimsoll; `None` if it has none.
pub fn quota_source() -> Option<Box<dyn CounterSource>> {
    let quota = host::privileged::cgroup::cpu_quota()?;
    Some(in_process_source(&QUOTA, move || values_of(&quota)))
}

/// The source of the CPU quota that holds the engine's process `pid` and not plimsoll; `None` if there is none.
pub fn engine_quota_source(pid: u32) -> Option<Box<dyn CounterSource>> {
    let quota = host::privileged::cgroup::cpu_quota_of(pid)?;
    Some(in_process_source(&ENGINE_QUOTA, move || values_of(&quota)))
}

/// What a quota did, and how high it is now: whoever set it may change it while it is measured.
fn values_of(quota: &CpuQuota) -> Vec<Option<f64>> {
    let effects = quota.effects();
    let counted = [effects.map(|all| all.throttled_ns), effects.map(|all| all.throttled_periods)];
    counted.map(|value| value.map(|value| value as f64)).into_iter().chain([quota.cpus_now()]).collect()
}

/// The source of a point whose engine is held by `limits`.
pub fn usage_sources(limits: &CgroupLimits) -> Vec<Box<dyn CounterSource>> {
    let usage = limits.usage_reader();
    vec![in_process_source(&LIMITS, move || usage.read().to_vec())]
}
