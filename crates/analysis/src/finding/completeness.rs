//! Points that did not run, or not to their end.
//!
//! In: nothing. Out: the figures of findings, with their units; serialised, the keys carry them. Limits: no sentences.

use super::units::Share;
use model::Nanos;
use serde::Serialize;

/// Results of another program.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ImportedResults {
    /// The program with its version.
    pub program: String,
    /// Whether the operations are known for intervals and not only for the whole run.
    pub has_intervals: bool,
    /// Whether response times are known, so that there are percentiles.
    pub has_times: bool,
}

/// A point that ended before it was to end.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct IncompletePoint {
    /// In which way it ended.
    pub ending: Ending,
    /// The error that was recorded.
    pub error: Option<String>,
    /// How much was measured, of how much.
    pub progress: ProgressMade,
}

/// In which way a point ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// The target failed.
    TargetFailed,
    /// Data did not come back as it was written, and the load was stopped.
    DataDamaged,
    /// The run phase was not reached.
    NotStarted,
    /// Recording stopped, because plimsoll was killed or the machine went down.
    RecordingStopped,
}

/// How far a point came.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
#[allow(missing_docs)]
pub enum ProgressMade {
    /// Operations done of those planned.
    Ops { done_ops: u64, planned_ops: u64 },
    /// Time measured of that planned.
    Time { measured_ns: Nanos, planned_ns: Nanos },
}

/// A point that was ended early.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PointInterruption {
    /// When, since the run phase began; `None` before it.
    pub at_ns: Option<Nanos>,
    /// Why, as it was recorded.
    pub reason: String,
}

/// What came before the point in a resumed run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BrokenAttempts {
    /// The attempts that broke off and are left out.
    pub attempts: Vec<BrokenAttempt>,
    /// The steps that were performed again to make its data, as a list of names.
    pub repeated_steps: Option<String>,
}

/// An attempt that broke off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct BrokenAttempt {
    /// Its number in the run.
    pub point: u32,
    /// How long its run phase lasted.
    pub measured_ns: Nanos,
}

/// A step that did not do all of its operations.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct UnfinishedStep {
    /// Operations done.
    pub done_ops: u64,
    /// Operations planned.
    pub planned_ops: u64,
    /// What ended it.
    pub limit: RunLimit,
}

/// A step on other data than planned.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ShortData {
    /// The earlier step that was cut short.
    pub step: String,
    /// The number of its point in the run.
    pub point: u32,
}

/// A limit on the length of a run phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
#[allow(missing_docs)]
pub enum RunLimit {
    /// `ops_max`.
    Ops { ops_max: u64 },
    /// `time`.
    Time { time_ns: Nanos },
}

/// Clients whose last operation did not return.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BlockedClients {
    /// How many.
    pub clients: usize,
    /// What the load loop recorded of each.
    pub quoted: Vec<String>,
}

/// Times in which the sampler did not run although it was due.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClockGaps {
    /// How many.
    pub count: usize,
    /// When the first was noticed, since the run phase began.
    pub first_at_ns: Option<Nanos>,
    /// For how long it did not run at most; `None` if its readings do not show a gap, because the clocks disagreed.
    pub longest_ns: Option<Nanos>,
    /// The share of the machine's CPU time that other processes and the hypervisor took; `None` if it is not known.
    pub foreign_cpu_share: Option<Share>,
    /// What the sampler recorded of each.
    pub quoted: Vec<String>,
}

/// A run of few intervals or little time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ShortRun {
    /// Whole intervals.
    pub intervals: usize,
    /// The least number of them that gives a confidence interval.
    pub intervals_min: usize,
    /// The length of one.
    pub interval_ns: Nanos,
    /// The length of the run.
    pub length_ns: Nanos,
    /// The least length.
    pub length_min_ns: Nanos,
}

impl ShortRun {
    /// Whether there is no confidence interval.
    pub fn lacks_intervals(&self) -> bool {
        self.intervals < self.intervals_min
    }
}

/// A throughput that is known only roughly.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct WideInterval {
    /// The throughput.
    pub ops_per_s: f64,
    /// Its 95 % confidence interval.
    pub ops_per_s_ci95: [f64; 2],
    /// Half the width of the interval, as a share of the throughput.
    pub half_width_share: Share,
    /// The most that does not weaken the point.
    pub half_width_max: Share,
}

/// A percentile that reports quote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum SupportedPercentile {
    P50,
    P95,
    P99,
    P999,
}

/// Too few operations for the percentiles quoted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct FewSamples {
    /// Operations done, the grace time included.
    pub ops: u64,
    /// Of them, those that ended in the grace time.
    pub grace_ops: u64,
    /// The highest percentile that they support; `None` if they support none.
    pub highest: Option<SupportedPercentile>,
    /// The length of the run.
    pub length_ns: Nanos,
    /// Operations failed.
    pub failed_ops: u64,
}

impl FewSamples {
    /// Whether no operation ended before the grace time.
    pub fn is_all_grace(&self) -> bool {
        self.ops > 0 && self.ops == self.grace_ops
    }
}
