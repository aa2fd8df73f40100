//! A run that proves what binds a point: the point is measured again and again, unchanged and with one resource varied at a time.
//!
//! In: the crate `plan` makes a [`WhySpec`] from a recorded point. Out: the run file keeps it with the plan; the analysis computes
//! elasticities from it. Limits: what the varied resources are to an engine is in the trials; here is only which trial varies which.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VariedResource {
    /// The speed of the CPUs, or the CPU time of the engine.
    Cpu,
    /// The rate of the device under the data.
    Device,
    /// The cache of the engine, and its memory if that is limited.
    Memory,
    /// The number of clients, or of ops that each keeps in flight.
    Clients,
}

impl VariedResource {
    /// The word in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            VariedResource::Cpu => "cpu",
            VariedResource::Device => "device",
            VariedResource::Memory => "memory",
            VariedResource::Clients => "clients",
        }
    }
}

/// Why a resource is not varied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NotVaried {
    /// It needs root, or a delegated cgroup.
    NotPermitted,
    /// The engine keeps no data on this machine.
    NoDataHere,
    /// The point did hardly any I/O on its device.
    NoIo,
    /// The rate that the device can carry is not known: it could not be measured.
    UnknownRate,
    /// The engine has no cache of its own.
    NoCache,
    /// The cache is as small as it can be.
    SmallestCache,
    /// The point has as many clients as a plan can have.
    MostClients,
    /// Another limit of CPU time holds the engine, from outside of plimsoll.
    OutsideQuota,
}

/// One resource and by how much it is varied.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VariedArm {
    pub resource: VariedResource,
    /// How much there is of it, as a share of what the unchanged point has: 0.8 of the device's rate, 1.25 of the clients.
    pub factor: f64,
    /// The setting, as a person would write it in a plan: `storage_limit = iops=400`.
    pub setting: String,
}

/// What a trial of such a run is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WhyPart {
    /// An earlier step of the sequence that the point is a step of.
    Preparation,
    /// The point as it was.
    Unchanged,
    /// The arm of this number, from 0.
    Varied(u32),
}

/// What such a run is about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WhySpec {
    /// The run that the point is from.
    pub run_id: String,
    /// The number of the point in that run, from 1.
    pub point: u32,
    /// The version of the engine then; `None` if it was not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine_version: Option<String>,
    /// How often each arm is measured.
    pub rounds: u32,
    /// What is varied, one after the other.
    pub arms: Vec<VariedArm>,
    /// What is not, and why.
    pub left_out: Vec<(VariedResource, NotVaried)>,
    /// What each trial of the plan is for, in its order.
    pub parts: Vec<WhyPart>,
}
