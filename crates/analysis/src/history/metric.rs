//! The numbers of a point that are followed over runs.
//!
//! In: the usable repeats of one point of one run. Out: one [`MetricValue`] for each metric that was measured.
//! Limits: a percentile is that of all repeats together. A cost that a run could not measure has no value there.

use crate::math::repeats::{combine_looked_at, combine_plain};
use crate::point::errors_of_mean;
use crate::points::merge_times;
use crate::{PointAnalysis, Summary};
use serde::Serialize;

/// A number that is followed over runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HistoryMetric {
    /// Operations done per second.
    OpsPerS,
    /// The 99th percentile of the response time, in nanoseconds.
    ResponseP99Ns,
    /// CPU of the engine per operation, in nanoseconds.
    EngineCpuNsPerOp,
    /// CPU of the client threads per operation, in nanoseconds.
    ClientCpuNsPerOp,
    /// Bytes read from storage per operation.
    ReadBytesPerOp,
    /// Bytes written to storage per operation.
    WrittenBytesPerOp,
    /// Context switches of the engine per operation.
    ContextSwitchesPerOp,
}

/// What one run has of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MetricValue {
    pub metric: HistoryMetric,
    pub value: f64,
    /// Its 95 % confidence interval within the run, if it has one.
    pub ci95: Option<[f64; 2]>,
    /// The repeats that it is of.
    pub repeats: usize,
}

impl HistoryMetric {
    /// All of them, in the order of reports.
    pub const ALL: [HistoryMetric; 7] = [
        HistoryMetric::OpsPerS,
        HistoryMetric::ResponseP99Ns,
        HistoryMetric::EngineCpuNsPerOp,
        HistoryMetric::ClientCpuNsPerOp,
        HistoryMetric::ReadBytesPerOp,
        HistoryMetric::WrittenBytesPerOp,
        HistoryMetric::ContextSwitchesPerOp,
    ];

    /// Its key in files, which has the unit.
    pub fn as_str(self) -> &'static str {
        match self {
            HistoryMetric::OpsPerS => "ops_per_s",
            HistoryMetric::ResponseP99Ns => "response_p99_ns",
            HistoryMetric::EngineCpuNsPerOp => "engine_cpu_ns_per_op",
            HistoryMetric::ClientCpuNsPerOp => "client_cpu_ns_per_op",
            HistoryMetric::ReadBytesPerOp => "read_bytes_per_op",
            HistoryMetric::WrittenBytesPerOp => "written_bytes_per_op",
            HistoryMetric::ContextSwitchesPerOp => "context_switches_per_op",
        }
    }

    /// Whether more of it is better.
    pub fn more_is_better(self) -> bool {
        self == HistoryMetric::OpsPerS
    }

    /// The value of `repeats` together; `None` if none has it.
    fn measure(self, repeats: &[&PointAnalysis]) -> Option<MetricValue> {
        let (value, ci95) = match self {
            HistoryMetric::OpsPerS => {
                let rates = summaries(repeats).map(|summary| (summary.ops_per_s, summary.ops_per_s_ci95));
                combine_looked_at(rates, errors_of_mean(repeats)).map(|mean| (mean.mean, mean.ci95))?
            }
            HistoryMetric::ResponseP99Ns => {
                let times = merge_times(repeats, |series| &series.response);
                (!times.is_empty()).then(|| (times.value_at_quantile(0.99) as f64, None))?
            }
            _ => (combine_plain(summaries(repeats).filter_map(|summary| self.cost(summary)))?, None),
        };
        Some(MetricValue { metric: self, value, ci95, repeats: repeats.len() })
    }

    /// The metric as a cost of an operation; `None` if it is none, or was not measured.
    fn cost(self, summary: &Summary) -> Option<f64> {
        match self {
            HistoryMetric::OpsPerS | HistoryMetric::ResponseP99Ns => None,
            HistoryMetric::EngineCpuNsPerOp => summary.cost.per_op.engine_cpu_ns,
            HistoryMetric::ClientCpuNsPerOp => summary.client.cpu_ns_per_op,
            HistoryMetric::ReadBytesPerOp => summary.cost.per_op.read_bytes,
            HistoryMetric::WrittenBytesPerOp => summary.cost.per_op.written_bytes,
            HistoryMetric::ContextSwitchesPerOp => summary.cost.per_op.context_switches,
        }
    }
}

fn summaries<'a>(repeats: &[&'a PointAnalysis]) -> impl Iterator<Item = &'a Summary> {
    repeats.iter().filter_map(|point| point.summary.as_ref())
}

/// The values of all metrics that `repeats` have.
pub fn measure_all(repeats: &[&PointAnalysis]) -> Vec<MetricValue> {
    HistoryMetric::ALL.iter().filter_map(|metric| metric.measure(repeats)).collect()
}
