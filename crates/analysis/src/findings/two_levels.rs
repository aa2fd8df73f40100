//! Finds runs that jump back and forth between two rates.
//!
//! In: the two levels of the run phase. Out: a note with both rates. Limits: needs 20 intervals, three jumps to either side, and
//! rates that keep apart; one of next to nothing is a stall or a burst.

use super::{CourseDisturbance, Detects, Finding, FindingKind, ShownBy, Watched};
use crate::computed_phase::Measured;
use crate::course::shape::two_levels::TwoLevels;
use crate::evidence::PointView;
use crate::judgement::{NextStep, Severity};
use crate::math::units::Share;
use model::Nanos;
use serde::Serialize;
use words::quantity::{percent, rate};

/// Two rates that a run jumps between.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LevelPair {
    /// The median of the lower intervals.
    pub low_per_s: f64,
    /// The median of the higher intervals.
    pub high_per_s: f64,
    /// The share of the lower among all intervals.
    pub low_share: Share,
    /// How often the rate changed sides.
    pub jumps: usize,
    /// How many intervals there are.
    pub intervals: usize,
    /// The length of one.
    pub interval_ns: Nanos,
}

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

impl FindingKind for LevelPair {
    const SEVERITIES: &'static [Severity] = &[Severity::Note];
    const DETECTS: Detects = Detects::Point(detect);
    const WATCHED: Watched = Watched::OfStatements;
    const DISTURBANCE: Option<CourseDisturbance> = Some(CourseDisturbance::Shifted);
    const SHOWN_BY: ShownBy = ShownBy::Rates;

    fn gravity(&self) -> Option<f64> {
        Some(1.0 - self.low_per_s / self.high_per_s.max(f64::MIN_POSITIVE))
    }

    fn title(alike: &[&Self]) -> String {
        format!("the rate jumps between {} and {}", rate(alike[0].low_per_s), rate(alike[0].high_per_s))
    }

    fn evidence(&self) -> String {
        format!(
            "{} of {} intervals of {} are near the lower; the rate changed sides {} times",
            percent(self.low_share.0),
            self.intervals,
            self.interval_ns,
            self.jumps
        )
    }
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
