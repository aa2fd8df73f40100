//! The axes that several charts share.
//!
//! In: the points that are drawn. Out: axes with their units, and the words of a caption about them. Limits: an axis of rates begins at 0.

use crate::wording::metric::ops_word;
use analysis::PointAnalysis;
use model::Bytes;
use plot::figure::{Axis, AxisScale, AxisUnit, Panel};

/// Operations per second from 0, by the word for those of `points`, with MB/s on the right if all of them are blocks of one size.
pub(super) fn ops_axis(points: &[&PointAnalysis]) -> Axis {
    let label = &format!("{}/s", ops_word(points.iter().copied()));
    match bytes_each(points) {
        Some(bytes) => Axis::from_zero(&format!("{label}{IN_TWO_UNITS}"), AxisUnit::CountOf(bytes)),
        None => Axis::from_zero(label, AxisUnit::Count),
    }
}

/// Behind the label of an axis that has bytes on its right.
const IN_TWO_UNITS: &str = " (left), MB/s (right)";

fn bytes_each(points: &[&PointAnalysis]) -> Option<u32> {
    // MB/s of rows are of little use; those of blocks are what a disk is bought for.
    if points.iter().any(|point| point.traits.work.io.is_none_or(|io| io.block == Bytes(0))) {
        return None;
    }
    let working = points.iter().filter_map(|point| point.summary.as_ref()).filter(|summary| summary.ops_per_s > 0.0);
    let mut sizes = working.map(|summary| summary.bytes_per_s / summary.ops_per_s);
    let first = sizes.next().filter(|size| size.is_finite() && *size >= 1.0 && *size < f64::from(u32::MAX))?;
    let whole = first.round();
    let is_whole = |size: f64| (size - whole).abs() < 1e-6 * whole;
    (is_whole(first) && sizes.all(is_whole)).then_some(whole as u32)
}

/// Lines further apart than this would lie on the floor of a linear axis.
const SPREAD_MAX: f64 = 20.0;

/// Whether the least and the greatest of `rates` are so far apart that one linear axis cannot show both. Rates of 0 do not count.
pub(super) fn are_far_apart(rates: impl Iterator<Item = f64>) -> bool {
    let known = rates.filter(|rate| rate.is_finite() && *rate > 0.0);
    let ends = known.fold(None, |ends: Option<(f64, f64)>, rate| {
        Some(ends.map_or((rate, rate), |(low, high)| (low.min(rate), high.max(rate))))
    });
    ends.is_some_and(|(low, high)| high > SPREAD_MAX * low)
}

fn in_one_unit(text: &str) -> String {
    text.replace(IN_TWO_UNITS, "")
}

/// `axis`, or a logarithmic one if what is drawn on it reaches such different `heights`.
pub(super) fn fit_for(axis: Axis, heights: impl Iterator<Item = f64>) -> Axis {
    if !are_far_apart(heights) {
        return axis;
    }
    // MB/s on the right have ticks of their own on a linear axis only.
    let (label, unit) = match axis.unit {
        AxisUnit::CountOf(_) => (in_one_unit(&axis.label), AxisUnit::Count),
        unit => (axis.label, unit),
    };
    Axis { label: format!("{label} (log scale)"), scale: AxisScale::Log, unit, range: None }
}

/// From the first warmup interval to the end of what is drawn of any of `points`.
pub(super) fn time_range<'a>(points: impl IntoIterator<Item = &'a PointAnalysis>) -> Option<(f64, f64)> {
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
pub(super) fn time_axis(range: (f64, f64)) -> Axis {
    Axis::seconds("the run phase began", range)
}

/// Operations per second from 0.
pub(super) fn rate_axis() -> Axis {
    Axis::from_zero("operations/s", AxisUnit::Count)
}

/// Whether heights may be compared between `panels`, for captions; empty for a single panel.
pub(super) fn scale_note(panels: &[Panel]) -> &'static str {
    let has_one_scale = panels.windows(2).all(|pair| pair[0].y.range.is_some() && pair[0].y.range == pair[1].y.range);
    match (panels.len() > 1, has_one_scale) {
        (false, _) => "",
        (true, true) => " All panels share one scale.",
        (true, false) => " Each panel has its own scale.",
    }
}

/// The label of a y axis is above the first of the panels that share it.
pub(super) fn named_once(mut panels: Vec<Panel>) -> Vec<Panel> {
    for nth in (1..panels.len()).rev() {
        if panels[nth].y.label == panels[nth - 1].y.label {
            panels[nth].y.label.clear();
        }
    }
    panels
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_is_logarithmic_if_lines_are_more_than_twenty_times_apart() {
        let axis = || Axis::from_zero("queries/s", AxisUnit::Count);
        assert_eq!(fit_for(axis(), [100.0, 1_999.0].into_iter()), axis());
        assert_eq!(fit_for(axis(), [0.0, f64::NAN, 50.0].into_iter()), axis(), "nothing measured is not far away");
        let far = fit_for(axis(), [100.0, 2_001.0].into_iter());
        assert_eq!((far.scale, far.label.as_str()), (AxisScale::Log, "queries/s (log scale)"));
        let blocks = Axis::from_zero("operations/s (left), MB/s (right)", AxisUnit::CountOf(4_096));
        assert_eq!(fit_for(blocks, [1.0, 90.0].into_iter()).unit, AxisUnit::Count);
    }
}
