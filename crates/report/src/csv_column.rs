//! Columns of the CSV files: one declaration for the header, the values and the reference.
//!
//! Most columns are figures of a subject, which `analysis` declares ([`analysis::figures`]). Those that say what a row is of, and those of
//! ratios, are [`CsvColumn`]s. [`CSV_FILES`](crate::CSV_FILES) lists the files with their columns.

use crate::escape;
use crate::wording::label::point_label;
use analysis::PointAnalysis;
use analysis::figures::{FigureDef, Read};

/// A CSV file, as the reference describes it.
pub struct CsvFile {
    pub name: &'static str,
    /// Its columns in parts, each with what is said before it.
    pub parts: &'static [CsvPart],
}

/// What is said before some columns, and these.
pub type CsvPart = (&'static str, fn() -> Vec<Explained>);

/// The name of a column, and what it holds.
pub type Explained = (String, &'static str);

/// The columns of `figures`. One with a confidence interval has two more for its ends.
pub(crate) fn figure_columns<T>(figures: &[FigureDef<T>]) -> Vec<Explained> {
    let of_figure = |figure: &FigureDef<T>| {
        let ends = [("_low95", "lower end of its 95 % confidence interval"), ("_high95", "upper end of it")];
        let ends = ends.into_iter().filter(|_| figure.ci95.is_some());
        let ends = ends.map(|(end, meaning)| (format!("{}{end}", figure.key), meaning));
        [(figure.key.to_owned(), figure.help)].into_iter().chain(ends).collect::<Vec<_>>()
    };
    figures.iter().flat_map(of_figure).collect()
}

/// The fields of `figures` for `row`, each empty if it was not measured or there is no such row.
pub(crate) fn figure_fields<T>(figures: &[FigureDef<T>], row: Option<&T>) -> Vec<String> {
    let of_figure = |figure: &FigureDef<T>| {
        let own = match figure.read {
            Read::Number(_) | Read::Time(..) => float(row.and_then(|row| figure.value(row))),
            Read::Word(read) => escape::csv(&row.and_then(read).unwrap_or_default()),
        };
        let ci95 = row.and_then(|row| figure.interval(row));
        let ends = [0, 1].into_iter().filter(|_| figure.ci95.is_some()).map(|end| float(ci95.map(|ci95| ci95[end])));
        [own].into_iter().chain(ends).collect::<Vec<_>>()
    };
    figures.iter().flat_map(of_figure).collect()
}

/// The columns that say which point a row is of.
pub(crate) fn place_columns() -> Vec<Explained> {
    let label = "what distinguishes the point from the others of the run";
    vec![("point".to_owned(), "number of the point in the run, from 1"), ("label".to_owned(), label)]
}

/// The fields of these columns.
pub(crate) fn place_fields(point: &PointAnalysis) -> Vec<String> {
    vec![point.id.to_string(), escape::csv(&point_label(point))]
}

/// The file with a header of `columns` and a line for each of `rows`.
pub(crate) fn csv_lines(columns: Vec<Explained>, rows: impl Iterator<Item = Vec<String>>) -> String {
    let head: Vec<String> = columns.into_iter().map(|(name, _)| name).collect();
    head.join(",") + "\n" + &rows.map(|row| row.join(",") + "\n").collect::<String>()
}

pub(crate) fn explained<F>(columns: &[CsvColumn<F>]) -> Vec<Explained> {
    columns.iter().map(|column| (column.name.to_owned(), column.meaning)).collect()
}

/// A column of a CSV file. `F` takes the value from a row.
#[derive(Clone, Copy)]
pub struct CsvColumn<F> {
    /// Its name in the header, which carries the unit.
    pub name: &'static str,
    /// What it holds, for the reference.
    pub meaning: &'static str,
    pub value: F,
}

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
