//! What an engine has put off: pages that a checkpoint must write before the log is full, and compactions.
//!
//! In: the age of the log and its maximum, the time for which writers were stalled and why, what compactions have yet to rewrite, what a drain
//! waited for. Out: causes. Limits: only engines that count it; the age of a log without a maximum shows no limit.

use super::seen::Seen;
use super::tested::Tested;
use crate::evidence::cause::{Cause, Confidence, Limit, LimitEvidence};
use crate::judgement::NextStep;
use crate::math::units::Share;
use model::{CounterRole, StallReason};

/// InnoDB begins to write pages in a hurry when the log is 7/8 full; over a sawtooth of such checkpoints the mean is above this.
const LOG_FULL_MIN: f64 = 0.75;
const LOG_FULL_SURE: f64 = 0.85;
/// As a share of the time.
const STALLED_MIN: f64 = 0.05;
const STALLED_SURE: f64 = 0.20;
/// Of the time of a drain, as of locks.
const DRAIN_WAITED_MIN: f64 = 0.30;

pub fn test_checkpoint(seen: &Seen) -> Tested {
    let mean = |role| seen.mean_level(role).filter(|bytes| *bytes > 0.0);
    let Some((age, most)) = mean(CounterRole::LogAge).zip(mean(CounterRole::LogAgeMax)) else { return Tested::Unknown };
    let full = age / most;
    if full < LOG_FULL_MIN {
        return Tested::below(Limit::Checkpoint, full, LOG_FULL_MIN);
    }
    let confidence = if full >= LOG_FULL_SURE { Confidence::Sure } else { Confidence::Likely };
    let evidence = LimitEvidence::Checkpoint { log_share: Share(full) };
    Tested::Binds(Cause::new(evidence, full).confidence(confidence).next(NextStep::EnlargeLog))
}

pub fn test_compaction(seen: &Seen) -> Tested {
    let Some(stalled) = seen.time_share(CounterRole::WritersHeld) else { return Tested::Unknown };
    if stalled < STALLED_MIN {
        return Tested::below(Limit::Compaction, stalled, STALLED_MIN);
    }
    let pending_bytes = seen.mean_level(CounterRole::PendingCompaction);
    let confidence = if stalled >= STALLED_SURE { Confidence::Sure } else { Confidence::Likely };
    let (reason, stalls_per_s) = (main_reason(seen), stalls_per_s(seen));
    let evidence = LimitEvidence::Compaction { stalled_share: Share(stalled), pending_bytes, reason, stalls_per_s };
    Tested::Binds(Cause::new(evidence, stalled).confidence(confidence).next(NextStep::SpeedUpCompaction))
}

/// An operation that waits until the engine has written what it put off. In an embedded engine it waits for that engine's own threads,
/// which looks like a wait for a lock.
pub fn test_drain(seen: &Seen) -> Tested {
    let waited = seen.is_drain().then(|| seen.work.map(|work| work.lock + work.group)).flatten();
    let Some(waited) = waited else { return Tested::Unknown };
    if waited < DRAIN_WAITED_MIN {
        // The threads of a server are not those that wait for a drain of it.
        return Tested::Unknown;
    }
    let pending_bytes = seen.mean_level(CounterRole::PendingCompaction);
    let evidence = LimitEvidence::Drain { waited_share: Share(waited.min(1.0)), pending_bytes };
    // What the engine's threads work on, and what they wait for, is another cause if it is seen.
    Tested::Binds(Cause::new(evidence, waited).confidence(Confidence::Likely).next(NextStep::SpeedUpCompaction))
}

/// The reason for which writers were held back most often; `None` if the engine does not count it, or held none back.
fn main_reason(seen: &Seen) -> Option<StallReason> {
    let counted = StallReason::ALL.into_iter().filter_map(|reason| Some((reason, held_for(seen, reason)?)));
    counted.filter(|(_, per_s)| *per_s > 0.0).max_by(|a, b| a.1.total_cmp(&b.1)).map(|(reason, _)| reason)
}

fn stalls_per_s(seen: &Seen) -> Option<f64> {
    StallReason::ALL.into_iter().filter_map(|reason| held_for(seen, reason)).reduce(|sum, one| sum + one)
}

fn held_for(seen: &Seen, reason: StallReason) -> Option<f64> {
    Some(seen.all(CounterRole::WritersHeldFor(reason))?.per_second())
}
