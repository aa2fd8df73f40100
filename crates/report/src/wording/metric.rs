//! The metrics of comparisons in words: their names, their values with units, and the verdicts on their ratios.
//!
//! In: a typed [`Metric`]. Out: words. Limits: a name is as short as a table needs it.

use super::quantity::{rate, small_number, time};
use crate::format;
use analysis::PointAnalysis;
use analysis::math::ratio::RatioVerdict;
use analysis::points::metric::{Metric, shared_unit};
use analysis::points::work::WorkUnit;

/// The name of `metric`, as people read it.
pub fn metric_name(metric: Metric) -> &'static str {
    match metric {
        Metric::LimitPerS => "largest rate/s",
        Metric::RowsPerS => "rows/s",
        Metric::OpsPerS => "ops/s",
        Metric::Seconds => "duration",
        Metric::StatementSeconds => "statement",
        Metric::Response(percentile) => percentile.as_str(),
        Metric::EngineCpuNsPerOp => "CPU per op",
        Metric::EngineCpuNsPerInsert => "CPU per row",
        Metric::ContextSwitchesPerOp => "switches per op",
        Metric::ReadBytesPerOp => "read per op",
        Metric::ReadBytesPerInsert => "read per row",
        Metric::WrittenBytesPerOp => "written per op",
        Metric::WrittenBytesPerInsert => "written per row",
        Metric::PerMillionOps => "cost/M ops",
        Metric::KwhPerMillionOps => "kWh/M ops",
        Metric::PerGb => "cost/GB",
        Metric::KwhPerGb => "kWh/GB",
    }
}

/// What the operations of `points` are: `transactions`, `reads`; `operations` if they differ.
pub fn ops_word<'a>(points: impl IntoIterator<Item = &'a PointAnalysis>) -> &'static str {
    ops_of(shared_unit(points))
}

fn ops_of(unit: WorkUnit) -> &'static str {
    match unit {
        // Of these the operations are not what is counted.
        WorkUnit::NewOrders => WorkUnit::Transactions.plural(),
        WorkUnit::Rows => "commits",
        unit => unit.plural(),
    }
}

/// The head of `metric` over numbers of points whose work is counted in `unit`.
pub fn metric_head(metric: Metric, unit: WorkUnit) -> String {
    match (metric, ops_of(unit)) {
        (Metric::OpsPerS, word) if word != WorkUnit::Operations.plural() => format!("{word}/s"),
        _ => metric_name(metric).to_owned(),
    }
}

/// A value of `metric` with its unit, as short as a table needs it.
pub fn metric_value(metric: Metric, value: f64) -> String {
    match metric {
        Metric::LimitPerS | Metric::RowsPerS | Metric::OpsPerS => rate(value).to_string(),
        Metric::Seconds | Metric::StatementSeconds => time(value * 1e9).to_string(),
        Metric::Response(_) | Metric::EngineCpuNsPerOp | Metric::EngineCpuNsPerInsert => time(value).to_string(),
        Metric::ReadBytesPerOp
        | Metric::ReadBytesPerInsert
        | Metric::WrittenBytesPerOp
        | Metric::WrittenBytesPerInsert => format::bytes(value),
        Metric::ContextSwitchesPerOp => format::number(value),
        Metric::PerMillionOps | Metric::KwhPerMillionOps | Metric::PerGb | Metric::KwhPerGb => small_number(value),
    }
}

/// The verdict on a ratio of `metric`.
pub fn verdict_word(metric: Metric, verdict: RatioVerdict) -> &'static str {
    let is_cost = !metric.is_speed() && !metric.is_response_time();
    match verdict {
        RatioVerdict::Faster if metric.is_running_cost() => "cheaper",
        RatioVerdict::Slower if metric.is_running_cost() => "dearer",
        RatioVerdict::Faster if is_cost => "less",
        RatioVerdict::Slower if is_cost => "more",
        verdict => speed_verdict_word(verdict),
    }
}

/// The same of a rate or a time.
pub fn speed_verdict_word(verdict: RatioVerdict) -> &'static str {
    match verdict {
        RatioVerdict::Faster => "faster",
        RatioVerdict::Slower => "slower",
        RatioVerdict::NoDifferenceShown => "no difference shown",
        RatioVerdict::Indicative => "indicative",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Percentile;

    #[test]
    fn values_have_the_unit_of_their_metric() {
        assert_eq!(metric_value(Metric::OpsPerS, 81_200.0), "81.2k/s");
        assert_eq!(metric_value(Metric::Seconds, 2.7), "2.70 s");
        assert_eq!(metric_value(Metric::Response(Percentile::P99), 12_300_000.0), "12.3 ms");
        assert_eq!(metric_value(Metric::WrittenBytesPerInsert, 4_000.0), "4.00 KB");
    }

    #[test]
    fn more_of_a_cost_is_not_slower() {
        assert_eq!(verdict_word(Metric::WrittenBytesPerOp, RatioVerdict::Slower), "more");
        assert_eq!(verdict_word(Metric::Response(Percentile::P99), RatioVerdict::Slower), "slower");
    }
}
