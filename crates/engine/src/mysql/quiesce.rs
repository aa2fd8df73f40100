//! Bringing tables to rest: what MariaDB put off writing is written.
//!
//! In: a connection of its own. Out: tables at rest. Limits: a server of others is not configured, so there only the
//! statistics are brought up to date. Where InnoDB makes no progress for a minute it is left with what it owes, and that is told;
//! RocksDB is at rest when it has wanted and done no compaction for half a second,
//! which is in the time that this takes.
//!
//! At rest, InnoDB has purged what was deleted and has at most 4 MiB of dirty pages; RocksDB has flushed its memtables and has
//! no compaction pending or under way.

use super::storage::StorageEngine;
use super::tables::quoted;
use crate::maintenance::{wait_until_few, wait_until_quiet};
use ::mysql::prelude::Queryable;
use ::mysql::{Conn, Error};
use model::Bytes;
use std::time::Duration;

/// So few pages, 4 MiB, may be left to be written when a run begins.
const DIRTY_PAGES_LEFT: u64 = 256;
/// Where flushing makes no progress for so long, something else makes pages dirty.
const NO_PROGRESS_FOR: Duration = Duration::from_secs(60);

/// Writes out what was put off for `tables`, so that whatever comes next does not pay for it. Says what is left.
pub fn quiesce_tables(
    connection: &mut Conn,
    storage: StorageEngine,
    tables: &[String],
    private: bool,
) -> Result<Bytes, Error> {
    for table in tables {
        connection.query_drop(format!("ANALYZE TABLE {}", quoted(table)))?;
    }
    match storage {
        // The settings of others are theirs.
        _ if !private => Ok(Bytes(0)),
        StorageEngine::InnoDb => quiesce_innodb(connection, tables),
        StorageEngine::RocksDb => quiesce_rocksdb(connection).map(|()| Bytes(0)),
    }
}

/// Making a table ready for export flushes its pages at once. What is left is the undo log and the server's own tables;
/// where that is much, InnoDB flushes it by itself within some seconds while it may hold no dirty pages, as fast as its I/O
/// capacity lets it.
fn quiesce_innodb(connection: &mut Conn, tables: &[String]) -> Result<Bytes, Error> {
    // Setting it waits until so few transactions are left to be purged. Purging makes pages dirty, so it comes first.
    connection.query_drop("SET GLOBAL innodb_max_purge_lag_wait = 0")?;
    for table in tables {
        connection.query_drop(format!("FLUSH TABLES {} FOR EXPORT", quoted(table)))?;
        connection.query_drop("UNLOCK TABLES")?;
    }
    if dirty_pages(connection)? <= DIRTY_PAGES_LEFT {
        return Ok(Bytes(0));
    }
    let names = ["innodb_max_dirty_pages_pct", "innodb_io_capacity", "innodb_io_capacity_max"];
    let asked = format!("SELECT {}", names.map(|name| format!("CAST(@@GLOBAL.{name} AS CHAR)")).join(", "));
    let was: (String, String, String) = connection.query_first(asked)?.expect("a SELECT without a table has a row");
    connection.query_drop("SET GLOBAL innodb_io_capacity_max = 100000, innodb_io_capacity = 100000")?;
    connection.query_drop("SET GLOBAL innodb_max_dirty_pages_pct = 0")?;
    let left = wait_until_few(DIRTY_PAGES_LEFT, NO_PROGRESS_FOR, || dirty_pages(connection))?;
    let left = Bytes(left * page_bytes(connection)?);
    names
        .iter()
        .zip([was.0, was.1, was.2])
        .try_for_each(|(name, value)| connection.query_drop(format!("SET GLOBAL {name} = {value}")))?;
    Ok(left)
}

fn dirty_pages(connection: &mut Conn) -> Result<u64, Error> {
    let asked = "SELECT variable_value FROM information_schema.global_status \
                 WHERE variable_name = 'INNODB_BUFFER_POOL_PAGES_DIRTY'";
    Ok(connection.query_first(asked)?.unwrap_or_default())
}

fn page_bytes(connection: &mut Conn) -> Result<u64, Error> {
    Ok(connection.query_first("SELECT @@GLOBAL.innodb_page_size")?.expect("a SELECT without a table has a row"))
}

/// A compaction counts what it reads and writes several times a second, also on a disk that takes 2,000 requests a second.
const QUIET_FOR: Duration = Duration::from_millis(500);

/// A compaction that runs is not pending any more; it shows by what it reads and writes.
fn quiesce_rocksdb(connection: &mut Conn) -> Result<(), Error> {
    connection.query_drop("SET GLOBAL rocksdb_force_flush_memtable_now = 1")?;
    let pending = "SELECT CAST(COALESCE(sum(value), 0) AS UNSIGNED) FROM information_schema.rocksdb_cfstats \
                   WHERE stat_type IN ('COMPACTION_PENDING', 'MEM_TABLE_FLUSH_PENDING', 'NUM_IMMUTABLE_MEM_TABLE')";
    let moved = "SELECT CAST(sum(variable_value) AS UNSIGNED) FROM information_schema.global_status WHERE variable_name \
                 IN ('ROCKSDB_COMPACT_READ_BYTES', 'ROCKSDB_COMPACT_WRITE_BYTES', 'ROCKSDB_FLUSH_WRITE_BYTES')";
    let mut look = || {
        let moved: u64 = connection.query_first(moved)?.unwrap_or_default();
        let pending: u64 = connection.query_first(pending)?.unwrap_or_default();
        Ok((pending == 0).then_some(moved))
    };
    // Where nothing was ever flushed there is nothing to wait for.
    if look()? == Some(0) { Ok(()) } else { wait_until_quiet(QUIET_FOR, look) }
}
