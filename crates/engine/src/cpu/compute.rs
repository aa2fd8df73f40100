//! Kernels on pages of bytes: decompression and checksums.
//!
//! In: a seed. Out: kernels that share their input, and what results they must have. Limits: LZ4 alone stands for decompression: the
//! workload `compress` compares codecs. The CRC is computed by tables: the instruction for it is not on every CPU.

use super::kernel::{Kernel, fold, input_of};
use crc::{CRC_32_ISCSI, Crc, NoTable, Table};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::fmt::Write as _;
use std::sync::Arc;
use workload::ClientIndex;

const TEXT_BYTES: usize = 1 << 20;
const PAGE_BYTES: usize = 16 << 10;
const PAGES: usize = 32;
const TEXTS: usize = 4;
const PAGE_SETS: usize = 2;
/// From one word of a text to the next that its checksum has: all of them would take as long as the decompression.
const WORD_EVERY: usize = 64;

/// CRC-32C, sixteen bytes at a time.
static BY_TABLES: Crc<u32, Table<16>> = Crc::<u32, Table<16>>::new(&CRC_32_ISCSI);
/// The same, one bit at a time.
static BY_BITS: Crc<u32, NoTable> = Crc::<u32, NoTable>::new(&CRC_32_ISCSI);

/// A compressed text and the checksum of what it was.
struct CompressedText {
    compressed: Vec<u8>,
    expected: u64,
}

pub(super) struct DecompressKernel {
    texts: Arc<[CompressedText]>,
    text: Vec<u8>,
}

pub(super) fn decompressions(seed: u64) -> impl Fn(ClientIndex) -> DecompressKernel {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed ^ (4 << 56));
    let texts: Arc<[CompressedText]> = (0..TEXTS)
        .map(|_| {
            let text = rows_as_text(&mut rng);
            CompressedText { compressed: lz4_flex::block::compress(&text), expected: checksum_of_text(&text) }
        })
        .collect();
    move |_| DecompressKernel { texts: texts.clone(), text: Vec::new() }
}

/// Rows of orders: numbers that grow, words of a small set, random digits.
fn rows_as_text(rng: &mut Xoshiro256PlusPlus) -> Vec<u8> {
    const STATES: [&str; 5] = ["ordered", "paid", "delivered", "returned", "cancelled"];
    let mut text = String::with_capacity(TEXT_BYTES + 100);
    let mut order: u64 = rng.random_range(0..1 << 40);
    while text.len() < TEXT_BYTES {
        order += rng.random_range(1..10);
        let (customer, cents) = (rng.random_range(0..100_000u32), rng.random_range(100..100_000u32));
        let state = STATES[rng.random_range(0..STATES.len())];
        writeln!(text, "{order:014}|customer#{customer:09}|{state}|{}.{:02}|EUR|", cents / 100, cents % 100)
            .expect("writing to a string does not fail");
    }
    text.truncate(TEXT_BYTES);
    text.into_bytes()
}

fn checksum_of_text(text: &[u8]) -> u64 {
    let words = text.chunks_exact(8).step_by(WORD_EVERY / 8);
    words.fold(0, |sum, word| fold(sum, u64::from_le_bytes(word.try_into().expect("a chunk has 8 bytes"))))
}

impl Kernel for DecompressKernel {
    fn open(&mut self) -> Result<(), String> {
        self.text.resize(TEXT_BYTES, 0);
        Ok(())
    }

    fn perform(&mut self, item: u64) -> u64 {
        let CompressedText { compressed, .. } = &self.texts[input_of(item, TEXTS)];
        match lz4_flex::block::decompress_into(compressed, &mut self.text) {
            Ok(TEXT_BYTES) => checksum_of_text(&self.text),
            // No text has this checksum.
            Ok(_) | Err(_) => 0,
        }
    }

    fn expected(&self, item: u64) -> u64 {
        self.texts[input_of(item, TEXTS)].expected
    }

    fn bytes(&self) -> u32 {
        TEXT_BYTES as u32
    }
}

/// Pages, and the checksum of their CRCs.
struct CheckedPages {
    pages: Vec<u8>,
    expected: u64,
}

/// Computes the CRC of each page.
pub(super) struct CrcKernel(Arc<[CheckedPages]>);

pub(super) fn crcs(seed: u64) -> impl Fn(ClientIndex) -> CrcKernel {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed ^ (5 << 56));
    let sets: Arc<[CheckedPages]> = (0..PAGE_SETS).map(|_| checked_pages(&mut rng)).collect();
    move |_| CrcKernel(sets.clone())
}

fn checked_pages(rng: &mut Xoshiro256PlusPlus) -> CheckedPages {
    let words = (0..PAGES * PAGE_BYTES / 8).map(|_| rng.random::<u64>());
    let pages: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
    let expected = checksum_of_pages(&pages, |page| BY_BITS.checksum(page));
    CheckedPages { pages, expected }
}

fn checksum_of_pages(pages: &[u8], crc: impl Fn(&[u8]) -> u32) -> u64 {
    pages.chunks_exact(PAGE_BYTES).fold(0, |sum, page| fold(sum, crc(page).into()))
}

impl Kernel for CrcKernel {
    fn perform(&mut self, item: u64) -> u64 {
        checksum_of_pages(&self.0[input_of(item, PAGE_SETS)].pages, |page| BY_TABLES.checksum(page))
    }

    fn expected(&self, item: u64) -> u64 {
        self.0[input_of(item, PAGE_SETS)].expected
    }

    fn bytes(&self) -> u32 {
        (PAGES * PAGE_BYTES) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::kernel::tests::hold_the_contract;

    const ALONE: ClientIndex = ClientIndex { client: 0, clients: 1 };

    #[test]
    fn rounds_on_pages_give_the_known_results_on_every_machine() {
        let results = [hold_the_contract(decompressions(1)(ALONE))[0], hold_the_contract(crcs(1)(ALONE))[0]];
        assert_eq!(results, [15_102_401_863_259_317_253, 14_069_251_377_134_786_289]);
    }

    #[test]
    fn the_crc_is_that_of_the_standard() {
        // The check value of CRC-32/ISCSI in the catalogue of parametrised CRC algorithms (G. Cook).
        assert_eq!(BY_TABLES.checksum(b"123456789"), 0xe306_9283);
    }

    #[test]
    fn text_shrinks_to_about_a_third_and_damage_in_it_is_seen() {
        let mut kernel = decompressions(1)(ALONE);
        kernel.open().unwrap();
        let compressed = kernel.texts[0].compressed.clone();
        let ratio = TEXT_BYTES as f64 / compressed.len() as f64;
        assert!((2.0..4.0).contains(&ratio), "{ratio}");
        let mut damaged = compressed;
        damaged.truncate(1000);
        kernel.texts = [CompressedText { compressed: damaged, expected: kernel.texts[0].expected }].into();
        assert_eq!(kernel.perform(0), 0);
    }
}
