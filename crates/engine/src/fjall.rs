//! fjall, embedded: a log-structured merge tree, the counterpart of SQLite's B-tree.
//!
//! In: a trial of the family kv. Out: clients that put atomic batches and get keys, one key space per table of the workload.
//! Limits: the batch of an operation is built inside the measured time, as an application would build it.
//!
//! Durability: `disk` = each batch is persisted with `SyncAll`; `os` = handed to the operating system at each batch, and
//! plimsoll persists with `SyncAll` once a second; `none` = the journal stays in the process's buffer.

use crate::counters::{ServerSource, in_process_source, own};
use crate::data_description::DataDescription;
use crate::data_set::KeptIn;
use crate::engine::{
    DataSpace, EngineDef, EngineLocation, Instance, InstanceReport, ResetFor, StartContext, WorkloadClients,
    depth_one_only, loaders_for,
};
use crate::kv::{KvDriver, KvStore, program_of};
use crate::maintenance::{self, BackgroundWork, Maintenance, WaitEnd};
use crate::open_files::open_files;
use crate::params::durability_help;
use crate::periodic::PeriodicTask;
use crate::reset::{BETWEEN, DataReset, ResetMode, WhileStopped};
use crate::{params, sql};
use ::fjall::{Database, Error, Keyspace, KeyspaceCreateOptions, LsmError as StorageError, PersistMode};
use host::data_dir::DataDir;
use host::deadline::poll_until;
use host::error::{TargetError, shown};
use host::privileged::copy::move_contents;
use load::SyncClient;
use model::CounterKind::{Counter as Counts, Gauge};
use model::{
    Bytes, CounterRole, CounterSource, Entry, Fact, FailureClass, Family, KvEntry, KvOp, LoadPart, ParamDef, Params,
    Trial, WritePath,
};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use workload::{BackgroundOps, OpKindDef, OpStream, SequenceState};

pub static FJALL: EngineDef = EngineDef {
    entry: Entry {
        name: "fjall",
        spoken: "fjall",
        help: "fjall, embedded: a log-structured merge tree of keys and values",
        families: &[Family::Kv],
        params: PARAMS,
    },
    runs: EngineLocation::Embedded,
    sources: SOURCES,
    // A compaction writes its tables again before the old ones go, and the journals (and the 64 MiB in flight) hold once more what
    // is not yet in tables.
    disk_peak: |data, _| Bytes(2 * data.0 + data.0.min(JOURNALS_MAX + (64 << 20))),
    version: || Ok(VERSION.into()),
    check: |trial| depth_one_only(trial).and_then(|()| program_of(trial, &SequenceState::default()).map(drop)),
    start: |start| Ok(Box::new(FjallInstance::start(start)?)),
    ..EngineDef::BARE
};

/// The release in Cargo.lock; the crate does not tell at run time.
const VERSION: &str = "3.1.13";

/// The most bytes of journals before fjall flushes memtables early: its own default.
const JOURNALS_MAX: u64 = 512 << 20;

const SOURCES: &[&ServerSource] = &[&COUNTERS];

static COUNTERS: ServerSource = ServerSource {
    name: "fjall",
    help: "journals, memtables, compactions and tables of fjall, as reported by the library (fjall)",
    counters: &[
        own(Gauge, "journal_bytes", "bytes", "size of the journals, which hold data that is not in tables yet")
            .read_as(CounterRole::LogAge),
        own(
            Gauge,
            "journal_max_bytes",
            "bytes",
            "size of the journals from which on fjall flushes memtables to shorten them",
        )
        .read_as(CounterRole::LogAgeMax),
        own(Gauge, "memtable_bytes", "bytes", "memory of all memtables: data still to be written to tables")
            .read_as(CounterRole::Memtable),
        own(Gauge, "flushes_pending", "count", "full memtables that wait to be flushed")
            .read_as(CounterRole::FullMemtables),
        own(Gauge, "compactions_running", "count", "compactions in progress"),
        own(Counts, "compactions", "ops", "compactions done"),
        own(Counts, "compacting_ns", "ns", "time spent compacting, over all threads"),
        own(Gauge, "l0_tables", "count", "tables in level 0, each of which a read may have to search")
            .read_as(CounterRole::UnsortedTables),
        own(Gauge, "table_bytes", "bytes", "size of all tables"),
    ],
};

const PARAMS: &[ParamDef] = &[DURABILITY, CACHE, BETWEEN];
const DURABILITY: ParamDef = ParamDef {
    help: durability_help!("the journal is synced at each commit, by plimsoll once a second, or never"),
    ..params::DURABILITY
};
const CACHE: ParamDef = ParamDef { help: "size of the block cache", ..params::CACHE };

struct FjallInstance {
    /// Nothing while its files are changed, and if it could not be opened again.
    open: Option<OpenDatabase>,
    watched: WatchedDatabase,
    params: Params,
    /// The names of the key spaces.
    tables: Vec<&'static str>,
    /// The rows of the data set that it begins with.
    rows_there: Option<u64>,
    persist: Option<PersistMode>,
    made_for: DataDescription,
    /// What is reset before each point.
    reset: DataReset,
    own: PathBuf,
    /// The last: fields are dropped in order, and files go after those that have them open.
    dir: DataDir,
}

/// What counters are read from while the database is open. It closes when nothing holds it any more, while the sampler goes on.
type WatchedDatabase = Arc<Mutex<Option<(Database, Vec<Keyspace>)>>>;

/// Nothing that can panic changes it under the lock.
fn lock_watched(watched: &WatchedDatabase) -> MutexGuard<'_, Option<(Database, Vec<Keyspace>)>> {
    watched.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The database. Its threads end when this is dropped, with all clients.
struct OpenDatabase {
    /// Persists once a second if durability is `os`.
    syncer: Option<PeriodicTask>,
    keyspaces: Vec<Keyspace>,
    database: Database,
}

impl OpenDatabase {
    fn open(own: &Path, params: &Params, tables: &[&str]) -> Result<OpenDatabase, TargetError> {
        let cache = params.bytes("cache").0;
        let (database, keyspaces) =
            open_keyspaces(own, cache, tables).map_err(engine_error("open a database in", own))?;
        Ok(OpenDatabase { syncer: sync_each_second(&database, params)?, keyspaces, database })
    }

    /// Closes the database in `own`, and waits until fjall's threads have closed its files: they count as ended a moment before, and
    /// a removed file that is open keeps its space.
    fn close(self, own: &Path) {
        drop(self);
        poll_until(CLOSES_WITHIN, || (!has_open_files(own)).then_some(()));
    }
}

/// Longer than the threads of fjall need, also on a busy machine. A client that hangs keeps the database open for good.
const CLOSES_WITHIN: Duration = Duration::from_secs(5);

/// Whether this process has a file in `directory` open.
fn has_open_files(directory: &Path) -> bool {
    let directory = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
    open_files(Path::new("/proc/self")).is_ok_and(|mut open| open.any(|file| file.starts_with(&directory)))
}

/// Opens the database in `own`. Journals are persisted by each batch or by plimsoll, as the durability asks, and not by fjall's timer.
fn open_keyspaces(own: &Path, cache_bytes: u64, tables: &[&str]) -> Result<(Database, Vec<Keyspace>), Error> {
    let database = Database::builder(own).cache_size(cache_bytes).max_journaling_size(JOURNALS_MAX);
    let database = database.manual_journal_persist(true).open()?;
    let keyspaces = tables.iter().map(|table| database.keyspace(table, KeyspaceCreateOptions::default));
    let keyspaces = keyspaces.collect::<Result<_, Error>>()?;
    Ok((database, keyspaces))
}

impl FjallInstance {
    fn start(start: &StartContext) -> Result<FjallInstance, TargetError> {
        let mut dir = DataDir::create(start.parent, start.data, start.trial.data_seed())?;
        let (own, params) = (dir.own_directory("fjall")?, start.trial.target.params.clone());
        let open = Some(OpenDatabase::open(&own, &params, &[])?);
        let (persist, made_for, reset) = (
            persist_mode(&params),
            DataDescription::new(start),
            DataReset::from_params(&params).with_set(start.data_set),
        );
        let rows_there = start.data_set.rows_there();
        let (watched, tables) = (WatchedDatabase::default(), Vec::new());
        Ok(FjallInstance { open, watched, params, tables, rows_there, persist, made_for, reset, own, dir })
    }

    fn opened(&self) -> Result<&OpenDatabase, TargetError> {
        self.open.as_ref().ok_or_else(|| {
            TargetError::Failed(format!("fjall in `{}` could not be opened again", shown(self.dir.path())))
        })
    }

    /// Closes the database, does `meanwhile` to its directory, and opens it again.
    fn reopen_after(&mut self, meanwhile: WhileStopped) -> Result<(), TargetError> {
        let was_watched = lock_watched(&self.watched).is_some();
        self.close();
        meanwhile(&mut self.reset, &mut self.dir, &self.own)?;
        self.open = Some(OpenDatabase::open(&self.own, &self.params, &self.tables)?);
        if was_watched {
            self.watch_counters();
        }
        Ok(())
    }

    /// Exact as long as no key was put twice.
    fn rows_in_keyspaces(&self) -> Result<u64, TargetError> {
        Ok(self.opened()?.keyspaces.iter().map(|keyspace| keyspace.approximate_len() as u64).sum())
    }

    fn close(&mut self) {
        // The sampler holds clones of the database: without giving them up it would not close.
        lock_watched(&self.watched).take();
        if let Some(open) = self.open.take() {
            open.close(&self.own);
        }
    }

    fn watch_counters(&self) {
        let opened = self.open.as_ref();
        *lock_watched(&self.watched) = opened.map(|open| (open.database.clone(), open.keyspaces.clone()));
    }

    fn stream_clients(
        &self,
        kinds: &[OpKindDef],
        stream: &OpStream<KvOp>,
        background: &[BackgroundOps<KvOp>],
        clients: LoadPart,
    ) -> Result<WorkloadClients, TargetError> {
        let open = self.opened()?;
        Ok(WorkloadClients::new(kinds, stream, background, clients, |source, _| {
            let (database, keyspaces) = (open.database.clone(), open.keyspaces.clone());
            let store = FjallStore { database, keyspaces, persist: self.persist };
            Box::new(SyncClient::new(source, KvDriver::new(store, self.dir.path())))
        }))
    }
}

impl Instance for FjallInstance {
    fn report(&self) -> InstanceReport {
        let own = [Fact::new("engine.version", VERSION), Fact::new("durability", durability_of(self.persist))];
        let cache = self.open.iter().map(|open| open.database.cache_capacity().to_string());
        let persist = Fact::new("fjall.persist_each_batch", persist_words(self.persist));
        let own = own.into_iter().chain(cache.map(|bytes| Fact::new("fjall.cache_bytes", bytes))).chain([persist]);
        InstanceReport { facts: own.chain(self.reset.facts()).collect(), ..InstanceReport::default() }
    }

    /// Journals and tables are written from their beginnings to their ends.
    fn write_path(&self, _: &Trial) -> WritePath {
        WritePath::Append
    }

    fn make_loaders(&mut self, trial: &Trial) -> Result<Option<WorkloadClients>, TargetError> {
        let program = program_of(trial, &self.made_for.sequence)?;
        if self.rows_there.is_some() {
            // They are opened with the files of the set.
            self.tables.extend(&program.tables);
            return Ok(None);
        }
        let open = self.open.as_mut().expect("nothing has closed it yet");
        for table in &program.tables {
            let keyspace = open.database.keyspace(table, KeyspaceCreateOptions::default);
            open.keyspaces.push(keyspace.map_err(engine_error("create a key space in", self.dir.path()))?);
        }
        self.tables.extend(&program.tables);
        let Some(load) = &program.load else { return Ok(None) };
        Ok(Some(self.stream_clients(&program.kinds, load, &[], loaders_for(trial, load.ops))?))
    }

    fn finish_load(&mut self) -> Result<Vec<Fact>, TargetError> {
        if let Some(rows) = self.rows_there {
            self.reopen_after(|reset, _, data| reset.restore_data(data))?;
            return self.dir.seal(rows).map(|()| Vec::new());
        }
        self.quiesce()?;
        let rows = self.rows_in_keyspaces()?;
        if self.reset.mode != ResetMode::Keep {
            self.reopen_after(DataReset::keep_copy)?;
        }
        self.dir.seal(rows)?;
        Ok(self.reset.facts_of_load())
    }

    fn quiesce(&mut self) -> Result<(), TargetError> {
        let OpenDatabase { database, keyspaces, .. } = self.opened()?;
        quiesce_database(database, keyspaces).map_err(engine_error("flush", self.dir.path()))
    }

    fn can_restore(&self) -> bool {
        self.reset.can_restore()
    }

    fn reset(&mut self, purpose: ResetFor) -> Result<(), TargetError> {
        if !self.reset.is_due(purpose, &mut self.made_for) {
            return Ok(());
        }
        if !self.reset.brings_back {
            // The journal may still be in the process's buffer.
            let kept = self.opened()?.database.persist(PersistMode::SyncAll);
            kept.map_err(engine_error("persist", self.dir.path()))?;
        }
        self.reopen_after(|reset, _, data| reset.restore_data(data))
    }

    fn make_clients(&mut self, trial: &Trial) -> Result<WorkloadClients, TargetError> {
        self.made_for.check_dir(&self.dir, trial)?;
        let program = program_of(trial, &self.made_for.sequence)?;
        if program.drains {
            let OpenDatabase { database, keyspaces, .. } = self.opened()?;
            let (database, keyspaces) = (database.clone(), keyspaces.clone());
            let drain = FjallDrain { database, keyspaces, directory: self.dir.path().into() };
            return Ok(maintenance::maintenance_clients(&program.run, &program.kinds, trial.data_part(), &drain));
        }
        self.stream_clients(&program.kinds, &program.run, &program.background, trial.data_part())
    }

    fn counter_sources(&self) -> Vec<Box<dyn CounterSource>> {
        self.watch_counters();
        let watched = self.watched.clone();
        vec![in_process_source(&COUNTERS, move || match &*lock_watched(&watched) {
            Some((database, keyspaces)) => counter_values(database, keyspaces),
            None => vec![None; COUNTERS.counters.len()],
        })]
    }

    fn describe_trouble(&self) -> Option<String> {
        self.open.as_ref()?.syncer.as_ref().and_then(PeriodicTask::first_failure)
    }

    fn measure_space(&self) -> DataSpace {
        let logs = self.dir.footprint_of(&|path| path.as_os_str().as_encoded_bytes().ends_with(b".jnl"));
        DataSpace { total: self.dir.footprint(), logs: Some(logs), rows: self.dir.amount() }
    }

    fn count_rows(&mut self) -> Result<Option<u64>, TargetError> {
        self.rows_in_keyspaces().map(Some)
    }

    fn keep_data(&mut self, place: KeptIn<'_>) -> Result<(), TargetError> {
        let KeptIn::Directory(to) = place else { unreachable!("its data is in a directory") };
        let kept = self.opened()?.database.persist(PersistMode::SyncAll);
        kept.map_err(engine_error("persist", self.dir.path()))?;
        self.close();
        move_contents(&self.own, to)
    }

    fn stop(mut self: Box<Self>) -> Result<(), TargetError> {
        self.close(); // before its files go
        self.dir.remove()
    }
}

/// In the order of [`COUNTERS`].
fn counter_values(database: &Database, keyspaces: &[Keyspace]) -> Vec<Option<f64>> {
    let l0_tables: usize = keyspaces.iter().map(Keyspace::l0_table_count).sum();
    let table_bytes: u64 = keyspaces.iter().map(Keyspace::disk_space).sum();
    vec![
        database.journal_disk_space().ok().map(|bytes| bytes as f64),
        Some(JOURNALS_MAX as f64),
        Some(database.write_buffer_size() as f64),
        Some(database.outstanding_flushes() as f64),
        Some(database.active_compactions() as f64),
        Some(database.compactions_completed() as f64),
        Some(database.time_compacting().as_nanos() as f64),
        Some(l0_tables as f64),
        Some(table_bytes as f64),
    ]
}

/// The threads that flush tell those that compact within a millisecond.
const QUIET_FOR: Duration = Duration::from_millis(100);
/// Nothing shows how far a compaction is until it ends, and one of a large level takes minutes on a slow disk.
const ONE_COMPACTION_WITHIN: Duration = Duration::from_secs(1_800);

/// Writes out what is in memory, and waits for the compactions that follow: else they would come during the run and be counted
/// there.
fn quiesce_database(database: &Database, keyspaces: &[Keyspace]) -> Result<(), Error> {
    for keyspace in keyspaces {
        // Otherwise the memtable of the load would be flushed during the run, and its writes charged to that.
        keyspace.rotate_memtable_and_wait()?;
    }
    database.persist(PersistMode::SyncAll)?;
    let ended = maintenance::wait_until_quiet(QUIET_FOR, ONE_COMPACTION_WITHIN, || {
        let is_pending = database.outstanding_flushes() > 0 || database.active_compactions() > 0;
        Ok::<_, Error>(BackgroundWork { done: database.compactions_completed() as u64, is_pending })
    })?;
    match ended {
        WaitEnd::Quiet => Ok(()),
        // Pending work is running here: its thread has failed, or its disk does not answer.
        WaitEnd::HeldBack => {
            let text = format!("no compaction ended within {} s; look at the disk", ONE_COMPACTION_WITHIN.as_secs());
            Err(io::Error::new(ErrorKind::TimedOut, text).into())
        }
    }
}

/// A drain as an operation.
#[derive(Clone)]
struct FjallDrain {
    database: Database,
    keyspaces: Vec<Keyspace>,
    directory: PathBuf,
}

impl Maintenance for FjallDrain {
    type Op = KvOp;
    type Open = ();

    fn engine_name(&self) -> String {
        format!("fjall in `{}`", shown(&self.directory))
    }

    fn open_connection(&self) -> Result<(), sql::OpFailure> {
        Ok(())
    }

    fn perform_op(&self, (): &mut (), _: &KvOp) -> Result<(), sql::OpFailure> {
        quiesce_database(&self.database, &self.keyspaces).map_err(|error| sql::OpFailure {
            class: FjallStore::failure_class(&error, &self.directory),
            text: text_of(&error),
        })
    }
}

/// `what` is a verb phrase that ends before the path.
fn engine_error(what: &'static str, directory: &Path) -> impl Fn(Error) -> TargetError {
    move |error| match io_error(&error) {
        Some(error) => TargetError::io(what, directory, error),
        None => TargetError::Failed(format!("fjall cannot {what} `{}`: {}", shown(directory), text_of(&error))),
    }
}

fn persist_mode(params: &Params) -> Option<PersistMode> {
    match params.word("durability") {
        "disk" => Some(PersistMode::SyncAll),
        "os" => Some(PersistMode::Buffer),
        _ => None,
    }
}

/// What fjall does with the journal at each batch, in words.
fn persist_words(persist: Option<PersistMode>) -> &'static str {
    match persist {
        Some(PersistMode::SyncAll) => "sync all",
        Some(PersistMode::SyncData) => "sync data",
        Some(PersistMode::Buffer) => "hand to the operating system",
        None => "none",
    }
}

fn durability_of(persist: Option<PersistMode>) -> &'static str {
    match persist {
        Some(PersistMode::SyncAll | PersistMode::SyncData) => "disk",
        Some(PersistMode::Buffer) => "os",
        None => "none",
    }
}

fn sync_each_second(database: &Database, params: &Params) -> Result<Option<PeriodicTask>, TargetError> {
    if params.word("durability") != "os" {
        return Ok(None);
    }
    let database = database.clone();
    // After a sync that failed, fjall itself refuses all further writes.
    let syncer = PeriodicTask::start("fjall-sync", move || {
        let synced = database.persist(PersistMode::SyncAll);
        synced.map_err(|error| format!("durability = `os` did not hold: fjall cannot persist: {}", text_of(&error)))
    });
    syncer.map(Some)
}

/// One client's key spaces.
struct FjallStore {
    database: Database,
    keyspaces: Vec<Keyspace>,
    persist: Option<PersistMode>,
}

impl KvStore for FjallStore {
    type Error = Error;
    const ENGINE: &'static str = "fjall";

    fn put_batch(&mut self, op: &KvOp) -> Result<(), Error> {
        let mut batch = self.database.batch().durability(self.persist);
        for entry in &op.entries {
            batch.insert(&self.keyspaces[entry.table as usize], op.key(entry), op.value(entry));
        }
        for entry in &op.removed {
            batch.remove(&self.keyspaces[entry.table as usize], op.key(entry));
        }
        batch.commit()
    }

    fn get_value(&mut self, op: &KvOp, entry: &KvEntry) -> Result<Option<usize>, Error> {
        let value = self.keyspaces[entry.table as usize].get(op.key(entry))?;
        Ok(value.map(|value| std::hint::black_box(value).len()))
    }

    fn scan_values(&mut self, op: &KvOp, entry: &KvEntry, count: u32) -> Result<usize, Error> {
        let mut bytes = 0;
        for found in self.keyspaces[entry.table as usize].range(op.key(entry)..).take(count as usize) {
            bytes += std::hint::black_box(found.value()?).len();
        }
        Ok(bytes)
    }

    fn read_value(&mut self, op: &KvOp, entry: &KvEntry, value: &mut Vec<u8>) -> Result<bool, Error> {
        let found = self.keyspaces[entry.table as usize].get(op.key(entry))?;
        value.extend(found.iter().flat_map(|found| found.iter()));
        Ok(found.is_some())
    }

    fn put_value(&mut self, op: &KvOp, entry: &KvEntry, value: &[u8]) -> Result<(), Error> {
        let mut batch = self.database.batch().durability(self.persist);
        batch.insert(&self.keyspaces[entry.table as usize], op.key(entry), value);
        batch.commit()
    }

    fn failure_class(error: &Error, directory: &Path) -> FailureClass {
        class_of(error, || free_bytes(directory))
    }

    fn describe_error(error: &Error, directory: &Path) -> String {
        match error {
            Error::Poisoned => format!("{}; {} are free on its disk", text_of(error), free_bytes(directory)),
            error => text_of(error),
        }
    }
}

/// A file system with less free is full: what did not fit has been given up again.
const FULL_BELOW: Bytes = Bytes::from_mib(1);

/// When a write fails, one client gets the reason, and the others only learn that the engine takes no more writes. They count as
/// the same failure if that can be known.
fn class_of(error: &Error, free: impl FnOnce() -> Bytes) -> FailureClass {
    match (io_error(error), error) {
        (Some(error), _) if matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded) => {
            FailureClass::NoSpace
        }
        (Some(_), _) => FailureClass::Io,
        (None, Error::Storage(StorageError::ChecksumMismatch { .. })) => FailureClass::Corrupt,
        (None, Error::Poisoned) if free() < FULL_BELOW => FailureClass::NoSpace,
        (None, Error::Poisoned) => FailureClass::Lost,
        (None, _) => FailureClass::Other,
    }
}

/// What an unprivileged user may still write on the disk of `directory`; no limit if the system does not report it.
fn free_bytes(directory: &Path) -> Bytes {
    let free = rustix::fs::statvfs(directory).map(|stat| stat.f_bavail.saturating_mul(stat.f_frsize));
    Bytes(free.unwrap_or(u64::MAX))
}

/// The system's error under that of the engine.
fn io_error(error: &Error) -> Option<&std::io::Error> {
    match error {
        Error::Io(error) | Error::Storage(StorageError::Io(error)) => Some(error),
        _ => None,
    }
}

fn text_of(error: &Error) -> String {
    match (io_error(error), error) {
        (Some(error), _) => error.to_string(),
        (None, Error::Poisoned) => "it accepts no more writes, because an earlier write or flush failed".into(),
        (None, error) => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Value;

    #[test]
    fn the_version_is_the_one_in_the_lock_file() {
        let lock = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.lock")).unwrap();
        assert!(lock.contains(&format!("name = \"fjall\"\nversion = \"{VERSION}\"\n")), "`{VERSION}` is not locked");
    }

    #[test]
    fn a_closed_database_has_no_file_open() {
        let dir = tempfile::tempdir().unwrap();
        let words = [("durability", Value::Word("disk".into())), ("cache", Value::Bytes(Bytes::from_mib(8)))];
        let params = Params(words.map(|(name, value)| (name.to_owned(), value)).into());
        for _ in 0..50 {
            let open = OpenDatabase::open(dir.path(), &params, &["a"]).unwrap();
            assert!(has_open_files(dir.path()));
            open.close(dir.path());
            assert!(!has_open_files(dir.path()));
        }
    }

    #[test]
    fn a_full_disk_is_found_under_every_wrapping() {
        let full = || std::io::Error::from_raw_os_error(libc::ENOSPC);
        let class = |error: Error| class_of(&error, || Bytes::from_gib(1));
        assert_eq!(class(Error::Io(full())), FailureClass::NoSpace);
        assert_eq!(class(Error::Storage(StorageError::Io(full()))), FailureClass::NoSpace);
        assert_eq!(class(Error::Io(std::io::Error::from_raw_os_error(libc::EIO))), FailureClass::Io);
        assert_eq!(class(Error::Poisoned), FailureClass::Lost);
        assert_eq!(class_of(&Error::Poisoned, || Bytes(4096)), FailureClass::NoSpace);
        assert_eq!(class(Error::Locked), FailureClass::Other);
    }
}
