//! The settings of PostgreSQL that must not change while the server is measured.
//!
//! A name that a version does not have is left out of the answer. A setting of a role or a database that changes is seen by new connections
//! only.

use crate::settings::{PARTS_MAX, WatchedSettings, quoted_list};

/// What is watched. To watch another setting: its name here.
pub(crate) const WATCHED: WatchedSettings = WatchedSettings {
    names: &[
        // Durability.
        "fsync",
        "synchronous_commit",
        "synchronous_standby_names",
        "full_page_writes",
        "wal_sync_method",
        "wal_level",
        "wal_compression",
        "wal_log_hints",
        "commit_delay",
        "commit_siblings",
        // Caches and writing.
        "shared_buffers",
        "wal_buffers",
        "work_mem",
        "maintenance_work_mem",
        "effective_io_concurrency",
        "max_wal_size",
        "min_wal_size",
        "checkpoint_timeout",
        "checkpoint_completion_target",
        "wal_writer_delay",
        "wal_writer_flush_after",
        "bgwriter_delay",
        "bgwriter_lru_maxpages",
        "autovacuum",
        "autovacuum_naptime",
        "autovacuum_vacuum_cost_delay",
        "jit",
        "io_method",
        // Logging.
        "log_statement",
        "log_min_duration_statement",
        "log_checkpoints",
        "track_io_timing",
        "track_activities",
        "archive_mode",
        // Isolation.
        "default_transaction_isolation",
        "default_transaction_read_only",
    ],
    query: |names| format!("SELECT name, setting FROM pg_settings WHERE name IN ({})", quoted_list(names)),
    all: "SELECT name, setting FROM pg_settings",
    tables: |names| {
        format!(
            "SELECT 'column ' || c.relname || '.' || a.attname, format_type(a.atttypid, a.atttypmod) FROM pg_attribute a \
             JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace \
             WHERE n.nspname = current_schema() AND c.relname IN ({names}) AND a.attnum > 0 AND NOT a.attisdropped \
             UNION ALL SELECT 'index ' || tablename || '.' || indexname, regexp_replace(indexdef, '^.* USING ', '') FROM pg_indexes \
             WHERE schemaname = current_schema() AND tablename IN ({names}) ORDER BY 1 LIMIT {PARTS_MAX}"
        )
    },
    of_installation: &["cluster_name", "listen_addresses", "port", "server_version", "server_version_num"],
    // After the crash of one process the server starts all others again, and itself stays. Whoever may not see when they were
    // started is answered with the time of the server itself.
    uptime: "SELECT floor(extract(epoch FROM clock_timestamp() - greatest(pg_postmaster_start_time(), \
             (SELECT max(backend_start) FROM pg_stat_activity WHERE backend_type = 'checkpointer'))))::bigint::text",
    // A replica has the number of the server that it follows until it is promoted, which begins another timeline. Only some accounts may
    // know the directory: for the others it is no row.
    identity: &[
        "SELECT 'system_identifier', system_identifier::text FROM pg_control_system()",
        "SELECT 'timeline', timeline_id::text FROM pg_control_checkpoint()",
        "SELECT name, setting FROM pg_settings WHERE name IN ('cluster_name', 'data_directory', 'port')",
        "SELECT 'uptime', floor(extract(epoch FROM clock_timestamp() - pg_postmaster_start_time()))::bigint::text",
    ],
};
