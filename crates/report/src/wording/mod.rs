//! The English of reports: sentences, captions and labels are written here, one file per subject.
//!
//! In: typed data of the crate `analysis`. Out: text for people, not yet escaped and not wrapped.
//! Nothing is computed or judged here; numbers are rounded for reading. The sentences of findings are theirs (`analysis::findings`).

pub mod background;
mod capacity;
pub mod ceiling;
pub mod compare;
pub mod compared_kinds;
pub mod compared_plans;
pub mod compared_sweep;
pub mod compared_watches;
pub(crate) mod compression;
pub mod connections;
pub mod fact;
pub mod finding;
pub mod history;
pub mod insert_slowdown;
pub mod instances;
pub mod kernels;
pub mod label;
pub mod limit;
pub mod list;
pub mod metric;
pub mod projection;
pub mod published;
pub mod quantity;
pub mod relative;
pub mod run_time;
mod survey;
pub mod variants;
pub mod verdict;
pub mod why;
pub mod work_done;
pub mod written;
