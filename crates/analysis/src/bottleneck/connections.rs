//! What a server allows of connections: how many may wait to be accepted, and how many it has at once.
//!
//! In: the times in which clients opened connections, the kernel's count of those that found the queue of a listener full, the server's count of
//! those that it refused. Out: causes. Limits: the counts of the kernel are those of the machine, and other programs' connections are among them;
//! only MariaDB and MySQL count what they refused.

use super::seen::Seen;
use super::tested::Tested;
use crate::evidence::cause::{Cause, Confidence, Limit, LimitEvidence};
use crate::evidence::retry_spikes::{connect_times, waited_for_retries};
use crate::judgement::NextStep;
use crate::math::units::Share;
use model::CounterRole;

/// Of the time in which clients opened connections.
const WAITED_MIN: f64 = 0.25;
const WAITED_SURE: f64 = 0.5;
/// Of the connections that clients asked for.
const REFUSED_MIN: f64 = 0.05;
const REFUSED_SURE: f64 = 0.25;

/// Connections that found the queue full are tried again by the kernel a second later and then ever less often.
pub fn test_listen_queue(seen: &Seen) -> Tested {
    let Some(overflows) = seen.all(CounterRole::ListenOverflows).filter(|_| seen.opens_connections()) else {
        return Tested::Unknown;
    };
    let times = connect_times(seen.view, seen.measured);
    let all = times.mean_ns() * times.len() as f64;
    let waited = if overflows.amount > 0.0 && all > 0.0 { waited_for_retries(&times) / all } else { 0.0 };
    if waited < WAITED_MIN {
        return Tested::below(Limit::ListenQueue, waited, WAITED_MIN);
    }
    let confidence = if waited >= WAITED_SURE { Confidence::Sure } else { Confidence::Likely };
    let evidence = LimitEvidence::ListenQueue { waited_share: Share(waited.min(1.0)), overflows: overflows.amount };
    Tested::Binds(Cause::new(evidence, waited).confidence(confidence).next(NextStep::RaiseBacklog))
}

/// A server that has as many connections as it may have refuses further ones.
pub fn test_limit(seen: &Seen) -> Tested {
    // If the load opens no connections, those that the server refuses are of others.
    let Some(refused) = seen.all(CounterRole::RefusedConnections).filter(|_| seen.opens_connections()) else {
        return Tested::Unknown;
    };
    let opened = connect_times(seen.view, seen.measured).len() as f64;
    let share = if refused.amount > 0.0 { refused.amount / (refused.amount + opened) } else { 0.0 };
    if share < REFUSED_MIN {
        return Tested::below(Limit::Connections, share, REFUSED_MIN);
    }
    let confidence = if share >= REFUSED_SURE { Confidence::Sure } else { Confidence::Likely };
    let evidence = LimitEvidence::Connections { refused_share: Share(share) };
    Tested::Binds(Cause::new(evidence, share).confidence(confidence).next(NextStep::RaiseMaxConnections))
}
