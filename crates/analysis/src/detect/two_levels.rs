//! Finds runs that jump to and fro between two rates.
//!
//! In: the rates of the whole intervals. Out: a note with both rates. Limits: needs 20 intervals, three jumps to either side, and
//! rates that keep apart; one of next to nothing is a stall or a burst.

use super::detector::{Detector, Measured, PointView};
use crate::stats::{median, robust_deviation};
use crate::text::{percent, rate};
use crate::{Finding, Severity};

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector {
    code: "two-levels",
    help: "the rate jumps to and fro between two levels",
    explain: "The rates of the intervals are parted where the two groups are tightest (two means, as in N. Otsu, IEEE \
              Transactions SMC 9, 1979). They are two levels where each has at least a tenth of the intervals, their medians \
              are 20 % and eight robust standard deviations of a group apart, at most 4 % of the intervals lie in the middle \
              third between them, the rate goes over at least six times, and the lower is at least a quarter of the higher. \
              On simulated noise it speaks in at most 1 % of runs. A mean between the two is a rate that the target never \
              has: quote both. Usual reasons are two states of a cache or a journal, or a client that meets another one.",
    detect,
};

const INTERVALS_MIN: usize = 20;
const SHARE_MIN: f64 = 0.1;
const APART_SHARE_MIN: f64 = 0.2;
const APART_DEVIATIONS_MIN: f64 = 8.0;
const BETWEEN_SHARE_MAX: f64 = 0.04;
const JUMPS_MIN: usize = 6;
const LOWER_SHARE_MIN: f64 = 0.25;

/// Two rates that a run jumps between.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TwoLevels {
    /// The median of the lower intervals.
    pub low: f64,
    /// The median of the higher intervals.
    pub high: f64,
    /// Which share of all are the lower.
    pub low_share: f64,
    /// How often the rate went over.
    pub jumps: usize,
}

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(measured) = view.measured else { return Vec::new() };
    of(&measured).map(|found| told(&found, &measured)).into_iter().collect()
}

/// The two rates of a run phase that jumps between two.
pub fn of(measured: &Measured) -> Option<TwoLevels> {
    two_levels(&measured.window.rates())
}

/// The two levels between which `rates` jump.
pub fn two_levels(rates: &[f64]) -> Option<TwoLevels> {
    if rates.len() < INTERVALS_MIN {
        return None;
    }
    let mut sorted = rates.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (lower, higher) = sorted.split_at(parting(&sorted));
    let (low, high) = (median(lower)?, median(higher)?);
    let apart = high - low;
    let deviation = robust_deviation(lower).max(robust_deviation(higher));
    let n = rates.len() as f64;
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

/// How many of `sorted` are in the lower group: the squares about the means of both groups are then least, which is where the
/// means weighted by their numbers are farthest apart.
fn parting(sorted: &[f64]) -> usize {
    let total: f64 = sorted.iter().sum();
    let (n, mut below) = (sorted.len() as f64, 0.0);
    let mut best = (1, f64::MIN);
    for (lower, value) in (1..sorted.len()).zip(sorted) {
        below += value;
        let share = lower as f64;
        let between = (below / share - (total - below) / (n - share)).powi(2) * share * (n - share);
        if between > best.1 {
            best = (lower, between);
        }
    }
    best.0
}

fn told(found: &TwoLevels, measured: &Measured) -> Finding {
    let title = format!("the rate jumps between {} and {}", rate(found.low), rate(found.high));
    let evidence = format!(
        "{} of {} intervals of {} near the lower; it went over {} times",
        percent(found.low_share),
        measured.window.whole.len(),
        measured.window.whole[0].length,
        found.jumps
    );
    DETECTOR.finding(Severity::Note, title, evidence, "quote both rates; look for what has two states")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::{NOISES, Random, Simulation};

    #[test]
    fn one_thread_that_jumps_between_200_and_400_is_told_so() {
        let mut random = Random::new(4);
        let mut one = || if random.uniform() < 0.5 { 200.0 } else { 400.0 } + 6.0 * random.normal();
        let counts: Vec<u64> = (0..300).map(|_| one() as u64).collect();
        let simulation = Simulation::counts(&counts);
        let rates: Vec<f64> = counts.iter().map(|count| *count as f64).collect();
        let found = two_levels(&rates).expect("it jumps");
        assert!((found.low - 200.0).abs() < 3.0 && (found.high - 400.0).abs() < 3.0, "{found:?}");
        let title = simulation.finding("two-levels").title;
        assert_eq!(title, format!("the rate jumps between {} and {}", rate(found.low), rate(found.high)));
        assert!(simulation.findings("level-shift").is_empty() && simulation.findings("drops").is_empty());
    }

    #[test]
    fn one_shift_is_not_two_levels_and_neither_are_drops_to_nothing() {
        let shift: Vec<f64> = (0..100).map(|at| if at < 50 { 200.0 } else { 400.0 }).collect();
        assert_eq!(two_levels(&shift), None);
        let stalls: Vec<f64> = (0..100).map(|at| if at % 4 == 0 { 0.0 } else { 400.0 }).collect();
        assert_eq!(two_levels(&stalls), None);
    }

    #[test]
    fn noise_has_two_levels_in_one_percent_of_runs_at_most() {
        for (name, noise) in NOISES {
            for n in [20, 60, 300] {
                let found = (0..200).filter(|seed| {
                    let noise = noise(&mut Random::new(*seed), n);
                    let rates: Vec<f64> = noise.iter().map(|value| (1e3 * (1.0 + 0.1 * value)).max(0.0)).collect();
                    two_levels(&rates).is_some()
                });
                let found = found.count();
                assert!(found <= 2, "{name}, {n} intervals: {found} of 200");
            }
        }
    }
}
