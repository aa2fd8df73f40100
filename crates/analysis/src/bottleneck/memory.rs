//! Memory that ran out: swapping, and reclaim for which tasks wait.
//!
//! In: the time in which all tasks waited for memory, pages swapped. Out: a cause. Limits: of the machine; a memory limit that was asked for
//! counts as well, because it limits the point all the same.

use super::seen::Seen;
use super::tested::Tested;
use crate::finding::NextStep;
use crate::finding::bottleneck::{Cause, Confidence, Limit, LimitEvidence};
use crate::finding::units::Share;
use model::CounterRole;

/// As of the finding `swap`.
const WAITED_MIN: f64 = 0.01;
/// A twentieth of the time is more than chance, a fifth is most of what is slow.
const WAITED_LIKELY: f64 = 0.05;
const WAITED_SURE: f64 = 0.20;

pub fn test(seen: &Seen) -> Tested {
    let Some(waited) = seen.time_share(CounterRole::MemoryStall) else { return Tested::Unknown };
    if waited <= WAITED_MIN {
        return Tested::below(Limit::Memory, waited, WAITED_MIN);
    }
    let pages = |role| seen.all(role).map_or(0.0, |growth| growth.amount);
    let swapped_pages = (pages(CounterRole::SwapIn) + pages(CounterRole::SwapOut)) as u64;
    let confidence = match waited {
        waited if waited >= WAITED_SURE => Confidence::Sure,
        waited if waited >= WAITED_LIKELY => Confidence::Likely,
        _ => Confidence::Possible,
    };
    let evidence = LimitEvidence::Memory { waited_share: Share(waited.min(1.0)), swapped_pages };
    Tested::Binds(Cause::new(evidence, waited).confidence(confidence).next(NextStep::ShrinkMemory))
}
