//! What limited a point, as data: causes with their figures and how sure they are, and what was ruled out.
//!
//! In: the tests of [`crate::bottleneck`] make these. Out: figures for the finding `bottleneck`, for JSON and for reports. Limits: no
//! sentences. All shares are from 0 to 1 unless a doc comment allows more.

use super::limited_flow::LimitedFlow;
use crate::judgement::NextStep;
use crate::math::units::Share;
use model::{Nanos, StallReason};
use serde::Serialize;

/// What can limit a point. The order is that of the verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    Disk,
    /// Syncs of files that the clients ask for.
    Sync,
    /// Writes of files, which nobody asked to be synced.
    Write,
    /// The log: commits that wait until it is on disk.
    Commit,
    /// Checkpoints: the log is nearly full, so that pages must be written first.
    Checkpoint,
    /// Compactions or flushes, for which writers have to wait.
    Compaction,
    /// All CPUs of the machine.
    Cpu,
    /// One core, by an engine that uses no more.
    OneCore,
    /// Locks inside the engine.
    Locks,
    /// Memory: swapping, reclaim, and files that it cannot hold.
    Memory,
    /// The engine's processes were stopped.
    Frozen,
    /// The network between clients and engine.
    Network,
    /// The queue of connections that a server has yet to accept: what finds it full is tried again a second later.
    ListenQueue,
    /// The connections that a server allows.
    Connections,
    /// The nodes of a cluster, which ask for a pause until they have applied what the others sent.
    FlowControl,
    /// A limit that was set: a CPU quota, a limit of storage.
    Throttled,
    /// The CPU, of which other processes used what the point needed: the finding `foreign-cpu` has the figures.
    OtherProcesses,
    /// The CPU, of which the hypervisor took what the point needed: the finding `foreign-cpu` has the figures.
    Hypervisor,
    Client,
    /// One operation at a time: its latency.
    OneAtATime,
    /// A few operations at a time: their latency.
    FewInFlight,
    /// The rate that was offered.
    Schedule,
    /// Whichever of them could not keep up with the offered rate.
    TargetOrClients,
    /// Nothing was saturated.
    Unclear,
}

/// How sure a cause is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Confidence {
    /// The resource was used up, and a second counter shows that something waited for it; or the figure leaves no other reading.
    Sure,
    /// The resource was used up, or the engine waited for it most of the time.
    Likely,
    /// A sign of it, and no better one of anything else.
    Possible,
}

/// A limit with the figures that show it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "limit", rename_all = "kebab-case")]
pub enum LimitEvidence {
    /// The device was busy for this share of the time, with so many requests in flight on average; this share of its best rate was used.
    /// The threads at work waited for reads for the last share.
    Disk { busy_share: Share, queue: Option<f64>, used_share: Option<Share>, waited_share: Option<Share> },
    /// The threads at work spent this share of their time in writes and in the syncs that the clients ask for; so many at a time.
    Sync { waited_share: Share, threads: f64 },
    /// They did so, and the clients ask for no sync.
    Write { waited_share: Share, threads: f64 },
    /// They did so, or waited for the thread that syncs for a group, in an engine whose commits wait until they are on disk. The other share
    /// is what they waited for other threads, for whatever reason.
    Commit { waited_share: Share, lock_share: Share, threads: f64 },
    /// The log was this full on average, as a share of the age at which the engine stops to write pages.
    Checkpoint { log_share: Share },
    /// Writers were stalled for this share of the time, most often for this reason; so often a second for any.
    Compaction {
        stalled_share: Share,
        pending_bytes: Option<f64>,
        reason: Option<StallReason>,
        stalls_per_s: Option<f64>,
    },
    /// The operation was to wait for the engine's flushes and compactions, and did so for this share of its time.
    Drain { waited_share: Share, pending_bytes: Option<f64> },
    /// This share of the machine's CPU time was used, most of it by plimsoll and the engine if the users are known; some task waited for
    /// a CPU for the other share of the time.
    Cpu { busy_share: Share, waited_share: Option<Share> },
    /// Plimsoll and the engine, pinned to so many CPUs, used this share of their time.
    PinnedCpus { busy_share: Share, cpus: u64 },
    /// The engine and its clients used so many cores in all, this share of it in the kernel.
    OneCore { cores: f64, kernel_share: Option<Share> },
    /// This share of the clients waited for a lock on average, or of the time of the threads at work; so often for a row per operation.
    Locks { waiting_share: Share, row_waits_per_op: Option<f64>, by: LockAccount },
    /// This share of the link's speed was used, and this share of the segments had to be sent again.
    Network { link_share: Option<Share>, retransmit_share: Option<Share> },
    /// All tasks waited for memory for this share of the time; so many pages were swapped in and out.
    Memory { waited_share: Share, swapped_pages: u64 },
    /// This share of the bytes read had been in memory before, which had no room to keep them; so many bytes an operation.
    PageCache { refault_share: Share, refault_bytes_per_op: f64 },
    /// Most of the engine's threads were stopped for this share of the time.
    Frozen { stopped_share: Share },
    /// A limit was reached.
    Throttled(Throttle),
    /// Others used this share of the machine's CPU time, of which so much was used in all.
    OtherProcesses { others_share: Share, busy_share: Share },
    /// The hypervisor took this share of the machine's CPU time; so much of what it left was used.
    Hypervisor { stolen_share: Share, busy_share: Share },
    /// Clients waited for this share of their time until the kernel tried a connection again; so many had found the queue full.
    ListenQueue { waited_share: Share, overflows: f64 },
    /// The server refused this share of the connections that clients asked for.
    Connections { refused_share: Share },
    /// Flow control made one node wait for this share of the time: the node that waited longest.
    FlowControl { paused_share: Share },
    /// The client threads used this share of the cores that they can run on.
    Client { cores_share: Share },
    /// One operation after the other in each of so many slots, each of this length.
    OneAtATime { service_mean_ns: Nanos, in_flight: u64 },
    /// All that was offered was served, so nothing was at its limit; the counters show how busy the machine was.
    Schedule { done_per_s: f64, offered_per_s: f64, counters: Counters },
    /// Too slow for the offered rate, and no counter shows why.
    TargetOrClients(Counters),
    /// No counter explains it.
    Unclear(Counters),
}

/// A limit that was set on purpose, or by whoever runs the machine.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "by", rename_all = "kebab-case")]
pub enum Throttle {
    /// A CPU quota of the control group that plimsoll was started in: it held threads back for this share of the CPU time of the machine.
    Quota { held_share: Share, cpus: Option<f64> },
    /// A CPU quota of the engine's own control group, which plimsoll did not set: as above.
    EngineQuota { held_share: Share, cpus: Option<f64> },
    /// The CPU limit of the point: this share of it was used.
    CpuLimit { used_share: Share, cpus: f64 },
    /// The storage limit of the point: this share of what it allows of `flow` was used, and it was reached for this share of the time.
    Storage { flow: LimitedFlow, used_share: Share, reached_share: Option<Share>, done_per_s: f64, limit_per_s: f64 },
    /// Something that holds threads back although CPUs were idle: they waited for a CPU for this share of their time at work.
    CpuQueue { waited_share: Share, busy_share: Share },
    /// Something above the device: so many threads waited for storage, and the device had so many requests.
    AboveDevice { waiting_threads: f64, device_requests: f64 },
}

/// Whose account of locks it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LockAccount {
    /// The engine's, of row locks.
    Engine,
    /// The engine's, of the turn to write, of which there is one at a time.
    OneWriter,
    /// The kernel's, of threads that wait for other threads.
    Threads,
}

/// What the counters showed; `None` if they are not known.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Counters {
    /// The share of the time in which the device was busy.
    pub disk_busy_share: Option<Share>,
    /// The share of the machine's CPU time that was used.
    pub cpu_share: Option<Share>,
    /// The share of their cores that the client threads used.
    pub client_cores_share: Option<Share>,
}

/// What limited a point, how sure that is, and what to do next.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cause {
    /// The limit with its figures.
    #[serde(flatten)]
    pub evidence: LimitEvidence,
    /// How much of the resource was used, or of the time was lost to it: the figure that decided.
    pub share: Share,
    /// How sure it is.
    pub confidence: Confidence,
    /// Where it was found, if the point has several hosts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<CausePlace>,
    /// What to do next.
    #[serde(skip)]
    pub next: NextStep,
}

/// One of several hosts, and its network interface if that is the limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CausePlace {
    /// The name of the host.
    pub host: String,
    /// The interface whose link was used most; `None` of any other limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
}

/// A limit that the point did not reach, with the figure that shows it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RuledOut {
    pub code: Limit,
    /// How much of the resource was used, or of the time was lost to it.
    pub value: f64,
    /// From which value on it would have been named.
    pub limit: f64,
}

impl RuledOut {
    /// How near it came to being named: 1 at the value from which on it is.
    pub fn nearness(&self) -> f64 {
        self.value / self.limit
    }
}

/// The judgement on one point.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Bottlenecks {
    /// What limited it: one cause, or two that share.
    pub causes: Vec<Cause>,
    /// What did not, in the order of the tests.
    pub ruled_out: Vec<RuledOut>,
}

/// Above this share of the machine's CPU time its CPUs are a limit. At 90 % busy a queue forms nearly always; the rest is the
/// sampling of the counters.
pub const CPU_BUSY_MIN: f64 = 0.90;

/// From this share on of what it allows in all of the time, a storage limit is used up.
// The kernel enforces it in slices, so that a few per cent of it are lost.
pub const STORAGE_USED_MIN: f64 = 0.90;

impl Throttle {
    /// Whether it is a storage limit that was reached only now and then, by writes or reads that come in bursts.
    pub fn is_reached_in_bursts(&self) -> bool {
        matches!(self, Throttle::Storage { used_share, .. } if used_share.0 < STORAGE_USED_MIN)
    }
}

impl LimitEvidence {
    /// The limit without its figures.
    pub fn limit(&self) -> Limit {
        match self {
            LimitEvidence::Disk { .. } => Limit::Disk,
            LimitEvidence::Sync { .. } => Limit::Sync,
            LimitEvidence::Write { .. } => Limit::Write,
            LimitEvidence::Commit { .. } => Limit::Commit,
            LimitEvidence::Network { .. } => Limit::Network,
            LimitEvidence::ListenQueue { .. } => Limit::ListenQueue,
            LimitEvidence::Connections { .. } => Limit::Connections,
            LimitEvidence::FlowControl { .. } => Limit::FlowControl,
            LimitEvidence::Checkpoint { .. } => Limit::Checkpoint,
            LimitEvidence::Compaction { .. } | LimitEvidence::Drain { .. } => Limit::Compaction,
            LimitEvidence::Cpu { .. } | LimitEvidence::PinnedCpus { .. } => Limit::Cpu,
            LimitEvidence::OneCore { .. } => Limit::OneCore,
            LimitEvidence::Locks { .. } => Limit::Locks,
            LimitEvidence::Memory { .. } | LimitEvidence::PageCache { .. } => Limit::Memory,
            LimitEvidence::Frozen { .. } => Limit::Frozen,
            LimitEvidence::Throttled(_) => Limit::Throttled,
            LimitEvidence::OtherProcesses { .. } => Limit::OtherProcesses,
            LimitEvidence::Hypervisor { .. } => Limit::Hypervisor,
            LimitEvidence::Client { .. } => Limit::Client,
            LimitEvidence::OneAtATime { in_flight: 1, .. } => Limit::OneAtATime,
            LimitEvidence::OneAtATime { .. } => Limit::FewInFlight,
            LimitEvidence::Schedule { .. } => Limit::Schedule,
            LimitEvidence::TargetOrClients(_) => Limit::TargetOrClients,
            LimitEvidence::Unclear(_) => Limit::Unclear,
        }
    }
}

impl Cause {
    /// `evidence` with the share that decided, sure and with nothing to do.
    pub fn new(evidence: LimitEvidence, share: f64) -> Cause {
        let (share, confidence) = (Share(share.clamp(0.0, 1.0)), Confidence::Sure);
        Cause { evidence, share, confidence, place: None, next: NextStep::None }
    }

    /// The same with this confidence.
    pub fn confidence(self, confidence: Confidence) -> Cause {
        Cause { confidence, ..self }
    }

    /// The same, found at `place`.
    pub fn at(self, place: CausePlace) -> Cause {
        Cause { place: Some(place), ..self }
    }

    /// The same with what to do next.
    pub fn next(self, next: NextStep) -> Cause {
        Cause { next, ..self }
    }

    /// The limit without its figures.
    pub fn limit(&self) -> Limit {
        self.evidence.limit()
    }

    /// The limit that was set, if it is one.
    pub fn throttle(&self) -> Option<Throttle> {
        match self.evidence {
            LimitEvidence::Throttled(throttle) => Some(throttle),
            _ => None,
        }
    }
}

impl Bottlenecks {
    /// Whether one of the causes is `limit`.
    pub fn has(&self, limit: Limit) -> bool {
        self.causes.iter().any(|cause| cause.limit() == limit)
    }

    /// Whether no cause is known.
    pub fn is_unclear(&self) -> bool {
        self.has(Limit::Unclear)
    }
}

impl Limit {
    /// Whether it is CPU time that others had: the finding `foreign-cpu` has its figures and its advice.
    pub fn is_foreign(self) -> bool {
        matches!(self, Limit::OtherProcesses | Limit::Hypervisor)
    }

    /// Whether nothing was saturated, because each client waited for its operation before the next.
    pub fn is_latency(self) -> bool {
        matches!(self, Limit::OneAtATime | Limit::FewInFlight)
    }

    /// Whether it is a resource or a way of working, and not the answer that there is no bottleneck, or none that is known.
    pub fn is_cause(self) -> bool {
        !matches!(self, Limit::Schedule | Limit::TargetOrClients | Limit::Unclear)
    }

    /// The word for it in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Limit::Disk => "disk",
            Limit::Sync => "sync",
            Limit::Write => "write",
            Limit::Commit => "commit",
            Limit::Checkpoint => "checkpoint",
            Limit::Compaction => "compaction",
            Limit::Cpu => "cpu",
            Limit::OneCore => "one-core",
            Limit::Locks => "locks",
            Limit::Memory => "memory",
            Limit::Frozen => "frozen",
            Limit::Network => "network",
            Limit::ListenQueue => "listen-queue",
            Limit::Connections => "connections",
            Limit::FlowControl => "flow-control",
            Limit::Throttled => "throttled",
            Limit::OtherProcesses => "other-processes",
            Limit::Hypervisor => "hypervisor",
            Limit::Client => "client",
            Limit::OneAtATime => "one-at-a-time",
            Limit::FewInFlight => "few-in-flight",
            Limit::Schedule => "schedule",
            Limit::TargetOrClients => "target-or-clients",
            Limit::Unclear => "unclear",
        }
    }
}

impl Confidence {
    /// The word used in files and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Confidence::Sure => "sure",
            Confidence::Likely => "likely",
            Confidence::Possible => "possible",
        }
    }
}
