//! Finds points that end when their rows are in, and were ended before.
//!
//! In: the fact that holds how many operations the run has, and those done. Out: a warning. Limits: a point that was
//! interrupted or failed has a finding of that.

use super::{Detects, Finding, FindingKind};
use crate::evidence::{PointView, RunLimit};
use crate::judgement::Severity;
use serde::Serialize;
use words::quantity::{percent, plural, range, whole};

/// A step that did not do all of its operations.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct UnfinishedStep {
    pub done_ops: u64,
    pub planned_ops: u64,
    pub limit: RunLimit,
}

fn detect(view: &PointView) -> Vec<Finding> {
    let planned = view.point.traits.course.run_ops;
    let (Some(planned_ops), Some(measured)) = (planned, view.measured) else { return Vec::new() };
    let Some(limit) = view.limit_reached() else { return Vec::new() };
    let detail = UnfinishedStep { done_ops: measured.summary.ops, planned_ops, limit };
    vec![Finding::new(Severity::Warning, detail).next(view.lengthen())]
}

impl FindingKind for UnfinishedStep {
    const SEVERITIES: &'static [Severity] = &[Severity::Warning];
    const DETECTS: Detects = Detects::Point(detect);
    const REASON: &'static str = "ended before the work was done";

    fn title(alike: &[&Self]) -> String {
        let done = range(alike, |one| one.done_ops as f64 / one.planned_ops as f64, percent);
        let whose = if alike.len() == 1 { "its" } else { "their" };
        format!("stopped after {done} of {whose} work")
    }

    fn evidence(&self) -> String {
        let limit = match self.limit {
            RunLimit::Ops { ops_max } => format!("`ops_max` is {}", whole(ops_max as f64)),
            RunLimit::Time { time_ns } => format!("`time` is {time_ns}"),
        };
        format!("{} of {}; {limit}", whole(self.done_ops as f64), plural(self.planned_ops, "operation"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judgement::NextStep;
    use crate::simulated::Simulation;
    use model::{Fact, Nanos, PointState};

    fn of(planned: &str) -> Simulation {
        let planned = Fact::new("run.ops", planned);
        Simulation::counts(&[1000; 10]).with(|point| point.facts.push(planned))
    }

    #[test]
    fn a_step_that_reached_its_limit_says_how_far_it_came() {
        let limit = RunLimit::Time { time_ns: Nanos::from_secs(10) };
        let expected = UnfinishedStep { done_ops: 10_000, planned_ops: 40_000, limit };
        assert_eq!(of("40000").figures::<UnfinishedStep>(), expected);
        let counted = of("40000").with(|point| point.trial.phases.ops_max = Some(10_000));
        assert_eq!(counted.figures::<UnfinishedStep>().limit, RunLimit::Ops { ops_max: 10_000 });
        let next = |simulation: Simulation| simulation.finding("cut-short").next;
        let advice = [NextStep::DropTimeLimit, NextStep::RaiseOpsMax { ops_max: 10_000 }];
        assert_eq!([next(of("40000")), next(counted)], advice);
    }

    #[test]
    fn a_step_whose_rows_are_in_says_nothing_nor_does_one_that_broke_off() {
        assert!(of("10000").findings("cut-short").is_empty());
        assert!(of("what").findings("cut-short").is_empty());
        let broken = of("40000").with(|point| point.state = PointState::Partial);
        assert!(broken.findings("cut-short").is_empty());
        assert!(Simulation::counts(&[1000; 10]).findings("cut-short").is_empty());
    }
}
