//! The command lines of MariaDB and MySQL: of the program that makes the files, and of the server on them.
//!
//! In: the flavour, parameters, the variables of a plan. Out: arguments. Limits: no configuration but these; what plans may set is in
//! [`MARIADB_RULES`] and [`MYSQL_RULES`].

use super::programs::ROCKSDB_FILE;
use super::storage::{Flavour, StorageEngine};
use crate::server::private_network::{CERTIFICATE, KEY, LOOPBACK, NetworkWay, PrivateNetwork};
use crate::server::program::FoundPrograms;
use crate::server::variables::{ServerVariables, VariableRules};
use model::Params;
use std::ffi::OsString;
use std::path::Path;

/// What plans may not set. They may set `log_bin`: the binary log is a part of many experiments.
pub const MARIADB_RULES: VariableRules =
    VariableRules { server: "mariadb", by_parameter: &[PARAMETERS], closed: CLOSED };

/// The same of MySQL.
pub const MYSQL_RULES: VariableRules =
    VariableRules { server: "mysql", by_parameter: &[PARAMETERS, MYSQL_PARAMETERS], closed: CLOSED };

/// Variables of both that follow from a parameter.
const PARAMETERS: &[(&str, &str)] = &[
    ("innodb_buffer_pool_size", "cache"),
    ("innodb_log_file_size", "log_size"),
    ("innodb_flush_log_at_trx_commit", "durability"),
    ("innodb_flush_method", "flush_method"),
    ("innodb_io_capacity", "io_capacity"),
    ("rocksdb_block_cache_size", "cache"),
    ("rocksdb_flush_log_at_trx_commit", "durability"),
    ("rocksdb_manual_wal_flush", "durability"),
    ("rocksdb_use_direct_reads", "direct"),
    ("rocksdb_use_direct_io_for_flush_and_compaction", "direct"),
];

/// Those that only MySQL has.
const MYSQL_PARAMETERS: &[(&str, &str)] = &[
    ("innodb_redo_log_capacity", "log_size"),
    ("innodb_log_files_in_group", "log_size"),
    ("innodb_dedicated_server", "cache"),
];

/// Variables of both, and some that only one of them has.
const CLOSED: &[&str] = &[
    "datadir",
    "basedir",
    "socket",
    "symbolic_links",
    "port",
    "bind_address",
    "extra_port",
    "pid_file",
    "tmpdir",
    "user",
    "chroot",
    "skip_*",
    "plugin_*",
    "init_*",
    "log_error",
    "log_error_*",
    "general_log",
    "general_log_file",
    "slow_query_log",
    "slow_query_log_file",
    "log_output",
    "log_slow_query",
    "log_slow_query_file",
    "log_basename",
    "log_tc",
    "secure_*",
    "ssl_*",
    "tls_*",
    "require_*",
    "slave_*",
    "master_*",
    "relay_*",
    "replicate_*",
    "rpl_*",
    "report_*",
    "wsrep_*",
    "server_audit_*",
    "feedback_*",
    "loose_*",
    "enable_*",
    "disable_*",
    "maximum_*",
    "autoset_*",
    "bootstrap",
    "help",
    "verbose",
    "version",
    "console",
    "core_file",
    "debug",
    "debug_*",
    "gdb",
    "lc_messages_dir",
    "character_sets_dir",
    "innodb_data_home_dir",
    "innodb_data_file_path",
    "innodb_log_group_home_dir",
    "innodb_undo_directory",
    "innodb_tmpdir",
    "innodb_temp_data_file_path",
    "innodb_force_recovery",
    "innodb_read_only",
    "read_only",
    "aria_log_dir_path",
    "rocksdb_datadir",
    "rocksdb_wal_dir",
    "rocksdb_tmpdir",
    "rocksdb_persistent_cache_path",
    "rocksdb_read_only",
    "default_storage_engine",
    "max_prepared_stmt_count",
    "character_set_*",
    "collation_*",
    "tx_read_only",
    "transaction_read_only",
    "sql_mode",
    "autocommit",
    "completion_type",
    // From here on those of MySQL alone.
    "admin_*",
    "authentication_*",
    "component*",
    "daemonize",
    "early_plugin_*",
    "group_replication_*",
    "initialize*",
    "innodb_directories",
    "innodb_doublewrite_dir",
    "innodb_redo_log_archive_dirs",
    "innodb_temp_tablespaces_dir",
    "keyring*",
    "mysqlx*",
    "offline_mode",
    "persist*",
    "replica_*",
    "source_*",
    "super_read_only",
];

/// What the server's files are made with, too.
const OF_ITS_FILES: [&str; 2] = ["innodb_page_size", "innodb_undo_tablespaces"];

/// The socket, in the server's directory.
pub const SOCKET: &str = "m.sock";

/// The statements that the server executes before it takes the first connection, in its directory.
pub const STARTUP_FILE: &str = "plimsoll.sql";

/// More than any plan has clients: connections cost nothing before they are made.
const CONNECTIONS_MAX: u32 = 16_500;

fn server_option(name: &str, value: impl std::fmt::Display) -> OsString {
    format!("--{name}={value}").into()
}

fn path_option(name: &str, path: &Path) -> OsString {
    let mut option = OsString::from(format!("--{name}="));
    option.push(path);
    option
}

/// A server that was unpacked somewhere has messages, scripts and plugins next to its programs, and looks for them elsewhere.
fn own_tree(programs: &FoundPrograms) -> Vec<OsString> {
    let Some(folder) = programs.folder.as_deref().filter(|folder| folder.join("share").is_dir()) else {
        return Vec::new();
    };
    let plugins =
        ["lib/plugin", "lib/mysql/plugin", "lib/mariadb/plugin", "lib64/mysql/plugin", "lib64/mariadb/plugin"];
    let plugins = plugins.map(|inside| folder.join(inside)).into_iter().find(|dir| dir.is_dir());
    let plugins = plugins.map(|dir| path_option("plugin-dir", &dir));
    [path_option("basedir", folder)].into_iter().chain(plugins).collect()
}

/// The arguments of the program that makes the files in `data`.
///
/// A server that starts removes every temporary table (`#sql*`) in its directory for these, also those of a server that is being set
/// up at the same time: so each has its own from the start, and never /tmp.
pub fn install_arguments(
    flavour: Flavour,
    programs: &FoundPrograms,
    data: &Path,
    variables: &ServerVariables,
) -> Vec<OsString> {
    let temporary = match flavour {
        // Its script cuts arguments at blanks, but for this directory, in which its server works: cut short, the path would be that of a
        // neighbour, who would get the temporary files.
        Flavour::MariaDb => "--tmpdir=.".into(),
        Flavour::MySql => path_option("tmpdir", data),
    };
    let mut args: Vec<OsString> = vec!["--no-defaults".into(), path_option("datadir", data), temporary];
    args.extend(own_tree(programs));
    args.extend(install_flags(flavour).iter().map(OsString::from));
    args.extend(
        variables
            .iter()
            .filter(|(name, _)| OF_ITS_FILES.contains(name))
            .map(|(name, value)| server_option(name, value)),
    );
    args
}

/// The server's own tables need no sync: they go with the rest, and 2 s are gained.
fn install_flags(flavour: Flavour) -> &'static [&'static str] {
    match flavour {
        Flavour::MariaDb => &["--auth-root-authentication-method=normal", "--skip-test-db", "--debug-no-sync"],
        Flavour::MySql => &["--initialize-insecure", "--secure-file-priv=", "--mysqlx=OFF", "--disable-log-bin"],
    }
}

/// The arguments of the server on the files in `data`.
pub fn server_arguments(
    (flavour, storage): (Flavour, StorageEngine),
    programs: &FoundPrograms,
    data: &Path,
    params: &Params,
    variables: &ServerVariables,
) -> Vec<OsString> {
    // No files but these: --no-defaults must come first.
    let mut args: Vec<OsString> = vec!["--no-defaults".into(), path_option("datadir", data)];
    args.extend(own_tree(programs));
    args.extend([
        path_option("tmpdir", data),
        path_option("pid-file", &data.join("m.pid")),
        server_option("socket", SOCKET),
    ]);
    args.extend(server_flags(flavour).iter().map(OsString::from));
    args.push(server_option("character-set-server", "latin1"));
    args.push(server_option("max-connections", CONNECTIONS_MAX));
    args.push(server_option("max-prepared-stmt-count", 1 << 20));
    args.push("--skip-innodb-buffer-pool-dump-at-shutdown".into());
    args.extend(match storage {
        StorageEngine::InnoDb => innodb_arguments(flavour, params),
        StorageEngine::RocksDb => rocksdb_arguments(params),
    });
    // The last of two counts.
    args.extend(variables.iter().map(|(name, value)| server_option(name, value)));
    args
}

/// No binary log, no way out of the data directory, and rows in blocks, which MySQL does not take by default.
fn server_flags(flavour: Flavour) -> &'static [&'static str] {
    match flavour {
        Flavour::MariaDb => &["--skip-name-resolve", "--skip-log-bin", "--skip-symbolic-links", "--local-infile=ON"],
        // Without a value, secure-file-priv is a directory of the package, and the server does not start if it is missing.
        Flavour::MySql => {
            &["--skip-name-resolve", "--disable-log-bin", "--mysqlx=OFF", "--secure-file-priv=", "--local-infile=ON"]
        }
    }
}

/// Where a server that has files in `data` listens: on a port of loopback if it has a `network`, and on none otherwise.
pub fn network_arguments(flavour: Flavour, data: &Path, network: Option<&PrivateNetwork>) -> Vec<OsString> {
    let Some(network) = network else { return vec!["--skip-networking".into()] };
    let mut args = vec![
        server_option("bind-address", LOOPBACK),
        server_option("port", network.port),
        path_option("init-file", &data.join(STARTUP_FILE)),
    ];
    // MySQL has TLS in any case, and its clients need it once.
    if network.way == NetworkWay::Tls || flavour == Flavour::MySql {
        args.extend([path_option("ssl-cert", &data.join(CERTIFICATE)), path_option("ssl-key", &data.join(KEY))]);
    }
    args
}

/// The server's own number for a word of durability, the same for both storages.
fn at_commit(params: &Params) -> u32 {
    match params.word("durability") {
        "disk" => 1,
        "os" => 2,
        _ => 0,
    }
}

fn innodb_arguments(flavour: Flavour, params: &Params) -> Vec<OsString> {
    let io_capacity = params.int("io_capacity");
    let log_size = match flavour {
        Flavour::MariaDb => "innodb-log-file-size",
        Flavour::MySql => "innodb-redo-log-capacity",
    };
    vec![
        server_option("default-storage-engine", "InnoDB"),
        server_option("innodb-buffer-pool-size", params.bytes("cache").0),
        server_option(log_size, params.bytes("log_size").0),
        server_option("innodb-flush-log-at-trx-commit", at_commit(params)),
        server_option("innodb-flush-method", params.word("flush_method")),
        server_option("innodb-io-capacity-max", 10 * io_capacity),
        server_option("innodb-io-capacity", io_capacity),
    ]
}

/// InnoDB keeps the server's own tables, with the least.
fn rocksdb_arguments(params: &Params) -> Vec<OsString> {
    let direct = if params.flag("direct") { "ON" } else { "OFF" };
    vec![
        server_option("plugin-load-add", ROCKSDB_FILE),
        server_option("default-storage-engine", "RocksDB"),
        server_option("rocksdb-block-cache-size", params.bytes("cache").0),
        server_option("rocksdb-flush-log-at-trx-commit", at_commit(params)),
        server_option("rocksdb-manual-wal-flush", if params.word("durability") == "os" { "OFF" } else { "ON" }),
        // As InnoDB and PostgreSQL do; off by default, when two that wait for each other wait for a second.
        server_option("rocksdb-deadlock-detect", "ON"),
        server_option("rocksdb-use-direct-reads", direct),
        server_option("rocksdb-use-direct-io-for-flush-and-compaction", direct),
        server_option("innodb-buffer-pool-size", 16 << 20),
    ]
}
