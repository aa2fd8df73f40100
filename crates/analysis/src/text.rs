//! Numbers as people read them.
//!
//! In: plain numbers. Out: short text with its unit. Limits: three significant digits; exact values are in the summary.

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

/// Bytes in KB (10^3), as costs of an insert are given.
pub fn kilobytes(bytes: f64) -> String {
    format!("{} KB", three_digits(bytes / 1e3))
}

/// Bytes with the decimal unit that fits.
pub fn bytes(bytes: f64) -> String {
    match bytes.abs() {
        v if v < 999.5 => format!("{bytes:.0} B"),
        v if v < 999.5e3 => kilobytes(bytes),
        v if v < 999.5e6 => format!("{} MB", three_digits(bytes / 1e6)),
        _ => format!("{} GB", three_digits(bytes / 1e9)),
    }
}

/// A share as a percentage: `38 %`, `2.4 %`, `0.03 %`.
pub fn percent(share: f64) -> String {
    match share.abs() * 100.0 {
        v if v == 0.0 || v >= 9.95 => format!("{:.0} %", share * 100.0),
        v if v >= 0.095 => format!("{:.1} %", share * 100.0),
        _ => format!("{:.2} %", share * 100.0),
    }
}

/// A time in nanoseconds with the unit that fits.
pub fn time(ns: f64) -> String {
    Nanos(ns.max(0.0).round() as u64).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_carry_their_unit() {
        assert_eq!([812.4, 38_240.0, 999_700.0, 4.5].map(rate), ["812/s", "38.2k/s", "1.00M/s", "4.50/s"]);
        assert_eq!([0.384, 0.0241, 0.0003, 0.0].map(percent), ["38 %", "2.4 %", "0.03 %", "0 %"]);
        assert_eq!(time(1.2e6), "1.20 ms");
    }
}
