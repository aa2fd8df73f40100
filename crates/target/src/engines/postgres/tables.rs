//! The tables and statements of a workload in the words of PostgreSQL.
//!
//! In: a table's description, statements with `?`. Out: statements. Limits: names are quoted here and nowhere else; workloads
//! write them in small letters, so that the unquoted names in their statements are the same.

use workload::{Column, ColumnKind, Table};

/// The statements that make `table` with its indexes.
pub fn create(table: &Table) -> Vec<String> {
    let mut parts: Vec<String> = table.columns.iter().map(column).collect();
    parts.push(format!("PRIMARY KEY ({})", quoted(table.primary_key)));
    let index = |index: &workload::Index| {
        let columns: Vec<String> = index.columns.iter().map(|column| quoted(column)).collect();
        // The names of indexes are those of one schema and not of one table.
        let name = quoted(&format!("{}_{}", table.name, index.name));
        format!("CREATE INDEX {name} ON {} ({})", quoted(&table.name), columns.join(", "))
    };
    let create = format!("CREATE TABLE {} ({})", quoted(&table.name), parts.join(", "));
    std::iter::once(create).chain(table.indexes.iter().map(index)).collect()
}

/// `name` as an identifier.
pub fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// `text` with `$1`, `$2` in the places of `?`. Workloads write no `?` but for arguments.
pub fn numbered(text: &str) -> String {
    let mut numbered = String::with_capacity(text.len() + 8);
    for (nth, part) in text.split('?').enumerate() {
        if nth > 0 {
            numbered += &format!("${nth}");
        }
        numbered += part;
    }
    numbered
}

fn column(column: &Column) -> String {
    let kind = match column.kind {
        ColumnKind::Int => "INTEGER".to_string(),
        ColumnKind::BigInt => "BIGINT".to_string(),
        ColumnKind::Float => "REAL".to_string(),
        ColumnKind::Char(length) => format!("CHAR({length})"),
        ColumnKind::DateTime => "TIMESTAMP".to_string(),
    };
    let null = if column.not_null { "NOT NULL" } else { "NULL" };
    format!("{} {kind} {null}", quoted(column.name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use workload::Index;

    #[test]
    fn indexes_are_statements_of_their_own_with_names_of_their_own() {
        let id = Column { name: "id", kind: ColumnKind::Int, not_null: true };
        let by_id = Index { name: "k".into(), columns: vec!["id"] };
        let table = Table { name: "t".into(), columns: vec![id], primary_key: "id", indexes: vec![by_id] };
        let expected = [
            "CREATE TABLE \"t\" (\"id\" INTEGER NOT NULL, PRIMARY KEY (\"id\"))",
            "CREATE INDEX \"t_k\" ON \"t\" (\"id\")",
        ];
        assert_eq!(create(&table), expected);
    }

    #[test]
    fn arguments_are_numbered_and_quotes_cannot_be_ended() {
        assert_eq!(numbered("SELECT c FROM t WHERE id BETWEEN ? AND ?"), "SELECT c FROM t WHERE id BETWEEN $1 AND $2");
        assert_eq!(numbered("COMMIT"), "COMMIT");
        assert_eq!(quoted("a\"; DROP"), "\"a\"\"; DROP\"");
    }
}
