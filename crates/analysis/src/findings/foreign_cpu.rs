//! Finds CPU time that went to other processes or to the hypervisor.
//!
//! In: the counters of `cpu`, `process` and `kernel-threads`. Out: a warning or an error for stolen time, a warning for other processes.
//! Limits: those of [`CpuUsage`].

use super::{Detects, Finding, FindingKind};
use crate::evidence::PointView;
use crate::evidence::cpu_usage::{CpuUsage, CpuUsers, STEAL_ERROR};
use crate::judgement::{NextStep, Severity};
use crate::math::units::Share;
use serde::Serialize;
use words::quantity::{number, percent, range, whole};

/// CPU time that the target could not have.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ForeignCpu {
    /// The share of all CPU time of the machine.
    pub share: Share,
    /// The user of it.
    #[serde(flatten)]
    pub by: CpuUser,
}

/// The user of CPU time that is not the target's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "by", rename_all = "kebab-case")]
pub enum CpuUser {
    /// The hypervisor, which ran another machine.
    Hypervisor { share_max: Share },
    /// Processes that are neither plimsoll nor the engine; this share of the machine's CPU time was used in all.
    OtherProcesses { cores: CoresUsed, busy_share: Share },
}

/// The cores of a machine by their users.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CoresUsed {
    /// By other processes, in cores.
    pub others_cores: f64,
    /// By plimsoll and the engine, in cores.
    pub ours_cores: f64,
    /// How many the machine has.
    pub machine_cores: f64,
}

/// Up to this share of stolen time the numbers are valid.
pub const STEAL_WARNING: f64 = 0.02;

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(measured) = view.measured else { return Vec::new() };
    let Some(usage) = CpuUsage::measure(view, &measured) else { return Vec::new() };
    stolen(&usage).into_iter().chain(taken(&usage)).collect()
}

impl CpuUsers {
    /// The shares in cores of a machine of so many.
    pub fn in_cores(&self, cpus: f64) -> CoresUsed {
        CoresUsed { others_cores: self.others * cpus, ours_cores: self.ours * cpus, machine_cores: cpus }
    }
}

fn stolen(usage: &CpuUsage) -> Option<Finding> {
    let severity = match usage {
        usage if usage.is_stolen_above(STEAL_ERROR) => Severity::Error,
        usage if usage.is_stolen_above(STEAL_WARNING) => Severity::Warning,
        _ => return None,
    };
    let by = CpuUser::Hypervisor { share_max: Share(STEAL_WARNING) };
    Some(Finding::new(severity, ForeignCpu { share: Share(usage.steal), by }).next(NextStep::UseQuieterHost))
}

fn taken(usage: &CpuUsage) -> Option<Finding> {
    let users = usage.users.filter(|_| usage.is_shared())?;
    let by = CpuUser::OtherProcesses { cores: users.in_cores(usage.cpus), busy_share: Share(usage.busy.min(1.0)) };
    let detail = ForeignCpu { share: Share(users.others), by };
    Some(Finding::new(Severity::Warning, detail).next(NextStep::StopOtherProcesses))
}

impl FindingKind for ForeignCpu {
    const SEVERITIES: &'static [Severity] = &[Severity::Warning, Severity::Error];
    const DETECTS: Detects = Detects::EachHost(detect);
    const REASON: &'static str = "lost CPU time to other processes or the hypervisor";

    fn is_like(&self, other: &Self) -> bool {
        std::mem::discriminant(&self.by) == std::mem::discriminant(&other.by)
    }

    fn title(alike: &[&Self]) -> String {
        let share = range(alike, |one| one.share.0, percent);
        match alike[0].by {
            CpuUser::Hypervisor { .. } => format!("the hypervisor took {share} of the CPU time"),
            CpuUser::OtherProcesses { .. } => format!("other processes used {share} of the machine's CPU time"),
        }
    }

    fn evidence(&self) -> String {
        match self.by {
            CpuUser::Hypervisor { share_max } => format!(
                "share of the machine's CPU time in the run phase; above {} the point is indicative, above {} invalid",
                percent(share_max.0),
                percent(STEAL_ERROR)
            ),
            CpuUser::OtherProcesses { cores, .. } => cores_used(&cores),
        }
    }
}

fn cores_used(cores: &CoresUsed) -> String {
    format!(
        "{} cores used by other processes, {} by plimsoll and the engine, of {}",
        number(cores.others_cores),
        number(cores.ours_cores),
        whole(cores.machine_cores)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::Simulation;
    use model::{CounterRole, UnseenServer};

    const COUNTERS: [&str; 7] = ["user_ns", "system_ns", "iowait_ns", "steal_ns", "softirq_ns", "idle_ns", "self_ns"];

    /// Ten seconds of a machine of which these are the shares; the rest is idle.
    fn machine(user: f64, steal: f64, own: f64, engine: f64) -> Simulation {
        machine_for(10, user, steal, own, engine)
    }

    /// The same for so many seconds.
    fn machine_for(seconds: usize, user: f64, steal: f64, own: f64, engine: f64) -> Simulation {
        let all = move |second: f64| {
            let ns = second * 2e9;
            vec![user * ns, 0.0, 0.0, steal * ns, 0.0, (1.0 - user - steal) * ns, own * ns]
        };
        Simulation::counts(&vec![1000; seconds]).source("cpu", &COUNTERS, all).source(
            "process",
            &["cpu_user_ns", "cpu_system_ns"],
            move |second| vec![engine * second * 2e9, 0.0],
        )
    }

    #[test]
    fn stolen_time_weakens_from_2_and_spoils_from_10_percent_on() {
        assert!(machine(0.5, 0.01, 0.5, 0.0).findings("foreign-cpu").is_empty());
        assert_eq!(machine(0.5, 0.03, 0.5, 0.0).finding("foreign-cpu").severity, Severity::Warning);
        let much = machine(0.5, 0.12, 0.5, 0.0).finding("foreign-cpu");
        let by = CpuUser::Hypervisor { share_max: Share(0.02) };
        assert_eq!((much.severity, much.detail), (Severity::Error, ForeignCpu { share: Share(0.12), by }.into()));
    }

    #[test]
    fn what_may_be_a_tick_of_the_kernel_is_no_finding() {
        let severities = |steal, others| -> Vec<Severity> {
            let short = machine_for(1, 0.3 + others, steal, 0.3, 0.0);
            short.findings("foreign-cpu").iter().map(|finding| finding.severity).collect()
        };
        // A tick is 1 % of a second; time in user mode and in the kernel are a tick each.
        assert!(severities(0.029, 0.119).is_empty());
        assert_eq!(severities(0.031, 0.0), [Severity::Warning]);
        assert_eq!(severities(0.109, 0.0), [Severity::Warning]);
        assert_eq!(severities(0.111, 0.121), [Severity::Error, Severity::Warning]);
    }

    #[test]
    fn the_engine_is_nobody_else_and_a_compiler_is() {
        assert!(machine(0.6, 0.0, 0.1, 0.45).findings("foreign-cpu").is_empty());
        let found: ForeignCpu = machine(0.6, 0.0, 0.1, 0.2).figures();
        let CpuUser::OtherProcesses { cores, .. } = found.by else { panic!("they are processes") };
        let rounded = [found.share.0, cores.others_cores, cores.ours_cores, cores.machine_cores]
            .map(|figure| (figure * 1e3).round() / 1e3);
        assert_eq!(rounded, [0.3, 0.6, 0.6, 2.0]);
    }

    #[test]
    fn threads_of_the_kernel_are_no_neighbours() {
        let with_kernel = |share: f64| {
            machine(0.6, 0.0, 0.1, 0.2)
                .source("kernel-threads", &["cpu_ns"], move |second| vec![share * second * 2e9])
                .with(|point| {
                    let source = point.sources.last_mut().expect("it was added");
                    source.counters[0].role = Some(CounterRole::KernelThreadsCpu);
                })
        };
        assert!(with_kernel(0.25).findings("foreign-cpu").is_empty());
        let found: ForeignCpu = with_kernel(0.1).figures();
        assert!((found.share.0 - 0.2).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn beside_a_server_on_another_machine_all_but_plimsoll_are_others() {
        let remote = |why| {
            machine(0.6, 0.0, 0.1, 0.0)
                .process("elsewhere")
                .with(|point| point.traits.engine.unseen = why)
                .findings("foreign-cpu")
                .len()
        };
        assert_eq!(remote(Some(UnseenServer::Remote)), 1);
        // It may be the server that used them.
        assert_eq!([remote(Some(UnseenServer::NotPermitted)), remote(None)], [0, 0]);
    }

    #[test]
    fn an_embedded_engine_is_counted_once() {
        let found: ForeignCpu = machine(0.6, 0.0, 0.3, 0.3).process("embedded").figures();
        assert!((found.share.0 - 0.3).abs() < 1e-9, "{found:?}");
    }
}
