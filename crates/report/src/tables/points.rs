//! Each point: its rate, its response times, how far it can be trusted; and tables of two ways of what varies.

use super::cross::cross_tables;
use crate::format;
use crate::inserts;
use crate::point_cells::{self, ColumnUnit};
use crate::table::TableDef;
use crate::table::{Cell, Column, InTerminal, Look, Row, Table};
use crate::wording::background::background_line;
use crate::wording::connections::steps_line;
use crate::wording::instances::instances_line;
use crate::wording::label::point_phrases;
use crate::wording::list::join_and;
use crate::wording::work_done::work_done_line;
use analysis::{Analysis, BusyFunction, PointAnalysis, RepeatRows, StackProfile};
use model::READ_BACK_FACT;

pub const TABLE: TableDef =
    TableDef { id: "points", title: "Each point", is_open: false, in_narrow: true, chart: None, make: tables };

const LEGEND: &str = "Response times over the run phase. 95 % CI: half-width of the 95 % confidence interval of the mean rate, allowing for \
    autocorrelation. The rate is that of what the work is counted in: transactions, rows, reads. A step that creates indexes or drains has its duration instead of a rate. Worst second: the lowest rate of any second, or \
    interval if that is longer; a run phase with fewer than three of them has none. A dash means that the value was not measured or does not \
    apply.";
const REPEATS: &str = "n: repeats, of which the row is the mean; `5/6` means that one of six must not be used. Percentiles are of the times of \
    all repeats together. ";

/// With a second rate there must be so much room for labels in a terminal.
const LABEL_LEAST: usize = 25;

fn tables(analysis: &Analysis, all: &RepeatRows) -> Vec<Table> {
    let rows = &all.analysis;
    let held = rows.searches.iter().filter(|search| search.held().is_some()).count();
    // A terminal has the points of a search among its probes, and compressed files in tables of their own.
    let is_told = !rows.searches.is_empty() && held == all.counts.values().map(|count| count.all).sum::<usize>();
    let mut table = point_table(rows, all.has_repeats());
    for (row, point) in table.rows.iter_mut().zip(&rows.points) {
        row.documents_only = is_told || point.compression.is_some();
        if let Some(n) = point_cells::repeats_cell(all, point) {
            row.cells[1] = n.into();
        }
    }
    [table].into_iter().chain(cross_tables(analysis)).collect()
}

/// The point that ended, in the columns that every run has, with the label that it has in its plan.
pub fn ended_table(point: Option<(&PointAnalysis, &str)>) -> Table {
    let own = |(point, label): (&PointAnalysis, &str)| Row {
        label: vec![label.to_owned()],
        ..row(point, ColumnUnit::Own, None, false)
    };
    let rows = point.map(own);
    let columns = columns(ColumnUnit::Own, None, false);
    Table { columns, rows: rows.into_iter().collect(), ..Table::default() }
}

fn point_table(rows: &Analysis, has_repeats: bool) -> Table {
    let second = point_cells::second_rate(rows);
    let is_open_loop = rows.points.iter().filter_map(|p| p.summary.as_ref()).any(|s| s.offered_per_s.is_some());
    let unit = ColumnUnit::of(&rows.points);
    let mut columns = columns(unit, second, is_open_loop);
    let mut lines: Vec<Row> = rows.points.iter().map(|point| row(point, unit, second, is_open_loop)).collect();
    if has_repeats {
        columns.insert(1, Column::number("n").least_width(3));
        lines.iter_mut().for_each(|row| row.cells.insert(1, Cell::default()));
    }
    Table {
        legend: format!("{}{LEGEND}", if has_repeats { REPEATS } else { "" }),
        columns,
        rows: lines,
        warnings: inserts::warnings(rows),
        most_rows: usize::MAX,
        label_least: LABEL_LEAST,
        ..Table::default()
    }
}

fn columns(rate: ColumnUnit, second: Option<point_cells::SecondRate>, is_open_loop: bool) -> Vec<Column> {
    let second = second.map(|second| {
        Column::number(second.short_head).long_head(second.head).least_width(9).terminal(InTerminal::IfRoom)
    });
    let mut columns = vec![
        Column::number("#").documents_only(),
        Column::number(rate.head()).least_width(if rate == ColumnUnit::Own { 14 } else { 9 }),
    ];
    columns.extend(second);
    columns.extend(["95 % CI", "p50"].map(Column::number));
    columns.extend([
        Column::number("p95").documents_only(),
        Column::number("p99"),
        Column::number("max"),
        Column::number("worst second").documents_only(),
        Column::number("failed").documents_only(),
    ]);
    columns.extend(is_open_loop.then(|| Column::number("late / unserved").documents_only()));
    columns.extend([Column::number("findings").documents_only(), Column::number("validity").least_width(10)]);
    columns
}

fn row(point: &PointAnalysis, unit: ColumnUnit, second: Option<point_cells::SecondRate>, is_open_loop: bool) -> Row {
    let summary = point.summary.as_ref();
    let worst_at = summary.filter(|_| point.duration_s().is_none()).and_then(|summary| summary.worst);
    let at = worst_at.map_or(String::new(), |worst| format!(" at {}", format::seconds(worst.at_s)));
    let late = summary.map(|s| format!("{} / {}", format::count(s.late), format::count(s.unserved)));
    let validity =
        Cell::from(point_cells::validity(point)).short(point.validity.as_str()).look(Look::Badge(point.validity));
    let mut cells: Vec<Cell> = vec![point.id.to_string().into(), point_cells::rate_or_duration(point, unit).into()];
    cells.extend(second.map(|second| Cell::from((second.cell)(point))));
    cells.extend([
        point_cells::half_width(point).into(),
        point_cells::response_time(point, |q| q.p50).into(),
        point_cells::response_time(point, |q| q.p95).into(),
        point_cells::response_time(point, |q| q.p99).into(),
        point_cells::response_time(point, |q| q.max).into(),
        Cell::from(point_cells::worst(point) + &at),
        summary.map(|summary| format::count(summary.failed)).into(),
    ]);
    cells.extend(is_open_loop.then(|| Cell::from(late)));
    let findings = Cell::from(point.findings.len().to_string());
    cells.push(if point.findings.is_empty() { findings } else { findings.link("findings") });
    cells.push(validity);
    Row { below: lines_below(point), ..Row::of_phrases(point_phrases(point), cells) }
}

/// What the background clients and each of several instances did, how long the steps of a turn took, what keeps the point from being compared,
/// what the threads of the engine were doing, what was read back, and why it failed.
fn lines_below(point: &PointAnalysis) -> Vec<Cell> {
    let summary = point.summary.as_ref();
    let background = summary.into_iter().flat_map(|summary| &summary.background).map(background_line);
    let steps = summary.and_then(|summary| steps_line(&summary.kinds));
    let instances = point.instances.as_ref().map(instances_line);
    let stacks = point.stacks.as_ref().and_then(busiest_line);
    let read_back = point.facts.iter().find(|fact| fact.name == READ_BACK_FACT);
    let checked = read_back.map(|fact| format!("read back: {}", fact.value));
    let lines = background.chain(steps).chain(instances).chain(work_done_line(point)).chain(stacks).chain(checked);
    let lines = lines.map(Cell::from);
    lines.chain(point.error.as_ref().map(|error| Cell::from(error.clone()).look(Look::Worse))).collect()
}

/// `most busy threads were in row_search_mvcc (1.20), write (0.50) and crc32c (0.20)`
fn busiest_line(stacks: &StackProfile) -> Option<String> {
    let named = |one: &BusyFunction| format!("{} ({})", one.frame, format::number(one.threads));
    let names: Vec<String> = stacks.busiest.iter().map(named).collect();
    let of = if stacks.sees_all_threads { "busy threads" } else { "samples of a CPU" };
    (!names.is_empty()).then(|| format!("most {of} were in {}", join_and(&names)))
}
