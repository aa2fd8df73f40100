//! Finds failed operations.
//!
//! In: the counts and the failures reported. Out: a warning, or an error if many failed. Limits: operations that the
//! engine retried by itself are not failures here. If all failed in outages, the finding `outage` has them, and there is none here; how
//! many failed at other times decides the severity.

use super::outage::failed_in;
use super::{Detects, Finding, FindingKind};
use crate::evidence::PointView;
use crate::judgement::{NextStep, Severity};
use crate::math::units::Share;
use crate::numbers::background::counted_of_all;
use model::EventKind;
use serde::Serialize;
use words::quantity::{counted, percent, range, whole};

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FailedOps {
    pub failed_ops: u64,
    /// How many of them failed in outages.
    pub in_outages_ops: u64,
    /// How many were done.
    pub done_ops: u64,
    /// The share of all that failed.
    pub failed_share: Share,
    /// The first failures as the driver described them.
    pub quoted: Vec<String>,
}

// Failures are in no rate: up to one in a hundred changes it by less than two runs differ.
const SUCCESS_MIN: f64 = 0.99;

// Failures of one class mostly have one text.
const QUOTED_MAX: usize = 3;

fn detect(view: &PointView) -> Vec<Finding> {
    // All of the run phase: rounds that do not count may have failed, too.
    let Some(counted) = counted_of_all(view.point).filter(|counted| counted.failed > 0) else { return Vec::new() };
    let in_outages = view.measured.map_or(0, |measured| failed_in(&measured.shape.outages)).min(counted.failed);
    let at_other_times = counted.failed - in_outages;
    if at_other_times == 0 {
        return Vec::new();
    }
    let is_many = at_other_times as f64 > (1.0 - SUCCESS_MIN) * (counted.ended() - in_outages) as f64;
    let severity = if is_many { Severity::Error } else { Severity::Warning };
    let detail = FailedOps {
        failed_ops: counted.failed,
        in_outages_ops: in_outages,
        done_ops: counted.ok,
        failed_share: Share(counted.failed as f64 / counted.ended() as f64),
        quoted: view.quoted(EventKind::Failure, QUOTED_MAX),
    };
    vec![Finding::new(severity, detail).next(NextStep::RemoveCause)]
}

impl FindingKind for FailedOps {
    const SEVERITIES: &'static [Severity] = &[Severity::Warning, Severity::Error];
    const DETECTS: Detects = Detects::Point(detect);
    const REASON: &'static str = "had failed operations";

    fn can_judge_imported(_: &PointView) -> bool {
        true
    }

    fn title(alike: &[&Self]) -> String {
        let failed = counted(alike, |one| one.failed_ops, "operation");
        let share = range(alike, |one| one.failed_share.0, percent);
        let in_outages = if alike.iter().all(|one| one.in_outages_ops == 0) {
            String::new()
        } else {
            format!(", {} of them in outages", range(alike, |one| one.in_outages_ops as f64, whole))
        };
        format!("{failed} failed ({share}){in_outages}")
    }

    fn evidence(&self) -> String {
        let counts = format!("{} done, {} failed", whole(self.done_ops as f64), whole(self.failed_ops as f64));
        if self.quoted.is_empty() { counts } else { format!("{counts}; first: {}", self.quoted.join("; ")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::Simulation;

    fn failing(failed: u64) -> Simulation {
        Simulation::counts(&[1000; 10]).with(|point| point.phases[0].intervals[3].kinds[0].failed = failed)
    }

    #[test]
    fn one_failure_weakens_and_more_than_one_percent_spoils() {
        assert_eq!(failing(1).finding("errors").severity, Severity::Warning);
        assert_eq!(failing(100).finding("errors").severity, Severity::Warning);
        assert_eq!(failing(102).finding("errors").severity, Severity::Error);
        assert!(failing(0).findings("errors").is_empty());
    }

    /// A thousand operations that ended after the phase are in no count of operations done; their failures count.
    #[test]
    fn what_is_done_is_what_the_summary_counts() {
        let late = failing(2).with(|point| {
            let mut late = point.phases[0].intervals[9].clone();
            (late.index, late.start) = (10, point.phases[0].end);
            late.kinds[0].failed = 3;
            point.phases[0].intervals.push(late);
        });
        let found: FailedOps = late.figures();
        let summary = late.analysis().points.remove(0).summary.expect("it ran");
        assert_eq!((summary.ops, summary.grace_ops, summary.failed), (10_000, 1_000, 5));
        assert_eq!((found.done_ops, found.failed_ops), (summary.ops, summary.failed));
        assert_eq!((summary.success_rate, found.failed_share.0), (Some(10_000.0 / 10_005.0), 5.0 / 10_005.0));
    }

    #[test]
    fn the_first_failure_is_quoted() {
        let found: FailedOps = failing(2).event(EventKind::Failure, "client 3: database is locked").figures();
        assert_eq!((found.failed_ops, found.done_ops), (2, 10_000));
        assert_eq!(found.quoted, ["client 3: database is locked"]);
    }
}
