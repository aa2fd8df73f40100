//! Finds what limited the point, if the evidence is plain.
//!
//! In: the counters of `disk` and `cpu`, the clients' CPU, the offered rate. Out: a note per limit, or one that none is
//! shown. CPU time that other processes took is left to the finding `foreign-cpu`, which has the same figures and the same advice.
//! Limits: a lock, a single writer, a network or a queue inside the engine is not seen here; a device that
//! works on many requests at once can be busy all the time and still carry more.

use super::detector::{Detector, Measured, PointView};
use super::{client_bound, foreign_cpu, overload};
use crate::counters::{growth_of_all, growth_of_most};
use crate::facts::{is_scripted, slots};
use crate::finding::machine::{CPU_BUSY_MIN, Counters, LimitEvidence};
use crate::finding::units::Share;
use crate::finding::{Code, NextStep};
use crate::{Finding, Severity};
use model::{CounterRole, Nanos, Pacing, PointState};

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector { code: Code::Bottleneck, detect };

// As of the CPUs: at 90 % busy a queue forms nearly always.
const BUSY_MIN: f64 = 0.90;
// A thread that computes all the time is off its core for some per cent of it. More than a core, but for what the sampling of the
// counters adds, is several threads.
const ONE_CORE: std::ops::Range<f64> = 0.85..1.05;
// Poisson arrivals over a short run miss their mean rate by a percent or two.
const SERVED_MIN: f64 = 0.97;

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(measured) = view.measured.filter(|measured| is_judged(view, measured)) else { return Vec::new() };
    if let Some(served) = schedule(view, &measured) {
        return vec![served];
    }
    let plain = [disk(view, &measured), cpu(view, &measured), client(view, &measured)];
    let mut found: Vec<Finding> = plain.into_iter().flatten().collect();
    // If others filled the CPUs, the point is explained: its finding is `foreign-cpu`.
    if found.is_empty() && !is_cpu_taken(view, &measured) {
        let alone = one_core(view, &measured).or_else(|| one_at_a_time(view, &measured));
        found.push(alone.unwrap_or_else(|| unexplained(view, &measured)));
    }
    found
}

/// A failed point, or one without any operation, shows no bottleneck.
fn is_judged(view: &PointView, measured: &Measured) -> bool {
    !is_scripted(view.point) && view.point.state != PointState::Failed && measured.summary.ops > 0
}

fn limited(evidence: LimitEvidence, next: NextStep) -> Finding {
    Finding::new(Severity::Note, evidence).next(next)
}

/// Whether the device was busy for nearly all of the run phase.
pub fn is_disk_busy(view: &PointView, measured: &Measured) -> bool {
    disk_busy(view, measured).is_some_and(|busy| busy > BUSY_MIN)
}

fn one_core(view: &PointView, measured: &Measured) -> Option<Finding> {
    let summary = measured.summary;
    // The cost of an operation is that of all, whichever client did them.
    let background_per_s = summary.background.as_ref().map_or(0.0, |background| background.ops_per_s);
    let cores = summary.cost.engine_cpu_ns_per_op? * (summary.ops_per_s + background_per_s) / 1e9;
    let evidence = LimitEvidence::OneCore { cores, kernel_share: kernel_share(view, measured) };
    ONE_CORE.contains(&cores).then(|| limited(evidence, NextStep::ProfileEngine))
}

/// The share of the engine's CPU time that the kernel used.
fn kernel_share(view: &PointView, measured: &Measured) -> Option<Share> {
    let (start, end) = (measured.window.phase.start, measured.window.phase.end);
    let grown = |role| growth_of_all(view.point, role, start, end).map(|growth| growth.amount);
    let (user, system) = (grown(CounterRole::EngineCpuUser)?, grown(CounterRole::EngineCpuSystem)?);
    (user + system > 0.0).then(|| Share(system / (user + system)))
}

fn one_at_a_time(view: &PointView, measured: &Measured) -> Option<Finding> {
    let closed = matches!(view.point.trial.load.pacing, Pacing::Closed { think: Nanos(0) });
    let alone = slots(view.point) == 1 && measured.summary.background.is_none();
    let service = measured.summary.service_ns.filter(|_| closed && alone)?;
    let evidence = LimitEvidence::OneAtATime { service_mean_ns: Nanos(service.mean as u64) };
    let next = if view.ends_by_work() { NextStep::None } else { NextStep::AddDepthOrClients };
    Some(limited(evidence, next))
}

fn disk_busy(view: &PointView, measured: &Measured) -> Option<f64> {
    let (start, end) = (measured.window.phase.start, measured.window.phase.end);
    Some(growth_of_most(view.point, CounterRole::DeviceBusy, start, end)?.per_second() / 1e9)
}

fn disk(view: &PointView, measured: &Measured) -> Option<Finding> {
    let busy = disk_busy(view, measured).filter(|busy| *busy > BUSY_MIN)?;
    let next = match (slots(view.point), view.point.traits.work.io) {
        (1, _) => NextStep::AddDepthOrClients,
        (_, Some(_)) => NextStep::None,
        (_, None) => NextStep::CompareWithFile,
    };
    Some(limited(LimitEvidence::Disk { busy_share: Share(busy.min(1.0)) }, next))
}

fn cpu(view: &PointView, measured: &Measured) -> Option<Finding> {
    if let Some(pinned) = pinned_cpus(view, measured) {
        return Some(pinned);
    }
    let usage = foreign_cpu::usage(view, measured).filter(|usage| usage.busy > CPU_BUSY_MIN)?;
    if usage.is_mostly_foreign() {
        return None;
    }
    // Profiling an engine that had to wait for its CPU shows the neighbours' work: `foreign-cpu` asks to stop them first.
    let next = if usage.is_shared() { NextStep::None } else { NextStep::ProfileTarget };
    Some(limited(LimitEvidence::Cpu { busy_share: Share(usage.busy.min(1.0)) }, next))
}

/// The CPUs that the point was pinned to, if plimsoll and the engine filled them: others of the machine may have been idle.
fn pinned_cpus(view: &PointView, measured: &Measured) -> Option<Finding> {
    let cpus = view.point.traits.engine.pinned_cpus?;
    let usage = foreign_cpu::usage(view, measured)?;
    let busy = usage.users?.ours * usage.cpus / cpus as f64;
    let is_part = (cpus as f64) < usage.cpus.round();
    let evidence = LimitEvidence::PinnedCpus { busy_share: Share(busy.min(1.0)), cpus };
    (is_part && busy > CPU_BUSY_MIN).then(|| limited(evidence, NextStep::ProfileTarget))
}

/// Whether other processes filled the CPUs.
fn is_cpu_taken(view: &PointView, measured: &Measured) -> bool {
    let usage = foreign_cpu::usage(view, measured).filter(|usage| usage.busy > CPU_BUSY_MIN);
    usage.is_some_and(|usage| usage.is_mostly_foreign())
}

fn client(view: &PointView, measured: &Measured) -> Option<Finding> {
    let share = client_bound::cores_share(view, measured).filter(|_| client_bound::is_busy(view, measured))?;
    Some(limited(LimitEvidence::Client { cores_share: Share(share) }, NextStep::AddClients))
}

/// If all that was offered was served, nothing was at its limit, however busy it was.
fn schedule(view: &PointView, measured: &Measured) -> Option<Finding> {
    let done_per_s = measured.summary.ops_per_s;
    let offered_per_s = measured.summary.offered_per_s.filter(|offered| done_per_s >= SERVED_MIN * offered)?;
    let counters = counters(view, measured);
    Some(limited(LimitEvidence::Schedule { done_per_s, offered_per_s, counters }, NextStep::RaiseRate))
}

fn unexplained(view: &PointView, measured: &Measured) -> Finding {
    let counters = counters(view, measured);
    match overload::is_found(view, measured) {
        true => limited(LimitEvidence::TargetOrClients(counters), NextStep::TestMoreClients),
        false => limited(LimitEvidence::NotShown(counters), NextStep::None),
    }
}

fn counters(view: &PointView, measured: &Measured) -> Counters {
    Counters {
        disk_busy_share: disk_busy(view, measured).map(Share),
        cpu_share: foreign_cpu::usage(view, measured).map(|usage| Share(usage.busy)),
        client_cores_share: client_bound::cores_share(view, measured).map(Share),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::machine::{ForeignCpu, Limit};
    use crate::simulate::Simulation;

    fn machine(disk: f64, cpu: f64) -> Simulation {
        Simulation::counts(&[1000; 10]).source("disk", &["busy_ns"], move |second| vec![disk * second * 1e9]).source(
            "cpu",
            &["user_ns", "system_ns", "idle_ns"],
            move |second| vec![cpu * second * 2e9, 0.0, (1.0 - cpu) * second * 2e9],
        )
    }

    #[test]
    fn a_busy_disk_and_busy_cpus_are_named() {
        let LimitEvidence::Disk { busy_share } = machine(0.96, 0.3).figures() else { panic!("the disk is busy") };
        assert!((busy_share.0 - 0.96).abs() < 1e-9, "{busy_share:?}");
        let LimitEvidence::Cpu { busy_share } = machine(0.2, 0.97).figures() else { panic!("the CPUs are busy") };
        assert!((busy_share.0 - 0.97).abs() < 1e-9, "{busy_share:?}");
        assert_eq!(machine(0.95, 0.95).findings("bottleneck").len(), 2);
    }

    #[test]
    fn without_plain_evidence_the_limit_is_not_shown() {
        let several = |simulation: Simulation| -> Counters {
            match simulation.with(|point| point.trial.load.clients = 4).figures() {
                LimitEvidence::NotShown(counters) => counters,
                other => panic!("{other:?}"),
            }
        };
        let found = several(machine(0.5, 0.4));
        let percent = |share: Option<Share>| share.map(|share| (share.0 * 100.0).round());
        let shown = [found.disk_busy_share, found.cpu_share, found.client_cores_share].map(percent);
        assert_eq!(shown, [Some(50.0), Some(40.0), None]);
        assert_eq!(several(Simulation::counts(&[1000; 10])).disk_busy_share, None);
    }

    #[test]
    fn a_lone_client_waits_for_each_operation_before_the_next() {
        let LimitEvidence::OneAtATime { service_mean_ns } = machine(0.5, 0.4).figures() else { panic!("it is alone") };
        assert!(service_mean_ns.0 > 0);
    }

    #[test]
    fn an_embedded_engine_that_computes_on_one_core_is_named() {
        let busy = |cores: f64| {
            let process = ["cpu_user_ns", "cpu_system_ns"];
            let cpu = move |second: f64| vec![0.4 * cores * second * 1e9, 0.6 * cores * second * 1e9];
            machine(0.5, 0.6).source("process", &process, cpu).with(|point| {
                point.facts.push(model::Fact::new("engine.process", "embedded"));
                point.trial.load.clients = 4;
            })
        };
        let LimitEvidence::OneCore { cores, kernel_share: Some(kernel) } = busy(0.95).figures() else {
            panic!("it computes on one core")
        };
        assert!((cores - 0.95).abs() < 0.01 && (kernel.0 - 0.6).abs() < 1e-6, "{cores} {kernel:?}");
        for cores in [0.5, 1.12, 1.6] {
            assert_eq!(limit_of(&busy(cores)), Limit::NotShown, "{cores}");
        }
    }

    #[test]
    fn an_open_loop_that_got_all_it_offered_was_held_back_by_its_schedule() {
        assert_eq!(limit_of(&Simulation::open(10, 1_000, |_| 500_000)), Limit::Schedule);
    }

    fn limit_of(simulation: &Simulation) -> Limit {
        simulation.figures::<LimitEvidence>().limit()
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
            let cpus = model::Fact::new("cpus.count", cpus);
            full(ours, 0.05).with(move |point| point.facts.push(cpus.clone()))
        };
        let LimitEvidence::PinnedCpus { busy_share, cpus } = pinned(0.48, "1").figures() else {
            panic!("it filled one")
        };
        assert_eq!(((busy_share.0 * 1e3).round(), cpus), (960.0, 1));
        assert_eq!(limit_of(&pinned(0.48, "1")), Limit::Cpu);
        assert_ne!(limit_of(&pinned(0.40, "1")), Limit::Cpu, "it had time left");
        assert!(matches!(pinned(0.9, "2").figures(), LimitEvidence::Cpu { .. }), "all CPUs of the machine");
    }

    #[test]
    fn cpu_that_others_used_is_left_to_the_finding_on_foreign_cpu() {
        let advice = |simulation: Simulation, code: &str| -> Vec<NextStep> {
            simulation.findings(code).iter().map(|finding| finding.next).collect()
        };
        assert!(full(0.2, 0.8).findings("bottleneck").is_empty(), "others used most");
        assert_eq!(advice(full(0.2, 0.8), "foreign-cpu"), [NextStep::StopOtherProcesses]);
        assert_eq!(full(0.2, 0.8).figures::<ForeignCpu>().limit(), Some(Limit::OtherProcesses));
        let LimitEvidence::Cpu { busy_share } = full(0.7, 0.3).figures() else { panic!("plimsoll used most") };
        assert_eq!((busy_share.0 * 1e3).round(), 1e3);
        let both = [advice(full(0.7, 0.3), "bottleneck"), advice(full(0.7, 0.3), "foreign-cpu")];
        assert_eq!(both, [[NextStep::None], [NextStep::StopOtherProcesses]], "the advice is given once");
        assert_eq!(full(0.7, 0.3).figures::<ForeignCpu>().limit(), None);
        assert_eq!(full(0.95, 0.05).finding("bottleneck").next, NextStep::ProfileTarget);
    }

    #[test]
    fn other_processes_are_the_bottleneck_of_the_verdict_though_no_limit_is_found() {
        let bottleneck = full(0.2, 0.8).analysis().verdict.bottleneck();
        assert_eq!((bottleneck.limits.get(&Limit::OtherProcesses), bottleneck.judged), (Some(&1), 1));
    }

    #[test]
    fn an_overload_without_plain_evidence_is_put_on_the_target_or_its_clients() {
        assert_eq!(limit_of(&Simulation::open(10, 2_000, |_| 1_000_000)), Limit::TargetOrClients);
    }

    #[test]
    fn the_scripted_engine_has_no_limit_to_find() {
        let scripted = machine(0.99, 0.99).with(|point| point.trial.target.engine = "null".into());
        assert!(scripted.findings("bottleneck").is_empty());
    }
}
