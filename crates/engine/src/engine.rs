//! What every engine is to the rest of plimsoll: how it presents itself, how it is started, and what a running one can be asked.
//!
//! In: a trial. Out: a running [`Instance`]. Limits: an engine performs the families that its entry names; a workload runs on
//! it in the first family that both have. Knows no engine: the list of them is in [`crate::registry`].

use crate::conditions::CheckedConditions;
use crate::counters::ServerSource;
use crate::data_set::{KeptIn, ServerSets, SetUse};
use crate::server::config_file::ConfigSyntax;
use crate::server::program::ProgramSet;
use crate::settings::SettingsReader;
use crate::sql::variant::VariantResult;
use crate::verify::ReadBack;
use host::cpu::EngineCpus;
use host::device::DestroyConsent;
use host::error::TargetError;
use host::privileged::cgroup::CgroupLimits;
use host::privileged::volume::VolumeDaemon;
use load::{BackgroundLoad, Client, ClientSet, DueTimes, OpSource};
use model::{Bytes, CommonData, CounterSource, Entry, Fact, LoadPart, Op, Params, ServerWay, Trial, WritePath};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use workload::{BackgroundOps, ClientIndex, OpKindDef, OpStream};

/// One engine: how it presents itself and how it is started.
pub struct EngineDef {
    /// Name, help, families and parameters.
    pub entry: Entry,
    /// In which process its work is done.
    pub runs: EngineLocation,
    /// The programs that it needs, if it is a server of its own.
    pub programs: Option<&'static ProgramSet>,
    /// How its configuration files are read, if a plan may name some.
    pub configuration: Option<&'static ConfigSyntax>,
    /// Whether it only plays a script: it stores nothing, and nothing of the machine but its clock shapes its times.
    pub scripted: bool,
    /// The counter sources that its instances may deliver, for the reference.
    pub sources: &'static [&'static ServerSource],
    /// The most space that data of so many bytes takes with these parameters while it is made and changed: logs, copies in progress.
    pub disk_peak: fn(Bytes, &Params) -> Bytes,
    /// Its version, or why it cannot be used on this machine and what to install.
    pub version: fn() -> Result<String, String>,
    /// Refuses what the engine cannot do for a trial, wherever it is.
    pub check: CheckTrial,
    /// Starts an instance. The data does not exist yet, unless the trial names an existing file or a data set.
    pub start: fn(&StartContext) -> Result<Box<dyn Instance>, TargetError>,
    /// The data sets on the server that a trial names, if the engine is a server that plimsoll does not start.
    pub server_sets: Option<OpenServerSets>,
    /// Refuses to restore the server that a trial names, if the log of the trial is not to be replayed there; `None` if no log is replayed on it.
    pub before_restore: Option<CheckTrial>,
}

/// Opens the data sets on the server that a trial names.
pub type OpenServerSets = fn(&Trial) -> Result<Box<dyn ServerSets>, TargetError>;
/// Refuses a trial.
pub type CheckTrial = fn(&Trial) -> Result<(), TargetError>;

impl EngineDef {
    /// An engine without programs, settings and counters that stores nothing, performs one operation at a time and has plimsoll's version. Each
    /// engine has its own `entry` and `start`, and what differs from this.
    pub const BARE: EngineDef = EngineDef {
        entry: Entry { name: "", spoken: "", help: "", families: &[], params: &[] },
        runs: EngineLocation::Embedded,
        programs: None,
        configuration: None,
        scripted: false,
        sources: &[],
        disk_peak: |_, _| Bytes(0),
        version: || Ok(env!("CARGO_PKG_VERSION").into()),
        check: depth_one_only,
        start: |_| unreachable!("each engine has its own start"),
        server_sets: None,
        before_restore: None,
    };
}

/// In which process the work of an engine is done, and so whose CPU time it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineLocation {
    /// There is no engine: the client's system calls are the work.
    InClients,
    /// In plimsoll's own process, on the clients' threads and its own.
    Embedded,
    /// In processes of the engine's own, which [`Instance::processes`] names.
    Server,
    /// On a server that plimsoll did not start. If it is found on this machine, its instance names its processes as well.
    Elsewhere,
}

impl EngineLocation {
    /// The value of the fact `engine.process`.
    pub fn as_str(self) -> &'static str {
        match self {
            EngineLocation::InClients => "none",
            EngineLocation::Embedded => "embedded",
            EngineLocation::Server => "own",
            EngineLocation::Elsewhere => "elsewhere",
        }
    }
}

/// What an engine is started with.
pub struct StartContext<'a> {
    /// The engine that is started.
    pub engine: &'static EngineDef,
    /// The first trial that the instance is for.
    pub trial: &'a Trial,
    /// The directory that the user wants measured. Data directories are made in it.
    pub parent: &'a Path,
    /// The engine and every parameter that shapes the data, as text: the description of the data in the manifest.
    pub data: &'a str,
    /// Block devices that the user allows to be overwritten.
    pub destroy: &'a [DestroyConsent],
    /// The control groups that a server starts in, if points have limits.
    pub cgroups: Option<&'a CgroupLimits>,
    /// The CPUs that a server starts on.
    pub cpus: &'a EngineCpus,
    /// The process that is the file system of `parent`, if plimsoll started one for it.
    pub volume_daemon: Option<&'a VolumeDaemon>,
    /// The data that another host of the run has made and that this instance is to use; `None` if it makes its own.
    pub joins: Option<&'a CommonData>,
    /// The data set that the instance makes or uses.
    pub data_set: SetUse<'a>,
}

/// Clients ready to be started, and what they do.
pub struct WorkloadClients {
    /// The kinds of operation.
    pub kinds: Vec<OpKindDef>,
    /// The measured clients, in their order.
    pub clients: Vec<Box<dyn Client>>,
    /// The loads at rates of their own while the clients are measured.
    pub background: Vec<BackgroundLoad>,
    /// Of several instances: how many clients each has, in their order; otherwise empty.
    pub parts: Vec<u32>,
    /// When the operations fall due, if they are those of a recording.
    pub due: Option<Arc<dyn DueTimes>>,
}

impl WorkloadClients {
    /// The clients of this host for `stream` and for the `background` loads, made by `client`. `clients` are its part of the clients of
    /// the stream.
    pub(crate) fn new<O: Op + 'static>(
        kinds: &[OpKindDef],
        stream: &OpStream<O>,
        background: &[BackgroundOps<O>],
        clients: LoadPart,
        client: impl Fn(OpSource<O>, ClientIndex) -> Box<dyn Client>,
    ) -> WorkloadClients {
        let background = background
            .iter()
            .map(|ops| background_load(ops, clients_of(&ops.stream, background_clients(ops, clients), &client)))
            .collect();
        let clients = clients_of(stream, clients, &client);
        WorkloadClients { kinds: kinds.to_vec(), clients, background, parts: Vec::new(), due: None }
    }
}

/// The load that `clients` make of `ops`.
pub(crate) fn background_load<O>(ops: &BackgroundOps<O>, clients: Vec<Box<dyn Client>>) -> BackgroundLoad {
    BackgroundLoad { clients, kinds: ops.kinds.clone(), pace: ops.pace, is_shared: ops.clients.is_none() }
}

/// The clients that perform `ops` while `measured` clients are measured.
pub(crate) fn background_clients<O>(ops: &BackgroundOps<O>, measured: LoadPart) -> LoadPart {
    ops.clients.map_or(measured, |own| LoadPart::new(0, own, own))
}

fn clients_of<O: Op + 'static>(
    stream: &OpStream<O>,
    clients: LoadPart,
    client: &impl Fn(OpSource<O>, ClientIndex) -> Box<dyn Client>,
) -> Vec<Box<dyn Client>> {
    ClientIndex::all_in(clients).map(|slot| client(OpSource::new(stream, slot), slot)).collect()
}

impl From<WorkloadClients> for ClientSet {
    fn from(loading: WorkloadClients) -> ClientSet {
        ClientSet { clients: loading.clients, background: loading.background, parts: loading.parts, due: loading.due }
    }
}

/// What an instance reports of itself before a load begins.
#[derive(Debug, Default)]
pub struct InstanceReport {
    /// Its version, and its settings as read back from the engine.
    pub facts: Vec<Fact>,
    /// What the user should know before the load begins.
    pub warnings: Vec<String>,
    /// The processes that do the engine's work, with all that they start. Empty if plimsoll's own process does it, or if
    /// they are not seen.
    pub processes: Vec<u32>,
    /// The block device under the data of a server that plimsoll did not start, if it is known. The data of all others is below the
    /// directory of the run.
    pub device: Option<String>,
    /// The way to the data directory of such a server, if it may be seen.
    pub data_dir: Option<PathBuf>,
    /// How clients reach it.
    pub way: ServerWay,
}

/// How much data an instance has, and the space that it takes on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DataSpace {
    /// All of it, logs included.
    pub total: Bytes,
    /// The logs. An engine keeps as much log as it was allowed to, however little data there is. `None` if it cannot be known.
    pub logs: Option<Bytes>,
    /// Rows that the load made, counted by the engine after it. `None` if there are none, or the engine cannot count them.
    pub rows: Option<u64>,
}

/// What an instance is reset for: the next use of its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResetFor {
    /// A point of its own. It may begin with a fresh copy of the loaded data.
    NextPoint,
    /// A point of its own that cannot begin with the data as the points before have left it. Only an instance that can restore it is asked.
    ChangedPoint,
    /// The next step of a sequence, which needs the data as the step before left it.
    NextStep,
}

/// A running engine with its data.
///
/// The order of calls; those before a `*` may repeat:
///
/// ```text
/// check*  ->  loaders  ->  finish_load  ->  ( clients  ->  finish_trial  ->  conditions  ->  read_back  ->  reset )*  ->  stop
/// ```
///
/// Between `loaders` and `finish_load`, and after `clients`, the caller runs the clients that it was given. An instance may be
/// stopped at any time, after a failure as well. The order is not in the types: the clients run while the instance stays with
/// the caller, in one place for loading and measuring, and after a failure it must still be there to be stopped.
pub trait Instance {
    /// Version, settings, warnings and processes, as of now.
    fn report(&self) -> InstanceReport;

    /// How data and logs reach the disk while `trial` runs, by the settings as read back: of several ways the one that the kernel
    /// charges worst.
    fn write_path(&self, trial: &Trial) -> WritePath;

    /// Refuses what this kernel or this directory cannot do for `trial`, in addition to what [`EngineDef::check`] refuses.
    fn check_trial(&mut self, _: &Trial) -> Result<(), TargetError> {
        Ok(())
    }

    /// Marks the data as that of all hosts of this run, before it is made. Returns by what they know it again; `None` if no other host can
    /// use it.
    fn share_data(&mut self) -> Result<Option<CommonData>, TargetError> {
        Ok(None)
    }

    /// Takes note of steps of a sequence that were performed on common data before this instance joined it.
    fn pass_steps(&mut self, _: &[Trial]) {}

    /// The clients that make the data. `None` if there is nothing to make.
    fn make_loaders(&mut self, trial: &Trial) -> Result<Option<WorkloadClients>, TargetError>;

    /// Quiesces the engine after the load (syncs, checkpoints) and marks the data as complete. Also called if there was nothing to
    /// load. Returns facts about the load.
    fn finish_load(&mut self) -> Result<Vec<Fact>, TargetError>;

    /// Whether [`Instance::reset`] can bring back the data as it was loaded, whatever the trials before did to it.
    fn can_restore(&self) -> bool {
        false
    }

    /// Writes out what the engine has put off, without a restart and with its data as it is: a probe of a search must not pay for the one
    /// before it.
    fn quiesce(&mut self) -> Result<(), TargetError> {
        Ok(())
    }

    /// Brings engine and data to the state that the next trial begins with.
    fn reset(&mut self, _: ResetFor) -> Result<(), TargetError> {
        Ok(())
    }

    /// The clients of `trial`. Refuses data that was not made for it.
    fn make_clients(&mut self, trial: &Trial) -> Result<WorkloadClients, TargetError>;

    /// Facts that are known only after the load of a trial, for which the engine may be asked. Counters in them begin again from zero. Comes
    /// before [`Instance::take_held`].
    fn finish_trial(&mut self) -> Vec<Fact> {
        Vec::new()
    }

    /// How many connections the trial held, once. Nothing is asked of the engine, so it is known also if the engine has stopped answering.
    fn take_held(&mut self) -> Vec<Fact> {
        Vec::new()
    }

    /// How many operations the clients that were made last perform, once, if that is not known before they are made: a server has functions and views
    /// of its own, by which statements of a log are left out.
    fn take_counted_ops(&mut self) -> Option<u64> {
        None
    }

    /// What the statement of a variant has returned since the last call; `None` if the trial was none.
    fn take_result(&mut self) -> Option<VariantResult> {
        None
    }

    /// Reads back and checks all that was written since the last call. `None` if nothing was written, or if the data is not
    /// verified. `go_on` gets the bytes done and the total; it returns false to end the check.
    fn read_back(&mut self, _go_on: &mut dyn FnMut(Bytes, Bytes) -> bool) -> Result<Option<ReadBack>, TargetError> {
        Ok(None)
    }

    /// Checks the conditions that the workload of `trial` has for its rows, as long as `go_on` returns true. `None` if it has none, or if
    /// another host checks them.
    fn check_conditions(
        &mut self,
        _trial: &Trial,
        _go_on: &mut dyn FnMut() -> bool,
    ) -> Result<Option<CheckedConditions>, TargetError> {
        Ok(None)
    }

    /// The engine's own counters, read over a connection of their own.
    fn counter_sources(&self) -> Vec<Box<dyn CounterSource>> {
        Vec::new()
    }

    /// The files that take what its servers log. Empty if it has none, or if they cannot be seen.
    fn log_files(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Reads the settings, and what the tables are, that must not change while `trial` is measured, over a connection of its own. `None` if
    /// others cannot change them.
    fn settings_reader(&self, _trial: &Trial) -> Option<Box<dyn SettingsReader>> {
        None
    }

    /// What went wrong outside of the operations since the start, such as a background sync that failed.
    fn describe_trouble(&self) -> Option<String> {
        None
    }

    /// Whether a process of the engine that plimsoll started has ended, so that no operation can succeed any more. It does not wait.
    fn has_ended(&self) -> bool {
        false
    }

    /// What is known of the cause if operations have failed, such as a server that plimsoll did not start and that has ended. Unlike
    /// [`Instance::describe_trouble`] it fails no point: operations may have gone on after a restart.
    fn explain_failure(&self) -> Option<String> {
        None
    }

    /// Clients are still blocked, and nothing waits for them any more: what they do at the engine is cancelled, as far as that is possible.
    fn abandon_clients(&mut self) {}

    /// Space and rows of the data, as of now.
    fn measure_space(&self) -> DataSpace;

    /// Counts the rows of all tables, each of them by a query of its own. `None` if the engine cannot count them.
    fn count_rows(&mut self) -> Result<Option<u64>, TargetError> {
        Ok(None)
    }

    /// Makes a data set of the data that was loaded: leaves it in `place` with the engine at rest. After that the instance can only be
    /// stopped.
    fn keep_data(&mut self, place: KeptIn<'_>) -> Result<(), TargetError> {
        let _ = place;
        Err(TargetError::Unsupported("this engine keeps no data sets".to_owned()))
    }

    /// Stops the engine and removes the data that plimsoll made.
    fn stop(self: Box<Self>) -> Result<(), TargetError>;
}

/// More loaders than this gain nothing on a data set that fits one machine.
const LOADERS_MAX: u64 = 8;

/// The clients of this host that make its part of a data set of `ops` operations for `trial`, among those of all hosts: one for each core that
/// plimsoll may use, or none if another host makes the data.
pub(crate) fn loaders_for(trial: &Trial, ops: Option<u64>) -> LoadPart {
    let part = trial.loading_part();
    let hosts = part.of().into();
    let loaders = loaders_at_once(ops.map(|ops| ops.div_ceil(hosts)));
    // Hosts may have different numbers of loaders: what each makes depends on its own number only.
    LoadPart::new(part.first() * loaders, part.count() * loaders, part.of() * loaders)
}

fn loaders_at_once(ops: Option<u64>) -> u32 {
    (cores_of_process() as u64).min(LOADERS_MAX).min(ops.unwrap_or(1)).max(1) as u32
}

/// The cores that this process may use, which a container may have fewer of than the machine.
pub(crate) fn cores_of_process() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

/// Refuses a depth that an engine with one operation at a time cannot have.
pub(crate) fn depth_one_only(trial: &Trial) -> Result<(), TargetError> {
    match trial.load.depth {
        1 => Ok(()),
        depth => Err(TargetError::Unsupported(format!(
            "engine `{}` performs one operation at a time, so depth = `{depth}` is not possible; use depth = `1`, and more clients for more operations at once",
            trial.target.engine
        ))),
    }
}

/// The workload of `trial`.
///
/// # Panics
/// If this binary lacks it: a plan is checked against the catalogue before.
pub fn workload_of(trial: &Trial) -> &'static workload::WorkloadDef {
    workload::find(&trial.workload.name).expect("the plan was checked against the catalogue")
}
