//! `lzjb`: the default of ZFS for many years. No crate has it, so it is written here after its description.
//!
//! In: bytes. Out: the format that ZFS writes: one bit for each of eight items, then the items, a byte or a copy of two bytes.
//! Limits: as in ZFS, copies of 3 to 66 bytes from at most 1,023 bytes back; the last 66 bytes are always stored as they are.
//!
//! Source: J. Bonwick, `uts/common/fs/zfs/lzjb.c` of OpenSolaris, with the hash table of 1,024 entries that ZFS has.

use super::codec::{Codec, CodecDef, damaged};
use super::records::{compress_records, decompress_records};
use model::LeveledWord;
use std::io::{self, Read, Write};

pub const LZJB: CodecDef = CodecDef {
    word: LeveledWord::plain("lzjb"),
    library: "own code, the format of ZFS, records of 128 KiB",
    make: |_| Ok(Box::new(Lzjb)),
};

const MATCH_BITS: u32 = 6;
const MATCH_MIN: usize = 3;
const MATCH_MAX: usize = (1 << MATCH_BITS) + (MATCH_MIN - 1);
const OFFSET_MASK: usize = (1 << (16 - MATCH_BITS)) - 1;
const TABLE: usize = 1024;

struct Lzjb;

impl Codec for Lzjb {
    fn compress_stream(&mut self, source: &mut dyn Read, _: u64, target: &mut dyn Write) -> io::Result<()> {
        compress_records(self, source, target)
    }

    fn decompress_stream(&mut self, source: &mut dyn Read, target: &mut dyn Write) -> io::Result<()> {
        decompress_records(self, source, target)
    }

    fn compress_block(&mut self, block: &[u8], packed: &mut Vec<u8>) -> io::Result<()> {
        compress(block, packed);
        Ok(())
    }

    fn decompress_block(&mut self, packed: &[u8], block: &mut [u8]) -> io::Result<()> {
        decompress(packed, block).ok_or_else(|| damaged("a block of lzjb is damaged"))
    }
}

fn compress(source: &[u8], packed: &mut Vec<u8>) {
    packed.clear();
    // Only the low 16 bits of a place are kept: an offset has ten.
    let mut last_places = [0u16; TABLE];
    let (mut at, mut bit, mut map) = (0, 7, 0);
    while at < source.len() {
        bit += 1;
        if bit == 8 {
            (bit, map) = (0, packed.len());
            packed.push(0);
        }
        match find_match(source, at, &mut last_places) {
            Some((offset, len)) => {
                packed[map] |= 1 << bit;
                let high = ((len - MATCH_MIN) << (8 - MATCH_BITS)) | (offset >> 8);
                packed.extend_from_slice(&[high as u8, offset as u8]);
                at += len;
            }
            None => {
                packed.push(source[at]);
                at += 1;
            }
        }
    }
}

/// How far back the bytes at `at` occurred last, and how many of them.
fn find_match(source: &[u8], at: usize, last_places: &mut [u16; TABLE]) -> Option<(usize, usize)> {
    let [a, b, c] = *source.get(at..at + MATCH_MAX)?.first_chunk()?;
    let mut hash = (usize::from(a) << 16) + (usize::from(b) << 8) + usize::from(c);
    hash += hash >> 9;
    hash += hash >> 5;
    let last = &mut last_places[hash % TABLE];
    let offset = at.wrapping_sub(usize::from(*last)) & OFFSET_MASK;
    *last = at as u16;
    let from = at.checked_sub(offset).filter(|from| *from != at)?;
    let equal = (0..MATCH_MAX).take_while(|nth| source[at + nth] == source[from + nth]).count();
    (equal >= MATCH_MIN).then_some((offset, equal))
}

/// Fills `block`; `None` if `packed` is no block of this length.
fn decompress(packed: &[u8], block: &mut [u8]) -> Option<()> {
    let mut bytes = packed.iter().copied();
    let (mut at, mut bit, mut map) = (0, 7, 0);
    while at < block.len() {
        bit += 1;
        if bit == 8 {
            (bit, map) = (0, bytes.next()?);
        }
        if map >> bit & 1 == 0 {
            block[at] = bytes.next()?;
            at += 1;
            continue;
        }
        let (high, low) = (bytes.next()?, bytes.next()?);
        let len = usize::from(high >> (8 - MATCH_BITS)) + MATCH_MIN;
        let offset = (usize::from(high) << 8 | usize::from(low)) & OFFSET_MASK;
        let from = at.checked_sub(offset)?;
        for nth in 0..len.min(block.len() - at) {
            block[at + nth] = block[from + nth];
        }
        at += len;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_hundred_zeros_become_the_nine_bytes_that_the_description_gives() {
        // A zero; three copies of 66, the first from 1 back and the others from 66 back; a zero, because the end is stored as it is.
        let mut packed = Vec::new();
        compress(&[0; 200], &mut packed);
        assert_eq!(packed, [0b0000_1110, 0, 0xfc, 1, 0xfc, 66, 0xfc, 66, 0]);
    }

    #[test]
    fn text_without_repeats_has_one_byte_more_for_each_eight() {
        let (text, mut packed) = (b"abcdefghijklmnop", Vec::new());
        compress(text, &mut packed);
        assert_eq!(packed, b"\0abcdefgh\0ijklmnop");
    }

    #[test]
    fn a_copy_from_before_the_beginning_is_damage() {
        assert_eq!(decompress(&[1, 0xfc, 1], &mut [0; 10]), None);
        assert_eq!(decompress(&[2, 7, 0xfc, 1], &mut [0; 10]), Some(()));
    }
}
