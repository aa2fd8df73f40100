//! Cells of tables, and text made fit for file names.

pub use words::cell::{bytes, count, dash, nanos, nanos_or_dash, number, seconds};

use analysis::math::repeats::half_width_share;
use words::quantity::percent;

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
