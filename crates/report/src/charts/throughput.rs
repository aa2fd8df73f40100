//! Throughput against clients, or against depth: how far it scales.
//!
//! In: the summaries of the points of each sweep, and the law that was fitted to them. Out: one figure per workload and dimension: one line per group, or, if two things
//! or more vary besides clients, a panel for each value of one of them, with the response time below.
//! Limits: a group of one point has no line and is in the table only.

use super::axes::fit_for;
use super::chart::Chart;
use super::marks::{invalid_note, trusted};
use super::response;
use super::sweep::{SweepFigure, SweepMeasure, rate_of, sweep_series, sweeps};
use crate::facets::{Facet, Facets};
use crate::format;
use crate::sheet::{SweepAxis, conditions};
use crate::wording::quantity::time;
use analysis::findings::knee::Knee;
use analysis::points::scaling_law::{FittedLaw, ScalingLaw};
use analysis::{Analysis, DetailKind, PointAnalysis, Subject};
use plot::figure::{
    Axis, AxisScale, AxisUnit, DataSeries, Figure, FigureBody, GridRow, Mark, Panel, SeriesStyle, Stroke,
};
use std::collections::{BTreeMap, BTreeSet};

pub const CHART: Chart = Chart {
    id: "throughput",
    title: "Throughput against clients and depth",
    help: "Each dot is a point. If a line stops rising, something is saturated.",
    draw,
    of_points: None,
    #[cfg(test)]
    fixture: crate::testing::quick,
};

fn draw(analysis: &Analysis) -> Vec<Figure> {
    let all = named(analysis, ("throughput", "Throughput"));
    all.iter().map(|(sweep, names)| draw_sweep(analysis, sweep, names)).collect()
}

fn draw_sweep(analysis: &Analysis, sweep: &SweepFigure, names: &FigureNames) -> Figure {
    let points = sweep.split.points();
    let (rate, axis, unit) = rate_of(&points);
    let axis = fit_for(axis, heights(sweep, rate));
    let mut figure = if sweep.split.is_grid() {
        let times = Axis::nanos("response time: 99th percentile, dashed the mean");
        let rows = vec![row(sweep, axis, &[(rate, Stroke::Solid)]), row(sweep, times, &TIMES)];
        multiples(analysis, sweep, names, rows)
    } else {
        lines(analysis, sweep, names, (axis, rate))
    };
    let curves = add_curves(analysis, sweep, &mut figure);
    figure.caption += note(&points);
    figure.caption += if curves > 0 { CURVES_NOTE } else { "" };
    figure.caption += &tail_note(&points);
    figure.caption += invalid_note(&points);
    figure.title += &most(&sweep.split, sweep.dimension, rate, &unit);
    figure
}

/// The highest rate of each line that can be trusted.
fn heights<'a>(sweep: &'a SweepFigure, rate: &'a SweepMeasure) -> impl Iterator<Item = f64> + 'a {
    let lines = sweep.split.panels.iter().flat_map(|panel| &panel.lines);
    lines.filter_map(|line| trusted(line).into_iter().filter_map(|point| Some((rate.of)(point)?.0)).reduce(f64::max))
}

/// The rates of `sweep`, as a row of panels.
pub(super) fn rate_row(sweep: &SweepFigure) -> GridRow {
    let (rate, axis, _) = rate_of(&sweep.split.points());
    row(sweep, fit_for(axis, heights(sweep, rate)), &[(rate, Stroke::Solid)])
}

const TIMES: [(&SweepMeasure, Stroke); 2] = [(&response::P99, Stroke::Solid), (&response::MEAN, Stroke::Dashed)];

const CURVES_NOTE: &str =
    " Dashed: the fitted Universal Scalability Law with its 95 % confidence interval. Vertical: its peak.";

/// Puts the laws that were fitted behind the rates of `sweep`, and returns how many they are.
fn add_curves(analysis: &Analysis, sweep: &SweepFigure, figure: &mut Figure) -> usize {
    let cells: Vec<Vec<DataSeries>> =
        sweep.split.panels.iter().map(|panel| curves(analysis, (&panel.lines, &panel.styles))).collect();
    let drawn = cells.iter().map(Vec::len).sum();
    match &mut figure.body {
        FigureBody::Grid { rows, .. } => {
            let own = rows.first_mut().into_iter().flat_map(|rates| &mut rates.cells);
            own.zip(cells).for_each(|(cell, curves)| drop(cell.splice(..0, curves)));
        }
        FigureBody::Panels { panels, .. } => {
            let own = panels.iter_mut().take(1);
            own.for_each(|panel| drop(panel.series.splice(..0, cells.concat())));
        }
        FigureBody::Bars { .. } | FigureBody::Stacks { .. } | FigureBody::Strips { .. } | FigureBody::Flames { .. } => {
        }
    }
    drawn
}

/// The laws of the lines of one panel, in the styles of the lines.
fn curves(analysis: &Analysis, (lines, styles): (&[Vec<&PointAnalysis>], &[SeriesStyle])) -> Vec<DataSeries> {
    let styled = lines.iter().zip(styles).filter(|(points, _)| !points.is_empty());
    styled.filter_map(|(points, style)| Some(curve(fitted_law(analysis, points)?, points, *style))).collect()
}

/// The law that was fitted to the group of `points`.
fn fitted_law<'a>(analysis: &'a Analysis, points: &[&PointAnalysis]) -> Option<&'a FittedLaw> {
    let subject = Subject::Sweep(points.first()?.group);
    let own = analysis.findings.iter().filter(|finding| finding.subject == subject);
    own.filter_map(|finding| Knee::in_detail(&finding.detail)).find_map(|knee| match &knee.law {
        ScalingLaw::Fitted(law) => Some(law.as_ref()),
        ScalingLaw::Ceiling(_) | ScalingLaw::NotFitted { .. } => None,
    })
}

/// The curve of `law` with its band, and a line at its peak; in rows where the rates of `points` are.
fn curve(law: &FittedLaw, points: &[&PointAnalysis], style: SeriesStyle) -> DataSeries {
    let per_op = counted_per_op(points);
    let band = law.curve.iter().map(|place| (place.at, place.ci95[0] * per_op, place.ci95[1] * per_op));
    let line = law.curve.iter().map(|place| (place.at, place.ops_per_s * per_op));
    let mut marks = vec![Mark::Band(band.collect()), Mark::Line(Stroke::Dashed, line.collect())];
    marks.extend(law.peak.map(|peak| Mark::Verticals(vec![(peak.at, format!("peak {:.0}", peak.at))])));
    DataSeries::unnamed(style, marks)
}

/// How much of what the chart counts an operation of `points` is: rows of an insert, else 1.
fn counted_per_op(points: &[&PointAnalysis]) -> f64 {
    let (rate, ..) = rate_of(points);
    let ops: f64 = points.iter().filter_map(|point| point.summary.as_ref()).map(|summary| summary.ops_per_s).sum();
    points.iter().filter_map(|point| (rate.of)(point)).map(|(per_s, _)| per_s).sum::<f64>() / ops.max(f64::MIN_POSITIVE)
}

/// Why a mean may lie above the 99th percentile; empty if none does.
fn tail_note(points: &[&PointAnalysis]) -> String {
    let times = points.iter().filter_map(|point| point.summary.as_ref()?.response_ns);
    let longest = times.filter(|times| times.mean > times.p99 as f64).map(|times| times.max).max();
    longest.map_or(String::new(), |max| {
        format!(
            " If the mean is above the 99th percentile, a few operations took very long: here up to {}.",
            time(max as f64)
        )
    })
}

fn note(points: &[&PointAnalysis]) -> &'static str {
    let mut summaries = points.iter().filter_map(|point| point.summary.as_ref());
    match points.iter().any(|point| point.repeat > 1) {
        true => " Dots: repeats. Lines: their means.",
        false if summaries.any(|summary| summary.ops_per_s_ci95.is_some()) => {
            " Bars: 95 % confidence intervals of the mean."
        }
        false => "",
    }
}

/// `: at most 41,300/s (rndrd, depth 32)`: the highest place that is not invalid.
fn most(split: &Facets, dimension: SweepAxis, rate: &SweepMeasure, unit: &str) -> String {
    let lines =
        split.panels.iter().flat_map(|panel| panel.lines.iter().zip(&split.lines).map(move |line| (panel, line)));
    let places = lines.flat_map(|(panel, (points, line))| {
        let name = format!("{} {line}", panel.name);
        places(points, dimension).into_iter().filter_map(move |(x, repeats)| {
            Some((name.trim().to_owned(), x, rate.of_all(&trusted(&repeats)).filter(|rate| rate.is_finite())?))
        })
    });
    let highest = places.max_by(|a, b| a.2.total_cmp(&b.2));
    highest.map_or(String::new(), |(name, x, y)| {
        let line = if split.is_grid() || split.lines.len() > 1 { format!("{name}, ") } else { String::new() };
        format!(": at most {}{unit} ({line}{} {x})", format::number(y), dimension.as_str())
    })
}

/// The repeats of each place.
pub fn places<'a>(points: &[&'a PointAnalysis], dimension: SweepAxis) -> Vec<(u32, Vec<&'a PointAnalysis>)> {
    let mut all: BTreeMap<u32, Vec<&PointAnalysis>> = BTreeMap::new();
    points.iter().for_each(|point| all.entry(dimension.value_at(point)).or_default().push(point));
    all.into_iter().collect()
}

/// Id and title of a figure.
pub type FigureNames = (String, String);

/// The sweeps with the id and the title of a figure of each, which are its own.
pub fn named<'a>(analysis: &'a Analysis, (id, title): (&str, &str)) -> Vec<(SweepFigure<'a>, FigureNames)> {
    let mut seen: Vec<String> = Vec::new();
    let name = |sweep: SweepFigure<'a>| {
        let base = format!("{id}-{}-{}", format::slug(&sweep.subject), sweep.dimension.as_str());
        let nth = seen.iter().filter(|other| **other == base).count() + 1;
        let (suffix, part) = if nth == 1 { Default::default() } else { (format!("-{nth}"), format!(", part {nth}")) };
        let names = (format!("{base}{suffix}"), format!("{title}, {}{part}", sweep.subject));
        seen.push(base);
        (sweep, names)
    };
    sweeps(analysis).into_iter().map(name).collect()
}

/// All lines of `sweep` in one panel.
pub fn lines(
    analysis: &Analysis,
    sweep: &SweepFigure,
    (id, title): &FigureNames,
    (y, measure): (Axis, &SweepMeasure),
) -> Figure {
    let all = sweep.split.panels.iter().flat_map(|panel| {
        let styled = panel.lines.iter().zip(panel.styles.iter().copied());
        styled.zip(&sweep.split.lines).map(|((points, style), name)| (points, (name, style)))
    });
    let series = all.map(|(points, (name, style))| sweep_series((name, points), sweep.dimension, style, measure));
    let series = series.collect();
    let panel = Panel { title: String::new(), note: String::new(), y, height: 280.0, series, shades: Vec::new() };
    let points = sweep.split.points();
    Figure {
        id: id.clone(),
        title: title.clone(),
        conditions: conditions(analysis, &points),
        caption: String::new(),
        body: FigureBody::Panels { x: x_axis(sweep.dimension, &points), panels: vec![panel] },
    }
}

/// The panels of `sweep` in columns, with a row for each of `rows`.
pub fn multiples(analysis: &Analysis, sweep: &SweepFigure, (id, title): &FigureNames, rows: Vec<GridRow>) -> Figure {
    let (points, split) = (sweep.split.points(), &sweep.split);
    let columns = split.panels.iter().map(|panel| panel.name.clone()).collect();
    Figure {
        id: id.clone(),
        title: title.clone(),
        conditions: conditions(analysis, &points),
        caption: String::new(),
        body: FigureBody::Grid { x: x_axis(sweep.dimension, &points), legend: split.legend(), columns, rows },
    }
}

/// A row of panels: in each the lines of `sweep` there, one for each measure.
pub fn row(sweep: &SweepFigure, y: Axis, measures: &[(&SweepMeasure, Stroke)]) -> GridRow {
    let line = |style: SeriesStyle, points: &[&PointAnalysis], (measure, stroke): &(&SweepMeasure, Stroke)| {
        let series = sweep_series(("", points), sweep.dimension, style, measure);
        stroked(series, *stroke)
    };
    let cell = |panel: &Facet| {
        let drawn = panel.lines.iter().zip(&panel.styles).filter(|(points, _)| !points.is_empty());
        drawn.flat_map(|(points, style)| measures.iter().map(move |measure| line(*style, points, measure))).collect()
    };
    GridRow { y, height: 150.0, cells: sweep.split.panels.iter().map(cell).collect() }
}

/// In a small panel dots are small, and a dashed line has none.
fn stroked(series: DataSeries, stroke: Stroke) -> DataSeries {
    let restroked = |mark: Mark| match (mark, stroke) {
        (Mark::Line(Stroke::Dashed, points), _) => Some(Mark::Line(Stroke::Dashed, points)),
        (Mark::Line(_, points), stroke) => Some(Mark::Line(stroke, points)),
        (_, Stroke::Dashed) => None,
        (Mark::Dots(_, points), _) => Some(Mark::Dots(3.0, points)),
        (Mark::Rings(_, points), _) => Some(Mark::Rings(3.4, points)),
        (other, _) => Some(other),
    };
    DataSeries { marks: series.marks.into_iter().filter_map(restroked).collect(), ..series }
}

/// A logarithmic axis with ticks where points are.
pub(super) fn x_axis(dimension: SweepAxis, points: &[&PointAnalysis]) -> Axis {
    let places: BTreeSet<u32> = points.iter().map(|point| dimension.value_at(point)).collect();
    let label = match dimension {
        SweepAxis::Clients => "clients (log scale)",
        SweepAxis::Depth => "depth: operations in flight per client (log scale)",
    };
    let scale = AxisScale::LogAt(places.into_iter().map(f64::from).collect());
    Axis { label: label.to_owned(), scale, unit: AxisUnit::Count, range: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{panels, quick, scaled};

    #[test]
    fn a_fitted_law_is_drawn_behind_the_rates_with_its_band_and_its_peak() {
        let figure = draw(&scaled()).remove(0);
        let [curve, measured] = panels(&figure)[0].series.as_slice() else { panic!("a curve and a line") };
        let [Mark::Band(band), Mark::Line(Stroke::Dashed, line), Mark::Verticals(peak)] = curve.marks.as_slice() else {
            panic!("{:?}", curve.marks)
        };
        assert_eq!((curve.style, curve.label.as_str()), (measured.style, ""));
        assert!(line.last().is_some_and(|(x, _)| (x - 96.0).abs() < 1e-6), "1.5 times the last count: {line:?}");
        assert!(band.iter().zip(line).all(|((_, low, high), (_, y))| low < y && y < high), "{band:?}");
        assert!((40.0..49.0).contains(&peak[0].0) && peak[0].1.starts_with("peak 4"), "{peak:?}");
        assert!(figure.caption.contains("Universal Scalability Law"), "{}", figure.caption);
        let without = draw(&quick());
        assert!(without.iter().all(|figure| !figure.caption.contains("Scalability")), "three counts have no law");
    }

    #[test]
    fn the_curve_of_a_chart_of_queries_is_of_queries() {
        let mut analysis = scaled();
        for summary in analysis.points.iter_mut().filter_map(|point| point.summary.as_mut()) {
            summary.queries_per_s = 20.0 * summary.ops_per_s;
        }
        let figure = draw(&analysis).remove(0);
        let height = |nth: usize, mark: usize| match &panels(&figure)[0].series[nth].marks[mark] {
            Mark::Line(_, line) => line[0].1,
            other => panic!("{other:?}"),
        };
        assert!((height(0, 1) / height(1, 0) - 1.0).abs() < 0.1, "{} {}", height(0, 1), height(1, 0));
    }
}
