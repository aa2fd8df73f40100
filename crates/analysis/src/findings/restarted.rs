//! Finds servers that were restarted, or ended, while they were measured.
//!
//! In: the events of restarts, how the server ended. Out: a warning, or an error if the point failed of it. Limits: a restart is noticed
//! when the settings are read, a minute later at most; that operations failed meanwhile is a finding of its own. Restarts in outages are not reported again. The end of a server on
//! another machine cannot be distinguished from that of the network.

use super::{Code, Detects, Finding, FindingKind, Watched};
use crate::evidence::PointView;
use crate::judgement::{NextStep, Severity};
use model::{EventKind, Nanos, PointState};
use serde::Serialize;
use words::quantity::counted;

/// Restarts of the server during the point, or its end.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ServerRestarts {
    pub count: usize,
    /// How the server ended, `gone` if that is not known; `None` if it did not, or it is not on this machine.
    pub ended: Option<String>,
    /// When the first restart was, or else the first operation failed, since the run phase began; `None` before it.
    pub first_at_ns: Option<Nanos>,
}

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

/// Whether all `restarts` were in outages, of which the server came back: its process may have ended then, too. The outages have to be reported.
fn is_explained(view: &PointView, restarts: usize) -> bool {
    view.measured.filter(|_| Code::Outage.kind().can_judge(view)).is_some_and(|measured| {
        let outages = &measured.shape.outages;
        let in_outages: usize = outages.iter().map(|outage| outage.restarts).sum();
        in_outages > 0 && restarts <= in_outages && outages.iter().all(|outage| outage.is_over)
    })
}

impl FindingKind for ServerRestarts {
    const SEVERITIES: &'static [Severity] = &[Severity::Warning, Severity::Error];
    const DETECTS: Detects = Detects::Point(detect);
    const WATCHED: Watched = Watched::Always;
    const REASON: &'static str = "had a server that ended or was restarted";

    fn is_like(&self, other: &Self) -> bool {
        (self.count > 0, &self.ended) == (other.count > 0, &other.ended)
    }

    fn title(alike: &[&Self]) -> String {
        match (alike[0].count, alike[0].ended.as_deref()) {
            (0, Some("gone") | None) => "the server ended while it was measured".to_owned(),
            (0, Some(how)) => format!("the server ended while it was measured ({how})"),
            _ => format!("the server was restarted {}", counted(alike, |one| one.count as u64, "time")),
        }
    }

    fn evidence(&self) -> String {
        let first = if self.count > 0 { "the first" } else { "the first operation failed" };
        match self.first_at_ns {
            Some(at) => format!("{first} at about {:.1} s of the run phase", at.as_secs_f64()),
            None if self.count > 0 => "the first before the run phase".to_owned(),
            None => "no operation had failed before".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::Simulation;

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
