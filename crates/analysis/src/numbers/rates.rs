//! Rates of operations, queries and rows, with their confidence intervals.
//!
//! In: the part of a phase that counts; how many queries and rows an operation of each kind is, as the point declares it.
//! Out: [`RateEstimate`]s. Limits: operations that failed do not count.

use crate::math::stats::{estimate_rate, total};
use crate::recorded::window::Window;
use model::{Interval, KindRow, OpClass, PointData};

/// A rate and its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateEstimate {
    /// What ended inside the phase, over its seconds.
    pub per_s: f64,
    /// Its 95 % confidence interval, with autocorrelation between intervals taken into account; `None` with too few.
    pub ci95: Option<[f64; 2]>,
}

impl RateEstimate {
    /// The rate of the operations in `window`, each weighted by `worth`.
    pub fn from_window(window: &Window, worth: impl Fn(&KindRow) -> f64) -> RateEstimate {
        let seconds = window.known_seconds();
        let per_s = if seconds > 0.0 { sum_worth(window.inside_intervals, &worth) / seconds } else { 0.0 };
        let rates = window.known_whole().iter().enumerate().map(|(nth, tally)| {
            // Whole intervals at the end in which nothing ended were not recorded.
            let recorded = window.phase.intervals.get(nth..=nth).unwrap_or_default();
            sum_worth(recorded, &worth) / tally.length.as_secs_f64().max(1e-9)
        });
        let half_width = estimate_rate(&rates.collect::<Vec<f64>>(), 0.95).map(|estimate| estimate.half_width);
        RateEstimate { per_s, ci95: half_width.map(|half| [(per_s - half).max(0.0), per_s + half]) }
    }
}

fn sum_worth(intervals: &[Interval], worth: impl Fn(&KindRow) -> f64) -> f64 {
    total(intervals.iter().flat_map(|interval| &interval.kinds).map(worth))
}

/// The queries and rows of one operation of each kind.
#[derive(Clone, Debug, PartialEq)]
pub struct PerOp {
    ops: Vec<f64>,
    queries: Vec<f64>,
    rows: Vec<f64>,
}

impl PerOp {
    /// As the kinds of `point` declare it.
    pub fn from_point(point: &PointData) -> PerOp {
        let queries = point.kinds.iter().map(|kind| kind.queries_per_op).collect();
        let ops = point.kinds.iter().map(|kind| if kind.class == OpClass::Step { 0.0 } else { 1.0 }).collect();
        PerOp { ops, queries, rows: point.kinds.iter().map(|kind| kind.rows_per_op).collect() }
    }

    /// The operations done of `kind`: what follows in the turn of one is a part of it.
    pub fn ops(&self, kind: &KindRow) -> f64 {
        kind.ok as f64 * self.ops.get(usize::from(kind.kind)).copied().unwrap_or(1.0)
    }

    /// The statements of the operations done of `kind`.
    pub fn queries(&self, kind: &KindRow) -> f64 {
        kind.ok as f64 * self.queries.get(usize::from(kind.kind)).copied().unwrap_or(1.0)
    }

    /// The rows that they inserted.
    pub fn rows(&self, kind: &KindRow) -> f64 {
        kind.ok as f64 * self.rows.get(usize::from(kind.kind)).copied().unwrap_or(0.0)
    }

    /// The rows that were inserted in `interval`.
    pub fn rows_in(&self, interval: &Interval) -> f64 {
        total(interval.kinds.iter().map(|kind| self.rows(kind)))
    }

    /// The rows that were inserted in `intervals`.
    pub fn rows_in_all(&self, intervals: &[Interval]) -> f64 {
        total(intervals.iter().map(|interval| self.rows_in(interval)))
    }

    /// The rate of rows in `window`; `None` if fewer than half of the operations done in it insert any: of a mix of reads and some
    /// inserts the operations are counted.
    pub fn rate_of_rows(&self, window: &Window) -> Option<RateEstimate> {
        let (inserts, all) = self.inserts_among(window);
        (inserts > 0.0 && 2.0 * inserts >= all).then(|| RateEstimate::from_window(window, |kind| self.rows(kind)))
    }

    /// Whether some of the operations done in `window` insert rows, but fewer than half.
    pub fn inserts_few(&self, window: &Window) -> bool {
        let (inserts, all) = self.inserts_among(window);
        inserts > 0.0 && 2.0 * inserts < all
    }

    /// The operations done in `window` that insert rows, and all that were done.
    fn inserts_among(&self, window: &Window) -> (f64, f64) {
        let done = |kind: &KindRow| kind.ok as f64;
        let inserts = |kind: &KindRow| if self.rows(kind) > 0.0 { done(kind) } else { 0.0 };
        let intervals = &window.phase.intervals;
        (sum_worth(intervals, inserts), sum_worth(intervals, done))
    }
}

#[cfg(test)]
mod tests {
    use crate::simulated::Simulation;
    use crate::{PointAnalysis, Summary};
    use model::{Fact, KindRow, OpKind, Times};

    fn analysis(simulation: &Simulation) -> PointAnalysis {
        simulation.analysis().points.remove(0)
    }

    fn summary(simulation: &Simulation) -> Summary {
        analysis(simulation).summary.expect("it ran")
    }

    fn told(counts: &[u64], facts: &[(&str, &str)]) -> Simulation {
        let facts: Vec<Fact> = facts.iter().map(|(name, value)| Fact::new(*name, *value)).collect();
        Simulation::counts(counts).with(|point| point.facts.extend(facts))
    }

    #[test]
    fn transactions_of_twenty_statements_are_twenty_times_as_many_queries() {
        let found = summary(&told(&[100, 120, 80, 100, 90, 110, 105, 95], &[("queries_per_op.transaction", "20")]));
        assert_eq!((found.ops_per_s, found.queries_per_s, found.rows_per_s), (100.0, 2_000.0, None));
        let ([low, high], [queries_low, queries_high]) =
            (found.ops_per_s_ci95.expect("eight intervals"), found.queries_per_s_ci95.expect("as many"));
        assert!((queries_low / low - 20.0).abs() < 1e-9 && (queries_high / high - 20.0).abs() < 1e-9);
    }

    /// A thousand selects of three queries, and in two intervals inserts of fifty rows.
    fn with_inserts(counts: [u64; 2]) -> Simulation {
        told(&[100; 10], &[("queries_per_op.select", "3"), ("rows_per_op.insert", "50")]).with(|point| {
            point.kinds = vec![crate::simulated::kind("select"), crate::simulated::kind("insert")];
            let insert = |ok| KindRow { kind: OpKind(1), ok, ..point.phases[0].intervals[0].kinds[0].clone() };
            let inserts = counts.map(insert);
            point.phases[0].intervals.iter_mut().zip(inserts).for_each(|(interval, kind)| interval.kinds.push(kind));
        })
    }

    #[test]
    fn kinds_of_different_worth_are_weighed_each_by_its_own() {
        let found = summary(&with_inserts([2_000, 4_000]));
        assert_eq!((found.queries_per_s, found.rows_per_s), (900.0, Some(30_000.0)));
    }

    #[test]
    fn a_mix_in_which_few_operations_insert_is_counted_in_operations() {
        let few = analysis(&with_inserts([2, 4]));
        assert_eq!((few.summary.expect("it ran").rows_per_s, few.inserts), (None, None));
        let half = analysis(&with_inserts([400, 600]));
        assert_eq!((half.summary.expect("it ran").rows_per_s, half.inserts.is_some()), (Some(5_000.0), true));
    }

    #[test]
    fn without_facts_an_operation_is_a_query_and_a_fact_that_is_no_number_counts_as_missing() {
        for facts in [vec![], vec![("queries_per_op.transaction", "many"), ("rows_per_op.transaction", "-1")]] {
            let found = summary(&told(&[100; 10], &facts));
            assert_eq!((found.queries_per_s, found.queries_per_s_ci95), (found.ops_per_s, found.ops_per_s_ci95));
            assert_eq!(found.rows_per_s, None);
        }
    }

    #[test]
    fn a_run_in_which_no_operation_ended_has_a_rate_of_zero_without_a_sign() {
        let mut simulation = Simulation::counts(&[]);
        simulation.recorded.phases[0].end.0 = 10_000_000_000;
        simulation.add(12, 1, 9_340_000_000, 9_340_000_000);
        simulation.recorded.phases[0].intervals.iter_mut().take(10).for_each(|interval| interval.kinds.clear());
        let found = summary(&simulation);
        assert_eq!((found.ops, found.grace_ops), (0, 1));
        assert!(found.queries_per_s == 0.0 && found.queries_per_s.is_sign_positive(), "{}", found.queries_per_s);
    }

    #[test]
    fn failed_operations_are_no_queries() {
        let simulation = told(&[100; 10], &[("queries_per_op.transaction", "2")]).with(|point| {
            let kind = &mut point.phases[0].intervals[0].kinds[0];
            (kind.ok, kind.failed) = (0, 100);
            (kind.response, kind.service) = (Times::default(), Times::default());
        });
        assert_eq!(summary(&simulation).queries_per_s, 180.0);
    }
}
