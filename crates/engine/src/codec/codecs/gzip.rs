//! `gzip`: deflate by zlib, whose levels pack as those of the tool do. Others (zlib-ng, zlib-rs, miniz) give level 1 another meaning.
//!
//! In: bytes. Out: streams as the tool `gzip` makes them; blocks in the format of zlib, as ZFS has them.
//! Limits: one thread, as the tool.

use super::codec::{Codec, CodecDef, damaged};
use flate2::write::{GzDecoder, GzEncoder};
use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};
use model::LeveledWord;
use std::io::{self, Read, Write};

pub const GZIP: CodecDef = CodecDef {
    word: LeveledWord::leveled("gzip", 1, 9, &[]),
    library: "zlib",
    make: |level| {
        let level = Compression::new(level as u32);
        Ok(Box::new(Gzip { level, packer: Compress::new(level, true), unpacker: Decompress::new(true) }))
    },
};

struct Gzip {
    level: Compression,
    packer: Compress,
    unpacker: Decompress,
}

impl Codec for Gzip {
    fn compress_stream(&mut self, source: &mut dyn Read, _: u64, target: &mut dyn Write) -> io::Result<()> {
        let mut encoder = GzEncoder::new(target, self.level);
        io::copy(source, &mut encoder)?;
        encoder.finish().map(drop)
    }

    fn decompress_stream(&mut self, source: &mut dyn Read, target: &mut dyn Write) -> io::Result<()> {
        let mut decoder = GzDecoder::new(target);
        io::copy(source, &mut decoder)?;
        decoder.finish().map(drop)
    }

    fn compress_block(&mut self, block: &[u8], packed: &mut Vec<u8>) -> io::Result<()> {
        self.packer.reset();
        // The bound of zlib's manual for its largest blocks, and more than that of small ones.
        packed.resize(block.len() + block.len() / 256 + 64, 0);
        match self.packer.compress(block, packed, FlushCompress::Finish)? {
            Status::StreamEnd => {
                packed.truncate(self.packer.total_out() as usize);
                Ok(())
            }
            _ => Err(damaged("gzip has no room for a block")),
        }
    }

    fn decompress_block(&mut self, packed: &[u8], block: &mut [u8]) -> io::Result<()> {
        self.unpacker.reset(true);
        let status = self.unpacker.decompress(packed, block, FlushDecompress::Finish)?;
        match (status, self.unpacker.total_out() == block.len() as u64) {
            (Status::StreamEnd, true) => Ok(()),
            _ => Err(damaged("a block of gzip is damaged")),
        }
    }
}
