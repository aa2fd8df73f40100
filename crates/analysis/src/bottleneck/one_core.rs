//! A single core, by an engine that uses one and no more.
//!
//! In: the CPU time of the engine. Out: a cause. Limits: several threads that use one core together look the same, so it is never sure;
//! fewer than 20 ticks of the kernel are not judged.

use super::seen::Seen;
use super::tested::Tested;
use crate::evidence::cpu_usage::{TICK, TICKS_MIN};
use crate::finding::NextStep;
use crate::finding::bottleneck::{Cause, Confidence, Limit, LimitEvidence};
use crate::finding::units::Share;
use model::CounterRole;

// A thread that computes all the time is off its core for some per cent of it. More than a core, but for what the sampling of the
// counters adds, is several threads.
const ONE_CORE: std::ops::Range<f64> = 0.85..1.05;

pub fn test(seen: &Seen) -> Tested {
    let Some(cores) = cores_used(seen) else { return Tested::Unknown };
    if cores < ONE_CORE.start {
        return Tested::below(Limit::OneCore, cores, ONE_CORE.start);
    }
    if !ONE_CORE.contains(&cores) {
        return Tested::Unknown;
    }
    let evidence = LimitEvidence::OneCore { cores, kernel_share: kernel_share(seen) };
    Tested::Binds(Cause::new(evidence, cores).confidence(Confidence::Likely).next(NextStep::ProfileEngine))
}

/// The cores that the engine used on average; `None` if too few ticks were counted.
fn cores_used(seen: &Seen) -> Option<f64> {
    let summary = seen.measured.summary;
    // The cost of an operation is that of all, whichever client did them.
    let background_per_s = summary.background.iter().map(|load| load.ops_per_s).sum::<f64>();
    let cores = summary.cost.engine_cpu_ns_per_op? * (summary.ops_per_s + background_per_s) / 1e9;
    // In that time one core has as many ticks.
    (summary.seconds * 1e9 >= TICKS_MIN * TICK.0 as f64).then_some(cores)
}

/// The share of the engine's CPU time that the kernel used.
fn kernel_share(seen: &Seen) -> Option<Share> {
    let grown = |role| seen.all(role).map(|growth| growth.amount);
    let (user, system) = (grown(CounterRole::EngineCpuUser)?, grown(CounterRole::EngineCpuSystem)?);
    (user + system > 0.0).then(|| Share(system / (user + system)))
}
