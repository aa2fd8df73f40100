//! Time for the load: the kernel's monotonic clock, or a simulated one for tests. The loops read it by way of the CPU's counter, if that is
//! possible: see `tsc`.
//!
//! [`Tick`]s count from the beginning of the run. Nothing here follows the wall clock; a read costs 20 to 30 ns.

use model::{Nanos, Tick};
use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{ClockId, Timespec, clock_gettime};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The clock that the loops read and wait by.
pub trait Clock {
    /// The time now, when all earlier instructions of the program have been executed.
    fn now(&self) -> Tick;
    /// The same, but some of them may still be in flight: for reads before an operation, or after one that ends in the kernel.
    fn now_unordered(&self) -> Tick {
        self.now()
    }
    /// Returns at `at` or a little later; at once if `at` is past.
    fn wait_until(&self, at: Tick);
}

/// CLOCK_MONOTONIC, counted from when the clock was made. Copies count from the same moment.
#[derive(Clone, Copy, Debug)]
pub struct MonotonicClock {
    origin_ns: u64,
    /// The Tick at that moment.
    first: Tick,
}

impl MonotonicClock {
    /// A clock whose Tick 0 is now.
    pub fn start() -> Self {
        MonotonicClock::start_at(Tick(0))
    }

    /// A clock whose Tick is `first` now.
    pub fn start_at(first: Tick) -> Self {
        MonotonicClock::start_when(|| first)
    }

    /// A clock whose Tick is what `first` gives at the moment at which the clock starts.
    pub fn start_when(first: impl FnOnce() -> Tick) -> Self {
        // It takes milliseconds.
        crate::tsc::prepare_counter();
        let first = first();
        MonotonicClock { origin_ns: monotonic_ns(), first }
    }

    /// The Tick at `monotonic_ns` of the kernel's clock.
    #[inline]
    pub(crate) fn tick_of(&self, monotonic_ns: u64) -> Tick {
        Tick(self.first.0 + monotonic_ns.saturating_sub(self.origin_ns))
    }
}

impl Clock for MonotonicClock {
    #[inline]
    fn now(&self) -> Tick {
        self.tick_of(monotonic_ns())
    }

    /// Sleeps to an absolute time, so that an interruption does not lengthen the wait. There is no spinning: a generator that
    /// burns the CPU which the engine needs would measure itself. What a wake-up costs is recorded as lag.
    fn wait_until(&self, at: Tick) {
        let at_ns = self.origin_ns + at.0.saturating_sub(self.first.0);
        let at = Timespec { tv_sec: (at_ns / 1_000_000_000) as i64, tv_nsec: (at_ns % 1_000_000_000) as i64 };
        // A signal such as Ctrl-C ends the sleep early; the time to wake at stays the same.
        while clock_nanosleep_absolute(ClockId::Monotonic, &at) == Err(rustix::io::Errno::INTR) {}
    }
}

#[inline]
pub(crate) fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// A clock that moves only on request: exact load tests in no time. Waiting moves it.
#[derive(Debug, Default)]
pub struct SimClock {
    now_ns: AtomicU64,
}

impl SimClock {
    /// Lets `length` pass at once.
    pub fn advance(&self, length: Nanos) {
        self.now_ns.fetch_add(length.0, Relaxed);
    }
}

impl Clock for SimClock {
    fn now(&self) -> Tick {
        Tick(self.now_ns.load(Relaxed))
    }
    fn wait_until(&self, at: Tick) {
        self.now_ns.fetch_max(at.0, Relaxed);
    }
}

impl<C: Clock> Clock for Arc<C> {
    fn now(&self) -> Tick {
        (**self).now()
    }
    fn wait_until(&self, at: Tick) {
        (**self).wait_until(at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_for_the_past_returns_at_once_and_for_the_future_not_before() {
        let clock = MonotonicClock::start();
        clock.wait_until(Tick(0));
        let at = clock.now() + Nanos::from_micros(200);
        clock.wait_until(at);
        assert!(clock.now() >= at);
    }

    #[test]
    fn a_clock_that_goes_on_counts_from_where_it_was_told_and_waits_no_longer_for_that() {
        let first = Tick(3_600_000_000_000);
        let clock = MonotonicClock::start_at(first);
        clock.wait_until(Tick(1)); // long past: at once
        let at = first + Nanos::from_micros(200);
        clock.wait_until(at);
        let now = clock.now();
        assert!(now >= at && now < first + Nanos::from_secs(3_600), "{now:?}");
    }
}
