//! Finds failed operations.
//!
//! In: the counts and the failures reported. Out: a warning, or an error where many failed. Limits: operations that the
//! engine retried by itself are not failures here.

use super::detector::{Detector, PointView};
use crate::text::{percent, plural};
use crate::window::Tally;
use crate::{Finding, Severity};
use model::{EventKind, Phase};

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector {
    code: "errors",
    help: "operations failed",
    explain: "Failed operations are counted and are in no percentile, and a failure is often faster or slower than success, so \
              any of them weakens the numbers. Below 99 % success the numbers describe the failing more than the work, and \
              the point is invalid. The evidence quotes the first failures as the driver told them.",
    detect,
};

const SUCCESS_MIN: f64 = 0.99;
const QUOTED_MAX: usize = 3;

fn detect(view: &PointView) -> Vec<Finding> {
    // All of the run phase: rounds that do not count may have failed, too.
    let Some(recorded) = view.point.phase(Phase::Run).map(Tally::recorded) else { return Vec::new() };
    if recorded.failed == 0 {
        return Vec::new();
    }
    let share = recorded.failed as f64 / recorded.ended() as f64;
    let severity = if share > 1.0 - SUCCESS_MIN { Severity::Error } else { Severity::Warning };
    let title = format!("{} failed ({})", plural(recorded.failed as usize, "operation"), percent(share));
    let quoted: Vec<&str> = view.events(EventKind::Failure).take(QUOTED_MAX).map(|event| event.text.as_str()).collect();
    let evidence = match quoted.is_empty() {
        true => format!("{} done, {} failed", recorded.ok, recorded.failed),
        false => format!("{} done, {} failed; first: {}", recorded.ok, recorded.failed, quoted.join("; ")),
    };
    vec![DETECTOR.finding(severity, title, evidence, "remove the cause of the failures and measure again")]
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
        let finding = failing(2).event(EventKind::Failure, "client 3: database is locked").finding("errors");
        assert_eq!(finding.title, "2 operations failed (0.02 %)");
        assert!(finding.evidence.ends_with("first: client 3: database is locked"), "{}", finding.evidence);
    }
}
