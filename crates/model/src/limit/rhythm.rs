//! The rhythm of a target: slow stretches that come at equal distances, as those of checkpoints and compactions do.
//!
//! In: the windows of a probe. Out: the time from one slow stretch to the next. Limits: at least three stretches are needed; what comes
//! less often than three times a probe has no rhythm yet, and the hold must find it.

use super::observation::ResponseWindow;
use crate::units::Nanos;

/// A window is slow if its longest response time is so many times the usual one. The longest of n exponential times exceeds four times
/// the usual longest of n with a probability of n^-3.
const SLOW_FACTOR: u64 = 4;
/// Distances that differ by less than this share of their median are regular.
const SPREAD_MAX: f64 = 0.25;
const STRETCHES_MIN: usize = 3;

/// The time from one slow stretch to the next, if there are three or more at equal distances.
pub(super) fn find_rhythm(windows: &[ResponseWindow]) -> Option<Nanos> {
    let mut longest: Vec<u64> = windows.iter().map(|window| window.response.max_ns()).filter(|ns| *ns > 0).collect();
    longest.sort_unstable();
    let slow_ns = longest.get(longest.len() / 2)?.saturating_mul(SLOW_FACTOR);
    let beginnings = slow_beginnings(windows, slow_ns);
    if beginnings.len() < STRETCHES_MIN {
        return None;
    }
    let mut gaps: Vec<u64> = beginnings.windows(2).map(|pair| pair[1] - pair[0]).collect();
    gaps.sort_unstable();
    let (usual, range) = (gaps[gaps.len() / 2], gaps[gaps.len() - 1] - gaps[0]);
    (range as f64 / 2.0 <= SPREAD_MAX * usual as f64).then_some(Nanos(usual))
}

/// When each stretch of slow windows began, in nanoseconds from the first window.
fn slow_beginnings(windows: &[ResponseWindow], slow_ns: u64) -> Vec<u64> {
    let (mut at_ns, mut before_is_slow, mut beginnings) = (0, false, Vec::new());
    let least_stop = super::stops::least_stop(windows);
    for window in windows {
        // A window in which nothing ended is part of a stall; its operations end in a later one.
        let is_slow = window.response.max_ns() > slow_ns || window.response.is_empty();
        // What a stop of the machine makes slow is no rhythm of the target.
        if is_slow && !before_is_slow && window.stolen < least_stop {
            beginnings.push(at_ns);
        }
        (before_is_slow, at_ns) = (is_slow, at_ns + window.length.0);
    }
    beginnings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::histogram::Times;

    /// Windows of half a second, with their longest times in milliseconds.
    fn windows(longest_ms: impl IntoIterator<Item = u64>) -> Vec<ResponseWindow> {
        let window = |ms: u64| {
            let mut response = Times::default();
            response.record_n(ms * 1_000_000, u64::from(ms > 0));
            ResponseWindow { length: Nanos::from_millis(500), response, ..ResponseWindow::default() }
        };
        longest_ms.into_iter().map(window).collect()
    }

    #[test]
    fn slow_stretches_at_equal_distances_are_a_rhythm() {
        // Every 7.5 s a stretch of two windows, of which the first may be empty.
        let regular = windows((0..60).map(|n| {
            if n % 15 == 4 {
                0
            } else if n % 15 == 5 {
                150
            } else {
                5 + n % 3
            }
        }));
        assert_eq!(find_rhythm(&regular), Some(Nanos::from_millis(7_500)));
    }

    #[test]
    fn two_stretches_and_those_at_any_distance_are_none() {
        assert_eq!(find_rhythm(&windows((0..30).map(|n| if n % 15 == 4 { 150 } else { 5 }))), None);
        let slow = [3, 10, 41, 44];
        assert_eq!(find_rhythm(&windows((0..60).map(|n| if slow.contains(&n) { 150 } else { 5 }))), None);
        assert_eq!(find_rhythm(&windows([5; 60])), None);
        assert_eq!(find_rhythm(&[]), None);
    }
}
