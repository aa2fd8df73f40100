//! Finds the rounds at which a run until steady settled.
//!
//! In: the rounds of the run phase. Out: a note. Limits: that of the rule, five rounds; see [`model::steady`].

use super::{Detects, Finding, FindingKind};
use crate::evidence::PointView;
use crate::judgement::Severity;
use crate::math::units::Share;
use model::Nanos;
use serde::Serialize;
use words::quantity::{percent, range, rate, whole};

/// Five level rounds in a row.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct SteadyRounds {
    /// The rounds that count.
    pub window: RoundsWindow,
}

/// Rounds in a row that the rule looks at, and how level they are.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RoundsWindow {
    /// The first, counted from 1.
    pub first_round: usize,
    pub last_round: usize,
    /// The length of one.
    pub round_ns: Nanos,
    pub ops_per_s: Vec<f64>,
    /// The mean of their rates.
    pub mean_per_s: f64,
    /// The greatest less the least rate, as a share of the mean.
    pub range_share: Share,
    /// The most that is allowed.
    pub range_max: Share,
    /// How much a straight line through them rises, as a share of the mean; below 0 if it falls.
    pub slope_share: Share,
    /// The most that is allowed in either direction.
    pub slope_max: Share,
}

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(rounds) = view.rounds.filter(|rounds| rounds.steady_window().is_some()) else { return Vec::new() };
    let window = RoundsWindow::of(rounds).expect("steady rounds have a window");
    vec![Finding::new(Severity::Note, SteadyRounds { window })]
}

impl FindingKind for SteadyRounds {
    const SEVERITIES: &'static [Severity] = &[Severity::Note];
    const DETECTS: Detects = Detects::Point(detect);

    fn title(alike: &[&Self]) -> String {
        format!(
            "steady at round {}: rounds {} to {} count, mean {}",
            range(alike, |one| one.window.last_round as f64, whole),
            range(alike, |one| one.window.first_round as f64, whole),
            range(alike, |one| one.window.last_round as f64, whole),
            range(alike, |one| one.window.mean_per_s, rate)
        )
    }

    fn evidence(&self) -> String {
        rounds(&self.window)
    }
}

pub(super) fn rounds(window: &RoundsWindow) -> String {
    format!(
        "rounds {} to {} of {}: {}; range {} (limit {}), slope {} (limit {})",
        window.first_round,
        window.last_round,
        window.round_ns,
        rates(&window.ops_per_s),
        percent(window.range_share.0),
        percent(window.range_max.0),
        percent(window.slope_share.0),
        percent(window.slope_max.0)
    )
}

pub(super) fn rates(all: &[f64]) -> String {
    all.iter().map(|one| rate(*one).to_string()).collect::<Vec<_>>().join(", ")
}
