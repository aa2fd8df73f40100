//! Finds operations that were tried again after a conflict.
//!
//! In: the clients' count of retries. Out: a warning if there was more than one for each hundred operations. Limits: all attempts of an
//! operation are within its response time, so its numbers hide none of them; an operation that was given up in the end is among the
//! failures (`errors`).

use super::{Detects, Finding, FindingKind};
use crate::evidence::PointView;
use crate::judgement::{NextStep, Severity};
use serde::Serialize;
use words::quantity::{number, range};

/// Operations that were tried again after a conflict.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RetriedOps {
    /// Retries for each operation that ended.
    pub retries_per_op: f64,
    pub retries_per_s: f64,
}

// The same bound as for failures: below it they change a rate by less than two runs differ.
const PER_OP_MAX: f64 = 0.01;

fn detect(view: &PointView) -> Vec<Finding> {
    let rate = view.measured.and_then(|measured| measured.summary.retries);
    let Some(rate) = rate.filter(|rate| rate.per_op > PER_OP_MAX) else { return Vec::new() };
    let detail = RetriedOps { retries_per_op: rate.per_op, retries_per_s: rate.per_s };
    vec![Finding::new(Severity::Warning, detail).next(NextStep::SpreadRows)]
}

impl FindingKind for RetriedOps {
    const SEVERITIES: &'static [Severity] = &[Severity::Warning];
    const DETECTS: Detects = Detects::Point(detect);
    const REASON: &'static str = "tried more than 1 % of the operations again";

    fn title(alike: &[&Self]) -> String {
        let per_100 = range(alike, |one| 100.0 * one.retries_per_op, number);
        format!("{per_100} retries after conflicts for each hundred operations")
    }

    fn evidence(&self) -> String {
        format!("{} retries per second", number(self.retries_per_s))
    }
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
