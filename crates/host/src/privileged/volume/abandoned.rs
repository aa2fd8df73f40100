//! Which data directories have a volume, wherever they are.
//!
//! In: what is mounted. Out: the directories around mounts that are named as plimsoll's. Limits: names only select which to look at; the
//! lock, the owner and the manifest of the directory decide. What is mounted in another mount namespace is not seen.

use super::zfs;
use crate::data_dir::{DATA_DIR_PREFIX, MOUNT_POINT};
use crate::filesystem::{self, MountEntry};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The data directories of this user in which a volume is mounted. Those of runs that are alive are among them, and are locked.
pub fn abandoned_places() -> Vec<PathBuf> {
    let mounts = filesystem::read_mounts().unwrap_or_default();
    let mut places: Vec<PathBuf> = mounts.iter().filter_map(place_of).filter(|place| is_own(place)).collect();
    places.sort();
    places.dedup();
    places
}

/// The data directory around the mount point of a volume: `DIR/plimsoll-data-7-0` around `DIR/plimsoll-data-7-0/mnt`.
fn place_of(mount: &MountEntry) -> Option<PathBuf> {
    let place = mount.mount_point.parent().filter(|_| mount.mount_point.ends_with(MOUNT_POINT))?;
    let is_named_so = place.file_name()?.to_str()?.starts_with(DATA_DIR_PREFIX);
    let is_of_pool = || zfs::is_mount_of(&zfs::pool_of(place), &mount.filesystem, &mount.source);
    (is_named_so && (mount.source.starts_with("/dev/loop") || is_of_pool())).then(|| place.to_owned())
}

/// What other users have named so is not looked at: it may be on a file system of theirs.
fn is_own(place: &Path) -> bool {
    fs::symlink_metadata(place).is_ok_and(|meta| meta.uid() == rustix::process::geteuid().as_raw())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filesystem::parse_mountinfo;

    #[test]
    fn only_the_mount_points_of_volumes_lead_to_data_directories() {
        let of = |point: &str, mounted: &str| {
            let mounts = parse_mountinfo(&format!("40 28 7:0 / {point} rw,nosuid - {mounted} rw\n"));
            place_of(&mounts[0])
        };
        let place = || Some(PathBuf::from("/srv/a b/plimsoll-data-7-0"));
        assert_eq!(of("/srv/a\\040b/plimsoll-data-7-0/mnt", "ext4 /dev/loop3"), place());
        assert_eq!(of("/srv/a\\040b/plimsoll-data-7-0/mnt", "fuse.zfs plimsoll-data-7-0"), place());
        assert_eq!(of("/srv/plimsoll-data-7-0/mnt", "fuse.zfs tank"), None);
        assert_eq!(of("/srv/plimsoll-data-7-0/mnt", "ext4 /dev/sda1"), None);
        assert_eq!(of("/srv/plimsoll-data-7-0", "ext4 /dev/loop3"), None);
        assert_eq!(of("/srv/plimsoll-data-7-0/mnt/plimsoll-data-7-1", "ext4 /dev/loop3"), None);
        assert_eq!(of("/srv/data/mnt", "ext4 /dev/loop3"), None);
        assert_eq!(of("/", "ext4 /dev/loop3"), None);
    }
}
