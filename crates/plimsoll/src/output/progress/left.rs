//! The work that a run still has before it, as far as it is known.
//!
//! In: the expected length of each point, how long the current one has been loaded, the operations done. Out: `at least 1:30 left`.
//! Limits: the time is that of warmup and run phases. How long it takes to make data is not known before, nor how long a point takes that
//! ends when its rows are inserted: the time left is then `at least` so much, and the operations done are shown.

use model::units::three_digits;
use std::time::Instant;

/// The expected length of a point.
#[derive(Clone, Copy)]
pub struct Planned {
    /// How long it takes at most, or usually if it is a search; `None` if that is unknown.
    pub seconds: Option<f64>,
    /// How many operations its run has; `None` if its time ends it.
    pub ops: Option<u64>,
}

/// The time left of the first point in `planned`, of whose load `passed_s` are over, and of those after it; and how many of its operations
/// are done. While its data is made (`passed_s` is `None`) all of its load is left, and more. A phase may end before its time, none lasts
/// longer but a replay, which goes on until its last operation has ended: those that are not done when its time is over are overdue.
/// If the run `may_end_early`, the time left is the longest that it can take.
pub fn left(planned: &[Planned], passed_s: Option<f64>, done: Option<(u64, u64)>, may_end_early: bool) -> String {
    let own = planned.first().and_then(|own| own.seconds).map_or(0.0, |own| own - passed_s.unwrap_or(0.0).min(own));
    let others: f64 = planned.iter().skip(1).filter_map(|point| point.seconds).sum();
    let is_over = planned.first().and_then(|own| own.seconds).zip(passed_s).is_some_and(|(own, passed)| passed >= own);
    let overdue = done.map(|(done, ops)| ops.saturating_sub(done)).filter(|overdue| is_over && *overdue > 0);
    let is_more = passed_s.is_none() || overdue.is_some() || planned.iter().any(|point| point.seconds.is_none());
    let done = done.map(|(done, ops)| format!("{} of {} ops", count(done), count(ops)));
    let overdue = overdue.map(|overdue| format!("{} overdue", count(overdue)));
    let time = clock(own + others);
    let time = match (is_more, may_end_early) {
        (true, true) => None,
        (true, false) if time == clock(0.0) => None,
        (true, false) => Some(format!("at least {time} left")),
        (false, true) => Some(format!("at most {time} left")),
        (false, false) => Some(format!("{time} left")),
    };
    let parts: Vec<String> = [done, overdue, time].into_iter().flatten().collect();
    if parts.is_empty() { "time left unknown".to_owned() } else { parts.join(", ") }
}

/// `38.2k`: a rate for people.
pub fn per_s(rate: f64) -> String {
    match rate {
        rate if rate >= 999_500.0 => format!("{}M", three_digits(rate / 1e6)),
        rate if rate >= 999.5 => format!("{}k", three_digits(rate / 1e3)),
        rate => three_digits(rate),
    }
}

/// `12.0k`: a whole number for people.
pub fn count(number: u64) -> String {
    if number < 1_000 { number.to_string() } else { per_s(number as f64) }
}

/// `1:20`: minutes and seconds.
pub fn clock(seconds: f64) -> String {
    let seconds = seconds.max(0.0).round() as u64;
    format!("{}:{:02}", seconds / 60, seconds % 60)
}

/// The same, of the time since `began`.
pub fn clock_since(began: Instant, now: Instant) -> String {
    clock(now.saturating_duration_since(began).as_secs_f64().floor())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_is_shown_if_it_is_known_and_the_operations_if_they_are() {
        let left = |planned: &[Planned], passed_s, done| super::left(planned, passed_s, done, false);
        let timed = |seconds| Planned { seconds: Some(seconds), ops: None };
        let counted = Planned { seconds: None, ops: Some(20_000) };
        let (both, at) = ([timed(30.0), timed(60.0)], Some);
        assert_eq!(left(&both, at(10.0), None), "1:20 left");
        assert_eq!(super::left(&both, at(10.0), None, true), "at most 1:20 left");
        assert_eq!(super::left(&both, None, None, true), "time left unknown");
        assert_eq!(left(&both, at(99.0), None), "1:00 left", "it waits for the current point");
        assert_eq!(left(&both, None, None), "at least 1:30 left", "making the data takes a time of its own");
        let done = Some((12_000, 20_000));
        assert_eq!(left(&[counted, timed(60.0)], at(7.0), done), "12.0k of 20.0k ops, at least 1:00 left");
        assert_eq!(left(&[counted], at(7.0), Some((56, 400))), "56 of 400 ops");
        assert_eq!(left(&[timed(30.0), counted], at(0.0), None), "at least 0:30 left");
        assert_eq!(left(&[counted], None, None), "time left unknown");
        let replay = Planned { seconds: Some(4.0), ops: Some(465) };
        let done = Some((276, 465));
        assert_eq!(left(&[replay], at(3.0), done), "276 of 465 ops, 0:01 left");
        assert_eq!(left(&[replay], at(140.0), done), "276 of 465 ops, 189 overdue", "nobody knows how long it waits");
        assert_eq!(left(&[replay], at(4.5), Some((465, 465))), "465 of 465 ops, 0:00 left");
    }

    #[test]
    fn rates_and_times_are_short() {
        assert_eq!([0.5, 999.0, 38_240.0, 1_500_000.0].map(per_s), ["0.50", "999", "38.2k", "1.50M"]);
        assert_eq!([0.2, 61.0, 3_599.6].map(clock), ["0:00", "1:01", "60:00"]);
    }
}
