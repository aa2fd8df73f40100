//! Randomness: one generator per client and purpose, generators by key for rows, and random digits.
//!
//! In: the trial's seed. Out: xoshiro256++ generators (Blackman and Vigna 2021, "Scrambled linear pseudorandom number
//! generators") whose states are made by SplitMix64 (Steele, Lea and Flood 2014). A draw takes about 1 ns.
//! Limits: not for secrets. The states of two clients are independent, not provably disjoint: with a period of 2^256
//! an overlap is out of reach.

pub use rand_xoshiro::rand_core::Rng as Words;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

/// The generator of all operations.
pub type Rng = Xoshiro256PlusPlus;

/// The generator of `client`'s operations in a trial of `seed`.
pub fn client_rng(seed: u64, client: u32) -> Rng {
    client_rng_stream(seed, client, 0)
}

/// A further generator of `client`, independent of that of its operations if `stream` is not 0.
pub fn client_rng_stream(seed: u64, client: u32, stream: u32) -> Rng {
    rng_for_key(seed, (stream as u64) << 32 | client as u64)
}

/// The generator that belongs to `key`: the same wherever and whenever it is asked for.
pub(crate) fn rng_for_key(seed: u64, key: u64) -> Rng {
    Rng::seed_from_u64(mix_word(mix_word(seed) ^ key))
}

/// One step of SplitMix64 from `state`: a bijection of 64-bit words that leaves no pattern.
#[inline]
pub(crate) fn mix_word(state: u64) -> u64 {
    let z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// `word` as a number in [0, n) by multiplication and shift (Lemire 2019, "Fast random integer generation in an interval",
/// without the rejection): of 2^64 words each number gets `2^64 / n` rounded up or down, so its probability is off by a
/// factor of at most `1 + n / 2^64`, which for a thousand million rows is one in 10^10.
#[inline]
pub(crate) fn number_below(word: u64, n: u64) -> u64 {
    ((word as u128 * n as u128) >> 64) as u64
}

/// `word` as a number in [0, 1) with 53 random bits.
#[inline]
pub(crate) fn unit_interval(word: u64) -> f64 {
    (word >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// Appends `groups` groups of 11 random digits with dashes between them, as sysbench fills its text columns.
pub(crate) fn push_digit_groups(text: &mut Vec<u8>, groups: usize, rng: &mut Rng) {
    for _ in 1..groups {
        text.extend_from_slice(&eleven_digits_and_dash(rng.next_u64()));
    }
    text.extend_from_slice(&eleven_digits_and_dash(rng.next_u64())[..11]);
}

/// Appends `bytes` random characters of `alphabet`, ten of each random word.
#[inline]
pub(crate) fn push_random_text(text: &mut Vec<u8>, bytes: usize, alphabet: &[u8; 64], rng: &mut Rng) {
    let mut left = bytes;
    while left > 0 {
        let mut word = rng.next_u64();
        let now = left.min(CHARACTERS_PER_WORD);
        for _ in 0..now {
            // The top 6 of 64 bits choose one of 64 characters; the next 6 are moved up.
            text.push(alphabet[(word >> 58) as usize]);
            word <<= 6;
        }
        left -= now;
    }
}

/// Each of them takes 6 bits.
const CHARACTERS_PER_WORD: usize = 10;
/// Characters that need no quotes in any language.
pub(crate) const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The first 11 decimal digits of `word` / 2^64, two at a time: one random word and 6 multiplications for 11 digits. A text
/// of digits is off its probability by a factor of at most `1 + 10^11 / 2^64`.
#[inline]
fn eleven_digits_and_dash(word: u64) -> [u8; 12] {
    let mut group = [b'-'; 12];
    let mut fraction = word;
    for two in group[..10].as_chunks_mut().0 {
        let product = fraction as u128 * 100;
        *two = PAIRS[(product >> 64) as usize];
        fraction = product as u64;
    }
    group[10] = b'0' + number_below(fraction, 10) as u8;
    group
}

/// `00` to `99`.
const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[b'0'; 2]; 100];
    let mut n = 0;
    while n < 100 {
        pairs[n] = [b'0' + (n / 10) as u8, b'0' + (n % 10) as u8];
        n += 1;
    }
    pairs
};

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    #[test]
    fn clients_streams_and_seeds_have_generators_of_their_own() {
        let mut firsts = HashSet::new();
        for seed in 0..10 {
            for client in 0..10 {
                for stream in 0..10 {
                    assert!(firsts.insert(client_rng_stream(seed, client, stream).next_u64()));
                }
            }
        }
        assert_eq!(client_rng(3, 4), client_rng_stream(3, 4, 0));
    }

    #[test]
    fn the_seeding_never_changes() {
        // A change here changes every operation of every recorded seed.
        assert_eq!(mix_word(0), 0xe220_a839_7b1d_cdaf, "the first output of SplitMix64 from 0");
        assert_eq!(client_rng(1, 0).next_u64(), 4_577_072_067_518_496_145);
    }

    #[test]
    fn digits_are_the_decimal_expansion_of_the_word() {
        assert_eq!(&eleven_digits_and_dash(0), b"00000000000-");
        assert_eq!(&eleven_digits_and_dash(u64::MAX), b"99999999999-");
        assert_eq!(&eleven_digits_and_dash(1 << 63), b"50000000000-");
        assert_eq!(&eleven_digits_and_dash(u64::MAX / 3), b"33333333333-");
    }

    #[test]
    fn ten_groups_are_119_characters_in_which_every_digit_is_as_likely() {
        let mut rng = client_rng(5, 0);
        let mut counts = [0u32; 10];
        for _ in 0..1_000 {
            let mut text = Vec::new();
            push_digit_groups(&mut text, 10, &mut rng);
            assert_eq!(text.len(), 119);
            for (at, byte) in text.iter().enumerate() {
                assert_eq!(*byte == b'-', at % 12 == 11);
                byte.is_ascii_digit().then(|| counts[(byte - b'0') as usize] += 1);
            }
        }
        // 110,000 digits: 11,000 each, standard deviation 99.5.
        assert!(counts.iter().all(|count| count.abs_diff(11_000) < 500), "{counts:?}");
    }

    proptest! {
        #[test]
        fn a_word_becomes_a_number_below_n_and_the_extremes_are_reached(word: u64, n in 1u64..) {
            prop_assert!(number_below(word, n) < n);
            prop_assert_eq!((number_below(0, n), number_below(u64::MAX, n)), (0, n - 1));
            prop_assert!((0.0..1.0).contains(&unit_interval(word)));
        }
    }
}
