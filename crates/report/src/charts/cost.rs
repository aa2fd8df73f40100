//! What one operation cost the target: bytes read and written, CPU, context switches.
//!
//! In: the summaries. Out: one figure for the run, one row per place, the mean of its repeats. Limits: a cost is true in steady state only; with work
//! left undone at the end (dirty pages, compaction) it is too low.

use super::chart::Chart;
use crate::format;
use crate::palette::Palette;
use crate::sheet::{Row, conditions, sheets};
use crate::wording::label::phrases;
use crate::wording::written::written_sentences;
use analysis::math::repeats::combine_plain;
use analysis::{Analysis, OpCost, PointAnalysis, Role, Summary};
use plot::figure::{BarColumn, Figure, FigureBody};

pub const CHART: Chart = Chart {
    id: "cost",
    title: "Cost per operation",
    help: "What each operation cost the engine. Each column has its own scale from 0. Work that was left for later (dirty \
           pages, compaction) is not in it.",
    draw,
    of_points: None,
    #[cfg(test)]
    fixture: crate::testing::quick,
};

const ROWS_MAX: usize = 40;

/// A column: its heading, how its numbers are written, and the cost that it shows.
pub type CostColumn = (&'static str, fn(f64) -> String, fn(&OpCost) -> Option<f64>);

/// The column that only points with a network have.
const NETWORK: &str = "network per op";

/// The columns, here and in the tables of the documents.
const COLUMNS: [CostColumn; 5] = [
    ("read per op", format::bytes, |c| c.per_op.read_bytes),
    ("written per op", format::bytes, |c| c.per_op.written_bytes),
    (NETWORK, format::bytes, |c| c.per_op.network_bytes),
    ("engine CPU per op", cpu, |c| c.per_op.engine_cpu_ns),
    ("context switches per op", format::number, |c| c.per_op.context_switches),
];

/// The columns that `analysis` has a value for, and those that every run has: most engines are reached without a network.
pub fn columns_of(analysis: &Analysis) -> Vec<CostColumn> {
    let has = |value: fn(&OpCost) -> Option<f64>| {
        analysis.points.iter().filter_map(|point| point.summary.as_ref()).any(|summary| value(&summary.cost).is_some())
    };
    let is_shown = |column: &&CostColumn| column.0 != NETWORK || has(column.2);
    COLUMNS.iter().filter(is_shown).copied().collect()
}

fn cpu(ns: f64) -> String {
    format::nanos(ns.max(0.0) as u64)
}

fn draw(analysis: &Analysis) -> Vec<Figure> {
    let sheets = sheets(analysis);
    let mut measured: Vec<&Row> = sheets.iter().flat_map(|sheet| &sheet.rows).collect();
    measured.retain(|row| row.points.iter().any(|point| has_cost(point)));
    // Repeats are ordered by groups; without repeats the order of measurement stays.
    if measured.iter().all(|row| row.points.len() == 1) {
        measured.sort_by_key(|row| row.points[0].id);
    }
    let figures = measured.len().div_ceil(ROWS_MAX).max(1);
    let parts = measured.chunks(measured.len().div_ceil(figures).max(1)).enumerate();
    parts.map(|(i, rows)| draw_part(analysis, i, rows)).collect()
}

/// A drain is one operation, and would dwarf the bars of all others.
fn has_cost(point: &PointAnalysis) -> bool {
    point.summary.as_ref().is_some_and(has_any_cost) && point.duration_s().is_none()
}

fn has_any_cost(summary: &Summary) -> bool {
    COLUMNS.iter().any(|(.., value)| value(&summary.cost).is_some())
}

fn draw_part(analysis: &Analysis, part: usize, rows: &[&Row]) -> Figure {
    let points: Vec<&PointAnalysis> = rows.iter().flat_map(|row| row.points.iter().copied()).collect();
    let columns = COLUMNS.iter().map(|column| bar_column(rows, column));
    let palette = Palette::new(analysis);
    Figure {
        id: if part == 0 { "cost".to_owned() } else { format!("cost-{}", part + 1) },
        title: "Cost of one operation".to_owned(),
        conditions: conditions(analysis, &points),
        caption: caption(&points),
        body: FigureBody::Bars {
            rows: rows.iter().map(|row| (name(row), palette.style(row.points[0]))).collect(),
            columns: columns.filter(|column| column.values.iter().any(Option::is_some)).collect(),
        },
    }
}

fn bar_column(rows: &[&Row], (label, written, value): &CostColumn) -> BarColumn {
    BarColumn {
        label: (*label).to_owned(),
        values: rows.iter().map(|row| mean(row, *value).map(|v| (v, written(v)))).collect(),
    }
}

fn caption(points: &[&PointAnalysis]) -> String {
    let units = "Each column has its own scale; 1 KB = 1000 B.".to_owned();
    [units].into_iter().chain(written_sentences(points)).collect::<Vec<_>>().join(" ")
}

/// The mean over the repeats that have it.
fn mean(row: &Row, value: fn(&OpCost) -> Option<f64>) -> Option<f64> {
    combine_plain(row.points.iter().filter_map(|point| value(&point.summary.as_ref()?.cost)))
}

/// The label of the point, or what its repeats have in common of it.
fn name(row: &Row) -> String {
    let label = &row.points[0].label;
    let has_repeats = row.points.len() > 1;
    let place = label.place.iter().filter(|setting| !has_repeats || setting.role != Role::Repeat && setting.used);
    phrases(label.group.iter().chain(place)).join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{label, quick, set};

    fn bars(analysis: &Analysis) -> (Vec<String>, Vec<BarColumn>) {
        let FigureBody::Bars { rows, columns } = draw(analysis).remove(0).body else { panic!("bars") };
        (rows.into_iter().map(|row| row.0).collect(), columns)
    }

    #[test]
    fn repeats_share_a_row_with_their_mean() {
        let mut analysis = quick();
        analysis.points.truncate(2);
        for (point, (repeat, cost)) in analysis.points.iter_mut().zip([(1, 100.0), (2, 300.0)]) {
            (point.repeat, point.depth) = (repeat, 8);
            set(point, "repeat", &repeat.to_string());
            label(point, &["engine", "mode"], &["repeat"]);
            point.summary.as_mut().unwrap().cost.per_op.written_bytes = Some(cost);
        }
        let (rows, columns) = bars(&analysis);
        assert_eq!(rows, ["file rndrd"]);
        let written = columns.iter().find(|c| c.label == "written per op").unwrap();
        assert_eq!(written.values, [Some((200.0, "200 B".to_owned()))]);
    }

    #[test]
    fn a_cost_that_no_point_has_is_no_column() {
        let mut analysis = quick();
        assert_eq!(bars(&analysis).1.len(), COLUMNS.len() - 1, "nothing goes over a network");
        analysis.points.iter_mut().for_each(|p| p.summary.as_mut().unwrap().cost.per_op.engine_cpu_ns = None);
        assert!(bars(&analysis).1.iter().all(|column| column.label != "engine CPU per op"));
    }

    #[test]
    fn the_network_has_a_column_in_tables_if_some_point_has_one() {
        let mut analysis = quick();
        let has_network = |analysis: &Analysis| columns_of(analysis).iter().any(|column| column.0 == NETWORK);
        assert!(!has_network(&analysis));
        analysis.points[1].summary.as_mut().unwrap().cost.per_op.network_bytes = Some(700.0);
        assert!(has_network(&analysis));
    }
}
