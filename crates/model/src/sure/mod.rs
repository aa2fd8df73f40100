//! When a measurement is sure enough to end: a point whose mean is known to a share, a comparison that is decided.
//!
//! In: the rates of intervals, the ratios of pairs. Out: whether they are enough, and the interval that is honest although one has looked again and
//! again. The load ends by these rules and the analysis judges by them, so both ask here.
//! Limits: a point that is short knows its mean as it was: what happens once an hour is not in it. A comparison decides rates; other metrics of its
//! pairs have the intervals of the same rule.

pub mod arms;
pub mod asked;
pub mod boundary;
pub mod means;
pub mod pairs;
pub mod point;

pub use arms::{Knowledge, SeenRate, is_all_measured, is_time_over, needed_trials, point_rate};
pub use asked::{ArmPlace, ERROR, FIRST_ROUND_PART, SurePlan, WARMUP_PART, budget_flag};
pub use boundary::{Boundary, PAIRS_MIN};
pub use means::{LookKind, MeanRule};
pub use pairs::{Decision, PairJudgement, PairRule};
pub use point::{IntervalsRule, Precision};
