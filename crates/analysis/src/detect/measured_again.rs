//! Finds points that were measured after an interruption of the run, in place of an attempt that broke off.
//!
//! In: the attempts, and the fact that says what was performed again before the point. Out: a note. Limits: it judges nothing: whether
//! the machine was the same is asked before a run goes on.

use super::detector::{Detector, PointView};
use crate::facts::fact;
use crate::text::plural;
use crate::{Finding, Severity};
use model::{Phase, PointData};

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector {
    code: "measured-again",
    help: "the run was interrupted here and went on later",
    explain: "The run ended in the middle of this point, or before it, and was taken up by `plimsoll run --resume`: the point was \
              measured whole, on new data, and what an earlier attempt had recorded is in no number. Where the point is a step \
              of a sequence, the steps before it were performed again first, as its phase prepare; their own points are those \
              measured before the interruption, on data that is gone.",
    detect,
};

fn detect(view: &PointView) -> Vec<Finding> {
    let steps = fact(&view.point.facts, "prepare.steps");
    let attempts: Vec<String> = view.broken_off.iter().map(|attempt| told(attempt)).collect();
    let title = match (attempts.len(), steps) {
        (0, None) => return Vec::new(),
        (0, Some(_)) => "measured on data that was made again".to_owned(),
        (some, _) => format!("measured again after {}", plural(some, "attempt")),
    };
    let again = steps.map(|steps| format!("performed again before it: {steps}"));
    let evidence = attempts.into_iter().chain(again).collect::<Vec<_>>().join("; ");
    vec![DETECTOR.finding(Severity::Note, title, evidence, "none is needed")]
}

fn told(attempt: &PointData) -> String {
    let seconds = attempt.phase(Phase::Run).map_or(0.0, |phase| phase.end.since(phase.start).as_secs_f64());
    format!("point {} broke off after {seconds:.1} s and is left out", attempt.id)
}

#[cfg(test)]
mod tests {
    use crate::analyse;
    use crate::simulate::{Simulation, run_of};
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
        let found = analysis.points[0].findings.iter().find(|finding| finding.code == "measured-again").unwrap();
        assert_eq!(found.title, "measured again after 1 attempt");
        assert_eq!(
            found.evidence,
            "point 1 broke off after 4.0 s and is left out; performed again before it: l.i0, l.x"
        );
        assert_eq!(again.finding("measured-again").title, "measured on data that was made again");
        assert!(Simulation::counts(&[1000; 10]).findings("measured-again").is_empty());
    }
}
