//! Data that is there already: what a program asks of it, and what was found.
//!
//! In: parameters that ask for tables of the user. Out: what an engine looks for in place of making it, and what it found, by which the program
//! draws its values. Limits: it is looked at once, when the instance begins; rows that others add or remove afterwards are not seen.

use std::sync::Arc;

/// Tables of the user that a program works on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WantedData {
    /// The setting that asks for them, for messages.
    pub asked: &'static str,
    /// Whether its statements may change them.
    pub allows_writes: bool,
    pub tables: WantedTables,
}

/// Which tables of the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WantedTables {
    /// `sbtest1` and so on, as sysbench makes them.
    Sysbench {
        /// How many; `None` for as many as there are.
        tables: Option<u64>,
        /// The rows of each that are used; `None` for as many as there are.
        rows: Option<u64>,
    },
    /// Those that the statements name, with what values of them are taken from.
    Named(Vec<KeyQuery>),
}

/// A query whose rows are read once, for the values in statements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyQuery {
    /// The name in placeholders: `orders` of `:orders.id`.
    pub name: String,
    /// The names of its columns.
    pub columns: Vec<String>,
    pub sql: String,
}

#[derive(Clone, Debug, PartialEq)]
pub enum FoundData {
    /// Tables as sysbench makes them.
    Sysbench(SysbenchTables),
    /// The rows of each [`KeyQuery`].
    Keys(Vec<Arc<KeyRows>>),
}

impl FoundData {
    /// The rows that are used.
    pub fn rows(&self) -> u64 {
        match self {
            FoundData::Sysbench(found) => found.tables * found.rows,
            FoundData::Keys(all) => all.iter().map(|keys| keys.rows).sum(),
        }
    }
}

/// Tables `sbtest1` and so on, whose ids begin at 1 and have no gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SysbenchTables {
    /// How many are used.
    pub tables: u64,
    /// The ids 1 to `rows` are in each of them.
    pub rows: u64,
    /// No table has an id above this.
    pub last_id: u64,
}

/// The rows that a [`KeyQuery`] returned, or some of them.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyRows {
    /// How many are kept, at least 1.
    pub rows: u64,
    /// The values of each column.
    pub columns: Vec<KeyColumn>,
}

/// The values of a column, in the order of the rows.
#[derive(Clone, Debug, PartialEq)]
pub enum KeyColumn {
    /// All are whole numbers.
    Ints(Vec<i64>),
    /// Others, as the server writes them; `None` is NULL.
    Texts(Vec<Option<Box<[u8]>>>),
}

/// The most rows of a [`KeyQuery`] that are kept.
pub const KEYS_MAX: u64 = 1_000_000;
