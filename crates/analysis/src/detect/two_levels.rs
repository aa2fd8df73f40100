//! Finds runs that jump to and fro between two rates.
//!
//! In: the rates of the whole intervals. Out: a note with both rates. Limits: needs 20 intervals, three jumps to either side, and
//! rates that keep apart; one of next to nothing is a stall or a burst.

use super::detector::{Detector, Measured, PointView};
use crate::shape::two_levels::TwoLevels;
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

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(measured) = view.measured else { return Vec::new() };
    measured.shape.two_levels.map(|found| told(&found, &measured)).into_iter().collect()
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
    use crate::shape::two_levels::find_two_levels;
    use crate::simulate::{Random, Simulation};

    #[test]
    fn one_thread_that_jumps_between_200_and_400_is_told_so() {
        let mut random = Random::new(4);
        let mut one = || if random.uniform() < 0.5 { 200.0 } else { 400.0 } + 6.0 * random.normal();
        let counts: Vec<u64> = (0..300).map(|_| one() as u64).collect();
        let simulation = Simulation::counts(&counts);
        let rates: Vec<f64> = counts.iter().map(|count| *count as f64).collect();
        let found = find_two_levels(&rates).expect("it jumps");
        assert!((found.low - 200.0).abs() < 3.0 && (found.high - 400.0).abs() < 3.0, "{found:?}");
        let title = simulation.finding("two-levels").title;
        assert_eq!(title, format!("the rate jumps between {} and {}", rate(found.low), rate(found.high)));
        assert!(simulation.findings("level-shift").is_empty() && simulation.findings("drops").is_empty());
    }
}
