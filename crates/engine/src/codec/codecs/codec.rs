//! What a codec is: how it presents itself, and what it is asked for.
//!
//! In: streams and blocks. Out: the same, compressed or brought back. Limits: one thread; see each codec for its format.

use model::LeveledWord;
use std::io::{self, Read, Write};

/// One codec: its name with the levels that it has, and how it is made.
pub struct CodecDef {
    /// Its name, and the levels that a plan may ask for.
    pub word: LeveledWord,
    /// The library and the format, for facts.
    pub library: &'static str,
    /// Makes it at a level; the level of a codec without levels is 0.
    pub make: fn(i32) -> io::Result<Box<dyn Codec>>,
}

/// A codec at one level, with its own memory.
///
/// A block keeps no length: the caller knows it. A stream carries all that is needed to read it.
pub trait Codec: Send {
    /// Compresses `source`, which has `len` bytes, into `target`.
    ///
    /// # Errors
    /// If source or target fail.
    fn compress_stream(&mut self, source: &mut dyn Read, len: u64, target: &mut dyn Write) -> io::Result<()>;

    /// Brings back what [`Codec::compress_stream`] made.
    ///
    /// # Errors
    /// If source or target fail, or if the source is damaged.
    fn decompress_stream(&mut self, source: &mut dyn Read, target: &mut dyn Write) -> io::Result<()>;

    /// Compresses one block and replaces `packed` by the result, which may be longer than the block.
    ///
    /// # Errors
    /// If the library refuses the block.
    fn compress_block(&mut self, block: &[u8], packed: &mut Vec<u8>) -> io::Result<()>;

    /// Brings back a block, which fills `block` exactly.
    ///
    /// # Errors
    /// If `packed` is damaged, or of a block of another length.
    fn decompress_block(&mut self, packed: &[u8], block: &mut [u8]) -> io::Result<()>;
}

/// The fault of a block or stream that is no result of the codec.
pub(super) fn damaged(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
