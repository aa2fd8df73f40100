//! What a replay has in addition to other loads on files: the times of its requests, and facts on the recording.
//!
//! In: a trial and its recording. Out: when the requests fall due, for the count of those that were offered; facts, and how punctually the
//! requests began.
//!
//! A request begins late if it begins more than 1 ms after its time, or more than 1 % of the mean distance between two requests if that is
//! longer. A client that waits for a time wakes up 0.05 to 0.1 ms late, and a request takes a disk 0.1 to 10 ms: within 1 ms the requests
//! meet in the disk as they did in the recording.

use load::{DueTimes, StartCounts};
use model::{Fact, Nanos, Pacing, RecordingSummary, Trial};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use workload::replay::{Recording, due_at, speed_of};

/// Within this time a request is on time, however close the next one follows.
const ON_TIME: Nanos = Nanos::from_millis(1);
/// And within this part of the mean distance between two requests.
const ON_TIME_SHARE: f64 = 0.01;

/// The times of a recording at the speed of a replay.
pub struct RecordedTimes {
    recording: Arc<Recording>,
    speed: f64,
    starts: Mutex<StartCounts>,
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

    fn last_due(&self) -> Option<Nanos> {
        Some(due_at(self.recording.length(), self.speed))
    }

    fn on_time_within(&self) -> Nanos {
        on_time_within(due_at(self.recording.length(), self.speed), self.recording.len())
    }

    fn add_starts(&self, starts: StartCounts) {
        self.starts.lock().unwrap_or_else(PoisonError::into_inner).add(&starts);
    }
}

/// Within which time a request is on time, of so many that fall due within `length`.
fn on_time_within(length: Nanos, requests: u64) -> Nanos {
    let mean_distance_ns = length.0 as f64 / requests.max(1) as f64;
    ON_TIME.max(Nanos((mean_distance_ns * ON_TIME_SHARE) as u64))
}

impl RecordedTimes {
    /// When the requests of `recording` fall due in `trial`; `None` if it goes as fast as it can.
    pub fn of(trial: &Trial, recording: Arc<Recording>) -> Option<Arc<RecordedTimes>> {
        let speed = speed_of(&trial.workload.params)?;
        let is_open = matches!(trial.load.pacing, Pacing::Open { .. });
        is_open.then(|| Arc::new(RecordedTimes { recording, speed, starts: Mutex::default() }))
    }

    /// How punctually the requests began.
    pub fn facts(&self) -> Vec<Fact> {
        let starts = *self.starts.lock().unwrap_or_else(PoisonError::into_inner);
        let counts = [
            ("replay.starts", starts.begun),
            ("replay.starts_late", starts.late),
            ("replay.on_time_within_ns", self.on_time_within().0),
            ("replay.latest_start_ns", starts.latest.0),
        ];
        counts.map(|(name, count)| Fact::new(name, count.to_string())).into()
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_on_time_within_a_millisecond_or_a_hundredth_of_the_mean_distance() {
        let second = Nanos::from_secs(1);
        assert_eq!(on_time_within(second, 2_000), ON_TIME);
        assert_eq!(on_time_within(second, 10), ON_TIME);
        assert_eq!(on_time_within(Nanos::from_secs(60), 20), Nanos::from_millis(30));
        assert_eq!(on_time_within(Nanos(0), 0), ON_TIME);
    }
}
