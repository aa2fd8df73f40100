//! The counters that MariaDB keeps of itself: `innodb`, and `myrocks` where RocksDB is under the tables.
//!
//! In: an address. Out: sources that ask SHOW GLOBAL STATUS for what they need, some 0.3 ms of the server's CPU a reading.
//! Limits: `innodb.data_written` is pages and doublewrite without the redo log, which is `innodb.os_log_written`.

use super::Storage;
use super::client::Address;
use crate::engines::counters::{Ask, Counter, PATIENCE, ServerSource, grows, level, source};
use ::mysql::Conn;
use ::mysql::prelude::Queryable;
use model::CounterSource;
use std::collections::HashMap;

/// InnoDB.
pub static INNODB: ServerSource = ServerSource {
    name: "innodb",
    help: "pages, redo log, checkpoint age and waits of InnoDB, as SHOW GLOBAL STATUS says (mariadb:innodb)",
    counters: &[
        grows("data_read", "Innodb_data_read", "bytes", "bytes read from data files"),
        grows("data_written", "Innodb_data_written", "bytes", "bytes written to data files, without the redo log"),
        grows("os_log_written", "Innodb_os_log_written", "bytes", "bytes written to the redo log"),
        grows("data_fsyncs", "Innodb_data_fsyncs", "ops", "syncs of data files"),
        grows("pages_flushed", "Innodb_buffer_pool_pages_flushed", "ops", "pages written from the buffer pool"),
        grows("dblwr_pages_written", "Innodb_dblwr_pages_written", "ops", "pages written to the doublewrite buffer"),
        grows("read_requests", "Innodb_buffer_pool_read_requests", "ops", "pages asked of the buffer pool"),
        grows("reads", "Innodb_buffer_pool_reads", "ops", "pages asked for that were not in it"),
        grows("wait_free", "Innodb_buffer_pool_wait_free", "ops", "waits for a free page: flushing cannot keep up"),
        grows("log_waits", "Innodb_log_waits", "ops", "waits for room in the log buffer"),
        grows("row_lock_waits", "Innodb_row_lock_waits", "ops", "waits for a row lock"),
        grows("row_lock_time_ns", "Innodb_row_lock_time", "ns", "time waited for row locks").times(1e6),
        grows("deadlocks", "Innodb_deadlocks", "ops", "transactions given up in a deadlock"),
        level("pages_dirty", "Innodb_buffer_pool_pages_dirty", "count", "pages in memory that are to be written"),
        level("pages_data", "Innodb_buffer_pool_pages_data", "count", "pages of the buffer pool that hold data"),
        level("checkpoint_age", "Innodb_checkpoint_age", "bytes", "redo log that a crash would have to replay"),
        level("checkpoint_max_age", "Innodb_checkpoint_max_age", "bytes", "the most that the redo log has room for"),
        level("history_length", "Innodb_history_list_length", "count", "transactions whose undo log is to be purged"),
        level("threads_running", "Threads_running", "count", "connections that are at work"),
    ],
};

/// MyRocks.
pub static MYROCKS: ServerSource = ServerSource {
    name: "myrocks",
    help: "write-ahead log, flushes, compactions and stalls of RocksDB, as SHOW GLOBAL STATUS says (mariadb:rocksdb)",
    counters: &[
        grows("wal_bytes", "Rocksdb_wal_bytes", "bytes", "bytes written to the write-ahead log"),
        grows("wal_synced", "Rocksdb_wal_synced", "ops", "syncs of the write-ahead log"),
        grows("flush_write_bytes", "Rocksdb_flush_write_bytes", "bytes", "bytes written by flushes of memtables"),
        grows("compact_read_bytes", "Rocksdb_compact_read_bytes", "bytes", "bytes read by compactions"),
        grows("compact_write_bytes", "Rocksdb_compact_write_bytes", "bytes", "bytes written by compactions"),
        grows("bytes_written", "Rocksdb_bytes_written", "bytes", "bytes of keys and values written by clients"),
        grows("block_cache_hit", "Rocksdb_block_cache_hit", "ops", "blocks found in the block cache"),
        grows("block_cache_miss", "Rocksdb_block_cache_miss", "ops", "blocks not found in it"),
        grows("stall_ns", "Rocksdb_stall_micros", "ns", "time for which writers were held up").times(1e3),
        grows("stall_stops", "Rocksdb_stall_total_stops", "ops", "times that writers were stopped"),
        grows("stall_slowdowns", "Rocksdb_stall_total_slowdowns", "ops", "times that writers were slowed down"),
        level("memtable_bytes", "Rocksdb_memtable_total", "bytes", "memory of all memtables"),
        level("memtable_unflushed", "Rocksdb_memtable_unflushed", "bytes", "of it not yet on disk but in the log"),
        level("threads_running", "Threads_running", "count", "connections that are at work"),
    ],
};

/// The sources of a server with this storage.
pub fn sources(storage: Storage, address: &Address) -> Vec<Box<dyn CounterSource>> {
    let which = match storage {
        Storage::InnoDb => &INNODB,
        Storage::RocksDb => &MYROCKS,
    };
    vec![source(
        which,
        "mariadb",
        Status { address: address.clone(), question: question(which.counters), connection: None },
    )]
}

fn question(counters: &[Counter]) -> String {
    let names: Vec<String> = counters.iter().map(|counter| format!("'{}'", counter.known_as())).collect();
    format!("SHOW GLOBAL STATUS WHERE Variable_name IN ({})", names.join(", "))
}

struct Status {
    address: Address,
    question: String,
    connection: Option<Conn>,
}

impl Ask for Status {
    fn connect(&mut self) -> Option<()> {
        self.connection = None;
        self.connection = Some(self.address.connect(PATIENCE).ok()?);
        Some(())
    }

    fn values(&mut self) -> Option<HashMap<String, String>> {
        let rows = self.connection.as_mut()?.query::<(String, String), _>(&self.question).ok()?;
        Some(rows.into_iter().collect())
    }
}
