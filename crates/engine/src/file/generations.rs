//! The table of a data set that is verified, from making the data to leaving it.
//!
//! In: the files, and whether plimsoll made them. Out: the table that all clients share, and the check of all that was written. Limits: a
//! file that the user named is verified for good: without `verify` it is read and no longer written, because its table would
//! then speak of other content.

use super::files::{FileOpening, FilePaths, open_one};
use super::named::NamedFile;
use crate::verify::{ReadBack, TABLE_NAME, UNIT, UnitTable, WrittenData, read_back, table_beside};
use host::data_dir::DataDir;
use host::error::{IoContext, TargetError, shown};
use model::{Bytes, Fact};
use rustix::fs::{Advice, fadvise};
use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;
use workload::IoProgram;

/// The table, and what is to be done with it.
pub struct DataGenerations {
    table: Arc<UnitTable>,
    /// Whether something was written since all was synced.
    awake: bool,
    /// Whether something was written since all was read back.
    unread: bool,
}

impl DataGenerations {
    /// Those of the new data in `dir`.
    pub fn in_directory(dir: &mut DataDir, program: &IoProgram, seed: u64) -> Result<DataGenerations, TargetError> {
        let path = dir.own_file(TABLE_NAME)?;
        UnitTable::create(&path, program.files, program.file_bytes, seed).map(DataGenerations::on_table)
    }

    /// Those of the file at `path`, new or found there.
    pub fn for_named(
        path: &Path,
        named: &NamedFile,
        program: &IoProgram,
        seed: u64,
    ) -> Result<DataGenerations, TargetError> {
        let at = table_beside(path);
        if !named.is_full() {
            discard_table(path)?;
            return UnitTable::create(&at, 1, program.file_bytes, seed).map(DataGenerations::on_table);
        }
        if !named.is_plimsolls() || fs::symlink_metadata(&at).is_err() {
            return Err(TargetError::Unsafe(format!(
                "`{}` was not filled by plimsoll with verify = `true`, so it cannot be checked; use a path where \
                 nothing exists yet, or verify = `false`",
                shown(path)
            )));
        }
        let table = UnitTable::open(&at)?;
        // The table was made for a file of one size: with more, some units would have no state.
        let covered = Bytes(table.head().units_each * UNIT as u64);
        if table.head().files != 1 || covered < program.file_bytes {
            return Err(TargetError::Unsafe(format!(
                "`{}` is {covered}, not file_size = `{}`; set file_size to its size",
                shown(&at),
                program.file_bytes
            )));
        }
        Ok(DataGenerations::on_table(table))
    }

    fn on_table(table: UnitTable) -> DataGenerations {
        DataGenerations { table: Arc::new(table), awake: false, unread: false }
    }

    /// The table, for a client.
    pub fn table(&self) -> Arc<UnitTable> {
        self.table.clone()
    }

    /// What finds it again.
    pub fn table_fact(&self) -> Fact {
        let path = fs::canonicalize(self.table.path()).unwrap_or_else(|_| self.table.path().into());
        Fact::new("verify.table", path.display().to_string())
    }

    /// The data is about to be written.
    pub fn mark_in_use(&mut self) -> Result<(), TargetError> {
        (self.awake, self.unread) = (true, true);
        self.table.mark_in_use()
    }

    /// Checks all that was written, if something was written since the last check.
    pub fn read_back(
        &mut self,
        paths: &FilePaths,
        direct: bool,
        go_on: &mut dyn FnMut(Bytes, Bytes) -> bool,
    ) -> Result<Option<ReadBack>, TargetError> {
        if !self.unread {
            return Ok(None);
        }
        let files = paths.iter().map(|path| to_read_back(path, direct)).collect::<Result<Vec<_>, _>>()?;
        let head = self.table.head();
        let written = WrittenData {
            files: &files,
            paths,
            set: head.set,
            units_each: head.units_each,
            state: &|unit| self.table.state_of(unit),
            generations_known: true,
        };
        let found = read_back(&written, go_on)?;
        self.unread = found.stopped;
        Ok(Some(ReadBack { checked: found, paths: paths.to_vec() }))
    }

    /// The data stays and is no longer written: what is known of it will also be true after a crash of the machine.
    pub fn mark_at_rest(self, paths: &FilePaths) -> Result<(), TargetError> {
        if !self.awake {
            return Ok(());
        }
        paths
            .iter()
            .try_for_each(|path| open_one(path, FileOpening::for_filling(false))?.sync_all().trying("sync", path))?;
        self.table.mark_at_rest()
    }
}

/// The file at `path`, so that what it holds comes from the device if that can be had.
fn to_read_back(path: &Path, direct: bool) -> Result<File, TargetError> {
    open_one(path, FileOpening::for_filling(false))?.sync_all().trying("sync", path)?;
    let file = open_one(path, FileOpening { direct, ..FileOpening::READING })?;
    let _ = fadvise(&file, 0, None, Advice::DontNeed); // if there is no cache to bypass, there is none to drop
    Ok(file)
}

/// Refuses to write the file at `path` without telling its table.
pub fn check_unverified_writes(path: &Path) -> Result<(), TargetError> {
    if fs::symlink_metadata(table_beside(path)).is_err() {
        return Ok(());
    }
    Err(TargetError::Unsafe(format!(
        "`{}` was filled with verify = `true`, so writes without verification would look like damage; use verify = \
         `true` or another path",
        shown(path)
    )))
}

/// Removes the table next to the file at `path`, which is not full, if there is one.
pub fn discard_table(path: &Path) -> Result<(), TargetError> {
    let at = table_beside(path);
    if fs::symlink_metadata(&at).is_err() {
        return Ok(());
    }
    drop(UnitTable::open(&at)?); // what is no table is not plimsoll's
    fs::remove_file(&at).trying("remove", &at)
}
