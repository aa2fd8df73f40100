//! Files that were compressed as CSV.
//!
//! In: an analysis. Out: text with a header line and a row for each file and codec, and for all files together. Limits: what could not be
//! measured is an empty field, never 0.

use crate::csv_column::{CsvColumn, column, csv_table, float};
use crate::escape;
use crate::wording::compression::arm_name;
use analysis::{Analysis, CompressionRow, compression_tables};

/// A row of compression.csv.
pub struct CsvCompression<'a> {
    file: &'a str,
    row: &'a CompressionRow,
}

/// A column of compression.csv.
type CompressionColumn = CsvColumn<fn(&CsvCompression) -> String>;

/// The columns of compression.csv.
pub static COMPRESSION_COLUMNS: &[CompressionColumn] = &[
    column("file", "path of the file; empty for all files together", |of| escape::csv(of.file)),
    column("codec", "the codec with its level, or the file system that compressed", |of| {
        escape::csv(&arm_name(&of.row.arm))
    }),
    column("repeats", "repeats that count", |of| of.row.repeats.to_string()),
    column("input_bytes", "length of the file", |of| float(Some(of.row.input_bytes))),
    column("output_bytes", "size of the result, read after it was synced", |of| float(Some(of.row.output_bytes))),
    column("ratio", "how many times smaller it became", |of| float(of.row.ratio())),
    column("durable_best_s", "shortest time until the result was on disk", |of| float(of.row.best_s)),
    column("durable_median_s", "median of these times", |of| float(of.row.median_s)),
    column("bytes_per_s", "bytes of the file per second of the shortest time", |of| float(of.row.bytes_per_s())),
    column("cpu_s", "CPU time of plimsoll, of the kernel's threads and of zfs-fuse, median", |of| float(of.row.cpu_s)),
    column("decompress_s", "time to read the result back from the disk, median", |of| float(of.row.back_s)),
    column("cost_per_gb", "money for a GB of the file at the median time; empty without a price", |of| {
        float(of.row.cost().per_gb)
    }),
    column("kwh_per_gb", "energy for a GB of the file at the median time, in kWh; empty without a power", |of| {
        float(of.row.cost().kwh_per_gb)
    }),
    column("pareto", "`true` if nothing of the same file is both smaller and faster", |of| of.row.on_front.to_string()),
];

/// One row per file and codec; nothing but the header if the run compressed nothing.
pub fn compression_csv(analysis: &Analysis) -> String {
    let tables = compression_tables(&analysis.points);
    let rows = tables.iter().flat_map(|table| {
        let file = table.file.as_deref().unwrap_or_default();
        table.rows.iter().map(move |row| CsvCompression { file, row })
    });
    csv_table(COMPRESSION_COLUMNS, rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::compressed;

    #[test]
    fn every_file_and_codec_is_a_row_with_a_field_for_each_column() {
        let text = compression_csv(&compressed());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 1 + 3 * 5);
        assert!(lines.iter().all(|line| line.split(',').count() == COMPRESSION_COLUMNS.len()), "{text}");
        assert_eq!(lines[2], "/data/a.ibd,lz4,1,100000000,50000000,2,0.5,0.5,200000000,0.5,,,,true");
    }

    #[test]
    fn a_gb_costs_the_machine_for_the_time_that_it_takes() {
        let mut all = compressed();
        let summaries = all.points.iter_mut().filter_map(|point| point.summary.as_mut());
        summaries.for_each(|summary| summary.cost.running.price_per_hour = Some(3.6));
        let text = compression_csv(&all);
        // 100 MB in 0.5 s: 5 s for a GB.
        assert!(
            text.lines()
                .any(|line| line == "/data/a.ibd,lz4,1,100000000,50000000,2,0.5,0.5,200000000,0.5,,0.005,,true"),
            "{text}"
        );
    }
}
