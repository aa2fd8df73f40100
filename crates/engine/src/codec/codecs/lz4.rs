//! `lz4`: the fast level, by the library of LZ4 itself.
//!
//! In: bytes. Out: frames with independent parts of 4 MiB as `lz4 -1` makes them; blocks without a header.
//! Limits: no levels, which are other formats of search (LZ4 HC).

use super::codec::{Codec, CodecDef, damaged};
use lz4::block::{CompressionMode, compress_bound, compress_to_buffer, decompress_to_buffer};
use lz4::{BlockMode, BlockSize, ContentChecksum, Decoder, EncoderBuilder};
use model::LeveledWord;
use std::io::{self, Read, Write};

pub const LZ4: CodecDef = CodecDef { word: LeveledWord::plain("lz4"), library: "liblz4", make: |_| Ok(Box::new(Lz4)) };

struct Lz4;

impl Codec for Lz4 {
    fn compress_stream(&mut self, source: &mut dyn Read, _: u64, target: &mut dyn Write) -> io::Result<()> {
        let mut builder = EncoderBuilder::new();
        builder.level(1).block_size(BlockSize::Max4MB).block_mode(BlockMode::Independent);
        let mut encoder = builder.checksum(ContentChecksum::ChecksumEnabled).build(target)?;
        io::copy(source, &mut encoder)?;
        encoder.finish().1
    }

    fn decompress_stream(&mut self, source: &mut dyn Read, target: &mut dyn Write) -> io::Result<()> {
        io::copy(&mut Decoder::new(source)?, target).map(drop)
    }

    fn compress_block(&mut self, block: &[u8], packed: &mut Vec<u8>) -> io::Result<()> {
        packed.resize(compress_bound(block.len())?, 0);
        let len = compress_to_buffer(block, Some(CompressionMode::DEFAULT), false, packed)?;
        packed.truncate(len);
        Ok(())
    }

    fn decompress_block(&mut self, packed: &[u8], block: &mut [u8]) -> io::Result<()> {
        let length = i32::try_from(block.len()).map_err(|_| damaged("a block of lz4 is below 2 GiB"))?;
        match decompress_to_buffer(packed, Some(length), block)? {
            len if len == block.len() => Ok(()),
            _ => Err(damaged("a block of lz4 has another length")),
        }
    }
}
