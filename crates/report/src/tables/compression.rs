//! Files that were compressed: a table for each file, one of all files, and the times of single blocks.

use crate::format;
use crate::table::TableDef;
use crate::table::{Column, ColumnOf, Row, Table};
use crate::wording::compression::{arm_name, file_name};
use analysis::{Analysis, BlockTimes, CompressionRow, CompressionTable, compression_tables};

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
    let rows = table.rows.iter().map(|row| (Row::labelled(vec![codec_name(row)]), row));
    let label_head = "codec".to_owned();
    Table { title, label_head, most_rows: usize::MAX, ..Table::of(codec_columns(), rows) }
}

type CodecColumn = ColumnOf<'static, CompressionRow>;

fn codec_columns() -> Vec<CodecColumn> {
    let time = |head, value: fn(&CompressionRow) -> Option<f64>| {
        CodecColumn::new(Column::number(head), move |row| value(row).map(|s| format::nanos((s * 1e9) as u64)))
    };
    vec![
        CodecColumn::new(Column::number("n").least_width(3), |row| row.repeats.to_string()),
        CodecColumn::new(Column::number("size"), |row| format::bytes(row.output_bytes)),
        CodecColumn::new(Column::number("ratio"), |row| row.ratio().map(|ratio| format!("{ratio:.2}"))),
        time("best", |row| row.best_s),
        time("median", |row| row.median_s),
        CodecColumn::new(Column::number("MB/s"), |row| row.bytes_per_s().map(|per_s| format::number(per_s / 1e6))),
        time("CPU", |row| row.cpu_s),
        time("back", |row| row.back_s),
    ]
}

fn codec_name(row: &CompressionRow) -> String {
    format!("{}{}", arm_name(&row.arm), if row.on_front { " *" } else { "" })
}

/// The times of single blocks; `None` if the file was one stream.
fn block_table(table: &CompressionTable) -> Option<Table> {
    let columns: Vec<ColumnOf<BlockTimes>> = vec![
        ColumnOf::new(Column::number("n").least_width(3), |block: &BlockTimes| format::count(block.ops)),
        ColumnOf::new(Column::number("p50"), |block: &BlockTimes| format::nanos(block.p50_ns)),
        ColumnOf::new(Column::number("p99"), |block: &BlockTimes| format::nanos(block.p99_ns)),
    ];
    let rows = table.rows.iter().flat_map(|row| {
        row.blocks.iter().map(|block| (Row::labelled(vec![arm_name(&row.arm), block.kind.clone()]), block))
    });
    let title = format!("{}: single blocks", file_name(table.file.as_ref()?));
    let label_head = "codec".to_owned();
    Table { title, label_head, most_rows: usize::MAX, ..Table::of(columns, rows) }.if_any().pop()
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
