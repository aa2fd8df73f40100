//! Where control groups are: the hierarchies of the kernel, old and new, and the group that plimsoll itself is in.
//!
//! In: `/proc/self/mounts`, `/proc/self/cgroup`. Out: for a controller its version and the group in which plimsoll may make its
//! own. Limits: Linux. Of the new hierarchy (version 2) a group is used that hands its controllers on: that of plimsoll itself or
//! one around it. Controllers are never switched on, since that concerns others, too.

use crate::error::TargetError;
use std::path::{Path, PathBuf};

/// What a group may limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitedResource {
    /// Memory and page cache.
    Memory,
    /// Operations and bytes of block devices.
    Storage,
    /// CPU time in each period.
    Cpu,
}

/// Which interface the kernel offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CgroupVersion {
    /// One hierarchy for each controller.
    One,
    /// Version 2: one hierarchy for all controllers.
    Two,
}

/// The place of groups for a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CgroupHierarchy {
    /// The version of the kernel's interface.
    pub version: CgroupVersion,
    /// The group in which plimsoll makes its own.
    pub parent: PathBuf,
    /// The group that plimsoll is in.
    pub own: PathBuf,
    /// The outermost group that can be seen.
    pub outermost: PathBuf,
}

impl LimitedResource {
    /// As its key in a plan is called.
    pub fn plan_key(self) -> &'static str {
        match self {
            LimitedResource::Memory => "memory_limit",
            LimitedResource::Storage => "storage_limit",
            LimitedResource::Cpu => "cpu_limit",
        }
    }

    fn controller_name(self, version: CgroupVersion) -> &'static str {
        match (self, version) {
            (LimitedResource::Memory, _) => "memory",
            (LimitedResource::Storage, CgroupVersion::One) => "blkio",
            (LimitedResource::Storage, CgroupVersion::Two) => "io",
            (LimitedResource::Cpu, _) => "cpu",
        }
    }
}

/// Finds the group in which a group that limits `resource` is made.
///
/// # Errors
/// If this kernel or this container has none, with what to do.
pub fn find_hierarchy(resource: LimitedResource) -> Result<CgroupHierarchy, TargetError> {
    let [mounts, groups] =
        ["/proc/self/mounts", "/proc/self/cgroup"].map(|path| std::fs::read_to_string(path).unwrap_or_default());
    // Version 1 first: on a machine with both, a controller is in one of them only, and there it still works.
    if let Some(found) = find_version_1(resource, &mounts, &groups) {
        return Ok(found);
    }
    let controller = resource.controller_name(CgroupVersion::Two);
    find_version_2(resource, &mounts, &groups).ok_or_else(|| {
        TargetError::Unsupported(format!(
            "`{}` needs a control group with the controller `{controller}`, which is not enabled for plimsoll's \
             group; as root: echo +{controller} > /sys/fs/cgroup/cgroup.subtree_control",
            resource.plan_key()
        ))
    })
}

/// The version of the hierarchy that limits `resource`, the group that plimsoll is in, and the outermost that can be seen; `None` if there is
/// none. Groups need not be made there.
pub fn find_groups(resource: LimitedResource) -> Option<(CgroupVersion, PathBuf, PathBuf)> {
    groups_in(Path::new("/proc/self/cgroup"), resource)
}

/// The same of the process `pid`.
pub fn find_groups_of(pid: u32, resource: LimitedResource) -> Option<(CgroupVersion, PathBuf, PathBuf)> {
    groups_in(Path::new(&format!("/proc/{pid}/cgroup")), resource)
}

fn groups_in(listed: &Path, resource: LimitedResource) -> Option<(CgroupVersion, PathBuf, PathBuf)> {
    let [mounts, groups] = [Path::new("/proc/self/mounts"), listed].map(std::fs::read_to_string);
    let (mounts, groups) = (mounts.ok()?, groups.ok()?);
    if let Some(found) = find_version_1(resource, &mounts, &groups) {
        return Some((found.version, found.own, found.outermost));
    }
    let (own, outermost) = own_in_version_2(&mounts, &groups)?;
    Some((CgroupVersion::Two, own, outermost))
}

/// The outermost groups of all hierarchies in which plimsoll may have made groups.
pub fn outermost_groups() -> Vec<PathBuf> {
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let of_groups = mounts_in(&mounts).filter(|(_, kind, options)| match kind.as_str() {
        "cgroup" => ["memory", "blkio", "cpu"].iter().any(|controller| has_option(options, controller)),
        kind => kind == "cgroup2",
    });
    of_groups.map(|(at, ..)| at).collect()
}

fn find_version_1(resource: LimitedResource, mounts: &str, groups: &str) -> Option<CgroupHierarchy> {
    let controller = resource.controller_name(CgroupVersion::One);
    let (outermost, ..) =
        mounts_in(mounts).find(|(_, kind, options)| kind == "cgroup" && has_option(options, controller))?;
    let own = groups.lines().find_map(|line| {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        has_option(controllers, controller).then_some(path)
    })?;
    let own = group_below(&outermost, own);
    Some(CgroupHierarchy { version: CgroupVersion::One, parent: own.clone(), own, outermost })
}

fn find_version_2(resource: LimitedResource, mounts: &str, groups: &str) -> Option<CgroupHierarchy> {
    let controller = resource.controller_name(CgroupVersion::Two);
    let (own, outermost) = own_in_version_2(mounts, groups)?;
    let mut around = own.ancestors().take_while(|group| group.starts_with(&outermost));
    let parent = around.find(|group| hands_on(group, controller))?.to_owned();
    Some(CgroupHierarchy { version: CgroupVersion::Two, parent, own, outermost })
}

/// The group of this process, and the outermost that can be seen.
fn own_in_version_2(mounts: &str, groups: &str) -> Option<(PathBuf, PathBuf)> {
    let (outermost, ..) = mounts_in(mounts).find(|(_, kind, _)| kind == "cgroup2")?;
    let own = group_below(&outermost, groups.lines().find_map(|line| line.strip_prefix("0::"))?);
    Some((own, outermost))
}

/// Whether groups inside `group` get `controller`.
fn hands_on(group: &Path, controller: &str) -> bool {
    let handed = std::fs::read_to_string(group.join("cgroup.subtree_control")).unwrap_or_default();
    handed.split_ascii_whitespace().any(|name| name == controller)
}

/// Whether `name` is in a list with commas.
fn has_option(list: &str, name: &str) -> bool {
    list.split(',').any(|option| option == name)
}

/// Mount point, type and options of each mount.
fn mounts_in(mounts: &str) -> impl Iterator<Item = (PathBuf, String, String)> {
    mounts.lines().filter_map(|line| {
        let mut words = line.split(' ').skip(1).map(str::to_owned);
        Some((words.next()?.into(), words.next()?, words.next()?))
    })
}

/// The group `path`, or the outermost that can be seen if a container sees only its own groups.
fn group_below(outermost: &Path, path: &str) -> PathBuf {
    let inner = path.trim_start_matches('/');
    let group = outermost.join(inner);
    // In a namespace of groups the path of the own one may be relative to a group outside of it.
    let leads_out = inner.split('/').any(|part| part == "..");
    if !inner.is_empty() && !leads_out && group.is_dir() { group } else { outermost.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_controller_of_the_old_hierarchies_is_found_with_the_group_of_this_process() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
        std::fs::create_dir_all(dir.path().join("blkio/mine")).unwrap();
        let mounts = format!("cgroup {} cgroup rw,blkio 0 0\ncgroup {} cgroup rw,memory 0 0\n", at("blkio"), at("mem"));
        let found =
            find_version_1(LimitedResource::Storage, &mounts, "7:blkio:/mine\n4:memory:/gone/x\n0::/\n").unwrap();
        assert_eq!((found.parent, found.version), (dir.path().join("blkio/mine"), CgroupVersion::One));
        let memory = find_version_1(LimitedResource::Memory, &mounts, "7:blkio:/mine\n4:cpu,memory:/gone/x\n").unwrap();
        assert_eq!(memory.parent, dir.path().join("mem"), "a container sees no more");
        assert_eq!(find_version_1(LimitedResource::Memory, "tmpfs /x tmpfs rw 0 0\n", "4:memory:/\n"), None);
    }

    #[test]
    fn of_the_new_hierarchy_the_nearest_group_that_hands_the_controller_on_is_taken() {
        let dir = tempfile::tempdir().unwrap();
        let own = dir.path().join("user/session");
        std::fs::create_dir_all(&own).unwrap();
        let control = |group: &Path, text: &str| std::fs::write(group.join("cgroup.subtree_control"), text).unwrap();
        control(dir.path(), "cpu io memory\n");
        control(&dir.path().join("user"), "memory pids\n");
        control(&own, "\n");
        let mounts = format!("cgroup2 {} cgroup2 rw 0 0\n", dir.path().display());
        let parent = |resource| find_version_2(resource, &mounts, "0::/user/session\n").map(|found| found.parent);
        assert_eq!(parent(LimitedResource::Memory), Some(dir.path().join("user")));
        assert_eq!(parent(LimitedResource::Storage), Some(dir.path().to_owned()));
        control(dir.path(), "memory\n");
        assert_eq!(parent(LimitedResource::Storage), None);
    }
}
