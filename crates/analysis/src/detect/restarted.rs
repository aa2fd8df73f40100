//! Finds servers that were restarted while they were measured.
//!
//! In: the events of restarts. Out: a warning. Limits: a restart is noticed when the settings are read, a minute later at most; that
//! operations failed meanwhile is a finding of its own.

use super::detector::{Detector, PointView};
use crate::finding::machine::ServerRestarts;
use crate::finding::{Code, NextStep};
use crate::{Finding, Severity};
use model::EventKind;

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector { code: Code::Restarted, detect };

fn detect(view: &PointView) -> Vec<Finding> {
    let restarts: Vec<_> = view.events(EventKind::Restart).collect();
    let Some(first) = restarts.first() else { return Vec::new() };
    let detail = ServerRestarts { count: restarts.len(), first_at_ns: view.time_of(first) };
    vec![Finding::new(Severity::Warning, detail).next(NextStep::RemoveCause)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::Simulation;
    use model::Nanos;

    #[test]
    fn a_server_that_was_restarted_in_the_run_is_found_and_weakens_the_point() {
        let restarted = Simulation::counts(&[2000; 10]).event(EventKind::Restart, "the server was restarted");
        assert_eq!(restarted.finding("restarted").severity, Severity::Warning);
        let found: ServerRestarts = restarted.figures();
        assert_eq!((found.count, found.first_at_ns), (1, Some(Nanos::from_millis(500))));
        assert!(Simulation::counts(&[2000; 10]).findings("restarted").is_empty());
    }
}
