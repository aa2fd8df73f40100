//! Tables and indexes in the words of SQLite.
//!
//! In: the tables of a workload. Out: SQL. Limits: SQLite has no partitions; the engine refuses them before.

use workload::{ColumnKind, SqlColumn, SqlIndex, SqlTable};

/// The statement that makes `table`, without its indexes.
pub(crate) fn create_table(table: &SqlTable) -> String {
    let row_id = if let [key] = table.primary_key { Some(*key) } else { None };
    let mut parts: Vec<String> = table.columns.iter().map(|column| column_text(column, row_id)).collect();
    if table.primary_key.len() > 1 {
        parts.push(format!("PRIMARY KEY ({})", quote_all(table.primary_key)));
    }
    // SQLite adds none to a table that exists. The load does not enforce them, and checks them when all rows are there.
    parts.extend(table.foreign_keys.iter().map(|key| {
        let (columns, parent_key) = (quote_all(key.columns), quote_all(key.parent_key));
        format!("FOREIGN KEY ({columns}) REFERENCES {} ({parent_key})", quote_name(key.parent))
    }));
    format!("CREATE TABLE {} ({});", quote_name(&table.name), parts.join(", "))
}

/// The statements that make the indexes of `table`.
pub(crate) fn create_indexes(table: &SqlTable) -> String {
    let table_name = quote_name(&table.name);
    let statement = |index: &SqlIndex| {
        let unique = if index.unique { "UNIQUE " } else { "" };
        let name = quote_name(&format!("{}_{}", table.name, index.name));
        format!(" CREATE {unique}INDEX {name} ON {table_name} ({});", quote_all(&index.columns))
    };
    table.indexes.iter().map(statement).collect()
}

/// `name` as an identifier.
pub(crate) fn quote_name(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn quote_all(names: &[&str]) -> String {
    names.iter().map(|name| quote_name(name)).collect::<Vec<_>>().join(", ")
}

/// A primary key of integers is INTEGER PRIMARY KEY: the rowid itself, without an index of its own.
fn column_text(column: &SqlColumn, row_id: Option<&str>) -> String {
    let kind = match column.kind {
        ColumnKind::SmallInt | ColumnKind::Int | ColumnKind::BigInt => "INTEGER".to_string(),
        ColumnKind::Real | ColumnKind::Double => "REAL".to_string(),
        ColumnKind::Decimal { digits, scale } => format!("DECIMAL({digits},{scale})"),
        ColumnKind::Boolean => "BOOLEAN".to_string(),
        ColumnKind::Char(length) => format!("CHAR({length})"),
        ColumnKind::VarChar(length) => format!("VARCHAR({length})"),
        ColumnKind::Text | ColumnKind::Date | ColumnKind::DateTime => "TEXT".to_string(),
    };
    let key = if Some(column.name) == row_id { " PRIMARY KEY" } else { "" };
    let not_null = if column.not_null { " NOT NULL" } else { "" };
    format!("{} {kind}{key}{not_null}", quote_name(column.name))
}
