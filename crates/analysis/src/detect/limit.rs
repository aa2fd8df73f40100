//! Says what held the point back, where the evidence is plain.
//!
//! In: the counters of `disk` and `cpu`, the clients' CPU, the offered rate. Out: a note per limit, or one that says that it
//! is not shown. Limits: a lock, a single writer, a network or a queue inside the engine is not seen here; a device that
//! works on many requests at once can be busy all the time and still carry more.

use super::detector::{Detector, Measured, PointView};
use super::{client_bound, foreign_cpu, overload};
use crate::counters::growth_of_most;
use crate::facts::{is_scripted, slots};
use crate::text::{percent, rate};
use crate::{Finding, Severity};
use model::{Nanos, Pacing};
use serde::Serialize;

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector {
    code: "limit",
    help: "what held the point back, where the evidence is plain",
    explain: "Named are: `disk`, where the device was busy more than 90 % of the run; `cpu`, where more than 90 % of all CPU \
              time of the machine was used, and `other processes` instead, where those used more of it than plimsoll and the \
              engine; `client`, where the client threads used their cores up; `schedule`, where an open \
              loop got all that it offered, so that nothing was at its limit; `the target or its clients`, where an open loop left \
              arrivals unserved and nothing else was busy. Where nothing was busy, `one core` says that an embedded engine used a \
              core and no more, and `one at a time` that a lone client waited for each operation before the next. Where none of these is plain the finding says \
              `not shown`: locks, a single writer, commit latency or the network leave no mark in these counters. A busy disk \
              at depth 1 means that one request at a time kept it busy; more depth may still carry more.",
    detect,
};

// At 90 % busy a queue forms nearly always; the rest is the sampling of the counters.
const BUSY_MIN: f64 = 0.90;
// A thread that computes all the time is off its core for some per cent of it, and an engine's other threads add a little.
const ONE_CORE: std::ops::Range<f64> = 0.85..1.25;
// Poisson arrivals over a short run miss their mean rate by a percent or two.
const SERVED_MIN: f64 = 0.97;

/// What can hold a point back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// The device.
    Disk,
    /// All CPUs of the machine.
    Cpu,
    /// All CPUs of the machine, most of it for somebody else.
    OtherProcesses,
    /// The client threads.
    Client,
    /// One core, by an engine that uses no more.
    OneCore,
    /// One operation at a time: its latency.
    OneAtATime,
    /// The offered rate.
    Schedule,
    /// Whichever of them could not keep up with the offered rate.
    TargetOrClients,
    /// Something that the counters do not show.
    NotShown,
}

impl Limit {
    /// Every limit, in the order in which they are told.
    pub const ALL: [Limit; 9] = [
        Limit::Disk,
        Limit::Cpu,
        Limit::OtherProcesses,
        Limit::Client,
        Limit::OneCore,
        Limit::OneAtATime,
        Limit::Schedule,
        Limit::TargetOrClients,
        Limit::NotShown,
    ];

    /// The word that begins the title of its finding.
    pub fn as_str(self) -> &'static str {
        match self {
            Limit::Disk => "disk",
            Limit::Cpu => "cpu",
            Limit::OtherProcesses => "other processes",
            Limit::Client => "client",
            Limit::OneCore => "one core",
            Limit::OneAtATime => "one at a time",
            Limit::Schedule => "schedule",
            Limit::TargetOrClients => "the target or its clients",
            Limit::NotShown => "not shown",
        }
    }

    /// The limit that `finding` tells of, where it is of this detector.
    pub fn of(finding: &Finding) -> Option<Limit> {
        let word = finding.title.split(':').next().filter(|_| finding.code == DETECTOR.code)?;
        Limit::ALL.into_iter().find(|limit| limit.as_str() == word)
    }
}

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(measured) = view.measured.filter(|_| !is_scripted(view.point)) else { return Vec::new() };
    let plain = [disk(view, &measured), cpu(view, &measured), client(view, &measured), schedule(&measured)];
    let mut found: Vec<Finding> = plain.into_iter().flatten().collect();
    if found.is_empty() {
        let alone = one_core(&measured).or_else(|| one_at_a_time(view, &measured));
        found.push(alone.unwrap_or_else(|| unexplained(view, &measured)));
    }
    found
}

fn one_core(measured: &Measured) -> Option<Finding> {
    let summary = measured.summary;
    // The cost of an operation is that of all, whoever did them.
    let beside_per_s = summary.beside.as_ref().map_or(0.0, |beside| beside.ops_per_s);
    let cores = summary.cost.engine_cpu_ns_per_op? * (summary.ops_per_s + beside_per_s) / 1e9;
    let evidence = format!("the engine and its clients used {cores:.2} cores in all");
    let next_step = "profile the engine; more clients help only where it works on several cores";
    ONE_CORE
        .contains(&cores)
        .then(|| told(Limit::OneCore, "the engine computed on one core and no more", evidence, next_step))
}

fn one_at_a_time(view: &PointView, measured: &Measured) -> Option<Finding> {
    let closed = matches!(view.point.trial.load.pacing, Pacing::Closed { think: Nanos(0) });
    let alone = slots(view.point) == 1 && measured.summary.beside.is_none();
    let service = measured.summary.service_ns.filter(|_| closed && alone)?;
    let evidence =
        format!("one client with one operation under way; each took {} on average", Nanos(service.mean as u64));
    Some(told(Limit::OneAtATime, "each operation waited for the one before", evidence, "try more clients or depth"))
}

fn told(limit: Limit, what: &str, evidence: String, next_step: &str) -> Finding {
    DETECTOR.finding(Severity::Note, format!("{}: {what}", limit.as_str()), evidence, next_step)
}

fn disk_busy(view: &PointView, measured: &Measured) -> Option<f64> {
    let (start, end) = (measured.window.phase.start, measured.window.phase.end);
    Some(growth_of_most(view.point, "disk", "busy_ns", start, end)?.per_second() / 1e9)
}

fn disk(view: &PointView, measured: &Measured) -> Option<Finding> {
    let busy = disk_busy(view, measured).filter(|busy| *busy > BUSY_MIN)?;
    let one_at_a_time = slots(view.point) == 1;
    let next_step = match one_at_a_time {
        true => "one request at a time keeps it busy; try more clients or depth",
        false => "compare with the file workload on the same device",
    };
    let what = format!("the device was busy {} of the time", percent(busy.min(1.0)));
    Some(told(Limit::Disk, &what, "busy time of the device over the run phase".into(), next_step))
}

fn cpu(view: &PointView, measured: &Measured) -> Option<Finding> {
    let usage = foreign_cpu::usage(view, measured).filter(|usage| usage.busy > BUSY_MIN)?;
    let busy = percent(usage.busy.min(1.0));
    let Some(users) = usage.users.filter(|users| users.others > foreign_cpu::OTHERS_MAX) else {
        let what = format!("{busy} of the machine's CPU time was used");
        let evidence = "user, system and interrupt time over the run phase".into();
        return Some(told(Limit::Cpu, &what, evidence, "profile the target"));
    };
    let others = percent(users.others);
    let evidence = users.in_cores(usage.cpus);
    // Profiling a target that had to wait for its CPU shows the neighbours' work.
    let next_step = "stop the other processes (`top` shows them) and measure again";
    Some(match users.others > users.ours {
        true => {
            told(Limit::OtherProcesses, &format!("used {others} of a CPU that was {busy} busy"), evidence, next_step)
        }
        false => told(Limit::Cpu, &format!("{busy} of it was used, {others} by other processes"), evidence, next_step),
    })
}

fn client(view: &PointView, measured: &Measured) -> Option<Finding> {
    let share = client_bound::cores_share(view, measured).filter(|_| client_bound::is_busy(view, measured))?;
    let what = format!("the client threads used {} of the cores they can run on", percent(share));
    Some(told(Limit::Client, &what, "CPU time of the client threads over the run phase".into(), "use more clients"))
}

fn schedule(measured: &Measured) -> Option<Finding> {
    let summary = measured.summary;
    let offered = summary.offered_per_s.filter(|offered| summary.ops_per_s >= SERVED_MIN * offered)?;
    let evidence = format!("{} of {} offered", rate(summary.ops_per_s), rate(offered));
    Some(told(Limit::Schedule, "all that was offered was served", evidence, "raise the rate to find the limit"))
}

fn unexplained(view: &PointView, measured: &Measured) -> Finding {
    let known = |share: Option<f64>| share.map_or("not known".to_string(), percent);
    let evidence = format!(
        "disk busy {}, CPU used {}, client cores used {}",
        known(disk_busy(view, measured)),
        known(foreign_cpu::usage(view, measured).map(|usage| usage.busy)),
        known(client_bound::cores_share(view, measured))
    );
    match overload::is_lasting(view, measured) {
        true => {
            let next_step = "add clients: where more is served, they were the limit";
            told(Limit::TargetOrClients, "too slow for the offered rate, and no counter shows why", evidence, next_step)
        }
        false => told(Limit::NotShown, "no counter explains what held it back", evidence, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
        assert_eq!(machine(0.96, 0.3).finding("limit").title, "disk: the device was busy 96 % of the time");
        assert_eq!(machine(0.2, 0.97).finding("limit").title, "cpu: 97 % of the machine's CPU time was used");
        assert_eq!(machine(0.95, 0.95).findings("limit").len(), 2);
    }

    #[test]
    fn without_plain_evidence_the_limit_is_not_shown() {
        let several = |simulation: Simulation| simulation.with(|point| point.trial.load.clients = 4).finding("limit");
        let finding = several(machine(0.5, 0.4));
        assert_eq!(Limit::of(&finding), Some(Limit::NotShown));
        assert_eq!(finding.evidence, "disk busy 50 %, CPU used 40 %, client cores used not known");
        assert!(several(Simulation::counts(&[1000; 10])).evidence.starts_with("disk busy not known"));
    }

    #[test]
    fn a_lone_client_waits_for_each_operation_before_the_next() {
        let finding = machine(0.5, 0.4).finding("limit");
        assert_eq!(Limit::of(&finding), Some(Limit::OneAtATime));
        assert!(finding.evidence.contains("each took"), "{}", finding.evidence);
    }

    #[test]
    fn an_embedded_engine_that_computes_on_one_core_is_named() {
        let busy = |cores: f64| {
            let process = ["cpu_user_ns", "cpu_system_ns"];
            machine(0.5, 0.6).source("process", &process, move |second| vec![cores * second * 1e9, 0.0]).with(|point| {
                point.facts.push(model::Fact::new("engine.process", "embedded"));
                point.trial.load.clients = 4;
            })
        };
        assert_eq!(Limit::of(&busy(0.95).finding("limit")), Some(Limit::OneCore));
        assert_eq!(Limit::of(&busy(0.5).finding("limit")), Some(Limit::NotShown));
        assert_eq!(Limit::of(&busy(1.6).finding("limit")), Some(Limit::NotShown));
    }

    #[test]
    fn an_open_loop_that_got_all_it_offered_was_held_back_by_its_schedule() {
        let finding = Simulation::open(10, 1_000, |_| 500_000).finding("limit");
        assert_eq!(Limit::of(&finding), Some(Limit::Schedule));
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
    fn cpu_that_others_used_is_not_the_targets_limit() {
        let finding = full(0.2, 0.8).finding("limit");
        assert_eq!(Limit::of(&finding), Some(Limit::OtherProcesses));
        assert_eq!(finding.title, "other processes: used 80 % of a CPU that was 100 % busy");
        assert_eq!(finding.evidence, "others used 1.60 cores, plimsoll and the engine 0.40, of 2");
        assert!(!finding.next_step.contains("profile"));
        assert_eq!(full(0.7, 0.3).finding("limit").title, "cpu: 100 % of it was used, 30 % by other processes");
        assert_eq!(full(0.95, 0.05).finding("limit").next_step, "profile the target");
    }

    #[test]
    fn an_overload_without_plain_evidence_is_put_on_the_target_or_its_clients() {
        let finding = Simulation::open(10, 2_000, |_| 1_000_000).finding("limit");
        assert_eq!(Limit::of(&finding), Some(Limit::TargetOrClients));
    }

    #[test]
    fn the_scripted_engine_has_no_limit_to_find() {
        let scripted = machine(0.99, 0.99).with(|point| point.trial.target.engine = "null".into());
        assert!(scripted.findings("limit").is_empty());
    }
}
