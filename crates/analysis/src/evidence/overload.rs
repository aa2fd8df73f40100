//! Whether an open loop was offered more than could be served.
//!
//! A queue grows without end if and only if the work that arrives is more than the clients can do: if the rate offered times the mean
//! service time is above clients * depth (R. M. Loynes, The stability of a queue with non-independent inter-arrival and service times,
//! 1962). By Little's law it cannot be above while all arrivals are served, however the service time was stamped. Below that, chance
//! leaves a few arrivals at the end: of n Poisson arrivals about the square root of n more or fewer fall due. That arrivals wait is
//! normal: half of them do at a utilisation of 0.5 of one client.

use crate::computed_phase::Measured;
use crate::evidence::PointView;
use crate::math::stats::total;
use crate::recorded::facts::slots;
use model::{PointData, Times};

// Arrivals that fall due in the last moment find the clients busy at any rate.
const UNSERVED_SHARE_MAX: f64 = 0.001;
/// Standard deviations of the number of Poisson arrivals that chance does not leave unserved.
const CHANCE_DEVIATIONS: f64 = 3.0;
/// Standard errors by which the work that arrives must be above what the clients can do.
const WORK_ERRORS: f64 = 2.0;

/// Whether the offered rate was beyond what could be served, so that a part of it never was.
pub fn is_overloaded(view: &PointView, measured: &Measured) -> bool {
    let (offered, unserved) = (measured.window.phase.offered as f64, measured.summary.unserved);
    let slots = slots(view.point);
    let is_left = unserved > slots && unserved as f64 > UNSERVED_SHARE_MAX * offered;
    is_left && (is_too_much_work(view.point, measured) || is_beyond_chance(unserved - slots, offered))
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
