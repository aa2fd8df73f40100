//! What one operation cost the target: bytes read and written, CPU, context switches.
//!
//! In: the summaries. Out: one figure for the run, one row per point. Limits: a cost is true in steady state only; with work
//! left undone at the end (dirty pages, compaction) it is too low.

use super::Chart;
use crate::figure::{BarColumn, Body, Colour, Figure};
use crate::format;
use crate::sheet::conditions;
use analysis::{Analysis, Cost, PointAnalysis};

/// The chart.
pub const CHART: Chart = Chart {
    id: "cost",
    title: "Cost per operation",
    help: "What each operation cost the target. Each column has its own scale from 0. Work that was left for later (dirty \
           pages, compaction) is not in it.",
    draw,
};

const ROWS_MAX: usize = 40;

/// A column: its heading, its colour, how its numbers are written, and the cost that it shows.
pub type CostColumn = (&'static str, Colour, fn(f64) -> String, fn(&Cost) -> Option<f64>);

/// The columns, here and in the tables of the documents.
pub const COLUMNS: [CostColumn; 4] = [
    ("read per op", Colour::Blue, format::bytes, |c| c.read_bytes_per_op),
    ("written per op", Colour::Vermillion, format::bytes, |c| c.written_bytes_per_op),
    ("engine CPU per op", Colour::Green, cpu, |c| c.engine_cpu_ns_per_op),
    ("context switches per op", Colour::Purple, format::number, |c| c.context_switches_per_op),
];

fn cpu(ns: f64) -> String {
    format::nanos(ns.max(0.0) as u64)
}

fn draw(analysis: &Analysis) -> Vec<Figure> {
    let measured: Vec<&PointAnalysis> = analysis.points.iter().filter(|p| has_cost(p)).collect();
    let parts = measured.chunks(ROWS_MAX).enumerate();
    parts.map(|(i, points)| draw_part(analysis, i, points)).collect()
}

fn has_cost(point: &PointAnalysis) -> bool {
    point.summary.as_ref().is_some_and(|s| COLUMNS.iter().any(|(.., value)| value(&s.cost).is_some()))
}

fn draw_part(analysis: &Analysis, part: usize, points: &[&PointAnalysis]) -> Figure {
    let column = |(label, colour, written, value): &CostColumn| BarColumn {
        label: (*label).to_owned(),
        values: points
            .iter()
            .map(|p| value(&p.summary.as_ref()?.cost).filter(|v| v.is_finite()).map(|v| (v, written(v))))
            .collect(),
        colour: *colour,
    };
    Figure {
        id: if part == 0 { "cost".to_owned() } else { format!("cost-{}", part + 1) },
        title: "Cost of one operation".to_owned(),
        caption: format!("{}. Each column has its own scale; 1 KB = 1000 B.", conditions(analysis, points)),
        body: Body::Bars {
            rows: points.iter().map(|p| p.label.clone()).collect(),
            columns: COLUMNS.iter().map(column).collect(),
        },
    }
}
