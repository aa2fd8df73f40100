//! Conditions of the user on a server that is watched, and the events in which they hold.
//!
//! In: what was read in each interval. Out: [`ObservedEvent`]s, and when the server is to be asked for details. The rule: an event begins when a
//! condition has held in two intervals in a row, and ends when none has held in two. Details are asked for when it begins, and again after as
//! many intervals as it has lasted. Limits: an interval of which nothing is known changes nothing; of conditions that hold at once the first is
//! named.

use engine::watch::{ServerReading, ServerWatch};
use model::{
    CounterRole, CounterSample, Nanos, ObservedEvent, ObservedThreads, ServerLook, SourceDef, ThreadOf, ThreadState,
    Tick, WATCH_EVENTS_MAX, WATCH_LOOKS_MAX, WatchCondition, WatchedFigure,
};

/// So many intervals in a row begin an event, and end it.
const IN_A_ROW: u32 = 2;

/// All times that a CPU may spend, the idle ones last.
const CPU_TIMES: [CounterRole; 6] = [
    CounterRole::MachineCpuUser,
    CounterRole::MachineCpuSystem,
    CounterRole::MachineCpuSoftirq,
    CounterRole::MachineCpuSteal,
    CounterRole::MachineCpuIowait,
    CounterRole::MachineCpuIdle,
];
// The first of these are time at work. A CPU that waits for I/O is idle.
const BUSY_TIMES: usize = 4;

/// The values of intervals, as far as they are known.
#[derive(Default)]
pub(super) struct Figures {
    /// The times of the CPUs at the last reading.
    cpu: Option<[f64; CPU_TIMES.len()]>,
    /// How long the disk had been busy at the last reading.
    disk: Option<(Tick, f64)>,
    /// Up to when it is known what clients did.
    done: Option<Tick>,
    /// The time of the server's threads in each state at the last reading.
    in_state: [Option<(Tick, f64)>; ThreadState::ALL.len()],
    /// How many of them were in each state in the last interval.
    threads: Vec<ObservedThreads>,
}

impl Figures {
    /// What is known of the interval that ended at `at`. `counters` are what was read of this machine since the last call, from `sources`.
    pub fn take(
        &mut self,
        at: Tick,
        (server, reading): (Option<&ServerWatch>, &ServerReading),
        counters: &[CounterSample],
        sources: &[SourceDef],
    ) -> Vec<(WatchedFigure, f64)> {
        self.count_threads(counters, sources);
        let told = |name: &str| server?.value_of(name, &reading.values);
        let known = [
            (WatchedFigure::Qps, self.rate(at, reading.done.as_deref())),
            (WatchedFigure::Mean, reading.mean_ns),
            (WatchedFigure::Running, told(counter_of(WatchedFigure::Running))),
            (WatchedFigure::Waiting, told(counter_of(WatchedFigure::Waiting))),
            (WatchedFigure::Connections, told(counter_of(WatchedFigure::Connections))),
            (WatchedFigure::Cpu, self.cpu_share(counters, sources)),
            (WatchedFigure::Disk, self.disk_share(counters, sources)),
        ];
        known.into_iter().filter_map(|(figure, value)| Some((figure, value?))).collect()
    }

    /// How many threads of the server were in each state in the last interval; empty if they are not seen.
    pub fn threads(&self) -> Vec<ObservedThreads> {
        self.threads.clone()
    }

    fn count_threads(&mut self, counters: &[CounterSample], sources: &[SourceDef]) {
        self.threads.clear();
        for (before, state) in self.in_state.iter_mut().zip(ThreadState::ALL) {
            let Some((at, now_ns)) = last_value(CounterRole::ThreadTime(ThreadOf::Engine, state), counters, sources)
            else {
                continue;
            };
            let Some((since, before_ns)) = before.replace((at, now_ns)) else { continue };
            let passed_ns = at.since(since).0 as f64;
            if passed_ns > 0.0 {
                let threads = ((now_ns - before_ns) / passed_ns).max(0.0);
                self.threads.push(ObservedThreads { state, threads });
            }
        }
    }

    fn rate(&mut self, at: Tick, done: Option<&[u64]>) -> Option<f64> {
        let all: u64 = done?.iter().sum();
        let since = self.done.replace(at)?;
        let seconds = at.since(since).as_secs_f64();
        (seconds > 0.0).then(|| all as f64 / seconds)
    }

    fn cpu_share(&mut self, counters: &[CounterSample], sources: &[SourceDef]) -> Option<f64> {
        let mut now = [0.0; CPU_TIMES.len()];
        for (time, role) in now.iter_mut().zip(CPU_TIMES) {
            *time = last_value(role, counters, sources)?.1;
        }
        let before = self.cpu.replace(now)?;
        let grown: Vec<f64> = now.iter().zip(before).map(|(now, before)| (now - before).max(0.0)).collect();
        let all: f64 = grown.iter().sum();
        (all > 0.0).then(|| grown[..BUSY_TIMES].iter().sum::<f64>() / all)
    }

    fn disk_share(&mut self, counters: &[CounterSample], sources: &[SourceDef]) -> Option<f64> {
        let (at, busy_ns) = last_value(CounterRole::DeviceBusy, counters, sources)?;
        let (since, before_ns) = self.disk.replace((at, busy_ns))?;
        let passed_ns = at.since(since).0 as f64;
        (passed_ns > 0.0).then(|| ((busy_ns - before_ns) / passed_ns).clamp(0.0, 1.0))
    }
}

/// The counter of a server that gives `figure`.
pub(super) fn counter_of(figure: WatchedFigure) -> &'static str {
    match figure {
        WatchedFigure::Running => "connections_busy",
        WatchedFigure::Waiting => "lock_waiting",
        _ => "connections",
    }
}

/// The last value of the counter with this role, and when it was read.
fn last_value(role: CounterRole, counters: &[CounterSample], sources: &[SourceDef]) -> Option<(Tick, f64)> {
    counters.iter().rev().find_map(|sample| {
        let source = sources.get(usize::from(sample.source))?;
        let place = source.counters.iter().position(|counter| counter.role == Some(role))?;
        Some((sample.at, (*sample.values.get(place)?)?))
    })
}

/// What is to be done after an interval.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum EventStep {
    Nothing,
    /// An event has begun, for this condition: details are asked for.
    Began(String),
    /// It has lasted twice as long as at the last look: details are asked for again.
    Look,
    Ended,
}

/// What is known of one condition in the present file.
#[derive(Clone, Default)]
struct ConditionRecord {
    /// In how many intervals in a row it has held.
    in_a_row: u32,
    /// Whether these were enough for an event; `None` if what it is about was never known.
    has_held: Option<bool>,
}

/// The events of the present file.
#[derive(Default)]
pub(super) struct EventWatch {
    conditions: Vec<WatchCondition>,
    /// Of each condition: an event names only one of those that hold.
    records: Vec<ConditionRecord>,
    /// In how many intervals in a row a condition has held, and when the first of them began.
    held: u32,
    since: Tick,
    /// In how many it has not held since.
    free: u32,
    is_open: bool,
    /// Whether the open event is among those that are kept.
    is_kept: bool,
    /// At how many intervals the next look is.
    next_look: u32,
    events: Vec<ObservedEvent>,
    left_out: u64,
}

impl EventWatch {
    pub fn new(conditions: Vec<WatchCondition>) -> EventWatch {
        let records = vec![ConditionRecord::default(); conditions.len()];
        EventWatch { conditions, records, ..EventWatch::default() }
    }

    pub fn is_wanted(&self) -> bool {
        !self.conditions.is_empty()
    }

    /// The events so far, and how many more there were.
    pub fn events(&self) -> (Vec<ObservedEvent>, u64) {
        (self.events.clone(), self.left_out)
    }

    /// The conditions that have not held in the present file.
    pub fn unheld(&self) -> Vec<String> {
        let is_named = |name: &String| self.events.iter().any(|event| event.condition == *name);
        let unheld = self.conditions.iter().zip(&self.records).filter(|(_, record)| record.has_held == Some(false));
        unheld.map(|(condition, _)| condition.to_string()).filter(|name| !is_named(name)).collect()
    }

    /// Begins a new file. An event that goes on begins there anew, as soon as its condition holds again.
    pub fn begin_file(&mut self) {
        (self.events, self.left_out) = (Vec::new(), 0);
        self.records.iter_mut().for_each(|record| record.has_held = None);
        // The times of the file before mean nothing in this one.
        self.since = Tick(0);
        if std::mem::take(&mut self.is_open) {
            (self.held, self.free) = (IN_A_ROW - 1, 0);
        }
    }

    /// The interval that ended at `at` had these values. Its length is `interval`, and the file began at `start`.
    pub fn take(&mut self, at: Tick, interval: Nanos, start: Tick, values: &[(WatchedFigure, f64)]) -> EventStep {
        let value_of = |figure| values.iter().find(|(known, _)| *known == figure).map(|(_, value)| *value);
        for (condition, record) in self.conditions.iter().zip(&mut self.records) {
            let Some(value) = value_of(condition.figure) else { continue };
            record.in_a_row = if condition.holds(value) { record.in_a_row.saturating_add(1) } else { 0 };
            record.has_held = Some(record.has_held == Some(true) || record.in_a_row >= IN_A_ROW);
        }
        let mut known = self.conditions.iter().filter_map(|one| Some((one, value_of(one.figure)?))).peekable();
        if known.peek().is_none() {
            return EventStep::Nothing;
        }
        let holding = known.find(|(condition, value)| condition.holds(*value));
        match holding.map(|(condition, value)| (condition.clone(), value)) {
            Some((condition, value)) => self.hold(at, interval, start, &condition, value),
            None => self.release(),
        }
    }

    fn hold(&mut self, at: Tick, interval: Nanos, start: Tick, condition: &WatchCondition, value: f64) -> EventStep {
        if self.held == 0 {
            self.since = at - interval;
        }
        (self.held, self.free) = (self.held.saturating_add(1), 0);
        if self.is_open {
            return self.go_on(at, condition, value);
        }
        if self.held < IN_A_ROW {
            return EventStep::Nothing;
        }
        (self.is_open, self.is_kept) = (true, self.events.len() < WATCH_EVENTS_MAX);
        if !self.is_kept {
            self.left_out += 1;
            return EventStep::Nothing;
        }
        self.next_look = self.held.saturating_mul(2);
        let since = self.since.max(start);
        self.events.push(ObservedEvent {
            at: since,
            lasted: at.since(since),
            goes_on: true,
            condition: condition.to_string(),
            figure: condition.figure,
            worst: value,
            looks: Vec::new(),
        });
        EventStep::Began(condition.to_string())
    }

    fn go_on(&mut self, at: Tick, condition: &WatchCondition, value: f64) -> EventStep {
        let Some(event) = self.events.last_mut().filter(|_| self.is_kept) else { return EventStep::Nothing };
        event.lasted = at.since(event.at);
        if condition.figure == event.figure {
            event.worst = if condition.above { event.worst.max(value) } else { event.worst.min(value) };
        }
        if self.held < self.next_look || event.looks.len() >= WATCH_LOOKS_MAX {
            return EventStep::Nothing;
        }
        self.next_look = self.held.saturating_mul(2);
        EventStep::Look
    }

    fn release(&mut self) -> EventStep {
        self.free = self.free.saturating_add(1);
        if self.is_open && self.free < IN_A_ROW {
            return EventStep::Nothing;
        }
        self.held = 0;
        if !std::mem::take(&mut self.is_open) || !self.is_kept {
            return EventStep::Nothing;
        }
        self.events.iter_mut().rev().take(1).for_each(|event| event.goes_on = false);
        EventStep::Ended
    }

    /// Keeps what the server said in the event that is open.
    pub fn keep(&mut self, look: ServerLook) {
        if let Some(event) = self.events.last_mut().filter(|_| self.is_open && self.is_kept) {
            event.looks.push(look);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Nanos = Nanos::from_secs(1);

    /// Readings of the times of all CPUs and of threads that wait for locks, each second.
    fn figures_of(readings: &[([f64; 6], f64)]) -> Vec<(Option<f64>, Vec<ObservedThreads>)> {
        let counter = |name: &str, role| model::CounterDef {
            name: name.into(),
            unit: "ns".into(),
            kind: model::CounterKind::Counter,
            help: String::new(),
            role: Some(role),
            in_pages: false,
        };
        let cpu = CPU_TIMES.map(|role| counter("cpu", role)).to_vec();
        let locks = vec![counter("lock", CounterRole::ThreadTime(ThreadOf::Engine, ThreadState::Lock))];
        let source = |counters| SourceDef { name: "s".into(), subject: String::new(), counters };
        let sources = [source(cpu), source(locks)];
        let mut figures = Figures::default();
        let take = |(second, (cpu, locks)): (u64, &([f64; 6], f64))| {
            let at = Tick(second * SECOND.0);
            let samples = [
                CounterSample { at, source: 0, values: cpu.iter().map(|time| Some(*time)).collect() },
                CounterSample { at, source: 1, values: vec![Some(*locks)] },
            ];
            let values = figures.take(at, (None, &ServerReading::default()), &samples, &sources);
            (values.first().map(|(_, value)| *value), figures.threads())
        };
        (1..).zip(readings).map(take).collect()
    }

    #[test]
    fn the_share_of_the_cpu_and_the_states_of_threads_are_those_of_the_last_interval() {
        let found = figures_of(&[
            ([1e9, 0.0, 0.0, 0.0, 0.0, 1e9], 5e9),
            ([2.5e9, 0.5e9, 0.0, 0.0, 0.5e9, 2.5e9], 8e9),
            ([2.5e9, 0.5e9, 0.0, 0.0, 0.5e9, 4.5e9], 8e9),
        ]);
        let locks = |threads| vec![ObservedThreads { state: ThreadState::Lock, threads }];
        assert_eq!(found, [(None, vec![]), (Some(0.5), locks(3.0)), (Some(0.0), locks(0.0))]);
    }

    fn watch() -> EventWatch {
        let condition =
            |figure, above, limit, written: &str| WatchCondition { figure, above, limit, written: written.into() };
        EventWatch::new(vec![
            condition(WatchedFigure::Waiting, true, 0.0, "0"),
            condition(WatchedFigure::Qps, false, 10.0, "10"),
        ])
    }

    /// What follows from sessions that wait, one number an interval of a second from `first` on.
    fn steps(watch: &mut EventWatch, first: u64, waiting: &[u32]) -> Vec<EventStep> {
        let step = |(number, waiting): (u64, &u32)| {
            let values = [(WatchedFigure::Waiting, f64::from(*waiting)), (WatchedFigure::Qps, 100.0)];
            watch.take(Tick((number + 1) * SECOND.0), SECOND, Tick(0), &values)
        };
        (first..).zip(waiting).map(step).collect()
    }

    fn began() -> EventStep {
        EventStep::Began("waiting>0".to_owned())
    }

    #[test]
    fn two_intervals_begin_an_event_and_two_end_it() {
        use EventStep::{Ended, Nothing};
        let mut watch = watch();
        let found = steps(&mut watch, 0, &[0, 3, 0, 2, 5, 0, 1, 0, 0, 0]);
        let expected = [Nothing, Nothing, Nothing, Nothing, began(), Nothing, Nothing, Nothing, Ended, Nothing];
        assert_eq!(found, expected);
        let (events, left_out) = watch.events();
        let [event] = events.as_slice() else { panic!("{events:?}") };
        assert_eq!((event.at, event.lasted, event.goes_on), (Tick(3 * SECOND.0), Nanos::from_secs(4), false));
        assert_eq!((event.condition.as_str(), event.worst, left_out), ("waiting>0", 5.0, 0));
    }

    #[test]
    fn an_interval_of_which_nothing_is_known_changes_nothing_and_any_condition_may_begin_an_event() {
        let mut watch = watch();
        let mut take =
            |second: u64, values: &[(WatchedFigure, f64)]| watch.take(Tick(second * SECOND.0), SECOND, Tick(0), values);
        assert_eq!(take(1, &[(WatchedFigure::Qps, 3.0)]), EventStep::Nothing);
        assert_eq!(take(2, &[(WatchedFigure::Cpu, 1.0)]), EventStep::Nothing);
        assert_eq!(take(3, &[(WatchedFigure::Qps, 4.0)]), EventStep::Began("qps<10".to_owned()));
    }

    #[test]
    fn a_condition_that_did_not_hold_is_known_from_one_of_which_nothing_is_known() {
        let mut watch = watch();
        assert!(watch.unheld().is_empty(), "nothing is known");
        steps(&mut watch, 0, &[0, 1, 0]);
        assert_eq!(watch.unheld(), ["waiting>0", "qps<10"]);
        steps(&mut watch, 3, &[1, 1]);
        assert_eq!(watch.unheld(), ["qps<10"]);
        watch.begin_file();
        watch.take(Tick(SECOND.0), SECOND, Tick(0), &[(WatchedFigure::Waiting, 0.0)]);
        assert_eq!(watch.unheld(), ["waiting>0"]);
    }

    #[test]
    fn details_are_asked_for_less_and_less_often_and_no_more_than_a_few_times() {
        let mut watch = watch();
        let mut looks = Vec::new();
        for second in 0..1_000 {
            match steps(&mut watch, second, &[1]).remove(0) {
                EventStep::Began(_) | EventStep::Look => {
                    looks.push(second + 1);
                    watch.keep(ServerLook::default());
                }
                _ => {}
            }
        }
        assert_eq!(looks, [2, 4, 8, 16]);
        assert_eq!(watch.events().0[0].lasted, Nanos::from_secs(1_000));
    }

    #[test]
    fn of_many_events_the_first_are_kept_and_the_others_counted() {
        let mut watch = watch();
        for event in 0..WATCH_EVENTS_MAX as u64 + 7 {
            steps(&mut watch, 4 * event, &[1, 1, 0, 0]);
        }
        let (events, left_out) = watch.events();
        assert_eq!((events.len(), left_out), (WATCH_EVENTS_MAX, 7));
    }

    #[test]
    fn an_event_that_goes_on_is_in_both_files() {
        let mut watch = watch();
        steps(&mut watch, 0, &[1, 1, 1]);
        assert!(watch.events().0[0].goes_on);
        watch.begin_file();
        assert_eq!(watch.events(), (vec![], 0));
        assert_eq!(steps(&mut watch, 0, &[1]), [began()]);
        assert_eq!(watch.events().0[0].lasted, Nanos::from_secs(1), "not from before its file");
    }
}
