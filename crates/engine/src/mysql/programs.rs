//! The programs of MariaDB, and their paths.

use super::storage::StorageEngine;
use crate::server::program::ServerProgram;

const PLACES: &[&str] = &["/usr/sbin", "/usr/libexec", "/usr/local/sbin", "/usr/local/mysql/bin"];
/// The server,
pub const SERVER: ServerProgram = ServerProgram { name: "mariadbd", places: PLACES, package: "mariadb-server" };
/// what makes its files,
pub const INSTALL: ServerProgram =
    ServerProgram { name: "mariadb-install-db", places: PLACES, package: "mariadb-server" };
/// and what it has RocksDB in.
pub const ROCKSDB_PLUGIN: ServerProgram = ServerProgram {
    name: "ha_rocksdb.so",
    places: &["/usr/lib/mysql/plugin", "/usr/lib64/mysql/plugin", "/usr/lib64/mariadb/plugin"],
    package: "mariadb-plugin-rocksdb",
};

/// The version of the server, if all programs are there that it needs with `storage`.
pub fn program_version(storage: StorageEngine) -> Result<String, String> {
    check_programs(storage)?;
    SERVER.ask_version()
}

/// What is missing of what the server needs with `storage`, and how to install it.
pub fn check_programs(storage: StorageEngine) -> Result<(), String> {
    let needed = [Some(&SERVER), Some(&INSTALL), (storage == StorageEngine::RocksDb).then_some(&ROCKSDB_PLUGIN)];
    needed.into_iter().flatten().try_for_each(|program| program.find_path().map(drop))
}
