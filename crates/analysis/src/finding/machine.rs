//! What the machine did for the point, and for others.
//!
//! In: nothing. Out: the figures of findings, with their units; serialised, the keys carry them. Limits: no sentences.

use super::units::Share;
use crate::evidence::ShownCeiling;
use crate::evidence::limited_flow::LimitedFlow;
use model::{ChangedSetting, Nanos, UnseenServer};
use serde::Serialize;

/// Settings of the server that changed during the point.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SettingChanges {
    /// Each with its value at the beginning and the first other one.
    pub changes: Vec<ChangedSetting>,
    /// When the first was noticed, since the run phase began; `None` before it.
    pub noticed_at_ns: Option<Nanos>,
}

/// The settings of the server could not be read after the load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct UnreadSettings {}

/// Restarts of the server during the point, or its end.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ServerRestarts {
    /// How many restarts.
    pub count: usize,
    /// How the server ended, `gone` if that is not known; `None` if it did not, or it is not on this machine.
    pub ended: Option<String>,
    /// When the first restart was, or else the first operation failed, since the run phase began; `None` before it.
    pub first_at_ns: Option<Nanos>,
}

/// Stretches in which plimsoll itself did not run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RecorderGaps {
    /// Why.
    pub cause: GapCause,
    /// How many.
    pub count: usize,
    /// How long they were in all, without the time in which the machine was suspended.
    pub total_ns: Nanos,
    /// The longest.
    pub longest_ns: Nanos,
    /// All of them as a share of the run.
    pub share: Share,
    /// What was recorded of each time at which the machine was suspended.
    pub quoted: Vec<String>,
}

/// Why plimsoll did not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum GapCause {
    /// The machine was suspended.
    Suspended,
    /// Plimsoll was stopped or frozen, or its machine did not run.
    Stopped,
    /// It waited for a CPU.
    NoCpu,
    /// One gap was a stop, another a wait.
    StoppedAndNoCpu,
}

/// Worker threads of the kernel that performed operations of io_uring.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OffloadedIo {
    /// How many there were at the end of the load; `None` if it is not known.
    pub workers: Option<u64>,
    /// Their CPU time as it was recorded, with its unit; `None` if it is not known.
    pub workers_cpu: Option<String>,
    /// CPU time of the clients per operation; `None` if it is not known.
    pub client_cpu_ns_per_op: Option<f64>,
}

/// What kept the CPU from working as fast as it could.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "by", rename_all = "kebab-case")]
pub enum CpuThrottling {
    /// The quota of the control group that plimsoll was started in.
    Quota {
        /// CPU time that it allows per time, in CPUs; `None` if it is not known.
        cpus: Option<f64>,
        /// CPUs of the machine.
        machine_cpus: Option<u64>,
        /// Periods of the quota in which it held plimsoll back.
        periods: u64,
        /// The share of the run's CPU time, over all CPUs, in which it did.
        held_share: Share,
    },
    /// The CPU's own protection.
    Heat {
        /// How often a core was slowed down.
        events: u64,
    },
}

/// A file that was read from its disk while it was compressed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SourceReads {
    /// So many of its bytes,
    pub read_bytes: u64,
    /// which are this share of it.
    pub read_share: Share,
}

/// Reads of which the device performed a part only.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CachedReads {
    /// The way that the reads were to take.
    pub via: ReadRoute,
    /// Bytes per second that the clients read.
    pub read_bytes_per_s: f64,
    /// Bytes per second that the device read.
    pub device_read_bytes_per_s: f64,
}

/// The way from a client to the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReadRoute {
    /// Past the page cache.
    Direct,
    /// Through the page cache.
    PageCache,
}

/// A device that did more than its limit allows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EscapedLimit {
    /// What is limited.
    pub flow: LimitedFlow,
    /// What the device did, per second.
    pub done_per_s: f64,
    /// What the limit counted of it, per second; `None` if it is not known.
    pub counted_per_s: Option<f64>,
    /// The limit, per second.
    pub limit_per_s: f64,
    /// The device that has the limit; `None` if it is not known.
    pub device: Option<String>,
}

/// CPU time that the target could not have.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ForeignCpu {
    /// The share of all CPU time of the machine.
    pub share: Share,
    /// The user of it.
    #[serde(flatten)]
    pub by: CpuUser,
}

/// The user of CPU time that is not the target's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "by", rename_all = "kebab-case")]
#[allow(missing_docs)]
pub enum CpuUser {
    /// The hypervisor, which ran another machine.
    Hypervisor { share_max: Share },
    /// Processes that are neither plimsoll nor the engine; this share of the machine's CPU time was used in all.
    OtherProcesses { cores: CoresUsed, busy_share: Share },
}

/// The cores of a machine by their users.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CoresUsed {
    /// By other processes, in cores.
    pub others_cores: f64,
    /// By plimsoll and the engine, in cores.
    pub ours_cores: f64,
    /// How many the machine has.
    pub machine_cores: f64,
}

/// Signs that the machine was short of memory.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MemoryPressure {
    /// Pages swapped in.
    pub swapped_in_pages: u64,
    /// Pages swapped out.
    pub swapped_out_pages: u64,
    /// The share of the time in which all tasks waited for memory.
    pub waited_share: Share,
}

/// How much of a ceiling a point used.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CeilingUse {
    /// The share of it.
    pub used_share: Share,
    /// The ceiling; or that of reads and that of writes, whose shares add up.
    pub ceilings: Vec<ShownCeiling>,
    /// Operations per second.
    pub ops_per_s: f64,
    /// Their mean size.
    pub bytes_per_op: f64,
    /// Whether they are counted at the clients, and not at the device.
    pub counted_at_clients: bool,
    /// When `plimsoll disk` measured the ceilings, as it wrote it; `None` if it did not, or did not write it.
    pub measured: Option<String>,
    /// The kernel at that time.
    pub kernel: Option<String>,
}

/// Stops of the engine in which its stacks were taken.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StackStops {
    /// The tool that took them.
    pub tool: String,
    /// How many snapshots at stalls,
    pub at_stalls: usize,
    /// and at random moments.
    pub at_random: usize,
    /// How long the engine, or a part of it, was stopped in all.
    pub stopped_ns: Nanos,
    /// The longest stop.
    pub longest_ns: Nanos,
    /// How long the tool ran in all.
    pub took_ns: Nanos,
    /// All stops as a share of the run phase.
    pub share: Share,
}

/// Sources of counters that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MissingCounters {
    /// What the sampler recorded of each, without repetitions.
    pub quoted: Vec<String>,
}

/// A server that plimsoll did not start and does not see, or not all of it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct UnseenProcess {
    /// The reason.
    pub why: UnseenServer,
    /// The share of the machine's CPU time that the server and other processes used together; `None` if they can be told apart, or if it
    /// is not known.
    pub mixed_cpu_share: Option<Share>,
}
