//! How charts show a point: invalid ones hollow, many intervals in bins, a dot per value while there is room.
//!
//! In: points of an analysis. Out: marks, names and notes. Limits: it draws a point as the analysis judged it.

use analysis::{IntervalPoint, PointAnalysis, Validity};
use plot::figure::{Mark, Stroke};

pub(super) fn is_invalid(point: &PointAnalysis) -> bool {
    point.validity == Validity::Invalid
}

/// The points that are not invalid.
pub(super) fn trusted<'a>(points: &[&'a PointAnalysis]) -> Vec<&'a PointAnalysis> {
    points.iter().copied().filter(|point| !is_invalid(point)).collect()
}

/// How invalid points are drawn, for captions; empty if all are trusted.
pub(super) fn invalid_note(points: &[&PointAnalysis]) -> &'static str {
    if points.iter().any(|point| is_invalid(point)) {
        " Hollow: invalid points, which the findings explain."
    } else {
        ""
    }
}

/// The name of a line, with the word that its point is invalid.
pub(super) fn trusted_name(name: &str, point: &PointAnalysis) -> String {
    if is_invalid(point) { format!("{name} (invalid)").trim_start().to_owned() } else { name.to_owned() }
}

/// The intervals as they are drawn: as recorded, or in bins if there are too many.
pub(super) fn drawn_intervals(point: &PointAnalysis) -> Vec<&IntervalPoint> {
    let Some(series) = &point.series else { return Vec::new() };
    if series.bins.is_empty() {
        series.intervals.iter().collect()
    } else {
        series.bins.iter().map(|bin| &bin.all).collect()
    }
}

/// A line, with a dot per value while there is room for dots.
pub(super) fn line_with_dots(points: Vec<(f64, f64)>) -> Vec<Mark> {
    let dots = if points.len() > 150 { Vec::new() } else { points.clone() };
    vec![Mark::Line(Stroke::Solid, points), Mark::Dots(2.0, dots)]
}

/// As [`line_with_dots`], and `all` of the values in full, if those drawn are fewer.
pub(super) fn line_in_full(drawn: Vec<(f64, f64)>, all: Vec<(f64, f64)>) -> Vec<Mark> {
    let fine = in_full(drawn.len(), all);
    line_with_dots(drawn).into_iter().chain(fine).collect()
}

/// `all` values as a line for a zoom, if only so many are drawn.
pub(super) fn in_full(drawn: usize, all: Vec<(f64, f64)>) -> Option<Mark> {
    (all.len() > drawn).then(|| Mark::Fine(Box::new(Mark::Line(Stroke::Thin, all))))
}

/// The label of a point in a panel's title, with its state if it is not complete, and its validity if it is not valid.
pub(super) fn marked(label: &str, point: &PointAnalysis) -> String {
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
