//! The response and service times of a phase.
//!
//! In: the recorded times of intervals. Out: the times of all of them together, from which percentiles are taken.

use crate::recorded::window::Window;
use model::{Interval, KindRow, Times};

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
        let are_same = rows().all(|kind| kind.response.shares_memory(&kind.service));
        let service = if are_same { response.clone() } else { merge_times(intervals, |kind| &kind.service) };
        PhaseTimes { response, service }
    }
}

/// The times of all kinds and intervals together.
pub fn merge_times<'a>(intervals: impl IntoIterator<Item = &'a Interval>, which: impl Fn(&KindRow) -> &Times) -> Times {
    Times::merged(intervals.into_iter().flat_map(|interval| &interval.kinds).map(which))
}

#[cfg(test)]
mod tests {
    use crate::simulated::Simulation;

    #[test]
    fn the_mean_is_exact_though_a_bucket_is_wider_than_the_time() {
        let times: Vec<u64> = (0..10_000).map(|op| 1_048_700 + op % 7).collect();
        let simulation = Simulation::closed(10, |op| times[op as usize % times.len()]);
        let summary = simulation.analysis().points.remove(0).summary.expect("it ran");
        let count = (summary.ops + summary.grace_ops) as usize;
        let exact: u64 = (0..count).map(|op| times[op % times.len()]).sum();
        assert_eq!(summary.service_ns.map(|service| service.mean), Some(exact as f64 / count as f64));
    }
}
