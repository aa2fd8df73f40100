//! Writes and syncs that threads wait for: commits of an engine, syncs that the clients of a file ask for, or writes that nobody asked to be
//! synced.
//!
//! In: the states of the threads at work, and whether a commit is acknowledged after it is on disk. Out: a cause. Limits: threads that write
//! pages in the background count as well. Of several commits one thread syncs and the others wait for it, which looks like a lock: it is
//! distinguished from one only if the engine counts waits for rows. A client that waits for its own write past the page cache waits for
//! one operation at a time, and not for writes: that is for [`super::alone`].

use super::seen::{Seen, Work};
use super::tested::Tested;
use crate::evidence::cause::{Cause, Confidence, Limit, LimitEvidence};
use crate::judgement::NextStep;
use crate::math::units::Share;

/// Of the time of threads at work.
// By Amdahl's law a quarter of the time that goes away is a third more operations, half of it twice as many.
const SYNC_MIN: f64 = 0.25;
const SYNC_LIKELY: f64 = 0.35;
const SYNC_SURE: f64 = 0.5;
/// A log that some thread syncs for more than half of the time, while most others wait, is what they wait for.
const SYNCING_THREADS_MIN: f64 = 0.5;
const WITH_LOCKS_MIN: f64 = 0.6;

pub fn test(seen: &Seen) -> Tested {
    let Some(work) = seen.work else { return Tested::Unknown };
    if seen.waits_for_own_io() {
        return Tested::Unknown;
    }
    let code = match seen.view.point.traits.work.io {
        _ if seen.syncs_commits() => Limit::Commit,
        Some(io) if io.syncs => Limit::Sync,
        _ => Limit::Write,
    };
    let waited = work.sync + work.group;
    let confidence = match waited {
        share if share >= SYNC_SURE => Confidence::Sure,
        share if share >= SYNC_LIKELY || syncs_for_groups(seen, &work) => Confidence::Likely,
        share if share >= SYNC_MIN => Confidence::Possible,
        share => return Tested::below(code, share, SYNC_MIN),
    };
    let (waited_share, lock_share) = (Share(waited), Share(work.lock + work.group));
    let threads = work.sync * work.threads;
    let evidence = match code {
        Limit::Commit => LimitEvidence::Commit { waited_share, lock_share, threads },
        Limit::Sync => LimitEvidence::Sync { waited_share, threads },
        _ => LimitEvidence::Write { waited_share, threads },
    };
    let next = match code {
        Limit::Commit => NextStep::GroupCommits,
        _ => NextStep::None,
    };
    Tested::Binds(Cause::new(evidence, waited).confidence(confidence).next(next))
}

/// Whether commits wait for the one that syncs for all of them.
fn syncs_for_groups(seen: &Seen, work: &Work) -> bool {
    let syncing = work.sync * work.threads;
    seen.syncs_commits() && syncing >= SYNCING_THREADS_MIN && work.sync + work.lock >= WITH_LOCKS_MIN
}
