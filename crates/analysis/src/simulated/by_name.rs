//! What simulated points mean, by the usual names of their counters, parameters and operations.
//!
//! In: a point of a test, with facts, parameters and counters by name. Out: the same point with the roles, kinds and traits that engine, workload
//! and sources would have declared. A name that is not here has no role.

use model::{
    AccessPattern, Bytes, CounterDef, CounterRole, IoWork, KindDef, OpClass, ParamOwner, ParamRole, Params, PointData,
    PointParam, PointTraits, RowWork, StepIndexes, StepWork, Trial, Value, WorkTraits,
};

/// Declares what `point` has by name only. What it declares already stays as it is.
pub fn declare(point: &mut PointData) {
    for source in &mut point.sources {
        source.counters.iter_mut().for_each(|counter| declare_counter(&source.name, counter));
    }
    if point.params.is_empty() {
        point.params = point_params(&point.trial);
    }
    if point.traits.work == WorkTraits::default() {
        point.traits.work = work_traits(&point.trial);
    }
    declare_engine(&mut point.traits, &point.trial);
    point.traits.learn_all(&point.facts);
    declare_page_size(point);
    declare_amounts(point);
}

/// The default page size of the server, if counters are in pages and no fact has the size.
fn declare_page_size(point: &mut PointData) {
    let has = |name: &str| point.sources.iter().any(|source| source.name == name);
    let default = if has("innodb") { Some(16_384) } else { has("postgres").then_some(8_192) };
    let page_bytes = &mut point.traits.engine.page_bytes;
    *page_bytes = page_bytes.or(default);
}

fn declare_counter(source: &str, counter: &mut CounterDef) {
    let known = COUNTERS.iter().find(|known| known.0 == source && known.1 == counter.name);
    if let Some((_, _, role, in_pages)) = known.filter(|_| counter.role.is_none()) {
        (counter.role, counter.in_pages) = (Some(*role), *in_pages);
    }
}

const COUNTERS: &[(&str, &str, CounterRole, bool)] = &[
    ("cpu", "user_ns", CounterRole::MachineCpuUser, false),
    ("cpu", "system_ns", CounterRole::MachineCpuSystem, false),
    ("cpu", "softirq_ns", CounterRole::MachineCpuSoftirq, false),
    ("cpu", "iowait_ns", CounterRole::MachineCpuIowait, false),
    ("cpu", "steal_ns", CounterRole::MachineCpuSteal, false),
    ("cpu", "idle_ns", CounterRole::MachineCpuIdle, false),
    ("cpu", "self_ns", CounterRole::PlimsollCpu, false),
    ("process", "cpu_user_ns", CounterRole::EngineCpuUser, false),
    ("process", "cpu_system_ns", CounterRole::EngineCpuSystem, false),
    ("process", "context_switches", CounterRole::EngineContextSwitches, false),
    ("process", "read_bytes", CounterRole::ProcessReadBytes, false),
    ("process", "write_bytes", CounterRole::ProcessWriteBytes, false),
    ("disk", "read_ops", CounterRole::DeviceReadOps, false),
    ("disk", "write_ops", CounterRole::DeviceWriteOps, false),
    ("disk", "flush_ops", CounterRole::DeviceFlushOps, false),
    ("disk", "read_bytes", CounterRole::DeviceReadBytes, false),
    ("disk", "write_bytes", CounterRole::DeviceWriteBytes, false),
    ("disk", "busy_ns", CounterRole::DeviceBusy, false),
    ("disk", "queue_ns", CounterRole::DeviceQueue, false),
    ("limits", "read_ops", CounterRole::LimitedReadOps, false),
    ("limits", "write_ops", CounterRole::LimitedWriteOps, false),
    ("limits", "read_bytes", CounterRole::LimitedReadBytes, false),
    ("limits", "write_bytes", CounterRole::LimitedWriteBytes, false),
    ("memory", "swap_in_pages", CounterRole::SwapIn, false),
    ("memory", "swap_out_pages", CounterRole::SwapOut, false),
    ("quota", "throttled_ns", CounterRole::QuotaThrottled, false),
    ("quota", "throttled_periods", CounterRole::QuotaPeriods, false),
    ("frequency", "mhz", CounterRole::CpuFrequency, false),
    ("frequency", "thermal_throttles", CounterRole::ThermalThrottles, false),
    ("psi", "cpu_some_ns", CounterRole::CpuPressure, false),
    ("psi", "io_full_ns", CounterRole::IoStall, false),
    ("psi", "memory_full_ns", CounterRole::MemoryStall, false),
    ("innodb", "data_read", CounterRole::EngineRead, false),
    ("innodb", "os_log_written", CounterRole::LogWritten, false),
    // Pages and doublewrite buffer together, without the redo log.
    ("innodb", "data_written", CounterRole::DataFilesWritten, false),
    ("innodb", "dblwr_pages_written", CounterRole::DoublewriteWritten, true),
    ("innodb", "pages_dirty", CounterRole::DirtyPages, true),
    ("innodb", "checkpoint_age", CounterRole::LogAge, false),
    ("innodb", "checkpoint_max_age", CounterRole::LogAgeMax, false),
    ("innodb", "row_lock_waits", CounterRole::RowLockWaits, false),
    ("innodb", "row_lock_time_ns", CounterRole::RowLockTime, false),
    ("myrocks", "stall_ns", CounterRole::WritersHeld, false),
    ("myrocks", "wal_bytes", CounterRole::LogWritten, false),
    ("myrocks", "flush_write_bytes", CounterRole::PagesWritten, false),
    ("myrocks", "compact_write_bytes", CounterRole::CompactionWritten, false),
    ("myrocks", "memtable_unflushed", CounterRole::Memtable, false),
    ("myrocks", "pending_compaction_bytes", CounterRole::PendingCompaction, false),
    ("rocksdb", "table_read_bytes", CounterRole::EngineRead, false),
    ("rocksdb", "wal_bytes", CounterRole::LogWritten, false),
    ("rocksdb", "flush_write_bytes", CounterRole::PagesWritten, false),
    ("rocksdb", "compact_write_bytes", CounterRole::CompactionWritten, false),
    ("rocksdb", "memtable_unflushed", CounterRole::Memtable, false),
    ("rocksdb", "pending_compaction_bytes", CounterRole::PendingCompaction, false),
    ("postgres", "blocks_read", CounterRole::EngineRead, true),
    ("postgres", "wal_bytes", CounterRole::LogWritten, false),
    ("postgres", "buffers_checkpoint", CounterRole::PagesWritten, true),
    ("postgres", "buffers_clean", CounterRole::PagesWritten, true),
    ("postgres", "buffers_backend", CounterRole::PagesWritten, true),
    ("postgres", "checkpoint_age", CounterRole::LogAge, false),
    ("sqlite", "wal_bytes", CounterRole::LogHoldingData, false),
    ("fjall", "memtable_bytes", CounterRole::Memtable, false),
    ("fjall", "journal_bytes", CounterRole::LogAge, false),
];

fn point_params(trial: &Trial) -> Vec<PointParam> {
    let (engine, workload) = (&trial.target.params, &trial.workload.params);
    let owned = |owner, own: &Params, others: &Params| -> Vec<PointParam> {
        own.0.keys().map(|name| point_param(owner, name, own, others)).collect()
    };
    [owned(ParamOwner::Engine, engine, workload), owned(ParamOwner::Workload, workload, engine)].concat()
}

fn point_param(owner: ParamOwner, name: &str, own: &Params, others: &Params) -> PointParam {
    let bound = USED_IN_MODES.iter().find(|(param, _)| *param == name);
    let mode = own.0.get("mode").or_else(|| others.0.get("mode")).map(ToString::to_string);
    let used = bound.zip(mode).is_none_or(|((_, modes), mode)| modes.contains(&mode.as_str()));
    PointParam { name: name.to_owned(), owner, role: param_role(name), used }
}

fn param_role(name: &str) -> ParamRole {
    let known = PARAM_ROLES.iter().find(|(_, names)| names.contains(&name));
    known.map_or(ParamRole::Tuning, |(role, _)| *role)
}

const PARAM_ROLES: [(ParamRole, &[&str]); 9] = [
    (ParamRole::Mode, &["mode", "log"]),
    (ParamRole::Mix, &["mix"]),
    (ParamRole::Step, &["step"]),
    (
        ParamRole::Work,
        &[
            "block",
            "access",
            "read_share",
            "cursor",
            "fsync",
            "fsync_every",
            "statement",
            "transaction",
            "delete",
            "rows_per_commit",
            "small_commit",
            "insert_rate",
            "query_rows",
        ],
    ),
    (
        ParamRole::Ground,
        &["durability", "direct", "sync", "io", "isolation", "schema", "secondary_index", "storage", "verify"],
    ),
    (ParamRole::Indexes, &["indexes"]),
    (ParamRole::CacheSize, &["cache"]),
    (ParamRole::DataSize, &["file_size", "rows", "table_rows"]),
    (ParamRole::Size, &["files", "tables", "partition_rows", "data_bytes", "log_size"]),
];

/// Parameters that the workload `file`, or the engine of that name, has always and uses in some modes only.
const USED_IN_MODES: [(&str, &[&str]); 7] = [
    ("access", &["rndrd", "rndwr", "rndrw"]),
    ("cursor", &["seqrd", "seqwr"]),
    ("fsync", WRITING),
    ("fsync_end", WRITING),
    ("fsync_every", WRITING),
    ("read_share", &["rndrw"]),
    ("sync", WRITING),
];
const WRITING: &[&str] = &["rndwr", "rndrw", "seqwr"];

fn declare_engine(traits: &mut PointTraits, trial: &Trial) {
    let engine = &mut traits.engine;
    engine.scripted |= trial.target.engine == "null";
    let both = trial.workload.params.0.iter().chain(&trial.target.params.0);
    for (name, value) in both {
        match (name.as_str(), value) {
            ("cache", Value::Bytes(bytes)) => engine.cache_bytes = Some(bytes.0).filter(|bytes| *bytes > 0),
            ("durability", Value::Word(word)) => engine.durability = Some(word.clone()),
            ("threads", Value::Int(threads)) => engine.client_threads = Some(*threads).filter(|threads| *threads > 0),
            ("direct", Value::Bool(direct)) => engine.direct_io = Some(*direct),
            ("io", Value::Word(word)) => engine.kernel_aio = word == "aio",
            _ => {}
        }
    }
}

fn work_traits(trial: &Trial) -> WorkTraits {
    let params = &trial.workload.params;
    let io = (trial.workload.name == "file").then(|| io_work(params));
    let rows = Some(row_work(trial)).filter(|rows| *rows != RowWork::default());
    WorkTraits {
        io,
        rows,
        step: word_of(params, "step").map(step_work),
        variant: None,
        hold: None,
        kernel: None,
        orders: None,
    }
}

/// A block of 0 bytes is one that nothing is known of.
fn io_work(params: &Params) -> IoWork {
    let mode = word_of(params, "mode").unwrap_or("rndrd");
    let read_share = match (mode, params.0.get("read_share")) {
        ("rndrd" | "seqrd", _) => 1.0,
        ("rndrw", Some(Value::Float(share))) => *share,
        _ => 0.0,
    };
    let pattern = if mode.starts_with("seq") { AccessPattern::Sequential } else { AccessPattern::Random };
    let block = match params.0.get("block") {
        Some(Value::Bytes(block)) => *block,
        _ => Bytes(0),
    };
    IoWork { block, pattern, read_share, syncs: word_of(params, "fsync").is_some_and(|call| call != "none") }
}

fn row_work(trial: &Trial) -> RowWork {
    let params = &trial.workload.params;
    let tables = int_of(params, "tables").unwrap_or(1).max(1);
    let asked = int_of(params, "rows").filter(|rows| *rows > 0);
    RowWork {
        // The step of small commits inserts a fifth of `rows`.
        asked: asked.map(|rows| if word_of(params, "step") == Some("l.i2") { rows.div_ceil(5) } else { rows }),
        payload_bytes: payload_bytes(trial),
        partition_rows: int_of(params, "partition_rows")
            .filter(|rows| *rows > 0)
            .map(|rows| rows.saturating_mul(tables)),
        deletes: params.0.get("delete") == Some(&Value::Bool(true)),
    }
}

/// The bytes of a purchase: INT and FLOAT have 4, DATETIME 8; the schema `ibench` has a BIGINT key and a column `data`.
fn payload_bytes(trial: &Trial) -> Option<u64> {
    const COLUMNS_OF_2012: u64 = 4 + 8 + 4 + 4 + 4 + 4;
    if trial.workload.name != "insert" {
        return None;
    }
    let params = &trial.workload.params;
    match (word_of(params, "schema"), int_of(params, "data_bytes")) {
        (Some("ibench"), Some(data)) => Some(COLUMNS_OF_2012 + 4 + data),
        (None | Some("iibench-2012"), _) => Some(COLUMNS_OF_2012),
        _ => None,
    }
}

const STEPS: [&str; 7] = ["l.i0", "l.x", "l.i1", "l.i2", "drain", "qr", "qp"];

fn step_work(name: &str) -> StepWork {
    let at = STEPS.iter().position(|step| *step == name).unwrap_or(STEPS.len());
    let indexes = match name {
        "l.i0" => StepIndexes::NotAtStart,
        "l.x" => StepIndexes::Made,
        _ => StepIndexes::Kept,
    };
    StepWork { name: name.to_owned(), at: at as u32, drains: name == "drain", indexes, group: None }
}

fn word_of<'a>(params: &'a Params, name: &str) -> Option<&'a str> {
    match params.0.get(name) {
        Some(Value::Word(word)) => Some(word),
        _ => None,
    }
}

fn int_of(params: &Params, name: &str) -> Option<u64> {
    match params.0.get(name) {
        Some(Value::Int(value)) => Some(*value),
        _ => None,
    }
}

/// The kind of operation that is usually called `name`.
pub fn kind(name: &str) -> KindDef {
    let class = match name {
        "read" | "query" | "point_select" | "read_only" => OpClass::Read,
        "write" | "fill" | "insert" | "load" | "write_only" | "update_index" | "update_non_index" | "delete" => {
            OpClass::Write
        }
        "fsync" | "fdatasync" => OpClass::Sync,
        "index" => OpClass::Index,
        "drain" => OpClass::Drain,
        "connect" | "hold" => OpClass::Connect,
        "first_query" | "close" => OpClass::Step,
        _ => OpClass::ReadWrite,
    };
    KindDef::new(name, class)
}

/// What an operation amounts to, from facts such as `rows_per_op.insert`.
fn declare_amounts(point: &mut PointData) {
    for kind in &mut point.kinds {
        let amount = |what: &str| {
            let fact = point.facts.iter().find(|fact| fact.name == format!("{what}.{}", kind.name));
            fact.and_then(|fact| fact.value.parse().ok())
        };
        kind.queries_per_op = amount("queries_per_op").unwrap_or(kind.queries_per_op);
        kind.rows_per_op = amount("rows_per_op").unwrap_or(kind.rows_per_op);
    }
}
