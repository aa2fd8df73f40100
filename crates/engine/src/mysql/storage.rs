//! The flavours of the server, what is under their tables, and what differs.
//!
//! Limits: what the tables of a server by URL are in is known; of which flavour it is, the code here does not ask.

use crate::engine::workload_of;
use crate::sql::program_of;
use host::error::TargetError;
use model::{Trial, WritePath};
use workload::SequenceState;

/// MariaDB and MySQL have one ancestor: they speak one protocol, and differ in programs, settings and counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavour {
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

    /// The one that CREATE TABLE names so.
    pub fn from_word(word: &str) -> StorageEngine {
        if word == "RocksDB" { StorageEngine::RocksDb } else { StorageEngine::InnoDb }
    }

    /// Refuses foreign keys on tables that can have none: MyRocks would take the statement that makes them, and make none.
    pub fn check_foreign_keys(self, trial: &Trial) -> Result<(), TargetError> {
        let schema = workload_of(trial).sql.map(|_| program_of(trial, &SequenceState::default()).schema);
        let has_keys = schema.is_some_and(|tables| tables.iter().any(|table| !table.foreign_keys.is_empty()));
        match self {
            StorageEngine::RocksDb if has_keys => Err(TargetError::Unsupported(format!(
                "engine `{}` has no foreign keys; use foreign_keys = `false`",
                trial.target.engine
            ))),
            _ => Ok(()),
        }
    }

    /// The variable that decides about durability.
    pub fn durability_variable(self) -> &'static str {
        match self {
            StorageEngine::InnoDb => "innodb_flush_log_at_trx_commit",
            StorageEngine::RocksDb => "rocksdb_flush_log_at_trx_commit",
        }
    }

    /// How data and log reach the disk, by the values of the server's variables.
    ///
    /// InnoDB's log goes past the page cache only if `innodb_log_file_buffering` is off (MariaDB 10.8.4 and later; before,
    /// `O_DIRECT` was for data alone). From MariaDB 11.0 on `innodb_flush_method` is out of use, and
    /// `innodb_data_file_buffering` decides about data (<https://mariadb.com/kb/en/innodb-system-variables/>). RocksDB writes
    /// its logs and tables from their beginnings to their ends.
    pub fn write_path(self, value: &dyn Fn(&str) -> Option<String>) -> WritePath {
        if self == StorageEngine::RocksDb {
            return WritePath::Append;
        }
        let is_off = |name: &str| value(name).is_some_and(|value| value == "OFF" || value == "0");
        let method = value("innodb_flush_method").unwrap_or_default();
        let is_data_direct = match value("innodb_data_file_buffering") {
            Some(_) => is_off("innodb_data_file_buffering"),
            None => method.starts_with("O_DIRECT"),
        };
        if is_data_direct && is_off("innodb_log_file_buffering") { WritePath::Direct } else { WritePath::Buffered }
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
                "innodb_data_file_buffering",
                "innodb_log_file_buffering",
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

#[cfg(test)]
mod tests {
    use super::*;

    fn path(storage: StorageEngine, variables: &[(&str, &str)]) -> WritePath {
        let value = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_string());
        storage.write_path(&value)
    }

    #[test]
    fn innodb_writes_past_the_page_cache_only_if_data_and_log_do() {
        let method = ("innodb_flush_method", "O_DIRECT");
        let innodb = |variables: &[(&str, &str)]| path(StorageEngine::InnoDb, variables);
        assert_eq!(innodb(&[method]), WritePath::Buffered, "before 10.8 the log is in the page cache");
        assert_eq!(innodb(&[method, ("innodb_log_file_buffering", "OFF")]), WritePath::Direct);
        assert_eq!(innodb(&[method, ("innodb_log_file_buffering", "ON")]), WritePath::Buffered);
        let of_11 = [("innodb_data_file_buffering", "OFF"), ("innodb_log_file_buffering", "OFF")];
        assert_eq!(innodb(&of_11), WritePath::Direct);
        assert_eq!(innodb(&[("innodb_flush_method", "fsync"), of_11[1]]), WritePath::Buffered);
        assert_eq!(path(StorageEngine::RocksDb, &[]), WritePath::Append);
    }
}
