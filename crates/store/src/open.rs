//! Opens a run file that may come from a stranger or from a recorder that was killed.
//!
//! In: a path. Out: a hardened connection to a file that is a run of this format.
//!
//! A finished run is one file and is opened read-only in its place. A run that is being recorded, or whose recorder
//! was killed, has a log which SQLite can only read by writing there. Such a run is copied with its log to the directory for
//! temporary files and recovered there: so it can be read from a read-only place, and the evidence stays as it was found.
//! Limits: run and log together up to 8 GiB are copied; `TMPDIR` names the directory.

use crate::error::{ReadFault, StoreError};
use crate::untrusted::{
    HEADER_BYTES, MAGIC, application_id, format_number, harden, in_wal_mode, open_database, refuse_stored_sql,
    table_definitions, tables_of, told_bytes,
};
use crate::{APPLICATION_ID, FORMAT, SCHEMA};
use rusqlite::{Connection, ErrorCode, OpenFlags};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

const COPY_BYTES_MAX: u64 = 8 << 30;
/// A log is started again at most once a point. To meet that twice in a row is bad luck; five times never happens.
const COPY_TRIES: usize = 5;
/// A recorder holds the file for as long as it lives, a reader for milliseconds.
const IN_USE_WAIT: Duration = Duration::from_millis(500);
const LOG_HEADER_BYTES: u64 = 32;

/// An open run file. The connection is closed before the copy is removed: fields drop in order.
pub(crate) struct RunFile {
    pub(crate) db: Connection,
    _copy: Option<TempDir>,
}

/// Opens the run file at `path`, whose recorder has gone, to be written to again. What its recorder left in a log is moved into it.
pub(crate) fn reopen(path: &Path) -> Result<Connection, StoreError> {
    check_identity(path, &read_header(path)?)?;
    let opened =
        open_database(path, OpenFlags::SQLITE_OPEN_READ_WRITE).and_then(|db| db.busy_timeout(IN_USE_WAIT).map(|()| db));
    let db = opened.map_err(|error| StoreError::sqlite(path, "open", error))?;
    refuse_stored_sql(&db).map_err(ReadFault::Sql).and_then(|()| check_schema(&db)).map_err(|fault| fault.at(path))?;
    // Only the last connection to a file may leave its log: so this shows whether a recorder is still at work.
    match db.pragma_update_and_check(None, "journal_mode", "DELETE", |row| row.get::<_, String>(0)) {
        Ok(mode) if mode == "delete" => add_later_tables(&db).map(|()| db).map_err(|fault| fault.at(path)),
        Err(error) if error.sqlite_error_code() != Some(ErrorCode::DatabaseBusy) => Err(ReadFault::Sql(error).at(path)),
        _ => Err(StoreError::InUse { path: path.to_owned() }),
    }
}

/// Opens the run file at `path`.
pub(crate) fn open(path: &Path) -> Result<RunFile, StoreError> {
    let header = read_header(path)?;
    check_identity(path, &header)?;
    if has_log(path) || in_wal_mode(&header) {
        return open_copy(path, &std::env::temp_dir(), COPY_BYTES_MAX);
    }
    checked(path, open_in_place(path, &header)?, None)
}

/// Opens a copy of the run file at `path`, made below `scratch`, whether it has a log or not. Run and log may have `most` bytes.
pub(crate) fn open_copied(path: &Path, scratch: &Path, most: u64) -> Result<RunFile, StoreError> {
    check_identity(path, &read_header(path)?)?;
    open_copy(path, scratch, most)
}

/// `db` as a connection that runs no stranger's SQL, with the tables of a run.
fn checked(path: &Path, db: Connection, copy: Option<TempDir>) -> Result<RunFile, StoreError> {
    harden(&db).map_err(ReadFault::Sql).and_then(|()| check_schema(&db)).map_err(|fault| fault.at(path))?;
    Ok(RunFile { db, _copy: copy })
}

/// The first bytes of the file; fewer if it is shorter. Opens nothing but regular files: a FIFO would block.
fn read_header(path: &Path) -> Result<Vec<u8>, StoreError> {
    let failed = |error| StoreError::io(path, "open", error);
    let kind = fs::metadata(path).map_err(failed)?.file_type();
    if kind.is_dir() {
        return Err(StoreError::not_a_run(path, directory_text(path)));
    }
    if !kind.is_file() {
        return Err(StoreError::not_a_run(path, "it is not a regular file"));
    }
    read_start(path, HEADER_BYTES as u64).map_err(failed)
}

/// What to name in place of the directory `dir`: the run file of this report, or those in it.
fn directory_text(dir: &Path) -> String {
    const NAMED_MAX: usize = 3;
    let is_run = |path: &PathBuf| path.extension().is_some_and(|extension| extension == crate::EXTENSION);
    let of_report = dir.to_str().and_then(|name| name.trim_end_matches('/').strip_suffix("-report"));
    let of_report =
        of_report.map(|run| PathBuf::from(format!("{run}.{}", crate::EXTENSION))).filter(|run| run.is_file());
    if let Some(run) = of_report {
        return format!("it is the directory of a report; name the run file, `{}`", run.display());
    }
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut runs: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_run).collect();
    runs.sort_unstable();
    // The newest are the most likely.
    let named: Vec<String> = runs.iter().rev().take(NAMED_MAX).map(|run| format!("`{}`", run.display())).collect();
    match runs.len() {
        0 => "it is a directory without run files; name a run file".to_owned(),
        all if all > NAMED_MAX => {
            format!("it is a directory; name one of its {all} run files, such as {}", named.join(", "))
        }
        _ => format!("it is a directory; name a run file in it: {}", named.join(", ")),
    }
}

/// At most `len` bytes from the start of a regular file.
fn read_start(path: &Path, len: u64) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    model::open_regular(path)?.take(len).read_to_end(&mut start)?;
    Ok(start)
}

/// Looks at the marks in the file's header (<https://www.sqlite.org/fileformat.html>, 1.3) before SQLite sees the file.
fn check_identity(path: &Path, header: &[u8]) -> Result<(), StoreError> {
    let refuse = |why: &str| Err(StoreError::not_a_run(path, why));
    if header.is_empty() {
        return refuse("it is empty; its recorder was stopped before it wrote anything, or something else made it");
    }
    if !header.starts_with(MAGIC) || header.len() < HEADER_BYTES {
        return refuse("it is not an SQLite database");
    }
    if application_id(header) != APPLICATION_ID {
        return refuse("it is an SQLite database of another program");
    }
    match format_number(header) {
        FORMAT => Ok(()),
        0 => Err(StoreError::damaged(path, "its format number is 0")),
        format => Err(StoreError::UnknownFormat { path: path.to_owned(), format }),
    }
}

/// Whether SQLite would find a file that it takes for the log of the database.
pub(crate) fn has_log(path: &Path) -> bool {
    ["-wal", "-journal"].iter().any(|suffix| fs::symlink_metadata(sibling_path(path, suffix)).is_ok())
}

/// The file in the same directory whose name is that of `path` with `suffix`.
pub(crate) fn sibling_path(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

/// Opens a finished run in its place. SQLite neither writes nor makes a file then.
fn open_in_place(path: &Path, header: &[u8]) -> Result<Connection, StoreError> {
    check_length(path, header)?;
    open_database(path, OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(|error| ReadFault::Sql(error).at(path))
}

/// Refuses a file that was cut short in plain words. SQLite would notice, and report "malformed".
fn check_length(path: &Path, header: &[u8]) -> Result<(), StoreError> {
    let told = told_bytes(header);
    let there = fs::metadata(path).map_err(|error| StoreError::io(path, "open", error))?.len();
    if there < told {
        return Err(StoreError::damaged(path, format!("it is truncated: {there} of {told} bytes")));
    }
    Ok(())
}

/// Opens a copy of a run with its log, made below `scratch`, which SQLite then recovers.
fn open_copy(path: &Path, scratch: &Path, most: u64) -> Result<RunFile, StoreError> {
    let failed =
        |error| StoreError::io(path, "copy to the directory for temporary files (`TMPDIR`) and recover", error);
    let folder = tempfile::Builder::new().prefix("plimsoll-read-").tempdir_in(scratch).map_err(failed)?;
    let copy = folder.path().join("run");
    copy_with_log(path, &copy, most).map_err(failed)?;
    let db = open_database(&copy, OpenFlags::SQLITE_OPEN_READ_WRITE);
    checked(path, db.map_err(|error| ReadFault::Sql(error).at(path))?, Some(folder))
}

/// Copies database and log, while a recorder may go on writing. The log after the database: so each page that was not yet in
/// the database is in the log, unless the log was started again in between, which its first bytes show (its salts change:
/// <https://www.sqlite.org/fileformat.html>, 4.1).
fn copy_with_log(path: &Path, copy: &Path, most: u64) -> io::Result<()> {
    for _ in 0..COPY_TRIES {
        let before = log_header(path)?;
        let mut room = most;
        copy_file(path, copy, &mut room)?;
        for suffix in ["-wal", "-journal"] {
            copy_if_there(&sibling_path(path, suffix), &sibling_path(copy, suffix), &mut room)?;
        }
        if log_header(copy)? == before {
            return Ok(());
        }
    }
    Err(io::Error::new(io::ErrorKind::WouldBlock, "it is being written to and does not hold still"))
}

/// The first bytes of the log; none if there is no log.
fn log_header(path: &Path) -> io::Result<Vec<u8>> {
    match read_start(&sibling_path(path, "-wal"), LOG_HEADER_BYTES) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        read => read,
    }
}

/// Copies a log, or removes what an earlier try copied if it has gone.
fn copy_if_there(from: &Path, to: &Path, room: &mut u64) -> io::Result<()> {
    match copy_file(from, to, room) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => fs::remove_file(to).or(Ok(())),
        copied => copied,
    }
}

/// Copies a regular file that fits into `room`.
fn copy_file(from: &Path, to: &Path, room: &mut u64) -> io::Result<()> {
    let there = fs::metadata(from)?;
    if !there.is_file() || there.len() > *room {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "it is too large to copy, or its log is no regular file",
        ));
    }
    *room -= io::copy(&mut model::open_regular(from)?.take(*room), &mut File::create(to)?)?;
    Ok(())
}

/// Insists that the tables are tables and have the columns of the format, so that no query here runs SQL of a stranger. What else is in the
/// file is not looked at: people may add their own indexes and views.
fn check_schema(db: &Connection) -> Result<(), ReadFault> {
    let found = table_definitions(db)?;
    for (name, sql) in expected_tables()? {
        match found.get(&name) {
            Some(own) if *own == sql => {}
            Some(_) => return Err(ReadFault::wrong(format!("its table `{name}` does not match format {FORMAT}"))),
            None if LATER_TABLES.contains(&name.as_str()) => {}
            None => return Err(ReadFault::wrong(format!("its table `{name}` is missing"))),
        }
    }
    Ok(())
}

/// Tables that files of this format may lack, because plimsoll has made files without them.
const LATER_TABLES: [&str; 2] = ["interval_rows", "interval_commits"];

/// Whether the file has the table `name`.
pub(crate) fn has_table(db: &Connection, name: &str) -> Result<bool, ReadFault> {
    Ok(table_definitions(db)?.contains_key(name))
}

/// Makes the tables that the file lacks, so that it can be recorded to.
fn add_later_tables(db: &Connection) -> Result<(), ReadFault> {
    let (found, expected) = (table_definitions(db)?, expected_tables()?);
    for name in LATER_TABLES.iter().filter(|name| !found.contains_key(**name)) {
        db.execute_batch(&expected[*name])?;
    }
    Ok(())
}

/// The names and definitions of the tables of a run file.
pub(crate) fn expected_tables() -> Result<BTreeMap<String, String>, ReadFault> {
    Ok(tables_of(SCHEMA)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_makes_all_tables() {
        let tables: Vec<String> = expected_tables().unwrap().into_keys().collect();
        assert_eq!(
            tables.join(" "),
            "bus_position counter endpoint_interval event generator histogram host interval interval_commits interval_rows kind meta param phase point source \
             stack_snapshot"
        );
    }

    #[test]
    fn a_log_that_is_no_regular_file_is_not_copied() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        fs::create_dir(&from).unwrap();
        assert!(copy_file(&from, &to, &mut 100).is_err());
    }

    #[test]
    fn a_file_larger_than_the_room_left_is_not_copied() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        fs::write(&from, [0; 64]).unwrap();
        let mut room = 100;
        copy_file(&from, &to, &mut room).unwrap();
        assert_eq!(room, 36);
        assert!(copy_file(&from, &to, &mut room).is_err());
    }
}
