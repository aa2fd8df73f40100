//! Which key is accessed: distributions over [0, n), the same for files, SQL and key-value engines.
//!
//! In: the number of keys and the distribution's argument. Out: keys, one `draw` each, without allocation. A distribution
//! with popular keys orders them by rank (0 is the most popular) and scatters the ranks over the keys ([`crate::scatter`]).
//! Limits: keys are independent of each other and of time. Above n = 2^53 the non-uniform ones do not reach every key.
//!
//! A new distribution is one file and one line in [`DISTRIBUTIONS`], and a variant of [`Distribution`], because a draw in
//! the hot path is a match and not a virtual call; the compiler asks for it.

pub mod uniform;
pub mod zipf;

pub use crate::random::{Rng, rng, rng_stream};

use model::{Access, DistributionEntry};

/// All distributions.
pub const DISTRIBUTIONS: &[&DistributionDef] = &[&uniform::UNIFORM, &zipf::ZIPF];

/// One distribution: how it presents itself and how it is made.
pub struct DistributionDef {
    /// Name, help and argument.
    pub entry: DistributionEntry,
    /// Makes it over `n` keys (0 is taken as 1) with an argument, or with its default for `None`. Takes constant time.
    pub make: fn(n: u64, arg: Option<f64>) -> Distribution,
}

/// The distribution of that name.
pub fn find(name: &str) -> Option<&'static DistributionDef> {
    DISTRIBUTIONS.iter().copied().find(|def| def.entry.name == name)
}

/// The distribution that `access` names, over `n` keys.
///
/// # Panics
/// Where no distribution has that name: plans are checked before, so that is a bug.
pub fn of(access: &Access, n: u64) -> Distribution {
    let def = find(&access.name).unwrap_or_else(|| panic!("the plan let distribution `{}` pass", access.name));
    (def.make)(n, access.arg)
}

/// A distribution over [0, n), ready to draw from.
#[derive(Clone, Copy, Debug)]
pub enum Distribution {
    /// Every key alike.
    Uniform(uniform::Uniform),
    /// Popularity falls with a power of the rank.
    Zipf(zipf::Zipf),
}

impl Distribution {
    /// The next key, in [0, n).
    #[inline]
    pub fn draw(&self, rng: &mut Rng) -> u64 {
        match self {
            Distribution::Uniform(uniform) => uniform.draw(rng),
            Distribution::Zipf(zipf) => zipf.draw(rng),
        }
    }

    /// The next rank, in [0, n), 0 the most popular: what [`Distribution::draw`] draws before it scatters. Where all keys
    /// are alike the rank is the key.
    #[inline]
    pub fn rank(&self, rng: &mut Rng) -> u64 {
        match self {
            Distribution::Uniform(uniform) => uniform.draw(rng),
            Distribution::Zipf(zipf) => zipf.rank(rng),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn first_draws(def: &DistributionDef, n: u64, seed: u64) -> Vec<u64> {
        let (distribution, mut rng) = ((def.make)(n, None), rng(seed, 0));
        (0..100).map(|_| distribution.draw(&mut rng)).collect()
    }

    #[test]
    fn the_same_seed_draws_the_same_keys_and_another_seed_others() {
        for def in DISTRIBUTIONS {
            assert_eq!(first_draws(def, 1_000_000, 1), first_draws(def, 1_000_000, 1));
            assert_ne!(first_draws(def, 1_000_000, 1), first_draws(def, 1_000_000, 2));
        }
    }

    #[test]
    fn every_distribution_is_found_by_its_name_and_its_default_is_within_its_bounds() {
        for def in DISTRIBUTIONS {
            assert!(std::ptr::eq(find(def.entry.name).expect("a registered distribution"), *def));
            assert!(def.entry.arg.is_none_or(|(default, least, most)| least <= default && default <= most));
        }
        assert!(find("none").is_none());
    }

    proptest! {
        #[test]
        fn draws_and_ranks_are_below_n(
            n in prop_oneof![1u64..100, 1u64..1 << 53, Just(u64::MAX)], share in 0.0..=1.0f64, seed: u64
        ) {
            for def in DISTRIBUTIONS {
                let arg = def.entry.arg.map(|(_, least, most)| least + share * (most - least));
                let (distribution, mut rng) = ((def.make)(n, arg), rng(seed, 0));
                for _ in 0..50 {
                    prop_assert!(distribution.draw(&mut rng) < n);
                    prop_assert!(distribution.rank(&mut rng) < n);
                }
            }
        }
    }
}
