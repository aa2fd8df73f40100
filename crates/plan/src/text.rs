//! Sizes and numbers as people write them, and ranges of them.
//!
//! In: `16KiB`, `2g`, `1GB`, `0.9`, `1..64`. Out: bytes, numbers.
//! Limits: a fraction is rounded to a whole byte. `k`, `m`, `g`, `t` alone are powers of 1024.

/// What [`parse_size`] takes, for messages.
pub(crate) const SIZE: &str = "a size in KiB, MiB, GiB or TiB, such as `16KiB`, `2g`, `1GB`, or a number of bytes";
/// What [`model::Nanos::parse`] takes, for messages.
pub(crate) const TIME: &str = "a time such as `30s`, `250ms`, `5m` or a number of seconds";

/// The bytes of a size: a number with `B`, `k` = `KiB`, `m` = `MiB`, `g` = `GiB`, `t` = `TiB`, or `KB`, `MB`, `GB`, `TB` (powers of
/// 1000); in capitals or not; without a unit it is bytes.
pub(crate) fn parse_size(text: &str) -> Option<u64> {
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
    multiply(number, factor)
}

/// A whole number from 0 up, in digits.
pub(crate) fn parse_whole(text: &str) -> Option<u64> {
    // `parse` alone would take a sign.
    text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok())?
}

/// A whole number in digits, or one with an exponent that is whole and exact: `1e6`, `2.5e3`.
pub(crate) fn parse_count(text: &str) -> Option<u64> {
    const EXACT_MAX: f64 = (1u64 << f64::MANTISSA_DIGITS) as f64;
    let with_exponent = || parse_finite(text).filter(|value| value.fract() == 0.0 && (0.0..=EXACT_MAX).contains(value));
    parse_whole(text).or_else(|| with_exponent().map(|value| value as u64))
}

pub(crate) fn parse_finite(text: &str) -> Option<f64> {
    text.parse().ok().filter(|value: &f64| value.is_finite())
}

/// The powers of two of a range such as `1..64`, from the first to the last, both included; `None` if it holds none.
pub(crate) fn powers_of_two(text: &str) -> Option<Vec<u64>> {
    let (first, last) = text.split_once("..")?;
    let (first, last) = (parse_size(first.trim())?, parse_size(last.trim())?);
    let within: Vec<u64> = (0..u64::BITS).map(|bit| 1 << bit).filter(|power| (first..=last).contains(power)).collect();
    (first > 0 && !within.is_empty()).then_some(within)
}

/// `16 KiB` -> (`16`, `KiB`).
fn split_unit(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    (&text[..end], text[end..].trim_start_matches(' '))
}

/// `number` times `factor`, exact if the number is whole.
fn multiply(number: &str, factor: u64) -> Option<u64> {
    if let Some(value) = parse_whole(number) {
        return value.checked_mul(factor);
    }
    let product = parse_finite(number)? * factor as f64;
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
            assert_eq!(parse_size(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_size_is_refused() {
        for text in ["", "k", "-1", "1.2.3k", "1e9", "16q", "99999999999999999999", "16777216t", "+4", "inf", "1 0"] {
            assert_eq!(parse_size(text), None, "{text}");
        }
        assert_eq!((parse_whole("+5"), parse_finite("inf")), (None, None));
    }

    #[test]
    fn a_range_runs_over_the_powers_of_two_within_it() {
        assert_eq!(powers_of_two("1..64"), Some(vec![1, 2, 4, 8, 16, 32, 64]));
        assert_eq!(powers_of_two("3..20"), Some(vec![4, 8, 16]));
        assert_eq!(powers_of_two("4KiB..16KiB"), Some(vec![4096, 8192, 16384]));
        for text in ["0..4", "64..1", "5..7", "1..", "..", "4"] {
            assert_eq!(powers_of_two(text), None, "{text}");
        }
    }
}
