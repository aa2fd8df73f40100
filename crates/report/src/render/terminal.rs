//! The summary for the terminal: points, findings, and the verdict last, where the eye rests.
//!
//! In: an analysis, a width in columns, and whether colour is wanted. Out: lines no wider than that.
//! Limits: below 60 columns each field is a line, and some tables are left out; each character counts as one column.

mod ended;
mod narrow;
mod relative;

pub use ended::{ended_findings, ended_head, ended_point};

use super::labels::Labels;
use crate::bottlenecks::{BottleneckRow, bottleneck_rows};
use crate::compression::{self, CompressionView, compression_views};
use crate::endpoints::{self, PointEndpoints, endpoint_tables};
use crate::escape::terminal as safe;
use crate::findings::{FindingGroup, grouped};
use crate::hosts::{self, PointHosts, host_tables};
use crate::inserts::{self, Line};
use crate::kernels::kernel_view;
use crate::loads::{LoadRow, loads};
use crate::point_cells::{self, repeats_cell};
use crate::relative::relative_views;
use crate::running_costs::{self, running_cost_table};
use crate::searches::{SearchTable, search_tables};
use crate::statements::{self, PointStatements, statement_tables};
use crate::thread_table::{self, ThreadRow, thread_table};
use crate::variants::{VariantTable, variant_tables};
use crate::wording::background::background_line;
use crate::wording::connections::steps_line;
use crate::wording::instances::instances_line;
use crate::wording::label::{point_label, point_phrases};
use crate::wording::verdict::sentences;
use crate::wording::work_done::work_done_line;
use analysis::{Analysis, PointAnalysis, RepeatRows, Severity, Validity};
use std::borrow::Cow;
use textwrap::core::Word;
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

const WIDTH_MIN: usize = 60;
/// Labels differ at their ends: with less than this nothing is left of them.
const LABEL_WIDTH_MIN: usize = 16;
const FINDINGS_MAX: usize = 10;
const LOADS_MAX: usize = 3;
/// Below this width there is no room for a column of a second rate.
const WIDE: usize = 88;
const VALIDITY: usize = 10;
/// The width of the names of kernels: it leaves room for seven columns of numbers.
const KERNEL: usize = 10;
/// The width of the number of repeats.
const REPEATS: usize = 3;

/// What is in front of the outcome of a probe.
const PROBE_CELLS: usize = 28;

/// The width of a share of time,
const THREADS: usize = 7;
/// and the most lines of them.
const THREAD_ROWS_MAX: usize = 24;
/// The width of a figure of a kind of operation,
const STATEMENT: usize = 7;
/// and the most lines of them.
const STATEMENT_LINES_MAX: usize = 30;
/// The width of a cost in money or energy.
const RUNNING: usize = 9;
/// What the heads of the costs mean; the documents have a longer legend.
const COST_UNITS: &str = "r, w: read, written; i: row inserted; eng: KB/i counted by the engine; paid: wKB/i with the \
    drain; d:c:m: data, cache, memory; >: at least; -: not known";

/// A column of numbers: its heading, its width, and the text of its cells.
type TerminalColumn = (&'static str, usize, fn(&PointAnalysis) -> String);

const OPS: TerminalColumn = ("ops/s", 9, point_cells::rate_or_duration);
/// The least width of a second rate.
const SECOND_RATE: usize = 9;
const SPREAD: TerminalColumn = ("95 % CI", 7, point_cells::half_width);
const MEDIAN: TerminalColumn = ("p50", 7, |point| point_cells::response_time(point, |q| q.p50));
const P99: TerminalColumn = ("p99", 7, |point| point_cells::response_time(point, |q| q.p99));
const LONGEST: TerminalColumn = ("max", 7, |point| point_cells::response_time(point, |q| q.max));

/// The most rows of the table of bottlenecks.
const BOTTLENECKS_MAX: usize = 20;
/// The widths of its columns.
const CONFIDENCE: usize = 8;
const RULED_OUT: usize = 30;

/// The summary. Ends with a line break.
pub fn summary(analysis: &Analysis, width: usize, colour: bool) -> String {
    if width < WIDTH_MIN {
        return narrow::summary(analysis, width, colour);
    }
    let page = TerminalPage { width, colour };
    let rows = RepeatRows::from_analysis(analysis);
    let tables = [page.searches(analysis), page.compression(analysis), page.table(&rows)];
    let mut lines = tables.into_iter().filter(|table| !table.is_empty()).collect::<Vec<_>>().join(&String::new());
    // Ratios of single repeats are in the verdict, which calls them indicative.
    let views = relative_views(analysis).into_iter().filter(|view| view.has_intervals);
    lines.extend(page.statements(&rows.analysis));
    lines.extend(page.endpoints(&rows.analysis));
    lines.extend(page.hosts(&rows.analysis));
    lines.extend(variant_tables(analysis).iter().flat_map(|table| page.variants(table)));
    lines.extend(views.flat_map(|view| page.relative(&view)));
    lines.extend(page.kernels(analysis));
    lines.extend(page.loads(analysis));
    lines.extend(page.thread_times(&rows.analysis));
    lines.extend(page.running_costs(&rows.analysis));
    lines.extend(page.insert_costs(&rows.analysis));
    lines.extend(page.bottlenecks(&rows.analysis));
    lines.extend(page.findings(analysis));
    lines.extend(page.verdict(analysis));
    lines.join("\n") + "\n"
}

/// The word for a severity, here and in the documents.
pub fn severity_word(severity: Severity) -> &'static str {
    match severity {
        Severity::Note => "note",
        Severity::Warning => "warning",
        Severity::Error => "error",
    }
}

#[derive(Clone, Copy)]
enum Tone {
    Good,
    Caution,
    Bad,
    Strong,
    Faint,
}

struct TerminalPage {
    width: usize,
    colour: bool,
}

impl TerminalPage {
    /// The probes of each search.
    fn searches(&self, analysis: &Analysis) -> Vec<String> {
        let tables: Vec<Vec<String>> = search_tables(analysis).iter().map(|table| self.search(table)).collect();
        tables.join(&String::new())
    }

    /// What became of each file.
    fn compression(&self, analysis: &Analysis) -> Vec<String> {
        let views = compression_views(analysis);
        let mut tables: Vec<Vec<String>> = views.iter().map(|view| self.aligned(view)).collect();
        let legend = wrap(compression::LEGEND, self.width).into_iter().map(|line| self.paint(&line, Tone::Faint));
        tables.extend((!views.is_empty()).then(|| legend.collect()));
        tables.join(&String::new())
    }

    /// A table whose columns are as wide as what is in them; the first takes what is left.
    fn aligned(&self, view: &CompressionView) -> Vec<String> {
        let cells = || view.rows.iter().map(|row| row.iter().map(|cell| safe(cell)).collect::<Vec<_>>());
        let heads: Vec<String> = view.heads.iter().map(|head| (*head).to_owned()).collect();
        let mut widths: Vec<usize> = heads.iter().map(|head| head.chars().count()).collect();
        for row in cells() {
            row.iter().zip(&mut widths).for_each(|(cell, width)| *width = (*width).max(cell.chars().count()));
        }
        let others: usize = widths[1..].iter().map(|width| width + 2).sum();
        widths[0] = widths[0].min(self.width.saturating_sub(others).max(LABEL_WIDTH_MIN));
        let line = |row: &[String]| {
            let first = format!("{:<width$}", cut(&row[0], widths[0]), width = widths[0]);
            let rest = row[1..].iter().zip(&widths[1..]).map(|(cell, width)| format!("  {cell:>width$}"));
            cut(&rest.fold(first, |line, cell| line + &cell), self.width)
        };
        let title = wrap(&safe(&view.title), self.width);
        let rows: Vec<String> = cells().map(|row| line(&row)).collect();
        [title, vec![self.paint(&line(&heads), Tone::Faint)], rows].concat()
    }

    fn search(&self, table: &SearchTable) -> Vec<String> {
        let row = |[probe, rate, time, outcome]: [&str; 4], tone: Option<Tone>| {
            let outcome = cut(outcome, self.width.saturating_sub(PROBE_CELLS));
            let outcome = tone.map_or_else(|| outcome.clone(), |tone| self.paint(&outcome, tone));
            format!("{probe:>6} {rate:>10} {time:>8}  {outcome}")
        };
        let head = row(table.heads, None);
        let mut lines = wrap(&safe(&table.title), self.width);
        lines.push(self.paint(&head, Tone::Faint));
        lines.extend(table.rows.iter().map(|probe| {
            let tone = probe.kept.map(|kept| if kept { Tone::Good } else { Tone::Caution });
            row(probe.cells.each_ref().map(String::as_str), tone)
        }));
        lines
    }

    /// The points, their repeats in one row, unless all of them are rows of a search already.
    fn table(&self, all: &RepeatRows) -> Vec<String> {
        let analysis = &all.analysis;
        let held = analysis.searches.iter().filter(|search| search.held().is_some()).count();
        let points: usize = all.counts.values().map(|count| count.all).sum();
        let compressed = !analysis.points.is_empty() && analysis.points.iter().all(|point| point.compression.is_some());
        if compressed || !analysis.searches.is_empty() && held == points {
            return self.warnings(analysis);
        }
        let columns = self.columns(analysis);
        let number = if all.has_repeats() { REPEATS + 1 } else { 0 };
        let used = columns.iter().map(|(_, width, _)| width + 1).sum::<usize>() + number + VALIDITY + 1;
        let label_width = self.width.saturating_sub(used);
        let head: String = columns.iter().map(|(head, width, _)| format!(" {head:>width$}")).collect();
        let n = if all.has_repeats() { format!(" {:>REPEATS$}", "n") } else { String::new() };
        let head = format!("{:<label_width$}{n}{head} {:>VALIDITY$}", "point", "validity");
        let mut labels = Labels::fitted(analysis.points.iter().map(safe_phrases), label_width);
        let common = labels.common().map(|common| format!("All points: {common}"));
        let rows = analysis.points.iter().flat_map(|point| {
            let n = repeats_cell(all, point).map_or(String::new(), |n| format!(" {n:>REPEATS$}"));
            let row = self.row_of(&safe_phrases(point), point, &n, &columns, &mut labels);
            row.into_iter().chain(self.lines_below(point)).collect::<Vec<_>>()
        });
        let heads = common.iter().flat_map(|text| wrap(text, self.width)).chain([head]);
        let heads = heads.map(|line| self.paint(&line, Tone::Faint));
        heads.chain(rows).chain(self.warnings(analysis)).collect()
    }

    fn warnings(&self, analysis: &Analysis) -> Vec<String> {
        let warnings = inserts::warnings(analysis);
        warnings.iter().flat_map(|text| wrap(text, self.width)).map(|line| self.paint(&line, Tone::Bad)).collect()
    }

    /// A second table, where rows were inserted: as many of its columns as leave room for the point.
    fn insert_costs(&self, analysis: &Analysis) -> Vec<String> {
        let lines = inserts::lines(analysis);
        if lines.is_empty() {
            return Vec::new();
        }
        let mut columns: Vec<(&inserts::Column, usize)> = inserts::filled_columns(&lines)
            .into_iter()
            .filter_map(|column| Some((column, cell_width(column, &lines)?)))
            .collect();
        let label_width = |columns: &[(&inserts::Column, usize)]| {
            self.width.saturating_sub(columns.iter().map(|(_, width)| width + 1).sum())
        };
        while label_width(&columns) < LABEL_WIDTH_MIN {
            columns.pop();
        }
        let label_width = label_width(&columns);
        let heads: String = columns.iter().map(|(column, width)| format!(" {:>width$}", column.head)).collect();
        let row = |line: &Line| {
            let cells = columns.iter().map(|(column, width)| format!(" {:>width$}", (column.cell)(line)));
            (safe_phrases(line.point), cells.collect::<String>())
        };
        let title = format!("{} ({COST_UNITS})", inserts::TITLE);
        let head = format!("{:<label_width$}{heads}", "point");
        let mut table = vec![String::new()];
        table.extend(wrap(&title, self.width).iter().map(|line| self.paint(line, Tone::Faint)));
        table.push(self.paint(&head, Tone::Faint));
        table.extend(self.labelled_rows(lines.iter().map(row).collect(), label_width));
        let accounts = inserts::accounts(&lines);
        table.extend(accounts.iter().flat_map(|text| wrap(&unquoted(&safe(text)), self.width)));
        table.extend(self.warnings(analysis));
        table.extend(self.projections(analysis));
        table
    }

    /// What the points cost in money and energy, if that is known: as many columns as leave room for the point.
    fn running_costs(&self, analysis: &Analysis) -> Vec<String> {
        let Some(table) = running_cost_table(analysis) else { return Vec::new() };
        let columns = table.heads.len().min(self.width.saturating_sub(LABEL_WIDTH_MIN) / (RUNNING + 1));
        let label_width = self.width.saturating_sub(columns * (RUNNING + 1));
        let in_line =
            |cells: &[&str]| cells.iter().map(|cell| format!(" {:>RUNNING$}", cut(cell, RUNNING))).collect::<String>();
        let head = format!("{:<label_width$}{}", "point", in_line(&table.heads[..columns]));
        let row = |(label, cells): &(String, Vec<String>)| {
            (vec![safe(label)], in_line(&cells[..columns].iter().map(String::as_str).collect::<Vec<_>>()))
        };
        let title = format!("{} (M: a million; GB: of payload, or stored)", running_costs::TITLE);
        let heads = [title, head].map(|line| self.paint(&line, Tone::Faint));
        let rows = self.labelled_rows(table.rows.iter().map(row).collect(), label_width);
        [String::new()].into_iter().chain(heads).chain(rows).collect()
    }

    /// Where the time went: one line a point if there are several, else one for each kind of thread; as many columns as leave room for the
    /// point.
    fn thread_times(&self, analysis: &Analysis) -> Vec<String> {
        let Some(table) = thread_table(analysis) else { return Vec::new() };
        let is_alone = analysis.points.len() == 1;
        let columns = thread_table::HEADS.len().min(self.width.saturating_sub(LABEL_WIDTH_MIN) / (THREADS + 1));
        let label_width = self.width.saturating_sub(columns * (THREADS + 1));
        let in_line =
            |cells: &[String]| cells[..columns].iter().map(|cell| format!(" {cell:>THREADS$}")).collect::<String>();
        let row = |row: &ThreadRow| {
            let phrases = row.phrases.iter().map(|phrase| safe(phrase)).chain([row.whose.to_owned()]);
            (phrases.collect(), in_line(&row.cells))
        };
        let shown: Vec<&ThreadRow> = table.rows.iter().filter(|row| is_alone || row.is_first).collect();
        let left_out = shown.len().saturating_sub(THREAD_ROWS_MAX);
        let rows = self.labelled_rows(shown.into_iter().take(THREAD_ROWS_MAX).map(row).collect(), label_width);
        let title = format!("{} ({})", thread_table::TITLE, thread_table::SHORT_LEGEND);
        let mut lines = vec![String::new()];
        lines.extend(wrap(&title, self.width).iter().map(|line| self.paint(line, Tone::Faint)));
        let heads: Vec<String> = thread_table::HEADS.map(str::to_owned).to_vec();
        lines.push(self.paint(&format!("{:<label_width$}{}", "point", in_line(&heads)), Tone::Faint));
        lines.extend(rows);
        lines.extend((left_out > 0).then(|| format!("({left_out} more in the report)")));
        lines.extend(table.notes.iter().flat_map(|note| wrap(&safe(note), self.width)));
        lines
    }

    /// Each endpoint, below the name of its point.
    fn endpoints(&self, analysis: &Analysis) -> Vec<String> {
        let tables = endpoint_tables(analysis);
        if tables.is_empty() {
            return Vec::new();
        }
        let width = self.width - endpoints::SHORT_HEADS.len() * (STATEMENT + 1) - 2;
        let numbers = |cells: &[&str]| cells.iter().map(|cell| format!(" {cell:>STATEMENT$}")).collect::<String>();
        let line = |name: &str, cells: &[&str]| format!("{:<width$}  {}", cut(name, width), numbers(cells));
        let of_point = |table: &PointEndpoints| {
            let name = (analysis.points.len() > 1).then(|| cut(&safe(&table.label), self.width));
            let rows = table.rows.iter().map(|row| {
                let endpoint = format!("{}{}", if name.is_some() { "  " } else { "" }, safe(&row.endpoint));
                line(&endpoint, &row.short.each_ref().map(String::as_str))
            });
            let rows: Vec<String> = rows.collect();
            name.into_iter().chain(rows).collect::<Vec<_>>()
        };
        let title = format!("{} ({})", endpoints::TITLE, endpoints::SHORT_LEGEND);
        let heads = wrap(&title, self.width).into_iter().chain([line("endpoint", &endpoints::SHORT_HEADS)]);
        let rows: Vec<String> = tables.iter().flat_map(of_point).collect();
        let left_out = rows.len().saturating_sub(STATEMENT_LINES_MAX);
        let more = (left_out > 0).then(|| format!("({left_out} more lines in the report)"));
        let heads = heads.map(|text| self.paint(&text, Tone::Faint));
        [String::new()].into_iter().chain(heads).chain(rows.into_iter().take(STATEMENT_LINES_MAX)).chain(more).collect()
    }

    /// The hosts next to each other, below the name of their point.
    fn hosts(&self, analysis: &Analysis) -> Vec<String> {
        let tables = host_tables(analysis);
        if tables.is_empty() {
            return Vec::new();
        }
        let width = self.width - hosts::SHORT_HEADS.len() * (STATEMENT + 1) - 2;
        let numbers = |cells: &[&str]| cells.iter().map(|cell| format!(" {cell:>STATEMENT$}")).collect::<String>();
        let line = |name: &str, cells: &[&str]| format!("{:<width$}  {}", cut(name, width), numbers(cells));
        let of_point = |table: &PointHosts| {
            let name = (analysis.points.len() > 1).then(|| cut(&safe(&table.label), self.width));
            let rows = table.rows.iter().map(|row| {
                let host = format!("{}{}", if name.is_some() { "  " } else { "" }, safe(&row.host));
                line(&host, &row.short.each_ref().map(String::as_str))
            });
            let rows: Vec<String> = rows.collect();
            name.into_iter().chain(rows).collect::<Vec<_>>()
        };
        let title = format!("{} ({})", hosts::TITLE, hosts::SHORT_LEGEND);
        let heads = wrap(&title, self.width).into_iter().chain([line("host", &hosts::SHORT_HEADS)]);
        let rows: Vec<String> = tables.iter().flat_map(of_point).collect();
        let left_out = rows.len().saturating_sub(STATEMENT_LINES_MAX);
        let more = (left_out > 0).then(|| format!("({left_out} more lines in the report)"));
        let heads = heads.map(|text| self.paint(&text, Tone::Faint));
        [String::new()].into_iter().chain(heads).chain(rows.into_iter().take(STATEMENT_LINES_MAX)).chain(more).collect()
    }

    /// Each kind of operation, below the name of its point.
    fn statements(&self, analysis: &Analysis) -> Vec<String> {
        let tables = statement_tables(analysis);
        if tables.is_empty() {
            return Vec::new();
        }
        let width = self.width - statements::HEADS.len() * (STATEMENT + 1) - 2;
        let numbers = |cells: &[&str]| cells.iter().map(|cell| format!(" {cell:>STATEMENT$}")).collect::<String>();
        let indent = if analysis.points.len() > 1 { "  " } else { "" };
        let below = TerminalPage { width: self.width - indent.len(), colour: self.colour };
        let of_point = |table: &PointStatements| {
            let name = (analysis.points.len() > 1).then(|| cut(&safe(&table.label), self.width));
            let rows = table.rows.iter().map(|row| {
                let cells = format!("  {}", numbers(&row.cells.each_ref().map(String::as_str)));
                (vec![safe(&row.kind)], cells)
            });
            // Statements of a log differ far behind their beginning: a name that does not fit is above its figures.
            let rows = below.labelled_rows(rows.collect(), width - indent.len());
            name.into_iter().chain(rows.into_iter().map(|row| format!("{indent}{row}"))).collect::<Vec<_>>()
        };
        let title = format!("{} ({})", statements::TITLE, statements::SHORT_LEGEND);
        let head = format!("{:<width$}  {}", cut("kind", width), numbers(&statements::HEADS));
        let heads = wrap(&title, self.width).into_iter().chain([head]);
        let rows: Vec<String> = tables.iter().flat_map(of_point).collect();
        let left_out = rows.len().saturating_sub(STATEMENT_LINES_MAX);
        let more = (left_out > 0).then(|| format!("({left_out} more lines in the report)"));
        let heads = heads.map(|text| self.paint(&text, Tone::Faint));
        [String::new()].into_iter().chain(heads).chain(rows.into_iter().take(STATEMENT_LINES_MAX)).chain(more).collect()
    }

    /// The steps of each variant, and what the optimizer built for it.
    fn variants(&self, table: &VariantTable) -> Vec<String> {
        const DURATION: usize = 9;
        const ROWS: usize = 9;
        let width = self.width.saturating_sub(4 * (DURATION + 1) + ROWS + 1);
        let cells = |cells: &[&str; 6]| {
            let [name, setup, statement, cleanup, total, rows] = cells;
            let name = cut(&safe(name), width);
            format!(
                "{name:<width$} {setup:>DURATION$} {statement:>DURATION$} {cleanup:>DURATION$} {total:>DURATION$} {rows:>ROWS$}"
            )
        };
        let short = |row: &[String; 8]| {
            let [name, setup, statement, cleanup, total, _, _, rows] = row;
            let is_count = !rows.contains(' ');
            cells(&[name, setup, statement, cleanup, total, if is_count { rows } else { "cancelled" }])
        };
        let mut lines = vec![String::new(), self.paint(&cut(&safe(&table.title), self.width), Tone::Faint)];
        lines.push(self.paint(&cells(&["variant", "set-up", "statement", "clean-up", "total", "rows"]), Tone::Faint));
        for (at, row) in table.rows.iter().enumerate() {
            lines.push(short(row));
            let ratio = [("total", &row[5]), ("statement", &row[6])];
            let ratio = ratio.into_iter().filter(|(_, text)| text.contains(' '));
            let ratio: Vec<String> = ratio.map(|(what, text)| format!("{what} {text}")).collect();
            let built = table.efforts.get(at).and_then(|cells| cells.last()).map(|built| format!("built: {built}"));
            let more: Vec<String> = ratio.into_iter().chain(built).collect();
            lines.extend(
                more.iter()
                    .flat_map(|text| wrap(&safe(text), self.width.saturating_sub(4)))
                    .map(|line| format!("    {line}")),
            );
        }
        lines
    }

    fn projections(&self, analysis: &Analysis) -> Vec<String> {
        let text = |(labels, text): &(String, String)| unquoted(&format!("{labels}: {text}"));
        let all: Vec<String> = inserts::projections(analysis).iter().map(text).collect();
        let blank = (!all.is_empty()).then(String::new);
        blank.into_iter().chain(all.iter().flat_map(|text| wrap(text, self.width))).collect()
    }

    /// A second rate has a column if there is room.
    fn columns(&self, analysis: &Analysis) -> Vec<TerminalColumn> {
        let first = (point_cells::rate_head(analysis), OPS.1, OPS.2);
        // The longest time is the one number that shows a stall of a closed loop; the verdict has the second rate.
        let second = point_cells::second_rate(analysis).filter(|_| self.width >= WIDE);
        let second = second.map(|second| (second.short_head, second.short_head.len().max(SECOND_RATE), second.cell));
        std::iter::once(first).chain(second).chain([SPREAD, MEDIAN, P99, LONGEST]).collect()
    }

    /// The row of `point`, whose label has these `phrases`.
    fn row_of(
        &self,
        phrases: &[String],
        point: &PointAnalysis,
        n: &str,
        columns: &[TerminalColumn],
        labels: &mut Labels,
    ) -> Vec<String> {
        let cell = |(_, width, value): &TerminalColumn| format!(" {:>width$}", cut(&value(point), *width));
        let cells: String = columns.iter().map(cell).collect();
        let (word, tone) = validity_cell(point);
        let last = format!(" {word:>VALIDITY$}");
        labels.row(phrases, &format!("{n}{cells}{}", self.paint(&last, tone)), self.width)
    }

    /// What the background clients and each of several instances did, how long the steps of a turn took, and what keeps the point from being
    /// compared, below the row of their point.
    fn lines_below(&self, point: &PointAnalysis) -> Vec<String> {
        let summary = point.summary.as_ref();
        let background = summary.into_iter().flat_map(|summary| &summary.background).map(background_line);
        let steps = summary.and_then(|summary| steps_line(&summary.kinds));
        let instances = point.instances.as_ref().map(instances_line);
        let texts = background.chain(steps).chain(instances).chain(work_done_line(point));
        let lines = texts.flat_map(|text| wrap(&safe(&text), self.width.saturating_sub(2)));
        lines.map(|line| format!("  {line}")).collect()
    }

    /// What the CPU is worth.
    fn kernels(&self, analysis: &Analysis) -> Vec<String> {
        let Some(view) = kernel_view(analysis) else { return Vec::new() };
        let line = |cells: &[String]| {
            let columns = cells[1..].iter().zip(&view.heads[1..]);
            let numbers: String = columns.map(|(cell, head)| format!(" {cell:>0$}", head.len().max(9))).collect();
            format!("{:<KERNEL$}{numbers}", safe(&cells[0]))
        };
        let head = self.paint(&line(&view.heads), Tone::Faint);
        let notes = view.notes.iter().flat_map(|text| wrap(text, self.width));
        [String::new(), head].into_iter().chain(view.rows.iter().map(|row| line(row))).chain(notes).collect()
    }

    /// What making the data sets cost.
    fn loads(&self, analysis: &Analysis) -> Vec<String> {
        let all = loads(analysis);
        let line = |row: &LoadRow| wrap(&safe(&format!("{}: {}", point_label(row.point), row.sentence)), self.width);
        let mut lines: Vec<String> = all.iter().take(LOADS_MAX).flat_map(line).collect();
        if all.len() > LOADS_MAX {
            lines.push(format!("and {} more loads in the report", all.len() - LOADS_MAX));
        }
        if !lines.is_empty() {
            lines.insert(0, String::new());
        }
        lines
    }

    /// Each label, of phrases, in front of its cells.
    fn labelled_rows(&self, rows: Vec<(Vec<String>, String)>, label_width: usize) -> Vec<String> {
        let mut labels = Labels::fitted(rows.iter().map(|(phrases, _)| phrases.clone()), label_width);
        let lines = rows.iter().flat_map(|(phrases, cells)| labels.row(phrases, cells, self.width));
        lines.map(|line| cut_painted(&line, self.width)).collect()
    }

    /// What limits each point, and what of the rest was nearest to its limit.
    fn bottlenecks(&self, analysis: &Analysis) -> Vec<String> {
        let all = bottleneck_rows(analysis);
        if all.is_empty() {
            return Vec::new();
        }
        let shown = &all[..all.len().min(BOTTLENECKS_MAX)];
        let names = shown.iter().map(|row| row.names.chars().count()).max().unwrap_or(0).max(10);
        let label_width = self.width.saturating_sub(names + CONFIDENCE + RULED_OUT + 6);
        let row = |row: &BottleneckRow| {
            let figures = fitted(&row.figures, RULED_OUT);
            let phrases = row.phrases.iter().map(|phrase| safe(phrase)).collect();
            (phrases, format!("  {:<names$}  {:<CONFIDENCE$}  {figures}", safe(&row.names), row.confidence))
        };
        let head = format!(
            "{:<label_width$}  {:<names$}  {:<CONFIDENCE$}  ruled out (used)",
            "what limits it", "bottleneck", "how sure"
        );
        let mut lines = vec![String::new(), self.paint(&cut(&head, self.width), Tone::Faint)];
        let rows = self.labelled_rows(shown.iter().map(row).collect(), label_width);
        lines.extend(rows.iter().map(|line| line.trim_end().to_owned()));
        if all.len() > BOTTLENECKS_MAX {
            lines.push(format!("and {} more points in the report", all.len() - BOTTLENECKS_MAX));
        }
        lines
    }

    /// The gravest first. Findings of one code and severity at several points make one line.
    fn findings(&self, analysis: &Analysis) -> Vec<String> {
        let groups = grouped(analysis);
        if groups.is_empty() {
            return vec![String::new(), "no findings".to_owned()];
        }
        let mut lines = vec![String::new()];
        let points = analysis.points.len();
        lines.extend(groups.iter().take(FINDINGS_MAX).flat_map(|group| self.finding(group, points)));
        if groups.len() > FINDINGS_MAX {
            let left_out = groups.len() - FINDINGS_MAX;
            let kinds = if left_out == 1 { "kind of finding" } else { "kinds of findings" };
            lines.push(format!("and {left_out} more {kinds} in the report"));
        }
        lines
    }

    fn finding(&self, group: &FindingGroup, points: usize) -> Vec<String> {
        let tone = match group.severity {
            Severity::Note => Tone::Faint,
            Severity::Warning => Tone::Caution,
            Severity::Error => Tone::Bad,
        };
        let word = format!("{:<8}", severity_word(group.severity));
        let heading = unquoted(&group.heading());
        let text = match group.is_mixed() {
            true => heading,
            false => format!("{}: {heading}", safe(&group.places(points))),
        };
        let lines = wrap(&text, self.width.saturating_sub(9));
        let indented = lines.iter().enumerate();
        indented
            .map(|(i, l)| if i == 0 { format!("{} {l}", self.paint(&word, tone)) } else { format!("{:9}{l}", "") })
            .collect()
    }

    /// Each sentence begins a line.
    fn verdict(&self, analysis: &Analysis) -> Vec<String> {
        let sentences = sentences(analysis);
        let lines = sentences.iter().flat_map(|sentence| wrap(&safe(sentence), self.width));
        [String::new()].into_iter().chain(lines.map(|line| self.paint(&line, Tone::Strong))).collect()
    }

    fn paint(&self, text: &str, tone: Tone) -> String {
        let code = match tone {
            Tone::Good => "32",
            Tone::Caution => "33",
            Tone::Bad => "31",
            Tone::Strong => "1",
            Tone::Faint => "2",
        };
        if self.colour { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

/// As many of `texts` as fit into `width`, with commas.
fn fitted(texts: &[String], width: usize) -> String {
    let mut line = String::new();
    for text in texts {
        let next = if line.is_empty() { text.clone() } else { format!("{line}, {text}") };
        if next.chars().count() > width {
            break;
        }
        line = next;
    }
    line
}

/// Without the marks of code, which a terminal does not set in another letter.
fn unquoted(text: &str) -> String {
    safe(text).replace('`', "")
}

/// The validity in the last column, with its tone.
fn validity_cell(point: &PointAnalysis) -> (&'static str, Tone) {
    let tone = match point.validity {
        Validity::Invalid => Tone::Bad,
        Validity::Indicative => Tone::Caution,
        Validity::Valid => Tone::Good,
    };
    (point.validity.as_str(), tone)
}

/// The width of a column of costs: a number is never cut.
fn cell_width(column: &inserts::Column, lines: &[Line]) -> Option<usize> {
    let longest = lines.iter().map(|line| (column.cell)(line).chars().count()).max();
    Some(column.width?.max(longest.unwrap_or_default()))
}

fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width.saturating_sub(2)).collect::<String>() + ".."
}

/// The same of a line with colours, which take no columns. What is cut has none.
fn cut_painted(line: &str, width: usize) -> String {
    let mut is_code = false;
    let is_shown = |c: &char| {
        is_code |= *c == '\x1b';
        let shown = !is_code;
        is_code &= *c != 'm';
        shown
    };
    let shown: String = line.chars().filter(is_shown).collect();
    if shown.chars().count() <= width { line.to_owned() } else { cut(&shown, width) }
}

/// `text` in lines of at most `width` columns, broken at spaces, but not between a number and its `%`; a longer word is broken inside.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let options = Options::new(width)
        .word_separator(WordSeparator::Custom(words))
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    textwrap::wrap(text, options).into_iter().map(Cow::into_owned).collect()
}

/// The words of `line`, each with the spaces behind it.
fn words(line: &str) -> Box<dyn Iterator<Item = Word<'_>> + '_> {
    let is_space = |at: usize| line.as_bytes().get(at) == Some(&b' ');
    let begins_word = move |at: &usize| is_space(at - 1) && !is_space(*at) && line.as_bytes()[*at] != b'%';
    let ends: Vec<usize> = (1..line.len()).filter(begins_word).chain([line.len()]).collect();
    let starts = std::iter::once(0).chain(ends.clone());
    Box::new(starts.zip(ends).map(|(start, end)| Word::from(&line[start..end])))
}

/// The phrases of the label of `point`.
fn safe_phrases(point: &PointAnalysis) -> Vec<String> {
    point_phrases(point).iter().map(|phrase| safe(phrase)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{
        background_500, damaged, hostile, inserts, label, one_of_many_kinds, quick, set, waiting, with_statements,
    };
    use analysis::finding::bottleneck::{Bottlenecks, Cause, CausePlace, LimitEvidence};
    use analysis::finding::units::Share;

    /// Points with two limits whose names are long.
    fn two_limits() -> Analysis {
        let mut analysis = quick();
        let others = LimitEvidence::OtherProcesses { others_share: Share(0.7), busy_share: Share(0.95) };
        let alone = LimitEvidence::OneAtATime { service_mean_ns: model::Nanos(1_000), in_flight: 8 };
        for point in &mut analysis.points {
            let causes = [others, alone].map(|evidence| Cause::new(evidence, 0.7)).to_vec();
            point.bottlenecks = Some(Bottlenecks { causes, ruled_out: Vec::new() });
        }
        analysis
    }

    #[test]
    fn the_host_of_a_limit_cannot_control_the_terminal() {
        let mut analysis = two_limits();
        let place = || Some(CausePlace { host: "\u{1b}[2J".to_owned(), interface: Some("\u{7}".to_owned()) });
        let found = analysis.points.iter_mut().filter_map(|point| point.bottlenecks.as_mut());
        found.flat_map(|found| &mut found.causes).for_each(|cause| cause.place = place());
        for width in [40, 80] {
            let text = summary(&analysis, width, false);
            assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
        }
    }

    #[test]
    fn colours_take_no_columns_of_a_line() {
        let painted = "rate \x1b[31m0.80\x1b[0m -  4";
        assert_eq!((cut_painted(painted, 14).as_str(), cut_painted(painted, 11).as_str()), (painted, "rate 0.80.."));
    }

    #[test]
    fn no_line_is_wider_than_asked_for() {
        for width in [24, 40, 59, 60, 80, 132] {
            for (what, analysis) in
                damaged().into_iter().chain([("waiting threads", waiting()), ("two limits", two_limits())])
            {
                for line in summary(&analysis, width, false).lines() {
                    assert!(line.chars().count() <= width, "{what}, {width}: {line}");
                }
            }
        }
    }

    #[test]
    fn what_an_insert_costs_is_a_second_table_of_eighty_columns_and_of_fewer_in_less() {
        let text = summary(&inserts(), 80, false);
        let at = text.lines().position(|line| line.starts_with("What an insert costs")).expect("there are inserts");
        let lines: Vec<&str> = text.lines().skip(at).take(7).collect();
        let expected = [
            "What an insert costs (r, w: read, written; i: row inserted; eng: KB/i counted by",
            "the engine; paid: wKB/i with the drain; d:c:m: data, cache, memory; >: at least;",
            "-: not known)",
            "point                IPS rMB/s wMB/s rKB/i  wKB/i eng r  eng w  paid       d:c:m",
            "InnoDB l.i1       38,207  42.0   385  1.10  >10.1  1.10  >9.90  12.0      8:1:96",
            "MyRocks l.i1      86,401  86.0   346  1.00   4.00     -   3.90     -      8:1:96",
            "InnoDB drain           -     -  80.0     -      -     -      -  12.0           -",
        ];
        assert_eq!(lines, expected, "{text}");
        assert!(text.contains("\nInnoDB l.i1: no estimate for 100M rows"), "{text}");
        let narrow = summary(&inserts(), 60, false);
        assert!(narrow.lines().all(|line| line.chars().count() <= 60) && narrow.contains("wKB/i"), "{narrow}");
        assert!(!summary(&quick(), 80, false).contains("What an insert costs"));
    }

    #[test]
    fn no_number_of_an_insert_is_cut() {
        let mut analysis = inserts();
        analysis.points[0].inserts.as_mut().expect("its rows were counted").inserts_per_s = Some(1_269_700.0);
        let text = summary(&analysis, 80, false);
        assert!(text.contains(" 1,269,700 ") && !text.contains(".. "), "{text}");
    }

    #[test]
    fn each_kind_of_operation_has_a_line_below_its_point_and_runs_of_single_kinds_have_no_table() {
        let mut analysis = with_statements();
        let table = |analysis: &Analysis| -> Vec<String> {
            let text = summary(analysis, 80, false);
            let lines = text.lines().skip_while(|line| !line.starts_with("kind "));
            lines
                .take_while(|line| !line.is_empty())
                .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
                .collect()
        };
        let alone = table(&analysis);
        assert_eq!(alone[0], "kind ops/s share p50 p95 p99 max failed");
        assert!(alone.len() == 3 && alone[1].starts_with("lookup 750 75 % 1.00 ms"), "{alone:?}");
        assert!(alone[2].starts_with("pay 250 25 % 8.99 ms") && alone[2].ends_with(" 9.00 ms 3"), "{alone:?}");
        let second = PointAnalysis { id: 2, group: 1, ..analysis.points[0].clone() };
        analysis.points.push(second);
        assert_eq!(table(&analysis).len(), 7, "each point has its name above its kinds");
        let kinds = ["select a from orders where id = ?", "select b from orders where id between ? and ?"];
        for (nth, kind) in kinds.iter().enumerate() {
            analysis.points[0].statements[nth].kind = (*kind).to_owned();
        }
        for width in [60, 80] {
            let text = summary(&analysis, width, false);
            assert!(kinds.iter().all(|kind| text.contains(kind)), "no name is cut: {text}");
            assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
        }
        analysis.points[0].statements[0].kind = "x".repeat(90);
        assert!(summary(&analysis, 80, false).lines().all(|line| line.chars().count() <= 80));
        assert!(table(&quick()).is_empty());
    }

    #[test]
    fn labels_of_the_second_table_that_are_too_long_stand_above_their_figures_uncut() {
        let mut analysis = inserts();
        set(&mut analysis.points[0], "engine", "mariadb:innodb l.i1 cache 8 MiB");
        label(&mut analysis.points[0], &["engine"], &[]);
        let text = summary(&analysis, 80, false);
        let lines: Vec<&str> = text.lines().collect();
        let at = lines.iter().position(|line| line.starts_with("What an insert costs")).expect("there are inserts") + 4;
        assert_eq!(lines[at], "mariadb:innodb l.i1 cache 8 MiB");
        assert!(
            lines[at + 1].trim_start().starts_with("38,207") && lines[at + 2].starts_with("MyRocks l.i1   "),
            "{text}"
        );
    }

    #[test]
    fn unlike_durability_is_marked_at_every_table() {
        let mut analysis = inserts();
        analysis.points[1].traits.engine.durability = Some("disk".to_owned());
        let text = summary(&analysis, 80, true);
        let mark = "\u{1b}[31minsert: MIXED DURABILITY (disk, os): not to be compared with each other\u{1b}[0m";
        assert_eq!(text.matches(mark).count(), 2, "{text}");
    }

    #[test]
    fn without_colour_there_is_no_control_character_whatever_the_texts() {
        let text = summary(&hostile(), 80, false);
        assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
    }

    #[test]
    fn colour_adds_only_colour() {
        let mut plain = summary(&quick(), 80, true);
        for code in ["\u{1b}[0m", "\u{1b}[1m", "\u{1b}[2m", "\u{1b}[31m", "\u{1b}[32m", "\u{1b}[33m"] {
            plain = plain.replace(code, "");
        }
        assert_eq!(plain, summary(&quick(), 80, false));
    }

    #[test]
    fn a_number_is_not_separated_from_its_percent_sign() {
        assert_eq!(wrap("known only to ±39 to 50 %", 24), ["known only to ±39 to", "50 %"]);
        assert_eq!([wrap("", 9), wrap("a  b", 9), wrap("ab cd", 2)], [vec![""], vec!["a  b"], vec!["ab", "cd"]]);
    }

    #[test]
    fn the_verdict_stands_last_whole_and_wrapped() {
        for width in [60, 80, 132] {
            let analysis = quick();
            let text = summary(&analysis, width, false);
            let verdict = text.trim_end().rsplit("\n\n").next().unwrap();
            let whole = sentences(&analysis).join(" ");
            assert_eq!(verdict.split_whitespace().collect::<Vec<_>>(), whole.split_whitespace().collect::<Vec<_>>());
            assert!(verdict.lines().all(|line| line.chars().count() <= width), "{verdict}");
        }
    }

    #[test]
    fn findings_are_told_without_marks_of_code_and_counted_in_grammar() {
        let mut analysis = quick();
        analysis.points.iter_mut().for_each(|point| point.findings.clear());
        analysis.findings = one_of_many_kinds();
        analysis.findings.truncate(FINDINGS_MAX + 1);
        let text = summary(&analysis, 80, false);
        assert!(text.contains("\nand 1 more kind of finding in the report\n"), "{text}");
        analysis.findings = one_of_many_kinds();
        assert!(summary(&analysis, 80, false).contains("\nand 2 more kinds of findings in the report\n"));
        assert_eq!(unquoted("use `--time`"), "use --time");
    }

    #[test]
    fn long_targets_are_cut_to_the_part_in_which_they_differ() {
        let mut analysis = quick();
        analysis.points.truncate(2);
        for (point, path) in analysis.points.iter_mut().zip(["/srv/a", "/srv/b"]) {
            let long = format!("{path}{}", "/of-many-parts".repeat(4));
            set(point, "engine", &format!("{}{long}{}", "x".repeat(50), "y".repeat(50)));
            label(point, &["engine", "mode"], &["depth"]);
        }
        let text = summary(&analysis, 80, false);
        assert_eq!(text.lines().next(), Some("All points: rndrd"));
        let rows: Vec<&str> = text.lines().skip(2).take(2).map(|line| line[..16].trim_end()).collect();
        assert_eq!(rows, ["..a.. depth 1", "..b.. depth 8"], "{text}");
    }

    #[test]
    fn queries_have_a_column_where_they_are_not_the_operations_and_who_works_beside_a_line() {
        let mut analysis = quick();
        let summary = analysis.points[0].summary.as_mut().unwrap();
        (summary.queries_per_s, summary.background) = (118_640.0, vec![background_500()]);
        for (width, head) in [
            (80, "point ops/s 95 % CI p50 p99 max validity"),
            (90, "point ops/s queries/s 95 % CI p50 p99 max validity"),
        ] {
            let text = super::summary(&analysis, width, false);
            let lines: Vec<&str> = text.lines().collect();
            assert_eq!(lines[0].chars().count(), width);
            assert_eq!(lines[0].split_whitespace().collect::<Vec<_>>().join(" "), head);
            assert!(
                lines[1].starts_with("file rndrd depth 1 ") && lines[1].contains(" 118,640 ") == (width > 80),
                "{}",
                lines[1]
            );
            assert_eq!(lines[2], "  background insert: 498 of 500/s (99.6 %), 2.49k rows/s, p99 12.0 ms");
        }
    }

    #[test]
    fn the_quick_run_reads_well_on_eighty_columns() {
        let text = summary(&quick(), 80, false);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "point                           ops/s 95 % CI     p50     p99     max   validity");
        assert_eq!(lines[1], "file rndrd depth 1              5,932  ±4.1 %  152 us  313 us 1.56 ms      valid");
        assert!(lines[13].starts_with("sqlite oltp clients 16 ") && lines[13].ends_with("   invalid"), "{}", lines[13]);
        let errors: Vec<&&str> = lines.iter().filter(|line| line.starts_with("error ")).collect();
        assert!(errors.len() == 1 && errors[0].starts_with("error    sqlite oltp clients 16: "), "{errors:?}");
        assert!(errors[0].ends_with(" operations failed (1.8 %)"), "{errors:?}");
    }
}
