//! Takes the stacks of a private server while it is measured: at stalls, and at random moments to compare them with.
//!
//! In: a tool that can take them, the processes of the server, and the number of operations done. Out: snapshots, and an event for each.
//! Limits: only in the run phase. A point has at most [`SNAPSHOTS_MAX`] snapshots of each kind and [`TEXT_MAX`] bytes of them. A moment
//! that falls into another snapshot is skipped. After a snapshot the watch for stalls begins again, because the tool has stopped the server.

mod moments;
mod stall;

use engine::EngineLocation;
use load::{Clock, MonotonicClock, Progress};
use model::stacks::fold_stacks;
use model::{Event, EventKind, Nanos, StackReason, StackSnapshot, Tick, Trial};
use moments::random_moments;
use observe::{StackTool, TakenStacks};
use stall::StallDetector;
use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The most snapshots of one kind.
const SNAPSHOTS_MAX: usize = moments::MOST as usize;
/// The most folded text of a point.
const TEXT_MAX: usize = 2 << 20;
/// From one look at the number of operations to the next.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// From one snapshot of a stall to the next: what a long one waits for may change.
const STALL_EVERY: Nanos = Nanos::from_secs(1);
/// A tool that fails so often in a row is not asked again.
const FAILURES_MAX: usize = 3;
/// How long the end of a point waits for a snapshot: as long as a tool may take.
const END_WAIT: Duration = Duration::from_secs(12);

/// What the watch has found.
#[derive(Debug, Default)]
pub(super) struct StackNews {
    pub snapshots: Vec<StackSnapshot>,
    /// An event for each, and what went wrong.
    pub events: Vec<Event>,
}

type SharedStackNews = Arc<Mutex<StackNews>>;

/// The watch over one trial.
pub(super) struct StackWatch {
    state: StackWatchState,
    news: SharedStackNews,
}

enum StackWatchState {
    /// No stacks are taken.
    Off,
    /// It begins with the run phase.
    Ready(StackTaker),
    /// It watches, on a thread of its own.
    Watching { stop: Sender<()>, ended: Receiver<()> },
}

/// Whose stacks are taken, and how.
struct StackTaker {
    tool: StackTool,
    processes: Vec<u32>,
}

impl StackWatch {
    /// A watch that takes no stacks.
    pub fn off() -> StackWatch {
        StackWatch { state: StackWatchState::Off, news: SharedStackNews::default() }
    }

    /// A watch over `trial`, whose engine runs in `location` with these processes. The tool is tried once.
    ///
    /// # Errors
    /// Why there will be no stacks, in words.
    pub fn open(trial: &Trial, location: EngineLocation, processes: Vec<u32>) -> Result<StackWatch, String> {
        if !trial.stacks {
            return Ok(StackWatch::off());
        }
        if let Some(reason) = why_not(location) {
            return Err(reason.to_owned());
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        let tool = StackTool::find(&path, &processes).map_err(|missing| missing.to_string())?;
        Ok(StackWatch {
            state: StackWatchState::Ready(StackTaker { tool, processes }),
            news: SharedStackNews::default(),
        })
    }

    /// The name of the tool that takes the stacks, if any are taken.
    pub fn tool(&self) -> Option<&'static str> {
        match &self.state {
            StackWatchState::Ready(taker) => Some(taker.tool.name()),
            _ => None,
        }
    }

    /// Begins to watch the run phase of `trial`, which has begun at `start`.
    pub fn begin(&mut self, trial: &Trial, start: Tick, progress: Progress, clock: MonotonicClock) {
        let StackWatchState::Ready(taker) = std::mem::replace(&mut self.state, StackWatchState::Off) else { return };
        let moments = random_moments(trial.phases.run, trial.seed).into_iter().map(|at| start + at).collect();
        let watched = WatchedPhase {
            taker,
            clock,
            end: start + trial.phases.run,
            stalls: StallDetector::new(trial.phases.interval, clock.now(), progress.ops_done()),
            progress,
            moments,
            next_stall: start,
            stalls_taken: 0,
            text_taken: 0,
            failures: 0,
            news: self.news.clone(),
        };
        let ((stop, stopped), (done, ended)) = (channel(), channel());
        let watch = move || {
            watched.watch(&stopped);
            let _ = done.send(()); // the point may have ended without waiting for it
        };
        let spawned = std::thread::Builder::new().name("stacks".into()).stack_size(512 << 10).spawn(watch);
        if let Err(error) = spawned {
            let text = format!("no stacks are taken: a thread cannot be started: {error}");
            lock_news(&self.news).events.push(Event::new(start, EventKind::Stacks, text));
        }
        self.state = StackWatchState::Watching { stop, ended };
    }

    /// Takes no further stacks: the load is over.
    pub fn stop(&self) {
        if let StackWatchState::Watching { stop, .. } = &self.state {
            let _ = stop.send(()); // a thread that is gone takes none
        }
    }

    /// What was found since the last call.
    pub fn drain(&self) -> StackNews {
        std::mem::take(&mut *lock_news(&self.news))
    }

    /// Ends, when a tool that works has done so. Returns what was found since the last call of [`StackWatch::drain`].
    pub fn end(self) -> StackNews {
        self.stop();
        if let StackWatchState::Watching { ended, .. } = &self.state {
            let _ = ended.recv_timeout(END_WAIT); // it ends by itself then, and what it takes is not recorded
        }
        self.drain()
    }
}

/// Why an engine at `location` cannot be stopped for its stacks.
fn why_not(location: EngineLocation) -> Option<&'static str> {
    match location {
        EngineLocation::Server => None,
        EngineLocation::Elsewhere => {
            Some("plimsoll did not start this server, and the tools that take stacks would stop it for others, too")
        }
        EngineLocation::InClients | EngineLocation::Embedded => {
            Some("this engine works inside plimsoll, and the tools that take stacks would stop the load, too")
        }
    }
}

/// No code that can panic runs under the lock, so a poisoned one is intact.
fn lock_news(news: &SharedStackNews) -> MutexGuard<'_, StackNews> {
    news.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A run phase that is watched.
struct WatchedPhase {
    taker: StackTaker,
    clock: MonotonicClock,
    progress: Progress,
    stalls: StallDetector,
    /// The random moments that are to come.
    moments: VecDeque<Tick>,
    /// When the phase ends at the latest.
    end: Tick,
    /// When the next snapshot of a stall may be taken.
    next_stall: Tick,
    stalls_taken: usize,
    /// Bytes of folded text.
    text_taken: usize,
    /// Failures of the tool without a success in between.
    failures: usize,
    news: SharedStackNews,
}

impl WatchedPhase {
    /// Watches until the phase or the room for snapshots is over, or the owner asks it to stop.
    fn watch(mut self, stopped: &Receiver<()>) {
        while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(LOOK_EVERY) {
            let now = self.clock.now();
            if now >= self.end || self.failures >= FAILURES_MAX || self.text_taken >= TEXT_MAX {
                return;
            }
            let done = self.progress.ops_done();
            let stalls = self.stalls.look(now, done);
            if let Some(reason) = self.reason_at(now, stalls) {
                self.take(reason, now);
                // The tool has stopped the server: without this its own stop would be the next stall.
                self.stalls.begin_again(self.clock.now(), self.progress.ops_done());
            }
        }
    }

    /// Why stacks are to be taken `now`, if they are. A random moment comes first: that it is in a stall is no matter to it.
    fn reason_at(&mut self, now: Tick, stalls: bool) -> Option<StackReason> {
        if self.moments.front().is_some_and(|moment| *moment <= now) {
            self.moments.retain(|moment| *moment > now);
            return Some(StackReason::Random);
        }
        let is_due = stalls && now >= self.next_stall && self.stalls_taken < SNAPSHOTS_MAX;
        is_due.then(|| {
            (self.next_stall, self.stalls_taken) = (now + STALL_EVERY, self.stalls_taken + 1);
            StackReason::Stall
        })
    }

    fn take(&mut self, reason: StackReason, at: Tick) {
        let name = self.taker.tool.name();
        match self.taker.tool.take(&self.taker.processes) {
            Ok(taken) => {
                self.failures = 0;
                self.keep(snapshot(name, reason, at, taken));
            }
            Err(why) => {
                self.failures += 1;
                let last = if self.failures >= FAILURES_MAX { "; no more are taken" } else { "" };
                self.note(at, format!("{name} could not take the stacks: {why}{last}"));
            }
        }
    }

    fn keep(&mut self, snapshot: StackSnapshot) {
        self.text_taken += fold_stacks(&snapshot.stacks).len();
        if self.text_taken > TEXT_MAX {
            return self.note(snapshot.at, "no more stacks are kept: 2 MiB of them are the most of a point".to_owned());
        }
        self.note(snapshot.at, describe(&snapshot));
        if snapshot.reason == StackReason::Stall && self.stalls_taken == SNAPSHOTS_MAX {
            let text = format!("no more stacks are taken at stalls: {SNAPSHOTS_MAX} are the most of a point");
            self.note(snapshot.at, text);
        }
        lock_news(&self.news).snapshots.push(snapshot);
    }

    fn note(&self, at: Tick, text: String) {
        lock_news(&self.news).events.push(Event::new(at, EventKind::Stacks, text));
    }
}

fn snapshot(tool: &str, reason: StackReason, at: Tick, taken: TakenStacks) -> StackSnapshot {
    let nanos = |time: Duration| Nanos(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    let TakenStacks { stacks, took, stopped } = taken;
    StackSnapshot { at, reason, tool: tool.to_owned(), took: nanos(took), stopped: nanos(stopped), stacks }
}

fn describe(snapshot: &StackSnapshot) -> String {
    let StackSnapshot { reason, tool, took, stopped, .. } = snapshot;
    let why = match reason {
        StackReason::Stall => "in a stall",
        StackReason::Random => "at a random moment",
    };
    format!("stacks taken {why}: {tool} ran for {took} and stopped the engine for {stopped}")
}
