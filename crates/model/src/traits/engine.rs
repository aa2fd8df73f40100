//! What code reads of the engine of a point: what it is, and its settings.
//!
//! In: parameters with a meaning, and facts. Out: [`EngineTraits`]. Limits: what is not known is `None`.

use super::process::{EngineProcess, UnseenServer, WritePath};
use crate::params::{Meaning, ParamDef, Params, Value};
use crate::units::Nanos;
use serde::{Deserialize, Serialize};

/// The engine of a point and its settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct EngineTraits {
    /// Its version, in its own words.
    pub version: Option<String>,
    /// Whose process its work is done in.
    pub process: EngineProcess,
    /// Why a server that plimsoll did not start is not seen, or not all of it.
    pub unseen: Option<UnseenServer>,
    /// How its writes reach the disk.
    pub writes: WritePath,
    /// Whether it only pretends to work, so that nothing but the generator can be learnt from it.
    pub scripted: bool,
    /// The durability as read back, or else as planned.
    pub durability: Option<String>,
    /// The cache that it was given, in bytes.
    pub cache_bytes: Option<u64>,
    /// The threads that serve the clients; `None` if each client has its own.
    pub client_threads: Option<u64>,
    /// Whether I/O goes past the page cache; `None` if the engine has no such setting.
    pub direct_io: Option<bool>,
    /// Whether the kernel's own asynchronous I/O (libaio) is used, which blocks on buffered files.
    pub kernel_aio: bool,
    /// The bytes of one of its pages, by which counters of pages become bytes.
    pub page_bytes: Option<u64>,
    /// Whether it has a doublewrite buffer that is switched off.
    pub doublewrite_off: bool,
    /// The memory that it may have, in bytes, as the kernel holds it; `None` for all of the machine.
    pub memory_limit_bytes: Option<u64>,
    /// The device on which its storage is limited.
    pub limited_device: Option<String>,
    /// All settings of the server when the point began, sorted by name; empty without a server, or if it did not answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<ServerSetting>,
    /// How many CPUs plimsoll and the engine were pinned to, in all; `None` if they were not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pinned_cpus: Option<u64>,
    /// The names of its endpoints, in the order of their numbers; empty if it has one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub endpoints: Vec<String>,
    /// Whether clients connect for each operation, and set up each connection by statements of its own.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub connects_for_each_op: bool,
    /// How the device of its data flushes; `None` if its commits need not be on a disk, or if that cannot be told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flushes: Option<DeviceFlushes>,
}

/// How a block device flushes, as plimsoll saw it before the load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DeviceFlushes {
    /// The least time that writing and syncing a block took.
    pub fastest_ns: Nanos,
    /// Whether the kernel counts each flush of the device.
    pub is_counted: bool,
    /// Whether a write may be durable by itself, without a flush.
    pub writes_durably: bool,
}

/// A setting of a server, whether the plan sets it or not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerSetting {
    /// Its name on the server.
    pub name: String,
    /// Its value, in the server's words.
    pub value: String,
    /// Whether it decides about durability, caches, logging or isolation.
    pub matters: bool,
}

impl DeviceFlushes {
    pub(super) fn learn(&mut self, name: &str, text: &str, whole: Option<u64>) {
        match name {
            "fastest_ns" => self.fastest_ns = Nanos(whole.unwrap_or(0)),
            "counted" => self.is_counted = text == "yes",
            "durable_writes" => self.writes_durably = text == "yes",
            _ => {}
        }
    }
}

impl EngineTraits {
    /// What `params` mean, as far as `defs` declare them with a [`Meaning`].
    pub fn from_params(defs: &[ParamDef], params: &Params) -> EngineTraits {
        let mut traits = EngineTraits::default();
        let meant = defs.iter().filter_map(|def| Some((def.meaning?, params.0.get(def.name)?)));
        meant.for_each(|(meaning, value)| traits.take_param(meaning, value));
        traits
    }

    fn take_param(&mut self, meaning: Meaning, value: &Value) {
        match (meaning, value) {
            (Meaning::Cache, Value::Bytes(bytes)) => self.cache_bytes = Some(bytes.0).filter(|bytes| *bytes > 0),
            (Meaning::Durability, Value::Word(word)) => self.durability = Some(word.clone()),
            (Meaning::ClientThreads, Value::Int(threads)) => self.client_threads = Some(*threads).filter(|n| *n > 0),
            (Meaning::DirectIo, Value::Bool(direct)) => self.direct_io = Some(*direct),
            (Meaning::IoInterface { kernel_aio }, Value::Word(word)) => self.kernel_aio = word == kernel_aio,
            (Meaning::ConnectionLife { per_op }, Value::Word(word)) => self.connects_for_each_op = word == per_op,
            _ => {}
        }
    }
}
