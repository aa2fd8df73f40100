//! A run while it is recorded: what can be shown of it before it is over.
//!
//! In: the store reads it from a run file that is being written. Out: a page that grows with the run. Limits: sums and the last intervals;
//! nothing is judged, and what a report would leave out (a warmup, a disturbed point) is in it.

use crate::run::{PointData, PointState, RunMeta};
use crate::trial::{Phase, Trial};
use crate::units::{Nanos, Tick};

/// A run as far as it is recorded.
#[derive(Clone, Debug)]
pub struct LiveRun {
    /// What is known of the run itself.
    pub meta: RunMeta,
    /// The points that have begun, in their order. The last one may still be measured.
    pub points: Vec<LivePoint>,
    /// The newest phase of the last point; `None` before the first.
    pub phase: Option<LivePhase>,
    /// The last point if it watches a server: what is kept of its statements, and the readings of the intervals of `phase`. It has no
    /// operations, which `phase` has.
    pub watched: Option<PointData>,
}

impl LiveRun {
    /// How many points are complete.
    pub fn complete(&self) -> usize {
        self.points.iter().filter(|point| point.state == PointState::Complete).count()
    }

    /// The point that is measured now; `None` between points.
    pub fn current(&self) -> Option<&LivePoint> {
        self.points.last().filter(|point| point.state == PointState::Partial)
    }
}

/// A point as far as it is recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct LivePoint {
    /// Its number in the run, from 1.
    pub id: u32,
    /// How it ended; `Partial` while it is measured.
    pub state: PointState,
    /// Why it did not complete.
    pub error: Option<String>,
    pub trial: Trial,
    /// Ops of its run phase that are done, without those of background clients.
    pub ops: u64,
    pub failed: u64,
    /// The length of the intervals of its run phase, together.
    pub measured: Nanos,
}

/// The newest phase of a point.
#[derive(Clone, Debug, PartialEq)]
pub struct LivePhase {
    pub phase: Phase,
    pub start: Tick,
    /// Its last intervals, in their order.
    pub intervals: Vec<LiveInterval>,
}

/// What was done in an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LiveInterval {
    pub start: Tick,
    /// How long it is.
    pub length: Nanos,
    /// Ops that are done, without those of background clients.
    pub ops: u64,
    pub failed: u64,
    /// The 99th percentile of the response times; `None` if nothing was done.
    pub p99_ns: Option<u64>,
}

impl LiveInterval {
    /// Ops per second; 0 of an interval without a length.
    pub fn per_s(&self) -> f64 {
        let seconds = self.length.as_secs_f64();
        if seconds > 0.0 { self.ops as f64 / seconds } else { 0.0 }
    }
}
