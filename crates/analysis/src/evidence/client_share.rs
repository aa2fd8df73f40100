//! How much of the cores open to them the client threads used.

use crate::computed_phase::Measured;
use crate::evidence::PointView;
use crate::recorded::facts::{cpu_count, is_scripted};

/// Of the cores that the client threads can run on. Above this, waiting for a CPU is a visible part of every response time.
pub const CORES_SHARE_MAX: f64 = 0.80;

/// The share of the cores open to the client threads that they used; `None` if it is not known or means nothing.
pub fn cores_share(view: &PointView, measured: &Measured) -> Option<f64> {
    if !view.parts.is_empty() {
        return busiest_host(view);
    }
    let cores = f64::from(client_threads(view, measured)).min(cpu_count(view.machine)?);
    let used = measured.summary.client.cores_used.filter(|_| !is_scripted(view.point))?;
    Some(used / cores)
}

/// The same of the host whose clients used most of theirs.
fn busiest_host(view: &PointView) -> Option<f64> {
    let loads = view.parts.iter().filter(|one| one.part.is_load());
    let shares = loads.filter_map(|one| cores_share(&one.view, one.view.measured.as_ref()?));
    shares.reduce(f64::max)
}

/// How many client threads there were, those of background clients among them: as many as clients, or fewer that are shared.
pub fn client_threads(view: &PointView, measured: &Measured) -> u32 {
    let trial = &view.point.trial;
    let shared = view.point.traits.engine.client_threads;
    let shared = shared.map_or(u32::MAX, |threads| u32::try_from(threads).unwrap_or(u32::MAX));
    let in_background = measured.summary.background.iter().map(|load| load.clients.min(shared));
    trial.load.clients.min(shared) + in_background.sum::<u32>()
}
