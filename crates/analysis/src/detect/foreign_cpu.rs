//! Finds CPU time that went to somebody else.
//!
//! In: the counters of `cpu` and `process`. Out: a warning or an error for stolen time, a warning for other processes.
//! Limits: kernel threads that work for the target (write-back, compression) count as others; interrupts do not.

use super::detector::{Detector, Measured, PointView};
use crate::counters::growth_of_all;
use crate::facts::{EngineProcess, engine_process};
use crate::text::percent;
use crate::{Finding, Severity};
use model::units::three_digits;

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector {
    code: "foreign-cpu",
    help: "the hypervisor or other processes took CPU time",
    explain: "Steal is time in which this virtual machine wanted to run and the hypervisor ran another: above 2 % of the \
              machine's CPU time the point is only indicative, above 10 % invalid. Other processes are those that are neither \
              plimsoll nor the engine: above 10 % of the machine they compete with what is measured. Kernel threads that \
              write back or compress on behalf of the target are among them; look which it was before blaming a stranger.",
    detect,
};

const STEAL_WARNING: f64 = 0.02;
const STEAL_ERROR: f64 = 0.10;
/// A desktop's background is below this; one busy process on 8 CPUs is above.
pub const OTHERS_MAX: f64 = 0.10;

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(measured) = view.measured else { return Vec::new() };
    let Some(usage) = usage(view, &measured) else { return Vec::new() };
    stolen(usage.steal).into_iter().chain(taken(&usage)).collect()
}

/// Shares of all CPU time of the machine over the run phase.
#[derive(Clone, Copy, Debug)]
pub struct CpuUsage {
    /// In which some CPU ran anything.
    pub busy: f64,
    /// Taken by the hypervisor.
    pub steal: f64,
    /// Who used it, where that is known.
    pub users: Option<Users>,
    /// How many CPUs the machine has.
    pub cpus: f64,
}

/// Shares of all CPU time of the machine, by who used it.
#[derive(Clone, Copy, Debug)]
pub struct Users {
    /// Plimsoll and the engine.
    pub ours: f64,
    /// Everybody else.
    pub others: f64,
}

impl Users {
    /// The shares in cores of a machine of so many.
    pub fn in_cores(&self, cpus: f64) -> String {
        let cores = |share: f64| three_digits(share * cpus);
        let (others, ours) = (cores(self.others), cores(self.ours));
        format!("others used {others} cores, plimsoll and the engine {ours}, of {cpus:.0}")
    }
}

/// How the CPU time of the machine was used; `None` where no source told.
pub fn usage(view: &PointView, measured: &Measured) -> Option<CpuUsage> {
    let (start, end) = (measured.window.phase.start, measured.window.phase.end);
    let grown = |source, counter| growth_of_all(view.point, source, counter, start, end).map(|growth| growth.amount);
    let cpu = |counter| grown("cpu", counter);
    let idle = growth_of_all(view.point, "cpu", "idle_ns", start, end)?;
    let work = cpu("user_ns")? + cpu("system_ns")?;
    let softirq = cpu("softirq_ns").unwrap_or(0.0);
    let steal = cpu("steal_ns").unwrap_or(0.0);
    let total = work + softirq + steal + idle.amount + cpu("iowait_ns").unwrap_or(0.0);
    let engine = || Some(grown("process", "cpu_user_ns")? + grown("process", "cpu_system_ns")?);
    let ours = match engine_process(view.point) {
        EngineProcess::Own => cpu("self_ns").zip(engine()).map(|(own, engine)| own + engine),
        EngineProcess::Embedded | EngineProcess::None => cpu("self_ns"),
        EngineProcess::Elsewhere | EngineProcess::Unknown => None,
    };
    let share = |part: f64| part.max(0.0) / total;
    let users = ours.map(|ours| Users { ours: share(ours), others: share(work - ours) });
    let cpus = total / idle.to.since(idle.from).0 as f64;
    (total > 0.0).then(|| CpuUsage { busy: share(work + softirq), steal: share(steal), users, cpus })
}

fn stolen(share: f64) -> Option<Finding> {
    let severity = match share {
        share if share > STEAL_ERROR => Severity::Error,
        share if share > STEAL_WARNING => Severity::Warning,
        _ => return None,
    };
    let title = format!("the hypervisor took {} of the CPU time", percent(share));
    let evidence = format!("steal over the run phase; {} is the most that is let pass", percent(STEAL_WARNING));
    Some(DETECTOR.finding(severity, title, evidence, "measure again when the host is quieter, or on another one"))
}

fn taken(usage: &CpuUsage) -> Option<Finding> {
    let users = usage.users.filter(|users| users.others > OTHERS_MAX)?;
    let title = format!("other processes used {} of the machine's CPU", percent(users.others));
    let evidence = users.in_cores(usage.cpus);
    let next_step = "see which they are (`top`), stop them and measure again";
    Some(DETECTOR.finding(Severity::Warning, title, evidence, next_step))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::Simulation;

    const COUNTERS: [&str; 7] = ["user_ns", "system_ns", "iowait_ns", "steal_ns", "softirq_ns", "idle_ns", "self_ns"];

    /// Ten seconds of a machine of which these are the shares; the rest is idle.
    fn machine(user: f64, steal: f64, own: f64, engine: f64) -> Simulation {
        let all = move |second: f64| {
            let ns = second * 2e9;
            vec![user * ns, 0.0, 0.0, steal * ns, 0.0, (1.0 - user - steal) * ns, own * ns]
        };
        Simulation::counts(&[1000; 10]).source("cpu", &COUNTERS, all).source(
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
        assert_eq!((much.severity, much.title.as_str()), (Severity::Error, "the hypervisor took 12 % of the CPU time"));
    }

    #[test]
    fn the_engine_is_nobody_else_and_a_compiler_is() {
        assert!(machine(0.6, 0.0, 0.1, 0.45).findings("foreign-cpu").is_empty());
        let finding = machine(0.6, 0.0, 0.1, 0.2).finding("foreign-cpu");
        assert_eq!(finding.title, "other processes used 30 % of the machine's CPU");
        assert_eq!(finding.evidence, "others used 0.60 cores, plimsoll and the engine 0.60, of 2");
    }

    #[test]
    fn an_embedded_engine_is_counted_once() {
        let title = machine(0.6, 0.0, 0.3, 0.3).process("embedded").finding("foreign-cpu").title;
        assert_eq!(title, "other processes used 30 % of the machine's CPU");
    }
}
