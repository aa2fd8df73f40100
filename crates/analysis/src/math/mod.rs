//! Statistics, with their sources: means, intervals, ratios of pairs, means of repeats, the law of scalability. None of it reads a run.

pub mod ratio;
pub mod repeats;
pub(crate) mod stats;
pub mod units;
pub(crate) mod usl;
