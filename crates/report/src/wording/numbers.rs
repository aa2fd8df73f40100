//! Numbers as people read them in sentences.
//!
//! In: plain numbers. Out: short text with its unit. Limits: three significant digits; tables have more.

use analysis::repeats::MeanOfRepeats;
use model::Nanos;
use model::units::three_digits;

/// A rate per second: `812/s`, `38.2k/s`, `1.21M/s`.
pub fn rate(per_s: f64) -> String {
    format!("{}/s", count(per_s))
}

/// A number with three digits: `812`, `38.2k`, `1.21M`.
pub fn count(value: f64) -> String {
    match value.abs() {
        v if v < 999.5 => three_digits(value),
        v if v < 999_500.0 => format!("{}k", three_digits(value / 1e3)),
        _ => format!("{}M", three_digits(value / 1e6)),
    }
}

/// Bytes per second in MB/s (10^6).
pub fn megabytes(bytes_per_s: f64) -> String {
    format!("{} MB/s", three_digits(bytes_per_s / 1e6))
}

/// A time with the unit that fits.
pub fn seconds(seconds: f64) -> String {
    Nanos((seconds.max(0.0) * 1e9).round() as u64).to_string()
}

/// A share as whole percent, without its sign: `64`, `-3`.
pub fn whole_percent(share: f64) -> String {
    let percent = (share * 100.0).round();
    format!("{:.0}", if percent == 0.0 { 0.0 } else { percent })
}

/// A share in percent, rounded downwards: one failure in a million leaves less than 100.
pub fn floored_percent(share: f64) -> String {
    match share {
        share if share >= 1.0 => "100".to_owned(),
        share if share >= 0.99 => format!("{:.2}", (share * 1e4).floor() / 1e2),
        share => format!("{:.1}", (share * 1e3).floor() / 1e1),
    }
}

/// A mean whose interval is wider than this share to either side is not given without it.
const WIDE: f64 = 0.10;

/// ` ±50 %`, if the interval of `mean` is wide.
pub fn wide_interval(mean: &MeanOfRepeats) -> String {
    let half = mean.ci95.map_or(0.0, |[low, high]| (high - low) / 2.0 / mean.mean);
    if half.is_finite() && half > WIDE { format!(" ±{} %", whole_percent(half)) } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_carry_their_unit() {
        assert_eq!([812.4, 38_240.0, 999_700.0, 4.5].map(rate), ["812/s", "38.2k/s", "1.00M/s", "4.50/s"]);
        assert_eq!((megabytes(626.4e6), seconds(1.2e-3)), ("626 MB/s".to_owned(), "1.20 ms".to_owned()));
        assert_eq!([0.644, -0.004, 0.0].map(whole_percent), ["64", "0", "0"]);
    }

    #[test]
    fn a_share_that_is_not_all_is_less_than_100() {
        assert_eq!([1.0, 0.999_999, 0.5].map(floored_percent), ["100", "99.99", "50.0"]);
    }

    #[test]
    fn only_a_wide_interval_is_given() {
        let mean = |half: f64| MeanOfRepeats { mean: 100.0, ci95: Some([100.0 - half, 100.0 + half]), repeats: 1 };
        assert_eq!([mean(50.0), mean(9.0)].map(|mean| wide_interval(&mean)), [" ±50 %", ""]);
    }
}
