//! The tables and statements of a workload in the words of PostgreSQL.
//!
//! In: a table's description, statements with `?`. Out: statements. Limits: names are quoted here and nowhere else; workloads
//! write them in small letters, so that the unquoted names in their statements are the same.

use workload::{ColumnKind, ForeignKey, SqlColumn, SqlIndex, SqlTable, TablePartitions};

/// The statements that make `table` with its indexes.
pub fn create_statements(table: &SqlTable) -> Vec<String> {
    let mut parts: Vec<String> = table.columns.iter().map(column_definition).collect();
    if !table.primary_key.is_empty() {
        parts.push(format!("PRIMARY KEY ({})", quote_all(table.primary_key)));
    }
    let by_column = table.partitions.as_ref().map(|partitions| {
        let rule = if matches!(partitions, TablePartitions::Hash { .. }) { "HASH" } else { "RANGE" };
        format!(" PARTITION BY {rule} ({})", quote_name(partitions.column(table.primary_key)))
    });
    let by_column = by_column.unwrap_or_default();
    let create = format!("CREATE TABLE {} ({}){by_column}", quote_name(&table.name), parts.join(", "));
    let partitions = table.partitions.as_ref().map_or(Vec::new(), |partitions| parts_of(&table.name, partitions));
    std::iter::once(create).chain(partitions).chain(index_statements(table)).collect()
}

/// The statements that make the indexes of `table`.
pub fn index_statements(table: &SqlTable) -> Vec<String> {
    table.indexes.iter().map(|index| index_statement(&table.name, index)).collect()
}

/// The statements that make the foreign keys of `table`.
pub fn foreign_key_statements(table: &SqlTable) -> Vec<String> {
    let statement = |key: &ForeignKey| {
        let (columns, parent_key) = (quote_all(key.columns), quote_all(key.parent_key));
        let [table, parent] = [&*table.name, key.parent].map(quote_name);
        format!("ALTER TABLE {table} ADD FOREIGN KEY ({columns}) REFERENCES {parent} ({parent_key})")
    };
    table.foreign_keys.iter().map(statement).collect()
}

fn quote_all(names: &[&str]) -> String {
    names.iter().map(|name| quote_name(name)).collect::<Vec<_>>().join(", ")
}

fn index_statement(table: &str, index: &SqlIndex) -> String {
    let columns: Vec<String> = index.columns.iter().map(|column| quote_name(column)).collect();
    // The names of indexes are those of one schema and not of one table.
    let name = quote_name(&format!("{table}_{}", index.name));
    let unique = if index.unique { "UNIQUE " } else { "" };
    format!("CREATE {unique}INDEX {name} ON {} ({})", quote_name(table), columns.join(", "))
}

/// The statements that make p0, p1 and so on, and pmax for the rest.
fn parts_of(table: &str, partitions: &TablePartitions) -> Vec<String> {
    if let TablePartitions::Hash { count, .. } = partitions {
        let part = |nth: u32| {
            let (name, table) = (quote_name(&format!("{table}_p{nth}")), quote_name(table));
            format!("CREATE TABLE {name} PARTITION OF {table} FOR VALUES WITH (MODULUS {count}, REMAINDER {nth})")
        };
        return (0..*count).map(part).collect();
    }
    let mut from = "MINVALUE".to_string();
    let mut all = Vec::new();
    for (nth, end) in partitions.ends().iter().enumerate() {
        let to = end.to_string();
        all.push(partition_statement(table, &format!("p{nth}"), &from, &to));
        from = to;
    }
    all.push(partition_statement(table, "pmax", &from, "MAXVALUE"));
    all
}

fn partition_statement(table: &str, name: &str, from: &str, to: &str) -> String {
    let name = quote_name(&format!("{table}_{name}"));
    format!("CREATE TABLE {name} PARTITION OF {} FOR VALUES FROM ({from}) TO ({to})", quote_name(table))
}

/// `name` as an identifier.
pub fn quote_name(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// `text` with `$1`, `$2` in the places of `?`. Workloads write no `?` but for arguments.
pub fn number_placeholders(text: &str) -> String {
    let mut numbered = String::with_capacity(text.len() + 8);
    for (nth, part) in text.split('?').enumerate() {
        if nth > 0 {
            numbered += &format!("${nth}");
        }
        numbered += part;
    }
    numbered
}

fn column_definition(column: &SqlColumn) -> String {
    let kind = kind_text(column.kind);
    let null = if column.not_null { "NOT NULL" } else { "NULL" };
    format!("{} {kind} {null}", quote_name(column.name))
}

/// What a column or a variable holds, in the words of the server.
pub fn kind_text(kind: ColumnKind) -> String {
    match kind {
        ColumnKind::SmallInt => "SMALLINT".to_string(),
        ColumnKind::Int => "INTEGER".to_string(),
        ColumnKind::BigInt => "BIGINT".to_string(),
        ColumnKind::Real => "REAL".to_string(),
        ColumnKind::Double => "DOUBLE PRECISION".to_string(),
        ColumnKind::Decimal { digits, scale } => format!("NUMERIC({digits},{scale})"),
        ColumnKind::Boolean => "BOOLEAN".to_string(),
        ColumnKind::Char(length) => format!("CHAR({length})"),
        ColumnKind::VarChar(length) => format!("VARCHAR({length})"),
        ColumnKind::Text => "TEXT".to_string(),
        ColumnKind::Date => "DATE".to_string(),
        ColumnKind::DateTime => "TIMESTAMP".to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexes_are_statements_of_their_own_with_names_of_their_own() {
        let id = SqlColumn { name: "id", kind: ColumnKind::Int, not_null: true };
        let by_id = SqlIndex { name: "k".into(), columns: vec!["id"], unique: false };
        let (name, primary_key, foreign_keys) = ("t".into(), &["id"][..], Vec::new());
        let indexes = vec![by_id];
        let table = SqlTable { name, columns: vec![id], primary_key, indexes, foreign_keys, partitions: None };
        let expected = [
            "CREATE TABLE \"t\" (\"id\" INTEGER NOT NULL, PRIMARY KEY (\"id\"))",
            "CREATE INDEX \"t_k\" ON \"t\" (\"id\")",
        ];
        assert_eq!(create_statements(&table), expected);
        let parted =
            create_statements(&SqlTable { partitions: Some(TablePartitions::OfKeys { rows: 100, count: 2 }), ..table });
        assert_eq!(parted[0], format!("{} PARTITION BY RANGE (\"id\")", expected[0]));
        let parts = ["p0\" PARTITION OF \"t\" FOR VALUES FROM (MINVALUE) TO (101)", "p1", "pmax"];
        assert!(parted[1..4].iter().zip(parts).all(|(text, part)| text.contains(&format!("\"t_{part}"))), "{parted:?}");
        assert!(parted[3].ends_with("FROM (201) TO (MAXVALUE)") && parted[4] == expected[1], "{parted:?}");
    }

    #[test]
    fn a_key_of_several_columns_a_table_without_a_key_and_foreign_keys_have_their_statements() {
        let column = |name| SqlColumn { name, kind: ColumnKind::Int, not_null: true };
        let key = ForeignKey { columns: &["b"], parent: "p", parent_key: &["x"] };
        let table = SqlTable {
            name: "t".into(),
            columns: vec![column("a"), column("b")],
            primary_key: &["a", "b"],
            indexes: Vec::new(),
            foreign_keys: vec![key],
            partitions: None,
        };
        assert!(create_statements(&table)[0].ends_with("PRIMARY KEY (\"a\", \"b\"))"));
        let expected = "ALTER TABLE \"t\" ADD FOREIGN KEY (\"b\") REFERENCES \"p\" (\"x\")";
        assert_eq!(foreign_key_statements(&table), [expected]);
        assert!(!create_statements(&SqlTable { primary_key: &[], ..table })[0].contains("KEY"));
    }

    #[test]
    fn arguments_are_numbered_and_quotes_cannot_be_ended() {
        assert_eq!(
            number_placeholders("SELECT c FROM t WHERE id BETWEEN ? AND ?"),
            "SELECT c FROM t WHERE id BETWEEN $1 AND $2"
        );
        assert_eq!(number_placeholders("COMMIT"), "COMMIT");
        assert_eq!(quote_name("a\"; DROP"), "\"a\"\"; DROP\"");
    }
}
