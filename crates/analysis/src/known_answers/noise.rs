//! Noise about a level that does not change: nothing is to be found.
//!
//! In: nothing. Out: in how many runs something is found. Limits: `bottleneck` describes every point and is no alarm.

use super::series::{SeriesNoise, analyse_counts};
use super::{Case, CountedShare, Measure};
use crate::Code;
use crate::simulated::Random;

const ANY_MAX: f64 = 0.05;

/// The cases of noise.
pub const CASES: &[Case] = &[
    Case {
        codes: None,
        series: "any finding in 300 intervals of AR(1) noise of 5 % and 0.5",
        measure: |random, runs| measure(random, runs, 300),
    },
    Case {
        codes: None,
        series: "any finding in 60 intervals of AR(1) noise of 5 % and 0.5",
        measure: |random, runs| measure(random, runs, 60),
    },
    Case {
        codes: None,
        series: "any finding in 1,800 intervals of AR(1) noise of 5 % and 0.5",
        measure: |random, runs| measure(random, runs, 1_800),
    },
];

fn measure(random: &mut Random, runs: usize, n: usize) -> Vec<CountedShare> {
    let noise = SeriesNoise { deviation: 0.05, memory: 0.5 };
    let has_any = |random: &mut Random| {
        let seen = analyse_counts(&noise.counts(random, &vec![1.0; n]), 1);
        seen.findings.iter().any(|finding| finding.code() != Code::Bottleneck)
    };
    let count = (0..runs).filter(|_| has_any(random)).count();
    vec![CountedShare { measure: Measure::FalseAlarms, count, of: runs, goal: ANY_MAX }]
}
