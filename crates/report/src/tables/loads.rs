//! What making the data sets cost: a row for each data set whose rows were counted. A file has no rows, and how it was filled is in the run
//! file.

use crate::format;
use crate::table::TableDef;
use crate::table::{Column, ColumnOf, InTerminal, Row, Table};
use crate::wording::label::point_phrases;
use analysis::{Analysis, DataLoad};

pub const TABLE: TableDef = TableDef {
    id: "loads",
    title: "Loads",
    is_open: false,
    in_narrow: true,
    chart: None,
    make: |analysis, _| tables(analysis),
};

const LEGEND: &str = "Rows counted afterwards, divided by the time to insert them. The time of the indexes, which are made when the rows are \
    there, and the time to settle (flushes, checkpoints, statistics, counting) are not included. The data on disk is without logs where those are known. A shared data set is listed at its first point.";

/// A load whose rows were counted: how many, how many a second, and all else.
type CountedLoad = (u64, f64, DataLoad);
type LoadColumn = ColumnOf<'static, CountedLoad>;

fn tables(analysis: &Analysis) -> Vec<Table> {
    let column = |head| Column::number(head).terminal(InTerminal::IfRoom);
    let columns = vec![
        LoadColumn::new(column("rows"), |(rows, ..)| format::count(*rows)),
        LoadColumn::new(column("time"), |(_, _, load)| taken(load.seconds)),
        LoadColumn::new(column("rows/s"), |(_, per_s, _)| format::number(*per_s)),
        LoadColumn::new(column("indexes"), |(_, _, load)| load.index_seconds.map(taken)),
        LoadColumn::new(column("data on disk"), |(_, _, load)| load.data_bytes().map(size)),
        LoadColumn::new(column("logs").documents_only(), |(_, _, load)| load.log_bytes.map(size)),
        LoadColumn::new(column("time to settle").documents_only(), |(_, _, load)| load.settle_seconds.map(taken)),
    ];
    let rows = analysis.points.iter().filter_map(|point| {
        let load = point.load?;
        let (rows, per_s) = load.rows.zip(load.rows_per_s)?;
        Some((Row::labelled(point_phrases(point)), (rows, per_s, load)))
    });
    let label_head = "point that loaded the data".to_owned();
    Table { legend: LEGEND.to_owned(), label_head, most_rows: 3, ..Table::of(columns, rows) }.if_any()
}

fn size(bytes: u64) -> String {
    format::bytes(bytes as f64)
}

/// A time in seconds, or in the unit that fits if it is too short for them.
fn taken(seconds: f64) -> String {
    if seconds >= 0.1 || seconds <= 0.0 { format::seconds(seconds) } else { format::nanos((seconds * 1e9) as u64) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Cell;
    use crate::testing::quick;
    use crate::wording::label::point_label;

    #[test]
    fn a_load_is_a_row_and_one_without_rows_is_none() {
        let mut analysis = quick();
        let counted = DataLoad {
            seconds: 3.1,
            rows: Some(400_000),
            rows_per_s: Some(400_000.0 / 3.1),
            index_seconds: Some(1.25),
            bytes: Some(384_000_000),
            log_bytes: Some(300_000_000),
            settle_seconds: Some(0.25),
        };
        analysis.points[1].load = Some(counted);
        analysis.points[2].load = Some(DataLoad { rows: None, ..counted });
        let table = tables(&analysis).remove(0);
        let [row] = table.rows.as_slice() else { panic!("{} rows", table.rows.len()) };
        let expected = ["400,000", "3.1 s", "129,032", "1.25 s", "84.0 MB", "300 MB", "0.25 s"];
        assert_eq!(row.cells, expected.map(Cell::from));
        assert_eq!(row.label_text(), point_label(&analysis.points[1]));
    }

    #[test]
    fn a_size_whose_logs_are_not_known_has_a_dash_for_them() {
        let mut analysis = quick();
        analysis.points[0].load = Some(DataLoad {
            seconds: 2.0,
            rows: Some(10_000),
            rows_per_s: Some(5_000.0),
            index_seconds: None,
            bytes: Some(2_930_000),
            log_bytes: None,
            settle_seconds: None,
        });
        let row = tables(&analysis).remove(0).rows.remove(0);
        assert_eq!(row.cells[4..6], ["2.93 MB", "-"].map(Cell::from));
    }
}
