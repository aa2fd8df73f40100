//! The tables of a database of MySQL or MariaDB, from information_schema and a sample of their rows.
//!
//! In: the URL of a server, with the database. Out: [`FoundTable`]s. Limits: of texts only a hash and the length are asked for. A table with
//! more rows than the sample is scanned once for each few columns; without a sample only the cardinalities of indexes are known. Indexes on
//! expressions are left out, and of an index on the beginning of a column the whole column is taken.

use super::sample::{SampledValue, statistics_of};
use super::{FoundPartitions, FoundTable};
use crate::mysql::client::MysqlAddress;
use crate::mysql::tables::quote_name;
use crate::mysql::wire::MysqlWire;
use crate::server::network::AnswerLimits;
use crate::server::url::{Password, ServerUrl};
use crate::sql::admin_connection::AdminConnection;
use crate::sql::external::PATIENCE;
use crate::sql::server_error;
use host::error::TargetError;
use model::own_table::ColumnKind;

/// Columns of one question about a sample: its answer may have 16 MiB.
const COLUMNS_AT_ONCE: usize = 6;

/// Reads all tables of the database that `url` names, and `sample_rows` rows of each.
pub(super) fn read(
    url: &ServerUrl,
    password: Option<Password>,
    sample_rows: u32,
) -> Result<Vec<FoundTable>, TargetError> {
    let Some(database) = &url.database else {
        return Err(TargetError::Unsupported(format!(
            "`{}` names no database; use mysql://user@host/database",
            url.text
        )));
    };
    let address = MysqlAddress::from_url(url, password, AnswerLimits::default())?.in_database(database);
    let shown = address.shown().to_owned();
    let mut wire = address.connect_admin(PATIENCE).map_err(|failure| server_error(&shown, failure))?;
    let mut catalogue = Catalogue { wire: &mut wire, shown: &shown };
    catalogue.wire.set_up(&format!("USE {}", quote_name(database))).map_err(|error| server_error(&shown, error))?;
    let mut tables = catalogue.tables()?;
    for table in &mut tables {
        catalogue.columns(table)?;
        catalogue.indexes(table)?;
        catalogue.references(table)?;
        catalogue.partitions(table)?;
        if sample_rows > 0 && table.rows > 0 {
            catalogue.sample(table, sample_rows)?;
        }
    }
    Ok(tables)
}

/// `text` as a literal, whatever the settings of the server.
fn text_literal(text: &str) -> String {
    let digits: String = text.bytes().map(|byte| format!("{byte:02X}")).collect();
    format!("CONVERT(X'{digits}' USING utf8mb4)")
}

struct Catalogue<'w> {
    wire: &'w mut MysqlWire,
    shown: &'w str,
}

impl Catalogue<'_> {
    fn ask(&mut self, question: &str) -> Result<Vec<Vec<Option<String>>>, TargetError> {
        self.wire.rows_patiently(question).map_err(|error| server_error(self.shown, error))
    }

    fn texts(&mut self, question: &str) -> Result<Vec<Vec<String>>, TargetError> {
        let rows = self.ask(question)?;
        Ok(rows.into_iter().map(|row| row.into_iter().map(Option::unwrap_or_default).collect()).collect())
    }

    /// The number of rows is the server's estimate, and counted if that is small.
    fn tables(&mut self) -> Result<Vec<FoundTable>, TargetError> {
        const SMALL: u64 = 1_000_000;
        let question = "SELECT table_name, table_rows FROM information_schema.tables WHERE table_schema = DATABASE() \
                        AND table_type = 'BASE TABLE' AND table_name <> 'plimsoll_marker' ORDER BY table_name";
        let mut found = Vec::new();
        for row in self.texts(question)? {
            let [name, rows] = &row[..] else { continue };
            let mut rows: u64 = rows.parse().unwrap_or(0);
            if rows < SMALL {
                let counted = self.texts(&format!("SELECT count(*) FROM {}", quote_name(name)))?;
                rows = counted.first().and_then(|row| row.first()?.parse().ok()).unwrap_or(rows);
            }
            found.push(FoundTable { name: name.clone(), rows, ..FoundTable::default() });
        }
        Ok(found)
    }

    fn columns(&mut self, table: &mut FoundTable) -> Result<(), TargetError> {
        let question = format!(
            "SELECT column_name, column_type, is_nullable FROM information_schema.columns \
             WHERE table_schema = DATABASE() AND table_name = {} ORDER BY ordinal_position",
            text_literal(&table.name)
        );
        for row in self.texts(&question)? {
            let [name, kind, nullable] = &row[..] else { continue };
            table.add_column(name, kind, nullable == "NO");
        }
        Ok(())
    }

    fn indexes(&mut self, table: &mut FoundTable) -> Result<(), TargetError> {
        let question = format!(
            "SELECT index_name, non_unique, column_name, seq_in_index, cardinality FROM information_schema.statistics \
             WHERE table_schema = DATABASE() AND table_name = {} ORDER BY index_name, seq_in_index",
            text_literal(&table.name)
        );
        for row in self.texts(&question)? {
            let [index, not_unique, column, nth, cardinality] = &row[..] else { continue };
            if nth == "1" {
                let known = table.columns.iter_mut().find(|known| known.name == *column);
                known.into_iter().for_each(|known| known.statistics.distinct = cardinality.parse().ok());
            }
            if index == "PRIMARY" {
                table.primary_key.push(column.clone())
            } else {
                table.add_index_column(index, not_unique == "0", column)
            }
        }
        // An expression has no name.
        table.indexes.retain(|index| !index.columns.iter().any(String::is_empty));
        Ok(())
    }

    fn references(&mut self, table: &mut FoundTable) -> Result<(), TargetError> {
        let question = format!(
            "SELECT constraint_name, column_name, referenced_table_name, referenced_column_name \
             FROM information_schema.key_column_usage WHERE table_schema = DATABASE() AND referenced_table_schema = DATABASE() \
             AND table_name = {} ORDER BY constraint_name, ordinal_position",
            text_literal(&table.name)
        );
        for row in self.texts(&question)? {
            let [name, column, parent, other] = &row[..] else { continue };
            table.add_reference_column(name, column, (parent, other));
        }
        Ok(())
    }

    fn partitions(&mut self, table: &mut FoundTable) -> Result<(), TargetError> {
        let question = format!(
            "SELECT max(partition_method), max(partition_expression), count(*) FROM information_schema.partitions \
             WHERE table_schema = DATABASE() AND table_name = {} AND partition_name IS NOT NULL",
            text_literal(&table.name)
        );
        for row in self.texts(&question)? {
            let [method, expression, count] = &row[..] else { continue };
            let column = expression.trim_matches('`');
            let is_column = table.columns.iter().any(|known| known.name == column);
            if let (true, Ok(count @ 1..)) = (is_column, count.parse::<u32>()) {
                let is_hash = method.contains("HASH") || method.contains("KEY");
                table.partitions = Some(FoundPartitions { is_hash, column: column.to_owned(), count });
            }
        }
        Ok(())
    }

    /// Looks at some rows of a table, in the order in which they are stored.
    fn sample(&mut self, table: &mut FoundTable, sample_rows: u32) -> Result<(), TargetError> {
        let share = f64::from(sample_rows) / table.rows as f64;
        // Numbers of one seed: the same rows for all columns.
        let some = if share < 1.0 { format!(" WHERE rand(1) < {share}") } else { String::new() };
        let by_key = if table.primary_key.is_empty() { "" } else { " FORCE INDEX (PRIMARY)" };
        let name = quote_name(&table.name);
        for columns in table.columns.chunks_mut(COLUMNS_AT_ONCE) {
            let asked: Vec<String> =
                columns.iter().map(|column| question_for(&quote_name(&column.name), column.kind)).collect();
            let limit = sample_rows.saturating_mul(2).min(90_000);
            let question = format!("SELECT {} FROM {name}{by_key}{some} LIMIT {limit}", asked.join(", "));
            let rows = self.ask(&question)?;
            for (nth, column) in columns.iter_mut().enumerate() {
                let values: Vec<_> =
                    rows.iter().map(|row| sampled_value(row.get(nth)?.as_deref()?, column.kind)).collect();
                column.statistics = statistics_of(&values, table.rows);
            }
        }
        // What is clustered by its key has its rows in the order of that, whatever the sample.
        let first = table.primary_key.first().cloned();
        let clustered = table.columns.iter_mut().filter(|column| Some(&column.name) == first.as_ref());
        clustered.for_each(|column| column.statistics.correlation = 1.0);
        Ok(())
    }
}

/// What is asked of a column: its value, or of a text a hash and the length.
fn question_for(quoted: &str, kind: ColumnKind) -> String {
    match kind.units_per_one() {
        Some(_) => quoted.to_owned(),
        None if kind == ColumnKind::Boolean => quoted.to_owned(),
        None => format!("concat(crc32({quoted}), ':', coalesce(char_length({quoted}), 0))"),
    }
}

fn sampled_value(text: &str, kind: ColumnKind) -> Option<SampledValue> {
    Some(match kind {
        ColumnKind::Date | ColumnKind::DateTime => SampledValue::Date(text.to_owned()),
        kind if kind.units_per_one().is_some() || kind == ColumnKind::Boolean => {
            SampledValue::Number(text.parse().ok()?, text.to_owned())
        }
        _ => {
            let (hash, length) = text.split_once(':')?;
            SampledValue::Text(hash.parse().ok()?, length.parse().ok()?)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_becomes_digits_in_a_literal_and_of_a_text_only_a_hash_is_asked_for() {
        assert_eq!(text_literal("a'b"), "CONVERT(X'612762' USING utf8mb4)");
        assert_eq!(question_for("`n`", ColumnKind::Text), "concat(crc32(`n`), ':', coalesce(char_length(`n`), 0))");
        assert_eq!(sampled_value("123:4", ColumnKind::Text), Some(SampledValue::Text(123, 4)));
        assert_eq!(sampled_value("x", ColumnKind::Int), None);
    }
}
