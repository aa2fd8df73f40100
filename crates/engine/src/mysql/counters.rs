//! The counters that MariaDB and MySQL keep of themselves: `innodb`, and `myrocks` if RocksDB is under the tables.
//!
//! In: an address. Out: sources that ask SHOW GLOBAL STATUS for what they need, some 0.3 ms of the server's CPU a reading, and the one of
//! performance_schema if that is on.
//! MySQL has no checkpoint age; it is the distance between two positions in its redo log, and the most is the size of that log. Limits: `innodb.data_written` is pages and doublewrite without the redo log, which is `innodb.os_log_written`.

use super::client::MysqlAddress;
use super::storage::{Flavour, StorageEngine};
use super::waits::wait_source;
use super::wire::{MysqlWire, MysqlWireError};
use super::wsrep::{ALSO_ASKED, add_latency};
use crate::counters::{
    CounterQuery, CounterSpec, PATIENCE, ServerSource, grows, level, name_and_value, number_in, queried_source,
};
use crate::sql::admin_connection::{AdminConnection, allowed};
use model::{Bytes, CounterRole, CounterSource, StallReason};
use std::collections::HashMap;

/// Those of all clients; what statements inside of stored procedures do is not among them.
const STATEMENTS: CounterSpec =
    grows("statements", "Questions", "ops", "statements that clients have sent, others' included")
        .read_as(CounterRole::EngineStatements);

pub static INNODB: ServerSource = ServerSource {
    name: "innodb",
    help: "pages, redo log, checkpoint age and waits of InnoDB, as reported by SHOW GLOBAL STATUS (mariadb:innodb, mysql:innodb)",
    counters: &[
        grows("data_read", "Innodb_data_read", "bytes", "bytes read from data files").read_as(CounterRole::EngineRead),
        grows("data_written", "Innodb_data_written", "bytes", "bytes written to data files, without the redo log")
            .read_as(CounterRole::DataFilesWritten),
        grows("os_log_written", "Innodb_os_log_written", "bytes", "bytes of redo log made; written in blocks, so more")
            .read_as(CounterRole::LogMade),
        grows("page_flush_bytes", FLUSHED, "bytes", "bytes of pages written to their place"),
        grows("dblwr_bytes", DOUBLE, "bytes", "bytes of pages written to the doublewrite buffer before that")
            .read_as(CounterRole::DoublewriteWritten),
        grows("log_writes", "Innodb_log_writes", "ops", "writes of the redo log"),
        grows("data_fsyncs", "Innodb_data_fsyncs", "ops", "syncs of data files"),
        grows("pages_flushed", "Innodb_buffer_pool_pages_flushed", "ops", "pages written from the buffer pool"),
        grows("dblwr_pages_written", "Innodb_dblwr_pages_written", "ops", "pages written to the doublewrite buffer"),
        grows("read_requests", "Innodb_buffer_pool_read_requests", "ops", "pages asked of the buffer pool"),
        grows("reads", "Innodb_buffer_pool_reads", "ops", "pages asked for that were not in it")
            .read_as(CounterRole::CacheMisses),
        grows("read_hits", HITS, "ops", "pages asked for that were in it").read_as(CounterRole::CacheHits),
        grows("wait_free", "Innodb_buffer_pool_wait_free", "ops", "waits for a free page: flushing cannot keep up")
            .read_as(CounterRole::FreePageWaits),
        grows("log_waits", "Innodb_log_waits", "ops", "waits for room in the log buffer")
            .read_as(CounterRole::LogBufferWaits),
        grows("row_lock_waits", "Innodb_row_lock_waits", "ops", "waits for a row lock")
            .read_as(CounterRole::RowLockWaits),
        grows("row_lock_time_ns", "Innodb_row_lock_time", "ns", "time waited for row locks")
            .times(1e6)
            .read_as(CounterRole::RowLockTime),
        grows("deadlocks", DEADLOCKS, "ops", "transactions given up in a deadlock"),
        level(
            "pages_dirty",
            "Innodb_buffer_pool_pages_dirty",
            "count",
            "changed pages in memory that are not written yet",
        ),
        level(
            "dirty_bytes",
            "Innodb_buffer_pool_bytes_dirty",
            "bytes",
            "changed bytes in memory that are not written yet",
        )
        .read_as(CounterRole::DirtyPages),
        level("pages_data", "Innodb_buffer_pool_pages_data", "count", "pages of the buffer pool that hold data"),
        level("checkpoint_age", CHECKPOINT_AGE, "bytes", "redo log that a crash would have to replay")
            .read_as(CounterRole::LogAge),
        level("checkpoint_max_age", CHECKPOINT_AGE_MAX, "bytes", "the most that the redo log has room for")
            .read_as(CounterRole::LogAgeMax),
        level("history_length", HISTORY, "count", "transactions whose undo log is not purged yet")
            .read_as(CounterRole::HistoryLength),
        level("threads_running", "Threads_running", "count", "connections that are executing a statement"),
        refused_connections(),
        STATEMENTS,
    ],
};

pub static MYROCKS: ServerSource = ServerSource {
    name: "myrocks",
    help: "write-ahead log, flushes, compactions and stalls of RocksDB, as reported by SHOW GLOBAL STATUS (mariadb:rocksdb, mysql:rocksdb)",
    counters: &[
        grows("wal_bytes", "Rocksdb_wal_bytes", "bytes", "bytes written to the write-ahead log")
            .read_as(CounterRole::LogMade),
        grows("wal_synced", "Rocksdb_wal_synced", "ops", "syncs of the write-ahead log"),
        grows("flush_write_bytes", "Rocksdb_flush_write_bytes", "bytes", "bytes written by flushes of memtables")
            .read_as(CounterRole::PagesWritten),
        grows("compact_read_bytes", "Rocksdb_compact_read_bytes", "bytes", "bytes read by compactions"),
        grows("compact_write_bytes", "Rocksdb_compact_write_bytes", "bytes", "bytes written by compactions")
            .read_as(CounterRole::CompactionWritten),
        grows("bytes_written", "Rocksdb_bytes_written", "bytes", "bytes of keys and values written by clients"),
        grows("block_cache_hit", "Rocksdb_block_cache_hit", "ops", "blocks found in the block cache")
            .read_as(CounterRole::CacheHits),
        grows("block_cache_miss", "Rocksdb_block_cache_miss", "ops", "blocks not found in it")
            .read_as(CounterRole::CacheMisses),
        grows("stall_ns", "Rocksdb_stall_micros", "ns", "time for which writers were stalled")
            .times(1e3)
            .read_as(CounterRole::WritersHeld),
        grows("stall_stops", "Rocksdb_stall_total_stops", "ops", "times that writers were stopped"),
        grows("stall_slowdowns", "Rocksdb_stall_total_slowdowns", "ops", "times that writers were slowed down"),
        grows("stalls_for_memtables", MEMTABLE_STALLS, "ops", "of both, those because too many memtables waited")
            .held_for(StallReason::Memtables),
        grows("stalls_for_l0", LEVEL_0_STALLS, "ops", "of both, those because too many files were in level 0")
            .held_for(StallReason::UnsortedTables),
        grows("stalls_for_compaction", COMPACTION_STALLS, "ops", "of both, those because too much was to be compacted")
            .held_for(StallReason::PendingCompaction),
        level("memtable_bytes", "Rocksdb_memtable_total", "bytes", "memory of all memtables"),
        level("memtable_unflushed", "Rocksdb_memtable_unflushed", "bytes", "of it not yet on disk but in the log")
            .read_as(CounterRole::Memtable),
        level("immutable_memtables", "immutable_memtables", "count", "full memtables that wait to be flushed")
            .read_as(CounterRole::FullMemtables),
        level("compactions_pending", "compactions_pending", "count", "column families that wait for a compaction"),
        level("l0_files", "l0_files", "count", "files in level 0, each of which a read may have to search")
            .read_as(CounterRole::UnsortedTables),
        level(
            "pending_compaction_bytes",
            "pending_compaction_bytes",
            "bytes",
            "bytes by which levels exceed their target size, all of level 0 if it is due: the minimum to be compacted",
        )
        .read_as(CounterRole::PendingCompaction),
        level("threads_running", "Threads_running", "count", "connections that are executing a statement"),
        refused_connections(),
        STATEMENTS,
    ],
};

const fn refused_connections() -> CounterSpec {
    let help = "connections that were refused because there were `max_connections`";
    grows("refused_connections", "Connection_errors_max_connections", "count", help)
        .read_as(CounterRole::RefusedConnections)
}

/// Values that are made of others, under names of their own: pages are counted, and bytes are wanted.
const FLUSHED: &str = "page_flush_bytes";
const DOUBLE: &str = "dblwr_bytes";
const PAGE_SIZE: &str = "Innodb_page_size";
const HITS: &str = "buffer_pool_hits";
const CHECKPOINT_AGE: &str = "Innodb_checkpoint_age";
const CHECKPOINT_AGE_MAX: &str = "Innodb_checkpoint_max_age";
const HISTORY: &str = "Innodb_history_list_length";
const DEADLOCKS: &str = "Innodb_deadlocks";
/// MySQL's positions in the redo log: of the last byte written, and of the checkpoint. The bytes between them are the log's age.
const LOG_POSITION: &str = "Innodb_redo_log_current_lsn";
const CHECKPOINT_POSITION: &str = "Innodb_redo_log_checkpoint_lsn";
/// The size of MySQL's redo log, which its age approaches and does not reach.
const LOG_CAPACITY: &str = "Innodb_redo_log_capacity_resized";

/// Slowdowns and stops are counted apart.
const MEMTABLE_STALLS: &str = "Rocksdb_stall_memtable_limit_slowdowns+Rocksdb_stall_memtable_limit_stops";
const LEVEL_0_STALLS: &str = "Rocksdb_stall_l0_file_count_limit_slowdowns+Rocksdb_stall_l0_file_count_limit_stops";
const COMPACTION_STALLS: &str =
    "Rocksdb_stall_pending_compaction_limit_slowdowns+Rocksdb_stall_pending_compaction_limit_stops";

/// What MySQL has among its metrics only, under MariaDB's names.
pub(crate) const METRICS: &str = "\
                       SELECT IF(name = 'lock_deadlocks', 'Innodb_deadlocks', 'Innodb_history_list_length'), CAST(`count` AS CHAR) \
                       FROM information_schema.innodb_metrics AS plimsoll_watch WHERE name IN ('lock_deadlocks', 'trx_rseg_history_len')";

/// The query for MyRocks' tree. A level that is larger than its target has a score above 1: its size over the target. That of
/// level 0 goes by its number of files, and all of it moves. (<https://github.com/facebook/rocksdb/wiki/Leveled-Compaction>)
const TREE: &str = "\
                    SELECT 'l0_files', CAST(COALESCE(sum(value), 0) AS CHAR) FROM information_schema.rocksdb_compaction_stats \
                    WHERE level = 'L0' AND type = 'NumFiles' \
                    UNION ALL SELECT 'pending_compaction_bytes', CAST(COALESCE(sum(size.value * \
                    IF(size.level = 'L0', score.value >= 1, greatest(0, 1 - 1 / score.value))), 0) AS CHAR) \
                    FROM information_schema.rocksdb_compaction_stats size JOIN information_schema.rocksdb_compaction_stats score \
                    USING (cf_name, level) \
                    WHERE size.type = 'SizeBytes' AND score.type = 'Score' AND size.level LIKE 'L%' AND score.value > 0 \
                    UNION ALL SELECT lower(replace(replace(stat_type, 'NUM_IMMUTABLE_MEM_TABLE', 'immutable_memtables'), \
                    'COMPACTION_PENDING', 'compactions_pending')), CAST(sum(value) AS CHAR) FROM information_schema.rocksdb_cfstats \
                    WHERE stat_type IN ('NUM_IMMUTABLE_MEM_TABLE', 'COMPACTION_PENDING') GROUP BY stat_type";

/// The bytes that compactions of MyRocks have yet to move.
pub fn pending_compaction(connection: &mut MysqlWire) -> Result<Bytes, MysqlWireError> {
    let values: HashMap<String, String> =
        connection.rows_patiently(TREE)?.into_iter().filter_map(name_and_value).collect();
    let bytes = values.get("pending_compaction_bytes").and_then(|text| text.parse::<f64>().ok());
    Ok(Bytes(bytes.unwrap_or_default() as u64))
}

/// The sources of a server of this flavour with this storage.
pub fn counter_sources(
    (flavour, storage): (Flavour, StorageEngine),
    address: &MysqlAddress,
) -> Vec<Box<dyn CounterSource>> {
    let which = match storage {
        StorageEngine::InnoDb => &INNODB,
        StorageEngine::RocksDb => &MYROCKS,
    };
    let further = match (flavour, storage) {
        (Flavour::MariaDb, StorageEngine::InnoDb) => None,
        (Flavour::MySql, StorageEngine::InnoDb) => Some(METRICS.to_owned()),
        (_, StorageEngine::RocksDb) => Some(TREE.to_owned()),
    };
    let questions = [status_query(which.counters)].into_iter().chain(further).collect();
    let subject = match flavour {
        Flavour::MariaDb => "mariadb",
        Flavour::MySql => "mysql",
    };
    let status = queried_source(which, subject, StatusQuery { address: address.clone(), questions, connection: None });
    [status].into_iter().chain(wait_source(subject, address)).collect()
}

/// A source that asks the server at `address` for `source`, about `subject`.
pub fn status_source(source: &'static ServerSource, subject: &str, address: &MysqlAddress) -> Box<dyn CounterSource> {
    let questions = vec![status_query(source.counters)];
    queried_source(source, subject, StatusQuery { address: address.clone(), questions, connection: None })
}

fn status_query(counters: &[CounterSpec]) -> String {
    status_query_with(counters, &[])
}

/// The question for what `counters` are made of, and for the values `more`.
pub(crate) fn status_query_with(counters: &[CounterSpec], more: &[&'static str]) -> String {
    let parts = [PAGE_SIZE, LOG_POSITION, CHECKPOINT_POSITION, LOG_CAPACITY];
    let names = counters.iter().flat_map(CounterSpec::parts).chain(parts).chain(ALSO_ASKED);
    let names = names.chain(more.iter().copied());
    let names: Vec<String> = names.map(|name| format!("'{name}'")).collect();
    format!("SHOW GLOBAL STATUS WHERE Variable_name IN ({})", names.join(", "))
}

struct StatusQuery {
    address: MysqlAddress,
    /// The first must be answered; versions may not know what the others ask.
    questions: Vec<String>,
    connection: Option<MysqlWire>,
}

impl CounterQuery for StatusQuery {
    fn connect(&mut self) -> Option<()> {
        self.connection = None;
        self.connection = Some(self.address.connect_admin(PATIENCE).ok()?);
        Some(())
    }

    fn read_values(&mut self) -> Option<HashMap<String, String>> {
        let (first, others) = self.questions.split_first()?;
        ask_status(self.connection.as_mut()?, first, others).ok()
    }
}

/// The values that answer `first`, which must be answered, and `others`, which versions may not know; and those that are made of them.
pub(crate) fn ask_status(
    connection: &mut MysqlWire,
    first: &str,
    others: &[String],
) -> Result<HashMap<String, String>, MysqlWireError> {
    let mut values: HashMap<String, String> =
        connection.query_rows(first)?.into_iter().filter_map(name_and_value).collect();
    for question in others {
        values.extend(allowed(connection.query_rows(question))?.into_iter().flatten().filter_map(name_and_value));
    }
    add_bytes(&mut values);
    add_hits(&mut values);
    add_log_age(&mut values);
    add_latency(&mut values);
    Ok(values)
}

/// Adds the bytes of counters that count pages.
fn add_bytes(values: &mut HashMap<String, String>) {
    let Some(page) = number_in(values, PAGE_SIZE) else { return };
    let pages = [(FLUSHED, "Innodb_buffer_pool_pages_flushed"), (DOUBLE, "Innodb_dblwr_pages_written")];
    let bytes = pages.map(|(name, known_as)| {
        let bytes = number_in(values, known_as)?.saturating_mul(page);
        Some((name.to_owned(), bytes.to_string()))
    });
    values.extend(bytes.into_iter().flatten());
}

/// Adds the pages that were in the buffer pool, of which the server counts all that were asked for and those that were not in it.
fn add_hits(values: &mut HashMap<String, String>) {
    let [asked, missed] =
        ["Innodb_buffer_pool_read_requests", "Innodb_buffer_pool_reads"].map(|name| number_in(values, name));
    let hits = asked.zip(missed).map(|(asked, missed)| asked.saturating_sub(missed));
    values.extend(hits.map(|hits| (HITS.to_owned(), hits.to_string())));
}

/// Adds the age of the log and the most that it may be, if the server has only two positions and the size.
fn add_log_age(values: &mut HashMap<String, String>) {
    let [position, checkpoint] = [LOG_POSITION, CHECKPOINT_POSITION].map(|name| number_in(values, name));
    if let (Some(position), Some(checkpoint)) = (position, checkpoint) {
        values.entry(CHECKPOINT_AGE.to_owned()).or_insert_with(|| position.saturating_sub(checkpoint).to_string());
    }
    if let Some(capacity) = values.get(LOG_CAPACITY).cloned() {
        values.entry(CHECKPOINT_AGE_MAX.to_owned()).or_insert(capacity);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(pairs: &[(&str, &str)]) -> HashMap<String, String> {
        pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
    }

    #[test]
    fn the_age_of_mysqls_log_is_the_distance_of_its_positions_and_mariadbs_stays() {
        let age = |mut values: HashMap<String, String>| {
            add_log_age(&mut values);
            number_in(&values, CHECKPOINT_AGE)
        };
        assert_eq!(age(values(&[(LOG_POSITION, "1500"), (CHECKPOINT_POSITION, "1100")])), Some(400));
        assert_eq!(age(values(&[(CHECKPOINT_AGE, "77")])), Some(77));
        assert_eq!(age(values(&[(LOG_POSITION, "1500")])), None);
    }

    #[test]
    fn the_most_that_the_log_may_age_is_mariadbs_own_and_the_size_of_mysqls_log() {
        let most = |mut values: HashMap<String, String>| {
            add_log_age(&mut values);
            number_in(&values, CHECKPOINT_AGE_MAX)
        };
        assert_eq!(most(values(&[(CHECKPOINT_AGE_MAX, "900"), (CHECKPOINT_AGE, "77")])), Some(900));
        assert_eq!(most(values(&[(LOG_CAPACITY, "104857600")])), Some(104_857_600));
        assert_eq!(most(values(&[])), None);
    }

    #[test]
    fn hits_are_the_requests_that_were_no_misses() {
        let hits = |mut values: HashMap<String, String>| {
            add_hits(&mut values);
            number_in(&values, HITS)
        };
        let asked = ("Innodb_buffer_pool_read_requests", "1000");
        assert_eq!(hits(values(&[asked, ("Innodb_buffer_pool_reads", "40")])), Some(960));
        assert_eq!(hits(values(&[asked])), None);
    }
}
