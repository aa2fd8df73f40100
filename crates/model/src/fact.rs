//! A fact: a name and a value for people, about the machine, the engine or the run.
//!
//! In: what somebody found out. Out: what the run file keeps, and what traits are learnt from. Limits: the value is text, whatever it states.

use serde::{Deserialize, Serialize};

/// One thing known about the machine, the target or the run: `("durability", "os")`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fact {
    /// Its name, in the words of the reference.
    pub name: String,
    /// Its value as text; sizes and times carry their unit.
    pub value: String,
}

impl Fact {
    /// The fact that `name` is `value`.
    pub fn new(name: impl Into<String>, value: impl Into<String>) -> Self {
        Fact { name: name.into(), value: value.into() }
    }

    /// The whole number that it states.
    pub(crate) fn whole(&self) -> Option<u64> {
        self.value.trim().parse().ok()
    }

    /// The amount that it states.
    pub(crate) fn amount(&self) -> Option<f64> {
        self.value.trim().parse().ok().filter(|value: &f64| value.is_finite() && *value >= 0.0)
    }
}
