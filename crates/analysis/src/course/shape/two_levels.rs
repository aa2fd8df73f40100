//! Two rates between which a run jumps back and forth.
//!
//! In: the rates of the intervals. Out: the [`TwoLevels`]. Limits: it needs 20 intervals, three jumps in each direction, and few
//! rates between the two; a lower rate of next to nothing is a stall or a burst.

use crate::math::stats::{median, robust_deviation};

// Fewer do not hold three stays on each level.
const INTERVALS_MIN: usize = 20;
const SHARE_MIN: f64 = 0.1;
const APART_SHARE_MIN: f64 = 0.2;
const APART_DEVIATIONS_MIN: f64 = 8.0;
const BETWEEN_SHARE_MAX: f64 = 0.04;
const JUMPS_MIN: usize = 6;
const LOWER_SHARE_MIN: f64 = 0.25;

/// If the rate is at the higher level most of the time, the lower one is a disturbance.
const DROPS_SHARE_MAX: f64 = 0.25;
const REGULAR_DROPS_SHARE_MAX: f64 = 0.35;

/// Two rates that a run jumps between.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TwoLevels {
    /// The median of the lower intervals.
    pub low: f64,
    /// The median of the higher intervals.
    pub high: f64,
    /// The share of the intervals that are lower.
    pub low_share: f64,
    /// How often the rate changed from one to the other.
    pub jumps: usize,
}

impl TwoLevels {
    /// Whether the lower intervals are drops: there are so many `drops`, and they fill little of the time, or come at equal distances.
    pub fn are_drops(&self, drops: usize, are_regular: bool) -> bool {
        let most = if are_regular { REGULAR_DROPS_SHARE_MAX } else { DROPS_SHARE_MAX };
        drops > 0 && self.low_share <= most
    }
}

/// The two levels between which `rates` jump.
pub fn find_two_levels(rates: &[f64]) -> Option<TwoLevels> {
    if rates.len() < INTERVALS_MIN {
        return None;
    }
    let mut sorted = rates.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (lower, higher) = sorted.split_at(find_split(&sorted));
    let (low, high) = (median(lower)?, median(higher)?);
    let apart = high - low;
    let deviation = robust_deviation(lower).max(robust_deviation(higher));
    let n = rates.len() as f64;
    // A ramp or a wave passes through the middle third; a rate that jumps is rarely in it.
    let between = rates.iter().filter(|rate| (low + apart / 3.0..high - apart / 3.0).contains(*rate)).count();
    let middle = (low + high) / 2.0;
    let jumps = rates.windows(2).filter(|pair| (pair[0] < middle) != (pair[1] < middle)).count();
    let low_share = lower.len() as f64 / n;
    let is_two = (SHARE_MIN..=1.0 - SHARE_MIN).contains(&low_share)
        && low >= LOWER_SHARE_MIN * high
        && apart >= APART_SHARE_MIN * high
        && apart >= APART_DEVIATIONS_MIN * deviation
        && between as f64 <= BETWEEN_SHARE_MAX * n
        && jumps >= JUMPS_MIN;
    is_two.then_some(TwoLevels { low, high, low_share, jumps })
}

/// How many of `sorted` are in the lower group, so that the squares about the means of the two groups are least (N. Otsu, "A threshold
/// selection method from gray-level histograms", IEEE Transactions on Systems, Man, and Cybernetics 9, 1979).
fn find_split(sorted: &[f64]) -> usize {
    let total: f64 = sorted.iter().sum();
    let (n, mut below) = (sorted.len() as f64, 0.0);
    let mut best = (1, f64::MIN);
    for (lower, value) in (1..sorted.len()).zip(sorted) {
        below += value;
        let share = lower as f64;
        // The variance between the groups is greatest if that within them is least, and it needs one pass only.
        let between = (below / share - (total - below) / (n - share)).powi(2) * share * (n - share);
        if between > best.1 {
            best = (lower, between);
        }
    }
    best.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::{NOISES, Random};

    #[test]
    fn one_shift_is_not_two_levels_and_neither_are_drops_to_nothing() {
        let shift: Vec<f64> = (0..100).map(|at| if at < 50 { 200.0 } else { 400.0 }).collect();
        assert_eq!(find_two_levels(&shift), None);
        let stalls: Vec<f64> = (0..100).map(|at| if at % 4 == 0 { 0.0 } else { 400.0 }).collect();
        assert_eq!(find_two_levels(&stalls), None);
    }

    #[test]
    fn noise_has_two_levels_in_one_percent_of_runs_at_most() {
        for (name, noise) in NOISES {
            for n in [20, 60, 300] {
                let found = (0..200).filter(|seed| {
                    let noise = noise(&mut Random::new(*seed), n);
                    let rates: Vec<f64> = noise.iter().map(|value| (1e3 * (1.0 + 0.1 * value)).max(0.0)).collect();
                    find_two_levels(&rates).is_some()
                });
                let found = found.count();
                assert!(found <= 2, "{name}, {n} intervals: {found} of 200");
            }
        }
    }
}
