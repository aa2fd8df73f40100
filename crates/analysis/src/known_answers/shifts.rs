//! Shifts of the level, and what looks like one.
//!
//! In: how large a shift is, and in how much noise. Out: in how many runs one shift is found, within three intervals of its place; in how
//! many runs without a shift one is found. Limits: the shift is in the middle three fifths of the run.

use super::series::{SeriesNoise, analyse_counts, between, see, simulate_counts, whole_of};
use super::{Case, CountedShare, Measure};
use crate::Code;
use crate::simulated::{Random, SECOND};
use model::{Arrivals, Nanos, Pacing};

const FALSE_ALARMS_MAX: f64 = 0.05;
const N: usize = 300;
const NEAR: f64 = 3.0;

/// The cases of shifts.
pub const CASES: &[Case] = &[
    Case {
        codes: Some(&[Code::LevelShift]),
        series: "a shift of 15 % in 300 intervals, noise of 5 %",
        measure: |random, runs| measure_shift(random, runs, 0.15, SeriesNoise::white(0.05), 0.95),
    },
    Case {
        codes: Some(&[Code::LevelShift]),
        series: "a shift of 8 % in 300 intervals, noise of 1.5 %",
        measure: |random, runs| measure_shift(random, runs, 0.08, SeriesNoise::white(0.015), 0.95),
    },
    Case {
        codes: Some(&[Code::LevelShift]),
        series: "a shift of 20 % in 300 intervals, noise of 10 %",
        measure: |random, runs| measure_shift(random, runs, 0.20, SeriesNoise::white(0.10), 0.90),
    },
    Case {
        codes: Some(&[Code::LevelShift]),
        series: "a rate that rises by a half or falls by a third over 300 intervals, noise of 5 %",
        measure: |random, runs| {
            measure_alarms(random, runs, |random| {
                let end = if random.uniform() < 0.5 { 1.5 } else { 0.67 };
                let levels: Vec<f64> = (0..N).map(|at| 1.0 + (end - 1.0) * at as f64 / N as f64).collect();
                analyse_counts(&SeriesNoise::white(0.05).counts(random, &levels), 1).has(Code::LevelShift)
            })
        },
    },
    Case {
        codes: Some(&[Code::LevelShift]),
        series: "an open loop that works off what a stall of 5 to 20 of 300 intervals left, noise of 3 %",
        measure: |random, runs| measure_alarms(random, runs, has_shift_after_stall),
    },
    Case {
        codes: Some(&[Code::LevelShift]),
        series: "8 clients with equal shares that end one after the other over a fifth of 300 intervals, noise of 3 %",
        measure: |random, runs| measure_alarms(random, runs, has_shift_in_cool_down),
    },
];

fn measure_shift(random: &mut Random, runs: usize, by: f64, noise: SeriesNoise, goal: f64) -> Vec<CountedShare> {
    let (mut found, mut near) = (0, 0);
    for _ in 0..runs {
        let (at, is_up) = (whole_of(random, N / 5..=N * 4 / 5), random.uniform() < 0.5);
        let levels: Vec<f64> = (0..N).map(|nth| if (nth >= at) == is_up { 1.0 } else { 1.0 - by }).collect();
        let seen = analyse_counts(&noise.counts(random, &levels), 1);
        let shifts: Vec<f64> = if seen.has(Code::LevelShift) {
            seen.shape.levels.iter().skip(1).map(|level| level.span.from_s).collect()
        } else {
            Vec::new()
        };
        found += usize::from(!shifts.is_empty());
        near += usize::from(matches!(shifts[..], [one] if (one - at as f64).abs() <= NEAR));
    }
    vec![
        CountedShare { measure: Measure::Recall, count: found, of: runs, goal },
        CountedShare { measure: Measure::Exact, count: near, of: runs, goal },
    ]
}

fn measure_alarms(random: &mut Random, runs: usize, has_one: fn(&mut Random) -> bool) -> Vec<CountedShare> {
    let count = (0..runs).filter(|_| has_one(random)).count();
    vec![CountedShare { measure: Measure::FalseAlarms, count, of: runs, goal: FALSE_ALARMS_MAX }]
}

fn has_shift_after_stall(random: &mut Random) -> bool {
    let (begin, length) = (whole_of(random, 50..=200), whole_of(random, 5..=20));
    let faster = between(random, 1.3, 3.0);
    let mut waiting = 0.0;
    let levels: Vec<f64> = (0..N)
        .map(|at| {
            waiting += 1.0;
            let most = if (begin..begin + length).contains(&at) { 0.0 } else { faster };
            let done = f64::min(waiting, most);
            waiting -= done;
            done
        })
        .collect();
    let counts = SeriesNoise::white(0.03).counts(random, &levels);
    let open = simulate_counts(&counts, 1).with(|point| {
        point.trial.load.pacing = Pacing::Open { arrivals: Arrivals::Constant { per_s: super::series::LEVEL } };
    });
    see(&open).has(Code::LevelShift)
}

fn has_shift_in_cool_down(random: &mut Random) -> bool {
    const CLIENTS: usize = 8;
    let (n, mut ends) = (N as f64, vec![0; CLIENTS]);
    ends.iter_mut().for_each(|end| *end = (n * between(random, 0.8, 1.0)) as usize);
    let busy = |at: usize| ends.iter().filter(|end| at < **end).count() as f64 / CLIENTS as f64;
    let levels: Vec<f64> = (0..N).map(busy).take_while(|busy| *busy > 0.0).collect();
    let counts = SeriesNoise::white(0.03).counts(random, &levels);
    let simulation = simulate_counts(&counts, 1).with(|point| {
        for (interval, level) in point.phases[0].intervals.iter_mut().zip(&levels) {
            // So many clients are busy all the time.
            let kind = &mut interval.kinds[0];
            let service_ns = (level * CLIENTS as f64 * SECOND as f64) as u64 / kind.ok.max(1);
            kind.service = model::Times::default();
            kind.service.record_n(service_ns.max(1), kind.ok);
            kind.response = kind.service.clone();
        }
        let done = point.phases[0].intervals.iter().map(|interval| interval.kinds[0].ok).sum();
        point.trial.load.clients = CLIENTS as u32;
        point.trial.phases.run = Nanos::from_secs(10 * N as u64);
        point.trial.phases.ops_max = Some(done);
    });
    see(&simulation).has(Code::LevelShift)
}
