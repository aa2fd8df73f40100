//! The speed of the network link to the server: `link`, from its text to a [`LinkSpeed`].
//!
//! In: `1Gbit`, `100Mbit/s`, `none`. Out: bits per second. Limits: of a whole plan, like the price of its machine. The prefixes are
//! powers of 1000, as everywhere in networks; bytes are refused, because a link of `1GB` is a slip of the unit.

use crate::common::NONE;
use crate::document::{Written, WrittenSetting};
use crate::error::PlanError;
use crate::hourly::differs;
use crate::text;
use model::LinkSpeed;

/// The key.
const LINK: &str = "link";
/// What [`parse_speed`] takes, for messages.
const GRAMMAR: &str =
    "a speed above 0 in `kbit`, `Mbit` or `Gbit` per second, such as `1Gbit` or `2.5Gbit/s`, or `none`";
/// A hundred times the fastest card of today; more is a slip of the unit.
const BITS_MAX: f64 = 1e14;
/// A modem of 1962; less is a slip of the unit.
const BITS_MIN: f64 = 300.0;

/// What `settings`, those of one sweep, state.
pub(crate) fn speed_of(settings: &[WrittenSetting<'_>]) -> Result<Option<LinkSpeed>, PlanError> {
    let written = settings.iter().find(|setting| setting.key == LINK).and_then(|setting| setting.values.first());
    Ok(written.map(parse_speed).transpose()?.flatten())
}

/// Refuses a sweep whose link is another than that of the sweeps before.
pub(crate) fn check_same(
    before: Option<LinkSpeed>,
    own: Option<LinkSpeed>,
    settings: &[WrittenSetting<'_>],
) -> Result<(), PlanError> {
    if before == own { Ok(()) } else { Err(differs(LINK, settings)) }
}

/// The speed; `None` for `none`.
pub(crate) fn parse_speed(written: &Written<'_>) -> Result<Option<LinkSpeed>, PlanError> {
    if written.text == NONE {
        return Ok(None);
    }
    let speed = bits_per_s(&written.text).filter(|bits| (BITS_MIN..=BITS_MAX).contains(bits));
    speed.map(|bits| Some(LinkSpeed(bits))).ok_or_else(|| written.refused(GRAMMAR))
}

fn bits_per_s(text: &str) -> Option<f64> {
    let text = text.strip_suffix("/s").unwrap_or(text);
    let units = [("kbit", 1e3), ("Mbit", 1e6), ("Gbit", 1e9)];
    units.iter().find_map(|(unit, bits)| Some(text::parse_finite(text.strip_suffix(unit)?.trim())? * bits))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Place;

    fn speed(text: &str) -> Result<Option<f64>, String> {
        let written = Written { key: LINK.into(), text: text.into(), place: Place::Flag("link") };
        parse_speed(&written).map(|speed| speed.map(|speed| speed.0)).map_err(|error| error.to_string())
    }

    #[test]
    fn a_speed_is_a_number_of_bits_per_second() {
        let cases = [("1Gbit", 1e9), ("100 Mbit/s", 1e8), ("2.5Gbit/s", 2.5e9), ("56kbit", 56e3)];
        for (text, bits) in cases {
            assert_eq!(speed(text), Ok(Some(bits)), "{text}");
        }
        assert_eq!(speed("none"), Ok(None));
    }

    #[test]
    fn what_is_no_speed_is_answered_with_the_grammar() {
        for text in ["1", "1GB", "0Gbit", "-1Gbit", "fast", "Gbit", "1e9Gbit", "1gbit", "infGbit"] {
            let refused = speed(text).unwrap_err();
            assert!(refused.ends_with(GRAMMAR) && refused.starts_with("--link cannot be"), "{text}: {refused}");
        }
    }
}
