//! A file at a path that the user named: made if absent, read if it is not made by plimsoll, written only if plimsoll made it.
//!
//! In: the path. Out: what may be done with it. Limits: next to a file that it makes, plimsoll keeps `NAME.plimsoll.json`
//! with the file's identity, and its times when it was last at rest; without that note, or if it does not fit, the file counts as not made
//! by plimsoll, and if another program has written it since, as changed: both are read and never written.
//!
//! The null device may be named as well, for writes: it holds nothing that could be lost and stores nothing, so what is measured
//! is plimsoll and the system calls alone.

use super::files::make_empty;
use host::device::{BlockDevice, NULL_DEVICE};
use host::error::{IoContext, TargetError, shown};
use model::Bytes;
use rustix::fs::{Mode, OFlags, open};
use serde::{Deserialize, Serialize};
use std::fs::{self, File, Metadata};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

const MADE_BY: &str = "plimsoll";
const NOTE_BYTES_MAX: u64 = 4096;
/// Files are measured in multiples of this.
const BLOCK_BYTES: u64 = 4096;

/// A file at a path that the user named.
pub struct NamedFile {
    path: PathBuf,
    owner: FileOwner,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileOwner {
    /// plimsoll made it; `full` when all of it has been written.
    Plimsoll { full: bool },
    /// Another program made it.
    Stranger,
    /// plimsoll made it, and another program has written to it since.
    Changed,
    /// It is the null device, which all programs share.
    Shared,
}

/// The note next to a file that plimsoll made.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct OwnerNote {
    made_by: String,
    device: u64,
    inode: u64,
    /// 0 until the file is full.
    bytes: u64,
    /// The times of the file when plimsoll had written it last; absent while it may write, and after a kill.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at_rest: Option<RestTimes>,
}

/// When the content of a file changed last, and when anything of it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RestTimes {
    modified: (i64, i64),
    changed: (i64, i64),
}

impl RestTimes {
    fn of(meta: &Metadata) -> RestTimes {
        RestTimes { modified: (meta.mtime(), meta.mtime_nsec()), changed: (meta.ctime(), meta.ctime_nsec()) }
    }
}

impl NamedFile {
    /// The file at `path`; made empty if there is none.
    pub fn open_or_make(path: &Path, size: Bytes, writes: bool) -> Result<NamedFile, TargetError> {
        let owner = match fs::symlink_metadata(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => make_named(path, size)?,
            Err(error) => return Err(TargetError::io("look at", path, &error)),
            Ok(meta) => owner_of(path, &meta)?,
        };
        let named = NamedFile { path: path.into(), owner };
        named.check_writes(writes)?;
        Ok(named)
    }

    /// Whether there is nothing left to fill.
    pub fn is_full(&self) -> bool {
        self.owner != FileOwner::Plimsoll { full: false }
    }

    /// Whether it is the null device.
    pub fn is_null(&self) -> bool {
        self.owner == FileOwner::Shared
    }

    /// Refuses to read what is never there.
    pub fn check_reads(&self, reads: bool) -> Result<(), TargetError> {
        if !reads || !self.is_null() {
            return Ok(());
        }
        let text = format!(
            "`{}` is the null device and has nothing to read; name a file or a block device, or measure plimsoll alone with \
             mode = `rndwr` and direct = `false`",
            shown(&self.path)
        );
        Err(TargetError::Unsupported(text))
    }

    /// Whether plimsoll made it, whoever has written to it since: what was written then is what a check of its blocks looks for.
    pub fn is_plimsolls(&self) -> bool {
        matches!(self.owner, FileOwner::Plimsoll { .. } | FileOwner::Changed)
    }

    /// Refuses to write to a file that plimsoll did not make.
    pub fn check_writes(&self, writes: bool) -> Result<(), TargetError> {
        match self.not_plimsolls().filter(|_| writes) {
            None => Ok(()),
            Some(why) => Err(TargetError::Unsafe(format!(
                "`{}` {why} and this point would overwrite it; use a path where nothing exists yet",
                shown(&self.path)
            ))),
        }
    }

    /// Refuses to fill a file that plimsoll did not make.
    pub fn check_precondition(&self, passes: u32) -> Result<(), TargetError> {
        match self.not_plimsolls().filter(|_| passes > 1) {
            None => Ok(()),
            Some(why) => Err(TargetError::Unsafe(format!(
                "`{}` {why} and precondition = `{passes}` would overwrite it; use precondition = `1`",
                shown(&self.path)
            ))),
        }
    }

    /// Why what is in it is not plimsoll's, if it is not.
    fn not_plimsolls(&self) -> Option<&'static str> {
        match self.owner {
            FileOwner::Plimsoll { .. } | FileOwner::Shared => None,
            FileOwner::Stranger => Some("was not made by plimsoll"),
            FileOwner::Changed => Some("was written by another program after plimsoll had made it"),
        }
    }

    /// plimsoll is about to write to it: until it has, its times show nothing.
    pub fn mark_in_use(&self) -> Result<(), TargetError> {
        self.owner_bytes().map_or(Ok(()), |bytes| self.note(bytes, |_| None))
    }

    /// plimsoll has written to it for the last time.
    pub fn mark_at_rest(&self) -> Result<(), TargetError> {
        self.owner_bytes().map_or(Ok(()), |bytes| self.note(bytes, |meta| Some(RestTimes::of(meta))))
    }

    /// The length that its note has, if it is full and plimsoll's.
    fn owner_bytes(&self) -> Option<u64> {
        let full = self.owner == FileOwner::Plimsoll { full: true };
        full.then(|| read_note(&note_path(&self.path))).flatten().map(|note| note.bytes)
    }

    /// Writes the note of the file as it is now.
    fn note(&self, bytes: u64, at_rest: impl Fn(&Metadata) -> Option<RestTimes>) -> Result<(), TargetError> {
        let meta = fs::symlink_metadata(&self.path).trying("look at", &self.path)?;
        write_note(&self.path, &meta, bytes, at_rest(&meta))
    }

    /// All of it has been written by plimsoll.
    pub fn seal(&mut self, bytes: u64) -> Result<(), TargetError> {
        self.note(bytes, |meta| Some(RestTimes::of(meta)))?;
        self.owner = FileOwner::Plimsoll { full: true };
        Ok(())
    }

    /// Removes the file and its note if plimsoll made it and did not fill it: it is of no use.
    pub fn discard_unfilled(self) -> Result<(), TargetError> {
        let meta = fs::symlink_metadata(&self.path).trying("look at", &self.path)?;
        // Looked at again: the file may have been replaced since it was opened.
        if self.is_full()
            || !meta.is_file()
            || owner_of_plain(&self.path, &meta) != (FileOwner::Plimsoll { full: false })
        {
            return Ok(());
        }
        fs::remove_file(&self.path).trying("remove", &self.path)?;
        let note = note_path(&self.path);
        fs::remove_file(&note).trying("remove", &note)
    }
}

/// The size of the file or block device at `path`, in whole blocks of 4 KiB; `None` if there is none, or if plimsoll has not filled it.
pub fn size_at(path: &Path) -> Option<Bytes> {
    if let Some(device) = BlockDevice::at(path) {
        let size = device.size().ok()?.0 / BLOCK_BYTES * BLOCK_BYTES;
        return (size > 0).then_some(Bytes(size));
    }
    let meta = fs::symlink_metadata(path).ok().filter(Metadata::is_file)?;
    let is_ready = owner_of_plain(path, &meta) != FileOwner::Plimsoll { full: false };
    let size = meta.len() / BLOCK_BYTES * BLOCK_BYTES;
    (is_ready && size > 0).then_some(Bytes(size))
}

fn make_named(path: &Path, size: Bytes) -> Result<FileOwner, TargetError> {
    let parent = model::folder_of(path);
    refuse_absent_device(path, parent)?;
    host::safety::check_space(parent, size)?;
    let note = note_path(path);
    if fs::symlink_metadata(&note).is_ok() {
        let text = format!("`{}` exists but its file does not; remove it or use another path", shown(&note));
        return Err(TargetError::Unsafe(text));
    }
    // Made exclusively (O_EXCL): a file that appears meanwhile is not plimsoll's.
    let file = make_empty(path)?;
    let noted = file.metadata().trying("look at", path).and_then(|meta| write_note(path, &meta, 0, None));
    // Without its note it would count as not made by plimsoll from now on.
    noted.inspect_err(|_| drop(fs::remove_file(path)))?;
    Ok(FileOwner::Plimsoll { full: false })
}

/// Refuses to make a file among the device nodes: the name is a device's, mistyped, and the file would be in memory.
fn refuse_absent_device(path: &Path, parent: &Path) -> Result<(), TargetError> {
    let below_dev = parent.canonicalize().is_ok_and(|parent| parent.starts_with("/dev"));
    // What is mounted below /dev, such as /dev/shm, holds files.
    if !below_dev || mount_number(parent) != mount_number(Path::new("/dev")) {
        return Ok(());
    }
    let text = format!("`{}` does not exist; name a device that exists, or a file outside of /dev", shown(path));
    Err(TargetError::Unsupported(text))
}

/// The number of the file system that `dir` is on.
fn mount_number(dir: &Path) -> Option<u64> {
    fs::metadata(dir).ok().map(|meta| meta.dev())
}

fn owner_of(path: &Path, meta: &Metadata) -> Result<FileOwner, TargetError> {
    let kind = meta.file_type();
    let is = match kind {
        kind if kind.is_symlink() => return Err(leads_to(path)),
        kind if kind.is_dir() => "a directory; name a file in it",
        kind if kind.is_char_device() && meta.rdev() == NULL_DEVICE => return Ok(FileOwner::Shared),
        kind if !kind.is_file() => "no plain file; name one",
        _ => return Ok(owner_of_plain(path, meta)),
    };
    Err(TargetError::Unsafe(format!("`{}` is {is}", shown(path))))
}

fn leads_to(path: &Path) -> TargetError {
    let target = path.canonicalize().map_or("nothing".to_owned(), |target| format!("`{}`", shown(&target)));
    TargetError::Unsafe(format!("`{}` is a symlink; name what it leads to: {target}", shown(path)))
}

/// A file with a second name may be reached under it: it counts as not made by plimsoll.
fn owner_of_plain(path: &Path, meta: &Metadata) -> FileOwner {
    match read_note(&note_path(path)) {
        Some(note) if (note.device, note.inode, meta.nlink()) == (meta.dev(), meta.ino(), 1) => {
            if note.at_rest.is_some_and(|times| times != RestTimes::of(meta)) {
                return FileOwner::Changed;
            }
            FileOwner::Plimsoll { full: note.bytes > 0 && note.bytes == meta.len() }
        }
        _ => FileOwner::Stranger,
    }
}

/// The note at `note`; `None` if there is none, or something else. Follows no symlink and waits for no pipe.
fn read_note(note: &Path) -> Option<OwnerNote> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut text = Vec::new();
    let file = File::from(open(note, flags, Mode::empty()).ok()?);
    file.take(NOTE_BYTES_MAX).read_to_end(&mut text).ok()?;
    serde_json::from_slice::<OwnerNote>(&text).ok().filter(|note| note.made_by == MADE_BY)
}

fn note_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".plimsoll.json");
    name.into()
}

fn write_note(path: &Path, meta: &Metadata, bytes: u64, at_rest: Option<RestTimes>) -> Result<(), TargetError> {
    let note = OwnerNote { made_by: MADE_BY.into(), device: meta.dev(), inode: meta.ino(), bytes, at_rest };
    let text = serde_json::to_vec(&note).expect("a note is plain data");
    let note_path = note_path(path);
    // A named pipe in its place would be opened when somebody reads it.
    let flags = OFlags::CREATE | OFlags::TRUNC | OFlags::WRONLY | OFlags::NONBLOCK;
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = File::from(open(&note_path, flags, Mode::from_raw_mode(0o600)).trying("create", &note_path)?);
    file.write_all(&text).trying("write", &note_path)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Bytes = Bytes::from_kib(4);

    #[test]
    fn somebody_elses_file_is_read_and_never_written() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("thesis");
        fs::write(&path, b"years of work").unwrap();
        assert!(NamedFile::open_or_make(&path, SIZE, false).unwrap().is_full());
        let error = NamedFile::open_or_make(&path, SIZE, true).err().unwrap();
        assert!(matches!(error, TargetError::Unsafe(_)), "{error}");
        assert_eq!(fs::read(&path).unwrap(), b"years of work");
    }

    #[test]
    fn a_file_has_its_size_unless_it_is_still_to_be_filled() {
        let dir = tempfile::tempdir().unwrap();
        let (thesis, made) = (dir.path().join("thesis"), dir.path().join("f0"));
        assert_eq!((size_at(&thesis), size_at(dir.path()), size_at(Path::new("/dev/null"))), (None, None, None));
        File::create(&thesis).unwrap().set_len((2 << 40) + 5).unwrap();
        assert_eq!(size_at(&thesis), Some(Bytes(2 << 40)), "as sparse as it may be");
        let mut file = NamedFile::open_or_make(&made, SIZE, true).unwrap();
        fs::write(&made, [7; 8192]).unwrap();
        assert_eq!(size_at(&made), None);
        file.seal(8192).unwrap();
        assert_eq!(size_at(&made), Some(Bytes(8192)));
    }

    #[test]
    fn a_file_that_plimsoll_made_may_be_written_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f0");
        let mut made = NamedFile::open_or_make(&path, SIZE, true).unwrap();
        assert!(!made.is_full());
        fs::write(&path, [7; 4096]).unwrap();
        made.seal(4096).unwrap();
        assert!(NamedFile::open_or_make(&path, SIZE, true).unwrap().is_full());
        // Another file was put there under the same name: another inode.
        fs::rename(&path, dir.path().join("old")).unwrap();
        fs::write(&path, [7; 4096]).unwrap();
        assert!(NamedFile::open_or_make(&path, SIZE, true).is_err());
    }

    #[test]
    fn a_file_that_another_program_has_filled_since_is_read_and_never_written() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f0");
        let mut made = NamedFile::open_or_make(&path, SIZE, true).unwrap();
        fs::write(&path, [7; 4096]).unwrap();
        made.seal(4096).unwrap();
        // What plimsoll writes itself is no change by another program, also if it is killed while it writes.
        made.mark_in_use().unwrap();
        fs::write(&path, [8; 4096]).unwrap();
        assert!(NamedFile::open_or_make(&path, SIZE, true).is_ok());
        made.mark_at_rest().unwrap();
        assert!(NamedFile::open_or_make(&path, SIZE, true).unwrap().is_full());
        // The same inode and as many bytes.
        fs::write(&path, [9; 4096]).unwrap();
        let refused = NamedFile::open_or_make(&path, SIZE, true).err().unwrap().to_string();
        assert!(refused.contains("was written by another program after plimsoll had made it"), "{refused}");
        assert!(NamedFile::open_or_make(&path, SIZE, false).unwrap().is_full());
        assert_eq!(fs::read(&path).unwrap(), [9; 4096]);
    }

    #[test]
    fn a_note_that_is_a_symlink_or_a_pipe_is_not_believed_and_not_written_to() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f0");
        fs::write(&path, [7; 4096]).unwrap();
        let meta = fs::metadata(&path).unwrap();
        write_note(&path, &meta, 4096, None).unwrap();
        let (note, elsewhere) = (note_path(&path), dir.path().join("elsewhere"));
        fs::rename(&note, &elsewhere).unwrap();
        let before = fs::read(&elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &note).unwrap();
        assert!(NamedFile::open_or_make(&path, SIZE, true).is_err());
        assert!(write_note(&path, &meta, 1, None).is_err());
        assert_eq!(fs::read(&elsewhere).unwrap(), before);
        fs::remove_file(&note).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, &note, rustix::fs::FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        assert!(NamedFile::open_or_make(&path, SIZE, true).is_err());
        assert!(write_note(&path, &meta, 1, None).is_err(), "nobody reads it");
    }

    #[test]
    fn a_file_with_a_second_name_counts_as_somebody_elses() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f0");
        let mut made = NamedFile::open_or_make(&path, SIZE, true).unwrap();
        fs::write(&path, [7; 4096]).unwrap();
        made.seal(4096).unwrap();
        fs::hard_link(&path, dir.path().join("thesis")).unwrap();
        assert!(NamedFile::open_or_make(&path, SIZE, true).is_err());
    }

    #[test]
    fn the_null_device_may_be_written_and_needs_no_filling() {
        let null = NamedFile::open_or_make(Path::new("/dev/null"), SIZE, true).unwrap();
        assert!(null.is_null() && null.is_full());
        assert!(null.check_reads(true).is_err() && null.check_reads(false).is_ok());
        null.discard_unfilled().unwrap();
        assert!(Path::new("/dev/null").exists());
    }

    #[test]
    fn an_absent_device_is_refused_and_not_made_as_a_file() {
        let path = Path::new("/dev/plimsoll-no-such-device");
        let error = NamedFile::open_or_make(path, SIZE, true).err().unwrap();
        assert!(error.to_string().starts_with("`/dev/plimsoll-no-such-device` does not exist"), "{error}");
        assert!(!path.exists());
    }

    #[test]
    fn links_devices_and_directories_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("target");
        fs::write(&target, b"x").unwrap();
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&target, &link).unwrap();
        for (path, word) in
            [(link.as_path(), "symlink"), (dir.path(), "directory"), (Path::new("/dev/zero"), "no plain file")]
        {
            let error = NamedFile::open_or_make(path, SIZE, false).err().unwrap().to_string();
            assert!(error.contains(word), "{error}");
        }
    }
}
