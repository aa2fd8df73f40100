//! Files that were compressed as CSV.
//!
//! In: an analysis. Out: text with a header line and a row for each file and codec, and for all files together. Limits: what could not be
//! measured is an empty field, never 0.

use crate::csv_column::{Explained, csv_lines, figure_columns, figure_fields};
use crate::escape;
use crate::wording::compression::arm_name;
use analysis::figures::COMPRESSION_FIGURES;
use analysis::{Analysis, compression_tables};

/// The columns of compression.csv.
pub fn compression_columns() -> Vec<Explained> {
    let file = ("file".to_owned(), "path of the file; empty for all files together");
    let codec = ("codec".to_owned(), "the codec with its level, or the file system that compressed");
    [vec![file, codec], figure_columns(COMPRESSION_FIGURES)].concat()
}

/// One row per file and codec; nothing but the header if the run compressed nothing.
pub fn compression_csv(analysis: &Analysis) -> String {
    let tables = compression_tables(&analysis.points);
    let rows = tables.iter().flat_map(|table| {
        let file = escape::csv(table.file.as_deref().unwrap_or_default());
        table.rows.iter().map(move |row| {
            let place = vec![file.clone(), escape::csv(&arm_name(&row.arm))];
            [place, figure_fields(COMPRESSION_FIGURES, Some(row))].concat()
        })
    });
    csv_lines(compression_columns(), rows)
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
        assert!(lines.iter().all(|line| line.split(',').count() == compression_columns().len()), "{text}");
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
