//! Finds points that did not run to their end.
//!
//! In: the point's state and error. Out: a warning or an error. Limits: a point that the user or a limit ended is `interrupted`.

use super::{Detects, Finding, FindingKind, corrupt};
use crate::evidence::PointView;
use crate::judgement::{NextStep, Severity};
use model::{EventKind, Nanos, Phase, PointState};
use serde::Serialize;
use words::quantity::{plural, whole};

/// A point that ended before it was to end.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct IncompletePoint {
    /// In which way it ended.
    pub ending: PointEnding,
    /// The error that was recorded.
    pub error: Option<String>,
    /// How much was measured, of how much.
    pub progress: ProgressMade,
}

/// In which way a point ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PointEnding {
    TargetFailed,
    /// Data did not come back as it was written, and the load was stopped.
    DataDamaged,
    /// The run phase was not reached.
    NotStarted,
    /// Recording stopped, because plimsoll was killed or the machine went down.
    RecordingStopped,
}

/// How far a point came.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum ProgressMade {
    /// Operations done of those planned.
    Ops { done_ops: u64, planned_ops: u64 },
    /// Time measured of that planned.
    Time { measured_ns: Nanos, planned_ns: Nanos },
}

fn detect(view: &PointView) -> Vec<Finding> {
    let stopped = view.events(EventKind::Stopped).next().is_some();
    let (severity, ending) = match (view.point.state, view.measured) {
        (PointState::Failed, _) if corrupt::is_found(view) => (Severity::Error, PointEnding::DataDamaged),
        (PointState::Failed, _) => (Severity::Error, PointEnding::TargetFailed),
        (_, None) => (Severity::Error, PointEnding::NotStarted),
        (PointState::Partial, Some(_)) if stopped => return Vec::new(),
        (PointState::Partial, Some(_)) => (Severity::Warning, PointEnding::RecordingStopped),
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

impl FindingKind for IncompletePoint {
    const SEVERITIES: &'static [Severity] = &[Severity::Warning, Severity::Error];
    const DETECTS: Detects = Detects::Point(detect);
    const REASON: &'static str = "did not complete";

    fn can_judge_imported(_: &PointView) -> bool {
        true
    }

    fn is_like(&self, other: &Self) -> bool {
        self.ending == other.ending
    }

    fn title(alike: &[&Self]) -> String {
        let title = match alike[0].ending {
            PointEnding::TargetFailed => match &alike[0].error {
                Some(error) if alike.iter().all(|one| one.error.as_ref() == Some(error)) => error,
                _ => "the engine failed",
            },
            PointEnding::DataDamaged => "stopped because data was corrupt",
            PointEnding::NotStarted => "the run phase was not reached",
            PointEnding::RecordingStopped => "recording stopped before the end",
        };
        title.to_owned()
    }

    fn evidence(&self) -> String {
        let error = self.error.as_deref().unwrap_or("no error was recorded");
        match self.progress {
            ProgressMade::Ops { done_ops, planned_ops } => {
                format!("{error}; {} of {} done", whole(done_ops as f64), plural(planned_ops, "operation"))
            }
            ProgressMade::Time { measured_ns, planned_ns } => {
                let [measured, planned] = [measured_ns, planned_ns].map(Nanos::as_secs_f64);
                format!("{error}; {measured:.1} of {planned:.1} s measured")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judgement::Validity;
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
            ending: PointEnding::TargetFailed,
            error: Some("disk full".into()),
            progress: ProgressMade::Time { measured_ns: ten, planned_ns: ten },
        };
        assert_eq!((failed.severity, failed.detail), (Severity::Error, detail.into()));
        assert_eq!(ended(PointState::Partial).finding("incomplete").severity, Severity::Warning);
        assert!(ended(PointState::Complete).findings("incomplete").is_empty());
        let damaged = ended(PointState::Failed).event(EventKind::Failure, "corrupt: client 0: read of 16 KiB");
        assert_eq!(damaged.figures::<IncompletePoint>().ending, PointEnding::DataDamaged);
    }

    #[test]
    fn a_point_that_never_ran_is_invalid_and_has_no_numbers() {
        let never = ended(PointState::Partial).with(|point| point.phases.clear());
        let point = never.analysis().points.remove(0);
        assert_eq!(figures_of::<IncompletePoint>(&point.findings)[0].ending, PointEnding::NotStarted);
        assert_eq!((point.validity, point.summary), (Validity::Invalid, None));
    }
}
