//! What is recorded while a trial runs: one row per interval and kind of operation, and counter samples.
//!
//! In: the load loop makes interval rows, the sampler makes counter samples. Out: the store writes them.
//! Limits: rows are increments. A client that was blocked delivers its part late, as a further row of an old interval;
//! readers sum rows, writers never change one.

use crate::endpoint::EndpointRow;
use crate::histogram::Times;
use crate::op::OpKind;
use crate::role::CounterRole;
use crate::rows::RowCounts;
use crate::trial::Phase;
use crate::units::{Nanos, Tick};
use serde::{Deserialize, Serialize};

/// What one client did in one interval of one phase, or all of them together: an increment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IntervalRow {
    pub phase: Phase,
    /// The interval's number in the phase, from 0. Operations that end after the phase's planned end (in the grace time) are
    /// in the numbers that follow the last whole interval.
    pub index: u32,
    /// When the interval began.
    pub start: Tick,
    /// How long it is.
    pub length: Nanos,
    /// What was done, one row per kind of operation that had any.
    pub kinds: Vec<KindRow>,
    /// What it cost the generator.
    pub generator: Generator,
}

/// The operations of one kind that ended in one interval: as a client counted them, as the collector adds them up over clients, as the
/// store keeps them and as the analysis reads them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KindRow {
    pub kind: OpKind,
    pub ok: u64,
    /// Operations failed. They are in no histogram.
    pub failed: u64,
    /// Payload moved by the operations done.
    pub bytes: u64,
    /// Arrivals that fell due while every client was busy (open loop), of those counted here.
    pub late: u64,
    /// Rows of the operations done, where the engine tells them.
    #[serde(default, skip_serializing_if = "RowCounts::is_zero")]
    pub rows: RowCounts,
    /// Response times: finished - intended. In a closed loop these are the service times, and both share their memory.
    pub response: Times,
    /// Service times: finished - started.
    pub service: Times,
}

/// What was done on one of several endpoints in one interval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndpointInterval {
    pub phase: Phase,
    /// The interval's number in the phase, from 0, as that of [`IntervalRow`].
    pub index: u32,
    /// What was done in it.
    pub row: EndpointRow,
}

impl KindRow {
    /// A row of `kind` without any operation.
    pub fn empty(kind: OpKind) -> KindRow {
        let (rows, response, service) = (RowCounts::default(), Times::default(), Times::default());
        KindRow { kind, ok: 0, failed: 0, bytes: 0, late: 0, rows, response, service }
    }
}

/// What the generator itself used in one interval, summed over its client threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Generator {
    /// CPU time of the client threads in user mode (with an embedded engine: the engine's part included).
    pub cpu_user_ns: u64,
    /// CPU time of the client threads in the kernel.
    pub cpu_system_ns: u64,
    /// Context switches of the client threads, voluntary and not.
    pub context_switches: u64,
    /// Arrivals for which a client was waiting in time and woke up late all the same.
    pub lag_count: u64,
    /// The sum of `started - intended` over these arrivals.
    pub lag_sum_ns: u64,
    /// The longest `started - intended` of these arrivals.
    pub lag_max_ns: u64,
}

impl Generator {
    /// Adds another client's or interval's part.
    pub fn add(&mut self, other: &Generator) {
        self.cpu_user_ns += other.cpu_user_ns;
        self.cpu_system_ns += other.cpu_system_ns;
        self.context_switches += other.context_switches;
        self.lag_count += other.lag_count;
        self.lag_sum_ns += other.lag_sum_ns;
        self.lag_max_ns = self.lag_max_ns.max(other.lag_max_ns);
    }
}

/// Whether a counter only grows or goes up and down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CounterKind {
    /// Only grows; its differences are rates.
    Counter,
    /// A level at the moment of reading.
    Gauge,
}

/// The meaning of one counter of a source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CounterDef {
    /// Its name within the source: `user_ns`.
    pub name: String,
    /// `ns`, `bytes`, `ops`, `percent`, `count`.
    pub unit: String,
    pub kind: CounterKind,
    /// One line for people who read the run file.
    pub help: String,
    /// What code reads it as; `None` for a counter that only people read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<CounterRole>,
    /// Whether it counts pages of the engine although its role is one of bytes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_pages: bool,
}

/// What a counter counts, as far as code needs to know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CounterUnit {
    Nanoseconds,
    Bytes,
    /// Anything else: operations, pages, events.
    Events,
}

impl CounterDef {
    pub fn counted(&self) -> CounterUnit {
        match self.unit.as_str() {
            "ns" => CounterUnit::Nanoseconds,
            "bytes" => CounterUnit::Bytes,
            _ => CounterUnit::Events,
        }
    }

    /// The same, which code reads as `role`.
    pub fn read_as(self, role: CounterRole) -> CounterDef {
        CounterDef { role: Some(role), ..self }
    }
}

/// A source of counters and what it delivers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceDef {
    /// The source's name: `cpu`, `disk`.
    pub name: String,
    /// What is observed, if there may be several: the device's name, the process.
    pub subject: String,
    /// Its counters in the order of every sample's values.
    pub counters: Vec<CounterDef>,
}

/// Delivers the counters of one subject: a part of the machine, a process, an engine.
pub trait CounterSource: Send {
    /// What it delivers, always the same.
    fn describe(&self) -> SourceDef;
    /// One value per counter of the description, in its order; `None` is a gap.
    fn read(&mut self) -> Vec<Option<f64>>;
}
