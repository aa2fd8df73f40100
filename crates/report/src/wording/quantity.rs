//! Numbers with their unit as people read them, and ranges of them.
//!
//! In: plain numbers. Out: [`Quantity`]s, and text. Limits: three significant digits; counts have all of theirs.

use crate::format::count as with_separators;
use analysis::math::repeats::{MeanOfRepeats, half_width_share};
use model::Nanos;
use model::units::three_digits;
use std::fmt;

/// A number and its unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quantity {
    digits: String,
    /// With the space before it, if it has one.
    unit: &'static str,
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.digits, self.unit)
    }
}

impl Quantity {
    /// The number without its unit.
    pub fn digits(&self) -> &str {
        &self.digits
    }

    /// The same number with another unit.
    pub fn with_suffix(self, unit: &'static str) -> Quantity {
        Quantity { unit, ..self }
    }
}

fn quantity(digits: String, unit: &'static str) -> Quantity {
    Quantity { digits, unit }
}

/// A whole number: `812`, `16,014`.
pub fn whole(value: f64) -> Quantity {
    quantity(with_separators(value.round().max(0.0) as u64), "")
}

/// A number with three digits: `0.40`, `31.5`, `812`.
pub fn number(value: f64) -> Quantity {
    quantity(three_digits(value), "")
}

/// An amount with three digits however small it is: `0.40`, `0.0312`, `3.1e-7`; with separators from 1000 on.
pub fn small_number(value: f64) -> String {
    match value.abs() {
        v if v >= 999.5 => whole(value).to_string(),
        v if v >= 0.0995 || v == 0.0 => number(value).to_string(),
        v if v >= 0.00995 => format!("{value:.4}"),
        v if v >= 0.000995 => format!("{value:.5}"),
        _ => format!("{value:.1e}"),
    }
}

/// A count with three digits: `812`, `38.2k`, `1.21M`.
pub fn count(value: f64) -> Quantity {
    match value.abs() {
        v if v < 999.5 => number(value),
        v if v < 999_500.0 => quantity(three_digits(value / 1e3), "k"),
        _ => quantity(three_digits(value / 1e6), "M"),
    }
}

/// A rate per second: `812/s`, `38.2k/s`, `1.21M/s`.
pub fn rate(per_s: f64) -> Quantity {
    let unit = match count(per_s).unit {
        "k" => "k/s",
        "M" => "M/s",
        _ => "/s",
    };
    count(per_s).with_suffix(unit)
}

/// A share as a percentage: `38 %`, `2.4 %`, `0.03 %`.
pub fn percent(share: f64) -> Quantity {
    let percent = share * 100.0;
    match percent.abs() {
        v if v == 0.0 || v >= 9.95 => quantity(format!("{percent:.0}"), " %"),
        v if v >= 0.095 => quantity(format!("{percent:.1}"), " %"),
        _ => quantity(format!("{percent:.2}"), " %"),
    }
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
    let half = half_width_share((mean.mean, mean.ci95)).filter(|half| *half > WIDE);
    half.map_or(String::new(), |half| format!(" ±{}", percent(half)))
}

/// A time in nanoseconds with the unit that fits: `850 ns`, `12.3 ms`, `4.00 s`.
pub fn time(ns: f64) -> Quantity {
    match ns.max(0.0).round() {
        ns if ns <= 999.0 => quantity(format!("{ns:.0}"), " ns"),
        ns if ns < 999_500.0 => quantity(three_digits(ns / 1e3), " us"),
        ns if ns < 999_500_000.0 => quantity(three_digits(ns / 1e6), " ms"),
        ns => quantity(three_digits(ns / 1e9), " s"),
    }
}

/// A time in seconds, as exactly as intervals of this length know it: `3.0 s`, `0.34 s`.
pub fn seconds(time: Nanos, interval: Nanos) -> Quantity {
    quantity(format!("{:.*}", decimals(interval), time.as_secs_f64()), " s")
}

/// The decimals that separate multiples of `interval`: at least one, at most three.
fn decimals(interval: Nanos) -> usize {
    let is_whole = |digits: &usize| interval.0.is_multiple_of(1_000_000_000 / 10u64.pow(*digits as u32));
    (1..3).find(is_whole).unwrap_or(3)
}

/// Bytes with the decimal unit that fits: `812 B`, `12.3 KB`, `4.00 MB`.
pub fn bytes(bytes: f64) -> Quantity {
    match bytes.abs() {
        v if v < 999.5 => quantity(format!("{bytes:.0}"), " B"),
        v if v < 999.5e3 => kilobytes(bytes),
        v if v < 999.5e6 => quantity(three_digits(bytes / 1e6), " MB"),
        _ => quantity(three_digits(bytes / 1e9), " GB"),
    }
}

/// Bytes in KB (10^3), as costs of an insert are given.
pub fn kilobytes(bytes: f64) -> Quantity {
    quantity(three_digits(bytes / 1e3), " KB")
}

/// Bytes in KiB (2^10), as blocks are given.
pub fn kibibytes(bytes: f64) -> Quantity {
    quantity(three_digits(bytes / 1024.0), " KiB")
}

/// Bytes per second in MB/s (10^6).
pub fn megabytes_per_s(bytes_per_s: f64) -> Quantity {
    quantity(three_digits(bytes_per_s / 1e6), " MB/s")
}

/// `figure` of all of `alike`: one number if they are written alike, else `0.42 to 1.44 s`.
pub fn range<T>(alike: &[&T], figure: impl Fn(&T) -> f64, written: impl Fn(f64) -> Quantity) -> String {
    let figures = || alike.iter().map(|one| figure(one));
    let low = written(figures().fold(f64::INFINITY, f64::min));
    let high = written(figures().fold(f64::NEG_INFINITY, f64::max));
    match (low == high, low.unit == high.unit) {
        (true, _) => low.to_string(),
        (false, true) => format!("{} to {high}", low.digits),
        (false, false) => format!("{low} to {high}"),
    }
}

/// How many there are: `1 stall`, `3 stalls`, `1 to 3 stalls`.
pub fn counted<T>(alike: &[&T], count: impl Fn(&T) -> u64, noun: &str) -> String {
    let is_one = alike.iter().all(|one| count(one) == 1);
    let range = range(alike, |one| count(one) as f64, whole);
    if is_one { format!("{range} {noun}") } else { format!("{range} {noun}s") }
}

/// `1 point`, `2 points`, `16,014 points`.
pub fn plural(n: u64, noun: &str) -> String {
    counted(&[&n], |n| *n, noun)
}

/// `figure`, or that it is not known.
pub fn or_unknown(figure: Option<f64>, written: impl Fn(f64) -> Quantity) -> String {
    figure.map_or_else(|| "unknown".to_owned(), |figure| written(figure).to_string())
}

/// The first `most` of `all`, and how many more there are.
pub fn listed<T>(all: &[T], most: usize, one: impl Fn(&T) -> String) -> String {
    let mut text = all.iter().take(most).map(one).collect::<Vec<_>>().join(", ");
    if all.len() > most {
        text += &format!(" and {} more", all.len() - most);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_carry_their_unit() {
        let texts = |all: [Quantity; 4]| all.map(|one| one.to_string());
        assert_eq!(texts([812.4, 38_240.0, 999_700.0, 4.5].map(rate)), ["812/s", "38.2k/s", "1.00M/s", "4.50/s"]);
        assert_eq!(texts([812.4, 38_240.0, 999_700.0, 4.5].map(count)), ["812", "38.2k", "1.00M", "4.50"]);
        assert_eq!(megabytes_per_s(626.4e6).to_string(), "626 MB/s");
        assert_eq!(texts([0.384, 0.0241, 0.0003, 0.0].map(percent)), ["38 %", "2.4 %", "0.03 %", "0 %"]);
        assert_eq!(texts([850.0, 12_345.0, 1.2e6, 4e9].map(time)), ["850 ns", "12.3 us", "1.20 ms", "4.00 s"]);
        assert_eq!(texts([812.0, 12_300.0, 4e6, 2e9].map(bytes)), ["812 B", "12.3 KB", "4.00 MB", "2.00 GB"]);
    }

    #[test]
    fn a_share_that_is_not_all_is_less_than_100() {
        assert_eq!([1.0, 0.999_999, 0.5].map(floored_percent), ["100", "99.99", "50.0"]);
        assert_eq!([0.644, -0.004, 0.0].map(whole_percent), ["64", "0", "0"]);
    }

    #[test]
    fn only_a_wide_interval_is_given() {
        let mean = |half: f64| MeanOfRepeats { mean: 100.0, ci95: Some([100.0 - half, 100.0 + half]), repeats: 1 };
        assert_eq!([mean(50.0), mean(9.0)].map(|mean| wide_interval(&mean)), [" ±50 %", ""]);
        let clipped = MeanOfRepeats { mean: 100.0, ci95: Some([0.0, 243.0]), repeats: 1 };
        assert_eq!(wide_interval(&clipped), " ±143 %");
    }

    #[test]
    fn times_have_the_decimals_of_the_intervals() {
        let lengths_ms = [1000, 100, 250, 20, 5, 3000].map(Nanos::from_millis);
        assert_eq!(lengths_ms.map(decimals), [1, 1, 2, 2, 3, 1]);
        assert_eq!(seconds(Nanos::from_millis(340), Nanos::from_millis(20)).to_string(), "0.34 s");
    }

    #[test]
    fn numbers_that_differ_are_a_range_with_one_unit_if_they_share_it() {
        let of = |all: &[f64]| range(&all.iter().collect::<Vec<_>>(), |ns| *ns, time);
        assert_eq!([of(&[4.2e8]), of(&[4.2e8, 4.201e8]), of(&[4.2e8, 7e8])], ["420 ms", "420 ms", "420 to 700 ms"]);
        assert_eq!(of(&[2e9, 7e8]), "700 ms to 2.00 s");
        assert_eq!([plural(1, "stall"), plural(16_014, "arrival")], ["1 stall", "16,014 arrivals"]);
        assert_eq!(counted(&[&1, &3], |n| *n, "stall"), "1 to 3 stalls");
    }

    #[test]
    fn a_long_list_ends_with_how_many_it_leaves_out() {
        let list = |most| listed(&[1, 2, 3, 4], most, i32::to_string);
        assert_eq!([list(3), list(4)], ["1, 2, 3 and 1 more", "1, 2, 3, 4"]);
    }
}
