//! The percentile curve: which response time which share of the operations kept to, out to the last nines.
//!
//! In: the histograms of the run phase. Out: one figure per sheet, one line per row with the times of all its repeats, a dashed
//! one for the service time if it differs from the response time. Limits: a percentile needs ten operations beyond it to be
//! drawn; a mark shows where a line ends for that reason, and the caption has the slowest operation.

use super::chart::Chart;
use super::marks::{is_invalid, trusted_name};
use crate::format;
use crate::sheet::{FigurePoints, Row, conditions, drawn_sheets};
use analysis::points::merge_times;
use analysis::{Analysis, PointAnalysis};
use model::Times;
use plot::figure::{Axis, AxisScale, AxisUnit, DataSeries, Figure, FigureBody, Mark, Panel, Stroke};

pub const CHART: Chart = Chart {
    id: "curve",
    title: "Percentile curves",
    help: "Read across: at 99 %, one operation in a hundred took longer. The axis is logarithmic in the tail: 90, 99 and \
           99.9 % are equally spaced. A line ends at the last percentile with ten operations beyond it.",
    draw,
    of_points: None,
    #[cfg(test)]
    fixture: crate::testing::open_loop,
};

fn draw(analysis: &Analysis) -> Vec<Figure> {
    drawn_sheets(analysis).iter().filter_map(|sheet| draw_sheet(analysis, sheet)).collect()
}

fn draw_sheet(analysis: &Analysis, sheet: &FigurePoints) -> Option<Figure> {
    let lines = sheet.rows.iter().flat_map(lines_of);
    let series: Vec<DataSeries> = lines.collect();
    if series.is_empty() {
        return None;
    }
    let points = sheet.points();
    let (label, note) = if points.iter().all(|p| is_closed(p)) {
        ("response time", "Response and service time are the same in a closed loop")
    } else {
        ("time", "Solid: response time, from the intended start. Dashed: service time")
    };
    let y = Axis::nanos(label);
    let panel = Panel { title: String::new(), note: String::new(), y, height: 280.0, series, shades: Vec::new() };
    Some(Figure {
        id: format!("curve-{}", sheet.slug),
        title: format!("Percentile curve: {}", sheet.name),
        conditions: conditions(analysis, &points),
        caption: format!("n = {}. {note}.{}", operations(&points), slowest_note(sheet)),
        body: FigureBody::Panels { x: x_axis(&points), panels: vec![panel] },
    })
}

/// ` The slowest operation took 1.58 s (indexes 3).`, which may be far above the end of its line.
fn slowest_note(sheet: &FigurePoints) -> String {
    let slowest = |row: &Row| {
        let response = row.points.iter().filter_map(|point| Some(point.summary.as_ref()?.response_ns?.max));
        Some((response.max()?, row.label.clone()))
    };
    let Some((ns, label)) = sheet.rows.iter().filter_map(slowest).max() else { return String::new() };
    let of = if sheet.rows.len() > 1 { format!(" ({label})") } else { String::new() };
    format!(" The slowest operation took {}{of}.", format::nanos(ns))
}

fn is_closed(point: &PointAnalysis) -> bool {
    point.summary.as_ref().is_none_or(|s| s.offered_per_s.is_none())
}

fn operations(points: &[&PointAnalysis]) -> String {
    let counts = points.iter().filter_map(|p| p.series.as_ref()).map(|s| s.response.len());
    match (counts.clone().min(), counts.max()) {
        (Some(low), Some(high)) if low != high => {
            format!("{} to {} operations per point", format::count(low), format::count(high))
        }
        (Some(n), _) => format!("{} operations", format::count(n)),
        _ => "0 operations".to_owned(),
    }
}

fn x_axis(points: &[&PointAnalysis]) -> Axis {
    let last =
        points.iter().filter_map(|p| p.series.as_ref()).map(|s| last_percentile(&s.response)).fold(90.0, f64::max);
    Axis {
        label: "percentile of operations".to_owned(),
        scale: AxisScale::Tail,
        unit: AxisUnit::Percent,
        range: Some((0.0, last)),
    }
}

/// The highest percentile with ten operations beyond it, and no further than 99.999.
pub(crate) fn last_percentile(times: &Times) -> f64 {
    let beyond = 10.0 / (times.len().max(1) as f64);
    (100.0 * (1.0 - beyond)).clamp(0.0, 99.999)
}

fn lines_of(row: &Row) -> Vec<DataSeries> {
    let style = row.style;
    let response = merge_times(&row.points, |series| &series.response);
    if response.is_empty() {
        return Vec::new();
    }
    let curve_points = curve(&response);
    let end = vec![*curve_points.last().expect("a curve has a point")];
    let is_invalid = row.points.iter().all(|point| is_invalid(point));
    let end = if is_invalid { Mark::Rings(4.0, end) } else { Mark::Dots(4.0, end) };
    let name = if is_invalid { trusted_name(&row.label, row.points[0]) } else { row.label.clone() };
    let mut lines = vec![DataSeries::named(name, style, vec![Mark::Line(Stroke::Solid, curve_points), end])];
    let service = merge_times(&row.points, |series| &series.service);
    if row.points.iter().any(|point| !is_closed(point)) && !service.is_empty() {
        let marks = vec![Mark::Line(Stroke::Dashed, curve(&service))];
        lines.push(DataSeries::unnamed(style, marks));
    }
    lines
}

/// Forty steps to each nine.
pub(crate) fn curve(times: &Times) -> Vec<(f64, f64)> {
    let last = last_percentile(times);
    let nines = -(1.0 - last / 100.0).log10();
    let steps = (nines * 40.0).ceil().max(1.0) as usize;
    let percentile = |i: usize| 100.0 * (1.0 - 10f64.powf(-nines * i as f64 / steps as f64));
    (0..=steps).map(percentile).map(|p| (p, times.value_at_quantile(p / 100.0) as f64)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{open_loop, panels, with_points};
    use model::LatencyCounts;

    #[test]
    fn a_curve_ends_where_ten_operations_lie_beyond() {
        let mut counts = LatencyCounts::default();
        (1..=10_000u64).for_each(|ns| counts.record(ns * 1_000));
        let curve = curve(&counts.take());
        let (percentile, value) = *curve.last().unwrap();
        assert!((percentile - 99.9).abs() < 1e-6, "{percentile}");
        assert!((value / 9_990_000.0 - 1.0).abs() < 0.01, "{value}");
    }

    #[test]
    fn a_line_has_a_mark_at_its_end_and_the_caption_has_the_slowest_operation() {
        let mut analysis = with_points(2);
        analysis.points[1].summary.as_mut().unwrap().response_ns.as_mut().unwrap().max = 1_580_000_000;
        analysis.points[1].validity = analysis::Validity::Invalid;
        let figure = draw(&analysis).remove(0);
        assert!(figure.caption.ends_with(" The slowest operation took 1.58 s (clients 2)."), "{}", figure.caption);
        let [valid, invalid] = panels(&figure)[0].series.as_slice() else { panic!("two lines") };
        let [Mark::Line(_, line), Mark::Dots(_, end)] = valid.marks.as_slice() else { panic!("{:?}", valid.marks) };
        assert_eq!(line.last(), end.first());
        assert!(matches!(invalid.marks[1], Mark::Rings(..)));
        assert_eq!(invalid.label, "clients 2 (invalid)");
    }

    #[test]
    fn an_open_loop_has_a_dashed_line_of_service_times() {
        let figures = draw(&open_loop());
        let FigureBody::Panels { panels, .. } = &figures[0].body else { panic!("panels") };
        let dashed = |s: &&DataSeries| matches!(s.marks[0], Mark::Line(Stroke::Dashed, _));
        assert_eq!(panels[0].series.iter().filter(dashed).count(), 1);
        assert!(figures[0].caption.contains("Dashed: service time"));
    }
}
