//! The table of what is known of every unit: a file next to the data, in memory while the data is used.
//!
//! In: writes that begin and end, from all clients at once. Out: what may be found in a unit. Limits: 8 bytes a unit, so a
//! 512th of the data in memory; the file is locked while it is open, so that no other plimsoll writes or checks the data meanwhile.
//!
//! It survives a kill of plimsoll, because its pages are those of the file. It does not survive a power loss: the kernel
//! writes them when it likes, before or after the data that they describe. So its head records whether all was at rest (data and
//! table synced), and in which life of the machine it was used: see [`TableHead::knows_generations`].

use super::state::UnitState;
use super::unit::{UNIT, word_at, xxh64};
use host::error::{IoContext, TargetError, shown};
use model::Bytes;
use rustix::fs::{FallocateFlags, FlockOperation, Mode, OFlags, fallocate, flock, open};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst, fence};

const MAGIC: u64 = u64::from_le_bytes(*b"plimgens");
const FORMAT: u64 = 1;
/// The head has a page of its own; the states of the units follow.
const HEAD: u64 = 4096;

/// What the table is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableHead {
    /// The data set: no other has its number.
    pub set: u64,
    /// How many files it has.
    pub files: u64,
    /// Units in each file.
    pub units_each: u64,
    /// Whether data and table were synced when they were last left.
    pub at_rest: bool,
    /// In which life of the machine it was last used.
    pub boot: u64,
}

impl TableHead {
    /// Whether the generations that the table names are those of the data. After a crash of the machine they are not if
    /// writes were in flight: data and table were written back at different times.
    pub fn knows_generations(&self) -> bool {
        self.at_rest || self.boot == boot_id()
    }

    /// The length of the table's file; `None` if no file is that long.
    fn file_bytes(&self) -> Option<u64> {
        self.files.checked_mul(self.units_each)?.checked_mul(8)?.checked_add(HEAD)
    }

    fn words(&self) -> [u64; 6] {
        [FORMAT, self.set, self.files, self.units_each, u64::from(self.at_rest), self.boot]
    }

    pub(super) fn save(&self, file: &File) -> std::io::Result<()> {
        let mut page = [0; HEAD as usize];
        page[16..64].copy_from_slice(self.words().map(u64::to_le_bytes).as_flattened());
        page[..8].copy_from_slice(&MAGIC.to_le_bytes());
        let sum = xxh64(&page[16..]);
        page[8..16].copy_from_slice(&sum.to_le_bytes());
        file.write_all_at(&page, 0)?;
        file.sync_all()
    }

    /// The head of `file`; `None` if it is no table, or is damaged.
    pub fn read(file: &File) -> std::io::Result<Option<TableHead>> {
        let mut page = [0; HEAD as usize];
        match file.read_exact_at(&mut page, 0) {
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(None),
            read => read?,
        }
        let [magic, sum, format, set, files, units_each, at_rest, boot] =
            [0, 8, 16, 24, 32, 40, 48, 56].map(|at| word_at(&page, at));
        let head = TableHead { set, files, units_each, at_rest: at_rest == 1, boot };
        let right = magic == MAGIC && sum == xxh64(&page[16..]) && format == FORMAT;
        Ok((right && head.file_bytes() == Some(file.metadata()?.len())).then_some(head))
    }
}

/// The table, open and locked.
#[derive(Debug)]
pub struct UnitTable {
    path: PathBuf,
    file: File,
    head: TableHead,
    start: *mut u8,
}

// SAFETY: the memory is that of a file; all access to it is atomic.
unsafe impl Send for UnitTable {}
// SAFETY: as above.
unsafe impl Sync for UnitTable {}

impl UnitTable {
    /// Makes the table of a new data set of `files` files of `each` at `path`. Refuses if something is there.
    pub fn create(path: &Path, files: u16, each: Bytes, seed: u64) -> Result<UnitTable, TargetError> {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = File::from(open(path, flags, Mode::from_raw_mode(0o600)).trying("create", path)?);
        let units_each = each.0 / UNIT as u64;
        let head = TableHead { set: new_set(seed), files: files.into(), units_each, at_rest: false, boot: boot_id() };
        let len = head.file_bytes().ok_or_else(|| refuse_table(path, "would be of more files than there can be"))?;
        reserve_space(&file, len).trying("make room for", path)?;
        head.save(&file).trying("write", path)?;
        UnitTable::map(path, file, head)
    }

    /// Opens the table at `path`. What was in flight when it was left is in doubt from now on.
    pub fn open(path: &Path) -> Result<UnitTable, TargetError> {
        let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(open(path, flags, Mode::empty()).trying("open", path)?);
        let head = if file.metadata().trying("look at", path)?.is_file() {
            TableHead::read(&file).trying("read", path)?
        } else {
            None
        };
        let Some(head) = head else { return Err(refuse_table(path, "is not a table of generations, or is damaged")) };
        if !head.knows_generations() {
            let why = "was in use when the machine went down, so the state of the data is unknown; check it with \
                       `plimsoll verify`, then remove both and start again";
            return Err(refuse_table(path, why));
        }
        let table = UnitTable::map(path, file, head)?;
        for unit in 0..head.files * head.units_each {
            // A plimsoll that was killed never ended its writes: each may have reached the file or not.
            table.change_state(unit, UnitState::after_kill);
        }
        Ok(table)
    }

    fn map(path: &Path, file: File, head: TableHead) -> Result<UnitTable, TargetError> {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => return Err(refuse_table(path, "is in use by another plimsoll; wait for it")),
            locked => locked.trying("lock", path)?,
        }
        let len = head.file_bytes().expect("the caller looked") as usize;
        // SAFETY: a new mapping at a place of the kernel's choice replaces nothing.
        let start = unsafe { mmap(null_mut(), len, ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED, &file, 0) }
            .trying("map", path)?;
        Ok(UnitTable { path: path.into(), file, head, start: start.cast() })
    }

    /// What it is of.
    pub fn head(&self) -> &TableHead {
        &self.head
    }

    /// The file that holds the table.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The number of the unit at `at` of `file`.
    #[inline]
    pub fn unit_at(&self, file: u16, at: u64) -> u64 {
        u64::from(file) * self.head.units_each + at / UNIT as u64
    }

    /// What is known of `unit` now. What was read of it before is older than this look, what is read afterwards is not.
    #[inline]
    pub fn state_of(&self, unit: u64) -> UnitState {
        fence(SeqCst); // also against reads of a mapping, which are no system calls
        let state = UnitState(self.word_of(unit).load(SeqCst));
        fence(SeqCst);
        state
    }

    /// A write of `unit` begins: its generation. To be called before any of it is written.
    #[inline]
    pub fn begin_write(&self, unit: u64) -> u64 {
        let generation = self.change_state(unit, UnitState::after_begin).after_begin().issued();
        fence(SeqCst);
        generation
    }

    /// A write of `unit` has ended, well or not. To be called after all of it was written.
    #[inline]
    pub fn end_write(&self, unit: u64, well: bool) {
        fence(SeqCst);
        self.change_state(unit, |state| state.after_end(well));
    }

    /// Changes the state of `unit`; what it was before.
    #[inline]
    fn change_state(&self, unit: u64, change: impl Fn(UnitState) -> UnitState) -> UnitState {
        let changed = self.word_of(unit).try_update(SeqCst, SeqCst, |state| Some(change(UnitState(state)).0));
        changed.map(UnitState).expect("every state can be changed")
    }

    #[inline]
    fn word_of(&self, unit: u64) -> &AtomicU64 {
        // An assertion also in release builds: beyond the mapping is foreign memory.
        assert!(unit < self.head.files * self.head.units_each, "a unit lies within its data set");
        // SAFETY: within the mapping, aligned because head and mapping are, and accessed by atomics alone.
        unsafe { AtomicU64::from_ptr(self.start.wrapping_add(HEAD as usize + unit as usize * 8).cast()) }
    }

    /// Writes are about to begin: from now on the machine must not go down.
    pub fn mark_in_use(&self) -> Result<(), TargetError> {
        self.save_mark(false)
    }

    /// The data has been synced and is not written any more.
    pub fn mark_at_rest(&self) -> Result<(), TargetError> {
        self.file.sync_all().trying("sync", &self.path)?;
        self.save_mark(true)
    }

    fn save_mark(&self, at_rest: bool) -> Result<(), TargetError> {
        TableHead { at_rest, boot: boot_id(), ..self.head }.save(&self.file).trying("write", &self.path)
    }
}

impl Drop for UnitTable {
    fn drop(&mut self) {
        let len = self.head.file_bytes().expect("it was mapped") as usize;
        // SAFETY: mapped in `map` with this length; anything that uses it holds it alive.
        let _ = unsafe { munmap(self.start.cast(), len) };
    }
}

fn refuse_table(path: &Path, why: &str) -> TargetError {
    TargetError::Unsafe(format!("`{}` {why}", shown(path)))
}

/// Space for `len` bytes: a mapping whose file system is full ends the process.
fn reserve_space(file: &File, len: u64) -> std::io::Result<()> {
    match fallocate(file, FallocateFlags::empty(), 0, len) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => {
            let zeros = [0; 1 << 16];
            let pieces = (0..len).step_by(zeros.len());
            pieces.into_iter().try_for_each(|at| file.write_all_at(&zeros[..zeros.len().min((len - at) as usize)], at))
        }
        reserved => Ok(reserved?),
    }
}

/// A number that no other data set has. The seed alone would not do: what an earlier data set of the same seed left on the
/// device would pass for this one's.
fn new_set(seed: u64) -> u64 {
    let moment = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let words = [seed, boot_id(), moment.tv_sec as u64, moment.tv_nsec as u64, std::process::id().into()];
    xxh64(words.map(u64::to_le_bytes).as_flattened())
}

/// Which life of the machine this is.
fn boot_id() -> u64 {
    let mut id = std::fs::read("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    id.resize(id.len().next_multiple_of(8), 0);
    xxh64(&id)
}

#[cfg(test)]
mod tests {
    use super::*;

    const EACH: Bytes = Bytes::from_kib(64);

    fn made(dir: &tempfile::TempDir) -> (PathBuf, UnitTable) {
        let path = dir.path().join("generations");
        let table = UnitTable::create(&path, 2, EACH, 1).unwrap();
        (path, table)
    }

    #[test]
    fn what_is_known_outlives_those_who_wrote_and_what_was_under_way_is_in_doubt() {
        let dir = tempfile::tempdir().unwrap();
        let (path, table) = made(&dir);
        assert_eq!((table.begin_write(17), table.begin_write(18)), (1, 1));
        table.end_write(17, true);
        let set = table.head().set;
        drop(table);
        let again = UnitTable::open(&path).unwrap();
        assert_eq!((again.head().set, again.head().files, again.head().units_each), (set, 2, 16));
        assert_eq!(again.state_of(17), UnitState::default().after_begin().after_end(true));
        assert!(again.state_of(18).may_be_mixed() && !again.state_of(0).may_be_mixed());
        assert_eq!(again.begin_write(17), 2, "generations go on");
    }

    #[test]
    fn a_table_in_use_is_not_opened_again() {
        let dir = tempfile::tempdir().unwrap();
        let (path, _table) = made(&dir);
        let error = UnitTable::open(&path).unwrap_err().to_string();
        assert!(error.contains("in use by another plimsoll"), "{error}");
    }

    #[test]
    fn after_a_crash_of_the_machine_only_a_table_at_rest_is_believed() {
        let dir = tempfile::tempdir().unwrap();
        let (path, table) = made(&dir);
        table.mark_at_rest().unwrap();
        let in_another_life = |at_rest| {
            let file = File::options().read(true).write(true).open(&path).unwrap();
            let head = TableHead::read(&file).unwrap().unwrap();
            TableHead { boot: head.boot.wrapping_add(1), at_rest, ..head }.save(&file).unwrap();
        };
        drop(table);
        in_another_life(true);
        drop(UnitTable::open(&path).unwrap());
        in_another_life(false);
        let error = UnitTable::open(&path).unwrap_err().to_string();
        assert!(error.contains("when the machine went down"), "{error}");
    }

    #[test]
    fn no_other_data_set_has_the_same_number_though_its_seed_is_the_same() {
        let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let [one, other] = dirs.each_ref().map(|dir| made(dir).1.head().set);
        assert_ne!(one, other);
    }

    #[test]
    fn what_is_no_table_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let (path, table) = made(&dir);
        drop(table);
        let whole = std::fs::read(&path).unwrap();
        let mut other_length = whole.clone();
        other_length.push(0);
        let mut damaged = whole.clone();
        damaged[30] ^= 1;
        for content in [&b"short"[..], &[0; 8192], &other_length, &damaged] {
            std::fs::write(&path, content).unwrap();
            let error = UnitTable::open(&path).unwrap_err();
            assert!(matches!(error, TargetError::Unsafe(_)) && error.to_string().contains("not a table"), "{error}");
        }
        std::fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", &path).unwrap();
        assert!(UnitTable::open(&path).is_err());
    }
}
