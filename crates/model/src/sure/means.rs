//! How precisely the mean of the repeats of a point is known that is not compared with another, if one looks at it after each repeat.
//!
//! In: the rates of the repeats of a point, with their places in the run. Out: half the width of the interval of their mean that holds at all looks
//! together, and how many repeats more would be enough. The levels are those of [`super::boundary`], as for pairs, and Student's t is asked at them.
//!
//! Pairs are independent of each other because chance has their order; repeats of one point are not. A rate that keeps a part of its last value makes
//! their mean vary more than their spread shows, and so few repeats cannot show by how much. So neighbours in the run are taken to keep half of it. The
//! variance of the mean of a first-order process, and what the spread of its values shows of it, follow from that (T. W. Anderson, "The Statistical
//! Analysis of Time Series", 1971, chapter 8). Points that are measured in between make it less.
//! Limits: a longer memory, or a drift of the machine, is not covered. The simulations in `analysis::known_answers::sureness` show how often the
//! interval has the true mean.

use super::asked::SurePlan;
use super::boundary::PAIRS_MIN;
use super::pairs::{ERRORS_USUAL, PAIRS_FORESEEN_MAX, PairRule};
use crate::mean_interval::{mean, variance};
use crate::pairing::RepeatValue;

/// The share of its last value that the noise of a point keeps from that of the point before.
const MEMORY: f64 = 0.5;
/// Points further apart have nothing left of each other.
const GAP_MAX: u32 = 64;

/// Whether a run whose repeats are judged goes on, or how it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LookKind {
    /// One of the looks that were planned.
    Planned,
    /// The time of the run is over: what is open has its last look.
    Last,
}

/// How the mean of repeats is judged.
#[derive(Clone, Debug, PartialEq)]
pub struct MeanRule {
    sure: SurePlan,
    rule: PairRule,
    look: LookKind,
}

impl MeanRule {
    /// That of a plan that goes on until it is sure.
    pub fn new(sure: SurePlan, look: LookKind) -> MeanRule {
        MeanRule { sure, rule: sure.rule(), look }
    }

    /// Half the interval of the mean of `repeats` as a share of it; `None` of fewer than four.
    pub fn half_width(&self, repeats: &[RepeatValue]) -> Option<f64> {
        let rates = rates(repeats);
        Some(self.errors(repeats)? * standard_error(&rates) / mean(&rates))
    }

    /// Whether the mean of `repeats` is known as well as was asked.
    pub fn is_known(&self, repeats: &[RepeatValue]) -> bool {
        self.half_width(repeats).is_some_and(|half_width| half_width <= self.sure.difference.share())
    }

    /// How many standard errors half the interval of the mean of `repeats` is, as their spread shows these; `None` of fewer than four, which are
    /// never looked at.
    pub fn errors(&self, repeats: &[RepeatValue]) -> Option<f64> {
        let n = repeats.len();
        if n < PAIRS_MIN as usize {
            return None;
        }
        let (rates, planned) = (rates(repeats), self.planned_errors(n, gap(repeats)));
        let is_open = planned * standard_error(&rates) > self.sure.difference.share() * mean(&rates);
        // What was known ended because of what was seen, and not because of the time.
        let is_last = is_open && self.look == LookKind::Last && n < self.sure.pairs_max as usize;
        let last = || self.sure.rule_at_the_end(n).errors_at(n) * memory_factor(n, gap(repeats)).sqrt();
        // The first looks of very many repeats spend so little that nothing is known at them.
        Some(if is_last { last() } else { planned }).filter(|errors| errors.is_finite())
    }

    fn planned_errors(&self, n: usize, gap: u32) -> f64 {
        self.rule.errors_at(n) * memory_factor(n, gap).sqrt()
    }

    /// How many repeats more would be enough, if they are like `repeats`; `None` of fewer than four.
    pub fn repeats_more(&self, repeats: &[RepeatValue]) -> Option<u32> {
        let (n, gap, rates) = (repeats.len(), gap(repeats), rates(repeats));
        if n < PAIRS_MIN as usize {
            return None;
        }
        let (spread, within) = (variance(&rates).sqrt() / mean(&rates), self.sure.difference.share());
        let most = n.max(self.sure.pairs_max as usize);
        let is_enough = |n: &usize| self.planned_errors(*n, gap) * spread / (*n as f64).sqrt() <= within;
        if let Some(enough) = (n + 1..=most).find(is_enough) {
            return Some((enough - n) as u32);
        }
        let needed = memory_factor(most, gap) * (ERRORS_USUAL * spread / within).powi(2);
        Some((needed.clamp(0.0, PAIRS_FORESEEN_MAX).ceil() as u32).max(most as u32 + 1) - n as u32)
    }
}

fn rates(repeats: &[RepeatValue]) -> Vec<f64> {
    repeats.iter().map(|one| one.value).collect()
}

fn standard_error(rates: &[f64]) -> f64 {
    (variance(rates) / rates.len() as f64).sqrt()
}

/// How many points further a repeat comes after the one before, at least.
fn gap(repeats: &[RepeatValue]) -> u32 {
    let gaps = repeats.windows(2).map(|two| two[1].place.saturating_sub(two[0].place));
    gaps.min().unwrap_or(1).clamp(1, GAP_MAX)
}

/// How many times the variance of the mean of `n` repeats is what their spread shows of it, if they are `gap` points apart.
fn memory_factor(n: usize, gap: u32) -> f64 {
    let (kept, count) = (MEMORY.powi(gap as i32), n as f64);
    let lags: f64 = (1..n).map(|lag| (1.0 - lag as f64 / count) * kept.powi(lag as i32)).sum();
    // Of the mean, in variances of a value over n; the spread about the mean misses as much.
    let of_mean = 1.0 + 2.0 * lags;
    of_mean * (count - 1.0) / (count - of_mean)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mean_interval::students_t;
    use crate::sure::Precision;

    fn rule(look: LookKind) -> MeanRule {
        let sure = SurePlan { difference: Precision::USUAL, pairs_max: 20, comparisons: 0, budget: None };
        MeanRule::new(sure, look)
    }

    /// So many repeats that vary by `share`, `gap` points apart.
    fn repeats(n: u32, share: f64, gap: u32) -> Vec<RepeatValue> {
        let value = |nth: u32| 100.0 * (1.0 + share * [1.0, -1.0, 0.5, -0.5][nth as usize % 4]);
        (0..n).map(|nth| RepeatValue { place: 1 + gap * nth, value: value(nth) }).collect()
    }

    #[test]
    fn neighbours_hide_two_thirds_of_the_variance_and_points_in_between_make_it_less() {
        // Four neighbours: the variance of the mean is 2.0625 / 4, and the spread shows 0.6458 / 4.
        assert!((memory_factor(4, 1) - 2.0625 / 0.645_833).abs() < 1e-4, "{}", memory_factor(4, 1));
        assert!((memory_factor(100_000, 1) - 3.0).abs() < 1e-3);
        let further = [1, 2, 4, GAP_MAX].map(|gap| memory_factor(8, gap));
        assert!(further.windows(2).all(|two| two[0] > two[1]) && (further[3] - 1.0).abs() < 1e-9, "{further:?}");
    }

    #[test]
    fn who_looks_again_and_again_states_a_wider_interval_than_who_looks_once() {
        let [first, last] = [4, 20].map(|n| rule(LookKind::Planned).errors(&repeats(n, 0.01, GAP_MAX)));
        let once = |n: f64| students_t(0.975, n - 1.0);
        assert!(first.is_some_and(|errors| errors > 5.0 * once(4.0)), "{first:?}");
        assert!(last.is_some_and(|errors| errors > once(20.0) && errors < 1.4 * once(20.0)), "{last:?}");
        assert_eq!(rule(LookKind::Planned).errors(&repeats(3, 0.01, 1)), None);
    }

    #[test]
    fn what_is_open_when_the_time_is_over_spends_what_is_left_and_what_was_known_does_not() {
        let errors = |look, share| rule(look).errors(&repeats(6, share, GAP_MAX)).expect("six are looked at");
        let (planned, last) = (errors(LookKind::Planned, 0.1), errors(LookKind::Last, 0.1));
        assert!(last < 0.5 * planned, "{last} {planned}");
        assert_eq!(errors(LookKind::Last, 0.001), planned);
    }

    #[test]
    fn repeats_that_are_missing_are_those_after_which_the_mean_is_known() {
        let rule = rule(LookKind::Planned);
        let more = rule.repeats_more(&repeats(5, 0.01, 4)).expect("five are looked at");
        assert!(!rule.is_known(&repeats(5, 0.01, 4)) && more > 1, "{more}");
        assert!(rule.is_known(&repeats(5 + more + 1, 0.01, 4)));
        assert!(rule.repeats_more(&repeats(8, 0.2, 1)).is_some_and(|more| more > 500));
        assert_eq!(rule.repeats_more(&repeats(3, 0.01, 1)), None);
    }

    #[test]
    fn repeats_that_are_all_equal_are_known_at_the_first_look() {
        assert!(rule(LookKind::Planned).is_known(&repeats(4, 0.0, 1)));
    }
}
