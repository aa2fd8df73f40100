//! The rows of the OLTP tables: what they are, and how they are loaded.
//!
//! In: tables, rows per table, seed; or tables that were found. Out: the load part, 5,000 rows a block, and single rows for the inserts of a run. A loaded row takes
//! 90 ns to make.
//! Limits: a row is a function of (seed, table, id) alone, so every engine gets the same rows whatever the number of clients.
//!
//! The formats of texts are those of sysbench's oltp_common.lua.

use crate::Workload;
use crate::found::{FoundData, SysbenchTables};
use crate::program::{OpKindDef, OpStream, ProgramInput, push_entry, push_text};
use crate::random::{Rng, Words, mix_word, number_below, push_digit_groups, rng_for_key};
use model::{KvOp, OpClass, OpKind, SqlArg, SqlCall, SqlOp};
use std::ops::Range;

/// Rows of one block of the load: few enough for 1.5 MB of buffers, many enough that neither its commit nor a round trip counts.
pub(super) const ROWS_PER_BLOCK: u64 = 5_000;
const C_GROUPS: usize = 10;
pub(super) const PAD_GROUPS: usize = 5;

/// The data set: `tables` tables (numbered from 0 here) with the ids 1 to `rows`.
#[derive(Clone, Copy)]
pub(crate) struct OltpData {
    pub(super) seed: u64,
    pub(crate) tables: u64,
    pub(crate) rows: u64,
    /// The highest id that a row has when the run begins.
    pub(crate) last_id: u64,
}

impl OltpData {
    /// The tables that were found, or those that the parameters describe.
    pub(crate) fn new(input: &ProgramInput) -> Self {
        let seed = input.seed;
        if let Some(FoundData::Sysbench(SysbenchTables { tables, rows, last_id })) = input.sequence.found() {
            return OltpData { seed, tables: *tables, rows: *rows, last_id: *last_id };
        }
        // A scaled table may have shrunk to nothing, and of tables that are still to be found the numbers are not known.
        let [tables, rows] = ["tables", "table_rows"].map(|name| input.params.int(name).max(1));
        OltpData { seed, tables, rows, last_id: rows }
    }

    /// No rows: for statements that name none.
    pub(crate) fn none(seed: u64) -> Self {
        OltpData { seed, tables: 1, rows: 1, last_id: 1 }
    }

    /// Blocks that load one table.
    fn blocks_per_table(&self) -> u64 {
        self.rows.div_ceil(ROWS_PER_BLOCK)
    }

    /// What an operation of the load is: the last of each table may have fewer rows than the others, so it is a mean.
    pub(crate) fn load_kind(self) -> OpKindDef {
        let rows = self.rows as f64 / self.blocks_per_table() as f64;
        OpKindDef::with_rows("load", OpClass::Write, rows)
    }

    /// The part that fills the tables, by operations of `kind`.
    pub(super) fn load_stream<O: model::Op>(self, kind: OpKind) -> OpStream<O>
    where
        LoadOps: Workload<O>,
    {
        let total = self.tables * self.blocks_per_table();
        OpStream::new(Some(total), ROWS_PER_BLOCK, move |slot| LoadOps {
            data: self,
            kind,
            blocks: slot.share_of(total),
        })
    }

    /// The generator of everything random in one loaded row.
    fn row_rng(&self, table: u64, id: u64) -> Rng {
        // A seed of its own keeps the rows apart from the clients' operations.
        rng_for_key(mix_word(self.seed), table << 32 | id)
    }
}

/// The client's share of the blocks that fill the tables. Afterwards slots are empty transactions.
pub(super) struct LoadOps {
    data: OltpData,
    kind: OpKind,
    blocks: Range<u64>,
}

impl LoadOps {
    /// The table and ids of the next block.
    fn next_block(&mut self) -> Option<(u64, Range<u64>)> {
        let block = self.blocks.next()?;
        let (table, nth) = (block / self.data.blocks_per_table(), block % self.data.blocks_per_table());
        let first = nth * ROWS_PER_BLOCK;
        Some((table, first + 1..(first + ROWS_PER_BLOCK).min(self.data.rows) + 1))
    }
}

impl Workload<SqlOp> for LoadOps {
    fn fill_ops(&mut self, ops: &mut [SqlOp]) {
        for op in ops {
            op.clear();
            (op.op_kind, op.transaction, op.writes) = (self.kind, true, true);
            let Some((table, ids)) = self.next_block() else { continue };
            for id in ids {
                let mut rng = self.data.row_rng(table, id);
                let k = 1 + number_below(rng.next_u64(), self.data.rows);
                push_insert(op, table as u16, id as i64, k as i64, &mut rng);
            }
        }
    }
}

impl Workload<KvOp> for LoadOps {
    fn fill_ops(&mut self, ops: &mut [KvOp]) {
        for op in ops {
            op.clear();
            op.op_kind = self.kind;
            let Some((table, ids)) = self.next_block() else { continue };
            for id in ids {
                let mut rng = self.data.row_rng(table, id);
                push_entry(op, 0, &kv_key(table, id), |value| {
                    let k = 1 + number_below(rng.next_u64(), self.data.rows) as u32;
                    value.extend_from_slice(&k.to_be_bytes());
                    push_digit_groups(value, C_GROUPS, &mut rng);
                    push_digit_groups(value, PAD_GROUPS, &mut rng);
                });
            }
        }
    }
}

/// All tables are in one key space: number of the table, then the id, both 32-bit big-endian.
#[inline]
pub(super) fn kv_key(table: u64, id: u64) -> [u8; 8] {
    (table << 32 | id).to_be_bytes()
}

/// Adds the insert of one row by `statement`.
pub(super) fn push_insert(op: &mut SqlOp, statement: u16, id: i64, k: i64, rng: &mut Rng) {
    op.calls.push(SqlCall { statement, args: 4 });
    op.args.extend([SqlArg::Int(id), SqlArg::Int(k)]);
    push_c(op, rng);
    push_text(op, |text| push_digit_groups(text, PAD_GROUPS, rng));
}

/// Adds a new text of column c as the next argument.
pub(super) fn push_c(op: &mut SqlOp, rng: &mut Rng) {
    push_text(op, |text| push_digit_groups(text, C_GROUPS, rng));
}
