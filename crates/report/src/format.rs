//! Cells of tables, and text made fit for file names.

pub use words::cell::{bytes, count, dash, nanos, nanos_or_dash, number, seconds, utc};

use analysis::math::repeats::half_width_share;
use model::{Quantiles, QuotedTime};
use words::quantity::percent;

/// One of several times; a dash if it was not kept.
pub fn quoted(times: Option<Quantiles>, quoted: QuotedTime) -> String {
    nanos_or_dash(times.and_then(|times| quoted.of(times)).map(|ns| ns as u64))
}

/// Half the width of a confidence interval around `mean`, in percent of it: `± 1.8 %`.
pub fn half_width(mean: f64, ci95: Option<[f64; 2]>) -> String {
    half_width_share((mean, ci95)).map_or_else(dash, |share| format!("±{}", percent(share)))
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
    fn slugs_hold_nothing_but_letters_digits_and_dashes() {
        assert_eq!(slug("file rndrd, depth 8"), "file-rndrd-depth-8");
        assert_eq!(slug("../../etc/<passwd>"), "etc-passwd");
        assert_eq!(slug("\u{e9}\u{1F600}"), "");
    }
}
