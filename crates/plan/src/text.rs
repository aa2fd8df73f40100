//! Sizes, times and numbers as people write them, and ranges of them.
//!
//! In: `16KiB`, `2g`, `1GB`, `30s`, `100us`, `0.9`, `1..64`. Out: the types of `model`.
//! Limits: a fraction is rounded to a whole byte or nanosecond. `k`, `m`, `g`, `t` alone are powers of 1024; of times, `m` is
//! a minute.

use crate::error::shown;
use model::{Bytes, Nanos};

/// What [`bytes`] takes, for messages.
pub(crate) const SIZE: &str = "a size in KiB, MiB, GiB or TiB, such as `16KiB`, `2g`, `1GB`, or a number of bytes";
/// What [`nanos`] takes, for messages.
pub(crate) const TIME: &str = "a time such as `30s`, `250ms`, `5m` or a number of seconds";

/// `; did you mean ...?` where one of `names` is near to `word`, else nothing.
pub fn hint<'n>(word: &str, names: impl IntoIterator<Item = &'n str>) -> String {
    crate::error::hint(word, names)
}

/// A size: a number with `B`, `k` = `KiB`, `m` = `MiB`, `g` = `GiB`, `t` = `TiB`, or `KB`, `MB`, `GB`, `TB` (powers of 1000);
/// in capitals or not; without a unit it is bytes.
///
/// # Errors
/// One sentence with the text and what is allowed.
pub fn bytes(text: &str) -> Result<Bytes, String> {
    size(text).map(Bytes).ok_or_else(|| format!("`{}` is not {SIZE}", shown(text)))
}

/// A length of time: a number with `ns`, `us`, `ms`, `s`, `m` = `min`, `h` or `d`; without a unit it is seconds.
///
/// # Errors
/// One sentence with the text and what is allowed.
pub fn nanos(text: &str) -> Result<Nanos, String> {
    time(text).map(Nanos).ok_or_else(|| format!("`{}` is not {TIME}", shown(text)))
}

/// A whole number from 0 up, in digits.
///
/// # Errors
/// One sentence with the text and what is allowed.
pub fn int(text: &str) -> Result<u64, String> {
    whole(text).ok_or_else(|| format!("`{}` is not a whole number", shown(text)))
}

/// A finite number.
///
/// # Errors
/// One sentence with the text and what is allowed.
pub fn number(text: &str) -> Result<f64, String> {
    finite(text).ok_or_else(|| format!("`{}` is not a finite number", shown(text)))
}

/// The values of a range such as `1..64`: the powers of two from the first to the last, both included.
///
/// # Errors
/// One sentence with the text and what is allowed.
pub fn range(text: &str) -> Result<Vec<u64>, String> {
    powers_of_two(text)
        .ok_or_else(|| format!("`{}` is not a range with a power of two in it, such as `1..64`", shown(text)))
}

pub(crate) fn size(text: &str) -> Option<u64> {
    let (number, unit) = split_unit(text);
    let factor = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        "t" | "tib" => 1 << 40,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "tb" => 1_000_000_000_000,
        _ => return None,
    };
    times(number, factor)
}

pub(crate) fn time(text: &str) -> Option<u64> {
    let (number, unit) = split_unit(text);
    let factor = match unit {
        "ns" => 1,
        "us" | "µs" => 1_000,
        "ms" => 1_000_000,
        "" | "s" => 1_000_000_000,
        "m" | "min" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "d" => 86_400_000_000_000,
        _ => return None,
    };
    times(number, factor)
}

pub(crate) fn whole(text: &str) -> Option<u64> {
    // `parse` alone would take a sign.
    text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok())?
}

/// A whole number in digits, or one with an exponent that is whole and exact: `1e6`, `2.5e3`.
pub(crate) fn counted(text: &str) -> Option<u64> {
    const EXACT_MAX: f64 = (1u64 << f64::MANTISSA_DIGITS) as f64;
    let with_exponent = || finite(text).filter(|value| value.fract() == 0.0 && (0.0..=EXACT_MAX).contains(value));
    whole(text).or_else(|| with_exponent().map(|value| value as u64))
}

pub(crate) fn finite(text: &str) -> Option<f64> {
    text.parse().ok().filter(|value: &f64| value.is_finite())
}

pub(crate) fn powers_of_two(text: &str) -> Option<Vec<u64>> {
    let (first, last) = text.split_once("..")?;
    let (first, last) = (size(first.trim())?, size(last.trim())?);
    let within: Vec<u64> = (0..u64::BITS).map(|bit| 1 << bit).filter(|power| (first..=last).contains(power)).collect();
    (first > 0 && !within.is_empty()).then_some(within)
}

/// `16 KiB` -> (`16`, `KiB`).
fn split_unit(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    (&text[..end], text[end..].trim_start_matches(' '))
}

/// `number` times `factor`, exact where the number is whole.
fn times(number: &str, factor: u64) -> Option<u64> {
    if let Some(value) = whole(number) {
        return value.checked_mul(factor);
    }
    let product = finite(number)? * factor as f64;
    (product < u64::MAX as f64).then_some(product.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_binary_unless_they_say_otherwise() {
        let cases = [
            ("16KiB", 16 << 10),
            ("16k", 16 << 10),
            ("16 KiB", 16 << 10),
            ("1GB", 1_000_000_000),
            ("1kb", 1_000),
            ("2g", 2 << 30),
            ("1.5GiB", 3 << 29),
            ("3TiB", 3 << 40),
            ("512B", 512),
            ("4096", 4096),
            ("0", 0),
        ];
        for (text, expected) in cases {
            assert_eq!(bytes(text), Ok(Bytes(expected)), "{text}");
        }
    }

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
            assert_eq!(nanos(text), Ok(Nanos(expected)), "{text}");
        }
    }

    #[test]
    fn what_is_no_size_or_time_is_refused_with_what_is_allowed() {
        for text in ["", "k", "-1", "1.2.3k", "1e9", "16q", "99999999999999999999", "16777216t", "+4", "inf", "1 0"] {
            assert_eq!(bytes(text), Err(format!("`{text}` is not {SIZE}")), "{text}");
        }
        for text in ["", "s", "-1s", "1S", "5 weeks", "20000000000", ".", "nan"] {
            assert_eq!(nanos(text), Err(format!("`{text}` is not {TIME}")), "{text}");
        }
        assert_eq!(int("+5"), Err("`+5` is not a whole number".into()));
        assert_eq!(number("inf"), Err("`inf` is not a finite number".into()));
    }

    #[test]
    fn a_range_runs_over_the_powers_of_two_within_it() {
        assert_eq!(range("1..64"), Ok(vec![1, 2, 4, 8, 16, 32, 64]));
        assert_eq!(range("3..20"), Ok(vec![4, 8, 16]));
        assert_eq!(range("4KiB..16KiB"), Ok(vec![4096, 8192, 16384]));
        for text in ["0..4", "64..1", "5..7", "1..", "..", "4"] {
            let refusal = format!("`{text}` is not a range with a power of two in it, such as `1..64`");
            assert_eq!(range(text), Err(refusal));
        }
    }
}
