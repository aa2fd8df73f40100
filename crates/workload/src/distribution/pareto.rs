//! sysbench's pareto: a share H of the keys gets a share 1 - H of the draws, and the same again within that share.
//!
//! In: n and H (sysbench: `--rand-pareto-h`). Out: keys in [0, n), the first the most popular if H is below 0.5, the last if
//! it is above; at 0.5 all are alike. About 14 ns a draw. Neighbours in popularity are neighbours among the keys: nothing is
//! scattered, as in sysbench. Limits: 53 random bits a draw, so with a small H the first key gets all the numbers that round to
//! it.
//!
//! Definition: sysbench 1.0.20, `sb_rand_pareto` in src/sb_rand.c: key = floor(n * u^p) with p = ln H / ln(1 - H) and u uniform.
//! Exact within the rounding of one power. It is self-similar (Gray et al. 1994, "Quickly generating billion-record synthetic
//! databases", section 3.2): a power law that is bounded by n, not the unbounded law of Pareto.

use super::{Distribution, DistributionDef, HasLaw};
use crate::random::{Rng, Words, unit_interval};
use model::{ArgDef, DistributionEntry, Numbers};

// At 0 and 1 the power has no value. At a thousandth nearly all draws are one key already.
const H: ArgDef = ArgDef { name: "H", default: 0.2, min: 0.001, max: 0.999, numbers: Numbers::Real };

/// `pareto:H`.
pub static PARETO: DistributionDef = DistributionDef {
    entry: DistributionEntry {
        name: "pareto",
        help: "as in sysbench: the first H (a share) of the keys get 1 - H of the draws, and so on within them; the popular keys are neighbours",
        args: &[H],
    },
    tested_at: &[&[0.2], &[0.05], &[0.5], &[0.9]],
    make: |n, args| Distribution::Pareto(Pareto::new(n, args[0])),
};

/// The self-similar distribution over [0, n).
#[derive(Clone, Copy, Debug)]
pub struct Pareto {
    n: u64,
    power: f64,
}

impl Pareto {
    /// The distribution over `n` keys (0 is taken as 1) with 0 < `h` < 1.
    pub fn new(n: u64, h: f64) -> Self {
        Pareto { n: n.max(1), power: h.ln() / (1.0 - h).ln() }
    }

    #[inline]
    pub fn draw(&self, rng: &mut Rng) -> u64 {
        let key = self.n as f64 * unit_interval(rng.next_u64()).powf(self.power);
        (key as u64).min(self.n - 1)
    }
}

impl HasLaw for Pareto {
    fn probability_below(&self, key: u64) -> f64 {
        (key as f64 / self.n as f64).min(1.0).powf(1.0 / self.power)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::client_rng;

    #[test]
    fn a_share_h_of_the_keys_gets_one_minus_h_of_the_draws_again_and_again() {
        const DRAWS: u32 = 400_000;
        for (n, h) in [(1_000_000u64, 0.2), (1 << 40, 0.2), (1_000_000, 0.1), (1_000_000, 0.35)] {
            let (pareto, mut rng) = (Pareto::new(n, h), client_rng(7, 0));
            let keys: Vec<u64> = (0..DRAWS).map(|_| pareto.draw(&mut rng)).collect();
            for level in 1..=3 {
                let (part, expected) = ((n as f64 * h.powi(level)) as u64, (1.0 - h).powi(level));
                let seen = keys.iter().filter(|key| **key < part).count() as f64 / f64::from(DRAWS);
                let sigma = (expected * (1.0 - expected) / f64::from(DRAWS)).sqrt();
                assert!((seen - expected).abs() < 5.0 * sigma, "n {n}, h {h}, level {level}: {seen} for {expected}");
                assert!((pareto.probability_below(part) - expected).abs() < 1e-4, "n {n}, h {h}, level {level}");
            }
        }
    }

    #[test]
    fn above_one_half_the_last_keys_are_the_popular_ones() {
        let (low, high) = (Pareto::new(1_000, 0.2), Pareto::new(1_000, 0.8));
        assert!((low.probability_below(200) - 0.8).abs() < 1e-9 && (high.probability_below(800) - 0.2).abs() < 1e-9);
    }
}
