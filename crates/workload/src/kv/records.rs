//! The records: what they are, and how they are loaded.
//!
//! In: how many records there are, their fields, the seed. Out: the table, the load part, and keys and values for the operations of a run.
//! Limits: a loaded record is a function of the seed and its number, so every engine gets the same. New records have random fields.
//!
//! YCSB names a record `user` and a hash of its number. Here the hash is a bijection of 64 bits, so that no two records have one name, and
//! all names have 24 characters.

use crate::oltp::custom::keep_name;
use crate::program::{ColumnKind, OpKindDef, OpStream, SqlColumn, SqlTable, push_entry, push_text};
use crate::random::{LETTERS, Rng, mix_word, push_random_text, rng_for_key};
use crate::{ClientIndex, Workload};
use model::{KvOp, Op, OpClass, OpKind, Params, SqlCall, SqlOp};
use std::ops::Range;

/// Records of one block of the load: 1 MB at the usual size.
const RECORDS_PER_BLOCK: u64 = 1_000;
/// `user` and 20 digits.
pub(super) const KEY_LEN: usize = 24;
/// The table and its key, as YCSB names them.
const TABLE: &str = "usertable";
const KEY: &str = "ycsb_key";

/// The data set: the records 1 to `records`.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecordData {
    pub(super) seed: u64,
    pub(super) records: u64,
    pub(super) fields: u64,
    pub(super) field_bytes: u64,
    is_hashed: bool,
}

impl RecordData {
    pub(super) fn new(params: &Params, seed: u64) -> RecordData {
        RecordData {
            seed,
            // A scaled number may have shrunk to nothing.
            records: params.int("records").max(1),
            fields: params.int("fields"),
            field_bytes: params.int("field_bytes"),
            is_hashed: params.word("key_order") == "hashed",
        }
    }

    /// The key of record `id`.
    #[inline]
    pub(super) fn key(&self, id: u64) -> [u8; KEY_LEN] {
        let mut number = if self.is_hashed { mix_word(id) } else { id };
        let mut key = *b"user00000000000000000000";
        for digit in key[4..].iter_mut().rev() {
            *digit = b'0' + (number % 10) as u8;
            number /= 10;
        }
        key
    }

    /// The bytes of all fields of a record.
    pub(super) fn record_bytes(&self) -> usize {
        (self.fields * self.field_bytes) as usize
    }

    /// The table of an SQL engine.
    pub(super) fn table(&self) -> SqlTable {
        let key = SqlColumn::not_null(KEY, ColumnKind::VarChar(KEY_LEN as u16));
        let fields = (0..self.fields)
            .map(|nth| SqlColumn::not_null(keep_name(&field_name(nth)), ColumnKind::VarChar(self.field_bytes as u16)));
        let columns = [key].into_iter().chain(fields).collect();
        let (indexes, foreign_keys) = (Vec::new(), Vec::new());
        SqlTable { name: TABLE.into(), columns, primary_key: &[KEY], indexes, foreign_keys, partitions: None }
    }

    /// The insert of one record: its key, then its fields.
    pub(super) fn insert_sql(&self) -> String {
        let values = vec!["?"; 1 + self.fields as usize].join(", ");
        format!("INSERT INTO {TABLE} ({KEY}, {}) VALUES ({values})", self.all_fields())
    }

    /// The read of one record by its key.
    pub(super) fn read_sql(&self) -> String {
        format!("SELECT {} FROM {TABLE} WHERE {KEY} = ?", self.all_fields())
    }

    /// The read of some records from a key on: the key, and how many.
    pub(super) fn scan_sql(&self) -> String {
        format!("SELECT {} FROM {TABLE} WHERE {KEY} >= ? ORDER BY {KEY} LIMIT ?", self.all_fields())
    }

    /// The update of each field: its value, and the key.
    pub(super) fn update_sql(&self) -> impl Iterator<Item = String> {
        (0..self.fields).map(|nth| format!("UPDATE {TABLE} SET {} = ? WHERE {KEY} = ?", field_name(nth)))
    }

    fn all_fields(&self) -> String {
        (0..self.fields).map(field_name).collect::<Vec<_>>().join(", ")
    }

    /// Adds the call of the insert `statement` of record `id`.
    pub(super) fn push_insert_call(&self, op: &mut SqlOp, statement: u16, id: u64, rng: &mut Rng) {
        op.calls.push(SqlCall { statement, args: 1 + self.fields as u16 });
        push_text(op, |text| text.extend_from_slice(&self.key(id)));
        (0..self.fields)
            .for_each(|_| push_text(op, |text| push_random_text(text, self.field_bytes as usize, LETTERS, rng)));
    }

    /// Adds the whole record `id` as an entry.
    pub(super) fn push_record(&self, op: &mut KvOp, id: u64, rng: &mut Rng) {
        push_entry(op, 0, &self.key(id), |value| push_random_text(value, self.record_bytes(), LETTERS, rng));
    }

    /// What an operation of the load is: the last may have fewer records than the others, so it is a mean.
    pub(super) fn load_kind(&self) -> OpKindDef {
        let rows = self.records as f64 / self.records.div_ceil(RECORDS_PER_BLOCK) as f64;
        OpKindDef::with_rows("load", OpClass::Write, rows)
    }

    /// The part that makes all records, by operations of `kind`.
    pub(super) fn load_stream<O: Op>(self, kind: OpKind) -> OpStream<O>
    where
        LoadOps: Workload<O>,
    {
        let blocks = self.records.div_ceil(RECORDS_PER_BLOCK);
        OpStream::new(Some(blocks), RECORDS_PER_BLOCK, move |slot: ClientIndex| LoadOps {
            data: self,
            kind,
            blocks: slot.share_of(blocks),
        })
    }

    /// The generator of the fields of one loaded record. A seed of its own keeps them apart from the clients' operations.
    fn record_rng(&self, id: u64) -> Rng {
        rng_for_key(mix_word(self.seed), id)
    }
}

fn field_name(nth: u64) -> String {
    format!("field{nth}")
}

/// The client's share of the blocks that make the records. Afterwards slots are empty transactions.
pub(super) struct LoadOps {
    data: RecordData,
    kind: OpKind,
    blocks: Range<u64>,
}

impl LoadOps {
    /// The records of the next block.
    fn next_block(&mut self) -> Range<u64> {
        let Some(block) = self.blocks.next() else { return 0..0 };
        let first = block * RECORDS_PER_BLOCK;
        first + 1..(first + RECORDS_PER_BLOCK).min(self.data.records) + 1
    }
}

impl Workload<SqlOp> for LoadOps {
    fn fill_ops(&mut self, ops: &mut [SqlOp]) {
        for op in ops {
            op.clear();
            (op.op_kind, op.transaction, op.writes) = (self.kind, true, true);
            for id in self.next_block() {
                self.data.push_insert_call(op, 0, id, &mut self.data.record_rng(id));
            }
        }
    }
}

impl Workload<KvOp> for LoadOps {
    fn fill_ops(&mut self, ops: &mut [KvOp]) {
        for op in ops {
            op.clear();
            op.op_kind = self.kind;
            for id in self.next_block() {
                self.data.push_record(op, id, &mut self.data.record_rng(id));
            }
        }
    }
}
