//! What the clients of a point did since the progress was last updated.
//!
//! In: the rows and counters of intervals. Out: a [`Second`]: rates, response times, what the machine was used for. Limits: what is
//! delivered late counts when it is delivered, so a second shows what ended in it only roughly; the run file is exact.

use super::machine::{MachineMeter, MachineUse};
use model::{CounterSample, EngineProcess, IntervalRow, KindRow, OpClass, SourceDef, Times};
use std::time::Duration;

/// About a second of a run.
#[derive(Clone, Debug, Default)]
pub struct Second {
    /// Operations done per second.
    pub ops_per_s: f64,
    /// What the operations are called.
    pub noun: &'static str,
    pub failed: u64,
    /// Percentiles of the response times in nanoseconds; `None` if nothing ended.
    pub times: Option<ResponseTimes>,
    /// How the machine was used; `None` if no counters were read.
    pub machine: Option<MachineUse>,
}

/// Response times in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResponseTimes {
    pub p50_ns: u64,
    pub p99_ns: u64,
    pub max_ns: u64,
}

/// The sums since the last [`Second`].
#[derive(Default)]
pub struct IntervalSums {
    ops: u64,
    failed: u64,
    response: Times,
    meter: MachineMeter,
}

impl IntervalSums {
    /// The point reads the counters of `sources`; `process` does the work of its engine.
    pub fn open(&mut self, sources: &[SourceDef], process: EngineProcess) {
        self.meter = MachineMeter::new(sources, process);
    }

    /// Forgets what was added.
    pub fn clear(&mut self) {
        (self.ops, self.failed, self.response) = (0, 0, Times::default());
    }

    /// Adds an interval. Returns how many operations were done in it.
    pub fn add(&mut self, rows: &[IntervalRow], classes: &[OpClass], counters: &[CounterSample]) -> u64 {
        let ops = count_ops(rows, classes);
        self.ops += ops;
        for kind in own_kinds(rows, classes) {
            self.failed += kind.failed;
            self.response.add(&kind.response);
        }
        self.meter.add(counters);
        ops
    }

    /// What was added since the last call, `took` ago.
    pub fn take(&mut self, took: Duration, classes: &[OpClass]) -> Second {
        let seconds = took.as_secs_f64().max(1e-6);
        let at = |quantile| self.response.value_at_quantile(quantile);
        let times = (!self.response.is_empty()).then(|| ResponseTimes {
            p50_ns: at(0.5),
            p99_ns: at(0.99),
            max_ns: self.response.max_ns(),
        });
        let (ops_per_s, noun, failed) = (self.ops as f64 / seconds, noun_of(classes), self.failed);
        let machine = self.meter.take();
        self.clear();
        Second { ops_per_s, noun, failed, times, machine }
    }
}

/// The rows of whole operations: the further steps of a turn are no operations of their own.
fn own_kinds<'a>(rows: &'a [IntervalRow], classes: &'a [OpClass]) -> impl Iterator<Item = &'a KindRow> {
    let is_step = |kind: &&KindRow| classes.get(usize::from(kind.kind)) == Some(&OpClass::Step);
    rows.iter().flat_map(|row| &row.kinds).filter(move |kind| !is_step(kind))
}

/// The operations in `rows` that were done, each turn once.
fn count_ops(rows: &[IntervalRow], classes: &[OpClass]) -> u64 {
    own_kinds(rows, classes).map(|kind| kind.ok).sum()
}

/// The word for operations that do this.
fn noun_of(classes: &[OpClass]) -> &'static str {
    if classes.contains(&OpClass::Connect) { "connections" } else { "ops" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Generator, Nanos, OpKind, Phase, Tick};

    fn row(kinds: impl Iterator<Item = KindRow>) -> [IntervalRow; 1] {
        let (start, length) = (Tick(0), Nanos::from_millis(1_000));
        [IntervalRow {
            phase: Phase::Run,
            index: 0,
            start,
            length,
            kinds: kinds.collect(),
            generator: Generator::default(),
        }]
    }

    #[test]
    fn the_steps_of_a_connection_count_once() {
        let kinds = (0..3).zip([20, 19, 18]).map(|(nth, ok)| KindRow { ok, ..KindRow::empty(OpKind(nth)) });
        let rows = row(kinds);
        let turn = [OpClass::Connect, OpClass::Step, OpClass::Step];
        assert_eq!((count_ops(&rows, &turn), noun_of(&turn)), (20, "connections"));
        let others = [OpClass::Read; 3];
        assert_eq!((count_ops(&rows, &others), noun_of(&others)), (57, "ops"));
    }

    #[test]
    fn response_times_of_several_intervals_are_merged_and_begin_anew_with_each_second() {
        let (mut sums, classes) = (IntervalSums::default(), [OpClass::Read]);
        let interval = |ns, count| {
            let mut response = Times::default();
            response.record_n(ns, count);
            row([KindRow { ok: count, failed: 1, response, ..KindRow::empty(OpKind(0)) }].into_iter())
        };
        assert_eq!(sums.add(&interval(100, 99), &classes, &[]), 99);
        assert_eq!(sums.add(&interval(400, 101), &classes, &[]), 101);
        let second = sums.take(Duration::from_secs(2), &classes);
        assert_eq!((second.ops_per_s, second.failed), (100.0, 2));
        assert_eq!(second.times, Some(ResponseTimes { p50_ns: 400, p99_ns: 400, max_ns: 400 }));
        let nothing = sums.take(Duration::from_secs(1), &classes);
        assert_eq!((nothing.ops_per_s, nothing.times), (0.0, None));
    }
}
