//! Depth and block size as they were reached, for comparison with what was asked for.
//!
//! In: the service times of the whole intervals, and the counters of `disk`. Out: an [`Achieved`].
//! Limits: the device's numbers are of everything that used it.

use crate::counters::growth_of_most;
use crate::window::Window;
use model::{CounterRole, PointData};
use serde::{Deserialize, Serialize};

/// What was achieved of the depth and the block size asked for. `None` if it could not be measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Achieved {
    /// The mean number of operations under way, by Little's law.
    pub under_way_mean: Option<f64>,
    /// The mean number of operations in the device's queue, whoever's they were.
    pub device_under_way_mean: Option<f64>,
    /// Bytes per read of the device, whoever's they were.
    pub device_bytes_per_read: Option<f64>,
    /// Bytes per write of the device, whoever's they were.
    pub device_bytes_per_write: Option<f64>,
}

/// What `point` achieved in the part of its run phase that `window` cuts.
pub fn compute_achieved(point: &PointData, window: &Window) -> Achieved {
    let device = |role| device_growth_per_s(point, window, role);
    let per_op = |bytes, ops| device(ops).filter(|ops| *ops > 0.0).and_then(|ops| Some(device(bytes)? / ops));
    Achieved {
        under_way_mean: mean_in_flight(window),
        device_under_way_mean: device(CounterRole::DeviceQueue).map(|per_s| per_s / 1e9),
        device_bytes_per_read: per_op(CounterRole::DeviceReadBytes, CounterRole::DeviceReadOps),
        device_bytes_per_write: per_op(CounterRole::DeviceWriteBytes, CounterRole::DeviceWriteOps),
    }
}

/// The growth of a counter of the device, per second.
pub fn device_growth_per_s(point: &PointData, window: &Window, role: CounterRole) -> Option<f64> {
    let phase = window.phase;
    Some(growth_of_most(point, role, phase.start, phase.end)?.per_second())
}

/// The mean number of operations in flight in the whole intervals: the sum of their service times over the time. This is
/// throughput * mean time (Little's law), from the same operations.
pub fn mean_in_flight(window: &Window) -> Option<f64> {
    let kinds = window.whole_recorded().iter().flat_map(|interval| &interval.kinds);
    let service_ns: f64 = kinds.map(|kind| kind.service.len() as f64 * kind.service.mean_ns()).sum();
    let seconds: f64 = window.whole.iter().map(|tally| tally.length.as_secs_f64()).sum();
    (seconds > 0.0).then(|| service_ns / 1e9 / seconds)
}
