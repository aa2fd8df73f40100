//! Units that the analysis needs, in addition to those of the crate `model`. Nothing here rounds for people.

use model::Nanos;
use serde::Serialize;

/// A part of a whole: 1 is all of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct Share(pub f64);

/// `seconds` as a length of time; 0 below 0.
pub fn nanos(seconds: f64) -> Nanos {
    Nanos((seconds.max(0.0) * 1e9).round() as u64)
}
