//! One unit of written data: 4 KiB with a header that identifies them.
//!
//! In: memory, and what is to be written there. Out: the unit with its header, and back: the header of a unit, or that it
//! has none. Limits: the checksum finds damage, not forgery.
//!
//! Why 4 KiB: it is the page of the cache and the block of today's drives and file systems, so what is lost, old or in the
//! wrong place comes in complete units, and one that is torn has a wrong checksum. Of 512 bytes the header would be 9 % and the
//! table an 80th of the data; of 4 KiB they are 1.2 % and a 512th.

use model::Offset;

/// The length of a unit.
pub const UNIT: usize = 4096;
/// The length of its header.
const HEADER: usize = 48;
/// Bytes before those that the checksum covers: the magic and the checksum.
const UNSUMMED: usize = 16;
const MAGIC: u64 = u64::from_le_bytes(*b"plimunit");

/// The place of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockAddress {
    /// The data set: a number of its own.
    pub set: u64,
    /// Which file of it.
    pub file: u16,
    /// Where in that file.
    pub at: Offset,
}

/// The header of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitHeader {
    /// Where it was written to.
    pub place: BlockAddress,
    /// Which write of that place it was, from 1.
    pub generation: u64,
}

impl UnitHeader {
    /// Writes this header over the beginning of `unit`, with the checksum of all that follows.
    pub fn seal(&self, unit: &mut [u8]) {
        let words =
            [self.place.set, self.place.at.0, self.generation, u64::from(self.place.file)].map(u64::to_le_bytes);
        unit[..8].copy_from_slice(&MAGIC.to_le_bytes());
        unit[UNSUMMED..HEADER].copy_from_slice(words.as_flattened());
        // Last, because it covers the fields of the header as well as the content.
        let sum = xxh64(&unit[UNSUMMED..]);
        unit[8..UNSUMMED].copy_from_slice(&sum.to_le_bytes());
    }

    /// The header of `unit`; `None` if it has none, or the checksum is not that of its content.
    pub fn parse(unit: &[u8]) -> Option<UnitHeader> {
        let [magic, sum, set, at, generation, file] = [0, 8, 16, 24, 32, 40].map(|at| word_at(unit, at));
        let intact = magic == MAGIC && sum == xxh64(&unit[UNSUMMED..]);
        let file = u16::try_from(file).ok().filter(|_| intact)?;
        Some(UnitHeader { place: BlockAddress { set, file, at: Offset(at) }, generation })
    }
}

/// The 64-bit word at `at` of `bytes`.
#[inline]
pub(super) fn word_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes are 8 bytes"))
}

/// The primes of XXH64.
const P1: u64 = 0x9e37_79b1_85eb_ca87;
const P2: u64 = 0xc2b2_ae3d_27d4_eb4f;
const P3: u64 = 0x1656_67b1_9e37_79f9;
const P4: u64 = 0x85eb_ca77_c2b2_ae63;
const P5: u64 = 0x27d4_eb2f_1656_67c5;

/// Mixes a word into one of the four lanes.
#[inline]
fn mix_lane(lane: u64, word: u64) -> u64 {
    lane.wrapping_add(word.wrapping_mul(P2)).rotate_left(31).wrapping_mul(P1)
}

/// XXH64 with seed 0 of 64-bit words (Y. Collet, "xxHash fast digest algorithm", version 0.1.1). Damage within one word always
/// changes it, other damage is missed once in 2^64; one core does 10 GB/s.
pub(super) fn xxh64(bytes: &[u8]) -> u64 {
    debug_assert!(bytes.len().is_multiple_of(8));
    let (words, _) = bytes.as_chunks::<8>();
    let (stripes, rest) = words.as_chunks::<4>();
    let mut hash = P5;
    if bytes.len() >= 32 {
        let mut lanes = [P1.wrapping_add(P2), P2, 0, 0u64.wrapping_sub(P1)];
        for stripe in stripes {
            for (lane, word) in lanes.iter_mut().zip(stripe) {
                *lane = mix_lane(*lane, u64::from_le_bytes(*word));
            }
        }
        // From here on it is the order of the specification: four lanes, the length, what is left, and the avalanche.
        let [a, b, c, d] = lanes;
        hash = a.rotate_left(1).wrapping_add(b.rotate_left(7)).wrapping_add(c.rotate_left(12));
        hash = hash.wrapping_add(d.rotate_left(18));
        hash = lanes.iter().fold(hash, |hash, lane| (hash ^ mix_lane(0, *lane)).wrapping_mul(P1).wrapping_add(P4));
    }
    hash = hash.wrapping_add(bytes.len() as u64);
    for last in rest {
        hash = (hash ^ mix_lane(0, u64::from_le_bytes(*last))).rotate_left(27).wrapping_mul(P1).wrapping_add(P4);
    }
    hash = (hash ^ hash >> 33).wrapping_mul(P2);
    hash = (hash ^ hash >> 29).wrapping_mul(P3);
    hash ^ hash >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: UnitHeader = UnitHeader { place: BlockAddress { set: 77, file: 3, at: Offset(8192) }, generation: 5 };

    fn sealed() -> Vec<u8> {
        let mut unit: Vec<u8> = (0..UNIT).map(|at| (at * 31 / 7) as u8).collect();
        HERE.seal(&mut unit);
        unit
    }

    #[test]
    fn the_checksum_is_that_of_the_reference_implementation() {
        let known = [
            (0, 0xef46_db37_51d8_e999),
            (8, 0xdab9_9d95_c6f9_0092),
            (16, 0x4348_5023_2b78_7be2),
            (32, 0x23c3_c17e_f790_fd97),
            (40, 0xb620_306b_253d_76b6),
            (4080, 0xcddb_bf2f_2802_6aa9),
        ];
        for (len, hash) in known {
            let bytes: Vec<u8> = (0..len).map(|at: usize| (at * 7 + 3) as u8).collect();
            assert_eq!(xxh64(&bytes), hash, "{len}");
        }
    }

    #[test]
    fn a_unit_says_what_it_is_until_any_byte_of_it_is_changed() {
        let unit = sealed();
        assert_eq!(UnitHeader::parse(&unit), Some(HERE));
        for at in 0..UNIT {
            let mut damaged = unit.clone();
            damaged[at] ^= 0x10;
            assert_eq!(UnitHeader::parse(&damaged), None, "byte {at}");
        }
    }

    #[test]
    fn half_a_unit_and_no_unit_at_all_are_none() {
        let (mut torn, mut later) = (sealed(), vec![7; UNIT]);
        UnitHeader { generation: 6, ..HERE }.seal(&mut later);
        torn[..512].copy_from_slice(&later[..512]);
        assert_eq!((UnitHeader::parse(&torn), UnitHeader::parse(&[0; UNIT])), (None, None));
        assert!(UnitHeader::parse(&later).is_some());
    }
}
