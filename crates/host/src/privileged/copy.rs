//! Copies of data directories: shared with the original if the file system can, byte by byte elsewhere.
//!
//! In: two directories of plimsoll's own. Out: the same files with the same owners and rights, on disk and out of the page cache; how
//! that was done. Limits: files and directories; sockets and symlinks are left out, and no symlink is followed. The original must not be
//! written meanwhile.
//!
//! FICLONE (<https://man7.org/linux/man-pages/man2/ioctl_ficlone.2.html>) shares the blocks until one of both is written to: on XFS and
//! btrfs a copy of any size takes milliseconds. What a file system then does at the first write to a shared block is in the run.

use crate::error::{IoContext, TargetError};
use rustix::fs::{
    Advice, AtFlags, CWD, Dir, DirEntry, FileType, Mode, OFlags, fadvise, fchmod, fstat, ioctl_ficlone, mkdirat,
    openat, renameat, statat, syncfs,
};
use std::ffi::{CStr, CString, OsStr};
use std::fs::{self, File};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::fchown;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// How a copy was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CopyResult {
    /// Files whose blocks are those of the original.
    shared: u64,
    /// Files that have blocks of their own.
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
    let (source, target) = (OpenDirectory::at(from)?, OpenDirectory::at(to)?);
    copy_entries(&source, &target, &mut copied)?;
    syncfs(&target.fd).trying("sync", to)?;
    drop_cached_pages(&source)?;
    drop_cached_pages(&target)?;
    Ok(CopyResult { took: began.elapsed(), ..copied })
}

/// Moves what is in `from` into the empty directory `to` of the same file system, and brings it to the disk. What a copy leaves out stays.
pub fn move_contents(from: &Path, to: &Path) -> Result<(), TargetError> {
    let (source, target) = (OpenDirectory::at(from)?, OpenDirectory::at(to)?);
    for (name, kind) in source.entries()? {
        if kind.is_dir() || kind.is_file() {
            renameat(&source.fd, &name, &target.fd, &name).trying("move", source.path_of(&name))?;
        }
    }
    syncfs(&target.fd).trying("sync", to)
}

/// Removes what is in `dir`, and not the directory itself.
pub fn remove_contents(dir: &Path) -> Result<(), TargetError> {
    for (name, kind) in OpenDirectory::at(dir)?.entries()? {
        let path = dir.join(OsStr::from_bytes(name.to_bytes()));
        // Neither follows a link.
        if kind.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) }.trying("remove", &path)?;
    }
    Ok(())
}

/// Writes out what the kernel holds of the files in `dir` and drops it from the cache, so that the next read comes from the disk.
pub fn drop_caches(dir: &Path) -> Result<(), TargetError> {
    let open = OpenDirectory::at(dir)?;
    // All of its file system: one call instead of one for each of a thousand small files.
    syncfs(&open.fd).trying("sync", dir)?;
    drop_cached_pages(&open)
}

/// A directory that is held open. Names are looked up in it and nowhere else: it belongs to the user of a server, who may put a link in
/// the place of anything in it at any time.
struct OpenDirectory {
    fd: OwnedFd,
    /// Only messages use the path.
    path: PathBuf,
}

impl OpenDirectory {
    fn at(path: &Path) -> Result<OpenDirectory, TargetError> {
        let fd = openat(CWD, path, DIRECTORY, Mode::empty()).trying("open", path)?;
        Ok(OpenDirectory { fd, path: path.to_owned() })
    }

    fn path_of(&self, name: &CStr) -> PathBuf {
        self.path.join(OsStr::from_bytes(name.to_bytes()))
    }

    /// The names in it, and what they are.
    fn entries(&self) -> Result<Vec<(CString, FileType)>, TargetError> {
        let named = |entry: rustix::io::Result<DirEntry>| {
            let entry = entry?;
            let kind = match entry.file_type() {
                // Not every file system has it in its directories.
                FileType::Unknown => {
                    FileType::from_raw_mode(statat(&self.fd, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW)?.st_mode)
                }
                known => known,
            };
            Ok((entry.file_name().to_owned(), kind))
        };
        let all: rustix::io::Result<Vec<_>> = Dir::read_from(&self.fd).and_then(|dir| dir.map(named).collect());
        let is_own = |(name, _): &(CString, FileType)| !matches!(name.to_bytes(), b"." | b"..");
        Ok(all.trying("list", &self.path)?.into_iter().filter(is_own).collect())
    }

    fn open_directory(&self, name: &CStr) -> Result<OpenDirectory, TargetError> {
        let path = self.path_of(name);
        let fd = openat(&self.fd, name, DIRECTORY, Mode::empty()).trying("open", &path)?;
        Ok(OpenDirectory { fd, path })
    }

    fn make_directory(&self, name: &CStr) -> Result<OpenDirectory, TargetError> {
        mkdirat(&self.fd, name, Mode::RWXU).trying("create", self.path_of(name))?;
        self.open_directory(name)
    }

    fn open_file(&self, name: &CStr) -> Result<File, TargetError> {
        // NONBLOCK: if a pipe was put in the place of a file meanwhile, opening it must not wait for a writer.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        openat(&self.fd, name, flags, Mode::empty()).map(File::from).trying("open", self.path_of(name))
    }

    fn make_file(&self, name: &CStr) -> Result<File, TargetError> {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        openat(&self.fd, name, flags, Mode::RUSR | Mode::WUSR).map(File::from).trying("create", self.path_of(name))
    }
}

fn copy_entries(from: &OpenDirectory, to: &OpenDirectory, copied: &mut CopyResult) -> Result<(), TargetError> {
    for (name, kind) in from.entries()? {
        if kind.is_dir() {
            let (source, target) = (from.open_directory(&name)?, to.make_directory(&name)?);
            copy_entries(&source, &target, copied)?;
            same_owner(&source.fd, &target.fd, &target.path)?;
        } else if kind.is_file() {
            copy_file(from, to, &name, copied)?;
        }
    }
    Ok(())
}

fn copy_file(
    from: &OpenDirectory,
    to: &OpenDirectory,
    name: &CStr,
    copied: &mut CopyResult,
) -> Result<(), TargetError> {
    let (mut original, mut copy, target) = (from.open_file(name)?, to.make_file(name)?, to.path_of(name));
    same_owner(&original, &copy, &target)?;
    // It fails on file systems without shared blocks, and between two file systems: then the bytes are copied.
    if ioctl_ficlone(&copy, &original).is_ok() {
        copied.shared += 1;
        return Ok(());
    }
    std::io::copy(&mut original, &mut copy).trying("copy to", target)?;
    copied.whole += 1;
    Ok(())
}

/// Gives `copy`, which is at `path`, the owner and the rights of `original`.
fn same_owner(original: impl AsFd, copy: impl AsFd, path: &Path) -> Result<(), TargetError> {
    let stat = fstat(original).trying("look at", path)?;
    fchown(&copy, Some(stat.st_uid), Some(stat.st_gid)).trying("give away", path)?;
    fchmod(copy, Mode::from_raw_mode(stat.st_mode & 0o7777)).trying("close", path)
}

/// Pages that are not written out yet stay: they are not dropped by this, and the copy was synced before.
fn drop_cached_pages(dir: &OpenDirectory) -> Result<(), TargetError> {
    for (name, kind) in dir.entries()? {
        if kind.is_dir() {
            drop_cached_pages(&dir.open_directory(&name)?)?;
        } else if kind.is_file() {
            // Advice only: if the file system takes none, the cache stays warm.
            let _ = fadvise(&dir.open_file(&name)?, 0, None, Advice::DontNeed);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Volume;
    use model::{Bytes, FileSystem};
    use rustix::fs::{RenameFlags, renameat_with};
    use rustix::io::Errno;
    use std::fs::Permissions;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
    use std::sync::Barrier;

    #[test]
    fn a_copy_has_the_same_files_rights_and_owners_and_no_symlinks() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        fs::create_dir_all(from.join("inner/deep")).unwrap();
        fs::create_dir(&to).unwrap();
        fs::write(from.join("inner/data"), vec![7; 100_000]).unwrap();
        fs::set_permissions(from.join("inner/data"), Permissions::from_mode(0o640)).unwrap();
        symlink("/etc/passwd", from.join("link")).unwrap();
        copy_contents(&from, &to).unwrap();
        let meta = fs::metadata(to.join("inner/data")).unwrap();
        assert_eq!((meta.mode() & 0o777, meta.len(), meta.uid()), (0o640, 100_000, fs::metadata(&from).unwrap().uid()));
        assert!(to.join("inner/deep").is_dir() && !to.join("link").exists());
        assert_eq!(fs::read(to.join("inner/data")).unwrap(), vec![7; 100_000]);
        remove_contents(&to).unwrap();
        assert!(to.is_dir() && fs::read_dir(&to).unwrap().count() == 0 && from.join("inner/data").exists());
    }

    /// Copies a directory with many files, and as soon as its copy is there puts a link to `victim` in its place. Whether files of it were still
    /// to be made then.
    fn copy_with_a_link_put_in_its_way(parent: &Path, victim: &Path) -> bool {
        const FILES: usize = 200;
        let (from, to) = (parent.join("from"), parent.join("to"));
        fs::create_dir_all(from.join("many")).unwrap();
        fs::create_dir(&to).unwrap();
        (0..FILES).for_each(|nth| fs::write(from.join(format!("many/{nth}")), b"x").unwrap());
        fs::set_permissions(from.join("many"), Permissions::from_mode(0o755)).unwrap();
        let (copy, link, begin) = (to.join("many"), parent.join("link"), Barrier::new(2));
        symlink(victim, &link).unwrap();
        std::thread::scope(|scope| {
            let swap = scope.spawn(|| {
                begin.wait();
                while renameat_with(CWD, &copy, CWD, &link, RenameFlags::EXCHANGE) == Err(Errno::NOENT) {}
                fs::read_dir(&link).unwrap().count() < FILES
            });
            begin.wait();
            let _ = copy_contents(&from, &to); // it may end with an error, but not outside of its directory
            swap.join().unwrap()
        })
    }

    #[test]
    fn a_link_that_is_put_in_the_way_of_a_copy_is_not_followed() {
        let parent = tempfile::tempdir().unwrap();
        let victim = parent.path().join("victim");
        fs::create_dir(&victim).unwrap();
        fs::set_permissions(&victim, Permissions::from_mode(0o700)).unwrap();
        let attempt = |nth: &u32| {
            let place = parent.path().join(nth.to_string());
            fs::create_dir(&place).unwrap();
            copy_with_a_link_put_in_its_way(&place, &victim)
        };
        // A copy that looks names up again may also end with an error, if the link comes between two looks at one file.
        const IN_TIME: usize = 10;
        assert_eq!((0..200).filter(attempt).take(IN_TIME).count(), IN_TIME, "the link was late");
        assert_eq!(fs::metadata(&victim).unwrap().mode() & 0o777, 0o700);
        assert_eq!(fs::read_dir(&victim).unwrap().count(), 0);
    }

    #[test]
    fn a_link_in_the_place_of_a_directory_is_refused() {
        let parent = tempfile::tempdir().unwrap();
        let (victim, to) = (parent.path().join("victim"), parent.path().join("to"));
        fs::create_dir(&victim).and_then(|()| fs::write(victim.join("mine"), b"x")).unwrap();
        symlink(&victim, &to).unwrap();
        assert!(copy_contents(&victim, &to).is_err() && remove_contents(&to).is_err() && drop_caches(&to).is_err());
        assert_eq!(fs::read_dir(&victim).unwrap().count(), 1);
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
