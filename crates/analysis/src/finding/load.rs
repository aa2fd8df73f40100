//! Loads that were not the ones asked for.
//!
//! In: nothing. Out: the figures of findings, with their units; serialised, the keys carry them. Limits: no sentences.

use super::units::Share;
use crate::numbers::background::BackgroundSummary;
use crate::numbers::instance_shares::InstanceShares;
use model::{Bytes, Nanos};
use serde::Serialize;

/// What was asked for, and what was reached instead.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "what", rename_all = "kebab-case")]
#[allow(missing_docs)]
pub enum MissedTarget {
    /// libaio through the page cache performs each operation when it is submitted.
    DepthAtSubmission { asked_in_flight: u64 },
    /// The clients kept fewer operations in flight.
    Depth { asked_in_flight: u64, reached_in_flight: f64 },
    /// The device held fewer operations than the clients had in flight; `None` if theirs is not known.
    DeviceDepth { asked_in_flight: u64, client_in_flight: Option<f64>, device_in_flight: f64 },
    /// The device moved blocks of another size.
    Block { access: BlockAccess, asked_bytes: Bytes, reached_bytes: f64, cause: BlockChange },
    /// An open loop did less than it was to offer.
    Rate(MissedArrivals),
}

/// More new orders than the terminals of a warehouse can enter.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ExceededPace {
    /// New orders of a warehouse per minute.
    pub per_minute_and_warehouse: f64,
    /// The most that ten terminals can enter.
    pub most_per_minute_and_warehouse: f64,
}

/// Whether blocks were read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum BlockAccess {
    /// Read.
    Read,
    /// Written.
    Write,
}

/// Why blocks reached the device in another size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "cause", rename_all = "kebab-case")]
#[allow(missing_docs)]
pub enum BlockChange {
    /// Split by the largest request that the device takes.
    SplitBySize { request_max_bytes: Bytes },
    /// Split by the pieces of memory or of the file that one request may have.
    SplitByPieces,
    /// Joined with neighbours on their way.
    Merged,
}

/// An open loop that did less than it was to offer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MissedArrivals {
    /// The rate asked for.
    pub offered_per_s: f64,
    /// The rate reached.
    pub done_per_s: f64,
    /// The share of the expected arrivals that is missing.
    pub missing_share: Share,
    /// Arrivals that the schedule offered.
    pub arrivals: u64,
    /// Arrivals that the rate lets expect.
    pub expected_arrivals: f64,
    /// Arrivals that were never started.
    pub unserved_arrivals: u64,
}

/// Clients that limited the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "how", rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum BoundClients {
    /// Their threads used up the cores that they can run on.
    Busy { cores_share: Share, cores: f64, threads: u32 },
    /// They woke up late for arrivals.
    Late { clients: LateClients, lag_mean_ns: f64, lag_max_ns: Nanos, late_arrivals: u64, p99_ns: Nanos },
    /// They got no CPU for longer than most operations take.
    Descheduled { clients: LateClients, lag_mean_ns: f64, lag_max_ns: Nanos, late_arrivals: u64, response_mean_ns: f64 },
}

/// The clients that woke up late; the 99th percentile that they are compared with is that of their own operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LateClients {
    /// Those of an open loop.
    OpenLoop,
    /// Those in the background of a closed loop.
    Background,
}

/// An open loop whose arrivals were not all served.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Overload {
    /// Whether the backlog grew all the time, because more work arrived than the clients can do; if not, it was left by a stall at the
    /// end.
    pub is_lasting: bool,
    /// Arrivals offered.
    pub arrivals: u64,
    /// Arrivals that fell due while every client was busy.
    pub late_arrivals: u64,
    /// The share of them.
    pub late_share: Share,
    /// Arrivals that were never started.
    pub unserved_arrivals: u64,
    /// The rate offered.
    pub offered_per_s: f64,
    /// The rate done.
    pub done_per_s: f64,
}

/// Requests of a recording that did not begin at their times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LateStarts {
    /// Requests that began.
    pub requests: u64,
    /// Those that began too late.
    pub late_requests: u64,
    /// The share of them.
    pub late_share: Share,
    /// Within which time a request was on time.
    pub on_time_within_ns: Nanos,
    /// The longest time between the time of a request and its beginning.
    pub latest_ns: Nanos,
}

/// A background load below the rate asked of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct MissedRate {
    /// What the background clients did, of what was asked.
    pub load: BackgroundSummary,
}

/// Instances that did unequal shares of the work.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct UnequalInstances {
    /// What each did.
    pub shares: InstanceShares,
}

/// Response times of a closed loop that stalled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct HiddenWaits {
    /// The 99th percentile, which the stalls do not move.
    pub p99_ns: Nanos,
    /// The longest, which shows them.
    pub longest_ns: Nanos,
}
