//! Finds CPU time that went to other processes or to the hypervisor.
//!
//! In: the counters of `cpu`, `process` and `kernel-threads`. Out: a warning or an error for stolen time, a warning for other processes.
//! Limits: the kernel's own threads are no neighbours, whoever made their work; if they were not counted, as in a container, they are among
//! the others. Interrupts are not. The kernel counts in ticks of 10 ms, so a run phase of less than 100 ms shows next to nothing.

use super::detector::{Detector, Measured, PointView};
use crate::counters::growth_of_all;
use crate::facts::{EngineProcess, engine_process};
use crate::finding::machine::{CoresUsed, CpuUser, ForeignCpu};
use crate::finding::units::Share;
use crate::finding::{Code, NextStep};
use crate::{Finding, Severity};
use model::{CounterRole, Nanos, UnseenServer};

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector { code: Code::ForeignCpu, detect };

/// Up to this share of stolen time the numbers are valid.
pub const STEAL_WARNING: f64 = 0.02;
/// Above this share of stolen time the point is invalid.
pub const STEAL_ERROR: f64 = 0.10;
/// A desktop's background is below this; one busy process on 8 CPUs is above.
pub const OTHERS_MAX: f64 = 0.10;
/// The kernel counts the time of a CPU in ticks of this length (proc_stat(5): 1/100 s), so each reading may be wrong by one.
pub const TICK: Nanos = Nanos::from_millis(10);
/// From fewer ticks no share is judged: each reading may be wrong by one, so a share would be by a tenth.
pub const TICKS_MIN: f64 = 20.0;

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(measured) = view.measured else { return Vec::new() };
    let Some(usage) = usage(view, &measured) else { return Vec::new() };
    stolen(&usage).into_iter().chain(taken(&usage)).collect()
}

/// Shares of all CPU time of the machine over the run phase.
#[derive(Clone, Copy, Debug)]
pub struct CpuUsage {
    /// In which some CPU ran anything.
    pub busy: f64,
    /// Taken by the hypervisor.
    pub steal: f64,
    /// Its users; `None` if they are not known.
    pub users: Option<CpuUsers>,
    /// Used by processes other than plimsoll, a server among them, without the kernel's own threads; `None` if plimsoll's own part is not known.
    pub beyond_plimsoll: Option<f64>,
    /// How many CPUs the machine has.
    pub cpus: f64,
    /// How much of a share may be one tick of the kernel's.
    resolution: f64,
}

/// Shares of all CPU time of the machine, by user.
#[derive(Clone, Copy, Debug)]
pub struct CpuUsers {
    /// Plimsoll and the engine.
    pub ours: f64,
    /// All other processes. The kernel's own threads are in neither: they write back, keep journals, compress.
    pub others: f64,
}

impl CpuUsage {
    /// Whether other processes used so much that the finding `foreign-cpu` names them.
    pub fn is_shared(&self) -> bool {
        // Time in user mode and in the kernel are a tick each.
        self.users.is_some_and(|users| users.others - 2.0 * self.resolution > OTHERS_MAX)
    }

    /// Whether enough ticks were counted to judge a share of them.
    pub fn is_resolved(&self) -> bool {
        self.cpus / self.resolution >= TICKS_MIN
    }

    /// Whether the hypervisor took more than this share for certain.
    pub fn is_stolen_above(&self, share: f64) -> bool {
        self.steal - self.resolution > share
    }

    /// The share that was used of the CPU time that the hypervisor left.
    pub fn busy_of_rest(&self) -> f64 {
        if self.steal < 1.0 { self.busy / (1.0 - self.steal) } else { 1.0 }
    }

    /// Whether these used more than plimsoll and the engine.
    pub fn is_mostly_foreign(&self) -> bool {
        self.is_shared() && self.users.is_some_and(|users| users.others > users.ours)
    }
}

impl CpuUsers {
    /// The shares in cores of a machine of so many.
    pub fn in_cores(&self, cpus: f64) -> CoresUsed {
        CoresUsed { others_cores: self.others * cpus, ours_cores: self.ours * cpus, machine_cores: cpus }
    }
}

/// How the CPU time of the machine was used; `None` if no source recorded it.
pub fn usage(view: &PointView, measured: &Measured) -> Option<CpuUsage> {
    let (start, end) = (measured.window.phase.start, measured.window.phase.end);
    let grown = |role| growth_of_all(view.point, role, start, end).map(|growth| growth.amount);
    let idle = growth_of_all(view.point, CounterRole::MachineCpuIdle, start, end)?;
    let work = grown(CounterRole::MachineCpuUser)? + grown(CounterRole::MachineCpuSystem)?;
    let softirq = grown(CounterRole::MachineCpuSoftirq).unwrap_or(0.0);
    let steal = grown(CounterRole::MachineCpuSteal).unwrap_or(0.0);
    let total = work + softirq + steal + idle.amount + grown(CounterRole::MachineCpuIowait).unwrap_or(0.0);
    let engine = || Some(grown(CounterRole::EngineCpuUser)? + grown(CounterRole::EngineCpuSystem)?);
    let kernel = grown(CounterRole::KernelThreadsCpu).unwrap_or(0.0);
    let is_remote = view.point.traits.engine.unseen == Some(UnseenServer::Remote);
    let ours = match engine_process(view.point) {
        EngineProcess::Own => grown(CounterRole::PlimsollCpu).zip(engine()).map(|(own, engine)| own + engine),
        EngineProcess::Embedded | EngineProcess::None => grown(CounterRole::PlimsollCpu),
        // On this machine is nothing of such a server.
        EngineProcess::Elsewhere if is_remote => grown(CounterRole::PlimsollCpu),
        EngineProcess::Elsewhere | EngineProcess::Unknown => None,
    };
    let share = |part: f64| part.max(0.0) / total;
    let users = ours.map(|ours| CpuUsers { ours: share(ours), others: share(work - ours - kernel) });
    let beyond_plimsoll = grown(CounterRole::PlimsollCpu).map(|own| share(work - own - kernel));
    let elapsed_ns = idle.to.since(idle.from).0 as f64;
    let (cpus, resolution) = (total / elapsed_ns, TICK.0 as f64 / elapsed_ns);
    let busy = share(work + softirq);
    (total > 0.0).then(|| CpuUsage { busy, steal: share(steal), users, beyond_plimsoll, cpus, resolution })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::Simulation;

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
