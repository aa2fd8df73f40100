//! A group's CPU time: how much of each second its processes may have.
//!
//! In: a group, a limit in thousandths of a CPU. Out: the limit as the kernel took it. Limits: the kernel hands CPU time out in slices of
//! 5 ms, and stops a group that has used its share until the next period: a throughput follows the limit, single response times
//! show the stops.

use super::hierarchy::CgroupVersion;
use super::quota::quota_of;
use crate::error::{IoContext, TargetError};
use std::fs;
use std::path::PathBuf;

/// The kernel's usual period is 100 ms. With half of it a stop is shorter, and the least share (0.05 CPUs) still 2.5 ms.
const PERIOD_US: u64 = 50_000;

/// A group whose CPU time can be limited.
#[derive(Clone, Debug)]
pub struct CpuGroup {
    version: CgroupVersion,
    group: PathBuf,
}

impl CpuGroup {
    /// The CPU time of `group`.
    pub fn new(version: CgroupVersion, group: PathBuf) -> CpuGroup {
        CpuGroup { version, group }
    }

    /// Sets the limit, in thousandths of a CPU, and returns it as the kernel took it; `None` if there is none.
    pub fn apply(&self, milli_cpus: Option<u32>) -> Result<Option<u32>, TargetError> {
        let quota = milli_cpus.map(|milli| (u64::from(milli) * PERIOD_US / 1000).to_string());
        match self.version {
            CgroupVersion::One => {
                self.write_file("cpu.cfs_period_us", &PERIOD_US.to_string())?;
                self.write_file("cpu.cfs_quota_us", quota.as_deref().unwrap_or("-1"))?;
            }
            CgroupVersion::Two => {
                self.write_file("cpu.max", &format!("{} {PERIOD_US}", quota.as_deref().unwrap_or("max")))?;
            }
        }
        Ok(self.held().filter(|_| milli_cpus.is_some()))
    }

    fn held(&self) -> Option<u32> {
        quota_of(self.version, &self.group).map(|cpus| (cpus * 1000.0).round() as u32)
    }

    fn write_file(&self, name: &str, text: &str) -> Result<(), TargetError> {
        let path = self.group.join(name);
        fs::write(&path, text).trying("set the limit in", path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_version_gets_its_own_files_and_is_read_back() {
        let dir = tempfile::tempdir().unwrap();
        let get = |name: &str| fs::read_to_string(dir.path().join(name)).unwrap();
        let one = CpuGroup::new(CgroupVersion::One, dir.path().into());
        assert_eq!(one.apply(Some(800)).unwrap(), Some(800));
        assert_eq!((get("cpu.cfs_quota_us"), get("cpu.cfs_period_us")), ("40000".into(), "50000".into()));
        assert_eq!(one.apply(None).unwrap(), None);
        assert_eq!(get("cpu.cfs_quota_us"), "-1");
        let two = CpuGroup::new(CgroupVersion::Two, dir.path().into());
        assert_eq!(two.apply(Some(1500)).unwrap(), Some(1500));
        assert_eq!(get("cpu.max"), "75000 50000");
        assert_eq!(two.apply(None).unwrap(), None);
        assert_eq!(get("cpu.max"), "max 50000");
    }
}
