//! How often operations were tried again after a conflict: a deadlock, a lock-wait timeout, a serialization failure.
//!
//! In: the clients' own count. Out: retries per second and per operation. Limits: the count is of all clients, those in the background
//! among them; one operation may be tried again several times.

use crate::math::repeats::Repeated;
use crate::numbers::background::EndedOps;
use crate::recorded::counters::growth_of_all;
use model::{CounterRole, Phase, PointData};
use serde::{Deserialize, Serialize};

/// How often operations were tried again in the run phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RetryRate {
    pub per_s: f64,
    /// Retries for each operation that ended.
    pub per_op: f64,
}

impl RetryRate {
    /// That of `point`, whose clients ended so many operations; `None` if they do not count retries, or no operation ended.
    pub fn measure(point: &PointData, ended: EndedOps) -> Option<RetryRate> {
        let run = point.phase(Phase::Run)?;
        let grown = growth_of_all(point, CounterRole::Retries, run.start, run.end)?;
        (ended.all() > 0).then(|| RetryRate { per_s: grown.per_second(), per_op: grown.amount / ended.all() as f64 })
    }

    /// That of repeats: the mean per second, and all retries over all operations that ended. Each comes with those of its repeat.
    pub(crate) fn combine(all: &[(RetryRate, EndedOps)]) -> Option<RetryRate> {
        let retries: f64 = all.iter().map(|(rate, ended)| rate.per_op * ended.all() as f64).sum();
        let ended: u64 = all.iter().map(|(_, ended)| ended.all()).sum();
        let per_s = Repeated::new(all).mean(|(rate, _)| rate.per_s);
        (ended > 0).then(|| RetryRate { per_s, per_op: retries / ended as f64 })
    }
}
