//! fjall, embedded: a log-structured merge tree, the LSM beside SQLite's B-tree.
//!
//! In: a trial of the family kv. Out: clients that put atomic batches and get keys, one key space per table of the workload.
//! Limits: the batch of an operation is built inside the measured time, as an application would build it.
//!
//! Durability: `disk` = each batch is persisted with `SyncAll`; `os` = handed to the operating system at each batch, and
//! plimsoll persists with `SyncAll` once a second; `none` = the journal stays in the process's buffer.

use super::every_second::EverySecond;
use super::{EngineDef, Instance, Loading, Runs, Start, depth_one_only, kind_names, slots, workload_of};
use crate::dataset::DataDir;
use crate::error::TargetError;
use ::fjall::{Database, Error, Keyspace, KeyspaceCreateOptions, PersistMode};
use load::{Client, Driver, OpSource, SyncClient};
use model::{Bytes, Entry, Fact, FailureClass, Family, KvOp, Outcome, ParamDef, Params, Trial};
use std::io::ErrorKind;
use workload::{KvProgram, Part, Slot};

/// The engine `fjall`.
pub const FJALL: EngineDef = EngineDef {
    entry: Entry {
        name: "fjall",
        help: "fjall, embedded: a log-structured merge tree of keys and values",
        families: &[Family::Kv],
        params: PARAMS,
    },
    runs: Runs::Embedded,
    version: || Ok(VERSION.into()),
    start: |start| Ok(Box::new(Fjall::start(start)?)),
};

/// The release that Cargo.toml pins; the crate does not tell at run time.
const VERSION: &str = "3.1";

const PARAMS: &[ParamDef] = &[super::DURABILITY, super::CACHE];

struct Fjall {
    dir: DataDir,
    data: String,
    database: Database,
    persist: Option<PersistMode>,
    keyspaces: Vec<Keyspace>,
    /// Persists where durability is `os`.
    _syncer: Option<EverySecond>,
    ops_loaded: u64,
}

impl Fjall {
    fn start(start: &Start) -> Result<Fjall, TargetError> {
        let mut dir = DataDir::create(start.parent, start.data, start.trial.seed)?;
        let params = &start.trial.target.params;
        let database = Database::builder(dir.own_directory("fjall")?)
            .cache_size(params.bytes("cache").0)
            .manual_journal_persist(true)
            .open()
            .map_err(failed("open a new database"))?;
        let syncer = sync_each_second(&database, params)?;
        let persist = persist_mode(params);
        let data = start.data.into();
        Ok(Fjall { dir, data, database, persist, keyspaces: Vec::new(), _syncer: syncer, ops_loaded: 0 })
    }

    fn all(&self, part: &Part<KvOp>, kinds: &[&str], clients: u32) -> Loading {
        let client = |slot: Slot| -> Box<dyn Client> {
            let driver = FjallDriver {
                database: self.database.clone(),
                keyspaces: self.keyspaces.clone(),
                persist: self.persist,
                failure: String::new(),
            };
            Box::new(SyncClient::new(OpSource::new(part, slot), driver))
        };
        Loading { kinds: kind_names(kinds), clients: slots(clients).map(client).collect() }
    }
}

impl Instance for Fjall {
    fn facts(&self) -> Vec<Fact> {
        vec![
            Fact::new("engine.version", VERSION),
            Fact::new("fjall.cache_bytes", self.database.cache_capacity().to_string()),
            Fact::new("fjall.persist_each_batch", format!("{:?}", self.persist)),
        ]
    }

    fn loaders(&mut self, trial: &Trial) -> Result<Option<Loading>, TargetError> {
        let program = program_of(trial)?;
        for table in &program.tables {
            let keyspace = self.database.keyspace(table, KeyspaceCreateOptions::default);
            self.keyspaces.push(keyspace.map_err(failed("create a key space"))?);
        }
        let Some(load) = &program.load else { return Ok(None) };
        self.ops_loaded = load.ops.unwrap_or(0);
        Ok(Some(self.all(load, &program.kinds, 1)))
    }

    fn loaded(&mut self) -> Result<(), TargetError> {
        self.database.persist(PersistMode::SyncAll).map_err(failed("persist"))?;
        self.dir.seal(self.ops_loaded)
    }

    fn clients(&mut self, trial: &Trial) -> Result<Loading, TargetError> {
        depth_one_only(trial)?;
        self.dir.check(&self.data, trial.seed)?;
        let program = program_of(trial)?;
        Ok(self.all(&program.run, &program.kinds, trial.load.clients))
    }

    fn footprint(&self) -> Bytes {
        self.dir.footprint()
    }

    fn stop(self: Box<Self>) -> Result<(), TargetError> {
        let Fjall { dir, database, keyspaces, _syncer, .. } = *self;
        drop((_syncer, keyspaces, database)); // its threads end before its files go
        dir.remove()
    }
}

fn program_of(trial: &Trial) -> Result<KvProgram, TargetError> {
    let make = workload_of(trial).kv.expect("the plan was checked: workload and engine share a family");
    make(&trial.workload.params, trial.seed).map_err(|error| TargetError::Unsupported(error.to_string()))
}

fn failed(what: &'static str) -> impl Fn(Error) -> TargetError {
    move |error| TargetError::Failed(format!("fjall cannot {what}: {error}"))
}

fn persist_mode(params: &Params) -> Option<PersistMode> {
    match params.word("durability") {
        "disk" => Some(PersistMode::SyncAll),
        "os" => Some(PersistMode::Buffer),
        _ => None,
    }
}

fn sync_each_second(database: &Database, params: &Params) -> Result<Option<EverySecond>, TargetError> {
    if params.word("durability") != "os" {
        return Ok(None);
    }
    let database = database.clone();
    let sync = move || drop(database.persist(PersistMode::SyncAll));
    let syncer = EverySecond::start("fjall-sync", sync);
    syncer.map(Some).map_err(|error| TargetError::Failed(format!("cannot start a thread that syncs: {error}")))
}

/// One client.
struct FjallDriver {
    database: Database,
    keyspaces: Vec<Keyspace>,
    persist: Option<PersistMode>,
    failure: String,
}

impl Driver for FjallDriver {
    type Op = KvOp;

    fn execute(&mut self, op: &KvOp) -> Outcome {
        let done = if op.get { self.get(op) } else { self.put(op) };
        match done {
            Ok(()) => Outcome::Ok { bytes: op.bytes.len() as u32 },
            Err(error) => {
                let class = class_of(&error);
                self.failure = format!("fjall: {error}");
                Outcome::Failed(class)
            }
        }
    }

    fn describe_failure(&self) -> String {
        self.failure.clone()
    }
}

impl FjallDriver {
    fn put(&self, op: &KvOp) -> Result<(), Error> {
        let mut batch = self.database.batch().durability(self.persist);
        for entry in &op.entries {
            batch.insert(&self.keyspaces[entry.table as usize], op.key(entry), op.value(entry));
        }
        batch.commit()
    }

    fn get(&self, op: &KvOp) -> Result<(), Error> {
        for entry in &op.entries {
            std::hint::black_box(self.keyspaces[entry.table as usize].get(op.key(entry))?);
        }
        Ok(())
    }
}

fn class_of(error: &Error) -> FailureClass {
    match error {
        Error::Io(error) if matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded) => {
            FailureClass::NoSpace
        }
        Error::Io(_) => FailureClass::Io,
        _ => FailureClass::Other,
    }
}
