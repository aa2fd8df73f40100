//! One client's way into RocksDB, and what its errors are.
//!
//! In: operations. Out: batches and values. Limits: keys are got one after the other, as fjall's are.

use super::options;
use crate::kv::KvStore;
use ::rocksdb::{DB, Direction, Error, ErrorKind, IteratorMode, ReadOptions, WriteBatch, WriteOptions};
use model::{FailureClass, KvEntry, KvOp, Params};
use std::path::Path;
use std::sync::Arc;

/// One client's way to its keys.
pub struct RocksdbStore {
    database: Arc<DB>,
    reads: ReadOptions,
    writes: WriteOptions,
    /// Used again for each key.
    key: Vec<u8>,
}

impl RocksdbStore {
    /// Those of `database`, written as `params` ask.
    pub fn new(database: Arc<DB>, params: &Params) -> RocksdbStore {
        RocksdbStore { database, reads: ReadOptions::default(), writes: options::of_writes(params), key: Vec::new() }
    }
}

impl KvStore for RocksdbStore {
    type Error = Error;
    const ENGINE: &'static str = "rocksdb";

    fn put_batch(&mut self, op: &KvOp) -> Result<(), Error> {
        let mut batch = WriteBatch::with_capacity_bytes(packed_len(op));
        for entry in &op.entries {
            batch.put(full_key(&mut self.key, op, entry), op.value(entry));
        }
        for entry in &op.removed {
            batch.delete(full_key(&mut self.key, op, entry));
        }
        self.database.write_opt(batch, &self.writes)
    }

    fn get_value(&mut self, op: &KvOp, entry: &KvEntry) -> Result<Option<usize>, Error> {
        let value = self.database.get_pinned_opt(full_key(&mut self.key, op, entry), &self.reads)?;
        Ok(value.map(|value| std::hint::black_box(&value).len()))
    }

    fn scan_values(&mut self, op: &KvOp, entry: &KvEntry, count: u32) -> Result<usize, Error> {
        let from = full_key(&mut self.key, op, entry);
        let found = self.database.iterator_opt(IteratorMode::From(from, Direction::Forward), ReadOptions::default());
        let mut bytes = 0;
        for pair in found.take(count as usize) {
            let (key, value) = pair?;
            // Behind the last key of a table are those of the next.
            if key[..TABLE_LEN] != from[..TABLE_LEN] {
                break;
            }
            bytes += std::hint::black_box(value).len();
        }
        Ok(bytes)
    }

    fn read_value(&mut self, op: &KvOp, entry: &KvEntry, value: &mut Vec<u8>) -> Result<bool, Error> {
        let found = self.database.get_pinned_opt(full_key(&mut self.key, op, entry), &self.reads)?;
        value.extend(found.iter().flat_map(|found| found.iter()));
        Ok(found.is_some())
    }

    fn put_value(&mut self, op: &KvOp, entry: &KvEntry, value: &[u8]) -> Result<(), Error> {
        self.database.put_opt(full_key(&mut self.key, op, entry), value, &self.writes)
    }

    fn failure_class(error: &Error, _: &Path) -> FailureClass {
        class_of(error)
    }

    fn describe_error(error: &Error, _: &Path) -> String {
        error.to_string()
    }
}

/// How long a batch of `op` gets, or a little more: 12 bytes before all; before each entry a byte for its kind, four for its table and
/// up to two for each of two lengths.
fn packed_len(op: &KvOp) -> usize {
    const BEFORE_ALL: usize = 12;
    const BEFORE_EACH: usize = 9;
    BEFORE_ALL + op.bytes.len() + BEFORE_EACH * (op.entries.len() + op.removed.len())
}

/// The bytes of a table's number before each key.
const TABLE_LEN: usize = 4;

/// The number of the table, then the key.
#[inline]
fn full_key<'a>(buffer: &'a mut Vec<u8>, op: &KvOp, entry: &KvEntry) -> &'a [u8] {
    buffer.clear();
    buffer.extend_from_slice(&u32::from(entry.table).to_be_bytes());
    buffer.extend_from_slice(op.key(entry));
    buffer
}

/// The library gives an error as text only.
pub fn class_of(error: &Error) -> FailureClass {
    const FULL: [&str; 2] = ["No space left on device", "Disk quota exceeded"];
    match error.kind() {
        ErrorKind::IOError if FULL.iter().any(|full| error.as_ref().contains(full)) => FailureClass::NoSpace,
        ErrorKind::IOError => FailureClass::Io,
        ErrorKind::Corruption => FailureClass::Corrupt,
        ErrorKind::ShutdownInProgress | ErrorKind::Aborted => FailureClass::Lost,
        _ => FailureClass::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_stands_behind_the_number_of_its_table() {
        let op = KvOp { bytes: b"keyvalue".to_vec(), ..KvOp::default() };
        let entry = KvEntry { table: 258, start: 0, key_len: 3, value_len: 5 };
        assert_eq!(full_key(&mut b"before".to_vec(), &op, &entry), b"\0\0\x01\x02key");
    }

    #[test]
    fn a_batch_is_about_as_long_as_was_reserved() {
        let mut op = KvOp { bytes: vec![b'x'; 2_000], ..KvOp::default() };
        op.entries = (0..10).map(|nth| KvEntry { table: 1, start: nth * 200, key_len: 8, value_len: 192 }).collect();
        let mut batch = WriteBatch::default();
        op.entries.iter().for_each(|entry| batch.put(full_key(&mut Vec::new(), &op, entry), op.value(entry)));
        let (real, reserved) = (batch.size_in_bytes(), packed_len(&op));
        assert!(real <= reserved && reserved < real + 30, "{real} {reserved}");
    }
}
