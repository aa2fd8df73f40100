//! The folder in which tests make theirs: on the disk, open to the users of servers, and removed at the end.
//!
//! Ext4 puts a folder near the one that it is in, and a file near its folder. Without a journal it gives no number of a file that was
//! removed in the last minute to a new one, and looks at each of them first. Tests make and remove files by thousands: that was 0.9 s for
//! a server of 1,200 files, and is 0.05 s if each folder is in a place of its own.

use anyhow::{Context, Result};
use rustix::fs::{IFlags, Mode, OFlags, ioctl_getflags, ioctl_setflags, open};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use tempfile::TempDir;

/// Makes the folder. Its name is short: a socket has a path of 107 bytes at most.
///
/// # Errors
/// If it cannot be made.
pub fn make() -> Result<TempDir> {
    let dir = tempfile::Builder::new().prefix("p").tempdir_in("/var/tmp").context("cannot make a folder for tests")?;
    fs::set_permissions(dir.path(), Permissions::from_mode(0o1777))?;
    // Other file systems have no such flag, and need none.
    let _ = spread_what_is_in(dir.path());
    Ok(dir)
}

/// Asks the file system to treat `dir` like its root, whose folders have nothing to do with each other.
fn spread_what_is_in(dir: &Path) -> rustix::io::Result<()> {
    let dir = open(dir, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())?;
    ioctl_setflags(&dir, ioctl_getflags(&dir)? | IFlags::TOPDIR)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_may_make_files_in_the_folder_and_its_name_is_short() {
        let dir = make().unwrap();
        assert_eq!(fs::metadata(dir.path()).unwrap().permissions().mode() & 0o7777, 0o1777);
        assert!(dir.path().as_os_str().len() <= 16, "{}", dir.path().display());
    }
}
