//! The rows that a point inserted, interval by interval, and where its tables begin partitions.
//!
//! In: the intervals of the run phase, and the rows that an operation of each kind inserts.
//! Out: [`Amounts`]. Limits: only operations that were done count. The rows of earlier steps of the sequence are counted as they
//! were recorded, warmup included. Partitions are known only for tables that fill evenly.

use crate::math::stats::total;
use crate::numbers::rates::PerOp;
use crate::recorded::sequence::up_to;
use crate::recorded::window::Window;
use model::{Nanos, Phase, PointData};

/// The rows that a run phase inserted, over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Amounts {
    /// The rows inserted in each interval of the run phase; empty if none was.
    pub inserted: Vec<InsertedRows>,
    /// The tables begin a new partition each time that so many rows were inserted; `None` if they have none.
    pub partition_rows: Option<u64>,
}

/// The rows that were inserted in one interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InsertedRows {
    /// Its beginning, in seconds since the run phase began.
    pub at_s: f64,
    /// Its length in seconds.
    pub length_s: f64,
    /// Rows inserted before it, those of earlier steps of the sequence included.
    pub before: u64,
    /// Rows inserted in it.
    pub rows: u64,
}

impl InsertedRows {
    /// Rows inserted per second.
    pub fn per_s(&self) -> f64 {
        self.rows as f64 / self.length_s.max(f64::MIN_POSITIVE)
    }

    /// Rows inserted up to its end.
    pub fn rows_after(&self) -> u64 {
        self.before.saturating_add(self.rows)
    }
}

impl Amounts {
    /// Those of `point`, one of its sequence `all`, of which `window` counts.
    pub fn from_point(point: &PointData, all: &[PointData], window: &Window) -> Amounts {
        let inserted = count_inserted_rows(point, all, window);
        let partition_rows =
            point.traits.work.rows.and_then(|rows| rows.partition_rows).filter(|_| !inserted.is_empty());
        Amounts { inserted, partition_rows }
    }
}

fn count_inserted_rows(point: &PointData, all: &[PointData], window: &Window) -> Vec<InsertedRows> {
    let per_op = PerOp::from_point(point);
    // The point declares the kinds of its load, too: these insert even if the run does not.
    let Some(run) = point.phase(Phase::Run).filter(|run| per_op.rows_in_all(&run.intervals) > 0.0) else {
        return Vec::new();
    };
    let mut so_far = rows_before(point, all);
    let mut before = so_far.round() as u64;
    // The end of the phase cuts the last interval: its rows took less time than its length.
    let whole = run.intervals.iter().take_while(|interval| interval.start + interval.length <= run.end);
    let counted = whole.map(|interval| {
        // Commits of unlike size are counted by their mean, a fraction of a row: rounding the running sum, and not the rows of
        // each interval, keeps the fractions from adding up to lost rows.
        so_far += per_op.rows_in(interval);
        let rows = (so_far.round() as u64).saturating_sub(before);
        let (at_s, Nanos(length)) = (window.seconds_at(interval.start), interval.length);
        let inserted = InsertedRows { at_s, length_s: length as f64 / 1e9, before, rows };
        before = inserted.rows_after();
        inserted
    });
    counted.filter(|inserted| inserted.length_s > 0.0).collect()
}

/// The rows that were inserted before the run phase of `point`: by the steps before it in its sequence, and by what came before in
/// the point itself.
pub fn rows_before(point: &PointData, all: &[PointData]) -> f64 {
    let before = up_to(point, all);
    total(before.iter().map(|one| {
        let per_op = PerOp::from_point(one);
        let phases = one.phases.iter().filter(|phase| one.id != point.id || phase.phase != Phase::Run);
        total(phases.map(|phase| per_op.rows_in_all(&phase.intervals)))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse;
    use crate::simulated::{Simulation, params, run_of};
    use model::{Fact, Value};

    fn amounts(simulation: Simulation) -> Amounts {
        simulation.analysis().points.remove(0).series.expect("it ran").amounts
    }

    fn with_facts(counts: &[u64], facts: &[(&str, &str)]) -> Simulation {
        let facts: Vec<Fact> = facts.iter().map(|(name, value)| Fact::new(*name, *value)).collect();
        Simulation::counts(counts).with(|point| point.facts.extend(facts))
    }

    #[test]
    fn rows_are_counted_from_the_beginning_of_the_run_phase() {
        let inserted = amounts(with_facts(&[3, 0, 5], &[("rows_per_op.transaction", "100")])).inserted;
        let told: Vec<(f64, u64, u64)> = inserted.iter().map(|i| (i.at_s, i.before, i.rows_after())).collect();
        assert_eq!(told, [(0.0, 0, 300), (1.0, 300, 300), (2.0, 300, 800)]);
        assert_eq!(inserted[2].per_s(), 500.0);
        assert!(amounts(with_facts(&[3, 0, 5], &[])).inserted.is_empty());
        let loads = with_facts(&[3, 0, 5], &[("rows_per_op.load", "1000")]);
        assert!(amounts(loads.with(|point| point.kinds.push(crate::simulated::kind("load")))).inserted.is_empty());
    }

    #[test]
    fn rows_of_the_steps_before_are_there_already_and_tables_fill_side_by_side() {
        let step = |word: &str| {
            with_facts(&[3, 5], &[("rows_per_op.transaction", "10")]).with(|point| {
                let step = ("step", Value::Word(word.into()));
                let ints = [("tables", 4), ("partition_rows", 500)].map(|(name, value)| (name, Value::Int(value)));
                point.trial.workload.params = params(&[vec![step], ints.into()].concat());
                point.trial.load.clients = 3;
            })
        };
        let points = vec![step("l.i0").point(), step("l.i1").point()];
        let analysis = analyse(&run_of(points, Vec::new()));
        let amounts: Vec<Amounts> =
            analysis.points.into_iter().map(|point| point.series.expect("it ran").amounts).collect();
        assert_eq!(amounts.iter().map(|a| a.inserted[0].before).collect::<Vec<_>>(), [0, 80]);
        assert_eq!(amounts[0].partition_rows, Some(2_000));
    }

    #[test]
    fn a_fact_that_is_no_number_counts_as_missing() {
        let facts = [("rows_per_op.transaction", "many"), ("queries_per_op.transaction", "-1")];
        assert_eq!(amounts(with_facts(&[3], &facts)), Amounts::default());
    }
}
