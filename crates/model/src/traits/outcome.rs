//! What was counted once, at the end of the load or of the point.
//!
//! In: facts. Out: [`PointOutcome`]. Limits: a value that cannot be read is left out.

use super::replay::{RECORDED_FACT, RecordedContent, RecordedStarts, ReplayDivergence};
use crate::connections::{HoldOutcome, ListenBacklog};
use crate::kind_plan::{KindPlan, REPLAY_PLAN_FACT};
use crate::replay_facts::{
    FailureMessage, KindResults, REPLAY_COMPARED_FACT, REPLAY_COUNTERS_FACT, REPLAY_DIVERGENCE_FACT,
    REPLAY_FAILURES_FACT, REPLAY_IDS_FACT, REPLAY_KEYS_FACT, REPLAY_ORDER_FACT, REPLAY_RESULTS_FACT,
    REPLAY_UNTOLD_FACT, TRIGGERED_FACT,
};
use crate::units::Nanos;
use crate::variant::{StatementEffort, StatementResult};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What was counted once, at the end of the load or of the point.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PointOutcome {
    /// Rows that the load made, as the engine counted them.
    pub loaded_rows: Option<u64>,
    /// Bytes on disk after the load, logs included.
    pub loaded_bytes: Option<u64>,
    /// The part of them that is logs.
    pub loaded_log_bytes: Option<u64>,
    /// Seconds from the last row of the load until the engine was idle.
    pub load_settle_s: Option<f64>,
    /// The part of them in which indexes were made.
    pub load_index_s: Option<f64>,
    /// The data set that the point began with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_set: Option<String>,
    /// How a run before has changed its rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_set_changed: Option<String>,
    /// Bytes of the data on disk at the end, logs included.
    pub data_bytes: Option<u64>,
    /// The part of them that is logs.
    pub log_bytes: Option<u64>,
    /// Bytes that were still pending when a drain made no more progress.
    pub pending_bytes: Option<u64>,
    /// Settings of the server that changed between the beginning and the end of the point.
    pub changed_settings: Vec<ChangedSetting>,
    /// Whether the settings of the server could not be read after the load.
    pub is_settings_end_unread: bool,
    /// How the server ended by itself, in words of its process; `None` if it did not.
    pub server_ended: Option<String>,
    /// Another server that answered; `None` if it was always the same one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other_server: Option<OtherServerSeen>,
    /// Whether the page cache was written to the disk before the load and after it, before the last reading of the counters.
    pub is_synced: bool,
    /// The operations that each of several instances did in the run phase; empty of one instance.
    pub instance_ops: Vec<u64>,
    /// What was read back and is damaged.
    pub damage: DamageCounts,
    /// The conditions of the workload that its rows break.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub broken_conditions: Vec<BrokenCondition>,
    /// The threads of the kernel that performed what io_uring could not do without blocking; `None` without io_uring.
    pub io_workers: Option<IoWorkers>,
    /// What the statement of a variant has returned.
    pub result: Option<StatementResult>,
    /// Executions of steps that were cancelled at their time limit.
    pub timeouts: u64,
    /// What one execution of the statement of a variant cost inside the engine, outside of what was measured.
    pub efforts: BTreeMap<StatementEffort, f64>,
    /// What was held when the engine refused one more; `None` if nothing was.
    pub hold: Option<HoldOutcome>,
    /// The settings on which the queues of a listener depend, and the queues themselves.
    pub backlog: ListenBacklog,
    /// What the optimizer built for that statement alone, in words of the engine.
    pub built: Option<String>,
    /// The optimizer's plan of it.
    pub plan: Option<String>,
    /// What compressing a file showed; `None` if the point compresses none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compression: Option<CompressionOutcome>,
    /// How punctually the requests of a recording began; `None` if the point replays none at its own times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub starts: Option<RecordedStarts>,
    /// What the statements of a replay have returned, by their kinds; empty if that was not asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub replay_results: Vec<KindResults>,
    /// How the server performs the statements of a replay, by their kinds; empty if it was not asked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub replay_plans: Vec<KindPlan>,
    /// What the statements of a replay failed with, the most frequent message first; empty if none failed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub replay_failures: Vec<FailureMessage>,
    /// How far the statements of a replay did what the recorded ones did; `None` if that was not looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replay_divergence: Option<ReplayDivergence>,
    /// What the recording has whose statements were replayed, and what is missing in it; `None` if no statements were replayed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recorded: Option<RecordedContent>,
}

/// The facts that tell of the divergence of a replay as a whole.
const OF_DIVERGENCE: [&str; 7] = [
    REPLAY_COMPARED_FACT,
    REPLAY_UNTOLD_FACT,
    TRIGGERED_FACT,
    REPLAY_ORDER_FACT,
    REPLAY_KEYS_FACT,
    REPLAY_IDS_FACT,
    REPLAY_COUNTERS_FACT,
];

/// The facts of a point in which another server answered: what the one that is measured reports of itself, and what the other one does.
pub const OTHER_SERVER_FACTS: [&str; 2] = ["server.first", "server.other"];

/// Another server that answered in the place of the one that is measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct OtherServerSeen {
    /// What the one that is measured reports of itself.
    pub first: String,
    /// What the other one reports of itself.
    pub other: String,
}

/// What compressing a file showed. Times are in seconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CompressionOutcome {
    /// The length of the file.
    pub input_bytes: Option<u64>,
    /// The size of the result, after it was synced.
    pub output_bytes: Option<u64>,
    /// Bytes of the file that did not come from memory while it was compressed.
    pub source_read_bytes: Option<u64>,
    /// Seconds until the result was on disk.
    pub durable_s: Option<f64>,
    /// CPU seconds of plimsoll's process until the result was on disk.
    pub own_cpu_s: Option<f64>,
    /// CPU seconds of the kernel's threads until the result was on disk.
    pub kernel_cpu_s: Option<f64>,
    /// CPU time of the process that is the file system, if one is.
    pub daemon_cpu_s: Option<f64>,
    /// Seconds in which the result was read back from the disk.
    pub decompress_s: Option<f64>,
    /// CPU seconds of plimsoll's process while the result was read back.
    pub decompress_own_cpu_s: Option<f64>,
    /// CPU seconds of the kernel's threads while the result was read back.
    pub decompress_kernel_cpu_s: Option<f64>,
    /// CPU seconds of the process that is the file system while the result was read back.
    pub decompress_daemon_cpu_s: Option<f64>,
}

/// Whether what changed under this name is a column or an index of a table, and no setting.
pub fn is_part_of_table(name: &str) -> bool {
    name.starts_with("column ") || name.starts_with("index ")
}

/// A setting of a server that changed during a point, or a part of a table: a column with its type, an index with its columns.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedSetting {
    /// Its name on the server.
    pub name: String,
    /// Its value when the point began.
    pub before: String,
    /// The first other value.
    pub after: String,
}

/// A condition that the rows of a workload do not fulfil.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrokenCondition {
    /// Its number.
    pub number: u64,
    /// What must hold, and the first row for which it does not.
    pub text: String,
}

/// The name of the fact with a broken condition, before its number.
pub const BROKEN_CONDITION_FACT: &str = "conditions.broken.";

/// Units of data that were read back and are not what was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DamageCounts {
    /// With other contents than were ever written.
    pub corrupt: u64,
    /// With contents that had been overwritten.
    pub stale: u64,
    /// With contents of another place.
    pub misdirected: u64,
}

/// Threads of io_uring's pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IoWorkers {
    /// The most at a time.
    pub count: u64,
    /// Their CPU time, for people.
    pub cpu: Option<String>,
}

impl DamageCounts {
    pub(super) fn learn(&mut self, name: &str, count: u64) {
        match name {
            "corrupt" => self.corrupt = count,
            "stale" => self.stale = count,
            "misdirected" => self.misdirected = count,
            _ => {}
        }
    }
}

impl PointOutcome {
    /// Takes over what a fact says of the statements of a replay: what was recorded, what they returned, how they are performed, what they
    /// failed with, or how far they diverged.
    pub(super) fn learn_replay(&mut self, name: &str, text: &str) {
        if name.starts_with(REPLAY_RESULTS_FACT) {
            self.replay_results.extend(KindResults::from_text(text));
        } else if name.starts_with(REPLAY_PLAN_FACT) {
            self.replay_plans.extend(KindPlan::from_text(text));
        } else if name.starts_with(REPLAY_FAILURES_FACT) {
            self.replay_failures.extend(FailureMessage::from_text(text));
        } else if OF_DIVERGENCE.contains(&name) || name.starts_with(REPLAY_DIVERGENCE_FACT) {
            self.replay_divergence.get_or_insert_default().learn(name, text);
        } else if let Some(name) = name.strip_prefix(RECORDED_FACT) {
            self.recorded.get_or_insert_default().learn(name, text);
        } else {
            self.learn_setting(name, text);
        }
    }

    /// Takes over what a fact says of the load, of the data set and of the size of the data.
    pub(super) fn learn_data(&mut self, name: &str, text: &str, whole: Option<u64>, number: Option<f64>) {
        match name {
            "load.rows" => self.loaded_rows = whole,
            "load.bytes" => self.loaded_bytes = whole,
            "load.log_bytes" => self.loaded_log_bytes = whole,
            "load.settle_s" => self.load_settle_s = number,
            "load.index_s" => self.load_index_s = number,
            "data.set" => self.data_set = Some(text.to_owned()),
            "data.set_changed" => self.data_set_changed = Some(text.to_owned()),
            "data.bytes" => self.data_bytes = whole,
            "data.log_bytes" => self.log_bytes = whole,
            _ => {}
        }
    }

    /// Takes over a value from before or after the change of a setting; any other fact changes nothing.
    pub(super) fn learn_setting(&mut self, fact: &str, value: &str) {
        if let Some(setting) = fact.strip_prefix("setting.before.") {
            value.clone_into(&mut self.changed_setting(setting).before);
        } else if let Some(setting) = fact.strip_prefix("setting.after.") {
            value.clone_into(&mut self.changed_setting(setting).after);
        } else if fact == OTHER_SERVER_FACTS[0] {
            value.clone_into(&mut self.other_server.get_or_insert_default().first);
        } else if fact == OTHER_SERVER_FACTS[1] {
            value.clone_into(&mut self.other_server.get_or_insert_default().other);
        }
    }

    pub(super) fn learn_broken_condition(&mut self, number: u64, text: &str) {
        self.broken_conditions.retain(|known| known.number != number);
        self.broken_conditions.push(BrokenCondition { number, text: text.to_owned() });
    }

    fn changed_setting(&mut self, name: &str) -> &mut ChangedSetting {
        let at = self.changed_settings.iter().position(|known| known.name == name).unwrap_or_else(|| {
            self.changed_settings.push(ChangedSetting { name: name.to_owned(), ..ChangedSetting::default() });
            self.changed_settings.len() - 1
        });
        &mut self.changed_settings[at]
    }

    pub(super) fn learn_result(&mut self, name: &str, text: &str, whole: Option<u64>) {
        let result = self.result_mut();
        match name {
            "result.rows" => result.rows = whole.unwrap_or(0),
            "result.columns" => result.columns = whole.unwrap_or(0),
            _ => result.checksum = text.to_owned(),
        }
    }

    fn result_mut(&mut self) -> &mut StatementResult {
        self.result.get_or_insert_default()
    }

    /// Takes over a figure of how punctually the requests of a recording began; other facts of a replay change nothing.
    pub(super) fn learn_starts(&mut self, name: &str, figure: u64) {
        let starts = self.starts.unwrap_or_default();
        self.starts = match name {
            "starts" => Some(RecordedStarts { begun: figure, ..starts }),
            "starts_late" => Some(RecordedStarts { late: figure, ..starts }),
            "on_time_within_ns" => Some(RecordedStarts { on_time_within_ns: Nanos(figure), ..starts }),
            "latest_start_ns" => Some(RecordedStarts { latest_ns: Nanos(figure), ..starts }),
            _ => self.starts,
        };
    }

    pub(super) fn compression_mut(&mut self) -> &mut CompressionOutcome {
        self.compression.get_or_insert_default()
    }

    pub(super) fn io_workers_mut(&mut self) -> &mut IoWorkers {
        self.io_workers.get_or_insert(IoWorkers { count: 0, cpu: None })
    }
}
