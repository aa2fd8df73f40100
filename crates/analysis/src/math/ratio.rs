//! Is one arm faster than the other, by how much, and how sure? The ratio new : base of repeats that were measured in pairs.
//!
//! In: one number per repeat and arm (a rate, a percentile, a cost per operation). Out: a [`RatioEstimate`] with its interval, the
//! smallest effect that the design could have shown, and a verdict; over a table false discoveries are held to 5 %.
//! Limits: a pair is one draw, so what repeats share (a machine, one data set) is in no interval. Pairs in the order A B B A take a
//! steady drift away. If neighbouring repeats depend on each other, neighbouring pairs do, too: a single ratio of equal arms is then
//! called a difference in up to 8 % of cases instead of 5 % (the tests below). Values that are not above 0 have no ratio and are left out.

pub use model::pairing::{Pairing, RepeatPair, RepeatValue};

use crate::math::stats::{mean, students_t, variance};
use model::sure::pairs::chance_of;
use model::sure::{Decision, PairJudgement};
use serde::Serialize;

/// With fewer pairs nothing is concluded, here and wherever repeats are compared.
pub const PAIRS_MIN: usize = model::sure::PAIRS_MIN as usize;
/// The share of false discoveries that a table may have.
pub const FALSE_DISCOVERIES_MAX: f64 = 0.05;
/// The smallest effect is the one that would be shown in this share of tries.
pub const POWER: f64 = 0.9;

/// Which way of a metric is the better one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Preference {
    /// More is better: operations per second.
    More,
    /// Less is better: a response time, a cost.
    Less,
}

/// What a ratio shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RatioVerdict {
    /// The new arm is better.
    Faster,
    /// The new arm is worse.
    Slower,
    /// There are enough pairs, and chance explains what they differ by.
    NoDifferenceShown,
    /// There are too few pairs, or what differs besides allows no conclusion.
    Indicative,
}

impl RatioVerdict {
    /// Whether it states a difference.
    pub fn is_difference(self) -> bool {
        matches!(self, RatioVerdict::Faster | RatioVerdict::Slower)
    }
}

/// The ratio new : base.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RatioEstimate {
    /// The geometric mean of the pairs' ratios.
    pub ratio: f64,
    /// Its 95 % confidence interval; `None` for a single pair.
    pub ci95: Option<[f64; 2]>,
    /// How many pairs it is of.
    pub n: usize,
    /// The smallest effect that this design would have shown in 9 of 10 tries, as a share: 0.03 is 3 %. `None` likewise.
    pub smallest_effect: Option<f64>,
    /// How often equal arms would differ at least so much; `None` for a single pair.
    #[serde(skip)]
    pub p_value: Option<f64>,
    pub verdict: RatioVerdict,
}

/// An interval that leaves open whether an arm is so many times faster or slower shows nothing: two pairs that differ much give such ones.
const FACTOR_TELLING_MAX: f64 = 1_000.0;

impl RatioEstimate {
    /// The ratio of `pairs`; `None` if no pair has two values above 0.
    ///
    /// The interval is Student's t on the logarithms of the pairs' ratios, exponentiated: mean +- t(n - 1, 97.5 %) s / sqrt(n). One
    /// number per repeat, because repeats are the level at which results vary most (T. Kalibera and R. Jones, "Rigorous benchmarking
    /// in reasonable time", ISMM 2013). The smallest effect is (t(97.5 %) + t(90 %)) s / sqrt(n).
    pub fn from_pairs(pairs: &[RepeatPair], better: Preference) -> Option<RatioEstimate> {
        let logs: Vec<f64> = pairs.iter().filter_map(RepeatPair::log_ratio).collect();
        let (middle, n) = (mean(&logs), logs.len());
        let single = RatioEstimate {
            ratio: middle.exp(),
            ci95: None,
            n,
            smallest_effect: None,
            p_value: None,
            verdict: RatioVerdict::Indicative,
        };
        match n {
            0 => None,
            1 => Some(single),
            _ => Some(single.with_spread(middle, (variance(&logs) / n as f64).sqrt(), better)),
        }
    }

    /// The same with what follows from the mean of the logarithms and its standard error.
    fn with_spread(self, middle: f64, error: f64, better: Preference) -> RatioEstimate {
        let freedom = (self.n - 1) as f64;
        let half = students_t(0.975, freedom) * error;
        let p_value = chance_of(middle, error, freedom);
        let verdict = judge(self.n, middle, p_value, better);
        let smallest = half + students_t(POWER, freedom) * error;
        RatioEstimate {
            ci95: Some([(middle - half).exp(), (middle + half).exp()]),
            smallest_effect: Some(smallest.exp_m1()),
            p_value: Some(p_value),
            verdict,
            ..self
        }
    }

    /// What was found of pairs that were looked at again and again. The smallest effect is the greatest difference that its interval holds.
    pub fn from_judgement(judged: &PairJudgement, better: Preference) -> RatioEstimate {
        let is_more = better == Preference::More;
        let verdict = match judged.decision {
            _ if judged.pairs < PAIRS_MIN => RatioVerdict::Indicative,
            Decision::Open | Decision::Alike => RatioVerdict::NoDifferenceShown,
            Decision::Higher if is_more => RatioVerdict::Faster,
            Decision::Lower if !is_more => RatioVerdict::Faster,
            Decision::Higher | Decision::Lower => RatioVerdict::Slower,
        };
        let (mean, half) = (judged.mean, judged.half_width);
        RatioEstimate {
            ratio: mean.exp(),
            ci95: half.is_finite().then(|| [(mean - half).exp(), (mean + half).exp()]),
            n: judged.pairs,
            smallest_effect: half.is_finite().then(|| (mean.abs() + half).exp_m1()),
            p_value: Some(judged.p_value),
            verdict,
        }
    }

    /// Its interval, as far as a reader learns something from it.
    pub fn telling_ci95(&self) -> Option<[f64; 2]> {
        self.ci95.filter(|[low, high]| self.verdict.is_difference() || high / low < FACTOR_TELLING_MAX.powi(2))
    }

    /// The smallest effect that would have shown, as far as a reader learns something from it.
    pub fn telling_effect(&self) -> Option<f64> {
        self.smallest_effect.filter(|one| self.verdict.is_difference() || *one < FACTOR_TELLING_MAX)
    }

    /// The same as far as it may be concluded if the arms differ in more than what is compared.
    pub fn as_indicative(self) -> RatioEstimate {
        RatioEstimate { verdict: RatioVerdict::Indicative, ..self }
    }
}

fn judge(n: usize, middle: f64, p_value: f64, better: Preference) -> RatioVerdict {
    if n < PAIRS_MIN {
        return RatioVerdict::Indicative;
    }
    match (p_value < 1.0 - 0.95, (middle > 0.0) == (better == Preference::More)) {
        (false, _) => RatioVerdict::NoDifferenceShown,
        (true, true) => RatioVerdict::Faster,
        (true, false) => RatioVerdict::Slower,
    }
}

/// Takes back the differences in `table` that chance explains, given how many ratios were looked at: at most 5 % of those that remain
/// are false. Ratios without a conclusion are not counted.
pub fn hold_false_discoveries(table: &mut [&mut RatioEstimate]) {
    let mut judged: Vec<&mut &mut RatioEstimate> =
        table.iter_mut().filter(|one| one.verdict != RatioVerdict::Indicative).collect();
    let p_values: Vec<f64> = judged.iter().map(|one| one.p_value.unwrap_or(1.0)).collect();
    for (one, is_discovery) in judged.iter_mut().zip(discoveries(&p_values, FALSE_DISCOVERIES_MAX)) {
        if !is_discovery {
            one.verdict = RatioVerdict::NoDifferenceShown;
        }
    }
}

/// Which of `p_values` are discoveries if at most a share `level` of those may be false (Y. Benjamini and Y. Hochberg, "Controlling the
/// false discovery rate", JRSS B 57(1), 1995). Assumes values that are independent, or that rise and fall together.
pub fn discoveries(p_values: &[f64], level: f64) -> Vec<bool> {
    let mut sorted = p_values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len() as f64;
    let within = (1usize..).zip(&sorted).filter(|(rank, p)| **p <= *rank as f64 / n * level);
    let limit = within.last().map_or(f64::NEG_INFINITY, |(_, p)| *p);
    p_values.iter().map(|p| *p <= limit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::Random;
    use RatioVerdict::{Faster, Indicative, NoDifferenceShown, Slower};

    fn pairs(values: &[(f64, f64)]) -> Vec<RepeatPair> {
        values.iter().map(|(base, new)| RepeatPair { base: *base, new: *new }).collect()
    }

    fn places(values: &[(u32, f64)]) -> Vec<RepeatValue> {
        values.iter().map(|(place, value)| RepeatValue { place: *place, value: *value }).collect()
    }

    #[test]
    fn an_interval_that_says_nothing_is_known_and_not_told() {
        let two = RatioEstimate::from_pairs(&pairs(&[(100.0, 1.0), (100.0, 81.0)]), Preference::More).unwrap();
        assert_eq!((two.telling_ci95(), two.telling_effect(), two.verdict), (None, None, Indicative));
        assert!(two.ci95.is_some_and(|[low, high]| low < 1e-12 && high > 1e9), "{two:?}");
        assert!((two.ratio - 0.09).abs() < 1e-9 && two.p_value.is_some(), "{two:?}");
        let close = RatioEstimate::from_pairs(&pairs(&[(100.0, 50.0), (100.0, 52.0)]), Preference::More).unwrap();
        assert!(close.telling_ci95().is_some_and(|[low, high]| low > 0.3 && high < 1.0), "{close:?}");
    }

    /// How repeats vary: AR(1) of that coefficient, and a straight drift of the rate over the whole run.
    #[derive(Clone, Copy)]
    struct Course {
        coefficient: f64,
        drift: f64,
    }

    const WHITE: Course = Course { coefficient: 0.0, drift: 0.0 };
    const DRIFTING: Course = Course { coefficient: 0.0, drift: 0.06 };
    const DEPENDENT: Course = Course { coefficient: 0.5, drift: 0.0 };

    /// The pairs of `n` repeats of each arm in the order A B B A, with 2 % noise; the new arm is `effect` times as fast.
    fn measure(random: &mut Random, n: usize, course: Course, effect: f64) -> Vec<RepeatPair> {
        let own = (1.0 - course.coefficient.powi(2)).sqrt();
        let noise = random.autoregressive(2 * n, course.coefficient);
        let rate = |place: usize| (0.02 * own * noise[place] + course.drift * place as f64 / (2 * n) as f64).exp();
        let arm = |is_new: bool| -> Vec<RepeatValue> {
            let mine = (0..2 * n).filter(|place| (place % 4 == 1 || place % 4 == 2) == is_new);
            let factor = if is_new { effect } else { 1.0 };
            mine.map(|place| RepeatValue { place: place as u32, value: 1000.0 * factor * rate(place) }).collect()
        };
        let pairing = Pairing::adjacent(&arm(false), &arm(true));
        assert!(pairing.is_interleaved && pairing.pairs.len() == n, "{pairing:?}");
        pairing.pairs
    }

    fn estimate(random: &mut Random, n: usize, course: Course, effect: f64) -> RatioEstimate {
        RatioEstimate::from_pairs(&measure(random, n, course, effect), Preference::More).expect("all rates are above 0")
    }

    /// The share of 4000 comparisons that ends with `verdict`.
    fn share(n: usize, course: Course, effect: f64, verdicts: &[RatioVerdict]) -> f64 {
        let mut random = Random::new(n as u64);
        let hits = (0..4_000).filter(|_| verdicts.contains(&estimate(&mut random, n, course, effect).verdict));
        hits.count() as f64 / 4_000.0
    }

    #[test]
    fn the_interval_is_that_of_the_logarithms() {
        // Logarithms 0.1, 0.2, 0.3, 0.4: mean 0.25, s 0.1291, t(3, 97.5 %) 3.1824, t(3, 90 %) 1.6377.
        let logs = [0.1f64, 0.2, 0.3, 0.4].map(|log| (100.0, 100.0 * log.exp()));
        let found = RatioEstimate::from_pairs(&pairs(&logs), Preference::More).unwrap();
        let near = |value: f64, expected: f64| assert!((value - expected).abs() < 1e-4, "{value} {expected}");
        near(found.ratio, 0.25f64.exp());
        near(found.ci95.unwrap()[0], (0.25f64 - 3.18245 * 0.0645497).exp());
        near(found.ci95.unwrap()[1], (0.25f64 + 3.18245 * 0.0645497).exp());
        near(found.smallest_effect.unwrap(), ((3.18245f64 + 1.63774) * 0.0645497).exp() - 1.0);
        // Student's t of 3.873 with 3 degrees of freedom.
        near(found.p_value.unwrap(), 0.03047);
        assert_eq!((found.n, found.verdict), (4, Faster));
    }

    #[test]
    fn less_is_better_for_times_and_costs() {
        let twice = pairs(&[(1.0, 2.0), (1.0, 2.1), (1.0, 2.0), (1.0, 1.9)]);
        let verdict = |better| RatioEstimate::from_pairs(&twice, better).unwrap().verdict;
        assert_eq!([verdict(Preference::More), verdict(Preference::Less)], [Faster, Slower]);
    }

    #[test]
    fn three_pairs_are_indicative_and_one_has_no_interval() {
        let three = RatioEstimate::from_pairs(&pairs(&[(1.0, 2.0); 3]), Preference::More).unwrap();
        assert_eq!((three.verdict, three.ci95.is_some()), (Indicative, true));
        let one = RatioEstimate::from_pairs(&pairs(&[(1.0, 2.0)]), Preference::More).unwrap();
        assert_eq!((one.ratio, one.ci95, one.smallest_effect, one.verdict), (2.0, None, None, Indicative));
        assert_eq!(RatioEstimate::from_pairs(&pairs(&[(0.0, 2.0), (1.0, 0.0)]), Preference::More), None);
        assert_eq!(RatioEstimate::from_pairs(&[], Preference::More), None);
    }

    #[test]
    fn equal_pairs_show_no_difference_and_a_constant_one_is_sure() {
        let of = |new| RatioEstimate::from_pairs(&pairs(&[(2.0, new); 5]), Preference::More).unwrap();
        assert_eq!((of(2.0).verdict, of(2.0).p_value), (NoDifferenceShown, Some(1.0)));
        assert_eq!((of(1.0).verdict, of(1.0).p_value), (Slower, Some(0.0)));
    }

    #[test]
    fn neighbours_are_pairs_and_a_repeat_that_lost_its_partner_is_left_out() {
        let abba = Pairing::adjacent(&places(&[(1, 1.0), (4, 4.0)]), &places(&[(2, 2.0), (3, 3.0)]));
        assert_eq!(abba, Pairing { pairs: pairs(&[(1.0, 2.0), (4.0, 3.0)]), is_interleaved: true });
        let lost = Pairing::adjacent(&places(&[(4, 4.0), (5, 5.0)]), &places(&[(2, 2.0), (3, 3.0), (6, 6.0)]));
        assert_eq!(lost, Pairing { pairs: pairs(&[(4.0, 3.0), (5.0, 6.0)]), is_interleaved: true });
        let blocks = Pairing::adjacent(&places(&[(2, 2.0), (1, 1.0)]), &places(&[(3, 3.0), (4, 4.0), (5, 5.0)]));
        assert_eq!(blocks, Pairing { pairs: pairs(&[(1.0, 3.0), (2.0, 4.0)]), is_interleaved: false });
    }

    #[test]
    fn repeats_of_two_runs_are_paired_by_their_numbers() {
        let found =
            Pairing::by_number(&places(&[(3, 3.0), (1, 1.0), (2, 2.0)]), &places(&[(2, 20.0), (3, 30.0), (4, 40.0)]));
        assert_eq!(found, Pairing { pairs: pairs(&[(2.0, 20.0), (3.0, 30.0)]), is_interleaved: false });
        let twice = Pairing::by_number(&places(&[(1, 1.0), (1, 2.0)]), &places(&[(1, 10.0), (2, 20.0)]));
        assert_eq!(twice.pairs, pairs(&[(1.0, 10.0), (2.0, 20.0)]));
    }

    #[test]
    fn equal_arms_differ_in_5_of_100_comparisons_whatever_drifts() {
        for n in [4, 6, 10] {
            for course in [WHITE, DRIFTING] {
                let wrong = share(n, course, 1.0, &[Faster, Slower]);
                assert!((0.03..=0.058).contains(&wrong), "{n} pairs, drift {}: {wrong}", course.drift);
            }
            let wrong = share(n, DEPENDENT, 1.0, &[Faster, Slower]);
            assert!((0.04..=0.085).contains(&wrong), "{n} pairs that depend on each other: {wrong}");
        }
        assert_eq!(share(3, WHITE, 1.0, &[Faster, Slower]), 0.0);
    }

    #[test]
    fn an_effect_of_5_percent_is_found_with_6_pairs_and_2_percent_noise() {
        for course in [WHITE, DRIFTING, DEPENDENT] {
            for (effect, right) in [(1.05, Faster), (1.0 / 1.05, Slower)] {
                let found = share(6, course, effect, &[right]);
                assert!(found >= 0.9, "coefficient {}, drift {}: {found}", course.coefficient, course.drift);
            }
        }
    }

    #[test]
    fn the_smallest_effect_is_found_in_9_of_10_tries() {
        // The standard deviation of a pair's logarithm is sqrt(2) * 2 %.
        let error = 0.02 * 2f64.sqrt() / 6f64.sqrt();
        let effect = ((students_t(0.975, 5.0) + students_t(0.9, 5.0)) * error).exp();
        let found = share(6, WHITE, effect, &[Faster]);
        assert!((0.86..0.94).contains(&found), "{found}");
        let mut random = Random::new(1);
        let stated: Vec<f64> = (0..500).filter_map(|_| estimate(&mut random, 6, WHITE, 1.0).smallest_effect).collect();
        assert!((mean(&stated) / (effect - 1.0) - 1.0).abs() < 0.1, "{} {effect}", mean(&stated));
    }

    #[test]
    fn benjamini_and_hochberg_keep_what_their_example_keeps() {
        // The 15 values of section 4.1 of their paper; it rejects the first four.
        let p_values = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528,
            0.7590, 1.0,
        ];
        let kept = discoveries(&p_values, 0.05).iter().filter(|kept| **kept).count();
        assert_eq!(kept, 4);
        assert_eq!(discoveries(&[], 0.05), Vec::<bool>::new());
    }

    /// A table of 40 ratios, the first `real` of which differ by 8 %.
    fn table(random: &mut Random, real: usize) -> Vec<RatioEstimate> {
        let effect = |row: usize| if row < real { 1.08 } else { 1.0 };
        let mut table: Vec<RatioEstimate> = (0..40).map(|row| estimate(random, 6, WHITE, effect(row))).collect();
        hold_false_discoveries(&mut table.iter_mut().collect::<Vec<_>>());
        table
    }

    #[test]
    fn a_table_of_40_equal_rows_shows_a_difference_in_5_of_100_cases() {
        let mut random = Random::new(7);
        let wrong = (0..400).filter(|_| table(&mut random, 0).iter().any(|row| row.verdict.is_difference()));
        let wrong = wrong.count();
        assert!(wrong <= 28, "{wrong} of 400 tables");
    }

    #[test]
    fn of_the_differences_that_a_table_shows_5_percent_are_false() {
        let mut random = Random::new(8);
        let (mut right, mut shares) = (0, Vec::new());
        for _ in 0..200 {
            let table = table(&mut random, 10);
            let count = |rows: &[RatioEstimate]| rows.iter().filter(|row| row.verdict.is_difference()).count();
            let (real, wrong) = (count(&table[..10]), count(&table[10..]));
            right += real;
            shares.push(wrong as f64 / (real + wrong).max(1) as f64);
        }
        assert!(mean(&shares) <= 0.05, "{}", mean(&shares));
        assert!(right >= 1_800, "{right} of 2000 real differences");
    }

    /// The throughput and three percentiles of two equal arms. Half of the variance of each metric is common to all, as a slow repeat is
    /// slow by all of them.
    fn compare_equal_arms(random: &mut Random, course: Course) -> Vec<RatioEstimate> {
        let common = measure(random, 6, course, 1.0);
        let mixed = |(one, other): (&RepeatPair, RepeatPair)| RepeatPair {
            base: (one.base * other.base).sqrt(),
            new: (one.new * other.new).sqrt(),
        };
        let metric = |_| {
            let pairs: Vec<RepeatPair> = common.iter().zip(measure(random, 6, course, 1.0)).map(mixed).collect();
            RatioEstimate::from_pairs(&pairs, Preference::More).expect("all are above 0")
        };
        let mut metrics: Vec<RatioEstimate> = (0..4).map(metric).collect();
        hold_false_discoveries(&mut metrics.iter_mut().collect::<Vec<_>>());
        metrics
    }

    #[test]
    fn at_most_5_percent_of_200_comparisons_call_the_throughput_of_equal_arms_different() {
        let dependent_and_drifting = Course { coefficient: 0.7, drift: 0.03 };
        for course in [WHITE, DRIFTING, DEPENDENT, dependent_and_drifting] {
            let mut random = Random::new(9);
            let wrong = (0..200).filter(|_| compare_equal_arms(&mut random, course)[0].verdict.is_difference()).count();
            assert!(wrong <= 10, "coefficient {}, drift {}: {wrong} of 200", course.coefficient, course.drift);
        }
    }
}
