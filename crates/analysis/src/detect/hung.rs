//! Finds clients that never came back.
//!
//! In: the events of the load loop. Out: an error. Limits: how long their operations would have taken is unknown.

use super::detector::{Detector, PointView};
use crate::{Finding, Severity};
use model::EventKind;

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector {
    code: "hung",
    help: "clients were still blocked when the grace time was over",
    explain: "Operations under way at the end get a grace time. Clients whose operation did not return in it were given up: \
              their last operations, the slowest of all, are in no percentile, and the target may have stood still for them \
              alone or for all. The point is invalid. Look at the engine's log and the kernel's (`dmesg`) for the time of \
              the end.",
    detect,
};

fn detect(view: &PointView) -> Vec<Finding> {
    let texts: Vec<&str> = view.events(EventKind::Hung).map(|event| event.text.as_str()).collect();
    if texts.is_empty() {
        return Vec::new();
    }
    let title = "clients were still blocked after the end".to_string();
    vec![DETECTOR.finding(Severity::Error, title, texts.join("; "), "find out what blocks the target; see its log")]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::Simulation;

    #[test]
    fn a_hung_client_spoils_the_point() {
        let finding = Simulation::counts(&[1000; 10]).event(EventKind::Hung, "client 2").finding("hung");
        assert_eq!((finding.severity, finding.evidence.as_str()), (Severity::Error, "client 2"));
        assert!(Simulation::counts(&[1000; 10]).findings("hung").is_empty());
    }
}
