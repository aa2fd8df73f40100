//! Finds runs that jump back and forth between two rates.
//!
//! In: the two levels of the run phase. Out: a note with both rates. Limits: needs 20 intervals, three jumps to either side, and
//! rates that keep apart; one of next to nothing is a stall or a burst.

use super::detector::Detector;
use crate::computed_phase::Measured;
use crate::course::shape::two_levels::TwoLevels;
use crate::evidence::PointView;
use crate::finding::rates::LevelPair;
use crate::finding::units::Share;
use crate::finding::{Code, NextStep};
use crate::{Finding, Severity};

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector { code: Code::TwoLevels, detect };

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(measured) = view.measured else { return Vec::new() };
    measured.shape.two_levels.map(|found| jumping(&found, &measured)).into_iter().collect()
}

fn jumping(found: &TwoLevels, measured: &Measured) -> Finding {
    let detail = LevelPair {
        low_per_s: found.low,
        high_per_s: found.high,
        low_share: Share(found.low_share),
        jumps: found.jumps,
        intervals: measured.window.whole.len(),
        interval_ns: measured.window.whole[0].length,
    };
    Finding::new(Severity::Note, detail).next(NextStep::FindTwoStates)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::course::shape::two_levels::find_two_levels;
    use crate::simulated::{Random, Simulation};

    #[test]
    fn one_thread_that_jumps_between_200_and_400_is_told_so() {
        let mut random = Random::new(4);
        let mut one = || if random.uniform() < 0.5 { 200.0 } else { 400.0 } + 6.0 * random.normal();
        let counts: Vec<u64> = (0..300).map(|_| one() as u64).collect();
        let simulation = Simulation::counts(&counts);
        let rates: Vec<f64> = counts.iter().map(|count| *count as f64).collect();
        let found = find_two_levels(&rates).expect("it jumps");
        assert!((found.low - 200.0).abs() < 3.0 && (found.high - 400.0).abs() < 3.0, "{found:?}");
        let pair: LevelPair = simulation.figures();
        assert_eq!((pair.low_per_s, pair.high_per_s, pair.jumps), (found.low, found.high, found.jumps));
        assert!(simulation.findings("level-shift").is_empty() && simulation.findings("drops").is_empty());
    }
}
