//! What one op, query or row cost: CPU of the clients; CPU, I/O and context switches of the target.
//!
//! In: the counters of `process` and `disk`, and the CPU time of the client threads. Out: [`Cost`] of an op, a query or a row, [`OpCost`] and
//! [`ClientCost`]. The costs of foreground and background clients cannot be separated; they are divided by the operations of both.

use crate::math::repeats::{Repeated, combined};
use crate::numbers::accounts::WriteBreakdown;
use crate::numbers::network;
use crate::numbers::rates::PerOp;
use crate::numbers::running_cost::RunningCost;
use crate::numbers::written::{ByteAccount, UnknownWritten, WriteAccounts, WrittenBytes};
use crate::recorded::counters::{Growth, done_between, growth_of_all, growth_of_reads};
use crate::recorded::facts::engine_process;
use crate::recorded::window::Window;
use model::{CounterRole, Generator, Interval, KindRow, Phase, PointData};
use serde::{Deserialize, Serialize, Serializer};

/// What the client threads used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClientCost {
    /// CPU of the client threads per operation, user and kernel. With an embedded engine the engine's part on those threads
    /// cannot be separated and this is `None`.
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

/// What one op, query or row cost. `None` if no source has it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// Bytes that the engine's processes caused to be read from the block layer; on a file system that was made for the point, those that
    /// its device delivered.
    pub read_bytes: Option<f64>,
    /// Bytes written, by the account that can be believed.
    pub written_bytes: Option<f64>,
    /// Bytes that went over the network to the server and back, headers included, and those of other programs over the same interface.
    pub network_bytes: Option<f64>,
    /// CPU of the engine's processes, or, embedded, of the whole process.
    pub engine_cpu_ns: Option<f64>,
    /// Context switches of the same.
    pub context_switches: Option<f64>,
    /// CPU of the client threads; `None` if the engine works on the same threads.
    pub client_cpu_ns: Option<f64>,
    /// Context switches of the same.
    pub client_context_switches: Option<f64>,
    /// Bytes by the engine's own counters, by purpose; of rows only.
    pub by_engine: WriteBreakdown,
}

/// What costs are divided by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Denominator {
    Op,
    /// Statements: a transaction is several, any other operation is one.
    Query,
    /// Rows that were inserted.
    Row,
}

impl Cost {
    /// What the counters of `point` grew by in the run phase that `window` cuts, divided by what all clients did between the same two readings.
    /// Bytes read are those of [`growth_of_reads`]; those `written` are by the account that can be believed. What the clients used is over
    /// everything recorded, the grace time included: an operation in flight at the end counts, too.
    pub(crate) fn measure(point: &PointData, window: &Window, written: Option<Growth>, per: Denominator) -> Cost {
        use CounterRole::{EngineContextSwitches, EngineCpuSystem, EngineCpuUser};
        let per_op = PerOp::from_point(point);
        let worth = |kind: &KindRow| match per {
            Denominator::Op => per_op.ops(kind),
            Denominator::Query => per_op.queries(kind),
            Denominator::Row => per_op.rows(kind),
        };
        let (start, end) = (window.phase.start, window.phase.end);
        let of = |growth: Option<Growth>| {
            let growth = growth?;
            let done = done_between(point, growth.from, growth.to, worth);
            (done > 0.0).then(|| growth.amount / done)
        };
        let [user_ns, system_ns, context_switches] = [EngineCpuUser, EngineCpuSystem, EngineContextSwitches]
            .map(|role| of(growth_of_all(point, role, start, end)));
        let process = engine_process(point);
        let used = generator_total(&window.phase.intervals);
        let client_cpu_ns = used.cpu_user_ns.saturating_add(used.cpu_system_ns);
        let done = done_by_all(point, window, worth);
        let is_apart = done > 0.0 && process.is_apart_from_clients() && client_cpu_ns > 0;
        Cost {
            read_bytes: of(growth_of_reads(point, start, end)),
            written_bytes: of(written),
            network_bytes: of(network::bytes_grown(point, window)),
            engine_cpu_ns: user_ns.zip(system_ns).filter(|_| process.is_counted()).map(|(user, system)| user + system),
            context_switches,
            client_cpu_ns: is_apart.then(|| client_cpu_ns as f64 / done),
            client_context_switches: is_apart.then(|| used.context_switches as f64 / done),
            by_engine: WriteBreakdown::default(),
        }
    }

    /// The means of repeats.
    pub(crate) fn combine(all: &Repeated<Cost>) -> Cost {
        combined!(
            all,
            Cost {
                read_bytes: mean,
                written_bytes: mean,
                network_bytes: mean,
                engine_cpu_ns: mean,
                context_switches: mean,
                client_cpu_ns: mean,
                client_context_switches: mean,
                by_engine: (WriteBreakdown::combine(&all.parts(|one| Some(&one.by_engine)))),
            }
        )
    }

    /// The costs that JSON has of a denominator, with their names there.
    fn named(&self, per: Denominator) -> Vec<(&'static str, Option<f64>)> {
        match per {
            // The CPU of the clients is among the figures of clients.
            Denominator::Op => vec![
                ("read_bytes_per_op", self.read_bytes),
                ("written_bytes_per_op", self.written_bytes),
                ("network_bytes_per_op", self.network_bytes),
                ("engine_cpu_ns_per_op", self.engine_cpu_ns),
                ("context_switches_per_op", self.context_switches),
            ],
            Denominator::Query => vec![
                ("read_bytes_per_query", self.read_bytes),
                ("written_bytes_per_query", self.written_bytes),
                ("network_bytes_per_query", self.network_bytes),
                ("engine_cpu_ns_per_query", self.engine_cpu_ns),
                ("context_switches_per_query", self.context_switches),
                ("client_cpu_ns_per_query", self.client_cpu_ns),
            ],
            Denominator::Row => vec![
                ("block_read_bytes_per_insert", self.read_bytes),
                ("written_bytes_per_insert", self.written_bytes),
                ("engine_read_bytes_per_insert", self.by_engine.read),
                ("engine_written_bytes_per_insert", self.by_engine.written),
                ("engine_log_bytes_per_insert", self.by_engine.log),
                ("engine_pages_bytes_per_insert", self.by_engine.pages),
                ("engine_compaction_bytes_per_insert", self.by_engine.compaction),
                ("engine_doublewrite_bytes_per_insert", self.by_engine.doublewrite),
                ("engine_cpu_ns_per_insert", self.engine_cpu_ns),
                ("client_cpu_ns_per_insert", self.client_cpu_ns),
                ("engine_context_switches_per_insert", self.context_switches),
                ("client_context_switches_per_insert", self.client_context_switches),
            ],
        }
    }
}

/// A cost under the names of an op.
pub(crate) fn write_per_op<S: Serializer>(cost: &Cost, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(cost.named(Denominator::Op))
}

/// A cost under the names of a query.
pub(crate) fn write_per_query<S: Serializer>(cost: &Cost, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(cost.named(Denominator::Query))
}

/// A cost under the names of a row.
pub(crate) fn write_per_row<S: Serializer>(cost: &Cost, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(cost.named(Denominator::Row))
}

/// What a point cost the target: an operation of it, and all of it in bytes written, money and energy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct OpCost {
    /// What one operation cost.
    #[serde(flatten, serialize_with = "write_per_op")]
    pub per_op: Cost,
    /// Whose bytes those written are.
    pub written_account: Option<ByteAccount>,
    /// Why there are none; `None` if there are, or if nothing counted them.
    pub written_unknown: Option<UnknownWritten>,
    /// What all accounts hold of the run phase.
    pub written_accounts: WriteAccounts,
    /// Of what the device wrote in the run phase, what the file system wrote for itself: its journal and its inodes. `None` if it is not known.
    pub file_system_bytes: Option<f64>,
    /// What it cost in money and energy.
    #[serde(flatten)]
    pub running: RunningCost,
}

impl ClientCost {
    /// The means of repeats, and the worst lag of any.
    pub(crate) fn combine(all: &Repeated<ClientCost>) -> ClientCost {
        combined!(
            all,
            ClientCost {
                cpu_ns_per_op: mean,
                cpu_user_ns_per_op: mean,
                cores_used: mean,
                lag_mean_ns: mean,
                lag_max_ns: most,
            }
        )
    }
}

impl OpCost {
    /// What `point` cost in the run phase that `window` cuts, and what a query of it cost.
    pub(crate) fn measure(point: &PointData, window: &Window) -> (OpCost, Cost) {
        let (start, end) = (window.phase.start, window.phase.end);
        let accounts = WriteAccounts::measure(point, start, end);
        let written = WrittenBytes::from_accounts(&accounts, point, start, end);
        let growth = written.map(|written| written.growth);
        let cost = OpCost {
            per_op: Cost::measure(point, window, growth, Denominator::Op),
            written_account: written.map(|written| written.account),
            written_unknown: accounts.choose(point).err().filter(|_| accounts.process_bytes.is_some()),
            written_accounts: accounts,
            file_system_bytes: accounts.file_system_bytes(point),
            running: RunningCost::default(),
        };
        (cost, Cost::measure(point, window, growth, Denominator::Query))
    }

    /// The means of repeats; an account is that of the row if all have the same. `ops_per_s` is the mean rate.
    pub(crate) fn combine(all: &Repeated<OpCost>, ops_per_s: f64) -> OpCost {
        combined!(
            all,
            OpCost {
                per_op: (Cost::combine(&all.parts(|one| Some(&one.per_op)))),
                written_account: same,
                written_unknown: same,
                written_accounts: (WriteAccounts::combine(&all.parts(|one| Some(&one.written_accounts)))),
                file_system_bytes: mean,
                running: (RunningCost::combine(&all.parts(|one| Some(&one.running)), ops_per_s)),
            }
        )
    }
}

/// What the client threads used in `intervals`.
pub(crate) fn generator_total(intervals: &[Interval]) -> Generator {
    intervals.iter().fold(Generator::default(), |mut sum, interval| {
        sum.add(&interval.generator);
        sum
    })
}

/// What the client threads used in the run phase of `point`, divided by the operations of all clients. That of an operation is over
/// everything recorded, the grace time included: an operation in flight at the end counts, too.
pub fn client_cost(point: &PointData, window: &Window) -> ClientCost {
    let used = generator_total(&window.phase.intervals);
    let cpu_ns = used.cpu_user_ns.saturating_add(used.cpu_system_ns);
    let is_separate = engine_process(point).is_apart_from_clients();
    let per_op = PerOp::from_point(point);
    let ops = done_by_all(point, window, |kind| per_op.ops(kind));
    let ops = Some(ops).filter(|ops| *ops > 0.0 && is_separate && cpu_ns > 0);
    // The share of a core is over the seconds of the phase, so the CPU of the grace time is not in it.
    let inside = generator_total(window.inside_recorded());
    let inside_ns = inside.cpu_user_ns.saturating_add(inside.cpu_system_ns);
    let seconds = Some(window.seconds()).filter(|seconds| *seconds > 0.0 && is_separate && cpu_ns > 0);
    ClientCost {
        cpu_ns_per_op: ops.map(|ops| cpu_ns as f64 / ops),
        cpu_user_ns_per_op: ops.map(|ops| used.cpu_user_ns as f64 / ops),
        cores_used: seconds.map(|seconds| inside_ns as f64 / 1e9 / seconds),
        lag_mean_ns: (used.lag_count > 0).then(|| used.lag_sum_ns as f64 / used.lag_count as f64),
        lag_max_ns: (used.lag_count > 0).then_some(used.lag_max_ns),
    }
}

/// The operations of all clients in the part of the run phase that counts, the grace time included, each weighted by `worth`.
fn done_by_all(point: &PointData, window: &Window, worth: impl Fn(&KindRow) -> f64) -> f64 {
    let intervals = point.phase(Phase::Run).into_iter().flat_map(|run| &run.intervals);
    let counted = intervals.filter(|interval| interval.start >= window.phase.start);
    counted.flat_map(|interval| &interval.kinds).map(worth).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Summary;
    use crate::simulated::{SECOND, Simulation};
    use model::{CounterSample, Tick};

    fn summary(simulation: &Simulation) -> Summary {
        simulation.analysis().points.remove(0).summary.expect("it ran")
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
        let expected = OpCost {
            per_op: Cost {
                read_bytes: Some(100.0),
                written_bytes: Some(4096.0),
                engine_cpu_ns: Some(3000.0),
                context_switches: Some(0.5),
                client_cpu_ns: Some(10_000.0),
                client_context_switches: Some(0.0),
                ..Cost::default()
            },
            written_account: Some(ByteAccount::Process),
            written_unknown: None,
            written_accounts: WriteAccounts { process_bytes: Some(40_960_000.0), ..WriteAccounts::default() },
            file_system_bytes: None,
            running: RunningCost::default(),
        };
        assert_eq!(found.cost, expected);
        assert_eq!(found.client.cpu_ns_per_op, Some(10_000.0));
        assert_eq!((found.client.cpu_user_ns_per_op, found.client.cores_used), (Some(4_000.0), Some(0.01)));
    }

    #[test]
    fn a_query_of_a_transaction_of_twenty_costs_a_twentieth_of_it() {
        let fact = model::Fact::new("queries_per_op.transaction", "20");
        let found = summary(&costly("own").with(|point| point.facts.push(fact)));
        let expected = Cost {
            read_bytes: Some(5.0),
            written_bytes: Some(204.8),
            engine_cpu_ns: Some(150.0),
            context_switches: Some(0.025),
            client_cpu_ns: Some(500.0),
            client_context_switches: Some(0.0),
            ..Cost::default()
        };
        assert_eq!((found.cost_per_query, found.cost.per_op.read_bytes), (expected, Some(100.0)));
    }

    #[test]
    fn statements_that_made_the_data_a_moment_before_are_no_queries_of_the_run() {
        let found = |with_load: bool| {
            let simulation = costly("own").with(|point| {
                let earlier = |sample: &mut CounterSample| sample.at.0 = sample.at.0.saturating_sub(SECOND / 100);
                point.counters.edit(|all| all.iter_mut().for_each(earlier));
                point.phases[0].start = Tick(SECOND);
                point.phases[0].intervals.remove(0);
                let mut load = point.phases[0].clone();
                (load.phase, load.start, load.end) = (Phase::Prepare, Tick(0), Tick(SECOND));
                load.intervals.truncate(1);
                (load.intervals[0].start, load.intervals[0].kinds[0].kind) =
                    (Tick(SECOND - SECOND / 100), model::OpKind(1));
                point.kinds.push(crate::simulated::kind("load"));
                point.facts.push(model::Fact::new("queries_per_op.load", "1002"));
                if with_load {
                    point.phases.insert(0, load);
                }
            });
            summary(&simulation).cost_per_query
        };
        assert_eq!(found(true), found(false));
        assert!(found(true).engine_cpu_ns.is_some());
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
        assert_eq!((cost.per_op.read_bytes, cost.per_op.written_bytes), (Some(5000.0), Some(5000.0)));
        assert_eq!(cost.per_op.engine_cpu_ns, Some(3000.0));
    }

    #[test]
    fn readings_that_miss_the_end_are_divided_by_the_operations_between_them() {
        let early =
            costly("own").with(|point| point.counters.edit(|all| all.retain(|sample| sample.at <= Tick(7 * SECOND))));
        assert_eq!(summary(&early).cost.per_op.written_bytes, Some(4096.0));
    }

    #[test]
    fn client_and_engine_are_told_apart_only_where_they_can_be() {
        let embedded = summary(&costly("embedded"));
        assert_eq!((embedded.client.cpu_ns_per_op, embedded.cost.per_op.engine_cpu_ns), (None, Some(3000.0)));
        let no_engine = summary(&costly("none"));
        assert_eq!((no_engine.client.cpu_ns_per_op, no_engine.cost.per_op.engine_cpu_ns), (Some(10_000.0), None));
        assert_eq!(no_engine.cost.per_op.written_bytes, Some(4096.0));
        let unknown = summary(&costly("somewhere"));
        assert_eq!((unknown.client.cpu_ns_per_op, unknown.cost.per_op.engine_cpu_ns), (None, None));
    }

    #[test]
    fn what_no_source_told_is_absent_and_not_zero() {
        let found = summary(&Simulation::counts(&[1000; 10]));
        assert_eq!((found.cost, found.client), (OpCost::default(), ClientCost::default()));
        assert_eq!(found.cost_per_query, Cost::default());
        let nothing_done = summary(&Simulation::counts(&[0; 10]));
        assert_eq!((nothing_done.ops_per_s, nothing_done.response_ns), (0.0, None));
    }
}
