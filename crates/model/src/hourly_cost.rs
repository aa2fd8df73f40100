//! What a machine costs per hour: money and power.
//!
//! In: what a person stated. Out: [`HourlyCost`], and the facts that the run file keeps of it. Limits: an amount has no currency: it is in
//! that of the person who stated it. Nothing is guessed: what was not stated is `None`.

use crate::fact::Fact;
use serde::{Deserialize, Serialize};

/// The hours of a year of 365 days, by which providers of machines convert prices.
pub const HOURS_PER_YEAR: f64 = 8_760.0;
/// The fact with the price.
pub const PRICE_FACT: &str = "cost.price_per_hour";
/// The fact with the power.
pub const WATTS_FACT: &str = "cost.watts";

/// What a machine costs per hour, as stated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HourlyCost {
    /// Its price per hour, above 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<f64>,
    /// Its power in watts, above 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watts: Option<f64>,
}

impl HourlyCost {
    /// Whether nothing was stated.
    pub fn is_none(&self) -> bool {
        *self == HourlyCost::default()
    }

    /// What was stated, or else what `other` states.
    pub fn or(self, other: HourlyCost) -> HourlyCost {
        HourlyCost { price: self.price.or(other.price), watts: self.watts.or(other.watts) }
    }

    /// The facts of a run of such a machine.
    pub fn facts(&self) -> impl Iterator<Item = Fact> + use<> {
        let all = [(PRICE_FACT, self.price), (WATTS_FACT, self.watts)];
        all.into_iter().filter_map(|(name, value)| Some(Fact::new(name, value?.to_string())))
    }

    pub fn from_facts(facts: &[Fact]) -> HourlyCost {
        let number = |name: &str| -> Option<f64> {
            let text = &facts.iter().find(|fact| fact.name == name)?.value;
            text.parse().ok().filter(|value: &f64| value.is_finite() && *value > 0.0)
        };
        HourlyCost { price: number(PRICE_FACT), watts: number(WATTS_FACT) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stated_is_read_back_from_its_facts() {
        let stated = HourlyCost { price: Some(0.4), watts: Some(85.5) };
        assert_eq!(HourlyCost::from_facts(&stated.facts().collect::<Vec<_>>()), stated);
        assert_eq!(HourlyCost::default().facts().count(), 0);
    }

    #[test]
    fn a_fact_that_is_no_amount_is_none() {
        let facts = [Fact::new(PRICE_FACT, "-1"), Fact::new(WATTS_FACT, "NaN")];
        assert!(HourlyCost::from_facts(&facts).is_none());
    }

    #[test]
    fn what_is_stated_later_replaces_what_was_stated_before() {
        let before = HourlyCost { price: Some(1.0), watts: Some(50.0) };
        assert_eq!(HourlyCost { price: Some(2.0), watts: None }.or(before), HourlyCost { price: Some(2.0), ..before });
    }
}
