//! Throughput against clients, or against depth: how far it scales.
//!
//! In: the summaries of the points of each sweep. Out: one figure per workload and dimension, one line per group.
//! Limits: a group of one point has no line and is in the table only.

use super::{Chart, Measure, kind_of_access, mean_rate, ops_axis, sweep_series, sweeps};
use crate::figure::{Axis, Body, Colour, Figure, Mark, Panel, Scale, Unit};
use crate::format;
use crate::sheet::{Dimension, Group, conditions};
use analysis::{Analysis, PointAnalysis};
use std::collections::BTreeSet;

/// The chart.
pub const CHART: Chart = Chart {
    id: "throughput",
    title: "Throughput against clients and depth",
    help: "One dot per point with its 95 % confidence interval; of repeats one dot each and a line through their means. Where \
           a line stops rising, something is full.",
    draw,
};

fn draw(analysis: &Analysis) -> Vec<Figure> {
    let rate = Measure { of: |p| p.summary.as_ref().map(|s| (s.ops_per_s, s.ops_per_s_ci95)), together: mean_rate };
    let y = |points: &[&PointAnalysis]| ops_axis(points, "operations/s");
    let note = |is_repeated| match is_repeated {
        true => " Dots: repeats. Lines: their means.",
        false => " Bars: 95 % confidence intervals of the mean.",
    };
    let mut figures = figures(analysis, ("throughput", "Throughput"), note, y, &rate);
    for (figure, (dimension, groups)) in figures.iter_mut().zip(sweeps(analysis)) {
        figure.title += &most(figure, dimension, &groups);
    }
    figures
}

/// `: at most 41,300/s (file rndrd, depth 32)`, where the highest line is highest.
fn most(figure: &Figure, dimension: Dimension, groups: &[Group]) -> String {
    let Body::Panels { panels, .. } = &figure.body else { return String::new() };
    let lines =
        panels.iter().flat_map(|panel| &panel.series).flat_map(|series| Some((&series.label, series.marks.first()?)));
    let places = lines.flat_map(|(label, mark)| match mark {
        Mark::Line(_, points) => points.iter().map(|point| (label, *point)).collect(),
        _ => Vec::new(),
    });
    let highest = places.filter(|(_, (_, y))| y.is_finite()).max_by(|a, b| a.1.1.total_cmp(&b.1.1));
    highest.map_or(String::new(), |(label, (x, y))| {
        let line = if groups.len() > 1 { format!("{label}, ") } else { String::new() };
        format!(": at most {}/s ({line}{} {x})", format::number(y), dimension.as_str())
    })
}

/// One figure per sweep, with `measure` of each point upwards: shared with the chart of response times. `note` says how to read
/// it with and without repeats.
pub fn figures(
    analysis: &Analysis,
    (id, title): (&str, &str),
    note: fn(bool) -> &'static str,
    y: impl Fn(&[&PointAnalysis]) -> Axis,
    measure: &Measure,
) -> Vec<Figure> {
    let mut seen: Vec<String> = Vec::new();
    let mut figures = Vec::new();
    for (dimension, groups) in sweeps(analysis) {
        let subject = format!("{} {}", groups[0].workload, kind_of_access(&groups[0]));
        let base = format!("{id}-{}-{}", format::slug(&subject), dimension.as_str());
        let nth = seen.iter().filter(|s| **s == base).count() + 1;
        let (suffix, part) = if nth == 1 { Default::default() } else { (format!("-{nth}"), format!(", part {nth}")) };
        let points: Vec<&PointAnalysis> = groups.iter().flat_map(|g| g.points.iter().copied()).collect();
        let is_repeated = points.iter().any(|point| point.repeat > 1);
        figures.push(Figure {
            id: format!("{base}{suffix}"),
            title: format!("{title}, {}{part}", subject.trim_end()),
            caption: format!("{}.{}", conditions(analysis, &points), note(is_repeated)),
            body: draw_panel(dimension, &groups, y(&points), measure),
        });
        seen.push(base);
    }
    figures
}

fn draw_panel(dimension: Dimension, groups: &[Group], y: Axis, measure: &Measure) -> Body {
    let line = |(i, group): (usize, &Group)| sweep_series(group, dimension, Colour::nth(i), measure);
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
