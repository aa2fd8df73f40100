//! The statements of a recording without their texts: records of one size, in the order of the log and then in that of their times.
//!
//! In: records, one after the other. Out: the same in order, each at its number. Limits: [`STATEMENTS_MAX`]; memory for [`CHUNK`] of them,
//! whatever their number.

use super::super::spill::{Spill, lost};
use crate::recording_error::RecordingError;
use model::SqlArg;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::ops::Range;

/// The most statements that are replayed.
pub const STATEMENTS_MAX: u64 = u32::MAX as u64;
/// So many are sorted at once: 30 MB of them.
const CHUNK: usize = 1 << 19;
/// The memory that all parts have for what is read of them while they are merged.
const MERGE_RECORDS: usize = 1 << 19;
const BYTES: usize = 50;
/// In place of a session: there are fewer.
const NO_SESSION: u32 = u32::MAX;

/// A statement by its session, and how many that one has sent before it: the order of all statements does not change it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct StatementPlace {
    /// The number of its session.
    pub session: u32,
    /// How many statements of the session are before it.
    pub nth: u32,
}

impl StatementPlace {
    /// It as an argument of an op.
    pub fn arg(self) -> SqlArg {
        SqlArg::Int((u64::from(self.session) << 32 | u64::from(self.nth)) as i64)
    }

    /// The place that an argument of an op is; `None` if it is none.
    pub fn from_arg(arg: &SqlArg) -> Option<StatementPlace> {
        let SqlArg::Int(both) = arg else { return None };
        let both = *both as u64;
        Some(StatementPlace { session: (both >> 32) as u32, nth: both as u32 })
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Record {
    /// In microseconds since 1970.
    pub began_us: i64,
    pub took_us: u64,
    pub text_at: u64,
    pub text_bytes: u32,
    pub session: u32,
    pub schema: u32,
    /// The number of its shape.
    pub shape: u32,
    /// The statement of another session on the same row that comes before this one.
    pub after: Option<StatementPlace>,
    /// The number of its kind, once that is known.
    pub kind: u8,
    /// Whether a line behind it says that it failed.
    pub has_failed: bool,
    /// Whether its session was in a transaction.
    pub is_in_transaction: bool,
}

const FAILED: u8 = 1;
const IN_TRANSACTION: u8 = 2;

impl Record {
    fn to_bytes(self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        for (nth, long) in [self.began_us as u64, self.took_us, self.text_at].into_iter().enumerate() {
            bytes[nth * 8..nth * 8 + 8].copy_from_slice(&long.to_le_bytes());
        }
        let after = self.after.unwrap_or(StatementPlace { session: NO_SESSION, nth: 0 });
        let shorts = [self.text_bytes, self.session, self.schema, self.shape, after.session, after.nth];
        for (nth, short) in shorts.into_iter().enumerate() {
            bytes[24 + nth * 4..28 + nth * 4].copy_from_slice(&short.to_le_bytes());
        }
        let bits = [(self.has_failed, FAILED), (self.is_in_transaction, IN_TRANSACTION)];
        bytes[48] = self.kind;
        bytes[49] = bits.into_iter().filter(|(is_so, _)| *is_so).map(|(_, bit)| bit).sum();
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Record {
        let long = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
        let short = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
        Record {
            began_us: long(0) as i64,
            took_us: long(8),
            text_at: long(16),
            text_bytes: short(24),
            session: short(28),
            schema: short(32),
            shape: short(36),
            after: Some(StatementPlace { session: short(40), nth: short(44) }).filter(|it| it.session != NO_SESSION),
            kind: bytes[48],
            has_failed: bytes[49] & FAILED != 0,
            is_in_transaction: bytes[49] & IN_TRANSACTION != 0,
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Records {
    spill: Spill,
}

impl Records {
    pub(super) fn count(&self) -> u64 {
        self.spill.bytes() / BYTES as u64
    }

    pub(super) fn bytes(&self) -> u64 {
        self.spill.bytes()
    }

    pub(super) fn push(&mut self, record: Record) -> Result<(), RecordingError> {
        self.spill.append(&record.to_bytes()).map(drop)
    }

    /// Nothing more is added.
    pub(super) fn seal(&mut self) -> Result<(), RecordingError> {
        self.spill.seal()
    }

    pub(super) fn get(&self, number: u64) -> io::Result<Record> {
        let mut bytes = [0; BYTES];
        self.spill.read_at(number * BYTES as u64, &mut bytes)?;
        Ok(Record::from_bytes(&bytes))
    }

    /// Those from `number` on, at most so `many`.
    fn part(&self, number: u64, many: usize) -> io::Result<Vec<Record>> {
        let many = (self.count() - number).min(many as u64) as usize;
        let mut bytes = vec![0; many * BYTES];
        self.spill.read_at(number * BYTES as u64, &mut bytes)?;
        Ok(bytes.chunks_exact(BYTES).map(Record::from_bytes).collect())
    }

    /// All, in their order.
    pub(super) fn iter(&self) -> impl Iterator<Item = io::Result<Record>> + '_ {
        self.within(0..self.count())
    }

    /// Those with these `numbers`, in their order.
    pub(super) fn within(&self, numbers: Range<u64>) -> impl Iterator<Item = io::Result<Record>> + '_ {
        const AT_ONCE: usize = 4_096;
        let starts = numbers.clone().step_by(AT_ONCE);
        starts.flat_map(move |start| -> Vec<io::Result<Record>> {
            match self.part(start, AT_ONCE.min((numbers.end - start) as usize)) {
                Ok(part) => part.into_iter().map(Ok).collect(),
                Err(error) => vec![Err(error)],
            }
        })
    }

    /// Changes each by `change`, which sees them in the order of the log, and puts them into that of their times. Those of one moment
    /// stay in the order of the log.
    pub(super) fn put_in_order(&mut self, mut change: impl FnMut(&mut Record)) -> Result<(), RecordingError> {
        let (mut is_in_order, mut last) = (true, i64::MIN);
        for start in (0..self.count()).step_by(CHUNK) {
            let mut part = self.part(start, CHUNK).map_err(|error| lost(&error))?;
            part.iter_mut().for_each(&mut change);
            part.sort_by_key(|record| record.began_us);
            is_in_order &= part.first().is_none_or(|first| first.began_us >= last);
            last = part.last().map_or(last, |record| record.began_us);
            let bytes: Vec<u8> = part.into_iter().flat_map(Record::to_bytes).collect();
            self.spill.write_at(start * BYTES as u64, &bytes)?;
        }
        if is_in_order { Ok(()) } else { self.merge() }
    }

    /// Merges the parts, each of which is in order.
    fn merge(&mut self) -> Result<(), RecordingError> {
        let parts = self.count().div_ceil(CHUNK as u64);
        let at_once = (MERGE_RECORDS as u64 / parts).max(16) as usize;
        let mut readers: Vec<PartReader> = (0..parts)
            .map(|nth| {
                let start = nth * CHUNK as u64;
                PartReader { next: start, end: (start + CHUNK as u64).min(self.count()), read: Vec::new().into_iter() }
            })
            .collect();
        let mut merged = Records::default();
        let mut heap = BinaryHeap::new();
        for (nth, reader) in readers.iter_mut().enumerate() {
            heap.extend(reader.next(self, at_once)?.map(|record| Reverse((record.began_us, nth, record))));
        }
        while let Some(Reverse((_, nth, record))) = heap.pop() {
            merged.push(record)?;
            let next = readers[nth].next(self, at_once)?;
            heap.extend(next.map(|record| Reverse((record.began_us, nth, record))));
        }
        merged.seal()?;
        *self = merged;
        Ok(())
    }
}

/// What is still to be read of a part.
struct PartReader {
    next: u64,
    end: u64,
    read: std::vec::IntoIter<Record>,
}

impl PartReader {
    fn next(&mut self, records: &Records, at_once: usize) -> Result<Option<Record>, RecordingError> {
        if self.read.len() == 0 && self.next < self.end {
            let many = (self.end - self.next).min(at_once as u64) as usize;
            self.read = records.part(self.next, many).map_err(|error| lost(&error))?.into_iter();
            self.next += many as u64;
        }
        Ok(self.read.next())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(nth: u64, began_us: i64) -> Record {
        let session = nth as u32;
        let after = (nth % 2 == 1).then_some(StatementPlace { session: 9, nth: session });
        let (text_at, text_bytes) = (nth, 3);
        let (has_failed, is_in_transaction) = (nth.is_multiple_of(3), nth % 4 == 3);
        let of_kind = Record { kind: 7, has_failed, is_in_transaction, ..Record::default() };
        Record { began_us, took_us: 1, text_at, text_bytes, session, schema: 5, shape: 6, after, ..of_kind }
    }

    #[test]
    fn records_in_several_parts_are_merged_and_keep_their_order_within_a_moment() {
        let many = 2 * CHUNK as u64 + 10;
        let mut records = Records::default();
        // Each time is that of two, of which one is in another part.
        (0..many).for_each(|nth| records.push(record(nth, (nth % (many / 2)) as i64)).unwrap());
        records.seal().unwrap();
        records.put_in_order(|record| record.schema = 7).unwrap();
        assert_eq!(records.count(), many);
        for (nth, found) in (0..).zip(records.iter()) {
            let found = found.unwrap();
            assert_eq!((found.began_us, found.schema), (nth / 2, 7));
            assert_eq!(found.text_at, nth as u64 / 2 + (nth as u64 % 2) * (many / 2));
        }
        assert_eq!(records.get(3).unwrap(), Record { schema: 7, ..record(many / 2 + 1, 1) });
        assert!(records.get(many).is_err());
    }

    #[test]
    fn a_place_comes_back_from_an_argument() {
        for place in [StatementPlace::default(), StatementPlace { session: u32::MAX - 1, nth: u32::MAX }] {
            assert_eq!(StatementPlace::from_arg(&place.arg()), Some(place));
        }
        assert_eq!(StatementPlace::from_arg(&SqlArg::Null), None);
    }
}
