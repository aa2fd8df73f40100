//! Comparisons and points that are looked at again and again: how often equal arms are called different, how soon differences are decided, and how
//! often the interval that ends a point has its mean.
//!
//! In: simulated repeats in pairs of random order, and simulated intervals. Out: shares. Limits: the noise is that of [`COURSES`]; pairs of real
//! machines are in the journal.

use crate::simulated::Random;
use model::pairing::{Pairing, RepeatValue};
use model::sure::{Boundary, Decision, ERROR, IntervalsRule, LookKind, MeanRule, PairRule, Precision, SurePlan};

const RUNS: usize = 2_000;
/// The most pairs of a comparison.
const PAIRS_MAX: usize = 20;
/// The deviation of one repeat, as a share.
const NOISE: f64 = 0.02;

/// How the repeats of a run vary.
struct Course {
    name: &'static str,
    /// How much of its last value the noise keeps.
    memory: f64,
    /// By how much the rate changes over the run, as a share.
    drift: f64,
    /// The share of repeats that are a tenth slower.
    slow: f64,
}

const COURSES: [Course; 7] = [
    Course { name: "white noise", memory: 0.0, drift: 0.0, slow: 0.0 },
    Course { name: "AR(1) of 0.3", memory: 0.3, drift: 0.0, slow: 0.0 },
    Course { name: "AR(1) of 0.5", memory: 0.5, drift: 0.0, slow: 0.0 },
    Course { name: "AR(1) of 0.8", memory: 0.8, drift: 0.0, slow: 0.0 },
    Course { name: "a drift of 6 %", memory: 0.0, drift: 0.06, slow: 0.0 },
    Course { name: "a drift of 30 %", memory: 0.0, drift: 0.30, slow: 0.0 },
    Course { name: "one in ten a tenth slower", memory: 0.0, drift: 0.0, slow: 0.1 },
];

/// The logarithms of the ratios of [`PAIRS_MAX`] pairs, whose second arm is `effect` times as fast. Chance has the order of each pair but the first.
fn pairs(random: &mut Random, course: &Course, effect: f64) -> Vec<f64> {
    let own = NOISE * (1.0 - course.memory.powi(2)).sqrt();
    let noise = random.autoregressive(2 * PAIRS_MAX, course.memory);
    let mut arms: [Vec<RepeatValue>; 2] = Default::default();
    let mut is_reversed = false;
    for (place, noise) in noise.into_iter().enumerate() {
        if place % 2 == 0 {
            is_reversed = place > 0 && random.uniform() < 0.5;
        }
        let arm = (place % 2 == 1) != is_reversed;
        let slow = if random.uniform() < course.slow { 0.9 } else { 1.0 };
        let drift = course.drift * place as f64 / (2 * PAIRS_MAX) as f64;
        let value = (own * noise + drift).exp() * slow * if arm { effect } else { 1.0 };
        arms[usize::from(arm)].push(RepeatValue { place: place as u32, value });
    }
    let pairing = Pairing::adjacent(&arms[0], &arms[1]);
    assert!(pairing.is_interleaved && pairing.pairs.len() == PAIRS_MAX);
    pairing.pairs.iter().filter_map(|pair| pair.log_ratio()).collect()
}

/// What comparisons come to that are looked at after each pair.
#[derive(Default)]
struct Outcome {
    higher: usize,
    lower: usize,
    alike: usize,
    pairs: usize,
}

impl Outcome {
    fn share(&self, count: usize) -> f64 {
        count as f64 / RUNS as f64
    }

    fn mean_pairs(&self) -> f64 {
        self.pairs as f64 / RUNS as f64
    }
}

fn outcome(seed: u64, course: &Course, effect: f64, rule: &PairRule) -> Outcome {
    let mut random = Random::new(seed);
    let mut all = Outcome::default();
    for _ in 0..RUNS {
        let logs = pairs(&mut random, course, effect);
        let looks = (1..=PAIRS_MAX).map(|n| (n, rule.decision_of(&logs[..n])));
        let first = looks.into_iter().find(|(_, decision)| *decision != Decision::Open);
        let (pairs, decision) = first.unwrap_or((PAIRS_MAX, Decision::Open));
        all.pairs += pairs;
        match decision {
            Decision::Higher => all.higher += 1,
            Decision::Lower => all.lower += 1,
            Decision::Alike => all.alike += 1,
            Decision::Open => {}
        }
    }
    all
}

fn rule() -> PairRule {
    PairRule::new(Boundary::planned(PAIRS_MAX as u32, ERROR), Precision::USUAL.share())
}

/// The rule that calls a difference or nothing, so that sameness ends no run before it is called different.
fn rule_of_differences() -> PairRule {
    PairRule::new(Boundary::planned(PAIRS_MAX as u32, ERROR), 0.0)
}

/// Intervals of a rate of 1,000 with noise of 10 %.
fn rates(random: &mut Random, course: &Course, n: usize) -> Vec<f64> {
    let own = 0.1 * (1.0 - course.memory.powi(2)).sqrt();
    let noise = random.autoregressive(n, course.memory);
    let rate = |(place, noise): (usize, f64)| {
        let drift = course.drift * (place as f64 / n as f64 - 0.5);
        let slow = if random.uniform() < course.slow { 0.5 } else { 1.0 };
        1_000.0 * (1.0 + own * noise + drift) * slow / (1.0 - course.slow / 2.0)
    };
    noise.into_iter().enumerate().map(rate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::stats::estimate_rate;

    #[test]
    fn equal_arms_are_called_different_in_5_of_100_comparisons_however_often_one_looks() {
        let rule = rule_of_differences();
        for (course, seed) in COURSES.iter().zip(1..) {
            let found = outcome(seed, course, 1.0, &rule);
            let wrong = found.share(found.higher + found.lower);
            println!("{}: {wrong}", course.name);
            assert!(wrong <= 0.05, "{}: {wrong}", course.name);
        }
    }

    #[test]
    fn large_differences_are_decided_after_some_pairs_and_small_ones_after_more() {
        let rule = rule();
        // Effect, the least share that is decided rightly, and the most pairs on average.
        for (effect, least, most) in
            [(1.20, 0.999, 5.5), (1.05, 0.99, 9.5), (1.02, 0.70, 17.0), (1.0 / 1.2, 0.999, 5.5)]
        {
            let found = outcome(11, &COURSES[0], effect, &rule);
            let right = if effect > 1.0 { found.higher } else { found.lower };
            let (right, pairs) = (found.share(right), found.mean_pairs());
            println!("{effect}: right {right}, alike {}, pairs {pairs}", found.share(found.alike));
            assert!(right >= least && pairs <= most, "{effect}: {right} after {pairs} pairs");
        }
        let none = outcome(12, &COURSES[0], 1.0, &rule);
        println!(
            "none: alike {}, wrong {}, pairs {}",
            none.share(none.alike),
            none.share(none.higher + none.lower),
            none.mean_pairs()
        );
        assert!(none.share(none.alike) > 0.4 && none.share(none.higher + none.lower) < 0.05);
    }

    #[test]
    fn differences_that_matter_are_seldom_called_alike() {
        let rule = rule();
        for (course, seed) in COURSES.iter().zip(21..) {
            let found = outcome(seed, course, 1.02, &rule);
            let wrong = found.share(found.alike);
            println!("{}: {wrong}", course.name);
            assert!(wrong <= 0.05, "{}: {wrong}", course.name);
        }
    }

    /// The share of points whose stated interval lacks their mean, if their repeats vary by `noise` and lie `gap` points apart in `course`. Planned
    /// looks come after each of them until the mean is known, and the last one after all.
    fn misses(seed: u64, course: &Course, (noise, gap): (f64, usize), repeats_max: usize, look: LookKind) -> f64 {
        const POINTS: usize = 500;
        let sure = SurePlan { difference: Precision::USUAL, pairs_max: PAIRS_MAX as u32, comparisons: 0, budget: None };
        let (rule, mut random) = (MeanRule::new(sure, look), Random::new(seed));
        let own = noise * (1.0 - course.memory.powi(2)).sqrt();
        let mut missed = 0;
        for _ in 0..POINTS {
            let all = random.autoregressive(gap * repeats_max, course.memory);
            let repeat = |(place, noise): (usize, &f64)| RepeatValue { place: place as u32, value: 1.0 + own * noise };
            let all: Vec<RepeatValue> = all.iter().enumerate().step_by(gap).map(repeat).collect();
            let end = (4..repeats_max).find(|n| look == LookKind::Planned && rule.is_known(&all[..*n]));
            let seen = &all[..end.unwrap_or(repeats_max)];
            let mean = seen.iter().map(|one| one.value).sum::<f64>() / seen.len() as f64;
            let half_width = rule.half_width(seen).expect("four repeats have an interval") * mean;
            missed += usize::from((mean - 1.0).abs() > half_width);
        }
        missed as f64 / POINTS as f64
    }

    #[test]
    fn the_mean_of_repeats_that_were_looked_at_again_and_again_has_its_interval() {
        let courses = [&COURSES[0], &COURSES[2]];
        for (course, noise) in courses.into_iter().flat_map(|course| [0.01, 0.02, 0.04].map(|noise| (course, noise))) {
            for gap in [1, 3] {
                let missed = misses(41, course, (noise, gap), PAIRS_MAX, LookKind::Planned);
                println!("{}, {noise}, {gap} points apart: {missed}", course.name);
                assert!(missed <= 0.05, "{}, {noise}, {gap} points apart: {missed}", course.name);
            }
        }
    }

    #[test]
    fn the_mean_of_repeats_that_time_ended_has_its_interval() {
        for (course, repeats) in [(&COURSES[0], 4), (&COURSES[0], 9), (&COURSES[2], 4), (&COURSES[2], 9)] {
            let missed = misses(43, course, (0.1, 1), repeats, LookKind::Last);
            println!("{}, {repeats} repeats: {missed}", course.name);
            assert!(missed <= 0.05, "{}, {repeats} repeats: {missed}", course.name);
        }
    }

    #[test]
    fn the_interval_of_a_point_that_ended_when_it_was_known_has_its_mean() {
        const RUNS: usize = 500;
        for (course, seed) in COURSES.iter().zip(31..) {
            let mut random = Random::new(seed);
            let (mut ended, mut right, mut intervals) = (0, 0, 0);
            for _ in 0..RUNS {
                let all = rates(&mut random, course, 400);
                let mut rule = IntervalsRule::new(Precision::USUAL, model::Nanos::from_secs(1));
                let end = (1..=all.len()).find(|n| rule.is_enough(&all[..*n]));
                let own = &all[..end.unwrap_or(all.len())];
                let stated = estimate_rate(own, 0.95).expect("there are enough intervals");
                // A rate that drifts has the mean of the time in which it was measured.
                let drift = course.drift * ((own.len() as f64 - 1.0) / 800.0 - 0.5);
                ended += usize::from(end.is_some());
                intervals += own.len();
                right += usize::from((stated.mean - 1_000.0 * (1.0 + drift)).abs() <= stated.half_width);
            }
            let share = right as f64 / RUNS as f64;
            println!("{}: {ended} ended after {} intervals, {share}", course.name, intervals / RUNS);
            assert!(share >= 0.94, "{}: {share}", course.name);
        }
    }
}
