//! When a watch begins its next run file: at multiples of a time, by the local clock.
//!
//! In: the wall clock, the time, and by how much local time is ahead of UTC. Out: how long the present file is. Limits: multiples are counted
//! from midnight of 1 January 1970, local time, so that a day begins at midnight and an hour at its full hour. When the clocks are changed, one
//! file is longer or shorter.

use model::Nanos;
use std::time::Duration;

/// From `now` (since 1970) to the next multiple of `every`, but for one that is nearer than `least`. `offset_s` tells by how many seconds local
/// time is ahead of UTC at a moment.
pub fn until_next_file(now: Duration, every: Nanos, least: Nanos, offset_s: impl Fn(i64) -> i64) -> Nanos {
    const SECOND: i128 = 1_000_000_000;
    let now_ns = now.as_nanos() as i128;
    let offset_ns = |at_ns: i128| i128::from(offset_s(at_ns.div_euclid(SECOND) as i64)) * SECOND;
    let every_ns = i128::from(every.0.max(1));
    let from_ns = now_ns + i128::from(least.0);
    let local_ns = from_ns + offset_ns(from_ns);
    let next_ns = (local_ns.div_euclid(every_ns) + 1) * every_ns;
    // The clocks may be changed in between: what counts is the offset at that moment.
    let by_present_offset = next_ns - offset_ns(from_ns);
    let by_its_own = next_ns - offset_ns(by_present_offset);
    let at_ns = if by_its_own > from_ns { by_its_own } else { by_present_offset };
    Nanos(u64::try_from(at_ns - now_ns).unwrap_or(every.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: u64 = 3_600;
    const DAY: u64 = 24 * HOUR;

    fn seconds_to_next(now_s: u64, every_s: u64, offset_s: impl Fn(i64) -> i64) -> u64 {
        let now = Duration::from_secs(now_s);
        until_next_file(now, Nanos::from_secs(every_s), Nanos::from_secs(1), offset_s).0 / 1_000_000_000
    }

    #[test]
    fn a_day_ends_at_local_midnight_and_an_hour_at_the_full_hour() {
        assert_eq!(seconds_to_next(20 * HOUR, DAY, |_| 0), 4 * HOUR);
        assert_eq!(seconds_to_next(20 * HOUR, DAY, |_| 2 * HOUR as i64), 2 * HOUR);
        assert_eq!(seconds_to_next(20 * HOUR, DAY, |_| -5 * HOUR as i64), 9 * HOUR);
        assert_eq!(seconds_to_next(20 * HOUR + 600, HOUR, |_| 0), 3_000);
        assert_eq!(seconds_to_next(20 * HOUR, DAY, |_| 19_800), 28 * HOUR - 19_800, "India");
    }

    #[test]
    fn a_file_that_begins_at_or_just_before_a_multiple_goes_on_to_the_next() {
        assert_eq!(seconds_to_next(DAY, DAY, |_| 0), DAY);
        assert_eq!(seconds_to_next(2 * DAY - 1, DAY, |_| 0), 1 + DAY);
        assert_eq!(seconds_to_next(2 * DAY - 2, DAY, |_| 0), 2);
    }

    #[test]
    fn a_day_in_which_the_clocks_are_changed_is_longer_or_shorter() {
        let changed_at = (10 * DAY + HOUR) as i64;
        let autumn = |at: i64| if at < changed_at { 7_200 } else { 3_600 };
        assert_eq!(seconds_to_next(10 * DAY - 2 * HOUR, DAY, autumn), 25 * HOUR);
        let spring = |at: i64| if at < changed_at { 3_600 } else { 7_200 };
        assert_eq!(seconds_to_next(10 * DAY - HOUR, DAY, spring), 23 * HOUR);
    }
}
