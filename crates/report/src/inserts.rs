//! The table "What an insert costs": which points are in it, and its columns.
//!
//! In: an analysis. Out: lines of text cells for the terminal and the documents, and of all digits for the CSV file.
//! Limits: a value that could not be measured is a dash, or an empty field, never 0. KB are 1000 bytes. A figure with `>` before
//! it is too low: a good part of what the inserts cost was still to be written when they ended.

use crate::csv_column::{CsvColumn, column};
use crate::format;
use crate::wording::label::point_label;
use crate::wording::projection::projection_sentence;
use crate::wording::written::{account_name, written_sentences};
use analysis::points::durability::{durability, unlike_durabilities};
use analysis::{Analysis, InsertCost, PointAnalysis};

/// The heading of the table.
pub const TITLE: &str = "What an insert costs";

/// What the heads mean, in the documents.
pub const LEGEND: &str = "IPS: rows inserted per second. r and w: read and written, in MB/s and in KB per row inserted \
    (1 KB = 1000 B; without discards). account: who counted what was written (volume, disk, process, engine). eng: counted by the \
    engine, in KB per row; log (redo, write-ahead), pages (flushes), compaction and doublewrite are its parts. paid: KB written per row with the \
    drain, for all steps that it covers; it is in the row of the drain. `>`: a lower bound, because writes were still pending (for paid, even \
    after the drain). pending: writes that were pending at the end. us/i and cs/i: CPU and context switches per row. data and logs: sizes on disk. \
    B/row: data on disk and in memory, without logs, over rows in the tables; of a server its own system tables count, too. w-amp: bytes written \
    over payload of the rows. d:c:m: data size to cache size to memory size. shown: where reads found the data. A dash means that the value was \
    not measured or does not apply; columns without any value are left out.";

/// What the heads of a page mean, which are longer.
pub const PAGE_LEGEND: &str = "KB and MB are 1000 and 10^6 bytes, without discards. Written, counted by: who counted what was written (volume, disk, \
    process, engine). With the drain: for all steps that the drain covers; it is in the row of the drain. `>`: a lower bound, because writes \
    were still pending (with the drain: even after it). bytes/row: data on disk and in memory, without logs, over rows in the tables; of a \
    server its own system tables count, too. Write amplification: bytes written over payload of the rows. data : cache : memory: sizes, in \
    sizes of the engine's cache. A dash means that the value was not measured or does not apply; columns without any value are left out.";

/// A point of the table with what its inserts cost.
#[derive(Clone, Copy)]
pub struct Line<'a> {
    /// The point.
    pub point: &'a PointAnalysis,
    /// What an insert cost.
    pub cost: &'a InsertCost,
}

/// What a group of columns is about. A page has a table for each, so that none is wider than a screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CostPart {
    /// The rate, and what went to and from the disk.
    Disk,
    /// What the engine itself counts.
    Engine,
    /// CPU, sizes and durability.
    CpuAndSize,
}

impl CostPart {
    /// All, in the order of their columns, with the heading of each table.
    pub const ALL: [(CostPart, &'static str); 3] = [
        (CostPart::Disk, "Rate and disk"),
        (CostPart::Engine, "As the engine counts"),
        (CostPart::CpuAndSize, "CPU and sizes"),
    ];
}

/// A column: its heads, its width in the terminal if it is shown there, and how its cells are written.
pub struct Column {
    /// The head in text.
    pub head: &'static str,
    /// The head in a page, where it has more room.
    pub long_head: &'static str,
    /// Which table of a page it is in.
    pub part: CostPart,
    /// The width in the terminal; `None` in the documents only.
    pub width: Option<usize>,
    /// The text of a cell.
    pub cell: fn(&Line) -> String,
}

/// The heads of a column, and the part that it is of.
type Heads = (&'static str, &'static str, CostPart);

const fn brief((head, long_head, part): Heads, width: usize, cell: fn(&Line) -> String) -> Column {
    Column { head, long_head, part, width: Some(width), cell }
}

const fn full((head, long_head, part): Heads, cell: fn(&Line) -> String) -> Column {
    Column { head, long_head, part, width: None, cell }
}

/// The columns. Those of the terminal leave more than fifteen columns of eighty for the point.
pub static COLUMNS: [Column; 26] = [
    brief(("IPS", "rows/s", CostPart::Disk), 7, |l| number(l.cost.inserts_per_s)),
    full(("95 % CI", "95 % CI", CostPart::Disk), |l| {
        format::half_width(l.cost.inserts_per_s.unwrap_or(0.0), l.cost.inserts_per_s_ci95)
    }),
    brief(("rMB/s", "read, MB/s", CostPart::Disk), 5, |l| scaled(l.cost.block_read_bytes_per_s, 1e6)),
    brief(("wMB/s", "written, MB/s", CostPart::Disk), 5, |l| scaled(l.cost.written_bytes_per_s, 1e6)),
    brief(("rKB/i", "read, KB/row", CostPart::Disk), 5, |l| scaled(l.cost.block_read_bytes_per_insert, 1e3)),
    brief(("wKB/i", "written, KB/row", CostPart::Disk), 6, |l| marked(l, l.cost.written_bytes_per_insert)),
    full(("account", "written, counted by", CostPart::Disk), |l| {
        l.cost.written_account.map_or_else(format::dash, |account| account_name(account).to_owned())
    }),
    brief(("eng r", "read, KB/row", CostPart::Engine), 5, |l| scaled(l.cost.engine_read_bytes_per_insert, 1e3)),
    brief(("eng w", "written, KB/row", CostPart::Engine), 6, |l| marked(l, l.cost.engine_written_bytes_per_insert)),
    full(("log", "of it log", CostPart::Engine), |l| scaled(l.cost.engine_log_bytes_per_insert, 1e3)),
    full(("pages", "of it pages", CostPart::Engine), |l| scaled(l.cost.engine_pages_bytes_per_insert, 1e3)),
    full(("compaction", "of it compaction", CostPart::Engine), |l| {
        scaled(l.cost.engine_compaction_bytes_per_insert, 1e3)
    }),
    full(("doublewrite", "of it doublewrite", CostPart::Engine), |l| {
        scaled(l.cost.engine_doublewrite_bytes_per_insert, 1e3)
    }),
    brief(("paid", "written, KB/row, with the drain", CostPart::Disk), 5, |l| paid(l.cost)),
    brief(("d:c:m", "data : cache : memory", CostPart::CpuAndSize), 11, |l| ratio(l.cost)),
    full(("shown", "reads found the data in", CostPart::Disk), |l| {
        l.cost.found.map_or_else(format::dash, |found| found.as_str().to_owned())
    }),
    full(("pending", "pending at the end", CostPart::Engine), |l| {
        l.cost.pending_bytes.map_or_else(format::dash, format::bytes)
    }),
    full(("engine us/i", "engine CPU, us/row", CostPart::CpuAndSize), |l| scaled(l.cost.engine_cpu_ns_per_insert, 1e3)),
    full(("client us/i", "client CPU, us/row", CostPart::CpuAndSize), |l| scaled(l.cost.client_cpu_ns_per_insert, 1e3)),
    full(("engine cs/i", "engine context switches/row", CostPart::CpuAndSize), |l| {
        number(l.cost.engine_context_switches_per_insert)
    }),
    full(("client cs/i", "client context switches/row", CostPart::CpuAndSize), |l| {
        number(l.cost.client_context_switches_per_insert)
    }),
    full(("data", "data", CostPart::CpuAndSize), |l| data_bytes(l.cost).map_or_else(format::dash, format::bytes)),
    full(("logs", "logs", CostPart::CpuAndSize), |l| l.cost.log_bytes.map_or_else(format::dash, format::bytes)),
    full(("B/row", "bytes/row", CostPart::CpuAndSize), |l| number(l.cost.data_bytes_per_row)),
    full(("w-amp", "write amplification", CostPart::Disk), |l| number(l.cost.write_amplification)),
    full(("durability", "durability", CostPart::CpuAndSize), |l| {
        durability(l.point).map_or_else(format::dash, crate::escape::terminal)
    }),
];

/// The columns that have a value in any of `lines`, in their order.
pub fn filled_columns(lines: &[Line]) -> Vec<&'static Column> {
    let has_value = |column: &&Column| lines.iter().any(|line| (column.cell)(line) != format::dash());
    COLUMNS.iter().filter(has_value).collect()
}

/// What is on disk, without logs as far as they are known.
fn data_bytes(cost: &InsertCost) -> Option<f64> {
    Some((cost.data_bytes? - cost.log_bytes.unwrap_or(0.0)).max(0.0))
}

fn number(value: Option<f64>) -> String {
    value.map_or_else(format::dash, format::number)
}

fn scaled(value: Option<f64>, unit: f64) -> String {
    number(value.map(|value| value / unit))
}

fn marked(line: &Line, value: Option<f64>) -> String {
    let too_low =
        value.is_some() && line.point.findings.iter().any(|finding| finding.code() == analysis::Code::WriteDebt);
    format!("{}{}", if too_low { ">" } else { "" }, scaled(value, 1e3))
}

/// What the drain left is not in it.
fn paid(cost: &InsertCost) -> String {
    let paid = scaled(cost.written_with_drain_bytes_per_insert, 1e3);
    if cost.drain_left_bytes.is_some() && cost.written_with_drain_bytes_per_insert.is_some() {
        format!(">{paid}")
    } else {
        paid
    }
}

/// `8:1:96`, data to cache to memory.
fn ratio(cost: &InsertCost) -> String {
    let part = |caches: Option<f64>| match caches {
        None => format::dash(),
        Some(caches) if caches >= 999.5 => format!("{:.1}k", caches / 1e3),
        Some(caches) if caches >= 9.95 => format!("{caches:.0}"),
        Some(caches) if caches > 0.0 && caches < 0.05 => "<0.1".to_owned(),
        Some(caches) => format!("{caches:.1}").trim_end_matches(".0").to_owned(),
    };
    match (cost.data_per_cache, cost.memory_per_cache) {
        (None, None) => format::dash(),
        (data, memory) => format!("{}:1:{}", part(data), part(memory)),
    }
}

/// The lines of the table, in the order of the run.
pub fn lines(analysis: &Analysis) -> Vec<Line<'_>> {
    let line = |point| Some(Line { point, cost: Option::as_ref(&point.inserts)? });
    analysis.points.iter().filter_map(|point: &PointAnalysis| line(point)).collect()
}

/// Whose count of the bytes written the table shows.
pub fn accounts(lines: &[Line]) -> Vec<String> {
    written_sentences(&lines.iter().map(|line| line.point).collect::<Vec<_>>())
}

/// What every table must show that has points of unlike durability side by side: one warning for each workload.
pub fn warnings(analysis: &Analysis) -> Vec<String> {
    let unlike = unlike_durabilities(&analysis.points, &analysis.meta.plan);
    let warning = |(workload, words): (&str, Vec<&str>)| {
        let text = format!("{workload}: MIXED DURABILITY ({}): not to be compared with each other", words.join(", "));
        crate::escape::terminal(&text)
    };
    unlike.into_iter().map(warning).collect()
}

/// Where the points would end at full size, in the order of the run: the labels of those with the same sentence, and that
/// sentence; nothing at full size.
pub fn projections(analysis: &Analysis) -> Vec<(String, String)> {
    let mut merged: Vec<(Vec<String>, String)> = Vec::new();
    for point in &analysis.points {
        let Some(sentence) = point.projection.as_ref().map(projection_sentence) else { continue };
        match merged.iter_mut().find(|(_, known)| *known == sentence) {
            Some((labels, _)) => labels.push(point_label(point)),
            None => merged.push((vec![point_label(point)], sentence)),
        }
    }
    merged.into_iter().map(|(labels, sentence)| (labels.join(", "), sentence)).collect()
}

/// A column of the table of costs.
type CostField = CsvColumn<fn(&InsertCost) -> Option<f64>>;

/// The fields of the CSV file, under the names that `--json` has.
pub static FIELDS: [CostField; 35] = [
    column("rows", "rows inserted in the run phase, background clients included", |c| Some(c.rows)),
    column("inserts_per_s", "rows inserted per second, background clients included (IPS)", |c| c.inserts_per_s),
    column("inserts_per_s_low95", "lower end of its 95 % confidence interval", |c| {
        c.inserts_per_s_ci95.map(|ci| ci[0])
    }),
    column("inserts_per_s_high95", "upper end of it", |c| c.inserts_per_s_ci95.map(|ci| ci[1])),
    column(
        "block_read_bytes_per_s",
        "bytes read per second (rMB/s): with `fs` by the device, otherwise as the kernel charges the engine's processes",
        |c| c.block_read_bytes_per_s,
    ),
    column("written_bytes_per_s", "bytes written per second (wMB/s), by the account in `written_account`", |c| {
        c.written_bytes_per_s
    }),
    column("block_read_bytes_per_insert", "bytes read per row inserted (rKB/i)", |c| c.block_read_bytes_per_insert),
    column("written_bytes_per_insert", "bytes written per row inserted (wKB/i)", |c| c.written_bytes_per_insert),
    column("engine_read_bytes_per_insert", "bytes read per row, as the engine counts them (eng r)", |c| {
        c.engine_read_bytes_per_insert
    }),
    column(
        "engine_written_bytes_per_insert",
        "bytes written per row, as the engine counts them (eng w): the sum of the next four",
        |c| c.engine_written_bytes_per_insert,
    ),
    column("engine_log_bytes_per_insert", "to the redo log or write-ahead log", |c| c.engine_log_bytes_per_insert),
    column("engine_pages_bytes_per_insert", "as pages, or by flushes of memtables", |c| {
        c.engine_pages_bytes_per_insert
    }),
    column("engine_compaction_bytes_per_insert", "by compactions", |c| c.engine_compaction_bytes_per_insert),
    column("engine_doublewrite_bytes_per_insert", "to the doublewrite buffer", |c| {
        c.engine_doublewrite_bytes_per_insert
    }),
    column(
        "engine_cpu_ns_per_insert",
        "CPU time per row of the engine's processes, or of plimsoll with an embedded engine",
        |c| c.engine_cpu_ns_per_insert,
    ),
    column(
        "client_cpu_ns_per_insert",
        "CPU time per row of the client threads; empty for an embedded engine, which works on the same threads",
        |c| c.client_cpu_ns_per_insert,
    ),
    column(
        "engine_context_switches_per_insert",
        "context switches per row of the engine's processes, or of plimsoll with an embedded engine",
        |c| c.engine_context_switches_per_insert,
    ),
    column("client_context_switches_per_insert", "context switches per row of the client threads", |c| {
        c.client_context_switches_per_insert
    }),
    column("data_bytes", "size of the data on disk at the end, logs included", |c| c.data_bytes),
    column("log_bytes", "the part of it that is logs", |c| c.log_bytes),
    column("unflushed_bytes", "data in memtables, which is on disk in the log only", |c| c.unflushed_bytes),
    column("data_bytes_per_row", "size of the data per row, memtables included, logs excluded (B/row)", |c| {
        c.data_bytes_per_row
    }),
    column("payload_bytes_per_row", "bytes in the columns of a row, without index entries", |c| {
        c.payload_bytes_per_row
    }),
    column("write_amplification", "bytes written per byte in the columns of the rows (w-amp)", |c| {
        c.write_amplification
    }),
    column("written_bytes", "bytes written in the run phase", |c| c.written_bytes),
    column("engine_written_bytes", "bytes written in the run phase, as the engine counts them", |c| {
        c.engine_written_bytes
    }),
    column("pending_bytes", "writes that were pending at the end, as the engine counts them", |c| c.pending_bytes),
    column("log_age_bytes", "log that would have to be replayed after a crash at the end", |c| c.log_age_bytes),
    column("drain_written_bytes", "bytes that the drain after this step wrote, if this step alone inserted", |c| {
        c.drain_written_bytes
    }),
    column("drain_left_bytes", "writes that were pending after that drain; empty if none were", |c| c.drain_left_bytes),
    column(
        "written_with_drain_bytes_per_insert",
        "bytes written per row with the drain, over all steps that it covers (paid)",
        |c| c.written_with_drain_bytes_per_insert,
    ),
    column("cache_bytes", "size of the engine's cache", |c| c.cache_bytes),
    column("memory_bytes", "memory that the engine may use: its limit, or all of the machine", |c| c.memory_bytes),
    column("data_per_cache", "size of the data divided by that of the cache", |c| c.data_per_cache),
    column("memory_per_cache", "memory divided by the size of the cache", |c| c.memory_per_cache),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{inserts, quick};
    use analysis::numbers::projection::Obstacle;

    #[test]
    fn the_heads_of_the_terminal_leave_more_than_fifteen_of_eighty_columns_for_the_point() {
        let taken: usize = COLUMNS.iter().filter_map(|column| column.width).map(|width| width + 1).sum();
        assert!(80 - taken > 15, "{taken}");
        assert!(COLUMNS.iter().all(|column| column.width.is_none_or(|width| column.head.len() <= width)));
    }

    #[test]
    fn a_point_without_inserts_has_no_line_and_a_missing_counter_is_a_dash() {
        assert!(lines(&quick()).is_empty());
        let analysis = inserts();
        let texts: Vec<Vec<String>> =
            lines(&analysis).iter().map(|line| COLUMNS.iter().map(|column| (column.cell)(line)).collect()).collect();
        assert_eq!(texts.len(), 3);
        assert_eq!(texts[0][..8], ["38,207", "±1.0 %", "42.0", "385", "1.10", ">10.1", "-", "1.10"]);
        assert_eq!((texts[0][8].as_str(), &texts[1][9..13]), (">9.90", &["-", "-", "-", "-"].map(String::from)[..]));
        let place = |head: &str| COLUMNS.iter().position(|column| column.head == head).unwrap();
        assert_eq!((texts[0][place("d:c:m")].as_str(), texts[2][place("d:c:m")].as_str()), ("8:1:96", "-"));
        let left = InsertCost {
            drain_left_bytes: Some(1.0),
            written_with_drain_bytes_per_insert: Some(9_870.0),
            ..InsertCost::default()
        };
        assert_eq!((paid(&left).as_str(), paid(&InsertCost::default()).as_str()), (">9.87", "-"));
        let large = InsertCost { data_per_cache: Some(7.81), memory_per_cache: Some(1_506.6), ..InsertCost::default() };
        assert_eq!(ratio(&large), "7.8:1:1.5k");
        assert_eq!(ratio(&InsertCost { data_per_cache: Some(0.03), ..large }), "<0.1:1:1.5k");
    }

    #[test]
    fn a_column_without_any_value_is_left_out_and_logs_are_not_data() {
        let mut analysis = inserts();
        for point in &mut analysis.points {
            let cost = point.inserts.as_mut().unwrap();
            (cost.engine_read_bytes_per_insert, cost.data_bytes, cost.log_bytes) = (None, Some(9e6), Some(8e6));
        }
        let lines = lines(&analysis);
        let columns = filled_columns(&lines);
        assert!(columns.iter().all(|column| column.head != "eng r"));
        let cell =
            |head: &str| columns.iter().find(|column| column.head == head).map(|column| (column.cell)(&lines[0]));
        assert_eq!([cell("data"), cell("logs")], [Some("1.00 MB".to_owned()), Some("8.00 MB".to_owned())]);
    }

    #[test]
    fn points_with_the_same_sentence_share_it() {
        let mut analysis = inserts();
        let of = |obstacle| analysis::Projection { rows: 1e9, factor: 1e3, end: Err(obstacle) };
        let all = [Obstacle::EndsByTime, Obstacle::RateShifted, Obstacle::EndsByTime];
        analysis.points.iter_mut().zip(all).for_each(|(point, why)| point.projection = Some(of(why)));
        let labels: Vec<String> = analysis.points.iter().map(point_label).collect();
        let first = (format!("{}, {}", labels[0], labels[2]), projection_sentence(&of(Obstacle::EndsByTime)));
        let second = (labels[1].clone(), projection_sentence(&of(Obstacle::RateShifted)));
        assert_eq!(projections(&analysis), [first, second]);
    }

    #[test]
    fn points_of_unlike_durability_are_warned_of_and_alike_ones_are_not() {
        let mut analysis = inserts();
        assert!(warnings(&analysis).is_empty());
        analysis.points[1].traits.engine.durability = Some("disk".to_owned());
        assert_eq!(warnings(&analysis), ["insert: MIXED DURABILITY (disk, os): not to be compared with each other"]);
    }
}
