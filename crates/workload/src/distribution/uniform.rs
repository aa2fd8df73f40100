//! Every key is as likely as every other.
//!
//! In: n. Out: keys in [0, n), about 1.5 ns each. Limits: the bias of [`crate::random`]'s multiplication and shift, a factor
//! of `1 + n / 2^64` at most.

use super::{Distribution, DistributionDef, HasLaw};
use crate::random::{Rng, Words, number_below};
use model::DistributionEntry;

pub static UNIFORM: DistributionDef = DistributionDef {
    entry: DistributionEntry { name: "uniform", help: "every key is as likely as every other", args: &[] },
    tested_at: &[&[]],
    make: |n, _| Distribution::Uniform(Uniform { n: n.max(1) }),
};

/// The uniform distribution over [0, n).
#[derive(Clone, Copy, Debug)]
pub struct Uniform {
    n: u64,
}

impl Uniform {
    #[inline]
    pub fn draw(&self, rng: &mut Rng) -> u64 {
        number_below(rng.next_u64(), self.n)
    }
}

impl HasLaw for Uniform {
    fn probability_below(&self, key: u64) -> f64 {
        key.min(self.n) as f64 / self.n as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::client_rng;

    #[test]
    fn every_key_is_drawn_as_often_as_chance_allows() {
        let uniform = (UNIFORM.make)(100, &[]);
        let (mut counts, mut rng) = ([0u32; 100], client_rng(11, 0));
        (0..1_000_000).for_each(|_| counts[uniform.draw(&mut rng) as usize] += 1);
        // 10,000 expected in each, standard deviation 99.5; chi-square has 99 degrees of freedom, 99.9 % are below 148.2.
        let chi_square: f64 = counts.iter().map(|count| (*count as f64 - 1e4).powi(2) / 1e4).sum();
        assert!(chi_square < 148.2, "{chi_square}");
    }
}
