//! What an engine has put off: pages that a checkpoint must write before the log is full, and compactions.
//!
//! In: the age of the log and its maximum, the time for which writers were stalled, what compactions have yet to rewrite. Out: causes. Limits: only
//! engines that count it; the age of a log without a maximum shows no limit.

use super::seen::Seen;
use super::tested::Tested;
use crate::finding::NextStep;
use crate::finding::bottleneck::{Cause, Confidence, Limit, LimitEvidence};
use crate::finding::units::Share;
use model::CounterRole;

/// InnoDB begins to write pages in a hurry when the log is 7/8 full; over a sawtooth of such checkpoints the mean is above this.
const LOG_FULL_MIN: f64 = 0.75;
const LOG_FULL_SURE: f64 = 0.85;
/// Of the time.
const STALLED_MIN: f64 = 0.05;
const STALLED_SURE: f64 = 0.20;

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
    let evidence = LimitEvidence::Compaction { stalled_share: Share(stalled), pending_bytes };
    Tested::Binds(Cause::new(evidence, stalled).confidence(confidence).next(NextStep::SpeedUpCompaction))
}
