//! A group's memory: its limit, what it took, and whether the kernel had to kill.
//!
//! In: a group. Out: the limit as the kernel took it, and what was used. Limits: pages of files count for the group that touched
//! them first. Swap is closed to the group: what does not fit is dropped from its page cache or makes it fail, and is not moved.

use super::hierarchy::CgroupVersion;
use crate::error::{IoContext, TargetError};
use model::{Bytes, Fact};
use std::fs;
use std::path::PathBuf;

/// A group whose memory can be limited.
#[derive(Clone, Debug)]
pub struct MemoryGroup {
    version: CgroupVersion,
    group: PathBuf,
}

impl MemoryGroup {
    /// The memory of `group`.
    pub fn new(version: CgroupVersion, group: PathBuf) -> MemoryGroup {
        MemoryGroup { version, group }
    }

    /// Sets the limit, resets the peak, and returns the limit as the kernel took it; `None` if there is none.
    pub fn apply(&self, limit: Option<Bytes>) -> Result<Option<Bytes>, TargetError> {
        let amount = limit.map(|limit| limit.0.to_string());
        match self.version {
            CgroupVersion::One => {
                // Memory with swap is never less than memory, so it goes out of the way first. Kernels may be without it.
                let _ = fs::write(self.file_path("memory.memsw.limit_in_bytes"), "-1");
                let amount = amount.as_deref().unwrap_or("-1");
                self.write_file("memory.limit_in_bytes", amount).map_err(|error| self.too_small(limit, error))?;
                let _ = fs::write(self.file_path("memory.memsw.limit_in_bytes"), amount);
                let _ = fs::write(self.file_path("memory.max_usage_in_bytes"), "0");
                let _ = fs::write(self.file_path("memory.failcnt"), "0");
            }
            CgroupVersion::Two => {
                self.write_file("memory.max", amount.as_deref().unwrap_or("max"))?;
                // Kernels without swap accounting have no such file.
                let _ = fs::write(self.file_path("memory.swap.max"), if limit.is_some() { "0" } else { "max" });
            }
        }
        let held = self.read_number(self.by_version("memory.limit_in_bytes", "memory.max"));
        Ok(held.filter(|_| limit.is_some()).map(|bytes| Bytes(bytes as u64)))
    }

    /// The memory that is used, in bytes.
    pub fn used_bytes(&self) -> Option<f64> {
        self.read_number(self.by_version("memory.usage_in_bytes", "memory.current"))
    }

    /// How often the limit was met, and something had to go.
    pub fn count_hits(&self) -> Option<f64> {
        match self.version {
            CgroupVersion::One => self.read_number("memory.failcnt"),
            CgroupVersion::Two => self.read_entry("memory.events", "max"),
        }
    }

    /// How many processes the kernel killed.
    pub fn count_kills(&self) -> u64 {
        self.read_entry(self.by_version("memory.oom_control", "memory.events"), "oom_kill").unwrap_or(0.0) as u64
    }

    /// What was used at most, and how often the limit was met. Version 2 forgets neither when the limit changes, so there both would
    /// be those of earlier points, too.
    pub fn closing_facts(&self) -> Vec<Fact> {
        let forgets = self.version == CgroupVersion::One;
        let peak = self.read_number("memory.max_usage_in_bytes").filter(|_| forgets);
        let found = [("limit.memory_peak_bytes", peak), ("limit.memory_hits", self.count_hits().filter(|_| forgets))];
        let kills = Some(self.count_kills() as f64).filter(|kills| *kills > 0.0);
        let all = found.into_iter().chain([("limit.memory_kills", kills)]);
        all.filter_map(|(name, value)| Some(Fact::new(name, value?.to_string()))).collect()
    }

    /// The kernel takes no limit that it cannot bring the group below by dropping pages of files.
    fn too_small(&self, limit: Option<Bytes>, error: TargetError) -> TargetError {
        let Some((limit, used)) = limit.zip(self.used_bytes()).filter(|(limit, used)| *used > limit.0 as f64) else {
            return error;
        };
        let used = Bytes(used as u64);
        TargetError::Failed(format!(
            "memory_limit = `{limit}` is less than the server already uses ({used}); raise the limit or shrink the \
             `cache`"
        ))
    }

    fn by_version(&self, one: &'static str, two: &'static str) -> &'static str {
        match self.version {
            CgroupVersion::One => one,
            CgroupVersion::Two => two,
        }
    }

    fn file_path(&self, name: &str) -> PathBuf {
        self.group.join(name)
    }

    fn write_file(&self, name: &str, text: &str) -> Result<(), TargetError> {
        fs::write(self.file_path(name), text).trying("set the limit in", self.file_path(name))
    }

    fn read_number(&self, name: &str) -> Option<f64> {
        fs::read_to_string(self.file_path(name)).ok()?.trim().parse().ok()
    }

    /// The number behind `key` in a file of such lines.
    fn read_entry(&self, name: &str, key: &str) -> Option<f64> {
        let text = fs::read_to_string(self.file_path(name)).ok()?;
        text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' ')?.parse().ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_of_version_two_is_written_and_read_by_its_own_files() {
        let dir = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
        let get = |name: &str| fs::read_to_string(dir.path().join(name)).unwrap();
        let memory = MemoryGroup::new(CgroupVersion::Two, dir.path().into());
        put("memory.current", "1234\n");
        put("memory.peak", "5678\n");
        put("memory.events", "low 0\nhigh 0\nmax 7\noom 1\noom_kill 1\noom_group_kill 0\n");
        assert_eq!(memory.apply(Some(Bytes::from_mib(1))).unwrap(), Some(Bytes::from_mib(1)));
        assert_eq!((get("memory.max"), get("memory.swap.max")), ("1048576".into(), "0".into()));
        assert_eq!(memory.apply(None).unwrap(), None);
        assert_eq!((get("memory.max"), get("memory.swap.max")), ("max".into(), "max".into()));
        assert_eq!((memory.used_bytes(), memory.count_hits(), memory.count_kills()), (Some(1234.0), Some(7.0), 1));
        let told: Vec<String> =
            memory.closing_facts().iter().map(|fact| format!("{}={}", fact.name, fact.value)).collect();
        assert_eq!(told, ["limit.memory_kills=1"]);
    }
}
