//! Brings tables to rest: MariaDB or MySQL writes what it has put off.
//!
//! In: a control connection. Out: tables at rest. Limits: a server by URL is not configured, so only its statistics are updated. If
//! the server makes no progress for a minute, the bytes that are left are returned. RocksDB is at rest when it has wanted and done no
//! compaction for half a second, which is part of the time that this takes.
//!
//! At rest, InnoDB has purged deleted rows and has at most 4 MiB of dirty pages; RocksDB has flushed its memtables, and no compaction
//! is pending or running.

use super::counters::pending_compaction;
use super::storage::{Flavour, StorageEngine};
use super::tables::quote_name;
use super::wire::{MysqlWire, MysqlWireError};
use crate::maintenance::{BackgroundWork, NO_PROGRESS_FOR, WaitEnd, wait_until_few, wait_until_quiet};
use crate::sql::admin_connection::AdminConnection;
use model::Bytes;
use std::time::Duration;

/// The most dirty pages, 4 MiB, that may be left when a run begins.
const DIRTY_PAGES_LEFT: u64 = 256;
/// MySQL cuts its list of finished transactions only now and then, so a few purged ones stay in it.
const UNPURGED_LEFT: u64 = 10;
/// If the list gets no shorter for this long, purging is over.
const PURGE_ENDED: Duration = Duration::from_secs(3);

/// Writes out what was put off for `tables`, so that the next operations do not pay for it. Returns the bytes that are left.
pub fn quiesce_tables(
    connection: &mut MysqlWire,
    (flavour, storage): (Flavour, StorageEngine),
    tables: &[String],
    private: bool,
) -> Result<Bytes, MysqlWireError> {
    for table in tables {
        connection.run_statement(&format!("ANALYZE TABLE {}", quote_name(table)))?;
    }
    match storage {
        // A server by URL keeps its settings.
        _ if !private => Ok(Bytes(0)),
        StorageEngine::InnoDb => quiesce_innodb(connection, flavour, tables),
        StorageEngine::RocksDb => quiesce_rocksdb(connection),
    }
}

/// FLUSH TABLES FOR EXPORT flushes the pages of a table at once. The undo log and the server's own tables are left. If they have many
/// dirty pages, InnoDB flushes these by itself within seconds while it may hold none, as fast as its I/O capacity allows.
fn quiesce_innodb(connection: &mut MysqlWire, flavour: Flavour, tables: &[String]) -> Result<Bytes, MysqlWireError> {
    // Purging makes pages dirty, so it comes first.
    wait_for_purge(connection, flavour)?;
    for table in tables {
        connection.run_statement(&format!("FLUSH TABLES {} FOR EXPORT", quote_name(table)))?;
        // FOR EXPORT keeps the table locked for writes until this.
        connection.run_statement("UNLOCK TABLES")?;
    }
    if dirty_pages(connection)? <= DIRTY_PAGES_LEFT {
        return Ok(Bytes(0));
    }
    // With the first of them the server lowers the second, too.
    let names = [
        "innodb_max_dirty_pages_pct",
        "innodb_max_dirty_pages_pct_lwm",
        "innodb_io_capacity",
        "innodb_io_capacity_max",
    ];
    let asked = format!("SELECT {}", names.map(|name| format!("CAST(@@GLOBAL.{name} AS CHAR)")).join(", "));
    let was = connection.query_rows(&asked)?.into_iter().flatten().flatten().collect::<Vec<_>>();
    // The maximum first, because it bounds the capacity.
    connection.run_statement("SET GLOBAL innodb_io_capacity_max = 100000, innodb_io_capacity = 100000")?;
    connection.run_statement("SET GLOBAL innodb_max_dirty_pages_pct = 0")?;
    let left = wait_until_few(DIRTY_PAGES_LEFT, NO_PROGRESS_FOR, || dirty_pages(connection))?;
    let left = Bytes(left * connection.number_patiently("SELECT @@GLOBAL.innodb_page_size")?);
    // The settings of the plan are back before anything is measured.
    names
        .iter()
        .zip(was)
        .try_for_each(|(name, value)| connection.run_statement(&format!("SET GLOBAL {name} = {value}")))?;
    Ok(left)
}

/// Waits until no transaction is left to be purged. MySQL keeps the last few of them.
fn wait_for_purge(connection: &mut MysqlWire, flavour: Flavour) -> Result<(), MysqlWireError> {
    match flavour {
        Flavour::MariaDb => connection.run_statement("SET GLOBAL innodb_max_purge_lag_wait = 0"),
        Flavour::MySql => {
            let asked = "SELECT `count` FROM information_schema.innodb_metrics WHERE name = 'trx_rseg_history_len'";
            wait_until_few(UNPURGED_LEFT, PURGE_ENDED, || connection.number_patiently(asked)).map(drop)
        }
    }
}

fn dirty_pages(connection: &mut MysqlWire) -> Result<u64, MysqlWireError> {
    status_sum(connection, &["Innodb_buffer_pool_pages_dirty"])
}

/// The sum of the server's counters `names`. Each version has this statement, and MySQL no table that MariaDB has.
fn status_sum(connection: &mut MysqlWire, names: &[&str]) -> Result<u64, MysqlWireError> {
    let list: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
    let rows =
        connection.rows_patiently(&format!("SHOW GLOBAL STATUS WHERE Variable_name IN ({})", list.join(", ")))?;
    let values = rows.into_iter().filter_map(|row| row.into_iter().next_back()??.parse::<u64>().ok());
    Ok(values.sum())
}

/// A compaction counts what it reads and writes several times a second, also on a disk that takes 2,000 requests a second.
const QUIET_FOR: Duration = Duration::from_millis(500);

/// A compaction that runs is not pending any more; it shows by what it reads and writes.
fn quiesce_rocksdb(connection: &mut MysqlWire) -> Result<Bytes, MysqlWireError> {
    connection.run_statement("SET GLOBAL rocksdb_force_flush_memtable_now = 1")?;
    // If nothing was ever flushed, there is nothing to wait for.
    if work_of_tree(connection)? == (BackgroundWork { done: 0, is_pending: false }) {
        return Ok(Bytes(0));
    }
    match wait_until_quiet(QUIET_FOR, NO_PROGRESS_FOR, || work_of_tree(connection))? {
        WaitEnd::Quiet => Ok(Bytes(0)),
        WaitEnd::HeldBack => pending_compaction(connection),
    }
}

/// The bytes that compactions and flushes have moved so far, and whether one is pending.
fn work_of_tree(connection: &mut MysqlWire) -> Result<BackgroundWork, MysqlWireError> {
    let pending = "SELECT CAST(COALESCE(sum(value), 0) AS UNSIGNED) FROM information_schema.rocksdb_cfstats \
                   WHERE stat_type IN ('COMPACTION_PENDING', 'MEM_TABLE_FLUSH_PENDING', 'NUM_IMMUTABLE_MEM_TABLE')";
    // In this order: a compaction that begins between the two queries is then seen as pending, or as a later change of the bytes.
    let moved = ["Rocksdb_compact_read_bytes", "Rocksdb_compact_write_bytes", "Rocksdb_flush_write_bytes"];
    let done = status_sum(connection, &moved)?;
    let is_pending = connection.number_patiently(pending)? > 0;
    Ok(BackgroundWork { done, is_pending })
}
