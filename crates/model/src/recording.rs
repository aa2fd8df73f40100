//! What a recording holds that is replayed: how many operations, over what time, on how much data.
//!
//! In: it is read with the plan. Out: the value of a parameter, so that a trial is complete without the recording itself. Limits: figures
//! only. The operations are read again when they are performed.

use crate::units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The figures of a recording.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordingSummary {
    /// The file that it is in.
    pub path: String,
    pub ops: u64,
    /// From its first operation to its last.
    pub length: Nanos,
    /// The figures of its I/O, if it is a recording of block requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io: Option<RecordedWork>,
    /// The figures of its sessions, if it is a log of statements.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sessions: Option<RecordedSessions>,
}

/// The figures of recorded sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedSessions {
    /// How many there are.
    pub count: u32,
    /// The most that were open at once.
    pub most_at_once: u32,
    /// When none of them sent anything.
    #[serde(default)]
    pub pauses: RecordedPauses,
    /// If they are replayed several times at once: how far into the recording further copies begin at most.
    #[serde(default)]
    pub shift: Nanos,
    /// The beginning of a digest of all statements and their times: the same for a log, a copy of it and its workload file.
    #[serde(default)]
    pub digest: u32,
}

/// The times in which nothing was recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedPauses {
    /// What is above one minute of each pause, of all together.
    pub sum: Nanos,
    pub longest: Nanos,
    /// When it begins, after the first operation.
    pub longest_after: Nanos,
}

/// The figures of recorded block requests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedWork {
    /// The device that the requests went to, as `MAJOR:MINOR`.
    pub device: String,
    pub reads: u64,
    /// Writes, with those by FUA.
    pub writes: u64,
    /// Writes that were to be on the medium when they were done.
    pub fua_writes: u64,
    /// Flushes of the device's write cache.
    pub flushes: u64,
    /// The bytes of all reads.
    pub read_bytes: Bytes,
    /// The bytes of all writes.
    pub written_bytes: Bytes,
    pub largest: Bytes,
    /// A power of two of which all offsets and sizes are multiples.
    pub granule: Bytes,
    /// How much data a file must have for them.
    pub data: Bytes,
    /// Discards, which are not replayed.
    pub discards: u64,
    /// Requests that move no data of files, such as commands to the device, which are not replayed.
    pub others: u64,
    /// Events that the kernel could not keep, as it says.
    pub lost: u64,
}

impl RecordingSummary {
    /// Whether a replay of `other` is a replay of this: wherever the files are, and however much further copies are shifted.
    pub fn says_the_same(&self, other: &RecordingSummary) -> bool {
        let unshifted = |summary: &RecordingSummary| {
            summary.sessions.map(|sessions| RecordedSessions { shift: Nanos(0), ..sessions })
        };
        let figures = |summary: &RecordingSummary| (summary.ops, summary.length);
        figures(self) == figures(other) && self.io == other.io && unshifted(self) == unshifted(other)
    }

    /// Names it apart from another recording at the same path: by `digest`, which is that of its statements.
    pub fn name_by_digest(&mut self, digest: u32) {
        self.path += &format!(" with other statements, digest {digest:08x}");
    }

    /// How many operations fall due in a second if it is replayed at `speed`.
    pub fn per_s(&self, speed: f64) -> f64 {
        self.ops as f64 * speed / Nanos(self.length.0.max(1)).as_secs_f64()
    }

    /// How much of its time is replayed `times` at once: copies that do not begin together end together all the same.
    pub fn length_of(&self, times: f64) -> Nanos {
        let shift = self.sessions.filter(|_| times > 1.0).map_or(Nanos(0), |sessions| sessions.shift);
        Nanos(self.length.0.saturating_sub(shift.0))
    }

    /// About how many operations it has `times` at once.
    pub fn ops_in(&self, times: f64) -> u64 {
        let share = self.length_of(times).0 as f64 / self.length.0.max(1) as f64;
        if times == 1.0 { self.ops } else { (self.ops as f64 * times * share).round() as u64 }
    }
}

impl RecordedSessions {
    /// So many sessions are open at once at most if they are replayed `times` at once.
    pub fn at_once_in(&self, times: f64) -> u32 {
        (f64::from(self.most_at_once) * times.ceil()) as u32
    }
}

impl fmt::Display for RecordingSummary {
    /// As a person would write it in a plan.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path)
    }
}
