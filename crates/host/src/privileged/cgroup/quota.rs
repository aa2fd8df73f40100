//! The CPU quota of the control group that plimsoll was started in, and of one in which an engine runs: how much CPU time it may have, and how
//! often it was held back.
//!
//! In: `/proc/self/mounts`, `/proc/self/cgroup` or that of the engine, the groups around it. Out: a [`CpuQuota`]. Limits: Linux. In a container
//! only its own groups are seen; a quota of a group around them shows as steal or as other processes' time, if at all.

use super::hierarchy::{CgroupVersion, LimitedResource, find_groups, find_groups_of};
use crate::text_file::text_of;
use std::path::{Path, PathBuf};

/// Less CPU time than the machine has.
#[derive(Clone, Debug, PartialEq)]
pub struct CpuQuota {
    /// CPU time per time: 0.5 is half of one CPU. The least of all groups around the process.
    pub cpus: f64,
    version: CgroupVersion,
    /// The groups that have a quota.
    groups: Vec<PathBuf>,
}

/// What a quota has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QuotaEffects {
    /// Nanoseconds in which threads were held back, summed over CPUs.
    pub throttled_ns: u64,
    /// Periods of the quota in which that happened.
    pub throttled_periods: u64,
}

/// The quota of this process; `None` if it may have all CPU time.
pub fn cpu_quota() -> Option<CpuQuota> {
    let (version, own, outermost) = find_groups(LimitedResource::Cpu)?;
    quota_around(version, &own, &outermost)
}

/// The quota of the groups around process `pid` that are not around plimsoll; `None` if they have none, or are not seen.
pub fn cpu_quota_of(pid: u32) -> Option<CpuQuota> {
    let (version, group, outermost) = find_groups_of(pid, LimitedResource::Cpu)?;
    let own = find_groups(LimitedResource::Cpu).map(|(_, own, _)| own);
    let is_shared = |group: &Path| own.as_ref().is_some_and(|own| own.starts_with(group));
    quota_among(version, around(&group, &outermost).filter(|group| !is_shared(group)))
}

fn quota_around(version: CgroupVersion, own: &Path, outermost: &Path) -> Option<CpuQuota> {
    quota_among(version, around(own, outermost))
}

/// `group` and the groups around it, from the inside.
fn around<'a>(group: &'a Path, outermost: &'a Path) -> impl Iterator<Item = &'a Path> {
    group.ancestors().take_while(move |group| group.starts_with(outermost))
}

fn quota_among<'a>(version: CgroupVersion, groups: impl Iterator<Item = &'a Path>) -> Option<CpuQuota> {
    let limited: Vec<(PathBuf, f64)> =
        groups.filter_map(|group| Some((group.to_owned(), quota_of(version, group)?))).collect();
    let cpus = limited.iter().map(|(_, cpus)| *cpus).min_by(f64::total_cmp)?;
    Some(CpuQuota { cpus, version, groups: limited.into_iter().map(|(group, _)| group).collect() })
}

/// The quota of `group` alone in CPUs; `None` if it has none, or cannot be read. `cpu.max` is `50000 100000` or `max 100000`; of version 1 `cpu.cfs_quota_us` is -1 if there is none.
pub(super) fn quota_of(version: CgroupVersion, group: &Path) -> Option<f64> {
    let (quota, period) = match version {
        CgroupVersion::Two => {
            let text = text_of(group.join("cpu.max"))?;
            let (quota, period) = text.split_once(' ')?;
            (quota.parse::<f64>().ok()?, period.parse::<f64>().ok()?)
        }
        CgroupVersion::One => {
            let number = |file: &str| text_of(group.join(file))?.parse::<f64>().ok();
            (number("cpu.cfs_quota_us")?, number("cpu.cfs_period_us")?)
        }
    };
    (quota > 0.0 && period > 0.0).then(|| quota / period)
}

impl CpuQuota {
    /// CPU time per time as the groups allow it now; `None` if none of them has a quota any more.
    pub fn cpus_now(&self) -> Option<f64> {
        self.groups.iter().filter_map(|group| quota_of(self.version, group)).min_by(f64::total_cmp)
    }

    /// What it has done since the groups were made; `None` if they cannot be read.
    pub fn effects(&self) -> Option<QuotaEffects> {
        let all = self.groups.iter().map(|group| effects_of(self.version, &text_of(group.join("cpu.stat"))?));
        all.reduce(|sum, one| {
            let (sum, one) = (sum?, one?);
            Some(QuotaEffects {
                throttled_ns: sum.throttled_ns + one.throttled_ns,
                throttled_periods: sum.throttled_periods + one.throttled_periods,
            })
        })?
    }
}

fn effects_of(version: CgroupVersion, stat: &str) -> Option<QuotaEffects> {
    let number = |key: &str| -> Option<u64> {
        stat.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' ')?.parse().ok())
    };
    let throttled_ns = match version {
        CgroupVersion::One => number("throttled_time")?,
        CgroupVersion::Two => number("throttled_usec")? * 1_000,
    };
    Some(QuotaEffects { throttled_ns, throttled_periods: number("nr_throttled")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Linux 6.18 writes them.
    const STAT_1: &str = "nr_periods 60\nnr_throttled 30\nthrottled_time 1500000000\nnr_bursts 0\nburst_time 0\n";
    const STAT_2: &str =
        "usage_usec 9\nuser_usec 5\nsystem_usec 4\nnr_periods 60\nnr_throttled 30\nthrottled_usec 1500000\n";

    #[test]
    fn the_groups_around_plimsoll_are_no_quota_of_a_process_in_them() {
        assert_eq!(cpu_quota_of(std::process::id()), None);
        assert_eq!(cpu_quota_of(u32::MAX), None, "there is no such process");
    }

    #[test]
    fn both_versions_tell_what_the_quota_is_and_what_it_did() {
        let dir = tempfile::tempdir().unwrap();
        let own = dir.path().join("outer/own");
        std::fs::create_dir_all(&own).unwrap();
        let write = |group: &Path, file: &str, text: &str| std::fs::write(group.join(file), text).unwrap();
        write(&own, "cpu.max", "max 100000\n");
        write(&dir.path().join("outer"), "cpu.max", "50000 100000\n");
        write(&dir.path().join("outer"), "cpu.stat", STAT_2);
        let quota = quota_around(CgroupVersion::Two, &own, dir.path()).unwrap();
        let effects = Some(QuotaEffects { throttled_ns: 1_500_000_000, throttled_periods: 30 });
        assert_eq!((quota.cpus, quota.effects()), (0.5, effects));

        assert_eq!(quota_around(CgroupVersion::One, &own, dir.path()), None, "no file of version 1");
        write(&own, "cpu.cfs_quota_us", "150000\n");
        write(&own, "cpu.cfs_period_us", "100000\n");
        write(&own, "cpu.stat", STAT_1);
        let quota = quota_around(CgroupVersion::One, &own, dir.path()).unwrap();
        assert_eq!((quota.cpus, quota.effects()), (1.5, effects));
        write(&own, "cpu.cfs_quota_us", "-1\n");
        assert_eq!(quota_around(CgroupVersion::One, &own, dir.path()), None);
    }
}
