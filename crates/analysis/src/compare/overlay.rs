//! What is drawn of several arms over each other: their rates over time, and their response times.
//!
//! In: runs, or the groups of one run. Out: an [`ArmOverlay`] for each place that all of its arms have, with one [`ArmCurve`] for each
//! arm. Limits: only usable points are in it. Repeats are laid over each other from the beginning of their run phases; what a repeat
//! lacks at its end is missing there.

use super::ComparedRun;
use super::arm::{Arm, ArmPoint, GroupingError, differing, match_places, split_by, split_by_run};
use crate::math::stats::{mean, quantile};
use crate::points::merge_times;
use crate::recorded::dimensions::Setting;
use crate::{PointAnalysis, Series};
use model::Times;

/// So many stretches of a run phase are drawn at most.
const STRETCHES_MAX: usize = 120;
/// The band holds this share of the repeats.
const BAND: f64 = 0.8;

/// The arms at one place.
#[derive(Clone, Debug)]
pub struct ArmOverlay {
    /// What distinguishes the place from the others.
    pub label: Vec<Setting>,
    /// The base, then each arm that has the place, too.
    pub arms: Vec<ArmCurve>,
}

/// One arm at one place: all its usable repeats.
#[derive(Clone, Debug)]
pub struct ArmCurve {
    /// The arm: 0 is the base, 1 the first that is compared with it.
    pub arm: usize,
    /// How many repeats there are.
    pub repeats: usize,
    /// Its rate over time.
    pub rates: Vec<RateBand>,
    /// All its response times.
    pub response: Times,
}

/// The rates of the repeats of an arm in one stretch of their run phases.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateBand {
    /// The middle of the stretch, in seconds since the run phase began.
    pub at_s: f64,
    /// The median of the repeats' rates.
    pub median_per_s: f64,
    /// The ends of the band that holds 80 % of them; with fewer than ten repeats they are interpolated.
    pub band_per_s: [f64; 2],
}

/// The overlays of `runs`: the first is the base.
pub fn overlay_runs(runs: &[ComparedRun]) -> Vec<ArmOverlay> {
    overlay_arms(&split_by_run(runs))
}

/// The overlays of the groups of `run` that differ in `by`; as [`super::compare_groups`].
pub fn overlay_groups(run: &ComparedRun, by: &str, base: Option<&str>) -> Result<Vec<ArmOverlay>, GroupingError> {
    Ok(overlay_arms(&split_by(run, by, base)?))
}

fn overlay_arms(arms: &[Arm]) -> Vec<ArmOverlay> {
    let [base, others @ ..] = arms else { return Vec::new() };
    // By the first point of the base: with several arms the labels of one place may differ.
    let mut all: Vec<(u32, ArmOverlay)> = Vec::new();
    for (arm, new) in (1..).zip(others) {
        let (places, _) = match_places(base, new, &differing(base, new));
        for place in places {
            let (Some(of_base), Some(of_new)) = (ArmCurve::new(0, &place.base), ArmCurve::new(arm, &place.new)) else {
                continue;
            };
            let key = place.base[0].at();
            match all.iter_mut().find(|(known, _)| *known == key) {
                Some((_, overlay)) => overlay.arms.push(of_new),
                None => all.push((key, ArmOverlay { label: place.label, arms: vec![of_base, of_new] })),
            }
        }
    }
    all.sort_by_key(|(key, _)| *key);
    all.into_iter().map(|(_, overlay)| overlay).collect()
}

impl ArmCurve {
    /// `None` if no repeat is usable.
    fn new(arm: usize, points: &[&ArmPoint]) -> Option<ArmCurve> {
        let repeats: Vec<&PointAnalysis> =
            points.iter().filter(|point| point.is_usable()).map(|point| point.analysis).collect();
        let response = merge_times(&repeats, |series| &series.response);
        let series: Vec<&Series> = repeats.iter().filter_map(|point| point.series.as_ref()).collect();
        (!series.is_empty()).then(|| ArmCurve { arm, repeats: series.len(), rates: rate_bands(&series), response })
    }
}

/// The rates of `repeats`, each cut into the same stretches of whole intervals.
fn rate_bands(repeats: &[&Series]) -> Vec<RateBand> {
    let intervals = repeats.iter().map(|series| series.counted_intervals().len()).max().unwrap_or(0);
    let per_stretch = intervals.div_ceil(STRETCHES_MAX).max(1);
    let stretch = |nth: usize| {
        let cut = |series: &&Series| mean_rate(series.counted_intervals().chunks(per_stretch).nth(nth)?, series);
        let rates: Vec<(f64, f64)> = repeats.iter().filter_map(cut).collect();
        let per_s: Vec<f64> = rates.iter().map(|(_, per_s)| *per_s).collect();
        let [low, median, high] = [(1.0 - BAND) / 2.0, 0.5, (1.0 + BAND) / 2.0].map(|share| quantile(&per_s, share));
        let at_s = mean(&rates.iter().map(|(at_s, _)| *at_s).collect::<Vec<_>>());
        Some(RateBand { at_s, median_per_s: median?, band_per_s: [low?, high?] })
    };
    (0..intervals.div_ceil(per_stretch)).filter_map(stretch).collect()
}

/// The middle of a stretch, from the beginning of what counts, and the rate in it.
fn mean_rate(stretch: &[crate::IntervalPoint], series: &Series) -> Option<(f64, f64)> {
    let (first, last) = (stretch.first()?, stretch.last()?);
    let seconds: f64 = stretch.iter().map(|interval| interval.length_s).sum();
    let ops: f64 = stretch.iter().map(|interval| interval.ops_per_s * interval.length_s).sum();
    let middle = (first.at_s + last.at_s + last.length_s) / 2.0 - series.counted.from_s;
    (seconds > 0.0).then(|| (middle, ops / seconds))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse;
    use crate::simulated::{Simulation, params, run_of};
    use model::{RunData, Value};

    /// A run of `oltp` whose repeats complete so many operations in each second.
    fn run(repeats: &[&[u64]]) -> RunData {
        let point = |(nth, counts): (usize, &&[u64])| {
            let simulation = Simulation::counts(counts).with(|point| {
                (point.id, point.trial.repeat) = (nth as u32 + 1, nth as u32 + 1);
                point.trial.seed += nth as u64;
            });
            simulation.point()
        };
        run_of(repeats.iter().enumerate().map(point).collect(), Vec::new())
    }

    fn overlays(runs: &[RunData]) -> Vec<ArmOverlay> {
        let analyses: Vec<_> = runs.iter().map(analyse).collect();
        let all = runs.iter().zip(&analyses).map(|(data, analysis)| ComparedRun { name: "run", data, analysis });
        overlay_runs(&all.collect::<Vec<_>>())
    }

    #[test]
    fn each_arm_has_the_median_of_its_repeats_and_a_band_around_it() {
        let base = run(&[&[1_000; 10], &[1_100; 10], &[1_200; 10]]);
        let new = run(&[&[500; 10]]);
        let [place] = &overlays(&[base, new])[..] else { panic!("one place") };
        let [of_base, of_new] = &place.arms[..] else { panic!("two arms") };
        assert_eq!((of_base.arm, of_base.repeats, of_base.rates.len()), (0, 3, 10));
        let first = of_base.rates[0];
        assert_eq!((first.at_s, first.median_per_s), (0.5, 1_100.0));
        let [low, high] = first.band_per_s;
        assert!((low - 1_020.0).abs() < 1e-6 && (high - 1_180.0).abs() < 1e-6, "{first:?}");
        assert_eq!((of_new.arm, of_new.rates[9].median_per_s, of_new.response.len()), (1, 500.0, 5_000));
        assert_eq!(of_base.response.len(), 33_000);
    }

    #[test]
    fn a_third_arm_joins_the_place_of_the_base() {
        let all = overlays(&[run(&[&[1_000; 10]]), run(&[&[900; 10]]), run(&[&[800; 10]])]);
        let [place] = &all[..] else { panic!("one place") };
        assert_eq!(place.arms.iter().map(|arm| arm.arm).collect::<Vec<_>>(), [0, 1, 2]);
    }

    #[test]
    fn a_repeat_that_ended_early_is_missing_at_the_end() {
        let [place] = &overlays(&[run(&[&[1_000; 10], &[2_000; 8]]), run(&[&[1_000; 10]])])[..] else { panic!("one") };
        let rates = &place.arms[0].rates;
        assert_eq!((rates[7].median_per_s, rates[8].median_per_s), (1_500.0, 1_000.0));
    }

    #[test]
    fn other_work_is_not_laid_over_each_other() {
        let mut other = run(&[&[1_000; 10]]);
        other.points[0].trial.workload.params = params(&[("mode", Value::Word("other".into()))]);
        let mut base = run(&[&[1_000; 10]]);
        base.points[0].trial.workload.params = params(&[("mode", Value::Word("one".into()))]);
        let declared = |run: &mut RunData| run.points[0] = crate::simulated::declared(run.points[0].clone());
        [&mut base, &mut other].into_iter().for_each(declared);
        assert_eq!(overlays(&[base, other]).len(), 0);
    }
}
