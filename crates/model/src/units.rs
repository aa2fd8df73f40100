//! Units as types: time in nanoseconds, space in bytes.
//!
//! In: raw integers at the boundaries. Out: values that cannot be mixed up. Limits: 584 years, 16 EiB.
//! MB is 10^6 bytes and MiB is 2^20 bytes everywhere in plimsoll.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Add, Sub};

/// A point in time: nanoseconds of the monotonic clock since the run began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Tick(pub u64);

/// A length of time in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Nanos(pub u64);

/// An amount of data in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Bytes(pub u64);

/// A place in a file, in bytes from its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Offset(pub u64);

impl Tick {
    /// The time from `earlier` to here; zero if `earlier` is later.
    #[inline]
    pub fn since(self, earlier: Tick) -> Nanos {
        Nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Nanos> for Tick {
    type Output = Tick;
    #[inline]
    fn add(self, length: Nanos) -> Tick {
        Tick(self.0.saturating_add(length.0))
    }
}

impl Sub<Nanos> for Tick {
    type Output = Tick;
    #[inline]
    fn sub(self, length: Nanos) -> Tick {
        Tick(self.0.saturating_sub(length.0))
    }
}

impl Nanos {
    pub const fn from_micros(n: u64) -> Self {
        Nanos(n * 1_000)
    }
    pub const fn from_millis(n: u64) -> Self {
        Nanos(n * 1_000_000)
    }
    pub const fn from_secs(n: u64) -> Self {
        Nanos(n * 1_000_000_000)
    }
    /// The length of time in `text`: a number with `ns`, `us`, `ms`, `s`, `m` = `min`, `h` or `d`; without a unit it is seconds. A fraction is
    /// rounded to a whole nanosecond.
    pub fn parse(text: &str) -> Option<Nanos> {
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let factor = match text[end..].trim_start_matches(' ') {
            "ns" => 1,
            "us" | "µs" => 1_000,
            "ms" => 1_000_000,
            "" | "s" => 1_000_000_000,
            "m" | "min" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            "d" => 86_400_000_000_000,
            _ => return None,
        };
        let number = &text[..end];
        if let Ok(whole) = number.parse::<u64>() {
            return whole.checked_mul(factor).map(Nanos);
        }
        let ns = number.parse::<f64>().ok()? * factor as f64;
        (ns < u64::MAX as f64).then_some(Nanos(ns.round() as u64))
    }

    /// The length in seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// As it is shown, with more digits if three are not all of it: `12.345 ms`. Lengths look different that differ by a ten-thousandth of
    /// their unit.
    pub fn in_full(self) -> String {
        let (size, unit) = self.unit();
        let digits = if size == 1 { self.0.to_string() } else { digits_in_full(self.0, size) };
        format!("{digits} {unit}")
    }

    /// The unit that keeps its number between 1 and 1000, in nanoseconds, and its name.
    fn unit(self) -> (u64, &'static str) {
        match self.0 {
            0..=999 => (1, "ns"),
            1_000..=999_499 => (1_000, "us"),
            999_500..=999_499_999 => (1_000_000, "ms"),
            _ => (1_000_000_000, "s"),
        }
    }
}

impl Bytes {
    /// `n` KiB (2^10 bytes).
    pub const fn from_kib(n: u64) -> Self {
        Bytes(n << 10)
    }
    /// `n` MiB (2^20 bytes).
    pub const fn from_mib(n: u64) -> Self {
        Bytes(n << 20)
    }
    /// `n` GiB (2^30 bytes).
    pub const fn from_gib(n: u64) -> Self {
        Bytes(n << 30)
    }

    /// As it is shown, with more digits if three are not all of it: `200.4 MiB`. Sizes look different that differ by a ten-thousandth of
    /// their unit.
    pub fn in_full(self) -> String {
        match self.unit() {
            (size, _) if self.0.is_multiple_of(size) => self.to_string(),
            (size, unit) => format!("{} {unit}", digits_in_full(self.0, size)),
        }
    }

    /// The largest unit that is not above it, in bytes, and its name: a binary one, unless it is round in a decimal one only, as 10 GB are.
    fn unit(self) -> (u64, &'static str) {
        let binary = self.largest([(1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")]);
        let units = [(1_000_000_000_000, "TB"), (1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "KB")];
        let decimal = self.largest(units);
        // Some halves and quarters of a KiB are tenths of a KB.
        let round = if decimal.0 > 1_000 { decimal.0 / 10 } else { decimal.0 };
        let is_decimal = !self.0.is_multiple_of(binary.0) && self.0.is_multiple_of(round);
        if is_decimal { decimal } else { binary }
    }

    fn largest(self, units: [(u64, &'static str); 4]) -> (u64, &'static str) {
        units.into_iter().find(|(size, _)| self.0 >= *size).unwrap_or((1, "B"))
    }
}

impl fmt::Display for Nanos {
    /// Three significant digits with the unit that keeps the number between 1 and 1000: `850 ns`, `12.3 ms`, `4.00 s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.unit() {
            (1, unit) => write!(f, "{} {unit}", self.0),
            (size, unit) => write!(f, "{} {unit}", three_digits(self.0 as f64 / size as f64)),
        }
    }
}

impl fmt::Display for Bytes {
    /// Binary units, exact if the value is a whole number of them: `16 KiB`, `1.50 GiB`; decimal ones if it is round in these: `10 GB`, `1.50 MB`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.unit() {
            (size, unit) if self.0.is_multiple_of(size) => write!(f, "{} {unit}", self.0 / size),
            (size, unit) => write!(f, "{} {unit}", three_digits(self.0 as f64 / size as f64)),
        }
    }
}

/// `whole` in units of `size` with three digits, or with as many as it takes to tell it from all others.
fn digits_in_full(whole: u64, size: u64) -> String {
    let value = whole as f64 / size as f64;
    let is_exact = |text: &String| {
        let number = text.parse::<f64>().unwrap_or_default();
        (number * size as f64).round() as u64 == whole
    };
    let longer = (1..DIGITS_MAX).map(|digits| format!("{value:.digits$}"));
    std::iter::once(three_digits(value)).chain(longer).find(is_exact).unwrap_or_else(|| format!("{value:.DIGITS_MAX$}"))
}

/// Digits behind the point that tell all settings apart that anybody would compare.
const DIGITS_MAX: usize = 4;

/// What a file leaves out.
pub(crate) fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// `value` with three significant digits if it is below 1000, and no fraction above.
pub fn three_digits(value: f64) -> String {
    match value.abs() {
        v if v < 9.995 => format!("{value:.2}"),
        v if v < 99.95 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// A number in a sentence: in words up to twelve, else in digits with separators, as 1,000.
pub fn number_word(number: impl Into<u64>) -> String {
    let number = number.into();
    const WORDS: [&str; 13] =
        ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];
    let digits = number.to_string();
    let separated = || {
        let groups: Vec<&str> = digits
            .as_bytes()
            .rchunks(3)
            .rev()
            .map(|group| std::str::from_utf8(group).expect("digits are ASCII"))
            .collect();
        groups.join(",")
    };
    usize::try_from(number).ok().and_then(|at| WORDS.get(at)).map_or_else(separated, |word| (*word).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_seconds_unless_they_say_otherwise() {
        let cases = [
            ("30s", 30_000_000_000),
            ("30", 30_000_000_000),
            ("0.5", 500_000_000),
            ("100us", 100_000),
            ("100µs", 100_000),
            ("250ms", 250_000_000),
            ("5m", 300_000_000_000),
            ("1h", 3_600_000_000_000),
            ("7ns", 7),
            ("4.00 s", 4_000_000_000),
        ];
        for (text, expected) in cases {
            assert_eq!(Nanos::parse(text), Some(Nanos(expected)), "{text}");
        }
        for text in ["", "s", "-1s", "1S", "5 weeks", "20000000000", ".", "nan", "99999999999999999999h"] {
            assert_eq!(Nanos::parse(text), None, "{text}");
        }
    }

    #[test]
    fn times_print_with_three_digits_and_a_fitting_unit() {
        let shown: Vec<String> = [999, 1_000, 999_600, 12_345_678, 4_000_000_000].map(|n| Nanos(n).to_string()).into();
        assert_eq!(shown, ["999 ns", "1.00 us", "1.00 ms", "12.3 ms", "4.00 s"]);
    }

    #[test]
    fn sizes_print_in_binary_units() {
        let shown: Vec<String> = [12, 16384, 3 << 29, 1 << 20].map(|n| Bytes(n).to_string()).into();
        assert_eq!(shown, ["12 B", "16 KiB", "1.50 GiB", "1 MiB"]);
    }

    #[test]
    fn sizes_that_are_round_in_decimal_units_print_in_these() {
        let sizes = [10_000_000_000, 1_500_000, 1_000, 12_800, 1_024_000, 1_000_000_000_000, 0];
        let expected = ["10 GB", "1.50 MB", "1000 B", "12.5 KiB", "1000 KiB", "1 TB", "0 B"];
        assert_eq!(sizes.map(|n| Bytes(n).to_string()), expected);
        assert_eq!(sizes.map(|n| Bytes(n).in_full()), expected);
    }

    #[test]
    fn what_was_written_is_shown_in_full_where_three_digits_are_not_all_of_it() {
        let sizes = [12, 3 << 29, 210_134_630, 8_000_000].map(|n| Bytes(n).in_full());
        assert_eq!(sizes, ["12 B", "1.50 GiB", "200.4 MiB", "8 MB"]);
        let times = [999, 1_000_000, 12_345_000, 999_600].map(|n| Nanos(n).in_full());
        assert_eq!(times, ["999 ns", "1.00 ms", "12.345 ms", "0.9996 ms"]);
        assert_ne!(Nanos(u64::MAX).in_full(), Nanos(u64::MAX / 2).in_full());
    }

    #[test]
    fn time_never_runs_below_zero() {
        assert_eq!(Tick(5).since(Tick(9)), Nanos(0));
        assert_eq!(Tick(5) - Nanos(9), Tick(0));
    }
}
