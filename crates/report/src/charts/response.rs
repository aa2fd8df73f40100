//! The 99th percentile of the response time against clients, or against depth: what more load costs each operation. It is the percentile
//! of the tables.
//!
//! In: the summaries of the points of each sweep. Out: one figure per workload and dimension, one line per group; none where the
//! chart of the throughput has panels, with the response time below.
//! Limits: no interval is drawn; percentiles of one run have none that holds under autocorrelation.

use super::chart::Chart;
use super::marks::invalid_note;
use super::sweep::{SweepMeasure, Together};
use super::throughput::{lines, named};
use analysis::Analysis;
use analysis::points::merge_times;
use plot::figure::{Axis, Figure};

pub const CHART: Chart = Chart {
    id: "response",
    title: "Response time against clients and depth",
    help: "The 99th percentile (99 of 100 operations are faster) rises when throughput stops rising.",
    draw,
    of_points: None,
    #[cfg(test)]
    fixture: crate::testing::quick,
};

fn draw(analysis: &Analysis) -> Vec<Figure> {
    let all = named(analysis, ("response", "Response time"));
    let alone = all.iter().filter(|(sweep, _)| !sweep.split.is_grid());
    let draw = |(sweep, names): &(super::sweep::SweepFigure, super::throughput::FigureNames)| {
        let y = Axis::nanos("99th percentile of the response time");
        let mut figure = lines(analysis, sweep, names, (y, &P99));
        if sweep.split.points().iter().any(|point| point.repeat > 1) {
            figure.caption += " Dots: repeats. Lines: percentiles of all their operations together.";
        }
        figure.caption += invalid_note(&sweep.split.points());
        figure
    };
    alone.map(draw).collect()
}

/// The 99th percentile of the response time.
pub const P99: SweepMeasure = SweepMeasure {
    of: |p| Some((p.summary.as_ref()?.response_ns?.p99 as f64, None)),
    together: Together::As(|repeats| {
        let all = merge_times(repeats, |series| &series.response);
        (!all.is_empty()).then(|| all.value_at_quantile(0.99) as f64)
    }),
};

/// The mean of the response time.
pub const MEAN: SweepMeasure = SweepMeasure {
    of: |p| Some((p.summary.as_ref()?.response_ns?.mean, None)),
    together: Together::As(|repeats| {
        let all = merge_times(repeats, |series| &series.response);
        (!all.is_empty()).then(|| all.mean_ns())
    }),
};
