//! The numbers of one point: throughput with its interval, percentiles, the worst second, cost per operation.
//!
//! In: the intervals of the run phase and the counter samples that fall into it. Out: a [`Summary`].
//! Limits: a value that could not be measured is `None`, never 0. Operations that ended after the phase's end (in the grace
//! time) are in the percentiles, because leaving out the slowest would embellish them, and not in the throughput.

use crate::beside::{Beside, success_rate};
use crate::counters::{Growth, done_between, growth_of_all, growth_of_first};
use crate::detect::target_not_reached;
use crate::facts::{EngineProcess, engine_process};
use crate::rates::{PerOp, Rate};
use crate::window::{Tally, Window};
use hdrhistogram::Histogram;
use model::histogram::new_hdr;
use model::{Generator, Interval, KindInterval, Nanos, Pacing, Phase, PointData, Times};
use serde::{Deserialize, Serialize};

/// The numbers of one point over its run phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Length of the run phase.
    pub seconds: f64,
    /// Operations done.
    pub ops: u64,
    /// Operations failed.
    pub failed: u64,
    /// The share of the operations that were done, from 0 to 1, of all clients; `None` where none ended.
    #[serde(default)]
    pub success_rate: Option<f64>,
    /// Arrivals that fell due while every client was busy (open loop).
    pub late: u64,
    /// Arrivals that were never started (open loop).
    pub unserved: u64,
    /// The rate that the schedule offered; `None` in a closed loop.
    pub offered_per_s: Option<f64>,
    /// Operations done per second.
    pub ops_per_s: f64,
    /// Its 95 % confidence interval, with autocorrelation between intervals taken into account; `None` with too few.
    pub ops_per_s_ci95: Option<[f64; 2]>,
    /// The statements that these were, per second: a transaction is several, an operation of any other kind is one.
    #[serde(default)]
    pub queries_per_s: f64,
    /// Their 95 % confidence interval, as that of the operations.
    #[serde(default)]
    pub queries_per_s_ci95: Option<[f64; 2]>,
    /// Rows inserted per second; `None` where no operation inserts any.
    #[serde(default)]
    pub rows_per_s: Option<f64>,
    /// Their 95 % confidence interval, as that of the operations.
    #[serde(default)]
    pub rows_per_s_ci95: Option<[f64; 2]>,
    /// Payload per second.
    pub bytes_per_s: f64,
    /// Response times; `None` where no operation was done.
    pub response_ns: Option<Quantiles>,
    /// Service times; `None` where no operation was done.
    pub service_ns: Option<Quantiles>,
    /// The second (or interval, where longer) with the fewest operations; `None` where the run has no three of them.
    pub worst: Option<WorstInterval>,
    /// What the generator itself used.
    pub generator: GeneratorCost,
    /// What one operation cost the target.
    pub cost: Cost,
    /// What one query cost the target and the clients.
    #[serde(default)]
    pub cost_per_query: CostPerQuery,
    /// What was achieved of the depth and the block size asked for.
    #[serde(default)]
    pub achieved: Achieved,
    /// What clients beside those of the run did; `None` where there were none. All numbers above are of the run's own clients, but
    /// for the success rate and for costs, which nobody can tell apart: these are divided by the operations of both.
    #[serde(default)]
    pub beside: Option<Beside>,
}

/// What was achieved of what was asked for. `None` where it could not be measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Achieved {
    /// The mean number of operations under way, by Little's law.
    pub under_way_mean: Option<f64>,
    /// The mean number of operations in the device's queue, whoever's they were.
    pub device_under_way_mean: Option<f64>,
    /// Bytes per read of the device, whoever's they were.
    pub device_bytes_per_read: Option<f64>,
    /// Bytes per write of the device, whoever's they were.
    pub device_bytes_per_write: Option<f64>,
}

/// Mean, percentiles and maximum of a distribution of times, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Quantiles {
    pub mean: f64,
    pub p50: u64,
    pub p95: u64,
    pub p99: u64,
    pub p999: u64,
    pub max: u64,
}

/// The stretch with the fewest operations.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorstInterval {
    /// When it began, in seconds since the run phase began.
    pub at_s: f64,
    /// How long it is.
    pub length_s: f64,
    /// Operations per second in it.
    pub ops_per_s: f64,
}

/// What the generator itself used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GeneratorCost {
    /// CPU of the client threads per operation, user and kernel. With an embedded engine the engine's part on those threads
    /// cannot be told apart and this is `None`.
    pub cpu_ns_per_op: Option<f64>,
    /// The user part of it.
    pub cpu_user_ns_per_op: Option<f64>,
    /// CPU of the client threads as a share of one core, summed over threads (2.0 = two cores busy).
    pub cores_used: Option<f64>,
    /// Mean lateness of clients that were waiting for an arrival (open loop).
    pub lag_mean_ns: Option<f64>,
    /// The worst of it.
    pub lag_max_ns: Option<u64>,
}

/// What one operation cost the target. `None` where no source told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Bytes that the engine's processes caused to be read from the block layer, per operation; on a file system that was made for
    /// the point, those that its device delivered.
    pub read_bytes_per_op: Option<f64>,
    /// Bytes that the engine's processes caused to be written to the block layer, per operation; on a file system that was made for
    /// the point, those that its device took: with its journal, its copies, and compressed.
    pub written_bytes_per_op: Option<f64>,
    /// CPU of the engine's processes (or, embedded, of the whole process), per operation.
    pub engine_cpu_ns_per_op: Option<f64>,
    /// Context switches of the engine's processes (or, embedded, of the whole process), per operation.
    pub context_switches_per_op: Option<f64>,
}

impl Summary {
    /// Whether queries are worth telling beside operations: where they are not as many.
    pub fn has_queries(&self) -> bool {
        (self.queries_per_s - self.ops_per_s).abs() > 1e-6 * self.ops_per_s
    }
}

/// The same of one query. `None` where no source told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CostPerQuery {
    /// Bytes read, as of an operation.
    pub read_bytes_per_query: Option<f64>,
    /// Bytes written, as of an operation.
    pub written_bytes_per_query: Option<f64>,
    /// CPU of the engine, as of an operation.
    pub engine_cpu_ns_per_query: Option<f64>,
    /// Context switches of the engine, as of an operation.
    pub context_switches_per_query: Option<f64>,
    /// CPU of the client threads, as the generator's of an operation.
    pub client_cpu_ns_per_query: Option<f64>,
}

/// The numbers of the run phase of `point`, cut as `window`, with all its response and service times, and what was done `beside`.
pub fn summarise(point: &PointData, window: &Window, times: &PhaseTimes, beside: Option<Beside>) -> Summary {
    let (inside, per_op) = (window.inside, PerOp::of(point));
    let (done, queries) = (|kind: &KindInterval| kind.ok as f64, |kind: &KindInterval| per_op.queries(kind));
    let queries_rate = Rate::of(window, queries);
    let rows_rate = per_op.rate_of_rows(window);
    let offered_per_s = match point.trial.load.pacing {
        Pacing::Closed { .. } => None,
        Pacing::Open { arrivals } => Some(arrivals.per_s()),
    };
    Summary {
        seconds: window.seconds(),
        ops: inside.ok,
        failed: window.recorded.failed,
        success_rate: success_rate(point),
        late: window.recorded.late,
        unserved: window.phase.unserved,
        offered_per_s,
        ops_per_s: inside.ops_per_s(),
        ops_per_s_ci95: Rate::of(window, done).ci95,
        queries_per_s: queries_rate.per_s,
        queries_per_s_ci95: queries_rate.ci95,
        rows_per_s: rows_rate.map(|rate| rate.per_s),
        rows_per_s_ci95: rows_rate.and_then(|rate| rate.ci95),
        bytes_per_s: inside.bytes_per_s(),
        response_ns: Quantiles::of(&times.response),
        service_ns: Quantiles::of(&times.service),
        worst: worst(window).filter(|worst| worst.ops_per_s <= inside.ops_per_s()),
        generator: generator_cost(point, window),
        cost: cost(point, window, done),
        cost_per_query: cost_per_query(point, window, queries),
        achieved: target_not_reached::achieved(point, window),
        beside,
    }
}

/// All times of a run phase, those of the grace time included.
pub struct PhaseTimes {
    /// finished - intended.
    pub response: Histogram<u64>,
    /// finished - started.
    pub service: Histogram<u64>,
}

impl PhaseTimes {
    /// Those of the phase that `window` cuts.
    pub fn of(window: &Window) -> PhaseTimes {
        let intervals = &window.phase.intervals;
        let response = merged(intervals, |kind| &kind.response);
        PhaseTimes { response, service: merged(intervals, |kind| &kind.service) }
    }
}

/// The times of all kinds and intervals as one histogram.
pub fn merged<'a>(
    intervals: impl IntoIterator<Item = &'a Interval>,
    which: impl Fn(&KindInterval) -> &Times,
) -> Histogram<u64> {
    let mut all = new_hdr();
    for kind in intervals.into_iter().flat_map(|interval| &interval.kinds) {
        which(kind).add_to(&mut all);
    }
    all
}

impl Quantiles {
    /// Those of `times`; `None` of an empty histogram.
    pub fn of(times: &Histogram<u64>) -> Option<Quantiles> {
        let at = |quantile| times.value_at_quantile(quantile);
        let of_some = || Quantiles {
            mean: times.mean(),
            p50: at(0.5),
            p95: at(0.95),
            p99: at(0.99),
            p999: at(0.999),
            max: times.max(),
        };
        (!times.is_empty()).then(of_some)
    }
}

/// The stretch of at least a second, made of neighbouring whole intervals, with the fewest operations; the first of them where
/// several are. `None` where the run has no three such stretches: the worst of one is the run itself.
fn worst(window: &Window) -> Option<WorstInterval> {
    let whole = &window.whole;
    let first = whole.first()?;
    let intervals = 1_000_000_000u64.div_ceil(first.length.0.max(1)) as usize;
    if whole.len() / intervals < STRETCHES_MIN {
        return None;
    }
    let ops = |stretch: &[Tally]| stretch.iter().map(|tally| tally.ok as f64).sum::<f64>();
    let slowest = whole.windows(intervals).min_by(|a, b| ops(a).total_cmp(&ops(b)))?;
    // Summed in whole nanoseconds: ten times 0.1 s would be 0.9999999999999999 s.
    let length_s = Nanos(slowest.iter().map(|tally| tally.length.0).sum()).as_secs_f64();
    let at_s = window.seconds_at(slowest[0].start);
    Some(WorstInterval { at_s, length_s, ops_per_s: ops(slowest) / length_s })
}

const STRETCHES_MIN: usize = 3;

/// What the client threads used over everything recorded, the grace time included: an operation's cost is all of it.
fn generator_total(intervals: &[Interval]) -> Generator {
    intervals.iter().fold(Generator::default(), |mut sum, interval| {
        sum.add(&interval.generator);
        sum
    })
}

fn generator_cost(point: &PointData, window: &Window) -> GeneratorCost {
    let used = generator_total(&window.phase.intervals);
    let cpu_ns = used.cpu_user_ns.saturating_add(used.cpu_system_ns);
    let told_apart =
        matches!(engine_process(point), EngineProcess::Own | EngineProcess::None | EngineProcess::Elsewhere);
    let ops = recorded(point, window, |kind| kind.ok as f64);
    let ops = Some(ops).filter(|ops| *ops > 0.0 && told_apart && cpu_ns > 0);
    let inside = generator_total(window.inside_recorded());
    let inside_ns = inside.cpu_user_ns.saturating_add(inside.cpu_system_ns);
    let seconds = Some(window.seconds()).filter(|seconds| *seconds > 0.0 && told_apart && cpu_ns > 0);
    GeneratorCost {
        cpu_ns_per_op: ops.map(|ops| cpu_ns as f64 / ops),
        cpu_user_ns_per_op: ops.map(|ops| used.cpu_user_ns as f64 / ops),
        cores_used: seconds.map(|seconds| inside_ns as f64 / 1e9 / seconds),
        lag_mean_ns: (used.lag_count > 0).then(|| used.lag_sum_ns as f64 / used.lag_count as f64),
        lag_max_ns: (used.lag_count > 0).then_some(used.lag_max_ns),
    }
}

/// What all clients did in the recorded part of the run phase that counts, the grace time included, each operation as `worth` says.
fn recorded(point: &PointData, window: &Window, worth: impl Fn(&KindInterval) -> f64) -> f64 {
    let intervals = point.phase(Phase::Run).into_iter().flat_map(|run| &run.intervals);
    let counted = intervals.filter(|interval| interval.start >= window.phase.start);
    counted.flat_map(|interval| &interval.kinds).map(worth).sum()
}

/// What an operation cost: the growth of the `process` counters, divided by the operations between the same two readings, each of
/// which counts as `worth` says. Bytes are
/// those that the processes gave to and took from storage, because a disk serves others, too. The device of a file system that was
/// made for the point serves nobody else: there its own counters are taken, which hold journals, copies and compression as well.
fn cost(point: &PointData, window: &Window, worth: impl Fn(&KindInterval) -> f64) -> Cost {
    let (start, end) = (window.phase.start, window.phase.end);
    let grown = |counter| growth_of_all(point, "process", counter, start, end);
    let moved = |counter| match point.trial.target.fs {
        Some(_) => growth_of_first(point, "disk", counter, start, end),
        None => grown(counter),
    };
    let per_op = |growth: Growth| {
        let ops = done_between(point, growth.from, growth.to, &worth);
        (ops > 0.0).then(|| growth.amount / ops)
    };
    let engine_cpu = || Some(per_op(grown("cpu_user_ns")?)? + per_op(grown("cpu_system_ns")?)?);
    let has_engine = matches!(engine_process(point), EngineProcess::Own | EngineProcess::Embedded);
    Cost {
        read_bytes_per_op: moved("read_bytes").and_then(per_op),
        written_bytes_per_op: moved("write_bytes").and_then(per_op),
        engine_cpu_ns_per_op: if has_engine { engine_cpu() } else { None },
        context_switches_per_op: grown("context_switches").and_then(per_op),
    }
}

/// The same of a query.
fn cost_per_query(point: &PointData, window: &Window, queries: impl Fn(&KindInterval) -> f64) -> CostPerQuery {
    let all = recorded(point, window, &queries);
    let per_op = generator_cost(point, window).cpu_ns_per_op;
    let client_cpu_ns = per_op.map(|cpu_ns| cpu_ns * recorded(point, window, |kind| kind.ok as f64));
    let cost = cost(point, window, queries);
    CostPerQuery {
        read_bytes_per_query: cost.read_bytes_per_op,
        written_bytes_per_query: cost.written_bytes_per_op,
        engine_cpu_ns_per_query: cost.engine_cpu_ns_per_op,
        context_switches_per_query: cost.context_switches_per_op,
        client_cpu_ns_per_query: client_cpu_ns.filter(|_| all > 0.0).map(|cpu_ns| cpu_ns / all),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::{Random, SECOND, Simulation};
    use model::Tick;
    use proptest::prelude::*;

    fn summary(simulation: &Simulation) -> Summary {
        simulation.analysis().points.remove(0).summary.expect("it ran")
    }

    #[test]
    fn throughput_is_what_ended_inside_the_run_over_its_seconds() {
        let found = summary(&Simulation::closed(10, |_| 1_000_000));
        assert_eq!((found.seconds, found.ops, found.ops_per_s), (10.0, 9_999, 999.9));
        assert_eq!(found.response_ns, found.service_ns);
    }

    #[test]
    fn the_interval_of_the_throughput_holds_it_and_needs_eight_intervals() {
        let mut random = Random::new(5);
        let counts: Vec<u64> = (0..30).map(|_| 1000 + random.poisson(100.0)).collect();
        let found = summary(&Simulation::counts(&counts));
        let [low, high] = found.ops_per_s_ci95.expect("there are 30 intervals");
        assert!(low < found.ops_per_s && found.ops_per_s < high && high - low < 12.0, "{low} {high}");
        assert_eq!(summary(&Simulation::counts(&counts[..7])).ops_per_s_ci95, None);
    }

    #[test]
    fn an_open_loop_with_stalls_has_the_percentiles_that_theory_gives() {
        // 0.1 ms of service, 200 ms every 10,000 operations, one each 0.2 ms: who arrives t after the beginning of a stall
        // waits 200 ms - t / 2, so one percent of the arrivals (20 ms of every 2 s) waits 190 ms or more.
        let stalling = |seq| if seq % 10_000 == 9_999 { 200_000_000 } else { 100_000 };
        let found = summary(&Simulation::open(60, 5_000, stalling));
        let (response, service) = (found.response_ns.expect("it ran"), found.service_ns.expect("it ran"));
        assert!((response.p99 as f64 / 190e6 - 1.0).abs() < 0.01, "{}", response.p99);
        assert!((service.p999 as f64 / 100e3 - 1.0).abs() < 0.01, "{}", service.p999);
        assert_eq!(found.offered_per_s, Some(5_000.0));
    }

    #[test]
    fn operations_of_the_grace_time_are_in_the_percentiles_and_not_in_the_throughput() {
        let found = summary(&Simulation::closed(10, |seq| if seq == 9_000 { 3 * SECOND } else { 1_000_000 }));
        assert_eq!(found.ops, 9_000);
        assert!(found.response_ns.expect("it ran").max >= 3 * SECOND);
    }

    #[test]
    fn the_worst_second_is_made_of_shorter_intervals() {
        let quarter = |simulation: Simulation| {
            simulation.with(|point| {
                point.trial.phases.interval = Nanos(SECOND / 4);
                point.phases[0].end = Tick(3 * SECOND);
                for interval in &mut point.phases[0].intervals {
                    interval.start = Tick(u64::from(interval.index) * SECOND / 4);
                    interval.length = Nanos(SECOND / 4);
                }
            })
        };
        let found = summary(&quarter(Simulation::counts(&[9, 9, 0, 9, 5, 5, 5, 5, 9, 9, 9, 9])));
        assert_eq!(found.worst, Some(WorstInterval { at_s: 0.5, length_s: 1.0, ops_per_s: 19.0 }));
        let whole = summary(&Simulation::counts(&[9, 4, 7]));
        assert_eq!(whole.worst, Some(WorstInterval { at_s: 1.0, length_s: 1.0, ops_per_s: 4.0 }));
    }

    #[test]
    fn a_run_of_less_than_three_seconds_has_no_worst_one() {
        assert_eq!(summary(&Simulation::counts(&[9, 4])).worst, None);
        let short = Simulation::counts(&[9; 19]).with(|point| {
            point.trial.phases.interval = Nanos(SECOND / 10);
            point.phases[0].end = Tick(19 * SECOND / 10);
            for interval in &mut point.phases[0].intervals {
                interval.start = Tick(u64::from(interval.index) * SECOND / 10);
                interval.length = Nanos(SECOND / 10);
            }
        });
        assert_eq!(summary(&short).worst, None);
    }

    /// A thousand operations per second, each of which reads 100 bytes, writes 4096 and uses 3 us.
    fn costly(process: &str) -> Simulation {
        let counters = ["read_bytes", "write_bytes", "cpu_user_ns", "cpu_system_ns", "context_switches"];
        let values =
            |second: f64| vec![1e5 * second, 4.096e6 * second + 7.0, 2e6 * second, 1e6 * second, 500.0 * second];
        let used = Generator { cpu_user_ns: 4_000_000, cpu_system_ns: 6_000_000, ..Generator::default() };
        Simulation::counts(&[1000; 10]).source("process", &counters, values).generator(used).process(process)
    }

    #[test]
    fn the_cost_of_an_operation_is_the_growth_of_the_counters_over_the_operations() {
        let found = summary(&costly("own"));
        let expected = Cost {
            read_bytes_per_op: Some(100.0),
            written_bytes_per_op: Some(4096.0),
            engine_cpu_ns_per_op: Some(3000.0),
            context_switches_per_op: Some(0.5),
        };
        assert_eq!(found.cost, expected);
        assert_eq!(found.generator.cpu_ns_per_op, Some(10_000.0));
        assert_eq!((found.generator.cpu_user_ns_per_op, found.generator.cores_used), (Some(4_000.0), Some(0.01)));
    }

    #[test]
    fn a_query_of_a_transaction_of_twenty_costs_a_twentieth_of_it() {
        let fact = model::Fact::new("queries_per_op.transaction", "20");
        let found = summary(&costly("own").with(|point| point.facts.push(fact)));
        let expected = CostPerQuery {
            read_bytes_per_query: Some(5.0),
            written_bytes_per_query: Some(204.8),
            engine_cpu_ns_per_query: Some(150.0),
            context_switches_per_query: Some(0.025),
            client_cpu_ns_per_query: Some(500.0),
        };
        assert_eq!((found.cost_per_query, found.cost.read_bytes_per_op), (expected, Some(100.0)));
    }

    #[test]
    fn statements_that_made_the_data_a_moment_before_are_no_queries_of_the_run() {
        let found = |with_load: bool| {
            let simulation = costly("own").with(|point| {
                point.counters.iter_mut().for_each(|sample| sample.at.0 = sample.at.0.saturating_sub(SECOND / 100));
                point.phases[0].start = Tick(SECOND);
                point.phases[0].intervals.remove(0);
                let mut load = point.phases[0].clone();
                (load.phase, load.start, load.end) = (Phase::Prepare, Tick(0), Tick(SECOND));
                load.intervals.truncate(1);
                (load.intervals[0].start, load.intervals[0].kinds[0].kind) = (Tick(SECOND - SECOND / 100), 1);
                point.kinds.push("load".into());
                point.facts.push(model::Fact::new("queries_per_op.load", "1002"));
                if with_load {
                    point.phases.insert(0, load);
                }
            });
            summary(&simulation).cost_per_query
        };
        assert_eq!(found(true), found(false));
        assert!(found(true).engine_cpu_ns_per_query.is_some());
    }

    #[test]
    fn on_a_file_system_of_its_own_an_operation_costs_what_the_device_of_that_moved() {
        let made = costly("own").with(|point| {
            let kind = model::FileSystem::Xfs;
            point.trial.target.fs = Some(model::FileSystemSpec { kind, size: None });
        });
        let device = |bytes_per_s: f64| move |second: f64| vec![bytes_per_s * second; 2];
        let counters = ["read_bytes", "write_bytes"];
        let cost = summary(&made.source("disk", &counters, device(5e6)).source("disk", &counters, device(9e6))).cost;
        assert_eq!((cost.read_bytes_per_op, cost.written_bytes_per_op), (Some(5000.0), Some(5000.0)));
        assert_eq!(cost.engine_cpu_ns_per_op, Some(3000.0));
    }

    #[test]
    fn readings_that_miss_the_end_are_divided_by_the_operations_between_them() {
        let early = costly("own").with(|point| point.counters.retain(|sample| sample.at <= Tick(7 * SECOND)));
        assert_eq!(summary(&early).cost.written_bytes_per_op, Some(4096.0));
    }

    #[test]
    fn client_and_engine_are_told_apart_only_where_they_can_be() {
        let embedded = summary(&costly("embedded"));
        assert_eq!((embedded.generator.cpu_ns_per_op, embedded.cost.engine_cpu_ns_per_op), (None, Some(3000.0)));
        let no_engine = summary(&costly("none"));
        assert_eq!((no_engine.generator.cpu_ns_per_op, no_engine.cost.engine_cpu_ns_per_op), (Some(10_000.0), None));
        assert_eq!(no_engine.cost.written_bytes_per_op, Some(4096.0));
        let unknown = summary(&costly("somewhere"));
        assert_eq!((unknown.generator.cpu_ns_per_op, unknown.cost.engine_cpu_ns_per_op), (None, None));
    }

    #[test]
    fn what_no_source_told_is_absent_and_not_zero() {
        let found = summary(&Simulation::counts(&[1000; 10]));
        assert_eq!((found.cost, found.generator), (Cost::default(), GeneratorCost::default()));
        assert_eq!(found.cost_per_query, CostPerQuery::default());
        let nothing_done = summary(&Simulation::counts(&[0; 10]));
        assert_eq!((nothing_done.ops_per_s, nothing_done.response_ns), (0.0, None));
    }

    proptest! {
        #[test]
        fn percentiles_rise_for_any_times(times in prop::collection::vec(1u64..1 << 40, 1..200)) {
            let mut histogram = new_hdr();
            for time in times {
                histogram.record(time).expect("it resizes");
            }
            let q = Quantiles::of(&histogram).expect("it is not empty");
            prop_assert!(q.p50 <= q.p95 && q.p95 <= q.p99 && q.p99 <= q.p999 && q.p999 <= q.max, "{q:?}");
        }
    }
}
