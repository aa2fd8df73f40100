//! Numbers as other programs print them, within bounds.
//!
//! In: text. Out: numbers that are finite, not negative and small enough to be added up. Limits: a number beyond these bounds is no
//! number; the caller words the error.

use model::Nanos;

/// More operations than any run has: a million a second for nine years.
pub(crate) const COUNT_MAX: u64 = 1 << 48;
/// More bytes than any run moves: an exbibyte.
pub(crate) const BYTES_MAX: u64 = 1 << 60;
/// A year: the longest time.
pub(crate) const SECONDS_MAX: f64 = 366.0 * 86_400.0;
/// The most clients, and operations in flight.
pub(crate) const CLIENTS_MAX: u64 = 1_000_000;

/// A whole number up to `most`.
pub(crate) fn parse_count(text: &str, most: u64) -> Option<u64> {
    text.trim().parse().ok().filter(|count| *count <= most)
}

/// A number from 0 to `most`.
pub(crate) fn parse_amount(text: &str, most: f64) -> Option<f64> {
    check_amount(text.trim().parse().ok()?, most)
}

/// `value` if it is finite and from 0 to `most`.
pub(crate) fn check_amount(value: f64, most: f64) -> Option<f64> {
    (value.is_finite() && (0.0..=most).contains(&value)).then_some(value)
}

/// So many seconds; at most a year.
pub(crate) fn nanos_of(seconds: f64) -> Option<Nanos> {
    check_amount(seconds, SECONDS_MAX).map(|seconds| Nanos((seconds * 1e9).round() as u64))
}

/// `4k`, `1M`, `64g`, `4096`, `4KiB`: bytes as fio has them, with prefixes of 1,024.
pub(crate) fn parse_size(text: &str) -> Option<u64> {
    let text = text.trim().to_ascii_lowercase();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let shift = match &text[digits..] {
        "" | "b" => 0,
        "k" | "ki" | "kib" => 10,
        "m" | "mi" | "mib" => 20,
        "g" | "gi" | "gib" => 30,
        "t" | "ti" | "tib" => 40,
        _ => return None,
    };
    let number: u64 = text[..digits].parse().ok()?;
    number.checked_mul(1 << shift).filter(|bytes| *bytes <= BYTES_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_sound_number_is_none() {
        assert_eq!(["nan", "-1", "inf", "1e400", ""].map(|text| parse_amount(text, 10.0)), [None; 5]);
        assert_eq!([parse_count("-1", 9), parse_count("10", 9), parse_count(" 9 ", 9)], [None, None, Some(9)]);
        assert_eq!((nanos_of(1.5), nanos_of(f64::NAN), nanos_of(1e12)), (Some(Nanos(1_500_000_000)), None, None));
    }

    #[test]
    fn sizes_have_prefixes_of_1024() {
        assert_eq!(["4k", "1M", "4096", "2GiB"].map(parse_size), [4096, 1 << 20, 4096, 2 << 30].map(Some));
        assert_eq!(["50%", "4k,8k", "k", "99999999t", ""].map(parse_size), [None; 5]);
    }
}
