//! The statements of a step on each of its tables.
//!
//! In: the tables' schema, what a step does. Out: texts, and the number of each. Limits: a table's statements stand together,
//! in the same order for all.

use super::inserts::{Commits, Turns};
use super::schema::{KEY, Schema};
use crate::program::ClientIndex;

/// Rows in one statement at most: few enough for every engine's limit of arguments (SQLite takes 32,766), so many that a
/// statement costs nothing beside its rows.
pub(super) const ROWS_PER_STATEMENT: u64 = 1_000;

/// A statement on one table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Statement {
    /// Inserts so many rows.
    Insert(u64),
    /// Deletes the rows from one id to another.
    Delete,
    /// Reads so many rows in the order of the columns, the first of which begins at a value.
    Range(&'static [&'static str], u64),
    /// Reads one row by its id.
    Point,
}

impl Statement {
    fn text(self, schema: &Schema, table: &str) -> String {
        match self {
            Statement::Insert(rows) => {
                let names: Vec<&str> = schema.columns().iter().map(|column| column.name).collect();
                let row = format!("({})", vec!["?"; names.len()].join(", "));
                format!("INSERT INTO {table} ({}) VALUES {}", names.join(", "), vec![row; rows as usize].join(", "))
            }
            Statement::Delete => format!("DELETE FROM {table} WHERE {KEY} BETWEEN ? AND ?"),
            Statement::Range(columns, rows) => {
                let all = columns.join(", ");
                format!("SELECT {all} FROM {table} WHERE {} >= ? ORDER BY {all} LIMIT {rows}", columns[0])
            }
            Statement::Point => {
                let last = schema.columns().last().expect("a table has columns").name;
                format!("SELECT {KEY}, productid, {last} FROM {table} WHERE {KEY} = ?")
            }
        }
    }
}

/// The statements of each table.
#[derive(Clone, Debug)]
pub(super) struct Statements(Vec<Statement>);

impl Statements {
    /// Those that `commits` need, and `others`.
    pub(super) fn new(commits: Option<Commits>, others: impl IntoIterator<Item = Statement>) -> Statements {
        let mut all: Vec<Statement> = others.into_iter().collect();
        if let Some(commits) = commits {
            all.extend(insert_sizes(commits).into_iter().map(Statement::Insert));
            all.extend(commits.delete.then_some(Statement::Delete));
        }
        Statements(all)
    }

    /// The texts, table by table.
    pub(super) fn texts(&self, schema: &Schema) -> Vec<String> {
        let of_table = |nth: u64| {
            let name = schema.name(nth);
            self.0.iter().map(move |statement| statement.text(schema, &name))
        };
        (0..schema.tables).flat_map(of_table).collect()
    }

    /// The numbers of those on all tables of the client in `slot`.
    pub(super) fn of_client(&self, slot: ClientIndex, tables: u64) -> Vec<u16> {
        let per_table = self.0.len();
        let of_table = |table: u64| table as usize * per_table..(table as usize + 1) * per_table;
        Turns::new(slot, tables).all().flat_map(of_table).map(|number| number as u16).collect()
    }

    /// The number of `statement` on `table`.
    #[inline]
    pub(super) fn number(&self, table: u64, statement: Statement) -> u16 {
        let nth = self.0.iter().position(|other| *other == statement).expect("declared when the program was made");
        (table as usize * self.0.len() + nth) as u16
    }
}

/// How many rows the statements of `commits` insert: the most that one may, and what is left over at the end of each commit
/// and of the last.
fn insert_sizes(commits: Commits) -> Vec<u64> {
    let mut sizes = Vec::new();
    for rows in [commits.per_commit, commits.rows_of_last()] {
        sizes.extend((rows >= ROWS_PER_STATEMENT).then_some(ROWS_PER_STATEMENT));
        sizes.extend(Some(rows % ROWS_PER_STATEMENT).filter(|rows| *rows > 0));
    }
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}
