//! Files that were compressed: a table for each file, one of all files, and the times of single blocks.

use crate::format;
use crate::table::TableDef;
use crate::table::{Column, Row, Table};
use crate::wording::compression::{arm_name, file_name};
use analysis::{Analysis, CompressionRow, CompressionTable, compression_tables};

pub const TABLE: TableDef = TableDef {
    id: "compression-table",
    title: "Compression",
    is_open: true,
    in_narrow: true,
    chart: None,
    make: |analysis, _| tables(analysis),
};

const LEGEND: &str = "Size: read after the sync. Best, median: until the result is on disk, of n repeats. MB/s: of the file, at the best \
    time. CPU: plimsoll, the kernel's threads, zfs-fuse. Back: to read it from the disk again. *: nothing in the table is both smaller and \
    faster (the Pareto front).";

fn tables(analysis: &Analysis) -> Vec<Table> {
    let all = compression_tables(&analysis.points);
    let mut tables: Vec<Table> = all.iter().map(file_table).chain(all.iter().filter_map(block_table)).collect();
    if let Some(last) = tables.last_mut() {
        last.notes.push(LEGEND.to_owned());
    }
    tables
}

fn file_table(table: &CompressionTable) -> Table {
    let size = table.rows.first().map_or(0.0, |row| row.input_bytes);
    let title = match &table.file {
        Some(file) => format!("{} ({})", file_name(file), format::bytes(size)),
        None => format!("all {} files together ({})", table.files, format::bytes(size)),
    };
    table_of(
        title,
        &["n", "size", "ratio", "best", "median", "MB/s", "CPU", "back"],
        table.rows.iter().map(row).collect(),
    )
}

fn table_of(title: String, heads: &[&str], rows: Vec<Row>) -> Table {
    let columns = heads.iter().map(|head| Column::number(*head).least_width(if *head == "n" { 3 } else { 7 }));
    Table {
        title,
        label_head: "codec".to_owned(),
        columns: columns.collect(),
        rows,
        most_rows: usize::MAX,
        ..Table::default()
    }
}

fn row(row: &CompressionRow) -> Row {
    let time = |s: Option<f64>| s.map_or_else(format::dash, |s| format::nanos((s * 1e9) as u64));
    let star = if row.on_front { " *" } else { "" };
    let cells = [
        row.repeats.to_string(),
        format::bytes(row.output_bytes),
        row.ratio().map_or_else(format::dash, |ratio| format!("{ratio:.2}")),
        time(row.best_s),
        time(row.median_s),
        row.bytes_per_s().map_or_else(format::dash, |per_s| format::number(per_s / 1e6)),
        time(row.cpu_s),
        time(row.back_s),
    ];
    Row::new(format!("{}{star}", arm_name(&row.arm)), cells)
}

/// The times of single blocks; `None` if the file was one stream.
fn block_table(table: &CompressionTable) -> Option<Table> {
    let rows = table.rows.iter().flat_map(|row| {
        row.blocks.iter().map(|block| {
            let figures = [format::count(block.ops), format::nanos(block.p50_ns), format::nanos(block.p99_ns)];
            Row::of_phrases(vec![arm_name(&row.arm), block.kind.clone()], figures)
        })
    });
    let rows: Vec<Row> = rows.collect();
    let file = table.file.as_ref().filter(|_| !rows.is_empty())?;
    Some(table_of(format!("{}: single blocks", file_name(file)), &["n", "p50", "p99"], rows))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::compressed;

    #[test]
    fn a_table_has_a_row_for_each_codec_and_marks_those_that_nothing_beats() {
        let tables = tables(&compressed());
        let first: Vec<String> = tables[0].rows.iter().map(Row::label_text).collect();
        assert_eq!(
            (tables[0].title.as_str(), first.join(" ")),
            ("a.ibd (100 MB)", "none lz4 * slow gzip:1 * gzip:9 *".to_owned())
        );
        let cells: Vec<&str> = tables[0].rows[1].cells[1..6].iter().map(|cell| cell.text.as_str()).collect();
        assert_eq!(cells, ["50.0 MB", "2.00", "500 ms", "500 ms", "200"]);
        assert_eq!(tables.last().map(|table| table.title.as_str()), Some("all 2 files together (200 MB)"));
    }
}
