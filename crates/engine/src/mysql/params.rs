//! The parameters of the engines on MariaDB and MySQL, in addition to those that all servers have.
//!
//! Limits: what a parameter means to the server is in [`super::arguments`].

use crate::params;
use crate::params::durability_help;
use crate::reset::BETWEEN;
use crate::server::private_network::VIA;
use crate::sql::endpoints::POLICY;
use crate::sql::session_options::{self, ISOLATION};
use model::{Meaning, ParamDef, ParamKind, ParamRole};

const FLUSH_METHOD: ParamDef = ParamDef {
    name: "flush_method",
    kind: ParamKind::OneOf(&["O_DIRECT", "fsync", "O_DSYNC", "O_DIRECT_NO_FSYNC"]),
    default: "O_DIRECT",
    help: "how InnoDB opens and syncs its files (innodb_flush_method)",
    scales: false,
    shapes_data: true,
    role: ParamRole::Tuning,
    meaning: None,
    used_if: None,
};
const IO_CAPACITY: ParamDef = ParamDef {
    name: "io_capacity",
    kind: ParamKind::Int { min: 100, max: 1_000_000 },
    default: "200",
    help: "writes per second that InnoDB does in the background (innodb_io_capacity); innodb_io_capacity_max is set to ten times as many",
    scales: false,
    shapes_data: true,
    role: ParamRole::Tuning,
    meaning: None,
    used_if: None,
};
const CONFIG: ParamDef = ParamDef {
    help: "configuration file of the server; what `--set` may not set is refused; `default` for none: a fragment of my.cnf",
    ..params::CONFIG
};
const VARIABLES: ParamDef = ParamDef {
    name: "mariadb.*",
    kind: ParamKind::Variables,
    default: "",
    help: "any variable of the server, such as `--set mariadb.innodb_purge_threads=4`; read back as the fact of that name",
    scales: false,
    shapes_data: true,
    role: ParamRole::Tuning,
    meaning: None,
    used_if: None,
};
const MYSQL_VARIABLES: ParamDef = ParamDef {
    name: "mysql.*",
    help: "any variable of the server, such as `--set mysql.innodb_purge_threads=4`; read back as the fact of that name",
    ..VARIABLES
};
/// Those of `mariadb:galera`: without restarts, and without a network for clients.
pub const MARIADB_GALERA: &[ParamDef] = &session_options::params_with::<17>(
    &[DURABILITY, NODE_CACHE, FLUSH_METHOD, LOG_SIZE, IO_CAPACITY, NODES, APPLIERS, POLICY],
    ISOLATION,
    &[params::ALLOCATOR, CONFIG, VARIABLES],
);
/// How many servers a cluster has.
pub const NODES: ParamDef = ParamDef {
    name: "nodes",
    kind: ParamKind::Int { min: 2, max: 16 },
    default: "3",
    help: "servers of the cluster, all on this machine; each has all of the data and a cache of its own",
    scales: false,
    shapes_data: true,
    role: ParamRole::Ground,
    meaning: None,
    used_if: None,
};
/// How many threads of a node apply the write sets of the others.
pub const APPLIERS: ParamDef = ParamDef {
    name: "appliers",
    kind: ParamKind::Int { min: 1, max: 256 },
    default: "4",
    help: "threads of each node that apply the changes of the other nodes (wsrep_slave_threads)",
    scales: false,
    shapes_data: true,
    role: ParamRole::Tuning,
    meaning: None,
    used_if: None,
};
const NODE_CACHE: ParamDef =
    ParamDef { help: "size of the buffer pool of each node (innodb_buffer_pool_size)", ..CACHE };
pub const MARIADB_INNODB: &[ParamDef] = &innodb_params(LOG_SIZE, VARIABLES);
pub const MYSQL_INNODB: &[ParamDef] = &innodb_params(REDO_LOG_CAPACITY, MYSQL_VARIABLES);

const fn innodb_params(log_size: ParamDef, variables: ParamDef) -> [ParamDef; 16] {
    let own = [DURABILITY, CACHE, FLUSH_METHOD, log_size, IO_CAPACITY, BETWEEN];
    session_options::params_with(&own, ISOLATION, &[params::ALLOCATOR, VIA, CONFIG, variables])
}

const DURABILITY: ParamDef =
    ParamDef { help: durability_help!("innodb_flush_log_at_trx_commit = 1, 2 or 0"), ..params::DURABILITY };
const ROCKSDB_DURABILITY: ParamDef =
    ParamDef { help: durability_help!("rocksdb_flush_log_at_trx_commit = 1, 2 or 0"), ..params::DURABILITY };
/// InnoDB does not start with less: seen at 5 MiB, not at 6.
const CACHE: ParamDef = ParamDef {
    kind: ParamKind::Bytes { min: 6 << 20, max: 1 << 44 },
    help: "size of the buffer pool (innodb_buffer_pool_size)",
    ..params::CACHE
};
const LOG_SIZE: ParamDef = ParamDef { help: "size of the redo log (innodb_log_file_size)", ..params::LOG_SIZE };
const REDO_LOG_CAPACITY: ParamDef =
    ParamDef { help: "size of the redo log (innodb_redo_log_capacity)", ..params::LOG_SIZE };
/// It refuses the others: `MyRocks supports only READ COMMITTED and REPEATABLE READ isolation levels`.
const ROCKSDB_ISOLATION: ParamDef =
    ParamDef { kind: ParamKind::OneOf(&["default", "read-committed", "repeatable-read"]), ..ISOLATION };
pub const MARIADB_ROCKSDB: &[ParamDef] = &rocksdb_params(VARIABLES);
pub const MYSQL_ROCKSDB: &[ParamDef] = &rocksdb_params(MYSQL_VARIABLES);

const fn rocksdb_params(variables: ParamDef) -> [ParamDef; 14] {
    let own = [ROCKSDB_DURABILITY, BLOCK_CACHE, DIRECT, BETWEEN];
    session_options::params_with(&own, ROCKSDB_ISOLATION, &[params::ALLOCATOR, VIA, CONFIG, variables])
}
const BLOCK_CACHE: ParamDef = ParamDef { help: "size of the block cache (rocksdb_block_cache_size)", ..params::CACHE };
const DIRECT: ParamDef = ParamDef {
    name: "direct",
    kind: ParamKind::Bool,
    default: "false",
    help: "bypass the page cache in reads, flushes and compactions, as InnoDB does; the write-ahead log stays buffered",
    scales: false,
    shapes_data: true,
    role: ParamRole::Ground,
    meaning: Some(Meaning::DirectIo),
    used_if: None,
};
