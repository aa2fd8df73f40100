//! Some keys are hot: a share of the draws falls evenly on a share of the keys, the others fall evenly on the others.
//!
//! In: n, the share of the keys that is hot, the share of the draws that they get. Out: keys in [0, n), in about 4 ns; the hot
//! ones are the first. They are neighbours: nothing is scattered. Limits: 53 random bits decide between hot and cold; if the
//! share is less than a key, one key is hot.
//!
//! Definition: YCSB's `HotspotIntegerGenerator` (hotspotdatafraction, hotspotopnfraction; github.com/brianfrankcooper/YCSB,
//! core/.../generator). Exact but for the bias of [`crate::random`]'s multiplication and shift. YCSB hashes keys to names
//! afterwards unless `insertorder=ordered`; here they stay in order.

use super::{Distribution, DistributionDef, HasLaw};
use crate::random::{Rng, Words, number_below, unit_interval};
use model::{ArgDef, DistributionEntry, Numbers};

const KEYS: ArgDef = ArgDef { name: "KEYS", default: 0.2, min: 0.0, max: 1.0, numbers: Numbers::Real };
const DRAWS: ArgDef = ArgDef { name: "DRAWS", default: 0.8, min: 0.0, max: 1.0, numbers: Numbers::Real };

/// `hotspot:KEYS:DRAWS`.
pub static HOTSPOT: DistributionDef = DistributionDef {
    entry: DistributionEntry {
        name: "hotspot",
        help: "as in YCSB: DRAWS (a share) of the draws go evenly to the first KEYS (a share) of the keys, the rest evenly to the \
               others",
        args: &[KEYS, DRAWS],
    },
    tested_at: &[&[0.2, 0.8], &[0.001, 0.5], &[0.9, 0.1], &[1.0, 0.0]],
    make: |n, args| Distribution::Hotspot(Hotspot::new(n, args[0], args[1])),
};

/// Two uniform distributions side by side.
#[derive(Clone, Copy, Debug)]
pub struct Hotspot {
    hot: u64,
    cold: u64,
    hot_draws: f64,
}

impl Hotspot {
    /// The distribution over `n` keys (0 is taken as 1) of which a share of `keys` is hot and gets a share of `draws`.
    pub fn new(n: u64, keys: f64, draws: f64) -> Self {
        let n = n.max(1);
        let hot = ((n as f64 * keys) as u64).clamp(1, n);
        // If every key is hot, the other draws have the same keys to fall on.
        Hotspot { hot, cold: n - hot, hot_draws: if hot == n { 1.0 } else { draws } }
    }

    #[inline]
    pub fn draw(&self, rng: &mut Rng) -> u64 {
        let (choice, place) = (unit_interval(rng.next_u64()), rng.next_u64());
        if choice < self.hot_draws { number_below(place, self.hot) } else { self.hot + number_below(place, self.cold) }
    }
}

impl HasLaw for Hotspot {
    fn probability_below(&self, key: u64) -> f64 {
        let (hot, cold) = (key.min(self.hot), key.saturating_sub(self.hot).min(self.cold));
        self.hot_draws * hot as f64 / self.hot as f64 + (1.0 - self.hot_draws) * cold as f64 / self.cold.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::client_rng;

    #[test]
    fn the_hot_keys_get_their_share_of_the_draws() {
        const COUNT: u32 = 400_000;
        for (n, keys, draws) in [(1_000_000u64, 0.2, 0.8), (1 << 40, 0.01, 0.5), (10, 0.3, 0.9), (1_000, 0.5, 0.0)] {
            let (hotspot, mut rng) = (Hotspot::new(n, keys, draws), client_rng(9, 0));
            let hot = (n as f64 * keys) as u64;
            let hits = (0..COUNT).filter(|_| hotspot.draw(&mut rng) < hot).count() as f64 / f64::from(COUNT);
            let sigma = (draws * (1.0 - draws) / f64::from(COUNT)).sqrt();
            assert!((hits - draws).abs() <= 5.0 * sigma, "n {n}: {hits} for {draws}");
        }
    }

    #[test]
    fn a_share_below_one_key_makes_one_key_hot_and_a_share_of_all_makes_all_alike() {
        assert!((Hotspot::new(100, 0.0, 0.8).probability_below(1) - 0.8).abs() < 1e-12);
        assert!((Hotspot::new(100, 1.0, 0.3).probability_below(50) - 0.5).abs() < 1e-12);
        assert!((Hotspot::new(1, 0.2, 0.0).probability_below(1) - 1.0).abs() < 1e-12);
    }
}
