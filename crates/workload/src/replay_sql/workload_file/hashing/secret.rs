//! Permutations that only a key tells apart, and streams of numbers from it.
//!
//! In: a random key that is kept nowhere. Out: of each number below n another one below n, and no two the same. Limits: n is at most 2^120. As
//! good as SHA-256; of few numbers (n of ten) a guess is right now and then all the same.
//!
//! A Feistel network of ten rounds, as many as FF1 has (NIST SP 800-38G, 2016), on the least power of two that is not below n, with cycle
//! walking (Black and Rogaway 2002, "Ciphers with arbitrary finite domains", section 3).

use sha2::{Digest, Sha256};

const ROUNDS: u8 = 10;
/// The largest n of a permutation.
pub(super) const RANGE_MAX: u128 = 1 << 120;

pub(super) struct Secret([u8; 32]);

impl Secret {
    /// A new one of the system's random numbers.
    pub fn random() -> Result<Secret, getrandom::Error> {
        let mut key = [0; 32];
        getrandom::fill(&mut key)?;
        Ok(Secret(key))
    }

    /// The beginning of a digest that needs the key.
    pub fn digest(&self) -> Sha256 {
        Sha256::new_with_prefix(self.0)
    }

    /// Where `x`, which is below `n`, goes. Each `format` has a permutation of its own.
    pub fn permuted(&self, n: u128, x: u128, format: &[u8]) -> u128 {
        debug_assert!(x < n && n <= RANGE_MAX);
        if n < 2 {
            return x;
        }
        let own = self.digest().chain_update([0u8]).chain_update(n.to_le_bytes()).chain_update(format).finalize();
        let bits = u128::BITS - (n - 1).leading_zeros();
        let mut at = self.step(&own[..8], bits, x);
        while at >= n {
            at = self.step(&own[..8], bits, at);
        }
        at
    }

    /// A permutation of all numbers of so many bits.
    fn step(&self, own: &[u8], bits: u32, x: u128) -> u128 {
        let low_bits = bits.div_ceil(2);
        let (low_mask, high_mask) = ((1u128 << low_bits) - 1, (1u128 << (bits - low_bits)) - 1);
        let (mut high, mut low) = (x >> low_bits, x & low_mask);
        for round in 0..ROUNDS {
            if round % 2 == 0 {
                low ^= self.round(own, round, high) & low_mask;
            } else {
                high ^= self.round(own, round, low) & high_mask;
            }
        }
        high << low_bits | low
    }

    /// One block of SHA-256: key, permutation, round and half are 49 bytes.
    fn round(&self, own: &[u8], round: u8, half: u128) -> u128 {
        let half = (half as u64).to_le_bytes();
        let word = self.digest().chain_update(own).chain_update([round + 1]).chain_update(half).finalize();
        u128::from_le_bytes(word[..16].try_into().expect("a digest has 32 bytes"))
    }

    /// Numbers without end that only the key and `seed` tell.
    pub fn numbers(&self, seed: &[u8]) -> impl Iterator<Item = u32> + use<> {
        let begun = self.digest().chain_update([u8::MAX]).chain_update(seed);
        (0u64..).flat_map(move |block| {
            let words = begun.clone().chain_update(block.to_le_bytes()).finalize();
            let words: Vec<u32> =
                words.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().expect("4 bytes"))).collect();
            words
        })
    }
}

#[cfg(test)]
impl Secret {
    /// One that is the same each time.
    pub fn fixed() -> Secret {
        Secret([7; 32])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_two_numbers_meet_and_formats_and_keys_differ() {
        let one = Secret::fixed();
        for n in [1u128, 2, 3, 8, 10, 1_000] {
            let all: BTreeSet<u128> = (0..n).map(|x| one.permuted(n, x, b"a")).collect();
            assert_eq!((all.len() as u128, all.last().copied()), (n, Some(n - 1)));
        }
        let other = Secret([8; 32]);
        let of = |secret: &Secret, format: &[u8]| -> Vec<u128> {
            (0..1_000).map(|x| secret.permuted(1_000, x, format)).collect()
        };
        let known = of(&one, b"a");
        assert!(known != of(&one, b"b") && known != of(&other, b"a"));
        let stays = known.iter().zip(0..).filter(|(to, from)| **to == *from).count();
        assert!(stays < 10, "a random permutation leaves one in its place on average: {stays}");
        assert!(one.permuted(RANGE_MAX, RANGE_MAX - 1, b"") < RANGE_MAX);
    }
}
