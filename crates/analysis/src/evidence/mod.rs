//! What detectors and the tests of limits look at: a point with its numbers, and the facts that both of them judge.

pub mod cause;
pub mod client_share;
pub mod cpu_usage;
pub mod limited_flow;
pub mod line_use;
pub(crate) mod measured_hosts;
pub mod overload;
pub(crate) mod quota;
pub mod retry_spikes;
pub(crate) mod run_ceilings;
mod view;

pub use run_ceilings::{CeilingMix, ShownCeiling};
pub use view::{HostPartView, PointView, RunLimit};
