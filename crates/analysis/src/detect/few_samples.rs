//! Finds percentiles that rest on too few operations.
//!
//! In: the number of response times. Out: a warning that names the highest percentile that holds. Limits: counts operations
//! as if independent; those that one stall delayed are not.

use super::detector::{Detector, PointView};
use crate::finding::completeness::{FewSamples, Percentile};
use crate::finding::units::nanos;
use crate::finding::{Code, NextStep};
use crate::{Finding, Severity};

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector { code: Code::FewSamples, detect };

// With 10 operations above it, the number above a percentile is known to about a third (1 / sqrt(10)).
const ABOVE_MIN: f64 = 10.0;

impl Percentile {
    const ALL: [Percentile; 4] = [Percentile::P999, Percentile::P99, Percentile::P95, Percentile::P50];

    /// The share of the operations above it.
    fn share_above(self) -> f64 {
        match self {
            Percentile::P50 => 0.5,
            Percentile::P95 => 0.05,
            Percentile::P99 => 0.01,
            Percentile::P999 => 0.001,
        }
    }

    /// Half an operation of tolerance: 10,000 * 0.001 is not exactly 10.
    fn holds(self, ops: u64) -> bool {
        ops as f64 * self.share_above() >= ABOVE_MIN - 0.5 * self.share_above()
    }
}

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(measured) = view.measured else { return Vec::new() };
    let ops = measured.series.response.len();
    let highest = Percentile::ALL.into_iter().find(|percentile| percentile.holds(ops));
    let severity = match highest {
        Some(Percentile::P999) => return Vec::new(),
        _ if ops == 0 => Severity::Error,
        _ => Severity::Warning,
    };
    let (length_ns, failed_ops) = (nanos(measured.summary.seconds), measured.summary.failed);
    vec![Finding::new(severity, FewSamples { ops, highest, length_ns, failed_ops }).next(NextStep::RunLonger)]
}

#[cfg(test)]
mod tests {
    use crate::Severity;
    use crate::simulate::Simulation;

    fn title(ops: u64) -> Option<String> {
        Simulation::counts(&[ops]).findings("few-samples").pop().map(|finding| finding.title)
    }

    #[test]
    fn the_highest_percentile_that_holds_is_named() {
        assert_eq!(title(10_000), None);
        assert_eq!(title(9_999).as_deref(), Some("too few operations for percentiles above p99"));
        assert_eq!(title(1_000).as_deref(), Some("too few operations for percentiles above p99"));
        assert_eq!(title(999).as_deref(), Some("too few operations for percentiles above p95"));
        assert_eq!(title(199).as_deref(), Some("too few operations for percentiles above p50"));
        assert_eq!(title(19).as_deref(), Some("too few operations for any percentile"));
    }

    #[test]
    fn a_point_without_operations_is_invalid() {
        let finding = Simulation::counts(&[0; 10]).finding("few-samples");
        assert_eq!((finding.severity, finding.title.as_str()), (Severity::Error, "no operation was done"));
    }
}
