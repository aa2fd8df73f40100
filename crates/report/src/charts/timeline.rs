//! Throughput over time: one dot per interval, or bins with their extremes if there are too many, stalls shaded, the warmup
//! in grey.
//!
//! In: the intervals of each point. Out: one figure per sheet: a panel per row, small multiples with one scale in a sweep; where
//! the rows are not of one sweep, each with its own scale and all of them in one panel above. Limits: an interval is the finest
//! grain; a stall shorter than one shows in the response times.

use super::axes::{are_far_apart, fit_for, named_once, ops_axis, scale_note, time_range};
use super::chart::Chart;
use super::marks::{drawn_intervals, in_full, marked, trusted_name};
use super::shades::{shades, shading_note};
use super::sweep::mean_rate;
use crate::format;
use crate::sheet::{FigurePoints, Row, conditions, drawn_sheets};
use analysis::{Analysis, IntervalBin, PointAnalysis};
use plot::figure::{Axis, Colour, DataSeries, Figure, FigureBody, Mark, Panel, SeriesStyle, Strength, Stroke};

pub const CHART: Chart = Chart {
    id: "timeline",
    title: "Throughput over time",
    help: "A steady system makes a flat line; drops to the floor are stalls. Dashed: the mean of the measured phase.",
    draw,
    of_points: None,
    #[cfg(test)]
    fixture: crate::testing::quick,
};

/// Above this, a panel need not be high to show a band's height.
const LOW_PANELS_FROM: usize = 4;

fn draw(analysis: &Analysis) -> Vec<Figure> {
    drawn_sheets(analysis).iter().filter_map(|sheet| draw_sheet(analysis, sheet)).collect()
}

fn draw_sheet(analysis: &Analysis, sheet: &FigurePoints) -> Option<Figure> {
    let points = sheet.points();
    let range = time_range(points.iter().copied())?;
    let height = match sheet.rows.len() {
        1 => 220.0,
        n if n < LOW_PANELS_FROM => 110.0,
        _ => 80.0,
    };
    let y = y_axis(sheet, &points);
    // Rows inserted have a chart of their own that shows them together.
    let is_mixed = sheet.dimension.is_none() && sheet.rows.len() > 1 && !points.iter().all(|point| inserts_rows(point));
    let together = is_mixed.then(|| draw_together(&sheet.rows, &points));
    let panels = together.into_iter().chain(sheet.rows.iter().map(|row| draw_row(row, y.as_ref(), height)));
    let panels = named_once(panels.collect());
    Some(Figure {
        id: format!("timeline-{}", sheet.slug),
        title: format!("Throughput over time: {}", sheet.name),
        conditions: conditions(analysis, &points),
        caption: format!(
            "{}{}{}{}",
            scale_note(&panels),
            shading_note(&points),
            bin_note(&points),
            if sheet.rows.iter().any(|row| row.points.len() == 1) { partial_note(&points) } else { "" }
        ),
        body: FigureBody::Panels { x: super::axes::time_axis(range), panels },
    })
}

fn inserts_rows(point: &PointAnalysis) -> bool {
    point.series.as_ref().is_some_and(|series| !series.amounts.inserted.is_empty())
}

/// The common y axis of a sweep; none if the rows have little to do with each other, or if one would lie on the floor.
fn y_axis(sheet: &FigurePoints, points: &[&PointAnalysis]) -> Option<Axis> {
    let highest = rates(points).fold(0.0, f64::max);
    let range = Some((0.0, if highest > 0.0 { highest * 1.06 } else { 1.0 }));
    let means = points.iter().filter_map(|point| Some(point.summary.as_ref()?.ops_per_s));
    let is_shared = sheet.dimension.is_some() && !are_far_apart(means);
    is_shared.then(|| Axis { range, ..ops_axis(points) })
}

/// What is drawn of the points: intervals, the part of one at the end, and means.
fn rates<'a>(points: &'a [&PointAnalysis]) -> impl Iterator<Item = f64> + 'a {
    let intervals = points.iter().filter_map(|p| p.series.as_ref()).flat_map(|s| &s.intervals);
    let parts = points.iter().filter_map(|p| Some(partial_interval(p)?.1));
    let means = points.iter().filter_map(|p| Some(p.summary.as_ref()?.ops_per_s));
    intervals.map(|i| i.ops_per_s).chain(parts).chain(means).filter(|rate| rate.is_finite())
}

/// All rows in one panel, a line each; the first of a set of repeats is drawn.
fn draw_together(rows: &[Row], points: &[&PointAnalysis]) -> Panel {
    let means = points.iter().filter_map(|point| Some(point.summary.as_ref()?.ops_per_s));
    let lines = rows.iter().map(|row| DataSeries {
        label: trusted_name(&row.label, row.points[0]),
        style: row.style,
        marks: line_of(row.points[0], Stroke::Solid),
    });
    Panel {
        title: "all together".to_owned(),
        note: String::new(),
        y: fit_for(ops_axis(points), means),
        height: 200.0,
        series: lines.collect(),
        shades: Vec::new(),
    }
}

/// A point as it is drawn alone; its repeats over each other, a shade each.
fn draw_row(row: &Row, y: Option<&Axis>, height: f64) -> Panel {
    let own = draw_point(&row.label, row.points[0], (row.style, height));
    let panel = Panel { y: y.cloned().unwrap_or(own.y), ..own };
    if row.points.len() == 1 {
        return panel;
    }
    let series = row.points.iter().enumerate().map(|(nth, point)| DataSeries {
        label: String::new(),
        style: SeriesStyle { strength: Strength::of_rank(nth, row.points.len()), ..row.style },
        marks: line_of(point, Stroke::Thin),
    });
    let series = series.collect();
    let shades = row.points.iter().flat_map(|point| shades(point)).collect();
    Panel { title: marked(&row.label, worst(row)), note: repeats_note(&row.points), series, shades, ..panel }
}

/// The repeat that is to be trusted least.
fn worst<'a>(row: &Row<'a>) -> &'a PointAnalysis {
    row.points.iter().max_by_key(|point| point.validity).expect("a row has at least one point")
}

fn repeats_note(points: &[&PointAnalysis]) -> String {
    let mean = mean_rate(points).map_or_else(format::dash, format::number);
    format!("mean {mean}/s of {} repeats{}", points.len(), stall_note(points))
}

/// `; 2 stalls, 3 s`; empty if there are none.
fn stall_note(points: &[&PointAnalysis]) -> String {
    let stalls = points.iter().filter_map(|point| point.shape.as_ref()).flat_map(|shape| &shape.stalls);
    let lengths: Vec<f64> = stalls.map(|stall| stall.length_s).collect();
    let (count, total) = (lengths.len(), format::seconds(lengths.iter().sum()));
    match count {
        0 => String::new(),
        1 => format!("; 1 stall, {total}"),
        _ => format!("; {count} stalls, {total}"),
    }
}

/// The panel of one point.
pub fn draw_point(label: &str, point: &PointAnalysis, (style, height): (SeriesStyle, f64)) -> Panel {
    Panel {
        title: marked(label, point),
        note: match &point.summary {
            Some(summary) => mean_note(summary) + &stall_note(&[point]),
            None => "the run phase was not reached".to_owned(),
        },
        y: ops_axis(&[point]),
        height,
        series: series(point, style),
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

fn series(point: &PointAnalysis, style: SeriesStyle) -> Vec<DataSeries> {
    let Some(series) = &point.series else { return Vec::new() };
    let (from, to) = (series.counted.from_s, series.counted.to_s);
    let mean = point.summary.as_ref().map(|s| vec![(from, s.ops_per_s), (to, s.ops_per_s)]).unwrap_or_default();
    let dots = places(point);
    let mut drawn = vec![DataSeries::unnamed(Colour::Black, vec![Mark::Line(Stroke::Dashed, mean)])];
    if series.bins.is_empty() {
        let radius = if dots.len() > 300 { 1.6 } else { 3.0 };
        drawn.push(DataSeries::unnamed(style, vec![Mark::Line(Stroke::Thin, dots.clone()), Mark::Dots(radius, dots)]));
    } else {
        drawn.insert(0, DataSeries::unnamed(style, vec![band(&series.bins)]));
        let fine = in_full(dots.len(), all_places(point));
        let line = Mark::Line(Stroke::Solid, with_drops(point));
        drawn.push(DataSeries::unnamed(style, std::iter::once(line).chain(fine).collect()));
    }
    let rest = partial_interval(point).map(|place| Mark::Rings(3.5, vec![place]));
    drawn.extend(rest.map(|ring| DataSeries::unnamed(style, vec![ring])));
    drawn
}

/// A shorter part of an interval has too few operations for a rate.
const PARTIAL_MIN: f64 = 0.1;

/// The part of an interval at the end of what counts, in its middle, with its rate: its operations are in the mean, which
/// would otherwise not match the dots.
fn partial_interval(point: &PointAnalysis) -> Option<(f64, f64)> {
    let (series, summary) = (point.series.as_ref()?, point.summary.as_ref()?);
    let whole = series.counted_intervals();
    let last = whole.last()?;
    let from_s = last.at_s + last.length_s;
    let length_s = series.counted.to_s - from_s;
    let ops: f64 = whole.iter().map(|interval| interval.ops_per_s * interval.length_s).sum();
    let rate = (summary.ops_per_s * summary.seconds - ops) / length_s;
    // The rate of a watch is not over the time after the last answer of its server.
    let is_known = point.traits.observed.as_ref().is_none_or(|seen| seen.unknown_ns == 0);
    let is_drawn = is_known && length_s >= PARTIAL_MIN * last.length_s && rate.is_finite();
    is_drawn.then_some((from_s + length_s / 2.0, rate.max(0.0)))
}

/// What a hollow dot is, for captions; empty if there is none.
pub fn partial_note(points: &[&PointAnalysis]) -> &'static str {
    if points.iter().any(|point| partial_interval(point).is_some()) {
        " Hollow: the incomplete last interval."
    } else {
        ""
    }
}

/// A line for a panel of several points.
fn line_of(point: &PointAnalysis, stroke: Stroke) -> Vec<Mark> {
    let fine = in_full(places(point).len(), all_places(point));
    std::iter::once(Mark::Line(stroke, with_drops(point))).chain(fine).collect()
}

/// The rates in the middle of all intervals.
fn all_places(point: &PointAnalysis) -> Vec<(f64, f64)> {
    let all = point.series.iter().flat_map(|series| &series.intervals);
    all.map(|interval| (interval.at_s + interval.length_s / 2.0, interval.ops_per_s)).collect()
}

/// The rates in the middle of their intervals, or of their bins.
fn places(point: &PointAnalysis) -> Vec<(f64, f64)> {
    drawn_intervals(point).into_iter().map(|i| (i.at_s + i.length_s / 2.0, i.ops_per_s)).collect()
}

/// As [`places`], and down to the slowest interval and back in a bin that had one below half of its rate.
fn with_drops(point: &PointAnalysis) -> Vec<(f64, f64)> {
    let bins = point.series.iter().flat_map(|series| &series.bins);
    let drops = bins.map(|bin| Some(bin.least_per_s).filter(|least| *least < 0.5 * bin.all.ops_per_s));
    join_drops(&places(point), &drops.collect::<Vec<_>>())
}

/// A line through `places` that goes down to the drop of each and back. If that is the rule and not the exception, the line would be hidden
/// behind its drops, and they are left out.
pub(super) fn join_drops(places: &[(f64, f64)], drops: &[Option<f64>]) -> Vec<(f64, f64)> {
    if drops.iter().flatten().count() * DROPS_ONE_IN > places.len() {
        return places.to_vec();
    }
    let drop_at = |nth: usize| drops.get(nth).copied().flatten();
    let with_drop = |(nth, (x, y)): (usize, &(f64, f64))| match drop_at(nth) {
        Some(lowest) => vec![(*x, *y), (*x, lowest), (*x, *y)],
        None => vec![(*x, *y)],
    };
    places.iter().enumerate().flat_map(with_drop).collect()
}

/// Drops in more than one of so many bins hide the line.
const DROPS_ONE_IN: usize = 8;

/// From the slowest to the fastest interval of each bin, over its whole width: an interval at zero makes a cut to the floor.
fn band(bins: &[IntervalBin]) -> Mark {
    let ends = bins.iter().flat_map(|bin| {
        let (from, to) = (bin.all.at_s, bin.all.at_s + bin.all.length_s);
        [(from, bin.least_per_s, bin.most_per_s), (to, bin.least_per_s, bin.most_per_s)]
    });
    Mark::Band(ends.collect())
}

/// How long the steps of a long run are, for captions; empty if it is drawn in intervals.
pub fn bin_note(points: &[&PointAnalysis]) -> String {
    let binned = points.iter().filter_map(|p| p.series.as_ref()).find(|s| !s.bins.is_empty());
    let lengths = binned.and_then(|s| Some((s.bins.first()?.all.length_s, s.intervals.first()?.length_s)));
    lengths.map_or(String::new(), |(bin, interval)| {
        let (bin, interval) = (format::seconds(bin), format::seconds(interval));
        format!(
            " Line: means over {bin}, and down to an interval below half of its mean if such are few; band: the slowest and the fastest \
             {interval} in each."
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{long_runs, panels, quick, with_points};

    #[test]
    fn the_panels_of_a_sweep_have_one_scale_and_those_of_strangers_their_own() {
        let all = draw(&quick());
        let ranges = |figure: &Figure| panels(figure).iter().map(|p| p.y.range).collect::<Vec<_>>();
        let of = |id: &str| all.iter().find(|f| f.id == id).unwrap();
        let sweep = ranges(of("timeline-file-rndrd"));
        assert!(sweep[0].is_some() && sweep.iter().all(|range| *range == sweep[0]));
        assert!(ranges(of("timeline-insert")).iter().all(Option::is_none));
        assert!(of("timeline-file-rndrd").caption.contains(" All panels share one scale."));
        assert!(of("timeline-insert").caption.contains(" Each panel has its own scale."));
        let drawn: Vec<&str> = CHART.help.matches("scale").collect();
        assert!(drawn.is_empty(), "the heading is above both sorts of figure");
    }

    #[test]
    fn a_line_that_drops_everywhere_is_drawn_without_its_drops() {
        let mut point = long_runs(800).points.remove(0);
        let drawn = |point: &PointAnalysis| with_drops(point).len() - places(point).len();
        assert_eq!(drawn(&point), 2);
        point.series.as_mut().unwrap().bins.iter_mut().step_by(2).for_each(|bin| bin.least_per_s = 0.0);
        assert_eq!(drawn(&point), 0);
    }

    #[test]
    fn a_panel_says_how_often_and_how_long_the_point_stalled() {
        let note = |id: usize| draw_point("", &quick().points[id], (SeriesStyle::nth(0), 100.0)).note;
        assert!(note(5).ends_with("; 1 stall, 1 s"), "as long as the finding says: {}", note(5));
        assert!(!note(0).contains("stall"), "{}", note(0));
    }

    #[test]
    fn the_part_of_an_interval_at_the_end_is_a_hollow_dot_that_explains_the_mean() {
        let mut analysis = with_points(1);
        assert!(partial_interval(&analysis.points[0]).is_none());
        let point = &mut analysis.points[0];
        let (series, summary) = (point.series.as_mut().unwrap(), point.summary.as_mut().unwrap());
        series.intervals.retain(|interval| interval.at_s < 2.0);
        for interval in &mut series.intervals {
            interval.ops_per_s = 1_230.0;
        }
        // Two whole seconds, and 1,540 operations in half a second.
        series.counted.to_s = 2.5;
        (summary.seconds, summary.ops_per_s) = (2.5, (2.0 * 1_230.0 + 1_540.0) / 2.5);
        let figure = draw(&analysis).remove(0);
        let marks = panels(&figure)[0].series.iter().flat_map(|series| &series.marks);
        let rings: Vec<_> =
            marks.filter_map(|mark| if let Mark::Rings(_, at) = mark { Some(at[0]) } else { None }).collect();
        assert_eq!(rings.len(), 1);
        assert!(rings[0].0 == 2.25 && (rings[0].1 - 3_080.0).abs() < 1e-6, "{rings:?}");
        assert!(figure.caption.contains("Hollow: the incomplete last interval."), "{}", figure.caption);
        let FigureBody::Panels { x, .. } = &figure.body else { panic!("panels") };
        assert_eq!(x.range, Some((-1.0, 2.5)));
        assert!(rates(&[&analysis.points[0]]).fold(0.0, f64::max) > 3_079.0, "a common scale has room for it");
        let ended = model::Observation { unknown_ns: 500_000_000, ..model::Observation::default() };
        analysis.points[0].traits.observed = Some(ended);
        assert!(partial_interval(&analysis.points[0]).is_none(), "what a server did that did not answer is not known");
    }

    #[test]
    fn repeats_share_a_panel_with_a_line_each() {
        let mut analysis = with_points(5);
        (1..).zip(&mut analysis.points).for_each(|(repeat, point)| (point.clients, point.repeat) = (8, repeat));
        let figures = draw(&analysis);
        let [panel] = panels(&figures[0]) else { panic!("one panel") };
        assert_eq!(panel.series.len(), 5);
        assert!(panel.note.contains("of 5 repeats"), "{}", panel.note);
    }

    #[test]
    fn a_long_run_is_drawn_in_steps_whose_band_reaches_down_to_a_single_standstill() {
        let figures = draw(&long_runs(800));
        let caption = &figures[0].caption;
        let words = "means over 5 s, and down to an interval below half of its mean if such are few; band: the slowest and the fastest 1 s";
        assert!(caption.contains(words), "{caption}");
        let panel = &panels(&figures[0])[1];
        let Mark::Band(bounds) = &panel.series[0].marks[0] else { panic!("a band") };
        assert_eq!(bounds.len(), 2 * 160);
        let at_zero: Vec<f64> = bounds.iter().filter(|(_, least, _)| *least == 0.0).map(|bound| bound.0).collect();
        assert_eq!(at_zero, [700.0, 705.0]);
        let Mark::Line(_, steps) = &panel.series[2].marks[0] else { panic!("a line") };
        assert_eq!(steps.len(), 160 + 2);
        let Mark::Line(_, alone) = &panels(&figures[0])[0].series[0].marks[0] else { panic!("a line") };
        let drop: Vec<f64> = alone.iter().filter(|(x, _)| *x == 702.5).map(|(_, y)| *y).collect();
        assert_eq!((alone.len(), drop[0] == drop[2], drop[1]), (162, true, 0.0));
    }
}
