//! SQLite files of plimsoll's own that may come from strangers: run files, and workload files.
//!
//! In: the first bytes of such a file, or its path. Out: what its header shows, and connections that run no SQL of the file. Limits: what may be in
//! which table is known to those who read it.

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags};
use std::collections::BTreeMap;
use std::path::Path;

/// The length of the header (<https://www.sqlite.org/fileformat.html>, 1.3).
pub const HEADER_BYTES: usize = 100;
/// What each SQLite file begins with.
pub const MAGIC: &[u8] = b"SQLite format 3\0";

/// Which program a file is of, by its header of full length.
pub fn application_id(header: &[u8]) -> u32 {
    header_word(header, 68)
}

/// The number of its format.
pub fn format_number(header: &[u8]) -> u32 {
    header_word(header, 60)
}

/// How long a file is by its own header.
pub fn told_bytes(header: &[u8]) -> u64 {
    // 1 means 64 KiB, which 16 bits do not hold.
    let page_bytes = match u64::from(header[16]) << 8 | u64::from(header[17]) {
        1 => 65_536,
        bytes => bytes,
    };
    page_bytes * u64::from(header_word(header, 28))
}

/// Whether changes go to a log first.
pub fn in_wal_mode(header: &[u8]) -> bool {
    header[18] == 2 || header[19] == 2
}

/// The big-endian number at `at`.
fn header_word(header: &[u8], at: usize) -> u32 {
    header[at..at + 4].iter().fold(0, |word, byte| word << 8 | u32::from(*byte))
}

/// Opens the file at `path`.
///
/// # Errors
/// If SQLite cannot open it.
pub fn open_database(path: &Path, access: OpenFlags) -> rusqlite::Result<Connection> {
    Connection::open_with_flags(path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)
}

/// Follows <https://www.sqlite.org/security.html>, "untrusted SQLite database files". No memory map: a file that shrinks
/// under it would be SIGBUS.
///
/// # Errors
/// If SQLite refuses one of the settings.
pub fn harden(db: &Connection) -> rusqlite::Result<()> {
    refuse_stored_sql(db)?;
    // A copy is thrown away: nothing in it need be moved or synced.
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    for (limit, most) in LIMITS {
        db.set_limit(limit, most)?;
    }
    db.execute_batch("PRAGMA cell_size_check = ON; PRAGMA query_only = ON; PRAGMA synchronous = OFF;")?;
    db.pragma_update_and_check(None, "mmap_size", 0, |_| Ok(())).or_else(no_map)
}

/// Runs no SQL that the file contains.
pub(crate) fn refuse_stored_sql(db: &Connection) -> rusqlite::Result<()> {
    use DbConfig::{SQLITE_DBCONFIG_DEFENSIVE, SQLITE_DBCONFIG_ENABLE_TRIGGER, SQLITE_DBCONFIG_ENABLE_VIEW};
    db.set_db_config(SQLITE_DBCONFIG_DEFENSIVE, true)?;
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    db.set_db_config(SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    db.set_db_config(SQLITE_DBCONFIG_ENABLE_VIEW, false).map(drop)
}

/// A SQLite without memory maps answers nothing, which is as good.
fn no_map(error: rusqlite::Error) -> rusqlite::Result<()> {
    match error {
        rusqlite::Error::QueryReturnedNoRows => Ok(()),
        error => Err(error),
    }
}

/// Far above what such a file needs. The length is that of a plan with tens of thousands of trials, and of the longest line of a log.
const LIMITS: [(Limit, i32); 9] = [
    (Limit::SQLITE_LIMIT_LENGTH, 64 << 20),
    (Limit::SQLITE_LIMIT_SQL_LENGTH, 100_000),
    (Limit::SQLITE_LIMIT_COLUMN, 64),
    (Limit::SQLITE_LIMIT_EXPR_DEPTH, 50),
    (Limit::SQLITE_LIMIT_COMPOUND_SELECT, 8),
    (Limit::SQLITE_LIMIT_VDBE_OP, 25_000),
    (Limit::SQLITE_LIMIT_FUNCTION_ARG, 8),
    (Limit::SQLITE_LIMIT_ATTACHED, 0),
    (Limit::SQLITE_LIMIT_TRIGGER_DEPTH, 1),
];

/// What is called a table in the file, by name: its definition without comments and layout, which may be edited.
///
/// # Errors
/// If the file cannot be read.
pub fn table_definitions(db: &Connection) -> rusqlite::Result<BTreeMap<String, String>> {
    const TABLES: &str = "SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND sql IS NOT NULL LIMIT 1000";
    let mut query = db.prepare(TABLES)?;
    let rows = query.query_map([], |row| Ok((row.get(0)?, without_comments(&row.get::<_, String>(1)?))))?;
    rows.collect()
}

/// The names and definitions of the tables that `schema` makes.
///
/// # Errors
/// If SQLite cannot make them.
pub fn tables_of(schema: &str) -> rusqlite::Result<BTreeMap<String, String>> {
    let fresh = Connection::open_in_memory()?;
    fresh.execute_batch(schema)?;
    table_definitions(&fresh)
}

fn without_comments(sql: &str) -> String {
    let lines = sql.lines().map(|line| line.split("--").next().unwrap_or_default());
    lines.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shape_of_a_table_is_its_sql_without_comments_and_layout() {
        assert_eq!(
            without_comments("CREATE TABLE t (\n  a TEXT, -- a comment\n  b  INTEGER\n)"),
            "CREATE TABLE t ( a TEXT, b INTEGER )"
        );
    }
}
