//! The engines: what they have in common, and the list of them.
//!
//! In: a trial. Out: a running [`Instance`]. Limits: an engine performs the families that its entry names; a workload runs on
//! it in the first family that both have.

mod between;
mod chore;
pub(crate) mod counters;
mod crowd;
mod errno;
mod every_second;
mod file;
mod fjall;
mod inbox;
mod kv;
mod manner;
mod mariadb;
mod null;
mod plain;
mod postgres;
mod rocksdb;
mod says;
mod served;
mod sql;
mod sqlite;

use crate::dataset::DataDir;
use crate::device::Consent;
use crate::error::{TargetError, shown};
use crate::limits::Cage;
use crate::server::place::Place;
use crate::verify::ReadBack;
use load::{Beside, Client, Crews, OpSource};
use model::{Bytes, CounterSource, Fact, Family, Meaning, Op, ParamDef, ParamKind, ParamRole, Params, Trial};
use std::path::Path;
use workload::{Carried, Kind, Part, Slot};

/// All engines. A new one is one file and one line here.
pub const ENGINES: &[&EngineDef] = &[
    &null::NULL,
    &file::FILE,
    &sqlite::SQLITE,
    &fjall::FJALL,
    &rocksdb::ROCKSDB,
    &mariadb::INNODB,
    &mariadb::ROCKSDB,
    &postgres::POSTGRES,
    &mariadb::MYSQL,
    &postgres::POSTGRESQL,
];

/// The counter sources that engines and their limits bring along, with a line on each, for the reference.
pub fn counter_sources() -> impl Iterator<Item = (&'static str, &'static str)> {
    let embedded = [sqlite::SOURCES, fjall::SOURCES, rocksdb::SOURCES].concat();
    let all = [mariadb::SOURCES, postgres::SOURCES, &embedded, crate::limits::SOURCES];
    all.concat().into_iter().map(|source| (source.name, source.help))
}

/// The engine of that name.
pub fn find(name: &str) -> Option<&'static EngineDef> {
    ENGINES.iter().copied().find(|def| def.entry.name == name)
}

/// One engine: how it presents itself and how it is started.
pub struct EngineDef {
    /// Name, help, families and parameters.
    pub entry: model::Entry,
    /// In which process its work is done.
    pub runs: Runs,
    /// The most space that data of so many bytes takes with these parameters while it is made and changed: logs, copies under way.
    pub disk_peak: fn(Bytes, &Params) -> Bytes,
    /// Its version, or why it cannot be used here and what to install.
    pub version: fn() -> Result<String, String>,
    /// Refuses what the engine cannot do for a trial, wherever it is.
    pub check: fn(&Trial) -> Result<(), TargetError>,
    /// Starts an instance. The data does not exist yet, unless the trial names an existing file.
    pub start: fn(&Start) -> Result<Box<dyn Instance>, TargetError>,
}

/// In which process the work of an engine is done, and so whose CPU is whose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runs {
    /// There is no engine: the client's system calls are the work.
    InClients,
    /// Nowhere: the engine only waits, and what is measured is the generator.
    Scripted,
    /// In plimsoll's own process, on the clients' threads and its own.
    Embedded,
    /// In processes of the engine's own, which [`Instance::processes`] names.
    Server,
    /// On a server that somebody else runs: nothing is known of its processes.
    Elsewhere,
}

impl Runs {
    /// The value of the fact `engine.process`.
    pub fn as_str(self) -> &'static str {
        match self {
            Runs::InClients | Runs::Scripted => "none",
            Runs::Embedded => "embedded",
            Runs::Server => "own",
            Runs::Elsewhere => "elsewhere",
        }
    }
}

/// What an engine is started with.
pub struct Start<'a> {
    /// The first trial that the instance is for.
    pub trial: &'a Trial,
    /// The directory that the user wants measured. Data directories are made in it.
    pub parent: &'a Path,
    /// The engine and every parameter that shapes the data, as text: what the manifest says of the data.
    pub data: &'a str,
    /// Block devices that the user allows to be overwritten.
    pub destroy: &'a [Consent],
    /// What a server is to be held in, where points limit it.
    pub cage: Option<&'a Cage>,
}

/// Clients ready to be started, and what they do.
pub struct Loading {
    /// The kinds of operation.
    pub kinds: Vec<Kind>,
    /// One per client.
    pub clients: Vec<Box<dyn Client>>,
    /// Others that work beside them.
    pub beside: Option<Beside>,
}

impl Loading {
    /// `part` for `clients` clients, each of which `client` makes, and beside each of them one for `beside`.
    fn new<O: Op + 'static>(
        kinds: &[Kind],
        part: &Part<O>,
        beside: Option<&workload::Beside<O>>,
        clients: u32,
        client: impl Fn(OpSource<O>, Slot) -> Box<dyn Client>,
    ) -> Loading {
        let all = |part: &Part<O>| slots(clients).map(|slot| client(OpSource::new(part, slot), slot)).collect();
        let beside = beside.map(|beside| Beside {
            clients: all(&beside.part),
            kinds: beside.kinds.clone(),
            per_s: beside.per_client_s * f64::from(clients),
        });
        Loading { kinds: kinds.to_vec(), clients: all(part), beside }
    }
}

impl From<Loading> for Crews {
    fn from(loading: Loading) -> Crews {
        Crews { clients: loading.clients, beside: loading.beside }
    }
}

/// A running engine with its data.
pub trait Instance {
    /// What it says of itself: version, and settings as read back.
    fn facts(&self) -> Vec<Fact>;

    /// What is known only when the load of a trial is over.
    fn closing_facts(&self) -> Vec<Fact> {
        Vec::new()
    }

    /// Refuses what this kernel or this place cannot do for `trial`, beside what [`EngineDef::check`] refuses. Asked before data
    /// is made for it.
    fn check(&mut self, _: &Trial) -> Result<(), TargetError> {
        Ok(())
    }

    /// The clients that make the data; `None` where there is nothing to make. Called once, before any other clients.
    fn loaders(&mut self, trial: &Trial) -> Result<Option<Loading>, TargetError>;

    /// The data is made, or there was nothing to make: brings it to rest (syncs, checkpoints) and seals it.
    fn loaded(&mut self) -> Result<(), TargetError>;

    /// What there is to say of the data that was made, when it is.
    fn facts_of_load(&self) -> Vec<Fact> {
        Vec::new()
    }

    /// Whether it can begin any further trial with the data as it was loaded, whatever the trials before did to it.
    fn restores(&self) -> bool {
        false
    }

    /// Called before the clients of each trial but the first: brings engine and data to what the trial is to begin with. One that
    /// `continues` a sequence of steps goes on with the data of the step before.
    fn begin_again(&mut self, _continues: bool) -> Result<(), TargetError> {
        Ok(())
    }

    /// The clients of `trial`. Refuses data that is not what the trial expects.
    fn clients(&mut self, trial: &Trial) -> Result<Loading, TargetError>;

    /// Reads back all that was written since it was last read back, and checks it; `None` where nothing was, or nothing says
    /// what it should be. `go_on` is told how many of how many bytes are done, and may end it.
    fn read_back(&mut self, _go_on: &mut dyn FnMut(Bytes, Bytes) -> bool) -> Result<Option<ReadBack>, TargetError> {
        Ok(None)
    }

    /// The processes that do the engine's work, with all that they start; none where plimsoll's own does it.
    fn processes(&self) -> Vec<u32> {
        Vec::new()
    }

    /// The counters that the engine keeps of itself, read over a connection of their own.
    fn sources(&self) -> Vec<Box<dyn CounterSource>> {
        Vec::new()
    }

    /// What the user is to be told before the load begins.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }

    /// What went wrong beside the operations since the start, where anything did: a sync in the background that failed.
    fn trouble(&self) -> Option<String> {
        None
    }

    /// Space that the data takes on disk.
    fn footprint(&self) -> Bytes;

    /// How many rows the load has made, as the engine counted them when it was over; `None` where none were made, or nothing
    /// counts them.
    fn rows(&self) -> Option<u64> {
        None
    }

    /// The part of it that is logs, which an engine keeps for as much as it was allowed to and not for as much as there is data;
    /// `None` where it cannot be told.
    fn log_footprint(&self) -> Option<Bytes> {
        None
    }

    /// Stops the engine and removes the data that plimsoll made.
    fn stop(self: Box<Self>) -> Result<(), TargetError>;
}

/// How safe a commit is: one word for all engines. Each engine's file says what it does for each.
const DURABILITY: ParamDef = ParamDef {
    name: "durability",
    kind: ParamKind::OneOf(&["disk", "os", "none"]),
    default: "disk",
    help: "a commit is on disk when acknowledged (disk), handed to the system and synced each second (os), or neither (none)",
    scales: false,
    shapes_data: true,
    role: ParamRole::Ground,
    meaning: Some(Meaning::Durability),
    used_if: None,
};

/// The engine's own cache.
const CACHE: ParamDef = ParamDef {
    name: "cache",
    kind: ParamKind::Bytes { min: 1 << 20, max: 1 << 44 },
    default: "64MiB",
    help: "size of the engine's own cache (SQLite: of each connection)",
    scales: true,
    shapes_data: true,
    role: ParamRole::Size,
    meaning: Some(Meaning::Cache),
    used_if: None,
};

/// A server's log of changes, which bounds how long it may put off writing pages.
const LOG_SIZE: ParamDef = ParamDef {
    name: "log_size",
    kind: ParamKind::Bytes { min: 32 << 20, max: 512 << 30 },
    default: "256MiB",
    help: "size of the server's log of changes (innodb_log_file_size, max_wal_size)",
    scales: true,
    shapes_data: true,
    role: ParamRole::Size,
    meaning: None,
    used_if: None,
};

/// More loaders than this gain nothing on a data set that fits one machine, and would be clients by themselves.
const LOADERS_MAX: u64 = 8;

/// How many clients make a data set of `ops` operations at once: one for each core that plimsoll may use.
fn loaders_for(ops: Option<u64>) -> u32 {
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
    cores.min(LOADERS_MAX).min(ops.unwrap_or(1)).max(1) as u32
}

/// One slot for each of `clients` clients.
fn slots(clients: u32) -> impl Iterator<Item = Slot> {
    (0..clients).map(move |client| Slot { client, clients })
}

/// Refuses a depth that an engine with one operation at a time cannot have.
fn depth_one_only(trial: &Trial) -> Result<(), TargetError> {
    match trial.load.depth {
        1 => Ok(()),
        depth => Err(TargetError::Unsupported(format!(
            "engine `{}` performs one operation at a time: depth = `{depth}` does not exist there; use more clients",
            trial.target.engine
        ))),
    }
}

/// The engine of `trial`.
pub(crate) fn engine_of(trial: &Trial) -> &'static EngineDef {
    find(&trial.target.engine).expect("the plan was checked against the catalogue")
}

/// The family in which the workload of `trial` runs on its engine: the first that both have.
pub(crate) fn family_of(trial: &Trial) -> Family {
    let has = |family: &&Family| engine_of(trial).entry.families.contains(family);
    let met = workload_of(trial).entry.families.iter().find(has);
    *met.expect("the plan was checked: workload and engine share a family")
}

/// Whether the workload has the step that `params` name on this engine; true where it has no steps.
pub fn has_step(engine: &str, workload: &str, params: &Params) -> bool {
    let (Some(engine), Some(workload)) = (find(engine), workload::find(workload)) else { return true };
    let Some((step, _)) = workload.entry.steps() else { return true };
    let met = workload.entry.families.iter().find(|family| engine.entry.families.contains(family));
    let Some(make) = workload.kv.filter(|_| met == Some(&Family::Kv)) else { return true };
    make(params, 0, &Carried::default()).err().is_none_or(|unsupported| unsupported.param != step)
}

/// The workload of `trial`.
pub(crate) fn workload_of(trial: &Trial) -> &'static workload::WorkloadDef {
    workload::find(&trial.workload.name).expect("the plan was checked against the catalogue")
}

/// The engine, the workload and every parameter that shapes the data, as text: what two trials must agree on to share it.
pub fn shape_of(trial: &Trial) -> String {
    let engine = engine_of(trial);
    let shaping = |defs: &'static [ParamDef], params: &Params| -> String {
        let taken = |def: &'static ParamDef| params.0.iter().filter(|(name, _)| def.takes(name));
        let shaping = defs.iter().filter(|def| def.shapes_data).flat_map(taken);
        shaping.map(|(name, value)| format!(" {name}={value}")).collect()
    };
    let of_engine = shaping(engine.entry.params, &trial.target.params);
    let of_workload = shaping(workload_of(trial).entry.params, &trial.workload.params);
    format!("{}{of_engine} {}{of_workload}", trial.target.engine, trial.workload.name)
}

/// What an instance made its data for.
struct MadeFor {
    /// As the manifest says it.
    data: String,
    shape: String,
    /// How far the trials on it have come.
    carried: Carried,
}

impl MadeFor {
    fn new(start: &Start) -> MadeFor {
        MadeFor { data: start.data.into(), shape: shape_of(start.trial), carried: Carried::default() }
    }

    /// The data is again as it was loaded: no trial has gone on with it.
    fn forget(&mut self) {
        self.carried = Carried::default();
    }

    /// Refuses data that is not what `trial` expects.
    fn check(&self, dir: &DataDir, trial: &Trial) -> Result<(), TargetError> {
        dir.check(&self.data, trial.seed)?;
        self.check_shape(&shown(dir.path()), trial)
    }

    /// The same of data on a server.
    fn check_on(&self, place: &Place, trial: &Trial) -> Result<(), TargetError> {
        place.check(&self.data, trial.seed)?;
        self.check_shape(&place.shown(), trial)
    }

    fn check_shape(&self, place: &str, trial: &Trial) -> Result<(), TargetError> {
        let wanted = shape_of(trial);
        if self.shape == wanted {
            return Ok(());
        }
        Err(TargetError::Unsafe(format!(
            "the data in `{place}` is not what the trial expects: it was made for `{}`, wanted `{wanted}`",
            self.shape
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_engine_is_found_by_its_name_and_performs_something() {
        for def in ENGINES {
            assert!(std::ptr::eq(find(def.entry.name).expect("a registered engine"), *def));
            assert!(!def.entry.families.is_empty(), "{}", def.entry.name);
            match (def.version)() {
                Ok(version) => assert!(!version.is_empty()),
                Err(missing) if def.runs == Runs::Server => assert!(missing.contains("apt-get install"), "{missing}"),
                Err(missing) if def.runs == Runs::Embedded => assert!(missing.contains("--features"), "{missing}"),
                Err(named) => assert!(def.runs == Runs::Elsewhere && named.contains("://"), "{named}"),
            }
        }
    }
}
