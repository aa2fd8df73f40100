//! The programs of MariaDB and MySQL.
//!
//! In: the flavour and the storage. Out: what to look for. Limits: the server of both may be called `mysqld`; what it prints
//! shows which one it is.

use super::storage::{Flavour, StorageEngine};
use crate::server::program::{ProgramSet, ServerProgram};

const PLACES: &[&str] = &["/usr/sbin", "/usr/libexec", "/usr/local/sbin", "/usr/local/mysql/bin"];
const MARIADB_ADVICE: &str = "on Debian: apt-get install mariadb-server";
const MYSQL_ADVICE: &str =
    "on Debian sid: apt-get install mysql-server-core; or give the folder of an unpacked server, `mysql@DIR`";

const MARIADBD: ServerProgram = ServerProgram { name: "mariadbd", places: PLACES, advice: MARIADB_ADVICE };
/// What makes MariaDB's files.
const INSTALL: ServerProgram = ServerProgram { name: "mariadb-install-db", ..MARIADBD };
/// A program that it calls.
const DEFAULTS: ServerProgram = ServerProgram { name: "my_print_defaults", ..MARIADBD };
/// Another program that it calls.
const RESOLVE: ServerProgram = ServerProgram { name: "resolveip", ..MARIADBD };
/// One of the files that it reads.
const TABLES: ServerProgram = ServerProgram {
    name: "fill_help_tables.sql",
    places: &["/usr/share/mysql", "/usr/share/mariadb", "/usr/local/mysql/share"],
    advice: MARIADB_ADVICE,
};
/// What MariaDB has RocksDB in.
const ROCKSDB_PLUGIN: ServerProgram = ServerProgram {
    name: ROCKSDB_FILE,
    places: &["/usr/lib/mysql/plugin", "/usr/lib64/mysql/plugin", "/usr/lib64/mariadb/plugin"],
    advice: "on Debian: apt-get install mariadb-plugin-rocksdb",
};
/// What replicates between the nodes of a cluster.
const GALERA_PROVIDER: ServerProgram = ServerProgram {
    name: GALERA_FILE,
    places: &["/usr/lib/galera", "/usr/lib64/galera", "/usr/lib/galera-4", "/usr/lib64/galera-4"],
    advice: "on Debian: apt-get install galera-4 rsync",
};
const PERCONA_PLUGIN: ServerProgram = ServerProgram {
    places: &["/usr/lib/mysql/plugin", "/usr/lib64/mysql/plugin", "/usr/local/mysql/lib/plugin"],
    advice: "only Percona Server has it: apt-get install percona-server-rocksdb, from Percona's repository",
    ..ROCKSDB_PLUGIN
};

pub const ROCKSDB_FILE: &str = "ha_rocksdb.so";

/// The file of Galera's provider.
pub const GALERA_FILE: &str = "libgalera_smm.so";

/// What makes the files of a MariaDB server.
pub const MARIADB_INSTALL: &str = INSTALL.name;
/// What makes the files of a MySQL server: the server itself.
pub const MYSQL_INSTALL: &str = "mysqld";

/// Files of options may hold what this version does not know.
const VERSION_ARGS: &[&str] = &["--no-defaults", "--version"];

const OF_MARIADB: ProgramSet = ProgramSet {
    product: "MariaDB",
    server: MARIADBD,
    others: &[INSTALL, DEFAULTS, RESOLVE, TABLES],
    version_args: VERSION_ARGS,
    is_own: is_mariadb,
    oldest: "10.6",
    user: "mysql",
};
const OF_MYSQL: ProgramSet = ProgramSet {
    product: "MySQL",
    server: ServerProgram { name: MYSQL_INSTALL, places: PLACES, advice: MYSQL_ADVICE },
    others: &[],
    is_own: is_mysql,
    // The first with innodb_redo_log_capacity and with the positions of the redo log among its counters.
    oldest: "8.0.30",
    ..OF_MARIADB
};

static MARIADB: ProgramSet = OF_MARIADB;
static MARIADB_ROCKSDB: ProgramSet =
    ProgramSet { others: &[INSTALL, DEFAULTS, RESOLVE, TABLES, ROCKSDB_PLUGIN], ..OF_MARIADB };
static MARIADB_GALERA: ProgramSet =
    ProgramSet { others: &[INSTALL, DEFAULTS, RESOLVE, TABLES, GALERA_PROVIDER], ..OF_MARIADB };
static MYSQL: ProgramSet = OF_MYSQL;
static MYSQL_ROCKSDB: ProgramSet = ProgramSet { others: &[PERCONA_PLUGIN], ..OF_MYSQL };

/// What a server of `flavour` needs with `storage`.
pub const fn programs_of(flavour: Flavour, storage: StorageEngine) -> &'static ProgramSet {
    match (flavour, storage) {
        (Flavour::MariaDb, StorageEngine::InnoDb) => &MARIADB,
        (Flavour::MariaDb, StorageEngine::RocksDb) => &MARIADB_ROCKSDB,
        (Flavour::MySql, StorageEngine::InnoDb) => &MYSQL,
        (Flavour::MySql, StorageEngine::RocksDb) => &MYSQL_ROCKSDB,
    }
}

/// What a node of a Galera cluster needs. A server in a folder has the provider there, too.
pub const fn galera_programs() -> &'static ProgramSet {
    &MARIADB_GALERA
}

fn is_mariadb(printed: &str) -> bool {
    printed.contains("MariaDB")
}

/// `mysqld  Ver 9.7.4 for Linux on x86_64 (MySQL Community Server - GPL)`; a distribution may have other words in the parentheses.
fn is_mysql(printed: &str) -> bool {
    printed.contains("mysqld") && printed.contains("Ver ") && !is_mariadb(printed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mysql_and_mariadb_are_told_apart_by_what_they_print() {
        let mariadb = "/usr/sbin/mysqld  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)";
        assert!(is_mariadb(mariadb) && !is_mysql(mariadb));
        for mysql in [
            "/opt/usr/sbin/mysqld  Ver 9.7.4-2 for Linux on x86_64 ((Debian))",
            "mysqld  Ver 8.0.35-27 for Linux on x86_64 (Percona Server (GPL), Release 27, Revision 2f8eeab2)",
        ] {
            assert!(is_mysql(mysql) && !is_mariadb(mysql), "{mysql}");
        }
        assert!(!is_mysql("postgres (PostgreSQL) 15.14"));
    }
}
