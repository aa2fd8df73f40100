//! The hosts of a point: the machines that load the database or on which a part of it runs.
//!
//! In: an agent describes its host and measures its clock. Out: the parts of a [`PointHost`](crate::PointHost). Limits: a point that only the
//! recording machine measured has no hosts at all; its rows are those of [`HostId::RECORDER`].

use serde::{Deserialize, Serialize};

/// The number of a host among those of a point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HostId(pub u16);

impl HostId {
    /// The machine that records the run.
    pub const RECORDER: HostId = HostId(0);
}

/// What a host is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HostRole {
    /// Clients run on it.
    Load,
    /// A node of the database runs on it, and is observed.
    Observe,
    LoadAndObserve,
}

impl HostRole {
    /// The word used in files.
    pub fn as_str(self) -> &'static str {
        match self {
            HostRole::Load => "load",
            HostRole::Observe => "observe",
            HostRole::LoadAndObserve => "load-and-observe",
        }
    }

    /// Whether clients run on it.
    pub fn loads(self) -> bool {
        matches!(self, HostRole::Load | HostRole::LoadAndObserve)
    }

    /// Whether a node of the database runs on it.
    pub fn observes(self) -> bool {
        matches!(self, HostRole::Observe | HostRole::LoadAndObserve)
    }
}

/// The part of a point's load that one host has.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadShare {
    /// Its clients, of all that measure.
    pub clients: u32,
    /// Its part of all operations as it was planned, from 0 to 1: of the clients in a closed loop, of the rate in an open loop.
    pub part: f64,
}

/// A comparison of a host's clock with that of the bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostClock {
    /// The clock of the bus is ahead of the host's by this.
    pub offset_ns: i64,
    /// The offset is off by this at most, either way: the most of all comparisons that the point was measured by.
    pub bound_ns: u64,
}

/// How far the rows of one host are in the run file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BusPosition {
    /// The point that they belong to.
    pub point: u32,
    /// The number of the host in that point.
    pub host: HostId,
    /// The name of the host.
    pub name: String,
    /// The agent that sent them.
    pub incarnation: String,
    /// The number of the last row of that agent that is in the file.
    pub row: u64,
}
