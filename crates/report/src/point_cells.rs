//! The figures of a point as the tables of points show them, the same in the terminal, in Markdown and in HTML.
//!
//! In: an analysed point. Out: short text, a dash for what was not measured or does not apply. Limits: a point that is timed as a whole
//! has a duration in the place of its rate, and no percentiles: those of a few operations are not worth showing.

use crate::format;
use crate::wording::work_done::work_done_mark;
use analysis::points::work::{WorkRate, WorkUnit};
use analysis::{Analysis, PointAnalysis, RepeatRows, Summary};
use model::{PointState, QuotedTime};

/// What the rates of several points are counted in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum ColumnUnit {
    /// All of them in the same.
    Shared(WorkUnit),
    /// Each in its own, which its cell names.
    Own,
    /// No point has a rate.
    None,
}

impl ColumnUnit {
    pub fn of<'a>(points: impl IntoIterator<Item = &'a PointAnalysis>) -> ColumnUnit {
        let with_rate = points.into_iter().filter(|point| point.duration_s().is_none());
        let units = with_rate.map(|point| ColumnUnit::Shared(WorkUnit::of(point).unwrap_or(WorkUnit::Operations)));
        units.reduce(|one, other| if one == other { one } else { ColumnUnit::Own }).unwrap_or(ColumnUnit::None)
    }

    /// The head of a column of [`rate_or_duration`].
    pub fn head(self) -> String {
        match self {
            ColumnUnit::Shared(WorkUnit::Operations) => "ops/s".to_owned(),
            ColumnUnit::Shared(unit) => unit.head(),
            ColumnUnit::Own => "rate".to_owned(),
            ColumnUnit::None => "duration".to_owned(),
        }
    }
}

/// How much work a point did in a time, or how long it took.
pub fn rate_or_duration(point: &PointAnalysis, unit: ColumnUnit) -> String {
    if let Some(seconds) = point.duration_s() {
        return format::nanos((seconds * 1e9).round() as u64);
    }
    match (WorkRate::of(point), unit) {
        (None, _) => format::dash(),
        (Some(rate), ColumnUnit::Own) => {
            format!("{} {}", format::number(rate.value), ColumnUnit::Shared(rate.unit).head())
        }
        (Some(rate), _) => format::number(rate.value),
    }
}

/// Whether some point has another number of queries than of operations, so that a table needs a column for them.
fn has_queries(analysis: &Analysis) -> bool {
    analysis.points.iter().filter_map(|point| point.summary.as_ref()).any(Summary::has_queries)
}

/// A second rate of points, in a column of its own next to the operations.
#[derive(Clone, Copy)]
pub struct SecondRate {
    /// The head of the column.
    pub head: &'static str,
    /// The same for a narrow column.
    pub short_head: &'static str,
    /// The cell of a point.
    pub cell: fn(&PointAnalysis) -> String,
}

const QUERIES: SecondRate = SecondRate { head: "queries/s", short_head: "queries/s", cell: own_queries };
const TRANSACTIONS: SecondRate = SecondRate {
    head: "transactions/s",
    short_head: "trans./s",
    cell: |point| of_rate(point, |s| format::number(s.ops_per_s)),
};
const ORDERS_OF_WAREHOUSE: SecondRate =
    SecondRate { head: "new orders/min and warehouse", short_head: "per wareh.", cell: own_orders };

/// The second rate of the points of `analysis`: if all of them enter orders, those of a warehouse or the transactions, else queries. `None` if the operations say it all.
pub fn second_rate(analysis: &Analysis) -> Option<SecondRate> {
    let orders = analysis.points.iter().filter_map(|point| point.summary.as_ref()).map(|summary| summary.new_orders);
    // Whether each is of a warehouse, if all points enter orders.
    let of_warehouse: Option<Vec<bool>> = orders.map(|rate| Some(rate?.per_minute_and_warehouse.is_some())).collect();
    match of_warehouse.as_deref() {
        Some([true, rest @ ..]) if rest.iter().all(|one| *one) => Some(ORDERS_OF_WAREHOUSE),
        Some([false, rest @ ..]) if !rest.iter().any(|one| *one) => Some(TRANSACTIONS),
        _ => has_queries(analysis).then_some(QUERIES),
    }
}

/// New orders per minute of a warehouse, whose terminals make pauses.
fn own_orders(point: &PointAnalysis) -> String {
    of_rate(point, |summary| {
        let rate = summary.new_orders.and_then(|rate| rate.per_minute_and_warehouse);
        rate.map_or_else(format::dash, format::number)
    })
}

/// Queries per second, if they are not as many as the operations.
fn own_queries(point: &PointAnalysis) -> String {
    of_rate(point, |summary| if summary.has_queries() { format::number(summary.queries_per_s) } else { format::dash() })
}

/// How wide the confidence interval of the rate is.
pub fn half_width(point: &PointAnalysis) -> String {
    WorkRate::of(point).map_or_else(format::dash, |rate| format::half_width(rate.value, rate.ci95))
}

/// One of the response times.
pub fn response_time(point: &PointAnalysis, quoted: QuotedTime) -> String {
    of_rate(point, |summary| format::quoted(summary.response_ns, quoted))
}

/// The rate of the slowest second, or interval if that is longer.
pub fn worst(point: &PointAnalysis) -> String {
    of_rate(point, |summary| {
        summary.worst.map_or_else(format::dash, |worst| format!("{}/s", format::number(worst.ops_per_s)))
    })
}

/// How many repeats the row of `point` is of: `6`, or `5/6` if one must not be used. `None` if no row is of several.
pub fn repeats_cell(rows: &RepeatRows, point: &PointAnalysis) -> Option<String> {
    let count = rows.counts.get(&point.id).filter(|_| rows.has_repeats())?;
    Some(if count.usable == count.all { count.all.to_string() } else { format!("{}/{}", count.usable, count.all) })
}

/// `indicative`; `indicative (partial)` if the point did not complete, `indicative (cut short)` if it did not do all of its work.
pub fn validity(point: &PointAnalysis) -> String {
    match remark(point) {
        None => point.validity.as_str().to_owned(),
        Some(remark) => format!("{} ({remark})", point.validity.as_str()),
    }
}

/// What is added to the validity of `point`: its state if it did not complete, or what keeps it from being compared.
pub fn remark(point: &PointAnalysis) -> Option<&'static str> {
    match point.state {
        PointState::Complete => work_done_mark(&point.work_done),
        state => Some(state.as_str()),
    }
}

fn of_rate(point: &PointAnalysis, text: impl Fn(&Summary) -> String) -> String {
    if point.duration_s().is_some() { format::dash() } else { of_summary(point, text) }
}

fn of_summary(point: &PointAnalysis, text: impl Fn(&Summary) -> String) -> String {
    point.summary.as_ref().map_or_else(format::dash, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{quick, set};

    #[test]
    fn a_point_that_is_timed_as_a_whole_has_its_duration_and_no_rate() {
        let mut point = quick().points.remove(6);
        let text = |point: &PointAnalysis| rate_or_duration(point, ColumnUnit::of([point]));
        assert_eq!(text(&point), format::number(point.summary.as_ref().unwrap().ops_per_s));
        let longest = |point: &PointAnalysis| response_time(point, QuotedTime::Longest);
        assert!(longest(&point).ends_with(" us") || longest(&point).ends_with(" ms"));
        set(&mut point, "step", "drain");
        let summary = point.summary.as_mut().unwrap();
        (summary.ops, summary.seconds) = (1, 0.375);
        assert_eq!(text(&point), "375 ms");
        let others = [own_queries(&point), half_width(&point), longest(&point), worst(&point)];
        assert_eq!(others, ["-"; 4]);
    }

    #[test]
    fn the_second_rate_of_orders_is_transactions_or_those_of_a_warehouse() {
        let mut analysis = quick();
        assert_eq!(second_rate(&analysis).map(|rate| rate.head), None);
        let rate = |of_warehouse| analysis::NewOrderRate {
            per_minute: 1_234.0,
            per_minute_ci95: None,
            per_minute_and_warehouse: of_warehouse,
        };
        let mut set_all = |of_warehouse| {
            let summaries = analysis.points.iter_mut().filter_map(|point| point.summary.as_mut());
            summaries.for_each(|summary| summary.new_orders = Some(rate(of_warehouse)));
            let second = second_rate(&analysis).expect("new orders");
            (second.head, (second.cell)(&analysis.points[0]))
        };
        let transactions = set_all(None);
        assert_eq!(transactions.0, "transactions/s");
        assert_eq!(set_all(Some(12.5)), ("new orders/min and warehouse", "12.5".to_owned()));
        analysis.points[1].summary.as_mut().unwrap().new_orders = None;
        assert!(second_rate(&analysis).is_none(), "one point enters none");
    }

    #[test]
    fn a_point_that_did_not_complete_has_its_state_behind_its_validity() {
        let mut point = quick().points.remove(0);
        assert_eq!(validity(&point), "valid");
        (point.state, point.validity) = (PointState::Partial, analysis::Validity::Indicative);
        assert_eq!(validity(&point), "indicative (partial)");
        (point.state, point.work_done) = (PointState::Complete, analysis::WorkDone::CutShort { share: Some(0.5) });
        assert_eq!(validity(&point), "indicative (cut short)");
    }
}
