//! The load generator: it decides when operations start, performs them through drivers, and records what happened.
//!
//! In: clients (each a source of operations and a driver, made by an engine), a list of phases, a clock.
//! Out: interval rows, events and a [`LoadOutcome`] of the phases, handed to a [`Sink`] while the load runs.
//! Limits: it knows no engine, no SQL, no file; it never writes to disk.
//!
//! The way of one operation: [`phases::run_phases`] (the collector) -> [`client::Client::run_phase`] (one thread each) -> a loop in
//! [`drive`] -> the driver. Between `started` and `finished` of an operation nothing is allocated, locked, formatted or
//! logged.

pub mod client;
pub mod client_set;
pub mod clock;
pub mod drive;
pub mod phases;
mod progress;
pub mod recorder;
pub mod schedule;
pub mod source;
mod tsc;
mod usage;

pub use client::{BatchClient, Client, SyncClient};
pub use client_set::{BackgroundLoad, ClientSet, count_clients};
pub use clock::{Clock, MonotonicClock, SimClock};
pub use drive::{BatchDriver, Driver, FinishedOp, StampMode};
pub use phases::{ArrivalParts, LoadEnd, LoadOutcome, PhasePlan, PhaseSetup, Sink, run_phases, run_phases_from};
pub use progress::Progress;
pub use schedule::{Admission, DueTimes, Schedule, StartCounts, Stop, StopReason};
pub use source::{OpSource, OpSupply};
pub use tsc::{ClientClock, clock_facts};
