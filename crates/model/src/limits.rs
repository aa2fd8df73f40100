//! What an engine may have of the machine's memory, disk and CPU: less of them makes a slower machine of a fast one.
//!
//! In: the crate `plan` makes these from `memory_limit`, `storage_limit` and `cpu_limit`. Out: `target` holds the engine to them, labels and
//! run files name them. Limits: a limit of reads and one of writes are two: no kernel has a common one for both.

use crate::units::{Bytes, number_word};
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
    /// Its part of the CPUs, or their speed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<CpuLimit>,
}

/// How much CPU an engine may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CpuLimit {
    /// Thousandths of a CPU, for the engine's processes: 800 is CPU time of 0.8 s per second. An engine inside plimsoll shares them with
    /// its clients.
    MilliCpus(u32),
    /// The speed of all CPUs of the machine in per cent: at 80 every fifth moment of each CPU is taken from whoever uses it. 100 takes
    /// nothing and only wakes each CPU as often: points that are compared differ in nothing else.
    SpeedPercent(u8),
}

impl CpuLimit {
    /// The speed in per cent, if it is one.
    pub fn speed_percent(self) -> Option<u8> {
        match self {
            CpuLimit::SpeedPercent(percent) => Some(percent),
            CpuLimit::MilliCpus(_) => None,
        }
    }

    /// The thousandths of a CPU, if it is a share of them.
    pub fn milli_cpus(self) -> Option<u32> {
        match self {
            CpuLimit::MilliCpus(milli) => Some(milli),
            CpuLimit::SpeedPercent(_) => None,
        }
    }
}

impl fmt::Display for CpuLimit {
    /// As a person would write it in a plan: `0.8`, `80%`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CpuLimit::MilliCpus(milli) => write!(f, "{}", f64::from(*milli) / 1000.0),
            CpuLimit::SpeedPercent(percent) => write!(f, "{percent}%"),
        }
    }
}

/// What may be asked of a device in one second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StorageLimit {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_iops: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_iops: Option<u64>,
    /// Bytes read per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_bytes_per_s: Option<u64>,
    /// Bytes written per second.
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
        let memory = self.memory.map(|bytes| ("memory_limit", bytes.in_full()));
        let storage = (!self.storage.is_none()).then(|| ("storage_limit", self.storage.to_string()));
        let cpu = self.cpu.map(|limit| ("cpu_limit", limit.to_string()));
        memory.into_iter().chain(storage).chain(cpu).collect()
    }
}

impl StorageLimit {
    /// Whether nothing is limited.
    pub fn is_none(&self) -> bool {
        *self == StorageLimit::default()
    }

    /// As people say it: `a disk limited to 2,000 requests per second`.
    pub fn phrase(&self) -> String {
        let requests = |most: u64, of: &str| format!("{} {of} per second", number_word(most));
        let bytes = |most: u64, of: &str| format!("{}/s{of}", Bytes(most));
        let mut all = match (self.read_iops, self.write_iops) {
            (Some(read), Some(write)) if read == write => vec![requests(read, "requests")],
            (read, write) => read
                .map(|most| requests(most, "reads"))
                .into_iter()
                .chain(write.map(|most| requests(most, "writes")))
                .collect(),
        };
        match (self.read_bytes_per_s, self.write_bytes_per_s) {
            (Some(read), Some(write)) if read == write => all.push(bytes(read, "")),
            (read, write) => {
                all.extend(
                    read.map(|most| bytes(most, " of reads"))
                        .into_iter()
                        .chain(write.map(|most| bytes(most, " of writes"))),
                );
            }
        }
        if all.is_empty() {
            "a disk without a limit".to_owned()
        } else {
            format!("a disk limited to {}", all.join(" and "))
        }
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
    fn a_limit_of_cpus_is_written_as_a_number_of_them_and_a_speed_as_a_share() {
        let all = [CpuLimit::MilliCpus(800), CpuLimit::MilliCpus(1500), CpuLimit::SpeedPercent(80)];
        assert_eq!(all.map(|limit| limit.to_string()), ["0.8", "1.5", "80%"]);
        let limits = Limits { cpu: Some(all[2]), ..Limits::default() };
        assert_eq!(limits.named(), [("cpu_limit", "80%".to_owned())]);
        assert!(!limits.is_none());
    }

    #[test]
    fn limits_are_told_as_a_person_writes_them() {
        let both = StorageLimit { read_iops: Some(2000), write_iops: Some(2000), ..StorageLimit::default() };
        assert_eq!(both.to_string(), "iops=2000");
        assert_eq!(both.phrase(), "a disk limited to 2,000 requests per second");
        assert_eq!(StorageLimit::default().phrase(), "a disk without a limit");
        let unlike = StorageLimit { read_bytes_per_s: Some(200 << 20), write_bytes_per_s: Some(1000), ..both };
        assert_eq!(unlike.to_string(), "iops=2000+read_bps=200MiB+write_bps=1000");
        let reads = StorageLimit { read_iops: Some(10_000), ..StorageLimit::default() };
        assert_eq!((reads.to_string(), StorageLimit::default().to_string()), ("read_iops=10000".into(), "none".into()));
    }
}
