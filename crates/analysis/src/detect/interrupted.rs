//! Finds points that the user or a safety limit ended.
//!
//! In: the events. Out: a warning. Limits: none.

use super::detector::{Detector, PointView};
use crate::{Finding, Severity};
use model::EventKind;

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector {
    code: "interrupted",
    help: "the user or a safety limit ended the point",
    explain: "The point was ended before its time: by Ctrl-C, or by a limit that protects the machine (space left on the disk, \
              for one). What was measured until then is kept and is right for the shorter time; it is only indicative because \
              the plan asked for more.",
    detect,
};

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(stopped) = view.events(EventKind::Stopped).next() else { return Vec::new() };
    let title = format!("ended early, {}", view.time_of(stopped));
    vec![DETECTOR.finding(Severity::Warning, title, stopped.text.clone(), "measure again")]
}

#[cfg(test)]
mod tests {
    use crate::simulate::Simulation;
    use model::{EventKind, PointState};

    #[test]
    fn an_interrupted_point_says_so_once() {
        let stopped = Simulation::counts(&[1000; 10])
            .event(EventKind::Stopped, "Ctrl-C")
            .with(|point| point.state = PointState::Partial);
        let finding = stopped.finding("interrupted");
        assert_eq!((finding.title.as_str(), finding.evidence.as_str()), ("ended early, at 0.5 s", "Ctrl-C"));
        assert!(stopped.findings("incomplete").is_empty());
        assert!(Simulation::counts(&[1000; 10]).findings("interrupted").is_empty());
    }
}
