//! Numbers as an axis shows them.
//!
//! In: raw numbers. Out: short text, with a unit for times. Limits: at most three decimals; round values are assumed.

/// A number with a suffix from 1000 on: `0`, `500`, `1.5k`, `2M`.
pub fn short_number(value: f64) -> String {
    let (scaled, suffix) = match value.abs() {
        v if v >= 1e9 => (value / 1e9, "G"),
        v if v >= 1e6 => (value / 1e6, "M"),
        v if v >= 1e3 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    format!("{}{suffix}", plain_number(scaled))
}

/// A number without needless digits: `1.5`, `20`, `0.05`; a dash for a value that is not finite.
pub fn plain_number(value: f64) -> String {
    if !value.is_finite() {
        return "-".to_owned();
    }
    let text = format!("{value:.3}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    // A small negative value rounds to -0.
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// A time in nanoseconds: `20 us`, `1 ms`.
pub fn short_time(ns: f64) -> String {
    let (scaled, unit) = match ns {
        v if v >= 1e9 => (ns / 1e9, "s"),
        v if v >= 1e6 => (ns / 1e6, "ms"),
        v if v >= 1e3 => (ns / 1e3, "us"),
        _ => (ns, "ns"),
    };
    format!("{} {unit}", plain_number(scaled))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axis_numbers_are_short() {
        assert_eq!([0.0, 0.05, 500.0, 1500.0, 2e6].map(short_number), ["0", "0.05", "500", "1.5k", "2M"]);
        assert_eq!([500.0, 2e4, 1e6, 1e9].map(short_time), ["500 ns", "20 us", "1 ms", "1 s"]);
    }
}
