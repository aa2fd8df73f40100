//! The table "What an insert costs": which points are in it, and its columns.
//!
//! In: an analysis. Out: lines of text cells for the terminal and the documents. A value that could not be measured is a dash, never 0. KB are
//! 1000 bytes. A figure with `>` before it is too low: a good part of what the inserts cost was still to be written when they ended.

use crate::format;
use crate::wording::label::point_label;
use crate::wording::projection::projection_sentence;
use crate::wording::written::written_sentences;
use analysis::figures::{INSERT_FIGURES, Unit, figure};
use analysis::points::durability::{durability, unlike_durabilities};
use analysis::{Analysis, InsertCost, PointAnalysis};
use std::sync::LazyLock;

/// The heading of the table.
pub const TITLE: &str = "What an insert costs";

/// What the heads of a page mean, which are longer.
pub const PAGE_LEGEND: &str = "KB and MB are 1000 and 10^6 bytes, without discards. Written, counted by: who counted what was written (volume, disk, \
    process, engine). With the drain: for all steps that the drain covers; it is in the row of the drain. `>`: a lower bound, because writes \
    were still pending (with the drain: even after it). bytes/row: data on disk and in memory, without logs, over rows in the tables; of a \
    server its own system tables count, too. Write amplification: bytes written over payload of the rows. data : cache : memory: sizes, in \
    sizes of the engine's cache. A dash means that the value was not measured or does not apply; columns without any value are left out.";

/// A point of the table with what its inserts cost.
#[derive(Clone, Copy)]
pub struct InsertLine<'a> {
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

/// A column: a figure of inserts, or what follows from several.
pub struct InsertColumn {
    /// The head in text.
    pub head: &'static str,
    /// The head in a page, where it has more room.
    pub long_head: &'static str,
    /// Which table of a page it is in.
    pub part: CostPart,
    /// The width in the terminal; `None` in the documents only.
    pub width: Option<usize>,
    /// The text of a cell.
    pub cell: CellText,
}

/// What writes the cell of a line.
type CellText = Box<dyn Fn(&InsertLine) -> String + Send + Sync>;

impl InsertColumn {
    fn of(part: CostPart, key: &str) -> InsertColumn {
        let figure = figure(INSERT_FIGURES, key);
        let cell: CellText = Box::new(move |line: &InsertLine| scaled(figure.value(line.cost), figure.unit));
        InsertColumn { head: figure.head, long_head: figure.long_head, part, width: None, cell }
    }

    fn of_text(
        part: CostPart,
        head: &'static str,
        long_head: &'static str,
        text: fn(&InsertLine) -> String,
    ) -> InsertColumn {
        InsertColumn { head, long_head, part, width: None, cell: Box::new(text) }
    }

    fn brief(self, width: usize) -> InsertColumn {
        InsertColumn { width: Some(width), ..self }
    }

    fn written(self, text: fn(&InsertLine) -> String) -> InsertColumn {
        InsertColumn { cell: Box::new(text), ..self }
    }
}

/// The columns. Those of the terminal leave more than fifteen columns of eighty for the point.
#[rustfmt::skip]
pub static COLUMNS: LazyLock<[InsertColumn; 26]> = LazyLock::new(|| {
    use CostPart::{CpuAndSize, Disk, Engine};
    [
        InsertColumn::of(Disk, "inserts_per_s").brief(7),
        InsertColumn::of_text(Disk, "95 % CI", "95 % CI", |l| {
            format::half_width(l.cost.inserts_per_s.unwrap_or(0.0), l.cost.inserts_per_s_ci95)
        }),
        InsertColumn::of(Disk, "block_read_bytes_per_s").brief(5),
        InsertColumn::of(Disk, "written_bytes_per_s").brief(5),
        InsertColumn::of(Disk, "block_read_bytes_per_insert").brief(5),
        InsertColumn::of(Disk, "written_bytes_per_insert").brief(6).written(|l| marked(l, l.cost.per_row.written_bytes)),
        InsertColumn::of_text(Disk, "account", "written, counted by", |l| {
            l.cost.written_account.map_or_else(format::dash, |account| account.word().to_owned())
        }),
        InsertColumn::of(Engine, "engine_read_bytes_per_insert").brief(5),
        InsertColumn::of(Engine, "engine_written_bytes_per_insert").brief(6).written(|l| marked(l, l.cost.per_row.by_engine.written)),
        InsertColumn::of(Engine, "engine_log_bytes_per_insert"),
        InsertColumn::of(Engine, "engine_pages_bytes_per_insert"),
        InsertColumn::of(Engine, "engine_compaction_bytes_per_insert"),
        InsertColumn::of(Engine, "engine_doublewrite_bytes_per_insert"),
        InsertColumn::of(Disk, "written_with_drain_bytes_per_insert").brief(5).written(|l| paid(l.cost)),
        InsertColumn::of_text(CpuAndSize, "d:c:m", "data : cache : memory", |l| ratio(l.cost)).brief(11),
        InsertColumn::of_text(Disk, "shown", "reads found the data in", |l| {
            l.cost.found.map_or_else(format::dash, |found| found.as_str().to_owned())
        }),
        InsertColumn::of(Engine, "pending_bytes").written(|l| l.cost.pending_bytes.map_or_else(format::dash, format::bytes)),
        InsertColumn::of(CpuAndSize, "engine_cpu_ns_per_insert"),
        InsertColumn::of(CpuAndSize, "client_cpu_ns_per_insert"),
        InsertColumn::of(CpuAndSize, "engine_context_switches_per_insert"),
        InsertColumn::of(CpuAndSize, "client_context_switches_per_insert"),
        InsertColumn::of_text(CpuAndSize, "data", "data", |l| data_bytes(l.cost).map_or_else(format::dash, format::bytes)),
        InsertColumn::of(CpuAndSize, "log_bytes").written(|l| l.cost.log_bytes.map_or_else(format::dash, format::bytes)),
        InsertColumn::of(CpuAndSize, "data_bytes_per_row").written(|l| number(l.cost.data_bytes_per_row)),
        InsertColumn::of(Disk, "write_amplification"),
        InsertColumn::of_text(CpuAndSize, "durability", "durability", |l| {
            durability(l.point).map_or_else(format::dash, crate::escape::terminal)
        }),
    ]
});

/// The columns that have a value in any of `lines`, in their order.
pub fn filled_columns(lines: &[InsertLine]) -> Vec<&'static InsertColumn> {
    let has_value = |column: &&InsertColumn| lines.iter().any(|line| (column.cell)(line) != format::dash());
    COLUMNS.iter().filter(has_value).collect()
}

/// What is on disk, without logs as far as they are known.
fn data_bytes(cost: &InsertCost) -> Option<f64> {
    Some((cost.data_bytes? - cost.log_bytes.unwrap_or(0.0)).max(0.0))
}

fn number(value: Option<f64>) -> String {
    value.map_or_else(format::dash, format::number)
}

/// A value in the unit that the heads name: KB, MB/s, microseconds.
fn scaled(value: Option<f64>, unit: Unit) -> String {
    let scale = match unit {
        Unit::Bytes | Unit::Nanoseconds => 1e3,
        Unit::BytesPerSecond => 1e6,
        _ => 1.0,
    };
    number(value.map(|value| value / scale))
}

fn marked(line: &InsertLine, value: Option<f64>) -> String {
    let too_low =
        value.is_some() && line.point.findings.iter().any(|finding| finding.code() == analysis::Code::WriteDebt);
    format!("{}{}", if too_low { ">" } else { "" }, scaled(value, Unit::Bytes))
}

/// What the drain left is not in it.
fn paid(cost: &InsertCost) -> String {
    let paid = scaled(cost.written_with_drain_bytes_per_insert, Unit::Bytes);
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
    // Without the size of the data the ratio shows nothing.
    match cost.data_per_cache {
        None => format::dash(),
        data => format!("{}:1:{}", part(data), part(cost.memory_per_cache)),
    }
}

/// The lines of the table, in the order of the run.
pub fn lines(analysis: &Analysis) -> Vec<InsertLine<'_>> {
    let line = |point| Some(InsertLine { point, cost: Option::as_ref(&point.inserts)? });
    analysis.points.iter().filter_map(|point: &PointAnalysis| line(point)).collect()
}

/// Whose count of the bytes written the table shows.
pub fn accounts(lines: &[InsertLine]) -> Vec<String> {
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
            (cost.per_row.by_engine.read, cost.data_bytes, cost.log_bytes) = (None, Some(9e6), Some(8e6));
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
