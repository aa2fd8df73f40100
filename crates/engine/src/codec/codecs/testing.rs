//! Samples for the tests of codecs, and the check that all of them share.
//!
//! In: a codec. Out: a failed test if something else comes back than went in. Limits: tests only.

use super::codec::Codec;

/// Nothing, one byte, a run, noise, and 150 KB of rows that are alike, which is more than one record.
pub fn samples() -> Vec<Vec<u8>> {
    let mut seed = 1u64;
    let mut noise = move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 56) as u8
    };
    let random: Vec<u8> = (0..5_000).map(|_| noise()).collect();
    let rows: Vec<u8> = (0..3_000u32)
        .flat_map(|row| {
            format!("{row:08}|customer {:04}|paid in full, thank you|{:02}", row % 977, noise() % 100).into_bytes()
        })
        .collect();
    vec![Vec::new(), vec![7], vec![0; 200], vec![b'a'; 20_000], random, rows]
}

/// Compresses and decompresses `sample` as a stream and as a block.
pub fn round_trip(codec: &mut dyn Codec, sample: &[u8], words: &str) {
    let (mut stream, mut back) = (Vec::new(), Vec::new());
    codec.compress_stream(&mut &sample[..], sample.len() as u64, &mut stream).expect("memory does not fail");
    codec.decompress_stream(&mut &stream[..], &mut back).expect("its own stream");
    assert!(back == sample, "{words}: a stream of {} bytes", sample.len());
    if sample.is_empty() {
        return;
    }
    let (mut packed, mut block) = (vec![1; 10], vec![0; sample.len()]);
    codec.compress_block(sample, &mut packed).expect("a block");
    codec.decompress_block(&packed, &mut block).expect("its own block");
    assert!(block == sample, "{words}: a block of {} bytes", sample.len());
}
