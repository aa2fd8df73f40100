//! Bursts: everything is delivered at the beginning of a time slice, nothing for the rest of it.
//!
//! In: the rates of intervals shorter than the slices. Out: the [`Bursts`], with their period and the share of time without
//! anything. Limits: intervals of a slice or longer do not show it; then only the slow tail of the service times does.

use crate::IntervalPoint;
use crate::math::stats::{mean, median};

const INTERVALS_MIN: usize = 40;
// Operations in flight at the end of a slice still end in the time without any.
const OFF_RATE_SHARE: f64 = 0.05;
// The chance that Poisson arrivals with 10 expected are none is 5e-5.
const EXPECTED_OPS_MIN: f64 = 10.0;
const OFF_SHARE: std::ops::RangeInclusive<f64> = 0.2..=0.9;
// A CPU quota has 10 slices a second: 12 gaps are little more than a second.
const GAPS_MIN: usize = 12;
const REGULAR_SHARE_MIN: f64 = 0.6;
const GAP_SPREAD_MAX: f64 = 0.15;
/// Longer periods are stalls that people notice.
const PERIOD_MAX_S: f64 = 0.25;

/// Bursts at equal distances.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bursts {
    /// From the beginning of one burst to that of the next.
    pub period_s: f64,
    /// The share of the intervals in which next to nothing was done.
    pub off_share: f64,
    /// How many there were.
    pub count: usize,
}

/// The bursts of `run`, the intervals of a run phase.
pub fn find_bursts(run: &[IntervalPoint]) -> Option<Bursts> {
    let rates: Vec<f64> = run.iter().map(|point| point.ops_per_s).collect();
    let (usual, length_s) = (mean(&rates), run.first()?.length_s);
    if rates.len() < INTERVALS_MIN || usual * length_s < EXPECTED_OPS_MIN {
        return None;
    }
    let off: Vec<bool> = rates.iter().map(|rate| *rate < OFF_RATE_SHARE * usual).collect();
    let off_share = off.iter().filter(|off| **off).count() as f64 / off.len() as f64;
    let begins: Vec<usize> = (1..off.len()).filter(|at| off[at - 1] && !off[*at]).collect();
    let gaps: Vec<f64> = begins.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
    let period = median(&gaps)?;
    // Gaps are whole numbers of intervals: a difference of half an interval cannot be seen.
    let regular = gaps.iter().filter(|gap| (*gap - period).abs() <= (GAP_SPREAD_MAX * period).max(0.5)).count();
    // Intervals cut slices of another length into gaps of one interval more or less; a burst that lies in two intervals can
    // hide the gap before it.
    let near: Vec<f64> = gaps.iter().copied().filter(|gap| (gap - period).abs() <= 1.0).collect();
    let period_s = mean(&near) * length_s;
    let are_bursts = OFF_SHARE.contains(&off_share)
        && gaps.len() >= GAPS_MIN
        && regular as f64 >= REGULAR_SHARE_MIN * gaps.len() as f64
        && period_s <= PERIOD_MAX_S;
    are_bursts.then_some(Bursts { period_s, off_share, count: begins.len() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::{NOISES, Random};

    #[test]
    fn noise_never_comes_in_bursts() {
        for (name, noise) in NOISES {
            for seed in 0..200 {
                let noise = noise(&mut Random::new(seed), 200);
                let point = |(at, value): (usize, f64)| IntervalPoint {
                    at_s: at as f64 / 20.0,
                    length_s: 0.05,
                    ops_per_s: (1e3 * (1.0 + 0.3 * value)).max(0.0),
                    bytes_per_s: 0.0,
                    p50_ns: None,
                    p95_ns: None,
                    p99_ns: None,
                    max_ns: None,
                };
                let run: Vec<IntervalPoint> = noise.into_iter().enumerate().map(point).collect();
                assert_eq!(find_bursts(&run), None, "{name}, seed {seed}");
            }
        }
    }
}
