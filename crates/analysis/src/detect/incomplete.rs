//! Finds points that did not run to their end.
//!
//! In: the point's state and error. Out: a warning or an error. Limits: a point that the user or a limit ended is `interrupted`.

use super::corrupt;
use super::detector::Detector;
use crate::evidence::PointView;
use crate::finding::completeness::{Ending, IncompletePoint, ProgressMade};
use crate::finding::{Code, NextStep};
use crate::{Finding, Severity};
use model::{EventKind, Nanos, Phase, PointState};

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector { code: Code::Incomplete, detect };

fn detect(view: &PointView) -> Vec<Finding> {
    let stopped = view.events(EventKind::Stopped).next().is_some();
    let (severity, ending) = match (view.point.state, view.measured) {
        (PointState::Failed, _) if corrupt::is_found(view) => (Severity::Error, Ending::DataDamaged),
        (PointState::Failed, _) => (Severity::Error, Ending::TargetFailed),
        (_, None) => (Severity::Error, Ending::NotStarted),
        (PointState::Partial, Some(_)) if stopped => return Vec::new(),
        (PointState::Partial, Some(_)) => (Severity::Warning, Ending::RecordingStopped),
        (PointState::Complete, Some(_)) => return Vec::new(),
    };
    let detail = IncompletePoint { ending, error: view.point.error.clone(), progress: progress(view) };
    vec![Finding::new(severity, detail).next(NextStep::RemoveCause)]
}

fn progress(view: &PointView) -> ProgressMade {
    let point = view.point;
    let planned_ops = point.traits.course.run_ops;
    match (planned_ops, view.measured) {
        // It would have taken as long as it takes.
        (Some(planned_ops), Some(run)) => ProgressMade::Ops { done_ops: run.summary.ops, planned_ops },
        _ => ProgressMade::Time {
            measured_ns: point.phase(Phase::Run).map_or(Nanos(0), |phase| phase.end.since(phase.start)),
            planned_ns: point.trial.phases.run,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Validity;
    use crate::simulated::{Simulation, figures_of};

    fn ended(state: PointState) -> Simulation {
        Simulation::counts(&[1000; 10]).with(|point| {
            point.state = state;
            point.error = Some("disk full".into());
        })
    }

    #[test]
    fn a_failed_target_spoils_and_a_killed_recorder_weakens() {
        let failed = ended(PointState::Failed).finding("incomplete");
        let ten = Nanos::from_secs(10);
        let detail = IncompletePoint {
            ending: Ending::TargetFailed,
            error: Some("disk full".into()),
            progress: ProgressMade::Time { measured_ns: ten, planned_ns: ten },
        };
        assert_eq!((failed.severity, failed.detail), (Severity::Error, detail.into()));
        assert_eq!(ended(PointState::Partial).finding("incomplete").severity, Severity::Warning);
        assert!(ended(PointState::Complete).findings("incomplete").is_empty());
        let damaged = ended(PointState::Failed).event(EventKind::Failure, "corrupt: client 0: read of 16 KiB");
        assert_eq!(damaged.figures::<IncompletePoint>().ending, Ending::DataDamaged);
    }

    #[test]
    fn a_point_that_never_ran_is_invalid_and_has_no_numbers() {
        let never = ended(PointState::Partial).with(|point| point.phases.clear());
        let point = never.analysis().points.remove(0);
        assert_eq!(figures_of::<IncompletePoint>(&point.findings)[0].ending, Ending::NotStarted);
        assert_eq!((point.validity, point.summary), (Validity::Invalid, None));
    }
}
