//! `snappy`: by the crate `snap`.
//!
//! In: bytes. Out: the framing format of Snappy, and blocks without it.

use super::codec::{Codec, CodecDef, damaged};
use model::LeveledWord;
use snap::raw::{Decoder, Encoder, decompress_len, max_compress_len};
use snap::read::FrameDecoder;
use snap::write::FrameEncoder;
use std::io::{self, Read, Write};

pub const SNAPPY: CodecDef = CodecDef {
    word: LeveledWord::plain("snappy"),
    library: "snap",
    make: |_| Ok(Box::new(Snappy { encoder: Encoder::new(), decoder: Decoder::new() })),
};

struct Snappy {
    encoder: Encoder,
    decoder: Decoder,
}

impl Codec for Snappy {
    fn compress_stream(&mut self, source: &mut dyn Read, _: u64, target: &mut dyn Write) -> io::Result<()> {
        let mut encoder = FrameEncoder::new(target);
        io::copy(source, &mut encoder)?;
        encoder.flush()
    }

    fn decompress_stream(&mut self, source: &mut dyn Read, target: &mut dyn Write) -> io::Result<()> {
        io::copy(&mut FrameDecoder::new(source), target).map(drop)
    }

    fn compress_block(&mut self, block: &[u8], packed: &mut Vec<u8>) -> io::Result<()> {
        packed.resize(max_compress_len(block.len()), 0);
        let len = self.encoder.compress(block, packed)?;
        packed.truncate(len);
        Ok(())
    }

    fn decompress_block(&mut self, packed: &[u8], block: &mut [u8]) -> io::Result<()> {
        if decompress_len(packed)? != block.len() {
            return Err(damaged("a block of snappy has another length"));
        }
        self.decoder.decompress(packed, block)?;
        Ok(())
    }
}
