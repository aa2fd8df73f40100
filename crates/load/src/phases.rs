//! Runs the phases of a point: starts the clients' threads, collects what they deliver, ends on time.
//!
//! In: clients, the phases in order, a clock, a request to stop. Out: interval rows and events to the [`Sink`] once per
//! interval, and how it ended. Limits: a client that is blocked in an operation cannot be interrupted; when the grace time
//! is over it is named in the outcome and left behind.

use crate::client::Client;
use crate::client_set::{BackgroundLoad, ClientGroup, ClientSet, PhaseSchedules, count_clients};
use crate::clock::{Clock, MonotonicClock};
use crate::progress::Progress;
use crate::recorder::{Delivery, EndpointRecord, KindRecord, Recorder};
use crate::schedule::{DueTimes, Schedule, Stop, StopReason};
use crate::tsc;
use model::{
    EndpointInterval, Event, EventKind, FailureClass, Generator, IntervalRow, LoadPart, Nanos, OnError, OpKind, Pacing,
    Phase, Tick,
};
use std::collections::BTreeMap;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::time::Duration;

/// One phase to run.
#[derive(Clone, Copy, Debug)]
pub struct PhasePlan {
    /// The phase that is performed.
    pub phase: Phase,
    /// How long at most.
    pub length: Nanos,
    /// How many operations at most, over all clients of the run. Only the last phase may have a limit.
    pub ops_max: Option<u64>,
    /// How operations arrive at the clients of the run, of all hosts together.
    pub pacing: Pacing,
}

/// The parts of this host in the arrivals of all hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrivalParts {
    /// Of those of the measured clients.
    pub foreground: LoadPart,
    /// Of those of the background load.
    pub background: LoadPart,
}

impl ArrivalParts {
    /// All of them: there is one host.
    pub const WHOLE: ArrivalParts = ArrivalParts { foreground: LoadPart::WHOLE, background: LoadPart::WHOLE };
}

/// What all phases of one call have in common.
#[derive(Clone, Copy, Debug)]
pub struct PhaseSetup {
    /// The number of kinds of operation.
    pub kinds: usize,
    /// The length of one interval.
    pub interval: Nanos,
    /// How long operations in flight at the end may take.
    pub grace: Nanos,
    /// For how long nothing may end in a replay, once all of it is due; `None` if it has a time that ends it.
    pub silence: Option<Nanos>,
    /// What a failed operation does.
    pub on_error: OnError,
    /// The seed of Poisson arrivals.
    pub seed: u64,
    /// The arrivals of this host, if several share the load.
    pub parts: ArrivalParts,
}

/// Takes the results while the load runs. Its methods are called by the collector, never by a client.
pub trait Sink {
    /// How many operations are done can be asked of `progress` from now on, at any time.
    fn take_progress(&mut self, progress: Progress) {
        let _ = progress;
    }
    /// Clients take long to open what they work with: of `clients` only `opened` have. Called once, if at all.
    fn still_opening(&mut self, opened: usize, clients: usize) {
        let _ = (opened, clients);
    }
    /// Every client has opened what it works with and waits: the first phase begins when this has returned.
    fn all_ready(&mut self) {}
    /// The clients have begun `phase`, which starts at `start`.
    fn begin_phase(&mut self, phase: Phase, start: Tick);
    /// The first client has begun the first phase, at `at`: never before its start, and later if it woke up late. Called once.
    fn load_began(&mut self, at: Tick) {
        let _ = at;
    }
    /// Called once per interval, also if nothing ended in it.
    fn interval(&mut self, rows: Vec<IntervalRow>, events: Vec<Event>, now: Tick);
    /// Called once per interval if the engine has several endpoints: what was done on each of them since the last call.
    fn endpoints(&mut self, rows: Vec<EndpointInterval>) {
        drop(rows);
    }
    /// Whether the rows so far are enough. Asked after each interval of the last phase, which then ends as planned: at this moment.
    fn is_enough(&self) -> bool {
        false
    }
    /// All clients have ended their last operation. Not called if some had to be given up.
    fn all_ended(&mut self) {}
    /// `phase` is over: it ended at `end`, `offered` arrivals had fallen due, `unserved` of them were never performed. Both
    /// count all clients with an open loop: those of the foreground, those of the background, or both.
    fn end_phase(&mut self, phase: Phase, end: Tick, offered: u64, unserved: u64);
}

/// Why the phases ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadEnd {
    /// All phases ended as planned.
    AsPlanned,
    /// Early: the user or a safety limit asked.
    Stopped(StopReason),
    /// Early: an operation failed and the trial stops then, or a client broke.
    Failed {
        /// Its class, if it was an operation.
        class: Option<FailureClass>,
        /// The message of the driver or client.
        text: String,
    },
}

/// How the phases went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadOutcome {
    /// Why the clients ended.
    pub ended: LoadEnd,
    /// Clients that were still blocked when the grace time was over.
    pub hung: Vec<u32>,
    /// The operations that were done by the end of the last phase, by part of the foreground; empty if it has no parts.
    pub done_by_part: Vec<u64>,
}

/// How long after an interval's end its increments are collected: clients notice the end at their next completion.
const COLLECT_DELAY: Nanos = Nanos::from_millis(5);

/// From now to the first phase: time for the threads to start.
const START_DELAY: Nanos = Nanos::from_millis(20);

/// So long before a start that was agreed upon the counters are read. A reading takes milliseconds, and tens of them on a machine
/// without a free CPU.
const READY_BEFORE: Nanos = Nanos::from_millis(100);

/// Clients that take longer to open what they work with are told of: connections are made in milliseconds, by the thousand in seconds.
const OPENING_USUAL: Nanos = Nanos::from_secs(5);

/// What a blocked client gets after the grace time before it is given up.
const LAST_CHANCE: Nanos = Nanos::from_millis(200);

/// A client that reads the CPU's counter sees the end of a phase sooner than the collector, by less than this.
const CLOCKS_APART: Nanos = Nanos::from_millis(1);

/// After a request to stop, operations in flight get this long at most.
const STOP_GRACE: Nanos = Nanos::from_millis(1_000);

/// Runs `phases` one after the other on the threads of `client_set` and returns when all clients are done or given up. The first
/// phase begins when every client has opened what it works with, so that no phase holds the time that opening takes.
pub fn run_phases(
    client_set: impl Into<ClientSet>,
    phases: &[PhasePlan],
    setup: &PhaseSetup,
    clock: &MonotonicClock,
    stop: &Arc<Stop>,
    sink: &mut dyn Sink,
) -> LoadOutcome {
    run_phases_from(client_set, phases, setup, clock, stop, sink, Tick(0))
}

/// The same, but the first phase begins at `first`, on which several hosts have agreed; or as soon as it can, if that is later.
pub fn run_phases_from(
    client_set: impl Into<ClientSet>,
    phases: &[PhasePlan],
    setup: &PhaseSetup,
    clock: &MonotonicClock,
    stop: &Arc<Stop>,
    sink: &mut dyn Sink,
    first: Tick,
) -> LoadOutcome {
    let ClientSet { clients, background, parts, due } = client_set.into();
    let background_paces: Vec<BackgroundPacing> = background.iter().map(|load| pacing_of(load, setup)).collect();
    // Unbounded: a client that hands over an interval must never wait for the collector.
    let (out, delivered) = channel();
    let mut collector = Collector::new(&clients, &background, setup, clock, stop, delivered);
    collector.parts = PartTally::new(&parts);
    let (mut starts, mut progress) = (Vec::new(), Progress::default());
    for (ids, (group, client)) in collector.running.clone().into_iter().zip(by_group(clients, background)) {
        let recorder = Recorder::new(ids.start, setup.kinds, setup.interval, out.clone());
        if group == ClientGroup::Foreground {
            progress.add_client(recorder.done());
        }
        starts.push(spawn_client(ids.start, group, client, recorder, *clock, stop.clone(), out.clone()));
    }
    // Only the clients hold senders from here on: when the last is gone, the channel closes.
    drop(out);
    sink.take_progress(progress);
    collector.wait_for_opening(sink);
    // What is read when all are ready is to be of the moment at which the load begins.
    collector.wait_until(first - READY_BEFORE);
    sink.all_ready();
    // The schedules are made after the opening: a thousand connections take seconds, which belong to no phase.
    let schedules: Arc<[PhaseSchedules]> =
        phase_schedules(phases, &background_paces, due, setup, first.max(clock.now() + START_DELAY)).into();
    collector.schedules = schedules.clone();
    for start in starts {
        let _ = start.send(schedules.clone()); // a client that could not open is gone, and has reported it
    }
    for (nth, of_phase) in schedules.iter().enumerate() {
        collector.follow_phase(of_phase, nth + 1 == schedules.len(), sink);
    }
    collector.into_outcome()
}

/// All clients with their groups, in the order of their numbers: the foreground first.
fn by_group(
    foreground: Vec<Box<dyn Client>>,
    background: Vec<BackgroundLoad>,
) -> impl Iterator<Item = (ClientGroup, Box<dyn Client>)> {
    let numbered = background.into_iter().enumerate();
    let background = numbered.flat_map(|(nth, load)| load.clients.into_iter().map(move |client| (nth, client)));
    let foreground = foreground.into_iter().map(|client| (ClientGroup::Foreground, client));
    foreground.chain(background.map(|(nth, client)| (ClientGroup::Background(nth), client)))
}

/// The pacing of a background load on all hosts, and the part of this host in it.
type BackgroundPacing = (Pacing, LoadPart);

fn pacing_of(load: &BackgroundLoad, setup: &PhaseSetup) -> BackgroundPacing {
    let part = load.part_of_all(setup.parts.background);
    (load.pacing_of_all(part), part)
}

/// The schedules of `phases`, the first of which begins at `first`; `due` are the times of a recording, if one is replayed.
fn phase_schedules(
    phases: &[PhasePlan],
    background: &[BackgroundPacing],
    due: Option<Arc<dyn DueTimes>>,
    setup: &PhaseSetup,
    first: Tick,
) -> Vec<PhaseSchedules> {
    let mut start = first;
    let mut schedules = Vec::new();
    for (plan, nth) in phases.iter().zip(0..) {
        // Each phase has a seed of its own: with one seed its Poisson arrivals would be those of the phase before.
        let seed = setup.seed.wrapping_add(nth);
        schedules.push(PhaseSchedules {
            foreground: schedule_of(plan, start, plan.ops_max, &plan.pacing, seed, setup.parts.foreground)
                .with_due_times(due.clone(), start.since(first))
                .with_on_error(setup.on_error),
            background: background
                .iter()
                .map(|(pacing, part)| schedule_of(plan, start, None, pacing, seed, *part).with_on_error(setup.on_error))
                .collect(),
        });
        start = start + plan.length;
    }
    schedules
}

/// The schedule of one group in the phase of `plan`.
fn schedule_of(
    plan: &PhasePlan,
    start: Tick,
    ops_max: Option<u64>,
    pacing: &Pacing,
    seed: u64,
    part: LoadPart,
) -> Schedule {
    Schedule::with_part(plan.phase, start, plan.length, ops_max, pacing, seed, part)
}

/// Starts the thread of one client, or of several of which `id` is the first, which opens and then waits for the schedules. It is
/// not joined: a blocked client must not hold up the end of the point.
fn spawn_client(
    id: u32,
    group: ClientGroup,
    mut client: Box<dyn Client>,
    mut recorder: Recorder,
    clock: MonotonicClock,
    stop: Arc<Stop>,
    out: Sender<Delivery>,
) -> Sender<Arc<[PhaseSchedules]>> {
    let (start, started) = channel();
    let (unstarted, asked) = (out.clone(), stop.clone());
    // 2 MiB, the default, times thousands of clients would reserve gigabytes of address space.
    let thread = std::thread::Builder::new().name(format!("client-{id}")).stack_size(512 << 10);
    let spawned = thread.spawn(move || {
        // Default slack lets the kernel wake a thread 50 us late, which would all be lag.
        let _ = rustix::thread::set_current_timer_slack(Some(std::num::NonZeroU64::MIN));
        // A panic in a driver ends the point with a message; it must not take the other clients and what was recorded with it.
        let performed = catch_unwind(AssertUnwindSafe(|| {
            client.open()?;
            let _ = out.send(Delivery::Opened);
            perform_all(&started, group, &mut *client, &mut recorder, &clock, &stop);
            Ok(())
        }));
        let broken = match performed {
            Ok(Ok(())) => None,
            Ok(Err(text)) => Some(text),
            Err(panic) => Some(format!("the client panicked: {}", panic_text(&*panic))),
        };
        if let Some(text) = broken {
            stop.request(StopReason::Failure);
            let _ = out.send(Delivery::Broken { client: id, text });
        }
        drop(client); // the driver gives back what it holds before the collector learns that the client is gone
        let _ = out.send(Delivery::Ended { client: id, at: recorder.last_finished() });
    });
    if let Err(error) = spawned {
        // Its end is waited for like that of any other.
        asked.request(StopReason::Failure);
        let _ = unstarted.send(Delivery::Broken { client: id, text: describe_unstarted(id, &error) });
        let _ = unstarted.send(Delivery::Ended { client: id, at: Tick(0) });
    }
    start
}

/// Why the thread of a client is not there. The kernel says EAGAIN whichever limit it is (pthread_create(3)).
fn describe_unstarted(id: u32, error: &std::io::Error) -> String {
    format!(
        "cannot start a thread for client {id}: {}; no more threads are allowed: raise `pids.max` of its cgroup or `ulimit -u`, or use \
         fewer clients",
        model::system_words(error)
    )
}

/// Performs all phases that begin before a request to stop.
fn perform_all(
    started: &Receiver<Arc<[PhaseSchedules]>>,
    group: ClientGroup,
    client: &mut dyn Client,
    recorder: &mut Recorder,
    clock: &MonotonicClock,
    stop: &Stop,
) {
    let Ok(schedules) = started.recv() else { return };
    for schedule in schedules.iter().filter_map(|of_phase| of_phase.schedule_of(group)) {
        if stop.reason().is_some() {
            return;
        }
        recorder.begin_phase(schedule);
        client.run_phase(schedule, clock, recorder, stop);
        recorder.end_phase();
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    let owned = panic.downcast_ref::<String>().map(String::as_str);
    owned.or(panic.downcast_ref::<&str>().copied()).unwrap_or("no message")
}

/// When what came as `delivery` at `now` was done; `None` if it tells that a client got no answer.
fn news_at(delivery: &Delivery, now: Tick) -> Option<Tick> {
    match delivery {
        // It comes with the first operation after the interval, which may be long after that.
        Delivery::Interval { row, is_answered, .. } => is_answered.then(|| now.min(row.start + row.length)),
        Delivery::Failure { class, .. } if class.is_of_connection() => None,
        _ => Some(now),
    }
}

/// Gathers deliveries and passes them on once per interval.
struct Collector<'a> {
    /// The phases that the sink knows of, and when they began. Rows of others wait.
    begun: BTreeMap<Phase, Tick>,
    is_begin_reported: bool,
    opened: usize,
    setup: PhaseSetup,
    clock: &'a MonotonicClock,
    stop: &'a Stop,
    delivered: Receiver<Delivery>,
    /// The clients of each thread that is still there.
    running: Vec<Range<u32>>,
    /// The clients of the foreground are numbered below this, those of the background from here on.
    background_from: u32,
    /// The kinds of operation of each background load.
    background_kinds: Vec<Vec<OpKind>>,
    /// The schedules of all phases; none before they begin.
    schedules: Arc<[PhaseSchedules]>,
    /// When the last operation of the run ended.
    last_finished: Tick,
    /// When an operation was answered last, or a client came or went.
    last_news: Tick,
    failure: Option<(Option<FailureClass>, String)>,
    rows: BTreeMap<(Phase, u32), PendingInterval>,
    /// The same by endpoint, if there are several.
    endpoints: BTreeMap<(Phase, u32, u16), EndpointRecord>,
    done: BTreeMap<(Phase, ClientGroup), u64>,
    parts: PartTally,
    events: Vec<Event>,
}

/// The operations done in the last phase by each part of the foreground.
#[derive(Default)]
struct PartTally {
    /// The number of the last client of each part, plus 1.
    ends: Vec<u32>,
    done: Vec<u64>,
}

impl PartTally {
    fn new(parts: &[u32]) -> PartTally {
        let ends = parts.iter().scan(0, |end, clients| {
            *end += clients;
            Some(*end)
        });
        PartTally { ends: ends.collect(), done: vec![0; parts.len()] }
    }

    /// Counts what `client` has done; nothing of a client in the background.
    fn add(&mut self, client: u32, ops: u64) {
        let part = self.ends.partition_point(|end| *end <= client);
        self.done.iter_mut().skip(part).take(1).for_each(|done| *done += ops);
    }
}

/// What the clients delivered of one interval since the last rows went to the sink.
#[derive(Default)]
struct PendingInterval {
    kinds: BTreeMap<u8, KindRecord>,
    generator: Generator,
}

impl<'a> Collector<'a> {
    fn new(
        clients: &[Box<dyn Client>],
        background: &[BackgroundLoad],
        setup: &PhaseSetup,
        clock: &'a MonotonicClock,
        stop: &'a Stop,
        delivered: Receiver<Delivery>,
    ) -> Self {
        let all = clients.iter().chain(background.iter().flat_map(|load| &load.clients));
        let numbered = all.scan(0, |next, client| {
            let first = *next;
            *next += client.client_count();
            Some(first..*next)
        });
        Collector {
            begun: BTreeMap::new(),
            is_begin_reported: false,
            opened: 0,
            setup: *setup,
            clock,
            stop,
            delivered,
            running: numbered.collect(),
            background_from: count_clients(clients),
            background_kinds: background.iter().map(|load| load.kinds.clone()).collect(),
            schedules: Arc::new([]),
            last_finished: Tick(0),
            last_news: Tick(0),
            failure: None,
            rows: BTreeMap::new(),
            endpoints: BTreeMap::new(),
            done: BTreeMap::new(),
            parts: PartTally::default(),
            events: Vec::new(),
        }
    }

    /// Takes deliveries until every client has opened or is gone, or the load is to stop.
    fn wait_for_opening(&mut self, sink: &mut dyn Sink) {
        let threads = self.running.len();
        let is_opening = |own: &Self| own.opened < threads;
        let mut told_at = Some(self.clock.now() + OPENING_USUAL);
        while is_opening(self) && !self.running.is_empty() && self.stop.reason().is_none() {
            // It ends with the last that opens, and not with the next look at the clock: files and embedded engines open at once.
            self.gather_while(self.clock.now() + Nanos::from_millis(20), is_opening);
            if told_at.take_if(|at| *at <= self.clock.now()).is_some() {
                sink.still_opening(self.opened, threads);
            }
        }
    }

    /// Takes deliveries until `at`, or until the load is to stop.
    fn wait_until(&mut self, at: Tick) {
        while self.clock.now() < at && self.stop.reason().is_none() {
            self.gather_until((self.clock.now() + Nanos::from_millis(20)).min(at));
        }
    }

    /// Follows one phase to its end. The last phase ends when all clients are gone; the ones before at their planned time.
    fn follow_phase(&mut self, of_phase: &PhaseSchedules, last: bool, sink: &mut dyn Sink) {
        let schedule = &of_phase.foreground;
        if self.stop.reason().is_some() && !self.rows.keys().any(|(phase, _)| *phase == schedule.phase) {
            // Stopped before any op of this phase: it did not begin, and its clients end without it.
            return self.gather_until(self.clock.now() + self.setup.grace.min(STOP_GRACE));
        }
        self.gather_until(schedule.start);
        self.begun.insert(schedule.phase, schedule.start);
        sink.begin_phase(schedule.phase, schedule.start);
        let mut tick = schedule.start;
        let mut stopped_at = None;
        loop {
            // A collector that is late skips the ticks that it missed, and does not make up for them one after the other.
            tick = (tick + self.setup.interval).max(self.clock.now());
            if !last {
                tick = tick.min(schedule.end());
            }
            // Clients deliver an interval with their first completion after it: rows that come later are passed on with the next
            // tick.
            self.gather_until(tick + COLLECT_DELAY);
            self.report_begin(schedule, sink);
            if last && self.running.is_empty() {
                sink.all_ended();
            }
            self.pass_on(sink);
            let now = self.clock.now();
            if last && sink.is_enough() {
                of_phase.end_at(now);
            }
            stopped_at = stopped_at.or_else(|| self.requested_stop(schedule));
            // Clients go on from phase to phase by themselves, so only the last one has to wait until they are gone.
            let over = if last {
                self.running.is_empty()
                    || self.give_up(self.given_up_at(schedule, stopped_at))
                    || self.end_in_silence(of_phase)
            } else {
                now >= schedule.end() || stopped_at.is_some() || self.running.is_empty()
            };
            if over {
                break;
            }
        }
        self.pass_on(sink);
        self.end_phase(of_phase, last, stopped_at, sink);
    }

    /// When the first client began, once it is known.
    fn report_begin(&mut self, schedule: &Schedule, sink: &mut dyn Sink) {
        if let Some(at) = schedule.began().filter(|_| !self.is_begin_reported) {
            self.is_begin_reported = true;
            sink.load_began(at);
        }
    }

    /// When the load was asked to stop, if that was in this phase or before. The collector looks for it now and then; what fell due
    /// until it looks was never going to be performed.
    fn requested_stop(&self, schedule: &Schedule) -> Option<Tick> {
        let at = self.clock.tick_of(self.stop.requested_ns()?);
        // A phase is never empty: rates divide by its length.
        Some(at.max(schedule.start + Nanos(1)))
    }

    /// Whether clients are still blocked though `at` is past. If this process itself stood still (stopped, suspended), what
    /// they had delivered meanwhile is taken first.
    fn give_up(&mut self, at: Tick) -> bool {
        if self.clock.now() < at {
            return false;
        }
        self.gather_until(self.clock.now() + LAST_CHANCE);
        !self.running.is_empty()
    }

    /// Whether clients of a replay are given up: all that was recorded is due, and nothing has ended for as long as its silence may be. Its
    /// phase has no time that would end it; it ends where the silence began.
    fn end_in_silence(&mut self, of_phase: &PhaseSchedules) -> bool {
        if self.silence_of(&of_phase.foreground).is_none() {
            return false;
        }
        self.gather_until(self.clock.now() + LAST_CHANCE);
        let silence = self.silence_of(&of_phase.foreground).filter(|_| !self.running.is_empty());
        silence.inspect(|from| of_phase.end_at(*from)).is_some()
    }

    /// Since when nothing of a recording has fallen due or ended, if that is longer ago than its silence may be.
    fn silence_of(&self, schedule: &Schedule) -> Option<Tick> {
        let longest = self.setup.silence?;
        // As fast as it can be, all of it is due from the start.
        let last_due = if schedule.is_closed() { schedule.start } else { schedule.last_due()? };
        // What falls due at the end of a phase is none of its arrivals.
        let from = last_due.max(self.last_news) + Nanos(1);
        (from + longest <= self.clock.now()).then_some(from)
    }

    fn given_up_at(&self, schedule: &Schedule, stopped_at: Option<Tick>) -> Tick {
        let planned = schedule.end() + self.setup.grace;
        stopped_at.map_or(planned, |at| planned.min(at + self.setup.grace.min(STOP_GRACE)))
    }

    fn end_phase(&mut self, of_phase: &PhaseSchedules, last: bool, stopped_at: Option<Tick>, sink: &mut dyn Sink) {
        if last && !self.running.is_empty() {
            let names = name_clients(&self.still_running());
            let text = format!("{names} still blocked when the grace time was over{}", self.note_on_threads());
            self.events.push(Event::new(self.clock.now(), EventKind::Hung, text));
            self.pass_on(sink);
        }
        if last {
            self.end_by_count();
        }
        let (phase, planned) = (of_phase.foreground.phase, of_phase.foreground.end());
        // What fell due after a request to stop was never going to be performed, and is not unserved.
        let end = stopped_at.map_or(planned, |at| at.min(planned));
        let (offered, unserved) = of_phase.count_arrivals(end, |group, schedule| {
            let done = self.done.get(&(phase, group)).copied().unwrap_or(0);
            // Clients go on from phase to phase: what is in flight at the end of one before the last is performed all the same.
            if last { done } else { done.max(schedule.started_until(end)) }
        });
        sink.end_phase(phase, end, offered, unserved);
    }

    /// Ends the last phase if all clients of the foreground are gone before its time, because the number of their operations was
    /// limited: it ends with the last of these, and at once for the background load.
    fn end_by_count(&self) {
        let Some(last) = self.schedules.last() else { return };
        let gone = self.running.iter().all(|clients| clients.start >= self.background_from);
        if gone && self.stop.reason().is_none() && self.clock.now() + CLOCKS_APART < last.foreground.end() {
            // A phase is never empty: rates divide by its length.
            last.end_at(self.last_finished.max(Tick(last.foreground.start.0 + 1)));
        }
    }

    /// Takes deliveries until `until`, until all clients are gone, or soon after a request to stop. Deliveries that wait already
    /// are taken in any case.
    fn gather_until(&mut self, until: Tick) {
        self.gather_while(until, |_| true);
    }

    /// The same, no longer than `goes_on`.
    fn gather_while(&mut self, until: Tick, goes_on: impl Fn(&Self) -> bool) {
        while !self.running.is_empty() && goes_on(self) {
            match self.delivered.try_recv() {
                Ok(delivery) => {
                    self.take_delivery(delivery);
                    continue;
                }
                Err(TryRecvError::Empty) => {}
                Err(TryRecvError::Disconnected) => return self.lose_the_rest(),
            }
            let now = self.clock.now();
            if now >= until {
                return;
            }
            // A request to stop wakes no receiver, so it is looked for 20 times a second.
            let left = until.since(now).0.min(50_000_000);
            match self.delivered.recv_timeout(Duration::from_nanos(left)) {
                Ok(delivery) => self.take_delivery(delivery),
                Err(RecvTimeoutError::Timeout) if self.stop.reason().is_some() => return,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return self.lose_the_rest(),
            }
        }
    }

    /// Every sender is gone, but clients did not deliver their end: their threads could not be started.
    fn lose_the_rest(&mut self) {
        let text =
            format!("{} could not be started: the limit of threads is reached", name_clients(&self.still_running()));
        self.failure.get_or_insert((None, text));
        self.running.clear();
    }

    fn take_delivery(&mut self, delivery: Delivery) {
        self.last_news = self.last_news.max(news_at(&delivery, self.clock.now()).unwrap_or(Tick(0)));
        match delivery {
            Delivery::Opened => self.opened += 1,
            Delivery::Interval { client, row, .. } => {
                self.add_to_part(client, &row);
                self.add_row(&row);
            }
            Delivery::Endpoints(rows) => rows.iter().for_each(|one| {
                let gathered = self.endpoints.entry((one.phase, one.index, one.row.endpoint)).or_default();
                gathered.add_row(&one.row);
            }),
            Delivery::Failure { client, at, class, text } => {
                let text = format!("client {client}: {text}");
                self.events.push(Event::failure(at, class, &text));
                if self.setup.on_error == OnError::Stop {
                    self.failure.get_or_insert((Some(class), text));
                }
            }
            Delivery::Miss { client, at, text } => {
                self.events.push(Event::new(at, EventKind::Missing, format!("client {client}: {text}")));
            }
            Delivery::Broken { client, text } => {
                self.events.push(Event::new(self.clock.now(), EventKind::Failure, format!("client {client}: {text}")));
                self.failure.get_or_insert((None, text));
            }
            Delivery::Ended { client, at } => {
                self.running.retain(|clients| clients.start != client);
                if client < self.background_from {
                    self.last_finished = self.last_finished.max(at);
                    self.end_by_count();
                }
            }
        }
    }

    /// Counts `row` for the part of `client`, if it is of the last phase and not of the grace time after it.
    fn add_to_part(&mut self, client: u32, row: &IntervalRow) {
        let last = self.schedules.last().map(|last| &last.foreground);
        if last.is_some_and(|last| last.phase == row.phase && row.start < last.end()) {
            self.parts.add(client, row.kinds.iter().map(|kind| kind.ok).sum());
        }
    }

    fn add_row(&mut self, row: &IntervalRow) {
        let gathered = self.rows.entry((row.phase, row.index)).or_default();
        gathered.generator.add(&row.generator);
        for kind in &row.kinds {
            let background = self.background_kinds.iter().position(|kinds| kinds.contains(&kind.kind));
            let group = background.map_or(ClientGroup::Foreground, ClientGroup::Background);
            *self.done.entry((row.phase, group)).or_default() += kind.ok + kind.failed;
            gathered.kinds.entry(kind.kind.0).or_default().add_row(kind);
        }
    }

    /// Hands to the sink what was gathered of the phases that it knows of.
    fn pass_on(&mut self, sink: &mut dyn Sink) {
        if let Some(by) = tsc::new_disagreement() {
            let text =
                format!("the CPU's counter and CLOCK_MONOTONIC disagreed by {by}; clients ask the kernel from here on");
            self.events.push(Event::new(self.clock.now(), EventKind::ClockGap, text));
        }
        let length = self.setup.interval;
        let known = self.rows.extract_if(.., |(phase, _), _| self.begun.contains_key(phase));
        let rows = known.map(|((phase, index), gathered)| IntervalRow {
            phase,
            index,
            start: self.begun[&phase] + Nanos(u64::from(index) * length.0),
            length,
            kinds: gathered.kinds.into_iter().map(|(kind, mut record)| record.take_row(OpKind(kind))).collect(),
            generator: gathered.generator,
        });
        sink.interval(rows.collect(), std::mem::take(&mut self.events), self.clock.now());
        self.pass_on_endpoints(sink);
    }

    fn pass_on_endpoints(&mut self, sink: &mut dyn Sink) {
        let known = self.endpoints.extract_if(.., |(phase, ..), _| self.begun.contains_key(phase));
        let row = |((phase, index, endpoint), mut gathered): ((Phase, u32, u16), EndpointRecord)| EndpointInterval {
            phase,
            index,
            row: gathered.take_row(endpoint),
        };
        let rows: Vec<EndpointInterval> = known.map(row).collect();
        if !rows.is_empty() {
            sink.endpoints(rows);
        }
    }

    /// What to know of the clients that are still running, if some of them share a thread.
    fn note_on_threads(&self) -> &'static str {
        if self.running.iter().any(|clients| clients.len() > 1) {
            "; clients of one thread end together, so perhaps only one of them is blocked"
        } else {
            ""
        }
    }

    fn still_running(&self) -> Vec<u32> {
        self.running.iter().cloned().flatten().collect()
    }

    fn into_outcome(self) -> LoadOutcome {
        let hung = self.still_running();
        let ended = match (self.failure, self.stop.reason()) {
            (Some((class, text)), _) => LoadEnd::Failed { class, text },
            (None, Some(reason)) => LoadEnd::Stopped(reason),
            (None, None) => LoadEnd::AsPlanned,
        };
        LoadOutcome { ended, hung, done_by_part: self.parts.done }
    }
}

fn name_clients(clients: &[u32]) -> String {
    let shown: Vec<String> = clients.iter().take(8).map(u32::to_string).collect();
    let more = if clients.len() > shown.len() { ", ..." } else { "" };
    format!("{} of the clients ({}{more})", clients.len(), shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::Driver;
    use crate::source::OpSource;
    use crate::{MonotonicClock, SyncClient};
    use model::{Arrivals, BackgroundPace, IoOp};
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    struct OpsOf(OpKind);
    impl workload::Workload<IoOp> for OpsOf {
        fn fill_ops(&mut self, ops: &mut [IoOp]) {
            ops.fill(IoOp { op_kind: self.0, ..IoOp::default() });
        }
    }

    enum Script {
        Works,
        LosesItsConnection,
        AsksToStopAfter(u64, Arc<Stop>),
        FailsAfter(u64),
        CountsIn(Arc<AtomicU64>),
        Panics,
        BlocksOn(Arc<Barrier>),
        CannotOpen,
    }
    struct Scripted(Script, u64);
    impl Driver for Scripted {
        type Op = IoOp;
        fn open(&mut self) -> Result<(), String> {
            if matches!(self.0, Script::CannotOpen) { Err("nobody is there".into()) } else { Ok(()) }
        }
        fn execute_op(&mut self, _: &IoOp) -> model::Outcome {
            self.1 += 1;
            match &self.0 {
                Script::AsksToStopAfter(n, stop) if self.1 == *n => stop.request(StopReason::Interrupted),
                Script::FailsAfter(n) if self.1 > *n => return model::Outcome::Failed(FailureClass::Io),
                Script::LosesItsConnection => return model::Outcome::Failed(FailureClass::Lost),
                Script::CountsIn(performed) => _ = performed.fetch_add(1, Relaxed),
                Script::Panics => panic!("the driver has a bug"),
                Script::BlocksOn(barrier) => drop(barrier.wait()),
                _ => {}
            }
            model::Outcome::Ok { bytes: 1 }
        }
        fn describe_failure(&self) -> String {
            "the disk said no".into()
        }
    }

    const IN_BACKGROUND: OpKind = OpKind(1);
    /// In half a second of intervals every client has begun, also on a busy machine.
    const ENOUGH: u32 = 50;

    #[derive(Default)]
    struct Seen {
        ok: u64,
        responses: u64,
        begun: Vec<Phase>,
        /// When the last of them began.
        start: Tick,
        /// When the first client began.
        began: Vec<Tick>,
        phases: Vec<(Phase, u64)>,
        /// Arrivals of the last phase: offered, unserved.
        arrivals: (u64, u64),
        /// The same of the phase before it.
        arrivals_before: (u64, u64),
        /// Operations of the background kind, and how many of them have a response time of their own.
        background: (u64, u64),
        /// Operations of a second kind in the background.
        closed_background: u64,
        events: Vec<EventKind>,
        intervals: u32,
        enough_after: Option<u32>,
        /// What the clients have done so far, and how much that was when they were ready and when they had ended.
        performed: Arc<AtomicU64>,
        at_ends: Vec<u64>,
    }
    impl Sink for Seen {
        fn all_ready(&mut self) {
            self.at_ends.push(self.performed.load(Relaxed));
        }
        fn all_ended(&mut self) {
            self.at_ends.push(self.performed.load(Relaxed));
        }
        fn is_enough(&self) -> bool {
            self.enough_after.is_some_and(|enough| self.intervals >= enough)
        }
        fn begin_phase(&mut self, phase: Phase, start: Tick) {
            self.begun.push(phase);
            self.start = start;
        }
        fn load_began(&mut self, at: Tick) {
            self.began.push(at);
        }
        fn interval(&mut self, rows: Vec<IntervalRow>, events: Vec<Event>, _: Tick) {
            self.intervals += 1;
            assert!(rows.iter().all(|row| self.begun.contains(&row.phase)), "rows of a phase that did not begin");
            let run = rows.iter().filter(|row| row.phase == Phase::Run).flat_map(|row| &row.kinds);
            for kind in run {
                let responses = if kind.response == kind.service { 0 } else { kind.response.len() };
                match kind.kind {
                    IN_BACKGROUND => self.background = (self.background.0 + kind.ok, self.background.1 + responses),
                    OpKind(2) => self.closed_background += kind.ok,
                    _ => (self.ok, self.responses) = (self.ok + kind.ok, self.responses + responses),
                }
            }
            self.events.extend(events.iter().map(|event| event.kind));
        }
        fn end_phase(&mut self, phase: Phase, end: Tick, offered: u64, unserved: u64) {
            self.phases.push((phase, end.0));
            (self.arrivals_before, self.arrivals) = (self.arrivals, (offered, unserved));
        }
    }

    fn run(scripts: Vec<Script>, ops_max: Option<u64>, length_ms: u64, grace_ms: u64) -> (Seen, LoadOutcome) {
        run_after(5, scripts, ops_max, length_ms, grace_ms)
    }

    fn run_after(
        warmup_ms: u64,
        scripts: Vec<Script>,
        ops_max: Option<u64>,
        length_ms: u64,
        grace_ms: u64,
    ) -> (Seen, LoadOutcome) {
        let closed = Pacing::Closed { think: Nanos(0) };
        let plan = |phase, ms, ops_max| PhasePlan { phase, length: Nanos::from_millis(ms), ops_max, pacing: closed };
        let phases = [plan(Phase::Warmup, warmup_ms, None), plan(Phase::Run, length_ms, ops_max)];
        run_into(Seen::default(), scripts, &phases, grace_ms)
    }

    fn run_into(seen: Seen, scripts: Vec<Script>, phases: &[PhasePlan], grace_ms: u64) -> (Seen, LoadOutcome) {
        run_crews(seen, clients(scripts, OpKind(0)).into(), phases, grace_ms)
    }

    fn clients(scripts: Vec<Script>, kind: OpKind) -> Vec<Box<dyn Client>> {
        let client = |script| -> Box<dyn Client> {
            Box::new(SyncClient::new(OpSource::from_workload(Box::new(OpsOf(kind)), 64, None), Scripted(script, 0)))
        };
        scripts.into_iter().map(client).collect()
    }

    fn run_crews(seen: Seen, client_set: ClientSet, phases: &[PhasePlan], grace_ms: u64) -> (Seen, LoadOutcome) {
        run_until(&Arc::default(), MonotonicClock::start(), seen, client_set, phases, grace_ms)
    }

    fn run_until(
        stop: &Arc<Stop>,
        clock: MonotonicClock,
        mut seen: Seen,
        client_set: ClientSet,
        phases: &[PhasePlan],
        grace_ms: u64,
    ) -> (Seen, LoadOutcome) {
        let outcome = run_phases(client_set, phases, &setup(grace_ms), &clock, stop, &mut seen);
        (seen, outcome)
    }

    fn setup(grace_ms: u64) -> PhaseSetup {
        PhaseSetup {
            kinds: 3,
            interval: Nanos::from_millis(10),
            grace: Nanos::from_millis(grace_ms),
            silence: None,
            on_error: OnError::Stop,
            seed: 0,
            parts: ArrivalParts::WHOLE,
        }
    }

    /// A replay without a time of its own, in which nothing may end for half a second.
    fn replay(client_set: ClientSet, pacing: Pacing) -> (Seen, LoadOutcome) {
        let run = PhasePlan { phase: Phase::Run, length: Nanos::from_secs(3_600), ops_max: None, pacing };
        let silence = Some(Nanos::from_millis(500));
        let setup = PhaseSetup { silence, on_error: OnError::Count, ..setup(3_600_000) };
        let mut seen = Seen::default();
        let outcome = run_phases(client_set, &[run], &setup, &MonotonicClock::start(), &Arc::default(), &mut seen);
        (seen, outcome)
    }

    /// One client in the foreground, and one in the background at `per_s`.
    fn run_with_background(
        per_s: f64,
        background: Script,
        ops_max: Option<u64>,
        run_ms: u64,
        seen: Seen,
    ) -> (Seen, LoadOutcome) {
        let pacing = Pacing::Closed { think: Nanos(0) };
        let run = PhasePlan { phase: Phase::Run, length: Nanos::from_millis(run_ms), ops_max, pacing };
        let pace = BackgroundPace::Rate { per_client_s: per_s };
        let background = vec![background_load(background, IN_BACKGROUND, pace)];
        let client_set = ClientSet {
            clients: clients(vec![Script::Works], OpKind(0)),
            background,
            ..ClientSet::from(clients(Vec::new(), OpKind(0)))
        };
        run_crews(seen, client_set, &[run], 1_000)
    }

    fn background_load(script: Script, kind: OpKind, pace: BackgroundPace) -> BackgroundLoad {
        BackgroundLoad { clients: clients(vec![script], kind), kinds: vec![kind], pace, is_shared: false }
    }

    #[test]
    fn each_background_load_has_a_pace_of_its_own_and_only_open_loops_offer_arrivals() {
        let closed = BackgroundPace::Closed { think: Nanos::from_millis(1) };
        let slow = BackgroundPace::Rate { per_client_s: 10.0 };
        let background = vec![
            background_load(Script::Works, OpKind(2), closed),
            background_load(Script::Works, IN_BACKGROUND, slow),
        ];
        let client_set = ClientSet {
            clients: clients(vec![Script::Works], OpKind(0)),
            background,
            ..ClientSet::from(clients(Vec::new(), OpKind(0)))
        };
        let pacing = Pacing::Closed { think: Nanos(0) };
        let run = PhasePlan { phase: Phase::Run, length: Nanos::from_millis(1_000), ops_max: None, pacing };
        let (seen, outcome) = run_crews(Seen::default(), client_set, &[run], 1_000);
        assert_eq!(outcome.ended, LoadEnd::AsPlanned);
        assert_eq!((seen.arrivals.0, seen.background.0 + seen.arrivals.1), (10, 10), "those of the open loop alone");
        let closed = seen.closed_background;
        assert!(closed > 0 && closed <= 1_000, "{closed}: a pause of 1 ms follows each");
    }

    #[test]
    fn a_limit_of_operations_ends_the_run_with_exactly_that_many() {
        let (seen, outcome) = run(vec![Script::Works, Script::Works], Some(12_345), 60_000, 1_000);
        assert_eq!(outcome, LoadOutcome { ended: LoadEnd::AsPlanned, hung: vec![], done_by_part: vec![] });
        assert_eq!(seen.ok, 12_345);
        assert_eq!(seen.phases.iter().map(|p| p.0).collect::<Vec<_>>(), [Phase::Warmup, Phase::Run]);
    }

    #[test]
    fn the_operations_of_each_part_of_the_clients_are_counted_apart_and_those_of_the_warmup_in_none() {
        let [one, two, three] = [(); 3].map(|()| Arc::new(AtomicU64::new(0)));
        let all = [&one, &two, &three].map(|count| Script::CountsIn(count.clone()));
        let client_set = ClientSet { parts: vec![2, 1], ..ClientSet::from(clients(all.into(), OpKind(0))) };
        let plan = |phase, ops_max| PhasePlan {
            phase,
            length: Nanos::from_millis(if phase == Phase::Run { 60_000 } else { 100 }),
            ops_max,
            pacing: Pacing::Closed { think: Nanos(0) },
        };
        let phases = [plan(Phase::Warmup, None), plan(Phase::Run, Some(30_000))];
        let (seen, outcome) = run_crews(Seen::default(), client_set, &phases, 1_000);
        assert_eq!((outcome.ended, outcome.done_by_part.len()), (LoadEnd::AsPlanned, 2));
        assert_eq!((outcome.done_by_part.iter().sum::<u64>(), seen.ok), (30_000, 30_000));
        let [one, two, three] = [one, two, three].map(|count| count.load(Relaxed));
        let [both, last] = outcome.done_by_part[..] else { panic!("two parts") };
        assert!(
            both <= one + two && last <= three && one + two + three >= 30_000,
            "{both} of {one} + {two}, {last} of {three}"
        );
    }

    #[test]
    fn a_client_belongs_to_the_part_that_holds_its_number() {
        let mut tally = PartTally::new(&[2, 3]);
        [0, 1, 2, 4, 5].into_iter().for_each(|client| tally.add(client, 1));
        assert_eq!(tally.done, [2, 2], "client 5 is in the background");
        PartTally::default().add(0, 1);
    }

    #[test]
    fn a_sink_that_has_enough_ends_the_run_as_planned_and_clients_that_think_wake_up_for_it() {
        for think in [Nanos(0), Nanos::from_secs(3_600)] {
            let pacing = Pacing::Closed { think };
            let run = PhasePlan { phase: Phase::Run, length: Nanos::from_secs(60), ops_max: None, pacing };
            let sink = Seen { enough_after: Some(ENOUGH), ..Seen::default() };
            let (seen, outcome) = run_into(sink, vec![Script::Works, Script::Works], &[run], 1_000);
            assert_eq!(outcome, LoadOutcome { ended: LoadEnd::AsPlanned, hung: vec![], done_by_part: vec![] });
            assert!(seen.ok > 0 && seen.intervals >= ENOUGH);
            assert!(
                matches!(seen.began[..], [at] if at > seen.start),
                "once, and a wake-up takes time: {:?}",
                seen.began
            );
            assert!(seen.phases[0].1 < Nanos::from_secs(30).0, "it ended where it was enough: {:?}", seen.phases);
        }
    }

    #[test]
    fn a_phase_of_an_open_loop_lasts_as_long_as_was_asked_though_its_arrivals_end_before() {
        let length = Nanos::from_millis(300);
        for arrivals in [Arrivals::Constant { per_s: 4.0 }, Arrivals::Poisson { per_s: 4.0 }] {
            let run = PhasePlan { phase: Phase::Run, length, ops_max: None, pacing: Pacing::Open { arrivals } };
            let (seen, outcome) = run_into(Seen::default(), vec![Script::Works, Script::Works], &[run], 60_000);
            assert_eq!(outcome, LoadOutcome { ended: LoadEnd::AsPlanned, hung: vec![], done_by_part: vec![] });
            assert_eq!(seen.phases, [(Phase::Run, (seen.start + length).0)]);
            assert_eq!((seen.arrivals.0, seen.arrivals.1), (seen.ok, 0), "{arrivals:?}");
        }
    }

    #[test]
    fn an_open_loop_that_is_asked_to_stop_offers_what_fell_due_before_that() {
        // One each 5 us: while the collector waits for its next look a thousand fall due.
        let (per_s, length) = (200_000.0, Nanos::from_secs(600));
        let pacing = Pacing::Open { arrivals: Arrivals::Constant { per_s } };
        let run = PhasePlan { phase: Phase::Run, length, ops_max: None, pacing };
        let (stop, clock) = (Arc::new(Stop::default()), MonotonicClock::start());
        let client_set = clients(vec![Script::AsksToStopAfter(1_000, stop.clone())], OpKind(0)).into();
        let (seen, outcome) = run_until(&stop, clock, Seen::default(), client_set, &[run], 1_000);
        assert_eq!(outcome.ended, LoadEnd::Stopped(StopReason::Interrupted));
        let asked = clock.tick_of(stop.requested_ns().expect("the client has asked"));
        let offered = asked.since(seen.start).0.div_ceil(5_000);
        assert_eq!(seen.phases, [(Phase::Run, asked.0)]);
        assert_eq!((seen.arrivals.0, seen.arrivals.1 + seen.ok), (offered, offered));
    }

    #[test]
    fn an_arrival_in_flight_at_the_end_of_the_warmup_is_not_unserved() {
        let pacing = Pacing::Open { arrivals: Arrivals::Constant { per_s: 20.0 } };
        let plan = |phase, ms| PhasePlan { phase, length: Nanos::from_millis(ms), ops_max: None, pacing };
        let phases = [plan(Phase::Warmup, 1_000), plan(Phase::Run, 100)];
        let (seen, outcome) =
            run_into(Seen::default(), vec![Script::BlocksOn(Arc::new(Barrier::new(2)))], &phases, 100);
        assert_eq!((outcome.hung, seen.arrivals_before, seen.arrivals), (vec![0], (20, 19), (2, 2)));
    }

    #[test]
    fn a_run_that_is_over_at_once_is_recorded_all_the_same() {
        for _ in 0..20 {
            let (seen, _) = run(vec![Script::Works], Some(10), 60_000, 1_000);
            assert_eq!((seen.ok, seen.phases.len()), (10, 2));
        }
    }

    #[test]
    fn a_load_that_ends_in_its_warmup_has_no_run() {
        let (seen, outcome) = run_after(60_000, vec![Script::FailsAfter(0), Script::Works], None, 60_000, 1_000);
        assert_eq!(seen.begun, [Phase::Warmup]);
        assert!(matches!(outcome.ended, LoadEnd::Failed { .. }));
    }

    #[test]
    fn a_client_that_cannot_open_ends_the_point_before_it_begins() {
        let (seen, outcome) = run(vec![Script::Works, Script::CannotOpen], None, 60_000, 1_000);
        assert_eq!(outcome.ended, LoadEnd::Failed { class: None, text: "nobody is there".into() });
        assert_eq!((seen.ok, outcome.hung), (0, vec![]));
    }

    #[test]
    fn the_sink_knows_when_the_first_operation_can_begin_and_when_the_last_has_ended() {
        let performed = Arc::new(AtomicU64::new(0));
        let scripts = (0..4).map(|_| Script::CountsIn(performed.clone())).collect();
        let closed = Pacing::Closed { think: Nanos(0) };
        let run =
            PhasePlan { phase: Phase::Run, length: Nanos::from_secs(3_600), ops_max: Some(10_000), pacing: closed };
        let sink = Seen { performed: performed.clone(), ..Seen::default() };
        let (seen, _) = run_into(sink, scripts, &[run], 60_000);
        assert_eq!((seen.ok, seen.at_ends), (10_000, vec![0, 10_000]));
    }

    #[test]
    fn a_failed_operation_ends_the_run_and_keeps_what_was_done() {
        let (seen, outcome) = run(vec![Script::Works, Script::FailsAfter(1_000_000)], None, 60_000, 1_000);
        let text = "client 1: the disk said no".to_string();
        assert_eq!(outcome.ended, LoadEnd::Failed { class: Some(FailureClass::Io), text });
        assert!(seen.ok > 0);
        assert!(seen.events.contains(&EventKind::Failure));
    }

    #[test]
    fn a_panic_in_a_driver_is_a_failure_of_the_point_and_not_of_plimsoll() {
        let (_, outcome) = run(vec![Script::Panics], None, 60_000, 1_000);
        assert!(matches!(outcome.ended, LoadEnd::Failed { class: None, ref text } if text.contains("has a bug")));
    }

    #[test]
    fn the_wait_for_clients_ends_with_the_last_that_opens() {
        let (clock, stop, setup) = (MonotonicClock::start(), Stop::default(), setup(1_000));
        let (out, delivered) = channel();
        let two = clients(vec![Script::Works, Script::Works], OpKind(0));
        let mut collector = Collector::new(&two, &[], &setup, &clock, &stop, delivered);
        (0..2).for_each(|_| out.send(Delivery::Opened).expect("the collector is there"));
        let far_off = clock.now() + Nanos::from_secs(60);
        collector.gather_while(far_off, |own| own.opened < 2);
        assert_eq!(collector.opened, 2);
        assert!(clock.now() < far_off, "it did not wait for its time");
    }

    #[test]
    fn a_blocked_client_is_given_up_when_the_grace_time_is_over() {
        let barrier = Arc::new(Barrier::new(2));
        // On a busy machine the clients take their time to begin and to end.
        let (seen, outcome) = run(vec![Script::Works, Script::BlocksOn(barrier)], None, 1_000, 1_000);
        assert_eq!(outcome.hung, [1]);
        assert!(seen.ok > 0, "the other client's work is kept");
        assert!(seen.events.contains(&EventKind::Hung));
    }

    #[test]
    fn a_replay_whose_statements_do_not_end_is_given_up_when_nothing_has_ended_for_so_long() {
        let last_due = Nanos::from_millis(100);
        let due: Arc<dyn DueTimes> = Arc::new(vec![0, last_due.0]);
        let blocked = clients(vec![Script::BlocksOn(Arc::new(Barrier::new(2)))], OpKind(0));
        let client_set = ClientSet { due: Some(due), ..ClientSet::from(blocked) };
        let (seen, outcome) = replay(client_set, Pacing::Open { arrivals: Arrivals::Recorded { per_s: 10.0 } });
        assert_eq!((outcome.ended, outcome.hung, seen.arrivals), (LoadEnd::AsPlanned, vec![0], (2, 2)));
        assert_eq!(seen.phases, [(Phase::Run, (seen.start + last_due + Nanos(1)).0)], "the wait is no part of it");
        assert!(seen.events.contains(&EventKind::Hung));
    }

    #[test]
    fn a_replay_as_fast_as_it_can_be_is_given_up_too_also_if_each_statement_loses_its_connection_in_time() {
        for script in [Script::BlocksOn(Arc::new(Barrier::new(2))), Script::LosesItsConnection] {
            let client_set = ClientSet::from(clients(vec![script], OpKind(0)));
            let (seen, outcome) = replay(client_set, Pacing::Closed { think: Nanos(0) });
            assert_eq!((outcome.ended, outcome.hung), (LoadEnd::AsPlanned, vec![0]));
            assert!(seen.events.contains(&EventKind::Hung), "{:?}", seen.events);
            assert!(seen.phases[0].1 < seen.start.0 + 500_000_000, "the wait is no part of it");
        }
    }

    #[test]
    fn clients_beside_a_closed_loop_have_arrivals_of_their_own_and_these_alone_are_offered() {
        let (seen, outcome) = run_with_background(50.0, Script::Works, None, 1_000, Seen::default());
        assert_eq!(outcome, LoadOutcome { ended: LoadEnd::AsPlanned, hung: vec![], done_by_part: vec![] });
        assert_eq!(
            (seen.arrivals.0, seen.background.0 + seen.arrivals.1),
            (50, 50),
            "offered, and what became of them"
        );
        assert_eq!(seen.background.1, seen.background.0, "their response times count from the intended start");
        assert!(seen.ok > seen.background.0 && seen.responses == 0, "the run goes on as fast as it can");
    }

    #[test]
    fn a_run_that_is_through_with_its_operations_ends_for_those_beside_it_too() {
        for per_s in [0.001, 50_000.0] {
            let (seen, outcome) = run_with_background(per_s, Script::Works, Some(100_000), 3_600_000, Seen::default());
            assert_eq!(outcome, LoadOutcome { ended: LoadEnd::AsPlanned, hung: vec![], done_by_part: vec![] });
            assert_eq!(seen.ok, 100_000);
            assert!(seen.phases[0].1 < Nanos::from_secs(1_000).0, "it ended with the run: {:?}", seen.phases);
        }
    }

    #[test]
    fn a_sink_that_has_enough_ends_it_for_those_beside_too() {
        let sink = Seen { enough_after: Some(ENOUGH), ..Seen::default() };
        let (seen, outcome) = run_with_background(0.001, Script::Works, None, 3_600_000, sink);
        assert_eq!(outcome, LoadOutcome { ended: LoadEnd::AsPlanned, hung: vec![], done_by_part: vec![] });
        assert_eq!((seen.background.0, seen.arrivals), (1, (1, 0)));
    }

    #[test]
    fn arrivals_that_a_blocked_client_beside_never_performed_are_unserved_and_the_run_is_kept() {
        let barrier = Arc::new(Barrier::new(2));
        let (seen, outcome) = run_with_background(20.0, Script::BlocksOn(barrier), None, 1_000, Seen::default());
        assert_eq!((outcome.hung, seen.arrivals), (vec![1], (20, 20)));
        assert!(seen.ok > 0);
    }
}
