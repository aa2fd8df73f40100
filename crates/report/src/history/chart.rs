//! One picture for each series of a history: its values run by run, its levels, and the runs with which they began.
//!
//! In: a plan's history. Out: [`Figure`]s. Limits: runs are drawn at equal distances, in the order of time. The y axis does not begin at 0,
//! since changes of some per cent would not be seen.

use crate::format;
use crate::wording::history::{change_sign, change_size, metric_name, runs_phrase, series_label};
use analysis::history::{HistoryLevel, HistoryMetric, HistoryOutcome, HistorySeries, PlanHistory};
use plot::figure::{
    Axis, AxisScale, AxisUnit, Colour, DataSeries, Figure, FigureBody, Mark, Panel, SeriesStyle, Stroke,
};

/// Room above and below the values, as a share of their range.
const ROOM: f64 = 0.15;
/// The range of values that are all alike, as a share of them.
const RANGE_MIN: f64 = 0.02;

/// The figures of `plan`, one for each series that is not always 0; `number` keeps their names apart from those of other plans.
pub fn figures(plan: &PlanHistory, number: usize) -> Vec<Figure> {
    let numbered = plan.series.iter().enumerate();
    let drawn = numbered.filter(|(_, series)| series.outcome != HistoryOutcome::AlwaysZero);
    drawn.map(|(nth, series)| figure(plan, series, (number, nth + 1))).collect()
}

fn figure(plan: &PlanHistory, series: &HistorySeries, (plan_number, nth): (usize, usize)) -> Figure {
    let name = format!("{}, {}", metric_name(series.metric), series_label(series));
    let marks = vec![
        DataSeries::unnamed(SeriesStyle::from(Colour::Vermillion), level_marks(series)),
        DataSeries::unnamed(SeriesStyle::from(Colour::Blue), value_marks(series)),
        DataSeries::unnamed(SeriesStyle::from(Colour::Black), vec![change_marks(series)]),
    ];
    let panel = Panel {
        title: String::new(),
        note: String::new(),
        y: y_axis(series),
        height: 260.0,
        series: marks,
        shades: Vec::new(),
    };
    let slug = format::slug(&name);
    Figure {
        id: format!("history-{plan_number}-{nth:02}-{slug}"),
        title: format!("{name}: {}", outcome_phrase(series)),
        conditions: String::new(),
        caption: caption(plan, series),
        body: FigureBody::Panels { x: x_axis(plan), panels: vec![panel] },
    }
}

/// `7.0 % lower (6.4 to 7.6) from run 16 on`.
fn outcome_phrase(series: &HistorySeries) -> String {
    match (&series.outcome, series.changes()) {
        (HistoryOutcome::TooFew, _) => format!("cannot tell from {} runs", series.values.len()),
        (HistoryOutcome::AlwaysZero, _) => "always 0".to_owned(),
        (HistoryOutcome::SometimesZero, _) => "cannot tell, a value is 0".to_owned(),
        (_, []) => format!("no change shown in {} runs", series.values.len()),
        (_, [change]) => format!("{} from run {} on", change_size(change), change.run + 1),
        (_, changes) => format!("{} changes in {} runs", changes.len(), series.values.len()),
    }
}

fn caption(plan: &PlanHistory, series: &HistorySeries) -> String {
    let mut text = format!("{}: {}.", plan.title, runs_phrase(plan));
    if y_range(series).0 > 0.0 {
        text += " The y axis does not begin at 0.";
    }
    if series.values.iter().any(|value| value.value.ci95.is_some()) {
        text += " Bars: 95 % confidence intervals within a run.";
    }
    if let HistoryOutcome::Judged { outliers, .. } = &series.outcome {
        text += " Lines: levels with their 95 % confidence intervals.";
        text += if outliers.is_empty() { "" } else { " Hollow: outliers, not counted." };
    }
    text
}

/// Runs are counted from 1.
fn place(series: &HistorySeries, nth: usize) -> f64 {
    series.values[nth].run as f64 + 1.0
}

fn value_marks(series: &HistorySeries) -> Vec<Mark> {
    let outliers: &[usize] = match &series.outcome {
        HistoryOutcome::Judged { outliers, .. } => outliers,
        HistoryOutcome::TooFew | HistoryOutcome::AlwaysZero | HistoryOutcome::SometimesZero => &[],
    };
    let numbered = || (0..series.values.len()).map(|nth| (nth, place(series, nth), &series.values[nth].value));
    let whiskers = numbered().filter_map(|(_, x, value)| value.ci95.map(|[low, high]| (x, low, high)));
    let dots = |is_outlier: bool| -> Vec<(f64, f64)> {
        let chosen = numbered().filter(|(nth, ..)| outliers.contains(nth) == is_outlier);
        chosen.map(|(_, x, value)| (x, value.value)).collect()
    };
    vec![Mark::Whiskers(whiskers.collect()), Mark::Dots(3.5, dots(false)), Mark::Rings(3.5, dots(true))]
}

fn level_marks(series: &HistorySeries) -> Vec<Mark> {
    let HistoryOutcome::Judged { levels, .. } = &series.outcome else { return Vec::new() };
    let marks = |level: &HistoryLevel| {
        let [from, to] = [place(series, level.first) - 0.5, place(series, level.last) + 0.5];
        let [low, high] = level.ci95;
        [
            Mark::Band(vec![(from, low, high), (to, low, high)]),
            Mark::Line(Stroke::Solid, vec![(from, level.mean), (to, level.mean)]),
        ]
    };
    levels.iter().flat_map(marks).collect()
}

fn change_marks(series: &HistorySeries) -> Mark {
    let mark = |change: &analysis::history::HistoryChange| {
        (change.run as f64 + 0.5, format!("run {}: {}", change.run + 1, change_sign(change)))
    };
    Mark::Verticals(series.changes().iter().map(mark).collect())
}

fn x_axis(plan: &PlanHistory) -> Axis {
    Axis {
        label: "run, the oldest first".to_owned(),
        scale: AxisScale::Linear,
        unit: AxisUnit::Count,
        range: Some((0.0, plan.runs.len() as f64 + 1.0)),
    }
}

fn y_axis(series: &HistorySeries) -> Axis {
    let (label, unit) = match series.metric {
        HistoryMetric::OpsPerS => ("operations per second", AxisUnit::Count),
        HistoryMetric::ResponseP99Ns => ("response time, 99th percentile", AxisUnit::Nanos),
        HistoryMetric::EngineCpuNsPerOp => ("engine CPU per operation", AxisUnit::Nanos),
        HistoryMetric::ClientCpuNsPerOp => ("client CPU per operation", AxisUnit::Nanos),
        HistoryMetric::ReadBytesPerOp => ("bytes read per operation", AxisUnit::Count),
        HistoryMetric::WrittenBytesPerOp => ("bytes written per operation", AxisUnit::Count),
        HistoryMetric::ContextSwitchesPerOp => ("context switches per operation", AxisUnit::Count),
    };
    Axis { label: label.to_owned(), scale: AxisScale::Linear, unit, range: Some(y_range(series)) }
}

/// The range of the values with some room; a whisker may leave it.
fn y_range(series: &HistorySeries) -> (f64, f64) {
    let values = || series.values.iter().map(|value| value.value.value).filter(|value| value.is_finite());
    let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
    let room = (ROOM * (high - low)).max(RANGE_MIN / 2.0 * high.abs()).max(f64::MIN_POSITIVE);
    ((low - room).max(0.0), high + room)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_series_has_a_figure_of_its_own_name_that_can_be_drawn() {
        let history = crate::history::fixture();
        let all: Vec<Figure> =
            history.plans.iter().enumerate().flat_map(|(nth, plan)| figures(plan, nth + 1)).collect();
        let mut ids: Vec<&str> = all.iter().map(|figure| figure.id.as_str()).collect();
        let count = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), count);
        assert_eq!(all[0].title, "ops/s, file rndrd depth 1: 7.0 % lower (6.5 to 7.4) from run 16 on");
        for figure in &all {
            let svg = plot::render_svg(figure);
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{}", figure.id);
        }
    }

    #[test]
    fn values_that_are_all_alike_have_a_range_around_them() {
        let mut series = crate::history::fixture().plans[0].series[0].clone();
        series.values.iter_mut().for_each(|value| value.value.value = 100.0);
        assert_eq!(y_range(&series), (99.0, 101.0));
        series.values.iter_mut().for_each(|value| value.value.value = 0.0);
        let (low, high) = y_range(&series);
        assert!(low == 0.0 && high > 0.0);
    }
}
