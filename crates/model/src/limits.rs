//! What an engine may have of the machine's memory and of its disk: less of both makes a slower machine of a fast one.
//!
//! In: the crate `plan` makes these from `memory_limit` and `storage_limit`. Out: `target` holds the engine to them, labels and
//! run files name them. Limits: a limit of reads and one of writes are two: no kernel has a common one for both.

use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What an engine may have at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// Memory of its processes, with the page cache of the files that they read and write.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Bytes>,
    /// Its part of the device under the data.
    #[serde(skip_serializing_if = "StorageLimit::is_none")]
    pub storage: StorageLimit,
}

/// What may be asked of a device in one second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StorageLimit {
    /// Reads,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_iops: Option<u64>,
    /// writes,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_iops: Option<u64>,
    /// bytes read,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_bytes_per_s: Option<u64>,
    /// and bytes written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_bytes_per_s: Option<u64>,
}

impl Limits {
    /// Whether nothing is limited.
    pub fn is_none(&self) -> bool {
        *self == Limits::default()
    }

    /// The limits by the names of their keys, as a person would write them.
    pub fn named(&self) -> Vec<(&'static str, String)> {
        let memory = self.memory.map(|bytes| ("memory_limit", bytes.to_string()));
        let storage = (!self.storage.is_none()).then(|| ("storage_limit", self.storage.to_string()));
        memory.into_iter().chain(storage).collect()
    }
}

impl StorageLimit {
    /// Whether nothing is limited.
    pub fn is_none(&self) -> bool {
        *self == StorageLimit::default()
    }
}

impl fmt::Display for StorageLimit {
    /// As a person would write it in a plan: `iops=2000+bps=200MiB`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pairs = [
            ("iops", [self.read_iops, self.write_iops].map(|most| most.map(|most| most.to_string()))),
            ("bps", [self.read_bytes_per_s, self.write_bytes_per_s].map(|most| most.map(exact_size))),
        ];
        let parts: Vec<String> = pairs.iter().flat_map(|(unit, most)| limit_parts(unit, most)).collect();
        f.write_str(if parts.is_empty() { "none" } else { "" })?;
        f.write_str(&parts.join("+"))
    }
}

fn limit_parts(unit: &str, most: &[Option<String>; 2]) -> Vec<String> {
    match most {
        [Some(read), Some(write)] if read == write => vec![format!("{unit}={read}")],
        [read, write] => {
            let read = read.iter().map(|most| format!("read_{unit}={most}"));
            read.chain(write.iter().map(|most| format!("write_{unit}={most}"))).collect()
        }
    }
}

/// In the largest unit of which it is a whole number, without a blank.
fn exact_size(bytes: u64) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    let whole = units.iter().find(|(shift, _)| bytes > 0 && bytes.is_multiple_of(1 << shift));
    whole.map_or(bytes.to_string(), |(shift, unit)| format!("{}{unit}", bytes >> shift))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_told_as_a_person_writes_them() {
        let both = StorageLimit { read_iops: Some(2000), write_iops: Some(2000), ..StorageLimit::default() };
        assert_eq!(both.to_string(), "iops=2000");
        let unlike = StorageLimit { read_bytes_per_s: Some(200 << 20), write_bytes_per_s: Some(1000), ..both };
        assert_eq!(unlike.to_string(), "iops=2000+read_bps=200MiB+write_bps=1000");
        let reads = StorageLimit { read_iops: Some(10_000), ..StorageLimit::default() };
        assert_eq!((reads.to_string(), StorageLimit::default().to_string()), ("read_iops=10000".into(), "none".into()));
    }
}
