//! The answer of a test.
//!
//! In: a test makes it. Out: [`Tested`]. Limits: nothing is decided here.

use crate::evidence::cause::{Cause, Limit, RuledOut};

/// What a test of a resource found.
pub enum Tested {
    /// It limited the point.
    Binds(Cause),
    RuledOut(RuledOut),
    /// Nothing is known of it, or too little to rule it out.
    Unknown,
}

impl Tested {
    /// That `code` is ruled out, because `value` is below `limit`.
    pub fn below(code: Limit, value: f64, limit: f64) -> Tested {
        Tested::RuledOut(RuledOut { code, value, limit })
    }
}
