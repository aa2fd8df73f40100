//! The schedule of one phase: which operation may start when. All clients of the phase share it.
//!
//! In: the phase's pacing, its planned start and end, the clock reading of the client that asks. Out: [`Admission`].
//! Limits: an open loop stops admitting at the planned end; arrivals that fell due by then and were not started are counted
//! as unserved. No arrival is lost without a count: `offered = started + unserved`.

use model::{Arrival, Arrivals, Nanos, OnError, Pacing, Phase, Tick};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Relaxed};

/// Keeps the arrivals of a trial apart from everything else that is drawn from its seed.
const ARRIVALS_STREAM: u64 = 0x6172_7269_7661_6c73;

/// What a client may do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// Closed loop: start the next operation; it is intended for the moment at which it starts.
    AtOnce,
    /// Open loop: this arrival fell due while every client was busy. It is late already.
    Due(Arrival),
    /// Open loop: this arrival is yours; wait for it.
    NotBefore(Arrival),
    /// Nothing more in this phase.
    Done,
}

/// Why a load is to end before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// The user asked.
    Interrupted,
    /// An operation failed, and the trial stops at the first failure.
    Failure,
    /// A safety limit was reached (free space).
    Limit,
    /// What is done can no longer be recorded.
    Unrecorded,
}

/// The shared request to end a load early. The first reason stays.
#[derive(Debug, Default)]
pub struct Stop {
    reason: AtomicU8,
    /// The user asked, perhaps after another reason.
    interrupted: AtomicBool,
}

impl Stop {
    /// Asks all clients to start nothing more. Safe to call from a signal handler.
    pub fn request(&self, reason: StopReason) {
        let code = match reason {
            StopReason::Interrupted => 1,
            StopReason::Failure => 2,
            StopReason::Limit => 3,
            StopReason::Unrecorded => 4,
        };
        // Atomics only: a signal handler must not take a lock that its own thread may hold.
        let _ = self.reason.compare_exchange(0, code, Relaxed, Relaxed);
        if reason == StopReason::Interrupted {
            self.interrupted.store(true, Relaxed);
        }
    }

    /// Whether the user asked, also if the load was to end for another reason before.
    pub fn is_interrupted(&self) -> bool {
        self.interrupted.load(Relaxed)
    }

    /// Why the load is to end; `None` if no stop was requested.
    #[inline]
    pub fn reason(&self) -> Option<StopReason> {
        match self.reason.load(Relaxed) {
            0 => None,
            1 => Some(StopReason::Interrupted),
            2 => Some(StopReason::Failure),
            3 => Some(StopReason::Limit),
            _ => Some(StopReason::Unrecorded),
        }
    }
}

/// When the operations of one phase start.
#[derive(Debug)]
pub struct Schedule {
    /// Which phase.
    pub phase: Phase,
    /// When it begins.
    pub start: Tick,
    /// When it admits nothing more, in nanoseconds: as planned, or earlier if what was measured is enough.
    end_ns: AtomicU64,
    /// Pause of a client between two operations; zero for none, and in an open loop.
    pub think: Nanos,
    /// What a failed operation does.
    pub on_error: OnError,
    /// Operations that may start, and how many of them still may; `None` for any number.
    ops_max: Option<u64>,
    ops_left: AtomicU64,
    pace: ArrivalPace,
}

#[derive(Debug)]
enum ArrivalPace {
    Closed,
    Constant { period_ns: f64, next: AtomicU64 },
    Poisson(Mutex<Poisson>),
}

/// A Poisson process in time: the next arrival, and the generator of the distances between arrivals.
#[derive(Debug)]
struct Poisson {
    mean_ns: f64,
    next_ns: f64,
    handed_out: u64,
    rng: Xoshiro256PlusPlus,
}

impl Poisson {
    /// Hands out the next arrival, in nanoseconds since the phase began. Distances are exponential, by inversion:
    /// -ln(U) / rate (Devroye, Non-Uniform Random Variate Generation, 1986, II.2).
    fn next_due_ns(&mut self) -> f64 {
        let due_ns = self.next_ns;
        self.handed_out += 1;
        self.next_ns += -(1.0 - self.rng.random::<f64>()).ln() * self.mean_ns;
        due_ns
    }
}

impl Schedule {
    /// The schedule of a phase that begins at `start` and lasts `length` at most, or `ops_max` operations.
    pub fn new(phase: Phase, start: Tick, length: Nanos, ops_max: Option<u64>, pacing: &Pacing, seed: u64) -> Schedule {
        let (think, pace) = match *pacing {
            Pacing::Closed { think } => (think, ArrivalPace::Closed),
            Pacing::Open { arrivals } => (Nanos(0), open_pace(arrivals, seed)),
        };
        let ops_left = AtomicU64::new(ops_max.unwrap_or(0));
        let end_ns = AtomicU64::new((start + length).0);
        Schedule { phase, start, end_ns, think, on_error: OnError::Stop, ops_max, ops_left, pace }
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

    /// Whether response and service time are the same for every operation, because nothing can arrive early.
    pub fn is_closed(&self) -> bool {
        matches!(self.pace, ArrivalPace::Closed)
    }

    /// What a client that is free at `now` may do next.
    #[inline]
    pub fn admit(&self, now: Tick) -> Admission {
        if now >= self.end() || !self.take_op() {
            return Admission::Done;
        }
        match self.pace {
            ArrivalPace::Closed => Admission::AtOnce,
            ArrivalPace::Constant { .. } | ArrivalPace::Poisson(_) => self.next_arrival(now),
        }
    }

    /// Not for inlining: so that what a closed loop asks for each operation is short enough to be.
    #[inline(never)]
    fn next_arrival(&self, now: Tick) -> Admission {
        let due_ns = match &self.pace {
            ArrivalPace::Closed => return Admission::AtOnce,
            // The nth arrival is computed from n: a sum of periods would drift by their rounding.
            ArrivalPace::Constant { period_ns, next } => next.fetch_add(1, Relaxed) as f64 * period_ns,
            ArrivalPace::Poisson(process) => lock_process(process).next_due_ns(),
        };
        // The intended time and not the actual one: a late start counts in the response time (coordinated omission).
        let arrival = Arrival { intended: self.start + Nanos(due_ns as u64) };
        match arrival.intended {
            at if at >= self.end() => Admission::Done,
            at if at <= now => Admission::Due(arrival),
            _ => Admission::NotBefore(arrival),
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

    fn due_before(&self, until: Tick) -> u64 {
        let length_ns = self.end().min(until).since(self.start).0 as f64;
        match &self.pace {
            ArrivalPace::Closed => 0,
            ArrivalPace::Constant { period_ns, .. } => (length_ns / period_ns).ceil() as u64,
            ArrivalPace::Poisson(process) => {
                let mut process = lock_process(process);
                // Arrivals that were due and that no client came to ask for are drawn here, so that they count as unserved.
                while process.next_ns < length_ns {
                    process.next_due_ns();
                }
                process.handed_out
            }
        }
    }
}

fn open_pace(arrivals: Arrivals, seed: u64) -> ArrivalPace {
    match arrivals {
        Arrivals::Constant { per_s } => ArrivalPace::Constant { period_ns: 1e9 / per_s, next: AtomicU64::new(0) },
        Arrivals::Poisson { per_s } => {
            // A stream of its own, so that the arrivals and the keys of one seed are independent.
            let rng = Xoshiro256PlusPlus::seed_from_u64(seed ^ ARRIVALS_STREAM);
            let mut process = Poisson { mean_ns: 1e9 / per_s, next_ns: 0.0, handed_out: 0, rng };
            process.next_due_ns(); // the first arrival, too, comes after a random distance
            process.handed_out = 0;
            ArrivalPace::Poisson(Mutex::new(process))
        }
    }
}

/// The process behind the lock; a client that panicked while holding it left it usable.
fn lock_process(process: &Mutex<Poisson>) -> std::sync::MutexGuard<'_, Poisson> {
    process.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Nanos = Nanos::from_secs(1);

    fn open(arrivals: Arrivals) -> Schedule {
        Schedule::new(Phase::Run, Tick(0), SECOND, None, &Pacing::Open { arrivals }, 7)
    }

    #[test]
    fn constant_arrivals_stand_at_equal_distances() {
        let schedule = open(Arrivals::Constant { per_s: 4.0 });
        let due: Vec<Admission> = (0..5).map(|_| schedule.admit(Tick(0))).collect();
        let at = |ns| Admission::NotBefore(Arrival { intended: Tick(ns) });
        let first = Admission::Due(Arrival { intended: Tick(0) });
        assert_eq!(due, [first, at(250_000_000), at(500_000_000), at(750_000_000), Admission::Done]);
        assert_eq!(schedule.offered_until(Tick(u64::MAX)), 4);
        assert_eq!(schedule.offered_until(Tick(600_000_000)), 3);
    }

    #[test]
    fn poisson_arrivals_have_the_mean_and_the_spread_of_their_rate() {
        let schedule = open(Arrivals::Poisson { per_s: 100_000.0 });
        let mut gaps_ns = Vec::new();
        let mut last = Tick(0);
        while let Admission::NotBefore(arrival) = schedule.admit(Tick(0)) {
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
        let taken = (0..10).filter(|_| schedule.admit(Tick(0)) != Admission::Done).count() as u64;
        let offered = schedule.offered_until(Tick(u64::MAX));
        assert_eq!(taken, 10);
        assert!((offered as f64 - 1_000.0).abs() < 150.0, "{offered} offered");
    }

    #[test]
    fn a_limit_of_operations_is_exact_among_clients() {
        let schedule = Schedule::new(Phase::Run, Tick(0), SECOND, Some(1_000), &Pacing::Closed { think: Nanos(0) }, 0);
        let count = || (0..900).filter(|_| schedule.admit(Tick(1)) == Admission::AtOnce).count();
        let (a, b) = std::thread::scope(|scope| {
            let other = scope.spawn(count);
            (count(), other.join().unwrap())
        });
        assert_eq!(a + b, 1_000);
    }

    #[test]
    fn a_schedule_that_was_ended_admits_nothing_more_and_is_never_made_longer() {
        let schedule = Schedule::new(Phase::Run, Tick(0), SECOND, None, &Pacing::Closed { think: Nanos(0) }, 0);
        assert_eq!(schedule.admit(Tick(500)), Admission::AtOnce);
        schedule.end_at(Tick(400));
        schedule.end_at(Tick(u64::MAX));
        assert_eq!((schedule.end(), schedule.admit(Tick(500))), (Tick(400), Admission::Done));
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
