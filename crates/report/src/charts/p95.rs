//! The 95th percentile of the response time against clients, or against depth: what more load costs each operation.
//!
//! In: the summaries of the points of each sweep. Out: one figure per workload and dimension, one line per group.
//! Limits: no interval is drawn; percentiles of one run have none that holds under autocorrelation.

use super::Chart;
use super::throughput::figures;
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
    let value = |p: &PointAnalysis| Some((p.summary.as_ref()?.response_ns?.p95 as f64, None));
    let y = Axis::nanos("95th percentile of the response time");
    figures(analysis, "p95", "95th percentile of the response time", "", &y, value)
}
