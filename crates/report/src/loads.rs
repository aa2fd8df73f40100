//! What making the data sets cost, as a table of the documents and lines of the terminal.
//!
//! In: the points of an analysis. Out: one [`LoadRow`] for each data set whose rows were counted. Limits: a file has no rows, and
//! how it was filled is in the run file.

use crate::format;
use analysis::{Analysis, DataLoad, PointAnalysis};

/// The heads of the columns behind the point's label.
pub const HEADS: [&str; 7] = ["rows", "time", "rows/s", "statements/s", "data on disk", "logs", "time to settle"];

/// One data set.
pub struct LoadRow<'a> {
    /// The point that it was made for.
    pub point: &'a PointAnalysis,
    /// One cell for each of [`HEADS`].
    pub cells: [String; HEADS.len()],
    /// The same in words: `loaded 400,000 rows in 3.1 s, 129,000 rows/s, 84.0 MB on disk without logs`.
    pub sentence: String,
}

/// The data sets of a run in the order in which they were made.
pub fn loads(analysis: &Analysis) -> Vec<LoadRow<'_>> {
    analysis.points.iter().filter_map(|point| row(point, point.load.as_ref()?)).collect()
}

fn row<'a>(point: &'a PointAnalysis, load: &DataLoad) -> Option<LoadRow<'a>> {
    let (rows, rows_per_s) = load.rows.zip(load.rows_per_s)?;
    let (rows, rate, time) = (format::count(rows), format::number(rows_per_s), taken(load.seconds));
    Some(LoadRow {
        point,
        sentence: format!("loaded {rows} rows in {time}, {rate} rows/s{}", size_on_disk(load)),
        cells: [
            rows,
            time,
            rate,
            or_dash(load.statements_per_s.map(format::number)),
            or_dash(load.data_bytes().map(size)),
            or_dash(load.log_bytes.map(size)),
            or_dash(load.settle_seconds.map(taken)),
        ],
    })
}

/// `, 84.0 MB on disk without logs`. Where the logs are not known, the size may have them or not, and the text does not claim either.
fn size_on_disk(load: &DataLoad) -> String {
    let logs = if load.log_bytes.is_some() { " without logs" } else { "" };
    load.data_bytes().map_or(String::new(), |bytes| format!(", {} on disk{logs}", size(bytes)))
}

fn size(bytes: u64) -> String {
    format::bytes(bytes as f64)
}

fn or_dash(text: Option<String>) -> String {
    text.unwrap_or_else(format::dash)
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
            bytes: Some(384_000_000),
            log_bytes: Some(300_000_000),
            settle_seconds: Some(0.25),
        };
        analysis.points[1].load = Some(counted);
        analysis.points[2].load = Some(DataLoad { rows: None, ..counted });
        let found = loads(&analysis);
        let [row] = found.as_slice() else { panic!("{} rows", found.len()) };
        assert_eq!(row.sentence, "loaded 400,000 rows in 3.1 s, 129,032 rows/s, 84.0 MB on disk without logs");
        assert_eq!(row.cells, ["400,000", "3.1 s", "129,032", "-", "84.0 MB", "300 MB", "0.25 s"]);
        assert_eq!(row.point.id, 2);
    }

    #[test]
    fn a_size_whose_logs_are_not_known_is_not_said_to_be_without_them() {
        let mut analysis = quick();
        analysis.points[0].load = Some(DataLoad {
            seconds: 2.0,
            rows: Some(10_000),
            rows_per_s: Some(5_000.0),
            statements_per_s: None,
            bytes: Some(2_930_000),
            log_bytes: None,
            settle_seconds: None,
        });
        let row = loads(&analysis).remove(0);
        assert_eq!(row.sentence, "loaded 10,000 rows in 2 s, 5,000 rows/s, 2.93 MB on disk");
        assert_eq!(row.cells[4..6], ["2.93 MB", "-"]);
    }
}
