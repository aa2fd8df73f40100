//! The offered rate of an open loop.
//!
//! In: the rates offered and done. Out: that all was served, so that nothing was at its limit. Limits: none.

use super::seen::Seen;
use crate::evidence::cause::{Cause, LimitEvidence};
use crate::judgement::NextStep;

// Poisson arrivals over a short run miss their mean rate by a percent or two.
const SERVED_MIN: f64 = 0.97;

/// If all that was offered was served, nothing was at its limit, however busy it was.
pub fn served(seen: &Seen) -> Option<Cause> {
    let summary = seen.measured.summary;
    let done_per_s = summary.ops_per_s;
    let offered_per_s = summary.offered_per_s.filter(|offered| done_per_s >= SERVED_MIN * offered)?;
    let evidence = LimitEvidence::Schedule { done_per_s, offered_per_s, counters: seen.counters() };
    Some(Cause::new(evidence, done_per_s / offered_per_s.max(f64::MIN_POSITIVE)).next(NextStep::RaiseRate))
}
