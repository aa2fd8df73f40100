//! Finds points that did not run to their end.
//!
//! In: the point's state and error. Out: a warning or an error. Limits: what the user or a limit ended is `interrupted`.

use super::detector::{Detector, PointView};
use crate::facts::fact;
use crate::{Finding, Severity};
use model::{EventKind, Phase, PointState};

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector {
    code: "incomplete",
    help: "the point did not run to its end",
    explain: "The target failed (then the point is invalid: what was measured before may already have suffered), or recording \
              broke off, because plimsoll was killed or the machine went down (then it is indicative: what is there was \
              measured well, but not for as long as planned). A point that never reached its run phase has no numbers and is \
              invalid.",
    detect,
};

fn detect(view: &PointView) -> Vec<Finding> {
    let point = view.point;
    let stopped = view.events(EventKind::Stopped).next().is_some();
    let (severity, title) = match (point.state, view.measured) {
        (PointState::Failed, _) => (Severity::Error, "the target failed"),
        (_, None) => (Severity::Error, "the run phase was not reached"),
        (PointState::Partial, Some(_)) if stopped => return Vec::new(),
        (PointState::Partial, Some(_)) => (Severity::Warning, "recording broke off before the end"),
        (PointState::Complete, Some(_)) => return Vec::new(),
    };
    let measured = point.phase(Phase::Run).map_or(0.0, |phase| phase.end.since(phase.start).as_secs_f64());
    let why = point.error.as_deref().unwrap_or("no error was recorded");
    let evidence = match (fact(&point.facts, "run.ops"), view.measured) {
        // It would have taken as long as it takes.
        (Some(ops), Some(run)) => format!("{why}; {} of {ops} operations done", run.window.recorded.ended()),
        _ => format!("{why}; {measured:.1} of {:.1} s measured", point.trial.phases.run.as_secs_f64()),
    };
    vec![DETECTOR.finding(severity, title.into(), evidence, "remove the cause and measure again")]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Validity;
    use crate::simulate::Simulation;

    fn ended(state: PointState) -> Simulation {
        Simulation::counts(&[1000; 10]).with(|point| {
            point.state = state;
            point.error = Some("disk full".into());
        })
    }

    #[test]
    fn a_failed_target_spoils_and_a_killed_recorder_weakens() {
        let failed = ended(PointState::Failed).finding("incomplete");
        assert_eq!(
            (failed.severity, failed.evidence.as_str()),
            (Severity::Error, "disk full; 10.0 of 10.0 s measured")
        );
        assert_eq!(ended(PointState::Partial).finding("incomplete").severity, Severity::Warning);
        assert!(ended(PointState::Complete).findings("incomplete").is_empty());
    }

    #[test]
    fn a_point_that_never_ran_is_invalid_and_has_no_numbers() {
        let never = ended(PointState::Partial).with(|point| point.phases.clear());
        let point = never.analysis().points.remove(0);
        assert_eq!(point.findings[0].title, "the run phase was not reached");
        assert_eq!((point.validity, point.summary), (Validity::Invalid, None));
    }
}
