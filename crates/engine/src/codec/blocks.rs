//! A file of blocks that were compressed one by one, with the place of each in memory, as a database finds its pages.
//!
//! In: a codec and the blocks of a file. Out: blocks at random, and blocks written again to their places.
//! Limits: a block that is written has the contents of its place, so that it has the size that it had. Reads and writes of single
//! blocks go to the page cache: their times are those of the codec and a system call, and not of the disk.

use super::codecs::Codec;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;

/// The blocks of a file.
pub(super) struct BlockFile {
    block: usize,
    places: Vec<BlockPlace>,
    /// Holds a block as it is.
    plain: Vec<u8>,
    /// Holds the same block compressed.
    packed: Vec<u8>,
    /// The block that [`BlockFile::read_block`] should have brought back.
    expected: Vec<u8>,
}

/// Where a compressed block is.
#[derive(Clone, Copy, Debug)]
struct BlockPlace {
    at: u64,
    packed: usize,
    /// Its length as it is: the last of a file may be shorter.
    plain: usize,
}

impl BlockFile {
    /// No blocks yet, of `block` bytes each.
    pub fn new(block: usize) -> BlockFile {
        let buffers = [(); 3].map(|()| Vec::with_capacity(2 * block + 1024));
        let [plain, packed, expected] = buffers;
        BlockFile { block, places: Vec::new(), plain, packed, expected }
    }

    /// Compresses all of `source` to `target`.
    pub fn compress_all(
        &mut self,
        codec: &mut dyn Codec,
        source: &mut dyn Read,
        target: &mut dyn Write,
    ) -> io::Result<()> {
        self.places.clear();
        let mut at = 0;
        loop {
            self.plain.clear();
            source.take(self.block as u64).read_to_end(&mut self.plain)?;
            if self.plain.is_empty() {
                return Ok(());
            }
            codec.compress_block(&self.plain, &mut self.packed)?;
            target.write_all(&self.packed)?;
            self.places.push(BlockPlace { at, packed: self.packed.len(), plain: self.plain.len() });
            at += self.packed.len() as u64;
        }
    }

    /// Brings back all blocks, in their order.
    pub fn decompress_all(&mut self, codec: &mut dyn Codec, packed: &File, target: &mut dyn Write) -> io::Result<()> {
        for nth in 0..self.places.len() {
            self.read_nth(codec, packed, nth)?;
            target.write_all(&self.plain)?;
        }
        Ok(())
    }

    /// Brings back the block that `item` falls on.
    pub fn read_block(&mut self, codec: &mut dyn Codec, packed: &File, item: u64) -> io::Result<usize> {
        let nth = self.place_of(item)?;
        self.read_nth(codec, packed, nth)?;
        Ok(self.plain.len())
    }

    /// Compares what [`BlockFile::read_block`] brought back with the source.
    pub fn check_block(&mut self, source: &File, item: u64) -> io::Result<()> {
        let nth = self.place_of(item)?;
        self.expected.resize(self.places[nth].plain, 0);
        source.read_exact_at(&mut self.expected, (nth * self.block) as u64)?;
        if self.expected == self.plain {
            Ok(())
        } else {
            Err(io::Error::new(io::ErrorKind::InvalidData, "a block came back that is not what went in"))
        }
    }

    /// Takes the block that `item` falls on from the source, for [`BlockFile::write_block`].
    pub fn take_block(&mut self, source: &File, item: u64) -> io::Result<()> {
        let nth = self.place_of(item)?;
        self.plain.resize(self.places[nth].plain, 0);
        source.read_exact_at(&mut self.plain, (nth * self.block) as u64)
    }

    /// Compresses the block that was taken and writes it to its place.
    pub fn write_block(&mut self, codec: &mut dyn Codec, packed: &File, item: u64) -> io::Result<usize> {
        let place = self.places[self.place_of(item)?];
        codec.compress_block(&self.plain, &mut self.packed)?;
        if self.packed.len() != place.packed {
            return Err(io::Error::other("a block has another size than before"));
        }
        packed.write_all_at(&self.packed, place.at)?;
        Ok(self.plain.len())
    }

    fn read_nth(&mut self, codec: &mut dyn Codec, packed: &File, nth: usize) -> io::Result<()> {
        let place = self.places[nth];
        self.packed.resize(place.packed, 0);
        packed.read_exact_at(&mut self.packed, place.at)?;
        self.plain.resize(place.plain, 0);
        codec.decompress_block(&self.packed, &mut self.plain)
    }

    fn place_of(&self, item: u64) -> io::Result<usize> {
        let count = self.places.len() as u64;
        item.checked_rem(count).map(|nth| nth as usize).ok_or_else(|| io::Error::other("no block was compressed"))
    }
}
