//! Performs one trial after the other on this host: instance, load, sampler.
//!
//! In: assignments, and the time to start. Out: messages to the conductor: what was opened, rows once per interval, the result.
//! Limits: one instance runs at a time. It records nothing and does not choose trials; it keeps the instance that runs if the next
//! trial can use its data. If a session begins in the middle of a sequence of steps, the steps before are performed again on new data.

mod compare_results;
mod conditions;
pub(crate) mod facts;
mod instance;
mod log_watch;
mod machine;
mod read_back;
mod replay;
mod settings_watch;
mod sink;
mod stack_watch;

use crate::PREPARE_AT_MOST;
use crate::catalogue::declared_params;
use crate::error::RunnerError;
use crate::messages::{Assignment, ConductorHandle, OpenedTrial, Performer, PerformerMessage};
use crate::objective_kinds;
use crate::preflight::RunSite;
use compare_results::ExpectedResults;
use engine::estimate::chain_bytes;
use engine::{ResetFor, WorkloadClients};
use host::deadline::Heeding;
use host::error::TargetError;
use host::safety::WriteRoom;
pub(crate) use instance::data_of;
use instance::{LimitKinds, RunningInstance, data_reuse};
use load::{
    ArrivalParts, BackgroundLoad, Clock, LoadEnd, LoadOutcome, MonotonicClock, PhasePlan, PhaseSetup, Progress, Sink,
    Stop, StopReason, run_phases, run_phases_from,
};
use log_watch::LogWatch;
use machine::MachineControl;
use model::{Background, Fact, Nanos, OnError, Pacing, Phase, Plan, Tick, Trial};
use observe::{GapGrain, READING_WAIT, Sampler};
use replay::{ReplayedSteps, StepReplayer};
use settings_watch::{LastReading, MidReadings, SettingsWatch};
use sink::PhaseSink;
use stack_watch::{StackNews, StackWatch};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use workload::DataReuse;

/// How long the last counters are waited for if the user has ended the run, or if the engine does not answer a client either.
const LAST_COUNTERS_WAIT: Duration = Duration::from_millis(300);

/// Performs trials on this host.
pub(crate) struct TrialPerformer<'a> {
    site: &'a RunSite,
    limits: LimitKinds,
    machine: MachineControl,
    clock: MonotonicClock,
    stop: Arc<Stop>,
    running: Option<RunningInstance>,
    current: Option<CurrentTrial>,
    results: ExpectedResults,
    /// That the server was restored for the trial that is opened next.
    restored: Option<Fact>,
    /// The reasons for missing stacks that the user has seen.
    noted: BTreeSet<String>,
    /// Waits of this thread for a server end soon after the user has ended the run.
    _heeding: Heeding,
}

/// A trial from its opening to its end.
struct CurrentTrial {
    trial: Trial,
    /// How many kinds of operation it has.
    kinds: usize,
    sampler: Sampler,
    settings: SettingsWatch,
    log: LogWatch,
    stacks: StackWatch,
    /// Where its data may grow; `None` if it cannot.
    grows_in: Option<WriteRoom>,
    /// Whether the page cache was written out before the load.
    began_synced: bool,
    /// Whether there was an event with the reason why the load ended early.
    stop_recorded: bool,
    /// Whether clients were still blocked when its load ended.
    is_blocked: bool,
    next: InitialPhase,
}

/// What the clients of a trial do next.
enum InitialPhase {
    /// The instance is new: they make its data.
    Prepare(WorkloadClients),
    /// The data is there: they warm up and run.
    Run(WorkloadClients),
    /// Nothing more: they are done, or failed.
    Nothing,
}

impl InitialPhase {
    fn take(&mut self) -> InitialPhase {
        std::mem::replace(self, InitialPhase::Nothing)
    }
}

impl<'a> TrialPerformer<'a> {
    /// The performer of the trials of `plan` at `site`, whose ticks are those of `clock`.
    /// It performs them on the thread that calls this.
    pub fn new(plan: &Plan, site: &'a RunSite, clock: MonotonicClock, stop: Arc<Stop>) -> Self {
        let heeding = engine::heed(&stop);
        let (limits, machine) = (LimitKinds::from_plan(plan), MachineControl::from_plan(plan));
        TrialPerformer {
            site,
            limits,
            machine,
            clock,
            stop,
            running: None,
            current: None,
            results: ExpectedResults::default(),
            restored: None,
            noted: BTreeSet::new(),
            _heeding: heeding,
        }
    }

    /// Puts the settings of the kernel back. Returns what was left because another program has set it meanwhile, in words.
    pub fn release_machine(&mut self) -> Vec<String> {
        self.machine.undo()
    }

    /// Resets the instance that runs to the state in which its plan starts the trial.
    fn reset_instance(&mut self, assignment: &Assignment) -> Result<InitialPhase, RunnerError> {
        let purpose = if self.continues_sequence(assignment) {
            ResetFor::NextStep
        } else if self.running.as_ref().is_some_and(|running| fits_data_left(&running.last, assignment)) {
            ResetFor::NextPoint
        } else {
            ResetFor::ChangedPoint
        };
        let running = self.running.as_mut().expect("can_keep has found an instance that runs");
        // Starting and copying is not measured, so limits are off until the trial is opened.
        running.lift_limits()?;
        running.instance.reset(purpose)?;
        if assignment.trial.limit.is_some() {
            // A rate that was too high leaves writes behind that the next probe would pay for.
            running.instance.quiesce()?;
        }
        Ok(InitialPhase::Run(running.instance.make_clients(&assignment.trial)?))
    }

    /// Starts a new instance for a trial. If the trial is a later step of a sequence, the data is made and the steps before it are
    /// performed here; else the clients that make the data are still to be run.
    fn start_instance(
        &mut self,
        assignment: &Assignment,
        conductor: &mut dyn ConductorHandle,
    ) -> Result<(InitialPhase, Option<ReplayedSteps>), RunnerError> {
        // One instance at a time: two would share CPU, memory and disk.
        self.clear()?;
        self.restore_server(&assignment.trial, conductor)?;
        let (steps, before) = (&assignment.sequence.steps, assignment.sequence.steps_before());
        let running = self.running.insert(RunningInstance::start(
            assignment,
            self.limits,
            self.machine.engine_cpus(),
            self.site,
        )?);
        running.warnings().into_iter().for_each(|warning| conductor.deliver(PerformerMessage::Note(warning)));
        // Before data is made, which may take hours: is this the engine of the earlier points, and can it perform every step?
        conductor.accept_engine(&steps[0], &running.instance.report().facts)?;
        before.iter().chain([&assignment.trial]).try_for_each(|trial| running.instance.check_trial(trial))?;
        let common = running.share_data()?;
        let loaders = running.instance.make_loaders(&steps[0])?;
        if loaders.is_none() {
            running.take_data()?;
        }
        if let Some(common) = common.filter(|_| loaders.is_none() || assignment.trial.adds_to_common_data()) {
            conductor.announce_data(&common)?;
        }
        if !before.is_empty() && assignment.trial.has_common_data() {
            running.pass_steps(before)?;
        } else if !before.is_empty() {
            let replayed = self.replay_steps(assignment, loaders, conductor)?;
            let running = self.running.as_mut().expect("started above");
            return Ok((InitialPhase::Run(running.instance.make_clients(&assignment.trial)?), Some(replayed)));
        }
        let next = match loaders {
            Some(loading) => InitialPhase::Prepare(loading),
            None => InitialPhase::Run(running.instance.make_clients(&assignment.trial)?),
        };
        Ok((next, None))
    }

    /// Brings the server on which `trial` replays statements back to what its data was, by the command of the user, unless it may be the recorded
    /// server. No connection to it is open while the command runs.
    fn restore_server(&mut self, trial: &Trial, conductor: &mut dyn ConductorHandle) -> Result<(), RunnerError> {
        let Some(command) = self.site.restore.as_ref().filter(|_| engine::replays_statements(trial)) else {
            return Ok(());
        };
        // Each time: it may be another server by now.
        engine::check_before_restore(trial)?;
        let program = host::error::shown(command.program().as_ref());
        let failed = |why: String| {
            let why = match host::deadline::has_cut_a_wait() {
                true => " was ended before its end: restore the copy before it is used".to_owned(),
                false => format!(": {why}"),
            };
            of_interruption(TargetError::Failed(format!("--restore: `{program}`{why}")).into())
        };
        // Of several servers the command restores this one. No URL has a password.
        let url = trial.target.params.0.get("url").map(ToString::to_string).unwrap_or_default();
        // It may take long, and if it hangs it is not plimsoll that does.
        let note = format!("`{program}` restores the copy at {url} for repeat {}", trial.repeat);
        conductor.deliver(PerformerMessage::Note(note));
        let took = command.run_with("RESTORE_URL", &url).map_err(failed)?;
        let text = format!("`{}` took {:.1} s", command.program(), took.as_secs_f64());
        self.restored = Some(Fact::new("restore", text));
        Ok(())
    }

    fn replay_steps(
        &mut self,
        assignment: &Assignment,
        loaders: Option<WorkloadClients>,
        conductor: &mut dyn ConductorHandle,
    ) -> Result<ReplayedSteps, RunnerError> {
        let grows_in = self.room_to_grow(assignment);
        let running = self.running.as_mut().expect("start_instance has started it");
        running.lift_limits()?;
        let mut replayer = StepReplayer { clock: &self.clock, stop: &self.stop, conductor, grows_in };
        replayer.perform(&mut *running.instance, loaders, assignment.sequence.steps_before())
    }

    /// Reports the instance of the trial to the conductor, and begins to read its counters.
    fn open_trial(
        &mut self,
        assignment: &Assignment,
        next: InitialPhase,
        replayed: Option<ReplayedSteps>,
        conductor: &mut dyn ConductorHandle,
    ) -> Result<(), RunnerError> {
        let trial = &assignment.trial;
        let grows_in = self.room_to_grow(assignment);
        let running = self.running.as_mut().expect("it was started, or can_keep has found it");
        // Before the load: a trial that breaks off may have changed the data all the same.
        running.last = trial.clone();
        let kinds = match &next {
            InitialPhase::Prepare(loading) | InitialPhase::Run(loading) => loading.kinds.clone(),
            InitialPhase::Nothing => unreachable!("a trial has clients when it is opened"),
        };
        if trial.workload.params.recording().is_some() {
            objective_kinds::check_names(trial, &kinds.iter().map(|kind| kind.name).collect::<Vec<_>>())?;
        }
        let (sources, missing) = running.sources(trial, &self.site.dir);
        let mut facts = running.facts(trial, &self.site.dir)?;
        // Its threads are there only now: those of a server that was kept may still have the CPUs of the trial before.
        let server = running.server_processes();
        self.machine.pin_server(&server)?;
        facts.extend(self.machine.facts(!server.is_empty()));
        facts.extend(missing.into_iter().map(|note| Fact::new("counters.missing", note)));
        facts.extend(facts::of_trial(assignment, &kinds, running.instance.take_counted_ops()));
        facts.extend(self.restored.take());
        facts.extend(replayed.iter().map(|replayed| Fact::new("prepare.steps", replayed.steps.join(", "))));
        let stacks = self.open_stacks(trial, conductor);
        facts.extend(stacks.as_ref().err().map(|why| Fact::new("stacks.missing", why.as_str())));
        let stacks = stacks.unwrap_or_else(|_| StackWatch::off());
        facts.extend(stacks.tool().map(|tool| Fact::new("stacks.tool", tool)));
        let running = self.running_instance();
        let (mut reader, log_files) = (running.instance.settings_reader(trial), running.instance.log_files());
        let mut traits = facts::declared_traits(trial, running.def);
        traits.engine.settings = reader.as_mut().and_then(|reader| reader.read_all()).unwrap_or_default();
        conductor.deliver(PerformerMessage::Opened(Box::new(OpenedTrial {
            facts,
            traits,
            params: declared_params(trial),
            kinds: facts::kind_defs(&kinds),
            sources: sources.iter().map(|source| source.describe()).collect(),
        })));
        replayed.into_iter().flat_map(ReplayedSteps::into_messages).for_each(|message| conductor.deliver(message));
        let clock = self.clock;
        let settings = SettingsWatch::open(reader, clock);
        let log = LogWatch::open(&log_files, clock.now());
        let sampler = Sampler::start(sources, trial.phases.interval, GapGrain::Load, move || clock.now());
        let (trial, kinds) = (trial.clone(), kinds.len());
        let (began_synced, stop_recorded, is_blocked) = (false, false, false);
        self.current = Some(CurrentTrial {
            trial,
            kinds,
            sampler,
            settings,
            log,
            stacks,
            grows_in,
            began_synced,
            stop_recorded,
            is_blocked,
            next,
        });
        Ok(())
    }

    /// The watch that takes the stacks of the engine of `trial`; the reason if there can be none. The user sees each reason once.
    fn open_stacks(&mut self, trial: &Trial, conductor: &mut dyn ConductorHandle) -> Result<StackWatch, String> {
        let running = self.running_instance();
        let opened = StackWatch::open(trial, running.def.runs, running.server_processes());
        opened.inspect_err(|why| {
            let text = format!("no stacks of `{}`: {why}", trial.target.engine);
            if self.noted.insert(text.clone()) {
                conductor.deliver(PerformerMessage::Note(text));
            }
        })
    }

    /// Makes the data of a trial that was opened on a new instance.
    fn make_data(
        &mut self,
        loading: WorkloadClients,
        conductor: &mut dyn ConductorHandle,
    ) -> Result<InitialPhase, RunnerError> {
        self.running_instance().lift_limits()?;
        let began = self.clock.now();
        // Data with a hole in it is not measured, even if the plan goes on after failures in the run.
        self.run_load(loading, &[prepare_phase()], OnError::Stop, Tick(0), conductor)?;
        let trial = self.current.as_ref().expect("prepare opens a trial before its load runs").trial.clone();
        if trial.adds_to_common_data() {
            conductor.await_parts()?;
        }
        let began_with = self.running_instance().server_processes();
        self.running_instance().note_loaded()?;
        let all = self.clock.now().since(began);
        self.running_instance().note_load_time(all);
        self.follow_restart(&trial, &began_with, conductor)?;
        let running = self.running_instance();
        if let Some(common) = running.share_data()?.filter(|_| !trial.adds_to_common_data()) {
            conductor.announce_data(&common)?;
        }
        let running = self.running_instance();
        running.apply_limits(&trial)?;
        Ok(InitialPhase::Run(running.instance.make_clients(&trial)?))
    }

    /// A server that is reset between points is started again after its load, so that a copy of its data can be kept: pins its new processes,
    /// and reads their counters and stacks instead of those of the processes `began_with`, which are gone.
    fn follow_restart(
        &mut self,
        trial: &Trial,
        began_with: &[u32],
        conductor: &mut dyn ConductorHandle,
    ) -> Result<(), RunnerError> {
        let server = self.running_instance().server_processes();
        if server == began_with {
            return Ok(());
        }
        self.machine.pin_server(&server)?;
        let (sources, _) = self.running.as_ref().expect("it was loaded").sources(trial, &self.site.dir);
        let stacks = self.open_stacks(trial, conductor).unwrap_or_else(|_| StackWatch::off());
        let current = self.current.as_mut().expect("prepare opens a trial before its load runs");
        current.sampler.renew(sources);
        current.stacks = stacks;
        Ok(())
    }

    /// Runs `phases` of the current trial, not before `first`, with the clients of `loading`.
    fn run_load(
        &mut self,
        loading: WorkloadClients,
        phases: &[PhasePlan],
        on_error: OnError,
        first: Tick,
        conductor: &mut dyn ConductorHandle,
    ) -> Result<(), RunnerError> {
        let current = self.current.as_mut().expect("prepare opens a trial before its load runs");
        if !loading.background.is_empty() {
            let facts = facts::of_background(&loading.background, &loading.kinds).into();
            let groups = loading.background.iter().map(background_group).collect();
            conductor.deliver(PerformerMessage::Background { groups, facts });
        }
        let setup = PhaseSetup { on_error, ..phase_setup(&current.trial, current.kinds) };
        let mut sink = PhaseSink {
            current,
            running: self.running.as_ref(),
            stop: &self.stop,
            conductor,
            is_read: false,
            progress: Progress::default(),
            clock: self.clock,
        };
        let outcome = run_phases_from(loading, phases, &setup, &self.clock, &self.stop, &mut sink, first);
        if phases.iter().any(|plan| plan.phase == Phase::Run) {
            conductor.deliver(PerformerMessage::Facts(facts::of_instances(&outcome.done_by_part)));
        }
        if !outcome.hung.is_empty() {
            self.current.as_mut().expect("its load has just ended").is_blocked = true;
            self.running_instance().instance.abandon_clients();
        }
        check_outcome(outcome)
    }

    /// Reads back what was written and checks it: also after an operation that failed, because it may have found damage; not after a
    /// request to stop, and not if a client is still blocked.
    fn read_back(
        &mut self,
        measured: Result<(), RunnerError>,
        conductor: &mut dyn ConductorHandle,
    ) -> Result<(), RunnerError> {
        let (reason, started) = (self.stop.reason(), self.clock.now());
        let running = match &mut self.running {
            Some(running) if measured.is_ok() || reason == Some(StopReason::Failure) && !is_blocked(&measured) => {
                running
            }
            _ => return measured,
        };
        let stop = &self.stop;
        let found = running.instance.read_back(&mut |done, total| {
            conductor.deliver(PerformerMessage::ReadingBack(done, total));
            stop.reason() == reason && !stop.is_interrupted()
        });
        let found = match found {
            Ok(Some(found)) => found,
            Ok(None) => return measured,
            Err(error) => return measured.and(Err(error.into())),
        };
        let now = self.clock.now();
        let facts = read_back::facts(&found, now.since(started));
        conductor.deliver(PerformerMessage::Note(format!("read back: {}", facts[0].value)));
        conductor.deliver(PerformerMessage::Facts(facts));
        conductor.deliver(PerformerMessage::LastReadings(Vec::new(), read_back::events(&found, now)));
        let reason = if stop.is_interrupted() { Some(StopReason::Interrupted) } else { stop.reason() };
        let stopped = reason.filter(|_| found.checked.stopped).map(|reason| Err(RunnerError::Stopped(reason)));
        measured.and(read_back::check_damage(&found)).and(stopped.unwrap_or(Ok(())))
    }

    /// Checks the conditions that the workload has for its rows, if the load ended as planned.
    fn check_conditions(
        &mut self,
        trial: &Trial,
        measured: Result<(), RunnerError>,
        conductor: &mut dyn ConductorHandle,
    ) -> Result<(), RunnerError> {
        let (reason, started) = (self.stop.reason(), self.clock.now());
        let Some(running) = self.running.as_mut().filter(|_| measured.is_ok()) else { return measured };
        let stop = &self.stop;
        let mut go_on = || stop.reason() == reason && !stop.is_interrupted();
        if let Some(found) = running.instance.check_conditions(trial, &mut go_on)? {
            let took = self.clock.now().since(started);
            conductor.deliver(PerformerMessage::Facts(conditions::facts(&found, took)));
        }
        measured
    }

    /// Where the data of a trial may grow; `None` if it does not.
    fn room_to_grow(&self, assignment: &Assignment) -> Option<WriteRoom> {
        let grows = chain_bytes(&assignment.sequence.steps).0 > 0;
        grows.then(|| instance::room(&assignment.trial, self.running.as_ref(), &self.site.dir))
    }

    fn continues_sequence(&self, assignment: &Assignment) -> bool {
        let last = self.running.as_ref().map(|running| &running.last);
        !assignment.sequence.steps_before().is_empty() && last.is_none_or(|last| fits_data_left(last, assignment))
    }

    fn running_instance(&mut self) -> &mut RunningInstance {
        self.running.as_mut().expect("a trial that was opened has an instance")
    }

    fn prepare_trial(
        &mut self,
        assignment: &Assignment,
        conductor: &mut dyn ConductorHandle,
    ) -> Result<(), RunnerError> {
        self.machine.prepare(&assignment.trial, self.site, conductor)?;
        let (next, replayed) = if self.can_keep(assignment) {
            (self.reset_instance(assignment)?, None)
        } else {
            self.start_instance(assignment, conductor)?
        };
        self.open_trial(assignment, next, replayed, conductor)?;
        let next = match self.current.as_mut().expect("opened above").next.take() {
            InitialPhase::Prepare(loading) => self.make_data(loading, conductor)?,
            ready => ready,
        };
        let running = self.running.as_ref().expect("it was started, or can_keep has found it");
        let began_synced = running.write_out(&assignment.trial, &self.site.dir);
        let current = self.current.as_mut().expect("opened above");
        (current.next, current.began_synced) = (next, began_synced);
        Ok(())
    }

    fn settle_trial(
        &mut self,
        measured: Result<(), RunnerError>,
        conductor: &mut dyn ConductorHandle,
    ) -> Result<(), RunnerError> {
        let Some(mut current) = self.current.take() else { return measured };
        // After a request to stop, or if a client is still blocked, the user waits for nothing more.
        let ended = measured.is_ok() && current.began_synced;
        let site = self.site;
        if ended && self.running_instance().write_out(&current.trial, &site.dir) {
            conductor.deliver(PerformerMessage::Facts(vec![Fact::new("page_cache.synced", "yes")]));
        }
        let StackNews { snapshots, events: taken } = current.stacks.end();
        let wait = if current.is_blocked || self.stop.is_interrupted() { LAST_COUNTERS_WAIT } else { READING_WAIT };
        let (counters, mut events) = current.sampler.stop(wait);
        events.extend(taken);
        events.extend(current.log.drain(self.clock.now()));
        let measured = self.running_instance().explain(measured, &site.dir);
        let last =
            if current.is_blocked { LastReading::Unawaited } else { last_reading(&measured, self.running_instance()) };
        let seen = current.settings.end(last, &self.stop);
        events.extend(seen.events);
        conductor.deliver(PerformerMessage::LastReadings(counters, events));
        conductor.deliver(PerformerMessage::Stacks(snapshots));
        conductor.deliver(PerformerMessage::Facts(seen.facts));
        let running = self.running_instance();
        // To ask the engine may block in the same way as its client.
        if !current.is_blocked {
            conductor.deliver(PerformerMessage::Facts(running.closing_facts()));
        }
        conductor.deliver(PerformerMessage::Facts(running.instance.take_held()));
        let result = running.instance.take_result();
        let measured =
            measured.and_then(|()| result.map_or(Ok(()), |result| self.results.compare(&current.trial, result)));
        let measured = self.check_conditions(&current.trial, measured, conductor);
        self.read_back(measured, conductor)
    }
}

impl Performer for TrialPerformer<'_> {
    fn prepare(&mut self, assignment: &Assignment, conductor: &mut dyn ConductorHandle) -> Result<(), RunnerError> {
        self.prepare_trial(assignment, conductor).map_err(of_interruption)
    }

    fn go(&mut self, at: Tick, conductor: &mut dyn ConductorHandle) -> Result<(), RunnerError> {
        let current = self.current.as_mut().expect("prepare leaves the trial open");
        // Before the wait: the reading is over when the load begins.
        current.settings.begin(mid_readings(&current.trial));
        let InitialPhase::Run(loading) = current.next.take() else {
            unreachable!("a trial runs once, when it is ready")
        };
        let (phases, on_error) = (measured_phases(&current.trial), current.trial.on_error);
        self.run_load(loading, &phases, on_error, at, conductor)
    }

    fn settle(
        &mut self,
        measured: Result<(), RunnerError>,
        conductor: &mut dyn ConductorHandle,
    ) -> Result<(), RunnerError> {
        self.settle_trial(measured, conductor).map_err(of_interruption)
    }

    fn can_keep(&self, next: &Assignment) -> bool {
        if self.site.restore.is_some() && engine::replays_statements(&next.trial) {
            // What is restored may be the whole server.
            return false;
        }
        let kept = self.running.as_ref().map(|running| {
            let (data, last, can_restore) = (running.data.as_str(), &running.last, running.instance.can_restore());
            KeptData { data, last, can_restore }
        });
        kept.is_some_and(|kept| can_keep_data(&kept, next))
    }

    fn can_restore(&self) -> bool {
        self.running.as_ref().is_some_and(|running| running.instance.can_restore())
    }

    fn clear(&mut self) -> Result<(), RunnerError> {
        self.running.take().map_or(Ok(()), RunningInstance::stop).map_err(of_interruption)
    }
}

/// The error of a server for which the user did not want to wait is that of an interruption.
fn of_interruption(error: RunnerError) -> RunnerError {
    match error {
        RunnerError::Target(TargetError::Failed(text)) if host::deadline::has_cut_a_wait() => {
            RunnerError::Interrupted(text)
        }
        error => error,
    }
}

/// What an instance that runs holds.
pub(crate) struct KeptData<'a> {
    /// The description of its data.
    pub data: &'a str,
    /// The trial before, on this instance.
    pub last: &'a Trial,
    /// Whether it can bring back the data as it was loaded.
    pub can_restore: bool,
}

/// Whether `next` can be performed on an instance that holds `kept`.
pub(crate) fn can_keep_data(kept: &KeptData, next: &Assignment) -> bool {
    let fits = || fits_data_left(kept.last, next) || kept.can_restore && next.sequence.steps_before().is_empty();
    kept.data == data_of(&next.sequence.steps) && fits()
}

/// What the run file keeps of the clients of `load`.
fn background_group(load: &BackgroundLoad) -> Background {
    Background { kinds: load.kinds.clone(), clients: load.client_count(), per_s: load.per_s() }
}

/// Whether a trial can begin with the data as `last` left it.
fn fits_data_left(last: &Trial, assignment: &Assignment) -> bool {
    match data_reuse(&assignment.trial) {
        // A trial that changed its rows leaves nothing that another could begin with.
        DataReuse::Shared => data_reuse(last) == DataReuse::Shared,
        DataReuse::Fresh => false,
        DataReuse::Continues { .. } => assignment.sequence.steps_before().last() == Some(last),
    }
}

/// The making of the data.
pub(crate) fn prepare_phase() -> PhasePlan {
    let pacing = Pacing::Closed { think: Nanos(0) };
    PhasePlan { phase: Phase::Prepare, length: PREPARE_AT_MOST, ops_max: None, pacing }
}

/// The phases of `trial` after its data is made.
fn measured_phases(trial: &Trial) -> Vec<PhasePlan> {
    let pacing = trial.pacing_of_all();
    let warmup = PhasePlan { phase: Phase::Warmup, length: trial.phases.warmup, ops_max: None, pacing };
    let run = PhasePlan { phase: Phase::Run, length: trial.phases.run, ops_max: trial.phases.ops_max, pacing };
    [warmup, run].into_iter().filter(|phase| phase.length.0 > 0).collect()
}

/// When the settings of the server are read while `trial` runs.
fn mid_readings(trial: &Trial) -> MidReadings {
    let step = (engine::workload_of(trial).traits)(&trial.workload.params).step;
    if step.is_some_and(|step| step.drains) {
        MidReadings::None
    } else {
        MidReadings::Within(Nanos(trial.phases.warmup.0.saturating_add(trial.phases.run.0)))
    }
}

/// How the settings are read after a load that ended as `measured`.
fn last_reading(measured: &Result<(), RunnerError>, running: &RunningInstance) -> LastReading {
    match measured {
        // Its operations may have failed because the server is just being started again.
        Err(RunnerError::Failed { .. }) if running.may_return() => LastReading::Patient,
        _ => LastReading::Once,
    }
}

/// The settings of all phases of `trial`, which has so many `kinds` of operation.
pub(crate) fn phase_setup(trial: &Trial, kinds: usize) -> PhaseSetup {
    let (phases, on_error, seed) = (&trial.phases, trial.on_error, trial.arrival_seed());
    let parts = ArrivalParts { foreground: trial.host_part(), background: trial.client_part() };
    let (interval, grace, silence) = (phases.interval, phases.grace, longest_silence(trial));
    PhaseSetup { kinds, interval, grace, silence, on_error, seed, parts }
}

/// For how long nothing may end in `trial`: a replay that ends with its log has no time that would end it. One with a time of its own has
/// that, and if it keeps the times of its log, an end of these, too.
fn longest_silence(trial: &Trial) -> Option<Nanos> {
    let is_of_statements = trial.workload.params.recording().is_some_and(|summary| summary.sessions.is_some());
    let keeps_times = matches!(trial.load.pacing, Pacing::Open { .. });
    (is_of_statements && (keeps_times || plan::has_no_time(&trial.phases))).then(|| trial.phases.longest_silence())
}

/// Runs `phases` with the clients of `loading`.
pub(crate) fn perform(
    loading: WorkloadClients,
    phases: &[PhasePlan],
    setup: &PhaseSetup,
    clock: &MonotonicClock,
    stop: &Arc<Stop>,
    sink: &mut dyn Sink,
) -> Result<(), RunnerError> {
    check_outcome(run_phases(loading, phases, setup, clock, stop, sink))
}

fn is_blocked(measured: &Result<(), RunnerError>) -> bool {
    measured.as_ref().is_err_and(RunnerError::is_blocked)
}

fn check_outcome(outcome: LoadOutcome) -> Result<(), RunnerError> {
    let blocked = !outcome.hung.is_empty();
    match outcome.ended {
        LoadEnd::AsPlanned if !blocked => Ok(()),
        LoadEnd::AsPlanned => {
            let text = format!("{} clients were still blocked at the end of the grace time", outcome.hung.len());
            Err(RunnerError::Failed { text, blocked })
        }
        // The next point would be measured at the same time as its operation.
        LoadEnd::Stopped(StopReason::Skipped) if blocked => {
            let text = "the point cannot be skipped: a client was still blocked; what was measured is kept".to_owned();
            Err(RunnerError::Failed { text, blocked })
        }
        LoadEnd::Stopped(reason) => Err(RunnerError::Stopped(reason)),
        LoadEnd::Failed { class: Some(_), text } => {
            Err(RunnerError::Failed { text: format!("{text}; what was measured is kept"), blocked })
        }
        // A client broke, or could not begin.
        LoadEnd::Failed { class: None, text } => Err(RunnerError::Failed { text, blocked }),
    }
}
