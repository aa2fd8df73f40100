//! The tables of a database that is there already, as its catalogue and its statistics describe them.
//!
//! In: the URL of a server, or a file of SQLite. Out: tables of the user's own ([`OwnTable`]) that are like them, with what could not be
//! kept. Limits: it only reads. Of rows it takes figures (how many, how long, how often), and for numbers and dates bounds; texts of rows never
//! leave the server. If a plan cannot have something, it gets what is most like it.
//!
//! `mysql`, `postgres` and `sqlite` read, `types` knows the types, `sample` computes the statistics that an engine lacks, `tables` makes tables of
//! what was found, `names` replaces names. `digests` reads the statements that a server has counted, `placeholders` gives them values.
//! `server_facts` reads what is saved with a workload.

mod digests;
mod mysql;
mod names;
mod placeholders;
mod postgres;
mod sample;
mod server_facts;
mod sqlite;
mod tables;
mod types;

pub use digests::{CountedStatement, find_statements};
pub use placeholders::with_values;
pub use server_facts::{find_settings, find_sizes};
pub use tables::with_keys;

use crate::server::url::{PASSWORD_FILE, Password, ServerUrl, URL};
use host::error::TargetError;
use model::own_table::{ColumnKind, OwnTable};
use model::{Params, Value};
use std::path::Path;
use types::{FoundType, Reading, nearest_type};

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
    /// How the database calls each of `tables`; empty if names are hidden.
    pub names: Vec<DatabaseNames>,
}

/// How the database calls a table and its columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DatabaseNames {
    /// The name of the table.
    pub table: String,
    /// The names of its columns, in their order.
    pub columns: Vec<String>,
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
    if found.tables.is_empty() {
        let left = found.left_out.first().map(|(name, reason)| format!(" that can be taken; `{name}`: {reason}"));
        let place = host::error::shown(Path::new(place));
        return Err(TargetError::Unsupported(format!("`{place}` has no tables{}", left.unwrap_or_default())));
    }
    Ok(tables::tables_like(found, source.hides_names))
}

/// What is another about a column that the server computes.
const GENERATED: &str = "the database computes it from other columns; here its values are drawn";
/// Why an index on expressions is left out.
const EXPRESSION: &str = "it is on an expression, and a plan has indexes on columns only";
/// Why an index with a condition is left out.
const PARTIAL: &str = "it is of some rows only (WHERE), and a plan has indexes of all rows only";
/// What is another about an index in falling order.
const DESCENDING: &str = "a column is in falling order in the database, and in rising order here";

/// The most tables that a plan has.
const TABLES_MAX: usize = 500;

/// What was found in a database.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Found {
    pub(crate) tables: Vec<FoundTable>,
    /// Tables that are left out, and why.
    pub(crate) left_out: Vec<(String, String)>,
}

impl Found {
    /// Leaves out the smallest tables if there are more than a plan has.
    fn keep_largest(&mut self) {
        if self.tables.len() <= TABLES_MAX {
            return;
        }
        let mut rows: Vec<u64> = self.tables.iter().map(|table| table.rows).collect();
        rows.sort_unstable_by_key(|rows| std::cmp::Reverse(*rows));
        // Of tables of one size the first are kept.
        let least = rows[TABLES_MAX - 1];
        let mut room = TABLES_MAX - rows.iter().filter(|rows| **rows > least).count();
        let reason = format!("a plan has {TABLES_MAX} tables at most, and these are the largest of {}", rows.len());
        let (kept, left): (Vec<FoundTable>, Vec<FoundTable>) =
            std::mem::take(&mut self.tables).into_iter().partition(|table| {
                let is_last = table.rows == least && room > 0;
                room -= usize::from(is_last);
                table.rows > least || is_last
            });
        self.tables = kept;
        self.left_out.extend(left.into_iter().map(|table| (table.name, reason.clone())));
    }
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
    /// Indexes that are left out, and why.
    pub(crate) left_out: Vec<(String, String)>,
}

impl FoundTable {
    /// Adds a column with the type that `declared` is in the catalogue.
    fn add_column(&mut self, name: &str, declared: &str, not_null: bool) {
        let FoundType { kind, reading, note } = nearest_type(declared);
        let (statistics, depends_on) = (ColumnStatistics::default(), Vec::new());
        let (name, notes) = (name.to_owned(), note.into_iter().collect());
        self.columns.push(FoundColumn { name, kind, reading, notes, not_null, statistics, depends_on });
    }

    /// Notes that `what` is another about the column that was added last.
    fn note_column(&mut self, what: &str) {
        self.columns.last_mut().into_iter().for_each(|column| column.notes.push(what.to_owned()));
    }

    /// Notes that `what` is another about the index `name`.
    fn note_index(&mut self, name: &str, what: &str) {
        let index = self.indexes.iter_mut().find(|index| index.name == name);
        let index = index.filter(|index| !index.notes.iter().any(|note| note == what));
        index.into_iter().for_each(|index| index.notes.push(what.to_owned()));
    }

    /// Leaves the index `name` out.
    fn leave_out_index(&mut self, name: &str, reason: String) {
        self.indexes.retain(|index| index.name != name);
        if !self.left_out.iter().any(|(known, _)| known == name) {
            self.left_out.push((name.to_owned(), reason));
        }
    }

    /// Adds the next column of an index. The columns of an index come one after the other.
    fn add_index_column(&mut self, index: &str, unique: bool, column: &str) {
        if self.indexes.last().is_none_or(|last| last.name != index) {
            self.indexes.push(FoundIndex { name: index.to_owned(), unique, ..FoundIndex::default() });
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
    pub(crate) reading: Reading,
    /// What is another about it, such as its type.
    pub(crate) notes: Vec<String>,
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
    /// What is another about it.
    pub(crate) notes: Vec<String>,
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
