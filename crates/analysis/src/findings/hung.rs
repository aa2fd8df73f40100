//! Finds clients that never came back.
//!
//! In: the events of the load loop. Out: an error. Limits: how long their operations would have taken is unknown.

use super::{Detects, Finding, FindingKind};
use crate::evidence::PointView;
use crate::judgement::{NextStep, Severity};
use model::EventKind;
use serde::Serialize;
use words::quantity::counted;

/// Clients whose last operation did not return.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BlockedClients {
    pub clients: usize,
    /// What the load loop recorded of each.
    pub quoted: Vec<String>,
}

fn detect(view: &PointView) -> Vec<Finding> {
    let quoted = view.quoted(EventKind::Hung, usize::MAX);
    match quoted.len() {
        0 => Vec::new(),
        clients => {
            let detail = BlockedClients { clients, quoted };
            vec![Finding::new(Severity::Error, detail).next(NextStep::ReadTargetLog)]
        }
    }
}

impl FindingKind for BlockedClients {
    const SEVERITIES: &'static [Severity] = &[Severity::Error];
    const DETECTS: Detects = Detects::Point(detect);
    const REASON: &'static str = "left clients blocked at the end";

    fn title(alike: &[&Self]) -> String {
        let clients = counted(alike, |one| one.clients as u64, "client");
        let were = if alike.iter().all(|one| one.clients == 1) { "was" } else { "were" };
        format!("{clients} {were} still blocked when the grace time ended")
    }

    fn evidence(&self) -> String {
        self.quoted.join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::Simulation;

    #[test]
    fn a_hung_client_spoils_the_point() {
        let hung = Simulation::counts(&[1000; 10]).event(EventKind::Hung, "client 2");
        assert_eq!(hung.finding("hung").severity, Severity::Error);
        assert_eq!(hung.figures::<BlockedClients>(), BlockedClients { clients: 1, quoted: vec!["client 2".into()] });
        assert!(Simulation::counts(&[1000; 10]).findings("hung").is_empty());
    }
}
