//! Ratios with their intervals, around the line at 1: a forest plot.
//!
//! In: a comparison of runs, or ratios with their names. Out: figures of some dozens of rows. The colour of a row is its verdict. Limits: the interval of few pairs may leave
//! the picture.

use crate::format;
use crate::wording::compare::arm_name;
use crate::wording::label::settings_label;
use crate::wording::metric::{metric_head, speed_verdict_word};
use crate::wording::quantity::plural;
use analysis::compare::RunComparison;
use analysis::{RatioEstimate, RatioVerdict};
use plot::figure::{
    Axis, AxisScale, AxisUnit, Colour, DataSeries, Figure, FigureBody, Mark, Panel, SeriesStyle, Stroke,
};
use plot::labels::{Ruler, fit_labels};

/// Rows of one figure.
const ROWS_MAX: usize = 24;
/// Longer names of rows are cut.
const NAME_LENGTH_MAX: usize = 38;
/// The height of a row, and of what is above and below all of them.
const ROW_HEIGHT: f64 = 26.0;
/// Half the height of the ends of an interval, in rows.
const CAP: f64 = 0.14;
/// An interval is cut if it is further than this factor from its ratio: that of two pairs would make all others points.
const REACH: f64 = 10.0;
/// The same for an interval from which nothing is concluded.
const INDICATIVE_REACH: f64 = 2.0;
/// Ticks of an axis from whose one end to the other is at most this factor.
const TICKS: [(f64, &[f64]); 3] = [
    (1.3, &[0.8, 0.85, 0.9, 0.95, 0.98, 1.0, 1.02, 1.05, 1.1, 1.15, 1.2, 1.25]),
    (6.0, &[0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0]),
    (
        f64::INFINITY,
        &[0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 1000.0],
    ),
];
/// The colour of each verdict.
const VERDICTS: [(RatioVerdict, Colour); 4] = [
    (RatioVerdict::Faster, Colour::Green),
    (RatioVerdict::Slower, Colour::Vermillion),
    (RatioVerdict::NoDifferenceShown, Colour::Blue),
    (RatioVerdict::Indicative, Colour::Black),
];

pub struct ForestRow {
    /// What it is the ratio of.
    pub name: String,
    pub estimate: RatioEstimate,
}

/// What the figures of some ratios have in common.
pub struct Forest {
    /// The beginning of their ids, and the end.
    pub id: [String; 2],
    pub title: String,
    pub conditions: String,
}

/// The figures of `comparison`, the `nth` of its table.
pub fn draw(comparison: &RunComparison, nth: usize) -> Vec<Figure> {
    // A cost is the rate once more, the other way round.
    let ratios = comparison.ratios().filter(|(_, metric)| !metric.metric.is_running_cost());
    let rows = ratios.map(|(place, metric)| ForestRow {
        name: format!("{} {}", settings_label(&place.label), metric_head(metric.metric, place.unit)).trim().to_owned(),
        estimate: metric.estimate,
    });
    let (base, new) = (arm_name(&comparison.base), arm_name(&comparison.new));
    let forest = Forest {
        id: [format!("ratios-{nth:02}"), format::slug(&new)],
        title: format!("{new} against {base}: ratios"),
        conditions: String::new(),
    };
    forest.figures(&rows.collect::<Vec<_>>())
}

impl Forest {
    /// Figures of at most [`ROWS_MAX`] of `rows` each.
    pub fn figures(&self, rows: &[ForestRow]) -> Vec<Figure> {
        let parts = rows.len().div_ceil(ROWS_MAX);
        let part = |(at, rows): (usize, &[ForestRow])| {
            let suffix = if parts > 1 { format!(", part {} of {parts}", at + 1) } else { String::new() };
            let [first, last] = &self.id;
            Figure {
                id: format!("{first}-{:02}-{last}", at + 1),
                title: format!("{}{suffix}", self.title),
                conditions: self.conditions.clone(),
                caption: caption(rows),
                body: FigureBody::Panels { x: x_axis(rows), panels: vec![panel(rows)] },
            }
        };
        rows.chunks(ROWS_MAX).enumerate().map(part).collect()
    }
}

fn caption(rows: &[ForestRow]) -> String {
    let pairs: Vec<usize> = rows.iter().map(|row| row.estimate.n).collect();
    let (least, most) = (pairs.iter().min().copied().unwrap_or(0), pairs.iter().max().copied().unwrap_or(0));
    let pairs = if least == most { plural(most as u64, "pair") } else { format!("{least} to {most} pairs") };
    let is_cut = |row: &ForestRow| drawn_interval(&row.estimate).is_some_and(|(_, is_cut)| is_cut.contains(&true));
    let cut = if rows.iter().any(is_cut) { " An end without a mark lies further out." } else { "" };
    format!(
        "Dots: values divided by those of the base, of {pairs} of repeats. Lines: 95 % confidence intervals. A rate above 1 is better, \
         a time below 1.{cut}{}",
        discovery_note(rows)
    )
}

/// Why a row shows no difference although its interval leaves out 1; empty if none does.
fn discovery_note(rows: &[ForestRow]) -> &'static str {
    let leaves_out_1 = |row: &ForestRow| {
        let interval = row.estimate.ci95.filter(|_| row.estimate.verdict == RatioVerdict::NoDifferenceShown);
        interval.is_some_and(|[low, high]| low > 1.0 || high < 1.0)
    };
    if rows.iter().any(leaves_out_1) {
        " Among so many rows an interval that leaves out 1 by little shows no difference: at most 5 % of those shown are false."
    } else {
        ""
    }
}

fn panel(rows: &[ForestRow]) -> Panel {
    let names: Vec<String> = rows.iter().map(|row| row.name.clone()).collect();
    let ruler = Ruler { measure: |text: &str| text.chars().count() as f64, ellipsis: "..." };
    // The first row is the highest, and places count from the bottom.
    let mut slots = fit_labels(&names, NAME_LENGTH_MAX as f64, &ruler);
    slots.reverse();
    let top = slots.len() as f64 - 0.5;
    let reference = Mark::Line(Stroke::Dashed, vec![(1.0, -0.5), (1.0, top)]);
    let mut series = vec![DataSeries::unnamed(SeriesStyle::from(Colour::Black), vec![reference])];
    series.extend(VERDICTS.iter().filter_map(|(verdict, colour)| of_verdict(rows, *verdict, *colour)));
    let y =
        Axis { label: String::new(), scale: AxisScale::Slots(slots), unit: AxisUnit::Count, range: Some((-0.5, top)) };
    let height = ROW_HEIGHT * rows.len() as f64 + 10.0;
    Panel { title: String::new(), note: String::new(), y, height, series, shades: Vec::new() }
}

/// The rows with that verdict; `None` if there is none.
fn of_verdict(rows: &[ForestRow], verdict: RatioVerdict, colour: Colour) -> Option<DataSeries> {
    let placed = rows.iter().enumerate().map(|(at, row)| ((rows.len() - 1 - at) as f64, &row.estimate));
    let chosen: Vec<(f64, &RatioEstimate)> = placed.filter(|(_, estimate)| estimate.verdict == verdict).collect();
    let dots: Vec<(f64, f64)> = chosen.iter().map(|(y, estimate)| (estimate.ratio, *y)).collect();
    let mut marks: Vec<Mark> = chosen.iter().flat_map(|(y, estimate)| interval_marks(*y, estimate)).collect();
    marks.push(if verdict == RatioVerdict::Indicative { Mark::Rings(5.0, dots) } else { Mark::Dots(5.0, dots) });
    (!chosen.is_empty()).then(|| DataSeries::named(speed_verdict_word(verdict), SeriesStyle::from(colour), marks))
}

/// The interval as it is drawn, and whether either end was cut.
fn drawn_interval(estimate: &RatioEstimate) -> Option<([f64; 2], [bool; 2])> {
    let [low, high] = estimate.ci95?;
    let reach = if estimate.verdict == RatioVerdict::Indicative { INDICATIVE_REACH } else { REACH };
    let (least, most) = (estimate.ratio / reach, estimate.ratio * reach);
    Some(([low.max(least), high.min(most)], [low < least, high > most]))
}

/// An end that was cut has no mark.
fn interval_marks(y: f64, estimate: &RatioEstimate) -> Vec<Mark> {
    let Some((ends, is_cut)) = drawn_interval(estimate) else { return Vec::new() };
    let cap = |x: f64| Mark::Line(Stroke::Solid, vec![(x, y - CAP), (x, y + CAP)]);
    let caps = ends.into_iter().zip(is_cut).filter(|(_, is_cut)| !is_cut).map(|(x, _)| cap(x));
    std::iter::once(Mark::Line(Stroke::Solid, vec![(ends[0], y), (ends[1], y)])).chain(caps).collect()
}

/// Logarithmic: half as fast and twice as fast are equally far from 1.
fn x_axis(rows: &[ForestRow]) -> Axis {
    let ends = rows.iter().flat_map(|row| {
        let ratio = row.estimate.ratio;
        drawn_interval(&row.estimate).map_or([ratio; 2], |(ends, _)| ends)
    });
    let (low, high) = ends.fold((1.0f64, 1.0f64), |(low, high), end| (low.min(end), high.max(end)));
    let ticks = TICKS.iter().find(|(span, _)| high / low <= *span).map_or(&[1.0][..], |(_, ticks)| *ticks);
    Axis {
        label: "ratio to the base (log scale)".to_owned(),
        scale: AxisScale::LogAt(ticks.to_vec()),
        unit: AxisUnit::Count,
        range: Some((low, high)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{compared, panels};
    use analysis::compare::MetricRatio;

    #[test]
    fn each_ratio_has_a_row_and_the_colour_of_its_verdict() {
        let figures = draw(&compared(), 1);
        let [panel] = panels(&figures[0]) else { panic!("one panel") };
        let AxisScale::Slots(names) = &panel.y.scale else { panic!("rows have names") };
        assert_eq!(names, &["postgres oltp p99", "postgres oltp p50", "postgres oltp ops/s"]);
        let labels: Vec<&str> = panel.series.iter().map(|series| series.label.as_str()).collect();
        assert_eq!(labels, ["", "slower", "no difference shown"]);
        assert_eq!(panel.series[1].style.colour, Colour::Vermillion);
        let Some(Mark::Dots(_, dots)) = panel.series[1].marks.last() else { panic!("dots") };
        assert!((dots[0].0 - 0.5).abs() < 0.01 && dots[0].1 == 2.0 && dots[1].1 == 0.0, "{dots:?}");
    }

    #[test]
    fn an_interval_that_holds_1_is_drawn_to_1_and_a_hopeless_one_is_cut() {
        let mut comparison = compared();
        let estimate = |ratio, ci95, verdict| {
            move |metric: &mut MetricRatio| {
                (metric.estimate.ratio, metric.estimate.ci95, metric.estimate.verdict) = (ratio, Some(ci95), verdict);
            }
        };
        let metrics = &mut comparison.places[0].metrics;
        estimate(11.7, [0.9, 152.0], RatioVerdict::NoDifferenceShown)(&mut metrics[0]);
        estimate(2.0, [0.001, 4e3], RatioVerdict::Indicative)(&mut metrics[1]);
        let drawn: Vec<_> = metrics.iter().filter_map(|metric| drawn_interval(&metric.estimate)).collect();
        assert_eq!(drawn[1], ([1.0, 4.0], [true, true]));
        let figure = &draw(&comparison, 1)[0];
        let FigureBody::Panels { x, .. } = &figure.body else { panic!("panels") };
        assert!(figure.caption.ends_with("An end without a mark lies further out."), "{}", figure.caption);
        assert!(x.range.is_some_and(|(low, high)| low < 1.2 && high > 100.0), "{x:?}");
    }

    #[test]
    fn an_interval_beside_1_without_a_difference_is_explained() {
        let mut comparison = compared();
        assert!(!draw(&comparison, 1)[0].caption.contains("so many rows"));
        comparison.places[0].metrics[0].estimate.verdict = RatioVerdict::NoDifferenceShown;
        assert!(draw(&comparison, 1)[0].caption.contains("so many rows"));
    }

    #[test]
    fn many_ratios_are_in_several_figures() {
        let mut comparison = compared();
        comparison.places = vec![comparison.places[0].clone(); 10];
        let figures = draw(&comparison, 1);
        assert_eq!(figures.len(), 2);
        assert!(figures[0].id != figures[1].id && figures[1].title.ends_with(", part 2 of 2"));
    }
}
