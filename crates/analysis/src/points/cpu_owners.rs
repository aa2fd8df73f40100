//! Who used the CPUs: the engine, plimsoll, the kernel's threads, other processes, the hypervisor.
//!
//! In: the counters of an analysed point over time. Out: [`CpuByOwner`]: shares of all CPU time of the machine, for each stretch between
//! two readings. Limits: the kernel counts the machine's time, and that of processes, in ticks of 10 ms, so that a short stretch is rough.
//! The CPU time of an embedded engine cannot be separated from that of plimsoll's clients, because it works in their threads. An
//! external server that is not seen counts as another process, and so do the kernel's threads if they were not counted.

use crate::course::series::mean_rate;
use crate::{CounterSeries, PointAnalysis, Span};
use model::{CounterRole, EngineProcess, UnseenServer};

/// Whose time it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CpuOwner {
    /// The processes of the engine.
    Engine,
    /// Plimsoll, whose clients make the load.
    Plimsoll,
    /// Plimsoll with an engine that works in its clients.
    PlimsollWithEngine,
    /// The kernel's own threads: they write back, keep journals, compress.
    KernelThreads,
    /// Interrupts, hard and soft.
    Interrupts,
    Others,
    /// All other processes, and a server that is not seen among them.
    OthersWithEngine,
    /// Other guests of the hypervisor.
    Hypervisor,
}

/// Who used the CPUs over time.
#[derive(Clone, Debug, PartialEq)]
pub struct CpuByOwner {
    /// The owners that are known, in the order in which they are stacked.
    pub owners: Vec<CpuOwner>,
    /// The stretches in order of time.
    pub stretches: Vec<OwnerShares>,
}

/// Who used the CPUs in one stretch.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnerShares {
    pub span: Span,
    /// The share of each owner in all CPU time of the machine, from 0 to 1, in the order of [`CpuByOwner::owners`]. They sum to 1 at most.
    pub shares: Vec<f64>,
}

impl CpuByOwner {
    /// Who used the CPUs while `point` was measured; `None` if the machine's or plimsoll's own time was not counted.
    pub fn of_point(point: &PointAnalysis) -> Option<CpuByOwner> {
        let counters = OwnerCounters::of_point(point)?;
        let stretches: Vec<OwnerShares> = counters.machine[IDLE]
            .values
            .iter()
            .filter_map(|(span, _)| Some(OwnerShares { span: *span, shares: counters.shares_in(span)? }))
            .collect();
        (!stretches.is_empty()).then(|| CpuByOwner { owners: counters.owners(), stretches })
    }

    /// The mean shares over the stretches whose middle is in `counted`, each weighted by its time; `None` if there is none.
    pub fn mean_in(&self, counted: &Span) -> Option<Vec<f64>> {
        let inside = || self.stretches.iter().filter(|stretch| counted.contains_s(stretch.span.middle_s()));
        let seconds: f64 = inside().map(|stretch| stretch.span.length_s()).sum();
        let mean = |nth: usize| inside().map(|one| one.span.length_s() * one.shares[nth]).sum::<f64>() / seconds;
        (seconds > 0.0).then(|| (0..self.owners.len()).map(mean).collect())
    }
}

/// The times of the machine that are known of every run; the last is idle time.
const MACHINE: [CounterRole; 3] =
    [CounterRole::MachineCpuUser, CounterRole::MachineCpuSystem, CounterRole::MachineCpuIdle];
const IDLE: usize = 2;

/// The counters that the shares are made of.
struct OwnerCounters<'a> {
    machine: [&'a CounterSeries; 3],
    softirq: Vec<&'a CounterSeries>,
    steal: Vec<&'a CounterSeries>,
    iowait: Vec<&'a CounterSeries>,
    plimsoll: Vec<&'a CounterSeries>,
    /// Empty if the engine has no processes of its own, or none that are seen.
    engine: Vec<&'a CounterSeries>,
    kernel_threads: Vec<&'a CounterSeries>,
    process: EngineProcess,
    is_remote: bool,
}

impl<'a> OwnerCounters<'a> {
    fn of_point(point: &'a PointAnalysis) -> Option<OwnerCounters<'a>> {
        let counters = &point.series.as_ref()?.counters;
        let all = |role| counters.iter().filter(|one| one.role == Some(role) && !one.values.is_empty()).collect();
        let first = |role| counters.iter().find(|one| one.role == Some(role) && !one.values.is_empty());
        let [user, system, idle] = MACHINE.map(first);
        let traits = &point.traits.engine;
        let engine: Vec<&CounterSeries> = match traits.process {
            EngineProcess::Own => [all(CounterRole::EngineCpuUser), all(CounterRole::EngineCpuSystem)].concat(),
            _ => Vec::new(),
        };
        let plimsoll: Vec<&CounterSeries> = all(CounterRole::PlimsollCpu);
        let is_known = !plimsoll.is_empty() && (traits.process != EngineProcess::Own || !engine.is_empty());
        is_known.then_some(OwnerCounters {
            machine: [user?, system?, idle?],
            softirq: all(CounterRole::MachineCpuSoftirq),
            steal: all(CounterRole::MachineCpuSteal),
            iowait: all(CounterRole::MachineCpuIowait),
            plimsoll,
            engine,
            kernel_threads: all(CounterRole::KernelThreadsCpu),
            process: traits.process,
            is_remote: traits.unseen == Some(UnseenServer::Remote),
        })
    }

    fn owners(&self) -> Vec<CpuOwner> {
        let plimsoll = match self.process {
            EngineProcess::Embedded => CpuOwner::PlimsollWithEngine,
            _ => CpuOwner::Plimsoll,
        };
        let others = match self.process {
            EngineProcess::Elsewhere | EngineProcess::Unknown if !self.is_remote => CpuOwner::OthersWithEngine,
            _ => CpuOwner::Others,
        };
        let engine = (!self.engine.is_empty()).then_some(CpuOwner::Engine);
        let kernel = (!self.kernel_threads.is_empty()).then_some(CpuOwner::KernelThreads);
        let last = [CpuOwner::Interrupts, others, CpuOwner::Hypervisor];
        engine.into_iter().chain([plimsoll]).chain(kernel).chain(last).collect()
    }

    /// The shares in `span`, in the order of [`OwnerCounters::owners`]; `None` if one of the counters was not read then.
    fn shares_in(&self, span: &Span) -> Option<Vec<f64>> {
        let [user, system, idle] = self.machine.map(|counter| mean_rate(&counter.values, span));
        // Of no counters the sum is 0; if one of several was not read, it is not known.
        let sum = |counters: &[&CounterSeries]| -> Option<f64> {
            counters.iter().map(|one| mean_rate(&one.values, span)).sum()
        };
        let (work, idle) = (user? + system?, idle?);
        let [softirq, steal, iowait] = [&self.softirq, &self.steal, &self.iowait].map(|counters| sum(counters));
        let (engine, plimsoll, kernel) = (sum(&self.engine)?, sum(&self.plimsoll)?, sum(&self.kernel_threads)?);
        let (softirq, steal) = (softirq.unwrap_or(0.0), steal.unwrap_or(0.0));
        let known = engine + plimsoll + kernel;
        // The machine's time is counted in ticks and may lag behind the exact time of a process.
        let total = work.max(known) + softirq + steal + iowait.unwrap_or(0.0) + idle;
        let parts = [
            (!self.engine.is_empty()).then_some(engine),
            Some(plimsoll),
            (!self.kernel_threads.is_empty()).then_some(kernel),
            Some(softirq),
            Some((work - known).max(0.0)),
            Some(steal),
        ];
        (total > 0.0 && total.is_finite()).then(|| parts.into_iter().flatten().map(|part| part / total).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::Simulation;

    const COUNTERS: [&str; 7] = ["user_ns", "system_ns", "iowait_ns", "steal_ns", "softirq_ns", "idle_ns", "self_ns"];

    /// Ten seconds of two CPUs of which these are the shares; the rest is idle.
    fn machine(user: f64, steal: f64, own: f64) -> Simulation {
        let all = move |second: f64| {
            let ns = second * 2e9;
            vec![user * ns, 0.1 * ns, 0.05 * ns, steal * ns, 0.0, (0.85 - user - steal) * ns, own * ns]
        };
        Simulation::counts(&[1000; 10]).source("cpu", &COUNTERS, all)
    }

    fn with_engine(simulation: Simulation, share: f64) -> Simulation {
        let engine = move |second: f64| vec![0.75 * share * second * 2e9, 0.25 * share * second * 2e9];
        simulation.source("process", &["cpu_user_ns", "cpu_system_ns"], engine)
    }

    fn owners(simulation: &Simulation) -> Vec<(CpuOwner, f64)> {
        let point = simulation.analysis().points.remove(0);
        let found = CpuByOwner::of_point(&point).expect("it was counted");
        let counted = point.series.as_ref().expect("it ran").counted;
        let means = found.mean_in(&counted).expect("it was counted");
        found.owners.into_iter().zip(means.into_iter().map(|share| (share * 1e3).round() / 1e3)).collect()
    }

    #[test]
    fn what_nobody_else_used_is_of_other_processes() {
        use CpuOwner::{Engine, Hypervisor, Interrupts, Others, Plimsoll};
        let server = with_engine(machine(0.5, 0.03, 0.1), 0.3).process("own");
        let expected = vec![(Engine, 0.3), (Plimsoll, 0.1), (Interrupts, 0.0), (Others, 0.2), (Hypervisor, 0.03)];
        assert_eq!(owners(&server), expected);
    }

    #[test]
    fn an_embedded_engine_is_counted_once_and_a_server_that_is_not_seen_is_among_the_others() {
        let embedded = with_engine(machine(0.5, 0.0, 0.4), 0.4).process("embedded");
        assert_eq!(owners(&embedded)[0], (CpuOwner::PlimsollWithEngine, 0.4));
        assert_eq!(owners(&embedded)[2], (CpuOwner::Others, 0.2));
        let unseen = machine(0.5, 0.0, 0.1).process("elsewhere");
        assert_eq!(owners(&unseen)[2], (CpuOwner::OthersWithEngine, 0.5));
        let remote = unseen.with(|point| point.traits.engine.unseen = Some(UnseenServer::Remote));
        assert_eq!(owners(&remote)[2], (CpuOwner::Others, 0.5));
    }

    #[test]
    fn threads_of_the_kernel_are_taken_off_the_others_if_they_were_counted() {
        let counted = machine(0.5, 0.0, 0.4)
            .source("kernel-threads", &["cpu_ns"], |second| vec![0.15 * second * 2e9])
            .process("embedded")
            .with(|point| {
                let source = point.sources.last_mut().expect("it was added");
                source.counters[0].role = Some(CounterRole::KernelThreadsCpu);
            });
        let found = owners(&counted);
        assert_eq!((found[1], found[3]), ((CpuOwner::KernelThreads, 0.15), (CpuOwner::Others, 0.05)));
    }

    #[test]
    fn shares_never_sum_to_more_than_all_though_ticks_lag_behind() {
        let lagging = machine(0.1, 0.0, 0.95).process("embedded");
        let point = lagging.analysis().points.remove(0);
        let found = CpuByOwner::of_point(&point).expect("it was counted");
        let sums = found.stretches.iter().map(|stretch| stretch.shares.iter().sum::<f64>());
        assert!(sums.clone().count() == 10 && sums.into_iter().all(|sum| sum <= 1.0 + 1e-9));
    }

    #[test]
    fn without_plimsolls_own_time_nothing_is_told() {
        let counters = ["user_ns", "system_ns", "idle_ns"];
        let simulation = Simulation::counts(&[1000; 10]).source("cpu", &counters, |s| vec![s * 1e9, 0.0, s * 1e9]);
        assert_eq!(CpuByOwner::of_point(&simulation.analysis().points.remove(0)), None);
    }
}
