//! The tables that must stay as they are while they are measured: an index that goes, or comes, makes another measurement of it.
//!
//! In: a program. Out: the names of its tables. Limits: none of a program that changes them itself; no more than [`TABLES_MAX`]; of tables
//! of the user those that the plan names.

use model::OpClass;
use workload::found::WantedTables;
use workload::{SqlProgram, SqlWork};

/// Each reading asks for all of them.
const TABLES_MAX: usize = 200;
/// The first words of statements that change tables.
const CHANGES: [&str; 5] = ["ALTER", "CREATE", "DROP", "RENAME", "TRUNCATE"];

/// The tables of `program` that are there, in the current schema.
pub fn watched_tables(program: &SqlProgram) -> Vec<String> {
    let of_user = program.found.iter().flat_map(|found| match &found.tables {
        WantedTables::Sysbench { tables, .. } => {
            let last = tables.unwrap_or(1).min(TABLES_MAX as u64);
            (1..=last).map(|nth| format!("sbtest{nth}")).collect::<Vec<_>>()
        }
        WantedTables::Named(queries) => queries.iter().map(|query| query.name.clone()).collect(),
    });
    let tables: Vec<String> = program.schema.iter().map(|table| table.name.clone()).chain(of_user).collect();
    if tables.len() > TABLES_MAX || changes_tables(program) { Vec::new() } else { tables }
}

fn changes_tables(program: &SqlProgram) -> bool {
    let word = |text: &str| text.split_whitespace().next().unwrap_or_default().to_ascii_uppercase();
    let is_index = |class: OpClass| matches!(class, OpClass::Index | OpClass::Drain);
    !matches!(program.work, SqlWork::Calls)
        || program.kinds.iter().any(|kind| is_index(kind.class))
        || program.statements.iter().any(|text| CHANGES.contains(&word(text).as_str()))
}
