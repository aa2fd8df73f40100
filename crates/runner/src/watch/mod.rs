//! A watch: a server that others load, or a process, is recorded as one point without a load.
//!
//! In: the URL of a server or the number of a process, how long and how often. Out: a point in the run file with the counters of machine, process
//! and server, what clients of the server did, and what its statements cost. Limits: it reads only. A server that goes away is waited for until
//! the time is over; a process that ends, ends the watch. The user may end it at any time, and what was seen is a complete point.

mod rows;

use crate::conduct::Conductor;
use crate::conduct::strategy::Strategy;
use crate::error::RunnerError;
use crate::events::{RunObserver, note};
use crate::messages::{Assignment, ConductorHandle, OpenedTrial, Performer, PerformerMessage};
use crate::preflight::{RunSite, create_watch_run, wall_time_of_run};
use engine::server::sighting::ServerSighting;
use engine::watch::{ServerReading, ServerWatch};
use load::{Clock, MonotonicClock, Stop};
use model::{
    CounterSample, EngineProcess, Event, Fact, IntervalRow, Nanos, Observation, Phase, Phases, Plan, PointTraits,
    ServerWay, SourceDef, TargetSpec, Tick, Trial, Value,
};
use observe::{EnginePids, READING_WAIT, Sampler, SamplingSubject};
use rows::WatchedRows;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use store::{PointId, RunWriter};

/// The name of the workload of a watch, and of its plan.
pub const OBSERVE: &str = "observe";
/// How soon a request to end is heeded.
const HEED_EVERY: Duration = Duration::from_millis(50);
/// How often what is known of the statements is written to the run file: that is all that is lost if plimsoll is killed.
const KEEP_EVERY: Nanos = Nanos::from_secs(60);

/// A server or a process that can be watched.
pub struct Watch {
    server: Option<ServerWatch>,
    sighting: ServerSighting,
    /// Its name among engines, and as people say it.
    names: [String; 2],
    url: String,
}

impl Watch {
    /// Connects to the server that `url` names. Its process is found by the connection, unless `pid` names it.
    ///
    /// # Errors
    /// If the server cannot be reached, or there is no such process.
    pub fn of_server(url: &str, password_file: &str, pid: Option<u32>) -> Result<Watch, RunnerError> {
        let mut server = ServerWatch::open(url, password_file)?;
        let sighting = match pid {
            Some(pid) => sight(pid)?,
            None => server.look(),
        };
        let names = server.names().map(str::to_owned);
        Ok(Watch { server: Some(server), sighting, names, url: url.to_owned() })
    }

    /// Watches process `pid` with those that descend from it, and their disk.
    ///
    /// # Errors
    /// If there is no such process.
    pub fn of_process(pid: u32) -> Result<Watch, RunnerError> {
        let sighting = sight(pid)?;
        let program = sighting.server_here().map_or_else(|| format!("process {pid}"), |here| here.program);
        Ok(Watch { server: None, sighting, names: [program.clone(), program], url: String::new() })
    }

    /// How people call it.
    pub fn spoken(&self) -> &str {
        &self.names[1]
    }

    /// What cannot be seen, in one line each.
    pub fn missing(&self) -> Vec<String> {
        let unseen = self.sighting.facts().into_iter().find(|fact| fact.name == "server.unseen");
        let unseen = unseen.map(|fact| format!("of the server's machine: {}", unseen_words(&fact.value)));
        let parts = self.observation().missing;
        let parts = parts.into_iter().map(|part| match part.mend.as_str() {
            "" => part.what,
            mend => format!("{}; {mend}", part.what),
        });
        unseen.into_iter().chain(parts).collect()
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

    /// Makes its run file, called `name` if it has one, in the directory of run files of `site`.
    ///
    /// # Errors
    /// If the file cannot be made, or is there already.
    pub fn create_run(
        &self,
        plan: &Plan,
        name: Option<&str>,
        command: String,
        site: &RunSite,
        observer: &mut dyn RunObserver,
    ) -> Result<(PathBuf, RunWriter), RunnerError> {
        create_watch_run(plan, name, Some(command), (self.sighting.data_dir(), site), observer)
    }

    fn observation(&self) -> Observation {
        let seen = self.server.as_ref().map(ServerWatch::observation).unwrap_or_default();
        Observation { url: Some(self.url.clone()).filter(|url| !url.is_empty()), ..seen }
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
    let seen = ServerSighting::of_process(pid, None).filter(|seen| seen.pid().is_some());
    seen.ok_or_else(|| {
        RunnerError::Unsupported(format!(
            "there is no process {pid}; give --pid the number of a process that runs, such as `pidof mariadbd` prints"
        ))
    })
}

/// Why a server's process is not seen, for people.
fn unseen_words(why: &str) -> &'static str {
    match why {
        "remote" => "nothing is known: it is another one; watch it there, too, with `plimsoll observe --pid`",
        "not-permitted" => "its process is not visible to this user; run as root or as the user of the server",
        "io-not-permitted" => "the reads and writes of its process are not visible to this user; run as root",
        "other-program" => "another program answers in the server's place; name the server's process with --pid",
        _ => "its process was not found; name it with --pid",
    }
}

/// A watch that is recorded.
pub struct WatchSession<'a> {
    /// Its plan.
    pub plan: &'a Plan,
    /// The run file.
    pub writer: &'a mut RunWriter,
    /// The request to end it before its time.
    pub stop: Arc<Stop>,
    /// The receiver of its events.
    pub observer: &'a mut dyn RunObserver,
    /// What is watched.
    pub watch: Watch,
}

impl WatchSession<'_> {
    /// Watches until the time is over, the user ends it, or the process has ended.
    ///
    /// # Errors
    /// If the process has ended, or if the run file cannot be written. What was seen is kept.
    pub fn record(self) -> Result<(), RunnerError> {
        let WatchSession { plan, writer, stop, observer, watch } = self;
        let started_unix_ms = writer.started_unix_ms()?;
        let clock = MonotonicClock::start_when(|| wall_time_of_run(started_unix_ms));
        watch.missing().iter().for_each(|text| note(observer, text));
        let mut performer =
            WatchPerformer { watch, clock, stop: stop.clone(), time: Nanos(0), interval: Nanos(0), sampler: None };
        let conductor = Conductor { writer, observer, stop, clock, done: Vec::new(), interruption: None };
        conductor.conduct_run(&mut Once(Some(plan.trials[0].clone())), &mut performer)
    }
}

/// One trial.
struct Once(Option<Trial>);

impl Strategy for Once {
    fn next(&mut self, _: &[PointId]) -> Result<Option<Trial>, RunnerError> {
        Ok(self.0.take())
    }
}

struct WatchPerformer {
    watch: Watch,
    clock: MonotonicClock,
    stop: Arc<Stop>,
    time: Nanos,
    interval: Nanos,
    /// Reads the counters of this machine while it runs, and how many sources these are.
    sampler: Option<(Sampler, u16)>,
}

impl WatchPerformer {
    /// Reads once an interval until `end`, a request, or the end of the process.
    fn watch_until_end(
        &mut self,
        start: Tick,
        end: Tick,
        conductor: &mut dyn ConductorHandle,
    ) -> Result<(), RunnerError> {
        let mut rows = WatchedRows::new(start, self.interval);
        let mut kept = start;
        let mut intervals = 0;
        loop {
            let is_over = self.wait_until(end.min(start + Nanos(self.interval.0 * u64::from(intervals + 1))), end);
            let at = self.clock.now();
            intervals = u32::try_from(at.since(start).0 / self.interval.0).unwrap_or(u32::MAX);
            // What was done after the last whole interval has a row, too.
            let rows_end = if is_over { intervals + 1 } else { intervals };
            self.watch.server.iter_mut().filter(|_| is_over).for_each(ServerWatch::want_statements);
            self.read(at, |reading| rows.take(rows_end, reading.done.as_deref(), reading.restarted), conductor);
            let ended = self.watch.sighting.describe_end(false).filter(|_| self.watch.server.is_none());
            if is_over || ended.is_some() {
                self.keep(conductor);
                conductor.deliver(PerformerMessage::PhaseEnded { phase: Phase::Run, end: at, offered: 0, unserved: 0 });
                return ended
                    .map_or(Ok(()), |ended| Err(RunnerError::failed(format!("{ended}; what was seen is kept"))));
            }
            if at.since(kept) >= KEEP_EVERY {
                self.keep(conductor);
                kept = at;
            }
        }
    }

    /// Waits until `at`. True if the watch is over: its time, or by request.
    fn wait_until(&self, at: Tick, end: Tick) -> bool {
        loop {
            let left = at.since(self.clock.now());
            if self.stop.reason().is_some() {
                return true;
            }
            if left.0 == 0 {
                return at >= end;
            }
            std::thread::sleep(Duration::from_nanos(left.0).min(HEED_EVERY));
        }
    }

    /// Reads the server, and delivers all that was read since the last time. Without a server each interval is empty.
    fn read(
        &mut self,
        at: Tick,
        rows: impl FnOnce(&ServerReading) -> Vec<IntervalRow>,
        conductor: &mut dyn ConductorHandle,
    ) {
        let idle = || ServerReading { done: Some(Vec::new()), ..ServerReading::default() };
        let reading = self.watch.server.as_mut().map_or_else(idle, ServerWatch::read);
        let (sampler, own_sources) = self.sampler.as_mut().expect("prepare starts it");
        let (mut counters, mut events) = sampler.drain();
        let numbered = (*own_sources..).zip(&reading.values);
        counters.extend(numbered.map(|(source, values)| CounterSample { at, source, values: values.clone() }));
        for (kind, text) in &reading.news {
            conductor.deliver(PerformerMessage::Note(text.clone()));
            events.push(Event::new(at, *kind, text.as_str()));
        }
        conductor.deliver(PerformerMessage::Rows { intervals: rows(&reading), counters, events, at });
        if reading.restarted {
            self.follow_restart();
        }
    }

    /// A server that was started again has another process.
    fn follow_restart(&mut self) {
        let Some(server) = &mut self.watch.server else { return };
        self.watch.sighting = server.look();
        let (sources, _) = observe::open_all(&self.watch.subject());
        if let Some((sampler, _)) = &self.sampler {
            sampler.renew(sources);
        }
    }

    fn keep(&self, conductor: &mut dyn ConductorHandle) {
        conductor.deliver(PerformerMessage::Observed(Box::new(self.watch.observation())));
    }
}

impl Performer for WatchPerformer {
    fn prepare(&mut self, assignment: &Assignment, conductor: &mut dyn ConductorHandle) -> Result<(), RunnerError> {
        (self.time, self.interval) = (assignment.trial.phases.run, assignment.trial.phases.interval);
        let (sources, missing) = observe::open_all(&self.watch.subject());
        let mut facts = self.watch.facts();
        facts.extend(missing.into_iter().map(|note| Fact::new("counters.missing", note)));
        let mut traits = PointTraits { observed: Some(self.watch.observation()), ..PointTraits::default() };
        traits.phrases.insert("engine".into(), self.watch.names[1].clone());
        let own: Vec<SourceDef> = sources.iter().map(|source| source.describe()).collect();
        let own_sources = u16::try_from(own.len()).unwrap_or(u16::MAX);
        let of_server = self.watch.server.as_ref().map(ServerWatch::sources).unwrap_or_default();
        conductor.deliver(PerformerMessage::Opened(Box::new(OpenedTrial {
            facts,
            traits,
            params: Vec::new(),
            kinds: self.watch.server.as_ref().map(ServerWatch::kinds).unwrap_or_default(),
            sources: own.into_iter().chain(of_server).collect(),
        })));
        let clock = self.clock;
        self.sampler = Some((Sampler::start(sources, self.interval, move || clock.now()), own_sources));
        Ok(())
    }

    fn go(&mut self, _: Tick, conductor: &mut dyn ConductorHandle) -> Result<(), RunnerError> {
        if let Some((sampler, _)) = &self.sampler {
            sampler.read_and_wait();
        }
        let start = self.clock.now();
        conductor.deliver(PerformerMessage::PhaseBegan(Phase::Run, start));
        // What the server had counted when the watch began.
        self.read(start, |_| Vec::new(), conductor);
        self.watch_until_end(start, start + self.time, conductor)
    }

    fn settle(
        &mut self,
        measured: Result<(), RunnerError>,
        conductor: &mut dyn ConductorHandle,
    ) -> Result<(), RunnerError> {
        if let Some((sampler, _)) = self.sampler.take() {
            let (counters, events) = sampler.stop(READING_WAIT);
            conductor.deliver(PerformerMessage::LastReadings(counters, events));
        }
        measured
    }

    fn can_keep(&self, _: &Assignment) -> bool {
        false
    }

    fn clear(&mut self) -> Result<(), RunnerError> {
        Ok(())
    }
}
