//! Lines over clients or depth: which points make a sweep, and how its lines are drawn.
//!
//! In: an [`Analysis`], and the [`SweepMeasure`] to draw. Out: [`SweepFigure`]s and their series. Limits: percentiles of repeats are never
//! averaged; a measure of them brings a function of its own.

use super::axes::ops_axis;
use super::marks::{is_invalid, trusted};
use crate::facets::Facets;
pub(super) use crate::facets::LINES_MAX;
use crate::palette::Palette;
use crate::sheet::{Group, SweepAxis, groups};
use crate::wording::metric::ops_word;
use analysis::math::repeats::{WithInterval, combine_plain};
use analysis::points::metric::shared_unit;
use analysis::points::work::WorkUnit;
use analysis::{Analysis, PointAnalysis};
use model::AccessPattern;
use plot::figure::{Axis, AxisUnit, DataSeries, Mark, SeriesStyle, Stroke};
use std::collections::BTreeMap;

/// Sweeps over clients or depth that have much in common: workload, kind of access, step and dimension.
pub(super) struct SweepFigure<'a> {
    pub(super) dimension: SweepAxis,
    /// What they have in common, in words.
    pub(super) subject: String,
    /// Their points by what distinguishes them.
    pub(super) split: Facets<'a>,
}

/// The groups with at least two places in a sweep, by what they have in common. A sweep without panels has at most [`LINES_MAX`]
/// lines, and is several if there are more.
pub(super) fn sweeps(analysis: &Analysis) -> Vec<SweepFigure<'_>> {
    let mut families: Vec<(SweepAxis, String, Vec<Group>)> = Vec::new();
    for group in groups(analysis) {
        let Some(dimension) = group.dimension() else { continue };
        let subject = subject(&group);
        match families.iter_mut().find(|family| family.0 == dimension && family.1 == subject) {
            Some(family) => family.2.push(group),
            None => families.push((dimension, subject, vec![group])),
        }
    }
    let palette = Palette::new(analysis);
    let mut sweeps = Vec::new();
    for (dimension, subject, groups) in families {
        let parts = split_of(&groups, &palette).parts(LINES_MAX).into_iter();
        sweeps.extend(parts.map(|split| SweepFigure { dimension, subject: subject.clone(), split }));
    }
    sweeps
}

/// `file random`, `insert l.i1`
fn subject(group: &Group) -> String {
    format!("{} {}", group.family(), kind_of_access(group)).trim_end().to_owned()
}

/// The groups by what varies; by their names if that does not distinguish all of them.
fn split_of<'a>(groups: &[Group<'a>], palette: &Palette) -> Facets<'a> {
    let points: Vec<&PointAnalysis> = groups.iter().flat_map(|group| group.points.iter().copied()).collect();
    let split = Facets::of_sweep(&points, palette);
    let places = split.panels.iter().flat_map(|panel| &panel.lines).filter(|line| !line.is_empty()).count();
    if places == groups.len() && places > 1 {
        return split;
    }
    Facets::of_groups(groups.iter().map(|group| (group.name.clone(), group.points.clone())).collect(), palette)
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

/// What is drawn upwards over clients or depth.
pub(super) struct SweepMeasure {
    pub(super) of: fn(&PointAnalysis) -> Option<WithInterval>,
    /// How the repeats of one place are taken together.
    pub(super) together: Together,
}

/// How the repeats of one place become one value.
pub(super) enum Together {
    Mean,
    /// By a function of their own: percentiles are never averaged.
    As(fn(&[&PointAnalysis]) -> Option<f64>),
}

impl SweepMeasure {
    pub(super) fn of_all(&self, repeats: &[&PointAnalysis]) -> Option<f64> {
        match self.together {
            Together::Mean => combine_plain(repeats.iter().filter_map(|point| Some((self.of)(point)?.0))),
            Together::As(together) => together(repeats),
        }
    }
}

/// One line through the places, a dot per point, and an interval for a point that has one and no repeats: those show their
/// spread themselves. Invalid points are hollow, and the line to them is dashed.
pub(super) fn sweep_series(
    (name, points): (&str, &[&PointAnalysis]),
    dimension: SweepAxis,
    style: SeriesStyle,
    measure: &SweepMeasure,
) -> DataSeries {
    let places = sweep_places(points, dimension, measure);
    let x_of = |point: &PointAnalysis| f64::from(dimension.value_at(point));
    let measured = |point: &&PointAnalysis| Some((x_of(point), (measure.of)(point)?.0));
    let interval = |point: &&PointAnalysis| (measure.of)(point)?.1.map(|[low, high]| (x_of(point), low, high));
    let (invalid, trusted): (Vec<&PointAnalysis>, Vec<&PointAnalysis>) = points.iter().partition(|p| is_invalid(p));
    let has_repeats = |point: &PointAnalysis| {
        points.iter().filter(|p| dimension.value_at(p) == dimension.value_at(point)).count() > 1
    };
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

fn sweep_places(points: &[&PointAnalysis], dimension: SweepAxis, measure: &SweepMeasure) -> Vec<SweepPlace> {
    let mut repeats: BTreeMap<u32, Vec<&PointAnalysis>> = BTreeMap::new();
    points.iter().for_each(|point| repeats.entry(dimension.value_at(point)).or_default().push(point));
    repeats.iter().filter_map(|(x, repeats)| sweep_place(f64::from(*x), repeats, measure)).collect()
}

fn sweep_place(x: f64, repeats: &[&PointAnalysis], measure: &SweepMeasure) -> Option<SweepPlace> {
    let trusted = trusted(repeats);
    let is_trusted = !trusted.is_empty();
    let y = measure.of_all(if is_trusted { &trusted } else { repeats })?;
    Some(SweepPlace { x, y, is_trusted })
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

const OPS: SweepMeasure =
    SweepMeasure { of: |p| p.summary.as_ref().map(|s| (s.ops_per_s, s.ops_per_s_ci95)), together: Together::Mean };

/// Rows inserted per second.
const ROWS: SweepMeasure = SweepMeasure {
    of: |p| p.summary.as_ref().and_then(|s| Some((s.rows_per_s?, s.rows_per_s_ci95))),
    together: Together::Mean,
};

/// The rate that is drawn of `points`, with its axis and its unit behind a number: that in which the work of all of them is counted.
pub(super) fn rate_of(points: &[&PointAnalysis]) -> (&'static SweepMeasure, Axis, String) {
    if shared_unit(points.iter().copied()) == WorkUnit::Rows {
        return (&ROWS, Axis::from_zero("rows/s", AxisUnit::Count), " rows/s".to_owned());
    }
    let word = ops_word(points.iter().copied());
    let unit = if word == WorkUnit::Operations.plural() { "/s".to_owned() } else { format!(" {word}/s") };
    (&OPS, ops_axis(points), unit)
}

/// The mean rate of the repeats of one place.
pub(super) fn mean_rate(repeats: &[&PointAnalysis]) -> Option<f64> {
    combine_plain(repeats.iter().filter_map(|point| Some(point.summary.as_ref()?.ops_per_s)))
}
