//! How often operations were tried again after a conflict: a deadlock, a lock-wait timeout, a serialization failure.
//!
//! In: the clients' own count. Out: retries per second and per operation. Limits: the count is of all clients, those in the background
//! among them; one operation may be tried again several times.

use crate::numbers::background::counted_of_all;
use crate::recorded::counters::growth_of_all;
use model::{CounterRole, Phase, PointData};
use serde::{Deserialize, Serialize};

/// How often operations were tried again in the run phase.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RetryRate {
    /// Retries per second.
    pub per_s: f64,
    /// Retries for each operation that ended.
    pub per_op: f64,
}

impl RetryRate {
    /// That of `point`; `None` if its clients do not count retries, or no operation ended.
    pub fn measure(point: &PointData) -> Option<RetryRate> {
        let run = point.phase(Phase::Run)?;
        let ended = counted_of_all(point).map(|counted| counted.ended()).filter(|ended| *ended > 0)?;
        let grown = growth_of_all(point, CounterRole::Retries, run.start, run.end)?;
        Some(RetryRate { per_s: grown.per_second(), per_op: grown.amount / ended as f64 })
    }
}
