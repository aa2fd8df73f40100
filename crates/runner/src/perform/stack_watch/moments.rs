//! The random moments at which stacks are taken.
//!
//! In: how long the run phase is, and a seed. Out: times since it began, in order. Limits: a phase that ends early has fewer.

use model::Nanos;
use workload::random::{Words, client_rng_stream};

/// The mean distance of two moments.
const MEAN_GAP: Nanos = Nanos::from_secs(5);
/// The fewest moments of a phase: what stalls are compared with.
const LEAST: u64 = 3;
/// The most moments of a phase.
pub(super) const MOST: u64 = 20;
/// A phase of this length or more ends when its work is done, so that its length is not known.
const UNKNOWN_FROM: Nanos = Nanos::from_secs(86_400);
/// Keeps these draws apart from those of the operations.
const STREAM: u32 = 0x5354_4143;

/// The moments in a phase of at most `length`. A Poisson process whose number of arrivals in a time is known has them at independent
/// moments, uniform in that time (Kingman, "Poisson Processes", 1993, section 2.4): so the number is fixed, and they are spread over the
/// phase. If the length is not known, the first arrivals are drawn one after the other.
pub(super) fn random_moments(length: Nanos, seed: u64) -> Vec<Nanos> {
    let mut words = client_rng_stream(seed, 0, STREAM);
    let mut unit = || (words.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
    if length >= UNKNOWN_FROM {
        let gaps = (0..MOST).map(|_| Nanos((-(1.0 - unit()).ln() * MEAN_GAP.0 as f64) as u64));
        return gaps
            .scan(Nanos(0), |at, gap| {
                *at = Nanos(at.0 + gap.0);
                Some(*at)
            })
            .collect();
    }
    let count = (length.0 / MEAN_GAP.0).clamp(LEAST, MOST);
    let mut moments: Vec<Nanos> = (0..count).map(|_| Nanos((unit() * length.0 as f64) as u64)).collect();
    moments.sort_unstable();
    moments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_uniform_over_the_phase_and_the_same_for_the_same_seed() {
        let length = Nanos::from_secs(60);
        let all: Vec<Nanos> = (0..1_000).flat_map(|seed| random_moments(length, seed)).collect();
        assert_eq!(all.len(), 12_000, "60 s / 5 s each");
        // 12,000 draws of a uniform law: the share below a quarter has a standard deviation of 0.4 %.
        let early = all.iter().filter(|at| at.0 < length.0 / 4).count() as f64 / all.len() as f64;
        assert!((early - 0.25).abs() < 0.02, "{early}");
        assert_eq!(random_moments(length, 7), random_moments(length, 7));
        assert_ne!(random_moments(length, 7), random_moments(length, 8));
        assert!(random_moments(length, 7).is_sorted());
    }

    #[test]
    fn a_short_phase_has_three_and_a_long_one_twenty() {
        assert_eq!(random_moments(Nanos::from_secs(2), 1).len(), 3);
        assert_eq!(random_moments(Nanos::from_secs(3_600), 1).len(), 20);
    }

    #[test]
    fn a_phase_of_unknown_length_has_one_in_five_seconds() {
        let last: f64 = (0..500).map(|seed| random_moments(Nanos::from_secs(86_400), seed)[19].as_secs_f64()).sum();
        assert!((last / 500.0 - 100.0).abs() < 5.0, "{}", last / 500.0);
    }
}
