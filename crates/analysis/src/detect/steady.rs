//! Says where a run until steady settled.
//!
//! In: the rounds of the run phase. Out: a note. Limits: that of the rule, five rounds; see [`model::steady`].

use super::detector::{Detector, PointView};
use super::not_steady;
use crate::text::rate;
use crate::{Finding, Severity};

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector {
    code: "steady",
    help: "five rounds in a row are level: the run ended in steady state",
    explain: "A run with until = steady goes by rounds and ends when five of them in a row are level, by the rule of SNIA's Solid \
              State Storage Performance Test Specification: their greatest and least rate differ by at most 20 % of their mean, \
              and a straight line through them rises or falls by at most 10 % of it. These five rounds are what counts: \
              throughput, percentiles and costs are theirs. The rounds before are drawn and not counted.",
    detect,
};

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(rounds) = view.rounds else { return Vec::new() };
    let Some(window) = rounds.steady() else { return Vec::new() };
    let (first, last) = (window.first_round(), window.round);
    let title = format!("steady at round {last}: rounds {first} to {last} count, mean {}", rate(window.mean));
    vec![DETECTOR.finding(Severity::Note, title, not_steady::evidence(rounds, &window), "")]
}
