//! Stops of the machine while a probe ran: the hypervisor gave its CPUs to others.
//!
//! In: the counter of stolen CPU time, and the windows of a probe. Out: how much was stolen in each window, and the windows that no stop has
//! spoilt. Limits: the kernel counts stolen time in ticks of 10 ms, when a CPU runs again. Time that is stolen all along is no stop: it
//! makes the machine slower, and the limit is that of the slower machine.

use super::objective::Objective;
use super::observation::ResponseWindow;
use crate::role::CounterRole;
use crate::run::PointData;
use crate::units::{Nanos, Tick};

/// Less stolen time in a window is no stop: two ticks.
const STOP_MIN: Nanos = Nanos::from_millis(20);
/// A stop takes so many times as much as is stolen from the median window.
const STOP_FACTOR: u64 = 3;
/// The queue that a stop has left may need so many times its length: that of a target which is busy for 90 % of the time.
const DRAIN_FACTOR: u64 = 10;

/// Which windows show what the target does: no stop fell into them, and they are not the slow ones in which the queue of a stop was worked
/// off.
pub(super) fn unspoilt_windows(windows: &[ResponseWindow], objective: &Objective) -> Vec<bool> {
    let least = least_stop(windows);
    let mut drain = Nanos(0);
    let mut is_unspoilt = |window: &ResponseWindow| {
        let is_stop = window.stolen >= least;
        let is_draining = drain.0 > 0 && is_slow(window, objective);
        drain = match (is_stop, is_draining) {
            (true, _) => Nanos(DRAIN_FACTOR * window.stolen.0),
            (false, true) => Nanos(drain.0.saturating_sub(window.length.0)),
            (false, false) => Nanos(0),
        };
        !is_stop && !is_draining
    };
    windows.iter().map(&mut is_unspoilt).collect()
}

/// From how much stolen time on a window of `windows` has a stop.
pub(super) fn least_stop(windows: &[ResponseWindow]) -> Nanos {
    let mut stolen: Vec<u64> = windows.iter().map(|window| window.stolen.0).collect();
    stolen.sort_unstable();
    let usual = stolen.get(stolen.len() / 2).copied().unwrap_or(0);
    STOP_MIN.max(Nanos(STOP_FACTOR * usual + 1))
}

/// Whether more operations of `window` took long than `objective` allows, or none ended in it.
fn is_slow(window: &ResponseWindow, objective: &Objective) -> bool {
    let (limit, tail) =
        (objective.shortest_time().unwrap_or(Nanos(u64::MAX)), objective.smallest_tail().unwrap_or(0.0));
    let done = window.response.len();
    done == 0 || window.response.count_from(limit.0) as f64 > tail * done as f64
}

/// The CPU time that was stolen from all CPUs together, as (from, to, time), between readings of `point`.
pub(super) fn stolen_times(point: &PointData) -> Vec<(Tick, Tick, Nanos)> {
    let is_steal = |role| role == Some(CounterRole::MachineCpuSteal);
    let places = (0u16..)
        .zip(&point.sources)
        .filter_map(|(source, def)| Some((source, def.counters.iter().position(|counter| is_steal(counter.role))?)));
    let Some((source, place)) = places.into_iter().next() else { return Vec::new() };
    let readings: Vec<(Tick, f64)> = point.counters.of_counter(source, place).collect();
    readings.windows(2).map(|pair| (pair[0].0, pair[1].0, Nanos((pair[1].1 - pair[0].1).max(0.0) as u64))).collect()
}

/// The most that may have been stolen from `from` to `to`: all of each time between readings that overlaps it.
pub(super) fn stolen_within(times: &[(Tick, Tick, Nanos)], from: Tick, to: Tick) -> Nanos {
    Nanos(times.iter().filter(|time| time.0 < to && time.1 > from).map(|time| time.2.0).sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::histogram::Times;

    /// Windows of 100 ms: what was stolen, and how many of 100 operations took 50 ms instead of 1 ms.
    fn unspoilt(windows: &[(u64, u64)]) -> String {
        let window = |(stolen_ms, slow): &(u64, u64)| {
            let mut response = Times::default();
            response.record_n(1_000_000, 100 - slow);
            response.record_n(50_000_000, *slow);
            let (length, stolen) = (Nanos::from_millis(100), Nanos::from_millis(*stolen_ms));
            ResponseWindow { length, response, failed: 0, stolen }
        };
        let windows: Vec<ResponseWindow> = windows.iter().map(window).collect();
        let shown = |unspoilt: bool| if unspoilt { '.' } else { 'x' };
        unspoilt_windows(&windows, &Objective::default()).into_iter().map(shown).collect()
    }

    #[test]
    fn a_stop_spoils_its_window_and_the_slow_ones_right_after_it() {
        assert_eq!(unspoilt(&[(0, 0), (0, 0), (74, 30), (0, 20), (0, 0), (0, 20), (0, 0)]), "..xx...");
    }

    #[test]
    fn what_is_slow_for_longer_than_a_queue_lasts_is_the_target_itself() {
        assert_eq!(unspoilt(&[(0, 0), (20, 30), (0, 20), (0, 20), (0, 20), (0, 20)]), ".xxx..");
    }

    #[test]
    fn time_that_is_stolen_all_along_or_in_single_ticks_is_no_stop() {
        assert_eq!(unspoilt(&[(30, 30), (40, 30), (50, 30), (90, 30), (10, 30)]), ".....");
        assert_eq!(unspoilt(&[(0, 0), (10, 30), (0, 20), (10, 30)]), "....");
    }

    #[test]
    fn a_window_has_all_that_was_stolen_between_the_readings_around_it() {
        let ms = |ms: u64| Tick(ms * 1_000_000);
        let times = [(ms(0), ms(100), Nanos(7)), (ms(100), ms(205), Nanos(20)), (ms(205), ms(300), Nanos(1))];
        assert_eq!(stolen_within(&times, ms(100), ms(200)), Nanos(20));
        assert_eq!(stolen_within(&times, ms(200), ms(300)), Nanos(21));
        assert_eq!(stolen_within(&times, ms(300), ms(400)), Nanos(0));
    }
}
