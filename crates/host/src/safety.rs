//! Looks before plimsoll leaps: is this a place to write to, and is there room?
//!
//! In: the directory that the user named, the bytes that a plan needs. Out: a refusal, or nothing.
//! Limits: others may fill the disk meanwhile; the caller asks [`room_left`] again while the load runs.

use crate::error::{IoContext, TargetError, shown};
use model::Bytes;
use rustix::fs::{Mode, OFlags, StatVfs, StatVfsMountFlags, open, stat, statvfs};
use rustix::io::Errno;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// At least this much stays free, or 5 % of the file system if that is more.
const RESERVE_LEAST: Bytes = Bytes::from_gib(1);
const RESERVE_SHARE: u64 = 20;

/// Refuses `dir` if it is not a directory of its own name (a symlink may lead anywhere, a device has no files), or if a symlink of another
/// user is on the way to it, as [`check_links`] does.
pub fn check_directory(dir: &Path) -> Result<(), TargetError> {
    check_links(dir)?;
    // Not `metadata`, which follows symlinks.
    let kind = match fs::symlink_metadata(dir) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let text = format!("`{}` does not exist; create it, or choose another directory", shown(dir));
            return Err(TargetError::Unsafe(text));
        }
        found => found.trying("look at", dir)?.file_type(),
    };
    let is = match kind {
        kind if kind.is_dir() => return Ok(()),
        kind if kind.is_symlink() => "a symlink; name the directory that it leads to",
        kind if kind.is_block_device() => {
            "a block device; name a directory (or give the device to `plimsoll file --path`)"
        }
        kind if kind.is_char_device() => "a character device; name a directory",
        kind if kind.is_file() => "a file; name a directory (or give the file to `plimsoll file --path`)",
        _ => "no directory; name one",
    };
    Err(TargetError::Unsafe(format!("`{}` is {is}", shown(dir))))
}

/// Refuses `path` if a symlink on the way to it belongs to another user than root or the one that plimsoll runs as: that user could lead
/// to any place what is written there. What does not exist yet is fine.
pub fn check_links(path: &Path) -> Result<(), TargetError> {
    let own = rustix::process::geteuid().as_raw();
    for part in path.ancestors().filter(|part| !part.as_os_str().is_empty()) {
        let Ok(meta) = fs::symlink_metadata(part) else { continue };
        if meta.is_symlink() && meta.uid() != own && meta.uid() != 0 {
            return Err(TargetError::Unsafe(format!(
                "`{}` is a symlink that another user has made; name the directory that it leads to",
                shown(part)
            )));
        }
    }
    Ok(())
}

/// What is wrong with the file system around `path`, if that can be seen: it is read-only or full, or it fails.
pub fn describe_trouble(path: &Path) -> Option<String> {
    let around = path
        .ancestors()
        .filter(|around| !around.as_os_str().is_empty())
        .find(|around| !matches!(stat(*around), Err(Errno::NOENT | Errno::NOTDIR)))?;
    let why = statvfs(around).map_or_else(trouble_of_error, |found| trouble_of_stat(&found));
    let why = why.or_else(|| probe(around).err().and_then(trouble_of_error))?;
    Some(format!("the file system of `{}` {why}", shown(around)))
}

fn trouble_of_stat(found: &StatVfs) -> Option<&'static str> {
    match found {
        found if found.f_flag.contains(StatVfsMountFlags::RDONLY) => Some("is mounted read-only"),
        found if found.f_bavail == 0 && found.f_blocks > 0 => Some("is full; free some space"),
        found if found.f_ffree == 0 && found.f_files > 0 => Some("has no inodes left; remove some files"),
        _ => None,
    }
}

fn trouble_of_error(errno: Errno) -> Option<&'static str> {
    match errno {
        Errno::IO => Some("fails with I/O errors (EIO); read `dmesg`"),
        // The kernel has turned it read-only after an error, which not every file system shows in its flags.
        Errno::ROFS => Some("has become read-only (EROFS); read `dmesg`"),
        Errno::NOSPC | Errno::DQUOT => Some("is full; free some space"),
        _ => None,
    }
}

/// Writes a byte to a file in `dir` that has no name and is gone at the end. Nothing is synced: that may hang on a disk that is dying.
fn probe(dir: &Path) -> Result<(), Errno> {
    let file = open(dir, OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR)?;
    rustix::io::write(&file, b"x").map(drop)
}

/// Bytes that must stay free on a file system of `total` bytes.
pub fn reserve_of(total: Bytes) -> Bytes {
    RESERVE_LEAST.max(Bytes(total.0 / RESERVE_SHARE))
}

/// Refuses a plan that needs `need` bytes in `dir` if they are not free in addition to the reserve.
pub fn check_space(dir: &Path, need: Bytes) -> Result<(), TargetError> {
    let (free, total) = free_and_total(dir)?;
    let reserve = reserve_of(total);
    if need.0.saturating_add(reserve.0) <= free.0 {
        return Ok(());
    }
    Err(TargetError::Unsafe(format!(
        "not enough space in `{}`: the plan needs {need} and {reserve} must stay free, but only {free} are free; free some \
         space, choose another directory or use `--scale`",
        shown(dir)
    )))
}

/// Where data may grow, and whether others need space there.
#[derive(Clone, Debug)]
pub enum WriteRoom {
    /// On a file system with data of others.
    Shared(PathBuf),
    /// On a volume of plimsoll's own, to which no one else writes.
    Own(PathBuf),
}

impl WriteRoom {
    /// The directory as a path.
    pub fn path(&self) -> &Path {
        match self {
            WriteRoom::Shared(dir) | WriteRoom::Own(dir) => dir,
        }
    }
}

/// Bytes that may still be written in `room` before its reserve is touched; `None` if the file system does not report it.
pub fn room_left(room: &WriteRoom) -> Option<Bytes> {
    let (dir, reserve): (_, fn(Bytes) -> Bytes) = match room {
        WriteRoom::Shared(dir) => (dir, reserve_of),
        WriteRoom::Own(dir) => (dir, |total| Bytes(total.0 / RESERVE_SHARE)),
    };
    let (free, total) = free_and_total(dir).ok()?;
    Some(Bytes(free.0.saturating_sub(reserve(total).0)))
}

fn free_and_total(dir: &Path) -> Result<(Bytes, Bytes), TargetError> {
    let stat = rustix::fs::statvfs(dir).trying("look at", dir)?;
    Ok((Bytes(stat.f_bavail * stat.f_frsize), Bytes(stat.f_blocks * stat.f_frsize)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_real_directory_is_a_place_to_write_to() {
        let parent = tempfile::tempdir().unwrap();
        let link = parent.path().join("link");
        std::os::unix::fs::symlink(parent.path(), &link).unwrap();
        let file = parent.path().join("file");
        fs::write(&file, b"").unwrap();
        check_directory(parent.path()).unwrap();
        for (path, word) in [
            (link.as_path(), "symlink"),
            (&file, "a file"),
            (Path::new("/dev/null"), "character device"),
            (Path::new("/nonexistent"), "does not exist; create it"),
        ] {
            let error = check_directory(path).unwrap_err();
            assert!(matches!(error, TargetError::Unsafe(_)) && error.to_string().contains(word), "{error}");
        }
    }

    #[test]
    fn a_link_of_another_user_on_the_way_is_refused_and_an_own_one_is_not() {
        let parent = tempfile::tempdir().unwrap();
        let link = parent.path().join("link");
        std::os::unix::fs::symlink("/tmp", &link).unwrap();
        check_links(&link.join("a/b")).unwrap();
        check_links(Path::new("runs")).unwrap();
        if !rustix::process::geteuid().is_root() {
            return eprintln!("skipped: only root gives a link away");
        }
        std::os::unix::fs::lchown(&link, Some(65534), None).unwrap();
        let refused = check_links(&link.join("a/b")).unwrap_err().to_string();
        assert!(refused.contains("link` is a symlink that another user has made"), "{refused}");
        let below = tempfile::tempdir_in("/tmp").unwrap();
        let refused = check_directory(&link.join(below.path().file_name().unwrap())).unwrap_err().to_string();
        assert!(refused.contains("link` is a symlink that another user has made"), "{refused}");
    }

    #[test]
    fn a_usual_file_system_is_in_no_trouble_and_what_the_kernel_returns_is_named() {
        let parent = tempfile::tempdir().unwrap();
        assert_eq!(describe_trouble(&parent.path().join("not/there")), None);
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0, "it leaves nothing");
        let words = [Errno::IO, Errno::ROFS, Errno::NOSPC, Errno::OPNOTSUPP].map(trouble_of_error);
        assert!(words[0].unwrap().contains("EIO") && words[1].unwrap().contains("EROFS"), "{words:?}");
        assert!(words[2].unwrap().contains("full") && words[3].is_none(), "{words:?}");
    }

    #[test]
    fn the_reserve_is_five_percent_or_a_gibibyte() {
        assert_eq!(reserve_of(Bytes::from_gib(4)), Bytes::from_gib(1));
        assert_eq!(reserve_of(Bytes::from_gib(200)), Bytes::from_gib(10));
    }

    #[test]
    fn a_plan_that_does_not_fit_is_refused_with_the_figures() {
        let parent = tempfile::tempdir().unwrap();
        let error = check_space(parent.path(), Bytes(u64::MAX / 2)).unwrap_err().to_string();
        assert!(error.contains("not enough space") && error.contains("must stay free"), "{error}");
    }
}
