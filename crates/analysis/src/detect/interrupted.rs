//! Finds points that the user or a safety limit ended.
//!
//! In: the events. Out: a warning. Limits: none.

use super::detector::Detector;
use crate::evidence::PointView;
use crate::finding::completeness::PointInterruption;
use crate::finding::{Code, NextStep};
use crate::{Finding, Severity};
use model::EventKind;

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector { code: Code::Interrupted, detect };

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(stopped) = view.events(EventKind::Stopped).next() else { return Vec::new() };
    let detail = PointInterruption { at_ns: view.time_of(stopped), reason: stopped.text.clone() };
    vec![Finding::new(Severity::Warning, detail).next(NextStep::MeasureAgain)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::Simulation;
    use model::{Nanos, PointState};

    #[test]
    fn an_interrupted_point_says_so_once() {
        let stopped = Simulation::counts(&[1000; 10])
            .event(EventKind::Stopped, "Ctrl-C")
            .with(|point| point.state = PointState::Partial);
        let expected = PointInterruption { at_ns: Some(Nanos::from_millis(500)), reason: "Ctrl-C".into() };
        assert_eq!(stopped.figures::<PointInterruption>(), expected);
        assert!(stopped.findings("incomplete").is_empty());
        assert!(Simulation::counts(&[1000; 10]).findings("interrupted").is_empty());
    }
}
