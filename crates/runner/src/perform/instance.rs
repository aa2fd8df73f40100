//! The instance that runs on this host, with its data, its file system and its limits.
//!
//! In: an assignment, the place to measure. Out: an engine's instance, facts about it, and the counters to read. Limits: one instance
//! at a time; it stops before its limits are lifted and before its volume is removed.

use super::facts;
use crate::error::RunnerError;
use crate::messages::Assignment;
use crate::open_set::OpenSet;
use crate::preflight::RunSite;
use crate::room::data_location;
use engine::data_set::SetUse;
use engine::estimate::{image_bytes, keeps_data};
use engine::{EngineDef, EngineLocation, Instance, InstanceReport, StartContext};
use host::Volume;
use host::cpu::EngineCpus;
use host::device::BlockDevice;
use host::flush_probe::{FlushProbe, probe_flushes};
use host::privileged::cgroup::{CgroupLimits, LimitNeeds, LimitedDisk};
use host::safety::WriteRoom;
use load::StopReason;
use model::{
    CommonData, CounterSource, DataOrigin, Fact, INTERFACE_FACT, LINK_FACT, Nanos, Plan, ServerWay, Trial, Value,
    WritePath,
};
use observe::{EnginePids, NetworkInterface, SamplingSubject};
use std::cell::OnceCell;
use std::path::Path;
use std::time::{Duration, Instant};
use workload::DataReuse;

/// How long a point waits for the page cache to be written: the dirty pages of others may be among it.
const WRITE_OUT_WAIT: Duration = Duration::from_secs(30);

/// The durability of an engine whose commits are on the disk when they are acknowledged.
const DURABLE: &str = "disk";

/// The instance that is running, and what its data is.
pub(super) struct RunningInstance {
    pub instance: Box<dyn Instance>,
    cgroup: Option<CgroupLimits>,
    volume: Option<Volume>,
    pub def: &'static EngineDef,
    /// What its data was made for.
    pub data: String,
    /// What making it has shown; taken by the trial that it was made for.
    load_facts: Vec<Fact>,
    /// The last trial that began on it.
    pub last: Trial,
    /// Whether another host has made its data.
    is_joined: bool,
    /// The data set that it works on.
    set: Option<OpenSet>,
    /// How the device of its data flushes, once it was asked; `None` in it if that is not known.
    flushes: OnceCell<Option<FlushProbe>>,
}

/// Which limits some trial of the run has. If one has a limit, all have their engine in a group, so that they differ in the limit
/// alone, and share their data.
#[derive(Clone, Copy)]
pub(super) struct LimitKinds {
    memory: bool,
    storage: bool,
    cpu_time: bool,
    cpu_speed: bool,
}

impl LimitKinds {
    pub fn from_plan(plan: &Plan) -> LimitKinds {
        let limits = plan.trials.iter().map(|trial| &trial.target.limits);
        LimitKinds {
            memory: limits.clone().any(|limits| limits.memory.is_some()),
            storage: limits.clone().any(|limits| !limits.storage.is_none()),
            cpu_time: limits.clone().filter_map(|limits| limits.cpu).any(|limit| limit.milli_cpus().is_some()),
            cpu_speed: limits.clone().filter_map(|limits| limits.cpu).any(|limit| limit.speed_percent().is_some()),
        }
    }
}

impl RunningInstance {
    /// Starts the engine for the steps of the sequence of `assignment`.
    pub fn start(
        assignment: &Assignment,
        limits: LimitKinds,
        cpus: &EngineCpus,
        site: &RunSite,
    ) -> Result<RunningInstance, RunnerError> {
        let chain = &assignment.sequence.steps;
        let trial = &chain[0];
        let def = engine::engine_of(trial);
        let data = data_of(chain);
        let made = trial.target.fs.zip(image_bytes(chain));
        let volume = made.map(|(fs, size)| Volume::make(&site.dir, fs.kind, size, trial.seed)).transpose()?;
        let parent = volume.as_ref().map_or(site.dir.as_path(), Volume::mount_point);
        let cgroup =
            cgroup_limits(limits, def.runs, &device_below(trial, volume.as_ref(), &site.dir), volume.is_some())?;
        // The engine starts inside its group: a process that is moved later keeps the memory that it has charged elsewhere.
        let (cgroups, destroy) = (cgroup.as_ref(), &*site.destroy);
        let volume_daemon = volume.as_ref().and_then(Volume::daemon);
        let joins = assignment.joins.as_ref();
        let set = OpenSet::open(trial, &site.dir)?;
        let data_set = set.as_ref().map_or(SetUse::None, OpenSet::as_use);
        let engine = def;
        let start =
            StartContext { engine, trial, parent, data: &data, destroy, cgroups, cpus, volume_daemon, joins, data_set };
        let instance = engine::start_instances(&start)?;
        set.as_ref().map_or(Ok(()), |set| set.check_version(&*instance))?;
        let last = assignment.trial.clone();
        let (is_joined, load_facts, flushes) = (joins.is_some(), Vec::new(), OnceCell::new());
        Ok(RunningInstance { instance, cgroup, volume, def, data, load_facts, last, is_joined, set, flushes })
    }

    /// By what other hosts know the data that this host makes for all of them; `None` if they do not use it.
    pub fn share_data(&mut self) -> Result<Option<CommonData>, RunnerError> {
        let Some(share) = self.last.share.filter(|share| share.data != DataOrigin::Own && !self.is_joined) else {
            return Ok(None);
        };
        let engine = &self.last.target.engine;
        match self.instance.share_data()? {
            // Its own data would be that of no other host.
            Some(_) if share.host > 0 => {
                let host = share.host + 1;
                Err(RunnerError::failed(format!("host {host} of {} was not named the data to use", share.hosts)))
            }
            None if self.def.runs != EngineLocation::Elsewhere => Err(RunnerError::Unsupported(format!(
                "engine `{engine}` keeps its data on one host, so that others cannot use it; give the URL of a server"
            ))),
            common => Ok(common),
        }
    }

    /// Goes on with the data that all hosts have brought as far as after `steps`.
    pub fn pass_steps(&mut self, steps: &[Trial]) -> Result<(), RunnerError> {
        if !self.is_joined {
            return Err(RunnerError::failed(
                "the data of the earlier steps is gone, and one host cannot make it again; begin with the first step",
            ));
        }
        self.instance.pass_steps(steps);
        Ok(())
    }

    /// Warnings for the user before the load begins.
    pub fn warnings(&self) -> Vec<String> {
        self.cgroup
            .iter()
            .filter_map(CgroupLimits::describe_gap)
            .map(Into::into)
            .chain(self.instance.report().warnings)
            .chain(self.set.iter().flat_map(|set| set.warning(&self.last)))
            .collect()
    }

    /// The processes of a server that plimsoll has started.
    pub fn server_processes(&self) -> Vec<u32> {
        match self.def.runs {
            EngineLocation::Server => self.instance.report().processes,
            _ => Vec::new(),
        }
    }

    /// Applies the limits of `trial`, and returns them as facts.
    pub fn apply_limits(&self, trial: &Trial) -> Result<Vec<Fact>, RunnerError> {
        Ok(self.cgroup.as_ref().map_or(Ok(Vec::new()), |cgroup| cgroup.apply(&trial.target.limits))?)
    }

    /// Lifts the limits while data is made or copied, which is not measured.
    pub fn lift_limits(&self) -> Result<(), RunnerError> {
        Ok(self.cgroup.as_ref().map_or(Ok(()), CgroupLimits::clear)?)
    }

    /// The counters to read while `trial` runs, and which are missing.
    pub fn sources(&self, trial: &Trial, dir: &Path) -> (Vec<Box<dyn CounterSource>>, Vec<String>) {
        let (mut sources, missing) = observe::open_all(&subject(trial, self, dir));
        // The counters of a volume show what reaches its image; those of the disk below it, what that costs.
        let disk_below =
            self.volume.as_ref().and_then(|_| observe::sources::disk::open_device(&device_of_dir(dir)?).ok());
        sources.extend(disk_below);
        sources.extend(self.instance.counter_sources());
        sources.extend(self.cgroup.iter().flat_map(engine::cgroup_counters::usage_sources));
        sources.extend(engine::cgroup_counters::quota_source());
        // A limit of the plan is a quota, too, and has a test of its own.
        let process = self.instance.report().processes.first().copied().filter(|_| trial.target.limits.cpu.is_none());
        sources.extend(process.and_then(engine::cgroup_counters::engine_quota_source));
        (sources, missing)
    }

    /// Facts about engine and host for `trial`, whose limits are applied.
    pub fn facts(&self, trial: &Trial, dir: &Path) -> Result<Vec<Fact>, RunnerError> {
        let report = self.instance.report();
        let runs = match self.def.runs {
            EngineLocation::Elsewhere if !report.processes.is_empty() => EngineLocation::Server,
            runs => runs,
        };
        let writes = self.instance.write_path(trial);
        let mut facts = vec![Fact::new("engine.process", runs.as_str()), Fact::new("engine.writes", writes.as_str())];
        if trial.target.instances > 1 {
            facts.push(Fact::new("instances", trial.target.instances.to_string()));
        }
        facts.extend(place_facts(trial, self.volume.as_ref(), dir));
        facts.extend(network_facts(report.way));
        facts.extend(self.flush_facts(trial, &report, dir));
        facts.extend(report.facts);
        facts.extend(self.set.iter().flat_map(OpenSet::facts));
        facts.extend(self.apply_limits(trial)?);
        Ok(facts)
    }

    /// How the device flushes, if each commit is to be on it.
    fn flush_facts(&self, trial: &Trial, report: &InstanceReport, dir: &Path) -> Vec<Fact> {
        let is_durable = report.facts.iter().any(|fact| fact.name == "durability" && fact.value == DURABLE);
        if !is_durable || !commits_each_write(trial) {
            return Vec::new();
        }
        let probe = self.flushes.get_or_init(|| self.probe_flushes(trial, report, dir));
        probe.iter().flat_map(facts::of_flushes).collect()
    }

    fn probe_flushes(&self, trial: &Trial, report: &InstanceReport, dir: &Path) -> Option<FlushProbe> {
        if self.def.runs != EngineLocation::Elsewhere {
            let place = self.volume.as_ref().map_or_else(|| data_location(trial, dir), Volume::mount_point);
            return probe_flushes(place, &device_below(trial, self.volume.as_ref(), dir)?);
        }
        // Nothing is written to the directory of somebody else: a place of plimsoll's on the same device shows the same.
        let device = report.device.as_ref().filter(|device| device_of_dir(dir).as_ref() == Some(device))?;
        let logs_there = report.data_dir.as_deref().is_some_and(engine::has_log_beside);
        logs_there.then(|| probe_flushes(dir, device)).flatten()
    }

    /// Brings what the page cache holds to the disk, so that the counters of its device have what was written so far. False if
    /// that is not possible, or would take too long. With it go the dirty pages of others, which would otherwise reach the device during the load.
    pub fn write_out(&self, trial: &Trial, dir: &Path) -> bool {
        let is_elsewhere = self.def.runs == EngineLocation::Elsewhere;
        let seen = is_elsewhere.then(|| self.instance.report().data_dir).flatten();
        let place = match (&self.volume, trial.target.path.as_deref()) {
            (Some(volume), _) => volume.mount_point(),
            (None, Some(path)) if BlockDevice::at(path).is_some() => path,
            (None, _) => seen.as_deref().unwrap_or(data_location(trial, dir)),
        };
        let (writes, has_engine) = (self.instance.write_path(trial), self.def.runs != EngineLocation::InClients);
        match writes {
            WritePath::Unknown => false,
            // What is dirty in the page cache is of others, and may be a lot.
            _ if !keeps_data(trial) => false,
            // What the clients write themselves, past the page cache, is known to the byte.
            WritePath::Direct if !has_engine => false,
            _ => host::page_cache::write_out(place, WRITE_OUT_WAIT),
        }
    }

    /// Begins with data that no clients make: there is none, or that of a data set.
    pub fn take_data(&mut self) -> Result<(), RunnerError> {
        self.instance.finish_load()?;
        let instance = &mut *self.instance;
        self.set.as_mut().map_or(Ok(()), |set| set.note_change(instance))
    }

    /// The data is made: waits until the engine has settled, and keeps what making it has shown.
    pub fn note_loaded(&mut self) -> Result<(), RunnerError> {
        let began = Instant::now();
        let engine_facts = self.instance.finish_load()?;
        let settle = Fact::new("load.settle_s", format!("{:.3}", began.elapsed().as_secs_f64()));
        let space = self.instance.measure_space();
        let bytes = Fact::new("load.bytes", space.total.0.to_string());
        let logs = space.logs.map(|logs| Fact::new("load.log_bytes", logs.0.to_string()));
        let rows = space.rows.map(|rows| Fact::new("load.rows", rows.to_string()));
        self.load_facts = [settle, bytes].into_iter().chain(logs).chain(rows).chain(engine_facts).collect();
        Ok(())
    }

    /// The load took `all` this time, from its first row until the engine had settled.
    pub fn note_load_time(&mut self, all: Nanos) {
        self.load_facts.push(Fact::new("load.all_s", format!("{:.3}", all.as_secs_f64())));
    }

    /// What is known when the load is over: the size of the data, and what the engine reports then.
    pub fn closing_facts(&mut self) -> Vec<Fact> {
        let mut facts = std::mem::take(&mut self.load_facts);
        let space = self.instance.measure_space();
        facts.push(Fact::new("data.bytes", space.total.0.to_string()));
        facts.extend(space.logs.map(|logs| Fact::new("data.log_bytes", logs.0.to_string())));
        facts.extend(self.instance.finish_trial());
        facts.extend(self.cgroup.iter().flat_map(CgroupLimits::closing_facts));
        facts
    }

    /// The result of a load, which ended as `measured`, with failures outside of its operations: a background sync that failed, a
    /// server that ended, a process that the kernel killed because of its memory. They come first: what the operations saw follows
    /// from them.
    pub fn explain(&self, measured: Result<(), RunnerError>, dir: &Path) -> Result<(), RunnerError> {
        let killed = || self.cgroup.as_ref().and_then(CgroupLimits::describe_trouble);
        let trouble = || self.instance.describe_trouble();
        match measured {
            Err(failed @ RunnerError::Failed { .. }) => {
                let named = ["o space left", "Read-only file system", "Input/output error"];
                let is_named = named.iter().any(|words| failed.to_string().contains(words));
                let dir = room(&self.last, Some(self), dir);
                let cause = killed()
                    .or_else(trouble)
                    .or_else(|| host::safety::describe_trouble(dir.path()).filter(|_| !is_named))
                    .or_else(|| self.instance.explain_failure());
                Err(match cause {
                    Some(cause) => caused_by(&cause, &failed),
                    None => failed,
                })
            }
            Ok(()) => killed().or_else(trouble).map_or(Ok(()), |text| Err(RunnerError::failed(text))),
            Err(RunnerError::Stopped(StopReason::Failure)) => {
                let failed = |text| Err(RunnerError::failed(format!("{text}; what was measured is kept")));
                killed().or_else(trouble).map_or(measured, failed)
            }
            stopped => killed().map_or(stopped, |text| Err(RunnerError::failed(text))),
        }
    }

    /// Whether a server that does not answer now may do so soon: it runs, or whoever started it may start it again.
    pub fn may_return(&self) -> bool {
        self.instance.describe_trouble().is_none()
    }

    /// Stops the engine and removes its data, its limits and its volume.
    pub fn stop(self) -> Result<(), RunnerError> {
        // In this order: the kernel removes no cgroup with processes in it, and unmounts no volume with open files.
        let stopped = self.instance.stop();
        let freed = self.cgroup.map_or(Ok(()), CgroupLimits::remove);
        let removed = self.volume.map_or(Ok(()), Volume::remove);
        Ok(stopped.and(freed).and(removed)?)
    }
}

/// `failed` with its `cause` in front.
fn caused_by(cause: &str, failed: &RunnerError) -> RunnerError {
    RunnerError::Failed { text: format!("{cause}; {failed}"), blocked: failed.is_blocked() }
}

/// What a trial does with the data that it finds.
pub(super) fn data_reuse(trial: &Trial) -> DataReuse {
    engine::workload_of(trial).reuse_of(&trial.workload.params)
}

/// The group that an engine is held in, if some trial of the run has a limit.
fn cgroup_limits(
    limits: LimitKinds,
    runs: EngineLocation,
    device: &Option<String>,
    alone: bool,
) -> Result<Option<CgroupLimits>, RunnerError> {
    let LimitKinds { memory, storage, cpu_time, cpu_speed } = limits;
    let disk = LimitedDisk { name: device.as_deref().unwrap_or("none"), alone };
    let needs = match runs {
        // The speed of the CPUs is of the machine; no other limit concerns a server that plimsoll did not start.
        EngineLocation::Elsewhere => LimitNeeds { memory: false, storage: None, cpu_time: false, embedded: false },
        EngineLocation::Server => LimitNeeds { memory, storage: storage.then_some(disk), cpu_time, embedded: false },
        EngineLocation::InClients | EngineLocation::Embedded => {
            LimitNeeds { memory: false, storage: storage.then_some(disk), cpu_time, embedded: true }
        }
    };
    let needed = needs.memory || needs.storage.is_some() || needs.cpu_time || cpu_speed;
    Ok(needed.then(|| CgroupLimits::make(&needs)).transpose()?)
}

/// The description of the data of `chain`, which its manifest has; points with the same description can share data.
pub(crate) fn data_of(chain: &[Trial]) -> String {
    let trial = &chain[0];
    let path = trial.target.path.as_ref().map_or(String::new(), |path| format!(" path={}", path.display()));
    let made = trial.target.fs.zip(image_bytes(chain));
    let fs = made.map_or(String::new(), |(fs, size)| format!(" fs={} fs_size={size}", fs.kind));
    let precondition = match trial.phases.precondition() {
        1 => String::new(),
        passes => format!(" precondition={passes}"),
    };
    let instances = match trial.target.instances {
        1 => String::new(),
        n => format!(" instances={n}"),
    };
    let set = trial.data_set.as_ref().map_or(String::new(), |set| format!(" set={}", set.name));
    format!("{} seed={}{path}{fs}{precondition}{instances}{set}", engine::shape_of(trial), trial.data_seed())
}

/// Where the data of `trial` may grow.
pub(super) fn room(trial: &Trial, running: Option<&RunningInstance>, dir: &Path) -> WriteRoom {
    match running.and_then(|running| running.volume.as_ref()) {
        Some(volume) => WriteRoom::Own(volume.mount_point().into()),
        None => WriteRoom::Shared(data_location(trial, dir).into()),
    }
}

/// What the counters are of: the engine's processes or this one, and the device under the data.
fn subject(trial: &Trial, running: &RunningInstance, dir: &Path) -> SamplingSubject {
    let device = device_below(trial, running.volume.as_ref(), dir);
    let report = running.instance.report();
    let server = report.way;
    match running.def.runs {
        EngineLocation::InClients | EngineLocation::Embedded => {
            SamplingSubject { engine_pids: EnginePids::Own, device, server }
        }
        EngineLocation::Server => {
            SamplingSubject { engine_pids: EnginePids::Processes(report.processes), device, server }
        }
        EngineLocation::Elsewhere => subject_of_existing(report),
    }
}

/// What the counters are of for a server that plimsoll did not start. If it is not seen, it may be on another machine, so no process and
/// no device of this one is taken for its own.
fn subject_of_existing(report: InstanceReport) -> SamplingSubject {
    let (engine_pids, device) = if report.processes.is_empty() {
        (EnginePids::Elsewhere, None)
    } else {
        (EnginePids::Processes(report.processes), report.device)
    };
    SamplingSubject { engine_pids, device, server: report.way }
}

/// The block device that the data of `trial` is on: that of its volume, the one it names, or the one below its directory.
fn device_below(trial: &Trial, volume: Option<&Volume>, dir: &Path) -> Option<String> {
    let own = volume.map(|volume| volume.device().to_owned());
    let named = trial.target.path.as_deref().and_then(BlockDevice::at).map(|device| device.name().to_owned());
    own.or(named).or_else(|| device_of_dir(data_location(trial, dir)))
}

/// The block device that the files in `dir` are on.
fn device_of_dir(dir: &Path) -> Option<String> {
    host::filesystem::find_mount(dir).ok()?.device
}

/// Whether each operation of `trial` that writes also commits it: a statement that the user wrote or recorded may change nothing, or be
/// committed by a later one.
fn commits_each_write(trial: &Trial) -> bool {
    !trial.workload.params.0.values().any(|value| match value {
        Value::Statements(ops) => !ops.is_empty(),
        Value::Background(entries) => !entries.is_empty(),
        Value::Variant(_) | Value::Recording(_) => true,
        _ => false,
    })
}

/// Facts about the network interface on the way to the server, if there is one.
fn network_facts(way: ServerWay) -> Vec<Fact> {
    let Ok(interface) = NetworkInterface::on_way(way) else { return Vec::new() };
    let speed = interface.link_speed().map(|speed| Fact::new(LINK_FACT, speed.fact_value()));
    std::iter::once(Fact::new(INTERFACE_FACT, interface.name)).chain(speed).collect()
}

/// Facts about the place that is measured, if it is not the directory of the run.
fn place_facts(trial: &Trial, volume: Option<&Volume>, dir: &Path) -> Vec<Fact> {
    match (volume, &trial.target.path) {
        (Some(volume), _) => volume.facts().to_vec(),
        (None, Some(path)) if let Some(device) = BlockDevice::at(path) => device.facts(),
        (None, Some(_)) => {
            host::filesystem::find_mount(data_location(trial, dir)).map(|place| place.facts()).unwrap_or_default()
        }
        (None, None) => Vec::new(),
    }
}
