//! Finds the rounds at which a run until steady settled.
//!
//! In: the rounds of the run phase. Out: a note. Limits: that of the rule, five rounds; see [`model::steady`].

use super::detector::Detector;
use crate::evidence::PointView;
use crate::finding::Code;
use crate::finding::rates::{RoundsWindow, SteadyRounds};
use crate::{Finding, Severity};

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector { code: Code::Steady, detect };

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(rounds) = view.rounds.filter(|rounds| rounds.steady_window().is_some()) else { return Vec::new() };
    let window = RoundsWindow::of(rounds).expect("steady rounds have a window");
    vec![Finding::new(Severity::Note, SteadyRounds { window })]
}
