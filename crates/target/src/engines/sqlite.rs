//! SQLite, embedded: a B-tree in one file with a write-ahead log.
//!
//! In: a trial of the family sql. Out: one connection per client, statements prepared once. Limits: one writer at a time is
//! SQLite's nature; a writing transaction begins IMMEDIATE and waits for its turn in SQLite's own busy handler, which sleeps
//! up to 100 ms a time.
//!
//! Durability: `disk` = synchronous FULL (the log is synced at each commit); `os` = synchronous NORMAL and plimsoll syncs the
//! log once a second; `none` = synchronous OFF. In WAL mode all three keep the database consistent after a crash of the
//! process. (<https://sqlite.org/pragma.html#pragma_synchronous>)

use super::every_second::EverySecond;
use super::{EngineDef, Instance, Loading, MadeFor, Runs, Start, depth_one_only, kind_names, slots, workload_of};
use crate::dataset::DataDir;
use crate::error::{TargetError, shown};
use load::{Client, Driver, OpSource, SyncClient};
use model::{Bytes, Entry, Fact, FailureClass, Family, Outcome, ParamDef, ParamKind, Params, SqlArg, SqlOp, Trial};
use rusqlite::{CachedStatement, Connection, ErrorCode};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use workload::{Column, ColumnKind, Part, Slot, SqlProgram, Table};

/// The engine `sqlite`.
pub static SQLITE: EngineDef = EngineDef {
    entry: Entry {
        name: "sqlite",
        help: "SQLite, embedded: a B-tree with a write-ahead log, one writer at a time",
        families: &[Family::Sql],
        params: PARAMS,
    },
    runs: Runs::Embedded,
    version: || Ok(rusqlite::version().into()),
    start: |start| Ok(Box::new(Sqlite::start(start)?)),
};

const PARAMS: &[ParamDef] = &[super::DURABILITY, super::CACHE];

/// A writer waits this long for the others before its operation counts as failed.
const BUSY_TIMEOUT: Duration = Duration::from_secs(60);

struct Sqlite {
    dir: DataDir,
    data: String,
    params: Params,
    database: PathBuf,
    /// Keeps the log in place while clients come and go, and reads the settings back.
    keeper: Connection,
    /// Syncs the log where durability is `os`.
    _syncer: Option<EverySecond>,
    rows_loaded: u64,
}

impl Sqlite {
    fn start(start: &Start) -> Result<Sqlite, TargetError> {
        let mut dir = DataDir::create(start.parent, start.data, start.trial.seed)?;
        let database = dir.own_directory("sqlite")?.join("plimsoll.db");
        let params = start.trial.target.params.clone();
        let keeper = connect(&database, &params).map_err(failed("open a new database"))?;
        let syncer = sync_each_second(&database, &params)?;
        let data = start.data.into();
        Ok(Sqlite { dir, data, params, database, keeper, _syncer: syncer, rows_loaded: 0 })
    }

    fn all(&self, statements: &[String], part: &Part<SqlOp>, kinds: &[&str], clients: u32) -> Loading {
        let statements: Arc<[String]> = statements.into();
        let client = |slot: Slot| -> Box<dyn Client> {
            let driver = SqliteDriver {
                database: self.database.clone(),
                params: self.params.clone(),
                statements: statements.clone(),
                connection: None,
                failure: String::new(),
            };
            Box::new(SyncClient::new(OpSource::new(part, slot), driver))
        };
        Loading { kinds: kind_names(kinds), clients: slots(clients).map(client).collect() }
    }
}

impl Instance for Sqlite {
    fn facts(&self) -> Vec<Fact> {
        let read_back = ["synchronous", "journal_mode", "page_size", "cache_size", "wal_autocheckpoint"];
        let fact = |name: &str| Fact::new(format!("sqlite.{name}"), pragma(&self.keeper, name));
        let version = Fact::new("engine.version", rusqlite::version());
        [version].into_iter().chain(read_back.map(fact)).collect()
    }

    fn loaders(&mut self, trial: &Trial) -> Result<Option<Loading>, TargetError> {
        let program = program_of(trial);
        for table in &program.schema {
            self.keeper.execute_batch(&create_table(table)).map_err(failed("create a table"))?;
        }
        let Some(load) = &program.load else { return Ok(None) };
        self.rows_loaded = load.ops.unwrap_or(0);
        Ok(Some(self.all(&program.load_statements, load, &program.kinds, 1)))
    }

    fn loaded(&mut self) -> Result<(), TargetError> {
        self.keeper.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").map_err(failed("checkpoint"))?;
        self.dir.seal(self.rows_loaded)
    }

    fn clients(&mut self, trial: &Trial) -> Result<Loading, TargetError> {
        depth_one_only(trial)?;
        self.dir.check(&self.data, trial.seed)?;
        let program = program_of(trial);
        Ok(self.all(&program.statements, &program.run, &program.kinds, trial.load.clients))
    }

    fn footprint(&self) -> Bytes {
        self.dir.footprint()
    }

    fn stop(self: Box<Self>) -> Result<(), TargetError> {
        drop(self._syncer);
        drop(self.keeper);
        self.dir.remove()
    }
}

fn program_of(trial: &Trial) -> SqlProgram {
    let make = workload_of(trial).sql.expect("the plan was checked: workload and engine share a family");
    make(&trial.workload.params, trial.seed)
}

fn failed(what: &'static str) -> impl Fn(rusqlite::Error) -> TargetError {
    move |error| TargetError::Failed(format!("sqlite cannot {what}: {error}"))
}

fn connect(database: &Path, params: &Params) -> rusqlite::Result<Connection> {
    let connection = Connection::open(database)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(256);
    let synchronous = match params.word("durability") {
        "disk" => "FULL",
        "os" => "NORMAL",
        _ => "OFF",
    };
    let cache_kib = params.bytes("cache").0 / 1024;
    connection.execute_batch(&format!(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = {synchronous}; PRAGMA cache_size = -{cache_kib};"
    ))?;
    Ok(connection)
}

/// The value of a pragma as text.
fn pragma(connection: &Connection, name: &str) -> String {
    let read = connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, rusqlite::types::Value>(0));
    match read {
        Ok(rusqlite::types::Value::Integer(value)) => value.to_string(),
        Ok(rusqlite::types::Value::Text(value)) => value,
        _ => "unknown".into(),
    }
}

fn sync_each_second(database: &Path, params: &Params) -> Result<Option<EverySecond>, TargetError> {
    if params.word("durability") != "os" {
        return Ok(None);
    }
    let mut log = database.as_os_str().to_owned();
    log.push("-wal");
    let sync = move || {
        if let Ok(file) = std::fs::File::open(&log) {
            let _ = file.sync_data();
        }
    };
    let syncer = EverySecond::start("sqlite-sync", sync);
    syncer.map(Some).map_err(|error| TargetError::io("start a thread that syncs", database, &error))
}

fn create_table(table: &Table) -> String {
    let columns: Vec<String> = table.columns.iter().map(|column| column_text(column, table.primary_key)).collect();
    let create = format!("CREATE TABLE {} ({});", table.name, columns.join(", "));
    let index = |index: &workload::Index| {
        format!(" CREATE INDEX {}_{} ON {} ({});", table.name, index.name, table.name, index.columns.join(", "))
    };
    create + &table.indexes.iter().map(index).collect::<String>()
}

/// A primary key of whole numbers is INTEGER PRIMARY KEY: the rowid itself, without an index of its own.
fn column_text(column: &Column, primary_key: &str) -> String {
    let kind = match column.kind {
        ColumnKind::Int | ColumnKind::BigInt => "INTEGER".to_string(),
        ColumnKind::Float => "REAL".to_string(),
        ColumnKind::Char(length) => format!("CHAR({length})"),
        ColumnKind::DateTime => "TEXT".to_string(),
    };
    let key = if column.name == primary_key { " PRIMARY KEY" } else { "" };
    let not_null = if column.not_null { " NOT NULL" } else { "" };
    format!("{} {kind}{key}{not_null}", column.name)
}

/// One client's connection.
struct SqliteDriver {
    database: PathBuf,
    params: Params,
    statements: Arc<[String]>,
    /// Opened on the client's own thread.
    connection: Option<Connection>,
    failure: String,
}

impl Driver for SqliteDriver {
    type Op = SqlOp;

    fn open(&mut self) -> Result<(), String> {
        let open = || -> rusqlite::Result<Connection> {
            let connection = connect(&self.database, &self.params)?;
            for statement in self.statements.iter() {
                connection.prepare_cached(statement)?;
            }
            Ok(connection)
        };
        let cannot = |error| format!("sqlite cannot open `{}`: {error}", shown(&self.database));
        self.connection = Some(open().map_err(cannot)?);
        Ok(())
    }

    fn execute(&mut self, op: &SqlOp) -> Outcome {
        let connection = self.connection.as_ref().expect("opened before the first operation");
        match perform(connection, &self.statements, op) {
            Ok(()) => Outcome::Ok { bytes: 0 },
            Err(error) => {
                if !connection.is_autocommit() {
                    let _ = connection.execute_batch("ROLLBACK"); // the first error is the one to report
                }
                let class = class_of(&error);
                self.failure = format!("sqlite: {error}");
                Outcome::Failed(class)
            }
        }
    }

    fn describe_failure(&self) -> String {
        self.failure.clone()
    }
}

fn perform(connection: &Connection, statements: &[String], op: &SqlOp) -> rusqlite::Result<()> {
    if !op.transaction {
        return perform_calls(connection, statements, op);
    }
    let begin = if op.writes { "BEGIN IMMEDIATE" } else { "BEGIN" };
    connection.prepare_cached(begin)?.raw_execute()?;
    perform_calls(connection, statements, op)?;
    connection.prepare_cached("COMMIT")?.raw_execute()?;
    Ok(())
}

fn perform_calls(connection: &Connection, statements: &[String], op: &SqlOp) -> rusqlite::Result<()> {
    let mut args = &op.args[..];
    for call in &op.calls {
        let (mine, rest) = args.split_at(call.args as usize);
        args = rest;
        let mut statement = connection.prepare_cached(&statements[call.statement as usize])?;
        bind(&mut statement, mine, &op.text)?;
        fetch_all(&mut statement)?;
    }
    Ok(())
}

fn bind(statement: &mut CachedStatement, args: &[SqlArg], text: &[u8]) -> rusqlite::Result<()> {
    for (place, arg) in (1..).zip(args) {
        match *arg {
            SqlArg::Int(value) => statement.raw_bind_parameter(place, value)?,
            SqlArg::Float(value) => statement.raw_bind_parameter(place, value)?,
            SqlArg::Text { start, len } => {
                let bytes = &text[start as usize..][..len as usize];
                let value = std::str::from_utf8(bytes).expect("workloads write UTF-8");
                statement.raw_bind_parameter(place, value)?;
            }
        }
    }
    Ok(())
}

/// Steps through all rows and looks at each first column, as a client would.
fn fetch_all(statement: &mut CachedStatement) -> rusqlite::Result<()> {
    if statement.column_count() == 0 {
        return statement.raw_execute().map(drop);
    }
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next()? {
        std::hint::black_box(row.get_ref(0)?);
    }
    Ok(())
}

fn class_of(error: &rusqlite::Error) -> FailureClass {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => FailureClass::Conflict,
        Some(ErrorCode::DiskFull) => FailureClass::NoSpace,
        Some(ErrorCode::SystemIoFailure) => FailureClass::Io,
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => FailureClass::Corrupt,
        _ => FailureClass::Other,
    }
}
