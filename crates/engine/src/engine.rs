//! What every engine is to the rest of plimsoll: how it presents itself, how it is started, and what a running one can be asked.
//!
//! In: a trial. Out: a running [`Instance`]. Limits: an engine performs the families that its entry names; a workload runs on
//! it in the first family that both have. Knows no engine: the list of them is in [`crate::registry`].

use crate::verify::ReadBack;
use host::cgroup::CgroupLimits;
use host::device::Consent;
use host::error::TargetError;
use load::{Beside, Client, Crews, OpSource};
use model::{Bytes, CounterSource, Fact, Op, Params, Trial};
use std::path::Path;
use workload::{Kind, Part, Slot};

/// One engine: how it presents itself and how it is started.
pub struct EngineDef {
    /// Name, help, families and parameters.
    pub entry: model::Entry,
    /// In which process its work is done.
    pub runs: EngineProcess,
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
pub enum EngineProcess {
    /// There is no engine: the client's system calls are the work.
    InClients,
    /// In plimsoll's own process, on the clients' threads and its own.
    Embedded,
    /// In processes of the engine's own, which [`Instance::processes`] names.
    Server,
    /// On a server that somebody else runs: nothing is known of its processes.
    Elsewhere,
}

impl EngineProcess {
    /// The value of the fact `engine.process`.
    pub fn as_str(self) -> &'static str {
        match self {
            EngineProcess::InClients => "none",
            EngineProcess::Embedded => "embedded",
            EngineProcess::Server => "own",
            EngineProcess::Elsewhere => "elsewhere",
        }
    }
}

/// What an engine is started with.
pub struct Start<'a> {
    /// The engine itself.
    pub engine: &'static EngineDef,
    /// The first trial that the instance is for.
    pub trial: &'a Trial,
    /// The directory that the user wants measured. Data directories are made in it.
    pub parent: &'a Path,
    /// The engine and every parameter that shapes the data, as text: what the manifest says of the data.
    pub data: &'a str,
    /// Block devices that the user allows to be overwritten.
    pub destroy: &'a [Consent],
    /// What a server is to be held in, where points limit it.
    pub cgroups: Option<&'a CgroupLimits>,
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
    pub(crate) fn new<O: Op + 'static>(
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

/// More loaders than this gain nothing on a data set that fits one machine, and would be clients by themselves.
const LOADERS_MAX: u64 = 8;

/// How many clients make a data set of `ops` operations at once: one for each core that plimsoll may use.
pub(crate) fn loaders_for(ops: Option<u64>) -> u32 {
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
    cores.min(LOADERS_MAX).min(ops.unwrap_or(1)).max(1) as u32
}

/// One slot for each of `clients` clients.
pub(crate) fn slots(clients: u32) -> impl Iterator<Item = Slot> {
    (0..clients).map(move |client| Slot { client, clients })
}

/// Refuses a depth that an engine with one operation at a time cannot have.
pub(crate) fn depth_one_only(trial: &Trial) -> Result<(), TargetError> {
    match trial.load.depth {
        1 => Ok(()),
        depth => Err(TargetError::Unsupported(format!(
            "engine `{}` performs one operation at a time: depth = `{depth}` does not exist there; use more clients",
            trial.target.engine
        ))),
    }
}

/// The workload of `trial`.
pub(crate) fn workload_of(trial: &Trial) -> &'static workload::WorkloadDef {
    workload::find(&trial.workload.name).expect("the plan was checked against the catalogue")
}
