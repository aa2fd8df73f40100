//! The tables of a workload in the words of MariaDB.
//!
//! In: a table's description, the storage. Out: statements. Limits: names are quoted here and nowhere else.

use workload::{Column, ColumnKind, Index, Table};

/// The statement that makes `table` with its indexes.
pub fn create(table: &Table, storage: &str) -> String {
    let mut parts: Vec<String> = table.columns.iter().map(column).collect();
    parts.push(format!("PRIMARY KEY ({})", quoted(table.primary_key)));
    parts.extend(table.indexes.iter().map(index));
    // One byte a character, whatever the server's default: the data is ASCII, and its size is to be the same everywhere.
    format!("CREATE TABLE {} ({}) ENGINE = {storage} CHARACTER SET latin1", quoted(&table.name), parts.join(", "))
}

/// `name` as an identifier.
pub fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

fn column(column: &Column) -> String {
    let kind = match column.kind {
        ColumnKind::Int => "INT".to_string(),
        ColumnKind::BigInt => "BIGINT".to_string(),
        ColumnKind::Float => "FLOAT".to_string(),
        ColumnKind::Char(length) => format!("CHAR({length})"),
        ColumnKind::DateTime => "DATETIME".to_string(),
    };
    let null = if column.not_null { "NOT NULL" } else { "NULL" };
    format!("{} {kind} {null}", quoted(column.name))
}

fn index(index: &Index) -> String {
    let columns: Vec<String> = index.columns.iter().map(|column| quoted(column)).collect();
    format!("INDEX {} ({})", quoted(&index.name), columns.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_made_in_one_statement_with_its_indexes() {
        let id = Column { name: "id", kind: ColumnKind::Int, not_null: true };
        let at = Column { name: "at", kind: ColumnKind::DateTime, not_null: false };
        let by_time = Index { name: "by_time".into(), columns: vec!["at", "id"] };
        let table = Table { name: "t".into(), columns: vec![id, at], primary_key: "id", indexes: vec![by_time] };
        let expected = "CREATE TABLE `t` (`id` INT NOT NULL, `at` DATETIME NULL, PRIMARY KEY (`id`), \
                        INDEX `by_time` (`at`, `id`)) ENGINE = InnoDB CHARACTER SET latin1";
        assert_eq!(create(&table, "InnoDB"), expected);
    }

    #[test]
    fn a_name_cannot_end_its_own_quotes() {
        assert_eq!(quoted("a` (x INT); DROP TABLE `b"), "`a`` (x INT); DROP TABLE ``b`");
    }
}
