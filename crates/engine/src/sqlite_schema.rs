//! Tables and indexes in the words of SQLite.
//!
//! In: the tables of a workload. Out: SQL. Limits: SQLite has no partitions; the engine refuses them before.

use workload::{ColumnKind, SqlColumn, SqlTable};

/// The statements that make `table` and its indexes.
pub(crate) fn create_table(table: &SqlTable) -> String {
    let row_id = if let [key] = table.primary_key { Some(*key) } else { None };
    let mut parts: Vec<String> = table.columns.iter().map(|column| column_text(column, row_id)).collect();
    if table.primary_key.len() > 1 {
        parts.push(format!("PRIMARY KEY ({})", table.primary_key.join(", ")));
    }
    // They are enforced from the first row on: the load has one client, which makes the rows of a table before those that refer to it.
    parts.extend(table.foreign_keys.iter().map(|key| {
        let (columns, parent_key) = (key.columns.join(", "), key.parent_key.join(", "));
        format!("FOREIGN KEY ({columns}) REFERENCES {} ({parent_key})", key.parent)
    }));
    format!("CREATE TABLE {} ({});", table.name, parts.join(", ")) + &create_indexes(table)
}

/// The statements that make the indexes of `table`.
pub(crate) fn create_indexes(table: &SqlTable) -> String {
    let table_name = &table.name;
    let indexes = table.indexes.iter();
    indexes
        .map(|it| format!(" CREATE INDEX {table_name}_{} ON {table_name} ({});", it.name, it.columns.join(", ")))
        .collect()
}

/// A primary key of integers is INTEGER PRIMARY KEY: the rowid itself, without an index of its own.
fn column_text(column: &SqlColumn, row_id: Option<&str>) -> String {
    let kind = match column.kind {
        ColumnKind::Int | ColumnKind::BigInt => "INTEGER".to_string(),
        ColumnKind::Float => "REAL".to_string(),
        ColumnKind::Char(length) => format!("CHAR({length})"),
        ColumnKind::VarChar(length) => format!("VARCHAR({length})"),
        ColumnKind::DateTime => "TEXT".to_string(),
    };
    let key = if Some(column.name) == row_id { " PRIMARY KEY" } else { "" };
    let not_null = if column.not_null { " NOT NULL" } else { "" };
    format!("{} {kind}{key}{not_null}", column.name)
}
