//! The typed traits of a point: everything that code reads, apart from what was planned and counted.
//!
//! In: what the plan, the workload, the engine and the session declare, and the facts that they state. Out: [`PointTraits`], which the run
//! file keeps. Facts stay, for people.
//! Limits: a trait that is not known is `None`, never a guess. The names of facts that have a typed counterpart are in this folder, or in a
//! file that writes and reads such a fact.

mod engine;
mod outcome;
mod process;
mod replay;
mod work;

pub use engine::{DeviceFlushes, EngineTraits, ServerSetting};
pub use outcome::{
    BROKEN_CONDITION_FACT, BrokenCondition, ChangedSetting, CompressionOutcome, DamageCounts, IoWorkers,
    OTHER_SERVER_FACTS, OtherServerSeen, PointOutcome, is_part_of_table,
};
pub use process::{EngineProcess, UnseenServer, WritePath};
pub use replay::{RecordedContent, RecordedStarts, ReplayDivergence};
pub use work::{AccessPattern, IoWork, OrderWork, RowWork, StepIndexes, StepWork, VariantWork, WorkTraits};

use crate::background::Background;
use crate::fact::Fact;
use crate::observation::Observation;
use crate::variant::StatementEffort;
use replay::RECORDED_FACT;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What code reads of a point. Kept in the run file as the JSON object `point.traits`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PointTraits {
    /// The engine and its settings.
    pub engine: EngineTraits,
    /// The workload's parameters, by what they mean.
    pub work: WorkTraits,
    /// The point's place in its run.
    pub course: Course,
    /// What was counted once, at the end of the load or of the point.
    pub outcome: PointOutcome,
    /// The names of the parameters, of engine and workload, that have their default.
    pub defaults: Vec<String>,
    /// How people say the values of parameters in a sentence, by the names of those that declare it: `indexes`: `three secondary indexes`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub phrases: BTreeMap<String, String>,
    /// The data that was there already, which is the user's; `None` if plimsoll made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found_data: Option<FoundDataUse>,
    /// The program whose results these are, with its version; `None` if plimsoll measured the point itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub imported: Option<String>,
    /// What was seen of a server that others load; `None` if plimsoll made the load.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed: Option<Observation>,
}

/// The fact of a point with the program whose results it has.
pub const IMPORTED_FACT: &str = "imported.from";

/// The fact of a point whose data was there already: which tables it is.
const FOUND_DATA_FACT: &str = "data.origin";
/// How many rows of each table are used.
const FOUND_DATA_ROWS: &str = "data.origin_rows";
/// Whether the run was to change them.
pub const FOUND_DATA_CHANGED: &str = "data.origin_changed";

/// The fact of the last point of a run whose time was over: how long the run was to take.
pub const TIME_OVER_FACT: &str = "budget.over";

/// Data that was there already.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FoundDataUse {
    /// Which tables: `sbtest1 to sbtest4`; `None` if only the statements name them.
    pub tables: Option<String>,
    /// How many rows of each table are used.
    pub rows: Option<u64>,
    /// Whether the run was to change them.
    pub is_changed: bool,
}

/// A point's place in its run, and what was planned for it beyond its trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Course {
    /// The number of its sequence: equal for points that went on with the same data.
    pub sequence: Option<u32>,
    /// How many operations its run was to have; `None` if its time ends it.
    pub run_ops: Option<u64>,
    /// The steps before it that were performed again, because the run was resumed.
    pub replayed_steps: Vec<String>,
    /// The clients in the background of the run, in groups of one pace each.
    pub background: Vec<Background>,
    /// Whether the time of the run was over after it, so that nothing more was measured.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_time_over: bool,
}

impl PointTraits {
    /// Takes over what `fact` states, if it has a typed counterpart. A value that cannot be read is left out.
    pub fn learn(&mut self, fact: &Fact) {
        let (text, whole, number) = (fact.value.trim(), fact.whole(), fact.amount());
        let PointTraits { engine, course, outcome, imported, found_data, .. } = self;
        match fact.name.as_str() {
            IMPORTED_FACT => *imported = Some(text.to_owned()),
            FOUND_DATA_FACT | FOUND_DATA_ROWS | FOUND_DATA_CHANGED => {
                found_data.get_or_insert_default().learn(&fact.name, text, whole);
            }
            "engine.process" => engine.process = EngineProcess::from_word(text),
            "server.unseen" => engine.unseen = UnseenServer::from_word(text),
            "engine.writes" => engine.writes = WritePath::from_word(text),
            "engine.version" => engine.version = Some(text.to_owned()),
            "durability" => engine.durability = Some(text.to_owned()),
            "mariadb.innodb_page_size" | "mysql.innodb_page_size" | "postgres.block_size" => engine.page_bytes = whole,
            "mariadb.innodb_doublewrite" | "mysql.innodb_doublewrite" => engine.doublewrite_off = text == "OFF",
            "limit.memory_bytes" => engine.memory_limit_bytes = whole,
            "endpoints" => engine.endpoints = text.split(", ").map(str::to_owned).collect(),
            "cpus.count" => engine.pinned_cpus = whole.filter(|cpus| *cpus > 0),
            "limit.storage_device" => engine.limited_device = Some(text.to_owned()),
            "sequence" => course.sequence = whole.and_then(|number| number.try_into().ok()),
            "run.ops" => course.run_ops = whole,
            "prepare.steps" => course.replayed_steps = text.split(", ").map(str::to_owned).collect(),
            TIME_OVER_FACT => course.is_time_over = true,
            "drain.pending_bytes" => outcome.pending_bytes = whole,
            "settings.last_reading" => outcome.is_settings_end_unread = text == "failed",
            "server.ended" => outcome.server_ended = Some(text.to_owned()),
            "page_cache.synced" => outcome.is_synced = text == "yes",
            "instances.ops" => outcome.instance_ops = text.split(' ').filter_map(|ops| ops.parse().ok()).collect(),
            "uring.punted" => drop(outcome.io_workers.get_or_insert(IoWorkers { count: 0, cpu: None })),
            "uring.workers" => outcome.io_workers_mut().count = whole.unwrap_or(0),
            "uring.workers_cpu" => outcome.io_workers_mut().cpu = Some(text.to_owned()),
            "compress.input_bytes" => outcome.compression_mut().input_bytes = whole,
            "compress.output_bytes" => outcome.compression_mut().output_bytes = whole,
            "compress.source_read_bytes" => outcome.compression_mut().source_read_bytes = whole,
            "compress.durable_s" => outcome.compression_mut().durable_s = number,
            "compress.own_cpu_s" => outcome.compression_mut().own_cpu_s = number,
            "compress.kernel_cpu_s" => outcome.compression_mut().kernel_cpu_s = number,
            "compress.daemon_cpu_s" => outcome.compression_mut().daemon_cpu_s = number,
            "decompress.daemon_cpu_s" => outcome.compression_mut().decompress_daemon_cpu_s = number,
            "decompress.seconds" => outcome.compression_mut().decompress_s = number,
            "decompress.own_cpu_s" => outcome.compression_mut().decompress_own_cpu_s = number,
            "decompress.kernel_cpu_s" => outcome.compression_mut().decompress_kernel_cpu_s = number,
            "result.rows" | "result.columns" | "result.checksum" => outcome.learn_result(&fact.name, text, whole),
            "explain.built" => outcome.built = Some(text.to_owned()),
            "explain.plan" => outcome.plan = Some(fact.value.clone()),
            "statement.timeouts" => outcome.timeouts = whole.unwrap_or(0),
            name if let (Some(effort), Some(amount)) = (StatementEffort::from_fact_name(name), number) => {
                outcome.efforts.insert(effort, amount);
            }
            name => {
                if name.starts_with("load.") || name.starts_with("data.") {
                    outcome.learn_data(name, text, whole, number);
                } else if let Some(name) = name.strip_prefix("hold.") {
                    outcome.hold.get_or_insert_default().learn(name, text);
                } else if let Some(number) = name.strip_prefix(BROKEN_CONDITION_FACT).and_then(|it| it.parse().ok()) {
                    outcome.learn_broken_condition(number, text);
                } else if let Some(name) = name.strip_prefix("verify.") {
                    outcome.damage.learn(name, whole.unwrap_or(0));
                } else if let Some(name) = name.strip_prefix("flush.") {
                    engine.flushes.get_or_insert_default().learn(name, text, whole);
                } else if let Some(name) = name.strip_prefix("backlog.") {
                    outcome.backlog.learn(name, whole);
                } else if name.starts_with("replay_") || name.starts_with(RECORDED_FACT) {
                    outcome.learn_replay(name, text);
                } else if let Some(name) = name.strip_prefix("replay.") {
                    outcome.learn_starts(name, whole.unwrap_or(0));
                } else {
                    outcome.learn_setting(name, text);
                }
            }
        }
    }

    /// Takes over what all of `facts` state.
    pub fn learn_all(&mut self, facts: &[Fact]) {
        facts.iter().for_each(|fact| self.learn(fact));
    }
}

impl FoundDataUse {
    fn learn(&mut self, name: &str, text: &str, whole: Option<u64>) {
        match name {
            FOUND_DATA_ROWS => self.rows = whole,
            FOUND_DATA_CHANGED => self.is_changed = text == "yes",
            _ => self.tables = Some(text.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn learnt(facts: &[(&str, &str)]) -> PointTraits {
        let mut traits = PointTraits::default();
        facts.iter().for_each(|(name, value)| traits.learn(&Fact::new(*name, *value)));
        traits
    }

    #[test]
    fn facts_that_code_reads_become_typed_and_others_stay_facts() {
        let traits = learnt(&[
            ("engine.process", "elsewhere"),
            ("engine.writes", "append"),
            ("page_cache.synced", "yes"),
            ("load.settle_s", "0.5"),
            ("data.bytes", "4096"),
            ("prepare.steps", "l.i0, l.x"),
            ("budget.over", "15 min"),
            ("uring.punted", "no"),
            ("engine.version", "3.50"),
            ("server.pid", "17"),
        ]);
        let found = learnt(&[
            ("data.origin", "sbtest1"),
            ("data.origin_rows", "5"),
            ("data.origin_count", "counted"),
            ("data.origin_changed", "yes"),
        ]);
        let expected = FoundDataUse { tables: Some("sbtest1".into()), rows: Some(5), is_changed: true };
        assert_eq!((found.found_data, &traits.found_data), (Some(expected), &None));
        assert_eq!(traits.engine.process, EngineProcess::Elsewhere);
        assert_eq!((traits.outcome.load_settle_s, traits.outcome.data_bytes), (Some(0.5), Some(4_096)));
        assert_eq!((traits.engine.writes, traits.outcome.is_synced), (WritePath::Append, true));
        assert_eq!(traits.course.replayed_steps, ["l.i0", "l.x"]);
        assert!(traits.course.is_time_over);
        assert_eq!(traits.outcome.io_workers, Some(IoWorkers { count: 0, cpu: None }));
        assert_eq!(traits.engine.version.as_deref(), Some("3.50"));
        assert_eq!(learnt(&[("server.pid", "17")]), PointTraits::default());
    }

    #[test]
    fn a_setting_that_changed_is_learnt_from_two_facts() {
        let facts = [("setting.before.fsync", "on"), ("setting.before.jit", "on"), ("setting.after.fsync", "off")];
        let changed = |name: &str, before: &str, after: &str| ChangedSetting {
            name: name.into(),
            before: before.into(),
            after: after.into(),
        };
        let learnt = learnt(&facts).outcome.changed_settings;
        assert_eq!(learnt, [changed("fsync", "on", "off"), changed("jit", "on", "")]);
    }

    #[test]
    fn a_value_that_cannot_be_read_is_not_known() {
        assert_eq!(
            learnt(&[("run.ops", "many"), ("load.settle_s", "-1"), ("engine.process", "?"), ("engine.writes", "?")]),
            PointTraits::default()
        );
    }

    #[test]
    fn traits_outlive_json_and_what_an_object_lacks_has_its_default() {
        let traits = learnt(&[("engine.process", "own"), ("uring.workers", "3"), ("sequence", "2")]);
        let json = serde_json::to_string(&traits).expect("it is plain data");
        assert_eq!(serde_json::from_str::<PointTraits>(&json).expect("as written"), traits);
        assert_eq!(serde_json::from_str::<PointTraits>("{}").expect("all is optional"), PointTraits::default());
    }
}
