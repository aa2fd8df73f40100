//! Repeats of one point, combined into one figure.
//!
//! In: the value of each repeat, with its own 95 % interval if it has one; or their times. Out: a [`MeanOfRepeats`], or all times
//! together. Limits: percentiles are never averaged, only taken of merged times. Two repeats show little of how much repeats differ:
//! their interval is based on their own intervals, and without those there is none.

use crate::math::stats::{mean, students_t, variance};
use model::Times;
use serde::Serialize;

/// From so many repeats on, their spread alone makes an interval. A loss, gain or order is claimed from [`crate::math::ratio::PAIRS_MIN`] on: that
/// of three is indicative.
pub const REPEATS_MIN: usize = 3;
/// The standard normal distribution's 97.5 % quantile.
const NORMAL_975: f64 = 1.96;

/// One figure of one point: its mean and its 95 % confidence interval.
pub type WithInterval = (f64, Option<[f64; 2]>);

/// Half the width of the interval `ci95` around `mean`, as a share of it; `None` without an interval, or if the mean is not above 0. The
/// lower end of the interval of a rate stops at 0, so the upper end counts.
pub fn half_width_share((mean, ci95): WithInterval) -> Option<f64> {
    let [_, high] = ci95.filter(|_| mean > 0.0)?;
    Some(high / mean - 1.0).filter(|share| share.is_finite())
}

/// The mean of some repeats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct MeanOfRepeats {
    pub mean: f64,
    /// Its 95 % confidence interval; `None` if neither the repeats' own intervals nor at least three repeats give one.
    pub ci95: Option<[f64; 2]>,
    /// How many repeats it is of.
    pub repeats: usize,
}

/// The mean of `values`; `None` if there are no values.
///
/// Its interval is the wider of two: that which follows from the repeats' own intervals (independent errors: half widths are added in
/// squares and divided by n), and that of the spread between repeats (Student's t with n - 1 degrees of freedom). With two repeats the
/// second has one degree of freedom, so it is taken with the normal quantile, and only if the repeats have intervals of their own.
pub fn combine(values: impl IntoIterator<Item = WithInterval>) -> Option<MeanOfRepeats> {
    combine_looked_at(values, None)
}

/// The same of repeats that were looked at again and again, so that half the interval of their spread must be at least so many standard
/// errors: [`model::sure::MeanRule::errors`].
pub fn combine_looked_at(values: impl IntoIterator<Item = WithInterval>, errors: Option<f64>) -> Option<MeanOfRepeats> {
    let values: Vec<WithInterval> = values.into_iter().filter(|(value, _)| value.is_finite()).collect();
    let means: Vec<f64> = values.iter().map(|(value, _)| *value).collect();
    if means.is_empty() {
        return None;
    }
    if let [(mean, ci95)] = values[..] {
        return Some(MeanOfRepeats { mean, ci95, repeats: 1 });
    }
    let (mean, n) = (mean(&means), means.len() as f64);
    let own = values.iter().map(|(value, interval)| interval.map(|[_, high]| (high - value).powi(2)));
    let within = own.sum::<Option<f64>>().map(|squares| squares.sqrt() / n);
    let spread = (variance(&means) / n).sqrt();
    // With two values Student's t has one degree of freedom and is 12.7: hardly any difference would lie outside such an interval.
    let half_width = match means.len() {
        n if n < REPEATS_MIN => within.map(|within| within.max(NORMAL_975 * spread)),
        n => {
            let errors = errors.unwrap_or(0.0).max(students_t(0.975, (n - 1) as f64));
            Some(within.unwrap_or(0.0).max(errors * spread))
        }
    };
    let half_width = half_width.filter(|half| half.is_finite());
    Some(MeanOfRepeats { mean, ci95: half_width.map(|half| [mean - half, mean + half]), repeats: means.len() })
}

/// The mean of `values` without any interval; `None` if there are no values.
pub fn combine_plain(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    combine(values.into_iter().map(|value| (value, None))).map(|estimate| estimate.mean)
}

/// The same thing of several repeats, as it goes into one row. What is unknown in a repeat is left out: a mean is of those that know it.
pub struct Repeated<'a, T> {
    all: Vec<&'a T>,
    /// How many standard errors half the interval of a mean is, if they were looked at again and again.
    errors: Option<f64>,
}

impl<'a, T> Repeated<'a, T> {
    /// Of `all`, in the order of their repeats.
    pub fn new(all: impl IntoIterator<Item = &'a T>) -> Self {
        Repeated { all: all.into_iter().collect(), errors: None }
    }

    /// The same, whose means have intervals by [`combine_looked_at`].
    pub fn looked_at(self, errors: Option<f64>) -> Self {
        Repeated { errors, ..self }
    }

    /// They, in the order of their repeats.
    pub fn iter(&self) -> impl Iterator<Item = &'a T> + '_ {
        self.all.iter().copied()
    }

    /// The first; `None` if there is none.
    pub fn first(&self) -> Option<&'a T> {
        self.all.first().copied()
    }

    /// A part of each, of those that have it.
    pub fn parts<U: 'a>(&self, part: impl Fn(&'a T) -> Option<&'a U>) -> Repeated<'a, U> {
        Repeated { all: self.iter().filter_map(part).collect(), errors: self.errors }
    }

    pub fn mean<V: RowValue>(&self, value: impl Fn(&T) -> V) -> V {
        V::from_number(combine_plain(self.iter().filter_map(|one| value(one).number())))
    }

    /// The mean of a rate and its interval.
    pub fn rate(&self, value: impl Fn(&T) -> Option<WithInterval>) -> (Option<f64>, Option<[f64; 2]>) {
        let all = combine_looked_at(self.iter().filter_map(value), self.errors);
        (all.map(|all| all.mean), all.and_then(|all| all.ci95))
    }

    pub fn sum<V: RowValue>(&self, value: impl Fn(&T) -> V) -> V {
        let known = self.iter().filter_map(|one| value(one).number());
        V::from_number(known.reduce(|sum, one| sum + one))
    }

    pub fn most<V: Ord + Default>(&self, value: impl Fn(&T) -> V) -> V {
        self.iter().map(value).max().unwrap_or_default()
    }

    /// What is the same in all that have it; `None` if they differ.
    pub fn same<V: PartialEq>(&self, value: impl Fn(&'a T) -> Option<V>) -> Option<V> {
        let mut known = self.iter().filter_map(value);
        let first = known.next()?;
        known.all(|one| one == first).then_some(first)
    }

    /// The times of all together.
    pub fn times(&self, which: impl Fn(&T) -> &Times) -> Times {
        Times::merged(self.iter().map(which))
    }
}

/// A number of a point that is combined over repeats; it may be unknown.
pub trait RowValue: Copy {
    fn number(self) -> Option<f64>;
    /// The number of a row, made from the numbers of its repeats.
    fn from_number(number: Option<f64>) -> Self;
}

impl RowValue for f64 {
    fn number(self) -> Option<f64> {
        Some(self)
    }

    fn from_number(number: Option<f64>) -> f64 {
        number.unwrap_or_default()
    }
}

impl RowValue for u64 {
    fn number(self) -> Option<f64> {
        Some(self as f64)
    }

    fn from_number(number: Option<f64>) -> u64 {
        number.unwrap_or_default().round() as u64
    }
}

impl<V: RowValue> RowValue for Option<V> {
    fn number(self) -> Option<f64> {
        self.and_then(V::number)
    }

    fn from_number(number: Option<f64>) -> Option<V> {
        number.map(|number| V::from_number(Some(number)))
    }
}

/// One row of several repeats: `combined!(all, Struct { field: rule, .. })`, where a rule is a method of [`Repeated`] or a value in
/// parentheses. Each field is named, so that a new one cannot be forgotten.
macro_rules! combined {
    ($all:expr, $name:ident { $($field:ident: $rule:tt),* $(,)? }) => {
        $name { $($field: $crate::math::repeats::combined!(@field $all, $field, $rule)),* }
    };
    (@field $all:expr, $field:ident, ($value:expr)) => { $value };
    (@field $all:expr, $field:ident, $rule:ident) => { $all.$rule(|one| one.$field) };
}
pub(crate) use combined;

impl MeanOfRepeats {
    /// Its standard error as a share of the mean; `None` without an interval, or if the mean is not above 0.
    pub fn relative_error(&self) -> Option<f64> {
        Some(half_width_share((self.mean, self.ci95))? / NORMAL_975)
    }
}

/// One minus the ratio of two rates, with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RateDrop {
    /// The share by which the rate drops; below 0 if it rises.
    pub share: f64,
    /// Its 95 % confidence interval.
    pub ci95: [f64; 2],
}

/// By which share the rate drops from `before` to `after`; `None` unless both have an interval.
///
/// The interval is that of a ratio of two independent means, by the delta method on the logarithm (G. Casella and R. Berger,
/// "Statistical Inference", section 5.5).
pub fn drop_between(before: &MeanOfRepeats, after: &MeanOfRepeats) -> Option<RateDrop> {
    let ratio = after.mean / before.mean;
    // The variance of a logarithm is about the squared relative error, and those of independent means add up.
    let factor = (NORMAL_975 * before.relative_error()?.hypot(after.relative_error()?)).exp();
    Some(RateDrop { share: 1.0 - ratio, ci95: [1.0 - ratio * factor, 1.0 - ratio / factor] })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::Random;

    fn rounded(estimate: Option<MeanOfRepeats>) -> Option<(f64, Option<[f64; 2]>)> {
        let round = |value: f64| (value * 100.0).round() / 100.0;
        estimate.map(|one| (round(one.mean), one.ci95.map(|ci| ci.map(round))))
    }

    #[test]
    fn one_repeat_keeps_its_interval_and_two_without_have_none() {
        assert_eq!(rounded(combine([(10.0, Some([9.0, 11.0]))])), Some((10.0, Some([9.0, 11.0]))));
        assert_eq!(rounded(combine([(10.0, None), (12.0, None)])), Some((11.0, None)));
        assert_eq!(combine([]), None);
        assert_eq!(combine([(f64::NAN, None)]), None);
    }

    #[test]
    fn an_interval_that_stops_at_zero_is_as_wide_as_its_upper_half() {
        assert_eq!(half_width_share((10.0, Some([0.0, 25.0]))), Some(1.5));
        assert_eq!([half_width_share((10.0, None)), half_width_share((0.0, Some([0.0, 1.0])))], [None, None]);
        let clipped = combine([(10.0, Some([0.0, 25.0]))]).unwrap();
        assert_eq!((clipped.ci95, half_width_share((clipped.mean, clipped.ci95))), (Some([0.0, 25.0]), Some(1.5)));
        let both = combine([(10.0, Some([0.0, 25.0])), (10.0, Some([0.0, 25.0]))]).unwrap();
        let half = half_width_share((both.mean, both.ci95)).unwrap();
        assert!((half - 1.5 / 2.0_f64.sqrt()).abs() < 1e-9, "{half}");
    }

    #[test]
    fn three_repeats_make_an_interval_by_their_spread() {
        // The mean of 1, 2, 3 is 2 +- 4.303 * sqrt(1 / 3).
        assert_eq!(rounded(combine([1.0, 2.0, 3.0].map(|value| (value, None)))), Some((2.0, Some([-0.48, 4.48]))));
    }

    #[test]
    fn intervals_of_repeats_that_agree_become_narrower() {
        let repeats = [(10.0, Some([9.0, 11.0])); 4];
        assert_eq!(rounded(combine(repeats)), Some((10.0, Some([9.5, 10.5]))));
    }

    #[test]
    fn repeats_that_differ_more_than_their_intervals_say_have_the_wider_one() {
        let [low, high] = combine([(10.0, Some([9.9, 10.1])), (20.0, Some([19.9, 20.1]))]).unwrap().ci95.unwrap();
        assert!(low < 6.0 && high > 24.0, "{low} {high}");
    }

    #[test]
    fn the_interval_of_five_repeats_covers_the_truth_in_95_of_100_cases() {
        let mut random = Random::new(1);
        let covers = |random: &mut Random| {
            let repeats: Vec<WithInterval> = (0..5).map(|_| (100.0 + 5.0 * random.normal(), None)).collect();
            let [low, high] = combine(repeats).unwrap().ci95.unwrap();
            (low..high).contains(&100.0)
        };
        let covered = (0..2_000).filter(|_| covers(&mut random)).count();
        assert!((1_860..=1_940).contains(&covered), "{covered} of 2000");
    }

    #[test]
    fn a_drop_has_an_interval_and_none_is_claimed_without() {
        let sure = |mean: f64| MeanOfRepeats { mean, ci95: Some([mean * 0.99, mean * 1.01]), repeats: 1 };
        let drop = drop_between(&sure(1000.0), &sure(360.0)).unwrap();
        assert!((drop.share - 0.64).abs() < 1e-9, "{drop:?}");
        assert!(drop.ci95[0] > 0.63 && drop.ci95[0] < 0.64 && drop.ci95[1] > 0.64 && drop.ci95[1] < 0.65, "{drop:?}");
        let bare = MeanOfRepeats { mean: 360.0, ci95: None, repeats: 2 };
        assert_eq!(drop_between(&sure(1000.0), &bare), None);
    }
}
