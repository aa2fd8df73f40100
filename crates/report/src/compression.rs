//! Files that were compressed, as tables of the documents and of the terminal.
//!
//! In: an analysis. Out: for each file a [`CompressionView`], one of all files, and the times of single blocks. Limits: all cells are text.

use crate::format;
use crate::wording::compression::{arm_name, file_name};
use analysis::{Analysis, CompressionRow, CompressionTable, compression_tables};
use serde::Serialize;

/// The heading of the tables.
pub const TITLE: &str = "Compression";
/// What the columns are.
pub const LEGEND: &str = "Size: read after the sync. Best, median: until the result is on disk, of n repeats. MB/s: of the file, at the best \
    time. CPU: plimsoll, the kernel's threads, zfs-fuse. Back: to read it from the disk again. *: nothing in the table is both smaller and \
    faster (the Pareto front).";

/// One table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CompressionView {
    /// What it is of: a file with its size.
    pub title: String,
    /// The heads of the columns.
    pub heads: Vec<&'static str>,
    /// The cells, the name first.
    pub rows: Vec<Vec<String>>,
}

/// All tables of `analysis`: none if it compressed nothing.
pub fn compression_views(analysis: &Analysis) -> Vec<CompressionView> {
    let tables = compression_tables(&analysis.points);
    tables.iter().map(view_of).chain(tables.iter().filter_map(blocks_of)).collect()
}

fn view_of(table: &CompressionTable) -> CompressionView {
    CompressionView {
        title: title_of(table),
        heads: vec!["codec", "n", "size", "ratio", "best", "median", "MB/s", "CPU", "back"],
        rows: table.rows.iter().map(cells).collect(),
    }
}

fn title_of(table: &CompressionTable) -> String {
    let size = table.rows.first().map_or(0.0, |row| row.input_bytes);
    match &table.file {
        Some(file) => format!("{} ({})", file_name(file), format::bytes(size)),
        None => format!("all {} files together ({})", table.files, format::bytes(size)),
    }
}

fn cells(row: &CompressionRow) -> Vec<String> {
    let time = |s: Option<f64>| s.map_or_else(format::dash, |s| format::nanos((s * 1e9) as u64));
    let star = if row.on_front { " *" } else { "" };
    vec![
        format!("{}{star}", arm_name(&row.arm)),
        row.repeats.to_string(),
        format::bytes(row.output_bytes),
        row.ratio().map_or_else(format::dash, |ratio| format!("{ratio:.2}")),
        time(row.best_s),
        time(row.median_s),
        row.bytes_per_s().map_or_else(format::dash, |per_s| format::number(per_s / 1e6)),
        time(row.cpu_s),
        time(row.back_s),
    ]
}

/// The times of single blocks; `None` if the file was one stream.
fn blocks_of(table: &CompressionTable) -> Option<CompressionView> {
    let rows = table.rows.iter().flat_map(|row| {
        row.blocks.iter().map(|block| {
            let cells = [
                block.kind.clone(),
                format::count(block.ops),
                format::nanos(block.p50_ns),
                format::nanos(block.p99_ns),
            ];
            [vec![arm_name(&row.arm)], cells.to_vec()].concat()
        })
    });
    let rows: Vec<Vec<String>> = rows.collect();
    let file = table.file.as_ref().filter(|_| !rows.is_empty())?;
    let heads = vec!["codec", "operation", "n", "p50", "p99"];
    Some(CompressionView { title: format!("{}: single blocks", file_name(file)), heads, rows })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::compressed;

    #[test]
    fn a_table_has_a_row_for_each_codec_and_marks_those_that_nothing_beats() {
        let views = compression_views(&compressed());
        let first: Vec<&str> = views[0].rows.iter().map(|row| row[0].as_str()).collect();
        assert_eq!(
            (views[0].title.as_str(), first),
            ("a.ibd (100 MB)", vec!["none", "lz4 *", "slow", "gzip:1 *", "gzip:9 *"])
        );
        assert_eq!(views[0].rows[1][2..7], ["50.0 MB", "2.00", "500 ms", "500 ms", "200"].map(str::to_owned));
        assert!(views.iter().all(|view| view.rows.iter().all(|row| row.len() == view.heads.len())));
        assert_eq!(views.last().map(|view| view.title.as_str()), Some("all 2 files together (200 MB)"));
    }
}
