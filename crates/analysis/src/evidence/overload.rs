//! Whether an open loop was offered more than could be served.
//!
//! A queue grows without end if and only if the work that arrives is more than the clients can do: if the rate offered times the mean
//! service time is above clients * depth (R. M. Loynes, The stability of a queue with non-independent inter-arrival and service times,
//! 1962). By Little's law it cannot be above while all arrivals are served, however the service time was stamped. Below that, chance
//! leaves a few arrivals at the end: of n Poisson arrivals about the square root of n more or fewer fall due. That arrivals wait is
//! normal: half of them do at a utilisation of 0.5 of one client.
//!
//! A replay goes on until its last operation has ended, so it leaves none unserved: of one that was too much for its target, operations
//! waited, and it took longer than the recording.

use crate::computed_phase::Measured;
use crate::evidence::PointView;
use crate::math::stats::total;
use crate::recorded::facts::slots;
use model::{Arrivals, Interval, Pacing, PointData, Times};
use serde::Serialize;

// Arrivals that fall due in the last moment find the clients busy at any rate.
const UNSERVED_SHARE_MAX: f64 = 0.001;
/// Standard deviations of the number of Poisson arrivals that chance does not leave unserved.
const CHANCE_DEVIATIONS: f64 = 3.0;
/// Standard errors by which the work that arrives must be above what the clients can do.
const WORK_ERRORS: f64 = 2.0;
/// A replay fell behind if it took longer than the recording by more than this share of it.
const BEHIND_MIN: f64 = 0.05;
/// And by more than this, in seconds: of a recording of milliseconds a moment is a large share.
const BEHIND_MIN_S: f64 = 0.1;

/// Whether the offered rate was beyond what could be served, so that a part of it never was, or only long after the recording.
pub fn is_overloaded(view: &PointView, measured: &Measured) -> bool {
    if fell_behind(view.point, measured).is_some() {
        return true;
    }
    let (offered, unserved) = (measured.window.phase.offered as f64, measured.summary.unserved);
    let slots = slots(view.point);
    let is_left = unserved > slots && unserved as f64 > UNSERVED_SHARE_MAX * offered;
    is_left && (is_too_much_work(view.point, measured) || is_beyond_chance(unserved - slots, offered))
}

/// The times of a replay that fell behind its recording.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FellBehind {
    /// How long the replay took.
    pub took_s: f64,
    /// How long the recorded load takes at the speed of the replay.
    pub recorded_s: f64,
}

/// Whether `point` replayed all of a recording and took longer than that, because operations waited for those before them; `None` if it
/// kept up. An operation that takes long at the end makes a replay longer, too, but does not let others wait.
pub fn fell_behind(point: &PointData, measured: &Measured) -> Option<FellBehind> {
    let Pacing::Open { arrivals: arrivals @ Arrivals::Recorded { .. } } = point.trial.load.pacing else { return None };
    let (took_s, phase) = (measured.window.seconds(), measured.window.phase);
    let recorded_s = phase.offered as f64 / arrivals.per_s();
    // One that its time ended leaves operations unserved if it is behind, and what it offered need not have the mean rate.
    let is_whole = took_s < point.trial.phases.run.as_secs_f64();
    // Of a backlog that grows evenly the mean wait is half of the last one.
    let waited_s = mean_wait_ns(&phase.intervals) / 1e9;
    let is_longer = took_s - recorded_s > BEHIND_MIN_S.max(BEHIND_MIN * recorded_s);
    let is_behind = is_longer && waited_s > BEHIND_MIN / 2.0 * recorded_s;
    (is_whole && is_behind).then_some(FellBehind { took_s, recorded_s })
}

/// How long the operations of `intervals` waited for a client, on average: from the exact sums of response and service times.
pub fn mean_wait_ns(intervals: &[Interval]) -> f64 {
    let kinds = || intervals.iter().flat_map(|interval| &interval.kinds);
    let waited_ns = total(kinds().map(|kind| kind.response.sum_ns().saturating_sub(kind.service.sum_ns()) as f64));
    waited_ns / kinds().map(|kind| kind.response.len()).sum::<u64>().max(1) as f64
}

/// Whether so many `unserved` of the arrivals `offered` are more than chance leaves.
fn is_beyond_chance(unserved: u64, offered: f64) -> bool {
    unserved as f64 > CHANCE_DEVIATIONS * offered.sqrt()
}

/// Whether more work arrives than the clients can do, beyond the error of the mean service time.
pub fn is_too_much_work(point: &PointData, measured: &Measured) -> bool {
    let Some(offered_per_s) = measured.summary.offered_per_s else { return false };
    let kinds = measured.window.phase.intervals.iter().flat_map(|interval| &interval.kinds);
    let service = Times::merged(kinds.map(|kind| &kind.service));
    let least_mean_ns = service.mean_ns() - WORK_ERRORS * standard_error_ns(&service);
    offered_per_s * least_mean_ns / 1e9 > slots(point) as f64
}

/// The standard error of the mean of `times`, as of independent ones.
fn standard_error_ns(times: &Times) -> f64 {
    let (n, mean_ns) = (times.len().max(1) as f64, times.mean_ns());
    let squares = total(times.recorded().map(|(ns, count)| count as f64 * (ns as f64 - mean_ns).powi(2)));
    squares.sqrt() / n
}
