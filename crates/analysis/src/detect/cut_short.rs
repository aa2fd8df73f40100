//! Finds points that end when their rows are in, and were ended before.
//!
//! In: the fact that says how many operations the run has, and those done. Out: a warning. Limits: a point that was interrupted or
//! failed says so itself.

use super::detector::{Detector, PointView};
use crate::facts::fact;
use crate::text::percent;
use crate::{Finding, Severity};
use model::{PointState, Trial};

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector {
    code: "cut-short",
    help: "a limit ended the point before its rows were in",
    explain: "The point is a step that ends when all its rows are in, and `time` or `ops_max` ended it before. Its rate is that of \
              the rows that were inserted, which are the first and, where data outgrows memory, the cheapest; the steps after it \
              find less data than the plan says. Leave `time` out, or raise it.",
    detect,
};

fn detect(view: &PointView) -> Vec<Finding> {
    let planned = fact(&view.point.facts, "run.ops").and_then(|ops| ops.parse::<u64>().ok());
    let (Some(planned), Some(measured)) = (planned, view.measured) else { return Vec::new() };
    let done = measured.window.recorded.ended();
    if view.point.state != PointState::Complete || done >= planned {
        return Vec::new();
    }
    let title = format!("ended with {} of its operations done", percent(done as f64 / planned as f64));
    let evidence = format!("{done} of {planned} operations; {}", limit(&view.point.trial, done));
    vec![DETECTOR.finding(
        Severity::Warning,
        title,
        evidence,
        "leave `time` out: the step then ends when its rows are in",
    )]
}

/// What ended it.
fn limit(trial: &Trial, done: u64) -> String {
    match trial.phases.ops_max {
        Some(most) if done >= most => format!("`ops_max` is {most}"),
        _ => format!("`time` is {}", trial.phases.run),
    }
}

#[cfg(test)]
mod tests {
    use crate::simulate::Simulation;
    use model::{Fact, PointState};

    fn of(planned: &str) -> Simulation {
        let planned = Fact::new("run.ops", planned);
        Simulation::counts(&[1000; 10]).with(|point| point.facts.push(planned))
    }

    #[test]
    fn a_step_that_reached_its_limit_says_how_far_it_came() {
        let finding = of("40000").finding("cut-short");
        assert_eq!(finding.title, "ended with 25 % of its operations done");
        assert_eq!(finding.evidence, "10000 of 40000 operations; `time` is 10.0 s");
        let counted = of("40000").with(|point| point.trial.phases.ops_max = Some(10_000));
        assert_eq!(counted.finding("cut-short").evidence, "10000 of 40000 operations; `ops_max` is 10000");
    }

    #[test]
    fn a_step_whose_rows_are_in_says_nothing_nor_does_one_that_broke_off() {
        assert!(of("10000").findings("cut-short").is_empty());
        assert!(of("what").findings("cut-short").is_empty());
        let broken = of("40000").with(|point| point.state = PointState::Partial);
        assert!(broken.findings("cut-short").is_empty());
        assert!(Simulation::counts(&[1000; 10]).findings("cut-short").is_empty());
    }
}
