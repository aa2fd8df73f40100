//! Finds percentiles that rest on too few operations.
//!
//! In: the number of response times. Out: a warning that names the highest percentile that holds. Limits: counts operations
//! as if independent; those that one stall delayed are not.

use super::detector::Detector;
use crate::evidence::PointView;
use crate::finding::Code;
use crate::finding::completeness::{FewSamples, SupportedPercentile};
use crate::finding::units::nanos;
use crate::{Finding, Severity};

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector { code: Code::FewSamples, detect };

// With 10 operations above it, the number above a percentile is known to about a third (1 / sqrt(10)).
const ABOVE_MIN: f64 = 10.0;

impl SupportedPercentile {
    const ALL: [SupportedPercentile; 4] =
        [SupportedPercentile::P999, SupportedPercentile::P99, SupportedPercentile::P95, SupportedPercentile::P50];

    /// The share of the operations above it.
    fn share_above(self) -> f64 {
        match self {
            SupportedPercentile::P50 => 0.5,
            SupportedPercentile::P95 => 0.05,
            SupportedPercentile::P99 => 0.01,
            SupportedPercentile::P999 => 0.001,
        }
    }

    /// Whether so many operations support it. Half an operation of tolerance: 10,000 * 0.001 is not exactly 10.
    pub(crate) fn holds(self, ops: u64) -> bool {
        ops as f64 * self.share_above() >= ABOVE_MIN - 0.5 * self.share_above()
    }
}

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(measured) = view.measured else { return Vec::new() };
    let ops = measured.series.response.len();
    let highest = SupportedPercentile::ALL.into_iter().find(|percentile| percentile.holds(ops));
    let severity = match highest {
        Some(SupportedPercentile::P999) => return Vec::new(),
        _ if measured.summary.ops > 0 && view.is_timed_as_whole() => return Vec::new(),
        // A rate of 0 beside the times of operations that ended too late would be read as one.
        _ if measured.summary.ops == 0 => Severity::Error,
        _ => Severity::Warning,
    };
    let summary = measured.summary;
    let (length_ns, grace_ops, failed_ops) = (nanos(summary.seconds), summary.grace_ops, summary.failed);
    let detail = FewSamples { ops, grace_ops, highest, length_ns, failed_ops };
    vec![Finding::new(severity, detail).next(view.lengthen())]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::NextStep;
    use crate::simulated::{Simulation, drain};
    use model::Fact;

    fn highest(ops: u64) -> Option<SupportedPercentile> {
        Simulation::counts(&[ops]).figures::<FewSamples>().highest
    }

    #[test]
    fn the_highest_percentile_that_holds_is_named() {
        assert!(Simulation::counts(&[10_000]).findings("few-samples").is_empty());
        let expected = [
            Some(SupportedPercentile::P99),
            Some(SupportedPercentile::P99),
            Some(SupportedPercentile::P95),
            Some(SupportedPercentile::P50),
            None,
        ];
        assert_eq!([9_999, 1_000, 999, 199, 19].map(highest), expected);
    }

    #[test]
    fn a_step_that_ends_by_its_work_is_not_told_to_run_longer() {
        let timed = Simulation::counts(&[19]);
        assert_eq!(timed.finding("few-samples").next, NextStep::RunLonger);
        let counted = timed.with(|point| point.facts.push(Fact::new("run.ops", "19")));
        assert_eq!(counted.finding("few-samples").next, NextStep::None);
    }

    #[test]
    fn a_step_that_is_timed_as_a_whole_has_no_percentile_to_be_weak() {
        assert!(drain(&[0, 1]).findings("few-samples").is_empty());
        assert_eq!(drain(&[0, 0]).finding("few-samples").severity, Severity::Error, "it did not finish");
    }

    #[test]
    fn a_point_without_operations_is_invalid() {
        let finding = Simulation::counts(&[0; 10]).finding("few-samples");
        assert_eq!(finding.severity, Severity::Error);
    }

    #[test]
    fn a_point_whose_only_operation_ended_in_the_grace_time_is_invalid() {
        let simulation = Simulation::closed(8, |_| 9_340_000_000);
        let finding = simulation.finding("few-samples");
        assert_eq!(finding.severity, Severity::Error);
        let found: FewSamples = simulation.figures();
        assert_eq!((found.ops, found.grace_ops), (1, 1));
    }
}
