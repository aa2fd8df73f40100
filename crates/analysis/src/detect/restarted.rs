//! Finds servers that were restarted, or ended, while they were measured.
//!
//! In: the events of restarts, how the server ended. Out: a warning, or an error if the point failed of it. Limits: a restart is noticed
//! when the settings are read, a minute later at most; that operations failed meanwhile is a finding of its own. Restarts in outages are not reported again. The end of a server on
//! another machine cannot be told from that of the network.

use super::detector::Detector;
use crate::evidence::PointView;
use crate::finding::machine::ServerRestarts;
use crate::finding::{Code, NextStep};
use crate::{Finding, Severity};
use model::{EventKind, PointState};

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector { code: Code::Restarted, detect };

fn detect(view: &PointView) -> Vec<Finding> {
    let restarts: Vec<_> = view.events(EventKind::Restart).collect();
    let ended = view.point.traits.outcome.server_ended.clone();
    let is_quiet = restarts.is_empty() && ended.is_none();
    if is_quiet || is_explained(view, restarts.len()) {
        return Vec::new();
    }
    // The first operation that failed shows when the server was no longer there.
    let first = restarts.first().copied().or_else(|| view.events(EventKind::Failure).next());
    let first_at_ns = first.and_then(|event| view.time_of(event));
    let severity = if view.point.state == PointState::Failed { Severity::Error } else { Severity::Warning };
    let detail = ServerRestarts { count: restarts.len(), ended, first_at_ns };
    vec![Finding::new(severity, detail).next(NextStep::ReadServerLog)]
}

/// Whether all `restarts` were in outages, of which the server came back: its process may have ended then, too.
fn is_explained(view: &PointView, restarts: usize) -> bool {
    view.measured.is_some_and(|measured| {
        let outages = &measured.shape.outages;
        let in_outages: usize = outages.iter().map(|outage| outage.restarts).sum();
        in_outages > 0 && restarts <= in_outages && outages.iter().all(|outage| outage.is_over)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::Simulation;
    use model::Nanos;

    fn restarted() -> Simulation {
        Simulation::counts(&[2000; 10]).event(EventKind::Restart, "the server was restarted")
    }

    #[test]
    fn a_server_that_was_restarted_in_the_run_is_found_and_weakens_the_point() {
        assert_eq!(restarted().finding("restarted").severity, Severity::Warning);
        let found: ServerRestarts = restarted().figures();
        assert_eq!((found.count, found.first_at_ns), (1, Some(Nanos::from_millis(500))));
        assert!(Simulation::counts(&[2000; 10]).findings("restarted").is_empty());
    }

    #[test]
    fn a_server_that_ended_is_the_cause_of_a_point_that_failed_of_it() {
        let ended = |simulation: Simulation| {
            simulation.event(EventKind::Failure, "connection: client 0: the connection was lost").with(|point| {
                point.traits.outcome.server_ended = Some("signal 9".into());
                point.state = PointState::Failed;
            })
        };
        assert_eq!(ended(restarted()).finding("restarted").severity, Severity::Error);
        let found: ServerRestarts = ended(Simulation::counts(&[2000; 10])).figures();
        assert_eq!((found.count, found.ended.as_deref()), (0, Some("signal 9")));
        assert_eq!(found.first_at_ns, Some(Nanos::from_millis(500)), "when the first operation failed");
    }
}
