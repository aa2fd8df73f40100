//! At which number of clients, or depth, a sweep ran most and least steadily.
//!
//! In: the usable points of a sweep. Out: its two ends by the coefficient of variation of the rate over intervals, and how sure their
//! order is; and the steps that varied clearly more than the others.
//! Limits: a variation depends on the length of an interval, so only steps of one run are compared. A point of fewer
//! intervals than a spread needs has none. The two ends are chosen from all steps, so the chance that equal steps differ so much is
//! counted for each pair of steps (Bonferroni). What is clear within one run may differ in the next: only repeats show that.

use crate::PointAnalysis;
use crate::Setting;
use crate::findings::least_steady::LeastSteady;
use crate::math::ratio::{PAIRS_MIN, Pairing, Preference, RatioEstimate, RepeatValue};
use crate::math::repeats::{MeanOfRepeats, combine};
use crate::math::stats::{INTERVALS_MIN, counting_variance_max, estimate_mean, mean, variance};
use crate::points::sweep::{ScalingAxis, StepPlace, Sweep, SweepStep};
use serde::Serialize;

/// With fewer steps the table of points shows it.
const STEPS_MIN: usize = 3;
/// Ends that differ by less are alike to whoever plans a server.
const RATIO_MIN: f64 = 1.5;
const CHANCE_MAX: f64 = 1.0 - 0.95;
/// So many intervals show how much a rate varies.
const SPREAD_INTERVALS_MIN: usize = 16;
/// Less is steady, whatever the others do.
const VARIATION_MIN: f64 = 0.05;
// Several steps are compared, and the greatest gap of all is taken.
const SPREAD_LEVEL: f64 = 0.999;

/// The steadiest and the least steady step of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StepSteadiness {
    /// What distinguishes the sweep.
    pub label: Vec<Setting>,
    pub steadiest: StepVariation,
    /// The least steady one.
    pub least_steady: StepVariation,
    /// Whether at least four repeats show that the order is more than chance.
    pub is_shown: bool,
}

/// How much the rate of a step varies.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StepVariation {
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

/// The steps of `sweep` with their variation and that of each repeat, the steadiest first; `None` if one of them is too short for it.
fn by_variation(sweep: &Sweep) -> Option<Vec<(StepVariation, Vec<RepeatValue>)>> {
    let varied = |step: &SweepStep| -> Vec<RepeatValue> {
        step.points.iter().filter_map(|point| Some(RepeatValue { place: point.id, value: variation(point)? })).collect()
    };
    let mut steps: Vec<(StepVariation, Vec<RepeatValue>)> = Vec::new();
    for step in &sweep.steps {
        let values = varied(step);
        let variation = combine(values.iter().map(|one| (one.value, None)))?;
        steps.push((StepVariation { place: sweep.place(step), variation }, values));
    }
    steps.sort_by(|a, b| a.0.variation.mean.total_cmp(&b.0.variation.mean));
    Some(steps)
}

/// How much the rate of the steadiest and of the least steady step of `sweep` varies, however little they differ.
pub fn least_and_most_varied(sweep: &Sweep) -> Option<[StepVariation; 2]> {
    let steps = by_variation(sweep)?;
    Some([steps.first()?.0, steps.last()?.0])
}

fn ends_of(sweep: &Sweep) -> Option<StepSteadiness> {
    let steps = by_variation(sweep)?;
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

/// The steps of `sweep` whose rate varied clearly more than that of the others; `None` if no gap between them is beyond chance.
pub fn least_steady(sweep: &Sweep) -> Option<LeastSteady> {
    let mut steps: Vec<StepNoise> =
        sweep.steps.iter().filter_map(|step| StepNoise::measure(sweep.place(step), step)).collect();
    if steps.len() < STEPS_MIN {
        return None;
    }
    steps.sort_by(|a, b| b.variance.total_cmp(&a.variance));
    // The greatest gap is where the others begin; most steps are among them.
    let gap = |first: &usize| steps[first - 1].variance / steps[*first].variance;
    let first = (1..=steps.len() / 2).max_by(|a, b| gap(a).total_cmp(&gap(b)))?;
    let (apart, others) = steps.split_at(first);
    let is_shown = apart.iter().all(|step| step.is_clearly_less_steady_than(&others[0]));
    let variations = |steps: &[StepNoise]| steps.iter().map(StepNoise::variation).collect();
    is_shown.then(|| LeastSteady { axis: sweep.axis, least_steady: variations(apart), others: variations(others) })
}

/// How much the rate of a step varies, and how exactly that is known.
struct StepNoise {
    place: StepPlace,
    repeats: usize,
    /// The variance of the rate over intervals, as a share of its square.
    variance: f64,
    /// Half the width of the 99.9 % interval of that, as a share of it.
    half_width_share: f64,
    /// The most that counting alone gives.
    counting_max: f64,
}

impl StepNoise {
    /// The noise of `step`; `None` if no repeat has enough intervals, or if its rate is constant.
    fn measure(place: StepPlace, step: &SweepStep) -> Option<StepNoise> {
        let repeats: Vec<Vec<f64>> = step.points.iter().filter_map(|point| relative_rates(point)).collect();
        let squares: Vec<f64> = repeats.iter().flatten().map(|rate| (rate - 1.0).powi(2)).collect();
        // Distances from the mean depend on each other as the rates do: the interval takes that into account.
        let found = estimate_mean(&squares, SPREAD_LEVEL).filter(|found| found.mean > 0.0)?;
        let count = mean(&step.points.iter().filter_map(|point| mean_count(point)).collect::<Vec<_>>());
        Some(StepNoise {
            place,
            repeats: repeats.len(),
            variance: found.mean,
            half_width_share: found.half_width / found.mean,
            counting_max: counting_variance_max(squares.len(), count, SPREAD_LEVEL) / count.powi(2),
        })
    }

    /// The variances are compared by their logarithms, whose errors are those shares (delta method).
    fn is_clearly_less_steady_than(&self, other: &StepNoise) -> bool {
        let (ratio, chance) = (self.variance / other.variance, self.half_width_share.hypot(other.half_width_share));
        let is_wide = self.variance.sqrt() > VARIATION_MIN && self.variance > self.counting_max;
        is_wide && ratio > RATIO_MIN.powi(2) && ratio.ln() > chance
    }

    fn variation(&self) -> StepVariation {
        let variation = MeanOfRepeats { mean: self.variance.sqrt(), ci95: None, repeats: self.repeats };
        StepVariation { place: self.place, variation }
    }
}

/// The rates of the counted intervals of `point` as shares of their mean; `None` if they are too few.
fn relative_rates(point: &PointAnalysis) -> Option<Vec<f64>> {
    let intervals = point.series.as_ref()?.counted_intervals();
    let rates: Vec<f64> = intervals.iter().map(|interval| interval.ops_per_s).collect();
    let middle = mean(&rates);
    let is_enough = rates.len() >= SPREAD_INTERVALS_MIN && middle > 0.0;
    is_enough.then(|| rates.iter().map(|rate| rate / middle).collect())
}

/// The mean number of operations of an interval of `point`.
fn mean_count(point: &PointAnalysis) -> Option<f64> {
    let intervals = point.series.as_ref()?.counted_intervals();
    let counts: Vec<f64> = intervals.iter().map(|interval| interval.ops_per_s * interval.length_s).collect();
    Some(mean(&counts)).filter(|count| *count > 0.0)
}

impl StepVariation {
    /// The mean over the standard deviation, as tests of disks give it.
    pub fn consistency(&self) -> f64 {
        1.0 / self.variation.mean
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse;
    use crate::points::sweep::sweeps;
    use crate::simulated::{Random, Simulation, run_of};

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
