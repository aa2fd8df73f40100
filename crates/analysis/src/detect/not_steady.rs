//! Finds runs until steady that did not settle.
//!
//! In: the rounds of the run phase. Out: a warning with the last rounds as evidence. Limits: that of the rule, five rounds; see
//! [`model::steady`].

use super::detector::{Detector, PointView};
use crate::rounds::Rounds;
use crate::text::{percent, plural, rate};
use crate::{Finding, Severity};
use model::steady::{RANGE_MAX, SLOPE_MAX, WINDOW_ROUNDS, Window};

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector {
    code: "not-steady",
    help: "the run ended before five rounds in a row were level",
    explain: "The run was to last until five rounds in a row are level (at most 20 % of their mean between the greatest and the \
              least rate, at most 10 % between the ends of a straight line through them), and ended before that: after \
              rounds_max rounds, or because something stopped it. The numbers are those of the last five rounds and only \
              indicative: the device was still changing. Allow more rounds, make them longer where the rate jumps from round to \
              round, or write the data more often before (precondition).",
    detect,
};

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(rounds) = view.rounds.filter(|rounds| rounds.steady().is_none()) else { return Vec::new() };
    let next_step = "raise `rounds_max`, or make `round` longer; look at the chart of the rounds";
    let count = rounds.rates.len();
    let (title, evidence) = match rounds.window {
        None => {
            let title = format!("not steady: {}, {WINDOW_ROUNDS} are needed", plural(count, "whole round"));
            (title, format!("rounds of {}: {}", rounds.length, listed(&rounds.rates)))
        }
        Some(window) => (
            format!("not steady after {}: {}", plural(count, "round"), beyond(&window).join(" and ")),
            evidence(rounds, &window),
        ),
    };
    vec![DETECTOR.finding(Severity::Warning, title, evidence, next_step)]
}

/// What is beyond its limit.
fn beyond(window: &Window) -> Vec<String> {
    let range = (window.range > RANGE_MAX).then(|| format!("their rates differ by {}", percent(window.range)));
    let word = if window.slope < 0.0 { "fall" } else { "rise" };
    let slope = (window.slope.abs() > SLOPE_MAX).then(|| format!("they {word} by {}", percent(window.slope.abs())));
    let found: Vec<String> = range.into_iter().chain(slope).collect();
    if found.is_empty() { vec!["nothing was done in them".to_owned()] } else { found }
}

/// The rounds of `window` and how they lie between the limits.
pub fn evidence(rounds: &Rounds, window: &Window) -> String {
    format!(
        "rounds {} to {} of {}: {}; range {} of {} allowed, slope {} of {}",
        window.first_round(),
        window.round,
        rounds.length,
        listed(rounds.window_rates()),
        percent(window.range),
        percent(RANGE_MAX),
        percent(window.slope),
        percent(SLOPE_MAX)
    )
}

fn listed(rates: &[f64]) -> String {
    rates.iter().map(|one| rate(*one)).collect::<Vec<_>>().join(", ")
}
