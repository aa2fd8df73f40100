//! Finds the moments at which the rate changed to another level and stayed there.
//!
//! In: the levels of the run phase. Out: a note with the times and the levels.
//! Limits: needs 20 intervals. A level that is left again soon is a drop, one of next to nothing a stall; a slow change is
//! left to `unsteady`, and a rate that swings or jumps back and forth to `wave` and `two-levels`.

use super::phrases::{at_second, span};
use super::{CourseDisturbance, Detects, Finding, FindingKind, ShownBy, Watched};
use crate::computed_phase::Measured;
use crate::course::shape::levels::LevelSpan;
use crate::evidence::PointView;
use crate::judgement::{NextStep, Severity};
use model::Nanos;
use serde::Serialize;
use words::list::listed;
use words::quantity::{Quantity, percent, rate};

// Twice the deviation is plainly seen.
const UNSTEADIER: f64 = 2.0;

// Below 2 % of the mean, twice the deviation is still a steady rate.
const VISIBLE_VARIATION: f64 = 0.02;

/// Levels that the rate kept to, one after the other.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LevelShifts {
    /// There are at least two.
    pub levels: Vec<LevelSpan>,
    /// The length of an interval, which is how exactly the times are known.
    pub interval_ns: Nanos,
}

/// How the variation about a level differs from that about the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VariationChange {
    /// It is more than twice as wide.
    LessSteady,
    /// It is less than half as wide.
    Steadier,
    /// It is about the same.
    Alike,
}

impl LevelShifts {
    /// The lowest and the highest level.
    pub fn extremes(&self) -> [f64; 2] {
        let rates = || self.levels.iter().map(|level| level.ops_per_s);
        [rates().fold(f64::MAX, f64::min), rates().fold(0.0, f64::max)]
    }

    /// By which share of the first level the last differs from it.
    pub fn change_share(&self) -> f64 {
        self.levels[self.levels.len() - 1].ops_per_s / self.levels[0].ops_per_s - 1.0
    }

    /// How the variation about the second level differs from that about the first.
    pub fn variation(&self) -> VariationChange {
        let [before, after] = [0, 1].map(|nth| self.levels[nth].deviation / self.levels[nth].ops_per_s);
        match () {
            () if after > UNSTEADIER * before && after > VISIBLE_VARIATION => VariationChange::LessSteady,
            () if before > UNSTEADIER * after && before > VISIBLE_VARIATION => VariationChange::Steadier,
            () => VariationChange::Alike,
        }
    }
}

// Of fewer, a level has so few that noise makes it.
const INTERVALS_MIN: usize = 20;

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(measured) = view.measured else { return Vec::new() };
    // Rounds that are steady by their rule have one answer already.
    if view.rounds.is_some_and(|rounds| rounds.steady_window().is_some()) {
        return Vec::new();
    }
    let is_long_enough = measured.window.whole.len() >= INTERVALS_MIN;
    let swings = measured.shape.two_levels.is_some() || measured.shape.wave.is_some();
    let has_shifted = measured.shape.levels.len() > 1 && !swings;
    if is_long_enough && has_shifted { vec![shifted(&measured.shape.levels, &measured)] } else { Vec::new() }
}

fn shifted(levels: &[LevelSpan], measured: &Measured) -> Finding {
    let detail = LevelShifts { levels: levels.to_vec(), interval_ns: measured.window.whole[0].length };
    let spans = levels.iter().map(|level| level.span).collect();
    Finding::new(Severity::Note, detail).at(spans).next(NextStep::FindWhatBegan)
}

impl FindingKind for LevelShifts {
    const SEVERITIES: &'static [Severity] = &[Severity::Note];
    const DETECTS: Detects = Detects::Point(detect);
    const WATCHED: Watched = Watched::OfStatements;
    const DISTURBANCE: Option<CourseDisturbance> = Some(CourseDisturbance::Shifted);
    const SHOWN_BY: ShownBy = ShownBy::Rates;

    fn gravity(&self) -> Option<f64> {
        let [least, most] = self.extremes();
        Some(1.0 - least / most.max(f64::MIN_POSITIVE))
    }

    fn title(alike: &[&Self]) -> String {
        let LevelShifts { levels, interval_ns: interval } = alike[0];
        match levels.as_slice() {
            [before, after] => format!(
                "{} until {}, then {} ({}{})",
                rate(before.ops_per_s),
                at_second(after.span.from_s, *interval),
                rate(after.ops_per_s),
                signed_change(alike[0].change_share()),
                variation_words(alike[0].variation())
            ),
            levels if levels.len() <= SHIFTS_LISTED_MAX => {
                let level = |level: &LevelSpan| {
                    format!("{} from {}", rate(level.ops_per_s), at_second(level.span.from_s, *interval))
                };
                let listed: Vec<String> = levels.iter().map(level).collect();
                format!("the rate shifted {} times: {}", levels.len() - 1, listed.join(", "))
            }
            levels => {
                let [least, most] = alike[0].extremes().map(rate);
                format!("the rate shifted {} times, between {least} and {most}", levels.len() - 1)
            }
        }
    }

    fn evidence(&self) -> String {
        const LEVELS_LISTED_MAX: usize = 8;
        let one = |level: &LevelSpan| {
            format!("{} {} ±{}", span(&level.span, self.interval_ns), rate(level.ops_per_s), rate(level.deviation))
        };
        listed(&self.levels, LEVELS_LISTED_MAX, one)
    }
}

/// So many levels fit a title.
const SHIFTS_LISTED_MAX: usize = 4;

/// `40 % less`, `60 % more`.
pub fn signed_change(share: f64) -> Quantity {
    let percent = percent(share.abs());
    percent.with_suffix(if share < 0.0 { " % less" } else { " % more" })
}

fn variation_words(change: VariationChange) -> &'static str {
    match change {
        VariationChange::LessSteady => ", and less steady",
        VariationChange::Steadier => ", and steadier",
        VariationChange::Alike => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::Code;
    use crate::simulated::{Random, Simulation, noisy};

    #[test]
    fn a_drive_whose_garbage_collection_begins_is_told_with_its_time_and_both_levels() {
        let mut random = Random::new(5);
        let mut one = |at| if at < 400 { 3_800.0 + 50.0 * random.normal() } else { 3_000.0 + 250.0 * random.normal() };
        let counts: Vec<u64> = (0..1_800).map(|at| one(at) as u64).collect();
        let simulation = Simulation::counts(&counts);
        let found: LevelShifts = simulation.figures();
        let [before, after] = found.levels[..] else { panic!("{found:?}") };
        assert!((before.ops_per_s / 3_800.0 - 1.0).abs() < 0.005 && after.span.from_s == 400.0, "{found:?}");
        assert!((2_950.0..3_100.0).contains(&after.ops_per_s), "{found:?}");
        assert_eq!(found.variation(), VariationChange::LessSteady);
        assert_eq!(simulation.finding("level-shift").severity, Severity::Note);
    }

    #[test]
    fn a_limit_that_was_lowered_for_a_while_is_told_with_both_times() {
        let simulation = noisy(1, 60, 0.0, |at| if (16..32).contains(&at) { 1_000.0 } else { 3_000.0 });
        let found: LevelShifts = simulation.figures();
        let levels: Vec<(f64, f64)> = found.levels.iter().map(|level| (level.span.from_s, level.ops_per_s)).collect();
        assert_eq!(levels, [(0.0, 3_000.0), (16.0, 1_000.0), (32.0, 3_000.0)]);
    }

    #[test]
    fn a_stall_is_no_shift_and_hides_none() {
        let frozen = noisy(1, 60, 5.0, |at| if (20..38).contains(&at) { 0.0 } else { 1_000.0 });
        assert!(frozen.findings("level-shift").is_empty() && frozen.findings("stall").len() == 1);
        let both = noisy(1, 60, 5.0, |at| [1_000.0, 0.0, 600.0][at as usize / 20]);
        let found: LevelShifts = both.figures();
        let [before, after] = found.levels[..] else { panic!("{found:?}") };
        assert!(after.span.from_s == 40.0 && (after.ops_per_s / before.ops_per_s - 0.6).abs() < 0.005, "{found:?}");
        assert_eq!(found.variation(), VariationChange::Alike);
    }

    #[test]
    fn many_shifts_are_counted_between_their_extremes() {
        let simulation = noisy(1, 200, 3.0, |at| if at / 20 % 2 == 0 { 200.0 } else { 400.0 });
        let found = simulation.analysis().points.remove(0).findings;
        assert!(found.iter().any(|finding| finding.code() == Code::TwoLevels), "{found:?}");
        let three = noisy(1, 200, 3.0, |at| [200.0, 400.0, 650.0][at as usize / 20 % 3]);
        assert_eq!(three.figures::<LevelShifts>().levels.len(), 10);
    }

    #[test]
    fn short_runs_and_ramps_have_no_shift() {
        assert!(noisy(1, 19, 1.0, |at| if at < 10 { 100.0 } else { 50.0 }).findings("level-shift").is_empty());
        assert!(noisy(1, 300, 5.0, |at| 300.0 + at as f64).findings("level-shift").is_empty());
    }
}
