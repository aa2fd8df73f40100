//! Finds where adding clients or depth stops helping, and by what law.
//!
//! In: the points of each group. Out: a note per group with at least three steps.
//! Limits: a knee is one of the measured steps; the law has a peak between them, if it fits.

use super::detector::RunDetector;
use crate::finding::comparison::{BeyondKnee, FALL_MIN, Knee, StepRate, StepsWithoutGain};
use crate::finding::{Code, NextStep, Subject};
use crate::math::repeats::half_width_share;
use crate::points::scaling_law::{NoLawReason, ScalingLaw, scaling_law};
use crate::points::sweep::{Sweep, SweepStep, sweeps};
use crate::{Finding, PointAnalysis, Severity};
use model::Plan;

/// The entry in the list of detectors of runs.
pub const DETECTOR: RunDetector = RunDetector { code: Code::Knee, detect };

// Between two steps there is none at which the rate could have levelled.
const STEPS_MIN: usize = 3;
/// A rate gains if it gains more than this share, and more than its noise.
const GAIN_MIN: f64 = 0.10;
/// By so much the 95th percentile grows where more clients only wait.
const WAIT_FACTOR: u64 = 2;

fn detect(points: &[PointAnalysis], _: &Plan) -> Vec<Finding> {
    sweeps(points).iter().filter(|sweep| sweep.steps.len() >= STEPS_MIN).map(knee).collect()
}

fn knee(sweep: &Sweep) -> Finding {
    let law = scaling_law(sweep);
    let is_open = law == ScalingLaw::NotFitted { reason: NoLawReason::OpenLoop };
    let beyond = beyond(sweep);
    let detail = Knee {
        beyond,
        law,
        without_gain: if is_open { None } else { steps_without_gain(sweep) },
        axis: sweep.axis,
        knee: step_rate(sweep.knee()),
        best: step_rate(sweep.best()),
        last: step_rate(sweep.last()),
        steps: sweep.steps.iter().map(step_rate).collect(),
    };
    let next = match beyond {
        BeyondKnee::StillRising => NextStep::MeasureMoreSteps,
        BeyondKnee::RiseNotShown => NextStep::RunLonger,
        BeyondKnee::Falling | BeyondKnee::Level => NextStep::None,
    };
    Finding::new(Severity::Note, detail).about(Subject::Sweep(sweep.group)).next(next)
}

/// What the steps show beyond the knee.
fn beyond(sweep: &Sweep) -> BeyondKnee {
    let fall_share = 1.0 - sweep.last().ops_per_s() / sweep.best().ops_per_s().max(f64::MIN_POSITIVE);
    match std::ptr::eq(sweep.knee(), sweep.last()) {
        true if sweep.is_rise_shown() => BeyondKnee::StillRising,
        true => BeyondKnee::RiseNotShown,
        false if fall_share > FALL_MIN => BeyondKnee::Falling,
        false => BeyondKnee::Level,
    }
}

fn step_rate(step: &SweepStep) -> StepRate {
    let (ops_per_s, p95_ns) = (step.ops_per_s(), step.response_ns(0.95));
    StepRate { clients: step.clients, depth: step.depth, ops_per_s, p95_ns }
}

/// The first step with a later one that has twice its response time and hardly a higher rate.
fn steps_without_gain(sweep: &Sweep) -> Option<StepsWithoutGain> {
    let noise = |step: &SweepStep| {
        let rate = step.estimate(|summary| Some((summary.ops_per_s, summary.ops_per_s_ci95)));
        rate.and_then(|rate| half_width_share((rate.mean, rate.ci95))).unwrap_or(0.0)
    };
    let steps: Vec<(StepRate, f64)> = sweep.steps.iter().map(|step| (step_rate(step), noise(step))).collect();
    let pairs = (0..steps.len()).flat_map(|from| (from + 1..steps.len()).map(move |to| (from, to)));
    pairs.map(|(from, to)| (steps[from], steps[to])).find_map(|((from, noise), (to, later_noise))| {
        let pair = StepsWithoutGain { from, to };
        let waits = to.p95_ns? >= WAIT_FACTOR * from.p95_ns?;
        (waits && pair.gain_share() < GAIN_MIN.max(noise.hypot(later_noise))).then_some(pair)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::points::sweep::ScalingAxis;
    use crate::simulated::{Simulation, figures_of, run_of};
    use crate::{Validity, analyse};

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
            (found.axis, found.knee.depth, found.beyond)
        };
        assert_eq!(knee(&[1000, 1900, 2000, 2050]), (ScalingAxis::Depth, 2, BeyondKnee::Level));
        assert_eq!(knee(&[1000, 1900, 3500]), (ScalingAxis::Depth, 4, BeyondKnee::StillRising));
        assert_eq!(knee(&[1000, 2000, 1200]), (ScalingAxis::Depth, 2, BeyondKnee::Falling));
        assert!((knees(&[1000, 2000, 1200])[0].fall_share() - 0.4).abs() < 1e-9);
        assert!(knees(&[1000, 2000]).is_empty());
    }

    /// Ten seconds at each depth, of which the rates swing by this share to either side.
    fn swinging(rates: &[u64], share: f64) -> Knee {
        let point = |(nth, rate): (u32, &u64)| {
            let swing = (share * *rate as f64) as u64;
            let counts: Vec<u64> =
                (0..10).map(|at| if at / 2 % 2 == 0 { rate - swing } else { rate + swing }).collect();
            Simulation::counts(&counts).with(|point| point.trial.load.depth = 1 << nth).point()
        };
        let points = (0..).zip(rates).map(point).collect();
        figures_of(&analyse(&run_of(points, Vec::new())).findings).remove(0)
    }

    #[test]
    fn a_rise_that_is_within_the_intervals_is_not_shown() {
        assert_eq!(swinging(&[1000, 2000, 2560], 0.01).beyond, BeyondKnee::StillRising);
        assert_eq!(swinging(&[1000, 2000, 2560], 0.5).beyond, BeyondKnee::RiseNotShown);
        assert_eq!(swinging(&[1000, 2000, 2050], 0.5).beyond, BeyondKnee::Level);
    }

    #[test]
    fn steps_without_gain_have_twice_the_response_time_and_hardly_a_higher_rate() {
        let found = |steps: &[(u32, u64, u64)]| {
            let points = steps.iter().map(|(clients, rate, p95_ns)| {
                let mut simulation = Simulation::counts(&[0; 10]);
                for second in 0..10 {
                    simulation.add(second, *rate, *p95_ns, *p95_ns);
                }
                simulation.with(|point| point.trial.load.clients = *clients).point()
            });
            let run = run_of(points.collect(), Vec::new());
            let mut points = analyse(&run).points;
            points.iter_mut().for_each(|point| point.validity = Validity::Valid);
            let pair = figures_of::<Knee>(&detect(&points, &run.meta.plan)).remove(0).without_gain;
            pair.map(|pair| (pair.from.clients, pair.to.clients, (pair.gain_share() * 100.0).round()))
        };
        let ms = 1_000_000;
        assert_eq!(found(&[(1, 1000, ms), (4, 3000, ms), (16, 3100, 5 * ms)]), Some((4, 16, 3.0)));
        assert_eq!(found(&[(1, 1000, ms), (4, 3000, 2 * ms), (16, 6000, 5 * ms)]), None);
        assert_eq!(found(&[(1, 1000, ms), (4, 3000, ms), (16, 3100, ms)]), None);
    }
}
