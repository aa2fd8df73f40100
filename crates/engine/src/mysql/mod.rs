//! MariaDB and MySQL as private servers, with InnoDB or with RocksDB (MyRocks) under their tables; MariaDB as a private Galera cluster; and
//! both by URL.
//!
//! In: a trial of the family sql. Out: one connection per client over a unix socket or, if asked, over loopback, statements prepared once. The server
//! has a directory of its own, no other network, no binary log and no configuration but the settings here; it is read back as facts.
//! Limits: MariaDB 10.6 or newer, MySQL 8.0.30 or newer, of which 9.7 was tried; MyRocks in Percona Server was not. It runs as the user
//! `mysql` (or `nobody`) if plimsoll is root.
//!
//! Durability. InnoDB, by innodb_flush_log_at_trx_commit: `disk` = 1, the redo log is synced at each commit; `os` = 2, it is
//! written at each commit and synced once a second; `none` = 0, it is written and synced once a second.
//! (<https://mariadb.com/kb/en/innodb-system-variables/#innodb_flush_log_at_trx_commit>) The doublewrite buffer is on in all.
//! RocksDB, by rocksdb_flush_log_at_trx_commit: 1, 2 and 0 mean the same for its write-ahead log, but with 2 MariaDB keeps the
//! log in the process all the same (2 writes a second for thousands of commits were seen) unless rocksdb_manual_wal_flush is
//! OFF. It is, for `os`: then each commit is written.

mod arguments;
mod arrays;
mod binary;
mod bulk;
mod catalogue;
pub(crate) mod client;
mod config;
mod control;
pub(crate) mod counters;
mod explain;
pub(crate) mod external;
mod holds;
mod login;
mod params;
mod plan_steps;
mod procedures;
mod programs;
mod quiesce;
pub(crate) mod settings;
mod storage;
pub(crate) mod tables;
mod waits;
pub(crate) mod wire;
mod wsrep;

pub(crate) use wire::length_encoded;

use crate::counters::ServerSource;
use crate::engine::{EngineDef, EngineLocation, Instance, StartContext};
use crate::recordings;
use crate::server::dir::ServerSocket;
use crate::server::location::ExternalSchema;
use crate::server::network::{CONTROL_ANSWER, Route};
use crate::server::private_network::PrivateNetwork;
use crate::server::program::{FoundPrograms, ProgramSet};
use crate::server::url::{PASSWORD_FILE, Password, ServerUrl, URL};
use crate::server::variables::{ServerVariables, VariableRules};
use crate::sql::admin_connection::AdminConnection;
use crate::sql::ahead::{self, AfterFailure};
use crate::sql::client_needs::{ClientNeeds, ReadVariable};
use crate::sql::client_tally::CLIENTS;
use crate::sql::connections::HoldWords;
use crate::sql::endpoints::{self, ENDPOINT, EndpointIdentity, POLICY};
use crate::sql::external::SchemaUse;
use crate::sql::found_data::FoundWords;
use crate::sql::replay_copy::USUAL_SCHEMA;
use crate::sql::replay_ids::CounterWords;
use crate::sql::replay_keys::KeyWords;
use crate::sql::replay_plans::PlanWords;
use crate::sql::replay_words::ReplayWords;
use crate::sql::row_tally::ReplacedRows;
use crate::sql::server_instance::{
    NodeGroup, ServerSpec, SqlServer, SqlServerInstance, check_before_restore, sets_on_server,
};
use crate::sql::session_options::{
    self, CONTROL_TIMEOUT, ISOLATION, SETUP_TIMEOUT, STATEMENTS_OR_ARRAYS, SessionOptions, StatementMode,
    statement_mode,
};
use crate::sql::variant::refuse_database;
use crate::sql::variant::rows::RowLayout;
use crate::sql::{OpFailure, program_of};
use arguments::{
    MARIADB_RULES, MYSQL_RULES, SOCKET, STARTUP_FILE, install_arguments, network_arguments, server_arguments,
};
use bulk::BulkConnectMysql;
use client::{ConnectMysql, MysqlAddress};
use host::error::TargetError;
use model::{
    Bytes, CommonData, CounterSource, Entry, Fact, Family, ParamDef, ParamKind, ParamRole, Params, Phrase, Trial,
    WritePath,
};
use programs::{MARIADB_INSTALL, MYSQL_INSTALL, programs_of};
use rustix::process::Signal;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use storage::{Flavour, StorageEngine};
use wire::MysqlWire;
use workload::program::HoldProgram;
use workload::replay_sql::LogDialect;
use workload::{RowTarget, SequenceState, SqlProcedure, SqlTable};

pub static INNODB: EngineDef = EngineDef {
    entry: Entry {
        name: "mariadb:innodb",
        spoken: "MariaDB with InnoDB",
        help: "MariaDB as a private server, tables in InnoDB: a B-tree with redo log; `mariadb` for short",
        families: &[Family::Sql, Family::Connection],
        params: params::MARIADB_INNODB,
    },
    runs: EngineLocation::Server,
    programs: Some(INNODB_SERVER.programs()),
    configuration: Some(&config::MARIADB_CONFIG),
    sources: SOURCES,
    // Random inserts leave pages half full; undo, temporary tables and the redo log come on top.
    disk_peak: |data, params| Bytes(2 * data.0 + (256 << 20) + params.bytes("log_size").0),
    version: || INNODB_SERVER.find_version(),
    check: |trial| INNODB_SERVER.check(trial),
    start: |start| Ok(Box::new(SqlServerInstance::start(INNODB_SERVER, start)?)),
    ..EngineDef::BARE
};
const INNODB_SERVER: MysqlServer = MysqlServer::single(Flavour::MariaDb, StorageEngine::InnoDb);

pub static ROCKSDB: EngineDef = EngineDef {
    entry: Entry {
        name: "mariadb:rocksdb",
        spoken: "MyRocks",
        help: "MariaDB as a private server, tables in RocksDB (MyRocks): a log-structured merge tree",
        families: &[Family::Sql, Family::Connection],
        params: params::MARIADB_ROCKSDB,
    },
    runs: EngineLocation::Server,
    programs: Some(ROCKSDB_SERVER.programs()),
    configuration: Some(&config::MARIADB_CONFIG),
    sources: SOURCES,
    // A compaction writes its tables again before the old ones go; the write-ahead log holds once more what is in memory.
    disk_peak: |data, _| Bytes(2 * data.0 + (512 << 20)),
    version: || ROCKSDB_SERVER.find_version(),
    check: |trial| ROCKSDB_SERVER.check(trial),
    start: |start| Ok(Box::new(SqlServerInstance::start(ROCKSDB_SERVER, start)?)),
    ..EngineDef::BARE
};
const ROCKSDB_SERVER: MysqlServer = MysqlServer::single(Flavour::MariaDb, StorageEngine::RocksDb);

pub static GALERA: EngineDef = EngineDef {
    entry: Entry {
        name: "mariadb:galera",
        spoken: "MariaDB with Galera",
        help: "MariaDB with Galera as a private cluster on this machine, tables in InnoDB; `nodes` servers, each with all of the data",
        families: &[Family::Sql],
        params: params::MARIADB_GALERA,
    },
    runs: EngineLocation::Server,
    programs: Some(GALERA_SERVER.programs()),
    configuration: Some(&config::MARIADB_CONFIG),
    sources: GALERA_SOURCES,
    // Each node has all of the data, and a cache of write sets.
    disk_peak: |data, params| {
        let node = 2 * data.0 + (256 << 20) + params.bytes("log_size").0 + wsrep::WRITE_SET_CACHE.0;
        Bytes(wsrep::node_count(params) as u64 * node)
    },
    version: || GALERA_SERVER.find_version(),
    check: |trial| GALERA_SERVER.check(trial),
    start: |start| Ok(Box::new(SqlServerInstance::start(GALERA_SERVER, start)?)),
    ..EngineDef::BARE
};
const GALERA_SERVER: MysqlServer =
    MysqlServer { flavour: Flavour::MariaDb, storage: StorageEngine::InnoDb, topology: Topology::Galera };

pub static MYSQL_INNODB: EngineDef = EngineDef {
    entry: Entry {
        name: "mysql:innodb",
        spoken: "MySQL with InnoDB",
        help: "MySQL as a private server, tables in InnoDB; `mysql` for short",
        families: &[Family::Sql, Family::Connection],
        params: params::MYSQL_INNODB,
    },
    runs: EngineLocation::Server,
    programs: Some(MYSQL_INNODB_SERVER.programs()),
    configuration: Some(&config::MYSQL_CONFIG),
    sources: SOURCES,
    // As for MariaDB; the tables of the server itself take some 190 MB more.
    disk_peak: |data, params| Bytes(2 * data.0 + (512 << 20) + params.bytes("log_size").0),
    version: || MYSQL_INNODB_SERVER.find_version(),
    check: |trial| MYSQL_INNODB_SERVER.check(trial),
    start: |start| Ok(Box::new(SqlServerInstance::start(MYSQL_INNODB_SERVER, start)?)),
    ..EngineDef::BARE
};
const MYSQL_INNODB_SERVER: MysqlServer = MysqlServer::single(Flavour::MySql, StorageEngine::InnoDb);

pub static MYSQL_ROCKSDB: EngineDef = EngineDef {
    entry: Entry {
        name: "mysql:rocksdb",
        spoken: "MyRocks of Percona Server",
        help: "Percona Server as a private server, tables in RocksDB (MyRocks)",
        families: &[Family::Sql, Family::Connection],
        params: params::MYSQL_ROCKSDB,
    },
    runs: EngineLocation::Server,
    programs: Some(MYSQL_ROCKSDB_SERVER.programs()),
    configuration: Some(&config::MYSQL_CONFIG),
    sources: SOURCES,
    // As for MariaDB, with the larger tables of the server itself.
    disk_peak: |data, _| Bytes(2 * data.0 + (768 << 20)),
    version: || MYSQL_ROCKSDB_SERVER.find_version(),
    check: |trial| MYSQL_ROCKSDB_SERVER.check(trial),
    start: |start| Ok(Box::new(SqlServerInstance::start(MYSQL_ROCKSDB_SERVER, start)?)),
    ..EngineDef::BARE
};
const MYSQL_ROCKSDB_SERVER: MysqlServer = MysqlServer::single(Flavour::MySql, StorageEngine::RocksDb);

/// The engine `mysql`: its name in run files since before MySQL could be a private server.
pub static MYSQL: EngineDef = EngineDef {
    entry: Entry {
        name: "mysql",
        spoken: "the MySQL server",
        help: "an existing MySQL or MariaDB server, given by its URL, or the nodes of a Galera cluster (`mysql://user@n1,n2,n3/`); \
               works in a schema of its own",
        families: &[Family::Sql, Family::Connection],
        params: &session_options::params_with::<13>(
            &[EXTERNAL_URL, PASSWORD_FILE, STORAGE, POLICY],
            [STATEMENTS_OR_ARRAYS, ISOLATION],
            &[CONTROL_TIMEOUT, SETUP_TIMEOUT],
        ),
    },
    runs: EngineLocation::Elsewhere,
    sources: EXTERNAL_SOURCES,
    version: || Err(format!("give its URL: --engine {EXAMPLE}")),
    check: |trial| {
        ahead::check_trial(trial, AfterFailure::GoesOn)?;
        check_arrays(trial)?;
        crate::connect::check_trial(trial)?;
        let named = ServerUrl::endpoints_from_params(&trial.target.params, &["mysql"], EXAMPLE)?;
        endpoints::check_trial(trial, named.len())?;
        StorageEngine::from_word(trial.target.params.word(STORAGE.name)).check_foreign_keys(trial)?;
        session_options::check_url(trial, &named[0])
    },
    start: start_external,
    server_sets: Some(sets_on_server::<MysqlServer>),
    before_restore: Some(check_copy),
    ..EngineDef::BARE
};

const EXAMPLE: &str = "mysql://user@host:3306/";
const EXTERNAL_URL: ParamDef = ParamDef {
    help: "URL of the server, usually given as the engine: `--engine mysql://user@host:3306/`, or of several endpoints: \
           `mysql://user@n1:3306,n2,n3/`. TLS options are those of the mysql client: \
           `?ssl-mode=VERIFY_IDENTITY&ssl-ca=FILE`",
    ..URL
};
const STORAGE: ParamDef = ParamDef {
    help: "storage engine of the tables",
    shapes_data: true,
    phrase: Phrase::Words(&[("InnoDB", "tables in InnoDB"), ("RocksDB", "tables in RocksDB")]),
    ..ParamDef::new("storage", ParamRole::Ground, ParamKind::OneOf(&["InnoDB", "RocksDB"]), "InnoDB")
};

/// The counter sources of both private servers.
const SOURCES: &[&ServerSource] = &[&counters::INNODB, &counters::MYROCKS, &waits::WAITS, &CLIENTS];
const GALERA_SOURCES: &[&ServerSource] = &[&counters::INNODB, &waits::WAITS, &wsrep::WSREP, &ENDPOINT];
/// Those of a database by URL, which may have several endpoints.
const EXTERNAL_SOURCES: &[&ServerSource] =
    &[&counters::INNODB, &counters::MYROCKS, &waits::WAITS, &wsrep::WSREP, &CLIENTS, &ENDPOINT];

/// One for the instance itself, one for the counters, and a few for a curious person.
const CONNECTIONS_KEPT: u64 = 10;
const MAX_CONNECTIONS: &str = "max_connections";
const DATABASE: &str = "plimsoll";

fn start_external(start: &StartContext) -> Result<Box<dyn Instance>, TargetError> {
    let asked = start.trial.target.params.word(STORAGE.name);
    let storage = if asked == "RocksDB" { StorageEngine::RocksDb } else { StorageEngine::InnoDb };
    Ok(Box::new(SqlServerInstance::open_external(MysqlServer::single(Flavour::MariaDb, storage), start)?))
}

/// Refuses to restore the existing server of `trial` if it is no copy on which its log is to be replayed.
fn check_copy(trial: &Trial) -> Result<(), TargetError> {
    check_before_restore(&MysqlServer::single(Flavour::MariaDb, StorageEngine::InnoDb), trial)
}

/// The first endpoint that `trial` names, without a database, and its URL.
fn first_endpoint(trial: &Trial) -> Result<(MysqlAddress, ServerUrl), TargetError> {
    let urls = ServerUrl::endpoints_from_params(&trial.target.params, &["mysql"], EXAMPLE)?;
    let addresses = MysqlServer::external_endpoints(trial)?.into_iter().map(|(_, address)| address);
    Ok(addresses.zip(urls).next().expect("a URL names at least one endpoint"))
}

/// MariaDB, or MySQL. An existing server counts as MariaDB, whichever it is: its facts begin with `mariadb`.
#[derive(Clone)]
struct MysqlServer {
    flavour: Flavour,
    storage: StorageEngine,
    topology: Topology,
}

/// How many servers hold the data.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Topology {
    Single,
    /// As many as the parameter `nodes` asks for, each with all of it.
    Galera,
}

impl MysqlServer {
    const fn single(flavour: Flavour, storage: StorageEngine) -> MysqlServer {
        MysqlServer { flavour, storage, topology: Topology::Single }
    }

    const fn programs(&self) -> &'static ProgramSet {
        match self.topology {
            Topology::Single => programs_of(self.flavour, self.storage),
            Topology::Galera => programs::galera_programs(),
        }
    }

    fn find_version(&self) -> Result<String, String> {
        self.programs().find(None).map(|found| found.version)
    }

    /// Which of its variables a plan may set.
    const fn rules(&self) -> VariableRules {
        match self.flavour {
            Flavour::MariaDb => MARIADB_RULES,
            Flavour::MySql => MYSQL_RULES,
        }
    }

    fn check(&self, trial: &Trial) -> Result<(), TargetError> {
        ahead::check_trial(trial, AfterFailure::GoesOn)?;
        check_arrays(trial)?;
        session_options::check_via(trial)?;
        crate::connect::check_trial(trial)?;
        endpoints::check_trial(trial, self.node_count(&trial.target.params))?;
        self.storage.check_foreign_keys(trial)?;
        self.find_programs(trial)?;
        let rules = self.rules();
        let variables = rules.variables_in(&trial.target.params);
        rules.check_allowed(&variables)?;
        // The clients of a cluster share its servers, each of which has as many connections.
        if self.topology == Topology::Galera { Ok(()) } else { check_connections(trial, &variables) }
    }
}

/// Refuses more clients than a plan lets its server have, before anything is measured.
fn check_connections(trial: &Trial, variables: &ServerVariables) -> Result<(), TargetError> {
    let Some((_, most)) = variables.iter().find(|(name, _)| *name == MAX_CONNECTIONS) else { return Ok(()) };
    let needs = ClientNeeds::of_trial(trial, true);
    needs.check_connections(MAX_CONNECTIONS, CONNECTIONS_KEPT, &|_: &str| Some(most.to_owned()))
}

/// Refuses arrays if no statement of `trial` inserts several rows.
fn check_arrays(trial: &Trial) -> Result<(), TargetError> {
    if statement_mode(&trial.target.params) != StatementMode::Arrays {
        return Ok(());
    }
    let program = program_of(trial, &SequenceState::default());
    if program.statements.iter().any(|text| arrays::of_one_row(text).is_some()) {
        return Ok(());
    }
    let text =
        "statements = `arrays` is of INSERTs of several rows, and this workload has none; use statements = `prepared`";
    Err(TargetError::Unsupported(text.into()))
}

/// What a private server of `server` has, which is called `name` and whose files `install` makes.
const fn spec_of(server: &MysqlServer, name: &'static str, install: &'static str) -> ServerSpec {
    ServerSpec {
        name,
        programs: server.programs(),
        install,
        socket: SOCKET,
        socket_ends_with_port: None,
        killed_by: Signal::KILL,
        ended_by: Signal::TERM,
        rules: server.rules(),
        version: "version",
        watched: settings::WATCHED,
        replaced_rows: ReplacedRows::Found,
        // MySQL and MariaDB from 11.1 on have the first name, MariaDB has always had the second.
        isolation: &["SELECT @@session.transaction_isolation", "SELECT @@session.tx_isolation"],
        table_bytes: "SELECT CAST(COALESCE(sum(data_length + index_length), 0) AS UNSIGNED) \
                      FROM information_schema.tables WHERE table_schema = database()",
        data_dir: "SELECT @@global.datadir",
        process_names: &["mariadbd", "mysqld"],
    }
}

static INNODB_SPEC: ServerSpec = spec_of(&INNODB_SERVER, "mariadb", MARIADB_INSTALL);
static ROCKSDB_SPEC: ServerSpec = spec_of(&ROCKSDB_SERVER, "mariadb", MARIADB_INSTALL);
static GALERA_SPEC: ServerSpec = spec_of(&GALERA_SERVER, "mariadb", MARIADB_INSTALL);
static MYSQL_INNODB_SPEC: ServerSpec = spec_of(&MYSQL_INNODB_SERVER, "mysql", MYSQL_INSTALL);
static MYSQL_ROCKSDB_SPEC: ServerSpec = spec_of(&MYSQL_ROCKSDB_SERVER, "mysql", MYSQL_INSTALL);

impl SqlServer for MysqlServer {
    type Address = MysqlAddress;
    type Admin = MysqlWire;
    type Sessions = ConnectMysql;
    type Bulk = BulkConnectMysql;

    fn spec(&self) -> &'static ServerSpec {
        match (self.flavour, self.storage) {
            (Flavour::MariaDb, StorageEngine::InnoDb) if self.topology == Topology::Galera => &GALERA_SPEC,
            (Flavour::MariaDb, StorageEngine::InnoDb) => &INNODB_SPEC,
            (Flavour::MariaDb, StorageEngine::RocksDb) => &ROCKSDB_SPEC,
            (Flavour::MySql, StorageEngine::InnoDb) => &MYSQL_INNODB_SPEC,
            (Flavour::MySql, StorageEngine::RocksDb) => &MYSQL_ROCKSDB_SPEC,
        }
    }

    fn check_trial(&self, trial: &Trial) -> Result<(), TargetError> {
        self.check(trial)
    }

    fn install_arguments(&self, found: &FoundPrograms, data: &Path, variables: &ServerVariables) -> Vec<OsString> {
        install_arguments(self.flavour, found, data, variables)
    }

    fn server_arguments(
        &self,
        found: &FoundPrograms,
        data: &Path,
        params: &Params,
        variables: &ServerVariables,
        network: Option<&PrivateNetwork>,
    ) -> Vec<OsString> {
        let mut args = server_arguments((self.flavour, self.storage), found, data, params, variables);
        args.extend(network_arguments(self.flavour, data, network));
        args
    }

    fn startup_file(&self, network: &PrivateNetwork) -> Option<(&'static str, String)> {
        Some((STARTUP_FILE, holds::startup_statements(DATABASE, &network.password)))
    }

    fn network_address(
        &self,
        _: &mut MysqlWire,
        address: &MysqlAddress,
        network: &PrivateNetwork,
    ) -> Result<MysqlAddress, OpFailure> {
        let client = address.over_network(network.encrypted_route(), holds::ACCOUNT, network.password.clone());
        if self.flavour == Flavour::MySql {
            // In clear text it lets in only those whose password it has hashed since its start, which takes one login over TLS.
            client.connect_admin(CONTROL_ANSWER)?;
        }
        Ok(address.over_network(network.route(), holds::ACCOUNT, network.password.clone()))
    }

    fn private_address(socket: ServerSocket, shown: String) -> MysqlAddress {
        MysqlAddress::for_private(socket, shown)
    }

    fn create_schema(admin: &mut MysqlWire, address: MysqlAddress) -> Result<MysqlAddress, OpFailure> {
        let made = admin.set_up(&format!("CREATE DATABASE {DATABASE}"));
        made.and_then(|()| admin.set_up(&format!("USE {DATABASE}")))?;
        Ok(address.in_database(DATABASE))
    }

    fn external_endpoints(trial: &Trial) -> Result<Vec<(String, MysqlAddress)>, TargetError> {
        let urls = ServerUrl::endpoints_from_params(&trial.target.params, &["mysql"], EXAMPLE)?;
        let passwords = Password::for_endpoints(&trial.target.params, urls.len())?;
        let all = urls.iter().zip(passwords);
        let limits = session_options::answer_limits(&trial.target.params);
        all.map(|(url, password)| Ok((url.endpoint_name(), MysqlAddress::from_url(url, password, limits)?))).collect()
    }

    fn in_schema_of(address: &MysqlAddress, like: &MysqlAddress) -> MysqlAddress {
        address.in_schema_of(like)
    }

    fn identify(admin: &mut MysqlWire) -> Result<EndpointIdentity, OpFailure> {
        wsrep::identify(admin)
    }

    fn node_count(&self, params: &Params) -> usize {
        if self.topology == Topology::Galera { wsrep::node_count(params) } else { 1 }
    }

    fn node_arguments(
        &self,
        found: &FoundPrograms,
        params: &Params,
        group: &NodeGroup,
        nth: usize,
    ) -> Result<Vec<OsString>, TargetError> {
        wsrep::node_arguments(found, params, group, nth)
    }

    fn node_sources(&self, address: &MysqlAddress, name: &str, _: &MysqlAddress) -> Vec<Box<dyn CounterSource>> {
        vec![wsrep::node_source(address, name)]
    }

    fn open_external(
        trial: &Trial,
        schema: SchemaUse<'_>,
    ) -> Result<(MysqlAddress, MysqlWire, ExternalSchema), TargetError> {
        let params = &trial.target.params;
        let urls = ServerUrl::endpoints_from_params(params, &["mysql"], EXAMPLE)?;
        let url = &urls[0];
        refuse_database(trial, &url.text, url.database.as_deref())?;
        let endpoints: Vec<MysqlAddress> = Self::external_endpoints(trial)?.into_iter().map(|(_, at)| at).collect();
        external::open_schema(&endpoints[0].clone(), endpoints, url, schema)
    }

    fn visit_external(trial: &Trial) -> Result<(MysqlAddress, MysqlWire, ExternalSchema), TargetError> {
        let (first, url) = first_endpoint(trial)?;
        // A recording names the schema of each statement.
        let usual = recordings::replays_statements(trial).then_some(USUAL_SCHEMA);
        external::visit_database(&first, &url, usual)
    }

    fn reach_external(trial: &Trial) -> Result<(MysqlAddress, MysqlWire), TargetError> {
        let (first, url) = first_endpoint(trial)?;
        let admin = external::reach_server(&first, &url)?;
        Ok((first, admin))
    }

    fn found_words() -> &'static FoundWords {
        &FOUND_WORDS
    }

    fn join_external(
        trial: &Trial,
        common: &CommonData,
    ) -> Result<(MysqlAddress, MysqlWire, ExternalSchema), TargetError> {
        let params = &trial.target.params;
        let urls = ServerUrl::endpoints_from_params(params, &["mysql"], EXAMPLE)?;
        let (url, passwords) = (&urls[0], Password::for_endpoints(params, urls.len())?);
        refuse_database(trial, &url.text, url.database.as_deref())?;
        let limits = session_options::answer_limits(params);
        let server = MysqlAddress::from_url(url, passwords.into_iter().next().flatten(), limits)?;
        external::join_schema(&server, url, common)
    }

    fn claim(admin: &mut MysqlWire) -> Result<bool, OpFailure> {
        external::is_alone(admin)
    }

    fn connect_admin(address: &MysqlAddress, patience: Duration) -> Result<MysqlWire, OpFailure> {
        address.connect_admin(patience)
    }

    fn replay_words() -> &'static ReplayWords {
        &REPLAY_WORDS
    }

    fn at_route(address: &MysqlAddress, route: Route) -> MysqlAddress {
        address.at(route)
    }

    fn in_recorded_schema(address: &MysqlAddress, name: &str) -> MysqlAddress {
        address.in_database(name)
    }

    fn display_name(address: &MysqlAddress) -> &str {
        address.shown()
    }

    fn session_factory(address: MysqlAddress, statements: Arc<[String]>, options: SessionOptions) -> ConnectMysql {
        ConnectMysql::new(address, statements, options)
    }

    fn bulk_connect(address: MysqlAddress, targets: Arc<[RowTarget]>, options: SessionOptions) -> BulkConnectMysql {
        BulkConnectMysql::new(address, targets, options)
    }

    fn connect_as_client(connect: &ConnectMysql) -> Result<MysqlWire, OpFailure> {
        connect.connect_as_client()
    }

    fn variable_query(name: &str) -> String {
        format!("SHOW GLOBAL VARIABLES LIKE '{name}'")
    }

    fn reported_variables(&self) -> &'static [&'static str] {
        self.storage.reported_variables()
    }

    fn durability_from(&self, value: &dyn Fn(&str) -> String) -> &'static str {
        let kept_back = value("rocksdb_manual_wal_flush") == "ON";
        match value(self.storage.durability_variable()).as_str() {
            "1" => "disk",
            "2" if !kept_back => "os",
            "0" | "2" => "none",
            _ => "unknown",
        }
    }

    fn write_path_from(&self, value: &dyn Fn(&str) -> Option<String>) -> WritePath {
        self.storage.write_path(value)
    }

    fn quote_name(name: &str) -> String {
        tables::quote_name(name)
    }

    fn create_statements(&self, table: &SqlTable) -> Vec<String> {
        vec![tables::create_statement(table, self.storage.as_str())]
    }

    fn index_statements(table: &SqlTable) -> Vec<String> {
        tables::add_indexes(table).into_iter().collect()
    }

    fn foreign_key_statements(table: &SqlTable) -> Vec<String> {
        tables::add_foreign_keys(table).into_iter().collect()
    }

    fn procedure_statement(procedure: &SqlProcedure) -> String {
        procedures::create_statement(procedure)
    }

    fn quiesce_tables(&self, admin: &mut MysqlWire, tables: &[String], private: bool) -> Result<Bytes, OpFailure> {
        quiesce::quiesce_tables(admin, (self.flavour, self.storage), tables, private).map_err(OpFailure::from)
    }

    fn check_needs(needs: &ClientNeeds, value: ReadVariable<'_>) -> Result<Vec<String>, TargetError> {
        needs.check_connections(MAX_CONNECTIONS, CONNECTIONS_KEPT, value)?;
        needs.check_statements("max_prepared_stmt_count", value)?;
        Ok(needs.warn_of_tables("table_open_cache", value).into_iter().collect())
    }

    fn cancel_query(id: u64) -> String {
        format!("KILL QUERY {id}")
    }

    fn end_session_query(id: u64) -> String {
        format!("KILL {id}")
    }

    const SESSION_ID: &'static str = "SELECT CONNECTION_ID()";
    const ROW_LAYOUT: RowLayout = RowLayout::LengthEncoded;

    fn explain(admin: &mut MysqlWire, sql: &str, executes: bool) -> Result<Vec<Fact>, OpFailure> {
        explain::explain(admin, sql, executes).map_err(OpFailure::from)
    }

    fn counter_sources(&self, address: &MysqlAddress) -> Vec<Box<dyn CounterSource>> {
        counters::counter_sources((self.flavour, self.storage), address)
    }

    fn connect_within(address: &MysqlAddress, allowed: Duration) -> Result<MysqlWire, OpFailure> {
        address.connect_within(allowed)
    }

    fn route_of(address: &MysqlAddress) -> &Route {
        address.route()
    }

    fn hold_words(&self) -> &'static HoldWords {
        &holds::WORDS
    }

    fn lock_statement(locks: u64, _: u64) -> String {
        holds::lock_statement(locks)
    }

    fn lock_targets(hold: &HoldProgram) -> Vec<String> {
        holds::lock_targets(hold)
    }

    fn ordinary_address(admin: &mut MysqlWire, address: &MysqlAddress) -> Result<MysqlAddress, OpFailure> {
        holds::make_account(admin, DATABASE)?;
        Ok(address.for_user(holds::ACCOUNT))
    }
}

/// What is asked about tables that are there.
static FOUND_WORDS: FoundWords = FoundWords {
    schema: "database()",
    leading_columns: "SELECT column_name FROM information_schema.statistics \
                      WHERE table_schema = database() AND table_name = '{}' AND seq_in_index = 1",
};

/// What a replay of a log asks.
static REPLAY_WORDS: ReplayWords = ReplayWords {
    dialect: LogDialect::Mysql,
    version: "SELECT @@global.version",
    port: "SELECT @@global.port",
    socket: "SELECT @@global.socket",
    log_files: &["SELECT @@global.slow_query_log_file", "SELECT @@global.general_log_file"],
    begin: &["SET NAMES utf8mb4"],
    read_only: "SET SESSION TRANSACTION READ ONLY",
    catalogue: catalogue::WORDS,
    has_schema: "SELECT schema_name FROM information_schema.schemata WHERE schema_name = '{}'",
    enter_schema: Some("USE {}"),
    made_columns: None,
    counters: CounterWords {
        // MySQL 8 tells what it has read a day before.
        before: Some("SET SESSION information_schema_stats_expiry = 0"),
        columns: "SELECT c.table_name, c.column_name, c.ordinal_position - 1, c.table_name, t.auto_increment - 1, 1, '', 1 \
                  FROM information_schema.columns c JOIN information_schema.tables t \
                  ON t.table_schema = c.table_schema AND t.table_name = c.table_name \
                  WHERE c.table_schema = database() AND c.extra LIKE '%auto_increment%' AND @@global.auto_increment_increment = 1",
        triggers: "SELECT action_statement FROM information_schema.triggers WHERE trigger_schema = database()",
        routines: "SELECT routine_name, routine_definition FROM information_schema.routines WHERE routine_schema = database()",
    },
    keys: KeyWords {
        columns: "SELECT table_schema, column_name, column_type, extra LIKE '%auto_increment%', \
                  (SELECT count(*) FROM information_schema.views v WHERE v.table_schema = c.table_schema AND v.table_name = c.table_name), 1 \
                  FROM information_schema.columns c WHERE table_name = {table} AND {in_schema} ORDER BY table_schema, ordinal_position",
        in_usual_schema: "table_schema IN (database(), {schemas})",
        quote: tables::quote_name,
    },
    triggers: Some(
        "SELECT event_object_schema, event_object_table, action_statement FROM information_schema.triggers \
         WHERE event_object_schema NOT IN ('sys', 'mysql')",
    ),
    plans: PlanWords { explain: "EXPLAIN FORMAT=TRADITIONAL", steps: plan_steps::steps },
};
