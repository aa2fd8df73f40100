//! What a search for the largest rate has found.
//!
//! In: nothing. Out: [`LimitResult`] with its parts, which the search fills in and the report puts into words. Limits: data only.

use super::ProbeKind;
use super::objective::{Criterion, Judgement};
use super::observation::ProbeFault;
use crate::units::Nanos;

/// How a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitOutcome {
    /// A rate is held, and a little above it the objective is missed.
    BoundaryFound,
    /// A rate is held, and how much more is possible is not known.
    LowerBound(LowerBoundCause),
    /// Even the lowest rate misses the objective.
    NoRateHolds,
    /// Probes were invalid again and again, because plimsoll itself or its machine did not run.
    BoundedByInvalidProbes,
    /// The search took more probes than it may.
    SearchLimitReached,
    /// It was not measured to its end.
    Interrupted,
}

/// Why the limit may be higher than the rate that was held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LowerBoundCause {
    /// No higher rate was allowed.
    RateMax,
    /// The target refuses the clients that a higher rate needs.
    Refused,
    /// The clients could not offer more in time.
    Generator,
}

impl LimitOutcome {
    /// The word for it in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            LimitOutcome::BoundaryFound => "boundary-found",
            LimitOutcome::LowerBound(_) => "lower-bound",
            LimitOutcome::NoRateHolds => "no-rate-holds",
            LimitOutcome::BoundedByInvalidProbes => "bounded-by-invalid-probes",
            LimitOutcome::SearchLimitReached => "search-limit-reached",
            LimitOutcome::Interrupted => "interrupted",
        }
    }
}

/// What a rate above the limit fails by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FailureAbove {
    /// It misses a criterion of the objective.
    Objective(Criterion),
    /// It leaves a write debt that grows by so many bytes a second.
    WriteDebt { growth_per_s: f64 },
}

impl FailureAbove {
    /// The word for it in JSON: `p99`, `write-debt`.
    pub fn name(&self) -> &'static str {
        match self {
            FailureAbove::Objective(criterion) => criterion.name(),
            FailureAbove::WriteDebt { .. } => "write-debt",
        }
    }
}

/// What became of the write debt while the rate was held.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum HoldDebt {
    /// It did not grow, or the engine counts none.
    Steady,
    /// It grew to the end, at lower rates in proportion to the rate: something fills up that was empty, and the hold was too short to
    /// see it full.
    Filling {
        /// In bytes per second.
        growth_per_s: f64,
    },
}

/// How long a hold would have to be to show what the objective asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NeededHold {
    pub length: Nanos,
    pub cause: HoldCause,
}

/// What a hold is too short for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HoldCause {
    /// The percentile of the objective needs more operations.
    Operations { needed: u64 },
    /// Slow stretches come at this distance, and fewer than three of them fit in.
    Rhythm { period: Nanos },
}

/// A target that carried more or less from some moment on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TargetChange {
    /// The number of probes and holds with a judgement before it changed.
    pub after: usize,
    /// The rate that half of the probes before it kept.
    pub before_per_s: f64,
    /// The same of those after it.
    pub after_per_s: f64,
}

/// One probe with what it showed.
#[derive(Clone, Debug, PartialEq)]
pub struct LimitProbe {
    /// What it was for.
    pub kind: ProbeKind,
    /// The rate that was offered; `None` of a closed loop.
    pub offered_per_s: Option<f64>,
    /// Operations done per second.
    pub done_per_s: f64,
    /// How long it lasted.
    pub length: Nanos,
    /// What it showed of the objective, a probe together with those of the same rate before it; `None` of a closed loop, and if a client was
    /// at fault.
    pub judgement: Option<Judgement>,
    /// Why it shows nothing.
    pub fault: Option<ProbeFault>,
    /// Of a hold: by how many bytes a second the write debt grew; `None` if it did not.
    pub debt_growth_per_s: Option<f64>,
    /// Whether it was ended because its backlog grew.
    pub ended_early: bool,
}

impl LimitResult {
    /// The share of what is due that succeeds.
    fn success(&self) -> f64 {
        1.0 - self.failed_share
    }

    /// What is carried at the rate that was held: the operations per second that succeed. An objective may let some of them fail.
    pub fn carried_per_s(&self) -> Option<f64> {
        Some(self.per_s? * self.success())
    }

    /// Between which rates of operations that succeed the limit is.
    pub fn carried_between(&self) -> Option<(f64, Option<f64>)> {
        let (low, high) = self.between?;
        Some((low * self.success(), high.map(|high| high * self.success())))
    }
}

/// What a search has found.
#[derive(Clone, Debug, PartialEq)]
pub struct LimitResult {
    pub outcome: LimitOutcome,
    /// The largest rate that was held with the objective: what was due per second; `None` if there is none.
    pub per_s: Option<f64>,
    /// The share of the operations that failed while it was held.
    pub failed_share: f64,
    /// The limit is between these rates: the highest that kept the objective for certain, and the lowest that missed it for certain.
    /// The upper one is `None` if no rate missed it.
    pub between: Option<(f64, Option<f64>)>,
    /// How long the rate was held.
    pub held: Option<Nanos>,
    /// How long it should have been held; `None` if it was long enough.
    pub needed_hold: Option<NeededHold>,
    /// What became of the write debt meanwhile.
    pub debt: HoldDebt,
    /// What fails above it first.
    pub failure: Option<FailureAbove>,
    /// When the target changed while it was searched; `None` if that is not shown.
    pub change: Option<TargetChange>,
    /// What was measured, in order.
    pub probes: Vec<LimitProbe>,
}
