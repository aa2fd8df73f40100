//! A source of thread times: a thread that looks, and the readings of what it has added up.
//!
//! In: a group of threads. Out: counters in nanoseconds. Limits: a reading looks itself if the last look is not fresh, so that it has
//! what happened up to its own moment; if looking is expensive, it has what happened up to the last look.

use super::members::ThreadGroup;
use super::watch::{ThreadTotals, Watch};
use crate::proc_file::counter;
use crate::{CounterSource, SourceEntry, SourceMissing};
use model::{CounterDef, CounterRole, SourceDef, ThreadOf, ThreadState};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Watches `group`, whose threads are those `of` the engine or the clients, from now on.
pub(crate) fn open_watch(
    entry: &SourceEntry,
    subject: &str,
    of: ThreadOf,
    group: ThreadGroup,
) -> Result<Box<dyn CounterSource>, SourceMissing> {
    let began = Instant::now();
    let may_end = matches!(group, ThreadGroup::Processes(_));
    let (gap, cpu, owed) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
    let state = LookState { watch: Watch::open(group, 0)?, looked_at: began, gap, cpu, owed };
    let looker = Arc::new(Looker { began, state: Mutex::new(state) });
    let (stop, stopped) = channel();
    let (looking, builder) = (looker.clone(), std::thread::Builder::new().name("thread-watch".into()));
    // Without the thread there is a look at each reading.
    let _ = builder.stack_size(256 << 10).spawn(move || looking.run(&stopped));
    Ok(Box::new(ThreadSource { name: entry.name, subject: subject.to_owned(), of, may_end, looker, _stop: stop }))
}

struct ThreadSource {
    name: &'static str,
    subject: String,
    of: ThreadOf,
    /// Whether a group without threads has ended; clients come later.
    may_end: bool,
    looker: Arc<Looker>,
    /// That it is dropped asks the thread to stop.
    _stop: Sender<()>,
}

/// What the thread that looks and the source share.
struct Looker {
    began: Instant,
    state: Mutex<LookState>,
}

struct LookState {
    watch: Watch,
    looked_at: Instant,
    /// The time until the next look.
    gap: Duration,
    /// The CPU time of all looks.
    cpu: Duration,
    /// The part of it that the time since has not paid for yet.
    owed: Duration,
}

impl LookState {
    fn look(&mut self, began: Instant) {
        let before = cpu_of_this_thread();
        let passed = self.looked_at.elapsed();
        self.looked_at += passed;
        self.watch.look(self.looked_at.duration_since(began).as_nanos() as u64);
        let cpu = cpu_of_this_thread().saturating_sub(before);
        self.cpu += cpu;
        // A reading looks before its turn: with short intervals that would double the cost, so the next turn is later.
        self.owed = Watch::owed_after(passed, self.owed) + cpu;
        self.gap = Watch::gap_after(self.owed);
    }
}

impl Looker {
    /// A panic of one look leaves numbers that are still numbers.
    fn lock_state(&self) -> MutexGuard<'_, LookState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self, stopped: &Receiver<()>) {
        let mut chance = 0u64;
        loop {
            // A linear congruential generator (Knuth, TAOCP volume 2, section 3.3.4) is random enough for this.
            chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let spread = 0.75 + 0.5 * (chance >> 40) as f64 / (1u64 << 24) as f64;
            if self.wait_for_turn(spread, stopped) {
                return;
            }
            self.lock_state().look(self.began);
        }
    }

    /// Waits until `spread` times the gap is over since the last look, whoever looked. True if it is to stop.
    fn wait_for_turn(&self, spread: f64, stopped: &Receiver<()>) -> bool {
        loop {
            let rest = {
                let state = self.lock_state();
                state.gap.mul_f64(spread).saturating_sub(state.looked_at.elapsed())
            };
            if stopped.recv_timeout(rest) != Err(RecvTimeoutError::Timeout) {
                return true;
            }
            if rest.is_zero() {
                return false;
            }
        }
    }

    /// What the threads did up to now, and the CPU time of all looks; `None` if there are no threads.
    fn read(&self) -> (ThreadTotals, Duration, bool) {
        let mut state = self.lock_state();
        // Before a phase begins all new sessions wait for their clients: this is seen once, and may be never again.
        if state.watch.has_changed() || state.looked_at.elapsed() > state.gap / 2 {
            state.look(self.began);
        }
        (state.watch.totals(), state.cpu, state.watch.has_threads())
    }
}

impl CounterSource for ThreadSource {
    fn describe(&self) -> SourceDef {
        let state = |state| state_counter(self.of, state);
        let idle = counter("idle_ns", "ns", "waiting for work; this is in no share");
        let watch = counter("watch_cpu_ns", "ns", "CPU time that plimsoll used to look at these threads")
            .read_as(CounterRole::ThreadWatchCpu);
        let stopped = counter("stopped_ns", "ns", "time in which most of these threads were stopped");
        let stopped = if self.of == ThreadOf::Engine { stopped.read_as(CounterRole::EngineStopped) } else { stopped };
        let looks =
            counter("looks", "count", "looks at threads that were at work").read_as(CounterRole::ThreadLooks(self.of));
        let counters = ThreadState::ALL.into_iter().map(state).chain([idle, watch, stopped, looks]).collect();
        SourceDef { name: self.name.to_owned(), subject: self.subject.clone(), counters }
    }

    fn read(&mut self) -> Vec<Option<f64>> {
        let (totals, cpu, has_threads) = self.looker.read();
        let others = [totals.idle_ns, cpu.as_nanos() as u64, totals.stopped_ns, totals.looks];
        let all = totals.in_state.into_iter().chain(others);
        all.map(|value| (has_threads || !self.may_end).then_some(value as f64)).collect()
    }
}

fn state_counter(of: ThreadOf, state: ThreadState) -> CounterDef {
    let (name, help) = match (state, of) {
        (ThreadState::Cpu, _) => ("cpu_ns", "on a CPU"),
        (ThreadState::Runnable, _) => ("runnable_ns", "in the queue of a CPU"),
        (ThreadState::Read, _) => ("read_ns", "waiting for reads of storage"),
        (ThreadState::Sync, _) => ("sync_ns", "waiting for writes and syncs of storage"),
        (ThreadState::Lock, _) => ("lock_ns", "waiting for another thread: a lock, or one that syncs for a group"),
        (ThreadState::Client, ThreadOf::Client) => ("engine_ns", "waiting for the engine"),
        (ThreadState::Client, _) => ("client_ns", "waiting for clients"),
        (ThreadState::Other, _) => ("other_ns", "waiting for something else, or stopped"),
    };
    counter(name, "ns", help).read_as(CounterRole::ThreadTime(of, state))
}

fn cpu_of_this_thread() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}
