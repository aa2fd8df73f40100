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
mod shades;
mod throughput;
mod timeline;
mod usage;

use crate::facets::Facets;
use crate::sheet::{Dimension, Group, groups};
use analysis::repeats::{WithInterval, combine_plain};
use analysis::{Analysis, IntervalPoint, PointAnalysis, Summary, Validity};
use model::{AccessPattern, Bytes};
use plot::figure::{Axis, AxisUnit, Colour, DataSeries, Figure, Mark, Panel, SeriesStyle, Stroke};
use shades::{shades, shading_note};
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
    /// A run that it draws, for the tests that every chart has to pass; `testing` makes such runs.
    #[cfg(test)]
    pub fixture: fn() -> Analysis,
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

/// The groups by what varies; by their names if that does not distinguish all of them.
fn split_of<'a>(groups: &[Group<'a>]) -> Facets<'a> {
    let points: Vec<&PointAnalysis> = groups.iter().flat_map(|group| group.points.iter().copied()).collect();
    let split = Facets::of_sweep(&points);
    let places = split.panels.iter().flat_map(|panel| &panel.lines).filter(|line| !line.is_empty()).count();
    if places == groups.len() && places > 1 {
        return split;
    }
    Facets::of_groups(groups.iter().map(|group| (group.name.clone(), group.points.clone())).collect())
}

/// Random and sequential modes have figures of their own: a disk does several times as many sequential operations, and lines near 0
/// are of no use.
fn kind_of_access(group: &Group) -> &'static str {
    match group.points[0].traits.work.io.map(|io| io.pattern) {
        Some(AccessPattern::Random) => "random",
        Some(AccessPattern::Sequential) => "sequential",
        None => "",
    }
}

/// Operations per second from 0, with MB/s on the right where all operations of `points` are blocks of one size.
fn ops_axis(points: &[&PointAnalysis], label: &str) -> Axis {
    match bytes_each(points) {
        Some(bytes) => Axis::from_zero(&format!("{label} (left), MB/s (right)"), AxisUnit::CountOf(bytes)),
        None => Axis::from_zero(label, AxisUnit::Count),
    }
}

fn bytes_each(points: &[&PointAnalysis]) -> Option<u32> {
    let each = |summary: &Summary| summary.bytes_per_s / summary.ops_per_s;
    // MB/s of rows are of little use; those of blocks are what a disk is bought for.
    if points.iter().any(|point| point.traits.work.io.is_none_or(|io| io.block == Bytes(0))) {
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
    /// By a function of their own: percentiles are never averaged.
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
/// spread themselves. Invalid points are hollow, and the line to them is dashed.
fn sweep_series(
    (name, points): (&str, &[&PointAnalysis]),
    dimension: Dimension,
    style: SeriesStyle,
    measure: &Measure,
) -> DataSeries {
    let places = sweep_places(points, dimension, measure);
    let x_of = |point: &PointAnalysis| f64::from(dimension.of(point));
    let measured = |point: &&PointAnalysis| Some((x_of(point), (measure.of)(point)?.0));
    let interval = |point: &&PointAnalysis| (measure.of)(point)?.1.map(|[low, high]| (x_of(point), low, high));
    let (invalid, trusted): (Vec<&PointAnalysis>, Vec<&PointAnalysis>) = points.iter().partition(|p| is_invalid(p));
    let has_repeats =
        |point: &PointAnalysis| points.iter().filter(|p| dimension.of(p) == dimension.of(point)).count() > 1;
    let radius = if points.iter().any(|point| has_repeats(point)) { 2.8 } else { 4.0 };
    let alone = trusted.iter().filter(|point| !has_repeats(point));
    let mut marks = vec![
        Mark::Line(Stroke::Solid, trusted_line(&places)),
        Mark::Whiskers(alone.filter_map(interval).collect()),
        Mark::Dots(radius, trusted.iter().filter_map(measured).collect()),
    ];
    if !invalid.is_empty() {
        marks.insert(0, Mark::Line(Stroke::Dashed, doubtful_line(&places)));
        marks.push(Mark::Rings(radius, invalid.iter().filter_map(measured).collect()));
    }
    DataSeries::named(name, style, marks)
}

/// Where a line goes through at one place of a sweep.
struct SweepPlace {
    x: f64,
    y: f64,
    /// Not all its repeats are invalid; those that are do not count.
    is_trusted: bool,
}

fn sweep_places(points: &[&PointAnalysis], dimension: Dimension, measure: &Measure) -> Vec<SweepPlace> {
    let mut repeats: BTreeMap<u32, Vec<&PointAnalysis>> = BTreeMap::new();
    points.iter().for_each(|point| repeats.entry(dimension.of(point)).or_default().push(point));
    let place = |(x, repeats): (&u32, &Vec<&PointAnalysis>)| {
        let trusted = trusted(repeats);
        let is_trusted = !trusted.is_empty();
        let y = measure.of_all(if is_trusted { &trusted } else { repeats })?;
        Some(SweepPlace { x: f64::from(*x), y, is_trusted })
    };
    repeats.iter().filter_map(place).collect()
}

/// Through the places that are trusted, broken at the others.
fn trusted_line(places: &[SweepPlace]) -> Vec<(f64, f64)> {
    places.iter().map(|place| (place.x, if place.is_trusted { place.y } else { f64::NAN })).collect()
}

/// From each place that is not trusted to its neighbours.
fn doubtful_line(places: &[SweepPlace]) -> Vec<(f64, f64)> {
    let joints = places.windows(2).filter(|pair| !(pair[0].is_trusted && pair[1].is_trusted));
    joints.flat_map(|pair| [(pair[0].x, pair[0].y), (pair[1].x, pair[1].y), (pair[1].x, f64::NAN)]).collect()
}

fn is_invalid(point: &PointAnalysis) -> bool {
    point.validity == Validity::Invalid
}

/// The points that are not invalid.
fn trusted<'a>(points: &[&'a PointAnalysis]) -> Vec<&'a PointAnalysis> {
    points.iter().copied().filter(|point| !is_invalid(point)).collect()
}

/// How invalid points are drawn, for captions; empty if all are trusted.
fn invalid_note(points: &[&PointAnalysis]) -> &'static str {
    if points.iter().any(|point| is_invalid(point)) {
        " Hollow: invalid points, which the findings explain."
    } else {
        ""
    }
}

/// The name of a line, with the word that its point is invalid.
fn trusted_name(name: &str, point: &PointAnalysis) -> String {
    if is_invalid(point) { format!("{name} (invalid)").trim_start().to_owned() } else { name.to_owned() }
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
    match counts_queries(points) {
        true => (&QUERIES, Axis::from_zero("queries/s", AxisUnit::Count)),
        false => (&OPS, ops_axis(points, "operations/s")),
    }
}

/// Whether each operation of all `points` that performed any is several queries.
fn counts_queries(points: &[&PointAnalysis]) -> bool {
    let worked = |point: &&&PointAnalysis| point.summary.as_ref().is_some_and(|s| s.ops > 0);
    let mut working = points.iter().filter(worked).peekable();
    working.peek().is_some() && working.all(|point| queries_per_s(point).is_some())
}

/// The mean rate of the repeats of one place.
fn mean_rate(repeats: &[&PointAnalysis]) -> Option<f64> {
    combine_plain(repeats.iter().filter_map(|point| Some(point.summary.as_ref()?.ops_per_s)))
}

/// From the first warmup interval to the end of what is drawn of any of `points`.
fn time_range<'a>(points: impl IntoIterator<Item = &'a PointAnalysis>) -> Option<(f64, f64)> {
    let series = points.into_iter().filter_map(|p| p.series.as_ref()).filter(|series| !series.intervals.is_empty());
    let ends = series.flat_map(|series| {
        let whole = series.intervals.iter().map(|i| (i.at_s, i.at_s + i.length_s));
        // What counts may end with a part of an interval.
        whole.chain([(series.counted.to_s, series.counted.to_s)])
    });
    let finite = ends.filter(|(from, to)| from.is_finite() && to.is_finite());
    finite.reduce(|(low, high), (from, to)| (low.min(from), high.max(to)))
}

/// From the first warmup interval to the end, as an axis.
fn time_axis(range: (f64, f64)) -> Axis {
    Axis::seconds("the run phase began", range)
}

/// Operations per second from 0.
fn rate_axis() -> Axis {
    Axis::from_zero("operations/s", AxisUnit::Count)
}

/// Whether heights may be compared between `panels`, for captions; empty for a single panel.
fn scale_note(panels: &[Panel]) -> &'static str {
    let has_one_scale = panels.windows(2).all(|pair| pair[0].y.range.is_some() && pair[0].y.range == pair[1].y.range);
    match (panels.len() > 1, has_one_scale) {
        (false, _) => "",
        (true, true) => " All panels have one scale.",
        (true, false) => " Each panel has its own scale.",
    }
}

/// The label of a y axis is above the first of the panels that share it.
fn named_once(mut panels: Vec<Panel>) -> Vec<Panel> {
    for nth in (1..panels.len()).rev() {
        if panels[nth].y.label == panels[nth - 1].y.label {
            panels[nth].y.label.clear();
        }
    }
    panels
}

/// The intervals as they are drawn: as recorded, or in bins if there are too many.
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
        Validity::Valid => None,
        other => Some(other.as_str()),
    };
    let marks: Vec<&str> = state.into_iter().chain(validity).collect();
    if marks.is_empty() { label.to_owned() } else { format!("{label} ({})", marks.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{damaged, damaged_variants, quick, set, with_points};
    use plot::figure::FigureBody;

    fn figures(analysis: &Analysis, id: &str) -> Vec<Figure> {
        CHARTS.iter().filter(|c| c.id == id).flat_map(|c| (c.draw)(analysis)).collect()
    }

    #[test]
    fn every_chart_draws_the_run_that_it_brings_with_ids_of_its_own_and_names_n() {
        for chart in CHARTS {
            let figures = (chart.draw)(&(chart.fixture)());
            assert!(!figures.is_empty(), "{} drew nothing", chart.id);
            let ids: std::collections::BTreeSet<&str> = figures.iter().map(|figure| figure.id.as_str()).collect();
            assert_eq!(ids.len(), figures.len(), "{}", chart.id);
            assert!(figures.iter().all(|f| f.id.starts_with(chart.id) && f.caption.contains("n = ")), "{}", chart.id);
        }
    }

    #[test]
    fn no_chart_panics_if_something_is_missing_in_the_run_that_it_brings() {
        for chart in CHARTS {
            for (what, analysis) in damaged_variants(chart.fixture) {
                for figure in (chart.draw)(&analysis) {
                    let svg = plot::render_svg(&figure);
                    assert!(!svg.contains("NaN") && !svg.contains("inf"), "{what}: {} draws {svg}", chart.id);
                }
            }
        }
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
    fn no_chart_panics_whatever_run_it_gets() {
        for (what, analysis) in damaged() {
            for (chart, figures) in all_figures(&analysis) {
                for figure in figures {
                    let svg = plot::render_svg(&figure);
                    assert!(!svg.contains("NaN") && !svg.contains("inf"), "{what}: {} draws {svg}", chart.id);
                }
            }
        }
    }

    #[test]
    fn every_point_has_a_timeline_panel_and_those_of_several_groups_one_together() {
        let panels = |analysis: &Analysis| -> usize {
            let count = |f: &Figure| if let FigureBody::Panels { panels, .. } = &f.body { panels.len() } else { 0 };
            figures(analysis, "timeline").iter().map(count).sum()
        };
        // Three sweeps of three, and four single points with a panel of all.
        assert_eq!((panels(&quick()), panels(&with_points(30))), (9 + 4 + 1, 30));
    }

    #[test]
    fn mb_per_second_stand_on_the_right_where_all_operations_are_blocks_of_one_size() {
        let mut analysis = quick();
        let inserts: Vec<&PointAnalysis> = analysis.points[6..10].iter().collect();
        assert_eq!(ops_axis(&inserts, "operations/s").unit, AxisUnit::Count);
        analysis.points.truncate(6);
        let unit = |analysis: &Analysis| ops_axis(&analysis.points.iter().collect::<Vec<_>>(), "operations/s").unit;
        assert_eq!(unit(&analysis), AxisUnit::CountOf(16_384));
        analysis.points[3].summary.as_mut().unwrap().bytes_per_s *= 0.5;
        assert_eq!(unit(&analysis), AxisUnit::Count);
        analysis.points.iter_mut().for_each(|p| p.summary.as_mut().unwrap().bytes_per_s = 0.0);
        assert_eq!(unit(&analysis), AxisUnit::Count);
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
            let FigureBody::Panels { panels, .. } = figures(&repeated(), id).remove(0).body else { panic!("panels") };
            let Mark::Line(_, line) = &panels[0].series[0].marks[0] else { panic!("a line") };
            line.clone()
        };
        assert_eq!(line("throughput"), [(1.0, 10.0), (8.0, 500.0)]);
        let p95 = line("p95");
        assert!((p95[1].1 - 9_000.0).abs() < 50.0, "{p95:?}"); // the mean of both would be 5,000
    }

    #[test]
    fn an_invalid_point_is_hollow_off_the_line_and_not_in_the_title() {
        let mut analysis = with_points(3);
        for (point, rate) in analysis.points.iter_mut().zip([100.0, 9_000.0, 300.0]) {
            (point.summary.as_mut().unwrap().ops_per_s, point.summary.as_mut().unwrap().queries_per_s) = (rate, rate);
        }
        analysis.points[1].validity = Validity::Invalid;
        let figure = figures(&analysis, "throughput").remove(0);
        assert!(figure.title.contains("at most 300/s") && !figure.title.contains("9,000"), "{}", figure.title);
        assert!(figure.caption.contains("Hollow: invalid points"), "{}", figure.caption);
        let [panel] = crate::testing::panels(&figure) else { panic!("one panel") };
        let [
            Mark::Line(Stroke::Dashed, doubtful),
            Mark::Line(Stroke::Solid, line),
            _,
            Mark::Dots(_, dots),
            Mark::Rings(_, rings),
        ] = panel.series[0].marks.as_slice()
        else {
            panic!("{:?}", panel.series[0].marks)
        };
        assert_eq!((dots.as_slice(), rings.as_slice()), (&[(1.0, 100.0), (3.0, 300.0)][..], &[(2.0, 9_000.0)][..]));
        assert!(line[1].1.is_nan() && doubtful[1] == (2.0, 9_000.0), "{line:?} {doubtful:?}");
        for point in &mut analysis.points {
            point.validity = Validity::Invalid;
        }
        let title = figures(&analysis, "throughput").remove(0).title;
        assert!(!title.contains("at most"), "{title}");
    }

    #[test]
    fn an_invalid_repeat_is_hollow_and_not_in_the_mean() {
        let mut analysis = repeated();
        analysis.points[1].validity = Validity::Invalid;
        let figure = figures(&analysis, "throughput").remove(0);
        let marks = &crate::testing::panels(&figure)[0].series[0].marks;
        let Mark::Line(Stroke::Solid, line) = &marks[1] else { panic!("a line") };
        assert_eq!(line.as_slice(), [(1.0, 10.0), (8.0, 100.0)]);
    }

    #[test]
    fn intervals_are_drawn_where_there_are_no_repeats() {
        let FigureBody::Panels { panels, .. } = figures(&repeated(), "throughput").remove(0).body else {
            panic!("panels")
        };
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
}
