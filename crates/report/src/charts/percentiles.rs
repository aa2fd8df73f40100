//! Response time percentiles over time: median, 95th, 99th and maximum of each interval, or of each bin of a long run.
//!
//! In: the intervals of each point. Out: one figure per sheet, one panel per row, with a common scale in a sweep; of repeats the first
//! is drawn. Limits: a percentile of an interval with few operations is nearly its maximum; n of the interval is in the
//! timeline.

use super::{Chart, drawn_intervals, line_with_dots, marked, named_once, scale_note, shades, shading_note, time_range};
use crate::format;
use crate::sheet::{Row, Sheet, conditions, drawn_sheets};
use analysis::{Analysis, IntervalPoint, PointAnalysis};
use plot::figure::{Axis, Colour, DataSeries, Figure, FigureBody, Panel};

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
    drawn_sheets(analysis).iter().filter_map(|sheet| draw_sheet(analysis, sheet)).collect()
}

fn draw_sheet(analysis: &Analysis, sheet: &Sheet) -> Option<Figure> {
    let points: Vec<&PointAnalysis> = sheet.rows.iter().map(|row| row.points[0]).collect();
    let range = time_range(points.iter().copied())?;
    let height = if points.len() == 1 { 220.0 } else { 110.0 };
    let common = sheet.dimension.and_then(|_| extent(&points));
    let panel = |row: &Row| Panel {
        title: marked(&row.label, row.points[0]),
        note: if row.points.len() > 1 { format!("repeat 1 of {}", row.points.len()) } else { String::new() },
        y: Axis { range: common, ..Axis::nanos("response time") },
        height,
        series: LINES.iter().map(|line| draw_line(row.points[0], line)).collect(),
        shades: shades(row.points[0]),
    };
    let panels = named_once(sheet.rows.iter().map(panel).collect());
    Some(Figure {
        id: format!("percentiles-{}", sheet.slug),
        title: format!("Response time over time: {}", sheet.name),
        caption: format!(
            "{}.{}{}{}",
            conditions(analysis, &points),
            scale_note(&panels),
            shading_note(&points),
            step_note(&points)
        ),
        body: FigureBody::Panels { x: super::time_axis(range), panels },
    })
}

/// The shortest and the longest time that is drawn.
fn extent(points: &[&PointAnalysis]) -> Option<(f64, f64)> {
    let times = |i: &IntervalPoint| LINES.iter().filter_map(|line| line.2(i)).collect::<Vec<u64>>();
    let all: Vec<u64> = points.iter().flat_map(|p| drawn_intervals(p)).flat_map(times).filter(|ns| *ns > 0).collect();
    Some((*all.iter().min()? as f64, *all.iter().max()? as f64))
}

/// What the steps of a long run are, where there are any: for captions.
fn step_note(points: &[&PointAnalysis]) -> String {
    let bin = points.iter().filter_map(|p| p.series.as_ref()).find_map(|s| s.bins.first());
    bin.map_or(String::new(), |bin| {
        format!(" Steps of {}, of all operations in them.", format::seconds(bin.all.length_s))
    })
}

fn draw_line(point: &PointAnalysis, (label, colour, value): &Percentile) -> DataSeries {
    let at = |i: &IntervalPoint| (i.at_s + i.length_s / 2.0, value(i).map_or(f64::NAN, |ns| ns as f64));
    let places: Vec<(f64, f64)> = drawn_intervals(point).into_iter().map(at).collect();
    DataSeries::named(*label, *colour, line_with_dots(places))
}
