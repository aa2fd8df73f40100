//! `lzo`: LZO1X, by the crate `lzokay`. The library of LZO itself is under the GPL.
//!
//! In: bytes. Out: the format that lzop and btrfs read, in records of 128 KiB.
//! Limits: the compressor is not that of lzop or the kernel: it searches longer, and is slower and packs tighter.

use super::codec::{Codec, CodecDef, damaged};
use super::records::{compress_records, decompress_records};
use lzokay::compress::Dict;
use model::LeveledWord;
use std::io::{self, Read, Write};

pub const LZO: CodecDef = CodecDef {
    word: LeveledWord::plain("lzo"),
    library: "lzokay, LZO1X, records of 128 KiB",
    make: |_| Ok(Box::new(Lzo(Dict::new()))),
};

struct Lzo(Box<Dict>);

impl Codec for Lzo {
    fn compress_stream(&mut self, source: &mut dyn Read, _: u64, target: &mut dyn Write) -> io::Result<()> {
        compress_records(self, source, target)
    }

    fn decompress_stream(&mut self, source: &mut dyn Read, target: &mut dyn Write) -> io::Result<()> {
        decompress_records(self, source, target)
    }

    fn compress_block(&mut self, block: &[u8], packed: &mut Vec<u8>) -> io::Result<()> {
        // The bound that the documentation of LZO gives.
        packed.resize(block.len() + block.len() / 16 + 64 + 3, 0);
        let len = lzokay::compress::compress_no_alloc(block, packed, &mut self.0)
            .map_err(|_| damaged("lzo has no room for a block"))?;
        packed.truncate(len);
        Ok(())
    }

    fn decompress_block(&mut self, packed: &[u8], block: &mut [u8]) -> io::Result<()> {
        match lzokay::decompress::decompress(packed, block) {
            Ok(len) if len == block.len() => Ok(()),
            _ => Err(damaged("a block of lzo is damaged")),
        }
    }
}
