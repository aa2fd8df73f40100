//! Numbers as people read them, and text made fit for file names.
//!
//! In: raw numbers. Out: short text with its unit. Limits: three significant digits; the CSV files have all of them.

use crate::wording::quantity::percent;
use analysis::math::repeats::half_width_share;
use model::units::{Nanos, three_digits};
use plot::numbers::plain_number;

/// A time: `12.3 ms`.
pub fn nanos(ns: u64) -> String {
    Nanos(ns).to_string()
}

/// A time that may be missing.
pub fn nanos_or_dash(ns: Option<u64>) -> String {
    ns.map_or_else(dash, nanos)
}

/// In the place of a value that could not be measured.
pub fn dash() -> String {
    "-".to_owned()
}

/// A number with three digits, and with separators from 1000 on: `8.12`, `812`, `81,234`.
pub fn number(value: f64) -> String {
    if !value.is_finite() {
        return dash();
    }
    if value.abs() < 999.5 { three_digits(value) } else { with_separators(value.round() as i64) }
}

/// A count with separators: `1,234,567`.
pub fn count(value: u64) -> String {
    with_separators(i64::try_from(value).unwrap_or(i64::MAX))
}

fn with_separators(value: i64) -> String {
    let digits = value.unsigned_abs().to_string();
    let mut out = if value < 0 { "-".to_owned() } else { String::new() };
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Seconds: `0.25 s`, `30 s`.
pub fn seconds(s: f64) -> String {
    format!("{} s", plain_number((s * 100.0).round() / 100.0))
}

/// Bytes in decimal units, as rates and costs are given: `812 B`, `12.3 KB`, `4.00 MB` (1 KB = 1000 B).
pub fn bytes(value: f64) -> String {
    match value.abs() {
        v if !v.is_finite() => dash(),
        v if v >= 999.5e6 => format!("{} GB", three_digits(value / 1e9)),
        v if v >= 999.5e3 => format!("{} MB", three_digits(value / 1e6)),
        v if v >= 999.5 => format!("{} KB", three_digits(value / 1e3)),
        _ => format!("{} B", plain_number(three_digits(value).parse().unwrap_or(value))),
    }
}

/// Half the width of a confidence interval around `mean`, in percent of it: `± 1.8 %`.
pub fn half_width(mean: f64, ci95: Option<[f64; 2]>) -> String {
    half_width_share((mean, ci95)).map_or_else(dash, |share| format!("±{}", percent(share)))
}

/// A moment as `2026-11-21 03:04:05 UTC`. The calendar is Howard Hinnant's `civil_from_days`
/// (<https://howardhinnant.github.io/date_algorithms.html>).
pub fn utc(unix_ms: u64) -> String {
    let seconds = unix_ms / 1000;
    let days = seconds / 86_400 + 719_468;
    let era = days / 146_097;
    let of_era = days % 146_097;
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (h, m, s) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year}-{month:02}-{day:02} {h:02}:{m:02}:{s:02} UTC")
}

/// Text as part of a file name or an anchor: small letters and digits, one dash for anything else, at most 60 bytes.
pub fn slug(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            'a'..='z' | '0'..='9' => out.push(c),
            'A'..='Z' => out.push(c.to_ascii_lowercase()),
            _ if !out.is_empty() && !out.ends_with('-') => out.push('-'),
            _ => {}
        }
    }
    out.truncate(60);
    out.trim_end_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_carry_three_digits_or_separators() {
        assert_eq!(
            [0.0, 8.123, 81.26, 999.4, 1234.4, 1_234_567.0].map(number),
            ["0.00", "8.12", "81.3", "999", "1,234", "1,234,567"]
        );
        assert_eq!(number(f64::NAN), "-");
    }

    #[test]
    fn bytes_are_decimal() {
        assert_eq!([0.04, 812.0, 12_300.0, 4e6].map(bytes), ["0.04 B", "812 B", "12.3 KB", "4.00 MB"]);
    }

    #[test]
    fn an_interval_is_given_as_half_its_width_in_percent() {
        assert_eq!(half_width(100.0, Some([98.0, 102.0])), "±2.0 %");
        assert_eq!(half_width(100.0, None), "-");
        assert_eq!(half_width(100.0, Some([0.0, 243.0])), "±143 %", "as the finding and the verdict have it");
        assert_eq!(half_width(0.0, Some([0.0, 0.0])), "-");
    }

    #[test]
    fn moments_are_given_in_utc() {
        assert_eq!(utc(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(utc(951_782_400_000), "2000-02-29 00:00:00 UTC");
        assert_eq!(utc(1_795_230_245_000), "2026-11-21 03:04:05 UTC");
    }

    #[test]
    fn slugs_hold_nothing_but_letters_digits_and_dashes() {
        assert_eq!(slug("file rndrd, depth 8"), "file-rndrd-depth-8");
        assert_eq!(slug("../../etc/<passwd>"), "etc-passwd");
        assert_eq!(slug("\u{e9}\u{1F600}"), "");
    }
}
