//! What several points, or the steps of an insert benchmark, show together.
//!
//! In: nothing. Out: the figures of findings, with their units; serialised, the keys carry them. Limits: no sentences.

use super::units::Share;
use crate::points::insert_slowdown::EngineSlowdown;
use crate::points::scaling_law::ScalingLaw;
use crate::points::sweep::ScalingAxis;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Writes that inserts caused and that were still pending.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "when", rename_all = "kebab-case")]
#[allow(missing_docs)]
pub enum WriteDebt {
    /// The step `drain` made no more progress and left this.
    AfterDrain { left_bytes: f64 },
    /// The data was to settle before the run phase, and this was left.
    BeforeRun { left_bytes: f64 },
    /// A share of what the inserts caused was pending at their end.
    AfterInserts(PendingShare),
}

/// What inserts wrote, and what they left.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PendingShare {
    /// The share of the writes caused that was still pending.
    pub pending_share: Share,
    /// Bytes written per insert in the run; `None` if they are not known, here and below.
    pub written_bytes_per_insert: Option<f64>,
    /// Bytes pending at the end, those of earlier steps included.
    pub pending_bytes: Option<f64>,
    /// Bytes pending at the end that were not pending at the beginning.
    pub own_pending_bytes: Option<f64>,
    /// Bytes that the drain wrote.
    pub drain_written_bytes: Option<f64>,
    /// Bytes that the drain left.
    pub drain_left_bytes: Option<f64>,
    /// Bytes written per insert with what the drain wrote.
    pub written_with_drain_bytes_per_insert: Option<f64>,
}

impl PendingShare {
    /// Whether a drain wrote all of it, so that its row has the full cost.
    pub fn is_paid(&self) -> bool {
        self.drain_written_bytes.is_some() && self.drain_left_bytes.is_none()
    }
}

/// Reads that contradict the sizes of data and cache.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CacheMismatch {
    /// Whether the reads show that the data was in memory.
    pub was_in_memory: bool,
    /// The size of the data over that of the cache.
    pub data_per_cache: f64,
    /// Bytes read per insert.
    pub read_bytes_per_insert: f64,
    /// Below this, the inserts count as in memory.
    pub read_bytes_per_insert_min: f64,
    /// The size of the data; `None` if it is not known, here and below.
    pub data_bytes: Option<f64>,
    /// The size of the engine's cache.
    pub cache_bytes: Option<f64>,
    /// The memory of the machine, or the limit on it.
    pub memory_bytes: Option<f64>,
}

/// The durabilities of the points of a workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MixedDurability {
    /// By word of durability, the targets that have it.
    pub targets: BTreeMap<String, BTreeSet<String>>,
}

/// How much slower engines insert after one change at one place, the greatest slowdown first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InsertSlowdown {
    /// One for each engine; at least one.
    pub slowdowns: Vec<EngineSlowdown>,
}

/// A last step this far below the best suffers from too many at once.
pub const FALL_MIN: f64 = 0.10;

/// How the rate depends on clients and depth.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Knee {
    /// What varies between the steps.
    pub axis: ScalingAxis,
    /// The first step that reaches 90 % of the best rate.
    pub knee: StepRate,
    /// The step with the highest rate.
    pub best: StepRate,
    /// The last step.
    pub last: StepRate,
    /// All steps by clients times depth.
    pub steps: Vec<StepRate>,
    /// What the steps show beyond the knee.
    pub beyond: BeyondKnee,
    /// The law that the rate follows.
    pub law: ScalingLaw,
    /// From which step on more only wait; `None` if that was not seen.
    pub without_gain: Option<StepsWithoutGain>,
}

/// Two steps between which the response time doubles and the rate hardly gains.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StepsWithoutGain {
    /// The last step that is worth it.
    pub from: StepRate,
    /// The first with twice its 95th percentile.
    pub to: StepRate,
}

/// The rate at one number of clients and depth.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StepRate {
    /// Clients.
    pub clients: u32,
    /// Operations that one client kept in flight.
    pub depth: u32,
    /// The mean rate of the repeats.
    pub ops_per_s: f64,
    /// The 95th percentile of the response times of the repeats; `None` if no operation was done.
    pub p95_ns: Option<u64>,
}

/// What the steps show beyond the knee.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum BeyondKnee {
    /// The knee is the last step.
    StillRising,
    /// The knee is the last step, but its rate is not known well enough to be above the others.
    RiseNotShown,
    /// The last step is more than 10 % below the best.
    Falling,
    /// The rate hardly changes.
    Level,
}

impl StepsWithoutGain {
    /// How much the rate gains, as a share; below 0 if it falls.
    pub fn gain_share(&self) -> f64 {
        self.to.ops_per_s / self.from.ops_per_s.max(f64::MIN_POSITIVE) - 1.0
    }
}

impl Knee {
    /// How far the last step is below the best, as a share of the best.
    pub fn fall_share(&self) -> f64 {
        1.0 - self.last.ops_per_s / self.best.ops_per_s.max(f64::MIN_POSITIVE)
    }
}
