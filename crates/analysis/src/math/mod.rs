//! Statistics, with their sources: means, intervals, ratios of pairs, means of repeats, the law of scalability. Nothing here knows a run.

pub mod ratio;
pub mod repeats;
pub(crate) mod stats;
pub(crate) mod usl;
