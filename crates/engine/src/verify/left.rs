//! Checks data that a run has left: the file that its user named, or the data directory of a plimsoll that was killed.
//!
//! In: the path of the table in the run file. Out: what was found, or why nothing was looked at. Limits: reads only. Run
//! files come from strangers, so nothing is opened but a table and the files that its place implies: plain files, in no
//! directory that a symlink leads to. What is in use is not touched.

use super::read_back::{ReadBack, WrittenData, read_back};
use super::state::UnitState;
use super::table::TableHead;
use host::data_dir::{self, DirState};
use host::error::{IoContext, TargetError, shown};
use host::filesystem::{DirectAlignment, direct_alignment};
use model::Bytes;
use rustix::fs::{CWD, FlockOperation, Mode, OFlags, ResolveFlags, flock, openat2};
use rustix::io::Errno;
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

/// The name of the table in a data directory; next to a named file it is appended to that file's name.
pub(crate) const TABLE_NAME: &str = "plimsoll.generations";

/// What became of the data.
pub enum LeftData {
    /// It is no longer there.
    Gone,
    /// A plimsoll is using it.
    InUse,
    /// The data was there and was read back.
    Checked {
        /// What the reading found.
        found: ReadBack,
        /// Whether generations were compared: not if the machine went down while the data was written.
        generations_known: bool,
    },
}

/// The files of a data set and its table, open. Whatever is held keeps others from using them.
struct OpenTable {
    table: File,
    files: Vec<File>,
    paths: Vec<PathBuf>,
    _held: Option<File>,
}

/// Checks the data whose table was at `table`; `go_on` gets the bytes done and their total, and may end the check.
pub fn check_left(table: &Path, go_on: &mut dyn FnMut(Bytes, Bytes) -> bool) -> Result<LeftData, TargetError> {
    let opened = match named_file(table) {
        Some(path) => open_named(table, &path)?,
        None => open_directory(table)?,
    };
    let (OpenTable { mut table, files, paths, _held }, head) = match opened {
        OpenedTable::Data(open, head) => (open, head),
        OpenedTable::Gone => return Ok(LeftData::Gone),
        OpenedTable::InUse => return Ok(LeftData::InUse),
    };
    let states = read_states(&mut table, &paths[0])?;
    let generations_known = head.knows_generations();
    let state = &|unit: u64| UnitState(states.get(unit as usize).copied().unwrap_or(0));
    let (set, units_each) = (head.set, head.units_each);
    let written = WrittenData { files: &files, paths: &paths, set, units_each, state, generations_known };
    let checked = read_back(&written, go_on)?;
    Ok(LeftData::Checked { found: ReadBack { checked, paths }, generations_known })
}

enum OpenedTable {
    Gone,
    InUse,
    Data(OpenTable, TableHead),
}

/// The path of the table of the file at `path`.
pub(crate) fn table_beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(TABLE_NAME);
    name.into()
}

/// The file whose table is at `table`; `None` if that is in a data directory.
fn named_file(table: &Path) -> Option<PathBuf> {
    let name = table.file_name()?.to_str()?.strip_suffix(TABLE_NAME)?.strip_suffix('.')?;
    Some(table.with_file_name(name))
}

fn open_named(table_path: &Path, path: &Path) -> Result<OpenedTable, TargetError> {
    let Some(table) = open_plain(CWD, table_path)? else { return Ok(OpenedTable::Gone) };
    match flock(&table, FlockOperation::NonBlockingLockShared) {
        // The lock of the plimsoll that uses the data.
        Err(Errno::WOULDBLOCK) => return Ok(OpenedTable::InUse),
        locked => locked.trying("lock", table_path)?,
    }
    let Some(file) = open_plain(CWD, path)? else { return Ok(OpenedTable::Gone) };
    let head = head_of(&table, table_path)?;
    if head.files != 1 {
        return Err(no_table(table_path));
    }
    Ok(OpenedTable::Data(OpenTable { table, files: vec![file], paths: vec![path.into()], _held: None }, head))
}

fn open_directory(table_path: &Path) -> Result<OpenedTable, TargetError> {
    let is_table = table_path.file_name().is_some_and(|name| name == TABLE_NAME);
    let Some(dir) = table_path.parent().filter(|_| is_table && table_path.is_absolute()) else {
        return Err(no_table(table_path));
    };
    let held = match data_dir::inspect_dir(dir)? {
        DirState::Gone => return Ok(OpenedTable::Gone),
        DirState::InUse => return Ok(OpenedTable::InUse),
        DirState::Abandoned(held) => held,
    };
    let Some(table) = open_plain(&held, Path::new(TABLE_NAME))? else { return Ok(OpenedTable::Gone) };
    let head = head_of(&table, table_path)?;
    // The names follow from the number of files, as they were made; the run file is not asked for any.
    let names: Vec<PathBuf> = match head.files {
        1 => vec!["data".into()],
        files => (0..files).map(|file| Path::new("data").join(format!("data.{file}"))).collect(),
    };
    let mut files = Vec::new();
    for name in &names {
        let Some(file) = open_plain(&held, name)? else { return Ok(OpenedTable::Gone) };
        files.push(file);
    }
    let paths = names.iter().map(|name| dir.join(name)).collect();
    Ok(OpenedTable::Data(OpenTable { table, files, paths, _held: Some(held) }, head))
}

/// Opens a plain file for reading; `None` if there is none.
fn open_plain(dir: impl AsFd, path: &Path) -> Result<Option<File>, TargetError> {
    let file = match open_without_links(&dir, path, OFlags::empty()) {
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
        Err(Errno::LOOP) => {
            return Err(refuse_data(path, "is a symlink or is reached through one, which is not followed"));
        }
        opened => File::from(opened.trying("open", path)?),
    };
    if !file.metadata().trying("look at", path)?.is_file() {
        return Err(refuse_data(path, "is no plain file"));
    }
    // What the device holds, and not what the page cache remembers if that can be had.
    let direct = matches!(direct_alignment(&file), DirectAlignment::Direct { .. }) && !ends_with_table(path);
    let direct = if direct { open_without_links(&dir, path, OFlags::DIRECT).ok().map(File::from) } else { None };
    Ok(Some(direct.unwrap_or(file)))
}

/// Opens `path` for reading. A name from a run file may lead anywhere, so no symlink is followed, and no pipe or terminal is waited for.
fn open_without_links(dir: impl AsFd, path: &Path, more: OFlags) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC | more;
    openat2(dir, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS)
}

fn ends_with_table(path: &Path) -> bool {
    path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.ends_with(TABLE_NAME))
}

fn head_of(table: &File, path: &Path) -> Result<TableHead, TargetError> {
    TableHead::read(table)
        .trying("read", path)?
        .filter(|head| head.files > 0 && head.files <= u64::from(u16::MAX) && head.units_each > 0)
        .ok_or_else(|| no_table(path))
}

/// The states of all units. The length of the table was compared with its head, so no more is read than is there.
fn read_states(table: &mut File, path: &Path) -> Result<Vec<u64>, TargetError> {
    let mut bytes = Vec::new();
    table.read_to_end(&mut bytes).trying("read the table of", path)?;
    let words = bytes.get(4096..).unwrap_or_default().chunks_exact(8);
    Ok(words.map(|word| u64::from_le_bytes(word.try_into().expect("8 bytes are 8 bytes"))).collect())
}

fn no_table(path: &Path) -> TargetError {
    refuse_data(path, "is not a table of generations, or is damaged")
}

fn refuse_data(path: &Path, why: &str) -> TargetError {
    TargetError::Unsafe(format!("`{}` {why}", shown(path)))
}

#[cfg(test)]
mod tests {
    use super::super::{BlockAddress, UNIT, UnitHeader, UnitTable};
    use super::*;
    use model::Offset;
    use std::os::unix::fs::FileExt;

    /// A file of 8 units, each written twice, with its table.
    fn made(dir: &Path) -> (PathBuf, PathBuf) {
        let path = std::fs::canonicalize(dir).unwrap().join("f0");
        let table = UnitTable::create(&table_beside(&path), 1, Bytes(8 * UNIT as u64), 1).unwrap();
        let mut content = vec![7; 8 * UNIT];
        for (nth, unit) in (0..).zip(content.chunks_exact_mut(UNIT)) {
            (0..2).for_each(|_| {
                let place = BlockAddress { set: table.head().set, file: 0, at: Offset(nth * UNIT as u64) };
                UnitHeader { place, generation: table.begin_write(nth) }.seal(unit);
                table.end_write(nth, true);
            });
        }
        std::fs::write(&path, content).unwrap();
        (path.clone(), table_beside(&path))
    }

    fn damaged(table: &Path) -> (u64, u64) {
        match check_left(table, &mut |_, _| true).unwrap() {
            LeftData::Checked { found, .. } => (found.checked.corrupt, found.checked.stale),
            _ => panic!("the data is there"),
        }
    }

    #[test]
    fn after_a_crash_of_the_machine_damage_is_told_and_an_old_unit_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let (path, table) = made(dir.path());
        assert_eq!(damaged(&table), (0, 0));
        let file = File::options().read(true).write(true).open(&path).unwrap();
        let mut old = vec![7; UNIT];
        let writable = File::options().read(true).write(true).open(&table).unwrap();
        let head = TableHead::read(&writable).unwrap().unwrap();
        UnitHeader { place: BlockAddress { set: head.set, file: 0, at: Offset(0) }, generation: 1 }.seal(&mut old);
        file.write_all_at(&old, 0).unwrap();
        file.write_all_at(b"x", 3 * UNIT as u64 + 100).unwrap();
        assert_eq!(damaged(&table), (1, 1));
        TableHead { boot: head.boot.wrapping_add(1), ..head }.save(&writable).unwrap();
        assert_eq!(damaged(&table), (1, 0));
    }

    #[test]
    fn data_that_is_gone_or_in_use_is_told_from_data_that_is_there() {
        let dir = tempfile::tempdir().unwrap();
        let (path, table) = made(dir.path());
        let in_use = UnitTable::open(&table).unwrap();
        assert!(matches!(check_left(&table, &mut |_, _| true), Ok(LeftData::InUse)));
        drop(in_use);
        std::fs::remove_file(&path).unwrap();
        assert!(matches!(check_left(&table, &mut |_, _| true), Ok(LeftData::Gone)));
    }

    #[test]
    fn what_is_no_plain_file_is_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let (path, table) = made(dir.path());
        std::fs::remove_file(&path).unwrap();
        rustix::fs::mknodat(CWD, &path, rustix::fs::FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let error = check_left(&table, &mut |_, _| true).err().unwrap().to_string();
        assert!(error.contains("no plain file"), "{error}");
    }
}
