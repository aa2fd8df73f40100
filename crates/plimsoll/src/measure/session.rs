//! The points of one run, one after the other, on engine instances that points with equal data share.
//!
//! In: a plan, a run file, a directory. Out: every point recorded. Limits: one instance at a time; it is stopped and its data
//! removed as soon as the next point needs other data, and so is the file system that was made for it. The steps of a sequence go
//! on with one data set; where a run goes on in the middle of one, the steps before it are performed again, on new data.

use super::PREPARE_AT_MOST;
use super::flags::Options;
use super::label;
use super::progress::Progress;
use super::read_back;
use super::replay::{self, Replayed};
use super::resume::Interruption;
use super::signals;
use super::sink::PointSink;
use crate::cli::Context;
use crate::exit::Fault;
use engine::estimate::{chain_bytes, image_bytes};
use engine::{EngineDef, EngineProcess, Instance, Loading, ResetFor, Start};
use host::Volume;
use host::cgroup::{CgroupLimits, LimitNeeds, LimitedDisk};
use host::device::Device;
use host::safety::Room;
use load::{Beside, Clock, Ended, MonotonicClock, Outcome, PhasePlan, Setup, Sink, Stop, StopReason, run_phases};
use model::{Fact, Limits, Nanos, OnError, Pacing, Phase, Plan, PointState, Trial};
use observe::{EnginePids, Sampler, Subject};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use store::{Batch, PointId, RunWriter};
use workload::{Kind, Reuse};

/// A run under way.
pub struct Session<'a> {
    plan: &'a Plan,
    /// The points that go on with each other's data.
    chains: Vec<Range<usize>>,
    /// The point to begin with.
    first: usize,
    /// What went before, where the run goes on; until its first point is entered.
    interrupted: Option<Interruption>,
    options: &'a Options,
    context: &'a Context,
    writer: &'a mut RunWriter,
    stop: Arc<Stop>,
    clock: MonotonicClock,
    progress: Progress,
    live: Option<Live>,
}

/// The instance that is running, and what its data is. The instance goes before what holds it and the volume that it is on.
struct Live {
    instance: Box<dyn Instance>,
    cage: Option<CgroupLimits>,
    volume: Option<Volume>,
    def: &'static EngineDef,
    data: String,
    /// What making it has shown; taken by the point that it was made for.
    of_load: Vec<Fact>,
    /// Its last point.
    last: usize,
}

/// What a point needs before its load can begin.
struct Opened {
    point: PointId,
    kinds: usize,
    sampler: Sampler,
    first: First,
}

/// What the clients of a point do first.
enum First {
    /// The instance is new: they make its data.
    Prepare(Loading),
    /// The data is there: they warm up and run.
    Run(Loading),
}

impl<'a> Session<'a> {
    /// The run of `plan` into `writer`.
    pub fn new(
        plan: &'a Plan,
        options: &'a Options,
        context: &'a Context,
        writer: &'a mut RunWriter,
        stop: Arc<Stop>,
    ) -> Self {
        let progress = Progress::start(plan, context);
        let chains = plan::chains(plan, &context.catalogue);
        let (first, interrupted, clock, live) = (0, None, MonotonicClock::start(), None);
        Session { plan, chains, first, interrupted, options, context, writer, stop, clock, progress, live }
    }

    /// The same run, which goes on at point number `first` after `interrupted`.
    pub fn go_on(self, first: usize, interrupted: Interruption) -> Self {
        let clock = MonotonicClock::start_at(interrupted.over);
        Session { first, clock, interrupted: Some(interrupted), ..self }
    }

    /// Measures every point, or as many as can be. The data of the last instance is removed in any case.
    pub fn measure_all(mut self) -> Result<(), Fault> {
        let mut measured = Ok(());
        let labels = label::all(self.plan);
        for (nth, label) in labels.iter().enumerate().skip(self.first) {
            self.progress.point(nth, label);
            measured = self.measure(nth);
            if measured.is_err() {
                break;
            }
        }
        let removed = self.stop_live();
        self.progress.finish();
        measured.and(removed)
    }

    /// Measures one point.
    fn measure(&mut self, nth: usize) -> Result<(), Fault> {
        let opened = self.open(nth)?;
        let point = opened.point;
        let mut measured = self.load(nth, opened);
        if let Some(live) = &mut self.live {
            measured = measured.and(live.instance.trouble().map_or(Ok(()), |text| Err(Fault::of_target(text))));
            measured = killed(live).map_or(measured, |text| Err(Fault::of_target(text)));
            if !is_blocked(&measured) {
                self.writer.add_facts(point, &closing_facts(live))?;
            }
        }
        measured = self.read_back(point, measured);
        if measured.is_err() || nth + 1 == self.plan.trials.len() || !self.live_fits(nth + 1) {
            measured = measured.and(self.clean_up(point));
        }
        let (state, error) = match &measured {
            Ok(()) => (PointState::Complete, None),
            Err(fault) => (fault.state, Some(fault.text.as_str())),
        };
        self.writer.finish_point(point, state, error)?;
        measured
    }

    /// Starts an instance where the one that runs has other data, and enters the point into the run file.
    fn open(&mut self, nth: usize) -> Result<Opened, Fault> {
        let trial = &self.plan.trials[nth];
        let (loaders, replayed) = if self.live_fits(nth) { self.begin_again(nth)? } else { self.start_new(nth)? };
        let live = self.live.as_mut().expect("started above, or it fits");
        live.last = nth;
        let (kinds, first) = match loaders {
            Some(loading) => (loading.kinds.clone(), First::Prepare(loading)),
            None => {
                let loading = live.instance.clients(trial)?;
                (loading.kinds.clone(), First::Run(loading))
            }
        };
        let (mut sources, notes) = observe::open_all(&subject(trial, live, &self.options.dir));
        sources.extend(live.volume.as_ref().and_then(|_| observe::sources::disk::of(&below(&self.options.dir)?).ok()));
        sources.extend(live.instance.sources());
        sources.extend(live.cage.iter().flat_map(engine::cgroup_counters::sources));
        let described: Vec<_> = sources.iter().map(|source| source.describe()).collect();
        let mut facts = vec![Fact::new("engine.process", live.def.runs.as_str())];
        facts.extend(place_facts(trial, live.volume.as_ref(), &self.options.dir));
        facts.extend(live.instance.report().facts);
        facts.extend(hold(live, trial)?);
        facts.extend(notes.into_iter().map(|note| Fact::new("counters.missing", note)));
        facts.extend(kinds.iter().flat_map(kind_facts));
        let places = Some(self.places(nth)).filter(|places| places.len() > 1);
        facts.extend(places.map(|places| Fact::new("sequence", (places.start + 1).to_string())));
        facts.extend(replayed.iter().map(|replayed| Fact::new("prepare.steps", replayed.steps.join(", "))));
        facts.extend(run_ops(trial).map(|ops| Fact::new("run.ops", ops.to_string())));
        let names: Vec<String> = kinds.iter().map(|kind| kind.name.to_owned()).collect();
        let point = self.writer.begin_point(trial, &facts, &names, &described)?;
        self.enter_before(point, replayed)?;
        let clock = self.clock;
        let sampler = Sampler::start(sources, trial.phases.interval, move || clock.now());
        Ok(Opened { point, kinds: kinds.len(), sampler, first })
    }

    /// Starts a new instance for a point. Where the point is a later step of a sequence, the data is made and the steps before it
    /// are performed; else the clients that make the data are still to be run, where there are any.
    fn start_new(&mut self, nth: usize) -> Result<(Option<Loading>, Option<Replayed>), Fault> {
        self.stop_live()?;
        let (chain, before) = (self.chain(nth), self.steps_before(nth));
        let live = self.live.insert(start(chain, nth, self.plan, self.options)?);
        live.cage.iter().filter_map(CgroupLimits::warning).for_each(|warning| self.context.note(warning));
        let report = live.instance.report();
        report.warnings.iter().for_each(|warning| self.context.note(warning));
        self.interrupted.iter().try_for_each(|run| run.check_engine(&chain[0], &report.facts))?;
        before.iter().chain([&self.plan.trials[nth]]).try_for_each(|trial| live.instance.check(trial))?;
        let loaders = live.instance.loaders(&chain[0])?;
        if loaders.is_none() {
            live.instance.finish_load()?;
        }
        if before.is_empty() {
            return Ok((loaders, None));
        }
        let grows_in = self.grows_in(nth);
        let live = self.live.as_mut().expect("started above");
        lift(live)?;
        let mut again = replay::Again { clock: &self.clock, stop: &self.stop, progress: &mut self.progress, grows_in };
        Ok((None, Some(again.perform(&mut *live.instance, loaders, before)?)))
    }

    /// Enters what went before the load of `point`: the end of an interruption, and steps that were performed again.
    fn enter_before(&mut self, point: PointId, replayed: Option<Replayed>) -> Result<(), Fault> {
        if let Some(interrupted) = self.interrupted.as_mut().and_then(Interruption::told_once) {
            self.writer.record(point, &Batch { events: &[interrupted], ..Batch::default() })?;
        }
        let Some(Replayed { start, end, events, .. }) = replayed else { return Ok(()) };
        self.writer.begin_phase(point, Phase::Prepare, start)?;
        self.writer.record(point, &Batch { events: &events, ..Batch::default() })?;
        Ok(self.writer.end_phase(point, Phase::Prepare, end, 0, 0)?)
    }

    /// Where the data of a point may grow; `None` where it does not.
    fn grows_in(&self, nth: usize) -> Option<Room> {
        let trial = &self.plan.trials[nth];
        (chain_bytes(self.chain(nth)).0 > 0).then(|| room(trial, self.live.as_ref(), &self.options.dir))
    }

    /// Makes the data where that is due, then warms up and runs.
    fn load(&mut self, nth: usize, opened: Opened) -> Result<(), Fault> {
        let trial = &self.plan.trials[nth];
        let Opened { point, kinds, sampler, first } = opened;
        let grows_in = self.grows_in(nth);
        let writer = &mut *self.writer;
        let sink = PointSink::new(writer, point, sampler, &self.stop, grows_in, &mut self.progress);
        let mut sink = sink.until(&trial.phases);
        let live = self.live.as_mut().expect("opened");
        let run = |loading: Loading, phases: &[PhasePlan], on_error, sink: &mut PointSink| {
            if let Some(beside) = &loading.beside {
                sink.beside(&beside.kinds, &beside_facts(beside, &loading.kinds));
            }
            let setup = Setup { on_error, ..setup(trial, kinds) };
            perform(loading, phases, &setup, &self.clock, &self.stop, sink)
        };
        let loading = match first {
            First::Run(loading) => Ok(loading),
            // Data with a hole in it is not measured, whatever is to become of failures in the run.
            First::Prepare(loading) => lift(live)
                .and_then(|()| run(loading, &[prepare()], OnError::Stop, &mut sink))
                .and_then(|()| loaded(live))
                .and_then(|()| hold(live, trial).map(drop))
                .and_then(|()| Ok(live.instance.clients(trial)?)),
        };
        let measured = loading.and_then(|loading| run(loading, &phases(trial), trial.on_error, &mut sink));
        let recorded = sink.close();
        // A recording that broke says more than the load that was stopped for it.
        recorded.and(measured)
    }

    /// Reads back what was written and checks it, where it can be: also after an operation that failed, which may have found
    /// damage; not after a request to stop, and not behind a client that is still blocked.
    fn read_back(&mut self, point: PointId, measured: Result<(), Fault>) -> Result<(), Fault> {
        let (reason, started) = (self.stop.reason(), self.clock.now());
        let live = match &mut self.live {
            Some(live) if measured.is_ok() || reason == Some(StopReason::Failure) && !is_blocked(&measured) => live,
            _ => return measured,
        };
        let (stop, progress) = (&self.stop, &mut self.progress);
        let found = live.instance.read_back(&mut |done, total| {
            progress.reading_back(done, total);
            stop.reason() == reason && !signals::came()
        });
        let found = match found {
            Ok(Some(found)) => found,
            Ok(None) => return measured,
            Err(error) => return measured.and(Err(error.into())),
        };
        let now = self.clock.now();
        self.writer.add_facts(point, &read_back::facts(&found, now.since(started)))?;
        self.writer.record(point, &Batch { events: &read_back::events(&found, now), ..Batch::default() })?;
        let reason = if signals::came() { Some(StopReason::Interrupted) } else { self.stop.reason() };
        let stopped = reason.filter(|_| found.checked.stopped).map(|reason| Err(Fault::stopped(reason)));
        measured.and(read_back::fault(&found)).and(stopped.unwrap_or(Ok(())))
    }

    /// Stops the instance as the last phase of `point`.
    fn clean_up(&mut self, point: PointId) -> Result<(), Fault> {
        let start = self.clock.now();
        self.writer.begin_phase(point, Phase::Cleanup, start)?;
        let stopped = self.stop_live();
        self.writer.end_phase(point, Phase::Cleanup, self.clock.now(), 0, 0)?;
        stopped
    }

    fn stop_live(&mut self) -> Result<(), Fault> {
        match self.live.take() {
            Some(Live { instance, cage, volume, .. }) => {
                let stopped = instance.stop();
                let freed = cage.map_or(Ok(()), CgroupLimits::remove);
                let removed = volume.map_or(Ok(()), Volume::remove);
                Ok(stopped.and(freed).and(removed)?)
            }
            None => Ok(()),
        }
    }

    /// Lets a point begin on the instance that runs, with what its plan says it begins with.
    fn begin_again(&mut self, nth: usize) -> Result<(Option<Loading>, Option<Replayed>), Fault> {
        let continues = !self.steps_before(nth).is_empty() && self.goes_on(nth);
        let live = self.live.as_mut().expect("it fits");
        // Starting and copying is not measured; what holds the point is set before it begins.
        lift(live)?;
        live.instance.reset(if continues { ResetFor::NextStep } else { ResetFor::NextPoint })?;
        Ok((None, None))
    }

    fn live_fits(&self, nth: usize) -> bool {
        let Some(live) = self.live.as_ref().filter(|live| live.data == data_of(self.chain(nth))) else { return false };
        self.goes_on(nth) || live.instance.restores() && self.steps_before(nth).is_empty()
    }

    /// Whether a point can begin with the data as the one before left it.
    fn goes_on(&self, nth: usize) -> bool {
        match reuse_of(&self.plan.trials[nth]) {
            // A point that changed its rows leaves nothing that another could begin with.
            Reuse::Shared => {
                self.live.as_ref().is_none_or(|live| reuse_of(&self.plan.trials[live.last]) == Reuse::Shared)
            }
            Reuse::Fresh => false,
            Reuse::Continues { .. } => {
                !self.steps_before(nth).is_empty() && self.live.as_ref().is_some_and(|live| live.last + 1 == nth)
            }
        }
    }

    /// The steps of the sequence that a point is one of; itself where it is alone.
    fn chain(&self, nth: usize) -> &'a [Trial] {
        &self.plan.trials[self.places(nth)]
    }

    /// Those of them that come before it.
    fn steps_before(&self, nth: usize) -> &'a [Trial] {
        &self.plan.trials[self.places(nth).start..nth]
    }

    /// Their places in the plan.
    fn places(&self, nth: usize) -> Range<usize> {
        self.chains.iter().find(|chain| chain.contains(&nth)).expect("every point is in one").clone()
    }
}

fn reuse_of(trial: &Trial) -> Reuse {
    let def = workload::find(&trial.workload.name).expect("the plan was checked against the catalogue");
    (def.data_reuse)(&trial.workload.params)
}

/// How many operations the run of `trial` has, where it ends itself.
fn run_ops(trial: &Trial) -> Option<u64> {
    workload::find(&trial.workload.name)?.run_ops(&trial.workload.params)
}

/// Starts the engine for the steps of `chain`, of which point number `nth` of `plan` is the first to be measured on it.
fn start(chain: &[Trial], nth: usize, plan: &Plan, options: &Options) -> Result<Live, Fault> {
    let trial = &chain[0];
    let def = engine::find(&trial.target.engine).expect("the plan was checked against the catalogue");
    let data = data_of(chain);
    let made = trial.target.fs.zip(image_bytes(chain));
    let volume = made.map(|(fs, size)| Volume::make(&options.dir, fs.kind, size, trial.seed)).transpose()?;
    let parent = volume.as_ref().map_or(options.dir.as_path(), Volume::mount_point);
    let cage = cage(plan, def.runs, &device_below(trial, volume.as_ref(), &options.dir), volume.is_some())?;
    let start = Start { engine: def, trial, parent, data: &data, destroy: &options.destroy, cgroups: cage.as_ref() };
    let instance = (def.start)(&start)?;
    Ok(Live { instance, cage, volume, def, data, of_load: Vec::new(), last: nth })
}

/// What is to hold an instance. Where some points of a plan have a limit all have their engine in a group, so that they differ in
/// the limit alone, and share their data.
fn cage(plan: &Plan, runs: EngineProcess, device: &Option<String>, alone: bool) -> Result<Option<CgroupLimits>, Fault> {
    let any = |limited: fn(&Limits) -> bool| plan.trials.iter().any(|trial| limited(&trial.target.limits));
    let (memory, storage) = (any(|limits| limits.memory.is_some()), any(|limits| !limits.storage.is_none()));
    let disk = LimitedDisk { name: device.as_deref().unwrap_or("none"), alone };
    let needs = match runs {
        EngineProcess::Elsewhere => return Ok(None),
        EngineProcess::Server => LimitNeeds { memory, storage: storage.then_some(disk), embedded: false },
        EngineProcess::InClients | EngineProcess::Embedded => {
            LimitNeeds { memory: false, storage: storage.then_some(disk), embedded: true }
        }
    };
    let needed = needs.memory || needs.storage.is_some();
    Ok(needed.then(|| CgroupLimits::make(&needs)).transpose()?)
}

/// Holds the instance to the limits of `trial`.
fn hold(live: &Live, trial: &Trial) -> Result<Vec<Fact>, Fault> {
    Ok(live.cage.as_ref().map_or(Ok(Vec::new()), |cage| cage.apply(&trial.target.limits))?)
}

/// Lets the instance have all there is while its data is made, which is not measured.
fn lift(live: &Live) -> Result<(), Fault> {
    Ok(live.cage.as_ref().map_or(Ok(()), CgroupLimits::clear)?)
}

/// What to say where the kernel killed the engine for what it had taken.
fn killed(live: &Live) -> Option<String> {
    live.cage.as_ref()?.trouble()
}

/// What the data of `chain` is: what the manifest says, and what two points must agree on to share it.
fn data_of(chain: &[Trial]) -> String {
    let trial = &chain[0];
    let path = trial.target.path.as_ref().map_or(String::new(), |path| format!(" path={}", path.display()));
    let made = trial.target.fs.zip(image_bytes(chain));
    let fs = made.map_or(String::new(), |(fs, size)| format!(" fs={} fs_size={size}", fs.kind));
    let precondition = match trial.phases.precondition() {
        1 => String::new(),
        passes => format!(" precondition={passes}"),
    };
    format!("{} seed={}{path}{fs}{precondition}", engine::shape_of(trial), trial.seed)
}

/// Where the data of `trial` is, or will be.
pub fn place_of_data<'a>(trial: &'a Trial, dir: &'a Path) -> &'a Path {
    let named = trial.target.path.as_deref().and_then(Path::parent);
    match named {
        None => dir,
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
    }
}

/// What one operation of a kind amounts to, where that is not one statement without rows.
fn kind_facts(kind: &Kind) -> Vec<Fact> {
    let queries =
        (kind.queries != 1.0).then(|| Fact::new(format!("queries_per_op.{}", kind.name), kind.queries.to_string()));
    let rows = (kind.rows > 0.0).then(|| Fact::new(format!("rows_per_op.{}", kind.name), kind.rows.to_string()));
    queries.into_iter().chain(rows).collect()
}

/// Who works beside the clients of the run: the kinds of their operations, and how many of these fall due per second over all of
/// them.
fn beside_facts(beside: &Beside, kinds: &[Kind]) -> [Fact; 3] {
    let names: Vec<&str> = beside.kinds.iter().map(|kind| kinds[usize::from(kind.0)].name).collect();
    let clients = beside.count().to_string();
    let facts = [("clients", clients), ("kinds", names.join(",")), ("per_s", beside.per_s.to_string())];
    facts.map(|(name, value)| Fact::new(format!("beside.{name}"), value))
}

/// Where the data of `trial` may grow.
fn room(trial: &Trial, live: Option<&Live>, dir: &Path) -> Room {
    match live.and_then(|live| live.volume.as_ref()) {
        Some(volume) => Room::Own(volume.mount_point().into()),
        None => Room::Shared(place_of_data(trial, dir).into()),
    }
}

/// What the counters are of: the engine's processes or this one, and the device under the data.
fn subject(trial: &Trial, live: &Live, dir: &Path) -> Subject {
    let device = device_below(trial, live.volume.as_ref(), dir);
    match live.def.runs {
        EngineProcess::InClients | EngineProcess::Embedded => Subject { engine_pids: EnginePids::Own, device },
        EngineProcess::Server => {
            Subject { engine_pids: EnginePids::Processes(live.instance.report().processes), device }
        }
        // What is done here is none of its doing.
        EngineProcess::Elsewhere => Subject { engine_pids: EnginePids::Elsewhere, device: None },
    }
}

/// The block device that the data of `trial` is on: that of its volume, the one it names, or the one below its directory.
fn device_below(trial: &Trial, volume: Option<&Volume>, dir: &Path) -> Option<String> {
    let raw = || Some(Device::at(trial.target.path.as_deref()?)?.name().to_owned());
    let device = volume.map(|volume| volume.device().to_owned()).or_else(raw);
    device.or_else(|| below(place_of_data(trial, dir)))
}

/// The block device that the files in `dir` are on.
fn below(dir: &Path) -> Option<String> {
    host::filesystem::find_mount(dir).ok()?.device
}

/// Where the point is measured, where that is not what the run says of the directory under measurement.
fn place_facts(trial: &Trial, volume: Option<&Volume>, dir: &Path) -> Vec<Fact> {
    match (volume, &trial.target.path) {
        (Some(volume), _) => volume.facts().to_vec(),
        (None, Some(path)) if let Some(device) = Device::at(path) => device.facts(),
        (None, Some(_)) => {
            host::filesystem::find_mount(place_of_data(trial, dir)).map(|place| place.facts()).unwrap_or_default()
        }
        (None, None) => Vec::new(),
    }
}

/// The making of the data.
pub fn prepare() -> PhasePlan {
    let pacing = Pacing::Closed { think: Nanos(0) };
    PhasePlan { phase: Phase::Prepare, length: PREPARE_AT_MOST, ops_max: None, pacing }
}

/// The phases of `trial` on data that is there.
pub fn phases(trial: &Trial) -> Vec<PhasePlan> {
    let pacing = trial.load.pacing;
    let warmup = PhasePlan { phase: Phase::Warmup, length: trial.phases.warmup, ops_max: None, pacing };
    let run = PhasePlan { phase: Phase::Run, length: trial.phases.run, ops_max: trial.phases.ops_max, pacing };
    [warmup, run].into_iter().filter(|phase| phase.length.0 > 0).collect()
}

/// What all phases of `trial` have in common, with so many kinds of operation.
pub fn setup(trial: &Trial, kinds: usize) -> Setup {
    let (phases, on_error, seed) = (&trial.phases, trial.on_error, trial.seed);
    Setup { kinds, interval: phases.interval, grace: phases.grace, on_error, seed }
}

/// Lets the clients of `loading` do their work in `phases`.
pub fn perform(
    loading: Loading,
    phases: &[PhasePlan],
    setup: &Setup,
    clock: &MonotonicClock,
    stop: &Arc<Stop>,
    sink: &mut dyn Sink,
) -> Result<(), Fault> {
    check(run_phases(loading, phases, setup, clock, stop, sink))
}

/// Brings data that was made to rest, and looks at what has come of it.
fn loaded(live: &mut Live) -> Result<(), Fault> {
    let began = Instant::now();
    let facts_of_load = live.instance.finish_load()?;
    let space = live.instance.space();
    let rest = Fact::new("load.rest_s", format!("{:.3}", began.elapsed().as_secs_f64()));
    let bytes = Fact::new("load.bytes", space.total.0.to_string());
    let rows = space.rows.map(|rows| Fact::new("load.rows", rows.to_string()));
    live.of_load = [rest, bytes].into_iter().chain(rows).chain(facts_of_load).collect();
    Ok(())
}

/// What is left when the load is over: the size of the data, and what the engine has to say.
fn closing_facts(live: &mut Live) -> Vec<Fact> {
    let mut facts = std::mem::take(&mut live.of_load);
    let space = live.instance.space();
    facts.push(Fact::new("data.bytes", space.total.0.to_string()));
    facts.extend(space.logs.map(|logs| Fact::new("data.log_bytes", logs.0.to_string())));
    facts.extend(live.instance.finish_trial());
    facts.extend(live.cage.iter().flat_map(CgroupLimits::closing_facts));
    facts
}

fn is_blocked(measured: &Result<(), Fault>) -> bool {
    measured.as_ref().is_err_and(|fault| fault.blocked)
}

fn check(outcome: Outcome) -> Result<(), Fault> {
    match outcome.ended {
        Ended::AsPlanned if outcome.hung.is_empty() => Ok(()),
        Ended::AsPlanned => {
            let text = format!("{} clients were still blocked when the grace time was over", outcome.hung.len());
            Err(Fault { blocked: true, ..Fault::of_target(text) })
        }
        Ended::Stopped(reason) => Err(Fault::stopped(reason)),
        Ended::Failed { text, .. } => {
            let text = format!("{text}; what was measured is kept");
            Err(Fault { blocked: !outcome.hung.is_empty(), ..Fault::of_target(text) })
        }
    }
}
