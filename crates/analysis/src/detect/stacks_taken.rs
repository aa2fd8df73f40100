//! Finds that the engine was stopped for its stacks.
//!
//! In: the snapshots of the point. Out: a note, or a warning if the stops were more than [`SHARE_MAX`] of the run phase. Limits: that the
//! tool used a CPU, too, is reported and not judged.

use super::detector::Detector;
use crate::evidence::PointView;
use crate::finding::machine::StackStops;
use crate::finding::units::Share;
use crate::finding::{Code, NextStep};
use crate::numbers::stacks::StackCost;
use crate::{Finding, Severity};
use model::StackReason;

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector { code: Code::StacksTaken, detect };

/// A larger share of the run phase changes the numbers.
pub const SHARE_MAX: f64 = 0.01;

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(cost) = StackCost::from_point(view.point) else { return Vec::new() };
    let count = |reason| view.point.stacks.iter().filter(|snapshot| snapshot.reason == reason).count();
    let detail = StackStops {
        tool: view.point.stacks[0].tool.clone(),
        at_stalls: count(StackReason::Stall),
        at_random: count(StackReason::Random),
        stopped_ns: cost.stopped,
        longest_ns: cost.longest,
        took_ns: cost.took,
        share: Share(cost.share),
    };
    let severity = if cost.share > SHARE_MAX { Severity::Warning } else { Severity::Note };
    let next = if cost.share > SHARE_MAX { NextStep::MeasureWithoutStacks } else { NextStep::None };
    vec![Finding::new(severity, detail).next(next)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numbers::stacks::tests::snapshot;
    use crate::simulated::Simulation;

    #[test]
    fn stops_are_a_note_and_from_a_hundredth_of_the_time_on_a_warning() {
        let taken = |stopped_ms| {
            let all = [StackReason::Random, StackReason::Stall].map(|reason| snapshot(3, reason, stopped_ms, &["f"]));
            Simulation::counts(&[2000; 10]).with(|point| point.stacks = all.into())
        };
        let found = taken(20).finding("stacks-taken");
        assert_eq!((found.severity, found.next), (Severity::Note, NextStep::None));
        let found = taken(60).finding("stacks-taken");
        assert_eq!((found.severity, found.next), (Severity::Warning, NextStep::MeasureWithoutStacks));
        let figures: StackStops = taken(60).figures();
        assert_eq!((figures.at_stalls, figures.at_random, figures.longest_ns.0), (1, 1, 60_000_000));
        assert!((figures.share.0 - 0.012).abs() < 1e-9);
        assert!(Simulation::counts(&[2000; 10]).findings("stacks-taken").is_empty());
    }
}
