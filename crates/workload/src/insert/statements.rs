//! The statements of a step on each of its tables.
//!
//! In: the tables' schema, what a step does. Out: texts, and the number of each. Limits: a table's statements are next to each other,
//! in the same order for all.

use super::inserts::{Commits, TableTurns};
use super::schema::{KEY, PurchaseSchema};
use crate::program::ClientIndex;
use model::ExpectedRows;

/// Rows in one statement at most: few enough for every engine's limit of arguments (SQLite takes 32,766), so many that a
/// statement costs nothing compared with its rows.
pub(super) const ROWS_PER_STATEMENT: u64 = 1_000;

/// A statement on one table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PurchaseStatement {
    /// Inserts so many rows.
    Insert(u64),
    /// Deletes the rows from one id to another.
    Delete,
    /// Reads so many rows in the order of the columns, the first of which begins at a value.
    Range(&'static [&'static str], u64),
    /// Reads one row by its id.
    Point,
}

impl PurchaseStatement {
    /// The rows that it returns and changes. Rows that are deleted or read may never have come, if a step was ended by time; ranges begin at
    /// a value that need not be there.
    fn expected_rows(self) -> ExpectedRows {
        match self {
            PurchaseStatement::Insert(rows) => ExpectedRows::changes(rows, rows),
            PurchaseStatement::Delete => ExpectedRows::changes(1, u64::MAX).or_fewer(),
            PurchaseStatement::Range(_, rows) => ExpectedRows::returns(1, rows).or_fewer(),
            PurchaseStatement::Point => ExpectedRows::RETURNS_ONE.or_fewer(),
        }
    }

    fn to_sql(self, schema: &PurchaseSchema, table: &str) -> String {
        match self {
            PurchaseStatement::Insert(rows) => {
                let names: Vec<&str> = schema.columns().iter().map(|column| column.name).collect();
                let row = format!("({})", vec!["?"; names.len()].join(", "));
                format!("INSERT INTO {table} ({}) VALUES {}", names.join(", "), vec![row; rows as usize].join(", "))
            }
            PurchaseStatement::Delete => format!("DELETE FROM {table} WHERE {KEY} BETWEEN ? AND ?"),
            PurchaseStatement::Range(columns, rows) => {
                let all = columns.join(", ");
                format!("SELECT {all} FROM {table} WHERE {} >= ? ORDER BY {all} LIMIT {rows}", columns[0])
            }
            PurchaseStatement::Point => {
                let last = schema.columns().last().expect("a table has columns").name;
                format!("SELECT {KEY}, productid, {last} FROM {table} WHERE {KEY} = ?")
            }
        }
    }
}

/// The statements of each table.
#[derive(Clone, Debug)]
pub(super) struct StepStatements(Vec<PurchaseStatement>);

impl StepStatements {
    /// Those that `commits` need, and `others`.
    pub(super) fn new(commits: Option<Commits>, others: impl IntoIterator<Item = PurchaseStatement>) -> StepStatements {
        let mut all: Vec<PurchaseStatement> = others.into_iter().collect();
        if let Some(commits) = commits {
            all.extend(insert_sizes(commits).into_iter().map(PurchaseStatement::Insert));
            all.extend(commits.delete.then_some(PurchaseStatement::Delete));
        }
        StepStatements(all)
    }

    /// The texts, table by table.
    pub(super) fn all_sql(&self, schema: &PurchaseSchema) -> Vec<String> {
        let names = (0..schema.tables).map(|nth| schema.table_name(nth));
        names.flat_map(|name| self.0.iter().map(move |statement| statement.to_sql(schema, &name))).collect()
    }

    /// The rows of each, in the order of the texts.
    pub(super) fn all_rows(&self, schema: &PurchaseSchema) -> Vec<ExpectedRows> {
        let rows: Vec<ExpectedRows> = self.0.iter().map(|statement| statement.expected_rows()).collect();
        rows.repeat(schema.tables as usize)
    }

    /// The numbers of those on all tables of the client in `slot`.
    pub(super) fn of_client(&self, slot: ClientIndex, tables: u64) -> Vec<u16> {
        let per_table = self.0.len();
        let tables = TableTurns::new(slot, tables).all_tables().map(|table| table as usize);
        tables.flat_map(|table| table * per_table..(table + 1) * per_table).map(|number| number as u16).collect()
    }

    /// The number of `statement` on `table`.
    #[inline]
    pub(super) fn number_of(&self, table: u64, statement: PurchaseStatement) -> u16 {
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
