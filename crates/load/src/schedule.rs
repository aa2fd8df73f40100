//! The schedule of one phase: which operation may start when. All clients of the phase share it.
//!
//! In: the phase's pacing and this host's part of it, its planned start and end, since when the client that asks has been free. If the
//! arrivals are those of a recording, each operation has its own time, and the schedule gets all of them to count ([`DueTimes`]). Out:
//! [`Admission`].
//! Limits: only arrivals that fall due between the start and the end of the phase are offered. Those that were not started are
//! counted as unserved. No arrival is lost without a count: `offered = started + unserved`.

use crate::clock::monotonic_ns;
use model::{Arrival, Arrivals, LoadPart, Nanos, OnError, Pacing, Phase, Tick};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU8, AtomicU64};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Keeps the arrivals of a trial apart from everything else that is drawn from its seed.
const ARRIVALS_STREAM: u64 = 0x6172_7269_7661_6c73;

/// How long after the end a client still starts what it would have started before, had it woken up in time. It bounds how long a
/// phase takes to end.
const CATCH_UP_MAX: Nanos = Nanos::from_millis(100);

/// What a client may do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// Closed loop: start the next operation; it is intended for the moment at which it starts.
    AtOnce,
    /// Open loop: this arrival fell due while every client was busy. It is late already.
    Due(Arrival),
    /// Open loop: this arrival is yours; wait for it. It may fall due after the phase has ended: then it is not performed.
    NotBefore(Arrival),
    /// Nothing more in this phase.
    Done,
}

/// Why a load is to end before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// The user asked for the end.
    Interrupted,
    /// An operation failed, and the trial stops at the first failure. It can be taken back if the run goes on with other points.
    Failure,
    /// A safety limit was reached (free space).
    Limit,
    /// What is done can no longer be recorded.
    Unrecorded,
    /// The user asked to leave out this point and to go on with the next. It can be taken back.
    Skipped,
}

impl StopReason {
    /// As it is kept; 0 is none.
    fn code(self) -> u8 {
        match self {
            StopReason::Interrupted => 1,
            StopReason::Failure => 2,
            StopReason::Limit => 3,
            StopReason::Unrecorded => 4,
            StopReason::Skipped => 5,
        }
    }
}

/// The shared request to end a load early. The first reason stays, unless it is that a point is skipped or failed and the run goes on.
#[derive(Debug, Default)]
pub struct Stop {
    reason: AtomicU8,
    /// When the first request came, by the kernel's monotonic clock in nanoseconds; 0 before it.
    requested_ns: AtomicU64,
    /// When the user asked, perhaps after another reason, by the same clock; 0 before it.
    interrupted_ns: AtomicU64,
}

impl Stop {
    /// Asks all clients to start nothing more. Safe to call from a signal handler.
    pub fn request(&self, reason: StopReason) {
        // Atomics and the clock only: a signal handler must not take a lock that its own thread may hold. The time comes first, so that
        // whoever sees the reason sees the time.
        let _ = self.requested_ns.compare_exchange(0, monotonic_ns(), Relaxed, Relaxed);
        let _ = self.reason.compare_exchange(0, reason.code(), Release, Relaxed);
        if reason == StopReason::Interrupted {
            let _ = self.interrupted_ns.compare_exchange(0, monotonic_ns(), Relaxed, Relaxed);
        }
    }

    /// Ends a request to skip a point, if there is one, so that the next point can be measured. If the user asked for the end of the run
    /// meanwhile, that is the reason from now on.
    pub fn end_skip(&self) {
        self.end(StopReason::Skipped);
    }

    /// Takes back that an operation failed, so that another point can be measured. If the user asked for the end of the run meanwhile, that is the
    /// reason from now on.
    pub fn end_failure(&self) {
        self.end(StopReason::Failure);
    }

    fn end(&self, reason: StopReason) {
        if self.reason() != Some(reason) {
            return;
        }
        // The time first: a request that comes in between sets its own.
        self.requested_ns.store(0, Relaxed);
        let _ = self.reason.compare_exchange(reason.code(), 0, Release, Relaxed);
        if self.is_interrupted() {
            self.request(StopReason::Interrupted);
        }
    }

    /// Whether the user asked, also if the load was to end for another reason before.
    pub fn is_interrupted(&self) -> bool {
        self.interrupted_ns.load(Relaxed) > 0
    }

    /// How long ago the user asked; `None` if nothing was asked.
    pub fn since_interruption(&self) -> Option<Duration> {
        let asked_ns = Some(self.interrupted_ns.load(Relaxed)).filter(|asked_ns| *asked_ns > 0)?;
        Some(Duration::from_nanos(monotonic_ns().saturating_sub(asked_ns)))
    }

    /// When the load was first asked to end, by the kernel's monotonic clock; `None` if it was not.
    pub(crate) fn requested_ns(&self) -> Option<u64> {
        self.reason().map(|_| self.requested_ns.load(Relaxed))
    }

    /// Why the load is to end; `None` if no stop was requested.
    #[inline]
    pub fn reason(&self) -> Option<StopReason> {
        match self.reason.load(Acquire) {
            0 => None,
            1 => Some(StopReason::Interrupted),
            2 => Some(StopReason::Failure),
            3 => Some(StopReason::Limit),
            5 => Some(StopReason::Skipped),
            _ => Some(StopReason::Unrecorded),
        }
    }
}

/// When the operations of one phase start.
#[derive(Debug)]
pub struct Schedule {
    /// The phase that it is of.
    pub phase: Phase,
    /// The moment when the phase begins.
    pub start: Tick,
    /// When it admits nothing more, in nanoseconds: as planned, or earlier if what was measured is enough.
    end_ns: AtomicU64,
    /// When the first of its clients began, in nanoseconds; [`u64::MAX`] before.
    began_ns: AtomicU64,
    /// Pause of a client between two operations; zero for none, and in an open loop.
    pub think: Nanos,
    /// What a failed operation does.
    pub on_error: OnError,
    /// Operations that may start, and how many of them still may; `None` for any number.
    ops_max: Option<u64>,
    ops_left: AtomicU64,
    /// Arrivals that clients took and left at the end, because they had waited for the engine until then.
    left: AtomicU64,
    pace: ArrivalPace,
}

#[derive(Debug)]
enum ArrivalPace {
    Closed,
    Constant(ConstantArrivals),
    Poisson(Mutex<Poisson>),
    Recorded(RecordedArrivals),
}

/// Arrivals of a recording, which goes on from phase to phase.
#[derive(Debug, Default)]
struct RecordedArrivals {
    /// `None` if they are not known: then none is offered.
    times: Option<Arc<dyn DueTimes>>,
    /// How much of the recording the phases before it have.
    before: Nanos,
}

impl RecordedArrivals {
    /// The arrivals of the first `length` of the phase.
    fn count_within(&self, length: Nanos) -> u64 {
        let Some(times) = &self.times else { return 0 };
        times.count_within(Nanos(self.before.0 + length.0)).saturating_sub(times.count_within(self.before))
    }
}

/// When the operations of a recording fall due. Each of them knows its own time ([`model::Op::due`]): whoever performs it has taken it with
/// its time, so that no two clients can exchange these.
pub trait DueTimes: fmt::Debug + Send + Sync {
    /// How many fall due in the first `length` of the recording.
    fn count_within(&self, length: Nanos) -> u64;
    /// When the last of them falls due; `None` if that is not known.
    fn last_due(&self) -> Option<Nanos> {
        None
    }
    /// The longest time after its own time within which an operation has still begun on time.
    fn on_time_within(&self) -> Nanos {
        Nanos(u64::MAX)
    }
    /// Takes over when the operations of one client, or of several that share a thread, began in the run phase.
    fn add_starts(&self, _starts: StartCounts) {}
}

/// How punctually the operations of a recording began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StartCounts {
    /// Operations that began, whatever became of them.
    pub begun: u64,
    /// Those of them that began too late ([`DueTimes::on_time_within`]).
    pub late: u64,
    /// The longest time between the time of an operation and its beginning.
    pub latest: Nanos,
}

impl StartCounts {
    /// Counts an operation that began so long after its time.
    #[inline]
    pub fn count(&mut self, error: Nanos, on_time_within: Nanos) {
        self.begun += 1;
        self.late += u64::from(error > on_time_within);
        self.latest = self.latest.max(error);
    }

    /// Adds what another client counted.
    pub fn add(&mut self, other: &StartCounts) {
        self.begun += other.begun;
        self.late += other.late;
        self.latest = self.latest.max(other.latest);
    }
}

/// Times in nanoseconds since the recording began, in rising order.
impl DueTimes for Vec<u64> {
    fn count_within(&self, length: Nanos) -> u64 {
        self.partition_point(|due_ns| *due_ns < length.0) as u64
    }

    fn last_due(&self) -> Option<Nanos> {
        self.last().copied().map(Nanos)
    }
}

/// Arrivals at equal distances, of which this host has a part: all hosts together have each of them once.
#[derive(Debug)]
struct ConstantArrivals {
    /// The distance of the arrivals of all hosts.
    period_ns: f64,
    part: LoadPart,
    /// The number of the next own one.
    next: AtomicU64,
}

impl ConstantArrivals {
    /// When the next falls due, in nanoseconds since the phase began.
    #[inline]
    fn hand_out(&self) -> u64 {
        constant_due_ns(self.period_ns, self.part.number_of(self.next.fetch_add(1, Relaxed)))
    }

    /// The own arrivals of the first `length_ns`.
    fn count_within(&self, length_ns: u64) -> u64 {
        self.part.dealt_of(count_constant_within(self.period_ns, length_ns))
    }
}

/// A Poisson process in time: the next arrival, and the generator of the distances between arrivals.
#[derive(Debug)]
struct Poisson {
    mean_ns: f64,
    next_ns: f64,
    handed_out: u64,
    /// Of those handed out, the ones that were still to come, in rising order: at most one for each client that waits.
    awaited_ns: VecDeque<u64>,
    rng: Xoshiro256PlusPlus,
}

impl Poisson {
    fn new(per_s: f64, seed: u64) -> Poisson {
        // A stream of its own, so that the arrivals and the keys of one seed are independent.
        let rng = Xoshiro256PlusPlus::seed_from_u64(seed ^ ARRIVALS_STREAM);
        let mut process =
            Poisson { mean_ns: 1e9 / per_s, next_ns: 0.0, handed_out: 0, awaited_ns: VecDeque::new(), rng };
        process.draw_next(); // the first arrival, too, comes after a random distance
        process
    }

    /// Hands out the next arrival at `now_ns`, or at the end if that is past; both are in nanoseconds since the phase began.
    fn hand_out(&mut self, now_ns: u64) -> u64 {
        let due_ns = self.next_ns as u64;
        self.handed_out += 1;
        self.draw_next();
        while self.awaited_ns.pop_front_if(|awaited_ns| *awaited_ns < now_ns).is_some() {}
        if due_ns >= now_ns {
            self.awaited_ns.push_back(due_ns);
        }
        due_ns
    }

    /// Distances are exponential, by inversion: -ln(U) / rate (Devroye, Non-Uniform Random Variate Generation, 1986, II.2).
    fn draw_next(&mut self) {
        self.next_ns += -(1.0 - self.rng.random::<f64>()).ln() * self.mean_ns;
    }

    /// The arrivals of the first `length_ns`. Those that no client came to ask for are drawn here, so that they count as unserved;
    /// those that a client waits for and that fall due later do not count.
    fn count_within(&mut self, length_ns: u64) -> u64 {
        let later = self.awaited_after(length_ns);
        while (self.next_ns as u64) < length_ns {
            self.hand_out(length_ns);
        }
        self.handed_out - later
    }

    /// Those of the first `length_ns` that were handed out so far.
    fn taken_within(&self, length_ns: u64) -> u64 {
        self.handed_out - self.awaited_after(length_ns)
    }

    /// Those handed out that fall due after the first `length_ns`.
    fn awaited_after(&self, length_ns: u64) -> u64 {
        self.awaited_ns.iter().filter(|awaited_ns| **awaited_ns >= length_ns).count() as u64
    }
}

/// When the nth of constant arrivals falls due, in nanoseconds since the phase began. It is computed from n: a sum of periods would
/// drift by their rounding.
fn constant_due_ns(period_ns: f64, nth: u64) -> u64 {
    (nth as f64 * period_ns).round() as u64
}

/// The constant arrivals of the first `length_ns`.
fn count_constant_within(period_ns: f64, length_ns: u64) -> u64 {
    // A division may round to the wrong side of a whole number: the last steps are taken one by one.
    let mut count = ((length_ns as f64 / period_ns) as u64).saturating_sub(1);
    while constant_due_ns(period_ns, count) < length_ns {
        count += 1;
    }
    count
}

impl Schedule {
    /// The schedule of a phase that begins at `start` and lasts `length` at most, or `ops_max` operations.
    pub fn new(phase: Phase, start: Tick, length: Nanos, ops_max: Option<u64>, pacing: &Pacing, seed: u64) -> Schedule {
        Schedule::with_part(phase, start, length, ops_max, pacing, seed, LoadPart::WHOLE)
    }

    /// The same for a host that has a `part` of the arrivals of `pacing`, which is that of all hosts; `ops_max` and `seed` are its own.
    pub fn with_part(
        phase: Phase,
        start: Tick,
        length: Nanos,
        ops_max: Option<u64>,
        pacing: &Pacing,
        seed: u64,
        part: LoadPart,
    ) -> Schedule {
        let (think, pace) = match *pacing {
            Pacing::Closed { think } => (think, ArrivalPace::Closed),
            Pacing::Open { arrivals } => (Nanos(0), open_pace(arrivals, seed, part)),
        };
        let ops_left = AtomicU64::new(ops_max.unwrap_or(0));
        let end_ns = AtomicU64::new((start + length).0);
        let began_ns = AtomicU64::new(u64::MAX);
        let left = AtomicU64::new(0);
        Schedule { phase, start, end_ns, began_ns, think, on_error: OnError::Stop, ops_max, ops_left, left, pace }
    }

    /// The same schedule, which counts the arrivals of a recording by `due`. Without them it offers none, and admits all the same. The phases
    /// before it have this much of the recording.
    pub fn with_due_times(mut self, due: Option<Arc<dyn DueTimes>>, before: Nanos) -> Schedule {
        if let ArrivalPace::Recorded(recorded) = &mut self.pace {
            *recorded = RecordedArrivals { times: due, before };
        }
        self
    }

    /// The times of the recording whose operations it admits, if they are known.
    pub fn due_times(&self) -> Option<&Arc<dyn DueTimes>> {
        match &self.pace {
            ArrivalPace::Recorded(recorded) => recorded.times.as_ref(),
            _ => None,
        }
    }

    /// When the last operation of the recording falls due, if that is known.
    pub fn last_due(&self) -> Option<Tick> {
        let ArrivalPace::Recorded(recorded) = &self.pace else { return None };
        Some(self.start - recorded.before + recorded.times.as_ref()?.last_due()?)
    }

    /// The same schedule with another answer to failed operations.
    pub fn with_on_error(self, on_error: OnError) -> Schedule {
        Schedule { on_error, ..self }
    }

    /// When it admits nothing more.
    #[inline]
    pub fn end(&self) -> Tick {
        Tick(self.end_ns.load(Relaxed))
    }

    /// Admits nothing more from `at` on, if that is before the end: clients finish what they have begun.
    pub fn end_at(&self, at: Tick) {
        // A minimum, so that of several requests the earliest holds.
        self.end_ns.fetch_min(at.0, Relaxed);
    }

    /// A client begins the phase at `at`.
    pub fn note_begin(&self, at: Tick) {
        self.began_ns.fetch_min(at.0, Relaxed);
    }

    /// When the first of its clients began the phase, which is not before its start; `None` before that.
    pub fn began(&self) -> Option<Tick> {
        let began_ns = self.began_ns.load(Relaxed);
        (began_ns != u64::MAX).then_some(Tick(began_ns))
    }

    /// Whether response and service time are the same for every operation, because nothing can arrive early.
    pub fn is_closed(&self) -> bool {
        matches!(self.pace, ArrivalPace::Closed)
    }

    /// What a client that is free at `now` may do next. In an open loop it would have been free `behind` before, without its own
    /// lag: an arrival that fell due since then did not wait for the engine, and is not late. `next_due` is asked for the time of the
    /// client's next operation if the arrivals are those of a recording.
    #[inline]
    pub fn admit(&self, now: Tick, behind: Nanos, next_due: impl FnOnce() -> Nanos) -> Admission {
        match self.pace {
            ArrivalPace::Closed if now >= self.end() || !self.take_op() => Admission::Done,
            ArrivalPace::Closed => Admission::AtOnce,
            ArrivalPace::Constant(_) | ArrivalPace::Poisson(_) | ArrivalPace::Recorded(_) => {
                self.next_arrival(now, behind, next_due)
            }
        }
    }

    /// Not for inlining: so that what a closed loop asks for each operation is short enough to be.
    #[inline(never)]
    fn next_arrival(&self, now: Tick, behind: Nanos, next_due: impl FnOnce() -> Nanos) -> Admission {
        if now - behind.min(CATCH_UP_MAX) >= self.end() || !self.take_op() {
            return Admission::Done;
        }
        // The intended time and not the actual one: a late start counts in the response time (coordinated omission).
        let intended = match &self.pace {
            ArrivalPace::Closed => return Admission::AtOnce,
            ArrivalPace::Constant(constant) => self.start + Nanos(constant.hand_out()),
            ArrivalPace::Poisson(process) => {
                self.start + Nanos(lock_process(process).hand_out(now.min(self.end()).since(self.start).0))
            }
            ArrivalPace::Recorded(recorded) => self.start - recorded.before + next_due(),
        };
        let arrival = Arrival { intended };
        match arrival.intended < now - behind {
            true if now < self.end() => Admission::Due(arrival),
            // It waited for the engine until the end.
            true => {
                self.left.fetch_add(1, Relaxed);
                Admission::Done
            }
            false => Admission::NotBefore(arrival),
        }
    }

    /// Takes one of the operations left, if their number is limited.
    #[inline]
    fn take_op(&self) -> bool {
        self.ops_max.is_none() || self.ops_left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_ok()
    }

    /// Arrivals that fell due before `until` (or before the planned end, if that is sooner), at most as many as may start;
    /// 0 in a closed loop. Call it once, when the phase is over: a Poisson process is played on to its end.
    pub fn offered_until(&self, until: Tick) -> u64 {
        self.due_before(until).min(self.ops_max.unwrap_or(u64::MAX))
    }

    /// How many of the arrivals that fell due before `until` (or before the planned end) clients have begun, whether they are done or
    /// still in flight; 0 if the schedule does not hand them out, as those of a recording. Call it when the phase is over and before
    /// [`Schedule::offered_until`].
    pub fn started_until(&self, until: Tick) -> u64 {
        let length_ns = self.length_until(until);
        let taken = match &self.pace {
            ArrivalPace::Closed | ArrivalPace::Recorded(_) => 0,
            ArrivalPace::Constant(constant) => constant.next.load(Relaxed).min(constant.count_within(length_ns)),
            ArrivalPace::Poisson(process) => lock_process(process).taken_within(length_ns),
        };
        taken.saturating_sub(self.left.load(Relaxed))
    }

    fn length_until(&self, until: Tick) -> u64 {
        self.end().min(until).since(self.start).0
    }

    fn due_before(&self, until: Tick) -> u64 {
        let length_ns = self.length_until(until);
        match &self.pace {
            ArrivalPace::Closed => 0,
            ArrivalPace::Constant(constant) => constant.count_within(length_ns),
            ArrivalPace::Poisson(process) => lock_process(process).count_within(length_ns),
            ArrivalPace::Recorded(recorded) => recorded.count_within(Nanos(length_ns)),
        }
    }
}

fn open_pace(arrivals: Arrivals, seed: u64, part: LoadPart) -> ArrivalPace {
    match arrivals {
        Arrivals::Constant { per_s } => {
            ArrivalPace::Constant(ConstantArrivals { period_ns: 1e9 / per_s, part, next: AtomicU64::new(0) })
        }
        Arrivals::Poisson { per_s } => {
            // The processes of the hosts are independent, so their sum is a Poisson process of the rate of all.
            let own_per_s = per_s * f64::from(part.count()) / f64::from(part.of());
            ArrivalPace::Poisson(Mutex::new(Poisson::new(own_per_s, seed)))
        }
        Arrivals::Recorded { .. } => ArrivalPace::Recorded(RecordedArrivals::default()),
    }
}

/// The process behind the lock; a client that panicked while holding it left it usable.
fn lock_process(process: &Mutex<Poisson>) -> std::sync::MutexGuard<'_, Poisson> {
    process.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND: Nanos = Nanos::from_secs(1);
    const NO_LAG: Nanos = Nanos(0);

    /// The time of an operation that has none.
    fn own_time() -> Nanos {
        Nanos(0)
    }

    fn open(arrivals: Arrivals) -> Schedule {
        Schedule::new(Phase::Run, Tick(0), SECOND, None, &Pacing::Open { arrivals }, 7)
    }

    #[test]
    fn constant_arrivals_stand_at_equal_distances() {
        let schedule = open(Arrivals::Constant { per_s: 4.0 });
        let due: Vec<Admission> = (0..5).map(|_| schedule.admit(Tick(0), NO_LAG, own_time)).collect();
        let at = |ns| Admission::NotBefore(Arrival { intended: Tick(ns) });
        assert_eq!(due, [at(0), at(250_000_000), at(500_000_000), at(750_000_000), at(1_000_000_000)]);
        assert_eq!(schedule.offered_until(Tick(u64::MAX)), 4);
        assert_eq!(schedule.offered_until(Tick(600_000_000)), 3);
    }

    #[test]
    fn as_many_constant_arrivals_are_offered_as_the_rate_gives_in_whole_seconds() {
        for (per_s, seconds) in (1..2_000).flat_map(|per_s| [(f64::from(per_s), 1), (f64::from(per_s) / 2.0, 2)]) {
            let pacing = Pacing::Open { arrivals: Arrivals::Constant { per_s } };
            let schedule = Schedule::new(Phase::Run, Tick(0), Nanos::from_secs(seconds), None, &pacing, 7);
            let offered = schedule.offered_until(Tick(u64::MAX));
            assert_eq!(offered as f64, per_s * seconds as f64, "{per_s} a second");
        }
    }

    /// The first `count` arrivals of a host with a `part` of `arrivals`, and how many are offered until `until`.
    fn arrivals_of(part: LoadPart, arrivals: Arrivals, count: u64, until: Tick, seed: u64) -> (Vec<u64>, u64) {
        let hour = Nanos::from_secs(3_600);
        let schedule = Schedule::with_part(Phase::Run, Tick(0), hour, None, &Pacing::Open { arrivals }, seed, part);
        let due = (0..count).map(|_| match schedule.admit(Tick(0), NO_LAG, own_time) {
            Admission::NotBefore(arrival) => arrival.intended.0,
            other => panic!("{other:?} before all of them are due"),
        });
        (due.collect(), schedule.offered_until(until))
    }

    proptest! {
        #[test]
        fn constant_arrivals_of_all_hosts_are_those_of_one_to_the_nanosecond(
            per_s in 0.5f64..1e7, hosts in 1u32..30, count in 1u64..500, until_ns in 0u64..3_600_000_000_000
        ) {
            let (arrivals, until) = (Arrivals::Constant { per_s }, Tick(until_ns));
            let (alone, offered) = arrivals_of(LoadPart::WHOLE, arrivals, count, until, 7);
            let (mut merged, mut offered_to_hosts) = (Vec::new(), 0);
            for host in 0..hosts {
                let part = LoadPart::new(host, 1, hosts);
                let (own, of_host) = arrivals_of(part, arrivals, part.dealt_of(count), until, 7);
                merged.extend(own);
                offered_to_hosts += of_host;
            }
            merged.sort_unstable();
            prop_assert_eq!(merged, alone);
            prop_assert_eq!(offered_to_hosts, offered);
        }
    }

    #[test]
    fn poisson_arrivals_of_hosts_add_up_to_the_rate_and_each_host_has_its_own() {
        let (hosts, per_s) = (4, 10_000.0);
        let of_host = |host, seed| {
            let part = LoadPart::new(host, 1, hosts);
            let until = Tick(10_000_000_000);
            arrivals_of(part, Arrivals::Poisson { per_s }, 100, until, seed)
        };
        let all: Vec<(Vec<u64>, u64)> = (0..hosts).map(|host| of_host(host, u64::from(host))).collect();
        // 100,000 arrivals in 10 s, standard deviation 316; of each host a quarter.
        let offered: u64 = all.iter().map(|(_, offered)| offered).sum();
        assert!(offered.abs_diff(100_000) < 1_600, "{offered}");
        assert!(all.iter().all(|(_, offered)| offered.abs_diff(25_000) < 800), "{all:?}");
        assert!(all.windows(2).all(|pair| pair[0].0 != pair[1].0));
        assert_eq!(of_host(2, 2), all[2], "the same seed makes the same arrivals");
    }

    #[test]
    fn what_clients_have_begun_is_known_before_it_is_done() {
        let at = |ms: u64| Tick(ms * 1_000_000);
        for arrivals in [Arrivals::Constant { per_s: 100.0 }, Arrivals::Poisson { per_s: 100.0 }] {
            let schedule = open(arrivals);
            assert_eq!(schedule.started_until(at(1_000)), 0);
            (0..30).for_each(|_| _ = schedule.admit(at(900), NO_LAG, own_time));
            assert_eq!(schedule.started_until(at(1_000)), 30, "{arrivals:?}");
            // A client that lagged behind takes the next, which had waited for the engine until the end.
            assert_eq!(schedule.admit(at(1_005), Nanos::from_millis(10), own_time), Admission::Done);
            assert_eq!(schedule.started_until(at(1_000)), 30, "{arrivals:?}");
        }
        let waiting = open(Arrivals::Constant { per_s: 4.0 });
        (0..6).for_each(|_| _ = waiting.admit(at(0), NO_LAG, own_time));
        assert_eq!(waiting.started_until(at(1_000)), 4, "the others fall due after the end");
    }

    #[test]
    fn an_arrival_is_late_if_it_fell_due_before_the_client_would_have_been_free() {
        let at = |ms: u64| Tick(ms * 1_000_000);
        let schedule = open(Arrivals::Constant { per_s: 100.0 });
        // Free at 25 ms; because it had woken up 10 ms too late, not at 15 ms.
        let behind = Nanos::from_millis(10);
        let due: Vec<Admission> = (0..4).map(|_| schedule.admit(at(25), behind, own_time)).collect();
        let arrival = |ms: u64| Arrival { intended: at(ms) };
        let late = |ms| Admission::Due(arrival(ms));
        let ours = |ms| Admission::NotBefore(arrival(ms));
        assert_eq!(due, [late(0), late(10), ours(20), ours(30)]);
    }

    #[test]
    fn a_client_behind_by_its_own_lag_gets_what_it_would_have_started_before_the_end() {
        let schedule = open(Arrivals::Constant { per_s: 100.0 });
        let after_end = Tick(1_005_000_000);
        assert_eq!(schedule.admit(after_end, NO_LAG, own_time), Admission::Done);
        assert_eq!(
            schedule.admit(after_end, Nanos::from_millis(10), own_time),
            Admission::Done,
            "the first waited for the engine"
        );
        (1..99).for_each(|_| _ = schedule.admit(Tick(0), NO_LAG, own_time));
        let last = Admission::NotBefore(Arrival { intended: Tick(990_000_000) });
        assert_eq!(schedule.admit(after_end, Nanos::from_millis(20), own_time), last);
        assert_eq!(schedule.admit(Tick(2_000_000_000), Nanos::from_secs(2), own_time), Admission::Done);
    }

    #[test]
    fn an_arrival_that_a_client_waits_for_and_that_falls_due_after_the_end_is_not_offered() {
        for clients in [1, 8, 64] {
            let (waiting, asked) =
                (open(Arrivals::Poisson { per_s: 1_000.0 }), open(Arrivals::Poisson { per_s: 1_000.0 }));
            let expected = asked.offered_until(Tick(u64::MAX));
            let due_at = |_: &u64| match waiting.admit(Tick(0), NO_LAG, own_time) {
                Admission::NotBefore(arrival) => arrival.intended,
                other => panic!("{other:?}"),
            };
            let before_end = (0..expected + clients).filter(|nth| due_at(nth) < waiting.end()).count() as u64;
            assert_eq!((before_end, waiting.offered_until(Tick(u64::MAX))), (expected, expected));
        }
    }

    /// A client that is behind by its own lag asks after the end, and gets arrivals from before and after it.
    #[test]
    fn an_arrival_after_the_end_is_not_offered_to_a_client_that_asks_after_it_either() {
        let schedule = open(Arrivals::Poisson { per_s: 1_000.0 });
        let expected = open(Arrivals::Poisson { per_s: 1_000.0 }).offered_until(Tick(u64::MAX));
        let (mut taken, mut later) = (0, 0);
        for nth in 0..expected + 64 {
            // All but a few in time, the others 90 ms after the end.
            let is_in_time = nth < expected - 5;
            let (now, behind) = if is_in_time { (Tick(0), NO_LAG) } else { (Tick(1_090_000_000), CATCH_UP_MAX) };
            match schedule.admit(now, behind, own_time) {
                Admission::Due(arrival) | Admission::NotBefore(arrival) if arrival.intended < schedule.end() => {
                    taken += 1
                }
                Admission::Done => panic!("it is behind by its own lag"),
                _ => later += 1,
            }
        }
        assert_eq!((taken, later, schedule.offered_until(Tick(u64::MAX))), (expected, 64, expected));
    }

    #[test]
    fn poisson_arrivals_are_counted_up_to_an_end_that_comes_early() {
        let schedule = open(Arrivals::Poisson { per_s: 1_000.0 });
        let mut due = Vec::new();
        while let Admission::NotBefore(arrival) | Admission::Due(arrival) = schedule.admit(Tick(0), NO_LAG, own_time) {
            due.push(arrival.intended);
            if arrival.intended >= schedule.end() {
                break;
            }
        }
        let early = Tick(400_000_000);
        let before = due.iter().filter(|at| **at < early).count() as u64;
        assert_eq!(schedule.offered_until(early), before);
    }

    #[test]
    fn poisson_arrivals_have_the_mean_and_the_spread_of_their_rate() {
        let schedule = open(Arrivals::Poisson { per_s: 100_000.0 });
        let mut gaps_ns = Vec::new();
        let mut last = Tick(0);
        while let Admission::NotBefore(arrival) = schedule.admit(Tick(0), NO_LAG, own_time) {
            if arrival.intended >= schedule.end() {
                break;
            }
            gaps_ns.push(arrival.intended.since(last).0 as f64);
            last = arrival.intended;
        }
        let n = gaps_ns.len() as f64;
        let mean = gaps_ns.iter().sum::<f64>() / n;
        let variance = gaps_ns.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / n;
        assert!((n - 100_000.0).abs() < 4.0 * 100_000f64.sqrt(), "{n} arrivals");
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.02, "coefficient of variation {}", variance.sqrt() / mean);
    }

    #[test]
    fn what_was_not_taken_is_still_offered() {
        let schedule = open(Arrivals::Poisson { per_s: 1_000.0 });
        let taken = (0..10).filter(|_| schedule.admit(Tick(0), NO_LAG, own_time) != Admission::Done).count() as u64;
        let offered = schedule.offered_until(Tick(u64::MAX));
        assert_eq!(taken, 10);
        assert!((offered as f64 - 1_000.0).abs() < 150.0, "{offered} offered");
    }

    #[test]
    fn recorded_arrivals_have_the_times_of_their_operations_and_those_of_the_phase_are_offered() {
        let ms = Nanos::from_millis;
        let due = Arc::new([0, 250, 250, 900, 1_000, 1_700].map(|at| ms(at).0).to_vec());
        let schedule = open(Arrivals::Recorded { per_s: 3.5 }).with_due_times(Some(due), Nanos(0));
        let admit = |now, behind, due| schedule.admit(Tick(ms(now).0), behind, move || ms(due));
        let arrival = |at| Arrival { intended: Tick(ms(at).0) };
        assert_eq!(admit(0, NO_LAG, 0), Admission::NotBefore(arrival(0)));
        assert_eq!(admit(300, NO_LAG, 250), Admission::Due(arrival(250)));
        assert_eq!(admit(300, ms(60), 250), Admission::NotBefore(arrival(250)), "its client woke up late");
        assert_eq!(admit(300, NO_LAG, 900), Admission::NotBefore(arrival(900)));
        // The loop waits for it until the phase is over.
        assert_eq!(admit(950, NO_LAG, 1_700), Admission::NotBefore(arrival(1_700)));
        assert_eq!(admit(1_000, NO_LAG, 999), Admission::Done);
        let offered =
            [u64::MAX, 1_000_000_000, 900_000_001, 900_000_000, 1, 0].map(|at| schedule.offered_until(Tick(at)));
        assert_eq!(offered, [4, 4, 4, 3, 1, 0]);
    }

    #[test]
    fn a_recording_goes_on_where_the_phase_before_has_left_it() {
        let ms = Nanos::from_millis;
        let due = Arc::new([0, 250, 400, 900, 1_300, 1_700].map(|at| ms(at).0).to_vec());
        let pacing = Pacing::Open { arrivals: Arrivals::Recorded { per_s: 3.5 } };
        let schedule = Schedule::new(Phase::Run, Tick(ms(5_400).0), SECOND, None, &pacing, 0);
        let schedule = schedule.with_due_times(Some(due), ms(400));
        let admit = |now, due| schedule.admit(Tick(ms(now).0), NO_LAG, move || ms(due));
        let arrival = |at| Arrival { intended: Tick(ms(at).0) };
        // It waited while the phase before went on.
        assert_eq!(admit(5_400, 250), Admission::Due(arrival(5_250)));
        assert_eq!(admit(5_400, 400), Admission::NotBefore(arrival(5_400)));
        assert_eq!(admit(6_000, 1_300), Admission::NotBefore(arrival(6_300)));
        assert_eq!(schedule.offered_until(Tick(u64::MAX)), 3, "those due at 400, 900 and 1,300 ms");
    }

    #[test]
    fn recorded_arrivals_end_with_the_number_of_operations_that_may_start() {
        let pacing = Pacing::Open { arrivals: Arrivals::Recorded { per_s: 1.0 } };
        let due: Arc<dyn DueTimes> = Arc::new(vec![1, 2, 3, 4]);
        let schedule =
            Schedule::new(Phase::Run, Tick(0), SECOND, Some(2), &pacing, 0).with_due_times(Some(due), Nanos(0));
        let admitted = [1, 2, 3].map(|due| schedule.admit(Tick(0), NO_LAG, || Nanos(due)));
        let at = |ns| Admission::NotBefore(Arrival { intended: Tick(ns) });
        assert_eq!(admitted, [at(1), at(2), Admission::Done]);
        assert_eq!(schedule.offered_until(Tick(u64::MAX)), 2);
    }

    #[test]
    fn a_limit_of_operations_is_exact_among_clients() {
        let schedule = Schedule::new(Phase::Run, Tick(0), SECOND, Some(1_000), &Pacing::Closed { think: Nanos(0) }, 0);
        let count = || (0..900).filter(|_| schedule.admit(Tick(1), NO_LAG, own_time) == Admission::AtOnce).count();
        let (a, b) = std::thread::scope(|scope| {
            let other = scope.spawn(count);
            (count(), other.join().unwrap())
        });
        assert_eq!(a + b, 1_000);
    }

    #[test]
    fn a_schedule_that_was_ended_admits_nothing_more_and_is_never_made_longer() {
        let schedule = Schedule::new(Phase::Run, Tick(0), SECOND, None, &Pacing::Closed { think: Nanos(0) }, 0);
        assert_eq!(schedule.admit(Tick(500), NO_LAG, own_time), Admission::AtOnce);
        schedule.end_at(Tick(400));
        schedule.end_at(Tick(u64::MAX));
        assert_eq!((schedule.end(), schedule.admit(Tick(500), NO_LAG, own_time)), (Tick(400), Admission::Done));
    }

    #[test]
    fn a_skip_ends_with_its_point_and_an_interruption_during_it_stays() {
        let stop = Stop::default();
        stop.request(StopReason::Skipped);
        assert!(stop.reason() == Some(StopReason::Skipped) && stop.requested_ns().is_some());
        stop.end_skip();
        assert!(stop.reason().is_none() && stop.requested_ns().is_none());
        stop.request(StopReason::Skipped);
        stop.request(StopReason::Interrupted);
        assert_eq!(stop.reason(), Some(StopReason::Skipped));
        stop.end_skip();
        assert_eq!(stop.reason(), Some(StopReason::Interrupted));
        stop.end_skip();
        assert!(stop.reason() == Some(StopReason::Interrupted) && stop.requested_ns() > Some(0));
    }

    #[test]
    fn a_failure_is_taken_back_and_an_interruption_during_it_stays() {
        let stop = Stop::default();
        stop.request(StopReason::Failure);
        stop.end_skip();
        assert_eq!(stop.reason(), Some(StopReason::Failure));
        stop.end_failure();
        assert!(stop.reason().is_none() && stop.requested_ns().is_none());
        stop.request(StopReason::Failure);
        stop.request(StopReason::Interrupted);
        stop.end_failure();
        assert_eq!(stop.reason(), Some(StopReason::Interrupted));
    }

    #[test]
    fn the_first_reason_to_stop_stays() {
        let stop = Stop::default();
        assert_eq!(stop.reason(), None);
        stop.request(StopReason::Failure);
        stop.request(StopReason::Interrupted);
        assert_eq!(stop.reason(), Some(StopReason::Failure));
    }
}
