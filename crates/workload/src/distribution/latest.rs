//! Popular are the newest keys: the key that is k steps older than the newest is drawn in proportion to (k + 1)^-theta.
//!
//! In: n and theta. Out: keys in [0, n), in the time of a draw of zipf. The newest is the highest key, n - 1: the row that the load
//! part inserted last, or the last block of the last file. Popular keys are neighbours: nothing is scattered.
//! Limits: the key space does not grow while it is drawn from, so the newest key stays the newest throughout the run; what is
//! inserted meanwhile is not drawn. Else those of zipf.
//!
//! Definition: YCSB's `SkewedLatestGenerator` (Cooper et al. 2010, "Benchmarking cloud serving systems with YCSB", SoCC, section
//! 4.1), key = newest - zipf, with its constant 0.99. Exact for any theta >= 0; YCSB uses the approximation of Gray et al.
//! YCSB hashes keys to names afterwards unless `insertorder=ordered`; here they stay in order.

use super::zipf::Zipf;
use super::{Distribution, DistributionDef, HasLaw, Law};
use crate::random::Rng;
use model::{ArgDef, DistributionEntry, Numbers};

const THETA: ArgDef = ArgDef { name: "THETA", default: 0.99, min: 0.0, max: 100.0, numbers: Numbers::Real };

/// `latest:THETA`.
pub static LATEST: DistributionDef = DistributionDef {
    entry: DistributionEntry {
        name: "latest",
        help: "as in YCSB: zipf with THETA over the distance from the newest key, which is the highest; the popular keys \
               are neighbours",
        args: &[THETA],
    },
    tested_at: &[&[0.99], &[0.3]],
    make: |n, args| Distribution::Latest(Latest::new(n, args[0])),
};

/// Zipf over the distance from the last of [0, n).
#[derive(Clone, Copy, Debug)]
pub struct Latest {
    n: u64,
    distance: Zipf,
}

impl Latest {
    /// The distribution over `n` keys (0 is taken as 1) with exponent `theta` >= 0.
    pub fn new(n: u64, theta: f64) -> Self {
        let n = n.max(1);
        Latest { n, distance: Zipf::new(n, theta) }
    }

    #[inline]
    pub fn draw(&self, rng: &mut Rng) -> u64 {
        self.n - 1 - self.distance.rank(rng)
    }

    /// Returns a function that gives the probability of a key below its argument.
    pub fn probability_below(&self) -> impl Fn(u64) -> f64 + use<> {
        let (n, closer) = (self.n, self.distance.probability_below());
        move |key| 1.0 - closer(n - key.min(n))
    }
}

impl HasLaw for Latest {
    fn probability_below(&self, key: u64) -> f64 {
        Latest::probability_below(self)(key)
    }

    fn law(self) -> Law {
        Box::new(Latest::probability_below(&self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::client_rng;

    #[test]
    fn the_distance_from_the_newest_key_is_a_rank_of_zipf() {
        for n in [1, 2, 1_000_000, 1 << 40] {
            let (latest, zipf) = (Latest::new(n, 0.99), Zipf::new(n, 0.99));
            let (mut for_keys, mut for_ranks) = (client_rng(8, 0), client_rng(8, 0));
            for _ in 0..1_000 {
                assert_eq!(latest.draw(&mut for_keys), n - 1 - zipf.rank(&mut for_ranks));
            }
        }
    }
}
