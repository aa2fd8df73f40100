//! Finds out that the load has stalled while it still stalls.
//!
//! In: how many operations are done, about 20 times a second. Out: whether almost nothing was done of late. Limits: it knows stalls from
//! the median rate of the intervals so far, so there are none in the first [`RATES_MIN`] intervals; a load that stalls for most of its time
//! has a median of almost nothing, and no stalls.

use model::{Nanos, Tick};
use std::collections::VecDeque;

/// A stall is seen when it has lasted this long.
const STALL_MIN: Nanos = Nanos::from_millis(250);
/// A stall is seen when it has lasted as long as so many operations usually take: of ten that fall due at random none comes once in 22,000 times.
const OPS_EXPECTED_MIN: f64 = 10.0;
/// Below this share of the median rate, almost nothing is done.
const STALL_SHARE: f64 = 0.1;
/// So many intervals have a median.
const RATES_MIN: usize = 3;
/// The most rates that are kept: the first three hours of seconds.
const RATES_MAX: usize = 10_000;
/// If two looks lie further apart, the watch itself did not run, and the clients may not have, either.
const LOOKS_APART_MAX: Nanos = Nanos::from_millis(200);

/// Watches the number of operations done.
#[derive(Debug)]
pub(super) struct StallDetector {
    interval: Nanos,
    /// The rates of whole intervals, in ascending order.
    rates: Vec<f64>,
    /// The beginning of the interval that is not over.
    interval_began: (Tick, u64),
    /// The looks of late, the oldest first.
    looks: VecDeque<(Tick, u64)>,
}

impl StallDetector {
    /// Begins at `now`, when `done` operations were done, with intervals of `interval`.
    pub fn new(interval: Nanos, now: Tick, done: u64) -> StallDetector {
        let interval = interval.max(STALL_MIN);
        StallDetector { interval, rates: Vec::new(), interval_began: (now, done), looks: VecDeque::from([(now, done)]) }
    }

    /// Whether the load stalls at `now`, when `done` operations are done.
    pub fn look(&mut self, now: Tick, done: u64) -> bool {
        if self.looks.back().is_some_and(|last| now.since(last.0) > LOOKS_APART_MAX) {
            self.begin_again(now, done);
            return false;
        }
        self.end_interval(now, done);
        self.looks.push_back((now, done));
        // The median, not the mean: stalls lower a mean, and then hide behind it.
        let Some(median) = self.median().filter(|median| *median > 0.0) else { return false };
        let window = Nanos((OPS_EXPECTED_MIN / median * 1e9) as u64).max(STALL_MIN);
        while self.looks.get(1).is_some_and(|second| now.since(second.0) >= window) {
            self.looks.pop_front();
        }
        let oldest = self.looks.front().copied().unwrap_or((now, done));
        let length = now.since(oldest.0);
        length >= window && ((done - oldest.1) as f64) < STALL_SHARE * median * length.as_secs_f64()
    }

    /// Forgets what was done before `now`, because something else than the load stopped the engine.
    pub fn begin_again(&mut self, now: Tick, done: u64) {
        self.interval_began = (now, done);
        self.looks.clear();
        self.looks.push_back((now, done));
    }

    fn end_interval(&mut self, now: Tick, done: u64) {
        let length = now.since(self.interval_began.0);
        if length < self.interval {
            return;
        }
        let rate = (done - self.interval_began.1) as f64 / length.as_secs_f64();
        if self.rates.len() < RATES_MAX {
            self.rates.insert(self.rates.partition_point(|other| *other < rate), rate);
        }
        self.interval_began = (now, done);
    }

    fn median(&self) -> Option<f64> {
        (self.rates.len() >= RATES_MIN).then(|| self.rates[self.rates.len() / 2])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: Nanos = Nanos::from_millis(50);

    /// Looks at a load of `rate(second)` operations per second for `seconds`; the times of the looks that found a stall.
    fn stalls(seconds: u64, rate: impl Fn(f64) -> f64) -> Vec<f64> {
        let mut detector = StallDetector::new(Nanos::from_secs(1), Tick(0), 0);
        let (mut done, mut now, mut found) = (0.0, Tick(0), Vec::new());
        while now < Tick(seconds * 1_000_000_000) {
            now = now + STEP;
            done += rate(now.0 as f64 / 1e9) * STEP.as_secs_f64();
            if detector.look(now, done as u64) {
                found.push(now.0 as f64 / 1e9);
            }
        }
        found
    }

    #[test]
    fn a_stall_is_found_a_quarter_of_a_second_after_it_began_and_as_long_as_it_lasts() {
        let found = stalls(10, |at| if (6.0..7.0).contains(&at) { 0.0 } else { 1_000.0 });
        let (first, last) = (found[0], found[found.len() - 1]);
        assert!((6.2..6.4).contains(&first) && (6.9..7.1).contains(&last), "{first} to {last}");
    }

    #[test]
    fn a_rate_of_a_fifth_is_no_stall_and_one_of_a_twentieth_is() {
        let dropped = |to: f64| stalls(10, |at| if at > 8.0 { to } else { 1_000.0 }).len();
        assert_eq!(dropped(200.0), 0);
        assert!(dropped(50.0) > 0);
    }

    #[test]
    fn a_load_that_is_slow_by_nature_does_not_stall_between_its_operations() {
        assert!(stalls(30, |_| 2.0).is_empty());
        assert!(stalls(30, |_| 0.0).is_empty());
        assert!(!stalls(30, |at| if at > 15.0 { 0.0 } else { 4.0 }).is_empty(), "2.5 s without any of 4 per second");
    }

    #[test]
    fn the_first_intervals_have_no_stalls() {
        assert!(stalls(3, |at| if at > 1.0 { 0.0 } else { 1_000.0 }).is_empty());
    }

    #[test]
    fn a_stop_by_the_watch_itself_is_no_stall() {
        let mut detector = StallDetector::new(Nanos::from_secs(1), Tick(0), 0);
        let at = |ms: u64| Tick(ms * 1_000_000);
        (1..=80).for_each(|nth| assert!(!detector.look(at(nth * 50), nth * 50)));
        detector.begin_again(at(4_400), 4_000);
        assert!(!detector.look(at(4_450), 4_000));
        // It did not look for a second: it did not run itself.
        assert!(!detector.look(at(5_450), 4_000));
        assert!(!detector.look(at(5_500), 4_000));
        assert!((1..6).any(|nth| detector.look(at(5_500 + nth * 50), 4_000)), "it goes on and nothing is done");
    }
}
