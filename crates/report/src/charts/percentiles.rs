//! Response time percentiles over time: median, 95th, 99th and maximum of each interval.
//!
//! In: the intervals of each point. Out: one figure per sheet, one panel per point. Limits: a percentile of an interval with
//! few operations is nearly its maximum; n of the interval is in the timeline.

use super::{Chart, line_with_dots, marked, shades, shading_note, time_range};
use crate::figure::{Axis, Body, Colour, Figure, Panel, Series};
use crate::sheet::{Sheet, conditions, sheets};
use analysis::{Analysis, IntervalPoint, PointAnalysis};

/// The chart.
pub const CHART: Chart = Chart {
    id: "percentiles",
    title: "Response time over time",
    help: "Percentiles of each interval on a logarithmic scale. Lines that lie close together mean an even service; a \
           maximum far above the rest means that some operations wait.",
    draw,
};

/// A line of the chart: its name, its colour, and the value that it takes from an interval.
type Percentile = (&'static str, Colour, fn(&IntervalPoint) -> Option<u64>);

const LINES: [Percentile; 4] = [
    ("p50", Colour::Blue, |i| i.p50_ns),
    ("p95", Colour::Green, |i| i.p95_ns),
    ("p99", Colour::Orange, |i| i.p99_ns),
    ("max", Colour::Vermillion, |i| i.max_ns),
];

fn draw(analysis: &Analysis) -> Vec<Figure> {
    sheets(analysis).iter().filter_map(|sheet| draw_sheet(analysis, sheet)).collect()
}

fn draw_sheet(analysis: &Analysis, sheet: &Sheet) -> Option<Figure> {
    let points: Vec<&PointAnalysis> = sheet.points.iter().map(|(_, p)| *p).collect();
    let range = time_range(points.iter().copied())?;
    let height = if points.len() == 1 { 220.0 } else { 120.0 };
    let panel = |(label, point): &(String, &PointAnalysis)| Panel {
        title: marked(label, point),
        note: String::new(),
        y: Axis::nanos("response time"),
        height,
        series: LINES.iter().map(|line| draw_line(point, line)).collect(),
        shades: shades(point),
    };
    Some(Figure {
        id: format!("percentiles-{}", sheet.slug),
        title: format!("Response time over time: {}", sheet.name),
        caption: format!("{}.{}", conditions(analysis, &points), shading_note(&points)),
        body: Body::Panels { x: Axis::seconds(range), panels: sheet.points.iter().map(panel).collect() },
    })
}

fn draw_line(point: &PointAnalysis, (label, colour, value): &Percentile) -> Series {
    let intervals = point.series.iter().flat_map(|s| &s.intervals);
    let at = |i: &IntervalPoint| (i.at_s + i.length_s / 2.0, value(i).map_or(f64::NAN, |ns| ns as f64));
    let places: Vec<(f64, f64)> = intervals.map(at).collect();
    Series { label: (*label).to_owned(), colour: *colour, marks: line_with_dots(places) }
}
