//! Intervals of confidence of a throughput: how often they have the true rate.
//!
//! In: AR(1) noise of 5 % about a known rate. Out: the coverage of the nominal 95 %. Limits: the interval of the summary is asked, so of
//! runs that have one.

use super::series::{LEVEL, SeriesNoise, simulate_counts};
use super::{Case, CountedShare, Measure};
use crate::Code;
use crate::simulated::Random;

const COVERAGE_MIN: f64 = 0.94;

/// The cases of coverage.
pub const CASES: &[Case] = &[
    Case {
        codes: Some(&[Code::WideInterval]),
        series: "the interval of the throughput of 60 intervals of white noise",
        measure: |random, runs| measure(random, runs, 60, 0.0),
    },
    Case {
        codes: Some(&[Code::WideInterval]),
        series: "the interval of the throughput of 60 intervals of AR(1) noise of 0.5",
        measure: |random, runs| measure(random, runs, 60, 0.5),
    },
    Case {
        codes: Some(&[Code::WideInterval]),
        series: "the interval of the throughput of 60 intervals of AR(1) noise of 0.8",
        measure: |random, runs| measure(random, runs, 60, 0.8),
    },
    Case {
        codes: Some(&[Code::WideInterval]),
        series: "the interval of the throughput of 300 intervals of AR(1) noise of 0.8",
        measure: |random, runs| measure(random, runs, 300, 0.8),
    },
];

fn measure(random: &mut Random, runs: usize, n: usize, memory: f64) -> Vec<CountedShare> {
    let noise = SeriesNoise { deviation: 0.05, memory };
    let (mut covered, mut of) = (0, 0);
    for _ in 0..runs {
        let counts = noise.counts(random, &vec![1.0; n]);
        let summary = simulate_counts(&counts, 1).analysis().points.remove(0).summary.expect("it ran");
        let Some([low, high]) = summary.ops_per_s_ci95 else { continue };
        of += 1;
        covered += usize::from((low..=high).contains(&LEVEL));
    }
    vec![CountedShare { measure: Measure::Coverage, count: covered, of, goal: COVERAGE_MIN }]
}
