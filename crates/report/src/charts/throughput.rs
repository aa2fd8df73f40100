//! Throughput against clients, or against depth: how far it scales.
//!
//! In: the summaries of the points of each sweep. Out: one figure per workload and dimension, one line per group.
//! Limits: a group of one point has no line and is in the table only.

use super::{Chart, sweep_series, sweeps};
use crate::figure::{Axis, Body, Colour, Figure, Panel, Scale, Unit};
use crate::sheet::{Dimension, Group, conditions};
use analysis::{Analysis, PointAnalysis};
use std::collections::BTreeSet;

/// The chart.
pub const CHART: Chart = Chart {
    id: "throughput",
    title: "Throughput against clients and depth",
    help: "One dot per point with its 95 % confidence interval, a line through their means. Where a line stops rising, \
           something is full.",
    draw,
};

fn draw(analysis: &Analysis) -> Vec<Figure> {
    let value = |p: &PointAnalysis| p.summary.as_ref().map(|s| (s.ops_per_s, s.ops_per_s_ci95));
    figures(
        analysis,
        "throughput",
        "Throughput",
        " Bars: 95 % confidence intervals of the mean.",
        &Axis::ops_per_s(),
        value,
    )
}

/// One figure per sweep, with `value` of each point upwards: shared with the chart of response times.
pub fn figures(
    analysis: &Analysis,
    id: &str,
    title: &str,
    note: &str,
    y: &Axis,
    value: impl Fn(&PointAnalysis) -> Option<(f64, Option<[f64; 2]>)>,
) -> Vec<Figure> {
    let mut seen: Vec<String> = Vec::new();
    let mut figures = Vec::new();
    for (dimension, groups) in sweeps(analysis) {
        let workload = groups[0].workload;
        let base = format!("{id}-{}-{}", crate::format::slug(workload), dimension.as_str());
        let nth = seen.iter().filter(|s| **s == base).count() + 1;
        let (suffix, part) = if nth == 1 { Default::default() } else { (format!("-{nth}"), format!(", part {nth}")) };
        let points: Vec<&PointAnalysis> = groups.iter().flat_map(|g| g.points.iter().copied()).collect();
        figures.push(Figure {
            id: format!("{base}{suffix}"),
            title: format!("{title} against {}: {workload}{part}", dimension.as_str()),
            caption: format!("{}.{note}", conditions(analysis, &points)),
            body: draw_panel(dimension, &groups, y.clone(), &value),
        });
        seen.push(base);
    }
    figures
}

fn draw_panel(
    dimension: Dimension,
    groups: &[Group],
    y: Axis,
    value: &impl Fn(&PointAnalysis) -> Option<(f64, Option<[f64; 2]>)>,
) -> Body {
    let line = |(i, group): (usize, &Group)| sweep_series(group, dimension, Colour::nth(i), value);
    let series = groups.iter().enumerate().map(line).collect();
    let panel = Panel { title: String::new(), note: String::new(), y, height: 280.0, series, shades: Vec::new() };
    Body::Panels { x: x_axis(dimension, groups), panels: vec![panel] }
}

/// A logarithmic axis with ticks where points are.
fn x_axis(dimension: Dimension, groups: &[Group]) -> Axis {
    let places: BTreeSet<u32> = groups.iter().flat_map(|g| &g.points).map(|p| dimension.of(p)).collect();
    let label = match dimension {
        Dimension::Clients => "clients (log scale)",
        Dimension::Depth => "depth: operations under way per client (log scale)",
    };
    let scale = Scale::LogAt(places.into_iter().map(f64::from).collect());
    Axis { label: label.to_owned(), scale, unit: Unit::Count, range: None }
}
