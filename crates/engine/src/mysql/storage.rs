//! The flavours of the server, what is under their tables, and what differs.
//!
//! Limits: what the tables of a server by URL are in is known; of which flavour it is, the code here does not ask.

/// MariaDB and MySQL have one ancestor: they speak one protocol, and differ in programs, settings and counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavour {
    /// MariaDB.
    MariaDb,
    /// MySQL: Oracle's, or Percona Server.
    MySql,
}

/// What is under the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StorageEngine {
    /// A B-tree with redo log.
    InnoDb,
    /// MyRocks, a log-structured merge tree.
    RocksDb,
}

impl StorageEngine {
    /// As CREATE TABLE names it.
    pub fn as_str(self) -> &'static str {
        match self {
            StorageEngine::InnoDb => "InnoDB",
            StorageEngine::RocksDb => "RocksDB",
        }
    }

    /// The variable that decides about durability.
    pub fn durability_variable(self) -> &'static str {
        match self {
            StorageEngine::InnoDb => "innodb_flush_log_at_trx_commit",
            StorageEngine::RocksDb => "rocksdb_flush_log_at_trx_commit",
        }
    }

    /// The variables that are read back as facts.
    pub fn reported_variables(self) -> &'static [&'static str] {
        match self {
            StorageEngine::InnoDb => &[
                "innodb_flush_log_at_trx_commit",
                "innodb_buffer_pool_size",
                "innodb_log_file_size",
                "innodb_redo_log_capacity",
                "innodb_flush_method",
                "innodb_io_capacity",
                "innodb_io_capacity_max",
                "innodb_doublewrite",
                "innodb_page_size",
                "innodb_use_native_aio",
                "log_bin",
                "max_connections",
                "transaction_isolation",
                "tx_isolation",
            ],
            StorageEngine::RocksDb => &[
                "rocksdb_flush_log_at_trx_commit",
                "rocksdb_manual_wal_flush",
                "rocksdb_block_cache_size",
                "rocksdb_deadlock_detect",
                "rocksdb_max_background_jobs",
                "rocksdb_max_total_wal_size",
                "rocksdb_use_direct_reads",
                "rocksdb_use_direct_io_for_flush_and_compaction",
                "rocksdb_default_cf_options",
                "log_bin",
                "max_connections",
                "transaction_isolation",
                "tx_isolation",
            ],
        }
    }
}
