//! The small table of an answer.

use serde::Serialize;

/// More rows are no small table.
pub const ROWS_MAX: usize = 12;
/// More columns do not fit into 80 characters. The name of a row counts as one.
pub const COLUMNS_MAX: usize = 6;

/// At most [`ROWS_MAX`] rows under at most [`COLUMNS_MAX`] heads.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct AnswerTable {
    /// What all numbers are, or what the rows have in common: `rows/s`, `against ext4, 4 pairs`. It is above the names of the rows.
    pub head: String,
    /// The columns behind the name of a row.
    pub columns: Vec<AnswerColumn>,
    pub rows: Vec<AnswerRow>,
    /// How many rows there would be without the bound.
    pub rows_of: usize,
    /// The conditions that all numbers share, in one line: `16 KiB, io_uring, O_DIRECT, 1 GiB on ext4`. May be empty.
    pub conditions: String,
}

/// A column behind the names.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct AnswerColumn {
    /// What is above it.
    pub head: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct AnswerRow {
    /// What it is a row of, from the outside to the inside: `["read", "IOPS"]`. A part that the row above has, too, is printed once.
    pub name: Vec<String>,
    /// One for each column; `None` if nothing was measured.
    pub cells: Vec<Option<AnswerCell>>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AnswerCell {
    /// The number in the unit that `figure` names.
    pub value: f64,
    /// The number as people read it, with its unit unless the head has it, and its interval if that is wide: `19.9k ±34 %`.
    pub text: String,
    /// What it is, as the JSON of a point has it: `ops_per_s`.
    pub figure: String,
    /// The point that has it; `None` of a ratio and of a mean of repeats.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub point: Option<u32>,
    /// Whether it must not be concluded from.
    pub is_indicative: bool,
}

impl AnswerCell {
    /// A number of `point`, written as `text`.
    pub fn of(point: Option<u32>, figure: impl Into<String>, value: f64, text: impl Into<String>) -> AnswerCell {
        AnswerCell { value, text: text.into(), figure: figure.into(), point, is_indicative: false }
    }
}

impl AnswerColumn {
    /// A column under `head`.
    pub fn new(head: impl Into<String>) -> AnswerColumn {
        AnswerColumn { head: head.into() }
    }
}

impl AnswerTable {
    /// The table within its bounds; how many rows were left out is in `rows_of`.
    pub(super) fn bounded(mut self) -> AnswerTable {
        self.rows_of = self.rows_of.max(self.rows.len());
        self.rows.truncate(ROWS_MAX);
        self.columns.truncate(COLUMNS_MAX - 1);
        self.rows.iter_mut().for_each(|row| row.cells.truncate(COLUMNS_MAX - 1));
        self
    }
}
