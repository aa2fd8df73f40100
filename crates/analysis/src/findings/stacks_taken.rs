//! Finds that the engine was stopped for its stacks.
//!
//! In: the snapshots of the point. Out: a note, or a warning if the stops were more than [`SHARE_MAX`] of the run phase. Limits: that the
//! tool used a CPU, too, is reported and not judged.

use super::{Detects, Finding, FindingKind};
use crate::evidence::PointView;
use crate::judgement::{NextStep, Severity};
use crate::math::units::Share;
use crate::numbers::stacks::StackCost;
use model::{Nanos, StackReason};
use serde::Serialize;
use words::quantity::{counted, percent, plural, range, time};

/// Stops of the engine in which its stacks were taken.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StackStops {
    /// The tool that took them.
    pub tool: String,
    /// How many snapshots at stalls.
    pub at_stalls: usize,
    /// How many at random moments.
    pub at_random: usize,
    /// How long the engine, or a part of it, was stopped in all.
    pub stopped_ns: Nanos,
    pub longest_ns: Nanos,
    /// How long the tool ran in all.
    pub took_ns: Nanos,
    /// All stops as a share of the run phase.
    pub share: Share,
}

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

impl FindingKind for StackStops {
    const SEVERITIES: &'static [Severity] = &[Severity::Note, Severity::Warning];
    const DETECTS: Detects = Detects::Point(detect);
    const REASON: &'static str = "had an engine that was stopped for its stacks";

    fn title(alike: &[&Self]) -> String {
        let times = counted(alike, |one| (one.at_stalls + one.at_random) as u64, "time");
        let stopped = range(alike, |one| one.stopped_ns.0 as f64, time);
        let share = range(alike, |one| one.share.0, percent);
        format!("stacks of the engine were taken {times}, which stopped it for {stopped} ({share} of the run)")
    }

    fn evidence(&self) -> String {
        let limit =
            if self.share.0 > SHARE_MAX { format!("; the limit is {}", percent(SHARE_MAX)) } else { String::new() };
        format!(
            "{} at stalls and {} at random moments; longest stop {}; {} ran for {}{limit}",
            plural(self.at_stalls as u64, "snapshot"),
            self.at_random,
            time(self.longest_ns.0 as f64),
            self.tool,
            time(self.took_ns.0 as f64)
        )
    }
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

    #[test]
    fn the_stops_are_told_with_their_share_of_the_run_and_the_limit_if_they_exceed_it() {
        let stops = |stopped_ms: u64, share| StackStops {
            tool: "gdb".to_owned(),
            at_stalls: 1,
            at_random: 3,
            stopped_ns: Nanos::from_millis(stopped_ms),
            longest_ns: Nanos::from_millis(80),
            took_ns: Nanos::from_secs(2),
            share: Share(share),
        };
        let few = stops(300, 0.005);
        let title = "stacks of the engine were taken 4 times, which stopped it for 300 ms (0.5 % of the run)";
        assert_eq!(StackStops::title(&[&few]), title);
        let evidence = "1 snapshot at stalls and 3 at random moments; longest stop 80.0 ms; gdb ran for 2.00 s";
        assert_eq!(few.evidence(), evidence);
        assert!(stops(300, 0.02).evidence().ends_with("; the limit is 1.0 %"), "{}", stops(300, 0.02).evidence());
    }
}
