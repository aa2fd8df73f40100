//! `none`: a copy, which shows what the other codecs are compared with.
//!
//! In: bytes. Out: the same bytes. Limits: read and written in pieces of 256 KiB, as `cp` does it; no reflinks.

use super::codec::{Codec, CodecDef, damaged};
use model::LeveledWord;
use std::io::{self, Read, Write};

pub const NONE: CodecDef =
    CodecDef { word: LeveledWord::plain("none"), library: "a copy", make: |_| Ok(Box::new(NoCodec(vec![0; PIECE]))) };

const PIECE: usize = 256 << 10;

struct NoCodec(Vec<u8>);

impl NoCodec {
    fn copy(&mut self, source: &mut dyn Read, target: &mut dyn Write) -> io::Result<()> {
        loop {
            match source.read(&mut self.0)? {
                0 => return Ok(()),
                len => target.write_all(&self.0[..len])?,
            }
        }
    }
}

impl Codec for NoCodec {
    fn compress_stream(&mut self, source: &mut dyn Read, _: u64, target: &mut dyn Write) -> io::Result<()> {
        self.copy(source, target)
    }

    fn decompress_stream(&mut self, source: &mut dyn Read, target: &mut dyn Write) -> io::Result<()> {
        self.copy(source, target)
    }

    fn compress_block(&mut self, block: &[u8], packed: &mut Vec<u8>) -> io::Result<()> {
        packed.clear();
        packed.extend_from_slice(block);
        Ok(())
    }

    fn decompress_block(&mut self, packed: &[u8], block: &mut [u8]) -> io::Result<()> {
        if packed.len() != block.len() {
            return Err(damaged("a block has another length"));
        }
        block.copy_from_slice(packed);
        Ok(())
    }
}
