//! Finds the moments at which the rate changed to another level and stayed there.
//!
//! In: the levels of the run phase. Out: a note with the times and the levels.
//! Limits: needs 20 intervals. A level that is left again soon is a drop, one of next to nothing a stall; a slow change is
//! left to `unsteady`. Noise that remembers for longer than a twentieth of the run looks like levels.

use super::detector::{Detector, Measured, PointView};
use crate::finding::rates::LevelShifts;
use crate::finding::{Code, NextStep};
use crate::shape::levels::LevelSpan;
use crate::{Finding, Severity};

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector { code: Code::LevelShift, detect };

const INTERVALS_MIN: usize = 20;

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(measured) = view.measured else { return Vec::new() };
    // Rounds that are steady by their rule have one answer already.
    if view.rounds.is_some_and(|rounds| rounds.steady().is_some()) {
        return Vec::new();
    }
    let is_long_enough = measured.window.whole.len() >= INTERVALS_MIN;
    let has_shifted = measured.shape.levels.len() > 1 && measured.shape.two_levels.is_none();
    match is_long_enough && has_shifted {
        true => vec![shifted(&measured.shape.levels, &measured)],
        false => Vec::new(),
    }
}

fn shifted(levels: &[LevelSpan], measured: &Measured) -> Finding {
    let detail = LevelShifts { levels: levels.to_vec(), interval_ns: measured.window.whole[0].length };
    let spans = levels.iter().map(|level| level.span).collect();
    Finding::new(Severity::Note, detail).at(spans).next(NextStep::FindWhatBegan)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::{Random, Simulation, noisy};

    #[test]
    fn a_drive_whose_garbage_collection_begins_is_told_with_its_time_and_both_levels() {
        let mut random = Random::new(5);
        let mut one = |at| if at < 400 { 3_800.0 + 50.0 * random.normal() } else { 3_000.0 + 250.0 * random.normal() };
        let counts: Vec<u64> = (0..1_800).map(|at| one(at) as u64).collect();
        let finding = Simulation::counts(&counts).finding("level-shift");
        let rest = finding.title.strip_prefix("3.80k/s until 400.0 s, then ").expect("its time and its first level");
        assert!(rest.starts_with("2.98k/s") || rest.starts_with("3.0"), "{rest}");
        assert!(finding.title.ends_with(" % less, and less steady)"), "{}", finding.title);
        assert_eq!(finding.severity, Severity::Note);
    }

    #[test]
    fn a_limit_that_was_lowered_for_a_while_is_told_with_both_times() {
        let simulation = noisy(1, 60, 0.0, |at| if (16..32).contains(&at) { 1_000.0 } else { 3_000.0 });
        let title = simulation.finding("level-shift").title;
        assert_eq!(title, "the rate shifted 2 times: 3.00k/s from 0.0 s, 1.00k/s from 16.0 s, 3.00k/s from 32.0 s");
    }

    #[test]
    fn a_stall_is_no_shift_and_hides_none() {
        let frozen = noisy(1, 60, 5.0, |at| if (20..38).contains(&at) { 0.0 } else { 1_000.0 });
        assert!(frozen.findings("level-shift").is_empty() && frozen.findings("stall").len() == 1);
        let both = noisy(1, 60, 5.0, |at| [1_000.0, 0.0, 600.0][at as usize / 20]);
        let title = both.finding("level-shift").title;
        assert!(title.contains("/s until 40.0 s, then 60") && title.ends_with("(40 % less)"), "{title}");
    }

    #[test]
    fn many_shifts_are_counted_between_their_extremes() {
        let simulation = noisy(1, 200, 3.0, |at| if at / 20 % 2 == 0 { 200.0 } else { 400.0 });
        let found = simulation.analysis().points.remove(0).findings;
        assert!(found.iter().any(|finding| finding.code == "two-levels"), "{found:?}");
        let three = noisy(1, 200, 3.0, |at| [200.0, 400.0, 650.0][at as usize / 20 % 3]);
        let title = three.finding("level-shift").title;
        assert!(title.starts_with("the rate shifted 9 times, between "), "{title}");
    }

    #[test]
    fn short_runs_and_ramps_have_no_shift() {
        assert!(noisy(1, 19, 1.0, |at| if at < 10 { 100.0 } else { 50.0 }).findings("level-shift").is_empty());
        assert!(noisy(1, 300, 5.0, |at| 300.0 + at as f64).findings("level-shift").is_empty());
    }
}
