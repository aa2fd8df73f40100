//! How much of the time a quota of CPU time held threads back.

use crate::computed_phase::Measured;
use crate::evidence::PointView;
use model::CounterRole;

/// The share of the CPU time of the machine in which the quota held threads back whose counter has the role `throttled`; `None` if there is none.
pub fn held_by_quota(view: &PointView, measured: &Measured, throttled: CounterRole) -> Option<f64> {
    let held_ns = measured.growth_of_all(view.point, throttled)?;
    // The quota stops the threads on all CPUs at the same time, and the counter adds these times up.
    Some(held_ns / 1e9 / measured.summary.seconds / view.machine.cpus.unwrap_or(1) as f64)
}
