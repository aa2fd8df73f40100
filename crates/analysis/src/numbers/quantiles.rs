//! Mean, percentiles and maximum of response and service times.
//!
//! In: the recorded times of intervals. Out: merged histograms, and their [`Quantiles`].
//! Limits: percentiles are those of merged histograms, never means of percentiles.

use crate::window::Window;
use hdrhistogram::Histogram;
use model::histogram::new_hdr;
use model::{Interval, KindInterval, Times};
use serde::{Deserialize, Serialize};

/// Mean, percentiles and maximum of a distribution of times, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Quantiles {
    pub mean: f64,
    pub p50: u64,
    pub p95: u64,
    pub p99: u64,
    pub p999: u64,
    pub max: u64,
}

/// All times of a run phase, those of the grace time included.
pub struct PhaseTimes {
    /// finished - intended.
    pub response: MergedTimes,
    /// finished - started.
    pub service: MergedTimes,
}

/// The times of many intervals.
pub struct MergedTimes {
    /// How often each occurred.
    pub histogram: Histogram<u64>,
    /// Their sum, as it was recorded.
    pub sum_ns: u128,
}

impl PhaseTimes {
    /// Those of the phase that `window` cuts.
    pub fn from_window(window: &Window) -> PhaseTimes {
        let intervals = &window.phase.intervals;
        let response = MergedTimes::from_intervals(intervals, |kind| &kind.response);
        PhaseTimes { response, service: MergedTimes::from_intervals(intervals, |kind| &kind.service) }
    }
}

impl MergedTimes {
    fn from_intervals(intervals: &[Interval], which: impl Fn(&KindInterval) -> &Times) -> MergedTimes {
        let kinds = intervals.iter().flat_map(|interval| &interval.kinds);
        let sum_ns = kinds.fold(0u128, |sum, kind| sum.saturating_add(which(kind).sum_ns()));
        MergedTimes { histogram: merge_times(intervals, which), sum_ns }
    }

    /// Mean, percentiles and maximum; `None` if there is no time. The mean is exact; percentiles are off by
    /// [`model::histogram::PERCENTILE_ERROR_MAX`] at most.
    pub fn quantiles(&self) -> Option<Quantiles> {
        let times = &self.histogram;
        let at = |quantile| times.value_at_quantile(quantile);
        let of_some = || Quantiles {
            mean: self.sum_ns as f64 / times.len() as f64,
            p50: at(0.5),
            p95: at(0.95),
            p99: at(0.99),
            p999: at(0.999),
            max: times.max(),
        };
        (!times.is_empty()).then(of_some)
    }
}

/// The times of all kinds and intervals as one histogram.
pub fn merge_times<'a>(
    intervals: impl IntoIterator<Item = &'a Interval>,
    which: impl Fn(&KindInterval) -> &Times,
) -> Histogram<u64> {
    let mut all = new_hdr();
    for kind in intervals.into_iter().flat_map(|interval| &interval.kinds) {
        which(kind).add_to(&mut all);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::Simulation;
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

    proptest! {
        #[test]
        fn percentiles_rise_for_any_times(times in prop::collection::vec(1u64..1 << 40, 1..200)) {
            let mut histogram = new_hdr();
            for time in &times {
                histogram.record(*time).expect("it resizes");
            }
            let sum_ns = times.iter().map(|time| u128::from(*time)).sum();
            let q = MergedTimes { histogram, sum_ns }.quantiles().expect("it is not empty");
            prop_assert!(q.p50 <= q.p95 && q.p95 <= q.p99 && q.p99 <= q.p999 && q.p999 <= q.max, "{q:?}");
        }
    }
}
