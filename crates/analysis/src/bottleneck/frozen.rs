//! An engine whose processes are stopped: by a signal, a debugger, or the freezer of a container.
//!
//! In: the time in which most of its threads were stopped, without the stops in which plimsoll took its stacks. Out: a cause. Limits: engines
//! whose threads are seen; a host that is stopped as a whole shows as time that the hypervisor took.

use super::seen::Seen;
use super::tested::Tested;
use crate::evidence::cause::{Cause, LimitEvidence};
use crate::judgement::NextStep;
use crate::math::units::Share;
use crate::numbers::stacks::StackCost;
use model::CounterRole;

/// Of the time. A thread that a debugger stops for its stack is back after some milliseconds.
const STOPPED_MIN: f64 = 0.02;

pub fn test(seen: &Seen) -> Tested {
    let Some(stopped) = seen.time_share(CounterRole::EngineStopped) else { return Tested::Unknown };
    let own = StackCost::from_point(seen.view.point).map_or(0.0, |cost| cost.share);
    let stopped = stopped - own;
    if stopped < STOPPED_MIN {
        return Tested::Unknown;
    }
    let evidence = LimitEvidence::Frozen { stopped_share: Share(stopped.min(1.0)) };
    Tested::Binds(Cause::new(evidence, stopped).next(NextStep::FindWhatStopped))
}
