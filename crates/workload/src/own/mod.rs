//! Tables and statements of the user's own.
//!
//! In: the tables of a plan, with the distributions of their columns, and its statements. Out: the tables with their rows, and one operation
//! for each statement or transaction, in proportion to its weight. Or nothing is made, and the statements run on tables of the user, with
//! values that were read of them. Limits: SQL engines only. What a plan can write is in [`model::own_table`]; whether it
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
use crate::found::{FoundData, KeyQuery, WantedData, WantedTables};
use crate::oltp::custom::{self, CustomMix, CustomOps};
use crate::oltp::mixes::RowsAfter;
use crate::program::{OpStream, ProgramInput, SqlLoad, SqlProgram, SqlWork};
use crate::{DataReuse, WorkloadDef};
use layout::Layout;
use model::own_table::{OwnFault, OwnKeys, OwnTable};
use model::statement::CustomOp;
use model::{Bytes, Entry, Family, OpKind, ParamDef, ParamKind, ParamRole, Params, Phrase, UsedIf, WorkTraits};
use ops::{OwnRows, Slots};
use rows::LoadPlan;
use std::sync::Arc;

pub static OWN: WorkloadDef = WorkloadDef {
    entry: Entry {
        name: "own",
        spoken: "transactions",
        help: "tables and statements of your own, from a plan file: columns with distributions, references and indexes",
        families: &[Family::Sql],
        params: &[
            TABLE,
            EXISTING,
            ALLOW_WRITES,
            STATEMENT,
            TRANSACTION,
            FOREIGN_KEYS,
            ACCESS,
            background::ON_NAMED_TABLES,
        ],
    },
    traits: |_| WorkTraits::default(),
    data_reuse: |params| match custom::rows_after(params.statements(STATEMENT.name)) {
        RowsAfter::Kept => DataReuse::Shared,
        // Values of tables that are there are read once.
        _ if params.flag(EXISTING.name) => DataReuse::Shared,
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
    ..ParamDef::new("table", ParamRole::DataSize, ParamKind::Tables { optional_if: Some(("existing", "true")) }, "")
};
const EXISTING: ParamDef = ParamDef {
    help: "the tables are those of the database in --engine mysql://USER@HOST/DATABASE or postgres://USER@HOST/DATABASE: nothing is created, \
           altered or dropped; each `[[table]]` has `name` and `keys`, a query whose rows are read once for values such as `:orders.id`",
    shapes_data: true,
    phrase: Phrase::Words(&[("true", "tables of your own"), ("false", "tables that plimsoll made")]),
    ..ParamDef::new("existing", ParamRole::Ground, ParamKind::Bool, "false")
};
const ALLOW_WRITES: ParamDef = ParamDef {
    help: "let statements change the rows of your tables; without it only statements that read, in read-only transactions",
    used_if: Some(UsedIf::one_of("existing", &["true"])),
    ..ParamDef::new("allow_writes", ParamRole::Work, ParamKind::Bool, "false")
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
    used_if: Some(UsedIf::one_of("existing", &["false"])),
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
pub fn check_made(tables: &[OwnTable], statements: &[CustomOp]) -> Result<(), OwnFault> {
    Layout::new(tables, 0)?;
    ops::check_statements(tables, statements)
}

/// Why the tables of `params` cannot be made or used, or their statements cannot be performed on them.
pub fn check(params: &Params) -> Result<(), OwnFault> {
    let (tables, existing) = (params.tables(TABLE.name), params.flag(EXISTING.name));
    let misplaced = tables.iter().position(|table| table.keys.is_some() != existing);
    if let Some(nth) = misplaced {
        let name = &tables[nth].name;
        let text = if existing {
            format!(
                "existing = `true` makes no tables, so table `{name}` has `keys` and nothing else: the query that reads the values for \
                 statements, such as keys = \"SELECT id FROM {name}\"; leave the table out if statements take none"
            )
        } else {
            format!("`keys` of table `{name}` need existing = `true`: they are read of a table that is there already")
        };
        return Err(OwnFault { table: Some(nth), column: None, text });
    }
    let statements = params.statements(STATEMENT.name);
    if existing {
        names::check_tables(tables)?;
        ops::check_statements(tables, statements)
    } else {
        check_made(tables, statements)
    }
}

/// The statements on tables that are there already.
fn existing_program(input: &ProgramInput) -> SqlProgram {
    let (params, tables) = (input.params, input.params.tables(TABLE.name));
    let mut slots = Slots::default();
    let (ops, transaction) = (params.statements(STATEMENT.name), params.flag(TRANSACTION.name));
    let custom = Arc::new(CustomMix::new(ops, 1, transaction, |value| slots.draw_of(value, tables)));
    // Before they are read nothing is drawn.
    let read = if let Some(FoundData::Keys(read)) = input.sequence.found() { &read[..] } else { &[] };
    let rows = OwnRows::read(read, slots, params.access(ACCESS.name), input.seed);
    let query = |table: &OwnTable| {
        let OwnKeys { sql, columns } = table.keys.clone()?;
        Some(KeyQuery { name: table.name.clone(), columns, sql })
    };
    SqlProgram {
        schema: Vec::new(),
        procedures: Vec::new(),
        statements: custom.statements.clone(),
        rows: custom.rows.clone(),
        writes: custom.writes,
        kinds: custom.kinds.clone(),
        load: None,
        work: SqlWork::Calls,
        needs_answers: false,
        run: OpStream::new(None, 1, move |slot| CustomOps::new(custom.clone(), rows.draws(slot))),
        background: Vec::new(),
        conditions: Vec::new(),
        found: Some(WantedData {
            asked: "existing = `true`",
            allows_writes: params.flag(ALLOW_WRITES.name),
            tables: WantedTables::Named(tables.iter().filter_map(query).collect()),
        }),
    }
}

fn sql_program(input: &ProgramInput) -> SqlProgram {
    if input.params.flag(EXISTING.name) {
        return existing_program(input);
    }
    let params = input.params;
    let tables = params.tables(TABLE.name);
    let layout = Arc::new(Layout::new(tables, input.seed).expect("the plan was checked with `check`"));
    let mut slots = Slots::default();
    let (ops, transaction) = (params.statements(STATEMENT.name), params.flag(TRANSACTION.name));
    let custom = Arc::new(CustomMix::new(ops, 1, transaction, |value| slots.draw_of(value, tables)));
    let rows = OwnRows::new(layout.clone(), slots, params.access(ACCESS.name), input.clients, input.seed);
    let load = LoadPlan::new(layout.clone());
    let (statements, expected, writes) = (custom.statements.clone(), custom.rows.clone(), custom.writes);
    let kinds: Vec<_> = custom.kinds.iter().copied().chain([load.kind()]).collect();
    let load_kind = OpKind((kinds.len() - 1) as u8);
    let schema = schema::tables(tables, &layout, params.flag(FOREIGN_KEYS.name));
    SqlProgram {
        procedures: Vec::new(),
        statements,
        rows: expected,
        writes,
        kinds,
        load: load.stream(load_kind).map(|blocks| SqlLoad::of_whole_rows(&schema, blocks)),
        schema,
        work: SqlWork::Calls,
        needs_answers: false,
        run: OpStream::new(None, 1, move |slot| CustomOps::new(custom.clone(), rows.draws(slot))),
        background: Vec::new(),
        conditions: Vec::new(),
        found: None,
    }
}

#[cfg(test)]
pub(crate) mod tests;
