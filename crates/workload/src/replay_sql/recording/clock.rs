//! The clock of a log.
//!
//! In: the times at which a log's lines were written, in its order. Out: times that go on where the clock of the recorded server went back.
//! Limits: less than [`BACK_US`] is no such step: threads write one after the other, and each has read the clock before. A time far ahead is
//! taken as it is, because it may be a pause.

use std::collections::HashMap;

/// 5 s: more than a thread waits for its turn to write, less than a step of summer time or of a clock that is set.
const BACK_US: i64 = 5_000_000;
/// What is counted if it goes back.
const GOES_BACK: &str = "clock that goes back";

#[derive(Default)]
pub struct Clock {
    /// The latest time so far, shifted.
    latest_us: Option<i64>,
    /// The last time, as it was logged.
    logged_us: i64,
    /// What times are shifted by since the last step back.
    shift_us: i64,
    /// The last time before the first step back, and the shift until then. MariaDB logs what a session has set by SET timestamp as the time:
    /// after such statements the clock comes back to where it was.
    before_step: Option<(i64, i64)>,
    seconds: SecondCounts,
}

impl Clock {
    /// Goes on to `logged_us`. What to count if the clock went back: from there on, times are as if it had stood.
    pub fn advance(&mut self, logged_us: i64) -> Option<&'static str> {
        let last_us = std::mem::replace(&mut self.logged_us, logged_us);
        let jumps = logged_us.saturating_sub(last_us) > BACK_US;
        if let Some((_, shift_us)) = self.before_step.take_if(|before| jumps && logged_us > before.0 - BACK_US) {
            self.shift_us = shift_us;
        }
        let latest_us = self.latest_us.unwrap_or_else(|| self.shifted(logged_us));
        let back = latest_us.saturating_sub(self.shifted(logged_us));
        let goes_back = back > BACK_US;
        if goes_back {
            self.before_step.get_or_insert((last_us, self.shift_us));
            // By whole seconds: a time without a fraction stays one.
            self.shift_us = self.shift_us.saturating_add(back).saturating_add(999_999) / 1_000_000 * 1_000_000;
        }
        self.latest_us = Some(latest_us.max(self.shifted(logged_us)));
        goes_back.then_some(GOES_BACK)
    }

    pub fn shifted(&self, us: i64) -> i64 {
        us.saturating_add(self.shift_us)
    }

    /// Counts a statement at `us`, as long as all times are whole seconds.
    pub(super) fn count_second(&mut self, us: i64) {
        self.seconds.count(us);
    }

    /// Whether a time was counted that is no whole second.
    pub(super) fn has_fractions(&self) -> bool {
        self.seconds.is_off
    }

    pub(super) fn take_seconds(&mut self) -> SecondCounts {
        std::mem::take(&mut self.seconds)
    }
}

/// How many statements each second has, and how many of them were spread over it.
#[derive(Default)]
pub(super) struct SecondCounts {
    counts: HashMap<i64, (u32, u32)>,
    is_off: bool,
}

impl SecondCounts {
    fn count(&mut self, us: i64) {
        if self.is_off {
            return;
        }
        if us.rem_euclid(1_000_000) != 0 {
            // A log with fractions, which is not spread.
            (self.counts, self.is_off) = (HashMap::new(), true);
            return;
        }
        self.counts.entry(us).or_default().0 += 1;
    }

    /// The next of the times over which the statements of the second that begins at `us` are spread; `us` itself if none were counted.
    pub(super) fn spread(&mut self, us: i64) -> i64 {
        let Some((all, seen)) = self.counts.get_mut(&us) else { return us };
        let at = us.saturating_add((f64::from(*seen) / f64::from(*all) * 1e6) as i64);
        *seen += 1;
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shifted(times: &[i64]) -> Vec<i64> {
        const S: i64 = 1_000_000;
        let mut clock = Clock::default();
        let shift = |time: &i64| {
            clock.advance(time * S);
            clock.shifted(time * S) / S
        };
        times.iter().map(shift).collect()
    }

    #[test]
    fn a_clock_that_goes_back_stands_and_goes_on_and_may_come_back() {
        assert_eq!(shifted(&[1_000, 1_010, 1_008, 1_011]), [1_000, 1_010, 1_008, 1_011], "threads");
        assert_eq!(shifted(&[4_000, 4_010, 410, 415, 430]), [4_000, 4_010, 4_010, 4_015, 4_030], "it was set back");
        assert_eq!(
            shifted(&[4_000, 4_010, 5, 6, 4_012, 4_100]),
            [4_000, 4_010, 4_010, 4_011, 4_012, 4_100],
            "one session's own time"
        );
    }

    #[test]
    fn statements_of_a_second_are_spread_in_their_order() {
        let mut seconds = SecondCounts::default();
        [5_000_000, 5_000_000, 6_000_000].into_iter().for_each(|us| seconds.count(us));
        let spread = [5_000_000, 6_000_000, 5_000_000, 7_000_000].map(|us| seconds.spread(us));
        assert_eq!(spread, [5_000_000, 6_000_000, 5_500_000, 7_000_000]);
    }
}
