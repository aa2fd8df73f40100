//! Hosts of a point that differ from what was planned, or whose numbers cannot be set against each other.
//!
//! In: nothing. Out: the figures of findings, with their units; serialised, the keys carry them. Limits: no sentences.

use super::units::Share;
use model::Nanos;
use serde::Serialize;

/// Hosts that were lost while the point was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LostHosts {
    /// How many hosts the point had.
    pub hosts: usize,
    /// Those that were lost, in order of time.
    pub lost: Vec<LostHost>,
    /// Whether the point went on with the others to its end.
    pub went_on: bool,
}

/// A host that was lost.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LostHost {
    /// Its name.
    pub host: String,
    /// When, since the run phase began; `None` before it.
    pub at_ns: Option<Nanos>,
    /// Its part of the load; `None` if it had none, or it is not known.
    pub load_share: Option<Share>,
    /// What was recorded of it, as text.
    pub quoted: String,
}

/// Hosts that did less than their share.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UnevenHosts {
    /// How many hosts had a part of the load.
    pub hosts: usize,
    /// Those that did less, the one that missed most first.
    pub uneven: Vec<UnevenHost>,
}

/// A host that did less than its share.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UnevenHost {
    /// Its name.
    pub host: String,
    /// The share of all operations that it was to do.
    pub planned_share: Share,
    /// The share that it did.
    pub done_share: Share,
}

impl UnevenHost {
    /// What it did of what it was to do.
    pub fn kept(&self) -> f64 {
        self.done_share.0 / self.planned_share.0
    }
}

/// Hosts whose clocks are not known well enough for the intervals of the point.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClockSpread {
    /// The length of an interval.
    pub interval_ns: Nanos,
    /// The hosts, the worst first.
    pub hosts: Vec<HostTime>,
    /// Jumps of the clocks of hosts, as they were recorded.
    pub steps: Vec<HostStep>,
}

/// Hosts that began at another time than planned.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StartSkew {
    /// The length of an interval.
    pub interval_ns: Nanos,
    /// The hosts, the worst first.
    pub hosts: Vec<HostTime>,
}

/// A time that concerns one host: how well its clock is known, or how much later than planned it began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HostTime {
    /// Its name.
    pub host: String,
    /// The time; negative if it began early.
    pub time_ns: i64,
}

/// A jump of the clock of one host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HostStep {
    /// Its name.
    pub host: String,
    /// What was recorded of it, as text.
    pub quoted: String,
}
