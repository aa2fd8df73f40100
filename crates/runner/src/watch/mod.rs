//! A watch: a server that others load, or a process, is recorded as one point without a load.
//!
//! In: the URL of a server or the number of a process, how long and how often. Out: a point in the run file with the counters of machine, process
//! and server, what clients of the server did, what its statements cost, and what happened when a condition of the user held. Limits: it reads
//! only. A server that goes away is waited for until the time is over; a process that ends, ends the watch. The user may end it at any time, and
//! what was seen is a complete point.
//!
//! A watch may go on for days, in one run file after the other. Where one ends the next begins: at the same moment, with the same readings. Nothing
//! that is kept in memory grows with the time.

mod conditions;
mod roll;
mod rows;

use crate::conduct::Conductor;
use crate::conduct::strategy::Strategy;
use crate::error::RunnerError;
use crate::events::{RunObserver, note};
use crate::messages::{Assignment, ConductorHandle, OpenedTrial, Performer, PerformerMessage};
use crate::preflight::{RunSite, WatchFile, create_watch_run, wall_time_of_run};
use conditions::{EventStep, EventWatch, Figures, counter_of};
use engine::server::sighting::{ServerSighting, check_number};
use engine::watch::{ProcessLog, ServerReading, ServerWatch};
use load::{Clock, MonotonicClock, Stop};
use model::{
    CounterSample, EngineProcess, Event, Fact, IntervalRow, MissingPart, Nanos, Observation, ObservedThreads, Phase,
    Phases, Plan, PointTraits, ServerLook, ServerWay, SourceDef, TargetSpec, Tick, Trial, Value, WatchCondition,
    WatchedFigure,
};
use observe::{EnginePids, GapGrain, READING_WAIT, Sampler, SamplingSubject};
pub use roll::until_next_file;
use rows::WatchedRows;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use store::{PointId, RunWriter};

/// The name of the workload of a watch, and of its plan.
pub const OBSERVE: &str = "observe";
/// How soon a request to end is heeded.
const HEED_EVERY: Duration = Duration::from_millis(50);
/// How often what is known of the statements is written to the run file: that is all that is lost if plimsoll is killed, and what others who
/// look at the file see late. Kept so often it takes some 100 MB of writes a day.
const KEEP_EVERY: Nanos = Nanos::from_secs(60);
/// When it is written first. Then each time when twice as much has been seen, until that would be later than [`KEEP_EVERY`] has it.
const KEEP_FIRST: Nanos = Nanos::from_secs(2);

/// A server or a process that can be watched.
pub struct Watch {
    server: Option<ServerWatch>,
    /// Read without a server.
    process_log: ProcessLog,
    sighting: ServerSighting,
    /// Its name among engines, and as people say it.
    names: [String; 2],
    url: String,
}

impl Watch {
    /// Connects to the server that `url` names. Its process is found by the connection, unless `pid` names it.
    ///
    /// # Errors
    /// If the server cannot be reached, or there is no such process, or it is not the server's.
    pub fn of_server(url: &str, password_file: &str, pid: Option<u32>) -> Result<Watch, RunnerError> {
        let mut server = ServerWatch::open(url, password_file)?;
        let sighting = match pid {
            Some(pid) => {
                let seen = sight(pid)?;
                server.check_process(pid)?;
                seen
            }
            None => server.look(),
        };
        if let Some(here) = sighting.server_here().filter(|_| pid.is_some()) {
            server.open_log_of(here.pid, &here.program);
        }
        let (names, process_log) = (server.names().map(str::to_owned), ProcessLog::default());
        Ok(Watch { server: Some(server), process_log, sighting, names, url: url.to_owned() })
    }

    /// Watches process `pid` with those that descend from it, and their disk.
    ///
    /// # Errors
    /// If there is no such process.
    pub fn of_process(pid: u32) -> Result<Watch, RunnerError> {
        let sighting = sight(pid)?;
        let here = sighting.server_here();
        let log = here.as_ref().map(|here| ProcessLog::of_process(here.pid, &here.program));
        let program = here.map_or_else(|| format!("process {pid}"), |here| here.program);
        let (names, process_log) = ([program.clone(), program], log.unwrap_or_default());
        Ok(Watch { server: None, process_log, sighting, names, url: String::new() })
    }

    /// How people call it.
    pub fn spoken(&self) -> &str {
        &self.names[1]
    }

    /// What cannot be seen, in one line each.
    pub fn missing(&self) -> Vec<String> {
        let parts = self.observation().missing.into_iter().map(|part| match part.mend.as_str() {
            "" => part.what,
            mend => format!("{}; {mend}", part.what),
        });
        parts.collect()
    }

    /// The plan of a watch of it for `time`, which is read every `interval`.
    pub fn plan(&self, time: Nanos, interval: Nanos) -> Plan {
        let simple = Trial::simple(&self.names[0], OBSERVE);
        let mut target = TargetSpec { engine: self.names[0].clone(), ..simple.target.clone() };
        if !self.url.is_empty() {
            target.params.0.insert("url".into(), Value::Word(self.url.clone()));
        }
        let phases = Phases { run: time, interval, grace: Nanos(0), ..simple.phases };
        let title = format!("what {} does", self.names[1]);
        Plan { trials: vec![Trial { target, phases, ..simple }], ..Plan::new(OBSERVE, title) }
    }

    /// Checks that it shows what `conditions` are about, and finds out which details it shows.
    ///
    /// # Errors
    /// If it does not show what one of them is about, or does not answer.
    pub fn check_conditions(&mut self, conditions: &[WatchCondition]) -> Result<(), RunnerError> {
        for condition in conditions {
            if let Err(why) = self.check_figure(condition.figure) {
                return Err(RunnerError::Unsupported(format!("--when: `{condition}` is not seen here: {why}")));
            }
        }
        match self.server.as_mut().filter(|_| !conditions.is_empty()) {
            Some(server) => Ok(server.try_details()?),
            None => Ok(()),
        }
    }

    /// Why `figure` is not seen, if it is not.
    fn check_figure(&self, figure: WatchedFigure) -> Result<(), &'static str> {
        const NO_URL: &str = "only the server tells it; give its URL, too";
        match (figure, &self.server) {
            (WatchedFigure::Cpu, _) if self.sighting.pid().is_none() => {
                Err("the server's process is not seen on this machine")
            }
            (WatchedFigure::Disk, _) if self.sighting.device().is_none() => {
                Err("the disk of its data is not seen on this machine")
            }
            (WatchedFigure::Cpu | WatchedFigure::Disk, _) => Ok(()),
            (_, None) => Err(NO_URL),
            (WatchedFigure::Qps, Some(_)) => Ok(()),
            (WatchedFigure::Mean, Some(server)) if server.tells_statements() => Ok(()),
            (WatchedFigure::Mean, Some(_)) => Err("the server does not tell what its statements cost"),
            (figure, Some(server)) if server.tells(counter_of(figure)) => Ok(()),
            _ => Err("the server does not tell it to this account; without --when the watch says which right it needs"),
        }
    }

    fn observation(&self) -> Observation {
        let of_process = || self.process_log.observation();
        let mut seen = self.server.as_ref().map_or_else(of_process, ServerWatch::observation);
        let unseen = self.sighting.facts().into_iter().find(|fact| fact.name == "server.unseen");
        seen.missing.extend(unseen.map(|fact| unseen_part(&fact.value)));
        Observation { url: Some(self.url.clone()).filter(|url| !url.is_empty()), ..seen }
    }

    /// What it reads itself, besides the counters of this machine.
    fn own_sources(&self) -> Vec<SourceDef> {
        self.server.as_ref().map_or_else(|| self.process_log.sources(), ServerWatch::sources)
    }

    fn read(&mut self) -> ServerReading {
        self.server.as_mut().map_or_else(|| self.process_log.read(), ServerWatch::read)
    }

    fn begin_account(&mut self) {
        match &mut self.server {
            Some(server) => server.begin_account(),
            None => self.process_log.begin_account(),
        }
    }

    /// What the counters of this machine are of. A process that is not seen may be on another machine.
    fn subject(&self) -> SamplingSubject {
        let engine_pids = self.sighting.pid().map_or(EnginePids::Elsewhere, |pid| EnginePids::Processes(vec![pid]));
        let server = self.server.as_ref().map_or(ServerWay::Inside, ServerWatch::way);
        SamplingSubject { engine_pids, device: self.sighting.device().map(str::to_owned), server }
    }

    fn facts(&self) -> Vec<Fact> {
        let process = if self.sighting.pid().is_some() { EngineProcess::Own } else { EngineProcess::Elsewhere };
        let mut facts = vec![Fact::new("engine.process", process.as_str())];
        facts.extend(self.server.iter().flat_map(ServerWatch::facts));
        facts.extend((!self.url.is_empty()).then(|| Fact::new("server.url", self.url.as_str())));
        facts.extend(self.sighting.facts());
        facts.extend(self.missing().into_iter().map(|missing| Fact::new("observe.missing", missing)));
        facts
    }
}

fn sight(pid: u32) -> Result<ServerSighting, RunnerError> {
    check_number(pid)?;
    let seen = ServerSighting::of_process(pid, None).filter(|seen| seen.pid().is_some());
    seen.ok_or_else(|| {
        RunnerError::Unsupported(format!(
            "there is no process {pid}; give --pid the number of a process that runs, such as `pidof mariadbd` prints"
        ))
    })
}

/// What is not seen because the server's process is not, or not all of it.
fn unseen_part(why: &str) -> MissingPart {
    if why == "io-not-permitted" {
        // All else of the process is seen: nothing to turn the user away from what the answer advises.
        let what = "reads and writes of the server's process: only root sees them".to_owned();
        return MissingPart { what, mend: String::new() };
    }
    let (why, mend) = match why {
        "remote" => ("it is another one", "watch it there, too, with `plimsoll observe --pid`"),
        "not-permitted" => {
            ("its process is not visible to this user", "run plimsoll as root or as the user of the server")
        }
        "other-program" => ("another program answers in its place", "name the server's process with --pid"),
        _ => ("its process was not found", "name the server's process with --pid"),
    };
    MissingPart { what: format!("CPU, memory and disk of the server's machine: {why}"), mend: mend.to_owned() }
}

/// A watch that is recorded, in one run file or in one after the other.
pub struct WatchSession {
    watch: Watch,
    /// The request to end it before its time.
    stop: Arc<Stop>,
    /// The clock of the whole watch. Each file has a clock of its own, whose Tick 0 is `origin` of this one.
    clock: MonotonicClock,
    origin: Tick,
    /// Reads the counters of this machine while it runs.
    machine: Option<MachineWatch>,
    /// What the server reported last, at times of the file.
    told: Vec<CounterSample>,
    events: EventWatch,
    /// Where the file before ended.
    seam: Option<Seam>,
}

struct MachineWatch {
    sampler: Sampler,
    sources: Vec<SourceDef>,
    /// Why there are no others.
    missing: Vec<String>,
}

/// Where one file ends and the next begins.
struct Seam {
    /// By the clock of the whole watch.
    at: Tick,
    /// By the wall clock, since 1970.
    wall: Duration,
    /// The last readings, by the clock of the whole watch: the first ones of the next file.
    counters: Vec<CounterSample>,
}

/// How the record of a file ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileEnd {
    /// The watch goes on in the next one.
    GoesOn,
    /// The watch is over.
    Over,
}

impl WatchSession {
    /// A watch that ends before its time if `stop` asks for it, and keeps details when one of `conditions` holds.
    pub fn new(watch: Watch, conditions: Vec<WatchCondition>, stop: Arc<Stop>) -> WatchSession {
        WatchSession {
            watch,
            stop,
            clock: MonotonicClock::start(),
            origin: Tick(0),
            machine: None,
            told: Vec::new(),
            events: EventWatch::new(conditions),
            seam: None,
        }
    }

    pub fn watch(&self) -> &Watch {
        &self.watch
    }

    /// When the next file begins, since 1970: where the one before ended, or now.
    pub fn next_file_begins(&self) -> Duration {
        self.seam.as_ref().map_or_else(wall_now, |seam| seam.wall)
    }

    /// Makes the next run file in the directory of run files of `site`: called `name` if the user gives one, with its time behind it if it is
    /// one of several.
    ///
    /// # Errors
    /// If the file cannot be made, or is there already.
    pub fn create_file(
        &self,
        plan: &Plan,
        (name, is_of_several): (Option<&str>, bool),
        command: String,
        site: &RunSite,
        observer: &mut dyn RunObserver,
    ) -> Result<(PathBuf, RunWriter), RunnerError> {
        let file = WatchFile { name, is_of_several, began: self.seam.as_ref().map(|seam| seam.wall) };
        create_watch_run(plan, file, Some(command), (self.watch.sighting.data_dir(), site), observer)
    }

    /// Watches until the time of `plan` is over, the user ends it, or the process has ended. If `goes_on` is true and it was the time that
    /// ended it, the next file begins at that moment.
    ///
    /// # Errors
    /// If the process has ended, or if the run file cannot be written. What was seen is kept.
    pub fn record(
        &mut self,
        plan: &Plan,
        writer: &mut RunWriter,
        goes_on: bool,
        observer: &mut dyn RunObserver,
    ) -> Result<FileEnd, RunnerError> {
        let started_unix_ms = writer.started_unix_ms()?;
        match &self.seam {
            None => {
                self.clock = MonotonicClock::start_when(|| wall_time_of_run(started_unix_ms));
                self.watch.missing().iter().for_each(|text| note(observer, text));
            }
            // A file knows when it began to the millisecond.
            Some(seam) => self.origin = seam.at - Nanos(u64::from(seam.wall.subsec_nanos() % 1_000_000)),
        }
        let clock = MonotonicClock::start_when(|| self.in_file(self.clock.now()));
        let stop = self.stop.clone();
        // A server that hangs holds up no end.
        let _heeding = engine::heed(&stop);
        let mut performer =
            WatchPerformer { session: self, clock, time: Nanos(0), interval: Nanos(0), goes_on, end: FileEnd::Over };
        let conductor = Conductor { writer, observer, stop, clock, done: Vec::new(), interruption: None };
        conductor.conduct_run(&mut Once(Some(plan.trials[0].clone())), &mut performer)?;
        Ok(performer.end)
    }

    /// A time of the whole watch by the clock of the file.
    fn in_file(&self, at: Tick) -> Tick {
        Tick(at.0.saturating_sub(self.origin.0))
    }

    /// Readings at times of the file.
    fn all_in_file(&self, mut counters: Vec<CounterSample>) -> Vec<CounterSample> {
        counters.iter_mut().for_each(|sample| sample.at = self.in_file(sample.at));
        counters
    }

    fn events_in_file(&self, mut events: Vec<Event>) -> Vec<Event> {
        events.iter_mut().for_each(|event| event.at = self.in_file(event.at));
        events
    }

    fn observation(&self) -> Observation {
        let (events, events_left_out) = self.events.events();
        let unheld = self.events.unheld();
        Observation { events, events_left_out, unheld, ..self.watch.observation() }
    }
}

fn wall_now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

struct Once(Option<Trial>);

impl Strategy for Once {
    fn next(&mut self, _: &[PointId]) -> Result<Option<Trial>, RunnerError> {
        Ok(self.0.take())
    }
}

struct WatchPerformer<'a> {
    session: &'a mut WatchSession,
    /// The clock of the file.
    clock: MonotonicClock,
    time: Nanos,
    interval: Nanos,
    /// Whether the watch goes on in another file when the time of this one is over.
    goes_on: bool,
    end: FileEnd,
}

impl WatchPerformer<'_> {
    /// Reads once an interval until `end`, a request, or the end of the process.
    fn watch_until_end(
        &mut self,
        start: Tick,
        end: Tick,
        conductor: &mut dyn ConductorHandle,
    ) -> Result<(), RunnerError> {
        let mut rows = WatchedRows::new(start, self.interval);
        let mut figures = Figures::default();
        let mut kept = start;
        let mut intervals = 0;
        loop {
            let is_over = self.wait_until(end.min(start + Nanos(self.interval.0 * u64::from(intervals + 1))), end);
            let at = self.clock.now();
            intervals = u32::try_from(at.since(start).0 / self.interval.0).unwrap_or(u32::MAX);
            let rows_until = if is_over { rows.last_end(at) } else { rows.whole_end(at) };
            let is_roll = is_over && self.will_go_on();
            if let Some(server) = self.session.watch.server.as_mut().filter(|_| is_over) {
                server.want_statements();
            }
            let take = |reading: &ServerReading| {
                // What a server that is away has done by now is reported when it answers again, and counts there. What is lost leaves a gap.
                let done = reading.done.as_deref().or((is_roll || reading.is_lost).then_some(&[][..]));
                rows.take(rows_until, done, reading.restarted || reading.is_away)
            };
            let values = self.read(at, take, &mut figures, conductor);
            let is_new = self.follow_events(at, start, (&values, figures.threads()), conductor);
            let ended = self.session.watch.sighting.describe_end(false);
            let ended = ended.filter(|_| self.session.watch.server.is_none());
            if is_over || ended.is_some() {
                self.keep(conductor);
                conductor.deliver(PerformerMessage::PhaseEnded { phase: Phase::Run, end: at, offered: 0, unserved: 0 });
                if is_roll && ended.is_none() {
                    self.end = FileEnd::GoesOn;
                    self.session.seam = Some(self.seam_at(at));
                }
                return ended
                    .map_or(Ok(()), |ended| Err(RunnerError::failed(format!("{ended}; what was seen is kept"))));
            }
            if is_new || at.since(kept) >= kept.since(start).clamp(KEEP_FIRST, KEEP_EVERY) {
                self.keep(conductor);
                kept = at;
            }
        }
    }

    /// Whether the watch is to go on when the time of this file is over.
    fn will_go_on(&self) -> bool {
        self.goes_on && self.session.stop.reason().is_none()
    }

    /// The seam at the time `at` of the file.
    fn seam_at(&self, at: Tick) -> Seam {
        let passed = self.clock.now().since(at);
        let wall = wall_now().saturating_sub(Duration::from_nanos(passed.0));
        Seam { at: self.session.origin + Nanos(at.0), wall, counters: Vec::new() }
    }

    /// Waits until `at`. True if the watch is over: its time, or by request.
    fn wait_until(&self, at: Tick, end: Tick) -> bool {
        loop {
            let left = at.since(self.clock.now());
            if self.session.stop.reason().is_some() {
                return true;
            }
            if left.0 == 0 {
                return at >= end;
            }
            std::thread::sleep(Duration::from_nanos(left.0).min(HEED_EVERY));
        }
    }

    /// Reads the server, and delivers all that was read since the last time. Without a server each interval is empty. Returns what is known of the
    /// interval for conditions.
    fn read(
        &mut self,
        at: Tick,
        rows: impl FnOnce(&ServerReading) -> Vec<IntervalRow>,
        figures: &mut Figures,
        conductor: &mut dyn ConductorHandle,
    ) -> Vec<(WatchedFigure, f64)> {
        let reading = self.session.watch.read();
        let (mut counters, mut events) = self.session.drain();
        let session = &mut *self.session;
        let sources = session.machine.as_ref().map_or(&[][..], |machine| machine.sources.as_slice());
        let values = if session.events.is_wanted() {
            figures.take(at, (session.watch.server.as_ref(), &reading), &counters, sources)
        } else {
            Vec::new()
        };
        let own_sources = u16::try_from(sources.len()).unwrap_or(u16::MAX);
        let numbered = (own_sources..).zip(&reading.values);
        let told: Vec<CounterSample> =
            numbered.map(|(source, values)| CounterSample { at, source, values: values.clone() }).collect();
        counters.extend(told.iter().cloned());
        session.told = told;
        for (kind, text) in &reading.news {
            conductor.deliver(PerformerMessage::Note(text.clone()));
            events.push(Event::new(at, *kind, text.as_str()));
        }
        conductor.deliver(PerformerMessage::Rows { intervals: rows(&reading), counters, events, at });
        if reading.restarted {
            self.follow_restart();
        }
        values
    }

    /// Follows the conditions of the user after an interval, and asks for details if they are wanted. True if that is worth to be kept soon.
    fn follow_events(
        &mut self,
        at: Tick,
        start: Tick,
        (values, threads): (&[(WatchedFigure, f64)], Vec<ObservedThreads>),
        conductor: &mut dyn ConductorHandle,
    ) -> bool {
        let text = match self.session.events.take(at, self.interval, start, values) {
            EventStep::Nothing => return false,
            EventStep::Began(condition) => {
                self.look(at, threads);
                format!("`{condition}` holds; details are kept")
            }
            EventStep::Look => {
                self.look(at, threads);
                return true;
            }
            EventStep::Ended => "the condition does not hold any more".to_owned(),
        };
        conductor.deliver(PerformerMessage::Note(text));
        true
    }

    /// Asks the server for details, and keeps them with what its threads did. Of a process alone there are only these.
    fn look(&mut self, at: Tick, threads: Vec<ObservedThreads>) {
        let server = self.session.watch.server.as_mut();
        let told = server.map(ServerWatch::read_details).unwrap_or_default();
        self.session.events.keep(ServerLook { at, threads, ..told });
    }

    /// A server that was started again has another process.
    fn follow_restart(&mut self) {
        let WatchSession { watch, machine, .. } = &mut *self.session;
        let Some(server) = &mut watch.server else { return };
        watch.sighting = server.look();
        let (sources, _) = observe::open_without_clients(&watch.subject());
        if let Some(machine) = machine {
            machine.sampler.renew(sources);
        }
    }

    fn keep(&self, conductor: &mut dyn ConductorHandle) {
        conductor.deliver(PerformerMessage::Observed(Box::new(self.session.observation())));
    }
}

impl WatchSession {
    /// What was read of this machine since the last time, at times of the file.
    fn drain(&mut self) -> (Vec<CounterSample>, Vec<Event>) {
        let (counters, events) = self.machine.as_mut().map(|machine| machine.sampler.drain()).unwrap_or_default();
        (self.all_in_file(counters), self.events_in_file(events))
    }

    /// Begins to read the counters of this machine every `interval`.
    fn start_machine(&self, interval: Nanos) -> MachineWatch {
        let (sources, missing) = observe::open_without_clients(&self.watch.subject());
        let described = sources.iter().map(|source| source.describe()).collect();
        let clock = self.clock;
        MachineWatch {
            sampler: Sampler::start(sources, interval, GapGrain::Watch, move || clock.now()),
            sources: described,
            missing,
        }
    }
}

impl Performer for WatchPerformer<'_> {
    fn prepare(&mut self, assignment: &Assignment, conductor: &mut dyn ConductorHandle) -> Result<(), RunnerError> {
        (self.time, self.interval) = (assignment.trial.phases.run, assignment.trial.phases.interval);
        let session = &mut *self.session;
        let machine = match session.machine.take() {
            Some(machine) => machine,
            None => session.start_machine(self.interval),
        };
        if session.seam.is_some() {
            session.watch.begin_account();
            session.events.begin_file();
        }
        let mut facts = session.watch.facts();
        facts.extend(machine.missing.iter().map(|note| Fact::new("counters.missing", note.as_str())));
        let mut traits = PointTraits { observed: Some(session.observation()), ..PointTraits::default() };
        traits.phrases.insert("engine".into(), session.watch.names[1].clone());
        let of_server = session.watch.own_sources();
        conductor.deliver(PerformerMessage::Opened(Box::new(OpenedTrial {
            facts,
            traits,
            params: Vec::new(),
            kinds: session.watch.server.as_ref().map(ServerWatch::kinds).unwrap_or_default(),
            sources: machine.sources.iter().cloned().chain(of_server).collect(),
        })));
        session.machine = Some(machine);
        Ok(())
    }

    fn go(&mut self, _: Tick, conductor: &mut dyn ConductorHandle) -> Result<(), RunnerError> {
        let Some(seam) = self.session.seam.take() else {
            if let Some(machine) = &self.session.machine {
                machine.sampler.read_and_wait();
            }
            let start = self.clock.now();
            conductor.deliver(PerformerMessage::PhaseBegan(Phase::Run, start));
            // What the server had counted when the watch began.
            self.read(start, |_| Vec::new(), &mut Figures::default(), conductor);
            return self.watch_until_end(start, start + self.time, conductor);
        };
        let start = self.session.in_file(seam.at);
        conductor.deliver(PerformerMessage::PhaseBegan(Phase::Run, start));
        let counters = self.session.all_in_file(seam.counters);
        let (intervals, events) = (Vec::new(), Vec::new());
        conductor.deliver(PerformerMessage::Rows { intervals, counters, events, at: start });
        self.watch_until_end(start, start + self.time, conductor)
    }

    fn settle(
        &mut self,
        measured: Result<(), RunnerError>,
        conductor: &mut dyn ConductorHandle,
    ) -> Result<(), RunnerError> {
        let session = &mut *self.session;
        let Some(machine) = session.machine.take() else { return measured };
        let Some(mut seam) = session.seam.take().filter(|_| measured.is_ok()) else {
            let (counters, events) = machine.sampler.stop(READING_WAIT);
            let (counters, events) = (session.all_in_file(counters), session.events_in_file(events));
            conductor.deliver(PerformerMessage::LastReadings(counters, events));
            return measured;
        };
        machine.sampler.read_and_wait();
        session.machine = Some(machine);
        let (counters, events) = session.drain();
        seam.counters = session.last_readings(&counters);
        session.seam = Some(seam);
        conductor.deliver(PerformerMessage::LastReadings(counters, events));
        measured
    }

    fn can_keep(&self, _: &Assignment) -> bool {
        false
    }

    fn clear(&mut self) -> Result<(), RunnerError> {
        Ok(())
    }
}

impl WatchSession {
    /// The last reading of each source, by the clock of the whole watch. `counters` are the last ones of this machine, at times of the file.
    fn last_readings(&self, counters: &[CounterSample]) -> Vec<CounterSample> {
        let is_last = |(place, sample): &(usize, &CounterSample)| {
            counters[place + 1..].iter().all(|later| later.source != sample.source)
        };
        let of_machine = counters.iter().enumerate().filter(is_last).map(|(_, sample)| sample);
        let mut last: Vec<CounterSample> = of_machine.chain(&self.told).cloned().collect();
        last.iter_mut().for_each(|sample| sample.at = self.origin + Nanos(sample.at.0));
        last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_that_is_not_seen_is_a_part_that_is_missing() {
        let remote = unseen_part("remote");
        assert_eq!(remote.what, "CPU, memory and disk of the server's machine: it is another one");
        assert!(remote.mend.contains("--pid") && unseen_part("not-permitted").mend.contains("as root"));
        assert!(unseen_part("io-not-permitted").mend.is_empty(), "CPU and disk are seen all the same");
    }
}
