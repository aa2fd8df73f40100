//! Finds runs until steady that did not settle.
//!
//! In: the rounds of the run phase. Out: a warning with the last rounds. Limits: that of the rule, five rounds; see
//! [`model::steady`].

use super::steady::{RoundsWindow, rates, rounds};
use super::{CourseDisturbance, Detects, Finding, FindingKind};
use crate::evidence::PointView;
use crate::judgement::{NextStep, Severity};
use crate::math::units::Share;
use crate::recorded::rounds::Rounds;
use model::Nanos;
use model::steady::{RANGE_MAX, SLOPE_MAX, WINDOW_ROUNDS};
use serde::Serialize;
use words::quantity::{counted, percent, range};

/// Rounds that are not level.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UnsteadyRounds {
    /// How many complete rounds there were.
    pub rounds: usize,
    /// How many in a row must be level.
    pub rounds_min: usize,
    /// The length of one.
    pub round_ns: Nanos,
    /// The rate of each.
    pub ops_per_s: Vec<f64>,
    /// The last of them that the rule looks at; `None` with too few.
    pub window: Option<RoundsWindow>,
}

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

impl FindingKind for UnsteadyRounds {
    const SEVERITIES: &'static [Severity] = &[Severity::Warning];
    const DETECTS: Detects = Detects::Point(detect);
    const DISTURBANCE: Option<CourseDisturbance> = Some(CourseDisturbance::Unsettled);
    const REASON: &'static str = "did not settle";

    fn is_like(&self, other: &Self) -> bool {
        let excess = |one: &Self| one.window.as_ref().map(Excess::of);
        excess(self) == excess(other)
    }

    fn title(alike: &[&Self]) -> String {
        let rounds = counted(alike, |one| one.rounds as u64, "round");
        let Some(window) = &alike[0].window else {
            return format!("not steady: {rounds} completed, {} needed", alike[0].rounds_min);
        };
        let of_window =
            |figure: fn(&RoundsWindow) -> f64| range(alike, |one| one.window.as_ref().map_or(0.0, figure), percent);
        let excess = Excess::of(window);
        let spread = excess.range.then(|| format!("range {}", of_window(|w| w.range_share.0)));
        let sign = if excess.falls { "-" } else { "" };
        let slope = excess.slope.then(|| format!("trend {sign}{}", of_window(|w| w.slope_share.0.abs())));
        let found: Vec<String> = spread.into_iter().chain(slope).collect();
        if found.is_empty() {
            format!("not steady after {rounds}: no operation was done in them")
        } else {
            format!("not steady after {rounds}: {}", found.join(", ") + " of the mean")
        }
    }

    fn evidence(&self) -> String {
        match &self.window {
            Some(window) => rounds(window),
            None => format!("rounds of {}: {}", self.round_ns, rates(&self.ops_per_s)),
        }
    }
}

/// Which limits a window of rounds exceeds.
#[derive(PartialEq)]
struct Excess {
    range: bool,
    slope: bool,
    falls: bool,
}

impl Excess {
    fn of(window: &RoundsWindow) -> Excess {
        Excess {
            range: window.range_share.0 > window.range_max.0,
            slope: window.slope_share.0.abs() > window.slope_max.0,
            falls: window.slope_share.0 < 0.0,
        }
    }
}
