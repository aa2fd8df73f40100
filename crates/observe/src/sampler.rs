//! Reads all sources together, once per interval, on a thread of its own.
//!
//! In: open sources, an interval, the run's clock. Out: counter samples, and events: a source that failed or was slow, and the gaps in
//! which plimsoll itself did not run.
//!
//! Readings are on a fixed grid (start + n intervals), so that a slow reading does not shift the later ones; one comes at
//! once at the start and one at the stop. Grid points that were missed are left out, not made up for. The thread's own CPU
//! time is in every reading of the source `cpu` (`sampler_ns`).
//!
//! Limits: nothing that a source does stops the run: a panic is a gap and its source is not read again; a source that hangs
//! holds up the other sources, and is given up at the stop.

use crate::CounterSource;
use crate::gap_watch::{GapGrain, GapWatch};
use model::{CounterSample, Event, EventKind, Nanos, Tick};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long the owner waits for a reading. Sources here take below a millisecond; one that asks a server may hang with it.
pub const READING_WAIT: Duration = Duration::from_secs(2);

/// The running sampler. It ends when it is stopped or dropped.
pub struct Sampler {
    shared: Arc<SamplerShared>,
    /// On a thread of its own: a source that is slow holds up the sampler, which is no gap.
    gaps: GapWatch,
}

impl Sampler {
    /// Begins to read `sources` once per `interval`, at the times of the clock `now`. The first reading comes at once.
    pub fn start(
        sources: Vec<Box<dyn CounterSource>>,
        interval: Nanos,
        grain: GapGrain,
        now: impl Fn() -> Tick + Send + Clone + 'static,
    ) -> Sampler {
        let gaps = GapWatch::start(grain, now.clone());
        let shared = Arc::new(SamplerShared::default());
        let pace = ThreadPace { now, shared: shared.clone() };
        shared.lock_state().last_at = (pace.now)();
        let sources = sources.into_iter().map(WatchedSource::new).collect();
        let thread = std::thread::Builder::new().name("sampler".into()).spawn(move || {
            let end = EndOfThread(pace.shared.clone());
            run_sampler(sources, interval, pace, &mut |output| end.0.lock_state().output.append(output));
        });
        if let Err(error) = thread {
            let why = model::system_words(&error);
            let text = format!("the thread that reads the counters could not be started ({why}): there are none");
            let mut state = shared.lock_state();
            let began = state.last_at;
            state.output.events.push(Event::new(began, EventKind::SourceGap, text));
            state.ended = true;
        }
        Sampler { shared, gaps }
    }

    /// What was read and what happened since the last call.
    pub fn drain(&mut self) -> (Vec<CounterSample>, Vec<Event>) {
        let (samples, mut events) = self.shared.lock_state().output.take_all();
        events.extend(self.gaps.drain());
        (samples, events)
    }

    /// Asks for a reading now, and from here on once per interval: so that counters and a phase begin together.
    pub fn read_now(&self) {
        self.shared.lock_state().read_now = true;
        self.shared.changed.notify_all();
    }

    /// Asks for a reading now and waits for it, so that nothing which begins afterwards is in it.
    pub fn read_and_wait(&self) {
        let mut state = self.shared.lock_state();
        (state.read_now, state.answered) = (true, false);
        self.shared.changed.notify_all();
        // A source that hangs must not hold up the run: without this reading the next one counts.
        drop(self.shared.changed.wait_timeout_while(state, READING_WAIT, |state| !state.answered && !state.ended));
    }

    /// From here on reads whole intervals after `start`, and not before the first of them is over.
    pub fn read_from(&self, start: Tick) {
        self.shared.lock_state().read_from = Some(start);
        self.shared.changed.notify_all();
    }

    /// From the next reading on reads each of `sources` in the place of the one with its name and subject: an engine that was started again
    /// has new processes, and the connections to the old one are closed. What has no such place is not read.
    pub fn renew(&self, sources: Vec<Box<dyn CounterSource>>) {
        let renewed: Vec<WatchedSource> = sources.into_iter().map(WatchedSource::new).collect();
        let mut state = self.shared.lock_state();
        // That the old ones could not be read while the engine was away is no gap in anything that is measured.
        let is_of_old = |event: &Event| renewed.iter().any(|source| event.text == source.no_values());
        state.output.events.retain(|event| !is_of_old(event));
        state.renewed = renewed;
    }

    /// Takes one last reading, for which it waits as long as `wait`, and ends. Returns what was read and what happened since the last call of
    /// [`Sampler::drain`].
    pub fn stop(mut self, wait: Duration) -> (Vec<CounterSample>, Vec<Event>) {
        let (samples, mut events) = self.shared.read_last(wait);
        events.extend(self.gaps.stop());
        (samples, events)
    }
}

/// The sampler's thread, seen by its owner.
impl SamplerShared {
    /// Asks for one last reading and the end, and waits for both. Returns what was not taken yet.
    fn read_last(&self, at_most: Duration) -> (Vec<CounterSample>, Vec<Event>) {
        let mut state = self.lock_state();
        state.stop = true;
        self.changed.notify_all();
        // The thread is not joined: a source that hangs would hold up the end of the run with it.
        let wait = self.changed.wait_timeout_while(state, at_most, |state| !state.ended);
        state = wait.unwrap_or_else(PoisonError::into_inner).0;
        if !state.ended {
            let at = state.last_at;
            let text = format!("a source of counters did not answer for {at_most:?}: the last reading is missing");
            state.output.events.push(Event::new(at, EventKind::SourceGap, text));
        }
        state.output.take_all()
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.shared.lock_state().stop = true;
        self.shared.changed.notify_all();
    }
}

/// What the sampler's thread and its owner share.
#[derive(Default)]
struct SamplerShared {
    state: Mutex<SamplerState>,
    changed: Condvar,
}

#[derive(Default)]
struct SamplerState {
    output: SamplerOutput,
    /// The owner wants the end.
    stop: bool,
    /// The owner wants a reading before its time.
    read_now: bool,
    /// The reading that it waits for was taken.
    answered: bool,
    /// The owner wants the readings at other times: whole intervals after this.
    read_from: Option<Tick>,
    /// Sources to be read in the place of those that the thread has.
    renewed: Vec<WatchedSource>,
    /// The thread has ended.
    ended: bool,
    /// When the thread last began to wait.
    last_at: Tick,
}

#[derive(Default)]
struct SamplerOutput {
    samples: Vec<CounterSample>,
    events: Vec<Event>,
}

impl SamplerShared {
    /// No code that can panic runs under the lock, so a poisoned one is intact.
    fn lock_state(&self) -> MutexGuard<'_, SamplerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SamplerOutput {
    fn take_all(&mut self) -> (Vec<CounterSample>, Vec<Event>) {
        (std::mem::take(&mut self.samples), std::mem::take(&mut self.events))
    }

    fn append(&mut self, other: &mut SamplerOutput) {
        self.samples.append(&mut other.samples);
        self.events.append(&mut other.events);
    }
}

/// Records that the thread has ended, even by a panic.
struct EndOfThread(Arc<SamplerShared>);

impl Drop for EndOfThread {
    fn drop(&mut self) {
        // A destructor runs while a panic unwinds too, so the owner never waits for a thread that is gone.
        self.0.lock_state().ended = true;
        self.0.changed.notify_all();
    }
}

/// The time that the sampler lives in; tests put a simulated one in its place.
trait SamplerPace {
    fn now(&self) -> Tick;
    /// Returns after about `length`, earlier if the sampler is to stop.
    fn wait_for(&mut self, length: Nanos) -> WakeReason;
    /// A reading that was wanted before its time has been delivered.
    fn answer(&mut self) {}
    /// The sources that are new since it was last asked.
    fn take_renewed(&mut self) -> Vec<WatchedSource> {
        Vec::new()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WakeReason {
    GoOn,
    /// A reading is wanted before its time.
    ReadNow,
    /// The next readings are wanted whole intervals after this.
    ReadFrom(Tick),
    Stop,
}

struct ThreadPace<N> {
    now: N,
    shared: Arc<SamplerShared>,
}

impl<N: Fn() -> Tick> SamplerPace for ThreadPace<N> {
    fn now(&self) -> Tick {
        (self.now)()
    }

    /// The condition variable waits on CLOCK_MONOTONIC. Since the caller asks for the rest of the way to a fixed time, nothing
    /// adds up.
    fn wait_for(&mut self, length: Nanos) -> WakeReason {
        let mut state = self.shared.lock_state();
        state.last_at = (self.now)();
        let length = Duration::from_nanos(length.0);
        let is_quiet = |state: &mut SamplerState| !state.stop && !state.read_now && state.read_from.is_none();
        let wait = self.shared.changed.wait_timeout_while(state, length, is_quiet);
        let mut state = wait.unwrap_or_else(PoisonError::into_inner).0;
        match (state.stop, std::mem::take(&mut state.read_now)) {
            (true, _) => WakeReason::Stop,
            (false, true) => WakeReason::ReadNow,
            (false, false) => state.read_from.take().map_or(WakeReason::GoOn, WakeReason::ReadFrom),
        }
    }

    fn take_renewed(&mut self) -> Vec<WatchedSource> {
        std::mem::take(&mut self.shared.lock_state().renewed)
    }

    fn answer(&mut self) {
        let mut state = self.shared.lock_state();
        // If another one is wanted meanwhile, this was not it.
        state.answered = !state.read_now;
        self.shared.changed.notify_all();
    }
}

/// The sampler's life: read, wait for the next grid point, until the stop, and read once more.
fn run_sampler(
    mut sources: Vec<WatchedSource>,
    interval: Nanos,
    mut pace: impl SamplerPace,
    deliver: &mut dyn FnMut(&mut SamplerOutput),
) {
    let mut grid = ReadingGrid::from_now(pace.now(), interval);
    let mut output = SamplerOutput::default();
    let mut wake = WakeReason::GoOn;
    loop {
        replace_renewed(&mut sources, pace.take_renewed());
        let began = pace.now();
        read_all(&mut sources, &pace, &mut output);
        let ended = pace.now();
        output.events.extend(grid.long_reading(began, ended));
        deliver(&mut output);
        if wake == WakeReason::ReadNow {
            pace.answer();
        }
        // Points that passed during a slow reading are left out: to make up for them would load the machine further.
        grid.skip_to(ended);
        wake = wait_for_reading(&mut grid, &mut pace);
        match wake {
            WakeReason::Stop => break,
            // A phase begins: its readings are counted from here, so that its intervals are complete ones.
            WakeReason::ReadNow => grid = ReadingGrid::from_now(pace.now(), interval),
            WakeReason::GoOn | WakeReason::ReadFrom(_) => {}
        }
    }
    read_all(&mut sources, &pace, &mut output);
    deliver(&mut output);
}

/// The columns of a reading are those of the sources in their order, so each stays in its place.
fn replace_renewed(sources: &mut [WatchedSource], renewed: Vec<WatchedSource>) {
    for new in renewed {
        if let Some(old) = sources.iter_mut().find(|old| (&old.label, old.counters) == (&new.label, new.counters)) {
            *old = new;
        }
    }
}

/// Waits for the next point of `grid`, which may be moved meanwhile.
fn wait_for_reading(grid: &mut ReadingGrid, pace: &mut impl SamplerPace) -> WakeReason {
    loop {
        match wait_until(grid.next, pace) {
            WakeReason::ReadFrom(start) => {
                *grid = ReadingGrid { next: start, ..*grid };
                // Not at the start itself: what it would show was read before.
                grid.skip_to(pace.now().max(start));
            }
            other => return other,
        }
    }
}

fn wait_until(at: Tick, pace: &mut impl SamplerPace) -> WakeReason {
    loop {
        // A wait of zero still asks whether to stop, so that a sampler that is always late ends too.
        let wake = pace.wait_for(at.since(pace.now()));
        if wake != WakeReason::GoOn || pace.now() >= at {
            return wake;
        }
    }
}

fn read_all(sources: &mut [WatchedSource], pace: &impl SamplerPace, output: &mut SamplerOutput) {
    for (index, source) in sources.iter_mut().enumerate() {
        let at = pace.now();
        // The time is taken for each source: a slow one before it must not date its reading.
        let (values, failure) = source.read_values();
        output.events.extend(failure.map(|text| Event::new(at, EventKind::SourceGap, text)));
        output.samples.push(CounterSample { at, source: index as u16, values });
    }
}

/// The times at which to read.
#[derive(Debug)]
struct ReadingGrid {
    interval: Nanos,
    next: Tick,
}

impl ReadingGrid {
    /// The grid whose first point is now. An interval of zero would never wait.
    fn from_now(now: Tick, interval: Nanos) -> ReadingGrid {
        ReadingGrid { interval: Nanos(interval.0.max(1_000_000)), next: now }
    }

    /// Moves on to the first grid point after `now`.
    fn skip_to(&mut self, now: Tick) {
        let points = now.since(self.next).0 / self.interval.0 + 1;
        self.next = self.next + Nanos(points * self.interval.0);
    }

    /// A reading that takes longer is worth a word: its values are those of different moments.
    fn reading_max(&self) -> Nanos {
        Nanos::from_secs(1).max(Nanos(self.interval.0.saturating_mul(5)))
    }

    /// An event if one reading of all sources took very long.
    fn long_reading(&self, began: Tick, ended: Tick) -> Option<Event> {
        let took = ended.since(began);
        (took > self.reading_max()).then(|| {
            let text = format!("one reading of all counters took {took}: a source was slow, or plimsoll did not run");
            Event::new(ended, EventKind::SourceGap, text)
        })
    }
}

/// A source, and what is known of its health.
struct WatchedSource {
    /// `None` after a panic, which leaves it in an unknown state.
    source: Option<Box<dyn CounterSource>>,
    label: String,
    counters: usize,
    /// A source that fails is reported once.
    reported: bool,
}

impl WatchedSource {
    fn new(source: Box<dyn CounterSource>) -> WatchedSource {
        let def = source.describe();
        let label = format!("`{}` ({})", def.name, def.subject);
        WatchedSource { source: Some(source), label, counters: def.counters.len(), reported: false }
    }

    /// The values, all of them gaps if the source failed, and the report if it failed for the first time.
    fn read_values(&mut self) -> (Vec<Option<f64>>, Option<String>) {
        let Some(source) = &mut self.source else { return (vec![None; self.counters], None) };
        let counters = self.counters;
        // A panic of one source must not end the sampling of the others.
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let values = source.read();
            // A source with too few values would shift the columns of its counters, so it counts as broken.
            assert_eq!(values.len(), counters, "values for {counters} counters");
            values
        }));
        match outcome {
            Ok(values) if values.is_empty() || values.iter().any(Option::is_some) => (values, None),
            Ok(values) => {
                let text = self.no_values();
                (values, self.report_once(text))
            }
            Err(panic) => {
                // It may have stopped halfway through a change of its own state, so it is not called again.
                self.source = None;
                (
                    vec![None; counters],
                    self.report_once(format!(
                        "the counter source {} broke and is not read any more: {}",
                        self.label,
                        panic_text(&*panic)
                    )),
                )
            }
        }
    }

    fn report_once(&mut self, what: String) -> Option<String> {
        let first = !std::mem::replace(&mut self.reported, true);
        first.then_some(what)
    }

    fn no_values(&self) -> String {
        format!("the counter source {} gives no values any more", self.label)
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proc_file::counter;
    use model::SourceDef;
    use std::cell::Cell;
    use std::rc::Rc;
    use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

    const SECOND: Nanos = Nanos::from_secs(1);

    /// A source of one counter that follows a script at its n-th reading.
    struct Scripted<F>(&'static str, u32, F);

    impl<F: FnMut(u32) -> Vec<Option<f64>> + Send> CounterSource for Scripted<F> {
        fn describe(&self) -> SourceDef {
            SourceDef { name: self.0.into(), subject: "test".into(), counters: vec![counter("n", "count", "readings")] }
        }
        fn read(&mut self) -> Vec<Option<f64>> {
            self.1 += 1;
            (self.2)(self.1)
        }
    }

    fn scripted(name: &'static str, script: impl FnMut(u32) -> Vec<Option<f64>> + Send + 'static) -> WatchedSource {
        WatchedSource::new(Box::new(Scripted(name, 0, script)))
    }

    fn counting(name: &'static str) -> WatchedSource {
        scripted(name, |n| vec![Some(f64::from(n))])
    }

    /// Simulated time. Every wait takes as long as asked for, plus what the script adds; it stops after so many waits.
    struct SimPace {
        now: Rc<Cell<u64>>,
        waits: usize,
        waits_max: usize,
        /// The wait that is cut short by a wish for a reading, 0.3 s after it began.
        read_now_at: usize,
        /// The wait that is cut short by the wish for readings whole intervals after this many seconds.
        read_from_at: Option<(usize, f64)>,
        answers: Rc<Cell<u32>>,
        oversleep: fn(usize) -> Nanos,
        read_cost: Nanos,
    }

    impl SimPace {
        fn new(waits_max: usize) -> SimPace {
            let now = Rc::new(Cell::new(0));
            let (answers, oversleep) = (Rc::default(), |_| Nanos(0));
            let (read_now_at, read_from_at, read_cost) = (0, None, Nanos(0));
            SimPace { now, waits: 0, waits_max, read_now_at, read_from_at, answers, oversleep, read_cost }
        }
    }

    impl SamplerPace for SimPace {
        /// Each look at the clock costs, so that readings take time.
        fn now(&self) -> Tick {
            self.now.set(self.now.get() + self.read_cost.0);
            Tick(self.now.get())
        }
        fn wait_for(&mut self, length: Nanos) -> WakeReason {
            self.waits += 1;
            if self.waits == self.read_now_at {
                self.now.set(self.now.get() + 300_000_000);
                return WakeReason::ReadNow;
            }
            if let Some((_, start_s)) = self.read_from_at.filter(|(wait, _)| *wait == self.waits) {
                return WakeReason::ReadFrom(Tick((start_s * 1e9) as u64));
            }
            self.now.set(self.now.get() + length.0 + (self.oversleep)(self.waits).0);
            if self.waits > self.waits_max { WakeReason::Stop } else { WakeReason::GoOn }
        }
        fn answer(&mut self) {
            self.answers.set(self.answers.get() + 1);
        }
    }

    fn run(sources: Vec<WatchedSource>, pace: SimPace) -> SamplerOutput {
        let mut all = SamplerOutput::default();
        run_sampler(sources, SECOND, pace, &mut |output| all.append(output));
        all
    }

    fn seconds(output: &SamplerOutput) -> Vec<f64> {
        output.samples.iter().map(|sample| sample.at.0 as f64 / 1e9).collect()
    }

    #[test]
    fn readings_stand_on_the_grid_with_one_at_the_start_and_one_at_the_stop() {
        let output = run(vec![counting("a")], SimPace::new(3));
        assert_eq!(seconds(&output), [0.0, 1.0, 2.0, 3.0, 4.0]);
        assert!(output.events.is_empty());
    }

    #[test]
    fn a_reading_that_is_wanted_now_begins_a_new_grid() {
        let output = run(vec![counting("a")], SimPace { read_now_at: 2, ..SimPace::new(3) });
        assert_eq!(seconds(&output), [0.0, 1.0, 1.3, 2.3, 3.3]);
        assert!(output.events.is_empty());
    }

    #[test]
    fn readings_follow_a_phase_that_begins_after_one_that_was_waited_for() {
        let pace = SimPace { read_now_at: 1, read_from_at: Some((2, 0.32)), ..SimPace::new(4) };
        let answers = pace.answers.clone();
        let output = run(vec![counting("a")], pace);
        assert_eq!(seconds(&output), [0.0, 0.3, 1.32, 2.32, 3.32]);
        assert_eq!((answers.get(), output.events.len()), (1, 0));
    }

    #[test]
    fn a_source_whose_engine_was_started_again_is_read_again_in_its_old_column() {
        let gone = Scripted("engine", 0, |n| vec![(n == 1).then_some(1.0)]);
        let other = |_: u32| vec![Some(7.0)];
        let mut sampler = Sampler::start(
            vec![Box::new(gone), Box::new(Scripted("cpu", 0, other))],
            Nanos::from_secs(60),
            GapGrain::Load,
            || Tick(0),
        );
        (0..2).for_each(|_| sampler.read_and_wait());
        let fresh = |name| Box::new(Scripted(name, 0, |_| vec![Some(5.0)])) as Box<dyn CounterSource>;
        sampler.renew(vec![fresh("new and unknown"), fresh("engine")]);
        sampler.read_and_wait();
        let (samples, events) = sampler.drain();
        let last: Vec<(u16, Option<f64>)> =
            samples[samples.len() - 2..].iter().map(|sample| (sample.source, sample.values[0])).collect();
        assert_eq!(last, [(0, Some(5.0)), (1, Some(7.0))]);
        assert!(events.is_empty(), "the engine was away on purpose: {events:?}");
    }

    #[test]
    fn a_reading_that_the_owner_waits_for_is_there_when_it_goes_on() {
        let source = Scripted("a", 0, |n| vec![Some(f64::from(n))]);
        let mut sampler =
            Sampler::start(vec![Box::new(source)], Nanos::from_secs(1 << 30), GapGrain::Load, jumping_clock());
        for nth in 1..=100 {
            sampler.read_and_wait();
            // The first wait sees the reading at the start, too.
            let numbers: Vec<_> = sampler.drain().0.iter().filter_map(|sample| sample.values[0]).collect();
            assert_eq!(numbers.last(), Some(&(f64::from(nth) + 1.0)));
        }
    }

    #[test]
    fn lateness_does_not_shift_the_grid_and_missed_points_are_left_out() {
        let oversleep = |wait| Nanos::from_millis(if wait == 2 { 2_300 } else { 100 });
        let output = run(vec![counting("a")], SimPace { oversleep, ..SimPace::new(3) });
        assert_eq!(seconds(&output), [0.0, 1.1, 4.3, 5.1, 6.1]);
    }

    #[test]
    fn a_reading_that_takes_very_long_is_an_event_and_the_grid_stays() {
        let output = run(vec![counting("a")], SimPace { read_cost: Nanos::from_secs(3), ..SimPace::new(1) });
        let gaps =
            output.events.iter().filter(|event| event.text.starts_with("one reading of all counters took 6.00 s"));
        assert_eq!(gaps.count(), 2);
        assert!(output.events.iter().all(|event| event.kind == EventKind::SourceGap));
    }

    #[test]
    fn a_grid_of_no_length_still_moves_on() {
        let mut grid = ReadingGrid::from_now(Tick(0), Nanos(0));
        grid.skip_to(Tick(0));
        assert!(grid.next > Tick(0));
    }

    #[test]
    fn a_source_that_panics_is_a_gap_and_an_event_and_the_others_go_on() {
        let breaking = scripted("bad", |n| if n < 2 { vec![Some(1.0)] } else { panic!("no such table {n}") });
        let output = run(vec![breaking, counting("good")], SimPace::new(3));
        let of = |source| output.samples.iter().filter(move |s| s.source == source).map(|s| s.values[0]);
        assert_eq!(of(0).collect::<Vec<_>>(), [Some(1.0), None, None, None, None]);
        assert_eq!(of(1).flatten().collect::<Vec<_>>(), [1.0, 2.0, 3.0, 4.0, 5.0]);
        let [event] = output.events.as_slice() else { panic!("{:?}", output.events) };
        assert_eq!(event.kind, EventKind::SourceGap);
        assert_eq!(event.text, "the counter source `bad` (test) broke and is not read any more: no such table 2");
    }

    #[test]
    fn a_source_that_fails_again_and_again_is_reported_once() {
        let flapping = scripted("flap", |n| vec![(n % 2 == 1).then_some(1.0)]);
        let output = run(vec![flapping], SimPace::new(5));
        assert_eq!(output.samples.iter().filter(|sample| sample.values == [None]).count(), 3);
        let [event] = output.events.as_slice() else { panic!("{:?}", output.events) };
        assert_eq!((event.at, event.kind), (Tick(1_000_000_000), EventKind::SourceGap));
    }

    #[test]
    fn a_source_with_too_many_values_is_broken_and_its_gaps_have_the_right_number() {
        let output = run(vec![scripted("wide", |_| vec![Some(1.0), Some(2.0)])], SimPace::new(0));
        assert!(output.samples.iter().all(|sample| sample.values == [None]));
        assert_eq!(output.events.len(), 1);
    }

    /// A clock that a thread can carry: it jumps an interval with every look.
    fn jumping_clock() -> impl Fn() -> Tick + Send + Clone {
        let now = Arc::new(AtomicU64::new(0));
        move || Tick(now.fetch_add(SECOND.0, SeqCst))
    }

    #[test]
    fn the_thread_reads_at_once_and_once_more_at_the_stop() {
        let source = Scripted("a", 0, |n| vec![Some(f64::from(n))]);
        let sampler = Sampler::start(vec![Box::new(source)], Nanos::from_secs(3600), GapGrain::Load, jumping_clock());
        let (samples, _) = sampler.stop(READING_WAIT);
        assert!(samples.len() >= 2, "{samples:?}");
        assert!(samples.windows(2).all(|pair| pair[0].at < pair[1].at));
    }

    #[test]
    fn what_was_drained_does_not_come_again() {
        let (read, has_read) = std::sync::mpsc::channel();
        let source = Scripted("a", 0, move |n| {
            let _ = read.send(n);
            vec![Some(f64::from(n))]
        });
        let mut sampler =
            Sampler::start(vec![Box::new(source)], Nanos::from_millis(1), GapGrain::Load, jumping_clock());
        (0..3).for_each(|_| _ = has_read.recv().unwrap());
        let mut numbers: Vec<f64> = Vec::new();
        numbers.extend(sampler.drain().0.iter().filter_map(|sample| sample.values[0]));
        numbers.extend(sampler.stop(READING_WAIT).0.iter().filter_map(|sample| sample.values[0]));
        let wanted: Vec<f64> = (1..=numbers.len()).map(|n| n as f64).collect();
        assert_eq!(numbers, wanted);
    }

    #[test]
    fn dropping_the_sampler_ends_its_thread_and_frees_the_sources() {
        let (alive, is_alive) = std::sync::mpsc::channel::<()>();
        let source = Scripted("a", 0, move |_| {
            let _still_here = &alive;
            vec![Some(1.0)]
        });
        drop(Sampler::start(vec![Box::new(source)], Nanos::from_secs(3600), GapGrain::Load, jumping_clock()));
        assert!(
            is_alive
                .recv_timeout(Duration::from_secs(30))
                .is_err_and(|e| e == std::sync::mpsc::RecvTimeoutError::Disconnected)
        );
    }
}
