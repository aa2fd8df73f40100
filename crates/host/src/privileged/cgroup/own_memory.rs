//! The memory of the control group that plimsoll itself is in: a limit that a user, a container or systemd has set.
//!
//! In: `/proc/self/cgroup`. Out: the limit, and how many processes the kernel killed in the group. Limits: of version 1 the kills of the
//! group itself, of version 2 those below it, too.

use super::hierarchy::{CgroupVersion, LimitedResource, find_hierarchy};
use crate::text_file::text_of;
use model::Bytes;
use std::path::PathBuf;

/// The control group of this process that counts its memory.
#[derive(Clone, Debug)]
pub struct MemoryOfOwnGroup {
    version: CgroupVersion,
    own: PathBuf,
    outermost: PathBuf,
}

impl MemoryOfOwnGroup {
    /// `None` if no group counts memory here.
    pub fn find() -> Option<MemoryOfOwnGroup> {
        let found = find_hierarchy(LimitedResource::Memory).ok()?;
        Some(MemoryOfOwnGroup { version: found.version, own: found.own, outermost: found.outermost })
    }

    /// How many processes the kernel killed in it, because memory ran out.
    pub fn count_kills(&self) -> Option<u64> {
        let file = match self.version {
            CgroupVersion::One => "memory.oom_control",
            CgroupVersion::Two => "memory.events",
        };
        let text = text_of(self.own.join(file))?;
        text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
    }

    /// The least that a group around this process allows; `None` if none has a limit.
    pub fn limit(&self) -> Option<Bytes> {
        let file = match self.version {
            CgroupVersion::One => "memory.limit_in_bytes",
            CgroupVersion::Two => "memory.max",
        };
        let groups = self.own.ancestors().take_while(|group| group.starts_with(&self.outermost));
        let limits = groups.filter_map(|group| text_of(group.join(file))?.parse::<u64>().ok());
        // Without a limit, version 1 has a huge number.
        limits.filter(|limit| *limit < 1 << 60).min().map(Bytes)
    }
}
