//! Each point: its rate, its response times, how far it can be trusted; and tables of two ways of what varies.

use super::cross::cross_tables;
use crate::format;
use crate::inserts;
use crate::point_cells::{self, ColumnUnit, SecondRate};
use crate::table::TableDef;
use crate::table::{Cell, Column, ColumnOf, InTerminal, Look, Row, Table};
use crate::wording::background::background_line;
use crate::wording::connections::steps_line;
use crate::wording::instances::instances_line;
use crate::wording::label::point_phrases;
use crate::wording::list::join_and;
use crate::wording::work_done::work_done_line;
use analysis::{Analysis, BusyFunction, PointAnalysis, RepeatRows, StackProfile};
use model::{Percentile, QuotedTime, READ_BACK_FACT};

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
    let mut table = point_table(rows, all);
    for (row, point) in table.rows.iter_mut().zip(&rows.points) {
        row.documents_only = is_told || point.compression.is_some();
    }
    [table].into_iter().chain(cross_tables(analysis)).collect()
}

/// The point that ended, in the columns that every run has, with the label that it has in its plan.
pub fn ended_table(point: Option<(&PointAnalysis, &str)>) -> Table {
    let labelled = |(point, label): (&PointAnalysis, &str)| Row { label: vec![label.to_owned()], ..row(point) };
    let own = ShownColumns { rate: ColumnUnit::Own, second: None, repeats: None, is_open_loop: false };
    Table::of(own.columns(), point.map(|point| (labelled(point), point.0)))
}

fn point_table(rows: &Analysis, all: &RepeatRows) -> Table {
    let shown = ShownColumns {
        rate: ColumnUnit::of(&rows.points),
        second: point_cells::second_rate(rows),
        repeats: Some(all).filter(|all| all.has_repeats()),
        is_open_loop: rows.points.iter().filter_map(|p| p.summary.as_ref()).any(|s| s.offered_per_s.is_some()),
    };
    Table {
        legend: format!("{}{LEGEND}", if all.has_repeats() { REPEATS } else { "" }),
        warnings: inserts::warnings(rows),
        most_rows: usize::MAX,
        label_least: LABEL_LEAST,
        ..Table::of(shown.columns(), rows.points.iter().map(|point| (row(point), point)))
    }
}

/// Which columns points have, besides those that all have.
struct ShownColumns<'a> {
    rate: ColumnUnit,
    second: Option<SecondRate>,
    /// Rows of several repeats.
    repeats: Option<&'a RepeatRows>,
    is_open_loop: bool,
}

type ShownColumn<'a> = ColumnOf<'a, PointAnalysis>;

impl<'a> ShownColumns<'a> {
    fn columns(self) -> Vec<ShownColumn<'a>> {
        let time =
            |column: Column, quoted| ShownColumn::new(column, move |point| point_cells::response_time(point, quoted));
        let [p50, p95, p99] = [Percentile::P50, Percentile::P95, Percentile::P99].map(QuotedTime::At);
        let of_all = [
            self.repeats.map(|rows| {
                let n = Column::number("n").least_width(3);
                ShownColumn::new(n, move |point| point_cells::repeats_cell(rows, point).unwrap_or_default())
            }),
            Some(rate_column(self.rate)),
            self.second.map(second_column),
            Some(ShownColumn::new(Column::number("95 % CI"), point_cells::half_width)),
            Some(time(Column::number("p50"), p50)),
            Some(time(Column::number("p95").documents_only(), p95)),
            Some(time(Column::number("p99"), p99)),
            Some(time(Column::number("max"), QuotedTime::Longest)),
            Some(ShownColumn::new(Column::number("worst second").documents_only(), worst_second)),
            Some(ShownColumn::new(Column::number("failed").documents_only(), |point| {
                point.summary.as_ref().map(|summary| format::count(summary.failed))
            })),
            self.is_open_loop.then(|| {
                ShownColumn::new(Column::number("late / unserved").documents_only(), |point| {
                    let summary = point.summary.as_ref();
                    summary.map(|s| format!("{} / {}", format::count(s.late), format::count(s.unserved)))
                })
            }),
            Some(ShownColumn::new(Column::number("findings").documents_only(), findings_cell)),
            Some(ShownColumn::new(Column::number("validity").least_width(10), |point| {
                let look = Look::Badge(point.validity);
                Cell::from(point_cells::validity(point)).short(point.validity.as_str()).look(look)
            })),
        ];
        let number = ShownColumn::new(Column::number("#").documents_only(), |point| point.id.to_string());
        [number].into_iter().chain(of_all.into_iter().flatten()).collect()
    }
}

fn rate_column<'a>(unit: ColumnUnit) -> ShownColumn<'a> {
    let column = Column::number(unit.head()).least_width(if unit == ColumnUnit::Own { 14 } else { 9 });
    ShownColumn::new(column, move |point| point_cells::rate_or_duration(point, unit))
}

fn second_column<'a>(second: SecondRate) -> ShownColumn<'a> {
    let column = Column::number(second.short_head).long_head(second.head).least_width(9).terminal(InTerminal::IfRoom);
    ShownColumn::new(column, second.cell)
}

fn worst_second(point: &PointAnalysis) -> String {
    let worst = point.summary.as_ref().filter(|_| point.duration_s().is_none()).and_then(|summary| summary.worst);
    let at = worst.map_or(String::new(), |worst| format!(" at {}", format::seconds(worst.at_s)));
    point_cells::worst(point) + &at
}

fn findings_cell(point: &PointAnalysis) -> Cell {
    let number = Cell::from(point.findings.len().to_string());
    if point.findings.is_empty() { number } else { number.link("findings") }
}

fn row(point: &PointAnalysis) -> Row {
    Row { below: lines_below(point), ..Row::labelled(point_phrases(point)) }
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
