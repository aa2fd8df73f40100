//! Finds closed loops with a stall, whose percentiles hide the waiting.
//!
//! In: the pacing and the stalls. Out: a note. Limits: a closed loop cannot show how much is hidden.

use super::{Detects, Finding, FindingKind};
use crate::evidence::PointView;
use crate::judgement::{NextStep, Severity};
use model::{Nanos, Pacing};
use serde::Serialize;
use words::quantity::{range, time};

/// Response times of a closed loop that stalled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct HiddenWaits {
    /// The 99th percentile, which the stalls do not move.
    pub p99_ns: Nanos,
    /// The longest, which shows them.
    pub longest_ns: Nanos,
}

fn detect(view: &PointView) -> Vec<Finding> {
    let closed = matches!(view.point.trial.load.pacing, Pacing::Closed { .. }) && !view.has_variant();
    let stalled = view.measured.filter(|measured| closed && measured.shape.has_stalls());
    let Some(summary) = stalled.map(|measured| measured.summary) else { return Vec::new() };
    let Some(response) = summary.response_ns else { return Vec::new() };
    let detail = HiddenWaits { p99_ns: Nanos(response.p99), longest_ns: Nanos(response.max) };
    vec![Finding::new(Severity::Note, detail).next(NextStep::UseOpenLoop { per_s: bearable_rate(summary.ops_per_s) })]
}

/// Two thirds of `ops_per_s`, with two digits, at least one a second: near its capacity an engine queues, whatever else it does.
fn bearable_rate(ops_per_s: f64) -> u64 {
    let rate = (ops_per_s * 2.0 / 3.0) as u64;
    let unit = 10u64.pow(rate.max(1).ilog10().saturating_sub(1));
    (rate / unit * unit).max(1)
}

impl FindingKind for HiddenWaits {
    const SEVERITIES: &'static [Severity] = &[Severity::Note];
    const DETECTS: Detects = Detects::Point(detect);

    fn title(alike: &[&Self]) -> String {
        let p99 = range(alike, |one| one.p99_ns.0 as f64, time);
        format!("the p99 ({p99}) does not show the stalls: it was measured in a closed loop")
    }

    fn evidence(&self) -> String {
        format!("p99 {}, longest {}", self.p99_ns, self.longest_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::Simulation;

    fn stalling(seq: u64) -> u64 {
        if seq % 10_000 == 9_999 { 200_000_000 } else { 100_000 }
    }

    #[test]
    fn a_closed_loop_with_stalls_carries_the_note_and_an_open_loop_does_not() {
        let closed: HiddenWaits = Simulation::closed(20, stalling).figures();
        assert_eq!([8_333.0, 126_000.0, 14.2, 0.3].map(bearable_rate), [5_500, 84_000, 9, 1]);
        assert!((99_800..=100_200).contains(&closed.p99_ns.0), "{closed:?}");
        assert_eq!(closed.longest_ns.0, 200_000_000);
        assert!(Simulation::open(20, 5_000, stalling).findings("coordinated-omission").is_empty());
    }

    #[test]
    fn a_closed_loop_without_stalls_carries_none() {
        assert!(Simulation::counts(&[1000; 20]).findings("coordinated-omission").is_empty());
    }
}
