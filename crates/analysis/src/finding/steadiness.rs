//! Whether a rate stays what it is: over a run, over repeats, and over a sweep.
//!
//! In: nothing. Out: the figures of findings, with their units; serialised, the keys carry them. Limits: no sentences.

use super::units::Share;
use crate::points::step_steadiness::StepVariation;
use crate::points::sweep::{ScalingAxis, StepPlace};
use model::Nanos;
use serde::Serialize;

/// A rate that fell and is steady since.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Slowdown {
    /// The mean rate at the beginning.
    pub begin_per_s: f64,
    /// How long that beginning is.
    pub begin_ns: Nanos,
    /// The mean rate of the second half of the run phase.
    pub steady_per_s: f64,
    /// Half the width of its 99.9 % interval.
    pub steady_half_width_per_s: f64,
    /// When the rate came near that mean, since the run phase began.
    pub steady_from_ns: Nanos,
    /// By which share the steady rate is below that of the beginning.
    pub fall_share: Share,
    /// By which share the mean over the run phase is above the steady rate.
    pub mean_above_share: Share,
    /// The length of an interval, which is how exactly the times are known.
    pub interval_ns: Nanos,
}

/// Repeats of one point that disagree.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InconsistentRepeats {
    /// The place of the point in its sweep.
    pub place: StepPlace,
    /// The repeats in the order in which they were measured; at least three.
    pub repeats: Vec<RepeatSeen>,
    /// How far apart their rates are; `None` if their intervals may explain it.
    pub spread: Option<RateSpread>,
    /// Whether the rates of some moved over the run in another way than those of others.
    pub behaviours_differ: bool,
}

/// One of several repeats.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RepeatSeen {
    /// The number of its point.
    pub point: u32,
    /// Operations per second.
    pub ops_per_s: f64,
    /// How its rate moved over the run; `None` if it was too short to see, or if it changed too little to call it a change and too much
    /// to call it steady.
    pub behaviour: Option<RateBehaviour>,
}

/// How a rate moved over a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RateBehaviour {
    /// It stayed what it was.
    Steady,
    /// It fell and is steady since.
    Slowdown,
    /// It fell or rose over all of the run.
    Drift,
    /// It changed to another level.
    LevelShift,
    /// It jumps between two levels.
    TwoLevels,
}

/// How far apart the rates of repeats are.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RateSpread {
    /// The lowest rate.
    pub least_per_s: f64,
    /// The highest.
    pub most_per_s: f64,
    /// Their difference as a share of the mean of all.
    pub share: Share,
    /// How many times that is of what the 95 % intervals of these two allow.
    pub times_interval: f64,
}

/// The steps of a sweep that ran clearly less steadily than the others.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LeastSteady {
    /// What varies between the steps.
    pub axis: ScalingAxis,
    /// Those steps, the least steady first.
    pub least_steady: Vec<StepVariation>,
    /// The others, the least steady first.
    pub others: Vec<StepVariation>,
}

impl Slowdown {
    /// Whether the mean over the run phase is not the rate that the engine keeps.
    pub fn spoils_mean(&self) -> bool {
        self.mean_above_share.0 > MEAN_ABOVE_MAX
    }
}

// The halves of a run whose mean is so far above the rate of its second half differ by 10 %, which is called a drift.
const MEAN_ABOVE_MAX: f64 = 0.05;

impl StepVariation {
    /// The mean over the standard deviation, as tests of disks give it.
    pub fn consistency(&self) -> f64 {
        1.0 / self.variation.mean
    }
}
