//! The load of tables of the user's own.
//!
//! In: a layout. Out: the load part, up to 5,000 a block, tables that others refer to first. Limits: a row is the
//! same whatever the number of loaders and the engine.

use super::layout::Layout;
use super::values::NullRows;
use crate::ClientIndex;
use crate::commits::CommitOps;
use crate::program::{OpKindDef, OpStream};
use model::{OpClass, OpKind, SqlCall, SqlOp};
use std::ops::Range;
use std::sync::Arc;

/// Rows of a block, and values of it.
const ROWS_PER_BLOCK: u64 = 5_000;
const VALUES_PER_BLOCK: u64 = 30_000;

/// How the rows of a table are cut into blocks.
#[derive(Clone, Copy)]
struct TableLoad {
    table: usize,
    rows: u64,
    columns: u64,
    /// The blocks of all tables before it and its own.
    blocks_up_to: u64,
}

impl TableLoad {
    fn rows_per_block(&self) -> u64 {
        (VALUES_PER_BLOCK / self.columns).clamp(1, ROWS_PER_BLOCK)
    }

    fn blocks(&self) -> u64 {
        self.rows.div_ceil(self.rows_per_block())
    }
}

/// All blocks of a load.
#[derive(Clone)]
pub(super) struct LoadPlan {
    layout: Arc<Layout>,
    tables: Arc<[TableLoad]>,
    blocks: u64,
}

impl LoadPlan {
    pub(super) fn new(layout: Arc<Layout>) -> LoadPlan {
        let mut blocks = 0;
        let mut tables: Vec<TableLoad> = Vec::new();
        for &table in &layout.order {
            let (rows, columns) = (layout.tables[table].rows, layout.tables[table].columns.len() as u64);
            let mut load = TableLoad { table, rows, columns, blocks_up_to: 0 };
            blocks += load.blocks();
            load.blocks_up_to = blocks;
            tables.push(load);
        }
        LoadPlan { layout, tables: tables.into(), blocks }
    }

    /// The part that fills the tables, by operations of `kind`; `None` if all of them begin empty.
    pub(super) fn stream(&self, kind: OpKind) -> Option<OpStream<SqlOp>> {
        let (plan, total) = (self.clone(), self.blocks);
        let make = move |slot: ClientIndex| {
            let plan = plan.clone();
            let push = move |op: &mut SqlOp, block| plan.push_block(op, block);
            CommitOps { kind, commits: slot.share_of(total), push }
        };
        (total > 0).then(|| OpStream::new(Some(total), ROWS_PER_BLOCK, make))
    }

    /// What an operation of the load is on average.
    pub(super) fn kind(&self) -> OpKindDef {
        let rows: u64 = self.tables.iter().map(|table| table.rows).sum();
        let rows = rows as f64 / self.blocks.max(1) as f64;
        OpKindDef::with_rows("load", OpClass::Write, rows)
    }

    fn push_block(&self, op: &mut SqlOp, block: u64) {
        let (target, rows) = self.rows_of(block);
        let load = self.tables[target];
        let call = SqlCall { statement: target as u16, args: load.columns as u16 };
        for row in rows {
            (0..load.columns as usize)
                .for_each(|column| self.layout.push_value(op, load.table, column, row, NullRows::Stay));
            op.calls.push(call);
        }
    }

    /// The target and the rows of block number `block`. Targets are in the order of the schema: tables that others refer to first.
    fn rows_of(&self, block: u64) -> (usize, Range<u64>) {
        let at = self.tables.partition_point(|table| table.blocks_up_to <= block);
        let table = self.tables[at];
        let nth = block - (table.blocks_up_to - table.blocks());
        let first = nth * table.rows_per_block();
        (at, first..(first + table.rows_per_block()).min(table.rows))
    }
}
