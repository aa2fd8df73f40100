//! What a limit of storage holds back, and how much of it was done.

use crate::computed_phase::Measured;
use crate::evidence::PointView;
use crate::recorded::counters::{Growth, growth_of_first, growths_of_first};
use model::{CounterRole, StorageLimit};
use serde::Serialize;

/// What a storage limit is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitedFlow {
    ReadOps,
    WriteOps,
    ReadBytes,
    WriteBytes,
}

/// What `limit` limits, and to how much per second.
pub fn limited_flows(limit: StorageLimit) -> Vec<(LimitedFlow, f64)> {
    let limits = [
        (LimitedFlow::ReadOps, limit.read_iops),
        (LimitedFlow::WriteOps, limit.write_iops),
        (LimitedFlow::ReadBytes, limit.read_bytes_per_s),
        (LimitedFlow::WriteBytes, limit.write_bytes_per_s),
    ];
    limits.into_iter().filter_map(|(flow, most)| Some((flow, most? as f64))).collect()
}

/// The growth per second of the first counter of `role`, and in how many seconds it was seen.
pub fn per_second(view: &PointView, measured: &Measured, role: CounterRole) -> Option<(f64, f64)> {
    let (start, end) = (measured.window.phase.start, measured.window.phase.end);
    let growth = growth_of_first(view.point, role, start, end)?;
    let seconds = growth.to.since(growth.from).as_secs_f64();
    (seconds > 0.0).then(|| (growth.amount / seconds, seconds))
}

/// The share of the time in which the first counter of `role` grew by `least_per_s` or more; `None` with too few readings.
pub fn time_above(view: &PointView, measured: &Measured, role: CounterRole, least_per_s: f64) -> Option<f64> {
    let phase = &measured.window.phase;
    let growths = growths_of_first(view.point, role, phase.start, phase.end);
    let seconds = |growth: &Growth| growth.to.since(growth.from).as_secs_f64();
    let above = growths.iter().filter(|growth| growth.amount >= least_per_s * seconds(growth));
    let (above, all) = (above.map(seconds).sum::<f64>(), growths.iter().map(seconds).sum::<f64>());
    (growths.len() >= READINGS_MIN).then(|| above / all)
}

/// Fewer stretches tell too little of a share of time.
const READINGS_MIN: usize = 5;

impl LimitedFlow {
    /// The counter of it on the device.
    pub fn on_device(self) -> CounterRole {
        match self {
            LimitedFlow::ReadOps => CounterRole::DeviceReadOps,
            LimitedFlow::WriteOps => CounterRole::DeviceWriteOps,
            LimitedFlow::ReadBytes => CounterRole::DeviceReadBytes,
            LimitedFlow::WriteBytes => CounterRole::DeviceWriteBytes,
        }
    }

    /// The counter of it in the control group that the limit holds.
    pub fn in_group(self) -> CounterRole {
        match self {
            LimitedFlow::ReadOps => CounterRole::LimitedReadOps,
            LimitedFlow::WriteOps => CounterRole::LimitedWriteOps,
            LimitedFlow::ReadBytes => CounterRole::LimitedReadBytes,
            LimitedFlow::WriteBytes => CounterRole::LimitedWriteBytes,
        }
    }
}
