//! Finds points whose repeats disagree: in their rate, or in how the rate moved over the run.
//!
//! In: the usable repeats of each point. Out: a warning for each point of which at least three were measured. The class "inconsistent" is
//! that of E. Barrett et al., "Virtual machine warmup blows hot and cold", OOPSLA 2017.
//! Limits: intervals within a run do not contain what differs from run to run, so repeats differ by more than these allow; only rates
//! that are 20 % apart and three times their intervals count. A repeat without an interval has no part in that. A rate that changes by
//! 10 to 20 % over a run is neither steady nor changed here. What is timed as a whole has no rate to compare.

use super::least_steady::step_place;
use super::level_shift::LevelShifts;
use super::slowdown::Slowdown;
use super::two_levels::LevelPair;
use super::unsteady::Unsteadiness;
use super::{DetailKind, Detects, Finding, FindingKind, Subject};
use crate::PointAnalysis;
use crate::judgement::{NextStep, Severity};
use crate::math::repeats::{REPEATS_MIN, half_width_share};
use crate::math::stats::mean;
use crate::math::units::Share;
use crate::points::sweep::{StepPlace, Sweep, SweepStep, sweeps};
use model::Plan;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use words::list::{join_and, listed};
use words::quantity::{number, percent, plural, range, rate};

/// Repeats of one point that disagree.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InconsistentRepeats {
    /// The place of the point in its sweep.
    pub place: StepPlace,
    /// The repeats in the order in which they were measured; at least three.
    pub repeats: Vec<RepeatSeen>,
    /// How far apart their rates are; `None` if their intervals may explain it.
    pub spread: Option<RateSpread>,
    /// Whether the rates of some moved over the run in another way than those of others.
    pub behaviours_differ: bool,
}

/// One of several repeats.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RepeatSeen {
    /// The number of its point.
    pub point: u32,
    pub ops_per_s: f64,
    /// How its rate moved over the run; `None` if it was too short to see, or if it changed too little to call it a change and too much
    /// to call it steady.
    pub behaviour: Option<RateBehaviour>,
}

/// How a rate moved over a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RateBehaviour {
    /// It stayed what it was.
    Steady,
    /// It fell and is steady since.
    Slowdown,
    /// It fell or rose over all of the run.
    Drift,
    /// It changed to another level.
    LevelShift,
    /// It jumps between two levels.
    TwoLevels,
}

/// How far apart the rates of repeats are.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RateSpread {
    pub least_per_s: f64,
    pub most_per_s: f64,
    /// Their difference as a share of the mean of all.
    pub share: Share,
    /// How many times that is of what the 95 % intervals of these two allow.
    pub times_interval: f64,
}

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

impl FindingKind for InconsistentRepeats {
    const SEVERITIES: &'static [Severity] = &[Severity::Warning];
    const DETECTS: Detects = Detects::Run(detect);

    fn is_like(&self, other: &Self) -> bool {
        let form = |one: &Self| (one.place, one.spread.is_some(), one.behaviours_differ, one.repeats.len());
        form(self) == form(other) && behaviours(&self.repeats) == behaviours(&other.repeats)
    }

    fn title(alike: &[&Self]) -> String {
        let first = alike[0];
        let repeats = plural(first.repeats.len() as u64, "repeat");
        let spreads: Vec<&RateSpread> = alike.iter().filter_map(|one| one.spread.as_ref()).collect();
        let parts = [
            (!spreads.is_empty()).then(|| spread_words(&spreads)),
            first.behaviours_differ.then(|| format!("run differently: {}", behaviours(&first.repeats))),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        format!("{}{repeats} {}", at_place(first), parts.join("; they "))
    }

    fn evidence(&self) -> String {
        const REPEATS_LISTED_MAX: usize = 8;
        let one = |repeat: &RepeatSeen| {
            let behaviour = repeat.behaviour.map_or(String::new(), |kind| format!(" ({})", behaviour_word(kind)));
            format!("point {} {}{behaviour}", repeat.point, rate(repeat.ops_per_s))
        };
        listed(&self.repeats, REPEATS_LISTED_MAX, one)
    }
}

/// `at 4 clients: `; empty if nothing varies in the sweep.
fn at_place(found: &InconsistentRepeats) -> String {
    step_place(&found.place).map_or(String::new(), |place| format!("at {place}: "))
}

// The ratio has no meaning if the repeats have no noise.
const TIMES_MAX: f64 = 100.0;

/// `differ by 33 % (700 to 1,000/s), 12.3 times what their intervals allow`
fn spread_words(spreads: &[&RateSpread]) -> String {
    let (least, most) = (range(spreads, |one| one.least_per_s, rate), range(spreads, |one| one.most_per_s, rate));
    let times = if spreads.iter().any(|one| one.times_interval > TIMES_MAX) {
        format!("more than {TIMES_MAX}")
    } else {
        range(spreads, |one| one.times_interval, number)
    };
    let share = range(spreads, |one| one.share.0, percent);
    format!("differ by {share} (from {least} to {most}), {times} times what their intervals allow")
}

/// `2 steady and 1 with two levels`, of those that can be judged.
fn behaviours(repeats: &[RepeatSeen]) -> String {
    let mut counts: BTreeMap<RateBehaviour, u64> = BTreeMap::new();
    repeats.iter().filter_map(|repeat| repeat.behaviour).for_each(|kind| *counts.entry(kind).or_default() += 1);
    join_and(&counts.iter().map(|(kind, count)| format!("{count} {}", behaviour_word(*kind))).collect::<Vec<_>>())
}

fn behaviour_word(behaviour: RateBehaviour) -> &'static str {
    match behaviour {
        RateBehaviour::Steady => "steady",
        RateBehaviour::Slowdown => "with a slowdown",
        RateBehaviour::Drift => "with a drift",
        RateBehaviour::LevelShift => "with a shift of the level",
        RateBehaviour::TwoLevels => "with two levels",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::Code;
    use crate::findings::least_steady::LeastSteady;
    use crate::math::repeats::MeanOfRepeats;
    use crate::points::step_steadiness::StepVariation;
    use crate::simulated::{Random, Simulation, figures_of, run_of};
    use crate::{Analysis, ScalingAxis, analyse};
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

    fn at(clients: u32) -> StepPlace {
        StepPlace { clients: Some(clients), depth: None }
    }

    fn repeats(kinds: [Option<RateBehaviour>; 3], spread: Option<RateSpread>) -> InconsistentRepeats {
        let seen = |(nth, behaviour): (u32, Option<RateBehaviour>)| RepeatSeen {
            point: nth,
            ops_per_s: 400.0 + 100.0 * f64::from(nth),
            behaviour,
        };
        let behaviours_differ = kinds.iter().any(|kind| *kind != kinds[0]);
        InconsistentRepeats { place: at(4), repeats: (1..).zip(kinds).map(seen).collect(), spread, behaviours_differ }
    }

    #[test]
    fn repeats_that_disagree_are_told_by_rate_and_by_kind() {
        let spread = RateSpread { least_per_s: 500.0, most_per_s: 700.0, share: Share(0.333), times_interval: 12.34 };
        let rates = repeats([None; 3], Some(spread));
        let differ = "3 repeats differ by 33 % (from 500/s to 700/s), 12.3 times what their intervals allow";
        assert_eq!(InconsistentRepeats::title(&[&rates]), format!("at 4 clients: {differ}"));
        assert_eq!(rates.evidence(), "point 1 500/s, point 2 600/s, point 3 700/s");
        let (steady, jumping) = (Some(RateBehaviour::Steady), Some(RateBehaviour::TwoLevels));
        let kinds = InconsistentRepeats { place: StepPlace::default(), ..repeats([steady, jumping, steady], None) };
        assert_eq!(InconsistentRepeats::title(&[&kinds]), "3 repeats run differently: 2 steady and 1 with two levels");
        let both = repeats([steady, jumping, steady], Some(RateSpread { times_interval: 1e6, ..spread }));
        let title = InconsistentRepeats::title(&[&both]);
        assert!(title.contains("more than 100 times what their intervals allow; they run differently: 2 "), "{title}");
    }

    #[test]
    fn the_least_steady_steps_are_named_with_the_most_that_others_vary() {
        let step = |clients: u32, mean: f64| StepVariation {
            place: at(clients),
            variation: MeanOfRepeats { mean, ci95: None, repeats: 1 },
        };
        let one = LeastSteady {
            axis: ScalingAxis::Clients,
            least_steady: vec![step(4, 0.2)],
            others: vec![step(1, 0.041), step(32, 0.02)],
        };
        let expected =
            "least steady at 4 clients: the rate varies by 20 % from interval to interval, elsewhere by 4.1 % at most";
        assert_eq!(LeastSteady::title(&[&one]), expected);
        let evidence =
            "4 clients 20 % (consistency 5.00), 1 client 4.1 % (consistency 24.4), 32 clients 2.0 % (consistency 50.0)";
        assert_eq!(one.evidence(), evidence);
        let two = LeastSteady { least_steady: vec![step(4, 0.2), step(8, 0.15)], ..one };
        let title = LeastSteady::title(&[&two]);
        assert!(
            title.starts_with("least steady at 4 clients and 8 clients: the rate varies by 15 to 20 % "),
            "{title}"
        );
    }
}
