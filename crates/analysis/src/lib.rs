//! Pure functions from a recorded run to what it means.
//!
//! In: [`model::RunData`]. Out: an [`Analysis`]: per point a summary, series to draw, findings with their figures and sentences, and a
//! validity; for the run a verdict. Limits: no I/O, no clock, no engine; the same run gives the same analysis, and an old
//! run analysed by a newer plimsoll profits from its detectors.

mod analyse;
pub mod answer;
pub mod bottleneck;
pub mod compare;
mod computed_phase;
pub mod course;
pub mod evidence;
pub mod figures;
pub mod findings;
pub mod history;
pub mod hosts;
pub mod judgement;
#[cfg(test)]
mod known_answers;
pub mod math;
pub mod numbers;
pub mod point;
pub mod points;
pub mod recorded;
pub mod run;
#[cfg(any(test, feature = "simulated"))]
pub mod simulated;
pub mod verdict;

pub use analyse::{Analysis, analyse};
pub use answer::{Answer, AnswerKind, answer};
pub use course::bins::IntervalBin;
pub use course::response_counts::CountColumn;
pub use course::series::{CounterSeries, IntervalPoint, Series, Span, TailInterval, TailPart};
pub use course::shape::Shape;
pub use course::shape::drops::DropSpan;
pub use course::shape::levels::LevelSpan;
pub use course::shape::stalls::Stall;
pub use findings::{Code, Detail, DetailKind, Finding, Subject};
pub use hosts::{HostCourse, HostCpu, HostDisk, HostLoad, HostPart, HostSummary, InterfaceCourse};
pub use judgement::{NextStep, Severity, Validity};
pub use math::ratio::{Pairing, Preference, RatioEstimate, RatioVerdict, RepeatPair, RepeatValue};
pub use model::Quantiles;
pub use numbers::accounts::WriteBreakdown;
pub use numbers::achieved::Achieved;
pub use numbers::amounts::{Amounts, InsertedRows};
pub use numbers::background::{BackgroundSummary, EndedOps};
pub use numbers::compression::{BlockTimes, CompressionCost};
pub use numbers::cost::InsertCost;
pub use numbers::endpoints::EndpointSummary;
pub use numbers::instance_shares::InstanceShares;
pub use numbers::network::{InterfaceUse, NetworkUse};
pub use numbers::op_cost::{ClientCost, Cost, Denominator, OpCost};
pub use numbers::order_rates::NewOrderRate;
pub use numbers::projection::Projection;
pub use numbers::running_cost::RunningCost;
pub use numbers::stacks::{BusyFunction, FrameShift, StackCost, StackProfile, StackSample};
pub use numbers::statements::StatementSummary;
pub use numbers::steps::KindSummary;
pub use numbers::summary::{Summary, WorstInterval};
pub use numbers::thread_states::{StateShares, ThreadStates};
pub use numbers::variants::VariantCost;
pub use numbers::work_done::WorkDone;
pub use numbers::written::{ByteAccount, UnknownWritten, WriteAccounts, WrittenBytes};
pub use point::{HeldLimit, PointAnalysis};
pub use points::compression::{CompressionRow, CompressionTable, compression_tables};
pub use points::cpu_owners::{CpuByOwner, CpuOwner};
pub use points::instance_gain::InstanceGain;
pub use points::limit::SearchAnalysis;
pub use points::limit_uses::{LimitUse, LimitedThing, limit_uses};
pub use points::sweep::ScalingAxis;
pub use points::variants::{VariantArm, VariantVerdict};
pub use points::watched_course::{WatchedCourse, watched_course};
pub use recorded::data_load::DataLoad;
pub use recorded::dimensions::{Dimension, Label, Role, Setting, SettingValue, Settings};
pub use recorded::full_label::describe_in_full;
pub use recorded::rounds::Rounds;
pub use recorded::run_time::RunTime;
pub use run::repeat_rows::{RepeatCount, RepeatRows};
pub use verdict::{Verdict, verdict};
