//! What making the data sets cost, as a table of the documents and lines of the terminal.
//!
//! In: the points of an analysis. Out: one [`LoadRow`] for each data set whose rows were counted. Limits: a file has no rows, and
//! how it was filled is in the run file.

use crate::format;
use analysis::{Analysis, DataLoad, PointAnalysis};

/// The heads of the columns behind the point's label.
pub const HEADS: [&str; 6] =
    ["rows", "time", "rows/s", "statements/s", "size on disk, logs included", "time to settle"];

/// One data set.
pub struct LoadRow<'a> {
    /// The point that it was made for.
    pub point: &'a PointAnalysis,
    /// One cell for each of [`HEADS`].
    pub cells: [String; HEADS.len()],
    /// The same in words: `loaded 400,000 rows in 3.1 s, 129,000 rows/s, 84.0 MB on disk, logs included`.
    pub sentence: String,
}

/// The data sets of a run in the order in which they were made.
pub fn loads(analysis: &Analysis) -> Vec<LoadRow<'_>> {
    let row = |point| row(point, point.load.as_ref()?);
    analysis.points.iter().filter_map(row).collect()
}

fn row<'a>(point: &'a PointAnalysis, load: &DataLoad) -> Option<LoadRow<'a>> {
    let (rows, rows_per_s) = load.rows.zip(load.rows_per_s)?;
    let (rows, rate, time) = (format::count(rows), format::number(rows_per_s), taken(load.seconds));
    let size = load.bytes.map(|bytes| format::bytes(bytes as f64));
    let of_size = size.as_ref().map_or(String::new(), |size| format!(", {size} on disk, logs included"));
    let or_dash = |text: Option<String>| text.unwrap_or_else(format::dash);
    Some(LoadRow {
        point,
        sentence: format!("loaded {rows} rows in {time}, {rate} rows/s{of_size}"),
        cells: [
            rows,
            time,
            rate,
            or_dash(load.statements_per_s.map(format::number)),
            or_dash(size),
            or_dash(load.settle_seconds.map(taken)),
        ],
    })
}

/// A time in seconds, or in the unit that fits if it is too short for them.
fn taken(seconds: f64) -> String {
    if seconds >= 0.1 || seconds <= 0.0 { format::seconds(seconds) } else { format::nanos((seconds * 1e9) as u64) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::quick;

    #[test]
    fn a_load_is_a_sentence_and_a_row_and_one_without_rows_is_none() {
        let mut analysis = quick();
        let counted = DataLoad {
            seconds: 3.1,
            rows: Some(400_000),
            rows_per_s: Some(400_000.0 / 3.1),
            statements_per_s: None,
            bytes: Some(84_000_000),
            settle_seconds: Some(0.25),
        };
        analysis.points[1].load = Some(counted);
        analysis.points[2].load = Some(DataLoad { rows: None, ..counted });
        let found = loads(&analysis);
        let [row] = found.as_slice() else { panic!("{} rows", found.len()) };
        assert_eq!(row.sentence, "loaded 400,000 rows in 3.1 s, 129,032 rows/s, 84.0 MB on disk, logs included");
        assert_eq!(row.cells, ["400,000", "3.1 s", "129,032", "-", "84.0 MB", "0.25 s"]);
        assert_eq!(row.point.id, 2);
    }
}
