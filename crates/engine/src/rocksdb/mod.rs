//! RocksDB, embedded: the log-structured merge tree under MyRocks, without a server around it.
//!
//! In: a trial of the family kv. Out: clients that put atomic batches and get keys. Limits: is there only if plimsoll was built
//! with the cargo feature `rocksdb`, which compiles RocksDB's C++ (docs/journal/2026-11-21-rocksdb.md); elsewhere it is known by
//! name and parameters, and refuses each trial with what to do. The batch of an operation is built inside the measured time, as
//! an application would build it. All tables are in one column family, their keys behind the number of the table in four bytes, as
//! MyRocks keeps its indexes.
//!
//! Durability, in RocksDB's own options (<https://github.com/facebook/rocksdb/wiki/Write-Ahead-Log-%28WAL%29>): `disk` = each
//! batch is written with `sync`, which writers that wait share; `os` = the log is handed to the operating system at each batch, and
//! plimsoll syncs it once a second; `none` = `manual_wal_flush`: the log stays in the process's buffer.

#[cfg(feature = "rocksdb")]
mod counters;
#[cfg(feature = "rocksdb")]
mod driver;
#[cfg(feature = "rocksdb")]
mod instance;
#[cfg(feature = "rocksdb")]
mod options;

use crate::counters::{ServerSource, grows, level};
use crate::engine::{EngineDef, EngineLocation, Instance, StartContext, depth_one_only};
use crate::kv::program_of;
use crate::params;
use crate::params::durability_help;
use crate::server::variables::VariableRules;
use host::error::TargetError;
use model::{Bytes, CounterRole, Entry, Family, ParamDef, ParamKind, ParamRole, StallReason, Trial};
use workload::SequenceState;

pub static ROCKSDB: EngineDef = EngineDef {
    entry: Entry {
        name: "rocksdb",
        spoken: "RocksDB",
        help: "RocksDB, embedded: the log-structured merge tree under MyRocks, without a server (cargo feature `rocksdb`)",
        families: &[Family::Kv],
        params: PARAMS,
    },
    runs: EngineLocation::Embedded,
    sources: SOURCES,
    // A compaction writes its tables again before the old ones go. A log is of one memtable (64 MiB) and takes room for a tenth
    // more before it is written; two memtables wait to be flushed and the third is being filled.
    disk_peak: |data, _| Bytes(2 * data.0 + (256 << 20)),
    version,
    check: check_trial,
    start,
    ..EngineDef::BARE
};

const SOURCES: &[&ServerSource] = &[&COUNTERS];

/// Known as RocksDB's tickers and properties; names and units are those of the source `myrocks` if the meaning is the same.
static COUNTERS: ServerSource = ServerSource {
    name: "rocksdb",
    help: "write-ahead log, flushes, compactions and stalls of RocksDB, as reported by its statistics and \
           properties (rocksdb)",
    counters: &[
        grows("wal_bytes", "rocksdb.wal.bytes", "bytes", "bytes written to the write-ahead log")
            .read_as(CounterRole::LogMade),
        grows("wal_synced", "rocksdb.wal.synced", "ops", "syncs of the write-ahead log"),
        grows("flush_write_bytes", "rocksdb.flush.write.bytes", "bytes", "bytes written by flushes of memtables")
            .read_as(CounterRole::PagesWritten),
        grows("compact_read_bytes", "rocksdb.compact.read.bytes", "bytes", "bytes read by compactions"),
        grows("compact_write_bytes", "rocksdb.compact.write.bytes", "bytes", "bytes written by compactions")
            .read_as(CounterRole::CompactionWritten),
        grows(
            "table_read_bytes",
            "rocksdb.last.level.read.bytes+rocksdb.non.last.level.read.bytes",
            "bytes",
            "bytes read from tables, by clients and compactions",
        )
        .read_as(CounterRole::EngineRead),
        grows("bytes_written", "rocksdb.bytes.written", "bytes", "bytes of keys and values written by clients"),
        grows("block_cache_hit", "rocksdb.block.cache.hit", "ops", "blocks found in the block cache")
            .read_as(CounterRole::CacheHits),
        grows("block_cache_miss", "rocksdb.block.cache.miss", "ops", "blocks not found in it")
            .read_as(CounterRole::CacheMisses),
        grows("stall_ns", "rocksdb.stall.micros", "ns", "time for which writers were stalled")
            .times(1e3)
            .read_as(CounterRole::WritersHeld),
        grows("stall_stops", "total-stops", "ops", "times that writers were stopped"),
        grows("stall_slowdowns", "total-delays", "ops", "times that writers were slowed down"),
        grows(
            "stalls_for_memtables",
            "memtable-limit-delays+memtable-limit-stops",
            "ops",
            "of both, those because too many memtables waited",
        )
        .held_for(StallReason::Memtables),
        grows(
            "stalls_for_l0",
            "l0-file-count-limit-delays+l0-file-count-limit-stops",
            "ops",
            "of both, those because too many files were in level 0",
        )
        .held_for(StallReason::UnsortedTables),
        grows(
            "stalls_for_compaction",
            "pending-compaction-bytes-delays+pending-compaction-bytes-stops",
            "ops",
            "of both, those because too much was to be compacted",
        )
        .held_for(StallReason::PendingCompaction),
        level("memtable_bytes", "rocksdb.size-all-mem-tables", "bytes", "memory of all memtables"),
        level("memtable_unflushed", "rocksdb.cur-size-all-mem-tables", "bytes", "of it not yet on disk but in the log")
            .read_as(CounterRole::Memtable),
        level(
            "immutable_memtables",
            "rocksdb.num-immutable-mem-table",
            "count",
            "full memtables that wait to be flushed",
        )
        .read_as(CounterRole::FullMemtables),
        level("compactions_running", "rocksdb.num-running-compactions", "count", "compactions in progress"),
        level(
            "l0_files",
            "rocksdb.num-files-at-level0",
            "count",
            "files in level 0, each of which a read may have to search",
        )
        .read_as(CounterRole::UnsortedTables),
        level(
            "pending_compaction_bytes",
            "rocksdb.estimate-pending-compaction-bytes",
            "bytes",
            "bytes that compactions must rewrite until every level has its target size, as estimated by RocksDB",
        )
        .read_as(CounterRole::PendingCompaction),
        level("table_bytes", "rocksdb.live-sst-files-size", "bytes", "size of all tables"),
    ],
};

const PARAMS: &[ParamDef] = &[DURABILITY, CACHE, OPTIONS];
const DURABILITY: ParamDef = ParamDef {
    help: durability_help!(
        "the write-ahead log is synced at each commit, by plimsoll once a second, or never (manual_wal_flush)"
    ),
    ..params::DURABILITY
};
const CACHE: ParamDef = ParamDef {
    help: "size of the block cache, including filters and indexes of tables; memtables come on top (`rocksdb.write_buffer_size`)",
    ..params::CACHE
};
const OPTIONS: ParamDef = ParamDef {
    help: "any option of RocksDB, its column family or its tables, such as `--set rocksdb.write_buffer_size=16M`; read back as the \
           fact of that name",
    shapes_data: true,
    ..ParamDef::new("rocksdb.*", ParamRole::Tuning, ParamKind::Variables, "")
};

/// What plans may not set.
const RULES: VariableRules = VariableRules {
    server: "rocksdb",
    by_parameter: &[&[("manual_wal_flush", "durability"), ("block_cache", "cache")]],
    closed: &[
        "wal_dir",
        "db_log_dir",
        "db_paths",
        "cf_paths",
        "env",
        "info_log",
        "statistics",
        "create_if_missing",
        "error_if_exists",
        "persistent_cache",
    ],
};

fn check_trial(trial: &Trial) -> Result<(), TargetError> {
    depth_one_only(trial)?;
    version().map_err(|missing| TargetError::Unsupported(format!("engine `rocksdb`: {missing}")))?;
    let options = RULES.variables_in(&trial.target.params);
    RULES.check_allowed(&options)?;
    // RocksDB reads several from one text.
    if let Some((name, value)) =
        options.iter().find(|(name, value)| [name, value].iter().any(|text| text.contains([';', '='])))
    {
        return Err(TargetError::Unsupported(format!(
            "`rocksdb.{name}` = `{value}` is not one option; set each by its name"
        )));
    }
    program_of(trial, &SequenceState::default()).map(drop)
}

#[cfg(feature = "rocksdb")]
fn version() -> Result<String, String> {
    Ok(instance::VERSION.into())
}

#[cfg(feature = "rocksdb")]
fn start(start: &StartContext) -> Result<Box<dyn Instance>, TargetError> {
    Ok(Box::new(instance::RocksDb::start(start)?))
}

#[cfg(not(feature = "rocksdb"))]
fn version() -> Result<String, String> {
    Err("not in this build; build it with `cargo build --release -p plimsoll --features rocksdb`, with a \
         C++ compiler and libclang (on Debian: apt-get install g++ libclang-dev)"
        .into())
}

#[cfg(not(feature = "rocksdb"))]
fn start(_: &StartContext) -> Result<Box<dyn Instance>, TargetError> {
    version().map(|_| unreachable!("it is not there")).map_err(TargetError::Unsupported)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Params, Value};

    #[test]
    fn options_that_lead_out_of_the_directory_or_follow_from_a_parameter_are_refused() {
        let refusal = |name: &str, value: &str| {
            let set = Params([(format!("rocksdb.{name}"), Value::Word(value.into()))].into());
            RULES.check_allowed(&RULES.variables_in(&set)).err().map(|error| error.to_string()).unwrap_or_default()
        };
        assert!(refusal("wal_dir", "elsewhere").contains("cannot be set"));
        assert!(refusal("manual_wal_flush", "true").contains("follows from `durability`"));
        assert!(refusal("write_buffer_size", "../x").contains("path"));
        assert_eq!(refusal("write_buffer_size", "16M"), "");
    }
}
