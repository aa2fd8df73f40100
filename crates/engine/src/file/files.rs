//! The files of one data set: made, opened and looked at together.
//!
//! In: a data directory or the path that the user named. Out: paths, and for each client the open files, by the index that an
//! [`IoOp`] names them with. Limits: every client opens every file for itself, because descriptors that threads share cost
//! each operation a counter that all of them write to; the soft limit of open files is lifted for it.

use host::data_dir::DataDir;
use host::device::size_of;
use host::error::{IoContext, TargetError, shown};
use model::{Bytes, IoOp, Nanos};
use rustix::fs::{Advice, Mode, OFlags, fadvise, open};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// The paths of the files of a data set, in the order of their indexes.
pub type FilePaths = Arc<[PathBuf]>;

/// How files are opened.
#[derive(Clone, Copy, Debug)]
pub struct FileOpening {
    pub direct: bool,
    pub writes: bool,
    pub sync: WriteSync,
    pub readahead: Readahead,
}

/// The advice to the kernel on the order in which a file is read through the page cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readahead {
    /// Nothing: it finds out by itself.
    Default,
    /// POSIX_FADV_SEQUENTIAL: it reads twice as far ahead.
    Sequential,
    /// POSIX_FADV_RANDOM: it reads what was asked for and no more.
    Random,
}

/// What of a write is on the device when it returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteSync {
    None,
    /// O_SYNC.
    All,
    /// O_DSYNC.
    Data,
}

impl FileOpening {
    /// To look at a file.
    pub const READING: FileOpening =
        FileOpening { direct: false, writes: false, sync: WriteSync::None, readahead: Readahead::Default };

    /// To fill a file.
    pub fn for_filling(direct: bool) -> FileOpening {
        FileOpening { direct, writes: true, ..FileOpening::READING }
    }

    fn open_flags(self) -> OFlags {
        let access = if self.writes { OFlags::RDWR } else { OFlags::RDONLY };
        let direct = if self.direct { OFlags::DIRECT } else { OFlags::empty() };
        let sync = match self.sync {
            WriteSync::None => OFlags::empty(),
            WriteSync::All => OFlags::SYNC,
            WriteSync::Data => OFlags::DSYNC,
        };
        access | direct | sync | OFlags::NOFOLLOW | OFlags::CLOEXEC
    }
}

/// The files of a data set, open.
#[derive(Debug)]
pub struct OpenFiles {
    open: Vec<File>,
    paths: FilePaths,
}

/// Makes `count` empty files in `dir`: one has the name `data`, several are in a directory of that name.
pub fn make_files(dir: &mut DataDir, count: u16) -> Result<FilePaths, TargetError> {
    let paths: Vec<PathBuf> = match count {
        1 => vec![dir.own_file("data")?],
        _ => {
            let within = dir.own_directory("data")?;
            (0..count).map(|file| within.join(format!("data.{file}"))).collect()
        }
    };
    paths.iter().try_for_each(|path| make_empty(path).map(drop))?;
    Ok(paths.into())
}

/// Makes the empty file at `path`. Refuses if something is there.
pub fn make_empty(path: &Path) -> Result<File, TargetError> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    open(path, flags, Mode::from_raw_mode(0o600)).map(File::from).trying("create", path)
}

impl OpenFiles {
    /// Opens the files at `paths`.
    pub fn open(paths: &FilePaths, opening: FileOpening) -> Result<OpenFiles, TargetError> {
        let open = paths.iter().map(|path| open_one(path, opening)).collect::<Result<_, _>>()?;
        Ok(OpenFiles { open, paths: paths.clone() })
    }

    /// The file that `op` names.
    #[inline]
    pub fn file_of(&self, op: &IoOp) -> &File {
        &self.open[op.file as usize]
    }

    pub fn as_slice(&self) -> &[File] {
        &self.open
    }

    pub fn paths(&self) -> &[PathBuf] {
        &self.paths
    }
}

/// Opens the file at `path`. Reading it leaves its access time alone if that is allowed (to the owner, and to root): the check
/// whether the time is due costs each read of the page cache some 35 ns, and the write of it would be I/O that the trial did not ask for.
pub fn open_one(path: &Path, opening: FileOpening) -> Result<File, TargetError> {
    let flags = opening.open_flags();
    let opened = match open(path, flags | OFlags::NOATIME, Mode::empty()) {
        // O_NOATIME is for the owner and for root (open(2)).
        Err(rustix::io::Errno::PERM) => open(path, flags, Mode::empty()),
        opened => opened,
    };
    let file = opened.map(File::from).map_err(|errno| match errno {
        // open(2): EINVAL is how a file system refuses O_DIRECT.
        rustix::io::Errno::INVAL if opening.direct => TargetError::Unsupported(format!(
            "cannot open `{}` with O_DIRECT: its file system does not support it; use direct = `false`",
            shown(path)
        )),
        errno => TargetError::io("open", path, &errno.into()),
    })?;
    advise_kernel(&file, opening.readahead).trying("advise the kernel on", path)?;
    Ok(file)
}

fn advise_kernel(file: &File, readahead: Readahead) -> rustix::io::Result<()> {
    match readahead {
        Readahead::Default => Ok(()),
        Readahead::Sequential => fadvise(file, 0, None, Advice::Sequential),
        Readahead::Random => fadvise(file, 0, None, Advice::Random),
    }
}

/// Refuses files that are shorter than `each`.
pub fn check_sizes(paths: &FilePaths, each: Bytes) -> Result<(), TargetError> {
    for path in paths.iter() {
        let size = size_of(&open_one(path, FileOpening::READING)?).trying("look at", path)?;
        if size < each {
            return Err(TargetError::Unsafe(format!(
                "`{}` is {size}, not file_size = `{each}`; set file_size to its size",
                shown(path)
            )));
        }
    }
    Ok(())
}

/// Space that the files take on disk; what cannot be looked at counts as nothing.
pub fn footprint_of(paths: &FilePaths) -> Bytes {
    Bytes(paths.iter().filter_map(|path| std::fs::metadata(path).ok()).map(|meta| meta.blocks() * 512).sum())
}

/// Syncs all files and returns how long it took: the writes that were still pending.
pub fn timed_fsync(paths: &FilePaths) -> String {
    let start = Instant::now();
    let synced = paths
        .iter()
        .try_for_each(|path| open_one(path, FileOpening::for_filling(false))?.sync_all().trying("sync", path));
    match synced {
        Ok(()) => Nanos(start.elapsed().as_nanos() as u64).to_string(),
        Err(error) => format!("failed: {error}"),
    }
}

/// Lifts the soft limit of open files so that `more` can be opened, as far as the hard limit goes. If that is too low, the
/// opening fails with that reason.
pub fn lift_limit(more: u64) {
    if let Some(lifted) = raised_limit(getrlimit(Resource::Nofile), more) {
        let _ = setrlimit(Resource::Nofile, lifted);
    }
}

/// What the process has open in addition to the files under measurement, generously.
const OPEN_BESIDE: u64 = 256;

/// The limit that `more` files need; `None` if `limit` is enough or cannot be lifted.
fn raised_limit(limit: Rlimit, more: u64) -> Option<Rlimit> {
    let needed = more.saturating_add(OPEN_BESIDE).min(limit.maximum.unwrap_or(u64::MAX));
    limit.current.is_some_and(|current| current < needed).then_some(Rlimit { current: Some(needed), ..limit })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::fcntl_getfl;

    #[test]
    fn files_are_open_in_the_way_that_was_asked_for() {
        let file = tempfile::NamedTempFile::new().unwrap();
        // O_SYNC holds the bit of O_DSYNC.
        let cases =
            [(WriteSync::None, OFlags::empty()), (WriteSync::All, OFlags::SYNC), (WriteSync::Data, OFlags::DSYNC)];
        for (sync, expected) in cases {
            let opened = open_one(file.path(), FileOpening { writes: true, sync, ..FileOpening::READING }).unwrap();
            assert_eq!(fcntl_getfl(&opened).unwrap() & OFlags::SYNC, expected, "{sync:?}");
        }
    }

    #[test]
    fn reading_leaves_the_time_of_the_last_access_alone() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), b"something to read").unwrap();
        // So long ago that mounts with relatime would set it.
        let long_ago = std::time::SystemTime::UNIX_EPOCH;
        file.as_file().set_times(std::fs::FileTimes::new().set_accessed(long_ago)).unwrap();
        let mut text = String::new();
        std::io::Read::read_to_string(&mut open_one(file.path(), FileOpening::READING).unwrap(), &mut text).unwrap();
        assert_eq!(text, "something to read");
        assert_eq!(file.path().metadata().unwrap().accessed().unwrap(), long_ago);
    }

    /// Pages in the page cache after the first 4 KiB of a file of 4 MiB were read in this way.
    fn pages_after_a_read(readahead: Readahead) -> usize {
        use std::os::unix::fs::FileExt;
        let file = tempfile::NamedTempFile::new_in(".").unwrap();
        std::fs::write(file.path(), vec![7; 4 << 20]).unwrap();
        file.as_file().sync_all().unwrap();
        fadvise(file.as_file(), 0, None, Advice::DontNeed).unwrap();
        let opened = open_one(file.path(), FileOpening { readahead, ..FileOpening::READING }).unwrap();
        opened.read_exact_at(&mut [0; 4096], 0).unwrap();
        settled(|| resident_pages(&opened, 4 << 20))
    }

    /// The first count that is the same four times in a row, 50 ms apart: the kernel reads ahead while the reader goes on.
    fn settled(count: impl Fn() -> usize) -> usize {
        let mut last_counts = [0, 1, 2, 3];
        while last_counts.iter().any(|seen| *seen != last_counts[0]) {
            std::thread::sleep(std::time::Duration::from_millis(50));
            last_counts.rotate_left(1);
            last_counts[3] = count();
        }
        last_counts[0]
    }

    fn resident_pages(file: &File, len: usize) -> usize {
        use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
        let mut pages = vec![0u8; len / 4096];
        // SAFETY: a mapping of our own, in a place that the kernel chooses; it is not read, and gone at the end.
        unsafe {
            let map = mmap(std::ptr::null_mut(), len, ProtFlags::READ, MapFlags::SHARED, file, 0).unwrap();
            assert_eq!(libc::mincore(map, len, pages.as_mut_ptr()), 0);
            munmap(map, len).unwrap();
        }
        pages.iter().filter(|page| **page & 1 == 1).count()
    }

    #[test]
    fn the_kernel_reads_ahead_as_it_was_told() {
        let [random, usual, sequential] =
            [Readahead::Random, Readahead::Default, Readahead::Sequential].map(pages_after_a_read);
        // The disk may be set to read ahead more than the whole file.
        assert!(random < usual && usual <= sequential, "{random} {usual} {sequential}");
    }

    #[test]
    fn the_limit_of_open_files_is_lifted_as_far_as_is_needed_and_allowed() {
        let limit = |current, maximum| Rlimit { current, maximum };
        assert_eq!(raised_limit(limit(Some(1024), Some(20_000)), 64), None);
        assert_eq!(raised_limit(limit(Some(1024), Some(20_000)), 4_096), Some(limit(Some(4_352), Some(20_000))));
        assert_eq!(raised_limit(limit(Some(1024), Some(2_000)), 4_096), Some(limit(Some(2_000), Some(2_000))));
        assert_eq!(raised_limit(limit(Some(2_000), Some(2_000)), 4_096), None);
        assert_eq!(raised_limit(limit(Some(1024), None), 4_096), Some(limit(Some(4_352), None)));
        assert_eq!(raised_limit(limit(None, None), 4_096), None);
    }
}
