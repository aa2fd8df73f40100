//! The speed of the network link to the server: `link`, from its text to a [`LinkSpeed`].
//!
//! In: `1Gbit`, `100Mbit/s`, `none`. Out: bits per second. Limits: of a whole plan, like the price of its machine. The prefixes are
//! powers of 1000, as everywhere in networks; bytes are refused, because a link of `1GB` is a slip of the unit.

use crate::common::NONE;
use crate::document::{Written, WrittenSetting};
use crate::error::{Place, PlanError};
use crate::hourly::differs;
use crate::text;
use model::{InterfaceLink, LinkSpeed};

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

/// What several flags state: one speed for all interfaces at most, and one for each interface at most.
pub(crate) fn parse_all(flags: &[String]) -> Result<(Option<LinkSpeed>, Vec<InterfaceLink>), PlanError> {
    let (mut every, mut single) = (None, Vec::<InterfaceLink>::new());
    for text in flags {
        let (name, speed) = text.split_once('=').map_or((None, text.as_str()), |(name, speed)| (Some(name), speed));
        let written = |text: &str| Written { key: LINK.into(), text: text.trim().into(), place: Place::Flag(LINK) };
        let is_twice = match name {
            None => every.is_some(),
            Some(name) => single.iter().any(|link| link.interface == name),
        };
        let is_named = name.is_none_or(|name| !name.is_empty() && !name.chars().any(char::is_whitespace));
        if is_twice || !is_named {
            return Err(written(text).refused("`SPEED` once, and `NAME=SPEED` once for each interface"));
        }
        match (name, parse_speed(&written(speed))?) {
            (None, stated) => every = stated,
            (Some(name), Some(speed)) => single.push(InterfaceLink { interface: name.to_owned(), speed }),
            (Some(_), None) => {}
        }
    }
    Ok((every, single))
}

fn bits_per_s(text: &str) -> Option<f64> {
    let text = text.strip_suffix("/s").unwrap_or(text);
    let units = [("kbit", 1e3), ("Mbit", 1e6), ("Gbit", 1e9)];
    units.iter().find_map(|(unit, bits)| Some(text::parse_finite(text.strip_suffix(unit)?.trim())? * bits))
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn each_interface_has_one_speed_and_the_others_have_one_together() {
        let parse = |flags: &[&str]| {
            let flags: Vec<String> = flags.iter().map(|flag| (*flag).to_owned()).collect();
            parse_all(&flags).map_err(|error| error.to_string())
        };
        let own = |name: &str, bits| InterfaceLink { interface: name.into(), speed: LinkSpeed(bits) };
        let all = parse(&["1Gbit", "eth1=100Mbit", "bond0.7=none"]).unwrap();
        assert_eq!(all, (Some(LinkSpeed(1e9)), vec![own("eth1", 1e8)]));
        assert_eq!(parse(&[]), Ok((None, Vec::new())));
        for flags in [&["1Gbit", "2Gbit"][..], &["eth1=1Gbit", "eth1=2Gbit"], &["=1Gbit"], &["e th=1Gbit"]] {
            assert!(parse(flags).unwrap_err().contains("`NAME=SPEED` once for each interface"), "{flags:?}");
        }
        assert!(parse(&["eth1=fast"]).unwrap_err().ends_with(GRAMMAR));
    }

    #[test]
    fn what_is_no_speed_is_answered_with_the_grammar() {
        for text in ["1", "1GB", "0Gbit", "-1Gbit", "fast", "Gbit", "1e9Gbit", "1gbit", "infGbit"] {
            let refused = speed(text).unwrap_err();
            assert!(refused.ends_with(GRAMMAR) && refused.starts_with("--link cannot be"), "{text}: {refused}");
        }
    }
}
