//! Finds points that were measured after an interruption of the run, in place of an attempt that broke off.
//!
//! In: the attempts, and the fact that names the steps that were performed again before the point. Out: a note. Limits: it
//! judges nothing: a run goes on only if the machine is the same.

use super::detector::Detector;
use crate::evidence::PointView;
use crate::finding::Code;
use crate::finding::completeness::{BrokenAttempt, BrokenAttempts};
use crate::{Finding, Severity};
use model::{Nanos, Phase, PointData};

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector { code: Code::MeasuredAgain, detect };

fn detect(view: &PointView) -> Vec<Finding> {
    let repeated_steps = Some(view.point.traits.course.replayed_steps.join(", ")).filter(|steps| !steps.is_empty());
    let attempts: Vec<BrokenAttempt> = view.broken_off.iter().map(|attempt| broken(attempt)).collect();
    if attempts.is_empty() && repeated_steps.is_none() {
        return Vec::new();
    }
    vec![Finding::new(Severity::Note, BrokenAttempts { attempts, repeated_steps })]
}

fn broken(attempt: &PointData) -> BrokenAttempt {
    let measured_ns = attempt.phase(Phase::Run).map_or(Nanos(0), |phase| phase.end.since(phase.start));
    BrokenAttempt { point: attempt.id, measured_ns }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse;
    use crate::simulated::{Simulation, figures_of, run_of};
    use model::{Fact, PointState};

    #[test]
    fn a_point_that_was_made_again_tells_of_the_attempt_and_of_the_steps_before_it() {
        let broken = Simulation::counts(&[1000; 4]).with(|point| (point.id, point.state) = (1, PointState::Partial));
        let again = Simulation::counts(&[1000; 10]).with(|point| {
            point.id = 2;
            point.facts.push(Fact::new("prepare.steps", "l.i0, l.x"));
        });
        let mut broken = broken.point();
        broken.trial = again.clone().point().trial;
        let analysis = analyse(&run_of(vec![broken, again.clone().point()], Vec::new()));
        let found = figures_of::<BrokenAttempts>(&analysis.points[0].findings).remove(0);
        assert_eq!(found.attempts, [BrokenAttempt { point: 1, measured_ns: Nanos::from_secs(4) }]);
        assert_eq!(found.repeated_steps.as_deref(), Some("l.i0, l.x"));
        assert!(again.figures::<BrokenAttempts>().attempts.is_empty());
        assert!(Simulation::counts(&[1000; 10]).findings("measured-again").is_empty());
    }
}
