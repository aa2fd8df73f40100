//! Numbers as people say them: `35,200`, `1.79 million`.
//!
//! In: plain numbers. Out: text without a unit. Limits: three digits; the figures of a claim have all of them.

use crate::math::repeats::{MeanOfRepeats, half_width_share};
use words::quantity::{count, number, percent, whole};

/// A narrower interval is not shown.
const WIDE: f64 = 0.05;

/// `value` in a sentence: `614`, `35,200`, `1.79 million`.
pub fn said(value: f64) -> String {
    match value.abs() {
        v if v < 999.5 => number(value).to_string(),
        v if v < 999_500.0 => {
            let step = 10f64.powi(v.log10().floor() as i32 - 2);
            whole((value / step).round() * step).to_string()
        }
        v if v < 999.5e6 => format!("{} million", number(value / 1e6)),
        _ => format!("{} billion", number(value / 1e9)),
    }
}

/// A rate in a small table: `35,200`, `1.79M ±12 %`.
pub fn in_table(rate: &MeanOfRepeats) -> String {
    let digits = if rate.mean < 999_500.0 { said(rate.mean) } else { count(rate.mean).to_string() };
    let half = half_width_share((rate.mean, rate.ci95)).filter(|half| *half > WIDE);
    half.map_or(digits.clone(), |half| format!("{digits} ±{}", percent(half)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_and_words_for_millions() {
        let texts = [5.634, 614.2, 999.6, 35_234.0, 999_700.0, 1_789_000.0, 2.5e9].map(said);
        assert_eq!(texts, ["5.63", "614", "1,000", "35,200", "1.00 million", "1.79 million", "2.50 billion"]);
        let rate = |half: f64| MeanOfRepeats { mean: 1.79e6, ci95: Some([1.79e6 - half, 1.79e6 + half]), repeats: 1 };
        assert_eq!([rate(1e3), rate(2e5)].map(|rate| in_table(&rate)), ["1.79M", "1.79M ±11 %"]);
    }
}
