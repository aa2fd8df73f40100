//! A group's memory: its limit, what it took, and whether the kernel had to kill.
//!
//! In: a group. Out: the limit as the kernel took it, and what was used. Limits: pages of files count for the group that touched
//! them first. Swap is closed to the group: what does not fit is dropped from its page cache or makes it fail, and is not moved.

use super::hierarchy::Version;
use crate::error::{IoContext, TargetError};
use model::{Bytes, Fact};
use std::fs;
use std::path::PathBuf;

/// A group whose memory can be limited.
#[derive(Clone, Debug)]
pub struct MemoryGroup {
    version: Version,
    group: PathBuf,
}

impl MemoryGroup {
    /// The memory of `group`.
    pub fn new(version: Version, group: PathBuf) -> MemoryGroup {
        MemoryGroup { version, group }
    }

    /// Sets the limit, forgets what was used at most, and says what the limit is; `None` if there is none.
    pub fn apply(&self, limit: Option<Bytes>) -> Result<Option<Bytes>, TargetError> {
        let amount = |none: &str| limit.map_or(none.to_owned(), |limit| limit.0.to_string());
        match self.version {
            Version::One => {
                // Memory with swap is never less than memory, so it goes out of the way first. Kernels may be without it.
                let _ = fs::write(self.file("memory.memsw.limit_in_bytes"), "-1");
                self.write("memory.limit_in_bytes", &amount("-1")).map_err(|error| self.too_small(limit, error))?;
                let _ = fs::write(self.file("memory.memsw.limit_in_bytes"), amount("-1"));
                let _ = fs::write(self.file("memory.max_usage_in_bytes"), "0");
                let _ = fs::write(self.file("memory.failcnt"), "0");
            }
            Version::Two => {
                self.write("memory.max", &amount("max"))?;
                let _ = fs::write(self.file("memory.swap.max"), if limit.is_some() { "0" } else { "max" });
            }
        }
        let held = self.number(self.by_version("memory.limit_in_bytes", "memory.max"));
        Ok(held.filter(|_| limit.is_some()).map(|bytes| Bytes(bytes as u64)))
    }

    /// What is used.
    pub fn used(&self) -> Option<f64> {
        self.number(self.by_version("memory.usage_in_bytes", "memory.current"))
    }

    /// How often the limit was met, and something had to go.
    pub fn hits(&self) -> Option<f64> {
        match self.version {
            Version::One => self.number("memory.failcnt"),
            Version::Two => self.entry("memory.events", "max"),
        }
    }

    /// How many processes the kernel killed.
    pub fn kills(&self) -> u64 {
        self.entry(self.by_version("memory.oom_control", "memory.events"), "oom_kill").unwrap_or(0.0) as u64
    }

    /// What was used at most, and how often the limit was met. Version 2 forgets neither when the limit changes, so there both would
    /// be those of earlier points, too.
    pub fn closing_facts(&self) -> Vec<Fact> {
        let forgets = self.version == Version::One;
        let peak = self.number("memory.max_usage_in_bytes").filter(|_| forgets);
        let found = [("limit.memory_peak_bytes", peak), ("limit.memory_hits", self.hits().filter(|_| forgets))];
        let kills = Some(self.kills() as f64).filter(|kills| *kills > 0.0);
        let all = found.into_iter().chain([("limit.memory_kills", kills)]);
        all.filter_map(|(name, value)| Some(Fact::new(name, value?.to_string()))).collect()
    }

    /// The kernel takes no limit that it cannot bring the group below by dropping pages of files.
    fn too_small(&self, limit: Option<Bytes>, error: TargetError) -> TargetError {
        let Some((limit, used)) = limit.zip(self.used()).filter(|(limit, used)| *used > limit.0 as f64) else {
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
            Version::One => one,
            Version::Two => two,
        }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.group.join(name)
    }

    fn write(&self, name: &str, text: &str) -> Result<(), TargetError> {
        fs::write(self.file(name), text).trying("set the limit in", self.file(name))
    }

    fn number(&self, name: &str) -> Option<f64> {
        fs::read_to_string(self.file(name)).ok()?.trim().parse().ok()
    }

    /// The number behind `key` in a file of such lines.
    fn entry(&self, name: &str, key: &str) -> Option<f64> {
        let text = fs::read_to_string(self.file(name)).ok()?;
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
        let memory = MemoryGroup::new(Version::Two, dir.path().into());
        put("memory.current", "1234\n");
        put("memory.peak", "5678\n");
        put("memory.events", "low 0\nhigh 0\nmax 7\noom 1\noom_kill 1\noom_group_kill 0\n");
        assert_eq!(memory.apply(Some(Bytes::from_mib(1))).unwrap(), Some(Bytes::from_mib(1)));
        assert_eq!((get("memory.max"), get("memory.swap.max")), ("1048576".into(), "0".into()));
        assert_eq!(memory.apply(None).unwrap(), None);
        assert_eq!((get("memory.max"), get("memory.swap.max")), ("max".into(), "max".into()));
        assert_eq!((memory.used(), memory.hits(), memory.kills()), (Some(1234.0), Some(7.0), 1));
        let told: Vec<String> =
            memory.closing_facts().iter().map(|fact| format!("{}={}", fact.name, fact.value)).collect();
        assert_eq!(told, ["limit.memory_kills=1"]);
    }
}
