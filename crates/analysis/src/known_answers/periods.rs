//! Periods: dips and waves that come every twenty minutes, early or late by up to a tenth.
//!
//! In: nothing. Out: in how many runs the period is found, and is right within 2 %. Limits: the true period is the mean of the gaps that
//! were drawn, not of those that could have been.

use super::series::{SeriesNoise, analyse_counts, between, whole_of};
use super::{Case, CountedShare, Measure};
use crate::Code;
use crate::simulated::Random;
use std::f64::consts::TAU;

const GOAL: f64 = 0.95;
const WITHIN: f64 = 0.02;
const INTERVAL_S: u64 = 10;
/// In intervals; 120 of them are twenty minutes.
const PERIOD: f64 = 120.0;
const CYCLES: usize = 6;
const JITTER: f64 = 0.1;

/// The cases of periods.
pub const CASES: &[Case] = &[
    Case {
        codes: Some(&[Code::Stall, Code::Drops]),
        series: "6 dips, one every 20 min with jitter of 10 %, 50 to 100 % deep, noise of 10 %",
        measure: measure_dips,
    },
    Case {
        codes: Some(&[Code::Drops, Code::TwoLevels]),
        series: "15 drops at equal distances that fill a tenth of 300 intervals, 40 to 75 % deep, noise of 5 %",
        measure: measure_comb,
    },
    Case {
        codes: Some(&[Code::Wave]),
        series: "6 waves of 20 min with jitter of 10 %, up and down by 20 %, noise of 10 %",
        measure: measure_jittered_waves,
    },
    Case {
        codes: Some(&[Code::Wave]),
        series: "10 waves whose period grows by a half, up and down by 15 %, noise of 5 %",
        measure: measure_changing_waves,
    },
];

/// The figures of as many runs, in each of which the period found and the true one were these.
fn figures(periods: &[(Option<f64>, f64)]) -> Vec<CountedShare> {
    let found = periods.iter().filter(|(found, _)| found.is_some()).count();
    let is_right =
        |(found, truth): &&(Option<f64>, f64)| found.is_some_and(|found| (found / truth - 1.0).abs() <= WITHIN);
    let right = periods.iter().filter(is_right).count();
    let of = periods.len();
    vec![
        CountedShare { measure: Measure::Recall, count: found, of, goal: GOAL },
        CountedShare { measure: Measure::Exact, count: right, of, goal: GOAL },
    ]
}

fn jittered(random: &mut Random) -> f64 {
    PERIOD * between(random, 1.0 - JITTER, 1.0 + JITTER)
}

fn measure_dips(random: &mut Random, runs: usize) -> Vec<CountedShare> {
    let one = |random: &mut Random| {
        let (depth, length) = (between(random, 0.5, 1.0), whole_of(random, 1..=6));
        let first = between(random, 10.0, 50.0);
        let gaps: Vec<f64> = (1..CYCLES).map(|_| jittered(random)).collect();
        let mut levels = vec![1.0; CYCLES * PERIOD as usize + 60];
        for nth in 0..CYCLES {
            let start = (first + gaps[..nth].iter().sum::<f64>()) as usize;
            levels[start..start + length].fill(1.0 - depth);
        }
        let truth = gaps.iter().sum::<f64>() / gaps.len() as f64 * INTERVAL_S as f64;
        let shape = analyse_counts(&SeriesNoise::white(0.1).counts(random, &levels), INTERVAL_S).shape;
        (shape.stall_period.or(shape.drop_period).map(|period| period.gap_s), truth)
    };
    figures(&(0..runs).map(|_| one(random)).collect::<Vec<_>>())
}

fn measure_comb(random: &mut Random, runs: usize) -> Vec<CountedShare> {
    let mut two_levels = 0;
    let mut one = |random: &mut Random| {
        let (depth, first) = (between(random, 0.4, 0.75), whole_of(random, 2..=15));
        let is_low = |at: usize| at >= first && (at - first) % 20 < 2;
        let levels: Vec<f64> = (0..300).map(|at| if is_low(at) { 1.0 - depth } else { 1.0 }).collect();
        let seen = analyse_counts(&SeriesNoise::white(0.05).counts(random, &levels), 1);
        two_levels += usize::from(seen.has(Code::TwoLevels));
        (seen.shape.drop_period.map(|period| period.gap_s), 20.0)
    };
    let periods: Vec<(Option<f64>, f64)> = (0..runs).map(|_| one(random)).collect();
    let mut figures = figures(&periods);
    figures.push(CountedShare { measure: Measure::FalseAlarms, count: two_levels, of: runs, goal: 0.05 });
    figures
}

fn measure_jittered_waves(random: &mut Random, runs: usize) -> Vec<CountedShare> {
    let one = |random: &mut Random| {
        let lengths: Vec<f64> = (0..CYCLES).map(|_| jittered(random)).collect();
        let levels = lengths.iter().flat_map(|length| {
            let n = length.round() as usize;
            (0..n).map(move |at| 1.0 + 0.2 * (TAU * at as f64 / n as f64).sin())
        });
        let levels: Vec<f64> = levels.collect();
        let truth = levels.len() as f64 / CYCLES as f64 * INTERVAL_S as f64;
        let shape = analyse_counts(&SeriesNoise::white(0.1).counts(random, &levels), INTERVAL_S).shape;
        (shape.wave.map(|wave| wave.period * INTERVAL_S as f64), truth)
    };
    figures(&(0..runs).map(|_| one(random)).collect::<Vec<_>>())
}

fn measure_changing_waves(random: &mut Random, runs: usize) -> Vec<CountedShare> {
    let one = |random: &mut Random| {
        let (first, phase) = (between(random, 30.0, 60.0), random.uniform());
        let (mut turns, mut levels) = (phase, Vec::new());
        while turns < phase + 10.0 {
            levels.push(1.0 + 0.15 * (TAU * turns).sin());
            turns += 1.0 / (first * (1.0 + 0.5 * (turns - phase) / 10.0));
        }
        let truth = levels.len() as f64 / (turns - phase);
        let shape = analyse_counts(&SeriesNoise::white(0.05).counts(random, &levels), 1).shape;
        (shape.wave.map(|wave| wave.period), truth)
    };
    let all = figures(&(0..runs).map(|_| one(random)).collect::<Vec<_>>());
    // The mean of those waves that are whole is not that of all.
    all.into_iter().filter(|figure| figure.measure == Measure::Recall).collect()
}
