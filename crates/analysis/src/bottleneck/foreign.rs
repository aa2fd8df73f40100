//! Load that is not the point's: other processes, and other guests of the hypervisor.
//!
//! In: the users of the CPU time, and how long the point's threads waited for a CPU. Out: a cause if they left the point too little of it.
//! Limits: those of the finding `foreign-cpu`, which has the figures and the advice. A thread whose CPU the hypervisor takes does not know
//! it: to the kernel it runs.

use super::cpu::WAITED_MIN;
use super::seen::Seen;
use super::tested::Tested;
use crate::evidence::cause::{CPU_BUSY_MIN, Cause, Confidence, Limit, LimitEvidence};
use crate::evidence::cpu_usage::{OTHERS_MAX, STEAL_ERROR};
use crate::judgement::NextStep;
use crate::math::units::Share;

/// Of their time at work: threads that wait so long for a CPU are slowed down by whoever has it, even if some CPU is idle now and then.
const WAITED_LONG: f64 = 0.30;

/// Others that used so much of CPUs that were full held the point back, even if it used more than they did.
const OTHERS_LARGE: f64 = 1.0 / 3.0;

/// With less, threads waited longer for something else than for a CPU.
const WAITED_MOSTLY: f64 = 0.50;

/// The hypervisor: a point that had CPUs to spare lost little to it.
pub fn test_hypervisor(seen: &Seen) -> Tested {
    let Some(usage) = seen.cpu else { return Tested::Unknown };
    if !usage.is_stolen_above(STEAL_ERROR) {
        return Tested::below(Limit::Hypervisor, usage.steal, STEAL_ERROR);
    }
    let busy = usage.busy_of_rest();
    let has_waited = seen.waited_for_cpu().is_some_and(|share| share > WAITED_LONG);
    if busy <= CPU_BUSY_MIN && !has_waited {
        return Tested::Unknown;
    }
    let evidence = LimitEvidence::Hypervisor { stolen_share: Share(usage.steal), busy_share: Share(busy.min(1.0)) };
    Tested::Binds(Cause::new(evidence, usage.steal).next(NextStep::UseQuieterHost))
}

pub fn test_processes(seen: &Seen) -> Tested {
    let Some(usage) = seen.cpu else { return Tested::Unknown };
    let cause = |others: f64, confidence: Confidence| {
        let evidence =
            LimitEvidence::OtherProcesses { others_share: Share(others), busy_share: Share(usage.busy.min(1.0)) };
        Tested::Binds(Cause::new(evidence, others).confidence(confidence).next(NextStep::StopOtherProcesses))
    };
    let waited = seen.waited_for_cpu();
    let is_full = usage.busy_of_rest() > CPU_BUSY_MIN;
    let is_filled = is_full && usage.is_mostly_foreign();
    let has_waited_long = waited.is_some_and(|share| share > WAITED_LONG);
    match usage.users {
        // Others may have used the CPUs while the point waited for something else.
        Some(_) if is_filled && waited.is_some_and(|share| share < WAITED_MIN) => {
            Tested::below(Limit::OtherProcesses, waited.unwrap_or(0.0), WAITED_MIN)
        }
        Some(users) if is_filled && waited.is_none_or(|share| share > WAITED_MOSTLY) => {
            cause(users.others, Confidence::Sure)
        }
        Some(users) if is_filled => cause(users.others, Confidence::Likely),
        // As sure as the CPUs themselves, which the point shares with them.
        Some(users) if is_full && has_waited_long && users.others > OTHERS_LARGE => {
            cause(users.others, Confidence::Sure)
        }
        Some(users) if usage.is_shared() && has_waited_long => cause(users.others, Confidence::Likely),
        Some(users) if !usage.is_shared() => Tested::below(Limit::OtherProcesses, users.others, OTHERS_MAX),
        _ => Tested::Unknown,
    }
}
