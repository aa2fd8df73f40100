//! Finds closed loops with a stall, whose percentiles hide the waiting.
//!
//! In: the pacing and the stalls. Out: a note. Limits: a closed loop cannot show how much is hidden.

use super::detector::Detector;
use crate::evidence::PointView;
use crate::finding::load::HiddenWaits;
use crate::finding::{Code, NextStep};
use crate::{Finding, Severity};
use model::{Nanos, Pacing};

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector { code: Code::CoordinatedOmission, detect };

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
