//! Values as the cell of a table has them: text at once, and a dash in the place of what could not be measured.

use crate::quantity::{self, with_separators};
use model::Nanos;
use model::units::three_digits;

/// In the place of a value that could not be measured.
pub fn dash() -> String {
    "-".to_owned()
}

/// A time: `12.3 ms`.
pub fn nanos(ns: u64) -> String {
    Nanos(ns).to_string()
}

/// A time that may be missing.
pub fn nanos_or_dash(ns: Option<u64>) -> String {
    ns.map_or_else(dash, nanos)
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

/// Seconds: `0.25 s`, `30 s`.
pub fn seconds(s: f64) -> String {
    if s.is_finite() { format!("{} s", (s * 100.0).round() / 100.0) } else { dash() }
}

/// Bytes in decimal units, as rates and costs are given: `812 B`, `12.3 KB`, `4.00 MB` (1 KB is 1000 B).
pub fn bytes(value: f64) -> String {
    if value.is_finite() { quantity::bytes(value).to_string() } else { dash() }
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
    fn bytes_are_decimal_and_seconds_have_no_needless_digits() {
        assert_eq!([0.04, 812.0, 12_300.0, f64::NAN].map(bytes), ["0.04 B", "812 B", "12.3 KB", "-"]);
        assert_eq!([0.25, 30.0, 1.005].map(seconds), ["0.25 s", "30 s", "1 s"]);
    }

    #[test]
    fn moments_are_given_in_utc() {
        assert_eq!(utc(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(utc(951_782_400_000), "2000-02-29 00:00:00 UTC");
        assert_eq!(utc(1_795_230_245_000), "2026-11-21 03:04:05 UTC");
    }
}
