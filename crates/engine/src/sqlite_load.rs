//! The load of tables into SQLite: sorted rows into bare tables, then the indexes.
//!
//! In: a new database that nobody else uses, its tables, blocks of rows. Out: a connection that adds them; the database as its clients open it,
//! synced, with its indexes.
//!
//! While rows are loaded nothing is synced. If the machine or plimsoll ends in the middle, the database is of no use, and the next run makes a
//! new one.

use crate::sql::OpFailure;
use crate::sql::bulk::{BlockRows, BulkConnect, BulkConnection, index_facts};
use crate::sqlite::{op_failure, open_connection_with};
use crate::sqlite_execute::bind_arguments;
use crate::sqlite_schema::{create_indexes, quote_name};
use host::error::shown;
use model::Fact;
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use workload::{RowTarget, SqlTable};

/// Pages that change are kept in memory until a transaction ends, so that a block can be rolled back. One connection has the database for
/// itself, which saves it from locking and from reading pages again. Foreign keys are checked when all rows are there.
const LOADING: &str =
    "PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA foreign_keys = OFF; PRAGMA cache_size = -65536;";

/// Prepares a database that `admin` has open alone for its load.
pub(crate) fn begin_load(admin: &Connection) -> rusqlite::Result<()> {
    // The sort of an index is divided among so many threads and its own.
    let threads = crate::engine::cores_of_process() - 1;
    admin.execute_batch(&format!("{LOADING} PRAGMA threads = {threads};"))
}

/// Makes the indexes of `tables`, which were filled without them, and checks their foreign keys. Returns how long the indexes took.
pub(crate) fn complete_tables(admin: &Connection, tables: &[SqlTable]) -> rusqlite::Result<Vec<Fact>> {
    let began = Instant::now();
    let mut made = Vec::new();
    for table in tables.iter().filter(|table| !table.indexes.is_empty()) {
        let began = Instant::now();
        admin.execute_batch(&create_indexes(table))?;
        made.push((table.name.clone(), began.elapsed().as_secs_f64()));
    }
    let facts = index_facts(began.elapsed().as_secs_f64(), made);
    for table in tables.iter().filter(|table| !table.foreign_keys.is_empty()) {
        check_foreign_keys(admin, &table.name)?;
    }
    Ok(facts)
}

fn check_foreign_keys(admin: &Connection, table: &str) -> rusqlite::Result<()> {
    let mut check = admin.prepare(&format!("PRAGMA foreign_key_check({})", quote_name(table)))?;
    if check.query([])?.next()?.is_none() {
        return Ok(());
    }
    let broken = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CONSTRAINT_FOREIGNKEY);
    Err(rusqlite::Error::SqliteFailure(broken, Some(format!("a row of `{table}` refers to one that is not there"))))
}

/// Ends the load: with the log that clients use, and all that was written on the disk.
pub(crate) fn end_load(admin: &Connection) -> rusqlite::Result<()> {
    // The change of the journal is a transaction, whose sync is of the whole file.
    admin.execute_batch("PRAGMA threads = 0; PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL;")?;
    let journal: String = admin.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
    if journal == "wal" {
        return Ok(());
    }
    let busy = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_BUSY);
    Err(rusqlite::Error::SqliteFailure(busy, Some("a loader still has the database open".to_owned())))
}

/// How the loader connects.
#[derive(Clone)]
pub(crate) struct SqliteLoad {
    database: PathBuf,
    /// For each target the insert of a row.
    inserts: Arc<[String]>,
}

impl SqliteLoad {
    pub fn new(database: &Path, targets: &[RowTarget]) -> SqliteLoad {
        let inserts = targets.iter().map(|target| target.insert_statement(quote_name)).collect();
        SqliteLoad { database: database.to_owned(), inserts }
    }
}

impl BulkConnect for SqliteLoad {
    type Connection = SqliteLoader;

    fn server_name(&self) -> String {
        "engine `sqlite`".to_owned()
    }

    fn connect(&self) -> Result<SqliteLoader, OpFailure> {
        let settings = format!("PRAGMA locking_mode = EXCLUSIVE; {LOADING}");
        let connection = open_connection_with(&self.database, &settings, self.inserts.len());
        let connection = connection.map_err(|error| failure_of(&self.database, error))?;
        Ok(SqliteLoader { connection, database: self.database.clone(), inserts: self.inserts.clone() })
    }
}

/// The connection that adds rows.
pub(crate) struct SqliteLoader {
    connection: Connection,
    database: PathBuf,
    inserts: Arc<[String]>,
}

impl BulkConnection for SqliteLoader {
    fn add_rows(&mut self, target: usize, rows: BlockRows<'_>) -> Result<(), OpFailure> {
        let is_own = self.connection.is_autocommit();
        let added = self.add_within_transaction(is_own, &self.inserts[target], rows);
        if is_own && added.is_err() && !self.connection.is_autocommit() {
            let _ = self.connection.execute_batch("ROLLBACK"); // the first error is the one to report
        }
        added.map_err(|error| failure_of(&self.database, error))
    }

    fn run_text(&mut self, text: &str) -> Result<(), OpFailure> {
        self.connection.execute_batch(text).map_err(|error| failure_of(&self.database, error))
    }
}

impl SqliteLoader {
    fn add_within_transaction(&self, is_own: bool, insert: &str, rows: BlockRows<'_>) -> rusqlite::Result<()> {
        let mut insert = self.connection.prepare_cached(insert)?;
        if is_own {
            self.connection.execute_batch("BEGIN")?;
        }
        for row in rows.rows() {
            bind_arguments(&mut insert, row, rows.text)?;
            insert.raw_execute()?;
        }
        if is_own { self.connection.execute_batch("COMMIT") } else { Ok(()) }
    }
}

fn failure_of(database: &Path, error: rusqlite::Error) -> OpFailure {
    let failure = op_failure(error);
    OpFailure { text: format!("{}: `{}`", failure.text, shown(database)), ..failure }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::SqlArg::{Int, Null};
    use workload::{ColumnKind, ForeignKey, SqlColumn, SqlIndex};

    const CLIENTS: &str = "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;";

    /// A table of persons, each with a boss, who may be added later.
    fn persons() -> SqlTable {
        let column = |name, not_null| SqlColumn { name, kind: ColumnKind::Int, not_null };
        SqlTable {
            name: "person".into(),
            columns: vec![column("id", true), column("boss", false)],
            primary_key: &["id"],
            indexes: vec![SqlIndex { name: "by_boss".into(), columns: vec!["boss"], unique: false }],
            foreign_keys: vec![ForeignKey { columns: &["boss"], parent: "person", parent_key: &["id"] }],
            partitions: None,
        }
    }

    /// A database that is prepared for the load of persons, and the connection that loads them.
    fn begun(directory: &Path) -> (Connection, SqliteLoader) {
        let database = directory.join("db");
        let admin = open_connection_with(&database, CLIENTS, 0).unwrap();
        admin.execute_batch(&crate::sqlite_schema::create_table(&persons())).unwrap();
        begin_load(&admin).unwrap();
        let target = RowTarget { table: "person".into(), columns: vec!["id", "boss"] };
        (admin, SqliteLoad::new(&database, &[target]).connect().unwrap())
    }

    fn count(admin: &Connection) -> u64 {
        admin.query_row("SELECT count(*) FROM person", [], |row| row.get::<_, i64>(0)).unwrap() as u64
    }

    #[test]
    fn a_load_ends_with_its_indexes_and_with_the_log_of_the_clients() {
        let dir = tempfile::tempdir().unwrap();
        let (admin, mut loader) = begun(dir.path());
        loader.add_rows(0, BlockRows::new(&[Int(1), Int(2), Int(2), Null], 2, &[])).unwrap();
        let twice = loader.add_rows(0, BlockRows::new(&[Int(3), Null, Int(1), Null], 2, &[])).unwrap_err();
        assert!(twice.text.contains("UNIQUE") && twice.text.contains("db`"), "{}", twice.text);
        drop(loader);
        let facts = complete_tables(&admin, &[persons()]).unwrap();
        assert_eq!(
            facts.iter().map(|fact| &fact.name[..]).collect::<Vec<_>>(),
            ["load.index_s", "load.index_s.person"]
        );
        end_load(&admin).unwrap();
        let journal: String = admin.query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap();
        assert_eq!((journal.as_str(), count(&admin)), ("wal", 2), "nothing is left of the block that failed");
        assert!(admin.execute_batch("INSERT INTO person VALUES (4, 99)").is_err(), "foreign keys are enforced again");
    }

    #[test]
    fn a_row_that_refers_to_none_and_a_loader_that_is_still_there_are_refused_at_the_end() {
        let dir = tempfile::tempdir().unwrap();
        let (admin, mut loader) = begun(dir.path());
        loader.add_rows(0, BlockRows::new(&[Int(1), Int(2)], 2, &[])).unwrap();
        admin.busy_timeout(std::time::Duration::ZERO).unwrap();
        assert!(end_load(&admin).is_err());
        drop(loader);
        let broken = complete_tables(&admin, &[persons()]).unwrap_err().to_string();
        assert!(broken.contains("`person` refers to one that is not there"), "{broken}");
    }
}
