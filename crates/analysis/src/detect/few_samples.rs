//! Finds percentiles that rest on too few operations.
//!
//! In: the number of response times. Out: a warning that names the highest percentile that holds. Limits: counts operations
//! as if independent; those held up by one stall are not.

use super::detector::{Detector, PointView};
use crate::text::plural;
use crate::{Finding, Severity};

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector {
    code: "few-samples",
    help: "too few operations for the percentiles quoted",
    explain: "A percentile is as good as the number of operations above it: with fewer than 10 there it is the luck of a few \
              operations. So p99.9 needs 10,000 operations, p99 1,000, p95 200 and the median 20. The finding names the \
              highest percentile that holds; quote no higher one. A point without any operation has no numbers at all and \
              is invalid.",
    detect,
};

// With 10 operations above it, the number above a percentile is known to about a third (1 / sqrt(10)).
const ABOVE_MIN: f64 = 10.0;
const QUOTED: [(&str, f64); 4] = [("p99.9", 0.001), ("p99", 0.01), ("p95", 0.05), ("p50", 0.5)];

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(measured) = view.measured else { return Vec::new() };
    let count = measured.series.response.len();
    if count == 0 {
        let evidence = format!("{:.2} s of run phase, {} failed", measured.summary.seconds, measured.summary.failed);
        return vec![DETECTOR.finding(Severity::Error, "no operation was done".into(), evidence, "run longer")];
    }
    // Half an operation of tolerance: 10,000 * 0.001 is not exactly 10.
    let holds = QUOTED.iter().find(|(_, above)| count as f64 * above >= ABOVE_MIN - 0.5 * above);
    let title = match holds {
        Some(("p99.9", _)) => return Vec::new(),
        Some((highest, _)) => format!("too few operations for percentiles above {highest}"),
        None => "too few operations for any percentile".to_string(),
    };
    let evidence = format!("{}; p99.9 needs 10000, p99 1000, p95 200", plural(count as usize, "operation"));
    vec![DETECTOR.finding(Severity::Warning, title, evidence, "run longer (`--time`)")]
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
