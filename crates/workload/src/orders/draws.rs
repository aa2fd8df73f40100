//! Random numbers, names and texts of the order-entry workload.
//!
//! In: a generator, and the constants of the data set. Out: numbers by the non-uniform law `NURand`, last names, texts. Limits: the
//! constants come from the seed; that of last names differs between load and run as the specification (clause 2.1.6.1) demands.

use crate::random::{Rng, Words, mix_word, number_below, push_random_text};

/// A whole number from `low` to `high`, both included.
#[inline]
pub(super) fn between(rng: &mut Rng, low: u64, high: u64) -> u64 {
    low + number_below(rng.next_u64(), high - low + 1)
}

/// Whether something that happens in `percent` of all cases does.
#[inline]
pub(super) fn happens(rng: &mut Rng, percent: u64) -> bool {
    number_below(rng.next_u64(), 100) < percent
}

/// The law `NURand(a, low, high)` of clause 2.1.6: some numbers are drawn more often than others.
#[derive(Clone, Copy, Debug)]
pub(super) struct NuRand {
    a: u64,
    c: u64,
    low: u64,
    high: u64,
}

impl NuRand {
    /// A number by this law.
    #[inline]
    pub(super) fn draw(&self, rng: &mut Rng) -> u64 {
        let one = number_below(rng.next_u64(), self.a + 1);
        let other = between(rng, self.low, self.high);
        ((one | other) + self.c) % (self.high - self.low + 1) + self.low
    }
}

/// `A` of last names, of the numbers of customers, and of items.
const A_LAST: u64 = 255;
const A_CUSTOMER: u64 = 1023;
const A_ITEM: u64 = 8191;

/// How far the constant of last names in the run may be from that of the load, with two values in between that it may not have.
const DELTA: std::ops::RangeInclusive<u64> = 65..=119;
const NO_DELTA: [u64; 2] = [96, 112];

/// The laws of a data set: with the constants `C` of its seed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Laws {
    /// Numbers of last names in the load.
    pub(super) last_at_load: NuRand,
    /// Numbers of last names in the run.
    pub(super) last: NuRand,
    /// Customers of a district.
    pub(super) customer: NuRand,
    pub(super) item: NuRand,
}

impl Laws {
    /// The laws of `seed` for so many `customers` of a district and so many `items`.
    pub(super) fn new(seed: u64, customers: u64, items: u64) -> Laws {
        let constant = |nth: u64, a: u64| number_below(mix_word(mix_word(seed ^ 0x0c_c0) ^ nth), a + 1);
        let names = customers.min(LAST_NAMES);
        let c_load = constant(0, A_LAST);
        let last = |c| NuRand { a: A_LAST, c, low: 0, high: names - 1 };
        Laws {
            last_at_load: last(c_load),
            last: last(c_for_run(c_load, constant(1, A_LAST))),
            customer: NuRand { a: A_CUSTOMER, c: constant(2, A_CUSTOMER), low: 1, high: customers },
            item: NuRand { a: A_ITEM, c: constant(3, A_ITEM), low: 1, high: items },
        }
    }
}

/// The first constant from `wanted` on, after the last from 0 on, that is as far from `c_load` as it must be.
fn c_for_run(c_load: u64, wanted: u64) -> u64 {
    let fits = |c: &u64| DELTA.contains(&c.abs_diff(c_load)) && !NO_DELTA.contains(&c.abs_diff(c_load));
    (wanted..=A_LAST).chain(0..wanted).find(fits).expect("255 is more than twice 65")
}

/// How many last names there are.
pub(super) const LAST_NAMES: u64 = 1_000;

const SYLLABLES: [&str; 10] = ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];

/// Appends last name `number`: three syllables, one for each digit (clause 4.3.2.3).
pub(super) fn push_last_name(text: &mut Vec<u8>, number: u64) {
    for digit in [number / 100 % 10, number / 10 % 10, number % 10] {
        text.extend_from_slice(SYLLABLES[digit as usize].as_bytes());
    }
}

const CHARACTERS: &[u8; 64] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz -";

/// Appends `length` random characters.
pub(super) fn push_characters(text: &mut Vec<u8>, length: u64, rng: &mut Rng) {
    push_random_text(text, length as usize, CHARACTERS, rng);
}

/// Appends between `least` and `most` random characters.
pub(super) fn push_text_between(text: &mut Vec<u8>, least: u64, most: u64, rng: &mut Rng) {
    let length = between(rng, least, most);
    push_characters(text, length, rng);
}

/// Appends `length` random digits.
pub(super) fn push_digits(text: &mut Vec<u8>, length: u64, rng: &mut Rng) {
    for _ in 0..length {
        text.push(b'0' + number_below(rng.next_u64(), 10) as u8);
    }
}

/// Appends a text of 26 to 50 characters, of which one in ten has the word that marks original goods (clause 4.3.3.1).
pub(super) fn push_data(text: &mut Vec<u8>, rng: &mut Rng) {
    const MARK: &[u8] = b"ORIGINAL";
    let start = text.len();
    push_text_between(text, 26, 50, rng);
    if happens(rng, 10) {
        let room = (text.len() - start - MARK.len()) as u64;
        let at = start + between(rng, 0, room) as usize;
        text[at..at + MARK.len()].copy_from_slice(MARK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::client_rng;

    #[test]
    fn last_names_are_the_syllables_of_their_digits() {
        for (number, name) in [(0, "BARBARBAR"), (371, "PRICALLYOUGHT"), (999, "EINGEINGEING")] {
            let mut text = Vec::new();
            push_last_name(&mut text, number);
            assert_eq!(text, name.as_bytes());
        }
    }

    #[test]
    fn the_constant_of_last_names_differs_between_load_and_run_as_it_must() {
        for seed in 0..2_000 {
            let laws = Laws::new(seed, 3_000, 100_000);
            let delta = laws.last.c.abs_diff(laws.last_at_load.c);
            assert!((65..=119).contains(&delta) && delta != 96 && delta != 112, "{delta}");
            assert!(laws.last.c <= 255 && laws.customer.c <= 1023 && laws.item.c <= 8191);
        }
    }

    #[test]
    fn numbers_by_the_law_have_the_shares_that_its_definition_gives() {
        // The definition, counted over all pairs of its two uniform numbers.
        let law = NuRand { a: 7, c: 3, low: 1, high: 10 };
        let mut expected = [0.0; 11];
        for one in 0..=7 {
            for other in 1..=10u64 {
                expected[(((one | other) + 3) % 10 + 1) as usize] += 1.0 / 80.0;
            }
        }
        let (mut rng, draws) = (client_rng(1, 0), 200_000);
        let mut seen = [0u32; 11];
        (0..draws).for_each(|_| seen[law.draw(&mut rng) as usize] += 1);
        for (number, share) in expected.into_iter().enumerate() {
            let found = f64::from(seen[number]) / f64::from(draws);
            // Five standard deviations of a share of at most a half.
            assert!((found - share).abs() < 5.0 * (share * (1.0 - share) / f64::from(draws)).sqrt() + 1e-9, "{number}");
        }
    }

    #[test]
    fn one_text_of_data_in_ten_is_marked_and_all_have_their_length() {
        let mut rng = client_rng(2, 0);
        let marked = (0..10_000).filter(|_| {
            let mut text = Vec::new();
            push_data(&mut text, &mut rng);
            assert!((26..=50).contains(&text.len()));
            text.windows(8).any(|part| part == b"ORIGINAL")
        });
        assert!(marked.count().abs_diff(1_000) < 150);
    }
}
