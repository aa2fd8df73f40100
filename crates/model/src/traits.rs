//! The typed traits of a point and of a machine: everything that code reads, apart from what was planned and counted.
//!
//! In: what the plan, the workload, the engine and the session declare, and the facts that they state. Out: [`PointTraits`] and
//! [`Machine`], which the run file keeps. Facts stay, for people.
//! Limits: a trait that is not known is `None`, never a guess. Only this file has the names of the facts that have a typed counterpart.

use crate::background::Background;
use crate::connections::{HoldKind, HoldOutcome, ListenBacklog};
use crate::hourly_cost::HourlyCost;
use crate::kind_plan::{KindPlan, REPLAY_PLAN_FACT};
use crate::network::{InterfaceLink, LINK_FACT, LinkSpeed, StatedLinks};
use crate::observation::Observation;
use crate::op::OpKind;
use crate::params::{Meaning, ParamDef, Params, Value};
use crate::role::StepIndexes;
use crate::sample::Fact;
use crate::units::{Bytes, Nanos};
use crate::variant::{StatementEffort, StatementResult, StepPart};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Whose process the engine's work is done in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EngineProcess {
    /// Processes of the engine's own.
    Own,
    /// The client threads and further threads of plimsoll's process.
    Embedded,
    /// There is no engine: the client threads do the I/O themselves.
    None,
    /// On a server that plimsoll did not start and whose processes it does not see. [`EngineTraits::unseen`] has the reason.
    Elsewhere,
    /// It is not known.
    #[default]
    Unknown,
}

impl EngineProcess {
    /// Whether the client threads do nothing of the engine's work. An embedded engine works on them: what it used there cannot be
    /// separated from the client's part.
    pub fn is_apart_from_clients(self) -> bool {
        matches!(self, EngineProcess::Own | EngineProcess::None | EngineProcess::Elsewhere)
    }

    /// Whether the counters of processes are those of an engine.
    pub fn is_counted(self) -> bool {
        matches!(self, EngineProcess::Own | EngineProcess::Embedded)
    }

    /// The word used in facts.
    pub fn as_str(self) -> &'static str {
        match self {
            EngineProcess::Own => "own",
            EngineProcess::Embedded => "embedded",
            EngineProcess::None => "none",
            EngineProcess::Elsewhere => "elsewhere",
            EngineProcess::Unknown => "unknown",
        }
    }

    fn from_word(word: &str) -> EngineProcess {
        let known = [EngineProcess::Own, EngineProcess::Embedded, EngineProcess::None, EngineProcess::Elsewhere];
        known.into_iter().find(|process| process.as_str() == word).unwrap_or_default()
    }
}

/// Why a server that plimsoll did not start is not seen, or not all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnseenServer {
    /// It is on another machine.
    Remote,
    /// Its process belongs to another user, and plimsoll is not root.
    NotPermitted,
    /// Its process is seen, but for the same reason not its I/O.
    IoNotPermitted,
    /// The connection ends in no process that can be seen: in a container, a virtual machine, or behind a translation of addresses.
    NotFound,
    /// The connection ends in a proxy or a tunnel.
    OtherProgram,
    /// It ended while it was measured, and was perhaps started again.
    Restarted,
}

impl UnseenServer {
    /// The word used in facts.
    pub fn as_str(self) -> &'static str {
        match self {
            UnseenServer::Remote => "remote",
            UnseenServer::NotPermitted => "not-permitted",
            UnseenServer::IoNotPermitted => "io-not-permitted",
            UnseenServer::NotFound => "not-found",
            UnseenServer::OtherProgram => "other-program",
            UnseenServer::Restarted => "restarted",
        }
    }

    fn from_word(word: &str) -> Option<UnseenServer> {
        use UnseenServer::{IoNotPermitted, NotFound, NotPermitted, OtherProgram, Remote, Restarted};
        let known = [Remote, NotPermitted, IoNotPermitted, NotFound, OtherProgram, Restarted];
        known.into_iter().find(|why| why.as_str() == word)
    }
}

/// How an engine's writes reach the disk. It decides whether the kernel's account of a process's writes can be believed: the kernel
/// charges buffered writes when they make a page of the cache dirty, with the whole folio that the page is in (up to some MiB).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WritePath {
    /// Past the page cache, or not at all: each byte is charged once.
    Direct,
    /// Through the page cache, and only to the ends of files: a page that is new is as large as what was written.
    Append,
    /// Through the page cache, over what was there before: each write may be charged as a whole folio.
    Buffered,
    /// It is not known: the server is not plimsoll's.
    #[default]
    Unknown,
}

impl WritePath {
    /// The word used in facts.
    pub fn as_str(self) -> &'static str {
        match self {
            WritePath::Direct => "direct",
            WritePath::Append => "append",
            WritePath::Buffered => "buffered",
            WritePath::Unknown => "unknown",
        }
    }

    fn from_word(word: &str) -> WritePath {
        let known = [WritePath::Direct, WritePath::Append, WritePath::Buffered];
        known.into_iter().find(|path| path.as_str() == word).unwrap_or_default()
    }
}

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

/// The engine of a point and its settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct EngineTraits {
    /// Its version, in its own words.
    pub version: Option<String>,
    /// Whose process its work is done in.
    pub process: EngineProcess,
    /// Why a server that plimsoll did not start is not seen, or not all of it.
    pub unseen: Option<UnseenServer>,
    /// How its writes reach the disk.
    pub writes: WritePath,
    /// Whether it only pretends to work, so that nothing but the generator can be learnt from it.
    pub scripted: bool,
    /// The durability as read back, or else as planned.
    pub durability: Option<String>,
    /// The cache that it was given, in bytes.
    pub cache_bytes: Option<u64>,
    /// The threads that serve the clients; `None` if each client has its own.
    pub client_threads: Option<u64>,
    /// Whether I/O goes past the page cache; `None` if the engine has no such setting.
    pub direct_io: Option<bool>,
    /// Whether the kernel's own asynchronous I/O (libaio) is used, which blocks on buffered files.
    pub kernel_aio: bool,
    /// The bytes of one of its pages, by which counters of pages become bytes.
    pub page_bytes: Option<u64>,
    /// Whether it has a doublewrite buffer that is switched off.
    pub doublewrite_off: bool,
    /// The memory that it may have, in bytes, as the kernel holds it; `None` for all of the machine.
    pub memory_limit_bytes: Option<u64>,
    /// The device on which its storage is limited.
    pub limited_device: Option<String>,
    /// All settings of the server when the point began, sorted by name; empty without a server, or if it did not answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<ServerSetting>,
    /// How many CPUs plimsoll and the engine were pinned to, in all; `None` if they were not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pinned_cpus: Option<u64>,
    /// The names of its endpoints, in the order of their numbers; empty if it has one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub endpoints: Vec<String>,
    /// Whether clients connect for each operation, and set up each connection by statements of its own.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub connects_for_each_op: bool,
    /// How the device of its data flushes; `None` if its commits need not be on a disk, or if that cannot be told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flushes: Option<DeviceFlushes>,
}

/// How a block device flushes, as plimsoll saw it before the load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DeviceFlushes {
    /// The least time that writing and syncing a block took.
    pub fastest_ns: Nanos,
    /// Whether the kernel counts each flush of the device.
    pub is_counted: bool,
    /// Whether a write may be durable by itself, without a flush.
    pub writes_durably: bool,
}

/// A setting of a server, whether the plan sets it or not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerSetting {
    /// Its name on the server.
    pub name: String,
    /// Its value, in the server's words.
    pub value: String,
    /// Whether it decides about durability, caches, logging or isolation.
    pub matters: bool,
}

/// What a workload's parameters mean at a point.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct WorkTraits {
    /// Reads and writes of a file; `None` for other families.
    pub io: Option<IoWork>,
    /// The rows that it inserts; `None` if it inserts none, or nothing is known of them.
    pub rows: Option<RowWork>,
    /// The step of a sequence that it is; `None` if it is in none.
    pub step: Option<StepWork>,
    /// The variant of a statement that it is; `None` if it is none.
    pub variant: Option<VariantWork>,
    /// What it opens and holds until the engine refuses one more; `None` if it holds nothing.
    pub hold: Option<HoldKind>,
    /// The computation that it repeats; `None` if it does anything else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// The warehouses for which it enters orders; `None` if it enters none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub orders: Option<OrderWork>,
}

/// Order entry.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct OrderWork {
    /// How many warehouses there are.
    pub warehouses: u64,
    /// The keying and think times of the terminals, as a factor of those that are published; 0 for none.
    pub pauses: f64,
    /// The kind of operation that is a new order.
    pub new_order: OpKind,
}

impl OrderWork {
    /// The seconds of a transaction of a terminal with the published pauses, if the system answers at once (clause 4.2 of the
    /// specification).
    const PUBLISHED_CYCLE_S: f64 = 20.99;
    /// The most new orders that ten terminals of a warehouse can enter in a minute with these pauses: 45 of 100 transactions.
    const PUBLISHED_MAX: f64 = 10.0 * 0.45 * 60.0 / OrderWork::PUBLISHED_CYCLE_S;

    /// The most new orders that a warehouse can have in a minute; `None` without pauses.
    pub fn most_per_minute(&self) -> Option<f64> {
        (self.pauses > 0.0).then(|| OrderWork::PUBLISHED_MAX / self.pauses)
    }

    /// The most transactions that a client can have in a second; `None` without pauses.
    pub fn most_per_client_and_second(&self) -> Option<f64> {
        (self.pauses > 0.0).then(|| 1.0 / (OrderWork::PUBLISHED_CYCLE_S * self.pauses))
    }
}

/// A variant of a statement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VariantWork {
    /// Its name.
    pub name: String,
    /// The parameter that names it.
    pub param: String,
    /// What each of its steps is for: those of the kinds of operation with the same numbers.
    pub parts: Vec<StepPart>,
    /// Whether it begins with cold caches.
    pub is_cold: bool,
    /// The time limit of each step, in nanoseconds; `None` for none.
    pub timeout: Option<Nanos>,
}

/// Whether operations follow one another on the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AccessPattern {
    /// Each goes to a block of its own choice.
    Random,
    /// Each begins where the one before it ended.
    Sequential,
}

/// Reads and writes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct IoWork {
    /// The size of each.
    pub block: Bytes,
    /// Where they go.
    pub pattern: AccessPattern,
    /// The share of reads among them, 0 to 1.
    pub read_share: f64,
    /// Whether clients sync what they wrote by calls of their own.
    pub syncs: bool,
}

/// Rows that a workload inserts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RowWork {
    /// How many the run is to insert, over all clients; `None` if its time ends it.
    pub asked: Option<u64>,
    /// The widths of a row's columns, in bytes, without index entries.
    pub payload_bytes: Option<u64>,
    /// After so many rows over all tables these begin new partitions; `None` if they have none.
    pub partition_rows: Option<u64>,
    /// Whether rows are deleted, too.
    pub deletes: bool,
}

/// A step of a sequence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepWork {
    /// Its name.
    pub name: String,
    /// Its place in the order of all steps, from 0.
    pub at: u32,
    /// Whether it waits until the engine has written what it put off.
    pub drains: bool,
    /// What it does to secondary indexes.
    pub indexes: StepIndexes,
    /// The steps with which it belongs together in a table; `None` if the steps have no groups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
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
}

/// How far the statements of a replay did what the recorded ones did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplayDivergence {
    /// By what they were compared.
    pub compared_by: ComparedBy,
    /// How many were compared.
    pub compared: u64,
    /// How many of them diverged.
    pub diverged: u64,
    /// Each kind of which some were compared.
    pub kinds: Vec<KindDivergence>,
    /// How many name a row that another session wrote before them.
    #[serde(default)]
    pub ordered: u64,
    /// How many of these were sent before that write had ended.
    #[serde(default)]
    pub ahead: u64,
    /// How long statements waited for such a write, all clients together.
    #[serde(default)]
    pub held_back_ns: Nanos,
    /// How long those waited that did not see its end.
    #[serde(default)]
    pub in_vain_ns: Nanos,
    /// How many keys have values of their own in each copy.
    #[serde(default)]
    pub keys: u64,
    /// Those of them of which no value was moved.
    #[serde(default)]
    pub still_keys: Vec<String>,
}

/// What a log has of answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ComparedBy {
    /// None.
    #[default]
    Nothing,
    /// None, since its values are others than the recorded ones.
    Hashed,
    /// Whether statements failed.
    Errors,
    /// How many rows they returned and changed.
    Rows,
}

/// How far the statements of one kind did what the recorded ones did. Each of them counts once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KindDivergence {
    /// The name of the kind.
    pub kind: String,
    /// How many were compared.
    pub compared: u64,
    /// Those that failed, and had not failed.
    pub failed: u64,
    /// Those that did not fail, and had failed.
    pub succeeded: u64,
    /// Those that returned another number of rows.
    pub returned: u64,
    /// Those that changed another number of rows.
    pub changed: u64,
    /// Those that made another id.
    pub other_id: u64,
}

/// What the name of a fact begins with that tells how far statements of one kind diverged; the number of the kind follows.
pub const REPLAY_DIVERGENCE_FACT: &str = "replay_divergence.";
/// The fact that tells by what the statements of a replay were compared with the recorded ones.
pub const REPLAY_COMPARED_FACT: &str = "replay_compared";

/// The fact that tells how many statements of a replay waited for one of another session on the same row.
pub const REPLAY_ORDER_FACT: &str = "replay_order";
/// The fact that tells of each key of a replay how many of its values each further copy has moved.
pub const REPLAY_KEYS_FACT: &str = "replay_keys";

/// A message with which statements of a replay failed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailureMessage {
    /// How many.
    pub failed: u64,
    /// What the server said, without numbers in quotes.
    pub message: String,
}

/// What the name of a fact begins with that tells with which message statements of a replay failed; its rank follows.
pub const REPLAY_FAILURES_FACT: &str = "replay_failures.";

/// What all statements of one kind have returned.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KindResults {
    /// The name of the kind.
    pub kind: String,
    /// How many statements were answered.
    pub answers: u64,
    /// The rows of all answers.
    pub rows: u64,
    /// The columns of all answers.
    pub columns: u64,
    /// The sum of the hashes of all answers, each with its statement.
    pub checksum: String,
}

/// What the name of a fact begins with that tells what one kind of statement of a replay has returned; the number of the kind follows.
pub const REPLAY_RESULTS_FACT: &str = "replay_results.";

/// How punctually the requests of a recording began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RecordedStarts {
    /// Requests that began.
    pub begun: u64,
    /// Those of them that began later than `on_time_within_ns` after their time.
    pub late: u64,
    /// Within which time a request was on time.
    pub on_time_within_ns: Nanos,
    /// The longest time between the time of a request and its beginning.
    pub latest_ns: Nanos,
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

impl PointTraits {
    /// Takes over what `fact` states, if it has a typed counterpart. A value that cannot be read is left out.
    pub fn learn(&mut self, fact: &Fact) {
        let (text, whole, number) = (fact.value.trim(), parse_whole(fact), parse_amount(fact));
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
                } else if name.starts_with("replay_") {
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

impl DamageCounts {
    fn learn(&mut self, name: &str, count: u64) {
        match name {
            "corrupt" => self.corrupt = count,
            "stale" => self.stale = count,
            "misdirected" => self.misdirected = count,
            _ => {}
        }
    }
}

impl DeviceFlushes {
    fn learn(&mut self, name: &str, text: &str, whole: Option<u64>) {
        match name {
            "fastest_ns" => self.fastest_ns = Nanos(whole.unwrap_or(0)),
            "counted" => self.is_counted = text == "yes",
            "durable_writes" => self.writes_durably = text == "yes",
            _ => {}
        }
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

impl FailureMessage {
    /// What a fact says: how many statements, and the message; `None` if it says something else.
    fn from_text(text: &str) -> Option<FailureMessage> {
        let (failed, message) = text.split_once(' ')?;
        Some(FailureMessage { failed: failed.parse().ok()?, message: message.to_owned() })
    }
}

impl KindResults {
    /// What a fact says: answers, rows, columns, the checksum and the name of the kind; `None` if it says something else.
    fn from_text(text: &str) -> Option<KindResults> {
        let mut parts = text.splitn(5, ' ');
        let mut number = || parts.next()?.parse().ok();
        let (answers, rows, columns) = (number()?, number()?, number()?);
        let (checksum, kind) = (parts.next()?.to_owned(), parts.next()?.to_owned());
        Some(KindResults { kind, answers, rows, columns, checksum })
    }
}

impl KindDivergence {
    /// What a fact says: how many were compared, how many diverged in each way, and the name of the kind; `None` if it says something else.
    fn from_text(text: &str) -> Option<KindDivergence> {
        let mut parts = text.splitn(7, ' ');
        let mut number = || parts.next()?.parse().ok();
        let [compared, failed, succeeded] = [number()?, number()?, number()?];
        let [returned, changed, other_id] = [number()?, number()?, number()?];
        let kind = parts.next()?.to_owned();
        Some(KindDivergence { kind, compared, failed, succeeded, returned, changed, other_id })
    }

    /// How many diverged in any way.
    pub fn diverged(&self) -> u64 {
        let ways = [self.failed, self.succeeded, self.returned, self.changed, self.other_id];
        ways.into_iter().fold(0, u64::saturating_add)
    }
}

impl ReplayDivergence {
    fn learn(&mut self, name: &str, text: &str) {
        if name == REPLAY_COMPARED_FACT {
            self.compared_by = match text {
                "rows" => ComparedBy::Rows,
                "errors" => ComparedBy::Errors,
                "hashed" => ComparedBy::Hashed,
                _ => ComparedBy::Nothing,
            };
        } else if name == REPLAY_ORDER_FACT {
            let count_before = |words: &str| -> u64 {
                let part = text.split("; ").find(|part| part.ends_with(words));
                part.and_then(|part| part.split(' ').next()?.parse().ok()).unwrap_or(0)
            };
            self.ordered = count_before(" wrote before");
            self.ahead = count_before(" went ahead of it");
            let time_behind = |words: &str| -> Nanos {
                let time = text.split_once(words).and_then(|(_, rest)| rest.split_once(" in all"));
                time.and_then(|(time, _)| Nanos::parse(time)).unwrap_or_default()
            };
            self.held_back_ns = time_behind(" waited for it, ");
            self.in_vain_ns = time_behind(" waited in vain, ");
        } else if name == REPLAY_KEYS_FACT {
            for (key, moved) in text.split("; ").filter_map(|part| part.split_once(" in each further copy: ")) {
                self.keys += 1;
                // `orders.id above 500 by 1000`.
                let name = key.split(' ').next().unwrap_or(key);
                self.still_keys.extend(moved.starts_with("0 values").then(|| name.to_owned()));
            }
        } else if let Some(kind) = KindDivergence::from_text(text) {
            self.compared = self.compared.saturating_add(kind.compared);
            self.diverged = self.diverged.saturating_add(kind.diverged());
            self.kinds.push(kind);
        }
    }
}

impl PointOutcome {
    /// Takes over what a fact says of the statements of a replay: what they returned, how they are performed, what they failed with, or how
    /// far they diverged.
    fn learn_replay(&mut self, name: &str, text: &str) {
        if name.starts_with(REPLAY_RESULTS_FACT) {
            self.replay_results.extend(KindResults::from_text(text));
        } else if name.starts_with(REPLAY_PLAN_FACT) {
            self.replay_plans.extend(KindPlan::from_text(text));
        } else if name.starts_with(REPLAY_FAILURES_FACT) {
            self.replay_failures.extend(FailureMessage::from_text(text));
        } else if [REPLAY_COMPARED_FACT, REPLAY_ORDER_FACT, REPLAY_KEYS_FACT].contains(&name)
            || name.starts_with(REPLAY_DIVERGENCE_FACT)
        {
            self.replay_divergence.get_or_insert_default().learn(name, text);
        } else {
            self.learn_setting(name, text);
        }
    }

    /// Takes over what a fact says of the load, of the data set and of the size of the data.
    fn learn_data(&mut self, name: &str, text: &str, whole: Option<u64>, number: Option<f64>) {
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
    fn learn_setting(&mut self, fact: &str, value: &str) {
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

    fn learn_broken_condition(&mut self, number: u64, text: &str) {
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

    fn learn_result(&mut self, name: &str, text: &str, whole: Option<u64>) {
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
    fn learn_starts(&mut self, name: &str, figure: u64) {
        let starts = self.starts.unwrap_or_default();
        self.starts = match name {
            "starts" => Some(RecordedStarts { begun: figure, ..starts }),
            "starts_late" => Some(RecordedStarts { late: figure, ..starts }),
            "on_time_within_ns" => Some(RecordedStarts { on_time_within_ns: Nanos(figure), ..starts }),
            "latest_start_ns" => Some(RecordedStarts { latest_ns: Nanos(figure), ..starts }),
            _ => self.starts,
        };
    }

    fn compression_mut(&mut self) -> &mut CompressionOutcome {
        self.compression.get_or_insert_default()
    }

    fn io_workers_mut(&mut self) -> &mut IoWorkers {
        self.io_workers.get_or_insert(IoWorkers { count: 0, cpu: None })
    }
}

impl EngineTraits {
    /// What `params` mean, as far as `defs` declare them with a [`Meaning`].
    pub fn from_params(defs: &[ParamDef], params: &Params) -> EngineTraits {
        let mut traits = EngineTraits::default();
        let meant = defs.iter().filter_map(|def| Some((def.meaning?, params.0.get(def.name)?)));
        meant.for_each(|(meaning, value)| traits.take_param(meaning, value));
        traits
    }

    fn take_param(&mut self, meaning: Meaning, value: &Value) {
        match (meaning, value) {
            (Meaning::Cache, Value::Bytes(bytes)) => self.cache_bytes = Some(bytes.0).filter(|bytes| *bytes > 0),
            (Meaning::Durability, Value::Word(word)) => self.durability = Some(word.clone()),
            (Meaning::ClientThreads, Value::Int(threads)) => self.client_threads = Some(*threads).filter(|n| *n > 0),
            (Meaning::DirectIo, Value::Bool(direct)) => self.direct_io = Some(*direct),
            (Meaning::IoInterface { kernel_aio }, Value::Word(word)) => self.kernel_aio = word == kernel_aio,
            (Meaning::ConnectionLife { per_op }, Value::Word(word)) => self.connects_for_each_op = word == per_op,
            _ => {}
        }
    }
}

/// What code reads of the machine. Kept in the run file under the key `machine` of the table `meta`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Machine {
    /// CPUs that plimsoll may use, or else all of the machine's.
    pub cpus: Option<u64>,
    /// The CPU time that plimsoll may have per time, in CPUs, if its control group has a quota.
    pub cpu_quota: Option<f64>,
    /// Whether the frequency that the kernel shows is measured; if not, it is the nominal one. `None` if that was not recorded.
    pub frequency_is_measured: Option<bool>,
    /// All of its memory, in bytes.
    pub memory_bytes: Option<u64>,
    /// The block device under the directory that is measured.
    pub disk: Option<String>,
    /// The largest request that the device takes, in bytes.
    pub request_bytes_max: Option<u64>,
    /// What the device carried when `plimsoll disk` measured it.
    pub ceilings: Vec<DeviceCeiling>,
    /// When the oldest of them was measured, for people.
    pub ceilings_measured: Option<String>,
    /// The kernel under which it was.
    pub ceilings_kernel: Option<String>,
    /// What it costs, as far as that was stated.
    #[serde(default, skip_serializing_if = "HourlyCost::is_none")]
    pub hourly: HourlyCost,
    /// The speed of the link to the server, if it was stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<LinkSpeed>,
    /// The same of single interfaces.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interface_links: Vec<InterfaceLink>,
}

/// How many random operations a device carried.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceCeiling {
    /// Reads or writes.
    pub class: crate::op_class::OpClass,
    /// The size of each.
    pub block: Bytes,
    /// How many were in flight at once.
    pub depth: u64,
    /// How many were done per second.
    pub ops_per_s: f64,
}

impl Machine {
    /// What the facts of an environment state.
    pub fn from_facts(facts: &[Fact]) -> Machine {
        let count = |name: &str| find_fact(facts, name).and_then(parse_whole);
        let of_interfaces = facts.iter().filter_map(|fact| InterfaceLink::from_fact(&fact.name, &fact.value));
        Machine {
            cpus: count("cpu.usable").or_else(|| count("cpu.count")).filter(|cpus| *cpus >= 1),
            cpu_quota: find_fact(facts, "cgroup.cpu_quota").and_then(parse_amount),
            frequency_is_measured: find_fact(facts, "cpu.frequency").map(|fact| fact.value == "measured"),
            memory_bytes: count("memory.total_bytes"),
            disk: find_fact(facts, "disk.device").map(|fact| fact.value.clone()),
            request_bytes_max: count("disk.max_request_bytes"),
            ceilings: facts.iter().filter_map(parse_ceiling).collect(),
            ceilings_measured: find_fact(facts, "ceiling.measured").map(|fact| fact.value.clone()),
            ceilings_kernel: find_fact(facts, "ceiling.kernel").map(|fact| fact.value.clone()),
            hourly: HourlyCost::from_facts(facts),
            link: find_fact(facts, LINK_FACT).and_then(|fact| LinkSpeed::from_fact(&fact.value)),
            interface_links: of_interfaces.collect(),
        }
    }

    /// The speeds that were stated for its links.
    pub fn stated_links(&self) -> StatedLinks<'_> {
        StatedLinks { every: self.link, single: &self.interface_links }
    }
}

fn find_fact<'a>(facts: &'a [Fact], name: &str) -> Option<&'a Fact> {
    facts.iter().find(|fact| fact.name == name)
}

/// The fact `ceiling.read.16384.32` = `5912 ops/s`.
fn parse_ceiling(fact: &Fact) -> Option<DeviceCeiling> {
    let mut parts = fact.name.strip_prefix("ceiling.")?.split('.');
    let class = match parts.next()? {
        "read" => crate::op_class::OpClass::Read,
        "write" => crate::op_class::OpClass::Write,
        _ => return None,
    };
    let (block, depth) = (Bytes(parts.next()?.parse().ok()?), parts.next()?.parse().ok()?);
    let ops_per_s: f64 = fact.value.strip_suffix(" ops/s")?.parse().ok()?;
    (block.0 > 0 && ops_per_s > 0.0 && ops_per_s.is_finite()).then_some(DeviceCeiling {
        class,
        block,
        depth,
        ops_per_s,
    })
}

fn parse_whole(fact: &Fact) -> Option<u64> {
    fact.value.trim().parse().ok()
}

fn parse_amount(fact: &Fact) -> Option<f64> {
    fact.value.trim().parse().ok().filter(|value: &f64| value.is_finite() && *value >= 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op_class::OpClass;

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

    #[test]
    fn the_machine_has_the_cpus_that_may_be_used_and_the_ceilings_of_its_disk() {
        let facts =
            [("cpu.count", "8"), ("cpu.usable", "2"), ("ceiling.read.16384.32", "5912 ops/s"), ("ceiling.x", "1")];
        let machine = Machine::from_facts(&facts.map(|(name, value)| Fact::new(name, value)));
        let ceiling = DeviceCeiling { class: OpClass::Read, block: Bytes(16_384), depth: 32, ops_per_s: 5_912.0 };
        assert_eq!((machine.cpus, machine.ceilings), (Some(2), vec![ceiling]));
    }

    #[test]
    fn what_is_no_amount_says_nothing_of_the_machine() {
        for text in ["inf", "NaN", "-1", "none"] {
            let ceiling = format!("{text} ops/s");
            let facts = [("cgroup.cpu_quota", text), ("ceiling.read.4096.1", ceiling.as_str())];
            let machine = Machine::from_facts(&facts.map(|(name, value)| Fact::new(name, value)));
            assert_eq!((machine.cpu_quota, machine.ceilings), (None, Vec::new()), "{text}");
        }
        let limited = Machine::from_facts(&[Fact::new("cgroup.cpu_quota", "0.5")]);
        assert_eq!(limited.cpu_quota, Some(0.5));
    }
}
