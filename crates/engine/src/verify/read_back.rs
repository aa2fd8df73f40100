//! Reads all that was written and checks it.
//!
//! In: the files of a data set and what is known of their units. Out: how many units were looked at, how many are wrong and
//! how, and the first of them. Limits: at full speed, by a few large reads at once; with O_DIRECT if the file system has it,
//! because the page cache would give back what was written and not what the device holds. A unit that was never written is
//! not looked at.

use super::{BlockAddress, DamageKind, ExpectedUnit, UNIT, UnitDamage, UnitJudgement, UnitState};
use host::error::{IoContext, TargetError};
use model::{Bytes, Offset};
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::Builder;

/// How many damaged units are named; all are counted.
pub const DAMAGE_KEPT: usize = 100;
/// Bytes of one read.
const READ: usize = 1 << 20;
/// Reads in flight: enough for the full speed of an SSD.
const READERS: usize = 4;

/// The units that a reading found, by how they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadBackCounts {
    /// Units that were read.
    pub units: u64,
    /// Of these: not those of their checksum.
    pub corrupt: u64,
    /// Older than the last that was acknowledged.
    pub stale: u64,
    /// Intact, and of another place or other data.
    pub misdirected: u64,
    /// Unreadable, but writes overlapped there: it may be damaged or not.
    pub unsure: u64,
    /// The first that are wrong, in the order of their places.
    pub first: Vec<UnitDamage>,
    /// Whether it was stopped before the end.
    pub stopped: bool,
}

/// What was found in which files.
#[derive(Clone, Debug)]
pub struct ReadBack {
    /// The units that were read, and the damaged ones.
    pub checked: ReadBackCounts,
    /// The paths of the files.
    pub paths: Vec<PathBuf>,
}

impl ReadBack {
    /// A line for each of the first damaged units.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        self.checked.first.iter().map(|damage| damage.describe(&self.paths))
    }
}

impl ReadBack {
    /// What was found in the files of this one and of `other` together.
    pub(crate) fn joined_with(mut self, mut other: ReadBack) -> ReadBack {
        let before = u16::try_from(self.paths.len()).unwrap_or(u16::MAX);
        other.checked.first.iter_mut().for_each(|damage| damage.file = damage.file.saturating_add(before));
        self.checked.stopped |= other.checked.stopped;
        self.checked.add_part(other.checked);
        self.paths.extend(other.paths);
        self
    }
}

impl ReadBackCounts {
    /// How many units are wrong.
    pub fn damaged(&self) -> u64 {
        self.corrupt + self.stale + self.misdirected
    }

    /// `65536 blocks of 4 KiB checked, 0 wrong`, `2 of 2048 blocks of 4 KiB are damaged (1 corrupt, 1 stale)`.
    pub fn summary(&self) -> String {
        let units = format!("{} blocks of {}", self.units, Bytes(UNIT as u64));
        let sorts = [(self.corrupt, "corrupt"), (self.stale, "stale"), (self.misdirected, "misdirected")];
        let found = sorts.into_iter().filter(|(count, _)| *count > 0);
        let sorts: Vec<String> = found.map(|(count, sort)| format!("{count} {sort}")).collect();
        let unsure = match self.unsure {
            0 => String::new(),
            unsure => format!("; {unsure} could not be checked: writes overlapped there"),
        };
        if sorts.is_empty() {
            format!("{units} checked, 0 wrong{unsure}")
        } else {
            let are = if self.damaged() == 1 { "is" } else { "are" };
            format!("{} of {units} {are} damaged ({}){unsure}", self.damaged(), sorts.join(", "))
        }
    }

    fn add_part(&mut self, part: ReadBackCounts) {
        self.units += part.units;
        self.corrupt += part.corrupt;
        self.stale += part.stale;
        self.misdirected += part.misdirected;
        self.unsure += part.unsure;
        self.first.extend(part.first);
        // Readers finish in any order; sorted, the report of the same damage is the same each time.
        self.first.sort_by_key(|damage| (damage.file, damage.at.0));
        self.first.truncate(DAMAGE_KEPT);
    }

    fn count_unit(&mut self, judged: UnitJudgement) {
        self.units += 1;
        match judged {
            UnitJudgement::Right => {}
            UnitJudgement::Unsure => self.unsure += 1,
            UnitJudgement::Wrong(damage) => {
                match damage.sort {
                    DamageKind::Corrupt => self.corrupt += 1,
                    DamageKind::Stale => self.stale += 1,
                    DamageKind::Misdirected => self.misdirected += 1,
                }
                self.first.push(damage);
            }
        }
    }
}

/// Data that was written.
pub(crate) struct WrittenData<'a> {
    /// Its files, open for reading.
    pub files: &'a [File],
    /// The paths of the files, in the same order.
    pub paths: &'a [PathBuf],
    /// The number of the data set.
    pub set: u64,
    /// How many units each file has.
    pub units_each: u64,
    /// What is known of a unit, counted through all files.
    pub state: &'a (dyn Fn(u64) -> UnitState + Sync),
    /// Whether the generations in it are those of the data.
    pub generations_known: bool,
}

/// Checks all of `written`; `go_on` gets the bytes done and their total, and may end the check.
pub(crate) fn read_back(
    written: &WrittenData,
    go_on: &mut dyn FnMut(Bytes, Bytes) -> bool,
) -> Result<ReadBackCounts, TargetError> {
    let units = written.units_each * written.files.len() as u64;
    let (next, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let (found, parts) = sync_channel(READERS);
        for _ in 0..READERS {
            let (found, next, stop) = (found.clone(), &next, &stop);
            let reader = Builder::new().spawn_scoped(scope, move || read_parts(written, units, next, stop, &found));
            if let Err(error) = reader {
                stop.store(true, Relaxed);
                let why = host::error::system_words(&error);
                return Err(TargetError::Failed(format!("cannot start a thread that reads the data back: {why}")));
            }
        }
        // The loop over the parts ends when the last sender is gone; this one would keep it waiting.
        drop(found);
        let checked = gather_parts(&parts, Bytes(units * UNIT as u64), go_on);
        stop.store(true, Relaxed);
        drop(parts); // a reader that wants to tell something more ends
        checked
    })
}

type PartResult = Result<(u64, ReadBackCounts), TargetError>;

fn gather_parts(
    parts: &Receiver<PartResult>,
    total: Bytes,
    go_on: &mut dyn FnMut(Bytes, Bytes) -> bool,
) -> Result<ReadBackCounts, TargetError> {
    let (mut checked, mut done) = (ReadBackCounts::default(), Bytes(0));
    for part in parts {
        let (units, part) = part?;
        checked.add_part(part);
        done.0 += units * UNIT as u64;
        // After the last part there is nothing left to stop.
        if !go_on(done, total) && done < total {
            checked.stopped = true;
            break;
        }
    }
    Ok(checked)
}

/// One reader: takes the next part until there is none.
fn read_parts(written: &WrittenData, units: u64, next: &AtomicU64, stop: &AtomicBool, found: &SyncSender<PartResult>) {
    let each = (READ / UNIT) as u64;
    let mut memory = vec![0; READ + UNIT];
    let aligned = memory.as_ptr().align_offset(UNIT); // as O_DIRECT needs it
    while !stop.load(Relaxed) {
        let first = next.fetch_add(each, Relaxed);
        if first >= units {
            return;
        }
        let part = first..units.min(first + each);
        let length = part.end - part.start;
        let checked = check_part(written, part, &mut memory[aligned..aligned + READ]);
        if found.send(checked.map(|checked| (length, checked))).is_err() {
            return;
        }
    }
}

/// The units of `part`, which may lie in several files.
fn check_part(written: &WrittenData, part: Range<u64>, memory: &mut [u8]) -> Result<ReadBackCounts, TargetError> {
    let mut checked = ReadBackCounts::default();
    let mut first = part.start;
    while first < part.end {
        let (file, unit) = (first / written.units_each, first % written.units_each);
        let count = (part.end - first).min(written.units_each - unit);
        // Units that were never written are not read: a sparse file would be read for nothing.
        if (first..first + count).any(|unit| (written.state)(unit).issued() > 0) {
            let memory = &mut memory[..count as usize * UNIT];
            let read = read_at_most(&written.files[file as usize], memory, unit * UNIT as u64);
            let read = read.trying("read", &written.paths[file as usize])?;
            memory[read..].fill(0); // what a file that was cut off no longer has is no unit
            check_units(written, first, memory, &mut checked);
        }
        first += count;
    }
    Ok(checked)
}

fn check_units(written: &WrittenData, first: u64, memory: &[u8], checked: &mut ReadBackCounts) {
    for (nth, unit) in (first..).zip(memory.chunks_exact(UNIT)) {
        let state = (written.state)(nth);
        if state.issued() > 0 {
            let (file, at) = (nth / written.units_each, nth % written.units_each * UNIT as u64);
            let place = BlockAddress { set: written.set, file: file as u16, at: Offset(at) };
            let expected = ExpectedUnit::read(place, state, (written.state)(nth));
            // After a crash of the machine the table may be older or newer than the data: only place and checksum are compared.
            let any = ExpectedUnit { least: 0, newest: u64::MAX, ..expected };
            checked.count_unit(if written.generations_known { expected } else { any }.judge(unit));
        }
    }
}

/// Fills `memory` from `at` of `file`, or as much of it as the file has.
fn read_at_most(file: &File, memory: &mut [u8], at: u64) -> std::io::Result<usize> {
    let mut read = 0;
    while read < memory.len() {
        match file.read_at(&mut memory[read..], at + read as u64) {
            Ok(0) => break,
            Ok(bytes) => read += bytes,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            // With O_DIRECT, a read on from the odd end of a file.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) && !read.is_multiple_of(512) => break,
            Err(error) => return Err(error),
        }
    }
    Ok(read)
}

#[cfg(test)]
mod tests {
    use super::super::UnitHeader;
    use super::*;
    use std::path::Path;

    const EACH: u64 = 300; // more than one read, and no whole number of them

    fn make(dir: &Path) -> (Vec<File>, Vec<PathBuf>) {
        let paths: Vec<PathBuf> = (0..2).map(|file| dir.join(format!("data.{file}"))).collect();
        for (file, path) in (0..).zip(&paths) {
            let mut content = vec![0x5a; EACH as usize * UNIT];
            for (nth, unit) in (0..).zip(content.chunks_exact_mut(UNIT)) {
                UnitHeader { place: BlockAddress { set: 1, file, at: Offset(nth * UNIT as u64) }, generation: 2 }
                    .seal(unit);
            }
            std::fs::write(path, content).unwrap();
        }
        (paths.iter().map(|path| File::open(path).unwrap()).collect(), paths)
    }

    fn twice_written(_: u64) -> UnitState {
        UnitState::default().after_begin().after_end(true).after_begin().after_end(true)
    }

    fn checked(files: &[File], paths: &[PathBuf], state: &(dyn Fn(u64) -> UnitState + Sync)) -> ReadBackCounts {
        let written = WrittenData { files, paths, set: 1, units_each: EACH, state, generations_known: true };
        read_back(&written, &mut |_, _| true).unwrap()
    }

    #[test]
    fn every_damaged_unit_of_every_file_is_found_and_the_first_are_named_in_order() {
        let dir = tempfile::tempdir().unwrap();
        let (files, paths) = make(dir.path());
        let whole = ReadBackCounts { units: 2 * EACH, ..ReadBackCounts::default() };
        assert_eq!(checked(&files, &paths, &twice_written), whole);
        let change = |file: usize, unit: u64, content: &[u8]| {
            let file = File::options().write(true).open(&paths[file]).unwrap();
            file.write_all_at(content, unit * UNIT as u64).unwrap();
        };
        let mut old = vec![0; UNIT];
        UnitHeader { place: BlockAddress { set: 1, file: 1, at: Offset(7 * UNIT as u64) }, generation: 1 }
            .seal(&mut old);
        change(1, 7, &old);
        change(1, 299, b"x");
        change(0, 270, &std::fs::read(&paths[0]).unwrap()[..UNIT]);
        let found = checked(&files, &paths, &twice_written);
        let first: Vec<_> = found.first.iter().map(|damage| (damage.sort, damage.file, damage.at.0 >> 12)).collect();
        assert_eq!(
            first,
            [(DamageKind::Misdirected, 0, 270), (DamageKind::Stale, 1, 7), (DamageKind::Corrupt, 1, 299)]
        );
        assert_eq!(found.summary(), "3 of 600 blocks of 4 KiB are damaged (1 corrupt, 1 stale, 1 misdirected)");
    }

    #[test]
    fn what_was_never_written_is_not_looked_at_and_what_is_cut_off_is_damaged() {
        let dir = tempfile::tempdir().unwrap();
        let (files, paths) = make(dir.path());
        let first_half = |unit| if unit < EACH { twice_written(unit) } else { UnitState::default() };
        assert_eq!(checked(&files, &paths, &first_half).units, EACH);
        File::options().write(true).open(&paths[0]).unwrap().set_len(290 * UNIT as u64 + 5).unwrap();
        let found = checked(&files, &paths, &first_half);
        assert_eq!((found.corrupt, found.first[0].at.0), (10, 290 * UNIT as u64));
    }

    #[test]
    fn more_damage_than_is_kept_is_counted() {
        let dir = tempfile::tempdir().unwrap();
        let (files, paths) = make(dir.path());
        let four_times = |unit| twice_written(unit).after_begin().after_end(true).after_begin().after_end(true);
        let found = checked(&files, &paths, &four_times);
        assert_eq!((found.stale, found.first.len()), (2 * EACH, DAMAGE_KEPT));
        assert_eq!(found.first[DAMAGE_KEPT - 1].at.0, (DAMAGE_KEPT as u64 - 1) * UNIT as u64);
    }

    #[test]
    fn it_ends_when_it_is_told_to_and_says_so() {
        let dir = tempfile::tempdir().unwrap();
        let (files, paths) = make(dir.path());
        let state = &twice_written;
        let written =
            WrittenData { files: &files, paths: &paths, set: 1, units_each: EACH, state, generations_known: true };
        let stopped = read_back(&written, &mut |_, _| false).unwrap();
        assert!(stopped.stopped && stopped.units < 2 * EACH, "{stopped:?}");
    }
}
