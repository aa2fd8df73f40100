//! Dips: stalls and drops at irregular times.
//!
//! In: how many, how long, how deep. Out: which of them are found, and how many others. Limits: two intervals lie between two dips at
//! least; a dip that is found in parts counts once as found, and each of its parts as right.

use super::series::{SeriesNoise, analyse_counts, between, meets, whole_of};
use super::{Case, CountedShare, Measure};
use crate::Code;
use crate::simulated::Random;
use std::ops::{Range, RangeInclusive};

const RECALL_MIN: f64 = 0.99;
const PRECISION_MIN: f64 = 0.95;
const DEPTH: [f64; 2] = [0.5, 1.0];

/// The cases of dips.
pub const CASES: &[Case] = &[
    Case {
        codes: Some(&[Code::Stall, Code::Drops]),
        series: "1 to 10 dips of 1 to 5 of 300 intervals, 50 to 100 % deep, noise of 10 %",
        measure: |random, runs| measure(random, runs, &Dips { n: 300, count: 1..=10, length: 1..=5, noise: WHITE }),
    },
    Case {
        codes: Some(&[Code::Stall, Code::Drops]),
        series: "1 to 10 dips of one of 300 intervals, 50 to 100 % deep, noise of 10 %",
        measure: |random, runs| measure(random, runs, &Dips { n: 300, count: 1..=10, length: 1..=1, noise: WHITE }),
    },
    Case {
        codes: Some(&[Code::Stall, Code::Drops]),
        series: "1 to 20 dips of 1 to 10 of 1,800 intervals, 50 to 100 % deep, noise of 10 %",
        measure: |random, runs| measure(random, runs, &Dips { n: 1_800, count: 1..=20, length: 1..=10, noise: WHITE }),
    },
    Case {
        codes: Some(&[Code::Stall, Code::Drops]),
        series: "1 to 10 dips of 1 to 5 of 300 intervals, 50 to 100 % deep, AR(1) noise of 10 % and 0.5",
        measure: |random, runs| measure(random, runs, &Dips { n: 300, count: 1..=10, length: 1..=5, noise: SLOW }),
    },
];

const WHITE: SeriesNoise = SeriesNoise::white(0.1);
const SLOW: SeriesNoise = SeriesNoise { deviation: 0.1, memory: 0.5 };

struct Dips {
    n: usize,
    count: RangeInclusive<usize>,
    length: RangeInclusive<usize>,
    noise: SeriesNoise,
}

impl Dips {
    fn place(&self, random: &mut Random) -> Vec<Range<usize>> {
        let count = whole_of(random, self.count.clone());
        let mut placed: Vec<Range<usize>> = Vec::new();
        while placed.len() < count {
            let length = whole_of(random, self.length.clone());
            let start = whole_of(random, 1..=self.n - 1 - length);
            if placed.iter().all(|other| start > other.end + 1 || start + length + 1 < other.start) {
                placed.push(start..start + length);
            }
        }
        placed
    }
}

fn measure(random: &mut Random, runs: usize, dips: &Dips) -> Vec<CountedShare> {
    let (mut wanted, mut hit, mut found, mut right) = (0, 0, 0, 0);
    for _ in 0..runs {
        let placed = dips.place(random);
        let mut levels = vec![1.0; dips.n];
        for range in &placed {
            let depth = between(random, DEPTH[0], DEPTH[1]);
            levels[range.clone()].fill(1.0 - depth);
        }
        let seen = analyse_counts(&dips.noise.counts(random, &levels), 1).dips();
        wanted += placed.len();
        hit += placed.iter().filter(|range| seen.iter().any(|span| meets(span, range, 1.0))).count();
        found += seen.len();
        right += seen.iter().filter(|span| placed.iter().any(|range| meets(span, range, 1.0))).count();
    }
    vec![
        CountedShare { measure: Measure::Recall, count: hit, of: wanted, goal: RECALL_MIN },
        CountedShare { measure: Measure::Precision, count: right, of: found, goal: PRECISION_MIN },
    ]
}
