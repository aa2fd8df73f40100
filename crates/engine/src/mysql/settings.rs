//! The settings of MySQL and MariaDB that must not change while the server is measured.
//!
//! A name that a version or a storage engine does not have is left out of the answer. Variables that only report a state are not in the
//! list.

use crate::settings::{PARTS_MAX, WatchedSettings, quoted_list};

/// The seconds since the server was started, with their name.
pub(super) const UPTIME: &str = "SHOW GLOBAL STATUS LIKE 'Uptime'";

/// What is watched. To watch another variable: its name here.
pub(crate) const WATCHED: WatchedSettings = WatchedSettings {
    names: &[
        // Durability.
        "innodb_flush_log_at_trx_commit",
        "innodb_flush_log_at_timeout",
        "innodb_doublewrite",
        "innodb_fast_shutdown",
        "innodb_checksum_algorithm",
        "innodb_redo_log_enabled",
        "log_bin",
        "sync_binlog",
        "rocksdb_flush_log_at_trx_commit",
        "rocksdb_manual_wal_flush",
        "rocksdb_write_disable_wal",
        // Caches and writing.
        "innodb_buffer_pool_size",
        "innodb_flush_method",
        "innodb_flush_neighbors",
        "innodb_io_capacity",
        "innodb_io_capacity_max",
        "innodb_log_buffer_size",
        "innodb_log_file_size",
        "innodb_redo_log_capacity",
        "innodb_max_dirty_pages_pct",
        "innodb_max_dirty_pages_pct_lwm",
        "innodb_adaptive_flushing",
        "innodb_adaptive_hash_index",
        "innodb_change_buffering",
        "innodb_thread_concurrency",
        "query_cache_size",
        "query_cache_type",
        "table_open_cache",
        "rocksdb_block_cache_size",
        "rocksdb_max_background_jobs",
        "rocksdb_rate_limiter_bytes_per_sec",
        // Logging.
        "binlog_format",
        "general_log",
        "slow_query_log",
        "long_query_time",
        "performance_schema",
        // Isolation.
        "transaction_isolation",
        "tx_isolation",
        "read_only",
    ],
    query: |names| format!("SHOW GLOBAL VARIABLES WHERE Variable_name IN ({})", quoted_list(names)),
    all: "SHOW GLOBAL VARIABLES",
    // A part of an index that is an expression has no column.
    tables: |names| {
        format!(
            "SELECT CONCAT('column ', table_name, '.', column_name), column_type FROM information_schema.columns \
             WHERE table_schema = DATABASE() AND table_name IN ({names}) \
             UNION ALL SELECT CONCAT('index ', table_name, '.', index_name), \
             GROUP_CONCAT(COALESCE(column_name, '...') ORDER BY seq_in_index SEPARATOR ', ') FROM information_schema.statistics \
             WHERE table_schema = DATABASE() AND table_name IN ({names}) GROUP BY table_name, index_name \
             ORDER BY 1 LIMIT {PARTS_MAX}"
        )
    },
    of_installation: &[
        "error_count",
        "gtid_binlog_pos",
        "gtid_binlog_state",
        "gtid_current_pos",
        "gtid_executed",
        "gtid_purged",
        "hostname",
        "innodb_version",
        "in_transaction",
        "last_gtid",
        "last_insert_id",
        "log_error",
        "pid_file",
        "port",
        "pseudo_thread_id",
        "report_port",
        "secure_file_priv",
        "server_id",
        "server_uid",
        "server_uuid",
        "timestamp",
        "version",
        "version_comment",
        "version_source_revision",
        "warning_count",
    ],
    uptime: UPTIME,
    // MySQL has the first name, MariaDB the second from 10.6.19, 10.11.9 and 11.4.3 on.
    identity: &[
        "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('server_uuid', 'server_uid', 'hostname', 'port', 'datadir')",
        UPTIME,
    ],
};
