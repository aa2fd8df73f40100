//! Mean, percentiles and maximum of response and service times.
//!
//! In: the recorded times of intervals. Out: the times of all of them together, and their [`Quantiles`].
//! Limits: percentiles are those of merged times, never means of percentiles.

use crate::recorded::window::Window;
use model::{Interval, KindRow, Times};
use serde::{Deserialize, Serialize};

/// Mean, percentiles and maximum of a distribution of times, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Quantiles {
    pub mean: f64,
    pub p50: u64,
    pub p95: u64,
    pub p99: u64,
    /// `None` if too few operations lie above it: then it is chance, and no table, file or sentence has it.
    pub p999: Option<u64>,
    pub max: u64,
}

/// A percentile that reports quote. It holds if enough operations lie above it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum SupportedPercentile {
    P50,
    P95,
    P99,
    P999,
}

/// All times of a run phase, those of the grace time included.
#[derive(Default)]
pub struct PhaseTimes {
    /// finished - intended.
    pub response: Times,
    /// finished - started.
    pub service: Times,
}

impl PhaseTimes {
    /// The times of the phase that `window` cuts.
    pub fn from_window(window: &Window) -> PhaseTimes {
        let intervals = &window.phase.intervals;
        let response = merge_times(intervals, |kind| &kind.response);
        let rows = || intervals.iter().flat_map(|interval| &interval.kinds);
        // In a closed loop both are the same.
        let service = match rows().all(|kind| kind.response.shares_memory(&kind.service)) {
            true => response.clone(),
            false => merge_times(intervals, |kind| &kind.service),
        };
        PhaseTimes { response, service }
    }
}

impl Quantiles {
    /// The quantiles of `times`; `None` if there is no time. Mean and maximum are exact; percentiles are off by
    /// [`model::histogram::PERCENTILE_ERROR_MAX`] at most.
    pub fn from_times(times: &Times) -> Option<Quantiles> {
        if times.is_empty() {
            return None;
        }
        let [p50, p95, p99, p999] = times.values_at_quantiles([0.5, 0.95, 0.99, 0.999]);
        let p999 = SupportedPercentile::P999.holds(times.len()).then_some(p999);
        Some(Quantiles { mean: times.mean_ns(), p50, p95, p99, p999, max: times.max_ns() })
    }
}

// With 10 operations above it, the number above a percentile is known to about a third (1 / sqrt(10)).
const ABOVE_MIN: f64 = 10.0;

impl SupportedPercentile {
    pub(crate) const ALL: [SupportedPercentile; 4] =
        [SupportedPercentile::P999, SupportedPercentile::P99, SupportedPercentile::P95, SupportedPercentile::P50];

    /// The share of the operations above it.
    fn share_above(self) -> f64 {
        match self {
            SupportedPercentile::P50 => 0.5,
            SupportedPercentile::P95 => 0.05,
            SupportedPercentile::P99 => 0.01,
            SupportedPercentile::P999 => 0.001,
        }
    }

    /// Whether so many operations support it. Half an operation of tolerance: 10,000 * 0.001 is not exactly 10.
    pub(crate) fn holds(self, ops: u64) -> bool {
        ops as f64 * self.share_above() >= ABOVE_MIN - 0.5 * self.share_above()
    }
}

/// The times of all kinds and intervals together.
pub fn merge_times<'a>(intervals: impl IntoIterator<Item = &'a Interval>, which: impl Fn(&KindRow) -> &Times) -> Times {
    Times::merged(intervals.into_iter().flat_map(|interval| &interval.kinds).map(which))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::Simulation;
    use proptest::prelude::*;

    #[test]
    fn the_mean_is_exact_though_a_bucket_is_wider_than_the_time() {
        let times: Vec<u64> = (0..10_000).map(|op| 1_048_700 + op % 7).collect();
        let simulation = Simulation::closed(10, |op| times[op as usize % times.len()]);
        let summary = simulation.analysis().points.remove(0).summary.expect("it ran");
        let count = (summary.ops + summary.grace_ops) as usize;
        let exact: u64 = (0..count).map(|op| times[op % times.len()]).sum();
        assert_eq!(summary.service_ns.map(|service| service.mean), Some(exact as f64 / count as f64));
    }

    #[test]
    fn the_highest_percentile_is_known_from_ten_thousand_operations_on() {
        let p999 = |count: u64| {
            let mut times = Times::default();
            times.record_n(100, count - 20);
            times.record_n(1_000_000, 20);
            Quantiles::from_times(&times).expect("it is not empty").p999
        };
        assert_eq!(p999(9_999), None);
        assert!(p999(10_000).is_some_and(|ns| ns > 990_000));
    }

    proptest! {
        #[test]
        fn percentiles_rise_for_any_times(times in prop::collection::vec(1u64..1 << 40, 1..200)) {
            let mut recorded = Times::default();
            times.iter().for_each(|time| recorded.record_n(*time, 1));
            let q = Quantiles::from_times(&recorded).expect("it is not empty");
            prop_assert!(q.p50 <= q.p95 && q.p95 <= q.p99 && q.p99 <= q.max && q.p999.is_none(), "{q:?}");
        }
    }
}
