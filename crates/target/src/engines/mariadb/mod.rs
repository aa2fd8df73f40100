//! MariaDB as a private server, with InnoDB or with RocksDB (MyRocks) under its tables; and MySQL or MariaDB by URL.
//!
//! In: a trial of the family sql. Out: one connection per client over a unix socket, statements prepared once. The server has
//! a directory of its own, no network, no binary log and no configuration but what stands here; it is read back as facts.
//! Limits: MariaDB 10.6 or newer. It runs as the user `mysql` (or `nobody`) where plimsoll is root.
//!
//! Durability. InnoDB, by innodb_flush_log_at_trx_commit: `disk` = 1, the redo log is synced at each commit; `os` = 2, it is
//! written at each commit and synced once a second; `none` = 0, it is written and synced once a second.
//! (<https://mariadb.com/kb/en/innodb-system-variables/#innodb_flush_log_at_trx_commit>) The doublewrite buffer is on in all.
//! RocksDB, by rocksdb_flush_log_at_trx_commit: 1, 2 and 0 mean the same for its write-ahead log, but with 2 MariaDB keeps the
//! log in the process all the same (2 writes a second for thousands of commits were seen) unless rocksdb_manual_wal_flush is
//! OFF. It is, for `os`: then each commit is written.

mod client;
mod counters;
mod foreign;
mod rest;
mod tables;
mod wire;

use super::between::{BETWEEN, Beginnings, Between};
use super::counters::ServerSource;
use super::manner::{self, Manner};
use super::sql::{Tally, connections, failed, loading, program_of};
use super::{EngineDef, Instance, Loading, MadeFor, Runs, Start, chore, depth_one_only, loaders_for};
use crate::dataset::DataDir;
use crate::error::{TargetError, shown};
use crate::server::home::Home;
use crate::server::place::Place;
use crate::server::program::{self, Program};
use crate::server::url::{PASSWORD_FILE, Password, URL, Url};
use crate::server::variables::{Rules, Variables};
use ::mysql::Conn;
use ::mysql::prelude::Queryable;
use client::{Address, ConnectMysql, failure};
use model::{Bytes, CounterSource, Entry, Fact, Family, ParamDef, ParamKind, Params, SqlOp, Trial};
use rest::Rest;
use rustix::process::Signal;
use std::cell::RefCell;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use workload::{Beside, Kind, Part, Work};

/// The engine `mariadb:innodb`.
pub static INNODB: EngineDef = EngineDef {
    entry: Entry {
        name: "mariadb:innodb",
        help: "MariaDB as a private server, tables in InnoDB: a B-tree with redo log; `mariadb` for short",
        families: &[Family::Sql],
        params: INNODB_PARAMS,
    },
    runs: Runs::Server,
    // Random inserts leave pages half full; undo, temporary tables and the redo log stand beside.
    disk_peak: |data, params| Bytes(2 * data.0 + (256 << 20) + params.bytes("log_size").0),
    version: || version(Storage::InnoDb),
    check: |trial| check(Storage::InnoDb, trial),
    start: |start| Ok(Box::new(Mariadb::start(Storage::InnoDb, start)?)),
};

/// The engine `mariadb:rocksdb`.
pub static ROCKSDB: EngineDef = EngineDef {
    entry: Entry {
        name: "mariadb:rocksdb",
        help: "MariaDB as a private server, tables in RocksDB (MyRocks): a log-structured merge tree",
        families: &[Family::Sql],
        params: ROCKSDB_PARAMS,
    },
    runs: Runs::Server,
    // A compaction writes its tables anew before the old ones go; the write-ahead log holds once more what is in memory.
    disk_peak: |data, _| Bytes(2 * data.0 + (512 << 20)),
    version: || version(Storage::RocksDb),
    check: |trial| check(Storage::RocksDb, trial),
    start: |start| Ok(Box::new(Mariadb::start(Storage::RocksDb, start)?)),
};

/// The engine `mysql`.
pub static MYSQL: EngineDef = EngineDef {
    entry: Entry {
        name: "mysql",
        help: "a MySQL or MariaDB server that somebody else runs, by its URL; works in a schema of its own",
        families: &[Family::Sql],
        params: &[
            URL,
            PASSWORD_FILE,
            STORAGE,
            manner::STATEMENTS,
            manner::ISOLATION,
            manner::CONNECTION,
            manner::RECONNECT,
            manner::RETRIES_FOR,
        ],
    },
    runs: Runs::Elsewhere,
    // Nothing is on this machine.
    disk_peak: |_, _| Bytes(0),
    version: || Err(format!("named by its URL: --engine {EXAMPLE}")),
    check: |trial| depth_one_only(trial).and_then(|()| Url::of(&trial.target.params, &["mysql"], EXAMPLE).map(drop)),
    start: |start| Ok(Box::new(Mariadb::visit(start)?)),
};

const EXAMPLE: &str = "mysql://user@host:3306/";
const STORAGE: ParamDef = ParamDef {
    name: "storage",
    kind: ParamKind::OneOf(&["InnoDB", "RocksDB"]),
    default: "InnoDB",
    help: "what the server keeps the tables in",
    scales: false,
    shapes_data: true,
};

/// The counter sources of both.
pub const SOURCES: &[&ServerSource] = &[&counters::INNODB, &counters::MYROCKS];

const FLUSH_METHOD: ParamDef = ParamDef {
    name: "flush_method",
    kind: ParamKind::OneOf(&["O_DIRECT", "fsync", "O_DSYNC", "O_DIRECT_NO_FSYNC"]),
    default: "O_DIRECT",
    help: "how InnoDB opens and syncs its files (innodb_flush_method)",
    scales: false,
    shapes_data: true,
};
const IO_CAPACITY: ParamDef = ParamDef {
    name: "io_capacity",
    kind: ParamKind::Int { min: 100, max: 1_000_000 },
    default: "200",
    help: "writes per second that InnoDB does in the background; ten times as many when it must (innodb_io_capacity)",
    scales: false,
    shapes_data: true,
};
const VARIABLES: ParamDef = ParamDef {
    name: "mariadb.*",
    kind: ParamKind::Variables,
    default: "",
    help: "any variable of the server, such as `--set mariadb.innodb_purge_threads=4`; read back as the fact of that name",
    scales: false,
    shapes_data: true,
};
const INNODB_PARAMS: &[ParamDef] = &[
    super::DURABILITY,
    CACHE,
    FLUSH_METHOD,
    super::LOG_SIZE,
    IO_CAPACITY,
    BETWEEN,
    manner::STATEMENTS,
    manner::ISOLATION,
    manner::CONNECTION,
    manner::RECONNECT,
    manner::RETRIES_FOR,
    VARIABLES,
];
/// InnoDB does not start with less: seen at 5 MiB, not at 6.
const CACHE: ParamDef =
    ParamDef { kind: ParamKind::Bytes { min: 6 << 20, max: 1 << 44 }, help: "size of the buffer pool", ..super::CACHE };
/// It refuses the others: `MyRocks supports only READ COMMITTED and REPEATABLE READ isolation levels`.
const ROCKSDB_ISOLATION: ParamDef =
    ParamDef { kind: ParamKind::OneOf(&["default", "read-committed", "repeatable-read"]), ..manner::ISOLATION };
const ROCKSDB_PARAMS: &[ParamDef] = &[
    super::DURABILITY,
    super::CACHE,
    DIRECT,
    BETWEEN,
    manner::STATEMENTS,
    ROCKSDB_ISOLATION,
    manner::CONNECTION,
    manner::RECONNECT,
    manner::RETRIES_FOR,
    VARIABLES,
];
const DIRECT: ParamDef = ParamDef {
    name: "direct",
    kind: ParamKind::Bool,
    default: "false",
    help: "read, flush and compact past the page cache, as InnoDB does; the write-ahead log stays buffered",
    scales: false,
    shapes_data: true,
};

/// What plans may not say of the server. `log_bin` they may: the binary log is a part of many an experiment.
const RULES: Rules = Rules {
    server: "mariadb",
    by_parameter: &[
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
    ],
    closed: &[
        "datadir",
        "basedir",
        "socket",
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
        "max_connections",
        "max_prepared_stmt_count",
        "character_set_*",
        "collation_*",
        "tx_read_only",
        "transaction_read_only",
        "sql_mode",
        "autocommit",
        "completion_type",
    ],
};

/// What the server's files are made with, too.
const OF_ITS_FILES: [&str; 2] = ["innodb_page_size", "innodb_undo_tablespaces"];

const PLACES: &[&str] = &["/usr/sbin", "/usr/libexec", "/usr/local/sbin", "/usr/local/mysql/bin"];
const SERVER: Program = Program { name: "mariadbd", places: PLACES, package: "mariadb-server" };
const INSTALL: Program = Program { name: "mariadb-install-db", places: PLACES, package: "mariadb-server" };
const ROCKSDB_PLUGIN: Program = Program {
    name: "ha_rocksdb.so",
    places: &["/usr/lib/mysql/plugin", "/usr/lib64/mysql/plugin", "/usr/lib64/mariadb/plugin"],
    package: "mariadb-plugin-rocksdb",
};

const USER: &str = "mysql";
const SOCKET: &str = "m.sock";
const DATABASE: &str = "plimsoll";

/// More than any plan has clients: connections cost nothing before they are made.
const CONNECTIONS_MAX: u32 = 16_500;
/// One for the instance itself, one for the counters, and a few for a curious person.
const CONNECTIONS_KEPT: u32 = 10;

/// Counting rows and flushing take as long as they take.
const KEEPER_PATIENCE: Duration = Duration::from_secs(600);

/// What is under the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Storage {
    InnoDb,
    RocksDb,
}

impl Storage {
    /// As CREATE TABLE names it.
    fn as_str(self) -> &'static str {
        match self {
            Storage::InnoDb => "InnoDB",
            Storage::RocksDb => "RocksDB",
        }
    }

    /// The variable that decides about durability.
    fn durability_variable(self) -> &'static str {
        match self {
            Storage::InnoDb => "innodb_flush_log_at_trx_commit",
            Storage::RocksDb => "rocksdb_flush_log_at_trx_commit",
        }
    }

    /// The variables that are read back as facts.
    fn variables(self) -> &'static [&'static str] {
        match self {
            Storage::InnoDb => &[
                "innodb_flush_log_at_trx_commit",
                "innodb_buffer_pool_size",
                "innodb_log_file_size",
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
            Storage::RocksDb => &[
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

fn version(storage: Storage) -> Result<String, String> {
    INSTALL.find()?;
    if storage == Storage::RocksDb {
        ROCKSDB_PLUGIN.find()?;
    }
    SERVER.version()
}

fn check(storage: Storage, trial: &Trial) -> Result<(), TargetError> {
    depth_one_only(trial)?;
    let missing = |why| TargetError::Unsupported(format!("engine `{}`: {why}", trial.target.engine));
    let needed = [Some(&SERVER), Some(&INSTALL), (storage == Storage::RocksDb).then_some(&ROCKSDB_PLUGIN)];
    needed.into_iter().flatten().try_for_each(|program| program.find().map(drop)).map_err(missing)?;
    RULES.check(&RULES.variables(&trial.target.params))
}

struct Mariadb {
    storage: Storage,
    /// Counts rows and reads settings back, never while clients wait.
    keeper: RefCell<Conn>,
    address: Address,
    tables: Vec<String>,
    /// Of the data that is made.
    seed: u64,
    tally: Arc<Tally>,
    made_for: MadeFor,
    /// That the plan sets.
    variables: Variables,
    /// What points begin with, and what a private server is started with for it.
    begins: Beginnings,
    params: Params,
    /// Of the clients of the last trial, or the first.
    manner: Manner,
    place: Place,
}

impl Mariadb {
    fn start(storage: Storage, start: &Start) -> Result<Mariadb, TargetError> {
        check(storage, start.trial)?;
        let params = &start.trial.target.params;
        let dir = DataDir::create(start.parent, start.data, start.trial.seed)?;
        let mut home = Home::make(dir, "mariadb", USER, Signal::KILL)?.held_in(start.cage);
        let variables = RULES.variables(params);
        let blamed = |error| RULES.blamed(&variables, error);
        home.set_up(INSTALL.needed()?, install_arguments(home.data(), &variables)).map_err(blamed)?;
        let address = Address::private(home.socket(SOCKET), format!("mariadb in `{}`", shown(home.dir.path())));
        let answers = || address.connect(KEEPER_PATIENCE).map(drop).map_err(|failure| failure.text);
        let args = server_arguments(storage, home.data(), params, &variables);
        home.start(SERVER.needed()?, args, answers).map_err(blamed)?;
        let mut keeper = address.connect(KEEPER_PATIENCE).map_err(|failure| failed(address.shown(), failure))?;
        let made = keeper.query_drop(format!("CREATE DATABASE {DATABASE}"));
        let made = made.and_then(|()| keeper.query_drop(format!("USE {DATABASE}")));
        made.map_err(|error| failed(address.shown(), failure(error)))?;
        let (address, keeper) = (address.in_database(DATABASE), RefCell::new(keeper));
        let (tally, made_for, tables) = (Arc::default(), MadeFor::new(start), Vec::new());
        let (begins, params) = (Beginnings::of(params), params.clone());
        let (place, seed) = (Place::Private(Box::new(home)), start.trial.seed);
        let manner = Manner::of(start.trial);
        let made = Mariadb {
            storage,
            keeper,
            address,
            tables,
            seed,
            tally,
            made_for,
            variables,
            begins,
            params,
            manner,
            place,
        };
        RULES.known(&made.variables, |name| made.variable(name)).map(|()| made)
    }

    /// Makes a schema on a server that somebody else runs.
    fn visit(start: &Start) -> Result<Mariadb, TargetError> {
        let params = &start.trial.target.params;
        let url = Url::of(params, &["mysql"], EXAMPLE)?;
        let server = Address::foreign(&url, Password::of(params)?.as_ref());
        let storage = if params.word("storage") == "RocksDB" { Storage::RocksDb } else { Storage::InnoDb };
        let (address, keeper, foreign) = foreign::visit(&server, &url)?;
        let (tally, made_for, keeper) = (Arc::default(), MadeFor::new(start), RefCell::new(keeper));
        Ok(Mariadb {
            storage,
            keeper,
            address,
            tables: Vec::new(),
            seed: start.trial.seed,
            tally,
            made_for,
            variables: Variables::default(),
            begins: Beginnings::unchanged(),
            params: params.clone(),
            manner: Manner::of(start.trial),
            place: Place::Foreign(foreign),
        })
    }

    /// Ends the server, in order where its data is to stay, does `meanwhile` to its directory, and starts it again.
    fn restart(
        &mut self,
        in_order: bool,
        meanwhile: fn(&mut Beginnings, &mut DataDir, &Path) -> Result<(), TargetError>,
    ) -> Result<(), TargetError> {
        let Place::Private(home) = &mut self.place else { return Ok(()) };
        home.end(in_order.then_some(Signal::TERM))?;
        let data = home.data().to_owned();
        meanwhile(&mut self.begins, &mut home.dir, &data)?;
        let answers = || self.address.connect(KEEPER_PATIENCE).map(drop).map_err(|failure| failure.text);
        home.start(SERVER.needed()?, server_arguments(self.storage, &data, &self.params, &self.variables), answers)?;
        let keeper = self.address.connect(KEEPER_PATIENCE).map_err(|failure| failed(self.address.shown(), failure))?;
        self.keeper = RefCell::new(keeper);
        Ok(())
    }

    fn all(
        &self,
        manner: Manner,
        statements: Vec<String>,
        part: &Part<SqlOp>,
        beside: Option<&Beside<SqlOp>>,
        kinds: &[Kind],
        clients: u32,
    ) -> Loading {
        let connect = ConnectMysql { address: self.address.clone(), statements: statements.into(), manner };
        loading(part, beside, kinds, clients, &connect, &self.tally)
    }

    fn run(&self, statement: &str) -> Result<(), TargetError> {
        let done = self.keeper.borrow_mut().query_drop(statement);
        done.map_err(|error| failed(self.address.shown(), failure(error)))
    }

    /// The first number of the answer's first row.
    fn number(&self, question: &str) -> Result<u64, TargetError> {
        let answer = self.keeper.borrow_mut().query_first::<u64, _>(question);
        answer.map(Option::unwrap_or_default).map_err(|error| failed(self.address.shown(), failure(error)))
    }

    fn variable(&self, name: &str) -> Option<String> {
        let asked = format!("SHOW GLOBAL VARIABLES LIKE '{name}'");
        let answer = self.keeper.borrow_mut().query_first::<(String, String), _>(asked);
        answer.ok().flatten().map(|(_, value)| value)
    }

    /// The level at which the clients' transactions are, as the server has it.
    fn isolation(&self) -> Option<String> {
        let (address, manner) = (self.address.clone(), self.manner.clone());
        let mut connection = ConnectMysql { address, statements: [].into(), manner }.connection().ok()?;
        // MySQL and MariaDB from 11.1 on have the first name, MariaDB has always had the second.
        let names = ["@@session.transaction_isolation", "@@session.tx_isolation"];
        let told = names.iter().find_map(|name| connection.query_first::<String, _>(format!("SELECT {name}")).ok()?);
        told.map(|told| manner::isolation_word(&told))
    }

    /// Counted and not assumed: what is sealed is what is there.
    fn rows(&self) -> Result<u64, TargetError> {
        let count = |table: &String| self.number(&format!("SELECT count(*) FROM {}", tables::quoted(table)));
        self.tables.iter().map(count).sum()
    }

    /// What clients need to do other work on the data than statements.
    fn chores(&self, work: Work) -> rest::MariadbChores {
        rest::MariadbChores { address: self.address.clone(), rest: self.rest(), work: work.into() }
    }

    fn rest(&self) -> Rest {
        Rest { storage: self.storage, tables: self.tables.clone().into(), private: self.place.is_private() }
    }
}

impl Instance for Mariadb {
    fn facts(&self) -> Vec<Fact> {
        let value = |name| self.variable(name).unwrap_or("unknown".into());
        let kept_back = value("rocksdb_manual_wal_flush") == "ON";
        let durability = match value(self.storage.durability_variable()).as_str() {
            "1" => "disk",
            "2" if !kept_back => "os",
            "0" | "2" => "none",
            _ => "unknown",
        };
        let mut facts = vec![Fact::new("engine.version", value("version")), Fact::new("durability", durability)];
        let known = self.storage.variables().iter().filter_map(|name| Some((name, self.variable(name)?)));
        facts.extend(known.map(|(name, value)| Fact::new(format!("mariadb.{name}"), value)));
        let told = |fact: &Fact| facts.iter().any(|known| known.name == fact.name);
        let set = RULES.facts(&self.variables, |name| self.variable(name));
        let set: Vec<Fact> = set.into_iter().filter(|fact| !told(fact)).collect();
        facts.extend(set);
        facts.push(Fact::new("isolation", self.isolation().unwrap_or("unknown".into())));
        facts.extend(self.place.facts());
        facts.extend(self.begins.facts());
        facts
    }

    fn closing_facts(&self) -> Vec<Fact> {
        let ended = self.place.facts().into_iter().filter(|fact| fact.name == "server.ended");
        self.tally.facts().into_iter().chain(ended).collect()
    }

    fn loaders(&mut self, trial: &Trial) -> Result<Option<Loading>, TargetError> {
        let program = program_of(trial, &self.made_for.carried);
        for table in &program.schema {
            self.run(&tables::create(table, self.storage.as_str()))?;
            self.tables.push(table.name.clone());
        }
        let Some(load) = &program.load else { return Ok(None) };
        let manner = Manner::of_loaders(trial);
        Ok(Some(self.all(manner, program.load_statements, load, None, &program.kinds, loaders_for(load.ops))))
    }

    fn loaded(&mut self) -> Result<(), TargetError> {
        let brought = self.rest().bring(&mut self.keeper.borrow_mut());
        brought.map_err(|error| failed(self.address.shown(), failure(error)))?;
        let rows = self.rows()?;
        if self.begins.between != Between::Keep {
            self.restart(true, Beginnings::loaded)?;
        }
        self.place.seal(rows, self.seed)
    }

    fn restores(&self) -> bool {
        self.begins.restores()
    }

    fn begin_again(&mut self, continues: bool) -> Result<(), TargetError> {
        if !self.begins.changes(continues) {
            return Ok(());
        }
        if self.begins.restores() {
            self.made_for.forget();
        }
        self.restart(!self.restores(), |begins, _, data| begins.again(data))
    }

    fn clients(&mut self, trial: &Trial) -> Result<Loading, TargetError> {
        self.made_for.check_on(&self.place, trial)?;
        let program = program_of(trial, &self.made_for.carried);
        check_connections(connections(trial, &program), self.variable("max_connections"))?;
        self.manner = Manner::of(trial);
        if program.work != Work::Calls {
            return Ok(chore::loading(&program.run, &program.kinds, trial.load.clients, &self.chores(program.work)));
        }
        let (run, beside) = (&program.run, program.beside.as_ref());
        Ok(self.all(self.manner.clone(), program.statements, run, beside, &program.kinds, trial.load.clients))
    }

    fn processes(&self) -> Vec<u32> {
        self.place.processes()
    }

    fn sources(&self) -> Vec<Box<dyn CounterSource>> {
        counters::sources(self.storage, &self.address)
    }

    fn warnings(&self) -> Vec<String> {
        let set = RULES.warnings(&self.variables, |name| self.variable(name));
        self.place.warnings().into_iter().chain(set).collect()
    }

    fn trouble(&self) -> Option<String> {
        self.place.trouble(self.tally.has_lost())
    }

    fn footprint(&self) -> Bytes {
        let sizes = "SELECT CAST(COALESCE(sum(data_length + index_length), 0) AS UNSIGNED) \
                     FROM information_schema.tables WHERE table_schema = database()";
        self.place.footprint(|| Bytes(self.number(sizes).unwrap_or_default()))
    }

    fn rows(&self) -> Option<u64> {
        self.place.rows()
    }

    fn log_footprint(&self) -> Option<Bytes> {
        self.place.log_footprint()
    }

    fn stop(self: Box<Self>) -> Result<(), TargetError> {
        // The data goes with it, so it need not shut down in order: it is killed, which takes milliseconds.
        self.place.remove()
    }
}

/// The server lowers its limit by itself where it may open few files.
fn check_connections(clients: u32, max_connections: Option<String>) -> Result<(), TargetError> {
    let most: u32 = max_connections.and_then(|text| text.parse().ok()).unwrap_or(CONNECTIONS_MAX);
    if clients + CONNECTIONS_KEPT <= most {
        return Ok(());
    }
    Err(TargetError::Unsupported(format!(
        "{clients} clients do not fit: the server takes max_connections = `{most}`, of which {CONNECTIONS_KEPT} are kept; \
         raise the limit of open files (`ulimit -n`) or use fewer clients"
    )))
}

fn option(name: &str, value: impl std::fmt::Display) -> OsString {
    format!("--{name}={value}").into()
}

fn path_option(name: &str, path: &Path) -> OsString {
    let mut option = OsString::from(format!("--{name}="));
    option.push(path);
    option
}

/// A server that was unpacked somewhere has messages, scripts and plugins beside its programs, and looks for them elsewhere.
fn own_tree() -> Vec<OsString> {
    let Some(dir) = program::first().filter(|dir| dir.join("share").is_dir()) else { return Vec::new() };
    let plugins = dir.join("lib/plugin");
    let plugins = plugins.is_dir().then(|| path_option("plugin-dir", &plugins));
    [path_option("basedir", dir)].into_iter().chain(plugins).collect()
}

/// Its tables of its own need no sync: they go with the rest, and 0.5 s instead of 2.5 s is gained.
///
/// A server that starts removes every temporary table (`#sql*`) in its directory for these, also those of a server that is being set
/// up beside it: so each has its own from the start, and never /tmp.
fn install_arguments(data: &Path, variables: &Variables) -> Vec<OsString> {
    let mut args: Vec<OsString> =
        vec!["--no-defaults".into(), path_option("datadir", data), path_option("tmpdir", data)];
    args.extend(own_tree());
    args.extend(["--auth-root-authentication-method=normal", "--skip-test-db", "--debug-no-sync"].map(OsString::from));
    args.extend(
        variables.iter().filter(|(name, _)| OF_ITS_FILES.contains(name)).map(|(name, value)| option(name, value)),
    );
    args
}

fn server_arguments(storage: Storage, data: &Path, params: &Params, variables: &Variables) -> Vec<OsString> {
    // No files but these: --no-defaults must come first.
    let mut args: Vec<OsString> = vec!["--no-defaults".into(), path_option("datadir", data)];
    args.extend(own_tree());
    args.extend([path_option("tmpdir", data), path_option("pid-file", &data.join("m.pid")), option("socket", SOCKET)]);
    args.extend(
        ["--skip-networking", "--skip-name-resolve", "--skip-log-bin", "--skip-symbolic-links"].map(OsString::from),
    );
    args.push(option("character-set-server", "latin1"));
    args.push(option("max-connections", CONNECTIONS_MAX));
    args.push(option("max-prepared-stmt-count", 1 << 20));
    args.push("--skip-innodb-buffer-pool-dump-at-shutdown".into());
    args.extend(match storage {
        Storage::InnoDb => innodb_arguments(params),
        Storage::RocksDb => rocksdb_arguments(params),
    });
    // The last of two counts.
    args.extend(variables.iter().map(|(name, value)| option(name, value)));
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

fn innodb_arguments(params: &Params) -> Vec<OsString> {
    let io_capacity = params.int("io_capacity");
    vec![
        option("default-storage-engine", "InnoDB"),
        option("innodb-buffer-pool-size", params.bytes("cache").0),
        option("innodb-log-file-size", params.bytes("log_size").0),
        option("innodb-flush-log-at-trx-commit", at_commit(params)),
        option("innodb-flush-method", params.word("flush_method")),
        option("innodb-io-capacity-max", 10 * io_capacity),
        option("innodb-io-capacity", io_capacity),
    ]
}

/// InnoDB keeps the server's own tables, with the least.
fn rocksdb_arguments(params: &Params) -> Vec<OsString> {
    let direct = if params.flag("direct") { "ON" } else { "OFF" };
    vec![
        option("plugin-load-add", ROCKSDB_PLUGIN.name),
        option("default-storage-engine", "RocksDB"),
        option("rocksdb-block-cache-size", params.bytes("cache").0),
        option("rocksdb-flush-log-at-trx-commit", at_commit(params)),
        option("rocksdb-manual-wal-flush", if params.word("durability") == "os" { "OFF" } else { "ON" }),
        // As InnoDB and PostgreSQL do; off by default, when two that wait for each other wait for a second.
        option("rocksdb-deadlock-detect", "ON"),
        option("rocksdb-use-direct-reads", direct),
        option("rocksdb-use-direct-io-for-flush-and-compaction", direct),
        option("innodb-buffer-pool-size", 16 << 20),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_that_the_server_would_turn_away_are_refused_with_its_variable() {
        check_connections(141, Some("151".into())).unwrap();
        let text = check_connections(142, Some("151".into())).unwrap_err().to_string();
        assert!(text.contains("142 clients") && text.contains("max_connections = `151`"), "{text}");
    }
}
