//! Stops of the machine while a probe ran: the hypervisor gave its CPUs to others, or other programs used them for a while.
//!
//! In: the counters of CPU time, and the windows of a probe. Out: how much was taken in each window, and the windows that no stop has
//! spoilt. Limits: the kernel counts CPU time in ticks of 10 ms, and stolen time when a CPU runs again. Time that is taken all along is no stop: it
//! makes the machine slower, and the limit is that of the slower machine. Of a server whose processes are not seen on a machine that is, its time
//! cannot be distinguished from that of others, which is then not known.

use super::objective::Objective;
use super::observation::ResponseWindow;
use crate::role::CounterRole;
use crate::run::PointData;
use crate::traits::{EngineProcess, UnseenServer};
use crate::units::{Nanos, Tick};

/// Less stolen time in a window is no stop: two ticks.
const STOP_MIN: Nanos = Nanos::from_millis(20);
/// Less CPU time of other programs in a window is no stop: three ticks, since the times of several processes are subtracted.
const FOREIGN_MIN: Nanos = Nanos::from_millis(30);
/// Less than this share of one CPU is none either: any machine has programs that run now and then.
const FOREIGN_SHARE_MIN: f64 = 0.25;
/// A stop takes so many times as much as is stolen from the median window.
const STOP_FACTOR: u64 = 3;
/// The queue that a stop has left may need so many times its length: that of a target which is busy for 90 % of the time.
const DRAIN_FACTOR: u64 = 10;

/// Which windows show what the target does: no stop fell into them, and they are not the slow ones in which the queue of a stop was worked
/// off.
pub(super) fn unspoilt_windows(windows: &[ResponseWindow], objective: &Objective) -> Vec<bool> {
    let least = least_stop(windows);
    let foreign_usual = usual(windows, |window| window.foreign);
    let mut drain = Nanos(0);
    let mut is_unspoilt = |window: &ResponseWindow| {
        let is_stop = window.stolen >= least || is_taken_by_others(window, foreign_usual);
        let is_draining = drain.0 > 0 && is_slow(window, objective);
        drain = match (is_stop, is_draining) {
            (true, _) => Nanos(DRAIN_FACTOR * window.stolen.max(window.foreign).0),
            (false, true) => Nanos(drain.0.saturating_sub(window.length.0)),
            (false, false) => Nanos(0),
        };
        !is_stop && !is_draining
    };
    windows.iter().map(&mut is_unspoilt).collect()
}

/// From how much stolen time on a window of `windows` has a stop.
pub(super) fn least_stop(windows: &[ResponseWindow]) -> Nanos {
    STOP_MIN.max(Nanos(STOP_FACTOR * usual(windows, |window| window.stolen) + 1))
}

/// What is taken from the median window.
fn usual(windows: &[ResponseWindow], taken: fn(&ResponseWindow) -> Nanos) -> u64 {
    let mut all: Vec<u64> = windows.iter().map(|window| taken(window).0).collect();
    all.sort_unstable();
    all.get(all.len() / 2).copied().unwrap_or(0)
}

/// Whether other programs used far more of `window` than of the usual one.
fn is_taken_by_others(window: &ResponseWindow, usual: u64) -> bool {
    let least = FOREIGN_MIN.max(Nanos((FOREIGN_SHARE_MIN * window.length.0 as f64) as u64));
    window.foreign >= least.max(Nanos(STOP_FACTOR * usual + 1))
}

/// Whether more operations of `window`, or of a kind that `objective` names, took long than it allows, or none ended in it.
fn is_slow(window: &ResponseWindow, objective: &Objective) -> bool {
    let mut kinds: Vec<Option<&str>> = vec![None];
    kinds.extend(objective.kinds().into_iter().map(Some));
    let is_part_slow = |kind: Option<&str>| {
        let (Some(part), Some((response, _))) = (objective.part_of(kind), window.part_of(kind)) else { return false };
        let limit = part.shortest_time().unwrap_or(Nanos(u64::MAX));
        let tail = part.smallest_tail(|_| 1.0).unwrap_or(0.0);
        response.count_from(limit.0) as f64 > tail * response.len() as f64
    };
    window.response.is_empty() || kinds.into_iter().any(is_part_slow)
}

/// The CPU time that others took from all CPUs together, as (from, to, time), between readings of a point.
pub(super) struct TakenTimes {
    stolen: Vec<(Tick, Tick, Nanos)>,
    foreign: Vec<(Tick, Tick, Nanos)>,
}

impl TakenTimes {
    /// What was taken while `point` was measured.
    pub fn of(point: &PointData) -> TakenTimes {
        let stolen = readings_of(point, CounterRole::MachineCpuSteal).into_iter().next().unwrap_or_default();
        TakenTimes { stolen: grown(&stolen), foreign: grown(&foreign_time(point).unwrap_or_default()) }
    }

    /// The most that the hypervisor and other programs may have taken from `from` to `to`.
    pub fn within(&self, from: Tick, to: Tick) -> [Nanos; 2] {
        [&self.stolen, &self.foreign].map(|times| taken_within(times, from, to))
    }
}

/// The readings of each counter of `role`.
fn readings_of(point: &PointData, role: CounterRole) -> Vec<Vec<(Tick, f64)>> {
    let all = (0u16..).zip(&point.sources).flat_map(|(source, def)| {
        let own = def.counters.iter().enumerate().filter(|(_, counter)| counter.role == Some(role));
        own.map(move |(place, _)| point.counters.of_counter(source, place).collect())
    });
    all.collect()
}

/// The CPU time that programs other than plimsoll and its engine have used; `None` if it is not known.
fn foreign_time(point: &PointData) -> Option<Vec<(Tick, f64)>> {
    use CounterRole::{
        EngineCpuSystem, EngineCpuUser, KernelThreadsCpu, MachineCpuSystem, MachineCpuUser, PlimsollCpu,
    };
    let engine = match point.traits.engine.process {
        EngineProcess::Own => vec![EngineCpuUser, EngineCpuSystem],
        EngineProcess::Embedded | EngineProcess::None => Vec::new(),
        EngineProcess::Elsewhere if point.traits.engine.unseen == Some(UnseenServer::Remote) => Vec::new(),
        EngineProcess::Elsewhere | EngineProcess::Unknown => return None,
    };
    let user = readings_of(point, MachineCpuUser).into_iter().next()?;
    // Without the kernel's own threads, those that write back what the engine wrote would count as others.
    let required: Vec<CounterRole> =
        [MachineCpuSystem, PlimsollCpu, KernelThreadsCpu].into_iter().chain(engine).collect();
    let of_role = |role: &CounterRole| Some(readings_of(point, *role)).filter(|all| !all.is_empty());
    let mut others: Vec<Vec<Vec<(Tick, f64)>>> = required.iter().map(of_role).collect::<Option<_>>()?;
    let system = others.remove(0);
    let at = |all: &[Vec<(Tick, f64)>], tick| all.iter().map(|one| value_at(one, tick)).sum::<Option<f64>>();
    let foreign = user.iter().filter_map(|(tick, user)| {
        let own: f64 = others.iter().map(|all| at(all, *tick)).sum::<Option<f64>>()?;
        Some((*tick, user + at(&system, *tick)? - own))
    });
    Some(foreign.collect())
}

/// The value of a counter at `tick`, between its readings on a straight line; `None` outside of them.
fn value_at(readings: &[(Tick, f64)], tick: Tick) -> Option<f64> {
    let after = readings.partition_point(|(at, _)| *at < tick);
    let (to, high) = *readings.get(after)?;
    if to == tick {
        return Some(high);
    }
    let (from, low) = *readings.get(after.checked_sub(1)?)?;
    Some(low + (high - low) * tick.since(from).0 as f64 / to.since(from).0 as f64)
}

/// By how much a counter grew between each two of its readings.
fn grown(readings: &[(Tick, f64)]) -> Vec<(Tick, Tick, Nanos)> {
    readings.windows(2).map(|pair| (pair[0].0, pair[1].0, Nanos((pair[1].1 - pair[0].1).max(0.0) as u64))).collect()
}

/// The most that may have been taken from `from` to `to`: all of each time between readings that overlaps it.
fn taken_within(times: &[(Tick, Tick, Nanos)], from: Tick, to: Tick) -> Nanos {
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
            ResponseWindow { length, response, stolen, ..ResponseWindow::default() }
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
        assert_eq!(taken_within(&times, ms(100), ms(200)), Nanos(20));
        assert_eq!(taken_within(&times, ms(200), ms(300)), Nanos(21));
        assert_eq!(taken_within(&times, ms(300), ms(400)), Nanos(0));
    }

    #[test]
    fn a_counter_that_is_read_at_other_moments_lies_on_a_line_between_them() {
        let readings = [(Tick(100), 10.0), (Tick(200), 30.0)];
        assert_eq!([100, 150, 200].map(|at| value_at(&readings, Tick(at))), [Some(10.0), Some(20.0), Some(30.0)]);
        assert_eq!([99, 201].map(|at| value_at(&readings, Tick(at))), [None, None]);
    }
}
