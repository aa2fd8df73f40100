//! The tables and statements of a workload in the words of PostgreSQL.
//!
//! In: a table's description, statements with `?`. Out: statements. Limits: names are quoted here and nowhere else; workloads
//! write them in small letters, so that the unquoted names in their statements are the same.

use workload::{Column, ColumnKind, Partitions, Table};

/// The statements that make `table` with its indexes.
pub fn create(table: &Table) -> Vec<String> {
    let mut parts: Vec<String> = table.columns.iter().map(column).collect();
    parts.push(format!("PRIMARY KEY ({})", quoted(table.primary_key)));
    let by_range = format!(" PARTITION BY RANGE ({})", quoted(table.primary_key));
    let by_range = table.partitions.map_or("", |_| &by_range);
    let create = format!("CREATE TABLE {} ({}){by_range}", quoted(&table.name), parts.join(", "));
    let partitions = table.partitions.map_or(Vec::new(), |partitions| parts_of(&table.name, partitions));
    std::iter::once(create).chain(partitions).chain(indexes(table)).collect()
}

/// The statements that make the indexes of `table`.
pub fn indexes(table: &Table) -> Vec<String> {
    let index = |index: &workload::Index| {
        let columns: Vec<String> = index.columns.iter().map(|column| quoted(column)).collect();
        // The names of indexes are those of one schema and not of one table.
        let name = quoted(&format!("{}_{}", table.name, index.name));
        format!("CREATE INDEX {name} ON {} ({})", quoted(&table.name), columns.join(", "))
    };
    table.indexes.iter().map(index).collect()
}

/// The statements that make p0, p1 and so on, and pmax for the rest.
fn parts_of(table: &str, partitions: Partitions) -> Vec<String> {
    let part = |name: String, from: String, to: String| {
        let name = quoted(&format!("{table}_{name}"));
        format!("CREATE TABLE {name} PARTITION OF {} FOR VALUES FROM ({from}) TO ({to})", quoted(table))
    };
    let mut from = "MINVALUE".to_string();
    let mut all = Vec::new();
    for (nth, end) in partitions.ends().enumerate() {
        let to = end.to_string();
        all.push(part(format!("p{nth}"), std::mem::replace(&mut from, to.clone()), to));
    }
    all.push(part("pmax".into(), from, "MAXVALUE".into()));
    all
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
        ColumnKind::VarChar(length) => format!("VARCHAR({length})"),
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
        let (name, primary_key) = ("t".into(), "id");
        let table = Table { name, columns: vec![id], primary_key, indexes: vec![by_id], partitions: None };
        let expected = [
            "CREATE TABLE \"t\" (\"id\" INTEGER NOT NULL, PRIMARY KEY (\"id\"))",
            "CREATE INDEX \"t_k\" ON \"t\" (\"id\")",
        ];
        assert_eq!(create(&table), expected);
        let parted = create(&Table { partitions: Some(Partitions { rows: 100, count: 2 }), ..table });
        assert_eq!(parted[0], format!("{} PARTITION BY RANGE (\"id\")", expected[0]));
        let parts = ["p0\" PARTITION OF \"t\" FOR VALUES FROM (MINVALUE) TO (101)", "p1", "pmax"];
        assert!(parted[1..4].iter().zip(parts).all(|(text, part)| text.contains(&format!("\"t_{part}"))), "{parted:?}");
        assert!(parted[3].ends_with("FROM (201) TO (MAXVALUE)") && parted[4] == expected[1], "{parted:?}");
    }

    #[test]
    fn arguments_are_numbered_and_quotes_cannot_be_ended() {
        assert_eq!(numbered("SELECT c FROM t WHERE id BETWEEN ? AND ?"), "SELECT c FROM t WHERE id BETWEEN $1 AND $2");
        assert_eq!(numbered("COMMIT"), "COMMIT");
        assert_eq!(quoted("a\"; DROP"), "\"a\"\"; DROP\"");
    }
}
