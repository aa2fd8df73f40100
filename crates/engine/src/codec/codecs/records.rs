//! Streams of codecs that have blocks only: records of 128 KiB, the largest that ZFS has by default.
//!
//! In: a stream and a codec for blocks. Out: records, each with its length and the length that it has when it is compressed.
//! Limits: as ZFS does, a record that does not become smaller by an eighth is stored as it is.

use super::codec::{Codec, damaged};
use std::io::{self, Read, Write};

/// Bytes in a record.
pub const RECORD: usize = 128 << 10;

/// Writes `source` as records.
pub fn compress_records(codec: &mut dyn Codec, source: &mut dyn Read, target: &mut dyn Write) -> io::Result<()> {
    let (mut record, mut packed) = (Vec::with_capacity(RECORD), Vec::with_capacity(RECORD));
    loop {
        record.clear();
        source.take(RECORD as u64).read_to_end(&mut record)?;
        if record.is_empty() {
            return Ok(());
        }
        codec.compress_block(&record, &mut packed)?;
        let stored = if packed.len() <= record.len() - record.len() / 8 { &packed } else { &record };
        target.write_all(&(record.len() as u32).to_le_bytes())?;
        target.write_all(&(stored.len() as u32).to_le_bytes())?;
        target.write_all(stored)?;
    }
}

/// Reads what [`compress_records`] wrote.
pub fn decompress_records(codec: &mut dyn Codec, source: &mut dyn Read, target: &mut dyn Write) -> io::Result<()> {
    let (mut record, mut packed) = (Vec::new(), Vec::new());
    while let Some(len) = read_length(source)? {
        let stored = read_length(source)?.ok_or_else(|| damaged("a record has no length"))?;
        if len > RECORD || stored > len {
            return Err(damaged("a record is longer than records can be"));
        }
        packed.resize(stored, 0);
        source.read_exact(&mut packed)?;
        if stored == len {
            target.write_all(&packed)?;
            continue;
        }
        record.resize(len, 0);
        codec.decompress_block(&packed, &mut record)?;
        target.write_all(&record)?;
    }
    Ok(())
}

/// The next length; `None` at the end of the stream.
fn read_length(source: &mut dyn Read) -> io::Result<Option<usize>> {
    let mut bytes = Vec::with_capacity(4);
    source.take(4).read_to_end(&mut bytes)?;
    match <[u8; 4]>::try_from(bytes.as_slice()) {
        Ok(length) => Ok(Some(u32::from_le_bytes(length) as usize)),
        Err(_) if bytes.is_empty() => Ok(None),
        Err(_) => Err(damaged("a record ends early")),
    }
}
