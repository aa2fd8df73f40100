//! What several points show together: sweeps, searches, repeats, relative rates, laws of scaling.

pub mod bottleneck_above;
pub mod insert_slowdown;
pub mod instance_gain;
pub mod kernels;
pub mod limit;
pub mod metric;
pub mod relative;
pub mod repeat_rows;
pub mod scaling_law;
pub mod search_repeats;
pub mod step_steadiness;
pub mod survey;
pub mod sweep;
pub mod why;
