//! `zstd`: by the library of Zstandard itself.
//!
//! In: bytes. Out: frames. Limits: level 0 is only another name of level 3, so it is not offered; those above 19 need much memory.

use super::codec::{Codec, CodecDef, damaged};
use model::LeveledWord;
use std::io::{self, Read, Write};
use zstd::bulk::{Compressor, Decompressor};
use zstd::zstd_safe::compress_bound;

pub const ZSTD: CodecDef = CodecDef {
    word: LeveledWord::leveled("zstd", -5, 19, &[0]),
    library: "libzstd",
    make: |level| Ok(Box::new(Zstd { level, compressor: Compressor::new(level)?, decompressor: Decompressor::new()? })),
};

struct Zstd {
    level: i32,
    compressor: Compressor<'static>,
    decompressor: Decompressor<'static>,
}

impl Codec for Zstd {
    fn compress_stream(&mut self, source: &mut dyn Read, len: u64, target: &mut dyn Write) -> io::Result<()> {
        let mut encoder = zstd::Encoder::new(target, self.level)?;
        // As the tool does it: with the length the library chooses its window.
        encoder.set_pledged_src_size(Some(len))?;
        encoder.include_checksum(true)?;
        io::copy(source, &mut encoder)?;
        encoder.finish().map(drop)
    }

    fn decompress_stream(&mut self, source: &mut dyn Read, target: &mut dyn Write) -> io::Result<()> {
        io::copy(&mut zstd::Decoder::new(source)?, target).map(drop)
    }

    fn compress_block(&mut self, block: &[u8], packed: &mut Vec<u8>) -> io::Result<()> {
        packed.resize(compress_bound(block.len()), 0);
        let len = self.compressor.compress_to_buffer(block, &mut packed[..])?;
        packed.truncate(len);
        Ok(())
    }

    fn decompress_block(&mut self, packed: &[u8], block: &mut [u8]) -> io::Result<()> {
        match self.decompressor.decompress_to_buffer(packed, block)? {
            len if len == block.len() => Ok(()),
            _ => Err(damaged("a block of zstd has another length")),
        }
    }
}
