//! Finds points that were measured after an interruption of the run, in place of an attempt that broke off.
//!
//! In: the attempts, and the fact that names the steps that were performed again before the point. Out: a note. Limits: it
//! judges nothing: a run goes on only if the machine is the same.

use super::{Detects, Finding, FindingKind};
use crate::evidence::PointView;
use crate::judgement::Severity;
use model::{Nanos, Phase, PointData};
use serde::Serialize;
use words::quantity::counted;

/// What came before the point in a resumed run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BrokenAttempts {
    /// The attempts that broke off and are left out.
    pub attempts: Vec<BrokenAttempt>,
    /// The steps that were performed again to make its data, as a list of names.
    pub repeated_steps: Option<String>,
}

/// An attempt that broke off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct BrokenAttempt {
    /// Its number in the run.
    pub point: u32,
    /// How long its run phase lasted.
    pub measured_ns: Nanos,
}

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

impl FindingKind for BrokenAttempts {
    const SEVERITIES: &'static [Severity] = &[Severity::Note];
    const DETECTS: Detects = Detects::Point(detect);

    fn is_like(&self, other: &Self) -> bool {
        self.attempts.is_empty() == other.attempts.is_empty()
    }

    fn title(alike: &[&Self]) -> String {
        if alike[0].attempts.is_empty() {
            "resumed: the data was made again for this point".to_owned()
        } else {
            let attempts = counted(alike, |one| one.attempts.len() as u64, "interrupted attempt");
            format!("resumed: this point was repeated after {attempts}")
        }
    }

    fn evidence(&self) -> String {
        let attempt = |attempt: &BrokenAttempt| {
            let seconds = attempt.measured_ns.as_secs_f64();
            format!("point {} ended after {seconds:.1} s and is not counted", attempt.point)
        };
        let repeated = self.repeated_steps.iter().map(|steps| format!("steps repeated before it: {steps}"));
        self.attempts.iter().map(attempt).chain(repeated).collect::<Vec<_>>().join("; ")
    }
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
