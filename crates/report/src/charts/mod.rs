//! The charts: each looks at an analysis and makes its figures, or none where the analysis has nothing for it.
//!
//! In: an [`Analysis`]. Out: [`Figure`]s. To add a chart, write one file here and one line in [`CHARTS`].
//! Limits: a chart draws what is there; it never fills a gap with a number.

mod boxes;
pub mod cost;
mod curve;
mod p95;
mod percentiles;
mod resources;
mod rounds;
mod throughput;
mod timeline;

use crate::figure::{Colour, Figure, Mark, Series, Shade, ShadeKind, Stroke};
use crate::sheet::{Dimension, Group, groups};
use analysis::{Analysis, PointAnalysis};

/// A sort of chart.
pub struct Chart {
    /// The beginning of its figures' ids.
    pub id: &'static str,
    /// The heading above its figures.
    pub title: &'static str,
    /// How to read it, in one or two sentences.
    pub help: &'static str,
    /// Makes its figures: one per sheet of points, sweep or point, as suits the chart.
    pub draw: fn(&Analysis) -> Vec<Figure>,
}

/// Every chart, in the order of the report.
pub const CHARTS: &[&Chart] = &[
    &throughput::CHART,
    &p95::CHART,
    &rounds::CHART,
    &timeline::CHART,
    &percentiles::CHART,
    &boxes::CHART,
    &curve::CHART,
    &cost::CHART,
    &resources::CHART,
];

/// Every chart with the figures that it makes of `analysis`.
pub fn all_figures(analysis: &Analysis) -> Vec<(&'static Chart, Vec<Figure>)> {
    CHARTS.iter().map(|chart| (*chart, (chart.draw)(analysis))).collect()
}

/// The columns of the cost chart, for the tables of the documents.
pub fn cost_columns() -> &'static [cost::CostColumn] {
    &cost::COLUMNS
}

/// Lines in one figure before a further one is begun: as many as there are colours.
const LINES_MAX: usize = Colour::ALL.len();

/// The groups with at least two places in a sweep, by workload and dimension, at most [`LINES_MAX`] to a figure.
fn sweeps(analysis: &Analysis) -> Vec<(Dimension, Vec<Group<'_>>)> {
    let mut sweeps: Vec<(Dimension, Vec<Group>)> = Vec::new();
    for group in groups(analysis) {
        let Some(dimension) = group.dimension() else { continue };
        let fits = |s: &&mut (Dimension, Vec<Group>)| {
            s.0 == dimension && s.1[0].workload == group.workload && s.1.len() < LINES_MAX
        };
        match sweeps.iter_mut().find(fits) {
            Some(sweep) => sweep.1.push(group),
            None => sweeps.push((dimension, vec![group])),
        }
    }
    sweeps
}

/// One line through the mean of each place, a dot per point, and an interval per point that has one.
/// `value` gives the value with its interval.
fn sweep_series(
    group: &Group,
    dimension: Dimension,
    colour: Colour,
    value: impl Fn(&PointAnalysis) -> Option<(f64, Option<[f64; 2]>)>,
) -> Series {
    let measured: Vec<_> = group.points.iter().filter_map(|p| Some((f64::from(dimension.of(p)), value(p)?))).collect();
    let dots: Vec<_> = measured.iter().map(|(x, (y, _))| (*x, *y)).collect();
    let intervals = measured.iter().filter_map(|(x, (_, ci))| ci.map(|[low, high]| (*x, low, high))).collect();
    let marks = vec![Mark::Line(Stroke::Solid, means(&dots)), Mark::Whiskers(intervals), Mark::Dots(4.0, dots)];
    Series { label: group.name.to_owned(), colour, marks }
}

fn means(dots: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut xs: Vec<f64> = dots.iter().map(|d| d.0).collect();
    xs.sort_by(f64::total_cmp);
    xs.dedup();
    let mean = |x: f64| {
        let at: Vec<f64> = dots.iter().filter(|d| d.0 == x).map(|d| d.1).collect();
        (x, at.iter().sum::<f64>() / at.len() as f64)
    };
    xs.into_iter().map(mean).collect()
}

/// From the first warmup interval to the end of the last interval of any of `points`.
fn time_range<'a>(points: impl IntoIterator<Item = &'a PointAnalysis>) -> Option<(f64, f64)> {
    let intervals = points.into_iter().filter_map(|p| p.series.as_ref()).flat_map(|s| &s.intervals);
    let whole = |range: Option<(f64, f64)>, i: &analysis::IntervalPoint| {
        let (from, to) = range.unwrap_or((i.at_s, i.at_s + i.length_s));
        Some((from.min(i.at_s), to.max(i.at_s + i.length_s)))
    };
    intervals.filter(|i| i.at_s.is_finite() && i.length_s.is_finite()).fold(None, whole)
}

/// The warmup and rounds that do not count in grey, the window of those that do in blue, the stalls in red.
fn shades(point: &PointAnalysis) -> Vec<Shade> {
    let Some(series) = &point.series else { return Vec::new() };
    let start = series.intervals.first().map_or(0.0, |i| i.at_s);
    let warmup = (start < 0.0).then_some(Shade { from: start, to: 0.0, kind: ShadeKind::Warmup });
    let window = point.rounds.as_ref().and_then(|rounds| rounds.window).map(|_| series.counted);
    let before = window.filter(|window| window.from_s > 0.0).map(|window| window.from_s);
    let before = before.map(|to| Shade { from: 0.0, to, kind: ShadeKind::NotCounted });
    let window = window.map(|w| Shade { from: w.from_s, to: w.to_s, kind: ShadeKind::Window });
    let stalls = series.stalls.iter().map(|s| Shade { from: s.from_s, to: s.to_s, kind: ShadeKind::Stall });
    warmup.into_iter().chain(before).chain(window).chain(stalls).collect()
}

/// What the shading means, where there is any: for captions.
fn shading_note(points: &[&PointAnalysis]) -> String {
    let shades: Vec<Shade> = points.iter().flat_map(|p| shades(p)).collect();
    let has = |kind| shades.iter().any(|s| s.kind == kind);
    let grey = match (has(ShadeKind::Warmup), has(ShadeKind::NotCounted)) {
        (true, true) => " Grey: warmup, and rounds that do not count.",
        (true, false) => " Grey: warmup.",
        (false, true) => " Grey: rounds that do not count.",
        (false, false) => "",
    };
    let blue = if has(ShadeKind::Window) { " Blue: the rounds that count." } else { "" };
    let red = match has(ShadeKind::Stall) {
        true => " Red: stall.",
        false if grey.is_empty() && blue.is_empty() => "",
        false => " No stall was found.",
    };
    format!("{grey}{blue}{red}")
}

/// A line, with a dot per value while there is room for dots.
fn line_with_dots(points: Vec<(f64, f64)>) -> Vec<Mark> {
    let dots = if points.len() > 300 { Vec::new() } else { points.clone() };
    vec![Mark::Line(Stroke::Solid, points), Mark::Dots(2.0, dots)]
}

/// The label of a point in a panel's title, with its state and validity where they are not the best.
fn marked(label: &str, point: &PointAnalysis) -> String {
    let state = match point.state {
        model::PointState::Complete => None,
        other => Some(other.as_str()),
    };
    let validity = match point.validity {
        analysis::Validity::Valid => None,
        other => Some(other.as_str()),
    };
    let marks: Vec<&str> = state.into_iter().chain(validity).collect();
    if marks.is_empty() { label.to_owned() } else { format!("{label} ({})", marks.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Body;
    use crate::testing::{damaged, quick, settled, with_points};

    fn figures(analysis: &Analysis, id: &str) -> Vec<Figure> {
        CHARTS.iter().filter(|c| c.id == id).flat_map(|c| (c.draw)(analysis)).collect()
    }

    #[test]
    fn every_chart_draws_the_quick_run_or_one_until_steady() {
        for ((chart, figures), (_, by_rounds)) in all_figures(&quick()).into_iter().zip(all_figures(&settled())) {
            assert!(!figures.is_empty() || !by_rounds.is_empty(), "{} drew nothing", chart.id);
        }
    }

    #[test]
    fn what_is_shaded_is_explained() {
        let note = |analysis: &Analysis| shading_note(&[&analysis.points[0]]);
        assert_eq!(note(&quick()), " Grey: warmup. No stall was found.");
        let expected = " Grey: warmup, and rounds that do not count. Blue: the rounds that count. No stall was found.";
        assert_eq!(note(&settled()), expected);
    }

    #[test]
    fn every_figure_has_an_id_of_its_own_and_names_n() {
        let all = all_figures(&quick());
        let figures: Vec<&Figure> = all.iter().flat_map(|(_, f)| f).collect();
        let ids: std::collections::BTreeSet<&str> = figures.iter().map(|f| f.id.as_str()).collect();
        assert_eq!(ids.len(), figures.len());
        for (chart, figures) in &all {
            assert!(figures.iter().all(|f| f.id.starts_with(chart.id) && f.caption.contains("n = ")), "{}", chart.id);
        }
    }

    #[test]
    fn no_chart_panics_where_something_is_missing() {
        for (what, analysis) in damaged() {
            for (chart, figures) in all_figures(&analysis) {
                for figure in figures {
                    let svg = crate::render::svg(&figure);
                    assert!(!svg.contains("NaN") && !svg.contains("inf"), "{what}: {} draws {svg}", chart.id);
                }
            }
        }
    }

    #[test]
    fn every_point_has_a_timeline_panel() {
        let panels = |analysis: &Analysis| -> usize {
            let count = |f: &Figure| if let Body::Panels { panels, .. } = &f.body { panels.len() } else { 0 };
            figures(analysis, "timeline").iter().map(count).sum()
        };
        assert_eq!((panels(&quick()), panels(&with_points(30))), (13, 30));
    }

    #[test]
    fn a_sweep_draws_one_line_per_group_through_the_mean_of_repeats() {
        assert_eq!(means(&[(8.0, 10.0), (1.0, 4.0), (8.0, 20.0)]), [(1.0, 4.0), (8.0, 15.0)]);
        let drawn = figures(&quick(), "throughput");
        let titles: Vec<&str> = drawn.iter().map(|f| f.id.as_str()).collect();
        assert_eq!(titles, ["throughput-file-depth", "throughput-oltp-clients"]);
    }

    #[test]
    fn a_hundred_groups_are_spread_over_several_figures() {
        let mut analysis = with_points(200);
        for (i, point) in analysis.points.iter_mut().enumerate() {
            point.group = format!("group {}", i / 2);
            point.clients = 1 + (i % 2) as u32;
        }
        let figures = figures(&analysis, "throughput");
        assert_eq!(figures.len(), 100usize.div_ceil(LINES_MAX));
    }
}
