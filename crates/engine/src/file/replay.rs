//! What a replay has in addition to other loads on files: the times of its requests, and facts on the recording.
//!
//! In: a trial and its recording. Out: when the requests fall due, for the count of those that were offered; facts. Limits: none.

use load::DueTimes;
use model::{Fact, Nanos, Pacing, RecordingSummary, Trial};
use std::fmt;
use std::sync::Arc;
use workload::replay::{Recording, due_at, speed_of};

/// The times of a recording at the speed of a replay.
struct RecordedTimes {
    recording: Arc<Recording>,
    speed: f64,
}

impl fmt::Debug for RecordedTimes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} recorded times at speed {}", self.recording.len(), self.speed)
    }
}

impl DueTimes for RecordedTimes {
    fn count_within(&self, length: Nanos) -> u64 {
        self.recording.count_within(|due| due_at(due, self.speed) < length)
    }
}

/// When the requests of `recording` fall due in `trial`; `None` if it goes as fast as it can.
pub fn due_times(trial: &Trial, recording: Arc<Recording>) -> Option<Arc<dyn DueTimes>> {
    let speed = speed_of(&trial.workload.params)?;
    matches!(trial.load.pacing, Pacing::Open { .. }).then(|| Arc::new(RecordedTimes { recording, speed }) as _)
}

/// What the recording held.
pub fn facts(summary: &RecordingSummary) -> Vec<Fact> {
    let Some(work) = &summary.io else { return Vec::new() };
    let mut facts = vec![
        Fact::new("replay.requests", summary.ops.to_string()),
        Fact::new("replay.length", summary.length.to_string()),
        Fact::new("replay.device", work.device.clone()),
        Fact::new("replay.reads", work.reads.to_string()),
        Fact::new("replay.writes", work.writes.to_string()),
        Fact::new("replay.flushes", work.flushes.to_string()),
        Fact::new("replay.read_bytes", work.read_bytes.0.to_string()),
        Fact::new("replay.written_bytes", work.written_bytes.0.to_string()),
    ];
    let left_out = [
        ("replay.discards_left_out", work.discards),
        ("replay.others_left_out", work.others),
        ("replay.events_lost", work.lost),
    ];
    facts.extend(
        left_out.into_iter().filter(|(_, count)| *count > 0).map(|(name, count)| Fact::new(name, count.to_string())),
    );
    facts
}
