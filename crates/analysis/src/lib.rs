//! Pure functions from a recorded run to what it means.
//!
//! In: [`model::RunData`]. Out: an [`Analysis`]: per point a summary, series to draw, findings with their figures and a
//! validity; for the run a verdict. Limits: no I/O, no clock, no engine; the same run gives the same analysis, and an old
//! run analysed by a newer plimsoll profits from its detectors.

mod accounts;
pub mod amounts;
mod analyse;
mod background;
pub mod bins;
pub mod bottleneck_above;
pub mod compare;
pub mod cost;
mod counters;
pub mod data_load;
pub mod detect;
pub mod dimensions;
pub mod durability;
pub mod engine_names;
mod facts;
pub mod finding;
mod full_label;
pub mod history;
pub mod instance_gain;
mod instance_shares;
pub mod kernels;
pub mod limit;
pub mod metric;
pub mod numbers;
pub mod own_gaps;
pub mod point;
pub mod projection;
pub mod ratio;
pub mod relative;
pub mod repeat_rows;
pub mod repeats;
pub mod rounds;
pub mod scaling_law;
pub mod search_repeats;
mod sequence;
pub mod series;
pub mod shape;
#[cfg(test)]
mod simulate;
pub mod slowdown;
mod stats;
pub mod step_steadiness;
mod steps;
pub mod sweep;
mod usl;
pub mod variants;
pub mod verdict;
pub mod window;
pub mod written;

pub use amounts::{Amounts, InsertedRows};
pub use analyse::{Analysis, analyse};
pub use background::BackgroundSummary;
pub use bins::IntervalBin;
pub use cost::InsertCost;
pub use data_load::DataLoad;
pub use detect::{DETECTORS, Detector, RUN_DETECTORS};
pub use dimensions::{Dimension, Label, Role, Setting, SettingValue, Settings};
pub use finding::{Code, Detail, DetailKind, Finding, NextStep, Severity, Subject, Validity};
pub use full_label::describe_in_full;
pub use instance_gain::InstanceGain;
pub use instance_shares::InstanceShares;
pub use limit::SearchAnalysis;
pub use numbers::achieved::Achieved;
pub use numbers::op_cost::{ClientCost, CostPerQuery, OpCost};
pub use numbers::quantiles::Quantiles;
pub use numbers::running_cost::RunningCost;
pub use numbers::summary::{Summary, WorstInterval};
pub use point::{HeldLimit, PointAnalysis};
pub use projection::Projection;
pub use ratio::{Pairing, Preference, RatioEstimate, RatioVerdict, RepeatPair, RepeatValue};
pub use repeat_rows::{RepeatCount, RepeatRows};
pub use rounds::Rounds;
pub use series::{CounterSeries, IntervalPoint, Series, Span, TailInterval, TailPart};
pub use shape::Shape;
pub use shape::drops::DropSpan;
pub use shape::levels::LevelSpan;
pub use shape::stalls::Stall;
pub use steps::KindSummary;
pub use sweep::ScalingAxis;
pub use variants::{VariantArm, VariantCost, VariantVerdict};
pub use verdict::{Verdict, verdict};
pub use written::{ByteAccount, UnknownWritten, WriteAccounts, WrittenBytes};
