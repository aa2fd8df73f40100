//! The parameters of the engines on MariaDB and MySQL, in addition to those that all servers have.
//!
//! Limits: what a parameter means to the server is in [`super::arguments`].

use crate::params;
use crate::params::durability_help;
use crate::reset::BETWEEN;
use crate::server::private_network::VIA;
use crate::sql::endpoints::POLICY;
use crate::sql::session_options::{self, ISOLATION, STATEMENTS, STATEMENTS_OR_ARRAYS};
use model::{Meaning, ParamDef, ParamKind, ParamRole, Phrase};

const FLUSH_METHOD: ParamDef = ParamDef {
    help: "how InnoDB opens and syncs its files (innodb_flush_method)",
    shapes_data: true,
    phrase: Phrase::Words(&[
        ("O_DIRECT", "direct writes"),
        ("fsync", "writes through the page cache"),
        ("O_DSYNC", "a synchronous log"),
        ("O_DIRECT_NO_FSYNC", "direct writes without a sync"),
    ]),
    ..ParamDef::new(
        "flush_method",
        ParamRole::Tuning,
        ParamKind::OneOf(&["O_DIRECT", "fsync", "O_DSYNC", "O_DIRECT_NO_FSYNC"]),
        "O_DIRECT",
    )
};
const IO_CAPACITY: ParamDef = ParamDef {
    help: "writes per second that InnoDB does in the background (innodb_io_capacity); innodb_io_capacity_max is set to ten times as many",
    shapes_data: true,
    phrase: Phrase::Pattern("an I/O capacity of {}"),
    ..ParamDef::new("io_capacity", ParamRole::Tuning, ParamKind::Int { min: 100, max: 1_000_000 }, "200")
};
const CONFIG: ParamDef = ParamDef {
    help: "configuration file of the server; what `--set` may not set is refused; `default` for none: a fragment of my.cnf",
    ..params::CONFIG
};
const VARIABLES: ParamDef = ParamDef {
    help: "any variable of the server, such as `--set mariadb.innodb_purge_threads=4`; read back as the fact of that name",
    shapes_data: true,
    ..ParamDef::new("mariadb.*", ParamRole::Tuning, ParamKind::Variables, "")
};
const MYSQL_VARIABLES: ParamDef = ParamDef {
    name: "mysql.*",
    help: "any variable of the server, such as `--set mysql.innodb_purge_threads=4`; read back as the fact of that name",
    ..VARIABLES
};
/// Those of `mariadb:galera`: without restarts, and without a network for clients.
pub const MARIADB_GALERA: &[ParamDef] = &session_options::params_with::<18>(
    &[DURABILITY, NODE_CACHE, FLUSH_METHOD, LOG_SIZE, IO_CAPACITY, NODES, APPLIERS, POLICY],
    [STATEMENTS_OR_ARRAYS, ISOLATION],
    &[params::ALLOCATOR, CONFIG, VARIABLES],
);
/// How many servers a cluster has.
pub const NODES: ParamDef = ParamDef {
    help: "servers of the cluster, all on this machine; each has all of the data and a cache of its own",
    shapes_data: true,
    phrase: Phrase::Counted { zero: "no node", one: "one node", many: "{} nodes" },
    ..ParamDef::new("nodes", ParamRole::Ground, ParamKind::Int { min: 2, max: 16 }, "3")
};
/// How many threads of a node apply the write sets of the others.
pub const APPLIERS: ParamDef = ParamDef {
    help: "threads of each node that apply the changes of the other nodes (wsrep_slave_threads)",
    shapes_data: true,
    phrase: Phrase::Counted { zero: "no applier", one: "one applier", many: "{} appliers" },
    ..ParamDef::new("appliers", ParamRole::Tuning, ParamKind::Int { min: 1, max: 256 }, "4")
};
const NODE_CACHE: ParamDef =
    ParamDef { help: "size of the buffer pool of each node (innodb_buffer_pool_size)", ..CACHE };
pub const MARIADB_INNODB: &[ParamDef] = &innodb_params(LOG_SIZE, STATEMENTS_OR_ARRAYS, VARIABLES);
pub const MYSQL_INNODB: &[ParamDef] = &innodb_params(REDO_LOG_CAPACITY, STATEMENTS, MYSQL_VARIABLES);

const fn innodb_params(log_size: ParamDef, statements: ParamDef, variables: ParamDef) -> [ParamDef; 17] {
    let own = [DURABILITY, CACHE, FLUSH_METHOD, log_size, IO_CAPACITY, BETWEEN];
    session_options::params_with(&own, [statements, ISOLATION], &[params::ALLOCATOR, VIA, CONFIG, variables])
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
pub const MARIADB_ROCKSDB: &[ParamDef] = &rocksdb_params(STATEMENTS_OR_ARRAYS, VARIABLES);
pub const MYSQL_ROCKSDB: &[ParamDef] = &rocksdb_params(STATEMENTS, MYSQL_VARIABLES);

const fn rocksdb_params(statements: ParamDef, variables: ParamDef) -> [ParamDef; 15] {
    let own = [ROCKSDB_DURABILITY, BLOCK_CACHE, DIRECT, BETWEEN];
    session_options::params_with(&own, [statements, ROCKSDB_ISOLATION], &[params::ALLOCATOR, VIA, CONFIG, variables])
}
const BLOCK_CACHE: ParamDef = ParamDef { help: "size of the block cache (rocksdb_block_cache_size)", ..params::CACHE };
const DIRECT: ParamDef = ParamDef {
    help: "bypass the page cache in reads, flushes and compactions, as InnoDB does; the write-ahead log stays buffered",
    shapes_data: true,
    meaning: Some(Meaning::DirectIo),
    phrase: Phrase::Words(&[("true", "direct I/O"), ("false", "I/O through the page cache")]),
    ..ParamDef::new("direct", ParamRole::Ground, ParamKind::Bool, "false")
};
