//! What the operations of a point amounted to: queries, and rows inserted.
//!
//! In: the intervals of the run phase, and the facts `queries_per_op.KIND` (1 where it is missing) and `rows_per_op.KIND` (0).
//! Out: [`Amounts`]. Limits: operations that were done count, those that failed amount to nothing. Rows are counted from the
//! beginning of the run phase: what a step before it inserted is not among them.

use crate::facts::fact;
use crate::window::Window;
use model::{Interval, Nanos, Phase, PointData};

/// What the operations of a run phase amounted to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Amounts {
    /// Queries per second of the part that counts; `None` where each operation is one query.
    pub queries_per_s: Option<f64>,
    /// The rows inserted in each interval of the run phase; empty where no operation inserts any.
    pub inserted: Vec<Inserted>,
}

/// The rows that were inserted in one interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Inserted {
    /// Its beginning, in seconds since the run phase began.
    pub at_s: f64,
    /// Its length in seconds.
    pub length_s: f64,
    /// Rows inserted before it, since the run phase began.
    pub before: u64,
    /// Rows inserted in it.
    pub rows: u64,
}

impl Inserted {
    /// Rows inserted per second.
    pub fn per_s(&self) -> f64 {
        self.rows as f64 / self.length_s.max(f64::MIN_POSITIVE)
    }

    /// Rows inserted up to its end, since the run phase began.
    pub fn after(&self) -> u64 {
        self.before.saturating_add(self.rows)
    }
}

impl Amounts {
    /// Those of `point`, of which `window` counts.
    pub fn of(point: &PointData, window: &Window) -> Amounts {
        Amounts { queries_per_s: queries_per_s(point, window), inserted: inserted(point, window) }
    }
}

/// What an operation of each kind amounts to by the facts `NAME.KIND`.
fn per_op(point: &PointData, name: &str, otherwise: f64) -> Vec<f64> {
    let told = |kind: &String| fact(&point.facts, &format!("{name}.{kind}"))?.parse().ok().filter(|v: &f64| *v >= 0.0);
    point.kinds.iter().map(|kind| told(kind).unwrap_or(otherwise)).collect()
}

/// The operations done in `intervals`, each as often as it amounts to.
fn sum(intervals: &[Interval], per_op: &[f64]) -> f64 {
    let of_kind = |kind: u8| per_op.get(usize::from(kind)).copied().unwrap_or(0.0);
    intervals.iter().flat_map(|interval| &interval.kinds).map(|kind| kind.ok as f64 * of_kind(kind.kind)).sum()
}

fn queries_per_s(point: &PointData, window: &Window) -> Option<f64> {
    let per_op = per_op(point, "queries_per_op", 1.0);
    let (queries, inside) = (sum(window.inside_recorded(), &per_op), window.inside);
    let is_more = inside.ok > 0 && (queries - inside.ok as f64).abs() > 0.5 && window.seconds() > 0.0;
    is_more.then(|| queries / window.seconds())
}

fn inserted(point: &PointData, window: &Window) -> Vec<Inserted> {
    let per_op = per_op(point, "rows_per_op", 0.0);
    let Some(run) = point.phase(Phase::Run).filter(|_| per_op.iter().any(|rows| *rows > 0.0)) else {
        return Vec::new();
    };
    let mut before = 0u64;
    let whole = run.intervals.iter().take_while(|interval| interval.start + interval.length <= run.end);
    let counted = whole.map(|interval| {
        let rows = sum(std::slice::from_ref(interval), &per_op) as u64;
        let (at_s, Nanos(length)) = (window.seconds_at(interval.start), interval.length);
        let inserted = Inserted { at_s, length_s: length as f64 / 1e9, before, rows };
        before = inserted.after();
        inserted
    });
    counted.filter(|inserted| inserted.length_s > 0.0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::Simulation;
    use model::Fact;

    fn amounts(simulation: Simulation) -> Amounts {
        simulation.analysis().points.remove(0).series.expect("it ran").amounts
    }

    fn with_facts(counts: &[u64], facts: &[(&str, &str)]) -> Simulation {
        let facts: Vec<Fact> = facts.iter().map(|(name, value)| Fact::new(*name, *value)).collect();
        Simulation::counts(counts).with(|point| point.facts.extend(facts))
    }

    #[test]
    fn queries_are_counted_where_an_operation_is_several_and_are_nothing_else() {
        let facts = [("queries_per_op.transaction", "20"), ("queries_per_op.load", "1002")];
        assert_eq!(amounts(with_facts(&[10, 30], &facts)).queries_per_s, Some(400.0));
        assert_eq!(amounts(with_facts(&[10, 30], &[])).queries_per_s, None);
    }

    #[test]
    fn rows_are_counted_from_the_beginning_of_the_run_phase() {
        let inserted = amounts(with_facts(&[3, 0, 5], &[("rows_per_op.transaction", "100")])).inserted;
        let told: Vec<(f64, u64, u64)> = inserted.iter().map(|i| (i.at_s, i.before, i.after())).collect();
        assert_eq!(told, [(0.0, 0, 300), (1.0, 300, 300), (2.0, 300, 800)]);
        assert_eq!(inserted[2].per_s(), 500.0);
        assert!(amounts(with_facts(&[3, 0, 5], &[])).inserted.is_empty());
    }

    #[test]
    fn a_fact_that_is_no_number_counts_as_missing() {
        let facts = [("rows_per_op.transaction", "many"), ("queries_per_op.transaction", "-1")];
        assert_eq!(amounts(with_facts(&[3], &facts)), Amounts::default());
    }
}
