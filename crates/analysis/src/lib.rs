//! Pure functions from a recorded run to what it means.
//!
//! In: [`model::RunData`]. Out: an [`Analysis`]: per point a summary, series to draw, findings with their evidence and a
//! validity; for the run a verdict. Limits: no I/O, no clock, no engine; the same run gives the same analysis, and an old
//! run analysed by a newer plimsoll profits from its detectors.

mod accounts;
pub mod amounts;
mod beside;
pub mod bins;
mod chain;
pub mod cost;
mod counters;
pub mod data_load;
pub mod detect;
pub mod dimensions;
mod facts;
pub mod finding;
mod levels;
pub mod point;
pub mod projection;
mod rates;
pub mod repeats;
mod rhythm;
pub mod rounds;
pub mod series;
#[cfg(test)]
mod simulate;
pub mod slowdown;
mod stats;
pub mod summary;
pub mod sweep;
mod text;
pub mod verdict;
pub mod window;

pub use amounts::{Amounts, Inserted};
pub use beside::Beside;
pub use bins::Bin;
pub use cost::InsertCost;
pub use data_load::DataLoad;
pub use detect::{DETECTORS, Detector, Explanation, RUN_DETECTORS, explain, explanations};
pub use dimensions::{Dimension, Label, Role, Setting, SettingValue, Settings};
pub use finding::{Finding, Severity, Validity};
pub use point::{Analysis, PointAnalysis, analyse};
pub use projection::Projection;
pub use rounds::Rounds;
pub use series::{CounterSeries, DropSpan, IntervalPoint, LevelSpan, Series, Span};
pub use summary::{Achieved, Cost, CostPerQuery, GeneratorCost, Quantiles, Summary, WorstInterval};
pub use verdict::{Verdict, verdict};
