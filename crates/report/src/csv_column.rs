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

/// The file of `columns`: a header, and a line for each of `rows`.
pub(crate) fn csv_table<T, F: Fn(&T) -> String>(columns: &[CsvColumn<F>], rows: impl Iterator<Item = T>) -> String {
    let head: Vec<&str> = columns.iter().map(|column| column.name).collect();
    let line = |row: T| columns.iter().map(|column| (column.value)(&row)).collect::<Vec<_>>().join(",") + "\n";
    head.join(",") + "\n" + &rows.map(line).collect::<String>()
}

/// A number as a field, which is empty if the number is not known.
pub(crate) fn float(value: Option<f64>) -> String {
    value.filter(|value| value.is_finite()).map(|value| value.to_string()).unwrap_or_default()
}
