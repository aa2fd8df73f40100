//! The tables of a workload in the words of MariaDB.
//!
//! In: a table's description, the storage. Out: statements. Limits: names are quoted here and nowhere else.

use workload::{ColumnKind, SqlColumn, SqlIndex, SqlTable, TablePartitions};

/// The statement that makes `table` with its indexes.
pub fn create_statement(table: &SqlTable, storage: &str) -> String {
    let mut parts: Vec<String> = table.columns.iter().map(column_definition).collect();
    if !table.primary_key.is_empty() {
        parts.push(format!("PRIMARY KEY ({})", quote_all(table.primary_key)));
    }
    parts.extend(table.indexes.iter().map(index_definition));
    let partitions = table.partitions.as_ref().map_or(String::new(), |it| partition_clause(table.primary_key, it));
    // One byte a character, whatever the server's default: the data is ASCII, and its size is to be the same everywhere.
    let create = format!("CREATE TABLE {} ({})", quote_name(&table.name), parts.join(", "));
    format!("{create} ENGINE = {storage} CHARACTER SET latin1{partitions}")
}

/// The statement that makes the indexes of a `table` that is there without them; `None` if it has none.
pub fn add_indexes(table: &SqlTable) -> Option<String> {
    let indexes: Vec<String> = table.indexes.iter().map(|it| format!("ADD {}", index_definition(it))).collect();
    (!indexes.is_empty()).then(|| format!("ALTER TABLE {} {}", quote_name(&table.name), indexes.join(", ")))
}

/// The statement that makes the foreign keys of a `table` that is there without them; `None` if it has none.
pub fn add_foreign_keys(table: &SqlTable) -> Option<String> {
    let keys: Vec<String> = table
        .foreign_keys
        .iter()
        .map(|key| {
            let (columns, parent_key) = (quote_all(key.columns), quote_all(key.parent_key));
            format!("ADD FOREIGN KEY ({columns}) REFERENCES {} ({parent_key})", quote_name(key.parent))
        })
        .collect();
    (!keys.is_empty()).then(|| format!("ALTER TABLE {} {}", quote_name(&table.name), keys.join(", ")))
}

fn quote_all(names: &[&str]) -> String {
    names.iter().map(|name| quote_name(name)).collect::<Vec<_>>().join(", ")
}

/// p0, p1 and so on, and pmax for the rest; of a hash the server names them.
fn partition_clause(primary_key: &[&'static str], partitions: &TablePartitions) -> String {
    let key = partitions.column(primary_key);
    if let TablePartitions::Hash { count, .. } = partitions {
        return format!(" PARTITION BY HASH ({}) PARTITIONS {count}", quote_name(key));
    }
    let ends = (0..).zip(partitions.ends());
    let all: Vec<String> = ends.map(|(nth, end)| format!("PARTITION p{nth} VALUES LESS THAN ({end})")).collect();
    let rest = "PARTITION pmax VALUES LESS THAN MAXVALUE";
    format!(" PARTITION BY RANGE ({}) ({}, {rest})", quote_name(key), all.join(", "))
}

/// `name` as an identifier.
pub fn quote_name(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
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
        ColumnKind::Int => "INT".to_string(),
        ColumnKind::BigInt => "BIGINT".to_string(),
        ColumnKind::Real => "FLOAT".to_string(),
        ColumnKind::Double => "DOUBLE".to_string(),
        ColumnKind::Decimal { digits, scale } => format!("DECIMAL({digits},{scale})"),
        ColumnKind::Boolean => "BOOLEAN".to_string(),
        ColumnKind::Char(length) => format!("CHAR({length})"),
        ColumnKind::VarChar(length) => format!("VARCHAR({length})"),
        ColumnKind::Text => "TEXT".to_string(),
        ColumnKind::Date => "DATE".to_string(),
        ColumnKind::DateTime => "DATETIME".to_string(),
    }
}

fn index_definition(index: &SqlIndex) -> String {
    let columns: Vec<String> = index.columns.iter().map(|column| quote_name(column)).collect();
    let unique = if index.unique { "UNIQUE " } else { "" };
    format!("{unique}INDEX {} ({})", quote_name(&index.name), columns.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use workload::ForeignKey;

    fn table(partitions: Option<TablePartitions>) -> SqlTable {
        let id = SqlColumn { name: "id", kind: ColumnKind::Int, not_null: true };
        let at = SqlColumn { name: "at", kind: ColumnKind::DateTime, not_null: false };
        let by_time = SqlIndex { name: "by_time".into(), columns: vec!["at", "id"], unique: false };
        SqlTable {
            name: "t".into(),
            columns: vec![id, at],
            primary_key: &["id"],
            indexes: vec![by_time],
            foreign_keys: Vec::new(),
            partitions,
        }
    }

    #[test]
    fn a_table_is_made_in_one_statement_with_its_indexes() {
        let expected = "CREATE TABLE `t` (`id` INT NOT NULL, `at` DATETIME NULL, PRIMARY KEY (`id`), \
                        INDEX `by_time` (`at`, `id`)) ENGINE = InnoDB CHARACTER SET latin1";
        assert_eq!(create_statement(&table(None), "InnoDB"), expected);
    }

    #[test]
    fn indexes_of_a_table_that_is_there_are_made_in_one_statement_too() {
        assert_eq!(add_indexes(&table(None)).unwrap(), "ALTER TABLE `t` ADD INDEX `by_time` (`at`, `id`)");
        assert_eq!(add_indexes(&SqlTable { indexes: Vec::new(), ..table(None) }), None);
    }

    #[test]
    fn a_key_of_several_columns_a_table_without_a_key_and_foreign_keys_have_their_statements() {
        let key = ForeignKey { columns: &["at", "id"], parent: "p", parent_key: &["a", "b"] };
        let table =
            SqlTable { primary_key: &["at", "id"], foreign_keys: vec![key], indexes: Vec::new(), ..table(None) };
        assert!(create_statement(&table, "InnoDB").contains(", PRIMARY KEY (`at`, `id`)) ENGINE"));
        let expected = "ALTER TABLE `t` ADD FOREIGN KEY (`at`, `id`) REFERENCES `p` (`a`, `b`)";
        assert_eq!(add_foreign_keys(&table).unwrap(), expected);
        let without = SqlTable { primary_key: &[], foreign_keys: Vec::new(), ..table };
        assert!(!create_statement(&without, "InnoDB").contains("KEY") && add_foreign_keys(&without).is_none());
    }

    #[test]
    fn partitions_take_as_many_keys_each_and_the_last_the_rest() {
        let text = create_statement(&table(Some(TablePartitions::OfKeys { rows: 100, count: 2 })), "InnoDB");
        let expected = " CHARACTER SET latin1 PARTITION BY RANGE (`id`) (PARTITION p0 VALUES LESS THAN (101), \
                        PARTITION p1 VALUES LESS THAN (201), PARTITION pmax VALUES LESS THAN MAXVALUE)";
        assert!(text.ends_with(expected), "{text}");
        let text = create_statement(&table(Some(TablePartitions::Hash { column: "id", count: 4 })), "InnoDB");
        assert!(text.ends_with(" PARTITION BY HASH (`id`) PARTITIONS 4"), "{text}");
    }

    #[test]
    fn a_name_cannot_end_its_own_quotes() {
        assert_eq!(quote_name("a` (x INT); DROP TABLE `b"), "`a`` (x INT); DROP TABLE ``b`");
    }
}
