//! Finds where adding clients or depth stops helping.
//!
//! In: the points of each group. Out: a note per group with at least three steps.
//! Limits: a knee is one of the measured steps.

use super::detector::RunDetector;
use crate::finding::comparison::{BeyondKnee, Knee, StepRate};
use crate::finding::{Code, NextStep, Subject};
use crate::sweep::{Step, Sweep, sweeps};
use crate::{Finding, PointAnalysis, Severity};

/// The entry in the list of detectors of runs.
pub const DETECTOR: RunDetector = RunDetector { code: Code::Knee, detect };

const STEPS_MIN: usize = 3;

fn detect(points: &[PointAnalysis]) -> Vec<Finding> {
    sweeps(points).iter().filter(|sweep| sweep.steps.len() >= STEPS_MIN).map(knee).collect()
}

fn knee(sweep: &Sweep) -> Finding {
    let step = |step: &Step| StepRate { clients: step.clients, depth: step.depth, ops_per_s: step.ops_per_s() };
    let detail = Knee {
        axis: sweep.axis,
        knee: step(sweep.knee()),
        best: step(sweep.best()),
        last: step(sweep.last()),
        steps: sweep.steps.iter().map(step).collect(),
    };
    let next = match detail.beyond() {
        BeyondKnee::StillRising => NextStep::MeasureMoreSteps,
        BeyondKnee::Falling | BeyondKnee::Level => NextStep::None,
    };
    Finding::new(Severity::Note, detail).about(Subject::Sweep(sweep.group.to_owned())).next(next)
}

#[cfg(test)]
mod tests {
    use crate::analyse;
    use crate::simulate::{Simulation, run_of};

    fn titles(rates: &[u64]) -> Vec<String> {
        let point = |(nth, rate): (u32, &u64)| {
            Simulation::counts(&[*rate; 10]).with(|point| point.trial.load.depth = 1 << nth).point()
        };
        let analysis = analyse(&run_of((0..).zip(rates).map(point).collect(), Vec::new()));
        analysis.findings.into_iter().filter(|finding| finding.code == "knee").map(|finding| finding.title).collect()
    }

    #[test]
    fn rates_that_level_off_have_a_knee_and_rising_ones_have_not() {
        assert_eq!(titles(&[1000, 1900, 2000, 2050]), ["sqlite oltp: knee at depth 2; more adds nothing"]);
        assert_eq!(titles(&[1000, 1900, 3500]), ["sqlite oltp: still rising at depth 4"]);
        assert_eq!(titles(&[1000, 2000, 1200]), ["sqlite oltp: knee at depth 2; at depth 4 it is 40 % below its best"]);
        assert!(titles(&[1000, 2000]).is_empty());
    }
}
