//! Tables and statements of the user's own.
//!
//! In: the tables of a plan, with the distributions of their columns, and its statements. Out: the tables with their rows, and one operation
//! for each statement or transaction, in proportion to its weight. Limits: SQL engines only. What a plan can write is in [`model::own_table`]; whether it
//! can be made is judged by [`check`].
//!
//! `layout` has the tables with numbers for names, `resolve` makes it of columns, with `keys` for what is unique and `circles` for what
//! needs what; `values` has the values of rows, `types` how they are written, `rows` the load, `ops` the values in statements.

mod circles;
mod keys;
mod layout;
mod names;
mod ops;
mod resolve;
mod rows;
mod schema;
mod types;
mod values;

use crate::background;
use crate::oltp::custom::{self, CustomMix, CustomOps};
use crate::oltp::mixes::RowsAfter;
use crate::program::{OpStream, ProgramInput, SqlLoad, SqlProgram, SqlWork};
use crate::{DataReuse, WorkloadDef};
use layout::Layout;
use model::own_table::{OwnFault, OwnTable};
use model::statement::CustomOp;
use model::{Bytes, Entry, Family, OpKind, ParamDef, ParamKind, ParamRole, Phrase, WorkTraits};
use ops::{OwnRows, Slots};
use rows::LoadPlan;
use std::sync::Arc;

/// `own`.
pub static OWN: WorkloadDef = WorkloadDef {
    entry: Entry {
        name: "own",
        spoken: "transactions",
        help: "tables and statements of your own, from a plan file: columns with distributions, references and indexes",
        families: &[Family::Sql],
        params: &[TABLE, STATEMENT, TRANSACTION, FOREIGN_KEYS, ACCESS, background::ON_NAMED_TABLES],
    },
    traits: |_| WorkTraits::default(),
    data_reuse: |params| match custom::rows_after(params.statements(STATEMENT.name)) {
        RowsAfter::Kept => DataReuse::Shared,
        RowsAfter::Fewer | RowsAfter::More => DataReuse::Fresh,
    },
    data_bytes: |params| schema::about_bytes(params.tables(TABLE.name)),
    growth_bytes_per_op: |params| match custom::rows_after(params.statements(STATEMENT.name)) {
        RowsAfter::Kept | RowsAfter::Fewer => Bytes(0),
        RowsAfter::More => schema::about_row_bytes(params.tables(TABLE.name)),
    },
    io: None,
    sql: Some(sql_program),
    kv: None,
    task: None,
    connect: None,
    steps_without_kv: &[],
    usual_keys: &[],
};

const TABLE: ParamDef = ParamDef {
    help: "the tables, each with its rows, columns, keys and indexes; `--scale` multiplies the rows",
    scales: true,
    shapes_data: true,
    ..ParamDef::new("table", ParamRole::DataSize, ParamKind::Tables, "")
};
const STATEMENT: ParamDef = ParamDef {
    help: "statements to run, each with a name and a weight; `:table.column` is a value of that column",
    ..ParamDef::new("statement", ParamRole::Work, ParamKind::Statements { if_word: None }, "")
};
const TRANSACTION: ParamDef = ParamDef {
    help: "run each list of statements inside one transaction",
    phrase: Phrase::Words(&[("true", "one transaction"), ("false", "a commit per statement")]),
    ..ParamDef::new("transaction", ParamRole::Work, ParamKind::Bool, "true")
};
const FOREIGN_KEYS: ParamDef = ParamDef {
    help: "make foreign keys of references to the primary keys of other tables, and let the engine enforce them",
    shapes_data: true,
    phrase: Phrase::Words(&[("true", "foreign keys"), ("false", "no foreign keys")]),
    ..ParamDef::new("foreign_keys", ParamRole::Ground, ParamKind::Bool, "false")
};
const ACCESS: ParamDef = ParamDef {
    help: "distribution of the rows whose values statements use",
    phrase: crate::distribution::PHRASE,
    ..ParamDef::new("access", ParamRole::Work, ParamKind::Access, "uniform")
};

/// Why `tables` cannot be made, or `statements` cannot be performed on them.
pub fn check(tables: &[OwnTable], statements: &[CustomOp]) -> Result<(), OwnFault> {
    Layout::new(tables, 0)?;
    ops::check_statements(tables, statements)
}

fn sql_program(input: &ProgramInput) -> SqlProgram {
    let params = input.params;
    let tables = params.tables(TABLE.name);
    let layout = Arc::new(Layout::new(tables, input.seed).expect("the plan was checked with `check`"));
    let mut slots = Slots::default();
    let (ops, transaction) = (params.statements(STATEMENT.name), params.flag(TRANSACTION.name));
    let custom = Arc::new(CustomMix::new(ops, 1, transaction, |value| slots.draw_of(value, tables)));
    let rows = OwnRows::new(layout.clone(), slots, params.access(ACCESS.name), input.clients, input.seed);
    let load = LoadPlan::new(layout.clone());
    let (statements, writes) = (custom.statements.clone(), custom.writes);
    let kinds: Vec<_> = custom.kinds.iter().copied().chain([load.kind()]).collect();
    let load_kind = OpKind((kinds.len() - 1) as u8);
    let schema = schema::tables(tables, &layout, params.flag(FOREIGN_KEYS.name));
    SqlProgram {
        procedures: Vec::new(),
        statements,
        writes,
        kinds,
        load: load.stream(load_kind).map(|blocks| SqlLoad::of_whole_rows(&schema, blocks)),
        schema,
        work: SqlWork::Calls,
        run: OpStream::new(None, 1, move |slot| CustomOps::new(custom.clone(), rows.draws(slot))),
        background: Vec::new(),
        conditions: Vec::new(),
    }
}

#[cfg(test)]
pub(crate) mod tests;
