//! The load of tables of the user's own.
//!
//! In: a layout. Out: the load part, some rows a statement and up to 1,000 a commit, tables that others refer to first. Limits: a row is the
//! same whatever the number of loaders and the engine.

use super::layout::Layout;
use super::names::quoted;
use super::values::NullRows;
use crate::ClientIndex;
use crate::commits::CommitOps;
use crate::program::{OpKindDef, OpStream};
use model::own_table::OwnTable;
use model::{OpClass, OpKind, SqlCall, SqlOp};
use std::ops::Range;
use std::sync::Arc;

/// Rows of one statement, and values of it: SQLite takes 32,766.
const ROWS_PER_INSERT: u64 = 50;
const VALUES_PER_INSERT: u64 = 16_000;
/// Rows of a commit, and values of it.
const ROWS_PER_COMMIT: u64 = 1_000;
const VALUES_PER_COMMIT: u64 = 20_000;

/// How the rows of a table are cut into commits.
#[derive(Clone, Copy)]
struct TableLoad {
    table: usize,
    rows: u64,
    columns: u64,
    /// The commits of all tables before it and its own.
    commits_up_to: u64,
}

impl TableLoad {
    fn rows_per_insert(&self) -> u64 {
        rows_per_insert(self.columns)
    }

    fn rows_per_commit(&self) -> u64 {
        (VALUES_PER_COMMIT / self.columns).clamp(self.rows_per_insert(), ROWS_PER_COMMIT)
    }

    fn commits(&self) -> u64 {
        self.rows.div_ceil(self.rows_per_commit())
    }
}

fn rows_per_insert(columns: u64) -> u64 {
    (VALUES_PER_INSERT / columns).clamp(1, ROWS_PER_INSERT)
}

/// All commits of a load.
#[derive(Clone)]
pub(super) struct LoadPlan {
    layout: Arc<Layout>,
    tables: Arc<[TableLoad]>,
    commits: u64,
}

impl LoadPlan {
    pub(super) fn new(layout: Arc<Layout>) -> LoadPlan {
        let mut commits = 0;
        let mut tables: Vec<TableLoad> = Vec::new();
        for &table in &layout.order {
            let (rows, columns) = (layout.tables[table].rows, layout.tables[table].columns.len() as u64);
            let mut load = TableLoad { table, rows, columns, commits_up_to: 0 };
            commits += load.commits();
            load.commits_up_to = commits;
            tables.push(load);
        }
        LoadPlan { layout, tables: tables.into(), commits }
    }

    /// The part that fills the tables, by operations of `kind`; `None` if all of them begin empty.
    pub(super) fn stream(&self, kind: OpKind) -> Option<OpStream<SqlOp>> {
        let (plan, total) = (self.clone(), self.commits);
        let make = move |slot: ClientIndex| {
            let plan = plan.clone();
            let push = move |op: &mut SqlOp, commit| plan.push_commit(op, commit);
            CommitOps { kind, commits: slot.share_of(total), push }
        };
        (total > 0).then(|| OpStream::new(Some(total), ROWS_PER_COMMIT, make))
    }

    /// What an operation of the load is on average.
    pub(super) fn kind(&self) -> OpKindDef {
        let rows: u64 = self.tables.iter().map(|table| table.rows).sum();
        let statements: u64 = self.tables.iter().map(|table| table.rows.div_ceil(table.rows_per_insert())).sum();
        let commits = self.commits.max(1) as f64;
        let (rows, queries) = (rows as f64 / commits, statements as f64 / commits + 2.0);
        OpKindDef { name: "load", class: OpClass::Write, queries, rows }
    }

    fn push_commit(&self, op: &mut SqlOp, commit: u64) {
        let (table, rows) = self.rows_of(commit);
        self.push_rows(op, table, rows);
    }

    /// As many rows at once as a statement has, and single rows at the end.
    fn push_rows(&self, op: &mut SqlOp, load: TableLoad, rows: Range<u64>) {
        let (at_once, columns) = (load.rows_per_insert(), load.columns as usize);
        let (many, one) = (2 * load.table as u16, 2 * load.table as u16 + 1);
        let whole = (rows.end - rows.start) / at_once;
        for row in rows.clone() {
            (0..columns).for_each(|column| self.layout.push_value(op, load.table, column, row, NullRows::Stay));
        }
        let args = |rows: u64| (rows * load.columns) as u16;
        (0..whole).for_each(|_| op.calls.push(SqlCall { statement: many, args: args(at_once) }));
        let rest = (rows.end - rows.start) - whole * at_once;
        (0..rest).for_each(|_| op.calls.push(SqlCall { statement: one, args: args(1) }));
    }

    /// The table and the rows of commit number `commit`.
    fn rows_of(&self, commit: u64) -> (TableLoad, Range<u64>) {
        let at = self.tables.partition_point(|table| table.commits_up_to <= commit);
        let table = self.tables[at];
        let nth = commit - (table.commits_up_to - table.commits());
        let first = nth * table.rows_per_commit();
        (table, first..(first + table.rows_per_commit()).min(table.rows))
    }
}

/// The inserts of the load, for each table one of many rows and one of a single row.
pub(super) fn load_statements(tables: &[OwnTable]) -> Vec<String> {
    let inserts = |table: &OwnTable| {
        let rows = rows_per_insert(table.columns.len() as u64);
        [rows, 1].map(|rows| insert_statement(table, rows))
    };
    tables.iter().flat_map(inserts).collect()
}

fn insert_statement(table: &OwnTable, rows: u64) -> String {
    let columns: Vec<String> = table.columns.iter().map(|column| quoted(&column.name)).collect();
    let row = format!("({})", vec!["?"; columns.len()].join(", "));
    let rows = vec![row; rows as usize].join(", ");
    format!("INSERT INTO {} ({}) VALUES {rows}", quoted(&table.name), columns.join(", "))
}
