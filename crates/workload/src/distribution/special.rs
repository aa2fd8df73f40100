//! sysbench's special: most draws fall evenly on a few keys in the middle, the others are gaussian over all keys.
//!
//! In: n; the percentage of the keys that are special (sysbench: `--rand-spec-pct`), the percentage of the draws that go to them
//! (`--rand-spec-res`), the number of uniforms in a mean of the others (`--rand-spec-iter`). Out: keys in [0, n), in about 7 ns.
//! The special keys are neighbours: nothing is scattered, as in sysbench. Limits: 53 random bits a draw.
//!
//! Definition: sysbench 1.0.20, `sb_rand_special` in src/sb_rand.c, with its peculiarities, so that a cache sees here what it sees
//! there. The uniform number that decides for the special keys is also the place among them, and by then it is no longer any
//! number of [0, 1) but one of the last RES %. So the special draws fall on the upper RES % of the PCT % in the middle:
//! 75 % of them on 0.75 % of the keys by default. The gaussian part never draws the last key.

use super::gaussian::{ITER, MeanOfUniforms};
use super::law::mean_of_uniforms_below;
use super::{Distribution, DistributionDef, HasLaw};
use crate::random::{Rng, Words, unit_interval};
use model::{ArgDef, DistributionEntry, Numbers};

const PCT: ArgDef = ArgDef { name: "PCT", default: 1.0, min: 0.0, max: 100.0, numbers: Numbers::Real };
const RES: ArgDef = ArgDef { name: "RES", default: 75.0, min: 0.0, max: 100.0, numbers: Numbers::Real };

/// `special:PCT:RES:ITER`.
pub static SPECIAL: DistributionDef = DistributionDef {
    entry: DistributionEntry {
        name: "special",
        help: "as in sysbench: RES % of the draws go evenly to a group of popular keys in the middle (PCT % of all keys, of which only \
               the upper RES % are used); the other draws are gaussian with ITER. The popular keys are neighbours",
        args: &[PCT, RES, ITER],
    },
    tested_at: &[&[1.0, 75.0, 12.0], &[10.0, 30.0, 3.0], &[0.0, 50.0, 12.0], &[100.0, 100.0, 12.0]],
    make: |n, args| Distribution::Special(Special::new(n, args[0] / 100.0, args[1] / 100.0, args[2] as u32)),
};

/// The special distribution over [0, n).
#[derive(Clone, Copy, Debug)]
pub struct Special {
    n: u64,
    /// The share of the draws that are gaussian.
    gaussian: f64,
    mean: MeanOfUniforms,
    /// Special draws are `low + u * width` for u in [gaussian, 1), rounded down.
    low: f64,
    width: f64,
}

impl Special {
    /// The distribution over `n` keys (0 is taken as 1) of which a share of `keys` is special and gets a share of `draws`.
    pub fn new(n: u64, keys: f64, draws: f64, iterations: u32) -> Self {
        let n = n.max(1);
        let last = (n - 1) as f64;
        Special {
            n,
            gaussian: 1.0 - draws,
            mean: MeanOfUniforms::new(last, iterations),
            low: last / 2.0 - last * keys / 2.0,
            width: last * keys + 1.0,
        }
    }

    #[inline]
    pub fn draw(&self, rng: &mut Rng) -> u64 {
        let u = unit_interval(rng.next_u64());
        let key = if u < self.gaussian { self.mean.draw(rng) } else { (self.low + u * self.width) as u64 };
        key.min(self.n - 1)
    }
}

impl HasLaw for Special {
    fn probability_below(&self, key: u64) -> f64 {
        match key {
            0 => 0.0,
            _ if key >= self.n => 1.0,
            _ => {
                let (at, last) = (key as f64, (self.n - 1) as f64);
                // The u below which a special draw gives a smaller key: from `gaussian` (none does) to 1 (all do).
                let u = ((at - self.low) / self.width).clamp(self.gaussian, 1.0);
                self.gaussian * mean_of_uniforms_below(at / last, self.mean.iterations) + u - self.gaussian
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::client_rng;

    #[test]
    fn the_special_keys_get_their_share_of_the_draws_and_what_the_gaussian_part_adds() {
        const N: u64 = 1_000_000;
        const DRAWS: u32 = 400_000;
        for (pct, res, iterations) in [(1.0, 75.0, 12), (10.0, 50.0, 12), (0.1, 99.0, 3), (20.0, 90.0, 1)] {
            let special = Special::new(N, pct / 100.0, res / 100.0, iterations);
            // By hand: the upper RES % of PCT % of the keys, whose middle is that of all keys.
            let (d, share) = (pct / 100.0 * (N - 1) as f64, res / 100.0);
            let (low, high) = (499_999.5 - d / 2.0 + (1.0 - share) * (d + 1.0), 499_999.5 + d / 2.0 + 1.0);
            let mut rng = client_rng(5, 0);
            let hits = (0..DRAWS).filter(|_| (low.floor()..high).contains(&(special.draw(&mut rng) as f64))).count();
            // A mean of m uniforms is nearly normal around the middle; one uniform is flat, three are 1 % off at most.
            let spread = (N as f64) / (12.0 * f64::from(iterations)).sqrt();
            let flat = (high - low) / N as f64;
            let peak = (high - low) / (spread * (std::f64::consts::TAU).sqrt());
            let gaussian = if iterations == 1 { flat } else { peak };
            let expected = share + (1.0 - share) * gaussian;
            let sigma = (expected * (1.0 - expected) / f64::from(DRAWS)).sqrt();
            let seen = hits as f64 / f64::from(DRAWS);
            assert!((seen - expected).abs() < 5.0 * sigma + 0.01 * (1.0 - share), "{pct}:{res}: {seen} for {expected}");
        }
    }

    #[test]
    fn all_draws_special_and_none_special_are_possible() {
        let keys = |special: Special| {
            let mut rng = client_rng(6, 0);
            let keys: Vec<u64> = (0..10_000).map(|_| special.draw(&mut rng)).collect();
            (*keys.iter().min().unwrap(), *keys.iter().max().unwrap())
        };
        assert_eq!(keys(Special::new(1_001, 0.0, 1.0, 12)), (500, 500), "one key in the middle");
        let (least, most) = keys(Special::new(1_001, 1.0, 1.0, 12));
        assert!(least < 5 && most == 1_000, "evenly over all keys: {least} to {most}");
        let (least, most) = keys(Special::new(1_001, 0.0, 0.0, 1));
        assert!(least < 5 && most == 999, "one uniform number, which never draws the last key: {least} to {most}");
    }
}
