//! sysbench's gaussian: the mean of a few uniform numbers, so keys in the middle are popular and those at both ends rare.
//!
//! In: n and the number of uniforms in a mean (sysbench: `--rand-spec-iter`). Out: keys in [0, n), in about 1 ns for each uniform:
//! 13 ns for the 12 of the default. Neighbours in popularity are neighbours among the keys: nothing is scattered, as in sysbench.
//! Limits: a mean has 57 random bits and is rounded to 53, so above n = 2^53 some keys are never drawn.
//!
//! Definition: sysbench 1.0.20, `sb_rand_gaussian` in src/sb_rand.c: key = floor(n * (u1 + ... + uITER) / ITER). Exact: the
//! uniforms are added as integers. A mean of m uniforms has Bates's law (1955, Ann. Math. Stat. 26): mean n / 2, variance
//! n^2 / 12 m; it is a normal law in the middle only, and has no tails.

use super::law::mean_of_uniforms_below;
use super::{Distribution, DistributionDef, HasLaw};
use crate::random::{Rng, Words};
use model::{ArgDef, DistributionEntry, Numbers};

/// How many uniforms make a mean: 12 in sysbench, too.
pub(super) const ITER: ArgDef = ArgDef { name: "ITER", default: 12.0, min: 1.0, max: 100.0, numbers: Numbers::Whole };

/// `gaussian:ITER`.
pub static GAUSSIAN: DistributionDef = DistributionDef {
    entry: DistributionEntry {
        name: "gaussian",
        help: "as in sysbench: the mean of ITER uniform keys; the popular keys are neighbours in the middle",
        args: &[ITER],
    },
    tested_at: &[&[1.0], &[2.0], &[12.0], &[30.0]],
    make: |n, args| Distribution::Gaussian(Gaussian::new(n, args[0] as u32)),
};

/// The law of the mean of some uniform numbers, times n, over [0, n).
#[derive(Clone, Copy, Debug)]
pub struct Gaussian {
    n: u64,
    mean: MeanOfUniforms,
}

impl Gaussian {
    /// The distribution over `n` keys (0 is taken as 1) by means of `iterations` uniforms.
    pub fn new(n: u64, iterations: u32) -> Self {
        let n = n.max(1);
        Gaussian { n, mean: MeanOfUniforms::new(n as f64, iterations) }
    }

    #[inline]
    pub fn draw(&self, rng: &mut Rng) -> u64 {
        self.mean.draw(rng).min(self.n - 1)
    }
}

/// The mean of some uniform numbers in [0, top), rounded down.
#[derive(Clone, Copy, Debug)]
pub(super) struct MeanOfUniforms {
    pub(super) iterations: u32,
    top_per_sum: f64,
}

/// Of each random word: as many as leave room to add [`ITER`]'s most.
const BITS: u32 = 57;

impl MeanOfUniforms {
    pub(super) fn new(top: f64, iterations: u32) -> Self {
        let iterations = iterations.clamp(1, ITER.max as u32);
        MeanOfUniforms { iterations, top_per_sum: top / f64::from(iterations) / (1u64 << BITS) as f64 }
    }

    /// The next one. Rounding may lift it to `top` itself.
    #[inline]
    pub(super) fn draw(&self, rng: &mut Rng) -> u64 {
        let sum: u64 = (0..self.iterations).map(|_| rng.next_u64() >> (u64::BITS - BITS)).sum();
        (sum as f64 * self.top_per_sum) as u64
    }
}

impl HasLaw for Gaussian {
    fn probability_below(&self, key: u64) -> f64 {
        mean_of_uniforms_below(key as f64 / self.n as f64, self.mean.iterations)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::client_rng;

    #[test]
    fn mean_and_variance_are_those_of_a_mean_of_uniforms() {
        const DRAWS: u32 = 200_000;
        for (n, iterations) in [(1_000_000u64, 1), (1_000_000, 12), (1 << 40, 12), (1_000_000, 100)] {
            let (gaussian, mut rng) = (Gaussian::new(n, iterations), client_rng(u64::from(iterations), 0));
            let draws: Vec<f64> = (0..DRAWS).map(|_| (gaussian.draw(&mut rng) as f64 + 0.5) / n as f64).collect();
            let (count, variance) = (f64::from(DRAWS), 1.0 / (12.0 * f64::from(iterations)));
            let mean = draws.iter().sum::<f64>() / count;
            assert!((mean - 0.5).abs() < 5.0 * (variance / count).sqrt(), "n {n}, {iterations}: mean {mean}");
            // The kurtosis of m uniforms is 3 - 1.2 / m, and the variance of a variance (kurtosis - 1) * variance^2 / draws.
            let sigma = variance * ((2.0 - 1.2 / f64::from(iterations)) / count).sqrt();
            let seen = draws.iter().map(|x| (x - 0.5).powi(2)).sum::<f64>() / count;
            assert!((seen - variance).abs() < 5.0 * sigma, "n {n}, {iterations}: variance {seen}");
        }
    }

    #[test]
    fn the_largest_sum_of_the_most_uniforms_does_not_overflow() {
        let most = ((1u64 << BITS) - 1).checked_mul(ITER.max as u64);
        assert!(most.is_some());
    }

    #[test]
    fn half_of_the_draws_are_below_the_middle_whatever_the_number_of_uniforms() {
        for iterations in [1, 2, 3, 12, 100] {
            assert!(
                (Gaussian::new(1 << 20, iterations).probability_below(1 << 19) - 0.5).abs() < 1e-12,
                "{iterations}"
            );
        }
    }
}
