//! Finds where adding clients or depth stops helping.
//!
//! In: the points of each group. Out: a note per group with at least three steps.
//! Limits: a knee is one of the measured steps.

use super::detector::RunDetector;
use crate::finding::comparison::{BeyondKnee, Knee, StepRate};
use crate::finding::{Code, NextStep, Subject};
use crate::sweep::{Sweep, SweepStep, sweeps};
use crate::{Finding, PointAnalysis, Severity};

/// The entry in the list of detectors of runs.
pub const DETECTOR: RunDetector = RunDetector { code: Code::Knee, detect };

const STEPS_MIN: usize = 3;

fn detect(points: &[PointAnalysis]) -> Vec<Finding> {
    sweeps(points).iter().filter(|sweep| sweep.steps.len() >= STEPS_MIN).map(knee).collect()
}

fn knee(sweep: &Sweep) -> Finding {
    let detail = Knee {
        axis: sweep.axis,
        knee: step_rate(sweep.knee()),
        best: step_rate(sweep.best()),
        last: step_rate(sweep.last()),
        steps: sweep.steps.iter().map(step_rate).collect(),
    };
    let next = match detail.beyond() {
        BeyondKnee::StillRising => NextStep::MeasureMoreSteps,
        BeyondKnee::Falling | BeyondKnee::Level => NextStep::None,
    };
    Finding::new(Severity::Note, detail).about(Subject::Sweep(sweep.group)).next(next)
}

fn step_rate(step: &SweepStep) -> StepRate {
    StepRate { clients: step.clients, depth: step.depth, ops_per_s: step.ops_per_s() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse;
    use crate::simulate::{Simulation, figures_of, run_of};
    use crate::sweep::ScalingAxis;

    fn knees(rates: &[u64]) -> Vec<Knee> {
        let point = |(nth, rate): (u32, &u64)| {
            Simulation::counts(&[*rate; 10]).with(|point| point.trial.load.depth = 1 << nth).point()
        };
        let analysis = analyse(&run_of((0..).zip(rates).map(point).collect(), Vec::new()));
        let about = Subject::Sweep(0);
        assert!(analysis.findings.iter().all(|finding| finding.subject == about), "{:?}", analysis.findings);
        figures_of(&analysis.findings)
    }

    #[test]
    fn rates_that_level_off_have_a_knee_and_rising_ones_have_not() {
        let knee = |rates| {
            let found = knees(rates).remove(0);
            (found.axis, found.knee.depth, found.beyond())
        };
        assert_eq!(knee(&[1000, 1900, 2000, 2050]), (ScalingAxis::Depth, 2, BeyondKnee::Level));
        assert_eq!(knee(&[1000, 1900, 3500]), (ScalingAxis::Depth, 4, BeyondKnee::StillRising));
        assert_eq!(knee(&[1000, 2000, 1200]), (ScalingAxis::Depth, 2, BeyondKnee::Falling));
        assert!((knees(&[1000, 2000, 1200])[0].fall_share() - 0.4).abs() < 1e-9);
        assert!(knees(&[1000, 2000]).is_empty());
    }
}
