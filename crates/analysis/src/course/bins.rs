//! Many intervals as few bins of a round length, for a run that has more intervals than a chart can show.
//!
//! In: the recorded intervals of warmup and run. Out: [`IntervalBin`]s, or none if the intervals are few enough to be drawn.
//! A bin keeps the least and the greatest rate of its intervals, so that a stall of a second in five hours is still seen;
//! its percentiles come from the merged times, not from those of its intervals.
//! Limits: the last bin of a phase may be shorter than the others.

use crate::IntervalPoint;
use crate::course::series::interval_point;
use crate::recorded::window::{OpTally, Window};
use model::{Interval, Nanos, PhaseData};

/// A chart is some 650 units wide: that many intervals can still be distinguished.
const INTERVALS_DRAWN_MAX: usize = 600;
/// Two units each, so that a bin's extremes are seen.
const BINS_MAX: u64 = 300;

const SECOND: u64 = 1_000_000_000;
/// Lengths that divide minutes and hours, from a second on; shorter ones are 1, 2 and 5 times a power of ten.
const ROUND_S: [u64; 14] = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1_200, 1_800, 3_600, 7_200];

/// Several intervals as one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IntervalBin {
    /// All of them together.
    pub all: IntervalPoint,
    /// Operations per second in the slowest of them.
    pub least_per_s: f64,
    /// Operations per second in the fastest of them.
    pub most_per_s: f64,
}

/// How many intervals make a bin: so many that the bins have a round length, if one fits; `None` if `count` intervals
/// are few enough to be drawn.
pub fn intervals_per_bin(count: usize, interval: Nanos) -> Option<usize> {
    if count <= INTERVALS_DRAWN_MAX || interval.0 == 0 {
        return None;
    }
    let least = (count as u64).saturating_mul(interval.0) / BINS_MAX;
    let round = round_lengths().find(|length| *length >= least && length.is_multiple_of(interval.0));
    let round = round.map(|length| (length / interval.0) as usize);
    // An interval of 0.7 s divides no round length: then the bins are only as many as can be drawn.
    Some(round.unwrap_or_else(|| count.div_ceil(BINS_MAX as usize)))
}

fn round_lengths() -> impl Iterator<Item = u64> {
    let below_a_second = (7..9).flat_map(|power| [1, 2, 5].map(|step| step * 10u64.pow(power)));
    below_a_second.chain(ROUND_S.map(|seconds| seconds * SECOND))
}

/// The bins of `phase`, whose whole intervals are `whole`; times count from the beginning of the run phase of `window`.
pub fn make_bins(phase: &PhaseData, whole: &[OpTally], window: &Window, per_bin: usize) -> Vec<IntervalBin> {
    // Whole intervals at the end in which nothing ended have a tally and no record.
    let mut unread = &phase.intervals[..];
    let chunks = whole.chunks(per_bin).map(|tallies| {
        let recorded = unread.split_off(..tallies.len().min(unread.len())).unwrap_or_default();
        make_bin(tallies, recorded, window)
    });
    chunks.collect()
}

fn make_bin(tallies: &[OpTally], recorded: &[Interval], window: &Window) -> IntervalBin {
    let rates: Vec<f64> = tallies.iter().map(OpTally::ops_per_s).collect();
    IntervalBin {
        all: interval_point(&OpTally::joined(tallies), recorded, window),
        least_per_s: rates.iter().copied().fold(f64::MAX, f64::min),
        most_per_s: rates.iter().copied().fold(0.0, f64::max),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::Simulation;

    fn bins_of(simulation: &Simulation) -> Vec<IntervalBin> {
        simulation.analysis().points.remove(0).series.expect("it ran").bins
    }

    #[test]
    fn bins_have_round_lengths_and_there_are_at_most_300() {
        let of = |count, interval: Nanos| intervals_per_bin(count, interval);
        assert_eq!(of(600, Nanos(SECOND)), None);
        assert_eq!(of(1_800, Nanos(SECOND)), Some(10));
        assert_eq!(of(18_000, Nanos(SECOND)), Some(60));
        assert_eq!(of(1_800, Nanos::from_millis(100)), Some(10)); // a second
        assert_eq!(of(1_000, Nanos::from_millis(10)), Some(5)); // 50 ms
        assert_eq!(of(1_000, Nanos(7 * SECOND)), Some(4)); // no round length is a multiple of it
    }

    #[test]
    fn a_second_of_standstill_in_an_hour_is_the_least_rate_of_its_bin() {
        let mut counts = vec![1_000; 3_600];
        counts[1_234] = 0;
        let bins = bins_of(&Simulation::counts(&counts));
        assert_eq!(bins.len(), 180);
        let still: Vec<&IntervalBin> = bins.iter().filter(|bin| bin.least_per_s == 0.0).collect();
        let [bin] = still.as_slice() else { panic!("{still:?}") };
        assert_eq!(
            (bin.all.at_s, bin.all.length_s, bin.all.ops_per_s, bin.most_per_s),
            (1_220.0, 20.0, 950.0, 1_000.0)
        );
    }

    #[test]
    fn percentiles_of_a_bin_are_those_of_all_its_operations() {
        let mut simulation = Simulation::counts(&vec![10; 1_200]);
        // Of the 50 operations of the first bin, 15 are slow: the median is fast, though one of its intervals is slow.
        simulation.add(2, 15, 7_000_000_000, 7_000_000_000);
        let bins = bins_of(&simulation);
        assert_eq!(bins[0].all.length_s, 5.0);
        assert!(bins[0].all.p50_ns.is_some_and(|p50| p50 < 100_000_000), "{:?}", bins[0]);
        assert!(bins[0].all.p95_ns.is_some_and(|p95| p95 > 6_900_000_000), "{:?}", bins[0]);
    }

    #[test]
    fn the_end_of_a_run_makes_a_shorter_bin_and_a_short_run_makes_none() {
        let bins = bins_of(&Simulation::counts(&[100; 1_803]));
        let last = bins.last().expect("there are bins").all;
        assert_eq!((bins.len(), last.at_s, last.length_s, last.ops_per_s), (181, 1_800.0, 3.0, 100.0));
        assert!(bins_of(&Simulation::counts(&[100; 600])).is_empty());
    }
}
