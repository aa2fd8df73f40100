//! The charts: each looks at an analysis and makes its figures, or none where the analysis has nothing for it.
//!
//! In: an [`Analysis`]. Out: [`Figure`]s. To add a chart, write one file here and one line in [`CHARTS`].
//! Limits: a chart draws what is there; it never fills a gap with a number.

mod boxes;
pub mod cost;
mod curve;
mod inserts;
mod p95;
mod percentiles;
mod resources;
mod rounds;
mod throughput;
mod timeline;
mod usage;

use crate::facets::Facets;
use crate::figure::{Axis, Colour, Figure, Mark, Panel, Series, Shade, ShadeKind, Stroke, Unit};
use crate::sheet::{Dimension, Group, groups};
use analysis::repeats::{WithInterval, combine_plain};
use analysis::{Analysis, Code, IntervalPoint, LevelSpan, PointAnalysis, Shape, Span, Summary};
use std::collections::BTreeMap;

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
    &usage::CHART,
    &rounds::CHART,
    &inserts::CHART,
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

/// Sweeps over clients or depth that have much in common: workload, kind of access, step and dimension.
struct Sweep<'a> {
    dimension: Dimension,
    /// What they have in common, in words.
    subject: String,
    /// Their points by what distinguishes them.
    split: Facets<'a>,
}

/// The groups with at least two places in a sweep, by what they have in common. A sweep without panels has at most [`LINES_MAX`]
/// lines, and is several where there are more.
fn sweeps(analysis: &Analysis) -> Vec<Sweep<'_>> {
    let mut families: Vec<(Dimension, String, Vec<Group>)> = Vec::new();
    for group in groups(analysis) {
        let Some(dimension) = group.dimension() else { continue };
        let subject = subject(&group);
        match families.iter_mut().find(|family| family.0 == dimension && family.1 == subject) {
            Some(family) => family.2.push(group),
            None => families.push((dimension, subject, vec![group])),
        }
    }
    let mut sweeps = Vec::new();
    for (dimension, subject, groups) in families {
        let parts = split_of(&groups).parts(LINES_MAX).into_iter();
        sweeps.extend(parts.map(|split| Sweep { dimension, subject: subject.clone(), split }));
    }
    sweeps
}

/// `file random`, `insert l.i1`
fn subject(group: &Group) -> String {
    format!("{} {}", group.family(), kind_of_access(group)).trim_end().to_owned()
}

/// The groups by what varies; by their names where that does not tell all of them apart.
fn split_of<'a>(groups: &[Group<'a>]) -> Facets<'a> {
    let points: Vec<&PointAnalysis> = groups.iter().flat_map(|group| group.points.iter().copied()).collect();
    let split = Facets::of_sweep(&points);
    let places = split.panels.iter().flat_map(|panel| &panel.lines).filter(|line| !line.is_empty()).count();
    if places == groups.len() && places > 1 {
        return split;
    }
    Facets::of_groups(groups.iter().map(|group| (group.name.clone(), group.points.clone())).collect())
}

/// Random and sequential modes stand apart: a disk does some times more of the second, and lines at the floor say nothing.
fn kind_of_access(group: &Group) -> &'static str {
    match group.points[0].settings.word("mode") {
        Some("rndrd" | "rndwr" | "rndrw") => "random",
        Some("seqrd" | "seqwr") => "sequential",
        _ => "",
    }
}

/// Operations per second from 0, with MB/s on the right where all operations of `points` are blocks of one size.
fn ops_axis(points: &[&PointAnalysis], label: &str) -> Axis {
    match bytes_each(points) {
        Some(bytes) => Axis::from_zero(&format!("{label} (left), MB/s (right)"), Unit::CountOf(bytes)),
        None => Axis::from_zero(label, Unit::Count),
    }
}

fn bytes_each(points: &[&PointAnalysis]) -> Option<u32> {
    let each = |summary: &Summary| summary.bytes_per_s / summary.ops_per_s;
    // The payload of a row says little; that of a block is what a disk is bought for.
    if points.iter().any(|point| point.settings.get("block").is_none()) {
        return None;
    }
    let worked = |point: &&PointAnalysis| point.summary.as_ref().filter(|s| s.ops_per_s > 0.0).map(each);
    let mut sizes = points.iter().filter_map(worked);
    let first = sizes.next().filter(|size| size.is_finite() && *size >= 1.0 && *size < f64::from(u32::MAX))?;
    let whole = first.round();
    let is_whole = |size: f64| (size - whole).abs() < 1e-6 * whole;
    (is_whole(first) && sizes.all(is_whole)).then_some(whole as u32)
}

/// What is drawn upwards over clients or depth.
struct Measure {
    /// Of one point.
    of: fn(&PointAnalysis) -> Option<WithInterval>,
    /// How the repeats of one place are taken together.
    together: Together,
}

/// How the repeats of one place become one value.
enum Together {
    /// Their mean.
    Mean,
    /// As this says: percentiles are never averaged.
    As(fn(&[&PointAnalysis]) -> Option<f64>),
}

impl Measure {
    fn of_all(&self, repeats: &[&PointAnalysis]) -> Option<f64> {
        match self.together {
            Together::Mean => combine_plain(repeats.iter().filter_map(|point| Some((self.of)(point)?.0))),
            Together::As(together) => together(repeats),
        }
    }
}

/// One line through the places, a dot per point, and an interval for a point that has one and no repeats: those show their
/// spread themselves.
fn sweep_series(
    (name, points): (&str, &[&PointAnalysis]),
    dimension: Dimension,
    colour: Colour,
    measure: &Measure,
) -> Series {
    let mut places: BTreeMap<u32, Vec<&PointAnalysis>> = BTreeMap::new();
    points.iter().for_each(|point| places.entry(dimension.of(point)).or_default().push(point));
    let x_of = |point: &PointAnalysis| f64::from(dimension.of(point));
    let measured = |point: &&PointAnalysis| Some((x_of(point), (measure.of)(point)?));
    let interval = |point: &&PointAnalysis| (measure.of)(point)?.1.map(|[low, high]| (x_of(point), low, high));
    let line = places.iter().filter_map(|(x, repeats)| Some((f64::from(*x), measure.of_all(repeats)?)));
    let dots = points.iter().filter_map(measured).map(|(x, (y, _))| (x, y)).collect();
    let alone = places.values().filter(|repeats| repeats.len() == 1).flatten();
    let radius = if places.len() == points.len() { 4.0 } else { 2.8 };
    let marks = vec![
        Mark::Line(Stroke::Solid, line.collect()),
        Mark::Whiskers(alone.filter_map(interval).collect()),
        Mark::Dots(radius, dots),
    ];
    Series { label: name.to_owned(), colour, marks }
}

/// Operations per second.
const OPS: Measure =
    Measure { of: |p| p.summary.as_ref().map(|s| (s.ops_per_s, s.ops_per_s_ci95)), together: Together::Mean };

/// Queries per second, of which each operation is several.
const QUERIES: Measure =
    Measure { of: |p| Some((queries_per_s(p)?, p.summary.as_ref()?.queries_per_s_ci95)), together: Together::Mean };

fn queries_per_s(point: &PointAnalysis) -> Option<f64> {
    point.summary.as_ref().filter(|s| s.has_queries()).map(|s| s.queries_per_s)
}

/// The rate that is drawn of `points`, with its axis: queries where each operation of all of them is several.
fn rate_of(points: &[&PointAnalysis]) -> (&'static Measure, Axis) {
    let worked = |point: &&&PointAnalysis| point.summary.as_ref().is_some_and(|s| s.ops > 0);
    let mut working = points.iter().filter(worked).peekable();
    match working.peek().is_some() && working.all(|point| queries_per_s(point).is_some()) {
        true => (&QUERIES, Axis::from_zero("queries/s", Unit::Count)),
        false => (&OPS, ops_axis(points, "operations/s")),
    }
}

/// The mean rate of the repeats of one place.
fn mean_rate(repeats: &[&PointAnalysis]) -> Option<f64> {
    combine_plain(repeats.iter().filter_map(|point| Some(point.summary.as_ref()?.ops_per_s)))
}

/// From the first warmup interval to the end of the last interval of any of `points`.
fn time_range<'a>(points: impl IntoIterator<Item = &'a PointAnalysis>) -> Option<(f64, f64)> {
    let intervals = points.into_iter().filter_map(|p| p.series.as_ref()).flat_map(|s| &s.intervals);
    let whole = |range: Option<(f64, f64)>, i: &IntervalPoint| {
        let (from, to) = range.unwrap_or((i.at_s, i.at_s + i.length_s));
        Some((from.min(i.at_s), to.max(i.at_s + i.length_s)))
    };
    intervals.filter(|i| i.at_s.is_finite() && i.length_s.is_finite()).fold(None, whole)
}

/// The warmup and rounds that do not count in grey, the window of those that do in blue, stalls in red, drops in yellow, and a
/// violet line where the level shifted.
fn shades(point: &PointAnalysis) -> Vec<Shade> {
    let Some(series) = &point.series else { return Vec::new() };
    let start = series.intervals.first().map_or(0.0, |i| i.at_s);
    let warmup = (start < 0.0).then_some(Shade { from: start, to: 0.0, kind: ShadeKind::Warmup });
    let window = point.rounds.as_ref().and_then(|rounds| rounds.window).map(|_| series.counted);
    let before = window.filter(|window| window.from_s > 0.0).map(|window| window.from_s);
    let before = before.map(|to| Shade { from: 0.0, to, kind: ShadeKind::NotCounted });
    let window = window.map(|w| Shade { from: w.from_s, to: w.to_s, kind: ShadeKind::Window });
    let disturbed = point.shape.iter().flat_map(|shape| disturbances(point, shape));
    warmup.into_iter().chain(before).chain(window).chain(disturbed).collect()
}

fn disturbances(point: &PointAnalysis, shape: &Shape) -> Vec<Shade> {
    let shade = |span: &Span, kind| Shade { from: span.from_s, to: span.to_s, kind };
    let stalls = shape.stalls.iter().map(|stall| shade(&stall.span, ShadeKind::Stall));
    let drops = shape.drops.iter().map(|drop| shade(&drop.span, ShadeKind::Drop));
    stalls.chain(drops).chain(shifts(point, shape)).collect()
}

/// The beginnings of all levels but the first, if the point has the finding `level-shift`.
fn shifts(point: &PointAnalysis, shape: &Shape) -> Vec<Shade> {
    let is_found = point.findings.iter().any(|finding| finding.code() == Code::LevelShift);
    let levels: &[LevelSpan] = if is_found { &shape.levels } else { &[] };
    let begins = levels.iter().skip(1).map(|level| level.span.from_s);
    begins.map(|at| Shade { from: at, to: at, kind: ShadeKind::Shift }).collect()
}

const SHADE_WORDS: [(ShadeKind, &str); 4] = [
    (ShadeKind::Window, " Blue: the rounds that count."),
    (ShadeKind::Stall, " Red: stall."),
    (ShadeKind::Drop, " Yellow: drop."),
    (ShadeKind::Shift, " Violet line: the level shifted."),
];

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
    let mut note = grey.to_owned();
    note.extend(SHADE_WORDS.iter().filter(|(kind, _)| has(*kind)).map(|(_, words)| *words));
    if !note.is_empty() && !has(ShadeKind::Stall) {
        note += " No stall was found.";
    }
    note
}

/// The label of a y axis stands above the first of the panels that share it.
fn named_once(mut panels: Vec<Panel>) -> Vec<Panel> {
    for nth in (1..panels.len()).rev() {
        if panels[nth].y.label == panels[nth - 1].y.label {
            panels[nth].y.label.clear();
        }
    }
    panels
}

/// The intervals as they are drawn: as recorded, or in bins where there are too many.
fn drawn_intervals(point: &PointAnalysis) -> Vec<&IntervalPoint> {
    let Some(series) = &point.series else { return Vec::new() };
    match series.bins.is_empty() {
        true => series.intervals.iter().collect(),
        false => series.bins.iter().map(|bin| &bin.all).collect(),
    }
}

/// A line, with a dot per value while there is room for dots.
fn line_with_dots(points: Vec<(f64, f64)>) -> Vec<Mark> {
    let dots = if points.len() > 150 { Vec::new() } else { points.clone() };
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
    use crate::testing::{damaged, quick, set, settled, with_points};
    use analysis::finding::rates::LevelShifts;

    fn figures(analysis: &Analysis, id: &str) -> Vec<Figure> {
        CHARTS.iter().filter(|c| c.id == id).flat_map(|c| (c.draw)(analysis)).collect()
    }

    #[test]
    fn every_chart_draws_the_quick_run_or_one_until_steady_or_one_of_inserts() {
        let runs = [quick(), settled(), crate::testing::inserting(&[("indexes", &["0", "3"])], 60)];
        for chart in CHARTS {
            assert!(runs.iter().any(|run| !(chart.draw)(run).is_empty()), "{} drew nothing", chart.id);
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
    fn every_point_has_a_timeline_panel_and_those_of_several_groups_one_together() {
        let panels = |analysis: &Analysis| -> usize {
            let count = |f: &Figure| if let Body::Panels { panels, .. } = &f.body { panels.len() } else { 0 };
            figures(analysis, "timeline").iter().map(count).sum()
        };
        // Three sweeps of three, and four single points with a panel of all.
        assert_eq!((panels(&quick()), panels(&with_points(30))), (9 + 4 + 1, 30));
    }

    #[test]
    fn mb_per_second_stand_on_the_right_where_all_operations_are_blocks_of_one_size() {
        let mut analysis = quick();
        let inserts: Vec<&PointAnalysis> = analysis.points[6..10].iter().collect();
        assert_eq!(ops_axis(&inserts, "operations/s").unit, Unit::Count);
        analysis.points.truncate(6);
        let unit = |analysis: &Analysis| ops_axis(&analysis.points.iter().collect::<Vec<_>>(), "operations/s").unit;
        assert_eq!(unit(&analysis), Unit::CountOf(16_384));
        analysis.points[3].summary.as_mut().unwrap().bytes_per_s *= 0.5;
        assert_eq!(unit(&analysis), Unit::Count);
        analysis.points.iter_mut().for_each(|p| p.summary.as_mut().unwrap().bytes_per_s = 0.0);
        assert_eq!(unit(&analysis), Unit::Count);
    }

    #[test]
    fn random_and_sequential_access_are_two_figures() {
        let mut analysis = quick();
        analysis.points.truncate(6);
        for point in analysis.points.iter_mut().skip(3) {
            set(point, "mode", "seqrd");
        }
        let titles: Vec<String> = figures(&analysis, "throughput").into_iter().map(|f| f.title).collect();
        assert!(titles[0].contains("file random") && titles[1].contains("file sequential"), "{titles:?}");
    }

    #[test]
    fn a_sweep_draws_one_line_per_group() {
        let drawn = figures(&quick(), "throughput");
        let titles: Vec<&str> = drawn.iter().map(|f| f.id.as_str()).collect();
        assert_eq!(titles, ["throughput-file-random-depth", "throughput-oltp-clients"]);
    }

    /// Two points at eight clients, with 100 fast operations and 900 slow ones, and one at one client.
    fn repeated() -> Analysis {
        let mut analysis = with_points(3);
        for (point, (clients, repeat, ops, ns)) in
            analysis.points.iter_mut().zip([(8, 1, 100, 1_000), (8, 2, 900, 9_000), (1, 1, 10, 500)])
        {
            (point.clients, point.repeat) = (clients, repeat);
            let (summary, series) = (point.summary.as_mut().unwrap(), point.series.as_mut().unwrap());
            (summary.ops_per_s, summary.queries_per_s) = (ops as f64, ops as f64);
            summary.response_ns = summary.response_ns.map(|times| analysis::Quantiles { p95: ns, ..times });
            series.response = model::histogram::new_hdr();
            series.response.record_n(ns, ops).unwrap();
        }
        analysis
    }

    #[test]
    fn the_line_goes_through_the_mean_rate_of_repeats_and_the_percentile_of_all_their_operations() {
        let line = |id: &str| {
            let Body::Panels { panels, .. } = figures(&repeated(), id).remove(0).body else { panic!("panels") };
            let Mark::Line(_, line) = &panels[0].series[0].marks[0] else { panic!("a line") };
            line.clone()
        };
        assert_eq!(line("throughput"), [(1.0, 10.0), (8.0, 500.0)]);
        let p95 = line("p95");
        assert!((p95[1].1 - 9_000.0).abs() < 50.0, "{p95:?}"); // the mean of both would be 5,000
    }

    #[test]
    fn intervals_are_drawn_where_there_are_no_repeats() {
        let Body::Panels { panels, .. } = figures(&repeated(), "throughput").remove(0).body else { panic!("panels") };
        let Mark::Whiskers(intervals) = &panels[0].series[0].marks[1] else { panic!("whiskers") };
        assert_eq!(intervals.iter().map(|bar| bar.0).collect::<Vec<_>>(), [1.0]);
    }

    #[test]
    fn a_hundred_groups_are_spread_over_several_figures() {
        let mut analysis = with_points(200);
        for (i, point) in analysis.points.iter_mut().enumerate() {
            point.group = i / 2;
            point.clients = 1 + (i % 2) as u32;
        }
        let figures = figures(&analysis, "throughput");
        assert_eq!(figures.len(), 100usize.div_ceil(LINES_MAX));
    }

    #[test]
    fn drops_and_shifts_are_shaded_and_named_where_they_are_told() {
        let mut analysis = quick();
        let point = &mut analysis.points[0];
        let span = |from_s, to_s| Span { from_s, to_s };
        let level = |span, ops_per_s| LevelSpan { span, ops_per_s, deviation: 1.0 };
        let shape = point.shape.as_mut().unwrap();
        shape.drops = vec![analysis::DropSpan { span: span(0.5, 1.0), from_per_s: 148.0, to_per_s: 87.0 }];
        shape.levels = vec![level(span(0.0, 2.5), 148.0), level(span(2.5, 4.0), 110.0)];
        assert_eq!(shading_note(&[point]), " Grey: warmup. Yellow: drop. No stall was found.");
        let shifts = LevelShifts {
            levels: point.shape.as_ref().unwrap().levels.clone(),
            interval_ns: model::Nanos::from_millis(250),
        };
        point.findings.push(analysis::Finding::new(analysis::Severity::Note, shifts));
        assert!(shades(point).contains(&Shade { from: 2.5, to: 2.5, kind: ShadeKind::Shift }));
        assert_eq!(shades(point).iter().filter(|shade| shade.kind == ShadeKind::Shift).count(), 1);
        let figure = &figures(&analysis, "timeline")[0];
        assert!(figure.caption.contains(" Yellow: drop. Violet line: the level shifted."), "{}", figure.caption);
        let svg = crate::render::svg(figure);
        assert!(svg.contains("f-drop") && svg.contains("f-shift"), "both are drawn");
    }
}
