//! The summary for a terminal of less than 60 columns: one field a line, because no table fits.
//!
//! In: an analysis and a width in columns. Out: lines no wider than that. Limits: what the times of threads, the ratios of variants and
//! other tables show is in the report only; a line names them.

use super::{TerminalPage, Tone, WIDTH_MIN, cut, safe, validity_cell, wrap};
use crate::bottlenecks::{BottleneckRow, bottleneck_rows};
use crate::compression::compression_views;
use crate::inserts;
use crate::kernels::kernel_view;
use crate::point_cells;
use crate::relative::relative_views;
use crate::running_costs::running_cost_table;
use crate::searches::search_tables;
use crate::thread_table::thread_table;
use crate::variants::variant_tables;
use crate::wording::label::point_label;
use analysis::{Analysis, PointAnalysis, RepeatRows};

/// In less than this nothing can be read.
const WIDTH_LEAST: usize = 24;
/// The width of the name of a field.
const FIELD: usize = 10;

/// `disk (sure)`
fn in_words(row: &BottleneckRow) -> String {
    let names = safe(&row.names);
    if row.confidence.is_empty() { names } else { format!("{names} ({})", row.confidence) }
}

/// The summary. Ends with a line break.
pub(super) fn summary(analysis: &Analysis, width: usize, colour: bool) -> String {
    let page = TerminalPage { width: width.max(WIDTH_LEAST), colour };
    let rows = RepeatRows::from_analysis(analysis);
    let mut lines = page.narrow_searches(analysis);
    lines.extend(page.narrow_compression(analysis));
    lines.extend(page.narrow_points(&rows));
    lines.extend(page.narrow_inserts(&rows.analysis));
    lines.extend(page.left_out(analysis, &rows));
    lines.extend(page.loads(analysis));
    lines.extend(page.findings(analysis));
    lines.extend(page.verdict(analysis));
    lines.join("\n") + "\n"
}

impl TerminalPage {
    /// A name, and below it each field that has a value.
    pub(super) fn fields(&self, name: &str, fields: &[(&str, String)]) -> Vec<String> {
        let values = fields.iter().filter(|(_, value)| !value.is_empty() && value != "-");
        let lines = values.flat_map(|(field, value)| {
            let room = self.width.saturating_sub(FIELD + 3).max(1);
            let parts = wrap(value.trim(), room).into_iter().enumerate();
            parts.map(move |(nth, part)| {
                let field = if nth == 0 { cut(field, FIELD) } else { String::new() };
                format!("  {field:<FIELD$} {part}")
            })
        });
        wrap(name, self.width).into_iter().chain(lines).collect()
    }

    /// The fields of one point.
    pub(super) fn point_fields(&self, point: &PointAnalysis, label: &str, bottleneck: Option<String>) -> Vec<String> {
        let rate = if point.duration_s().is_some() { "time" } else { "ops/s" };
        let second_rate = point_cells::second_rate_of(point);
        let time = |which| point_cells::response_time(point, which);
        let (word, tone) = validity_cell(point);
        let fields = [
            (rate, point_cells::rate_or_duration(point)),
            second_rate,
            ("95 % CI", point_cells::half_width(point)),
            ("p50", time(|q| q.p50)),
            ("p99", time(|q| q.p99)),
            ("max", time(|q| q.max)),
            ("bottleneck", bottleneck.unwrap_or_default()),
        ];
        let mut lines = self.fields(&safe(label), &fields);
        lines.push(format!("  {:<FIELD$} {}", "validity", self.paint(word, tone)));
        lines.extend(self.lines_below(point));
        lines
    }

    fn narrow_points(&self, rows: &RepeatRows) -> Vec<String> {
        let known = bottleneck_rows(&rows.analysis);
        let of_point = |point: &PointAnalysis| {
            let label = point_label(point);
            known.iter().find(|row| row.label == label).map(in_words)
        };
        rows.analysis
            .points
            .iter()
            .filter(|point| point.compression.is_none())
            .flat_map(|point| self.point_fields(point, &point_label(point), of_point(point)))
            .chain(self.warnings(&rows.analysis))
            .collect()
    }

    fn narrow_searches(&self, analysis: &Analysis) -> Vec<String> {
        let tables = search_tables(analysis);
        let lines = tables.iter().flat_map(|table| {
            let rows = table.rows.iter().flat_map(|row| {
                let [probe, rate, time, outcome] = row.cells.each_ref();
                wrap(&safe(&format!("{probe} {rate} {time}: {outcome}")), self.width)
            });
            wrap(&safe(&table.title), self.width).into_iter().chain(rows).chain([String::new()])
        });
        lines.collect()
    }

    fn narrow_compression(&self, analysis: &Analysis) -> Vec<String> {
        let views = compression_views(analysis);
        let lines = views.iter().flat_map(|view| {
            let rows = view.rows.iter().flat_map(|row| {
                let cells = view.heads.iter().zip(row).skip(1);
                let fields: Vec<(&str, String)> = cells.map(|(head, cell)| (*head, safe(cell))).collect();
                self.fields(&safe(&row[0]), &fields)
            });
            wrap(&safe(&view.title), self.width).into_iter().chain(rows).collect::<Vec<_>>()
        });
        lines.collect()
    }

    fn narrow_inserts(&self, analysis: &Analysis) -> Vec<String> {
        let lines = inserts::lines(analysis);
        if lines.is_empty() {
            return Vec::new();
        }
        let columns = inserts::filled_columns(&lines);
        let rows = lines.iter().flat_map(|line| {
            let shown = columns.iter().filter(|column| column.width.is_some());
            let fields: Vec<(&str, String)> = shown.map(|column| (column.head, (column.cell)(line))).collect();
            self.fields(&safe(&point_label(line.point)), &fields)
        });
        let title = wrap(&format!("{} ({})", inserts::TITLE, super::COST_UNITS), self.width);
        let title = title.into_iter().map(|line| self.paint(&line, Tone::Faint));
        [String::new()].into_iter().chain(title).chain(rows).collect()
    }

    /// Which tables there would be if the terminal were wider.
    fn left_out(&self, analysis: &Analysis, rows: &RepeatRows) -> Vec<String> {
        let tables = [
            ("variants", !variant_tables(analysis).is_empty()),
            ("ratios", relative_views(analysis).iter().any(|view| view.has_intervals)),
            ("kernels", kernel_view(analysis).is_some()),
            ("times of threads", thread_table(&rows.analysis).is_some()),
            ("costs", running_cost_table(&rows.analysis).is_some()),
        ];
        let names: Vec<&str> = tables.iter().filter(|(_, exists)| *exists).map(|(name, _)| *name).collect();
        if names.is_empty() {
            return Vec::new();
        }
        let text = format!("Left out, because they need {WIDTH_MIN} columns: {}.", names.join(", "));
        [String::new()].into_iter().chain(wrap(&text, self.width)).collect()
    }
}
