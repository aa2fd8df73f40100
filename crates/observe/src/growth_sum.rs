//! A sum that only grows, of counters that come and go: those of threads.
//!
//! In: the counters of all threads at each reading. Out: what they grew by since the sum began. Limits: a thread that ends between two
//! readings takes its last stretch with it.

use std::collections::BTreeMap;

/// What the counters of some threads grew by.
#[derive(Debug)]
pub(crate) struct GrowthSum<K> {
    known: BTreeMap<K, u64>,
    sum: u64,
}

impl<K: Ord + Copy> GrowthSum<K> {
    /// From what the counters are now.
    pub fn starting_at(known: BTreeMap<K, u64>) -> GrowthSum<K> {
        GrowthSum { known, sum: 0 }
    }

    /// The sum when the counters are these. All of a counter that is new counts, and of one that has the number of another.
    pub fn advance(&mut self, now: BTreeMap<K, u64>) -> u64 {
        let since = |(number, now): (&K, &u64)| match self.known.get(number) {
            Some(known) if known <= now => now - known,
            _ => *now,
        };
        self.sum += now.iter().map(since).sum::<u64>();
        self.known = now;
        self.sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_the_growth_of_old_counters_and_all_of_new_ones() {
        let of = |all: &[(u32, u64)]| all.iter().copied().collect::<BTreeMap<u32, u64>>();
        let mut sum = GrowthSum::starting_at(of(&[(3, 20), (5, 90)]));
        assert_eq!(sum.advance(of(&[(3, 50), (7, 30)])), 60);
        assert_eq!(sum.advance(of(&[(3, 10)])), 70, "another thread has its number");
    }
}
