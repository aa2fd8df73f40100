//! The tables of a database that is there already, as its catalogue and its statistics describe them.
//!
//! In: the URL of a server, or a file of SQLite. Out: tables of the user's own ([`OwnTable`]) that are like them, with what could not be
//! kept. Limits: it only reads. Of rows it takes figures (how many, how long, how often), and for numbers and dates bounds; texts of rows never
//! leave the server. If a plan cannot have something, it gets what is most like it.
//!
//! `mysql`, `postgres` and `sqlite` read, `sample` computes the statistics that an engine lacks, `tables` makes tables of what was found,
//! `names` replaces names.

mod mysql;
mod names;
mod postgres;
mod sample;
mod sqlite;
mod tables;

pub use tables::with_keys;

use crate::server::url::{PASSWORD_FILE, Password, ServerUrl, URL};
use host::error::TargetError;
use model::own_table::{ColumnKind, OwnTable};
use model::{Params, Value};
use std::path::Path;

/// What is read, and how.
#[derive(Clone, Debug)]
pub struct SchemaSource {
    /// The URL of a server, or the path of a file of SQLite.
    pub place: String,
    /// The file of the password; empty for none.
    pub password_file: String,
    /// The schema of PostgreSQL.
    pub schema: String,
    /// Rows of each table that are looked at if the engine has no statistics of its own.
    pub sample_rows: u32,
    /// Whether names are replaced, and no bounds kept.
    pub hides_names: bool,
}

/// Tables like those of a database.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundTables {
    /// The tables, as a plan states them.
    pub tables: Vec<OwnTable>,
    /// What is not as in the database, in one line each.
    pub notes: Vec<String>,
}

/// Reads the tables of `source`.
///
/// # Errors
/// If it cannot be reached or read, or has no tables.
pub fn find_tables(source: &SchemaSource) -> Result<FoundTables, TargetError> {
    let place = source.place.as_str();
    let found = match place.split_once("://") {
        Some(("mysql" | "mariadb", rest)) => {
            let url = format!("mysql://{rest}");
            let (url, password) = server_of(&url, source)?;
            mysql::read(&url, password, source.sample_rows)?
        }
        Some(("postgres" | "postgresql", _)) => {
            let (url, password) = server_of(place, source)?;
            postgres::read(&url, password, &source.schema)?
        }
        Some((scheme, _)) => {
            return Err(TargetError::Unsupported(format!(
                "`{}://` is no database that plimsoll reads; use mysql://, postgres:// or a file of SQLite",
                host::error::shown(Path::new(scheme))
            )));
        }
        None => sqlite::read(Path::new(place), source.sample_rows)?,
    };
    if found.is_empty() {
        return Err(TargetError::Unsupported(format!("`{}` has no tables", host::error::shown(Path::new(place)))));
    }
    Ok(tables::tables_like(found, source.hides_names))
}

fn server_of(url: &str, source: &SchemaSource) -> Result<(ServerUrl, Option<Password>), TargetError> {
    let params = [(URL.name, url), (PASSWORD_FILE.name, source.password_file.as_str())];
    let params =
        Params(params.into_iter().map(|(name, text)| (name.to_owned(), Value::Word(text.to_owned()))).collect());
    crate::server::url::ask_for_passwords(std::iter::once(&params))?;
    let schemes: &[&str] = if url.starts_with("mysql") { &["mysql"] } else { &["postgres", "postgresql"] };
    let server = ServerUrl::from_params(&params, schemes, "mysql://user@host/database")?;
    Ok((server, Password::from_params(&params)?))
}

/// A table as it was found.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct FoundTable {
    pub(crate) name: String,
    pub(crate) rows: u64,
    pub(crate) columns: Vec<FoundColumn>,
    pub(crate) primary_key: Vec<String>,
    pub(crate) indexes: Vec<FoundIndex>,
    pub(crate) references: Vec<FoundReference>,
    pub(crate) partitions: Option<FoundPartitions>,
}

impl FoundTable {
    /// Adds a column with the type that `declared` is in the catalogue.
    fn add_column(&mut self, name: &str, declared: &str, not_null: bool) {
        let ((kind, other_type), statistics) = (nearest_type(declared), ColumnStatistics::default());
        let (name, depends_on) = (name.to_owned(), Vec::new());
        self.columns.push(FoundColumn { name, kind, other_type, not_null, statistics, depends_on });
    }

    /// Adds the next column of an index. The columns of an index come one after the other.
    fn add_index_column(&mut self, index: &str, unique: bool, column: &str) {
        if self.indexes.last().is_none_or(|last| last.name != index) {
            self.indexes.push(FoundIndex { name: index.to_owned(), columns: Vec::new(), unique });
        }
        self.indexes.last_mut().into_iter().for_each(|last| last.columns.push(column.to_owned()));
    }

    /// Adds the next column of the foreign key `name`. The columns of a foreign key come one after the other.
    fn add_reference_column(&mut self, name: &str, column: &str, (parent, parent_column): (&str, &str)) {
        if self.references.last().is_none_or(|last| last.name != name) {
            let (name, parent) = (name.to_owned(), parent.to_owned());
            self.references.push(FoundReference { name, parent, ..FoundReference::default() });
        }
        if let Some(reference) = self.references.last_mut() {
            reference.columns.push(column.to_owned());
            reference.parent_columns.push(parent_column.to_owned());
        }
    }
}

/// A column as it was found.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FoundColumn {
    pub(crate) name: String,
    /// The nearest type of a plan.
    pub(crate) kind: ColumnKind,
    /// The note that its type is another, if it is.
    pub(crate) other_type: Option<String>,
    pub(crate) not_null: bool,
    pub(crate) statistics: ColumnStatistics,
    /// The columns whose values decide its own, with the share of the rows in which each does.
    pub(crate) depends_on: Vec<(String, f64)>,
}

/// What is known of the values of a column.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ColumnStatistics {
    /// The share of rows that are NULL.
    pub(crate) nulls: f64,
    /// How many different values there are, all rows counted; `None` if that is not known.
    pub(crate) distinct: Option<f64>,
    /// The shares of common values among the rows with a value, the largest first.
    pub(crate) common: Vec<f64>,
    /// Bounds with as many of the other values between each two, in rising order, as text.
    pub(crate) bounds: Vec<String>,
    pub(crate) correlation: f64,
    /// The least and the greatest length of a text.
    pub(crate) lengths: Option<(u32, u32)>,
}

/// A secondary index as it was found.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct FoundIndex {
    pub(crate) name: String,
    pub(crate) columns: Vec<String>,
    pub(crate) unique: bool,
}

/// A foreign key as it was found.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct FoundReference {
    /// It tells two foreign keys of a table apart.
    pub(crate) name: String,
    pub(crate) columns: Vec<String>,
    pub(crate) parent: String,
    pub(crate) parent_columns: Vec<String>,
}

/// Partitions as they were found.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FoundPartitions {
    pub(crate) is_hash: bool,
    pub(crate) column: String,
    pub(crate) count: u32,
}

/// The type of a plan that is nearest to one that is written `text`, and the note that it is another, if it is.
pub(crate) fn nearest_type(text: &str) -> (ColumnKind, Option<String>) {
    let small = text.trim().to_ascii_lowercase();
    let name = small.split(['(', ' ']).next().unwrap_or_default();
    let numbers: Vec<u32> =
        small.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect();
    let length = |most: u16| numbers.first().map_or(1, |n| (*n).clamp(1, most.into()) as u16);
    let is_like = |kind: ColumnKind| (kind, Some(format!("`{kind}` for {}", shown_type(&small))));
    match name {
        "boolean" | "bool" => (ColumnKind::Boolean, None),
        "tinyint" if small.starts_with("tinyint(1)") => (ColumnKind::Boolean, None),
        "smallint" | "int2" if !small.contains("unsigned") => (ColumnKind::SmallInt, None),
        "tinyint" | "year" => is_like(ColumnKind::SmallInt),
        "int" | "integer" | "int4" if !small.contains("unsigned") => (ColumnKind::Int, None),
        "mediumint" | "smallint" => is_like(ColumnKind::Int),
        "bigint" | "int8" if !small.contains("unsigned") => (ColumnKind::BigInt, None),
        "int" | "integer" | "bigint" => is_like(ColumnKind::BigInt),
        "real" | "float" | "float4" if !small.contains("double") => (ColumnKind::Real, None),
        "double" | "float8" => (ColumnKind::Double, None),
        "decimal" | "numeric" | "dec" => match numbers[..] {
            [digits @ 1..=18, scale] if scale <= digits => {
                (ColumnKind::Decimal { digits: digits as u8, scale: scale as u8 }, None)
            }
            [digits @ 1..=18] => (ColumnKind::Decimal { digits: digits as u8, scale: 0 }, None),
            _ => is_like(ColumnKind::Decimal {
                digits: 18,
                scale: numbers.get(1).map_or(2, |scale| (*scale).min(9) as u8),
            }),
        },
        "char" | "character" if !small.contains("varying") => (ColumnKind::Char(length(255)), None),
        "varchar" | "character" if numbers.is_empty() => (ColumnKind::Text, None),
        "varchar" | "character" => (ColumnKind::VarChar(length(16_000)), None),
        "text" => (ColumnKind::Text, None),
        "date" => (ColumnKind::Date, None),
        "datetime" | "timestamp" if !small.contains("with time zone") => (ColumnKind::DateTime, None),
        "timestamp" | "timestamptz" => is_like(ColumnKind::DateTime),
        "uuid" => is_like(ColumnKind::Char(36)),
        "binary" => is_like(ColumnKind::Char(length(255))),
        "varbinary" => is_like(ColumnKind::VarChar(length(16_000))),
        "enum" | "set" => is_like(ColumnKind::VarChar(64)),
        "time" | "interval" => is_like(ColumnKind::Int),
        _ => is_like(ColumnKind::Text),
    }
}

/// A type as a person can read it: without the words of an enumeration, which are data.
fn shown_type(text: &str) -> String {
    let shown = match text.split_once('(') {
        Some((name, _)) if ["enum", "set"].contains(&name) => name,
        _ => text,
    };
    shown.escape_debug().take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_of_engines_become_the_nearest_of_a_plan_and_others_are_noted() {
        let kind = |text: &str| nearest_type(text).0.to_string();
        for (text, expected) in [
            ("int(11)", "int"),
            ("INTEGER", "int"),
            ("bigint(20) unsigned", "bigint"),
            ("tinyint(1)", "boolean"),
            ("numeric(10,2)", "decimal(10,2)"),
            ("decimal(30,5)", "decimal(18,5)"),
            ("character varying(40)", "varchar(40)"),
            ("character varying", "text"),
            ("character(3)", "char(3)"),
            ("timestamp without time zone", "datetime"),
            ("timestamp with time zone", "datetime"),
            ("double precision", "double"),
            ("jsonb", "text"),
            ("", "text"),
            ("varchar(99999999999999)", "text"),
        ] {
            assert_eq!(kind(text), expected, "{text}");
        }
        assert_eq!(nearest_type("enum('secret')").1.as_deref(), Some("`varchar(64)` for enum"));
        assert_eq!(nearest_type("int(11)").1, None);
    }
}
