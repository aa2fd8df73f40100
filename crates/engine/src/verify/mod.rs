//! Written data that can be checked: every 4 KiB have a header with their place and generation, and a table has what these must be.
//!
//! In: units that were read, and what is known of them. Out: [`UnitDamage`], of one of three sorts. Limits: damage to a unit that
//! was being written when it was read, or that several writes overlapped, is not distinguished from the effect of those writes; such a unit
//! is *unsure*, and counted as that. A unit that came back intact with the right generation counts as right.
//!
//! [`unit`] is one unit, `state` what is known of it, `table` the file of all states, `read_back` the check of everything
//! after a run, `left` that of data which a run left.

mod left;
mod read_back;
mod state;
mod table;
mod unit;

pub use left::{LeftData, check_left};
pub(crate) use left::{TABLE_NAME, table_beside};
pub use read_back::{DAMAGE_KEPT, ReadBack, ReadBackCounts};
pub(crate) use read_back::{WrittenData, read_back};
pub(crate) use state::UnitState;
pub(crate) use table::UnitTable;
pub(crate) use unit::{BlockAddress, UNIT, UnitHeader};

use host::error::shown;
use model::Offset;
use serde::Serialize;
use std::path::PathBuf;

/// How a unit is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DamageKind {
    /// Its content is not that of its checksum, or it has no header.
    Corrupt,
    /// It is what an earlier write left there; a later one was acknowledged.
    Stale,
    /// It is intact, and belongs to another place or to other data.
    Misdirected,
}

impl DamageKind {
    /// The word used in files and messages.
    pub fn as_str(self) -> &'static str {
        match self {
            DamageKind::Corrupt => "corrupt",
            DamageKind::Stale => "stale",
            DamageKind::Misdirected => "misdirected",
        }
    }
}

/// One unit that is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitDamage {
    /// How it is damaged.
    pub sort: DamageKind,
    /// The number of the file that it is in.
    pub file: u16,
    /// Its place in that file.
    pub at: Offset,
    /// The lowest generation that may be there.
    pub least: u64,
    /// The highest generation that may be there.
    pub newest: u64,
    /// What is there, if it has a header.
    pub found: Option<FoundUnit>,
}

/// The header of a wrong unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundUnit {
    /// The generation that the header names.
    pub generation: u64,
    /// Whether it is of this data set.
    pub same_set: bool,
    /// The number of its file.
    pub file: u16,
    /// Its place in that file.
    pub at: Offset,
}

impl UnitDamage {
    /// What is wrong in which of the files at `paths`, for messages.
    pub fn describe(&self, paths: &[PathBuf]) -> String {
        let path = paths.get(usize::from(self.file)).map_or(String::new(), |path| shown(path));
        let expected = match (self.least, self.newest) {
            (least, newest) if least == newest => format!("generation {newest}"),
            (least, newest) => format!("generation {least} to {newest}"),
        };
        let found = match self.found {
            None => "no block that plimsoll wrote, or a damaged one".into(),
            Some(FoundUnit { same_set: false, .. }) => "a block of other data".into(),
            Some(FoundUnit { generation, file, at, .. }) if (file, at) == (self.file, self.at) => {
                format!("generation {generation}")
            }
            Some(FoundUnit { generation, file, at, .. }) => {
                format!("generation {generation} of file {file} at {}", at.0)
            }
        };
        format!("{} block at byte {} in `{path}`: expected {expected}, found {found}", self.sort.as_str(), self.at.0)
    }
}

/// What a unit that was read is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnitJudgement {
    Right,
    /// Unreadable, and it may be so: its content may be a mixture of writes.
    Unsure,
    Wrong(UnitDamage),
}

/// What may be found in a unit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExpectedUnit {
    pub place: BlockAddress,
    /// The lowest generation that may be there.
    pub least: u64,
    /// The highest generation that may be there.
    pub newest: u64,
    /// Whether the content may be a mixture of writes.
    pub mixed: bool,
}

impl ExpectedUnit {
    /// What a read of the unit at `place` may find that began when `before` was known of it and ended when `after` was.
    pub(crate) fn read(place: BlockAddress, before: UnitState, after: UnitState) -> ExpectedUnit {
        // A write that was in flight at any time of the read may have been found half done.
        let mixed = before.may_be_mixed() || !before.quiet_until(after);
        ExpectedUnit { place, least: before.least(), newest: after.issued(), mixed }
    }

    pub(crate) fn judge(&self, unit: &[u8]) -> UnitJudgement {
        let ExpectedUnit { place, least, newest, mixed } = *self;
        let (sort, header) = match UnitHeader::parse(unit) {
            // The order matters: an intact unit is judged by its generation even if writes overlapped.
            None if mixed => return UnitJudgement::Unsure,
            None => (DamageKind::Corrupt, None),
            // A generation that was never issued for this place can only come from elsewhere.
            Some(header) if header.place != place || header.generation > newest => {
                (DamageKind::Misdirected, Some(header))
            }
            Some(header) if header.generation < least => (DamageKind::Stale, Some(header)),
            Some(_) => return UnitJudgement::Right,
        };
        let found = header.map(|UnitHeader { place: BlockAddress { set, file, at }, generation }| FoundUnit {
            generation,
            same_set: set == place.set,
            file,
            at,
        });
        UnitJudgement::Wrong(UnitDamage { sort, file: place.file, at: place.at, least, newest, found })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Bytes;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    const PLACE: BlockAddress = BlockAddress { set: 9, file: 1, at: Offset(8192) };
    const EXPECTED: ExpectedUnit = ExpectedUnit { place: PLACE, least: 3, newest: 4, mixed: false };

    fn unit(place: BlockAddress, generation: u64) -> Vec<u8> {
        let mut unit = vec![0xa5; UNIT];
        UnitHeader { place, generation }.seal(&mut unit);
        unit
    }

    fn told(expected: ExpectedUnit, unit: &[u8]) -> String {
        match expected.judge(unit) {
            UnitJudgement::Wrong(damage) => damage.describe(&["/d/data.0".into(), "/d/data.1".into()]),
            judged => format!("{judged:?}"),
        }
    }

    #[test]
    fn the_three_sorts_are_told_apart_and_say_what_was_expected_and_found() {
        let elsewhere = BlockAddress { at: Offset(0), file: 0, ..PLACE };
        let foreign = BlockAddress { set: 8, ..PLACE };
        let cases = [
            (unit(PLACE, 3), "Right"),
            (unit(PLACE, 4), "Right"),
            (
                vec![0; UNIT],
                "corrupt block at byte 8192 in `/d/data.1`: expected generation 3 to 4, found no block that plimsoll wrote, or a damaged one",
            ),
            (unit(PLACE, 2), "stale block at byte 8192 in `/d/data.1`: expected generation 3 to 4, found generation 2"),
            (
                unit(elsewhere, 3),
                "misdirected block at byte 8192 in `/d/data.1`: expected generation 3 to 4, found generation 3 of file 0 at 0",
            ),
            (
                unit(foreign, 3),
                "misdirected block at byte 8192 in `/d/data.1`: expected generation 3 to 4, found a block of other data",
            ),
            (
                unit(PLACE, 5),
                "misdirected block at byte 8192 in `/d/data.1`: expected generation 3 to 4, found generation 5",
            ),
        ];
        for (unit, expected) in cases {
            assert_eq!(told(EXPECTED, &unit), expected);
        }
    }

    /// Few units in memory that several threads write and read word by word, so that reads and overlapping writes tear.
    #[test]
    fn threads_that_hammer_few_units_raise_no_alarm_and_an_old_unit_does_afterwards() {
        const UNITS: u64 = 3;
        let dir = tempfile::tempdir().unwrap();
        let table = UnitTable::create(&dir.path().join(TABLE_NAME), 1, Bytes(UNITS * UNIT as u64), 1).unwrap();
        let device: Vec<AtomicU64> = (0..UNITS as usize * UNIT / 8).map(|_| AtomicU64::new(0)).collect();
        let words = |unit: u64| &device[unit as usize * UNIT / 8..][..UNIT / 8];
        let place = |unit: u64| BlockAddress { set: 1, file: 0, at: Offset(unit * UNIT as u64) };
        let write = |unit: u64, filler: u8| {
            let (mut content, generation) = (vec![filler; UNIT], table.begin_write(unit));
            UnitHeader { place: place(unit), generation }.seal(&mut content);
            let parts = content.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap()));
            words(unit).iter().zip(parts).for_each(|(word, part)| word.store(part, Relaxed));
            table.end_write(unit, true);
            content
        };
        let read = |unit: u64| {
            let before = table.state_of(unit);
            let content: Vec<u8> = words(unit).iter().flat_map(|word| word.load(Relaxed).to_le_bytes()).collect();
            (before.issued() > 0).then(|| ExpectedUnit::read(place(unit), before, table.state_of(unit)).judge(&content))
        };
        std::thread::scope(|scope| {
            for thread in 0..4u64 {
                scope.spawn(move || {
                    for nth in 0..1_500 {
                        let unit = (nth * 7 + thread) % UNITS;
                        match (nth + thread) % 2 {
                            0 => drop(write(unit, nth as u8)),
                            _ => assert!(!matches!(read(unit), Some(UnitJudgement::Wrong(_))), "{:?}", read(unit)),
                        }
                    }
                });
            }
        });
        let old = write(0, 1);
        write(0, 2);
        assert_eq!(read(0), Some(UnitJudgement::Right));
        let parts = old.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap()));
        words(0).iter().zip(parts).for_each(|(word, part)| word.store(part, Relaxed));
        assert!(matches!(read(0), Some(UnitJudgement::Wrong(UnitDamage { sort: DamageKind::Stale, .. }))));
    }

    #[test]
    fn a_mixture_of_writes_is_no_damage_and_an_old_unit_is_one_all_the_same() {
        let mixed = ExpectedUnit { mixed: true, ..EXPECTED };
        assert_eq!(mixed.judge(&[0; UNIT]), UnitJudgement::Unsure);
        assert!(told(mixed, &unit(PLACE, 2)).starts_with("stale"));
    }
}
