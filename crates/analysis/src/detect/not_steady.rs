//! Finds runs until steady that did not settle.
//!
//! In: the rounds of the run phase. Out: a warning with the last rounds. Limits: that of the rule, five rounds; see
//! [`model::steady`].

use super::detector::Detector;
use crate::evidence::PointView;
use crate::finding::rates::{RoundsWindow, UnsteadyRounds};
use crate::finding::units::Share;
use crate::finding::{Code, NextStep};
use crate::recorded::rounds::Rounds;
use crate::{Finding, Severity};
use model::steady::{RANGE_MAX, SLOPE_MAX, WINDOW_ROUNDS};

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector { code: Code::NotSteady, detect };

impl RoundsWindow {
    /// The window of `rounds`; `None` with too few of them.
    pub fn of(rounds: &Rounds) -> Option<RoundsWindow> {
        let window = rounds.window?;
        Some(RoundsWindow {
            first_round: window.first_round(),
            last_round: window.round,
            round_ns: rounds.length,
            ops_per_s: rounds.window_rates().to_vec(),
            mean_per_s: window.mean,
            range_share: Share(window.range),
            range_max: Share(RANGE_MAX),
            slope_share: Share(window.slope),
            slope_max: Share(SLOPE_MAX),
        })
    }
}

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(rounds) = view.rounds.filter(|rounds| rounds.steady_window().is_none()) else { return Vec::new() };
    let detail = UnsteadyRounds {
        rounds: rounds.rates.len(),
        rounds_min: WINDOW_ROUNDS,
        round_ns: rounds.length,
        ops_per_s: rounds.rates.clone(),
        window: RoundsWindow::of(rounds),
    };
    vec![Finding::new(Severity::Warning, detail).next(NextStep::AllowMoreRounds)]
}
