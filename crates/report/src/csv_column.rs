//! Columns of the CSV files: one declaration for the header, the values and the reference.
//!
//! In: a name, its meaning, a function. Out: the column. Limits: what a row is, and what the function returns, is the table's to decide.

/// A column of a CSV file. `F` takes the value from a row.
#[derive(Clone, Copy)]
pub struct CsvColumn<F> {
    /// Its name in the header, which carries the unit.
    pub name: &'static str,
    /// What it holds, for the reference.
    pub meaning: &'static str,
    /// Its value.
    pub value: F,
}

impl<F> CsvColumn<F> {
    /// Its name and its meaning.
    pub fn explained(&self) -> (&'static str, &'static str) {
        (self.name, self.meaning)
    }
}

/// The column `name`.
pub(crate) const fn column<F: Copy>(name: &'static str, meaning: &'static str, value: F) -> CsvColumn<F> {
    CsvColumn { name, meaning, value }
}
