//! Rates in a small table: `35,200`, `1.79M ±12 %`.
//!
//! In: a mean with its interval. Out: text without a unit. Limits: three digits; the value of a cell has all of them.

use super::speech::amount;
use crate::math::repeats::{MeanOfRepeats, half_width_share};
use words::quantity::{count, percent};

/// A narrower interval is not shown.
const WIDE: f64 = 0.05;

/// `rate` with its interval, if that is wide.
pub(super) fn in_table(rate: &MeanOfRepeats) -> String {
    let digits = if rate.mean < 999_500.0 { amount(rate.mean) } else { count(rate.mean).to_string() };
    let half = half_width_share((rate.mean, rate.ci95)).filter(|half| *half > WIDE);
    half.map_or(digits.clone(), |half| format!("{digits} ±{}", percent(half)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_wide_interval_is_given() {
        let rate = |half: f64| MeanOfRepeats { mean: 1.79e6, ci95: Some([1.79e6 - half, 1.79e6 + half]), repeats: 1 };
        assert_eq!([rate(1e3), rate(2e5)].map(|rate| in_table(&rate)), ["1.79M", "1.79M ±11 %"]);
        let low = MeanOfRepeats { mean: 35_234.0, ..MeanOfRepeats::default() };
        assert_eq!(in_table(&low), "35,200");
    }
}
