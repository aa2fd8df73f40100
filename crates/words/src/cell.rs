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
}
