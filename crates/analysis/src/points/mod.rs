//! What several points show together: sweeps, searches, repeats, relative rates, laws of scaling.

pub mod bottleneck_above;
pub mod compression;
pub mod cpu_owners;
pub mod durability;
pub mod failed_replay;
pub mod insert_slowdown;
pub mod instance_gain;
pub mod limit;
pub mod limit_uses;
mod merged_times;
pub mod metric;
mod pair_judging;
pub mod relative;
pub mod scaling_law;
pub mod search_repeats;
pub mod step_steadiness;
pub mod sweep;
pub mod variants;
pub mod watched_course;
pub mod work;
pub use merged_times::merge_times;
