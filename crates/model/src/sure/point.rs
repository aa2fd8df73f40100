//! When the mean of a point is known well enough: the interval of its rate is no wider than a share of it.
//!
//! In: the rates of its intervals, in order. Out: whether they are enough; and the interval to state, which is that of
//! [`crate::mean_interval::estimate_rate`]. Limits: one looks at fixed numbers of intervals, from [`INTERVALS_FIRST`] on and at each eighth more,
//! and the rule asks for a little more than it states, because it ends where the spread happens to look small (Y. S. Chow and H. Robbins, "On the
//! asymptotic theory of fixed-width sequential confidence intervals", Annals of Mathematical Statistics 36, 1965; the simulations in
//! `analysis::known_answers` show how often the stated interval has the true mean).

use crate::mean_interval::estimate_rate;
use crate::units::Nanos;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Nothing ends with fewer intervals: a drift between halves needs 16 of them, and the first and the last may be cut off.
pub const INTERVALS_FIRST: usize = 20;
/// Nothing ends sooner: the kernel writes back and engines flush about once a second.
pub const LENGTH_FIRST: Nanos = Nanos::from_secs(2);
/// Two looks are so far apart.
const LOOK_GROWTH: f64 = 1.125;
/// The level that ends a point; what is stated of it is the usual 95 %.
const ENDING_LEVEL: f64 = 0.98;
/// Longer series are judged in stretches of neighbours: the work grows with the square of the number.
const STRETCHES_MAX: usize = 1_024;

/// Half the width of an interval as a share of what it is of, in parts per million.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Precision {
    ppm: u32,
}

impl Precision {
    /// What is asked for if nothing else is said.
    pub const USUAL: Precision = Precision { ppm: 20_000 };
    /// The least that can be asked for.
    pub const MIN: Precision = Precision { ppm: 1_000 };
    pub const MAX: Precision = Precision { ppm: 500_000 };

    /// Of so many percent, if that is from 0.1 to 50.
    pub fn from_percent(percent: f64) -> Option<Precision> {
        let ppm = (percent * 10_000.0).round();
        let bounds = f64::from(Precision::MIN.ppm)..=f64::from(Precision::MAX.ppm);
        bounds.contains(&ppm).then_some(Precision { ppm: ppm as u32 })
    }

    /// As a share: 0.02.
    pub fn share(self) -> f64 {
        f64::from(self.ppm) / 1e6
    }

    /// Whether it can be asked for.
    pub fn is_allowed(self) -> bool {
        (Precision::MIN.ppm..=Precision::MAX.ppm).contains(&self.ppm)
    }
}

/// `2%`
impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", f64::from(self.ppm) / 10_000.0)
    }
}

/// How the intervals of a point are judged, and at which number of them next.
#[derive(Clone, Debug)]
pub struct IntervalsRule {
    within: Precision,
    next_look: usize,
}

impl IntervalsRule {
    /// The rule of a point whose mean is to be known to `within`, with intervals of this length.
    pub fn new(within: Precision, interval: Nanos) -> IntervalsRule {
        let in_time = LENGTH_FIRST.0.div_ceil(interval.0.max(1)) as usize;
        IntervalsRule { within, next_look: INTERVALS_FIRST.max(in_time) }
    }

    /// Whether `rates`, those of all intervals so far, are enough. Between two looks they never are.
    pub fn is_enough(&mut self, rates: &[f64]) -> bool {
        if rates.len() < self.next_look {
            return false;
        }
        self.next_look = (rates.len() + 1).max((rates.len() as f64 * LOOK_GROWTH).ceil() as usize);
        let estimate = estimate_rate(&stretches(rates), ENDING_LEVEL);
        estimate.is_some_and(|one| one.mean > 0.0 && one.half_width <= self.within.share() * one.mean)
    }
}

/// `rates` in at most [`STRETCHES_MAX`] stretches of neighbours, each with its mean. Those at the end that fill none are left out.
fn stretches(rates: &[f64]) -> Vec<f64> {
    let each = rates.len().div_ceil(STRETCHES_MAX).max(1);
    rates.chunks_exact(each).map(|part| part.iter().sum::<f64>() / each as f64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Nanos = Nanos::from_secs(1);

    /// The number of intervals at which a series is enough that goes up and down by this share.
    fn enough_at(share: f64, most: usize) -> Option<usize> {
        let mut rule = IntervalsRule::new(Precision::USUAL, SECOND);
        // A fixed pattern of mean 0: this crate has no generator of random numbers.
        let pattern = [0.4, -1.2, 0.9, 1.1, -0.7, -1.0, 0.3, 1.3, -0.2, -0.9];
        let rates: Vec<f64> = (0..most).map(|nth| 500.0 * (1.0 + share * pattern[nth % 10])).collect();
        (1..=most).find(|n| rule.is_enough(&rates[..*n]))
    }

    #[test]
    fn a_steady_rate_is_known_at_the_first_look_and_a_noisy_one_later_or_never() {
        assert_eq!(enough_at(0.01, 100), Some(20));
        let later = enough_at(0.10, 1_000).expect("a thousand intervals are enough");
        assert!((60..400).contains(&later), "{later}");
        assert_eq!(enough_at(0.9, 1_000), None);
    }

    #[test]
    fn nothing_ends_within_two_seconds_and_nothing_is_known_of_a_target_that_does_nothing() {
        let enough = |interval, n| IntervalsRule::new(Precision::USUAL, interval).is_enough(&vec![100.0; n]);
        assert_eq!([19, 20].map(|n| enough(SECOND, n)), [false, true]);
        assert_eq!([199, 200].map(|n| enough(Nanos::from_millis(10), n)), [false, true]);
        assert!(!IntervalsRule::new(Precision::USUAL, SECOND).is_enough(&[0.0; 50]));
    }

    #[test]
    fn a_rate_that_drifts_is_not_known() {
        let mut rule = IntervalsRule::new(Precision::USUAL, SECOND);
        let falling: Vec<f64> = (0..200).map(|nth| 1_000.0 - 3.0 * f64::from(nth)).collect();
        assert!((1..=200).all(|n| !rule.is_enough(&falling[..n])));
    }

    #[test]
    fn a_day_of_intervals_is_judged_in_a_thousand_stretches() {
        let day = stretches(&vec![5.0; 86_400]);
        assert!((900..=1_024).contains(&day.len()) && day.iter().all(|rate| *rate == 5.0), "{}", day.len());
        assert_eq!(stretches(&[1.0, 2.0, 3.0]), [1.0, 2.0, 3.0]);
    }

    #[test]
    fn a_precision_is_read_and_written_in_percent() {
        let told = |percent| Precision::from_percent(percent).map(|one| one.to_string());
        assert_eq!(told(2.0).as_deref(), Some("2%"));
        assert_eq!(told(0.5).as_deref(), Some("0.5%"));
        assert_eq!([0.0, 0.09, 50.1, -1.0, f64::NAN].map(told), [None, None, None, None, None]);
    }
}
