//! Finds points whose repeats disagree: in their rate, or in how the rate moved over the run.
//!
//! In: the usable repeats of each point. Out: a warning for each point of which at least three were measured. The class "inconsistent" is
//! that of E. Barrett et al., "Virtual machine warmup blows hot and cold", OOPSLA 2017.
//! Limits: intervals within a run do not contain what differs from run to run, so repeats differ by more than these allow; only rates
//! that are 20 % apart and three times their intervals count. A repeat without an interval has no part in that. A rate that changes by
//! 10 to 20 % over a run is neither steady nor changed here. What is timed as a whole has no rate to compare.

use super::detector::RunDetector;
use crate::finding::rates::{LevelPair, LevelShifts, Unsteadiness};
use crate::finding::steadiness::{InconsistentRepeats, RateBehaviour, RateSpread, RepeatSeen, Slowdown};
use crate::finding::units::Share;
use crate::finding::{Code, NextStep, Subject};
use crate::math::repeats::{REPEATS_MIN, half_width_share};
use crate::math::stats::mean;
use crate::points::sweep::{Sweep, SweepStep, sweeps};
use crate::{DetailKind, Finding, PointAnalysis, Severity};
use model::Plan;
use std::collections::BTreeSet;

/// The entry in the list of detectors of runs.
pub const DETECTOR: RunDetector = RunDetector { code: Code::InconsistentRepeats, detect };

// Repeats on a shared machine differ by 10 %.
const SPREAD_MIN: f64 = 0.20;
// An interval is of what one run showed. Repeats differ by more than that on every machine.
const TIMES_INTERVAL_MIN: f64 = 3.0;
// Fewer intervals do not show whether a rate shifts.
const INTERVALS_MIN: usize = 20;
/// A rate that changes by less is not clearly another kind of run.
const CHANGE_MIN: f64 = 0.20;

fn detect(points: &[PointAnalysis], _: &Plan) -> Vec<Finding> {
    let sweeps = sweeps(points);
    let steps = sweeps.iter().flat_map(|sweep| sweep.steps.iter().map(move |step| (sweep, step)));
    steps.filter_map(|(sweep, step)| disagreement(sweep, step)).collect()
}

fn disagreement(sweep: &Sweep, step: &SweepStep) -> Option<Finding> {
    let with_rate: Vec<&PointAnalysis> =
        step.points.iter().copied().filter(|point| point.duration_s().is_none()).collect();
    if with_rate.len() < REPEATS_MIN {
        return None;
    }
    let spread = rate_spread(&with_rate);
    let repeats: Vec<RepeatSeen> = with_rate.iter().filter_map(|point| seen(point)).collect();
    let behaviours_differ = do_behaviours_differ(&repeats);
    let detail = InconsistentRepeats { place: sweep.place(step), repeats, spread, behaviours_differ };
    let finding = Finding::new(Severity::Warning, detail).about(Subject::Sweep(sweep.group));
    (spread.is_some() || behaviours_differ).then(|| finding.next(NextStep::FindWhatDiffers))
}

fn seen(point: &PointAnalysis) -> Option<RepeatSeen> {
    let ops_per_s = point.summary.as_ref()?.ops_per_s;
    Some(RepeatSeen { point: point.id, ops_per_s, behaviour: behaviour(point) })
}

/// How far the fastest of `repeats` is from the slowest, if their intervals do not explain it.
fn rate_spread(repeats: &[&PointAnalysis]) -> Option<RateSpread> {
    let with_interval = repeats.iter().filter_map(|point| rate_with_half_width(point));
    let rates: Vec<(f64, f64)> = with_interval.collect();
    let least = *rates.iter().min_by(|a, b| a.0.total_cmp(&b.0))?;
    let most = *rates.iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
    let usual = mean(&rates.iter().map(|(rate, _)| *rate).collect::<Vec<_>>());
    let (apart, allowed) = (most.0 - least.0, most.1.hypot(least.1));
    let is_far = rates.len() >= REPEATS_MIN && apart > SPREAD_MIN * usual && apart > TIMES_INTERVAL_MIN * allowed;
    is_far.then(|| RateSpread {
        least_per_s: least.0,
        most_per_s: most.0,
        share: Share(apart / usual),
        // Equal intervals have no width: the ratio stays finite.
        times_interval: apart / allowed.max(apart / 1e6),
    })
}

/// Its rate, and half the width of the 95 % interval of that.
fn rate_with_half_width(point: &PointAnalysis) -> Option<(f64, f64)> {
    let summary = point.summary.as_ref()?;
    let share = half_width_share((summary.ops_per_s, summary.ops_per_s_ci95))?;
    Some((summary.ops_per_s, share * summary.ops_per_s))
}

/// Whether the rates of some clearly moved in another way than those of others.
fn do_behaviours_differ(repeats: &[RepeatSeen]) -> bool {
    let judged: Vec<RateBehaviour> = repeats.iter().filter_map(|repeat| repeat.behaviour).collect();
    let kinds: BTreeSet<RateBehaviour> = judged.iter().copied().collect();
    judged.len() >= REPEATS_MIN && kinds.len() > 1
}

/// How the rate of `point` moved over the run, as its findings have it.
fn behaviour(point: &PointAnalysis) -> Option<RateBehaviour> {
    let intervals = point.series.as_ref()?.counted_intervals().len();
    // The rule of the rounds has one answer for all: a run until steady counts its steady part only.
    if intervals < INTERVALS_MIN || point.rounds.is_some() {
        return None;
    }
    match changes(point).max_by(|a, b| a.1.total_cmp(&b.1)) {
        None => Some(RateBehaviour::Steady),
        Some((kind, share)) => Some(kind).filter(|_| share >= CHANGE_MIN),
    }
}

/// The changes of the rate that were found, each with its share of the higher rate.
fn changes(point: &PointAnalysis) -> impl Iterator<Item = (RateBehaviour, f64)> {
    point.findings.iter().filter_map(change)
}

fn change(finding: &Finding) -> Option<(RateBehaviour, f64)> {
    let detail = &finding.detail;
    let of_slowdown = || Some((RateBehaviour::Slowdown, Slowdown::in_detail(detail)?.fall_share.0));
    let of_shift = || Some((RateBehaviour::LevelShift, shift_share(LevelShifts::in_detail(detail)?)));
    let of_pair = || {
        let pair = LevelPair::in_detail(detail)?;
        Some((RateBehaviour::TwoLevels, share_between(pair.low_per_s, pair.high_per_s)))
    };
    let of_drift = || Some((RateBehaviour::Drift, drift_share(Unsteadiness::in_detail(detail)?)?));
    of_slowdown().or_else(of_shift).or_else(of_pair).or_else(of_drift)
}

fn shift_share(shifts: &LevelShifts) -> f64 {
    let rates = || shifts.levels.iter().map(|level| level.ops_per_s);
    share_between(rates().fold(f64::INFINITY, f64::min), rates().fold(0.0, f64::max))
}

/// By which share the rate drifted; `None` if it only varied.
fn drift_share(unsteadiness: &Unsteadiness) -> Option<f64> {
    match unsteadiness {
        Unsteadiness::Halves(halves) => Some(share_between(halves.first_per_s, halves.second_per_s)),
        Unsteadiness::Trend(line) => Some(share_between(line.start_per_s, line.end_per_s)),
        Unsteadiness::Variation(_) => None,
    }
}

/// By which share of the higher rate two rates differ.
fn share_between(one: f64, other: f64) -> f64 {
    (one - other).abs() / one.max(other).max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::{Random, Simulation, figures_of, run_of};
    use crate::{Analysis, analyse};
    use model::PointData;

    /// One repeat with these counts.
    fn repeat(nth: u32, counts: &[u64]) -> PointData {
        let simulation = Simulation::counts(counts).with(|point| {
            (point.trial.repeat, point.trial.seed) = (nth, u64::from(nth));
        });
        simulation.point()
    }

    /// Sixty seconds about `rate`, with noise of 3 %.
    fn steady(seed: u64, rate: f64) -> Vec<u64> {
        let mut random = Random::new(seed);
        (0..60).map(|_| (rate * (1.0 + 0.03 * random.normal())) as u64).collect()
    }

    fn analysed(all: &[Vec<u64>]) -> Analysis {
        analyse(&run_of((1..).zip(all).map(|(nth, counts)| repeat(nth, counts)).collect(), Vec::new()))
    }

    fn found(all: &[Vec<u64>]) -> Option<InconsistentRepeats> {
        figures_of(&analysed(all).findings).pop()
    }

    #[test]
    fn rates_that_are_far_apart_are_found_with_how_far() {
        let one = found(&[steady(1, 1_000.0), steady(2, 1_010.0), steady(3, 700.0)]).expect("one is slow");
        let spread = one.spread.expect("their rates differ");
        assert!((0.30..0.38).contains(&spread.share.0) && spread.times_interval > 10.0, "{spread:?}");
        assert!(!one.behaviours_differ && one.repeats.len() == 3, "{one:?}");
        assert!(one.repeats.iter().all(|repeat| repeat.behaviour == Some(RateBehaviour::Steady)), "{one:?}");
    }

    #[test]
    fn two_repeats_and_repeats_that_agree_show_nothing() {
        assert_eq!(found(&[steady(1, 1_000.0), steady(2, 500.0)]), None);
        assert_eq!(found(&[steady(1, 1_000.0), steady(2, 1_080.0), steady(3, 950.0)]), None);
    }

    #[test]
    fn a_rate_that_is_known_badly_is_no_disagreement() {
        let wide = |seed: u64, rate: f64| -> Vec<u64> {
            let noise = Random::new(seed).autoregressive(30, 0.8);
            noise.iter().map(|value| (rate * (1.0 + 0.3 * value)).max(1.0) as u64).collect()
        };
        let one = found(&[wide(1, 1_000.0), wide(2, 800.0), wide(3, 1_100.0)]);
        assert!(one.is_none_or(|one| one.spread.is_none()));
    }

    #[test]
    fn repeats_of_another_kind_are_found_though_their_rates_agree() {
        let jumping: Vec<u64> = (0..60).map(|at| if at / 5 % 2 == 0 { 700 + at % 7 } else { 1_300 + at % 7 }).collect();
        let shifted: Vec<u64> = (0..60).map(|at| if at < 30 { 1_200 + at % 7 } else { 800 + at % 7 }).collect();
        let one = found(&[steady(1, 1_000.0), jumping, shifted]).expect("they differ in kind");
        let kinds: Vec<Option<RateBehaviour>> = one.repeats.iter().map(|repeat| repeat.behaviour).collect();
        let expected = [RateBehaviour::Steady, RateBehaviour::TwoLevels, RateBehaviour::LevelShift].map(Some);
        assert!(kinds == expected && one.behaviours_differ && one.spread.is_none(), "{one:?}");
    }

    #[test]
    fn a_small_change_is_neither_steady_nor_another_kind() {
        let small: Vec<u64> = (0..60).map(|at| if at < 30 { 1_000 + at % 7 } else { 870 + at % 7 }).collect();
        assert_eq!(found(&[steady(1, 940.0), steady(2, 940.0), small]), None);
    }

    #[test]
    fn the_finding_names_the_sweep_and_changes_no_validity() {
        let analysis = analysed(&[steady(1, 1_000.0), steady(2, 1_000.0), steady(3, 600.0)]);
        let finding =
            analysis.findings.iter().find(|one| one.code() == Code::InconsistentRepeats).expect("they differ");
        assert_eq!((finding.severity, &finding.subject), (Severity::Warning, &Subject::Sweep(0)));
        assert!(analysis.points.iter().all(|point| point.validity == crate::Validity::Valid));
    }

    #[test]
    fn repeats_with_the_same_noise_disagree_in_one_percent_of_runs_at_most() {
        let noisy = |seed: u64| -> Vec<u64> {
            let noise = Random::new(seed).autoregressive(60, 0.5);
            // The values of such a process have 1.155 times the deviation of its innovations.
            noise.iter().map(|value| (1_000.0 * (1.0 + 0.05 / 1.155 * value)) as u64).collect()
        };
        let wrong = (0..200).filter(|run| found(&[0, 1, 2].map(|nth| noisy(3 * run + nth))).is_some()).count();
        assert!(wrong <= 2, "{wrong} of 200");
    }
}
