//! `brotli`: by the crate `brotli`.
//!
//! In: bytes. Out: streams with a window of 4 MiB, the default of the tool. Limits: what it allocates for each block is part of its
//! time.

use super::codec::{Codec, CodecDef, damaged};
use brotli::enc::BrotliEncoderParams;
use brotli::{BrotliCompress, BrotliDecompress};
use model::LeveledWord;
use std::io::{self, Read, Write};

pub const BROTLI: CodecDef = CodecDef {
    word: LeveledWord::leveled("brotli", 0, 11, &[]),
    library: "brotli",
    make: |quality| Ok(Box::new(Brotli { quality })),
};

/// Bits of the window.
const WINDOW_BITS: i32 = 22;

struct Brotli {
    quality: i32,
}

impl Brotli {
    fn params(&self, len: u64) -> BrotliEncoderParams {
        let (quality, lgwin, size_hint) = (self.quality, WINDOW_BITS, len as usize);
        BrotliEncoderParams { quality, lgwin, size_hint, ..BrotliEncoderParams::default() }
    }
}

impl Codec for Brotli {
    fn compress_stream(&mut self, mut source: &mut dyn Read, len: u64, mut target: &mut dyn Write) -> io::Result<()> {
        BrotliCompress(&mut source, &mut target, &self.params(len)).map(drop)
    }

    fn decompress_stream(&mut self, mut source: &mut dyn Read, mut target: &mut dyn Write) -> io::Result<()> {
        BrotliDecompress(&mut source, &mut target)
    }

    fn compress_block(&mut self, mut block: &[u8], packed: &mut Vec<u8>) -> io::Result<()> {
        packed.clear();
        let params = self.params(block.len() as u64);
        BrotliCompress(&mut block, packed, &params).map(drop)
    }

    fn decompress_block(&mut self, mut packed: &[u8], mut block: &mut [u8]) -> io::Result<()> {
        BrotliDecompress(&mut packed, &mut block)?;
        if block.is_empty() { Ok(()) } else { Err(damaged("a block of brotli has another length")) }
    }
}
