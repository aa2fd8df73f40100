//! The tables of a database of MySQL or MariaDB, from information_schema and a sample of their rows.
//!
//! In: the URL of a server, with the database. Out: [`FoundTable`]s. Limits: of texts only a hash and the length are asked for. A table with
//! more rows than the sample is scanned once for each few columns; without a sample only the cardinalities of indexes are known. A table that
//! the server cannot describe is left out. Indexes on expressions, and those that are no trees, are left out; of an index on the beginning of a
//! column the whole column is taken.

use super::sample::{SampledValue, statistics_of};
use super::types::Reading;
use super::{Found, FoundColumn, FoundPartitions, FoundTable};
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
pub(super) fn read(url: &ServerUrl, password: Option<Password>, sample_rows: u32) -> Result<Found, TargetError> {
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
    let mut found = Found { tables: catalogue.tables()?, left_out: Vec::new() };
    found.keep_largest();
    let traits = catalogue.traits_of_indexes()?;
    for mut table in std::mem::take(&mut found.tables) {
        match catalogue.describe(&mut table, sample_rows, &traits) {
            Ok(()) => found.tables.push(table),
            Err(error) => {
                // A table costs itself; a connection that is lost costs all.
                catalogue.ask("SELECT 1")?;
                found.left_out.push((table.name, format!("the server cannot describe it: {error}")));
            }
        }
    }
    Ok(found)
}

/// `text` as a literal, whatever the settings of the server.
fn text_literal(text: &str) -> String {
    let digits: String = text.bytes().map(|byte| format!("{byte:02X}")).collect();
    format!("CONVERT(X'{digits}' USING utf8mb4)")
}

/// What only some servers know of an index, as it is asked for.
struct IndexTraits {
    expression: &'static str,
    unused: &'static str,
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

    /// All that is known of a table.
    fn describe(&mut self, table: &mut FoundTable, sample_rows: u32, traits: &IndexTraits) -> Result<(), TargetError> {
        self.columns(table)?;
        self.indexes(table, traits)?;
        self.references(table)?;
        self.partitions(table)?;
        if sample_rows > 0 && table.rows > 0 {
            self.sample(table, sample_rows)?;
        }
        Ok(())
    }

    /// The words for what only some servers know of an index.
    fn traits_of_indexes(&mut self) -> Result<IndexTraits, TargetError> {
        let question = "SELECT upper(column_name) FROM information_schema.columns WHERE table_schema = 'information_schema' \
                        AND upper(table_name) = 'STATISTICS'";
        let names: Vec<String> = self.texts(question)?.into_iter().flatten().collect();
        let has = |name: &str| names.iter().any(|known| known == name);
        let expression = if has("EXPRESSION") { "coalesce(expression, '')" } else { "''" };
        let unused = if has("IS_VISIBLE") {
            "CASE is_visible WHEN 'NO' THEN 'YES' END"
        } else if has("IGNORED") {
            "ignored"
        } else {
            "''"
        };
        Ok(IndexTraits { expression, unused })
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
                // If it cannot be counted, its description says why.
                let counted = self.texts(&format!("SELECT count(*) FROM {}", quote_name(name))).unwrap_or_default();
                rows = counted.first().and_then(|row| row.first()?.parse().ok()).unwrap_or(rows);
            }
            found.push(FoundTable { name: name.clone(), rows, ..FoundTable::default() });
        }
        Ok(found)
    }

    fn columns(&mut self, table: &mut FoundTable) -> Result<(), TargetError> {
        let question = format!(
            "SELECT column_name, column_type, is_nullable, extra FROM information_schema.columns \
             WHERE table_schema = DATABASE() AND table_name = {} ORDER BY ordinal_position",
            text_literal(&table.name)
        );
        for row in self.texts(&question)? {
            let [name, kind, nullable, extra] = &row[..] else { continue };
            table.add_column(name, kind, nullable == "NO");
            // `VIRTUAL GENERATED`, `STORED GENERATED`, in old versions of MariaDB `PERSISTENT`; `DEFAULT_GENERATED` is a default.
            let words: Vec<&str> = extra.split_whitespace().collect();
            if words.iter().any(|word| ["GENERATED", "VIRTUAL", "PERSISTENT"].contains(word)) {
                table.note_column(super::GENERATED);
            }
        }
        Ok(())
    }

    fn indexes(&mut self, table: &mut FoundTable, traits: &IndexTraits) -> Result<(), TargetError> {
        let question = format!(
            "SELECT index_name, non_unique, column_name, seq_in_index, cardinality, index_type, sub_part, collation, {}, {} \
             FROM information_schema.statistics \
             WHERE table_schema = DATABASE() AND table_name = {} ORDER BY index_name, seq_in_index",
            traits.expression,
            traits.unused,
            text_literal(&table.name)
        );
        let mut left_out = Vec::new();
        for row in self.texts(&question)? {
            let [index, not_unique, column, nth, cardinality, kind, part, order, expression, unused] = &row[..] else {
                continue;
            };
            if nth == "1" {
                let known = table.columns.iter_mut().find(|known| known.name == *column);
                known.into_iter().for_each(|known| known.statistics.distinct = cardinality.parse().ok());
            }
            if index == "PRIMARY" {
                table.primary_key.push(column.clone());
                continue;
            }
            table.add_index_column(index, not_unique == "0", column);
            let is_tree = ["BTREE", "HASH"].contains(&kind.as_str());
            let reason = if !is_tree {
                format!("it is of the kind {kind}, and a plan has trees only")
            } else if column.is_empty() || !expression.is_empty() {
                super::EXPRESSION.to_owned()
            } else {
                self.note_traits(table, index, [kind, part, order, unused]);
                continue;
            };
            left_out.push((index.clone(), reason));
        }
        left_out.into_iter().for_each(|(index, reason)| table.leave_out_index(&index, reason));
        Ok(())
    }

    /// Notes what is another about an index that is made.
    fn note_traits(&self, table: &mut FoundTable, index: &str, [kind, part, order, unused]: [&String; 4]) {
        if kind == "HASH" {
            table.note_index(index, "a hash in the database; here it is a tree");
        }
        if !part.is_empty() {
            table.note_index(
                index,
                &format!("the database has the first {part} characters of a column; here it is whole"),
            );
        }
        if order == "D" {
            table.note_index(index, super::DESCENDING);
        }
        if unused == "YES" {
            table.note_index(index, "the database maintains it and does not read it; here the server may read it");
        }
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
                columns.iter().map(|column| question_for(&quote_name(&column.name), column)).collect();
            let limit = sample_rows.saturating_mul(2).min(90_000);
            let question = format!("SELECT {} FROM {name}{by_key}{some} LIMIT {limit}", asked.join(", "));
            let rows = self.ask(&question)?;
            for (nth, column) in columns.iter_mut().enumerate() {
                let values: Vec<_> =
                    rows.iter().map(|row| Some(sampled_value(row.get(nth)?.as_deref()?, column.kind))).collect();
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
fn question_for(quoted: &str, column: &FoundColumn) -> String {
    let hash_of = |form: &str, length: &str| format!("concat(crc32({form}), ':', coalesce({length}, 0))");
    match column.reading {
        Reading::Seconds => return format!("floor(time_to_sec({quoted}))"),
        Reading::Bits => return format!("{quoted} + 0"),
        Reading::Geometry => {
            let form = format!("st_asbinary({quoted})");
            return hash_of(&form, &format!("length({form})"));
        }
        Reading::Digits => {
            let form = format!("hex({quoted})");
            return hash_of(&form, &format!("length({quoted})"));
        }
        Reading::Plain => {}
    }
    match column.kind.units_per_one() {
        Some(_) => quoted.to_owned(),
        None if column.kind == ColumnKind::Boolean => quoted.to_owned(),
        None => hash_of(quoted, &format!("char_length({quoted})")),
    }
}

/// A value of a column. What cannot be read as what the column holds is a value all the same, and no NULL.
fn sampled_value(text: &str, kind: ColumnKind) -> SampledValue {
    match kind {
        ColumnKind::Date | ColumnKind::DateTime => SampledValue::Date(text.to_owned()),
        kind if kind.units_per_one().is_some() || kind == ColumnKind::Boolean => match text.parse() {
            Ok(number) => SampledValue::Number(number, text.to_owned()),
            Err(_) => SampledValue::unread(text.as_bytes()),
        },
        _ => {
            let read = text.split_once(':').and_then(|(hash, length)| Some((hash.parse().ok()?, length.parse().ok()?)));
            read.map_or_else(
                || SampledValue::unread(text.as_bytes()),
                |(hash, length)| SampledValue::Text(hash, length),
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_becomes_digits_in_a_literal_and_of_a_text_only_a_hash_is_asked_for() {
        assert_eq!(text_literal("a'b"), "CONVERT(X'612762' USING utf8mb4)");
        let mut table = FoundTable::default();
        ["text", "time", "bit(3)", "point", "int"].iter().for_each(|kind| table.add_column("n", kind, false));
        let asked: Vec<String> = table.columns.iter().map(|column| question_for("`n`", column)).collect();
        assert_eq!(asked[0], "concat(crc32(`n`), ':', coalesce(char_length(`n`), 0))");
        assert_eq!((asked[1].as_str(), asked[2].as_str()), ("floor(time_to_sec(`n`))", "`n` + 0"));
        assert!(asked[3].starts_with("concat(crc32(st_asbinary(`n`))"), "{}", asked[3]);
        assert_eq!(asked[4], "`n`");
    }

    #[test]
    fn what_cannot_be_read_is_a_value_and_no_null() {
        assert_eq!(sampled_value("123:4", ColumnKind::Text), SampledValue::Text(123, 4));
        assert_eq!(sampled_value("7", ColumnKind::Int), SampledValue::Number(7.0, "7".to_owned()));
        assert_eq!(sampled_value("x", ColumnKind::Int), SampledValue::unread(b"x"));
    }
}
