//! What the machine costs: `price` and `watts`, from their texts to a [`HourlyCost`].
//!
//! In: `0.40/h`, `290/month`; `85`. Out: an amount per hour, watts. Limits: of a whole plan, since one machine measures all of it; a
//! price has no currency. A month is the twelfth part of a year of 365 days, as providers of machines reckon.

use crate::common::{NONE, WATTS_MAX};
use crate::document::{Written, WrittenSetting};
use crate::error::PlanError;
use crate::text;
use crate::value;
use model::{HOURS_PER_YEAR, HourlyCost};

const PRICE: &str = "price";
const WATTS: &str = "watts";
/// What [`parse_price`] takes, for messages.
const GRAMMAR: &str = "an amount above 0 per `h`, `day`, `month` or `year`, such as `0.40/h` or `290/month`, or `none`";
/// More is a slip of the unit.
const PRICE_MAX: f64 = 1e9;

/// What `settings`, those of one sweep, state.
pub(crate) fn cost_of(settings: &[WrittenSetting<'_>]) -> Result<HourlyCost, PlanError> {
    let value_of =
        |key: &str| settings.iter().find(|setting| setting.key == key).and_then(|setting| setting.values.first());
    Ok(HourlyCost {
        price: value_of(PRICE).map(parse_price).transpose()?.flatten(),
        watts: value_of(WATTS).map(parse_watts).transpose()?.flatten(),
    })
}

/// Refuses a sweep whose costs are others than those of the sweeps before: one machine measures them all.
pub(crate) fn check_same(
    before: HourlyCost,
    own: HourlyCost,
    settings: &[WrittenSetting<'_>],
) -> Result<(), PlanError> {
    if before == own {
        Ok(())
    } else if before.price != own.price {
        Err(differs(PRICE, settings))
    } else {
        Err(differs(WATTS, settings))
    }
}

/// The refusal of a sweep in which `key` is another than in the sweeps before.
pub(crate) fn differs(key: &str, settings: &[WrittenSetting<'_>]) -> PlanError {
    let written = settings.iter().find(|setting| setting.key == key);
    let place = written.or(settings.first()).map(|setting| setting.place);
    let text = format_args!("`{key}` must be the same in all sweeps; write it once, above the first `[[sweep]]`");
    place.expect("a sweep has a workload").error(text)
}

/// The price per hour; `None` for `none`.
pub(crate) fn parse_price(written: &Written<'_>) -> Result<Option<f64>, PlanError> {
    if written.text == NONE {
        return Ok(None);
    }
    let amount = written.text.split_once('/').and_then(|(amount, unit)| {
        let hours = hours_of(unit.trim())?;
        text::parse_finite(amount.trim()).map(|amount| amount / hours)
    });
    let amount = amount.filter(|amount| *amount > 0.0 && *amount <= PRICE_MAX);
    amount.map(Some).ok_or_else(|| written.refused(GRAMMAR))
}

fn hours_of(unit: &str) -> Option<f64> {
    match unit {
        "h" | "hour" => Some(1.0),
        "day" => Some(24.0),
        "month" => Some(HOURS_PER_YEAR / 12.0),
        "year" => Some(HOURS_PER_YEAR),
        _ => None,
    }
}

/// The watts; `None` for `none`.
pub(crate) fn parse_watts(written: &Written<'_>) -> Result<Option<f64>, PlanError> {
    match written.text.as_str() {
        NONE => Ok(None),
        _ => value::parse_above_zero(written, WATTS_MAX).map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Place;

    fn price(text: &str) -> Result<Option<f64>, String> {
        let written = Written { key: PRICE.into(), text: text.into(), place: Place::Flag("price") };
        parse_price(&written).map_err(|error| error.to_string())
    }

    #[test]
    fn a_price_is_an_amount_per_length_of_time() {
        let cases = [("0.40/h", 0.4), ("0.40 / hour", 0.4), ("12/day", 0.5), ("730/month", 1.0), ("8760/year", 1.0)];
        for (text, per_hour) in cases {
            assert_eq!(price(text), Ok(Some(per_hour)), "{text}");
        }
        assert_eq!(price("none"), Ok(None));
    }

    #[test]
    fn what_is_no_price_is_answered_with_the_grammar() {
        for text in ["abc", "-1/h", "0/h", "0.40", "0.40/week", "inf/h", "1e300/h", "/h"] {
            let refused = price(text).unwrap_err();
            assert!(refused.ends_with(GRAMMAR) && refused.starts_with("--price cannot be"), "{text}: {refused}");
        }
    }
}
