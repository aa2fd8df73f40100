//! The 95th percentile of the response time against clients, or against depth: what more load costs each operation.
//!
//! In: the summaries of the points of each sweep. Out: one figure per workload and dimension, one line per group.
//! Limits: no interval is drawn; percentiles of one run have none that holds under autocorrelation.

use super::throughput::figures;
use super::{Chart, Measure, merged};
use crate::figure::{Axis, Figure};
use analysis::{Analysis, PointAnalysis};

/// The chart.
pub const CHART: Chart = Chart {
    id: "p95",
    title: "Response time against clients and depth",
    help: "The 95th percentile: 19 of 20 operations were faster. Where throughput stops rising, this begins to.",
    draw,
};

fn draw(analysis: &Analysis) -> Vec<Figure> {
    let p95 = Measure {
        of: |p| Some((p.summary.as_ref()?.response_ns?.p95 as f64, None)),
        together: |repeats| {
            let all = merged(repeats, |series| &series.response);
            (!all.is_empty()).then(|| all.value_at_quantile(0.95) as f64)
        },
    };
    let note = |is_repeated| match is_repeated {
        true => " Dots: repeats. Lines: of all their operations together.",
        false => "",
    };
    let y = |_: &[&PointAnalysis]| Axis::nanos("95th percentile of the response time");
    figures(analysis, ("p95", "Response time"), note, y, &p95)
}
