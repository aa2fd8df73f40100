//! What is left if no resource was used up: operations that wait for nothing but the one before, or nothing that is known.
//!
//! In: how many operations can be in flight, and their service time. Out: a cause in any case. Limits: several clients that are too few look
//! like a queue inside the engine, unless its threads were watched.

use super::seen::{Seen, Work};
use crate::evidence::cause::{Cause, Confidence, LimitEvidence};
use crate::evidence::overload::is_overloaded;
use crate::judgement::NextStep;
use model::{Nanos, Pacing};

/// Of the time of threads at work: with more, something is shared that more clients would wait for.
const WAITING_MAX: f64 = 0.30;

/// One client that waits for each operation before the next, or several that are too few: the threads that work for them hardly wait for
/// each other.
pub fn one_at_a_time(seen: &Seen) -> Option<Cause> {
    let closed = matches!(seen.view.point.trial.load.pacing, Pacing::Closed { think: Nanos(0) });
    let alone = seen.has_single_client();
    let in_writes = |work: Work| if seen.waits_for_own_io() { 0.0 } else { work.sync };
    let are_few = seen.work.is_some_and(|work| work.runnable + in_writes(work) + work.lock < WAITING_MAX);
    let service = seen.measured.summary.service_ns.filter(|_| closed && (alone || are_few))?;
    let evidence = LimitEvidence::OneAtATime { service_mean_ns: Nanos(service.mean as u64), in_flight: seen.slots() };
    let next = if seen.view.ends_by_work() { NextStep::None } else { NextStep::AddDepthOrClients };
    let confidence = if alone { Confidence::Sure } else { Confidence::Likely };
    let busy = seen.measured.summary.ops_per_s * service.mean / 1e9;
    Some(Cause::new(evidence, busy / seen.slots() as f64).confidence(confidence).next(next))
}

/// Nothing that is known was used up.
pub fn unexplained(seen: &Seen) -> Cause {
    let counters = seen.counters();
    let all = [counters.disk_busy_share, counters.cpu_share, counters.client_cores_share];
    let busiest = all.into_iter().flatten().fold(0.0, |most: f64, share| most.max(share.0));
    let (evidence, next) = if is_overloaded(seen.view, seen.measured) {
        (LimitEvidence::TargetOrClients(counters), NextStep::TestMoreClients)
    } else {
        (LimitEvidence::Unclear(counters), NextStep::None)
    };
    Cause::new(evidence, busiest).confidence(Confidence::Possible).next(next)
}
