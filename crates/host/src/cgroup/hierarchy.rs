//! Where control groups are: the hierarchies of the kernel, old and new, and the group that plimsoll itself is in.
//!
//! In: `/proc/self/mounts`, `/proc/self/cgroup`. Out: for a controller its version and the group in which plimsoll may make its
//! own. Limits: Linux. Of the new hierarchy (version 2) a group is used that hands its controllers on: that of plimsoll itself or
//! one around it. Controllers are never switched on, since that concerns others, too.

use crate::error::TargetError;
use std::path::{Path, PathBuf};

/// What a group may limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// Memory and page cache.
    Memory,
    /// Operations and bytes of block devices.
    Storage,
}

/// Which interface the kernel offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// One hierarchy for each controller.
    One,
    /// One for all.
    Two,
}

/// Where groups for a resource are made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hierarchy {
    /// The interface.
    pub version: Version,
    /// The group in which plimsoll makes its own.
    pub parent: PathBuf,
    /// The group that plimsoll is in.
    pub own: PathBuf,
    /// The outermost group that can be seen.
    pub outermost: PathBuf,
}

impl Resource {
    /// As its key in a plan is called.
    pub fn key(self) -> &'static str {
        match self {
            Resource::Memory => "memory_limit",
            Resource::Storage => "storage_limit",
        }
    }

    fn controller(self, version: Version) -> &'static str {
        match (self, version) {
            (Resource::Memory, _) => "memory",
            (Resource::Storage, Version::One) => "blkio",
            (Resource::Storage, Version::Two) => "io",
        }
    }
}

/// Where a group that limits `resource` is made.
///
/// # Errors
/// If this kernel or this container has none, with what to do.
pub fn find(resource: Resource) -> Result<Hierarchy, TargetError> {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let (mounts, groups) = (read("/proc/self/mounts"), read("/proc/self/cgroup"));
    if let Some(found) = old(resource, &mounts, &groups) {
        return Ok(found);
    }
    let controller = resource.controller(Version::Two);
    new(resource, &mounts, &groups).ok_or_else(|| {
        TargetError::Unsupported(format!(
            "`{}` needs a control group with the controller `{controller}`, which is not enabled for plimsoll's \
             group; as root: echo +{controller} > /sys/fs/cgroup/cgroup.subtree_control",
            resource.key()
        ))
    })
}

/// The outermost groups of all hierarchies in which plimsoll may have made groups.
pub fn all() -> Vec<PathBuf> {
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let controls = |(_, kind, options): &(PathBuf, String, String)| match kind.as_str() {
        "cgroup" => options.split(',').any(|option| option == "memory" || option == "blkio"),
        kind => kind == "cgroup2",
    };
    mounted(&mounts).filter(controls).map(|(at, ..)| at).collect()
}

fn old(resource: Resource, mounts: &str, groups: &str) -> Option<Hierarchy> {
    let controller = resource.controller(Version::One);
    let is_it = |kind: &str, options: &str| kind == "cgroup" && options.split(',').any(|option| option == controller);
    let (outermost, ..) = mounted(mounts).find(|(_, kind, options)| is_it(kind, options))?;
    let own = groups.lines().find_map(|line| {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        controllers.split(',').any(|name| name == controller).then_some(path)
    })?;
    let own = below(&outermost, own);
    Some(Hierarchy { version: Version::One, parent: own.clone(), own, outermost })
}

fn new(resource: Resource, mounts: &str, groups: &str) -> Option<Hierarchy> {
    let controller = resource.controller(Version::Two);
    let (outermost, ..) = mounted(mounts).find(|(_, kind, _)| kind == "cgroup2")?;
    let own = below(&outermost, groups.lines().find_map(|line| line.strip_prefix("0::"))?);
    let hands_on = |group: &&Path| {
        let handed = std::fs::read_to_string(group.join("cgroup.subtree_control")).unwrap_or_default();
        handed.split_ascii_whitespace().any(|name| name == controller)
    };
    let parent = own.ancestors().take_while(|group| group.starts_with(&outermost)).find(hands_on)?.to_owned();
    Some(Hierarchy { version: Version::Two, parent, own, outermost })
}

/// Mount point, type and options of each mount.
fn mounted(mounts: &str) -> impl Iterator<Item = (PathBuf, String, String)> {
    mounts.lines().filter_map(|line| {
        let mut words = line.split(' ').skip(1).map(str::to_owned);
        Some((words.next()?.into(), words.next()?, words.next()?))
    })
}

/// The group `path`; where a container sees only its own groups, the outermost that it sees.
fn below(outermost: &Path, path: &str) -> PathBuf {
    let inner = path.trim_start_matches('/');
    let group = outermost.join(inner);
    // In a namespace of groups the own one may be told from outside of it.
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
        let found = old(Resource::Storage, &mounts, "7:blkio:/mine\n4:memory:/gone/x\n0::/\n").unwrap();
        assert_eq!((found.parent, found.version), (dir.path().join("blkio/mine"), Version::One));
        let memory = old(Resource::Memory, &mounts, "7:blkio:/mine\n4:cpu,memory:/gone/x\n").unwrap();
        assert_eq!(memory.parent, dir.path().join("mem"), "a container sees no more");
        assert_eq!(old(Resource::Memory, "tmpfs /x tmpfs rw 0 0\n", "4:memory:/\n"), None);
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
        let parent = |resource| new(resource, &mounts, "0::/user/session\n").map(|found| found.parent);
        assert_eq!(parent(Resource::Memory), Some(dir.path().join("user")));
        assert_eq!(parent(Resource::Storage), Some(dir.path().to_owned()));
        control(dir.path(), "memory\n");
        assert_eq!(parent(Resource::Storage), None);
    }
}
