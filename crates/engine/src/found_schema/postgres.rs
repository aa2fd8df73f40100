//! The tables of a schema of PostgreSQL, from its catalogue and the statistics of ANALYZE.
//!
//! In: the URL of a server, a schema. Out: [`FoundTable`]s. Limits: no row is read. Of extended statistics (CREATE STATISTICS) it takes the
//! dependence of one column on another. A table that was never analysed has no statistics, and is left out unless it is empty. Indexes on
//! expressions, partial ones, and those that are neither a tree nor a hash are left out. A domain counts as the type that it is of.

use super::sample::around_mean;
use super::{ColumnStatistics, Found, FoundPartitions, FoundTable};
use crate::postgres::client::PostgresAddress;
use crate::postgres::wire::PostgresWire;
use crate::server::network::{AnswerLimits, TextRows};
use crate::server::url::{Password, ServerUrl};
use crate::sql::admin_connection::AdminConnection;
use crate::sql::external::PATIENCE;
use crate::sql::server_error;
use host::error::TargetError;
use model::own_table::ColumnKind;
use std::path::Path;

/// Reads all tables of `schema`.
pub(super) fn read(url: &ServerUrl, password: Option<Password>, schema: &str) -> Result<Found, TargetError> {
    let address = PostgresAddress::from_url(url, password, AnswerLimits::default())?;
    let shown = address.shown().to_owned();
    let mut wire = address.connect_admin(PATIENCE).map_err(|failure| server_error(&shown, failure))?;
    let mut catalogue = Catalogue { wire: &mut wire, shown: &shown, schema: text_literal(schema) };
    let mut found = catalogue.tables()?;
    if found == Found::default() {
        return Err(catalogue.without_tables(schema));
    }
    found.keep_largest();
    let tables = &mut found.tables;
    catalogue.columns(tables)?;
    catalogue.keys(tables)?;
    catalogue.references(tables)?;
    catalogue.statistics(tables)?;
    catalogue.dependences(tables)?;
    catalogue.partitions(tables)?;
    let (kept, bare): (Vec<_>, Vec<_>) = found.tables.into_iter().partition(|table| !table.columns.is_empty());
    found.tables = kept;
    found.left_out.extend(bare.into_iter().map(|table| (table.name, "it has no columns".to_owned())));
    Ok(found)
}

/// `text` as a literal, whatever the settings of the server.
fn text_literal(text: &str) -> String {
    format!("E'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}

struct Catalogue<'w> {
    wire: &'w mut PostgresWire,
    shown: &'w str,
    schema: String,
}

/// Tables, and partitioned ones; not the partitions themselves, nor those of plimsoll.
const TABLES: &str = "pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition \
                      AND c.relname <> 'plimsoll_marker'";

impl Catalogue<'_> {
    fn ask(&mut self, question: &str) -> Result<Vec<Vec<String>>, TargetError> {
        let answer: TextRows = self.wire.rows_patiently(question).map_err(|error| server_error(self.shown, error))?;
        Ok(answer.into_iter().map(|row| row.into_iter().map(Option::unwrap_or_default).collect()).collect())
    }

    fn tables(&mut self) -> Result<Found, TargetError> {
        const NEVER_ANALYSED: &str =
            "it was never analysed, so the server knows nothing of its rows; execute ANALYZE and read it again";
        let question = format!(
            "SELECT c.relname, c.reltuples::bigint, pg_relation_size(c.oid) FROM {TABLES} AND n.nspname = {} ORDER BY c.relname",
            self.schema
        );
        let mut found = Found::default();
        for row in self.ask(&question)? {
            let [name, rows, bytes] = &row[..] else { continue };
            // -1: never analysed. What has no page has no row.
            match rows.parse::<u64>() {
                Ok(rows) => found.tables.push(FoundTable { name: name.clone(), rows, ..FoundTable::default() }),
                Err(_) if bytes == "0" => found.tables.push(FoundTable { name: name.clone(), ..FoundTable::default() }),
                Err(_) => found.left_out.push((name.clone(), NEVER_ANALYSED.to_owned())),
            }
        }
        Ok(found)
    }

    /// The error of a `schema` in which there is no table: it names schemas that have some.
    fn without_tables(&mut self, schema: &str) -> TargetError {
        let question = format!(
            "SELECT n.nspname FROM {TABLES} AND n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema' \
             GROUP BY n.nspname ORDER BY count(*) DESC, n.nspname LIMIT {NAMED_MAX}"
        );
        match self.ask(&question) {
            Ok(others) => without_tables_in(self.shown, schema, &others.concat()),
            Err(error) => error,
        }
    }

    fn columns(&mut self, tables: &mut [FoundTable]) -> Result<(), TargetError> {
        let question = format!(
            "SELECT c.relname, a.attname, format_type(b.type, b.modifier), a.attnotnull, to_jsonb(a)->>'attgenerated', b.kind \
             FROM pg_attribute a JOIN {TABLES_ON} AND n.nspname = {} \
             CROSS JOIN LATERAL (WITH RECURSIVE base(type, modifier, kind, of_domain, own, depth) AS ( \
               SELECT t.oid, a.atttypmod, t.typtype, t.typbasetype, t.typtypmod, 0 FROM pg_type t WHERE t.oid = a.atttypid \
               UNION ALL SELECT t.oid, base.own, t.typtype, t.typbasetype, t.typtypmod, depth + 1 FROM base \
               JOIN pg_type t ON t.oid = base.of_domain WHERE base.kind = 'd') \
               SELECT * FROM base ORDER BY depth DESC LIMIT 1) b \
             WHERE a.attnum > 0 AND NOT a.attisdropped ORDER BY c.relname, a.attnum",
            self.schema,
            TABLES_ON = "pg_class c ON c.oid = a.attrelid AND c.relkind IN ('r', 'p') JOIN pg_namespace n ON n.oid = c.relnamespace"
        );
        for row in self.ask(&question)? {
            let [table, name, declared, not_null, generated, kind] = &row[..] else { continue };
            let Some(table) = tables.iter_mut().find(|known| known.name == *table) else { continue };
            // The name of an enumeration, of a composite and of a range is the user's.
            match kind.as_str() {
                "e" => table.add_column(name, "enum", not_null == "t"),
                "c" => {
                    table.add_column(name, "text", not_null == "t");
                    table.note_column("`text` for a composite type: letters of the same length");
                }
                "r" if !declared.contains("range") => table.add_column(name, "tsrange", not_null == "t"),
                "m" if !declared.contains("range") => table.add_column(name, "tsmultirange", not_null == "t"),
                _ => table.add_column(name, declared, not_null == "t"),
            }
            if ["s", "v"].contains(&generated.as_str()) {
                table.note_column(super::GENERATED);
            }
        }
        Ok(())
    }

    fn keys(&mut self, tables: &mut [FoundTable]) -> Result<(), TargetError> {
        // A column of an expression has no number, and joins no attribute.
        let question = format!(
            "SELECT c.relname, x.relname, i.indisprimary, i.indisunique, coalesce(a.attname, ''), m.amname, i.indexprs IS NOT NULL, \
             i.indpred IS NOT NULL, i.indnatts > i.indnkeyatts, i.indoption[k.nth - 1] & 1 \
             FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid \
             JOIN pg_class x ON x.oid = i.indexrelid JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_am m ON m.oid = x.relam \
             CROSS JOIN LATERAL unnest(i.indkey::int2[]) WITH ORDINALITY k(number, nth) \
             LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.number AND k.number > 0 \
             WHERE n.nspname = {} AND k.nth <= i.indnkeyatts ORDER BY c.relname, x.relname, k.nth",
            self.schema
        );
        for row in self.ask(&question)? {
            let [table, index, is_primary, is_unique, column, kind, is_expression, is_partial, covers, falls] =
                &row[..]
            else {
                continue;
            };
            let Some(table) = tables.iter_mut().find(|known| known.name == *table) else { continue };
            if is_primary == "t" {
                table.primary_key.push(column.clone());
            } else if is_expression == "t" {
                table.leave_out_index(index, super::EXPRESSION.to_owned());
            } else if is_partial == "t" {
                table.leave_out_index(index, super::PARTIAL.to_owned());
            } else if !["btree", "hash"].contains(&kind.as_str()) {
                table.leave_out_index(index, format!("it is of the kind {kind}, and a plan has trees only"));
            } else {
                table.add_index_column(index, is_unique == "t", column);
                if kind == "hash" {
                    table.note_index(index, "a hash in the database; here it is a tree");
                }
                if covers == "t" {
                    table.note_index(index, "the columns that it has besides its key (INCLUDE) are left out");
                }
                if falls == "1" {
                    table.note_index(index, super::DESCENDING);
                }
            }
        }
        Ok(())
    }

    fn references(&mut self, tables: &mut [FoundTable]) -> Result<(), TargetError> {
        let question = format!(
            "SELECT o.conname, c.relname, a.attname, p.relname, b.attname FROM pg_constraint o JOIN pg_class c ON c.oid = o.conrelid \
             JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_class p ON p.oid = o.confrelid \
             CROSS JOIN LATERAL unnest(o.conkey, o.confkey) WITH ORDINALITY k(own, other, nth) \
             JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.own \
             JOIN pg_attribute b ON b.attrelid = p.oid AND b.attnum = k.other \
             WHERE o.contype = 'f' AND o.conparentid = 0 AND n.nspname = {} ORDER BY c.relname, o.conname, k.nth",
            self.schema
        );
        for row in self.ask(&question)? {
            let [name, table, column, parent, other] = &row[..] else { continue };
            let Some(table) = tables.iter_mut().find(|known| known.name == *table) else { continue };
            table.add_reference_column(name, column, (parent, other));
        }
        Ok(())
    }

    fn statistics(&mut self, tables: &mut [FoundTable]) -> Result<(), TargetError> {
        // Texts are values of rows, and are not asked for: of the common ones the server tells the lengths. How an interval is written is a
        // setting, so it is asked for as its seconds.
        let question = format!(
            "SELECT s.tablename, s.attname, s.null_frac, s.n_distinct, s.avg_width, s.most_common_freqs::text, s.correlation, \
             CASE WHEN t.typcategory IN ('N', 'D') THEN coalesce(s.histogram_bounds::text, s.most_common_vals::text) \
             WHEN 'interval'::regtype::oid IN (t.oid, t.typbasetype) THEN (SELECT array_agg(extract(epoch FROM i.one)::float8)::text FROM unnest( \
               coalesce(s.histogram_bounds::text, s.most_common_vals::text)::interval[]) i(one)) END, \
             t.typlen, m.low, m.high \
             FROM pg_stats s JOIN pg_namespace n ON n.nspname = s.schemaname \
             JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = s.tablename \
             JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = s.attname JOIN pg_type t ON t.oid = a.atttypid \
             CROSS JOIN LATERAL (SELECT min(length(v.one)) AS low, max(length(v.one)) AS high FROM unnest( \
               CASE WHEN t.typcategory IN ('S', 'E') THEN s.most_common_vals::text::text[] END) v(one)) m \
             WHERE s.schemaname = {} AND s.inherited = (c.relkind = 'p')",
            self.schema
        );
        for row in self.ask(&question)? {
            let [table, name, rest @ ..] = &row[..] else { continue };
            let Some(table) = tables.iter_mut().find(|known| known.name == *table) else { continue };
            let rows = table.rows as f64;
            let Some(column) = table.columns.iter_mut().find(|known| known.name == *name) else { continue };
            column.statistics = statistics_in(rest, rows, column.kind);
        }
        Ok(())
    }

    /// Columns that depend on others, by the extended statistics that PostgreSQL has from version 12 on.
    fn dependences(&mut self, tables: &mut [FoundTable]) -> Result<(), TargetError> {
        let is_there = self.ask("SELECT to_regclass('pg_catalog.pg_stats_ext') IS NOT NULL")?;
        if is_there != [["t"]] {
            return Ok(());
        }
        // As JSON: `{"2 => 3": 0.98}`, with the numbers of columns. A dependence on several columns has several numbers and joins nothing.
        let question = format!(
            "SELECT x.tablename, a.attname, b.attname, d.value FROM pg_stats_ext x \
             JOIN pg_namespace n ON n.nspname = x.schemaname \
             JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = x.tablename \
             CROSS JOIN LATERAL json_each_text(x.dependencies::text::json) d \
             JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum::text = split_part(d.key, ' => ', 1) \
             JOIN pg_attribute b ON b.attrelid = c.oid AND b.attnum::text = split_part(d.key, ' => ', 2) \
             WHERE x.schemaname = {} ORDER BY d.value::float8 DESC, x.tablename, a.attnum, b.attnum",
            self.schema
        );
        for row in self.ask(&question)? {
            let [table, decides, column, share] = &row[..] else { continue };
            let Some(table) = tables.iter_mut().find(|known| known.name == *table) else { continue };
            let Some(column) = table.columns.iter_mut().find(|known| known.name == *column) else { continue };
            let Ok(share) = share.parse() else { continue };
            if !column.depends_on.iter().any(|(known, _)| known == decides) {
                column.depends_on.push((decides.clone(), share));
            }
        }
        Ok(())
    }

    fn partitions(&mut self, tables: &mut [FoundTable]) -> Result<(), TargetError> {
        let question = format!(
            "SELECT c.relname, p.partstrat, a.attname, (SELECT count(*) FROM pg_inherits i WHERE i.inhparent = c.oid) \
             FROM pg_partitioned_table p JOIN pg_class c ON c.oid = p.partrelid JOIN pg_namespace n ON n.oid = c.relnamespace \
             JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = p.partattrs[0] \
             WHERE n.nspname = {} AND p.partnatts = 1",
            self.schema
        );
        for row in self.ask(&question)? {
            let [table, strategy, column, count] = &row[..] else { continue };
            let Some(table) = tables.iter_mut().find(|known| known.name == *table) else { continue };
            let (is_hash, count) = (strategy == "h", count.parse().unwrap_or(2));
            table.partitions = Some(FoundPartitions { is_hash, column: column.clone(), count });
        }
        Ok(())
    }
}

/// Schemas that are named.
const NAMED_MAX: usize = 5;

/// `` `postgres://host/shop` has no tables in schema `nix`; use `--schema public` ``
fn without_tables_in(database: &str, schema: &str, others: &[String]) -> TargetError {
    let printable = |name: &str| host::error::shown(Path::new(name));
    let others: Vec<String> = others.iter().map(|name| format!("`--schema {}`", printable(name))).collect();
    let advice = match &others[..] {
        [] => ", nor in any other".to_owned(),
        [only] => format!("; they are in another: use {only}"),
        several => format!("; they are in others: use {}", several.join(" or ")),
    };
    TargetError::Unsupported(format!("{database} has no tables in schema `{}`{advice}", printable(schema)))
}

/// The statistics in a row of pg_stats behind its names.
fn statistics_in(row: &[String], rows: f64, kind: ColumnKind) -> ColumnStatistics {
    let number = |nth: usize| number_at(row, nth);
    let nulls = number(0).unwrap_or(0.0).clamp(0.0, 1.0);
    let distinct = number(1).filter(|distinct| *distinct != 0.0).map(|distinct| {
        // A negative number is a share of the rows.
        if distinct < 0.0 { -distinct * rows } else { distinct }
    });
    let valued = (1.0 - nulls).max(f64::MIN_POSITIVE);
    let common: Vec<f64> =
        array_in(row.get(3)).iter().filter_map(|share| Some(share.parse::<f64>().ok()? / valued)).collect();
    let are_all = common.iter().sum::<f64>() > 0.999;
    ColumnStatistics {
        nulls,
        distinct,
        common,
        bounds: array_in(row.get(5)),
        correlation: number(4).unwrap_or(0.0),
        lengths: if kind.is_text() { lengths_in(row, kind, are_all) } else { None },
    }
}

fn number_at(row: &[String], nth: usize) -> Option<f64> {
    row.get(nth)?.parse::<f64>().ok().filter(|number| number.is_finite())
}

/// The bounds of the lengths of texts in a row of pg_stats, whose common values are all if `are_all`.
fn lengths_in(row: &[String], kind: ColumnKind, are_all: bool) -> Option<(u32, u32)> {
    let width = number_at(row, 2).unwrap_or(0.0).clamp(0.0, 65_535.0);
    // The width of a type of fixed length is that of its binary form; of others it is -1 or -2.
    let is_fixed = number_at(row, 6).is_some_and(|bytes| bytes > 0.0);
    let of_common = number_at(row, 7).zip(number_at(row, 8)).map(|(low, high)| (low as u32, high as u32));
    match (kind, of_common) {
        // Blanks fill it up; a uuid and the address of a network card have one length.
        (ColumnKind::Char(length), _) => Some((length.into(), length.into())),
        // Words of an enumeration, and names.
        (ColumnKind::VarChar(_), of_common) if is_fixed => of_common,
        (_, Some(of_common)) if are_all => Some(around_mean(width - header_of(width), of_common)),
        _ if is_fixed => Some((width as u32, width as u32)),
        _ => {
            let length = (width - header_of(width)).round().max(0.0) as u32;
            Some((length / 2, length + length.div_ceil(2)))
        }
    }
}

/// The bytes for the length of a value, which are in its width: one up to 127 bytes in all, and four of longer ones.
/// <https://www.postgresql.org/docs/current/storage-toast.html>
fn header_of(width: f64) -> f64 {
    if width <= 127.0 { 1.0 } else { 4.0 }
}

/// The values of an array as PostgreSQL writes it: `{1,2}`, `{"2020-01-01 00:00:00",NULL}`. Only of numbers and dates.
fn array_in(text: Option<&String>) -> Vec<String> {
    let inner =
        text.and_then(|text| text.strip_prefix('{')).and_then(|text| text.strip_suffix('}')).unwrap_or_default();
    let values = inner.split(',').map(|value| value.trim_matches('"').to_owned());
    values.filter(|value| !value.is_empty() && value != "NULL").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_pg_stats_is_read_with_shares_of_the_rows_with_a_value() {
        let row = ["0.5", "-0.25", "4", "{0.25,0.125}", "0.9", "{1,5,\"2020-01-01 00:00:00\"}"].map(str::to_owned);
        let found = statistics_in(&row, 1_000.0, ColumnKind::BigInt);
        assert_eq!((found.nulls, found.distinct, found.correlation), (0.5, Some(250.0), 0.9));
        assert_eq!((found.common, found.bounds.len(), found.lengths), (vec![0.5, 0.25], 3, None));
        let text = statistics_in(&["0", "7", "11", "", "", ""].map(str::to_owned), 10.0, ColumnKind::Text);
        assert_eq!((text.lengths, text.distinct), (Some((5, 15)), Some(7.0)));
        assert_eq!(statistics_in(&[], 0.0, ColumnKind::BigInt), ColumnStatistics::default());
    }

    #[test]
    fn lengths_of_texts_are_exact_where_the_server_knows_them() {
        let lengths = |kind: ColumnKind, shares: &str, [width, fixed, low, high]: [&str; 4]| {
            let row = ["0.5", "3", width, shares, "", "", fixed, low, high].map(str::to_owned);
            statistics_in(&row, 1_000.0, kind).lengths
        };
        let (all, some) = ("{0.3,0.15,0.05}", "{0.3}");
        assert_eq!(lengths(ColumnKind::Char(36), "", ["16", "16", "", ""]), Some((36, 36)), "a uuid");
        assert_eq!(lengths(ColumnKind::Char(2), some, ["3", "-1", "2", "2"]), Some((2, 2)));
        assert_eq!(lengths(ColumnKind::VarChar(10), all, ["5", "-1", "4", "4"]), Some((4, 4)));
        assert_eq!(lengths(ColumnKind::VarChar(10), all, ["6", "-1", "4", "9"]), Some((4, 6)), "their mean is kept");
        assert_eq!(
            lengths(ColumnKind::VarChar(10), some, ["5", "-1", "4", "4"]),
            Some((2, 6)),
            "others have other lengths"
        );
        assert_eq!(lengths(ColumnKind::VarChar(64), some, ["4", "4", "3", "7"]), Some((3, 7)), "an enumeration");
        assert_eq!(lengths(ColumnKind::VarChar(64), "", ["4", "4", "", ""]), None);
        assert_eq!(lengths(ColumnKind::Text, "", ["16", "16", "", ""]), Some((16, 16)), "a point");
        assert_eq!(lengths(ColumnKind::Text, "", ["1004", "-1", "", ""]), Some((500, 1_500)));
    }

    #[test]
    fn a_schema_without_tables_is_named_with_those_that_have_some() {
        let told = |others: &[&str]| {
            let others: Vec<String> = others.iter().map(|name| (*name).to_owned()).collect();
            without_tables_in("`postgres://h/shop`", "nix", &others).to_string()
        };
        assert_eq!(told(&[]), "`postgres://h/shop` has no tables in schema `nix`, nor in any other");
        let one = "`postgres://h/shop` has no tables in schema `nix`; they are in another: use `--schema public`";
        assert_eq!(told(&["public"]), one);
        assert!(told(&["a", "b"]).ends_with("they are in others: use `--schema a` or `--schema b`"));
    }

    #[test]
    fn a_literal_cannot_be_ended_from_within() {
        assert_eq!(text_literal("a'; DROP \\"), "E'a''; DROP \\\\'");
    }
}
