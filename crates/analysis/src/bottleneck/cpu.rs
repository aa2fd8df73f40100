//! All CPUs of the machine, or those that the point was pinned to.
//!
//! In: the CPU time of the machine and its users, and the time in which threads of the point, or some task, waited for a CPU. Out: a cause
//! if plimsoll and the engine filled them, or nearly so and its threads waited for them most. Limits: CPUs that others filled are a cause
//! of their own.

use super::seen::Seen;
use super::tested::Tested;
use crate::evidence::cpu_usage::CpuUsage;
use crate::finding::NextStep;
use crate::finding::bottleneck::{CPU_BUSY_MIN, Cause, Confidence, Limit, LimitEvidence};
use crate::finding::units::Share;
use model::CounterRole;

/// Above this share of the time in which threads waited for a CPU, the CPUs are saturated.
pub const WAITED_MIN: f64 = 0.10;

/// CPUs that few threads share are idle now and then although all that the threads want is a CPU.
const BUSY_NEARLY: f64 = 0.75;
/// Of the time of threads at work: on a CPU or in its queue.
const COMPUTED_MOSTLY: f64 = 0.85;
/// Of it in the queue: with less, one thread more would find a CPU.
const QUEUED_OFTEN: f64 = 0.20;
/// Of it in the queue: with more, and with less of all other waits, the queue is what the threads wait for.
const QUEUED_MOSTLY: f64 = 0.40;
/// Threads that one sync or one read wakes all at once queue for CPUs that are idle until the next. With less, they would find one.
pub const BUSY_IN_BURSTS: f64 = 0.70;

pub fn test(seen: &Seen) -> Tested {
    let Some(usage) = seen.cpu else { return Tested::Unknown };
    if let Some(pinned) = pinned_cpus(seen, &usage) {
        return Tested::Binds(pinned);
    }
    let busy = usage.busy_of_rest();
    if busy <= CPU_BUSY_MIN && !is_wanted_most(seen, busy) {
        return Tested::below(Limit::Cpu, busy, CPU_BUSY_MIN);
    }
    if usage.is_mostly_foreign() {
        return Tested::Unknown;
    }
    let waited = seen.time_share(CounterRole::CpuPressure);
    // Profiling an engine that had to wait for its CPU shows the neighbours' work: `foreign-cpu` asks to stop them first.
    let next = if usage.is_shared() { NextStep::None } else { NextStep::ProfileTarget };
    let evidence = LimitEvidence::Cpu {
        busy_share: Share(busy.min(1.0)),
        waited_share: waited.map(|share| Share(share.min(1.0))),
    };
    let is_waited_for = seen.waited_for_cpu().or(waited).is_none_or(|share| share > WAITED_MIN);
    let confidence = if busy > CPU_BUSY_MIN && is_waited_for { Confidence::Sure } else { Confidence::Likely };
    Tested::Binds(Cause::new(evidence, busy).confidence(confidence).next(next))
}

/// Whether CPUs that are not quite full are what threads at work want: they want nothing else, or wait for nothing else as long.
fn is_wanted_most(seen: &Seen, busy: f64) -> bool {
    seen.work.is_some_and(|work| {
        let is_all = busy > BUSY_NEARLY && work.computed() > COMPUTED_MOSTLY && work.runnable > QUEUED_OFTEN;
        let other_waits = work.read + work.sync + work.lock + work.group;
        is_all || busy > BUSY_IN_BURSTS && work.runnable > QUEUED_MOSTLY.max(other_waits)
    })
}

/// The CPUs that the point was pinned to, if plimsoll and the engine filled them: others of the machine may have been idle.
fn pinned_cpus(seen: &Seen, usage: &CpuUsage) -> Option<Cause> {
    let cpus = seen.view.point.traits.engine.pinned_cpus?;
    let busy = usage.users?.ours * usage.cpus / cpus as f64;
    let is_part = (cpus as f64) < usage.cpus.round();
    let evidence = LimitEvidence::PinnedCpus { busy_share: Share(busy.min(1.0)), cpus };
    (is_part && busy > CPU_BUSY_MIN).then(|| Cause::new(evidence, busy).next(NextStep::ProfileTarget))
}
