//! Throughput over time: one dot per interval, stalls shaded, the warmup in grey.
//!
//! In: the intervals of each point. Out: one figure per sheet, one panel per point. Limits: an interval is the finest grain;
//! a stall shorter than one shows in the response times.

use super::{Chart, marked, shades, shading_note, time_range};
use crate::figure::{Axis, Body, Colour, Figure, Mark, Panel, Series, Stroke};
use crate::format;
use crate::sheet::{Sheet, conditions, sheets};
use analysis::{Analysis, PointAnalysis};

/// The chart.
pub const CHART: Chart = Chart {
    id: "timeline",
    title: "Throughput over time",
    help: "One dot per interval. A steady system makes a flat band; drops to the floor are stalls. The dashed line is the \
           mean of what counts: the run phase, or the window of one that goes by rounds.",
    draw,
};

fn draw(analysis: &Analysis) -> Vec<Figure> {
    sheets(analysis).iter().filter_map(|sheet| draw_sheet(analysis, sheet)).collect()
}

fn draw_sheet(analysis: &Analysis, sheet: &Sheet) -> Option<Figure> {
    let points: Vec<&PointAnalysis> = sheet.points.iter().map(|(_, p)| *p).collect();
    let range = time_range(points.iter().copied())?;
    let height = if points.len() == 1 { 220.0 } else { 110.0 };
    let panel = |(label, point): &(String, &PointAnalysis)| draw_point(label, point, height);
    Some(Figure {
        id: format!("timeline-{}", sheet.slug),
        title: format!("Throughput over time: {}", sheet.name),
        caption: format!("{}.{}", conditions(analysis, &points), shading_note(&points)),
        body: Body::Panels { x: Axis::seconds(range), panels: sheet.points.iter().map(panel).collect() },
    })
}

/// The panel of one point.
pub fn draw_point(label: &str, point: &PointAnalysis, height: f64) -> Panel {
    Panel {
        title: marked(label, point),
        note: point.summary.as_ref().map(mean_note).unwrap_or_else(|| "the run phase was not reached".to_owned()),
        y: Axis::ops_per_s(),
        height,
        series: series(point),
        shades: shades(point),
    }
}

fn mean_note(summary: &analysis::Summary) -> String {
    let mean = format::number(summary.ops_per_s);
    match summary.ops_per_s_ci95 {
        Some(_) => format!("mean {mean}/s {}", format::half_width(summary.ops_per_s, summary.ops_per_s_ci95)),
        None => format!("mean {mean}/s"),
    }
}

fn series(point: &PointAnalysis) -> Vec<Series> {
    let Some(series) = &point.series else { return Vec::new() };
    let dots: Vec<(f64, f64)> = series.intervals.iter().map(|i| (i.at_s + i.length_s / 2.0, i.ops_per_s)).collect();
    let (from, to) = (series.counted.from_s, series.counted.to_s);
    let mean = point.summary.as_ref().map(|s| vec![(from, s.ops_per_s), (to, s.ops_per_s)]).unwrap_or_default();
    let radius = if dots.len() > 300 { 1.6 } else { 3.0 };
    let unnamed = |colour, marks| Series { label: String::new(), colour, marks };
    vec![
        unnamed(Colour::Black, vec![Mark::Line(Stroke::Dashed, mean)]),
        unnamed(Colour::Blue, vec![Mark::Line(Stroke::Thin, dots.clone()), Mark::Dots(radius, dots)]),
    ]
}
