//! The numbers of a point that are compared with those of another.
//!
//! In: an analysed point. Out: the value of a [`Metric`], with its interval. Limits: the longest time is no metric, because it is one
//! operation. A percentile that too few operations support has no value, nor has a rate of a step that is timed as a whole.

use crate::figures::{Better, FigureDef, INSERT_FIGURES, POINT_FIGURES, figure};
use crate::math::ratio::Preference;
use crate::points::work::WorkUnit;
use crate::{InsertCost, PointAnalysis};
use model::Percentile;
use serde::{Serialize, Serializer};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Metric {
    /// The largest rate that keeps an objective, in operations per second.
    LimitPerS,
    /// Rows inserted per second.
    RowsPerS,
    OpsPerS,
    /// The duration of a step that has no rate, in seconds.
    Seconds,
    /// The statement of a variant alone, without set-up and clean-up, in seconds.
    StatementSeconds,
    /// A percentile of the response times.
    Response(Percentile),
    /// CPU time of the engine for an operation.
    EngineCpuNsPerOp,
    /// The same for a row inserted.
    EngineCpuNsPerInsert,
    /// Context switches of the engine for an operation.
    ContextSwitchesPerOp,
    /// Bytes read for an operation.
    ReadBytesPerOp,
    /// The same for a row inserted.
    ReadBytesPerInsert,
    /// Bytes written for an operation.
    WrittenBytesPerOp,
    /// The same for a row inserted.
    WrittenBytesPerInsert,
    /// Money per million operations.
    PerMillionOps,
    /// Energy per million operations, in kWh.
    KwhPerMillionOps,
    /// Money per GB: of payload, or of data that inserted rows take on disk.
    PerGb,
    /// Energy per GB, in kWh.
    KwhPerGb,
}

/// The figure that a metric is.
enum MetricFigure {
    Point(&'static FigureDef<PointAnalysis>),
    Insert(&'static FigureDef<InsertCost>),
}

/// What a point gave.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasuredValue {
    pub value: f64,
    /// Its 95 % confidence interval within the point, if it has one.
    pub ci95: Option<[f64; 2]>,
}

impl Metric {
    /// What counts for the work of `point`: a largest rate, a duration, the rows that it inserts, or its operations, which are transactions,
    /// reads or whatever its [`WorkUnit`] says. `None` if it has none of them.
    pub fn of_work(point: &PointAnalysis) -> Option<Metric> {
        let metric = if point.held.is_some() {
            Metric::LimitPerS
        } else if point.duration_s().is_some() {
            Metric::Seconds
        } else if WorkUnit::of(point) == Some(WorkUnit::Rows) {
            Metric::RowsPerS
        } else {
            Metric::OpsPerS
        };
        metric.value(point).is_some().then_some(metric)
    }

    /// The percentiles of response times that are compared: those that every point has.
    pub fn response_times() -> impl Iterator<Item = Metric> {
        let always = Percentile::ALL.iter().filter(|percentile| !percentile.needs_support());
        always.map(|percentile| Metric::Response(*percentile))
    }

    /// Its name in JSON and CSV.
    pub fn key(self) -> &'static str {
        match self {
            Metric::LimitPerS => "limit_per_s",
            Metric::RowsPerS => "rows_per_s",
            Metric::OpsPerS => "ops_per_s",
            Metric::Seconds => "seconds",
            Metric::StatementSeconds => "statement_seconds",
            Metric::Response(percentile) => percentile.key(),
            Metric::EngineCpuNsPerOp => "engine_cpu_ns_per_op",
            Metric::EngineCpuNsPerInsert => "engine_cpu_ns_per_insert",
            Metric::ContextSwitchesPerOp => "context_switches_per_op",
            Metric::ReadBytesPerOp => "read_bytes_per_op",
            Metric::ReadBytesPerInsert => "read_bytes_per_insert",
            Metric::WrittenBytesPerOp => "written_bytes_per_op",
            Metric::WrittenBytesPerInsert => "written_bytes_per_insert",
            Metric::PerMillionOps => "per_million_ops",
            Metric::KwhPerMillionOps => "kwh_per_million_ops",
            Metric::PerGb => "per_gb",
            Metric::KwhPerGb => "kwh_per_gb",
        }
    }

    /// Its declaration among the figures; `None` of a largest rate and of durations, which are no figures of a phase.
    fn declared(self) -> Option<MetricFigure> {
        let point = |key: &str| Some(MetricFigure::Point(figure(&POINT_FIGURES, key)));
        let insert = |key| Some(MetricFigure::Insert(figure(INSERT_FIGURES, key)));
        match self {
            Metric::LimitPerS | Metric::Seconds | Metric::StatementSeconds => None,
            Metric::RowsPerS => point("rows_per_s"),
            Metric::OpsPerS => point("ops_per_s"),
            Metric::Response(percentile) => point(&["response_", percentile.key()].concat()),
            Metric::EngineCpuNsPerOp => point("engine_cpu_ns_per_op"),
            Metric::EngineCpuNsPerInsert => insert("engine_cpu_ns_per_insert"),
            Metric::ContextSwitchesPerOp => point("context_switches_per_op"),
            Metric::ReadBytesPerOp => point("read_bytes_per_op"),
            Metric::ReadBytesPerInsert => insert("block_read_bytes_per_insert"),
            Metric::WrittenBytesPerOp => point("written_bytes_per_op"),
            Metric::WrittenBytesPerInsert => insert("written_bytes_per_insert"),
            Metric::PerMillionOps => point("cost_per_million_ops"),
            Metric::KwhPerMillionOps => point("kwh_per_million_ops"),
            Metric::PerGb => point("cost_per_gb"),
            Metric::KwhPerGb => point("kwh_per_gb"),
        }
    }

    /// Which way is the better one.
    pub fn better(self) -> Preference {
        let better = match self.declared() {
            None if self == Metric::LimitPerS => Better::More,
            None => Better::Less,
            Some(MetricFigure::Point(figure)) => figure.better,
            Some(MetricFigure::Insert(figure)) => figure.better,
        };
        if better == Better::More { Preference::More } else { Preference::Less }
    }

    /// Whether it is how much work was done in a time: of these a point has one that counts.
    pub fn is_rate(self) -> bool {
        matches!(self, Metric::RowsPerS | Metric::OpsPerS)
    }

    /// Whether it is how much work was done in a time, or the time that the work took.
    pub fn is_speed(self) -> bool {
        matches!(self, Metric::LimitPerS | Metric::RowsPerS | Metric::OpsPerS | Metric::Seconds)
    }

    /// Whether it is how long an operation takes.
    pub fn is_response_time(self) -> bool {
        matches!(self, Metric::StatementSeconds | Metric::Response(_))
    }

    /// Which percentile of the response times it is; `None` of all else.
    pub fn percentile(self) -> Option<Percentile> {
        match self {
            Metric::Response(percentile) => Some(percentile),
            _ => None,
        }
    }

    /// Whether it is what was written.
    pub fn is_written(self) -> bool {
        matches!(self, Metric::WrittenBytesPerOp | Metric::WrittenBytesPerInsert)
    }

    /// Whether it is what an operation cost to run. It follows from the rate and from what the machines cost.
    pub fn is_running_cost(self) -> bool {
        matches!(self, Metric::PerMillionOps | Metric::KwhPerMillionOps | Metric::PerGb | Metric::KwhPerGb)
    }

    /// Its value at `point`; `None` if it was not measured. A step that is timed as a whole has its duration and nothing else.
    pub fn value(self, point: &PointAnalysis) -> Option<MeasuredValue> {
        if let Some(held) = point.held {
            // All else depends on the rate, and each search has found its own.
            return MeasuredValue::plain(held.per_s.filter(|_| self == Metric::LimitPerS));
        }
        if let Some(variant) = &point.variant {
            return MeasuredValue::plain(match self {
                Metric::Seconds => variant.total_seconds,
                Metric::StatementSeconds => variant.statement_seconds,
                _ => None,
            });
        }
        match (self, point.duration_s()) {
            (Metric::Seconds, duration) => MeasuredValue::plain(duration),
            (_, Some(_)) => None,
            (_, None) => self.figure_value(point),
        }
    }

    /// The value of its figure, unless that would mislead.
    fn figure_value(self, point: &PointAnalysis) -> Option<MeasuredValue> {
        let summary = point.summary.as_ref()?;
        let (value, ci95) = match self.declared()? {
            MetricFigure::Point(figure) => (figure.value(point)?, figure.interval(point)),
            MetricFigure::Insert(figure) => {
                let inserts = point.inserts.as_ref()?;
                (figure.value(inserts)?, figure.interval(inserts))
            }
        };
        let counts = match self {
            Metric::RowsPerS => value > 0.0,
            Metric::Response(percentile) => percentile.holds(summary.ops + summary.grace_ops),
            _ => true,
        };
        counts.then_some(MeasuredValue { value, ci95 })
    }
}

impl Serialize for Metric {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.key())
    }
}

impl MeasuredValue {
    fn plain(value: Option<f64>) -> Option<MeasuredValue> {
        Some(MeasuredValue { value: value?, ci95: None })
    }
}

/// The rate by which points can be compared whose work is counted in `rates`: if some are rows and others are not, it is the rate of
/// operations. `None` of no points.
pub fn shared_rate(rates: impl IntoIterator<Item = Metric>) -> Option<Metric> {
    rates.into_iter().reduce(|one, other| if one == other { one } else { Metric::OpsPerS })
}

/// What the work of all `points` is counted in: operations if they differ in it, or none did anything.
pub fn shared_unit<'a>(points: impl IntoIterator<Item = &'a PointAnalysis>) -> WorkUnit {
    let units = points.into_iter().filter_map(WorkUnit::of);
    units.reduce(|one, other| if one == other { one } else { WorkUnit::Operations }).unwrap_or(WorkUnit::Operations)
}
