//! Tables that the user wrote, and how their values are made.
//!
//! In: the crate `plan` reads them from a plan file. Out: the workload `own` makes tables and rows of them; the run file keeps them.
//! Limits: whether they can be made is judged by the workload; here is only what was written, with rows that `--scale` has multiplied.

use crate::access::Access;
pub use crate::column_kind::ColumnKind;
use serde::{Deserialize, Serialize};
use std::fmt;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OwnTable {
    pub name: String,
    /// How many rows it has after the load.
    pub rows: u64,
    /// Its columns in order.
    pub columns: Vec<OwnColumn>,
    /// The columns of its primary key; none if it has no such key.
    pub primary_key: Vec<String>,
    pub indexes: Vec<OwnIndex>,
    /// How its rows are spread over partitions, if they are.
    pub partitions: Option<OwnPartitions>,
    /// Where values come from if it is there already, and has nothing of the above but its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys: Option<OwnKeys>,
}

impl OwnTable {
    /// The names of the columns that statements can take values from.
    pub fn column_names(&self) -> impl Iterator<Item = &str> {
        let found = self.keys.iter().flat_map(|keys| &keys.columns).map(String::as_str);
        self.columns.iter().map(|column| column.name.as_str()).chain(found)
    }
}

/// A query for values of rows that are there already.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnKeys {
    pub sql: String,
    /// The names of its columns.
    pub columns: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnIndex {
    /// Its name, unique within its table only.
    pub name: String,
    /// The columns it orders by.
    pub columns: Vec<String>,
    /// Whether no two rows may have the same values in it.
    pub unique: bool,
}

/// How the rows of a table are spread over partitions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnPartitions {
    pub by: PartitionRule,
    /// The column that decides.
    pub column: String,
    /// How many partitions there are.
    pub count: u32,
}

/// What decides the partition of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PartitionRule {
    /// Ranges of the column, each with the same number of rows after the load.
    Range,
    /// A hash of the column.
    Hash,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OwnColumn {
    pub name: String,
    pub kind: ColumnKind,
    /// Whether it refuses NULL.
    pub not_null: bool,
    /// The share of rows in which it is NULL.
    pub nulls: f64,
    /// Where the values of the other rows come from.
    pub source: ValueSource,
}

/// Where the values of a column come from. Numbers and dates are counted in the [units](ColumnKind::units_per_one) of the column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ValueSource {
    /// All rows have this value.
    Constant(OwnConstant),
    /// The number of the row, from 1.
    Serial,
    /// Some of a number of values.
    Drawn(DrawnValues),
    /// The value of a column in some row of another table.
    Reference {
        table: String,
        /// The column of the other table.
        column: String,
        /// Which of its rows.
        numbers: ValueNumbers,
    },
    /// The value of another column of the row, multiplied, and a number from `from` to `to` added.
    Computed {
        column: String,
        /// What it is multiplied by.
        times: i64,
        /// The least that is added.
        from: i64,
        /// The most that is added.
        to: i64,
    },
}

/// A value that all rows have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OwnConstant {
    /// Units of a number or date.
    Units(i64),
    Bool(bool),
    Text(String),
}

/// The values of a column that are made by their numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DrawnValues {
    /// Which of them a row has.
    pub numbers: ValueNumbers,
    /// The column of the row whose value decides instead, in all rows or in a share of them.
    pub depends_on: Option<Dependence>,
    pub shape: ValueShape,
}

/// How a column depends on another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Dependence {
    pub column: String,
    /// The share of rows in which its value decides.
    pub share: f64,
}

/// What the values of a column are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ValueShape {
    /// Numbers or dates; `None` for as many as there are values, from 1 or from a day in 2000 on.
    Range(Option<(i64, i64)>),
    /// Numbers or dates, as many between each two of these.
    Histogram(Vec<i64>),
    Texts(Vec<String>),
    /// Random texts of so many characters, the least and the most; `None` for as many as are usual for the type.
    Length(Option<(u32, u32)>),
    Truths,
}

/// Which of its values a column has in a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ValueNumbers {
    /// How many different ones there are.
    pub distinct: Distinct,
    /// The shares of the rows that have the first, the second, and so on; the other rows have the others.
    pub common: Vec<f64>,
    /// How often each of them comes; `None` for equally often.
    pub access: Option<Access>,
    /// How far the values follow the order of the rows: 1 = they rise with it, 0 = not at all, -1 = they fall.
    pub correlation: f64,
}

/// How many different values a column has.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Distinct {
    /// As many as the shape has: the numbers of a range, the texts of a list, the rows of another table; else one for each row, or fewer.
    Natural,
    /// A value of its own in each row.
    All,
    Count(u64),
    /// So many for each row.
    Share(f64),
}

impl fmt::Display for OwnTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.keys {
            None => write!(f, "{} {}", self.name, self.rows),
            Some(_) => write!(f, "{}", self.name),
        }
    }
}

/// What is wrong with tables of the user's own, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnFault {
    /// The number of the table; `None` if it is in a statement.
    pub table: Option<usize>,
    /// The number of the column, if it is one.
    pub column: Option<usize>,
    /// What is wrong and what to do, in one line.
    pub text: String,
}
