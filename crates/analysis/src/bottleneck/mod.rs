//! What limited a point: one test for each resource, by how much of it was used and by what waited for it.
//!
//! In: a point's counters and numbers. Out: [`Bottlenecks`]: one cause or two that share, each with how sure it is, and what was ruled out
//! with the number that did it. Limits: counters show what moved together and prove nothing; resources without a counter are neither named nor
//! ruled out. To add a test: its file here, its line in [`TESTS`]. If the point has several hosts, what is of one machine is tested on each, and
//! the cause names the host.
//!
//! The order of the tests is that in which a cause is worth knowing: if the clients are the limit, the rest shows nothing about the engine.
//! Utilisation and saturation: B. Gregg, Thinking Methodically about Performance, CACM 56(2), 2013.

mod alone;
mod client;
mod cluster;
mod commit;
mod connections;
mod cpu;
mod disk;
mod foreign;
mod frozen;
mod hosts;
mod locks;
mod log;
mod memory;
mod network;
mod one_core;
mod schedule;
mod seen;
mod tested;
mod throttled;

pub use disk::is_disk_busy;

use crate::computed_phase::Measured;
use crate::evidence::PointView;
use crate::evidence::cause::{Bottlenecks, Cause, Confidence, Limit, LimitEvidence, LockAccount, RuledOut, Throttle};
use crate::recorded::facts::is_scripted;
use hosts::TestScope;
use model::PointState;
use seen::Seen;
use tested::Tested;

/// Looks at one resource.
type LimitTest = fn(&Seen) -> Tested;

/// The test of each resource, in the order in which causes are named.
const TESTS: &[(TestScope, LimitTest)] = &[
    (TestScope::Database, frozen::test),
    (TestScope::Clients, client::test),
    (TestScope::EveryHost, network::test),
    (TestScope::Database, connections::test_listen_queue),
    (TestScope::Point, connections::test_limit),
    (TestScope::Point, cluster::test_flow_control),
    (TestScope::Database, disk::test),
    (TestScope::Database, cpu::test),
    (TestScope::Database, one_core::test),
    (TestScope::Point, commit::test),
    (TestScope::Point, log::test_checkpoint),
    (TestScope::Point, log::test_compaction),
    (TestScope::Point, log::test_drain),
    (TestScope::Point, locks::test),
    (TestScope::Database, memory::test),
    (TestScope::Clients, throttled::test_quota),
    (TestScope::Database, throttled::test_engine_quota),
    (TestScope::Point, throttled::test_cpu_limit),
    (TestScope::Point, throttled::test_storage),
    (TestScope::Database, throttled::test_cpu_queue),
    (TestScope::Database, throttled::test_above_device),
    (TestScope::EveryHost, foreign::test_processes),
    (TestScope::EveryHost, foreign::test_hypervisor),
];

/// Causes that can share a point.
const SHARING_MAX: usize = 2;

/// What limited the point of `view`; `None` of a failed point, of one that had nothing to do and of the scripted engine.
pub fn judge(view: &PointView) -> Option<Bottlenecks> {
    let measured = view.measured.filter(|measured| is_judged(view, measured))?;
    let seen = Seen::new(view, &measured);
    let hosts = hosts::seen_on_hosts(view);
    let (mut causes, mut ruled_out) = (Vec::new(), Vec::new());
    for (scope, test) in TESTS {
        for (tested, host) in hosts::test_in_scope(*scope, *test, &seen, &hosts) {
            match tested {
                Tested::Binds(cause) => causes.push(hosts::placed(seen.by_looks(cause), host, view)),
                Tested::RuledOut(one) => ruled_out.push(one),
                Tested::Unknown => {}
            }
        }
    }
    let ruled_out = keep_ruled_out(ruled_out, &causes);
    let causes = match schedule::served(&seen) {
        Some(served) => vec![served],
        None => {
            // A sign of something is no better answer than one client that waits for nothing else.
            if causes.iter().all(|cause| cause.confidence == Confidence::Possible) {
                causes.extend(alone::one_at_a_time(&seen));
            }
            if causes.is_empty() { vec![alone::unexplained(&seen)] } else { strongest(causes) }
        }
    };
    Some(Bottlenecks { causes, ruled_out })
}

/// Those of `all` whose limit no test found to bind. Of several tests of one limit the one that is nearest to it is kept.
fn keep_ruled_out(all: Vec<RuledOut>, binding: &[Cause]) -> Vec<RuledOut> {
    let mut kept: Vec<RuledOut> = Vec::new();
    for one in all.into_iter().filter(|one| binding.iter().all(|cause| cause.limit() != one.code)) {
        match kept.iter_mut().find(|known| known.code == one.code) {
            Some(known) if known.nearness() < one.nearness() => *known = one,
            Some(_) => {}
            None => kept.push(one),
        }
    }
    kept
}

/// A point that is over within a tick of the kernel had nothing to do: an index that there is none of to build.
const SECONDS_MIN: f64 = 0.01;

/// A failed point, or one that had nothing to do, shows no bottleneck.
fn is_judged(view: &PointView, measured: &Measured) -> bool {
    let has_worked = measured.summary.ops > 0 && measured.summary.seconds >= SECONDS_MIN;
    !is_scripted(view.point) && view.point.state != PointState::Failed && has_worked
}

/// The surest of `causes`, without those that others among them explain: one, or two that are equally sure.
fn strongest(causes: Vec<Cause>) -> Vec<Cause> {
    let is_explained = |cause: &Cause| {
        causes.iter().any(|other| explains(&other.evidence, cause.limit()) && !is_counted_apart(&other.evidence, cause))
    };
    let mut own: Vec<Cause> = causes.iter().filter(|cause| !is_explained(cause)).cloned().collect();
    own.sort_by_key(|cause| cause.confidence); // stable: equally sure ones keep the order of the tests
    let surest = own.first().map(|cause| cause.confidence);
    own.retain(|cause| Some(cause.confidence) == surest);
    own.truncate(SHARING_MAX);
    own
}

/// Whether an engine with one writer at a time counted `cause` itself: its clients wait for their turn, and no sync serves several of them.
fn is_counted_apart(other: &LimitEvidence, cause: &Cause) -> bool {
    let is_turn = matches!(cause.evidence, LimitEvidence::Locks { by: LockAccount::OneWriter, .. });
    is_turn && matches!(other, LimitEvidence::Commit { .. } | LimitEvidence::Sync { .. } | LimitEvidence::Write { .. })
}

/// Whether a cause is the reason why another resource was used up, too.
fn explains(cause: &LimitEvidence, other: Limit) -> bool {
    match cause {
        LimitEvidence::Throttled(Throttle::Quota { .. } | Throttle::EngineQuota { .. } | Throttle::CpuLimit { .. }) => {
            other.is_foreign() || matches!(other, Limit::Cpu | Limit::OneCore | Limit::Client | Limit::Locks)
        }
        // While an engine is stopped its clients wait, and the rest of the time it works off what they asked for.
        LimitEvidence::Frozen { .. } => {
            other.is_foreign() || matches!(other, Limit::Cpu | Limit::OneCore | Limit::Locks | Limit::Throttled)
        }
        LimitEvidence::Throttled(Throttle::CpuQueue { .. }) => matches!(other, Limit::OneCore | Limit::Locks),
        LimitEvidence::Throttled(throttle @ (Throttle::Storage { .. } | Throttle::AboveDevice { .. })) => {
            // What is held at a limit waits for it, whatever the engine calls that: its log, its locks, what it has put off.
            let is_set = matches!(throttle, Throttle::Storage { .. });
            other.is_foreign()
                || matches!(other, Limit::Disk | Limit::OneCore | Limit::Locks | Limit::Sync | Limit::Write)
                || is_set && matches!(other, Limit::Commit | Limit::Checkpoint | Limit::Compaction)
        }
        // Clients that wait for a connection, or a cluster that pauses, leave threads waiting for work and for each other.
        LimitEvidence::ListenQueue { .. } | LimitEvidence::Connections { .. } | LimitEvidence::FlowControl { .. } => {
            matches!(other, Limit::OneCore | Limit::Locks | Limit::Commit)
        }
        // To the kernel, a commit that waits for the one that syncs for it waits for a lock.
        LimitEvidence::Commit { .. } | LimitEvidence::Sync { .. } | LimitEvidence::Write { .. } => {
            matches!(other, Limit::Locks | Limit::OneCore)
        }
        LimitEvidence::Locks { .. } | LimitEvidence::Checkpoint { .. } | LimitEvidence::Compaction { .. } => {
            other == Limit::OneCore
        }
        // An engine that waits for these may use one core by chance.
        LimitEvidence::Disk { .. }
        | LimitEvidence::Cpu { .. }
        | LimitEvidence::PinnedCpus { .. }
        | LimitEvidence::Client { .. }
        | LimitEvidence::OtherProcesses { .. }
        | LimitEvidence::Hypervisor { .. } => other == Limit::OneCore,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judgement::NextStep;
    use crate::numbers::stacks::tests::snapshot;
    use crate::simulated::{Simulation, params};
    use model::{
        Bytes, CounterRole, Fact, Generator, KindDef, OpClass, StallReason, StorageLimit, ThreadOf, ThreadState, Tick,
        Value,
    };

    fn machine(disk: f64, cpu: f64) -> Simulation {
        let counters = ["user_ns", "system_ns", "idle_ns", "self_ns"];
        let used = move |second: f64| vec![cpu * second * 2e9, 0.0, (1.0 - cpu) * second * 2e9, 0.0];
        Simulation::counts(&[1000; 10])
            .source("disk", &["busy_ns"], move |second| vec![disk * second * 1e9])
            .source("cpu", &counters, used)
    }

    /// The same with four clients, so that one at a time is no answer.
    fn crowd(disk: f64, cpu: f64) -> Simulation {
        machine(disk, cpu).with(|point| point.trial.load.clients = 4)
    }

    fn found(simulation: &Simulation) -> Bottlenecks {
        simulation.analysis().points.remove(0).bottlenecks.expect("it is judged")
    }

    fn limits(simulation: &Simulation) -> Vec<Limit> {
        found(simulation).causes.iter().map(Cause::limit).collect()
    }

    fn surest(simulation: &Simulation) -> (Limit, Confidence) {
        let first = found(simulation).causes[0].clone();
        (first.limit(), first.confidence)
    }

    fn ruled_out(simulation: &Simulation, code: Limit) -> Option<f64> {
        let all = found(simulation).ruled_out;
        all.iter().find(|one| one.code == code).map(|one| (one.value * 100.0).round())
    }

    /// One counter that grows by so much a second.
    fn with(simulation: Simulation, source: &str, counter: &str, per_s: f64) -> Simulation {
        simulation.source(source, &[counter], move |second| vec![per_s * second])
    }

    #[test]
    fn a_busy_disk_and_busy_cpus_share_a_point_and_one_of_them_rules_the_other_out() {
        assert_eq!(limits(&machine(0.95, 0.95)), [Limit::Cpu], "a queue of the disk is not known");
        let queued = with(machine(0.95, 0.95), "disk", "queue_ns", 3e9);
        assert_eq!(limits(&queued), [Limit::Disk, Limit::Cpu]);
        assert_eq!(
            (limits(&machine(0.96, 0.3)), ruled_out(&machine(0.96, 0.3), Limit::Cpu)),
            (vec![Limit::Disk], Some(30.0))
        );
        assert_eq!(
            (limits(&machine(0.2, 0.97)), ruled_out(&machine(0.2, 0.97), Limit::Disk)),
            (vec![Limit::Cpu], Some(20.0))
        );
    }

    #[test]
    fn each_cause_is_named_when_it_is_made_and_ruled_out_when_it_is_not() {
        let log = |age: f64| {
            let levels = move |_| vec![age, 100.0];
            crowd(0.5, 0.4).source("innodb", &["checkpoint_age", "checkpoint_max_age"], levels)
        };
        let cases: [(Limit, [Simulation; 2]); 4] = [
            (Limit::Checkpoint, [90.0, 40.0].map(log)),
            (Limit::Compaction, [0.3e9, 0.01e9].map(|held| with(crowd(0.5, 0.4), "myrocks", "stall_ns", held))),
            (Limit::Locks, [3e9, 0.1e9].map(|waited| with(crowd(0.5, 0.4), "innodb", "row_lock_time_ns", waited))),
            (Limit::Memory, [0.3e9, 0.0].map(|waited| with(crowd(0.5, 0.4), "psi", "memory_full_ns", waited))),
        ];
        for (limit, [made, without]) in cases {
            assert_eq!(surest(&made), (limit, Confidence::Sure), "{limit:?}");
            assert_eq!(ruled_out(&made, limit), None, "{limit:?}");
            assert_eq!(limits(&without), [Limit::Unclear], "{limit:?}");
            assert!(ruled_out(&without, limit).is_some(), "{limit:?}");
        }
    }

    #[test]
    fn a_cpu_quota_and_a_storage_limit_are_named_and_explain_what_they_use_up() {
        let quota = |held_ns: f64| {
            let counters = ["throttled_ns", "throttled_periods"];
            crowd(0.1, 0.97).source("quota", &counters, move |second| vec![held_ns * second, 10.0 * second])
        };
        assert_eq!(limits(&quota(1e9)), [Limit::Throttled], "the CPUs were full for others only");
        assert_eq!(
            (limits(&quota(0.02e9)), ruled_out(&quota(0.02e9), Limit::Throttled)),
            (vec![Limit::Cpu], Some(1.0))
        );
        let writes = |per_s: f64| {
            with(crowd(0.95, 0.3), "limits", "write_ops", per_s).with(|point| {
                point.trial.target.limits.storage = StorageLimit { write_iops: Some(500), ..StorageLimit::default() };
            })
        };
        assert_eq!(surest(&writes(495.0)), (Limit::Throttled, Confidence::Sure));
        assert_eq!(
            (limits(&writes(100.0)), ruled_out(&writes(100.0), Limit::Throttled)),
            (vec![Limit::Disk], Some(20.0))
        );
    }

    #[test]
    fn a_limit_is_named_or_ruled_out_once() {
        let both = |held_ns: f64, writes_per_s: f64| {
            let counters = ["throttled_ns", "throttled_periods"];
            let quota = crowd(0.1, 0.5).source("quota", &counters, move |s| vec![held_ns * s, 10.0 * s]);
            with(quota, "limits", "write_ops", writes_per_s).with(|point| {
                point.trial.target.limits.storage = StorageLimit { write_iops: Some(500), ..StorageLimit::default() };
            })
        };
        let throttled = |simulation: &Simulation| {
            let found = found(simulation);
            let is_it = |limit: Limit| limit == Limit::Throttled;
            let named = found.causes.iter().filter(|cause| is_it(cause.limit())).count();
            (named, found.ruled_out.iter().filter(|one| is_it(one.code)).count())
        };
        assert_eq!(throttled(&both(1e9, 100.0)), (1, 0), "the quota is named, whatever the storage limit shows");
        assert_eq!(throttled(&both(0.02e9, 100.0)), (0, 1));
        assert_eq!(ruled_out(&both(0.02e9, 400.0), Limit::Throttled), Some(80.0), "nearer to its limit than the quota");
    }

    #[test]
    fn a_device_that_is_busy_far_below_its_best_rate_waits_for_requests() {
        let reading = |queue: f64, flushes: f64| {
            let counters = ["busy_ns", "read_ops", "read_bytes", "write_ops", "write_bytes", "queue_ns", "flush_ops"];
            let amounts =
                move |s: f64| vec![0.97e9 * s, 4e3 * s, 4e3 * 16_384.0 * s, 0.0, 0.0, queue * 1e9 * s, flushes * s];
            let mut simulation = Simulation::counts(&[4_000; 10]).source("disk", &counters, amounts);
            simulation.environment.push(Fact::new("disk.device", "vda"));
            simulation.environment.push(Fact::new("ceiling.read.16384.32", "20000 ops/s"));
            simulation.with(|point| point.sources[0].subject = "vda".into())
        };
        assert_eq!(surest(&reading(0.97, 0.0)), (Limit::OneAtATime, Confidence::Sure));
        assert_eq!(ruled_out(&reading(0.97, 0.0), Limit::Disk), Some(20.0), "of its best rate");
        assert_eq!(
            surest(&reading(30.0, 0.0)),
            (Limit::Disk, Confidence::Sure),
            "they queue: it is slower than it was"
        );
        assert_eq!(
            surest(&reading(0.97, 2e3)),
            (Limit::Disk, Confidence::Likely),
            "the best rate is one without flushes"
        );
    }

    #[test]
    fn saturation_makes_a_cause_sure() {
        let waited = |ns: f64| with(crowd(0.2, 0.97), "psi", "cpu_some_ns", ns);
        assert_eq!(surest(&waited(0.4e9)), (Limit::Cpu, Confidence::Sure));
        assert_eq!(surest(&waited(0.02e9)), (Limit::Cpu, Confidence::Likely));
        assert_eq!(surest(&crowd(0.96, 0.3)), (Limit::Disk, Confidence::Likely));
        assert_eq!(surest(&with(crowd(0.96, 0.3), "psi", "io_full_ns", 0.3e9)), (Limit::Disk, Confidence::Sure));
    }

    #[test]
    fn client_threads_that_use_up_their_cores_are_named_first() {
        let using = |cpu_user_ns| machine(0.2, 0.97).generator(Generator { cpu_user_ns, ..Generator::default() });
        assert_eq!(limits(&using(950_000_000)), [Limit::Client, Limit::Cpu]);
        assert_eq!(
            (limits(&using(300_000_000)), ruled_out(&using(300_000_000), Limit::Client)),
            (vec![Limit::Cpu], Some(30.0))
        );
    }

    #[test]
    fn without_plain_evidence_it_is_unclear_and_the_counters_show_how_far_each_was() {
        let LimitEvidence::Unclear(counters) = found(&crowd(0.5, 0.4)).causes[0].evidence else { panic!("nothing is") };
        let percent = |share: Option<crate::math::units::Share>| share.map(|share| (share.0 * 100.0).round());
        let shown = [counters.disk_busy_share, counters.cpu_share, counters.client_cores_share].map(percent);
        assert_eq!(shown, [Some(50.0), Some(40.0), None]);
        let blind = Simulation::counts(&[1000; 10]).with(|point| point.trial.load.clients = 4);
        assert_eq!((limits(&blind), found(&blind).ruled_out), (vec![Limit::Unclear], vec![]));
    }

    #[test]
    fn a_lone_client_waits_for_each_operation_before_the_next() {
        let LimitEvidence::OneAtATime { service_mean_ns, in_flight: 1 } = found(&machine(0.5, 0.4)).causes[0].evidence
        else {
            panic!("it is alone")
        };
        assert!(service_mean_ns.0 > 0);
    }

    /// An embedded engine that uses so many cores.
    fn embedded(cores: f64) -> Simulation {
        let process = ["cpu_user_ns", "cpu_system_ns"];
        let cpu = move |second: f64| vec![0.4 * cores * second * 1e9, 0.6 * cores * second * 1e9];
        crowd(0.5, 0.6).source("process", &process, cpu).with(|point| {
            point.facts.push(Fact::new("engine.process", "embedded"));
        })
    }

    #[test]
    fn an_embedded_engine_that_computes_on_one_core_is_named() {
        let LimitEvidence::OneCore { cores, kernel_share: Some(kernel) } = found(&embedded(0.95)).causes[0].evidence
        else {
            panic!("it computes on one core")
        };
        assert!((cores - 0.95).abs() < 0.01 && (kernel.0 - 0.6).abs() < 1e-6, "{cores} {kernel:?}");
        for cores in [0.5, 1.12, 1.6] {
            assert_eq!(limits(&embedded(cores)), [Limit::Unclear], "{cores}");
        }
        assert_eq!(
            (ruled_out(&embedded(0.5), Limit::OneCore), ruled_out(&embedded(1.6), Limit::OneCore)),
            (Some(50.0), None)
        );
    }

    /// The same run in less time than 20 ticks of the kernel.
    #[test]
    fn fewer_than_twenty_ticks_are_not_judged() {
        let shortened = |seconds_inverse: u64| {
            full(0.97, 0.0).with(move |point| {
                let phase = &mut point.phases[0];
                phase.end = Tick(phase.end.0 / seconds_inverse);
                phase.intervals.truncate(1);
                phase.intervals[0].length = model::Nanos(phase.end.0);
                point.counters.edit(|samples| {
                    for sample in samples {
                        sample.at = Tick(sample.at.0 / seconds_inverse);
                        sample.values.iter_mut().flatten().for_each(|value| *value /= seconds_inverse as f64);
                    }
                });
            })
        };
        assert_eq!(limits(&shortened(10)), [Limit::Cpu], "a second");
        assert_eq!(limits(&shortened(120)), [Limit::OneAtATime], "83 ms of two CPUs are 17 ticks");
    }

    #[test]
    fn an_open_loop_that_got_all_it_offered_was_held_back_by_its_schedule() {
        assert_eq!(limits(&Simulation::open(10, 1_000, |_| 500_000)), [Limit::Schedule]);
        assert_eq!(limits(&Simulation::open(10, 2_000, |_| 1_000_000)), [Limit::TargetOrClients]);
    }

    /// A machine without idle time, of which these shares went to plimsoll with its engine and to others.
    fn full(ours: f64, others: f64) -> Simulation {
        let counters = ["user_ns", "system_ns", "idle_ns", "self_ns"];
        let values = move |second: f64| {
            let ns = second * 2e9;
            vec![(ours + others) * ns, 0.0, (1.0 - ours - others) * ns, ours * ns]
        };
        Simulation::counts(&[1000; 10]).source("cpu", &counters, values).process("embedded")
    }

    #[test]
    fn cpus_that_a_point_was_pinned_to_are_named_if_it_filled_them() {
        let pinned = |ours: f64, cpus: &str| {
            let cpus = Fact::new("cpus.count", cpus);
            full(ours, 0.05).with(move |point| point.facts.push(cpus.clone()))
        };
        let LimitEvidence::PinnedCpus { busy_share, cpus } = found(&pinned(0.48, "1")).causes[0].evidence else {
            panic!("it filled one")
        };
        assert_eq!(((busy_share.0 * 1e3).round(), cpus), (960.0, 1));
        assert_eq!(limits(&pinned(0.48, "1")), [Limit::Cpu]);
        assert_ne!(limits(&pinned(0.40, "1")), [Limit::Cpu], "it had time left");
        assert!(matches!(found(&pinned(0.9, "2")).causes[0].evidence, LimitEvidence::Cpu { .. }), "all of the machine");
    }

    #[test]
    fn cpu_that_others_used_is_a_cause_whose_finding_is_foreign_cpu() {
        let advice = |simulation: Simulation, code: &str| -> Vec<NextStep> {
            simulation.findings(code).iter().map(|finding| finding.next).collect()
        };
        assert_eq!(limits(&full(0.2, 0.8)), [Limit::OtherProcesses]);
        assert!(full(0.2, 0.8).findings("bottleneck").is_empty(), "foreign-cpu has the figures");
        assert_eq!(advice(full(0.2, 0.8), "foreign-cpu"), [NextStep::StopOtherProcesses]);
        assert_eq!(limits(&full(0.7, 0.3)), [Limit::Cpu], "plimsoll used most");
        let both = [advice(full(0.7, 0.3), "bottleneck"), advice(full(0.7, 0.3), "foreign-cpu")];
        assert_eq!(both, [[NextStep::None], [NextStep::StopOtherProcesses]], "the advice is given once");
        assert_eq!(full(0.95, 0.05).finding("bottleneck").next, NextStep::ProfileTarget);
        assert_eq!(ruled_out(&full(0.95, 0.05), Limit::OtherProcesses), Some(5.0));
        let bottleneck = full(0.2, 0.8).analysis().verdict.bottleneck();
        assert_eq!((bottleneck.limits.get(&Limit::OtherProcesses), bottleneck.judged), (Some(&1), 1));
    }

    #[test]
    fn the_scripted_engine_and_a_point_without_operations_have_no_bottleneck_to_find() {
        let judged = |simulation: Simulation| simulation.analysis().points.remove(0).bottlenecks.is_some();
        assert!(!judged(machine(0.99, 0.99).with(|point| point.trial.target.engine = "null".into())));
        assert!(!judged(Simulation::counts(&[0; 10])));
        assert!(judged(machine(0.99, 0.99).with(|point| point.trial.target.limits.memory = Some(Bytes(1 << 30)))));
    }

    /// So many threads of the engine on average in each state: CPU, runnable, read, sync, lock, client, other.
    fn threads(simulation: Simulation, of: ThreadOf, each: [f64; 7]) -> Simulation {
        let counters = ["0", "1", "2", "3", "4", "5", "6"];
        let counted = simulation.source("engine-threads", &counters, move |s| each.map(|one| one * 1e9 * s).to_vec());
        counted.with(|point| {
            let source = point.sources.last_mut().expect("it was added");
            for (counter, state) in source.counters.iter_mut().zip(ThreadState::ALL) {
                counter.role = Some(CounterRole::ThreadTime(of, state));
            }
        })
    }

    /// Four clients of a server on a machine that is half idle, whose threads do this.
    fn working(each: [f64; 7]) -> Simulation {
        threads(crowd(0.3, 0.5), ThreadOf::Engine, each)
    }

    fn durable(simulation: Simulation) -> Simulation {
        simulation.with(|point| point.traits.engine.durability = Some("disk".into()))
    }

    #[test]
    fn commits_are_named_if_they_wait_for_the_disk_and_writes_if_nobody_asked_for_that() {
        let syncing = [0.3, 0.0, 0.0, 0.9, 0.3, 2.0, 0.0];
        assert_eq!(surest(&durable(working(syncing))), (Limit::Commit, Confidence::Sure));
        assert_eq!(surest(&working(syncing)), (Limit::Write, Confidence::Sure));
        let grouped = [0.5, 0.0, 0.0, 0.7, 2.5, 0.3, 0.0];
        assert_eq!(limits(&durable(working(grouped))), [Limit::Commit], "the others wait for the one that syncs");
        let group = [0.9, 0.6, 0.0, 0.45, 2.1, 0.45, 0.0];
        let rows = |waits_per_s: f64| with(durable(working(group)), "innodb", "row_lock_waits", waits_per_s);
        assert_eq!(surest(&rows(1.0)), (Limit::Commit, Confidence::Sure), "they wait for the sync of their group");
        assert_eq!(surest(&rows(900.0)), (Limit::Locks, Confidence::Sure), "they wait for rows");
        let hardly_seen = [0.9, 0.6, 0.0, 0.12, 2.43, 0.45, 0.0];
        let waits = |waits_per_s: f64| with(durable(working(hardly_seen)), "innodb", "row_lock_waits", waits_per_s);
        assert_eq!(surest(&waits(1.0)).0, Limit::Commit, "a fast sync is seldom seen");
        assert_eq!(surest(&waits(900.0)).0, Limit::Locks);
        let rarely = [1.5, 0.1, 0.0, 0.1, 0.1, 2.0, 0.0];
        assert_eq!(surest(&durable(working(rarely))), (Limit::FewInFlight, Confidence::Likely));
        assert_eq!(ruled_out(&durable(working(rarely)), Limit::Commit), Some(6.0));
    }

    /// Clients of a file that spend nine tenths of their time in its writes.
    fn writing(clients: u32, fsync: &str, direct: bool) -> Simulation {
        let simulation = machine(0.5, 0.3).with(|point| {
            (point.trial.target.engine, point.trial.workload.name) = ("file".into(), "file".into());
            let (mode, fsync) = (Value::Word("rndwr".into()), Value::Word(fsync.into()));
            let direct = Value::Bool(direct);
            point.trial.workload.params = params(&[("mode", mode), ("fsync", fsync), ("direct", direct)]);
            point.trial.load.clients = clients;
        });
        let of_one = [0.05, 0.0, 0.0, 0.9, 0.0, 0.05, 0.0];
        threads(simulation.process("none"), ThreadOf::Client, of_one.map(|share| share * f64::from(clients)))
    }

    #[test]
    fn what_nobody_syncs_is_no_sync() {
        assert_eq!(limits(&writing(1, "none", true)), [Limit::OneAtATime]);
        assert_eq!(limits(&writing(4, "none", true)), [Limit::FewInFlight]);
        assert_eq!(limits(&writing(4, "none", false)), [Limit::Write], "the page cache is full");
        assert_eq!(limits(&writing(4, "fsync", true)), [Limit::Sync]);
    }

    #[test]
    fn locks_are_sure_if_the_engine_counts_waits_for_rows_as_well() {
        let locked = [0.8, 0.0, 0.0, 0.1, 3.0, 0.1, 0.0];
        assert_eq!(surest(&working(locked)), (Limit::Locks, Confidence::Likely));
        let next = |simulation: &Simulation| found(simulation).causes[0].next;
        assert_eq!(next(&working(locked)), NextStep::FindInnerLock, "not known to be a lock of rows");
        let waits = with(working(locked), "innodb", "row_lock_waits", 900.0);
        assert_eq!((surest(&waits), next(&waits)), ((Limit::Locks, Confidence::Sure), NextStep::SpreadRows));
        let free = [1.8, 0.1, 0.0, 0.1, 0.2, 1.8, 0.0];
        assert_eq!(
            (limits(&working(free)), ruled_out(&working(free), Limit::Locks)),
            (vec![Limit::FewInFlight], Some(9.0))
        );
        // Of clients that think, half of the few threads at work wait.
        let thinking = working([0.05, 0.0, 0.0, 0.0, 0.06, 3.89, 0.0]);
        assert!(!limits(&thinking).contains(&Limit::Locks));
        assert_eq!(ruled_out(&thinking, Limit::Locks), Some(2.0));
    }

    #[test]
    fn threads_that_are_held_back_although_there_is_room_are_under_a_limit() {
        let no_cpu = [0.5, 1.5, 0.0, 0.0, 0.0, 2.0, 0.0];
        assert_eq!(surest(&working(no_cpu)), (Limit::Throttled, Confidence::Likely));
        assert_eq!(limits(&threads(crowd(0.3, 0.97), ThreadOf::Engine, no_cpu)), [Limit::Cpu], "there was no room");
        let reading = [0.1, 0.0, 3.0, 0.0, 0.0, 0.9, 0.0];
        let in_device = |requests: f64| with(working(reading), "disk", "queue_ns", requests * 1e9);
        assert_eq!(surest(&in_device(0.1)), (Limit::Throttled, Confidence::Likely));
        assert_eq!(limits(&in_device(2.5)), [Limit::FewInFlight], "the device has what they wait for, and time left");
        let busier = with(threads(crowd(0.8, 0.5), ThreadOf::Engine, reading), "disk", "queue_ns", 2.5e9);
        assert_eq!(surest(&busier), (Limit::Disk, Confidence::Likely));
    }

    /// One counter of `role` that grows by so much a second.
    fn with_role(simulation: Simulation, role: CounterRole, per_s: f64) -> Simulation {
        with(simulation, "more", "count", per_s).with(|point| {
            let source = point.sources.last_mut().expect("it was added");
            source.counters[0].role = Some(role);
        })
    }

    #[test]
    fn a_drain_waits_for_the_engines_own_threads_and_for_no_lock() {
        let waiting = |class| {
            let clients = threads(crowd(0.3, 0.4), ThreadOf::Client, [0.05, 0.0, 0.0, 0.0, 0.95, 0.0, 0.0]);
            clients.process("embedded").with(move |point| point.kinds = vec![KindDef::new("op", class)])
        };
        let LimitEvidence::Drain { waited_share, .. } = found(&waiting(OpClass::Drain)).causes[0].evidence else {
            panic!("it is a drain")
        };
        assert_eq!((waited_share.0 * 100.0).round(), 95.0);
        assert_eq!(limits(&waiting(OpClass::Write)), [Limit::Locks]);
    }

    #[test]
    fn clients_that_wait_for_the_one_writer_are_named_though_its_commits_sync() {
        let each = [0.2, 0.0, 0.0, 0.8, 3.0, 0.0, 0.0];
        let clients = || threads(durable(crowd(0.3, 0.4)), ThreadOf::Client, each).process("embedded");
        assert_eq!(limits(&clients()), [Limit::Commit], "to the kernel they wait for the one that syncs");
        let counted = with_role(clients(), CounterRole::WriterTurnTime, 3e9);
        let first = found(&counted).causes[0].clone();
        let LimitEvidence::Locks { waiting_share, by: LockAccount::OneWriter, .. } = first.evidence else {
            panic!("{first:?}")
        };
        assert_eq!((waiting_share.0, first.confidence), (0.75, Confidence::Sure));
    }

    #[test]
    fn stalled_writers_are_named_with_the_reason_that_was_counted_most_often() {
        let stalled = with(crowd(0.5, 0.4), "myrocks", "stall_ns", 0.3e9);
        let held = |simulation, reason, per_s| with_role(simulation, CounterRole::WritersHeldFor(reason), per_s);
        let counted = held(held(stalled, StallReason::Memtables, 2.0), StallReason::UnsortedTables, 5.0);
        let LimitEvidence::Compaction { reason, stalls_per_s, .. } = found(&counted).causes[0].evidence else {
            panic!("they are held back")
        };
        assert_eq!((reason, stalls_per_s), (Some(StallReason::UnsortedTables), Some(7.0)));
    }

    #[test]
    fn a_quota_of_the_engine_that_is_read_is_named_instead_of_one_that_is_inferred() {
        let no_cpu = [0.5, 1.5, 0.0, 0.0, 0.0, 2.0, 0.0];
        let held = |ns: f64| {
            let counted = with_role(working(no_cpu), CounterRole::EngineQuotaThrottled, ns);
            with_role(counted, CounterRole::EngineQuota, 0.0)
        };
        let throttle = |simulation: &Simulation| found(simulation).causes[0].throttle();
        assert!(matches!(throttle(&working(no_cpu)), Some(Throttle::CpuQueue { .. })));
        assert!(matches!(throttle(&held(1e9)), Some(Throttle::EngineQuota { .. })));
        assert!(throttle(&held(0.001e9)).is_none(), "it held nothing back");
    }

    #[test]
    fn an_engine_that_was_stopped_is_named_and_explains_why_its_threads_queued_for_a_cpu() {
        let queued = [0.5, 1.5, 0.0, 0.0, 0.0, 2.0, 2.0];
        let stopped = |share: f64| with_role(working(queued), CounterRole::EngineStopped, share * 1e9);
        assert_eq!(surest(&stopped(0.5)), (Limit::Frozen, Confidence::Sure));
        assert_eq!(limits(&stopped(0.5)), [Limit::Frozen]);
        assert_eq!(limits(&stopped(0.001)), [Limit::Throttled]);
        let by_plimsoll = stopped(0.03).with(|point| {
            let stops = (2..8).map(|at| snapshot(at, model::StackReason::Random, 50, &["f"]));
            point.stacks = stops.collect();
        });
        assert_eq!(limits(&by_plimsoll), [Limit::Throttled], "its own stops are 3 % of the time");
    }

    #[test]
    fn a_cluster_that_pauses_is_named_whatever_its_threads_wait_for() {
        let locked = [0.8, 0.0, 0.0, 0.1, 3.0, 0.1, 0.0];
        let paused = |share: f64| with_role(working(locked), CounterRole::FlowControlPaused, share * 1e9);
        assert_eq!(surest(&paused(0.8)), (Limit::FlowControl, Confidence::Sure));
        assert_eq!(limits(&paused(0.3)), [Limit::FlowControl]);
        assert_eq!(
            (limits(&paused(0.1)), ruled_out(&paused(0.1), Limit::FlowControl)),
            (vec![Limit::Locks], Some(10.0))
        );
    }

    /// Clients that open 1,000 connections a second, of which so many find the queue of the listener full and wait a second.
    fn connecting(full: u64) -> Simulation {
        let waits = move |seq: u64| if seq % 1_000 < full { 1_005_000_000 } else { 4_000_000 };
        let simulation = Simulation::closed(60, waits).with(|point| {
            point.kinds = vec![KindDef::new("connect", OpClass::Connect)];
            point.trial.load.clients = 4;
        });
        with_role(simulation, CounterRole::ListenOverflows, full as f64)
    }

    #[test]
    fn a_full_listen_queue_is_named_by_the_time_that_connections_wait_for_a_retry() {
        assert_eq!(surest(&connecting(20)), (Limit::ListenQueue, Confidence::Sure));
        assert_eq!(limits(&connecting(0)), [Limit::Unclear]);
        assert_ne!(limits(&connecting(1)), [Limit::ListenQueue], "a fifth of the time");
    }

    #[test]
    fn a_server_at_its_connection_limit_is_named() {
        let refused = |per_s: f64| with_role(connecting(0), CounterRole::RefusedConnections, per_s);
        assert_eq!(surest(&refused(200.0)), (Limit::Connections, Confidence::Sure));
        assert_eq!(limits(&refused(1.0)), [Limit::Unclear], "a stranger was refused");
    }

    #[test]
    fn a_single_client_waits_for_nobodys_lock_and_few_looks_make_nothing_sure() {
        let locked = [0.05, 0.0, 0.0, 0.0, 0.95, 0.0, 0.0];
        let clients = |clients: u32| {
            let simulation = threads(machine(0.3, 0.4), ThreadOf::Client, locked.map(|one| one * f64::from(clients)));
            simulation.process("embedded").with(|point| point.trial.load.clients = clients)
        };
        assert_eq!(limits(&clients(1)), [Limit::OneAtATime]);
        assert_eq!(limits(&clients(4)), [Limit::Locks]);
        let syncing = [0.3, 0.0, 0.0, 0.9, 0.3, 2.0, 0.0];
        let looked =
            |per_s: f64| with_role(durable(working(syncing)), CounterRole::ThreadLooks(ThreadOf::Engine), per_s);
        let confidences = [20.0, 1.0, 0.1].map(|per_s| surest(&looked(per_s)));
        let commit = |confidence| (Limit::Commit, confidence);
        let [sure, likely, sign] = [Confidence::Sure, Confidence::Likely, Confidence::Possible].map(commit);
        assert_eq!(confidences, [sure, likely, sign]);
    }

    #[test]
    fn threads_that_wait_while_clients_think_or_connect_wait_for_no_lock() {
        let locked = [0.8, 0.0, 0.0, 0.1, 3.0, 0.1, 0.0];
        let thinking = |think_ms: u64| {
            let pacing = model::Pacing::Closed { think: model::Nanos::from_millis(think_ms) };
            limits(&working(locked).with(|point| point.trial.load.pacing = pacing))
        };
        assert_eq!(thinking(0), [Limit::Locks]);
        assert_ne!(thinking(10), [Limit::Locks], "three threads wait, and one operation is in flight");
        let connects = working(locked).with(|point| point.kinds = vec![KindDef::new("connect", OpClass::Connect)]);
        assert_ne!(limits(&connects), [Limit::Locks], "they wait for the next connection");
    }

    #[test]
    fn memory_that_has_no_room_for_files_is_named_if_reading_them_again_costs_time() {
        let refaulting = |refault_bytes: f64, each: [f64; 7]| {
            let reading = with(working(each), "disk", "read_bytes", 8e6);
            with_role(reading, CounterRole::Refaults, refault_bytes)
        };
        let reads = [0.5, 0.3, 0.3, 0.0, 0.0, 2.9, 0.0];
        assert_eq!(surest(&refaulting(7e6, reads)), (Limit::Memory, Confidence::Likely));
        assert_ne!(limits(&refaulting(1e6, reads)), [Limit::Memory], "most was read for the first time");
        assert_ne!(limits(&refaulting(7e6, [0.5, 0.3, 0.0, 0.0, 0.0, 3.2, 0.0])), [Limit::Memory], "it cost no time");
    }

    #[test]
    fn a_queue_for_the_cpus_that_chance_explains_is_no_limit_that_was_set() {
        let queued = |busy: f64, runnable: f64| {
            let each = [1.0 - runnable, runnable, 0.0, 0.0, 0.0, 3.0, 0.0];
            limits(&threads(crowd(0.3, busy), ThreadOf::Engine, each))
        };
        assert_eq!(queued(0.5, 0.6), [Limit::Throttled]);
        assert_ne!(queued(0.75, 0.6), [Limit::Throttled], "a queue at two CPUs that are three quarters busy");
    }

    #[test]
    fn others_that_fill_the_cpus_are_no_limit_of_threads_that_wait_for_something_else() {
        let foreign = |each| threads(full(0.2, 0.8).process("own"), ThreadOf::Client, each);
        let waiting = |runnable: f64| foreign([0.1, runnable, 0.0, 0.0, 0.0, 0.9 - runnable, 0.0]).process("embedded");
        assert_eq!(limits(&waiting(0.5)), [Limit::OtherProcesses]);
        assert_eq!(ruled_out(&waiting(0.05), Limit::OtherProcesses), None, "a third of its time at work");
        let waits_more = foreign([0.1, 0.3, 0.0, 0.6, 0.0, 0.0, 0.0]).process("embedded");
        assert_eq!(limits(&waits_more), [Limit::Write], "it waited for a CPU, and twice as long for its writes");
        let syncing = foreign([0.1, 0.02, 0.0, 0.88, 0.0, 0.0, 0.0]).process("embedded");
        assert_eq!((limits(&syncing), ruled_out(&syncing, Limit::OtherProcesses)), (vec![Limit::Write], Some(2.0)));
    }

    #[test]
    fn others_that_leave_the_point_less_cpu_than_it_waits_for_share_it_with_the_cpus() {
        let neighbours = |ours: f64, others: f64, runnable: f64| {
            let each = [0.4, runnable, 0.0, 0.0, 0.0, 0.6 - runnable, 0.0];
            limits(&threads(full(ours, others), ThreadOf::Client, each))
        };
        assert_eq!(neighbours(0.6, 0.4, 0.5), [Limit::Cpu, Limit::OtherProcesses]);
        assert_eq!(neighbours(0.6, 0.4, 0.1), [Limit::Cpu], "it got a CPU when it wanted one");
        assert_eq!(neighbours(0.75, 0.25, 0.5), [Limit::Cpu], "it waited for its own threads");
    }

    #[test]
    fn cpu_time_that_the_hypervisor_took_is_a_cause_if_the_point_needed_it() {
        let stolen = |ours: f64, steal: f64| {
            let counters = ["user_ns", "system_ns", "idle_ns", "self_ns", "steal_ns"];
            let shares = [ours, 0.0, 1.0 - ours - steal, ours, steal];
            let four = Simulation::counts(&[1000; 10]).with(|point| point.trial.load.clients = 4);
            let values = move |second: f64| shares.map(|one| one * 2e9 * second).to_vec();
            four.source("cpu", &counters, values).process("embedded")
        };
        assert_eq!(limits(&stolen(0.75, 0.2)), [Limit::Cpu, Limit::Hypervisor], "it used 94 % of what was left");
        assert_eq!(limits(&stolen(0.4, 0.2)), [Limit::Unclear], "there was CPU time left");
        assert_eq!(ruled_out(&stolen(0.95, 0.02), Limit::Hypervisor), Some(2.0));
        assert!(
            stolen(0.75, 0.2).findings("bottleneck").iter().all(|finding| finding.next != NextStep::UseQuieterHost)
        );
    }

    #[test]
    fn cpus_that_are_nearly_full_are_named_if_threads_want_nothing_else() {
        let working = |busy: f64, runnable: f64, read: f64| {
            let each = [0.6, runnable, read, 0.0, 0.0, 1.4 - runnable - read, 0.0];
            surest(&threads(crowd(0.3, busy), ThreadOf::Engine, each))
        };
        assert_eq!(working(0.83, 0.3, 0.03), (Limit::Cpu, Confidence::Likely));
        assert_ne!(working(0.7, 0.3, 0.03).0, Limit::Cpu, "there was room");
        assert_ne!(working(0.83, 0.3, 0.5).0, Limit::Cpu, "they read, too");
    }

    #[test]
    fn a_point_that_had_nothing_to_do_has_no_bottleneck() {
        let lasting = |milliseconds: u64| {
            let one = Simulation::counts(&[1]).with(|point| {
                let phase = point.phases.iter_mut().find(|phase| phase.phase == model::Phase::Run).expect("it ran");
                phase.end = Tick(phase.start.0 + milliseconds * 1_000_000);
            });
            one.analysis().points.remove(0).bottlenecks.is_some()
        };
        assert_eq!([1, 200].map(lasting), [false, true]);
    }

    #[test]
    fn cpus_are_named_before_they_are_full_if_threads_wait_for_them_most() {
        let working = |busy: f64, runnable: f64, read: f64| {
            let each = [0.15, runnable, read, 0.0, 0.0, 0.85 - runnable - read, 0.0];
            surest(&threads(crowd(0.3, busy), ThreadOf::Engine, each))
        };
        assert_eq!(working(0.74, 0.5, 0.2), (Limit::Cpu, Confidence::Likely));
        assert_ne!(working(0.74, 0.35, 0.4).0, Limit::Cpu, "they wait for reads longer");
        assert_ne!(working(0.65, 0.5, 0.2).0, Limit::Cpu, "a third of the CPU was idle");
    }

    #[test]
    fn clients_that_do_the_io_themselves_are_the_threads_at_work() {
        let each = [0.4, 0.5, 3.0, 0.0, 0.1, 0.0, 0.0];
        let reading = threads(crowd(0.85, 0.2).process("none"), ThreadOf::Client, each);
        assert_eq!(surest(&reading), (Limit::Disk, Confidence::Likely));
        let causes = found(&reading).causes;
        let disk = causes.iter().find(|cause| cause.limit() == Limit::Disk).expect("it was named");
        assert_eq!((disk.share.0 * 100.0).round(), 85.0, "how busy it was, and not how long threads waited");
    }

    #[test]
    fn a_full_link_is_named_and_lost_segments_are_a_sign() {
        let network = |bytes_per_s: f64, again: f64| {
            let counters = ["received", "sent", "segments", "again", "speed"];
            let amounts = move |s: f64| vec![1e5 * s, bytes_per_s * s, 1e4 * s, again * s, 100e6];
            crowd(0.2, 0.3).source("network", &counters, amounts).with(|point| {
                use CounterRole::{LinkSpeed, NetworkReceivedBytes, NetworkSentBytes, TcpRetransmits, TcpSegmentsSent};
                let roles = [NetworkReceivedBytes, NetworkSentBytes, TcpSegmentsSent, TcpRetransmits, LinkSpeed];
                let source = point.sources.last_mut().expect("it was added");
                source.counters.iter_mut().zip(roles).for_each(|(counter, role)| counter.role = Some(role));
            })
        };
        assert_eq!(surest(&network(12e6, 0.0)), (Limit::Network, Confidence::Sure));
        assert_eq!(
            (limits(&network(2e6, 0.0)), ruled_out(&network(2e6, 0.0), Limit::Network)),
            (vec![Limit::Unclear], Some(16.0))
        );
        assert_eq!(surest(&network(2e6, 400.0)), (Limit::Network, Confidence::Possible));
    }
}
