//! Connections: how many took how long to open, with the retry times of the kernel marked; and the memory of an engine that holds them.
//!
//! In: the times of points that open connections, and what holds reached. Out: for each sheet a figure with a panel for each row, and a figure
//! with a line for each hold. Limits: of several repeats the times are put together, and of a hold the first is drawn; times are counted
//! in 20 steps to each power of ten.

use super::chart::Chart;
use super::marks::marked;
use crate::palette::Palette;
use crate::sheet::{FigurePoints, Row, conditions, drawn_sheets};
use crate::wording::label::point_label;
use analysis::points::merge_times;
use analysis::{Analysis, PointAnalysis};
use model::Times;
use plot::figure::{Axis, AxisScale, AxisUnit, Colour, DataSeries, Figure, FigureBody, Mark, Panel, Stroke};
use std::collections::BTreeMap;

pub const CHART: Chart = Chart {
    id: "connections",
    title: "Connections",
    help: "How many connections took how long to open, both axes logarithmic. A peak at a marked time is the kernel, which sends its SYN \
           again after 1, 3 and 7 s (new kernels also after 2 s) because the listener's queue was full. If connections were held: the server's memory against \
           their number.",
    draw,
    of_points: None,
    #[cfg(test)]
    fixture,
};

/// Steps to each power of ten.
const STEPS: f64 = 20.0;
/// The retries that a reader may look for, in nanoseconds.
const RETRIES: [(f64, &str); 5] = [(1e9, "1 s"), (2e9, "2 s"), (3e9, "3 s"), (7e9, "7 s"), (15e9, "15 s")];

fn draw(analysis: &Analysis) -> Vec<Figure> {
    let times = drawn_sheets(analysis).into_iter().filter_map(|sheet| draw_times(analysis, &sheet));
    times.chain(draw_memory(analysis)).collect()
}

fn draw_times(analysis: &Analysis, sheet: &FigurePoints) -> Option<Figure> {
    let opens = |row: &&Row| row.points[0].summary.as_ref().is_some_and(|summary| !summary.kinds.is_empty());
    let rows: Vec<&Row> = sheet.rows.iter().filter(opens).collect();
    let panels: Vec<Panel> = rows.iter().filter_map(|row| times_panel(row, rows.len())).collect();
    let points: Vec<&PointAnalysis> = rows.iter().map(|row| row.points[0]).collect();
    (!panels.is_empty()).then(|| Figure {
        id: format!("connections-{}", sheet.slug),
        title: format!("Time to open a connection: {}", sheet.name),
        conditions: conditions(analysis, &points),
        caption: format!(
            "{} connections. Vertical lines: when the kernel sends a SYN again.",
            rows.iter().map(|row| merge_times(&row.points, |series| &series.response).len()).sum::<u64>()
        ),
        body: FigureBody::Panels {
            x: Axis { label: "response time of connect (log scale)".to_owned(), ..Axis::nanos("") },
            panels,
        },
    })
}

fn times_panel(row: &Row, rows: usize) -> Option<Panel> {
    let times = merge_times(&row.points, |series| &series.response);
    let counts = counted(&times);
    if counts.is_empty() {
        return None;
    }
    let lines: Vec<Mark> =
        counts.iter().map(|(ns, n)| Mark::Line(Stroke::Solid, vec![(*ns, 0.8), (*ns, *n)])).collect();
    let last = times.max_ns() as f64;
    // The first of those that were not reached shows that they were not.
    let retries = RETRIES.iter().enumerate().filter(|(nth, (at, _))| *nth == 0 || *at <= last * 1.1);
    let retries = retries.map(|(_, (at, name))| (*at, (*name).to_owned())).collect();
    Some(Panel {
        title: marked(&row.label, row.points[0]),
        note: String::new(),
        y: Axis {
            label: "connections (log scale)".to_owned(),
            scale: AxisScale::Log,
            unit: AxisUnit::Count,
            range: Some((0.8, counts.iter().map(|(_, n)| *n).fold(10.0, f64::max) * 1.5)),
        },
        height: if rows == 1 { 220.0 } else { 110.0 },
        series: vec![
            DataSeries::unnamed(Colour::Vermillion, vec![Mark::Verticals(retries)]),
            DataSeries::unnamed(Colour::Blue, lines),
            DataSeries::unnamed(Colour::Blue, vec![Mark::Dots(2.5, counts)]),
        ],
        shades: Vec::new(),
    })
}

/// How many of `times` are in each step, by the middle of the step in nanoseconds.
fn counted(times: &Times) -> Vec<(f64, f64)> {
    let mut counts: BTreeMap<i64, u64> = BTreeMap::new();
    for (ns, count) in times.recorded().filter(|(ns, _)| *ns > 0) {
        *counts.entry((STEPS * (ns as f64).log10()).round() as i64).or_default() += count;
    }
    counts.into_iter().map(|(step, count)| (10f64.powf(step as f64 / STEPS), count as f64)).collect()
}

fn draw_memory(analysis: &Analysis) -> Option<Figure> {
    let holds: Vec<&PointAnalysis> = analysis.points.iter().filter(|point| held_memory(point).is_some()).collect();
    let styles = Palette::new(analysis).styles(&holds);
    let lines = holds.iter().zip(styles).filter_map(|(point, style)| {
        let places = held_memory(point)?;
        let marks = vec![Mark::Line(Stroke::Thin, places.clone()), Mark::Dots(3.0, places)];
        Some(DataSeries::named(point_label(point), style, marks))
    });
    let series: Vec<DataSeries> = lines.collect();
    let readings: usize = holds.iter().filter_map(|point| held_memory(point)).map(|places| places.len()).sum();
    (!series.is_empty()).then(|| Figure {
        id: "connections-memory".to_owned(),
        title: "Memory against connections held".to_owned(),
        conditions: conditions(analysis, &holds),
        caption: format!(
            "{readings} readings of the server's processes: memory of their own, shared pages counted once. The axis does not \
             begin at 0."
        ),
        body: FigureBody::Panels {
            x: Axis {
                label: "connections held".to_owned(),
                scale: AxisScale::Linear,
                unit: AxisUnit::Count,
                range: None,
            },
            panels: vec![Panel {
                title: String::new(),
                note: String::new(),
                y: memory_axis(&holds),
                height: 260.0,
                series,
                shades: Vec::new(),
            }],
        },
    })
}

/// From a tenth of the growth below the least to as much above the most: connections take little compared with the rest of the server.
fn memory_axis(holds: &[&PointAnalysis]) -> Axis {
    let megabytes = || holds.iter().filter_map(|point| held_memory(point)).flatten().map(|(_, megabytes)| megabytes);
    let (least, most) = (megabytes().fold(f64::INFINITY, f64::min), megabytes().fold(0.0, f64::max));
    let room = (0.1 * (most - least)).max(0.1);
    let label = "memory of the server, MB".to_owned();
    Axis { label, scale: AxisScale::Linear, unit: AxisUnit::Count, range: Some((least - room, most + room)) }
}

/// The memory of the engine, in MB, at numbers held; `None` if that was not seen at two of them.
fn held_memory(point: &PointAnalysis) -> Option<Vec<(f64, f64)>> {
    let memory = &point.traits.outcome.hold.as_ref()?.memory;
    (memory.len() > 1).then(|| memory.iter().map(|one| (one.held as f64, one.bytes as f64 / 1e6)).collect())
}

/// Connections that were opened, and some that were held.
#[cfg(test)]
fn fixture() -> Analysis {
    let mut analysis = crate::testing::with_points(2);
    for point in &mut analysis.points {
        let response_ns = point.summary.as_ref().and_then(|summary| summary.response_ns);
        let kind = |kind: &str| analysis::KindSummary {
            kind: kind.into(),
            ops: 10,
            failed: 0,
            response_ns,
            response: model::Times::default(),
        };
        point.summary.as_mut().expect("it ran").kinds = vec![kind("connect"), kind("close")];
    }
    let memory = [(0, 80_000_000), (30, 83_000_000), (60, 86_500_000)];
    let memory = memory.map(|(held, bytes)| model::HeldMemory { held, bytes }).into();
    analysis.points[1].traits.outcome.hold = Some(model::HoldOutcome { memory, ..model::HoldOutcome::default() });
    analysis
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_counted_in_steps_and_none_is_lost() {
        let mut times = Times::default();
        times.record_n(1_000_000, 40);
        times.record_n(3_020_000_000, 7);
        let counts = counted(&times);
        assert_eq!(counts.iter().map(|(_, n)| *n).collect::<Vec<_>>(), [40.0, 7.0]);
        assert!((counts[1].0 / 3.02e9 - 1.0).abs() < 0.07, "{counts:?}");
    }

    #[test]
    fn a_run_without_connections_has_no_such_chart() {
        assert!(draw(&crate::testing::quick()).is_empty());
        let figures = draw(&fixture());
        assert_eq!(figures.last().map(|figure| figure.id.as_str()), Some("connections-memory"));
    }
}
