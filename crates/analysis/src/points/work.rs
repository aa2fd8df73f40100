//! What the work of a point is counted in: transactions, rows, reads; and how much of it was done in a time.
//!
//! In: an analysed point. Out: its [`WorkRate`]. Limits: a point that is timed as a whole has a duration and no rate.

use crate::PointAnalysis;

/// What work is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkUnit {
    /// New orders, of which all other transactions are a consequence. They are counted by the minute.
    NewOrders,
    /// Rows that were inserted.
    Rows,
    /// Operations of at least two statements.
    Transactions,
    /// Operations of one statement.
    Queries,
    /// Blocks that were read.
    Reads,
    /// Blocks that were written.
    Writes,
    ReadsAndWrites,
    /// Connections that were opened.
    Connections,
    /// Operations of any other kind.
    Operations,
}

/// How much work was done in a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WorkRate {
    /// What it is counted in.
    pub unit: WorkUnit,
    /// In a second, or in a minute if new orders are counted.
    pub value: f64,
    /// Its 95 % confidence interval.
    pub ci95: Option<[f64; 2]>,
}

impl WorkUnit {
    /// That of `point`; `None` if it did nothing, or is timed as a whole.
    pub fn of(point: &PointAnalysis) -> Option<WorkUnit> {
        let summary = point.summary.as_ref().filter(|_| point.duration_s().is_none())?;
        // The mean of a mix of one and two statements is below.
        let queries_per_op = if summary.ops_per_s > 0.0 { summary.queries_per_s / summary.ops_per_s } else { 1.0 };
        let inserts = summary.rows_per_s.is_some_and(|per_s| per_s > 0.0);
        Some(match &point.traits.work.io {
            _ if summary.new_orders.is_some() => WorkUnit::NewOrders,
            Some(io) if io.read_share >= 1.0 => WorkUnit::Reads,
            Some(io) if io.read_share <= 0.0 => WorkUnit::Writes,
            Some(_) => WorkUnit::ReadsAndWrites,
            None if !summary.kinds.is_empty() => WorkUnit::Connections,
            None if point.inserts.is_some() && inserts && !summary.has_background_inserts() => WorkUnit::Rows,
            None if queries_per_op > 1.9 => WorkUnit::Transactions,
            None if point.traits.work.step.is_some() => WorkUnit::Queries,
            None => WorkUnit::Operations,
        })
    }

    /// The one of all; `None` if they differ, or if there is none.
    pub fn common(units: impl IntoIterator<Item = WorkUnit>) -> Option<WorkUnit> {
        let mut units = units.into_iter();
        units.next().filter(|first| units.all(|unit| unit == *first))
    }

    /// Several of them: `transactions`.
    pub fn plural(self) -> &'static str {
        match self {
            WorkUnit::NewOrders => "new orders",
            WorkUnit::Rows => "rows",
            WorkUnit::Transactions => "transactions",
            WorkUnit::Queries => "queries",
            WorkUnit::Reads => "reads",
            WorkUnit::Writes => "writes",
            WorkUnit::ReadsAndWrites => "reads and writes",
            WorkUnit::Connections => "connections",
            WorkUnit::Operations => "operations",
        }
    }

    /// Its rate in a head: `transactions/s`.
    pub fn head(self) -> String {
        [self.plural(), if self == WorkUnit::NewOrders { "/min" } else { "/s" }].concat()
    }

    /// Its rate in a sentence: `transactions per second`.
    pub fn spoken(self) -> String {
        [self.plural(), " ", self.per()].concat()
    }

    /// In which time it is counted: `per second`.
    pub fn per(self) -> &'static str {
        if self == WorkUnit::NewOrders { "per minute" } else { "per second" }
    }

    /// The name of the rate, as the JSON of a point has it.
    pub fn figure(self) -> &'static str {
        match self {
            WorkUnit::NewOrders => "new_orders_per_minute",
            WorkUnit::Rows => "rows_per_s",
            _ => "ops_per_s",
        }
    }
}

impl WorkRate {
    /// That of `point`; `None` if it did nothing, or is timed as a whole.
    pub fn of(point: &PointAnalysis) -> Option<WorkRate> {
        let (unit, summary) = (WorkUnit::of(point)?, point.summary.as_ref()?);
        let (value, ci95) = match unit {
            WorkUnit::NewOrders => summary.new_orders.map(|rate| (rate.per_minute, rate.per_minute_ci95))?,
            WorkUnit::Rows => (summary.rows_per_s?, summary.rows_per_s_ci95),
            _ => (summary.ops_per_s, summary.ops_per_s_ci95),
        };
        Some(WorkRate { unit, value, ci95 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::{Simulation, inserting};
    use model::OrderWork;

    fn unit(simulation: &Simulation) -> (WorkUnit, f64) {
        let rate = WorkRate::of(&simulation.analysis().points[0]).expect("it did something");
        (rate.unit, rate.value)
    }

    #[test]
    fn work_is_counted_in_what_was_asked_for() {
        let transactions =
            |queries: f64| Simulation::counts(&[10; 10]).with(|point| point.kinds[0].queries_per_op = queries);
        assert_eq!(unit(&transactions(20.0)), (WorkUnit::Transactions, 10.0));
        assert_eq!(unit(&transactions(1.5)), (WorkUnit::Operations, 10.0));
        assert_eq!(unit(&inserting(10, 0.0, 0.0, 0.0)), (WorkUnit::Rows, 1_000.0));
        assert_eq!(unit(&transactions(1.0).with_steps(&[("close", 1)])), (WorkUnit::Connections, 10.0));
        let reading = transactions(1.0).with(|point| point.trial.workload.name = "file".into());
        assert_eq!(unit(&reading), (WorkUnit::Reads, 10.0));
        let orders = OrderWork { warehouses: 1, pauses: 0.0, new_order: model::OpKind(0) };
        let ordering = transactions(20.0).with(|point| point.traits.work.orders = Some(orders));
        assert_eq!(unit(&ordering), (WorkUnit::NewOrders, 600.0));
        assert_eq!([WorkUnit::NewOrders, WorkUnit::Rows].map(WorkUnit::head), ["new orders/min", "rows/s"]);
    }
}
