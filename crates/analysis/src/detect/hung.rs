//! Finds clients that never came back.
//!
//! In: the events of the load loop. Out: an error. Limits: how long their operations would have taken is unknown.

use super::detector::Detector;
use crate::evidence::PointView;
use crate::finding::completeness::BlockedClients;
use crate::finding::{Code, NextStep};
use crate::{Finding, Severity};
use model::EventKind;

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector { code: Code::Hung, detect };

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
