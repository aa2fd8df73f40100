//! What one operation cost: CPU of the clients; CPU, I/O and context switches of the target.
//!
//! In: the counters of `process` and `disk`, and the CPU time of the client threads. Out: [`OpCost`], [`CostPerQuery`] and
//! [`ClientCost`].
//! Limits: the costs of foreground and background clients cannot be separated; they are divided by the operations of both.

use crate::numbers::network;
use crate::numbers::running_cost::RunningCost;
use crate::numbers::written::{ByteAccount, UnknownWritten, WriteAccounts, WrittenBytes};
use crate::recorded::counters::{done_between, growth_of_all, growth_of_reads};
use crate::recorded::facts::engine_process;
use crate::recorded::window::Window;
use model::{CounterRole, Generator, Interval, KindRow, Phase, PointData};
use serde::{Deserialize, Serialize};

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

/// What one operation cost the target. `None` if no source has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OpCost {
    /// Bytes that the engine's processes caused to be read from the block layer, per operation; on a file system that was made for
    /// the point, those that its device delivered.
    pub read_bytes_per_op: Option<f64>,
    /// Bytes written per operation, by the account that can be believed.
    pub written_bytes_per_op: Option<f64>,
    /// Whose bytes these are.
    #[serde(default)]
    pub written_account: Option<ByteAccount>,
    /// Why there are none; `None` if there are, or if nothing counted them.
    #[serde(default)]
    pub written_unknown: Option<UnknownWritten>,
    /// What all accounts hold of the run phase.
    #[serde(default)]
    pub written_accounts: WriteAccounts,
    /// Of what the device wrote in the run phase, what the file system wrote for itself: its journal and its inodes. `None` if it is not known.
    #[serde(default)]
    pub file_system_bytes: Option<f64>,
    /// Bytes that went over the network to the server and back per operation, headers included, and those of other programs over the
    /// same interface.
    #[serde(default)]
    pub network_bytes_per_op: Option<f64>,
    /// CPU of the engine's processes (or, embedded, of the whole process), per operation.
    pub engine_cpu_ns_per_op: Option<f64>,
    /// Context switches of the engine's processes (or, embedded, of the whole process), per operation.
    pub context_switches_per_op: Option<f64>,
    /// What it cost in money and energy.
    #[serde(flatten)]
    pub running: RunningCost,
}

/// What one query cost the target and the clients. `None` if no source has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CostPerQuery {
    /// Bytes read, as of an operation.
    pub read_bytes_per_query: Option<f64>,
    /// Bytes written, as of an operation.
    pub written_bytes_per_query: Option<f64>,
    /// Bytes over the network, as of an operation.
    #[serde(default)]
    pub network_bytes_per_query: Option<f64>,
    /// CPU of the engine, as of an operation.
    pub engine_cpu_ns_per_query: Option<f64>,
    /// Context switches of the engine, as of an operation.
    pub context_switches_per_query: Option<f64>,
    /// CPU of the client threads, as the generator's of an operation.
    pub client_cpu_ns_per_query: Option<f64>,
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
    let ops = done_by_all(point, window, |kind| kind.ok as f64);
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

/// What an operation cost: the growth of the counters, divided by the operations between the same two readings, each weighted by
/// `worth`. Bytes read are those of [`growth_of_reads`], bytes written those of [`WrittenBytes`].
pub fn cost_per_op(point: &PointData, window: &Window, worth: impl Fn(&KindRow) -> f64) -> OpCost {
    use CounterRole::{EngineContextSwitches, EngineCpuSystem, EngineCpuUser};
    let (start, end) = (window.phase.start, window.phase.end);
    let read = growth_of_reads(point, start, end);
    let accounts = WriteAccounts::measure(point, start, end);
    let written = WrittenBytes::from_accounts(&accounts, point, start, end);
    let account = written.map(|written| written.account);
    let written = written.map(|written| written.growth);
    let [user, system, switches] =
        [EngineCpuUser, EngineCpuSystem, EngineContextSwitches].map(|role| growth_of_all(point, role, start, end));
    let network = network::bytes_grown(point, window);
    let [read, written, network, user, system, switches] =
        [read, written, network, user, system, switches].map(|growth| {
            let growth = growth?;
            let ops = done_between(point, growth.from, growth.to, &worth);
            (ops > 0.0).then(|| growth.amount / ops)
        });
    let has_engine = engine_process(point).is_counted();
    OpCost {
        read_bytes_per_op: read,
        written_bytes_per_op: written,
        written_account: account,
        written_unknown: accounts.choose(point).err().filter(|_| accounts.process_bytes.is_some()),
        written_accounts: accounts,
        file_system_bytes: accounts.file_system_bytes(point),
        network_bytes_per_op: network,
        engine_cpu_ns_per_op: user.zip(system).filter(|_| has_engine).map(|(user_ns, system_ns)| user_ns + system_ns),
        context_switches_per_op: switches,
        running: RunningCost::default(),
    }
}

/// What a query cost, as [`cost_per_op`]; `queries` weights an operation by the statements that it consists of, and `client` is
/// what an operation cost the clients.
pub fn cost_per_query(
    point: &PointData,
    window: &Window,
    client: &ClientCost,
    queries: impl Fn(&KindRow) -> f64,
) -> CostPerQuery {
    let all = done_by_all(point, window, &queries);
    let client_cpu_ns = client.cpu_ns_per_op.map(|cpu_ns| cpu_ns * done_by_all(point, window, |kind| kind.ok as f64));
    let cost = cost_per_op(point, window, queries);
    CostPerQuery {
        read_bytes_per_query: cost.read_bytes_per_op,
        written_bytes_per_query: cost.written_bytes_per_op,
        network_bytes_per_query: cost.network_bytes_per_op,
        engine_cpu_ns_per_query: cost.engine_cpu_ns_per_op,
        context_switches_per_query: cost.context_switches_per_op,
        client_cpu_ns_per_query: client_cpu_ns.filter(|_| all > 0.0).map(|cpu_ns| cpu_ns / all),
    }
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
            read_bytes_per_op: Some(100.0),
            written_bytes_per_op: Some(4096.0),
            written_account: Some(ByteAccount::Process),
            written_unknown: None,
            written_accounts: WriteAccounts { process_bytes: Some(40_960_000.0), ..WriteAccounts::default() },
            file_system_bytes: None,
            network_bytes_per_op: None,
            engine_cpu_ns_per_op: Some(3000.0),
            context_switches_per_op: Some(0.5),
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
        let expected = CostPerQuery {
            read_bytes_per_query: Some(5.0),
            written_bytes_per_query: Some(204.8),
            network_bytes_per_query: None,
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
        let early =
            costly("own").with(|point| point.counters.edit(|all| all.retain(|sample| sample.at <= Tick(7 * SECOND))));
        assert_eq!(summary(&early).cost.written_bytes_per_op, Some(4096.0));
    }

    #[test]
    fn client_and_engine_are_told_apart_only_where_they_can_be() {
        let embedded = summary(&costly("embedded"));
        assert_eq!((embedded.client.cpu_ns_per_op, embedded.cost.engine_cpu_ns_per_op), (None, Some(3000.0)));
        let no_engine = summary(&costly("none"));
        assert_eq!((no_engine.client.cpu_ns_per_op, no_engine.cost.engine_cpu_ns_per_op), (Some(10_000.0), None));
        assert_eq!(no_engine.cost.written_bytes_per_op, Some(4096.0));
        let unknown = summary(&costly("somewhere"));
        assert_eq!((unknown.client.cpu_ns_per_op, unknown.cost.engine_cpu_ns_per_op), (None, None));
    }

    #[test]
    fn what_no_source_told_is_absent_and_not_zero() {
        let found = summary(&Simulation::counts(&[1000; 10]));
        assert_eq!((found.cost, found.client), (OpCost::default(), ClientCost::default()));
        assert_eq!(found.cost_per_query, CostPerQuery::default());
        let nothing_done = summary(&Simulation::counts(&[0; 10]));
        assert_eq!((nothing_done.ops_per_s, nothing_done.response_ns), (0.0, None));
    }
}
