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
    pub response: Histogram<u64>,
    /// finished - started.
    pub service: Histogram<u64>,
}

impl PhaseTimes {
    /// Those of the phase that `window` cuts.
    pub fn from_window(window: &Window) -> PhaseTimes {
        let intervals = &window.phase.intervals;
        let response = merge_times(intervals, |kind| &kind.response);
        PhaseTimes { response, service: merge_times(intervals, |kind| &kind.service) }
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

impl Quantiles {
    /// Those of `times`; `None` of an empty histogram.
    pub fn from_times(times: &Histogram<u64>) -> Option<Quantiles> {
        let at = |quantile| times.value_at_quantile(quantile);
        let of_some = || Quantiles {
            mean: times.mean(),
            p50: at(0.5),
            p95: at(0.95),
            p99: at(0.99),
            p999: at(0.999),
            max: times.max(),
        };
        (!times.is_empty()).then(of_some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn percentiles_rise_for_any_times(times in prop::collection::vec(1u64..1 << 40, 1..200)) {
            let mut histogram = new_hdr();
            for time in times {
                histogram.record(time).expect("it resizes");
            }
            let q = Quantiles::from_times(&histogram).expect("it is not empty");
            prop_assert!(q.p50 <= q.p95 && q.p95 <= q.p99 && q.p99 <= q.p999 && q.p999 <= q.max, "{q:?}");
        }
    }
}
