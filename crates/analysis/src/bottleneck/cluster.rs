//! Flow control of a cluster: a node that cannot apply what the others send asks all of them to wait.
//!
//! In: the time for which flow control held each node back, as Galera counts it. Out: a cause. Limits: which node asked for the pause is in the
//! counters of the nodes; what holds that one up is not looked for here.

use super::seen::Seen;
use super::tested::Tested;
use crate::evidence::cause::{Cause, Confidence, Limit, LimitEvidence};
use crate::judgement::NextStep;
use crate::math::units::Share;
use model::CounterRole;

/// A share of the time of one node: the node that waited longest.
const PAUSED_MIN: f64 = 0.25;
const PAUSED_SURE: f64 = 0.5;

pub fn test_flow_control(seen: &Seen) -> Tested {
    let Some(growth) = seen.most(CounterRole::FlowControlPaused) else { return Tested::Unknown };
    let paused = growth.per_second() / 1e9;
    if paused < PAUSED_MIN {
        return Tested::below(Limit::FlowControl, paused, PAUSED_MIN);
    }
    let confidence = if paused >= PAUSED_SURE { Confidence::Sure } else { Confidence::Likely };
    let evidence = LimitEvidence::FlowControl { paused_share: Share(paused.min(1.0)) };
    Tested::Binds(Cause::new(evidence, paused).confidence(confidence).next(NextStep::FindSlowNode))
}
