//! Popularity falls with a power of the rank: rank k (from 1) is drawn with probability k^-theta / (1 + 2^-theta + ... +
//! n^-theta).
//!
//! In: n and theta >= 0; theta 0 is uniform, theta 1 is Zipf's own law. Out: ranks from 0, or keys over which the ranks are
//! scattered, in 20 to 30 ns. Limits: 53 random bits a draw, so ranks rarer than 2^-53 are drawn more coarsely than by the
//! law; a machine whose `exp` and `ln` round otherwise may draw the neighbour of a rank once in a long while.
//!
//! Rejection-inversion: Hörmann and Derflinger 1996, "Rejection-inversion to generate variates from monotone discrete
//! distributions", ACM TOMACS 6(3). Exact for any theta, set up in constant time, and it rejects few draws.
//! The integrals are written with `exp_m1` and `ln_1p`, so that theta near 1 loses no digits. Not taken: the formula of Gray
//! et al. 1994 (YCSB), an approximation that is visibly off at theta 0.9 and undefined at 1.

use super::law::power_sum;
use super::{Distribution, DistributionDef, HasLaw};
use crate::random::{Rng, Words, unit_interval};
use crate::scatter::Scatter;
use model::{ArgDef, DistributionEntry, Numbers};

// Above 100 nothing changes: the second rank is already drawn less than once in 10^30 times.
const THETA: ArgDef = ArgDef { name: "THETA", default: 0.9, min: 0.0, max: 100.0, numbers: Numbers::Real };

/// `zipf:THETA`.
pub static ZIPF: DistributionDef = DistributionDef {
    entry: DistributionEntry {
        name: "zipf",
        help: "the key of rank k is drawn in proportion to k^-THETA; ranks are scattered over the keys",
        args: &[THETA],
    },
    tested_at: &[&[0.0], &[0.5], &[0.99], &[1.0], &[1.3], &[4.0]],
    make: |n, args| Distribution::Zipf(Zipf::new(n, args[0])),
};

/// The Zipf distribution over [0, n).
#[derive(Clone, Copy, Debug)]
pub struct Zipf {
    n: u64,
    law: PowerLaw,
    /// H(1.5) - h(1) and H(n + 0.5): the ends of the area from which is drawn.
    area_first: f64,
    area_last: f64,
    /// A draw this close below its rank is always accepted.
    accept_within: f64,
    scatter: Scatter,
}

impl Zipf {
    /// The distribution over `n` ranks (0 is taken as 1) with exponent `theta` >= 0.
    pub fn new(n: u64, theta: f64) -> Self {
        let (n, law) = (n.max(1), PowerLaw::new(theta));
        Zipf {
            n,
            law,
            area_first: law.area(1.5) - 1.0,
            area_last: law.area(n as f64 + 0.5),
            accept_within: 2.0 - law.area_inverse(law.area(2.5) - law.height(2.0)),
            scatter: Scatter::new(n),
        }
    }

    /// The next key: a rank scattered over [0, n).
    #[inline]
    pub fn draw(&self, rng: &mut Rng) -> u64 {
        self.key(self.rank(rng))
    }

    /// The key of `rank`, which must be below n.
    #[inline]
    pub fn key(&self, rank: u64) -> u64 {
        self.scatter.key_of(rank)
    }

    /// The rank of `key`, which must be below n.
    pub fn rank_of(&self, key: u64) -> u64 {
        self.scatter.rank_of(key)
    }

    /// The next rank from 0, the most popular.
    #[inline]
    pub fn rank(&self, rng: &mut Rng) -> u64 {
        loop {
            // A point of the area under the hat, drawn evenly; the rank over which it lies is the candidate.
            let u = self.area_last + unit_interval(rng.next_u64()) * (self.area_first - self.area_last);
            let x = self.law.area_inverse(u);
            let k = ((x + 0.5) as u64).clamp(1, self.n); // the nearest rank, of which rounding may make one too many
            let rank = k as f64;
            if rank - x <= self.accept_within || u >= self.law.area(rank + 0.5) - self.law.height(rank) {
                return k - 1;
            }
        }
    }

    /// Returns a function that gives the probability of a rank below its argument.
    pub fn probability_below(&self) -> impl Fn(u64) -> f64 + use<> {
        let (n, law) = (self.n, self.law);
        let sum = power_sum(law.theta, move |x| law.area(x));
        let total = sum(n);
        move |rank| sum(rank.min(n)) / total
    }
}

impl HasLaw for Zipf {
    fn probability_below(&self, place: u64) -> f64 {
        Zipf::probability_below(self)(place)
    }

    fn law(self) -> super::Law {
        Box::new(Zipf::probability_below(&self))
    }

    fn key_at(&self, place: u64) -> u64 {
        Zipf::key(self, place)
    }

    fn place_of(&self, key: u64) -> u64 {
        self.rank_of(key)
    }
}

/// The hat h(x) = x^-theta and its integral H.
#[derive(Clone, Copy, Debug)]
struct PowerLaw {
    theta: f64,
    /// 1 - theta.
    power: f64,
    /// 1 / (1 - theta), if theta is so far from 1 that the plain formula of the inverse is exact enough.
    power_inverse: Option<f64>,
}

impl PowerLaw {
    fn new(theta: f64) -> Self {
        let power = 1.0 - theta;
        // At a distance of 0.01 the plain formula moves a rank by 10^-14 of itself: less than the 53 bits of a draw.
        // It makes a draw take 22 ns and not 40 ns, because `ln` is twice as fast as `ln_1p`.
        PowerLaw { theta, power, power_inverse: (power.abs() >= 0.01).then_some(1.0 / power) }
    }

    /// h(x) = x^-theta.
    #[inline]
    fn height(&self, x: f64) -> f64 {
        (-self.theta * x.ln()).exp()
    }

    /// H(x), the integral of h from 1 to x: (x^(1-theta) - 1) / (1-theta), and ln x if theta is 1.
    #[inline]
    fn area(&self, x: f64) -> f64 {
        let log = x.ln();
        let t = self.power * log;
        // Below 1e-8 the series of (e^t - 1) / t ends after its second term in 53 bits.
        let ratio = if t.abs() > 1e-8 { t.exp_m1() / t } else { 1.0 + 0.5 * t };
        ratio * log
    }

    /// The x of which H(x) is `area`.
    #[inline]
    fn area_inverse(&self, area: f64) -> f64 {
        // t is -1 at infinity; rounding must not push it beyond, since the logarithm ends there.
        let t = (self.power * area).max(-1.0);
        let log = match self.power_inverse {
            Some(power_inverse) => (1.0 + t).ln() * power_inverse,
            None if t.abs() > 1e-8 => t.ln_1p() / t * area,
            None => (1.0 - 0.5 * t) * area,
        };
        log.exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::client_rng;
    use statrs::distribution::{ChiSquared, ContinuousCDF};

    const N: u64 = 1_000_000;
    const DRAWS: u64 = 1_000_000;

    /// 1 + 2^-theta + ... + N^-theta.
    fn normaliser(theta: f64) -> f64 {
        (1..=N).rev().map(|k| (k as f64).powf(-theta)).sum()
    }

    /// How often each rank comes in a million draws.
    fn counts(theta: f64, seed: u64) -> Vec<u64> {
        let (zipf, mut rng) = (Zipf::new(N, theta), client_rng(seed, 0));
        let mut counts = vec![0; N as usize];
        (0..DRAWS).for_each(|_| counts[zipf.rank(&mut rng) as usize] += 1);
        counts
    }

    /// The probability of counts as unlike the law of `theta` as these, or more. Ranks are taken together until at least
    /// 100 draws are expected in a bin, so that chi-square's approximation holds.
    fn p_value(counts: &[u64], theta: f64) -> f64 {
        let per_weight = DRAWS as f64 / normaliser(theta);
        let (mut chi_square, mut bins) = (0.0, 0);
        let (mut seen, mut expected) = (0, 0.0);
        for (rank, count) in counts.iter().enumerate() {
            seen += count;
            expected += per_weight * ((rank + 1) as f64).powf(-theta);
            if expected >= 100.0 {
                chi_square += (seen as f64 - expected).powi(2) / expected;
                bins += 1;
                (seen, expected) = (0, 0.0);
            }
        }
        1.0 - ChiSquared::new((bins - 1) as f64).expect("more than one bin").cdf(chi_square)
    }

    #[test]
    fn the_first_rank_of_a_million_is_drawn_as_often_as_the_law_says() {
        for (theta, expected, seed) in [(0.5, 500.4, 1), (0.9, 32_915.7, 2), (1.1, 123_876.4, 3)] {
            let share = 1.0 / normaliser(theta);
            assert!((share * DRAWS as f64 - expected).abs() < 0.1, "theta {theta}: {}", share * DRAWS as f64);
            let sigma = (DRAWS as f64 * share * (1.0 - share)).sqrt();
            let hits = counts(theta, seed)[0] as f64;
            assert!((hits - expected).abs() < 5.0 * sigma, "theta {theta}: {hits} hits of {expected}");
        }
    }

    #[test]
    fn a_million_draws_pass_the_chi_square_test_for_every_theta() {
        for theta in [0.0, 0.5, 0.9, 0.995, 0.999_999, 1.0, 1.000_001, 1.02, 1.1, 2.5] {
            let p = p_value(&counts(theta, 42), theta);
            assert!((0.001..0.999).contains(&p), "theta {theta}: p = {p}");
        }
    }

    #[test]
    fn the_chi_square_test_notices_a_theta_that_is_one_percent_off() {
        assert!(p_value(&counts(0.909, 42), 0.9) < 1e-6);
    }

    #[test]
    fn theta_passes_through_1_without_a_jump() {
        let ranks = |theta| {
            let (zipf, mut rng) = (Zipf::new(N, theta), client_rng(9, 0));
            (0..1_000).map(|_| zipf.rank(&mut rng)).collect::<Vec<_>>()
        };
        let at_one = ranks(1.0);
        for theta in [1.0 - 1e-12, 1.0 + 1e-12] {
            assert!(at_one.iter().zip(ranks(theta)).filter(|(a, b)| *a != b).count() < 5, "theta {theta}");
        }
    }

    #[test]
    fn keys_are_the_scattered_ranks() {
        let zipf = Zipf::new(1_000, 1.0);
        let (mut for_ranks, mut for_keys) = (client_rng(4, 0), client_rng(4, 0));
        for _ in 0..1_000 {
            assert_eq!(Scatter::new(1_000).key_of(zipf.rank(&mut for_ranks)), zipf.draw(&mut for_keys));
        }
    }

    #[test]
    fn one_key_is_always_drawn() {
        let mut rng = client_rng(1, 0);
        assert!([0.0, 1.0, 100.0].iter().all(|theta| Zipf::new(1, *theta).draw(&mut rng) == 0));
    }
}
