//! Finds the moments at which the rate went over to another level and stayed there.
//!
//! In: the levels of the run phase. Out: a note with the times and the levels.
//! Limits: needs 20 intervals. A level that is left again soon is a drop, one of next to nothing a stall; a slow change is
//! left to `unsteady`. Noise that remembers for longer than a twentieth of the run looks like levels.

use super::detector::{Detector, Measured, PointView};
use crate::shape::levels::LevelSpan;
use crate::text::{decimals, listed, percent, rate};
use crate::{Finding, Severity};

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector {
    code: "level-shift",
    help: "the rate went over to another level at once and stayed there",
    explain: "The rates of the intervals are cut into levels by penalised least squares (the change-point search of Killick, \
              Fearnhead and Eckley, JASA 107, 2012; the penalty is 4 ln(n) times the long-run variance of the noise, outliers \
              cut off). A shift counts where two levels differ by at least 10 % and by three robust standard deviations, and \
              where the change happens at once. A level lasts at least five intervals; one that is left again for the old one \
              in less than half of the time of its neighbours is a drop. On simulated noise without a shift (white, AR(1) up \
              to 0.7, heavy tails; 60 intervals) it speaks in at most 2 % of runs. Look for what began then: garbage \
              collection of a drive whose free blocks were used up, a cache that was full, a throttle. It describes the \
              target; whether the mean can be used is what `unsteady` says.",
    detect,
};

const INTERVALS_MIN: usize = 20;
const TOLD_MAX: usize = 4;
// Twice the deviation is plainly seen.
const UNSTEADIER: f64 = 2.0;

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
    let digits = decimals(measured.window.whole[0].length);
    let title = match levels {
        [before, after] => format!(
            "{} until {:.digits$} s, then {} ({}{})",
            rate(before.ops_per_s),
            after.span.from_s,
            rate(after.ops_per_s),
            change(before, after),
            unsteadier(before, after)
        ),
        several if several.len() <= TOLD_MAX => {
            let all: Vec<String> = several.iter().map(|level| told(level, digits)).collect();
            format!("the rate shifted {} times: {}", several.len() - 1, all.join(", "))
        }
        many => {
            let rates = || many.iter().map(|level| level.ops_per_s);
            let (least, most) = (rates().fold(f64::MAX, f64::min), rates().fold(0.0, f64::max));
            format!("the rate shifted {} times, between {} and {}", many.len() - 1, rate(least), rate(most))
        }
    };
    let next_step = "see what began at these times; quote the levels, not the mean over them";
    DETECTOR.finding(Severity::Note, title, evidence(levels, digits), next_step)
}

fn told(level: &LevelSpan, digits: usize) -> String {
    format!("{} from {:.digits$} s", rate(level.ops_per_s), level.span.from_s)
}

fn change(before: &LevelSpan, after: &LevelSpan) -> String {
    let share = after.ops_per_s / before.ops_per_s.max(f64::MIN_POSITIVE) - 1.0;
    match share {
        share if share < 0.0 => format!("{} less", percent(-share)),
        share if share <= 1.0 => format!("{} more", percent(share)),
        share => format!("{:.1} times as much", share + 1.0),
    }
}

fn unsteadier(before: &LevelSpan, after: &LevelSpan) -> &'static str {
    let (before, after) = (before.deviation / before.ops_per_s, after.deviation / after.ops_per_s);
    match () {
        () if after > UNSTEADIER * before && after > 0.02 => ", and less steady",
        () if before > UNSTEADIER * after && before > 0.02 => ", and steadier",
        () => "",
    }
}

fn evidence(levels: &[LevelSpan], digits: usize) -> String {
    const LISTED_MAX: usize = 8;
    let one = |level: &LevelSpan| {
        let (from, to) = (level.span.from_s, level.span.to_s);
        format!("{from:.digits$}-{to:.digits$} s {} +- {}", rate(level.ops_per_s), rate(level.deviation))
    };
    listed(levels, LISTED_MAX, one)
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
