//! PostgreSQL as a private server, and by URL.
//!
//! In: a trial of the family sql. Out: one connection, and so one server process, per client over a unix socket, statements
//! prepared once. The server has a directory of its own, no network and no configuration but its defaults and what stands
//! here; it is read back as facts. Limits: it runs as the user `postgres` (or `nobody`) where plimsoll is root.
//!
//! Durability: `disk` = fsync and synchronous_commit on; `os` = fsync on, synchronous_commit off: commits are handed to the
//! system and synced by the WAL writer every 200 ms, so that a killed server, too, may lose up to 0.6 s, where InnoDB and
//! SQLite lose nothing: PostgreSQL has nothing nearer; `none` = both off.
//! (<https://www.postgresql.org/docs/current/wal-async-commit.html>)

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
use crate::server::program::Program;
use crate::server::url::{PASSWORD_FILE, Password, URL, Url};
use crate::server::variables::{Rules, Variables};
use client::{Address, ConnectPostgres, failure};
use model::{Bytes, CounterSource, Entry, Fact, Family, ParamDef, ParamKind, Params, SqlOp, Trial};
use rest::Rest;
use rustix::process::Signal;
use std::cell::RefCell;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use wire::{Wire, WireError};
use workload::{Beside, Carried, Kind, Part, Work};

/// The engine `postgres`.
pub static POSTGRES: EngineDef = EngineDef {
    entry: Entry {
        name: "postgres",
        help: "PostgreSQL as a private server: heap tables with B-tree indexes and a write-ahead log",
        families: &[Family::Sql],
        params: PARAMS,
    },
    runs: Runs::Server,
    // Rows have headers of 24 bytes, and changed ones stand twice until they are vacuumed. The log of the default size may
    // grow beyond it while a checkpoint is under way.
    disk_peak: |data, params| Bytes(3 * data.0 + (256 << 20) + params.bytes("log_size").0 * 2),
    version,
    check,
    start: |start| Ok(Box::new(Postgres::start(start)?)),
};

/// The engine `postgresql`.
pub static POSTGRESQL: EngineDef = EngineDef {
    entry: Entry {
        name: "postgresql",
        help: "a PostgreSQL server that somebody else runs, by its URL; works in a schema of its own",
        families: &[Family::Sql],
        params: &[
            URL,
            PASSWORD_FILE,
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
    check: |trial| depth_one_only(trial).and_then(|()| Url::of(&trial.target.params, SCHEMES, EXAMPLE).map(drop)),
    start: |start| Ok(Box::new(Postgres::visit(start)?)),
};

const SCHEMES: &[&str] = &["postgres", "postgresql"];
const EXAMPLE: &str = "postgres://user@host:5432/database";

/// Its counter source.
pub const SOURCES: &[&ServerSource] = &[&counters::POSTGRES];

const PARAMS: &[ParamDef] = &[
    super::DURABILITY,
    super::CACHE,
    super::LOG_SIZE,
    BETWEEN,
    manner::STATEMENTS,
    manner::ISOLATION,
    manner::CONNECTION,
    manner::RECONNECT,
    manner::RETRIES_FOR,
    VARIABLES,
];
const VARIABLES: ParamDef = ParamDef {
    name: "postgres.*",
    kind: ParamKind::Variables,
    default: "",
    help: "any setting of the server, such as `--set postgres.work_mem=16MB`; read back as the fact of that name",
    scales: false,
    shapes_data: true,
};

/// What plans may not say of the server.
const RULES: Rules = Rules {
    server: "postgres",
    by_parameter: &[
        ("shared_buffers", "cache"),
        ("max_wal_size", "log_size"),
        ("fsync", "durability"),
        ("synchronous_commit", "durability"),
    ],
    closed: &[
        "data_directory",
        "config_file",
        "hba_file",
        "ident_file",
        "external_pid_file",
        "listen_addresses",
        "port",
        "bonjour*",
        "unix_socket_*",
        "ssl*",
        "krb_*",
        "db_user_namespace",
        "log_*",
        "logging_*",
        "syslog_*",
        "event_source",
        "*_command",
        "*_libraries",
        "*_library",
        "*_path",
        "archive_*",
        "primary_*",
        "restore_*",
        "recovery_*",
        "promote_*",
        "allow_*",
        "include*",
        "max_connections",
        "superuser_*",
        "reserved_*",
        "default_transaction_read_only",
        "exit_on_error",
        "restart_after_crash",
        "*_preload_libraries",
        "role",
        "session_authorization",
        "search_path",
        "client_encoding",
        "lc_*",
        "stats_temp_directory",
    ],
};

const PLACES: &[&str] = &["/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/local/pgsql/bin"];
const SERVER: Program = Program { name: "postgres", places: PLACES, package: "postgresql" };
const INSTALL: Program = Program { name: "initdb", places: PLACES, package: "postgresql" };

const USER: &str = "postgres";
/// The owner of the private database.
const ROLE: &str = "plimsoll";
/// The socket's name is made of the port, though there is none.
const SOCKET: &str = ".s.PGSQL.5432";

/// Each takes shared memory from the start, some 20 KB.
const CONNECTIONS_MAX: u32 = 2_000;
/// For the instance itself, for the counters, and those that the server keeps for its owner.
const CONNECTIONS_KEPT: u32 = 10;

/// The load may leave much to be written out.
const KEEPER_PATIENCE: Duration = Duration::from_secs(600);

/// The settings that are read back as facts.
const SETTINGS: [&str; 13] = [
    "fsync",
    "synchronous_commit",
    "wal_sync_method",
    "full_page_writes",
    "wal_level",
    "shared_buffers",
    "max_wal_size",
    "checkpoint_timeout",
    "autovacuum",
    "block_size",
    "data_checksums",
    "max_connections",
    "default_transaction_isolation",
];

fn version() -> Result<String, String> {
    INSTALL.find()?;
    SERVER.version()
}

fn check(trial: &Trial) -> Result<(), TargetError> {
    depth_one_only(trial)?;
    let missing = |why| TargetError::Unsupported(format!("engine `postgres`: {why}"));
    [&SERVER, &INSTALL].into_iter().try_for_each(|program| program.find().map(drop)).map_err(missing)?;
    RULES.check(&RULES.variables(&trial.target.params))?;
    let clients = connections(trial, &program_of(trial, &Carried::default()));
    if clients + CONNECTIONS_KEPT <= CONNECTIONS_MAX {
        return Ok(());
    }
    Err(TargetError::Unsupported(format!(
        "{clients} clients do not fit: the server is started with max_connections = `{CONNECTIONS_MAX}`, of which \
         {CONNECTIONS_KEPT} are kept; use fewer clients"
    )))
}

struct Postgres {
    /// Counts rows and reads settings back, never while clients wait.
    keeper: RefCell<Wire>,
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

impl Postgres {
    fn start(start: &Start) -> Result<Postgres, TargetError> {
        check(start.trial)?;
        let params = &start.trial.target.params;
        let dir = DataDir::create(start.parent, start.data, start.trial.seed)?;
        // When asked by SIGQUIT it ends at once, all its processes with it, and gives back its shared memory.
        let mut home = Home::make(dir, "postgres", USER, Signal::QUIT)?.held_in(start.cage);
        home.set_up(INSTALL.needed()?, install_arguments(home.data()))?;
        let name = format!("postgres in `{}`", shown(home.dir.path()));
        let address = Address::private(home.socket(SOCKET), ROLE, name);
        let answers = || address.connect(KEEPER_PATIENCE).map(drop).map_err(|failure| failure.text);
        let variables = RULES.variables(params);
        let args = server_arguments(home.data(), params, &variables);
        home.start(SERVER.needed()?, args, answers).map_err(|error| RULES.blamed(&variables, error))?;
        let keeper = address.connect(KEEPER_PATIENCE).map_err(|failure| failed(address.shown(), failure))?;
        let (tally, made_for) = (Arc::default(), MadeFor::new(start));
        let (place, keeper, seed) = (Place::Private(Box::new(home)), RefCell::new(keeper), start.trial.seed);
        let (begins, params, manner) = (Beginnings::of(params), params.clone(), Manner::of(start.trial));
        let tables = Vec::new();
        let made =
            Postgres { keeper, address, tables, seed, tally, made_for, variables, begins, params, manner, place };
        RULES.known(&made.variables, |name| made.known(name)).map(|()| made)
    }

    /// Makes a schema on a server that somebody else runs.
    fn visit(start: &Start) -> Result<Postgres, TargetError> {
        let params = &start.trial.target.params;
        let url = Url::of(params, SCHEMES, EXAMPLE)?;
        let server = Address::foreign(&url, Password::of(params)?);
        let (address, keeper, foreign) = foreign::visit(&server, &url)?;
        let (tally, made_for, seed) = (Arc::default(), MadeFor::new(start), start.trial.seed);
        let (place, keeper, variables) = (Place::Foreign(foreign), RefCell::new(keeper), Variables::default());
        let (begins, params, manner) = (Beginnings::unchanged(), params.clone(), Manner::of(start.trial));
        let tables = Vec::new();
        Ok(Postgres { keeper, address, tables, seed, tally, made_for, variables, begins, params, manner, place })
    }

    /// Ends the server, in order where its data is to stay, does `meanwhile` to its directory, and starts it again.
    fn restart(
        &mut self,
        in_order: bool,
        meanwhile: fn(&mut Beginnings, &mut DataDir, &Path) -> Result<(), TargetError>,
    ) -> Result<(), TargetError> {
        let Place::Private(home) = &mut self.place else { return Ok(()) };
        // The fast shutdown, which waits for no client.
        home.end(in_order.then_some(Signal::INT))?;
        let data = home.data().to_owned();
        meanwhile(&mut self.begins, &mut home.dir, &data)?;
        let answers = || self.address.connect(KEEPER_PATIENCE).map(drop).map_err(|failure| failure.text);
        home.start(SERVER.needed()?, server_arguments(&data, &self.params, &self.variables), answers)?;
        let keeper = self.address.connect(KEEPER_PATIENCE).map_err(|failure| failed(self.address.shown(), failure))?;
        self.keeper = RefCell::new(keeper);
        Ok(())
    }

    fn all(
        &self,
        manner: Manner,
        statements: &[String],
        part: &Part<SqlOp>,
        beside: Option<&Beside<SqlOp>>,
        kinds: &[Kind],
        clients: u32,
    ) -> Loading {
        let connect = ConnectPostgres { address: self.address.clone(), statements: statements.into(), manner };
        loading(part, beside, kinds, clients, &connect, &self.tally)
    }

    fn run(&self, statement: &str) -> Result<(), TargetError> {
        self.keeper.borrow_mut().run(statement).map_err(|error| self.failed(error))
    }

    /// The first value of the answer's first row.
    fn value(&self, question: &str) -> Result<String, TargetError> {
        let rows = self.keeper.borrow_mut().rows(question).map_err(|error| self.failed(error))?;
        Ok(rows.into_iter().flatten().next().flatten().unwrap_or_default())
    }

    fn setting(&self, name: &str) -> String {
        self.known(name).unwrap_or("unknown".into())
    }

    fn known(&self, name: &str) -> Option<String> {
        self.value(&format!("SHOW {name}")).ok()
    }

    /// The level at which the clients' transactions are, as the server has it.
    fn isolation(&self) -> Option<String> {
        let (address, manner) = (self.address.clone(), self.manner.clone());
        let mut wire = ConnectPostgres { address, statements: [].into(), manner }.connection().ok()?;
        let told = wire.rows("SHOW transaction_isolation").ok()?.into_iter().flatten().next().flatten();
        told.map(|told| manner::isolation_word(&told))
    }

    /// Counted and not assumed: what is sealed is what is there.
    fn rows(&self) -> Result<u64, TargetError> {
        let count = |table: &String| {
            let counted = self.value(&format!("SELECT count(*) FROM {}", tables::quoted(table)))?;
            Ok(counted.parse::<u64>().unwrap_or_default())
        };
        self.tables.iter().map(count).sum()
    }

    /// What clients need to do other work on the data than statements.
    fn chores(&self, work: Work) -> rest::PostgresChores {
        rest::PostgresChores { address: self.address.clone(), rest: self.rest(), work: work.into() }
    }

    fn rest(&self) -> Rest {
        Rest { tables: self.tables.clone().into(), private: self.place.is_private() }
    }

    fn failed(&self, error: WireError) -> TargetError {
        failed(self.address.shown(), failure(error))
    }
}

impl Instance for Postgres {
    fn facts(&self) -> Vec<Fact> {
        let durability = match (self.setting("fsync").as_str(), self.setting("synchronous_commit").as_str()) {
            ("on", "on") => "disk",
            ("on", "off") => "os",
            ("off", "off") => "none",
            _ => "unknown",
        };
        let version = Fact::new("engine.version", self.setting("server_version"));
        let settings = SETTINGS.map(|name| Fact::new(format!("postgres.{name}"), self.setting(name)));
        let set = RULES.facts(&self.variables, |name| self.known(name));
        let set = set.into_iter().filter(|fact| !settings.iter().any(|known| known.name == fact.name));
        let named = [version, Fact::new("durability", durability)].into_iter();
        let isolation = Fact::new("isolation", self.isolation().unwrap_or("unknown".into()));
        let of_place = [isolation].into_iter().chain(self.place.facts()).chain(self.begins.facts());
        named.chain(settings.clone()).chain(set).chain(of_place).collect()
    }

    fn closing_facts(&self) -> Vec<Fact> {
        let ended = self.place.facts().into_iter().filter(|fact| fact.name == "server.ended");
        self.tally.facts().into_iter().chain(ended).collect()
    }

    fn loaders(&mut self, trial: &Trial) -> Result<Option<Loading>, TargetError> {
        let program = program_of(trial, &self.made_for.carried);
        for table in &program.schema {
            tables::create(table).iter().try_for_each(|statement| self.run(statement))?;
            self.tables.push(table.name.clone());
        }
        let Some(load) = &program.load else { return Ok(None) };
        let manner = Manner::of_loaders(trial);
        Ok(Some(self.all(manner, &program.load_statements, load, None, &program.kinds, loaders_for(load.ops))))
    }

    fn loaded(&mut self) -> Result<(), TargetError> {
        let brought = self.rest().bring(&mut self.keeper.borrow_mut());
        brought.map_err(|error| self.failed(error))?;
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
        self.manner = Manner::of(trial);
        let program = program_of(trial, &self.made_for.carried);
        if program.work != Work::Calls {
            return Ok(chore::loading(&program.run, &program.kinds, trial.load.clients, &self.chores(program.work)));
        }
        let (run, beside) = (&program.run, program.beside.as_ref());
        Ok(self.all(self.manner.clone(), &program.statements, run, beside, &program.kinds, trial.load.clients))
    }

    fn processes(&self) -> Vec<u32> {
        self.place.processes()
    }

    fn sources(&self) -> Vec<Box<dyn CounterSource>> {
        counters::sources(&self.address)
    }

    fn warnings(&self) -> Vec<String> {
        let set = RULES.warnings(&self.variables, |name| self.known(name));
        self.place.warnings().into_iter().chain(set).collect()
    }

    fn trouble(&self) -> Option<String> {
        self.place.trouble(self.tally.has_lost())
    }

    fn footprint(&self) -> Bytes {
        let sizes = "SELECT COALESCE(sum(pg_total_relation_size(oid)), 0) FROM pg_class \
                     WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace";
        self.place.footprint(|| Bytes(self.value(sizes).ok().and_then(|bytes| bytes.parse().ok()).unwrap_or_default()))
    }

    fn rows(&self) -> Option<u64> {
        self.place.rows()
    }

    fn log_footprint(&self) -> Option<Bytes> {
        self.place.log_footprint()
    }

    fn stop(self: Box<Self>) -> Result<(), TargetError> {
        self.place.remove()
    }
}

fn install_arguments(data: &Path) -> Vec<OsString> {
    let plain = ["--auth=trust", "--no-sync", "--no-instructions", "--locale=C", "--encoding=UTF8", "--username"];
    let args = [OsString::from("-D"), data.into()].into_iter().chain(plain.map(OsString::from));
    args.chain([ROLE.into()]).collect()
}

/// Settings on the command line are stronger than those of the configuration file that initdb has written.
fn server_arguments(data: &Path, params: &Params, variables: &Variables) -> Vec<OsString> {
    let (fsync, synchronous_commit) = match params.word("durability") {
        "disk" => ("on", "on"),
        "os" => ("on", "off"),
        _ => ("off", "off"),
    };
    let mib = |bytes: Bytes| format!("{}MB", bytes.0 >> 20);
    let settings = [
        ("listen_addresses", String::new()),
        // Relative to the data directory.
        ("unix_socket_directories", ".".into()),
        ("unix_socket_permissions", "0700".into()),
        ("max_connections", CONNECTIONS_MAX.to_string()),
        ("fsync", fsync.into()),
        ("synchronous_commit", synchronous_commit.into()),
        ("shared_buffers", mib(params.bytes("cache"))),
        ("max_wal_size", mib(params.bytes("log_size"))),
    ];
    let mut args = vec!["-D".into(), data.into()];
    let own = settings.into_iter().map(|(name, value)| format!("{name}={value}"));
    let set = variables.iter().map(|(name, value)| format!("{name}={value}"));
    args.extend(own.chain(set).flat_map(|setting| ["-c".into(), setting.into()]));
    args
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_given_in_the_servers_unit() {
        let params = [("durability", "os")].map(|(name, word)| (name.to_owned(), model::Value::Word(word.into())));
        let sizes = [("cache", 64), ("log_size", 256)]
            .map(|(name, mib)| (name.to_owned(), model::Value::Bytes(Bytes::from_mib(mib))));
        let args = server_arguments(
            Path::new("/d"),
            &Params(params.into_iter().chain(sizes).collect()),
            &Variables::default(),
        );
        for expected in ["shared_buffers=64MB", "max_wal_size=256MB", "synchronous_commit=off", "fsync=on"] {
            assert!(args.iter().any(|arg| arg == expected), "{expected} in {args:?}");
        }
    }
}
