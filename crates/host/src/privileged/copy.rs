//! Copies of data directories: shared with the original if the file system can, byte by byte elsewhere.
//!
//! In: two directories of plimsoll's own. Out: the same files with the same owners and rights, on disk and out of the page cache; how
//! that was done. Limits: files and directories; sockets and symlinks are left out. The original must not be written meanwhile.
//!
//! FICLONE (<https://man7.org/linux/man-pages/man2/ioctl_ficlone.2.html>) shares the blocks until one of both is written to: on XFS and
//! btrfs a copy of any size takes milliseconds. What a file system then does at the first write to a shared block is in the run.

use crate::error::{IoContext, TargetError};
use rustix::fs::{Advice, CWD, Mode, OFlags, fadvise, ioctl_ficlone, openat, syncfs};
use std::fs::{self, DirEntry, File, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;
use std::time::{Duration, Instant};

/// How a copy was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CopyResult {
    /// Files whose blocks are those of the original,
    shared: u64,
    /// and files that have their own.
    whole: u64,
    /// Until all was on disk and out of the page cache.
    pub took: Duration,
}

impl CopyResult {
    /// The words in facts.
    pub fn describe(&self) -> String {
        match (self.shared, self.whole) {
            (0, _) => "copy".into(),
            (_, 0) => "reflink".into(),
            (shared, whole) => format!("reflink of {shared} files, copy of {whole}"),
        }
    }
}

/// Copies what is in `from` into the empty directory `to`, and lets both go from the page cache.
pub fn copy_contents(from: &Path, to: &Path) -> Result<CopyResult, TargetError> {
    let (began, mut copied) = (Instant::now(), CopyResult::default());
    copy_entries(from, to, &mut copied)?;
    sync_file_system(to)?;
    drop_cached_pages(from)?;
    drop_cached_pages(to)?;
    Ok(CopyResult { took: began.elapsed(), ..copied })
}

/// Removes what is in `dir`, and not the directory itself.
pub fn remove_contents(dir: &Path) -> Result<(), TargetError> {
    for entry in list_entries(dir)? {
        let path = entry.path();
        let is_directory = entry.file_type().trying("look at", &path)?.is_dir();
        if is_directory { fs::remove_dir_all(&path) } else { fs::remove_file(&path) }.trying("remove", &path)?;
    }
    Ok(())
}

/// Writes out what the kernel holds of the files in `dir` and drops it from the cache, so that the next read comes from the disk.
pub fn drop_caches(dir: &Path) -> Result<(), TargetError> {
    sync_file_system(dir)?;
    drop_cached_pages(dir)
}

/// All of its file system: one call instead of one for each of a thousand small files.
fn sync_file_system(dir: &Path) -> Result<(), TargetError> {
    let opened = openat(CWD, dir, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
    opened.and_then(syncfs).trying("sync", dir)
}

fn copy_entries(from: &Path, to: &Path, copied: &mut CopyResult) -> Result<(), TargetError> {
    for entry in list_entries(from)? {
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().trying("look at", &source)?;
        if kind.is_dir() {
            fs::create_dir(&target).trying("create", &target)?;
            copy_entries(&source, &target, copied)?;
            same_owner(&fs::symlink_metadata(&source).trying("look at", &source)?, &target)?;
        } else if kind.is_file() {
            copy_file(&source, &target, copied)?;
        }
    }
    Ok(())
}

fn copy_file(source: &Path, target: &Path, copied: &mut CopyResult) -> Result<(), TargetError> {
    let mut original = open_file(source)?;
    let mut copy = File::create_new(target).trying("create", target)?;
    same_owner(&original.metadata().trying("look at", source)?, target)?;
    // It fails on file systems without shared blocks, and between two file systems: then the bytes are copied.
    if ioctl_ficlone(&copy, &original).is_ok() {
        copied.shared += 1;
        return Ok(());
    }
    std::io::copy(&mut original, &mut copy).trying("copy to", target)?;
    copied.whole += 1;
    Ok(())
}

fn same_owner(meta: &fs::Metadata, target: &Path) -> Result<(), TargetError> {
    chown(target, Some(meta.uid()), Some(meta.gid())).trying("give away", target)?;
    fs::set_permissions(target, Permissions::from_mode(meta.mode() & 0o7777)).trying("close", target)
}

/// Pages that are not written out yet stay: they are not dropped by this, and the copy was synced before.
fn drop_cached_pages(dir: &Path) -> Result<(), TargetError> {
    for entry in list_entries(dir)? {
        let path = entry.path();
        let kind = entry.file_type().trying("look at", &path)?;
        if kind.is_dir() {
            drop_cached_pages(&path)?;
        } else if kind.is_file() {
            // Advice only: if the file system takes none, the cache stays warm.
            let _ = fadvise(&open_file(&path)?, 0, None, Advice::DontNeed);
        }
    }
    Ok(())
}

fn open_file(path: &Path) -> Result<File, TargetError> {
    // NONBLOCK: if a pipe was put in the place of a file meanwhile, opening it must not wait for a writer.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    openat(CWD, path, flags, Mode::empty()).map(File::from).trying("open", path)
}

fn list_entries(dir: &Path) -> Result<Vec<DirEntry>, TargetError> {
    fs::read_dir(dir).and_then(Iterator::collect).trying("list", dir)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Volume;
    use model::{Bytes, FileSystem};

    #[test]
    fn a_copy_has_the_same_files_rights_and_owners_and_no_symlinks() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        fs::create_dir_all(from.join("inner/deep")).unwrap();
        fs::create_dir(&to).unwrap();
        fs::write(from.join("inner/data"), vec![7; 100_000]).unwrap();
        fs::set_permissions(from.join("inner/data"), Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", from.join("link")).unwrap();
        copy_contents(&from, &to).unwrap();
        let meta = fs::metadata(to.join("inner/data")).unwrap();
        assert_eq!((meta.mode() & 0o777, meta.len(), meta.uid()), (0o640, 100_000, fs::metadata(&from).unwrap().uid()));
        assert!(to.join("inner/deep").is_dir() && !to.join("link").exists());
        assert_eq!(fs::read(to.join("inner/data")).unwrap(), vec![7; 100_000]);
        remove_contents(&to).unwrap();
        assert!(to.is_dir() && list_entries(&to).unwrap().is_empty() && from.join("inner/data").exists());
    }

    #[test]
    fn a_copy_on_a_file_system_that_shares_blocks_takes_no_room_and_is_a_copy_all_the_same() {
        if !rustix::process::geteuid().is_root() {
            return eprintln!("skipped: needs root: a file system cannot be mounted");
        }
        let parent = tempfile::tempdir_in(".").unwrap();
        for kind in [FileSystem::Xfs, FileSystem::Btrfs { compression: None }] {
            let volume = match Volume::make(parent.path(), kind, Bytes::from_mib(320), 1) {
                Ok(volume) => volume,
                Err(error) => {
                    eprintln!("skipped: {kind}: {error}");
                    continue;
                }
            };
            let (from, to) = (volume.mount_point().join("from"), volume.mount_point().join("to"));
            fs::create_dir(&from).and_then(|()| fs::create_dir(&to)).unwrap();
            fs::write(from.join("data"), vec![7; 64 << 20]).unwrap();
            drop_caches(&from).unwrap();
            let free = || rustix::fs::statvfs(&from).map(|it| it.f_bfree * it.f_frsize).unwrap();
            let before = free();
            assert_eq!(copy_contents(&from, &to).unwrap().describe(), "reflink");
            assert!(before.saturating_sub(free()) < 8 << 20, "{kind}: {before} and then {}", free());
            fs::write(to.join("data"), b"other").unwrap();
            assert_eq!(fs::read(from.join("data")).unwrap(), vec![7; 64 << 20], "{kind}");
            volume.remove().unwrap();
        }
    }

    #[test]
    fn a_copy_that_shares_some_of_its_blocks_says_so() {
        let how = |shared, whole| CopyResult { shared, whole, took: Duration::ZERO }.describe();
        assert_eq!([how(3, 0), how(0, 3), how(0, 0)], ["reflink", "copy", "copy"]);
        assert_eq!(how(2, 1), "reflink of 2 files, copy of 1");
    }
}
