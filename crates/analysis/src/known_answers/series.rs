//! The series: levels, what disturbs them, and noise.
//!
//! In: a generator of random numbers. Out: the operations done in each interval, and the places of what was put in. Limits: noise is a
//! share of the level that it is about.

use crate::simulated::{Random, SECOND, Simulation};
use crate::{Finding, Shape, Span};
use model::Nanos;
use std::ops::Range;

/// The operations in an interval at the level.
pub const LEVEL: f64 = 1_000.0;

/// Normal noise of this standard deviation, as a share; `memory` is the share of the last value that the next one keeps (AR(1)).
#[derive(Clone, Copy)]
pub struct SeriesNoise {
    pub deviation: f64,
    pub memory: f64,
}

impl SeriesNoise {
    /// Its values are independent of each other.
    pub const fn white(deviation: f64) -> SeriesNoise {
        SeriesNoise { deviation, memory: 0.0 }
    }

    /// `n` values about 0.
    pub fn draw(self, random: &mut Random, n: usize) -> Vec<f64> {
        let share = self.deviation * (1.0 - self.memory * self.memory).sqrt();
        random.autoregressive(n, self.memory).into_iter().map(|value| share * value).collect()
    }

    /// The counts of `levels`, each a share of [`LEVEL`], with this noise.
    pub fn counts(self, random: &mut Random, levels: &[f64]) -> Vec<u64> {
        let noise = self.draw(random, levels.len());
        levels.iter().zip(noise).map(|(level, noise)| (LEVEL * level * (1.0 + noise)).max(0.0).round() as u64).collect()
    }
}

/// Uniform between two numbers.
pub fn between(random: &mut Random, least: f64, most: f64) -> f64 {
    least + (most - least) * random.uniform()
}

/// A whole number of `range`, its end included.
pub fn whole_of(random: &mut Random, range: std::ops::RangeInclusive<usize>) -> usize {
    let (least, most) = (*range.start(), *range.end());
    (least + (random.uniform() * (most - least + 1) as f64) as usize).min(most)
}

/// What the analysis found in a point.
pub struct SeriesAnalysis {
    /// The course of its rate.
    pub shape: Shape,
    pub findings: Vec<Finding>,
}

/// The analysis of so many operations in each interval of `interval_s` seconds.
pub fn analyse_counts(counts: &[u64], interval_s: u64) -> SeriesAnalysis {
    see(&simulate_counts(counts, interval_s))
}

/// A point with so many operations in each interval of `interval_s` seconds.
pub fn simulate_counts(counts: &[u64], interval_s: u64) -> Simulation {
    Simulation::counts(counts).with(|point| {
        point.trial.phases.interval = Nanos::from_secs(interval_s);
        point.trial.phases.run = Nanos::from_secs(interval_s * counts.len() as u64);
        point.phases[0].end.0 *= interval_s;
        for interval in &mut point.phases[0].intervals {
            interval.start.0 *= interval_s;
            interval.length = Nanos(interval_s * SECOND);
        }
    })
}

/// The analysis of a point.
pub fn see(simulation: &Simulation) -> SeriesAnalysis {
    let point = simulation.analysis().points.remove(0);
    SeriesAnalysis { shape: point.shape.expect("it ran"), findings: point.findings }
}

impl SeriesAnalysis {
    /// Whether it has a finding of this code.
    pub fn has(&self, code: crate::Code) -> bool {
        self.findings.iter().any(|finding| finding.code() == code)
    }

    /// The stalls and drops that are reported.
    pub fn dips(&self) -> Vec<Span> {
        let stalls = self.shape.stalls.iter().map(|stall| stall.span);
        stalls.chain(self.shape.drops.iter().map(|drop| drop.span)).collect()
    }
}

/// Whether `span`, in seconds, has a part of `range`, in intervals of `interval_s`.
pub fn meets(span: &Span, range: &Range<usize>, interval_s: f64) -> bool {
    let of_range = Span { from_s: range.start as f64 * interval_s, to_s: range.end as f64 * interval_s };
    span.overlap_s(&of_range) > interval_s / 2.0
}
