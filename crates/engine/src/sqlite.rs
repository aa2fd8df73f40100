//! SQLite, embedded: a B-tree in one file with a write-ahead log.
//!
//! In: a trial of the family sql. Out: one connection per client, statements prepared once. Limits: one writer at a time is
//! SQLite's nature; a writing transaction begins IMMEDIATE and waits for its turn in SQLite's own busy handler, which sleeps
//! up to 100 ms a time.
//!
//! Durability: `disk` = synchronous FULL (the log is synced at each commit); `os` = synchronous NORMAL and plimsoll syncs the
//! log once a second; `none` = synchronous OFF. In WAL mode all three keep the database consistent after a crash of the
//! process. (<https://sqlite.org/pragma.html#pragma_synchronous>)

use crate::conditions::{CheckedConditions, ConditionRow, check_conditions};
use crate::counters::{ServerSource, in_process_source, own};
use crate::data_description::DataDescription;
use crate::data_set::KeptIn;
use crate::engine::{
    DataSpace, EngineDef, EngineLocation, Instance, InstanceReport, ResetFor, StartContext, WorkloadClients,
    depth_one_only,
};
use crate::maintenance::{self, Maintenance, RemainingDebt};
use crate::params;
use crate::params::durability_help;
use crate::periodic::PeriodicTask;
use crate::reset::{BETWEEN, DataReset, ResetMode, WhileStopped};
use crate::sql::bulk::bulk_clients;
use crate::sql::rejection::{custom_ops, rejection};
use crate::sql::replay;
use crate::sql::row_tally::{ReplacedRows, RowTally, StatementRows};
use crate::sql::session_options::{self, ConnectionLifetime, StatementMode};
use crate::sql::variant::{self, VariantResult, VariantRun};
use crate::sql::{OpFailure, OpNames, keep_used, program_of};
use crate::sqlite_busy::BusyTime;
use crate::sqlite_execute::{AROUND_A_TRANSACTION, Keeper, perform_op, without_row_locks};
use crate::sqlite_load::{self, SqliteLoad};
use crate::sqlite_schema::{create_indexes, create_table, quote_name};
use crate::sqlite_variant::VariantDatabase;
use host::data_dir::DataDir;
use host::error::{TargetError, shown};
use host::privileged::copy::move_contents;
use load::{Driver, SyncClient};
use model::CounterKind::{Counter as Counts, Gauge};
use model::statement::CustomOp;
use model::{
    Bytes, CounterRole, CounterSource, Entry, Fact, FailureClass, Family, LoadPart, OpKind, Outcome, ParamDef,
    ParamKind, Params, RowCounts, SqlOp, Trial, WritePath,
};
use rusqlite::ffi::SQLITE_IOERR_SHMSIZE;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use workload::{BackgroundOps, OpKindDef, OpStream, SequenceState, SqlLoad, SqlProgram, SqlTable, SqlWork};

pub static SQLITE: EngineDef = EngineDef {
    entry: Entry {
        name: "sqlite",
        spoken: "SQLite",
        help: "SQLite, embedded: a B-tree with a write-ahead log, one writer at a time",
        families: &[Family::Sql],
        params: PARAMS,
    },
    runs: EngineLocation::Embedded,
    sources: SOURCES,
    // The log: a checkpoint follows each 4 MiB of it, but not while readers hold it, and it holds every transaction until that is committed.
    disk_peak: |data, _| Bytes(data.0 + data.0 / 2 + (64 << 20)),
    version: || Ok(rusqlite::version().into()),
    check: |trial| {
        let program = program_of(trial, &SequenceState::default());
        depth_one_only(trial).and_then(|()| whole_tables_only(&program)).and_then(|()| no_procedures(&program))
    },
    start: |start| Ok(Box::new(SqliteInstance::start(start)?)),
    ..EngineDef::BARE
};

const SOURCES: &[&ServerSource] = &[&COUNTERS];

static COUNTERS: ServerSource = ServerSource {
    name: "sqlite",
    help: "sizes of SQLite's log and database files, memory that the library reports, and waits for the one writer (sqlite)",
    counters: &[
        own(
            Gauge,
            "wal_bytes",
            "bytes",
            "length of the write-ahead log: its largest so far, because SQLite reuses the file from its start",
        )
        .read_as(CounterRole::LogHoldingData),
        own(
            Counts,
            "wal_restarts",
            "ops",
            "times that the log was restarted after all of it was written to the database",
        ),
        own(Gauge, "database_bytes", "bytes", "length of the database file"),
        own(Gauge, "memory_bytes", "bytes", "memory that SQLite holds, caches of all connections included"),
        own(Counts, "busy_ns", "ns", "time that clients waited until no other client wrote")
            .read_as(CounterRole::WriterTurnTime),
        own(Counts, "busy_waits", "ops", "times that a client had to wait for that"),
    ],
};

const PARAMS: &[ParamDef] = &[DURABILITY, CACHE, BETWEEN, STATEMENTS, ISOLATION, session_options::CONNECTION];

const DURABILITY: ParamDef = ParamDef {
    help: durability_help!(
        "PRAGMA synchronous = FULL, NORMAL (and plimsoll syncs the log once a second) or OFF (no sync)"
    ),
    ..params::DURABILITY
};

/// Its transactions are serializable, whatever is asked for: there is one writer, and readers see what was there when they began.
const ISOLATION: ParamDef = ParamDef {
    kind: ParamKind::OneOf(&["default", "serializable"]),
    help: "isolation level of the clients' transactions; SQLite has only `serializable`, which is its `default`",
    ..session_options::ISOLATION
};
const CACHE: ParamDef = ParamDef { help: "size of the page cache of each connection", ..params::CACHE };
/// SQLite executes prepared statements only.
const STATEMENTS: ParamDef = ParamDef {
    help: "how statements are executed: `prepared` once per connection, or prepared again each time (`plain`)",
    ..session_options::STATEMENTS
};

/// A writer waits this long for the others before its operation counts as failed.
const BUSY_TIMEOUT: Duration = Duration::from_secs(60);

struct SqliteInstance {
    /// Syncs the log once a second if durability is `os`.
    syncer: Option<PeriodicTask>,
    /// Keeps the log in place while clients connect and disconnect, and reads the settings back.
    admin: Connection,
    params: Params,
    /// What the clients' settings are, as SQLite returned them: while data is made the control connection has others.
    settings: Vec<Fact>,
    tables: Vec<String>,
    /// The rows of the data set that it begins with.
    rows_there: Option<u64>,
    /// The tables that are filled without their indexes, until these are made.
    bare_tables: Vec<SqlTable>,
    made_for: DataDescription,
    debt: RemainingDebt,
    /// The variant of the last trial, if it was one.
    variant: Option<VariantRun>,
    /// What is reset before each point.
    reset: DataReset,
    /// What its clients waited for each other.
    busy: Arc<BusyTime>,
    database: PathBuf,
    /// The last: fields are dropped in order, and files go after those that have them open.
    dir: DataDir,
}

impl SqliteInstance {
    fn start(start: &StartContext) -> Result<SqliteInstance, TargetError> {
        let mut dir = DataDir::create(start.parent, start.data, start.trial.data_seed())?;
        let own = dir.own_directory("sqlite")?;
        let database = own.join("plimsoll.db");
        let params = start.trial.target.params.clone();
        let admin =
            open_connection(&database, &params, 0).map_err(engine_error("open a new database at", &database))?;
        sort_in(&admin, &own).map_err(engine_error("keep temporary files next to", &database))?;
        let syncer = sync_each_second(&database, &params)?;
        let reset = DataReset::for_trial(start.trial).with_set(start.data_set);
        Ok(SqliteInstance {
            syncer,
            settings: read_settings(&admin),
            admin,
            params,
            tables: Vec::new(),
            bare_tables: Vec::new(),
            rows_there: start.data_set.rows_there(),
            made_for: DataDescription::new(start),
            debt: RemainingDebt::default(),
            variant: None,
            reset,
            busy: Arc::default(),
            database,
            dir,
        })
    }

    /// Closes the database. To open and close its file past SQLite gives up the locks that SQLite has on it. Returns its directory.
    fn close(&mut self) -> Result<&Path, TargetError> {
        self.syncer = None;
        let nothing = Connection::open_in_memory().map_err(engine_error("stand still for", &self.database))?;
        // SQLite checkpoints and removes its log when the last connection closes.
        drop(std::mem::replace(&mut self.admin, nothing));
        Ok(self.database.parent().expect("its name was joined to a directory"))
    }

    /// Closes the database, does `meanwhile` to its directory, and opens it again.
    fn reopen_after(&mut self, meanwhile: WhileStopped) -> Result<(), TargetError> {
        let own = self.close()?.to_owned();
        meanwhile(&mut self.reset, &mut self.dir, &own)?;
        self.admin = open_connection(&self.database, &self.params, 0).map_err(engine_error("open", &self.database))?;
        self.syncer = sync_each_second(&self.database, &self.params)?;
        Ok(())
    }

    /// Rows are counted, not assumed.
    fn rows_in_tables(&self) -> Result<u64, TargetError> {
        let counts = self.tables.iter().map(|table| {
            self.admin.query_row(&format!("SELECT count(*) FROM {}", quote_name(table)), [], |row| row.get::<_, i64>(0))
        });
        let rows: rusqlite::Result<u64> = counts.map(|count| count.map(|rows| rows as u64)).sum();
        rows.map_err(engine_error("count the rows of", &self.database))
    }

    fn variant_database(&self) -> VariantDatabase {
        VariantDatabase { database: self.database.clone(), params: self.params.clone() }
    }

    fn stream_clients(
        &self,
        mode: ClientMode,
        ClientStatements { texts, rows, custom }: ClientStatements<'_>,
        kinds: &[OpKindDef],
        stream: &OpStream<SqlOp>,
        background: &[BackgroundOps<SqlOp>],
        clients: LoadPart,
    ) -> WorkloadClients {
        let statements: Arc<[String]> = texts.iter().map(|text| without_row_locks(text).to_owned()).collect();
        let names = OpNames::new(kinds);
        let custom: Arc<[CustomOp]> = custom.into();
        WorkloadClients::new(kinds, stream, background, clients, |source, _| {
            let driver = SqliteDriver {
                database: self.database.clone(),
                params: self.params.clone(),
                mode,
                statements: source.statements().map_or_else(|| statements.clone(), |used| keep_used(&statements, used)),
                custom: custom.clone(),
                connection: None,
                names: names.clone(),
                busy: self.busy.clone(),
                keeper: Keeper::new(RowTally::new(&rows)),
                kind: OpKind(0),
                failure: None,
            };
            Box::new(SyncClient::new(source, driver))
        })
    }
}

impl Instance for SqliteInstance {
    fn report(&self) -> InstanceReport {
        let isolation = Fact::new("isolation", "serializable");
        let facts = self.settings.iter().cloned().chain([isolation]).chain(self.reset.facts()).collect();
        InstanceReport { facts, ..InstanceReport::default() }
    }

    /// A checkpoint writes pages to their places, and the log begins again at its start.
    fn write_path(&self, _: &Trial) -> WritePath {
        WritePath::Buffered
    }

    fn finish_trial(&mut self) -> Vec<Fact> {
        let variant = self.variant.as_ref().map(|run| run.closing_facts(&self.variant_database()));
        self.debt.take_fact().into_iter().chain(variant.into_iter().flatten()).collect()
    }

    fn take_result(&mut self) -> Option<VariantResult> {
        self.variant.take()?.take_result()
    }

    fn make_loaders(&mut self, trial: &Trial) -> Result<Option<WorkloadClients>, TargetError> {
        let program = program_of(trial, &self.made_for.sequence);
        for table in &program.schema {
            self.tables.push(table.name.clone());
            if self.rows_there.is_none() {
                let indexes = if program.load.is_some() { String::new() } else { create_indexes(table) };
                self.admin
                    .execute_batch(&(create_table(table) + &indexes))
                    .map_err(engine_error("create a table in", &self.database))?;
            }
        }
        if self.rows_there.is_some() {
            return Ok(None);
        }
        let (targets, blocks) = match (&program.load, &program.work) {
            (None, _) => return Ok(None),
            (Some(SqlLoad::Rows { targets, blocks }), _) => (targets, blocks),
            (Some(SqlLoad::Statements(statements)), SqlWork::Variant(steps)) => {
                return Ok(Some(variant::data_clients(&self.variant_database(), steps, statements, &program.kinds)));
            }
            (Some(SqlLoad::Statements(_)), _) => unreachable!("only variants have statements for their data"),
        };
        sqlite_load::begin_load(&self.admin).map_err(engine_error("begin the load of", &self.database))?;
        let connect = SqliteLoad::new(&self.database, targets);
        // One loader: there is one writer at a time. It has no connection to lose.
        let loaders = bulk_clients(blocks, &program.kinds, LoadPart::WHOLE, &connect, &Arc::default());
        self.bare_tables = program.schema;
        Ok(Some(loaders))
    }

    fn finish_load(&mut self) -> Result<Vec<Fact>, TargetError> {
        if let Some(rows) = self.rows_there {
            self.reopen_after(|reset, _, data| reset.restore_data(data))?;
            return self.dir.seal(rows).map(|()| Vec::new());
        }
        let bare = std::mem::take(&mut self.bare_tables);
        let mut facts = Vec::new();
        if !bare.is_empty() {
            facts = sqlite_load::complete_tables(&self.admin, &bare)
                .map_err(engine_error("make the indexes of", &self.database))?;
            sqlite_load::end_load(&self.admin)
                .and_then(|()| self.admin.execute_batch(&settings_of_clients(&self.params)))
                .map_err(engine_error("end the load of", &self.database))?;
        }
        self.quiesce()?;
        let rows = self.rows_in_tables()?;
        if self.reset.mode != ResetMode::Keep {
            self.reopen_after(DataReset::keep_copy)?;
        }
        self.dir.seal(rows)?;
        facts.extend(self.reset.facts_of_load());
        Ok(facts)
    }

    fn quiesce(&mut self) -> Result<(), TargetError> {
        quiesce_database(&self.admin, &self.params, &self.debt).map_err(engine_error("checkpoint", &self.database))
    }

    fn can_restore(&self) -> bool {
        self.reset.can_restore()
    }

    fn reset(&mut self, purpose: ResetFor) -> Result<(), TargetError> {
        if !self.reset.is_due(purpose, &mut self.made_for) {
            return Ok(());
        }
        self.reopen_after(|reset, _, data| reset.restore_data(data))
    }

    fn make_clients(&mut self, trial: &Trial) -> Result<WorkloadClients, TargetError> {
        self.made_for.check_dir(&self.dir, trial)?;
        let program = program_of(trial, &self.made_for.sequence);
        if let SqlWork::Variant(steps) = &program.work {
            variant::check_trial(trial, true)?;
            let run = VariantRun::new(trial, steps);
            let clients = run.clients(&self.variant_database(), &program.run, &program.kinds);
            self.variant = Some(run);
            return Ok(clients);
        }
        if program.work == SqlWork::Replay {
            return Err(TargetError::Unsupported(replay::NEEDS_COPY.to_owned()));
        }
        if program.work != SqlWork::Calls {
            let (database, params, debt) = (self.database.clone(), self.params.clone(), self.debt.clone());
            let maintenance = SqliteMaintenance { database, params, debt, work: program.work.into() };
            return Ok(maintenance::maintenance_clients(&program.run, &program.kinds, trial.data_part(), &maintenance));
        }
        let (run, background) = (&program.run, &program.background[..]);
        Ok(self.stream_clients(
            ClientMode::from_params(&trial.target.params),
            ClientStatements {
                texts: &program.statements,
                rows: StatementRows::new(&program, ReplacedRows::Found),
                custom: &custom_ops(trial),
            },
            &program.kinds,
            run,
            background,
            trial.data_part(),
        ))
    }

    fn check_conditions(
        &mut self,
        trial: &Trial,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<Option<CheckedConditions>, TargetError> {
        let program = program_of(trial, &self.made_for.sequence);
        if program.conditions.is_empty() {
            return Ok(None);
        }
        let ask = |query: &str| {
            first_row(&self.admin, query).map_err(engine_error("check a condition of the rows in", &self.database))
        };
        check_conditions(&program.conditions, go_on, ask).map(Some)
    }

    fn counter_sources(&self) -> Vec<Box<dyn CounterSource>> {
        let (database, log, busy) = (self.database.clone(), log_of(&self.database), self.busy.clone());
        vec![in_process_source(&COUNTERS, move || {
            let [busy_ns, busy_waits] = busy.totals().map(|total| Some(total as f64));
            vec![file_length(&log), log_restarts(&log), file_length(&database), memory_used(), busy_ns, busy_waits]
        })]
    }

    fn describe_trouble(&self) -> Option<String> {
        self.syncer.as_ref().and_then(PeriodicTask::first_failure)
    }

    fn measure_space(&self) -> DataSpace {
        let logs = self.dir.footprint_of(&|path| path.as_os_str().as_encoded_bytes().ends_with(b"-wal"));
        DataSpace { total: self.dir.footprint(), logs: Some(logs), rows: self.dir.amount() }
    }

    fn count_rows(&mut self) -> Result<Option<u64>, TargetError> {
        self.rows_in_tables().map(Some)
    }

    fn keep_data(&mut self, place: KeptIn<'_>) -> Result<(), TargetError> {
        let KeptIn::Directory(to) = place else { unreachable!("its data is in a directory") };
        move_contents(self.close()?, to)
    }

    fn stop(self: Box<Self>) -> Result<(), TargetError> {
        let SqliteInstance { syncer, admin, dir, .. } = *self;
        drop(syncer);
        let _ = sort_in(&admin, Path::new("")); // if it does not answer, nothing is sorted any more
        drop(admin);
        dir.remove()
    }
}

fn whole_tables_only(program: &SqlProgram) -> Result<(), TargetError> {
    if program.schema.iter().any(|table| table.partitions.is_some()) {
        Err(TargetError::Unsupported(
            "engine `sqlite` has no partitions; use partition_rows = `0`, or leave out `partitions`".into(),
        ))
    } else {
        Ok(())
    }
}

fn no_procedures(program: &SqlProgram) -> Result<(), TargetError> {
    if program.procedures.is_empty() {
        Ok(())
    } else {
        Err(TargetError::Unsupported("engine `sqlite` has no stored procedures; use calls = `statements`".into()))
    }
}

/// Version, durability and settings.
fn read_settings(connection: &Connection) -> Vec<Fact> {
    let read_back = ["synchronous", "journal_mode", "page_size", "cache_size", "wal_autocheckpoint"]
        .map(|name| Fact::new(format!("sqlite.{name}"), read_pragma(connection, name)));
    let durability = match read_pragma(connection, "synchronous").as_str() {
        "2" => "disk",
        "1" => "os",
        "0" => "none",
        _ => "unknown",
    };
    let own = [Fact::new("engine.version", rusqlite::version()), Fact::new("durability", durability)];
    own.into_iter().chain(read_back).collect()
}

/// Moves the log into the database, synced whatever the durability: the device is not to write it while something else is
/// measured. If a reader blocks it for longer than a connection waits, what could not be moved is kept as the remaining debt.
fn quiesce_database(connection: &Connection, params: &Params, debt: &RemainingDebt) -> rusqlite::Result<()> {
    let synchronous = synchronous_word(params);
    // With `none` the checkpoint would not be synced, and the kernel would write it during the run.
    connection.execute_batch("PRAGMA synchronous = FULL")?;
    let frames = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| {
        let (is_busy, in_log, moved): (bool, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok(if is_busy { in_log - moved } else { 0 })
    })?;
    connection.execute_batch(&format!("PRAGMA synchronous = {synchronous}"))?;
    let page: i64 = connection.query_row("PRAGMA page_size", [], |row| row.get(0))?;
    debt.store(Bytes((frames * page).max(0) as u64));
    Ok(())
}

/// `what` is a verb phrase that ends before the path of the database.
fn engine_error(what: &'static str, database: &Path) -> impl Fn(rusqlite::Error) -> TargetError {
    move |error| {
        let full = class_of(&error) == FailureClass::NoSpace;
        let advice = if full { "; free some space or use another directory" } else { "" };
        TargetError::Failed(format!("sqlite cannot {what} `{}`: {error}{advice}", shown(database)))
    }
}

fn synchronous_word(params: &Params) -> &'static str {
    match params.word("durability") {
        "disk" => "FULL",
        "os" => "NORMAL",
        _ => "OFF",
    }
}

/// A connection that keeps `statements` statements prepared, and those around a transaction.
pub(crate) fn open_connection(database: &Path, params: &Params, statements: usize) -> rusqlite::Result<Connection> {
    open_connection_with(database, &settings_of_clients(params), statements)
}

/// The same with other `settings`, in words of SQLite.
pub(crate) fn open_connection_with(database: &Path, settings: &str, statements: usize) -> rusqlite::Result<Connection> {
    let connection = Connection::open(database)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(statements + AROUND_A_TRANSACTION.len());
    connection.execute_batch(settings)?;
    Ok(connection)
}

fn settings_of_clients(params: &Params) -> String {
    let (synchronous, cache_kib) = (synchronous_word(params), params.bytes("cache").0 / 1024);
    format!("PRAGMA journal_mode = WAL; PRAGMA synchronous = {synchronous}; PRAGMA cache_size = -{cache_kib};")
}

/// Indexes are sorted in temporary files, which SQLite would have in /var/tmp, on whatever disk that is. `directory` is for the
/// process; an empty one is SQLite's own choice. (<https://sqlite.org/pragma.html#pragma_temp_store_directory>)
fn sort_in(connection: &Connection, directory: &Path) -> rusqlite::Result<()> {
    match directory.to_str() {
        Some(directory) => connection.pragma_update(None, "temp_store_directory", directory),
        None => Ok(()),
    }
}

/// The first row of `query`, each value as text.
fn first_row(connection: &Connection, query: &str) -> rusqlite::Result<Option<ConditionRow>> {
    let mut statement = connection.prepare(query)?;
    let columns = statement.column_count();
    let mut rows = statement.query([])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    (0..columns).map(|column| Ok(value_text(row.get_ref(column)?))).collect::<rusqlite::Result<_>>().map(Some)
}

fn value_text(value: ValueRef) -> Option<String> {
    match value {
        ValueRef::Null => None,
        ValueRef::Integer(value) => Some(value.to_string()),
        ValueRef::Real(value) => Some(value.to_string()),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
    }
}

/// The value of a pragma as text.
fn read_pragma(connection: &Connection, name: &str) -> String {
    let read = connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, rusqlite::types::Value>(0));
    match read {
        Ok(rusqlite::types::Value::Integer(value)) => value.to_string(),
        Ok(rusqlite::types::Value::Text(value)) => value,
        _ => "unknown".into(),
    }
}

fn sync_each_second(database: &Path, params: &Params) -> Result<Option<PeriodicTask>, TargetError> {
    if params.word("durability") != "os" {
        return Ok(None);
    }
    let log = log_of(database);
    let syncer = PeriodicTask::start("sqlite-sync", move || sync_log(&log));
    syncer.map(Some)
}

/// Only the log may be opened past SQLite: POSIX locks go when any descriptor of their file is closed, so closing the database file
/// here would give up SQLite's locks on it.
fn sync_log(log: &Path) -> Result<(), String> {
    match model::open_regular(log).and_then(|file| file.sync_data()) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            let (log, why) = (shown(log), host::error::system_words(&error));
            Err(format!("durability = `os` did not hold: cannot sync `{log}`: {why}"))
        }
        _ => Ok(()),
    }
}

fn log_of(database: &Path) -> PathBuf {
    let mut log = database.as_os_str().to_owned();
    log.push("-wal");
    log.into()
}

fn file_length(path: &Path) -> Option<f64> {
    std::fs::metadata(path).ok().map(|file| file.len() as f64)
}

/// How often the log started again: the fourth number of its header; none while it is empty.
/// (<https://sqlite.org/fileformat.html#the_write_ahead_log>) Of SQLite's files only the log may be opened past it.
fn log_restarts(log: &Path) -> Option<f64> {
    let mut header = [0; 16];
    model::open_regular(log).ok()?.read_exact(&mut header).ok()?;
    Some(f64::from(u32::from_be_bytes(header[12..].try_into().expect("four bytes"))))
}

/// The memory of all connections of this process.
fn memory_used() -> Option<f64> {
    let (mut now, mut most) = (0, 0);
    // SAFETY: both pointers are valid for the numbers that the call writes.
    let done =
        unsafe { rusqlite::ffi::sqlite3_status64(rusqlite::ffi::SQLITE_STATUS_MEMORY_USED, &mut now, &mut most, 0) };
    (done == rusqlite::ffi::SQLITE_OK).then_some(now as f64)
}

/// Maintenance of a database.
#[derive(Clone)]
struct SqliteMaintenance {
    database: PathBuf,
    params: Params,
    debt: RemainingDebt,
    work: Arc<SqlWork>,
}

impl Maintenance for SqliteMaintenance {
    type Op = SqlOp;
    type Open = Connection;

    fn engine_name(&self) -> String {
        format!("sqlite on `{}`", shown(&self.database))
    }

    fn open_connection(&self) -> Result<Connection, OpFailure> {
        open_connection(&self.database, &self.params, 0).map_err(op_failure)
    }

    fn perform_op(&self, connection: &mut Connection, op: &SqlOp) -> Result<(), OpFailure> {
        let done = match &*self.work {
            SqlWork::Calls | SqlWork::Variant(_) | SqlWork::Replay => {
                unreachable!("statements have clients of their own")
            }
            SqlWork::Drain => quiesce_database(connection, &self.params, &self.debt),
            SqlWork::Indexes(tables) => {
                let mut asked = op.calls.iter().map(|call| create_indexes(&tables[call.statement as usize]));
                asked.try_for_each(|statements| connection.execute_batch(&statements))
            }
        };
        done.map_err(op_failure)
    }
}

pub(crate) fn op_failure(error: rusqlite::Error) -> OpFailure {
    OpFailure { class: class_of(&error), text: error.to_string() }
}

/// How a client executes its statements.
#[derive(Clone, Copy)]
struct ClientMode {
    statements: StatementMode,
    connection: ConnectionLifetime,
}

impl ClientMode {
    fn from_params(params: &Params) -> ClientMode {
        ClientMode {
            statements: session_options::statement_mode(params),
            connection: session_options::connection_lifetime(params),
        }
    }
}

struct SqliteDriver {
    database: PathBuf,
    params: Params,
    mode: ClientMode,
    statements: Arc<[String]>,
    /// Those that the user wrote, for messages.
    custom: Arc<[CustomOp]>,
    /// Opened on the client's own thread.
    connection: Option<Connection>,
    names: OpNames,
    busy: Arc<BusyTime>,
    keeper: Keeper,
    /// Of the last operation.
    kind: OpKind,
    /// The last, with the kind of its operation.
    failure: Option<(OpKind, rusqlite::Error)>,
}

impl Driver for SqliteDriver {
    type Op = SqlOp;
    const HAS_ROWS: bool = true;

    fn open(&mut self) -> Result<(), String> {
        let connection =
            self.connect().map_err(|error| format!("sqlite cannot open `{}`: {error}", shown(&self.database)))?;
        for statement in self.statements.iter().map(String::as_str).chain(AROUND_A_TRANSACTION) {
            connection.prepare_cached(statement).map_err(|error| rejected(statement, &self.custom, error))?;
        }
        self.connection = (self.mode.connection == ConnectionLifetime::Kept).then_some(connection);
        Ok(())
    }

    fn execute_op(&mut self, op: &SqlOp) -> Outcome {
        self.kind = op.op_kind;
        let (how, statements) = (self.mode.statements, &self.statements);
        let done = match self.mode.connection {
            ConnectionLifetime::Kept => {
                let connection = self.connection.as_ref().expect("opened before the first operation");
                perform_or_roll_back(connection, how, statements, op, &mut self.keeper)
            }
            ConnectionLifetime::PerTransaction => self
                .connect()
                .and_then(|connection| perform_or_roll_back(&connection, how, statements, op, &mut self.keeper)),
        };
        let Err(error) = done else { return Outcome::Ok { bytes: 0 } };
        let class = class_of(&error);
        self.failure = Some((op.op_kind, error));
        Outcome::Failed(class)
    }

    #[inline]
    fn last_rows(&self) -> RowCounts {
        self.keeper.tally.rows()
    }

    fn describe_miss(&self) -> String {
        format!("{}: {}", self.names.within("engine `sqlite`", self.kind), self.keeper.tally.describe_miss())
    }

    fn describe_failure(&self) -> String {
        let Some((op, error)) = &self.failure else { return "engine `sqlite` did not fail".into() };
        let failed = format!("{}: {error}", self.names.within("engine `sqlite`", *op));
        match class_of(error) {
            FailureClass::NoSpace => format!("{failed}: `{}`", shown(&self.database)),
            _ => failed,
        }
    }
}

impl SqliteDriver {
    /// A connection whose waits for others are counted.
    fn connect(&self) -> rusqlite::Result<Connection> {
        let mut connection = open_connection(&self.database, &self.params, self.statements.len())?;
        self.busy.watch(&mut connection, BUSY_TIMEOUT)?;
        Ok(connection)
    }
}

fn perform_or_roll_back(
    connection: &Connection,
    how: StatementMode,
    statements: &[String],
    op: &SqlOp,
    keeper: &mut Keeper,
) -> rusqlite::Result<()> {
    let done = perform_op(connection, how, statements, op, keeper);
    if done.is_err() && !connection.is_autocommit() {
        let _ = connection.execute_batch("ROLLBACK"); // the first error is the one to report
    }
    done
}

/// The statements of clients.
struct ClientStatements<'a> {
    texts: &'a [String],
    /// The rows that each must return and change.
    rows: StatementRows,
    /// Those that the user wrote, for messages.
    custom: &'a [CustomOp],
}

/// Why SQLite does not prepare `statement`, without the place that the driver adds.
fn rejected(statement: &str, custom: &[CustomOp], error: rusqlite::Error) -> String {
    let why = match error {
        rusqlite::Error::SqlInputError { msg, .. } => msg,
        error => error.to_string(),
    };
    format!("engine `sqlite`: {}", rejection(statement, custom, &why))
}

fn class_of(error: &rusqlite::Error) -> FailureClass {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => FailureClass::Conflict,
        Some(ErrorCode::DiskFull) => FailureClass::NoSpace,
        // SQLite could not lengthen the index of its log: the disk is full, which SQLite does not report.
        _ if error.sqlite_error().is_some_and(|error| error.extended_code == SQLITE_IOERR_SHMSIZE) => {
            FailureClass::NoSpace
        }
        Some(ErrorCode::SystemIoFailure) => FailureClass::Io,
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => FailureClass::Corrupt,
        _ => FailureClass::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Value;

    #[test]
    fn a_log_that_a_reader_holds_in_place_is_left_and_told() {
        let dir = tempfile::tempdir().unwrap();
        let params = Params([("durability".to_owned(), Value::Word("os".into()))].into());
        let open = || Connection::open(dir.path().join("db")).unwrap();
        let (writer, reader, debt) = (open(), open(), RemainingDebt::default());
        writer.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t (a); INSERT INTO t VALUES (1)").unwrap();
        reader.execute_batch("BEGIN; SELECT * FROM t").unwrap();
        writer.execute_batch("INSERT INTO t VALUES (2)").unwrap();
        writer.busy_timeout(Duration::ZERO).unwrap();
        quiesce_database(&writer, &params, &debt).unwrap();
        assert!(debt.take_fact().is_some_and(|left| left.value.parse::<u64>().unwrap() >= 512));
        reader.execute_batch("COMMIT").unwrap();
        quiesce_database(&writer, &params, &debt).unwrap();
        assert_eq!(debt.take_fact(), None);
    }
}
