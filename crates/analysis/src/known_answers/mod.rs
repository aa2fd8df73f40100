//! Series with a known answer: how often the findings about the course of a rate are right on series that they were not tuned to.
//!
//! In: a seed and a number of runs. Out: the [`CountedShare`]s of each of [`CASES`]: recall, precision, false alarms, coverage. The
//! whole analysis
//! is asked, not its parts. `cargo xtask bench analysis` takes a fresh seed each time; the tests take a fixed one and fewer runs.
//! Limits: the series are simulated, of 1,000 operations in an interval at their level, and their noise is normal.

mod coverage;
mod dips;
mod noise;
mod periods;
pub(crate) mod series;
mod shifts;
#[cfg(test)]
mod sureness;

use crate::Code;
use crate::simulated::Random;

/// A kind of series, and what is asked of the findings in it.
pub struct Case {
    /// The findings that it is about; `None` for all that the rates of intervals show of their course. Each of these is found in no more
    /// runs than any
    /// of all.
    pub codes: Option<&'static [Code]>,
    /// What the series are.
    pub series: &'static str,
    /// Makes so many series and counts.
    pub measure: fn(&mut Random, usize) -> Vec<CountedShare>,
}

impl Case {
    fn codes(&self) -> Vec<Code> {
        let of_rates = || Code::disturbances().into_iter().filter(|code| code.is_shown_by_rates()).collect();
        self.codes.map_or_else(of_rates, <[Code]>::to_vec)
    }
}

/// Every case, in the order of the table.
pub const CASES: &[&[Case]] = &[dips::CASES, periods::CASES, shifts::CASES, noise::CASES, coverage::CASES];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Of what is in the series, the share that is found.
    Recall,
    /// Of what is found, the share that is in the series.
    Precision,
    /// The share of the series in which its place or its length is right, too.
    Exact,
    /// Of the series that do not have it, the share in which it is found all the same.
    FalseAlarms,
    /// Of the intervals of confidence, the share that has the true value.
    Coverage,
}

impl Measure {
    /// Its name in the table.
    pub fn name(self) -> &'static str {
        match self {
            Measure::Recall => "recall",
            Measure::Precision => "precision",
            Measure::Exact => "exact",
            Measure::FalseAlarms => "false alarms",
            Measure::Coverage => "coverage",
        }
    }
}

/// A share that was counted, and the goal for it.
#[derive(Clone, Copy, Debug)]
pub struct CountedShare {
    pub measure: Measure,
    /// How many were as asked; with false alarms, how many were not.
    pub count: usize,
    pub of: usize,
    /// The least share, or with false alarms the greatest.
    pub goal: f64,
}

impl CountedShare {
    /// The share; of nothing it is as good as can be.
    pub fn share(&self) -> f64 {
        match (self.of, self.measure) {
            (0, Measure::FalseAlarms) => 0.0,
            (0, _) => 1.0,
            (of, _) => self.count as f64 / of as f64,
        }
    }

    /// Whether the goal is met, or missed by `slack` at most.
    pub fn is_met(&self, slack: f64) -> bool {
        match self.measure {
            Measure::FalseAlarms => self.share() <= self.goal + slack,
            _ => self.share() >= self.goal - slack,
        }
    }
}

/// What the tests and `cargo xtask bench analysis` do with the cases.
mod tests {
    use super::*;

    /// How many series of each case the bench makes.
    const BENCH_RUNS: usize = 400;
    const TEST_RUNS: usize = 20;
    /// Of so few runs one or two more may be wrong than the goal says.
    const TEST_SLACK: f64 = 0.06;

    fn figures_of(cases: &[&'static [Case]], seed: u64, runs: usize) -> Vec<(&'static Case, CountedShare)> {
        let cases = cases.iter().flat_map(|cases| cases.iter()).zip(0..);
        let measured = cases.flat_map(|(case, nth)| {
            let figures = (case.measure)(&mut Random::new(seed.wrapping_mul(1_000) + nth), runs);
            figures.into_iter().map(move |figure| (case, figure))
        });
        measured.collect()
    }

    #[test]
    fn dips_and_periods_are_found_in_twenty_series_of_each_kind() {
        for (case, figure) in figures_of(&[dips::CASES, periods::CASES], 1, TEST_RUNS) {
            assert!(figure.is_met(TEST_SLACK), "{:?}, {}: {figure:?}", case.codes, case.series);
        }
    }

    /// Prints the table that `cargo xtask bench analysis` reads. The seed is in the environment, so that it is a fresh one.
    #[test]
    #[ignore = "takes a minute; `cargo xtask bench analysis` runs it"]
    fn the_bench() {
        let seed = std::env::var("PLIMSOLL_BENCH_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
        for (case, figure) in figures_of(CASES, seed, BENCH_RUNS) {
            let (name, share) = (figure.measure.name(), figure.share());
            let CountedShare { of, goal, .. } = figure;
            let codes: Vec<&str> = case.codes().iter().map(|code| code.as_str()).collect();
            println!("figure\t{}\t{}\t{name}\t{share:.4}\t{of}\t{goal}", codes.join(", "), case.series);
        }
    }
}
