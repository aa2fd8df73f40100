//! How a point went over time: its series, the shape of its rate, and which counters moved with stalls and drops.

pub mod anatomy;
pub mod bins;
pub mod own_gaps;
pub mod response_counts;
pub mod series;
pub mod shape;
