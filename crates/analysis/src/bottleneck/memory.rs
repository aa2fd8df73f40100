//! Memory that ran out: swapping, reclaim for which tasks wait, and files that it has no room for.
//!
//! In: the time in which all tasks waited for memory, pages swapped, bytes read again. Out: a cause. Limits: of the machine; a memory limit that
//! was asked for counts as well, because it limits the point all the same. What an engine drops from its own cache is not seen.

use super::seen::Seen;
use super::tested::Tested;
use crate::evidence::cause::{Cause, Confidence, Limit, LimitEvidence};
use crate::judgement::NextStep;
use crate::math::units::Share;
use model::CounterRole;

/// As of the finding `swap`.
const WAITED_MIN: f64 = 0.01;
/// A twentieth of the time is more than chance, a fifth is most of what is slow.
const WAITED_LIKELY: f64 = 0.05;
const WAITED_SURE: f64 = 0.20;
/// Of the bytes that the device read: with fewer, most reads would have been made in any memory.
const REFAULT_MIN: f64 = 0.5;
/// An operation in ten reads a page of 4 KiB again.
const REFAULT_BYTES_MIN: f64 = 409.6;
/// Of the time of threads at work: with less of it in reads, these cost little.
const READ_MIN: f64 = 0.05;

pub fn test(seen: &Seen) -> Tested {
    let pressure = test_pressure(seen);
    match (&pressure, cache_cause(seen)) {
        (Tested::Binds(cause), Some(_)) if cause.confidence != Confidence::Possible => pressure,
        (_, Some(cause)) => Tested::Binds(cause),
        (_, None) => pressure,
    }
}

/// The page cache, if it had no room for the files that the engine reads.
fn cache_cause(seen: &Seen) -> Option<Cause> {
    let refault_bytes = seen.all(CounterRole::Refaults)?.amount;
    let read_bytes = seen.most(CounterRole::DeviceReadBytes)?.amount;
    let refault_bytes_per_op = refault_bytes / seen.measured.summary.ops as f64;
    let is_read_often = refault_bytes_per_op >= REFAULT_BYTES_MIN && seen.work?.read >= READ_MIN;
    if !is_read_often || refault_bytes < REFAULT_MIN * read_bytes {
        return None;
    }
    // Pages that are brought in by one read are counted one by one.
    let refault_share = (refault_bytes / read_bytes).min(1.0);
    let evidence = LimitEvidence::PageCache { refault_share: Share(refault_share), refault_bytes_per_op };
    Some(Cause::new(evidence, refault_share).confidence(Confidence::Likely).next(NextStep::GiveMemory))
}

/// The time in which all tasks waited for memory.
fn test_pressure(seen: &Seen) -> Tested {
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
