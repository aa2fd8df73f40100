//! All ratios of a comparison with their intervals, around the line at 1: a forest plot.
//!
//! In: a comparison. Out: figures of some dozens of rows. The colour of a row is its verdict. Limits: the interval of few pairs may leave
//! the picture.

use crate::format;
use crate::wording::compare::{arm_name, metric_name, verdict_word};
use crate::wording::label::settings_label;
use analysis::RatioVerdict;
use analysis::compare::{MetricRatio, PlaceComparison, RunComparison};
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
/// An interval that goes further than this factor from the ratio is cut.
const REACH: f64 = 1.6;
/// Places of ticks, of which those within the axis are shown.
const TICKS: &[f64] = &[
    0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 1.0, 1.02, 1.05, 1.1, 1.2, 1.5, 2.0, 3.0, 5.0,
    10.0, 20.0, 50.0, 100.0,
];
/// The colour of each verdict.
const VERDICTS: [(RatioVerdict, Colour); 4] = [
    (RatioVerdict::Faster, Colour::Green),
    (RatioVerdict::Slower, Colour::Vermillion),
    (RatioVerdict::NoDifferenceShown, Colour::Blue),
    (RatioVerdict::Indicative, Colour::Black),
];

/// One ratio.
type ForestRow<'a> = (&'a PlaceComparison, &'a MetricRatio);

/// The figures of `comparison`, the `nth` of its table.
pub fn draw(comparison: &RunComparison, nth: usize) -> Vec<Figure> {
    let rows: Vec<ForestRow> = comparison.ratios().collect();
    let parts = rows.len().div_ceil(ROWS_MAX);
    let part = |(at, rows): (usize, &[ForestRow])| {
        let suffix = if parts > 1 { format!(", part {} of {parts}", at + 1) } else { String::new() };
        let (base, new) = (arm_name(&comparison.base), arm_name(&comparison.new));
        Figure {
            id: format!("ratios-{nth:02}-{:02}-{}", at + 1, format::slug(&new)),
            title: format!("{new} against {base}: ratios{suffix}"),
            caption: caption(rows),
            body: FigureBody::Panels { x: x_axis(rows), panels: vec![panel(rows)] },
        }
    };
    rows.chunks(ROWS_MAX).enumerate().map(part).collect()
}

fn caption(rows: &[ForestRow]) -> String {
    let pairs: Vec<usize> = rows.iter().map(|(_, metric)| metric.estimate.n).collect();
    let (least, most) = (pairs.iter().min().copied().unwrap_or(0), pairs.iter().max().copied().unwrap_or(0));
    let pairs = if least == most { format!("{most} pairs") } else { format!("{least} to {most} pairs") };
    format!(
        "Dots: the new arm's value divided by the base's, of {pairs} of repeats. Lines: 95 % confidence intervals. A rate above 1 is better, a time below 1."
    )
}

fn panel(rows: &[ForestRow]) -> Panel {
    let names: Vec<String> = rows.iter().map(row_name).collect();
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

fn row_name((place, metric): &ForestRow) -> String {
    format!("{} {}", settings_label(&place.label), metric_name(metric.metric)).trim().to_owned()
}

/// The rows with that verdict; `None` if there is none.
fn of_verdict(rows: &[ForestRow], verdict: RatioVerdict, colour: Colour) -> Option<DataSeries> {
    let placed = rows.iter().enumerate().map(|(at, row)| ((rows.len() - 1 - at) as f64, row.1));
    let chosen: Vec<(f64, &MetricRatio)> = placed.filter(|(_, metric)| metric.estimate.verdict == verdict).collect();
    let dots: Vec<(f64, f64)> = chosen.iter().map(|(y, metric)| (metric.estimate.ratio, *y)).collect();
    let mut marks: Vec<Mark> = chosen.iter().flat_map(|(y, metric)| interval_marks(*y, metric)).collect();
    marks.push(if verdict == RatioVerdict::Indicative { Mark::Rings(5.0, dots) } else { Mark::Dots(5.0, dots) });
    (!chosen.is_empty()).then(|| DataSeries::named(verdict_word(verdict), SeriesStyle::from(colour), marks))
}

fn interval_marks(y: f64, metric: &MetricRatio) -> Vec<Mark> {
    let Some([low, high]) = metric.estimate.ci95 else { return Vec::new() };
    let (least, most) = (metric.estimate.ratio / REACH, metric.estimate.ratio * REACH);
    let cap = |x: f64| Mark::Line(Stroke::Solid, vec![(x, y - CAP), (x, y + CAP)]);
    let mut marks = vec![Mark::Line(Stroke::Solid, vec![(low.max(least), y), (high.min(most), y)])];
    marks.extend((low >= least).then(|| cap(low)));
    marks.extend((high <= most).then(|| cap(high)));
    marks
}

/// Logarithmic: half as fast and twice as fast are equally far from 1.
fn x_axis(rows: &[ForestRow]) -> Axis {
    let ends = rows.iter().flat_map(|(_, metric)| {
        let ratio = metric.estimate.ratio;
        let [low, high] = metric.estimate.ci95.unwrap_or([ratio; 2]);
        [low.max(ratio / REACH), high.min(ratio * REACH)]
    });
    let (low, high) = ends.fold((1.0f64, 1.0f64), |(low, high), end| (low.min(end), high.max(end)));
    Axis {
        label: "ratio to the base (log scale)".to_owned(),
        scale: AxisScale::LogAt(TICKS.to_vec()),
        unit: AxisUnit::Count,
        range: Some((low, high)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{compared, panels};

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
    fn many_ratios_are_in_several_figures() {
        let mut comparison = compared();
        comparison.places = vec![comparison.places[0].clone(); 10];
        let figures = draw(&comparison, 1);
        assert_eq!(figures.len(), 2);
        assert!(figures[0].id != figures[1].id && figures[1].title.ends_with(", part 2 of 2"));
    }
}
