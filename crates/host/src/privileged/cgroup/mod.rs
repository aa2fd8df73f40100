//! Limits of memory, storage and CPU: the engine is held to less than the machine has, in control groups of plimsoll's own.
//!
//! In: the limits of an instance's points, the device of its data. Out: a [`CgroupLimits`] which a server enters before it
//! runs and whose limits can be changed while it does; counters of what is used; groups that are gone afterwards. Limits: root, or
//! a hierarchy that was handed over. A limit of operations counts requests of any size: neighbours that the kernel merges count once.
//!
//! What is held, as tried on Linux 6.18 with version 1: the device's operations per second under a limit of 500, while one thread
//! does 8 KiB at a time on ext4, in a group with the rule and on a loop device with the rule in the outermost group:
//!
//! | I/O of the engine | rule of a group | rule of the device |
//! |---|---|---|
//! | direct reads and writes | 500 | 489 to 500 |
//! | buffered reads | 499 | not tried |
//! | buffered writes, each synced | 500: 213 of data, and the journal with it | 500 |
//! | buffered writes without syncs | not held: the kernel writes them later, in its own name | 500 |
//!
//! So a device that serves the data alone is limited by a rule of the outermost group, which holds the kernel's own
//! threads: a volume (`fs`) has one. Elsewhere the rule is that of a group, and the fact `limit.storage_holds` is
//! `reads and synced writes`. Version 2 charges such writes to the group that made them: there a group holds all.
//!
//! An embedded engine works on plimsoll's own threads: plimsoll itself enters the group of storage, and leaves it at the end. Its
//! memory is not limited: the load generator would be, too. A limit of its CPU time is one of its clients as well. The speed of the CPUs
//! ([`crate::privileged::slowdown::CpuSlowdown`]) is of the machine and needs no group.

mod cpu;
mod group;
mod hierarchy;
mod memory;
mod own_memory;
mod quota;
mod storage;

use crate::error::TargetError;
use crate::privileged::slowdown::{CpuSlowdown, check_slowdown};
use cpu::CpuGroup;
use group::ControlGroup;
use hierarchy::{CgroupHierarchy, CgroupVersion, LimitedResource};
use memory::MemoryGroup;
use model::{CpuLimit, Fact, Limits, StorageLimit};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};
use storage::StorageGroup;

pub use group::sweep_abandoned;
pub use own_memory::MemoryOfOwnGroup;
pub use quota::{CpuQuota, QuotaEffects, cpu_quota, cpu_quota_of};
pub use storage::clear_rules_of;

/// Which limits any point of an instance has.
#[derive(Clone, Copy, Debug)]
pub struct LimitNeeds<'a> {
    /// Whether one limits its memory.
    pub memory: bool,
    /// Its use of this device.
    pub storage: Option<LimitedDisk<'a>>,
    /// Whether one limits its CPU time.
    pub cpu_time: bool,
    /// Whether plimsoll's own process does its work.
    pub embedded: bool,
}

/// The device under the data.
#[derive(Clone, Copy, Debug)]
pub struct LimitedDisk<'a> {
    /// Its name in `/proc/diskstats`.
    pub name: &'a str,
    /// Whether it is there for this data alone.
    pub alone: bool,
}

/// Refuses limits that this machine cannot hold, before anything is made.
pub fn check_limits(limits: &Limits) -> Result<(), TargetError> {
    let wanted = [
        (limits.memory.is_some(), LimitedResource::Memory),
        (!limits.storage.is_none(), LimitedResource::Storage),
        (limits.cpu.is_some_and(|limit| limit.milli_cpus().is_some()), LimitedResource::Cpu),
    ];
    wanted.into_iter().filter(|(wanted, _)| *wanted).try_for_each(|(_, resource)| check_resource(resource))?;
    let slows = limits.cpu.is_some_and(|limit| limit.speed_percent().is_some());
    if slows { check_slowdown() } else { Ok(()) }
}

fn check_resource(resource: LimitedResource) -> Result<(), TargetError> {
    let parent = hierarchy::find_hierarchy(resource)?.parent;
    let writable = rustix::fs::access(&parent, rustix::fs::Access::WRITE_OK).is_ok();
    writable.then_some(()).ok_or_else(|| {
        TargetError::Unsupported(format!(
            "`{}` needs to make a control group in `{}`, which you may not write to; run as root",
            resource.plan_key(),
            parent.display()
        ))
    })
}

/// The groups that hold an instance, with limits that can be changed while it runs. Removed when it is dropped; the instance goes
/// before.
#[derive(Debug)]
pub struct CgroupLimits {
    groups: Vec<ControlGroup>,
    memory: Option<MemoryGroup>,
    storage: Option<StorageGroup>,
    cpu: Option<CpuGroup>,
    slowdown: Mutex<Option<CpuSlowdown>>,
    embedded: bool,
}

impl CgroupLimits {
    /// Makes the groups. Nothing is limited yet.
    pub fn make(needs: &LimitNeeds) -> Result<CgroupLimits, TargetError> {
        let memory = needs.memory.then(|| hierarchy::find_hierarchy(LimitedResource::Memory)).transpose()?;
        let storage =
            needs.storage.map(|disk| Ok((disk, hierarchy::find_hierarchy(LimitedResource::Storage)?))).transpose()?;
        let cpu = needs.cpu_time.then(|| hierarchy::find_hierarchy(LimitedResource::Cpu)).transpose()?;
        let storage_hierarchy = storage.as_ref().map(|(_, hierarchy)| hierarchy.clone());
        let all: Vec<CgroupHierarchy> = [&memory, &storage_hierarchy, &cpu].into_iter().flatten().cloned().collect();
        let mut made = CgroupLimits {
            groups: Vec::new(),
            memory: None,
            storage: None,
            cpu: None,
            slowdown: Mutex::default(),
            embedded: needs.embedded,
        };
        if let Some(hierarchy) = &memory {
            made.memory = Some(MemoryGroup::new(hierarchy.version, made.group_in(hierarchy, &all)?));
        }
        if let Some(hierarchy) = &cpu {
            made.cpu = Some(CpuGroup::new(hierarchy.version, made.group_in(hierarchy, &all)?));
        }
        if let Some((disk, hierarchy)) = storage {
            // A rule of the outermost group also holds the kernel's own threads, but everyone else on the device with them: so
            // only for a device that is plimsoll's alone.
            let whole = disk.alone && storage::holds_whole_devices(&hierarchy);
            let at = if whole { hierarchy.outermost.clone() } else { made.group_in(&hierarchy, &all)? };
            made.storage = Some(StorageGroup::new(hierarchy.version, at, disk.name, whole)?);
        }
        if needs.embedded {
            made.groups.iter().try_for_each(ControlGroup::enter)?;
        }
        Ok(made)
    }

    /// A group in `hierarchy`, which is one of `all` that are needed. A process is in one group of version 2 only, so there the
    /// resources share a group: what hands on in the outermost of their parents is handed on in all. Of version 1 two controllers may be in
    /// one hierarchy, too.
    fn group_in(
        &mut self,
        hierarchy: &CgroupHierarchy,
        all: &[CgroupHierarchy],
    ) -> Result<std::path::PathBuf, TargetError> {
        let parents = all
            .iter()
            .filter(|other| {
                other.version == hierarchy.version
                    && (hierarchy.version == CgroupVersion::Two || other.parent == hierarchy.parent)
            })
            .map(|hierarchy| &hierarchy.parent);
        let parent =
            parents.min_by_key(|parent| parent.components().count()).expect("the hierarchy itself is one of them");
        if let Some(made) = self.groups.iter().find(|made| made.path().parent() == Some(parent)) {
            return Ok(made.path().to_owned());
        }
        let made = ControlGroup::make(parent, &hierarchy.own)?;
        let path = made.path().to_owned();
        self.groups.push(made);
        Ok(path)
    }

    /// A handle on the list of processes of each group. A server enters the groups by writing `0` to each before it starts its
    /// program.
    pub fn cgroup_fds(&self) -> Vec<Arc<OwnedFd>> {
        self.groups.iter().map(ControlGroup::procs_fd).collect()
    }

    /// Applies `limits` from now on. Returns facts with the limits as the kernel took them.
    pub fn apply(&self, limits: &Limits) -> Result<Vec<Fact>, TargetError> {
        let mut facts = Vec::new();
        if let Some(memory) = &self.memory {
            facts.extend(memory.apply(limits.memory)?.map(|held| Fact::new("limit.memory_bytes", held.0.to_string())));
        }
        if let Some(storage) = &self.storage {
            let held = storage.apply(&limits.storage)?;
            facts.push(Fact::new("limit.storage", held.to_string()));
            facts.extend((!held.is_none()).then(|| storage.facts()).into_iter().flatten());
        }
        facts.extend(self.apply_cpu(limits.cpu)?.map(|held| Fact::new("limit.cpu", held.to_string())));
        Ok(facts)
    }

    /// Applies the limit of CPU, and returns it as it is held; `None` if there is none.
    fn apply_cpu(&self, limit: Option<CpuLimit>) -> Result<Option<CpuLimit>, TargetError> {
        let milli_cpus = limit.and_then(CpuLimit::milli_cpus);
        let held = self.cpu.as_ref().map(|cpu| cpu.apply(milli_cpus)).transpose()?.flatten();
        let mut slowdown = self.slowdown.lock().unwrap_or_else(PoisonError::into_inner);
        // The threads of the limit before end first, also if it was the same: they may have been pinned to other CPUs since.
        drop(slowdown.take());
        let speed_percent = limit.and_then(CpuLimit::speed_percent);
        *slowdown = speed_percent.map(CpuSlowdown::start).transpose()?;
        Ok(held.map(CpuLimit::MilliCpus).or(speed_percent.map(CpuLimit::SpeedPercent)))
    }

    /// Removes the limits for the time being, for work that is not measured.
    pub fn clear(&self) -> Result<(), TargetError> {
        self.apply(&Limits::default()).map(drop)
    }

    /// The most memory used since the limits were set, and whether the kernel killed a process.
    pub fn closing_facts(&self) -> Vec<Fact> {
        self.memory.iter().flat_map(MemoryGroup::closing_facts).collect()
    }

    /// A message if the kernel killed the server because it was out of memory.
    pub fn describe_trouble(&self) -> Option<String> {
        let killed = self.memory.as_ref().is_some_and(|memory| memory.count_kills() > 0);
        killed.then(|| "the kernel killed the server: it needs more memory than memory_limit allows".into())
    }

    /// A warning for the user if the storage limit does not apply to all writes.
    pub fn describe_gap(&self) -> Option<&'static str> {
        let partly = self.storage.as_ref().is_some_and(|storage| !storage.holds_all());
        partly.then_some("`storage_limit` does not cover what the kernel writes back later; with `fs` it does")
    }

    /// A reader of what the groups use, for as long as they exist.
    pub fn usage_reader(&self) -> UsageReader {
        UsageReader { memory: self.memory.clone(), storage: self.storage.clone() }
    }

    /// Lifts the limits and removes the groups, which the instance must have left by ending.
    pub fn remove(mut self) -> Result<(), TargetError> {
        self.release()
    }

    fn release(&mut self) -> Result<(), TargetError> {
        drop(self.slowdown.lock().unwrap_or_else(PoisonError::into_inner).take());
        let lifted = self.storage.take().map_or(Ok(()), |storage| storage.apply(&StorageLimit::default()).map(drop));
        let embedded = self.embedded;
        // Limits first: a group whose processes are throttled takes long to empty.
        let removed = self.groups.drain(..).try_for_each(|group| group.remove(embedded));
        lifted.and(removed)
    }
}

/// Reads how much is used by what a [`CgroupLimits`] holds.
#[derive(Clone, Debug)]
pub struct UsageReader {
    memory: Option<MemoryGroup>,
    storage: Option<StorageGroup>,
}

impl UsageReader {
    /// Bytes of memory, times that the memory limit was met, reads, writes, bytes read, bytes written; `None` for what is not limited
    /// or not counted.
    pub fn read(&self) -> [Option<f64>; 6] {
        let [reads, writes, read_bytes, written_bytes] =
            self.storage.as_ref().map_or([None; 4], StorageGroup::read_usage);
        let (used, hits) = (
            self.memory.as_ref().and_then(MemoryGroup::used_bytes),
            self.memory.as_ref().and_then(MemoryGroup::count_hits),
        );
        [used, hits, reads, writes, read_bytes, written_bytes]
    }
}

impl Drop for CgroupLimits {
    /// For groups that were not removed, because a start failed. What cannot be removed now is left to the next start.
    fn drop(&mut self) {
        let _ = self.release();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Bytes;
    use std::fs;

    fn is_root() -> bool {
        let root = rustix::process::geteuid().is_root();
        if !root {
            eprintln!("skipped: needs root: no group can be made");
        }
        root
    }

    #[test]
    fn limits_can_be_set_changed_and_lifted_and_leave_nothing() {
        if !is_root() || check_resource(LimitedResource::Memory).is_err() {
            return;
        }
        let made =
            CgroupLimits::make(&LimitNeeds { memory: true, storage: None, cpu_time: false, embedded: false }).unwrap();
        let path = made.groups[0].path().to_owned();
        let held = |mib: Option<u64>| {
            let facts = made.apply(&Limits { memory: mib.map(Bytes::from_mib), ..Limits::default() }).unwrap();
            facts.first().map(|fact| fact.value.parse::<u64>().unwrap() >> 20)
        };
        assert_eq!([Some(300), Some(100), Some(200), None].map(held), [Some(300), Some(100), Some(200), None]);
        assert_eq!(fs::read_to_string(path.join("cgroup.procs")).unwrap(), "");
        made.remove().unwrap();
        assert!(!path.exists());
    }

    #[test]
    fn cpu_time_is_limited_in_a_group_of_its_own_and_the_speed_without_one() {
        if !is_root() || check_resource(LimitedResource::Cpu).is_err() || check_slowdown().is_err() {
            return;
        }
        let needs = |cpu_time| LimitNeeds { memory: false, storage: None, cpu_time, embedded: false };
        let made = CgroupLimits::make(&needs(true)).unwrap();
        let held = |limits: &CgroupLimits, cpu| {
            let facts = limits.apply(&Limits { cpu, ..Limits::default() }).unwrap();
            facts.first().map(|fact| fact.value.clone())
        };
        assert_eq!(held(&made, Some(CpuLimit::MilliCpus(800))), Some("0.8".to_owned()));
        assert_eq!(held(&made, None), None);
        let path = made.groups[0].path().to_owned();
        made.remove().unwrap();
        assert!(!path.exists());
        let without = CgroupLimits::make(&needs(false)).unwrap();
        assert_eq!(held(&without, Some(CpuLimit::SpeedPercent(90))), Some("90%".to_owned()));
        assert!(without.groups.is_empty());
        without.remove().unwrap();
    }

    #[test]
    fn the_groups_of_a_plimsoll_that_is_gone_are_swept_and_those_of_others_are_not() {
        let Some(hierarchy) = is_root().then(|| hierarchy::find_hierarchy(LimitedResource::Memory).ok()).flatten()
        else {
            return;
        };
        let left = hierarchy.parent.join("plimsoll-1-999999");
        let others = hierarchy.parent.join("plimsoll-notes");
        [&left, &others].iter().for_each(|dir| fs::create_dir(dir).unwrap());
        let made =
            CgroupLimits::make(&LimitNeeds { memory: true, storage: None, cpu_time: false, embedded: false }).unwrap();
        let notes = sweep_abandoned();
        assert!(notes.iter().any(|note| note.contains("plimsoll-1-999999")), "{notes:?}");
        let there = [left.exists(), others.exists(), made.groups[0].path().exists()];
        fs::remove_dir(&others).unwrap();
        assert_eq!(there, [false, true, true]);
    }

    #[test]
    fn a_disk_that_is_not_there_is_refused_by_its_name() {
        if !is_root() || check_resource(LimitedResource::Storage).is_err() {
            return;
        }
        let disk = LimitedDisk { name: "nosuch0", alone: false };
        let made =
            CgroupLimits::make(&LimitNeeds { memory: false, storage: Some(disk), cpu_time: false, embedded: false });
        let text = made.unwrap_err().to_string();
        assert!(text.contains("`nosuch0`") && text.contains("storage_limit"), "{text}");
    }
}
