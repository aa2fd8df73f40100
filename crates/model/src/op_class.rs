//! What operations do to the data.

use serde::{Deserialize, Serialize};

/// What operations of a kind do to the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OpClass {
    Read,
    Write,
    /// They read and write.
    ReadWrite,
    /// They bring to the device what was written before; they move no bytes.
    Sync,
    Index,
    /// They wait until the engine has written what it put off.
    Drain,
    /// They compute, on data in memory.
    Compute,
    /// They open a connection.
    Connect,
    /// They follow in the turn of an operation that fell due, and are in no rate and no count of operations: the first query over a
    /// connection, and its end.
    Step,
}

impl OpClass {
    /// The class of operations that read or write; those that do neither count as reads.
    pub fn from_effects(reads: bool, writes: bool) -> OpClass {
        match (reads, writes) {
            (true, true) => OpClass::ReadWrite,
            (false, true) => OpClass::Write,
            (_, false) => OpClass::Read,
        }
    }
}
