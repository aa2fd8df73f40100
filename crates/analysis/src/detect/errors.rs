//! Finds failed operations.
//!
//! In: the counts and the failures reported. Out: a warning, or an error if many failed. Limits: operations that the
//! engine retried by itself are not failures here.

use super::detector::{Detector, PointView};
use crate::finding::correctness::FailedOps;
use crate::finding::units::Share;
use crate::finding::{Code, NextStep};
use crate::window::OpTally;
use crate::{Finding, Severity};
use model::{EventKind, Phase};

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector { code: Code::Errors, detect };

const SUCCESS_MIN: f64 = 0.99;
const QUOTED_MAX: usize = 3;

fn detect(view: &PointView) -> Vec<Finding> {
    // All of the run phase: rounds that do not count may have failed, too.
    let Some(recorded) = view.point.phase(Phase::Run).map(OpTally::from_phase) else { return Vec::new() };
    if recorded.failed == 0 {
        return Vec::new();
    }
    let share = recorded.failed as f64 / recorded.ended() as f64;
    let severity = if share > 1.0 - SUCCESS_MIN { Severity::Error } else { Severity::Warning };
    let detail = FailedOps {
        failed_ops: recorded.failed,
        done_ops: recorded.ok,
        failed_share: Share(share),
        quoted: view.quoted(EventKind::Failure, QUOTED_MAX),
    };
    vec![Finding::new(severity, detail).next(NextStep::RemoveCause)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::Simulation;

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

    #[test]
    fn the_first_failure_is_quoted() {
        let found: FailedOps = failing(2).event(EventKind::Failure, "client 3: database is locked").figures();
        assert_eq!((found.failed_ops, found.done_ops), (2, 10_000));
        assert_eq!(found.quoted, ["client 3: database is locked"]);
    }
}
