//! Depth and block size as they were reached, for comparison with what was asked for.
//!
//! In: the service times of the whole intervals, and the counters of `disk`. Out: an [`Achieved`].
//! Limits: the numbers of the device include what others did on it.

use crate::recorded::counters::growth_of_most;
use crate::recorded::window::Window;
use model::{CounterRole, PointData};
use serde::{Deserialize, Serialize};

/// What was achieved of the depth and the block size asked for. `None` if it could not be measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Achieved {
    /// The mean number of operations in flight, by Little's law.
    pub under_way_mean: Option<f64>,
    /// The mean number of operations in the device's queue, those of others included.
    pub device_under_way_mean: Option<f64>,
    /// Bytes per read of the device, those of others included.
    pub device_bytes_per_read: Option<f64>,
    /// Bytes per write of the device, those of others included.
    pub device_bytes_per_write: Option<f64>,
}

/// What `point` achieved in the part of its run phase that `window` cuts.
pub fn compute_achieved(point: &PointData, window: &Window) -> Achieved {
    use CounterRole::{DeviceQueue, DeviceReadBytes, DeviceReadOps, DeviceWriteBytes, DeviceWriteOps};
    Achieved {
        under_way_mean: mean_in_flight(window),
        // The kernel adds up the nanoseconds that requests spent in the queue: per nanosecond, that is their mean number.
        device_under_way_mean: device_growth_per_s(point, window, DeviceQueue).map(|per_s| per_s / 1e9),
        device_bytes_per_read: device_bytes_per_op(point, window, DeviceReadBytes, DeviceReadOps),
        device_bytes_per_write: device_bytes_per_op(point, window, DeviceWriteBytes, DeviceWriteOps),
    }
}

fn device_bytes_per_op(point: &PointData, window: &Window, bytes: CounterRole, ops: CounterRole) -> Option<f64> {
    let ops = device_growth_per_s(point, window, ops).filter(|ops| *ops > 0.0)?;
    Some(device_growth_per_s(point, window, bytes)? / ops)
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
