//! Finds operations that were tried again after a conflict.
//!
//! In: the clients' count of retries. Out: a warning if there was more than one for each hundred operations. Limits: all attempts of an
//! operation are within its response time, so its numbers hide none of them; an operation that was given up in the end is among the
//! failures (`errors`).

use super::detector::Detector;
use crate::evidence::PointView;
use crate::finding::correctness::RetriedOps;
use crate::finding::{Code, NextStep};
use crate::{Finding, Severity};

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector { code: Code::Retries, detect };

// The same bound as for failures: below it they change a rate by less than two runs differ.
const PER_OP_MAX: f64 = 0.01;

fn detect(view: &PointView) -> Vec<Finding> {
    let rate = view.measured.and_then(|measured| measured.summary.retries);
    let Some(rate) = rate.filter(|rate| rate.per_op > PER_OP_MAX) else { return Vec::new() };
    let detail = RetriedOps { retries_per_op: rate.per_op, retries_per_s: rate.per_s };
    vec![Finding::new(Severity::Warning, detail).next(NextStep::SpreadRows)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::Simulation;
    use model::CounterRole;

    /// A thousand operations a second, and so many retries.
    fn retrying(per_s: f64) -> Simulation {
        let counted = move |second: f64| vec![per_s * second];
        Simulation::counts(&[1_000; 20])
            .source("clients", &["retries"], counted)
            .with(|point| point.sources[0].counters[0].role = Some(CounterRole::Retries))
    }

    #[test]
    fn more_than_one_retry_for_a_hundred_operations_weakens() {
        assert!(retrying(0.0).findings("retries").is_empty() && retrying(9.0).findings("retries").is_empty());
        let many = retrying(50.0);
        assert_eq!(many.finding("retries").severity, Severity::Warning);
        let found: RetriedOps = many.figures();
        assert!((found.retries_per_op - 0.05).abs() < 1e-3 && (found.retries_per_s - 50.0).abs() < 1.0, "{found:?}");
    }

    #[test]
    fn the_rate_of_retries_is_with_that_of_operations_however_small() {
        let rate = |simulation: &Simulation| {
            let summary = simulation.analysis().points.remove(0).summary.expect("it ran");
            summary.retries.map(|rate| (rate.per_op * 1e5).round())
        };
        assert_eq!(rate(&retrying(1.0)), Some(100.0));
        assert_eq!(rate(&Simulation::counts(&[1_000; 20])), None, "nothing counts them");
    }
}
