//! Response time percentiles over time: median, 95th, 99th and maximum of each interval, or of each bin of a long run.
//!
//! In: the intervals of each point. Out: one figure per sheet, one panel per row, with a common scale in a sweep; the first
//! of a set of repeats is drawn. Limits: a percentile of an interval with few operations is nearly its maximum; n of the interval is in the
//! timeline.

use super::axes::{named_once, scale_note, time_range};
use super::chart::Chart;
use super::marks::{drawn_intervals, line_in_full, marked};
use super::shades::{shades, shading_note};
use crate::format;
use crate::sheet::{FigurePoints, Row, conditions, drawn_sheets};
use analysis::{Analysis, IntervalPoint, PointAnalysis};
use plot::figure::{Axis, DataSeries, Figure, FigureBody, Mark, Panel, SeriesStyle, Strength};

pub const CHART: Chart = Chart {
    id: "percentiles",
    title: "Response time over time",
    help: "Percentiles of each interval on a logarithmic scale. Lines that lie close together mean a consistent service; a \
           maximum far above the rest means that some operations wait.",
    draw,
    of_points: None,
    #[cfg(test)]
    fixture: crate::testing::quick,
};

/// A line of the chart: its name, and the value that it takes from an interval.
type PercentileLine = (&'static str, fn(&IntervalPoint) -> Option<u64>);

/// From the lightest to the darkest shade of the point's colour.
const LINES: [PercentileLine; 4] =
    [("p50", |i| i.p50_ns), ("p95", |i| i.p95_ns), ("p99", |i| i.p99_ns), ("max", |i| i.max_ns)];

fn draw(analysis: &Analysis) -> Vec<Figure> {
    drawn_sheets(analysis).iter().filter_map(|sheet| draw_sheet(analysis, sheet)).collect()
}

fn draw_sheet(analysis: &Analysis, sheet: &FigurePoints) -> Option<Figure> {
    let points: Vec<&PointAnalysis> = sheet.rows.iter().map(|row| row.points[0]).collect();
    let range = time_range(points.iter().copied())?;
    let height = if points.len() == 1 { 220.0 } else { 110.0 };
    // Imported results may have no times by interval.
    let all = extent(&points)?;
    let common = sheet.dimension.map(|_| all);
    let y = Axis { range: common, ..Axis::nanos("response time") };
    let panels = named_once(sheet.rows.iter().map(|row| draw_row(row, y.clone(), height)).collect());
    Some(Figure {
        id: format!("percentiles-{}", sheet.slug),
        title: format!("Response time over time: {}", sheet.name),
        conditions: conditions(analysis, &points),
        caption: format!("{}{}{}", scale_note(&panels), shading_note(&points), step_note(&points) + late_note(&points)),
        body: FigureBody::Panels { x: super::axes::time_axis(range), panels },
    })
}

fn draw_row(row: &Row, y: Axis, height: f64) -> Panel {
    let point = row.points[0];
    let (lines, late) = (LINES.iter().enumerate(), draw_late(point, shade(row, LINES.len() - 1)));
    Panel {
        title: marked(&row.label, point),
        note: note_of(row),
        y,
        height,
        series: lines.map(|(nth, line)| draw_line(point, line, shade(row, nth))).chain(late).collect(),
        shades: shades(point),
    }
}

/// The style of the line with that index.
fn shade(row: &Row, nth: usize) -> SeriesStyle {
    SeriesStyle { strength: Strength::of_rank(nth, LINES.len()), ..row.style }
}

/// Which repeat is drawn, and the slowest operation if no line shows it.
fn note_of(row: &Row) -> String {
    let repeat = (row.points.len() > 1).then(|| format!("repeat 1 of {}", row.points.len()));
    let late =
        late_operation(row.points[0]).map(|(_, ns)| format!("slowest {}, after the last interval", format::nanos(ns)));
    repeat.into_iter().chain(late).collect::<Vec<_>>().join("; ")
}

/// The end of what counts and the slowest operation, if that ended after the last whole interval: it is in the maximum of the tables,
/// and in no interval.
fn late_operation(point: &PointAnalysis) -> Option<(f64, u64)> {
    let (series, slowest) = (point.series.as_ref()?, point.summary.as_ref()?.response_ns?.max);
    let drawn = series.intervals.iter().filter_map(|interval| interval.max_ns).max()?;
    // A histogram's buckets make equal times differ by less than that.
    let is_late = slowest as f64 > 1.01 * drawn as f64;
    is_late.then_some((series.counted.to_s, slowest))
}

/// The late operation as a hollow dot of the colour of the maximum.
fn draw_late(point: &PointAnalysis, style: SeriesStyle) -> Option<DataSeries> {
    let (at_s, ns) = late_operation(point)?;
    Some(DataSeries::unnamed(style, vec![Mark::Rings(4.0, vec![(at_s, ns as f64)])]))
}

/// The shortest and the longest time that is drawn.
fn extent(points: &[&PointAnalysis]) -> Option<(f64, f64)> {
    let late = points.iter().filter_map(|p| Some(late_operation(p)?.1));
    let drawn = points.iter().flat_map(|p| drawn_intervals(p));
    let times = drawn.flat_map(|interval| LINES.map(|(.., time)| time(interval))).flatten();
    let all: Vec<u64> = times.chain(late).filter(|ns| *ns > 0).collect();
    Some((*all.iter().min()? as f64, *all.iter().max()? as f64))
}

/// What a hollow dot is, for captions; empty if there is none.
fn late_note(points: &[&PointAnalysis]) -> &'static str {
    if points.iter().any(|point| late_operation(point).is_some()) {
        " Hollow: the slowest operation, which ended after the last whole interval."
    } else {
        ""
    }
}

/// How long the steps of a long run are, for captions; empty if it is drawn in intervals.
fn step_note(points: &[&PointAnalysis]) -> String {
    let bin = points.iter().filter_map(|p| p.series.as_ref()).find_map(|s| s.bins.first());
    bin.map_or(String::new(), |bin| {
        format!(" Steps of {}, of all operations in them.", format::seconds(bin.all.length_s))
    })
}

fn draw_line(point: &PointAnalysis, (label, value): &PercentileLine, style: SeriesStyle) -> DataSeries {
    let at = |i: &IntervalPoint| (i.at_s + i.length_s / 2.0, value(i).map_or(f64::NAN, |ns| ns as f64));
    let places: Vec<(f64, f64)> = drawn_intervals(point).into_iter().map(at).collect();
    let all = point.series.iter().flat_map(|series| &series.intervals).map(at).collect();
    DataSeries::named(*label, style, line_in_full(places, all))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{panels, with_points};

    #[test]
    fn an_operation_that_ended_after_the_last_interval_is_a_hollow_dot_within_the_scale() {
        let mut analysis = with_points(2);
        let drawn = |analysis: &Analysis| draw(analysis).remove(0);
        for point in &mut analysis.points {
            let most = point.series.as_ref().unwrap().intervals.iter().filter_map(|i| i.max_ns).max().unwrap();
            point.summary.as_mut().unwrap().response_ns.as_mut().unwrap().max = most;
        }
        assert!(!drawn(&analysis).caption.contains("Hollow"));
        analysis.points[1].summary.as_mut().unwrap().response_ns.as_mut().unwrap().max = 4_240_000_000;
        let figure = drawn(&analysis);
        assert!(figure.caption.ends_with("Hollow: the slowest operation, which ended after the last whole interval."));
        let [first, second] = panels(&figure) else { panic!("two panels") };
        assert_eq!((first.note.as_str(), second.note.as_str()), ("", "slowest 4.24 s, after the last interval"));
        let Mark::Rings(_, at) = &second.series[4].marks[0] else { panic!("a ring") };
        assert_eq!(at.as_slice(), [(119.0, 4.24e9)]);
        assert!(first.y.range.unwrap().1 >= 4.24e9 && first.y.range == second.y.range, "one scale, with room for it");
    }
}
