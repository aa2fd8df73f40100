//! Who used the CPU time of the machine over the run phase: plimsoll and its engine, other processes, the hypervisor.
//!
//! The kernel's own threads are no neighbours, whoever made their work; if they were not counted, as in a container, they are among the
//! others. Interrupts are not. The kernel counts in ticks of 10 ms, so a run phase of less than 100 ms shows next to nothing.

use crate::computed_phase::Measured;
use crate::evidence::PointView;
use crate::recorded::counters::growth_of_all;
use crate::recorded::facts::{EngineProcess, engine_process};
use model::{CounterRole, Nanos, UnseenServer};

/// Above this share of stolen time the point is invalid.
pub const STEAL_ERROR: f64 = 0.10;
/// A desktop's background is below this; one busy process on 8 CPUs is above.
pub const OTHERS_MAX: f64 = 0.10;
/// The kernel counts the time of a CPU in ticks of this length (proc_stat(5): 1/100 s), so each reading may be wrong by one.
pub const TICK: Nanos = Nanos::from_millis(10);
/// From fewer ticks no share is judged: each reading may be wrong by one, so a share would be by a tenth.
pub const TICKS_MIN: f64 = 20.0;

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

impl CpuUsage {
    /// How the CPU time of the machine was used; `None` if no source recorded it.
    pub fn measure(view: &PointView, measured: &Measured) -> Option<CpuUsage> {
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
}
