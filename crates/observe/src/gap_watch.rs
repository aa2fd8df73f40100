//! Watches for gaps of plimsoll itself: it was stopped, frozen or got no CPU, or the machine was suspended; and for a clock that was set.
//!
//! In: the run's clock. Out: the events of gaps of five [`GapGrain`]s and more, never below [`OWN_GAP_MIN`]. A thread
//! wakes every [`GapGrain`] and compares clocks: the time since it last ran, its own time in the queue for a CPU
//! (`/proc/thread-self/schedstat`), the CPU time of the whole process, and CLOCK_BOOTTIME, which goes on while the machine is
//! suspended, and CLOCK_REALTIME, which can be set. A wake-up costs about 5 us.
//!
//! What is proved. A thread that is late and was not in the queue did not run because something held it: a signal, the freezer, the
//! hypervisor. A thread that was in the queue waited for a CPU, which is a gap only if the other threads of plimsoll hardly got one
//! either. The CPU time and the context switches of the process show whether they ran meanwhile: a client that ends operations has a
//! switch for each, or uses its CPU.
//!
//! Limits: a gap is known to one grain, and begins at the last wake-up before it. Without `schedstat` a wait for a CPU looks like a stop,
//! and a process that waits for its own memory to be swapped in looks stopped, too.
//! In a wait of all of plimsoll its clients may have ended operations at less than two fifths of their pace before.

use crate::sched_stat::SchedStat;
use model::{Event, EventKind, Nanos, OWN_GAP_MIN, OwnGap, OwnGapCause, Tick};
use rustix::time::{ClockId, clock_gettime};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How finely gaps are seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GapGrain {
    /// Of a load, whose response times a gap may be in. A shorter time costs more CPU than it is worth.
    Load,
    /// Of a watch without a load: of it only readings may be late.
    Watch,
}

impl GapGrain {
    /// From one wake-up to the next.
    fn wake_every(self) -> Nanos {
        match self {
            GapGrain::Load => Nanos::from_millis(20),
            GapGrain::Watch => Nanos::from_millis(100),
        }
    }

    /// A shorter gap is none: it must be several wake-ups long.
    fn gap_min(self) -> Nanos {
        OWN_GAP_MIN.max(Nanos(5 * self.wake_every().0))
    }
}

/// Two readings of clocks that lie further apart were interrupted, and their difference means nothing.
const CLOCKS_APART_MAX: Nanos = Nanos::from_millis(1);

/// More CPU time than this part of a wait was used by threads that ran.
const USED_PART: u64 = 50;

/// A wait is five wake-ups long and more: threads that have no more switches in it than in two of these were slower than two fifths.
const PACE_FACTOR: u64 = 2;

/// The switches of plimsoll's own threads around a gap: of this one, and of those that wake at its end.
const OWN_SWITCHES: u64 = 4;

/// The running watch. It ends when it is stopped or dropped.
pub(crate) struct GapWatch {
    seen: Arc<Mutex<Vec<Event>>>,
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl GapWatch {
    /// Begins to watch, at the times of the clock `now`. Without a thread nothing is watched.
    pub fn start(grain: GapGrain, now: impl Fn() -> Tick + Send + 'static) -> GapWatch {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (stop, stopped) = channel();
        let shared = seen.clone();
        let watch = move || watch_gaps(grain, &now, &stopped, &mut |events| lock(&shared).extend(events));
        let thread = std::thread::Builder::new().name("gap-watch".into()).stack_size(128 << 10).spawn(watch).ok();
        GapWatch { seen, stop: Some(stop), thread }
    }

    /// The events since the last call.
    pub fn drain(&self) -> Vec<Event> {
        std::mem::take(&mut *lock(&self.seen))
    }

    /// Looks once more and ends. Returns the events since the last call of [`GapWatch::drain`].
    pub fn stop(&mut self) -> Vec<Event> {
        drop(self.stop.take());
        // It only reads clocks, so it ends at once: a gap that has just ended is not lost.
        self.thread.take().map(JoinHandle::join);
        self.drain()
    }
}

/// No code that can panic runs under the lock, so a poisoned one is intact.
fn lock(seen: &Mutex<Vec<Event>>) -> std::sync::MutexGuard<'_, Vec<Event>> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The watch's life: wait, read the clocks, compare; once more when the owner is gone.
fn watch_gaps(grain: GapGrain, now: &impl Fn() -> Tick, stopped: &Receiver<()>, deliver: &mut dyn FnMut(Vec<Event>)) {
    let clocks = ProcessClocks::open(grain);
    let mut before = clocks.read(now);
    let mut pace = 0;
    loop {
        let wake = stopped.recv_timeout(Duration::from_nanos(grain.wake_every().0));
        let reading = clocks.read(now);
        let events = clocks.compare(&before, &reading, pace);
        pace = reading.switches.saturating_sub(before.switches);
        if !events.is_empty() {
            deliver(events);
        }
        before = reading.or_apart(before);
        if wake != Err(RecvTimeoutError::Timeout) {
            return;
        }
    }
}

/// The clocks of this process and this thread.
struct ProcessClocks {
    /// `/proc/thread-self/schedstat` of the thread that opened it; `None` if the kernel has none.
    schedstat: Option<File>,
    /// How many threads can run at once.
    cpus: u64,
    grain: GapGrain,
}

/// The clocks at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
struct ClockReading {
    at: Tick,
    /// How long the thread has waited for a CPU since it began; 0 if the kernel does not count it.
    waited: Nanos,
    /// The CPU time of all threads of the process.
    used: Nanos,
    /// How often they gave up a CPU or lost it.
    switches: u64,
    /// How the clocks of the machine differ; `None` if the reading was interrupted.
    apart: Option<ClocksApart>,
}

/// How the clocks of the machine differ.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct ClocksApart {
    /// How long the machine has been suspended since it started.
    asleep: Nanos,
    /// By the wall clock, when it started: this changes only if that clock is set.
    started_ns: i64,
}

impl ClockReading {
    /// The same, with the differences of `before` if it has none.
    fn or_apart(self, before: ClockReading) -> ClockReading {
        ClockReading { apart: self.apart.or(before.apart), ..self }
    }
}

impl ProcessClocks {
    fn open(grain: GapGrain) -> ProcessClocks {
        let cpus = std::thread::available_parallelism().map_or(1, |cpus| cpus.get() as u64);
        ProcessClocks { schedstat: File::open("/proc/thread-self/schedstat").ok(), cpus, grain }
    }

    fn read(&self, now: &impl Fn() -> Tick) -> ClockReading {
        let [monotonic, boot, wall, again] =
            [ClockId::Monotonic, ClockId::Boottime, ClockId::Realtime, ClockId::Monotonic].map(time_of);
        let is_narrow = again.0 - monotonic.0 <= CLOCKS_APART_MAX.0;
        let asleep = Nanos(boot.0.saturating_sub(monotonic.0));
        let apart = ClocksApart { asleep, started_ns: wall.0.wrapping_sub(boot.0) as i64 };
        let usage = usage_of_process();
        ClockReading {
            at: now(),
            waited: self.schedstat.as_ref().and_then(read_waited).unwrap_or_default(),
            used: Nanos(nanos_of(usage.ru_utime) + nanos_of(usage.ru_stime)),
            switches: (usage.ru_nvcsw + usage.ru_nivcsw) as u64,
            apart: is_narrow.then_some(apart),
        }
    }

    /// What happened between two readings, if it is worth an event. `pace` is the number of switches between the two before.
    fn compare(&self, before: &ClockReading, now: &ClockReading, pace: u64) -> Vec<Event> {
        let gap = self.find_gap(before, now, pace).into_iter().flat_map(OwnGap::to_events);
        gap.chain(find_suspend(before, now)).chain(find_clock_set(before, now)).collect()
    }

    fn find_gap(&self, before: &ClockReading, now: &ClockReading, pace: u64) -> Option<OwnGap> {
        let length = now.at.since(before.at);
        if length < self.grain.gap_min() {
            return None;
        }
        let since = |now: Nanos, before: Nanos| Nanos(now.0.saturating_sub(before.0));
        let (waited, used) = (since(now.waited, before.waited), since(now.used, before.used));
        let is_stopped = length.0.saturating_sub(waited.0) >= self.grain.gap_min().0;
        let (cause, used_max) = if is_stopped {
            // Other threads ran until the stop, and while this one waited for its turn after it.
            (OwnGapCause::Stopped, self.cpus * (2 * self.grain.wake_every().0 + waited.0))
        } else {
            (OwnGapCause::NoCpu, length.0 / USED_PART)
        };
        let switches = now.switches.saturating_sub(before.switches);
        let others_ran = used.0 > used_max || (!is_stopped && switches > PACE_FACTOR * pace + OWN_SWITCHES);
        (!others_ran).then_some(OwnGap { from: before.at, to: now.at, cause })
    }
}

fn find_suspend(before: &ClockReading, now: &ClockReading) -> Option<Event> {
    let slept = Nanos(now.apart?.asleep.0.saturating_sub(before.apart?.asleep.0));
    let text = || format!("the machine was suspended for {slept}");
    (slept >= OWN_GAP_MIN).then(|| Event::new(now.at, EventKind::Suspend, text()))
}

/// A clock that is slewed moves by some 10 us between two wake-ups.
fn find_clock_set(before: &ClockReading, now: &ClockReading) -> Option<Event> {
    let moved_ns = now.apart?.started_ns.saturating_sub(before.apart?.started_ns);
    let way = if moved_ns < 0 { "back" } else { "forward" };
    let text = || format!("the wall clock was set {way} by {}", Nanos(moved_ns.unsigned_abs()));
    (moved_ns.unsigned_abs() >= OWN_GAP_MIN.0).then(|| Event::new(now.at, EventKind::WallClock, text()))
}

/// What all threads of this process have used since it began.
fn usage_of_process() -> libc::rusage {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is valid for one rusage, and all-zero bytes are a valid rusage if the call fails.
    unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        usage.assume_init()
    }
}

fn nanos_of(time: libc::timeval) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000
}

fn time_of(clock: ClockId) -> Nanos {
    let time = clock_gettime(clock);
    Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// The time in the queue for a CPU.
fn read_waited(schedstat: &File) -> Option<Nanos> {
    let mut text = [0; 128];
    let length = schedstat.read_at(&mut text, 0).ok()?;
    SchedStat::parse(std::str::from_utf8(&text[..length]).ok()?).map(|stat| Nanos(stat.queued_ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLOCKS: ProcessClocks = ProcessClocks { schedstat: None, cpus: 2, grain: GapGrain::Load };

    fn reading(at_ms: u64, waited_ms: u64, used_ms: u64) -> ClockReading {
        let [at, waited, used] = [at_ms, waited_ms, used_ms].map(|ms| ms * 1_000_000);
        ClockReading {
            at: Tick(at),
            waited: Nanos(waited),
            used: Nanos(used),
            switches: 0,
            apart: Some(ClocksApart::default()),
        }
    }

    /// The cause of a gap that began after 1 s, at which the thread had waited 5 ms and the process had used 900 ms.
    fn cause_after(length_ms: u64, waited_ms: u64, used_ms: u64) -> Option<OwnGapCause> {
        let (before, now) = (reading(1_000, 5, 900), reading(1_000 + length_ms, 5 + waited_ms, 900 + used_ms));
        CLOCKS.find_gap(&before, &now, 0).map(|gap| gap.cause)
    }

    #[test]
    fn a_process_that_was_stopped_did_not_wait_for_a_cpu() {
        assert_eq!(cause_after(1_000, 0, 20), Some(OwnGapCause::Stopped));
        // Woken with many others, it waited for its turn after the stop.
        assert_eq!(cause_after(1_060, 60, 150), Some(OwnGapCause::Stopped));
        assert_eq!(cause_after(99, 0, 0), None, "shorter gaps come by themselves");
    }

    #[test]
    fn a_busy_cpu_is_no_stop_and_a_gap_only_if_all_of_plimsoll_waited() {
        assert_eq!(cause_after(200, 180, 0), Some(OwnGapCause::NoCpu));
        assert_eq!(cause_after(200, 180, 150), None, "its clients ran meanwhile");
        assert_eq!(cause_after(200, 0, 190), None, "one CPU did not run, and the clients did on the other");
    }

    #[test]
    fn clients_that_went_on_without_much_cpu_show_by_their_switches() {
        let switched = |switches| {
            let now = ClockReading { switches, ..reading(1_200, 180, 0) };
            CLOCKS.find_gap(&reading(1_000, 0, 0), &now, 40).map(|gap| gap.cause)
        };
        assert_eq!(switched(400), None, "at their pace of 40 in 20 ms");
        assert_eq!(switched(60), Some(OwnGapCause::NoCpu));
    }

    #[test]
    fn a_gap_lasts_from_the_last_wake_up_before_it_to_the_first_after_it() {
        let gap = CLOCKS.find_gap(&reading(1_000, 0, 0), &reading(1_240, 0, 0), 0).expect("it is long enough");
        assert_eq!((gap.from, gap.to), (Tick(1_000_000_000), Tick(1_240_000_000)));
    }

    #[test]
    fn a_suspended_machine_shows_in_the_clock_that_goes_on() {
        let apart = |seconds| ClocksApart { asleep: Nanos::from_secs(seconds), started_ns: 0 };
        let asleep = |seconds| ClockReading { apart: Some(apart(seconds)), ..reading(1_000, 0, 0) };
        let events = CLOCKS.compare(&asleep(5), &asleep(12), 0);
        let [event] = events.as_slice() else { panic!("{events:?}") };
        assert_eq!((event.kind, event.text.as_str()), (EventKind::Suspend, "the machine was suspended for 7.00 s"));
        let interrupted = ClockReading { apart: None, ..asleep(5) };
        assert_eq!(CLOCKS.compare(&asleep(5), &interrupted, 0), []);
        assert_eq!(interrupted.or_apart(asleep(5)), asleep(5));
    }

    #[test]
    fn a_wall_clock_that_is_set_is_told_from_one_that_is_slewed() {
        let started = |started_ns| ClockReading {
            apart: Some(ClocksApart { started_ns, ..ClocksApart::default() }),
            ..reading(1_000, 0, 0)
        };
        let told = |before, now| CLOCKS.compare(&started(before), &started(now), 0).pop().map(|event| event.text);
        const HOUR: i64 = 3_600_000_000_000;
        assert_eq!(told(0, HOUR).as_deref(), Some("the wall clock was set forward by 3600 s"));
        assert_eq!(told(HOUR, HOUR - 500_000_000).as_deref(), Some("the wall clock was set back by 500 ms"));
        assert_eq!(told(HOUR, HOUR + 10_000), None);
    }

    #[test]
    fn a_clock_that_jumps_is_a_gap_that_is_known_at_the_end() {
        let jumps = std::sync::atomic::AtomicU64::new(0);
        let mut watch = GapWatch::start(GapGrain::Load, move || {
            Tick(jumps.fetch_add(5_000_000_000, std::sync::atomic::Ordering::SeqCst))
        });
        let events = watch.stop();
        assert!(events.len() >= 2 && events[0].kind == EventKind::OwnStop, "{events:?}");
        assert_eq!(OwnGap::from_events(&events)[0].length(), Nanos::from_secs(5));
    }
}
