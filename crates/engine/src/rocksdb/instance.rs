//! A database of RocksDB from its opening to its removal.
//!
//! In: a trial. Out: an [`Instance`]. Limits: keys are counted as puts that are still in tables, which is exact as long as no key
//! was put twice or removed, and never less than the keys that there are. Rest is what RocksDB itself waits for: everything flushed, no
//! compaction due; levels may be fuller than they are to be by less than what makes a compaction due.

use super::driver::{RocksdbStore, class_of};
use super::{RULES, counters, options};
use crate::data_description::DataDescription;
use crate::engine::{DataSpace, Instance, InstanceReport, StartContext, WorkloadClients, loaders_for};
use crate::kv::{KvDriver, program_of};
use crate::maintenance::{self, Maintenance};
use crate::periodic::PeriodicTask;
use crate::server::variables::ServerVariables;
use crate::sql::OpFailure;
use ::rocksdb::{DB, Error, Options, WaitForCompactOptions};
use host::data_dir::DataDir;
use host::error::{TargetError, shown};
use load::SyncClient;
use model::{CounterSource, Fact, FailureClass, KvOp, LoadPart, Params, Trial, WritePath};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use workload::{BackgroundOps, OpKindDef, OpStream};

/// The release that the crate in Cargo.lock compiles; the library writes it to a file only when a database is open.
pub const VERSION: &str = "11.8.1";

/// What is read back as facts of every point.
const FACTS: [&str; 10] = [
    "compression",
    "write_buffer_size",
    "max_write_buffer_number",
    "max_background_jobs",
    "level0_file_num_compaction_trigger",
    "max_bytes_for_level_base",
    "block_size",
    "filter_policy",
    "manual_wal_flush",
    "use_direct_reads",
];

pub struct RocksDb {
    /// Syncs the log once a second if durability is `os`.
    syncer: Option<PeriodicTask>,
    database: Arc<DB>,
    options: Options,
    params: Params,
    variables: ServerVariables,
    made_for: DataDescription,
    /// The directory of RocksDB's files, in
    data: PathBuf,
    /// Comes last: fields are dropped in order, and files go after those that have them open.
    dir: DataDir,
}

impl RocksDb {
    /// Opens a new one.
    pub fn start(start: &StartContext) -> Result<RocksDb, TargetError> {
        let params = start.trial.target.params.clone();
        let variables = RULES.variables_in(&params);
        let options = options::from_params(&params, &variables)?;
        let mut dir = DataDir::create(start.parent, start.data, start.trial.seed)?;
        let data = dir.own_directory("rocksdb")?;
        let opened = DB::open(&options, &data).map_err(engine_error("open a new database in", dir.path()));
        let database = Arc::new(opened.map_err(|error| RULES.blame(&variables, error))?);
        let syncer = sync_each_second(&database, &params)?;
        let made_for = DataDescription::new(start);
        let made = RocksDb { syncer, database, options, params, variables, made_for, data, dir };
        let found = options::read_back(&made.data);
        RULES.check_known(&made.variables, |name| found.get(name).cloned()).map(|()| made)
    }

    fn stream_clients(
        &self,
        kinds: &[OpKindDef],
        stream: &OpStream<KvOp>,
        background: &[BackgroundOps<KvOp>],
        clients: LoadPart,
    ) -> WorkloadClients {
        WorkloadClients::new(kinds, stream, background, clients, |source, _| {
            let keys = RocksdbStore::new(self.database.clone(), &self.params);
            Box::new(SyncClient::new(source, KvDriver::new(keys, self.dir.path())))
        })
    }

    fn durability_from(&self, found: &BTreeMap<String, String>) -> String {
        match found.get("manual_wal_flush").map(String::as_str) {
            Some("true") => "none".into(),
            // Whether a batch is synced is no option of the database but of each write.
            _ => self.params.word("durability").into(),
        }
    }
}

impl Instance for RocksDb {
    fn report(&self) -> InstanceReport {
        let found = options::read_back(&self.data);
        let read_back = |name: &str| found.get(name).cloned();
        let own = [
            Fact::new("engine.version", read_back("rocksdb_version").unwrap_or_else(|| VERSION.into())),
            Fact::new("durability", self.durability_from(&found)),
            Fact::new(
                "rocksdb.crc32c",
                if cfg!(target_feature = "sse4.2") { "by the processor" } else { "in software" },
            ),
        ];
        let capacity = self.database.property_int_value("rocksdb.block-cache-capacity").ok().flatten();
        let cache = capacity.map(|bytes| Fact::new("rocksdb.block_cache_bytes", bytes.to_string()));
        let set: Vec<&str> = self.variables.iter().map(|(name, _)| name).collect();
        let known = FACTS.into_iter().filter(|name| !set.contains(name));
        let settings = known.filter_map(|name| Some(Fact::new(format!("rocksdb.{name}"), read_back(name)?)));
        let facts =
            own.into_iter().chain(cache).chain(settings).chain(RULES.facts_of(&self.variables, read_back)).collect();
        let warnings = RULES.warnings_of(&self.variables, |name| found.get(name).cloned());
        InstanceReport { facts, warnings, ..InstanceReport::default() }
    }

    /// Logs and tables are written from their beginnings to their ends, unless logs are used again.
    fn write_path(&self, _: &Trial) -> WritePath {
        match options::read_back(&self.data).get("recycle_log_file_num").map(String::as_str) {
            Some("0") | None => WritePath::Append,
            Some(_) => WritePath::Buffered,
        }
    }

    fn make_loaders(&mut self, trial: &Trial) -> Result<Option<WorkloadClients>, TargetError> {
        let program = program_of(trial, &self.made_for.sequence)?;
        let Some(load) = &program.load else { return Ok(None) };
        Ok(Some(self.stream_clients(&program.kinds, load, &[], loaders_for(trial, load.ops))))
    }

    fn finish_load(&mut self) -> Result<Vec<Fact>, TargetError> {
        self.quiesce()?;
        let tables = self.database.live_files().map_err(engine_error("list the tables in", self.dir.path()))?;
        self.dir.seal(tables.iter().map(|table| table.num_entries - table.num_deletions).sum())?;
        Ok(Vec::new())
    }

    fn quiesce(&mut self) -> Result<(), TargetError> {
        quiesce_database(&self.database).map_err(engine_error("flush", self.dir.path()))
    }

    fn make_clients(&mut self, trial: &Trial) -> Result<WorkloadClients, TargetError> {
        self.made_for.check_dir(&self.dir, trial)?;
        let program = program_of(trial, &self.made_for.sequence)?;
        if program.drains {
            let drain = RocksdbDrain { database: self.database.clone(), directory: self.dir.path().into() };
            return Ok(maintenance::maintenance_clients(&program.run, &program.kinds, trial.data_part(), &drain));
        }
        Ok(self.stream_clients(&program.kinds, &program.run, &program.background, trial.data_part()))
    }

    fn counter_sources(&self) -> Vec<Box<dyn CounterSource>> {
        vec![counters::source_of(self.database.clone(), self.options.clone())]
    }

    fn describe_trouble(&self) -> Option<String> {
        let of_syncs = self.syncer.as_ref().and_then(PeriodicTask::first_failure);
        of_syncs.or_else(|| {
            let errors = self.database.property_int_value("rocksdb.background-errors").ok().flatten();
            let errors = errors.filter(|errors| *errors > 0)?;
            Some(format!("rocksdb counted {errors} errors of flushes and compactions"))
        })
    }

    fn measure_space(&self) -> DataSpace {
        // The write-ahead logs, and the log of which tables there are: both take room in advance, 70 and 4 MiB.
        let logs = self.dir.footprint_of(&is_log);
        DataSpace { total: self.dir.footprint(), logs: Some(logs), rows: self.dir.amount() }
    }

    fn stop(self: Box<Self>) -> Result<(), TargetError> {
        let RocksDb { dir, database, syncer, .. } = *self;
        drop(syncer);
        drop(database); // its threads end their work before its files go
        dir.remove()
    }
}

fn is_log(path: &Path) -> bool {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    name.ends_with(".log") || name.starts_with("MANIFEST-")
}

/// Writes out what is in memory, syncs, and waits until no compaction is running or due: else they would come during the run and
/// be counted there.
fn quiesce_database(database: &DB) -> Result<(), Error> {
    let mut wait = WaitForCompactOptions::default();
    wait.set_flush(true);
    database.wait_for_compact(&wait)?;
    database.flush_wal(true)
}

/// A drain as an operation.
#[derive(Clone)]
struct RocksdbDrain {
    database: Arc<DB>,
    directory: PathBuf,
}

impl Maintenance for RocksdbDrain {
    type Op = KvOp;
    type Open = ();

    fn engine_name(&self) -> String {
        format!("rocksdb in `{}`", shown(&self.directory))
    }

    fn open_connection(&self) -> Result<(), OpFailure> {
        Ok(())
    }

    fn perform_op(&self, (): &mut (), _: &KvOp) -> Result<(), OpFailure> {
        quiesce_database(&self.database).map_err(|error| OpFailure { class: class_of(&error), text: error.to_string() })
    }
}

/// `what` is a verb phrase that ends before the path.
fn engine_error(what: &'static str, directory: &Path) -> impl Fn(Error) -> TargetError {
    let directory = shown(directory);
    move |error| {
        let full = class_of(&error) == FailureClass::NoSpace;
        let advice = if full { "; free some space or use another directory" } else { "" };
        TargetError::Failed(format!("rocksdb cannot {what} `{directory}`: {error}{advice}"))
    }
}

fn sync_each_second(database: &Arc<DB>, params: &Params) -> Result<Option<PeriodicTask>, TargetError> {
    if params.word("durability") != "os" {
        return Ok(None);
    }
    let database = database.clone();
    let syncer = PeriodicTask::start("rocksdb-sync", move || {
        let synced = database.flush_wal(true);
        synced.map_err(|error| format!("durability = `os` did not hold: rocksdb cannot sync: {error}"))
    });
    syncer.map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_the_one_in_the_lock_file_and_what_a_database_says_of_itself() {
        let lock = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.lock")).unwrap();
        let bindings = lock.split("name = \"librocksdb-sys\"\n").nth(1).expect("the bindings are locked");
        let version = bindings.lines().next().expect("a version");
        assert!(version.ends_with(&format!("+{VERSION}\"")), "{version}");
        let dir = tempfile::tempdir().unwrap();
        drop(DB::open_default(dir.path()).unwrap());
        assert_eq!(options::read_back(dir.path())["rocksdb_version"], VERSION);
    }
}
