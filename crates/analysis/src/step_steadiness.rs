//! At which number of clients, or depth, a sweep ran most and least steadily.
//!
//! In: the usable points of a sweep. Out: its two ends by the coefficient of variation of the rate over intervals, and how sure their
//! order is. Limits: a variation depends on the length of an interval, so only steps of one run are compared. A point of fewer
//! intervals than a spread needs has none. The two ends are chosen from all steps, so the chance that equal steps differ so much is
//! counted for each pair of steps (Bonferroni).

use crate::PointAnalysis;
use crate::Setting;
use crate::ratio::{PAIRS_MIN, Pairing, Preference, RatioEstimate, RepeatValue};
use crate::repeats::{MeanOfRepeats, combine};
use crate::stats::{INTERVALS_MIN, mean, variance};
use crate::sweep::{ScalingAxis, StepPlace, Sweep, SweepStep};
use serde::Serialize;

/// With fewer steps the table of points shows it.
const STEPS_MIN: usize = 3;
/// Ends that differ by less are alike to whoever plans a server.
const RATIO_MIN: f64 = 1.5;
const CHANCE_MAX: f64 = 1.0 - 0.95;

/// The steadiest and the least steady step of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StepSteadiness {
    /// What distinguishes the sweep.
    pub label: Vec<Setting>,
    /// The steadiest step.
    pub steadiest: StepVariation,
    /// The least steady one.
    pub least_steady: StepVariation,
    /// Whether at least four repeats show that the order is more than chance.
    pub is_shown: bool,
}

/// How much the rate of a step varies.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StepVariation {
    /// The step.
    pub place: StepPlace,
    /// The standard deviation of the rate over intervals, as a share of its mean.
    pub variation: MeanOfRepeats,
}

/// The ends of each of `sweeps` that has enough steps and in which they differ.
pub fn step_steadiness(sweeps: &[Sweep]) -> Vec<StepSteadiness> {
    let has_steps =
        |sweep: &&Sweep| !matches!(sweep.axis, ScalingAxis::None | ScalingAxis::Both) && sweep.steps.len() >= STEPS_MIN;
    sweeps.iter().filter(has_steps).filter_map(ends_of).collect()
}

fn ends_of(sweep: &Sweep) -> Option<StepSteadiness> {
    let varied = |step: &SweepStep| -> Vec<RepeatValue> {
        let value = |point: &&PointAnalysis| Some(RepeatValue { place: point.id, value: variation(point)? });
        step.points.iter().filter_map(value).collect()
    };
    let mut steps: Vec<(StepVariation, Vec<RepeatValue>)> = Vec::new();
    for step in &sweep.steps {
        let values = varied(step);
        let variation = combine(values.iter().map(|one| (one.value, None)))?;
        steps.push((StepVariation { place: sweep.place(step), variation }, values));
    }
    steps.sort_by(|a, b| a.0.variation.mean.total_cmp(&b.0.variation.mean));
    let [(steadiest, low), .., (least_steady, high)] = steps.as_slice() else { return None };
    if least_steady.variation.mean < RATIO_MIN * steadiest.variation.mean {
        return None;
    }
    let pairs = steps.len() * (steps.len() - 1) / 2;
    let ratio = RatioEstimate::from_pairs(&Pairing::adjacent(low, high).pairs, Preference::Less);
    let is_sure =
        |ratio: RatioEstimate| ratio.n >= PAIRS_MIN && ratio.p_value.is_some_and(|p| p * (pairs as f64) < CHANCE_MAX);
    let (steadiest, least_steady) = (*steadiest, *least_steady);
    Some(StepSteadiness { label: sweep.label.to_vec(), steadiest, least_steady, is_shown: ratio.is_some_and(is_sure) })
}

/// The coefficient of variation of the rate of `point` over its intervals.
fn variation(point: &PointAnalysis) -> Option<f64> {
    let intervals = point.series.as_ref()?.counted_intervals();
    let rates: Vec<f64> = intervals.iter().map(|interval| interval.ops_per_s).collect();
    let middle = mean(&rates);
    (rates.len() >= INTERVALS_MIN && middle > 0.0).then(|| variance(&rates).sqrt() / middle)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse;
    use crate::simulate::{Random, Simulation, run_of};
    use crate::sweep::sweeps;

    /// Twenty seconds each of these numbers of clients, with this standard deviation as a share of the rate.
    fn found(steps: &[(u32, f64)], repeats: u32, random: &mut Random) -> Vec<StepSteadiness> {
        let mut points = Vec::new();
        for repeat in 1..=repeats {
            for (clients, share) in steps {
                let counts: Vec<u64> =
                    (0..20).map(|_| (5000.0 * (1.0 + share * random.normal())).max(1.0) as u64).collect();
                let simulation = Simulation::counts(&counts).with(|point| {
                    point.trial.load.clients = *clients;
                    (point.trial.repeat, point.trial.seed) = (repeat, u64::from(repeat));
                });
                points.push(simulation.point());
            }
        }
        step_steadiness(&sweeps(&analyse(&run_of(points, Vec::new())).points))
    }

    #[test]
    fn the_ends_are_named_and_sure_with_four_repeats_only() {
        let steps = [(1, 0.02), (4, 0.20), (8, 0.10), (32, 0.01)];
        let one = found(&steps, 1, &mut Random::new(1)).remove(0);
        assert!(!found(&steps, 3, &mut Random::new(1))[0].is_shown);
        let many = found(&steps, 4, &mut Random::new(1)).remove(0);
        for ends in [&one, &many] {
            assert_eq!((ends.steadiest.place.clients, ends.least_steady.place.clients), (Some(32), Some(4)));
        }
        assert_eq!((one.is_shown, many.is_shown, many.least_steady.variation.repeats), (false, true, 4));
    }

    #[test]
    fn in_steps_that_are_alike_nothing_is_shown() {
        let alike = [(1, 0.05), (4, 0.05), (8, 0.05), (32, 0.05)];
        let mut random = Random::new(7);
        let shown = (0..40).filter(|_| found(&alike, 4, &mut random).iter().any(|ends| ends.is_shown)).count();
        assert!(shown <= 4, "{shown} of 40");
    }

    #[test]
    fn two_steps_have_no_ends() {
        assert!(found(&[(1, 0.02), (4, 0.2)], 4, &mut Random::new(1)).is_empty());
    }
}
