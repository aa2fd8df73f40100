//! PostgreSQL as a private server, and by URL.
//!
//! In: a trial of the family sql. Out: one connection, and so one server process, per client over a unix socket or, if asked, over
//! loopback, statements prepared once; with depth above 1 a client sends operations before the first of them is answered. The server has a
//! directory of its own, no other network and no configuration but its defaults and the settings here; it is read back as facts.
//! Limits: PostgreSQL 14 or newer. It runs as the user `postgres` (or `nobody`) if plimsoll is root.
//!
//! Durability: `disk` = fsync and synchronous_commit on; `os` = fsync on, synchronous_commit off: commits are handed to the
//! system and synced by the WAL writer every 200 ms, so that a killed server, too, may lose up to 0.6 s, while InnoDB and
//! SQLite lose nothing: PostgreSQL has nothing nearer; `none` = both off.
//! (<https://www.postgresql.org/docs/current/wal-async-commit.html>)

mod bulk;
mod catalogue;
pub(crate) mod client;
mod config;
pub(crate) mod counters;
mod explain;
mod external;
mod login;
mod plan_steps;
mod procedures;
mod quiesce;
mod replication;
pub(crate) mod settings;
pub(crate) mod statement_view;
mod tables;
pub(crate) mod wait_events;
pub(crate) mod wire;

use crate::counters::ServerSource;
use crate::engine::{EngineDef, EngineLocation};
use crate::params;
use crate::params::durability_help;
use crate::reset::BETWEEN;
use crate::server::dir::ServerSocket;
use crate::server::location::ExternalSchema;
use crate::server::network::Route;
use crate::server::private_network::{CERTIFICATE, KEY, LOOPBACK, NetworkWay, PrivateNetwork, VIA};
use crate::server::program::{FoundPrograms, ProgramSet, ServerProgram};
use crate::server::url::{PASSWORD_FILE, Password, ServerUrl, URL};
use crate::server::variables::{ServerVariables, VariableRules};
use crate::sql::OpFailure;
use crate::sql::admin_connection::AdminConnection;
use crate::sql::ahead::{self, AfterFailure};
use crate::sql::client_needs::{ClientNeeds, OWN_CONNECTIONS, ReadVariable, number_of};
use crate::sql::client_tally::CLIENTS;
use crate::sql::connections::HoldWords;
use crate::sql::endpoints::{self, ENDPOINT, EndpointIdentity, POLICY};
use crate::sql::external::SchemaUse;
use crate::sql::found_data::FoundWords;
use crate::sql::replay_ids::CounterWords;
use crate::sql::replay_keys::KeyWords;
use crate::sql::replay_plans::PlanWords;
use crate::sql::replay_words::ReplayWords;
use crate::sql::row_tally::ReplacedRows;
use crate::sql::server_instance::{ServerSpec, SqlServer, SqlServerInstance, check_before_restore, sets_on_server};
use crate::sql::session_options::{self, CONTROL_TIMEOUT, ISOLATION, SETUP_TIMEOUT, STATEMENTS, SessionOptions};
use crate::sql::variant::rows::RowLayout;
use bulk::CopyInto;
use client::{ConnectPostgres, PostgresAddress};
use host::error::TargetError;
use model::{
    Bytes, CommonData, CounterSource, Entry, Fact, Family, ParamDef, ParamKind, ParamRole, Params, Trial, WritePath,
};
use rustix::process::Signal;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use wire::PostgresWire;
use workload::replay_sql::LogDialect;
use workload::{RowTarget, SqlProcedure, SqlTable};

pub static POSTGRES: EngineDef = EngineDef {
    entry: Entry {
        name: "postgres",
        spoken: "PostgreSQL",
        help: "PostgreSQL as a private server: heap tables with B-tree indexes and a write-ahead log",
        families: &[Family::Sql, Family::Connection],
        params: PARAMS,
    },
    runs: EngineLocation::Server,
    programs: Some(&PROGRAMS),
    configuration: Some(&config::CONFIG),
    sources: SOURCES,
    // Rows have headers of 24 bytes, and a changed one takes twice the space until it is vacuumed. The log of the default size may
    // grow beyond it while a checkpoint is in flight.
    disk_peak: |data, params| Bytes(3 * data.0 + (256 << 20) + params.bytes("log_size").0 * 2),
    version: || PROGRAMS.find(None).map(|found| found.version),
    check: check_trial,
    start: |start| Ok(Box::new(SqlServerInstance::start(PostgresServer, start)?)),
    ..EngineDef::BARE
};

pub static POSTGRESQL: EngineDef = EngineDef {
    entry: Entry {
        name: "postgresql",
        spoken: "the PostgreSQL server",
        help: "an existing PostgreSQL server, given by its URL, or one with its replicas (`postgres://user@h1,h2/`); works in a schema of \
               its own",
        families: &[Family::Sql, Family::Connection],
        params: &session_options::params_with::<12>(
            &[EXTERNAL_URL, PASSWORD_FILE, POLICY],
            [STATEMENTS, ISOLATION],
            &[CONTROL_TIMEOUT, SETUP_TIMEOUT],
        ),
    },
    runs: EngineLocation::Elsewhere,
    sources: EXTERNAL_SOURCES,
    version: || Err(format!("give its URL: --engine {EXAMPLE}")),
    check: |trial| {
        ahead::check_trial(trial, AfterFailure::LeavesOut)?;
        crate::connect::check_trial(trial)?;
        let named = ServerUrl::endpoints_from_params(&trial.target.params, SCHEMES, EXAMPLE)?;
        endpoints::check_trial(trial, named.len())?;
        session_options::check_url(trial, &named[0])
    },
    start: |start| Ok(Box::new(SqlServerInstance::open_external(PostgresServer, start)?)),
    server_sets: Some(sets_on_server::<PostgresServer>),
    before_restore: Some(check_copy),
    ..EngineDef::BARE
};

const SCHEMES: &[&str] = &["postgres", "postgresql"];
const EXAMPLE: &str = "postgres://user@host:5432/database";
const EXTERNAL_URL: ParamDef = ParamDef {
    help: "URL of the server, usually given as the engine: `--engine postgres://user@host:5432/database`, or of several endpoints: \
           `postgres://user@h1,h2/database`. TLS options are those of libpq: \
           `?sslmode=verify-full&sslrootcert=FILE`",
    ..URL
};

const SOURCES: &[&ServerSource] = &[&counters::POSTGRES, &wait_events::SESSIONS, &CLIENTS];
/// The counter sources of a database by URL, which may have several endpoints.
const EXTERNAL_SOURCES: &[&ServerSource] =
    &[&counters::POSTGRES, &wait_events::SESSIONS, &replication::REPLICATION, &CLIENTS, &ENDPOINT];

const PARAMS: &[ParamDef] = &session_options::params_with::<15>(
    &[DURABILITY, CACHE, LOG_SIZE, BETWEEN],
    [STATEMENTS, ISOLATION],
    &[params::ALLOCATOR, VIA, CONFIG, VARIABLES],
);
/// With `os` a killed server, too, can lose the last commits.
const DURABILITY: ParamDef = ParamDef {
    help: durability_help!(
        "synchronous_commit = on, off or off, and fsync = on, on or off; `os` is weaker here: a crash of the server alone also \
         loses up to 0.6 s of commits"
    ),
    ..params::DURABILITY
};
const CACHE: ParamDef = ParamDef { help: "size of shared_buffers", ..params::CACHE };
const LOG_SIZE: ParamDef =
    ParamDef { help: "size that the write-ahead log may reach before a checkpoint (max_wal_size)", ..params::LOG_SIZE };
const CONFIG: ParamDef = ParamDef {
    help: "configuration file of the server; what `--set` may not set is refused; `default` for none: a fragment of postgresql.conf",
    ..params::CONFIG
};
const VARIABLES: ParamDef = ParamDef {
    help: "any setting of the server, such as `--set postgres.work_mem=16MB`; read back as the fact of that name",
    shapes_data: true,
    ..ParamDef::new("postgres.*", ParamRole::Tuning, ParamKind::Variables, "")
};

/// What plans may not set.
const RULES: VariableRules = VariableRules {
    server: "postgres",
    by_parameter: &[&[
        ("shared_buffers", "cache"),
        ("max_wal_size", "log_size"),
        ("fsync", "durability"),
        ("synchronous_commit", "durability"),
    ]],
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
        "jit_provider",
        // Commits would wait for servers that do not exist.
        "synchronous_standby_names",
    ],
};

const PLACES: &[&str] = &["/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/local/pgsql/bin"];
const SERVER: ServerProgram =
    ServerProgram { name: "postgres", places: PLACES, advice: "on Debian: apt-get install postgresql" };
const INSTALL: ServerProgram = ServerProgram { name: "initdb", ..SERVER };

static PROGRAMS: ProgramSet = ProgramSet {
    product: "PostgreSQL",
    server: SERVER,
    others: &[INSTALL],
    version_args: &["--version"],
    is_own: |printed| printed.contains("(PostgreSQL)"),
    // The first whose initdb has `--no-instructions`.
    oldest: "14",
    user: "postgres",
};

/// The owner of the private database.
const ROLE: &str = "plimsoll";
/// The server names its socket after its port, also if it does not listen on it.
const SOCKET: &str = ".s.PGSQL.";
/// The port of a server that listens on none.
const NO_PORT: u16 = 5432;

/// Each takes shared memory from the start, some 20 KB.
const CONNECTIONS_MAX: u32 = 2_000;
/// For the instance itself, for the counters, and those that the server keeps for its owner.
const CONNECTIONS_KEPT: u64 = 10;
const MAX_CONNECTIONS: &str = "max_connections";

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

fn check_trial(trial: &Trial) -> Result<(), TargetError> {
    ahead::check_trial(trial, AfterFailure::LeavesOut)?;
    session_options::check_via(trial)?;
    crate::connect::check_trial(trial)?;
    PostgresServer.find_programs(trial)?;
    let variables = RULES.variables_in(&trial.target.params);
    RULES.check_allowed(&variables)?;
    // Checked before the start: max_connections cannot be changed while the server runs.
    let set = variables.iter().find(|(name, _)| *name == MAX_CONNECTIONS).map(|(_, most)| most.to_owned());
    let most = set.unwrap_or_else(|| CONNECTIONS_MAX.to_string());
    let needs = ClientNeeds::of_trial(trial, true);
    needs.check_connections(MAX_CONNECTIONS, CONNECTIONS_KEPT, &|_: &str| Some(most.clone()))
}

static SPEC: ServerSpec = ServerSpec {
    name: "postgres",
    programs: &PROGRAMS,
    install: INSTALL.name,
    socket: SOCKET,
    socket_ends_with_port: Some(NO_PORT),
    // When asked by SIGQUIT it ends at once, all its processes with it, and gives back its shared memory.
    killed_by: Signal::QUIT,
    // The fast shutdown, which waits for no client.
    ended_by: Signal::INT,
    rules: RULES,
    version: "server_version",
    watched: settings::WATCHED,
    replaced_rows: ReplacedRows::GoneForChanges,
    isolation: &["SHOW transaction_isolation"],
    table_bytes: "SELECT COALESCE(sum(pg_total_relation_size(oid)), 0) FROM pg_class \
                  WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace",
    data_dir: "SELECT current_setting('data_directory')",
    process_names: &["postgres", "postmaster"],
};

#[derive(Clone)]
struct PostgresServer;

/// Refuses to restore the server of `trial` if it is no copy on which its log is to be replayed.
fn check_copy(trial: &Trial) -> Result<(), TargetError> {
    check_before_restore(&PostgresServer, trial)
}

/// The address of the first endpoint that `params` name, and its URL.
fn first_endpoint(params: &Params) -> Result<(PostgresAddress, ServerUrl), TargetError> {
    let urls = ServerUrl::endpoints_from_params(params, SCHEMES, EXAMPLE)?;
    let passwords = Password::for_endpoints(params, urls.len())?;
    let url = urls.into_iter().next().expect("a URL names at least one endpoint");
    let limits = session_options::answer_limits(params);
    Ok((PostgresAddress::from_url(&url, passwords.into_iter().next().flatten(), limits)?, url))
}

impl SqlServer for PostgresServer {
    type Address = PostgresAddress;
    type Admin = PostgresWire;
    type Sessions = ConnectPostgres;
    type Bulk = CopyInto;

    fn spec(&self) -> &'static ServerSpec {
        &SPEC
    }

    fn check_trial(&self, trial: &Trial) -> Result<(), TargetError> {
        check_trial(trial)
    }

    fn install_arguments(&self, _: &FoundPrograms, data: &Path, _: &ServerVariables) -> Vec<OsString> {
        install_arguments(data)
    }

    fn server_arguments(
        &self,
        _: &FoundPrograms,
        data: &Path,
        params: &Params,
        variables: &ServerVariables,
        network: Option<&PrivateNetwork>,
    ) -> Vec<OsString> {
        let mut args = server_arguments(data, params, variables);
        // The last of two counts.
        args.extend(network.map(network_settings).into_iter().flatten());
        args
    }

    /// Until the owner has a password, no one can log in over the network.
    fn network_address(
        &self,
        admin: &mut PostgresWire,
        address: &PostgresAddress,
        network: &PrivateNetwork,
    ) -> Result<PostgresAddress, OpFailure> {
        // A plan may set another form of hashed passwords.
        admin.run_statement("SET password_encryption = 'scram-sha-256'")?;
        let password = network.password.reveal();
        admin.run_statement(&format!("ALTER ROLE {ROLE} PASSWORD '{password}'"))?;
        Ok(address.over_network(network.route(), network.password.clone()))
    }

    fn private_address(socket: ServerSocket, shown: String) -> PostgresAddress {
        PostgresAddress::for_private(socket, ROLE, shown)
    }

    /// The database that a new server has will do.
    fn create_schema(_: &mut PostgresWire, address: PostgresAddress) -> Result<PostgresAddress, OpFailure> {
        Ok(address)
    }

    fn external_endpoints(trial: &Trial) -> Result<Vec<(String, PostgresAddress)>, TargetError> {
        let urls = ServerUrl::endpoints_from_params(&trial.target.params, SCHEMES, EXAMPLE)?;
        let passwords = Password::for_endpoints(&trial.target.params, urls.len())?;
        let limits = session_options::answer_limits(&trial.target.params);
        let all = urls.iter().zip(passwords);
        let address = |url, password| PostgresAddress::from_url(url, password, limits);
        all.map(|(url, password)| Ok((url.endpoint_name(), address(url, password)?))).collect()
    }

    fn in_schema_of(address: &PostgresAddress, like: &PostgresAddress) -> PostgresAddress {
        address.in_schema_of(like)
    }

    fn identify(admin: &mut PostgresWire) -> Result<EndpointIdentity, OpFailure> {
        external::identify(admin)
    }

    fn open_external(
        trial: &Trial,
        schema: SchemaUse<'_>,
    ) -> Result<(PostgresAddress, PostgresWire, ExternalSchema), TargetError> {
        let params = &trial.target.params;
        let urls = ServerUrl::endpoints_from_params(params, SCHEMES, EXAMPLE)?;
        let endpoints = Self::external_endpoints(trial)?.into_iter().map(|(_, address)| address).collect();
        external::open_schema(endpoints, &urls[0], schema)
    }

    fn visit_external(trial: &Trial) -> Result<(PostgresAddress, PostgresWire, ExternalSchema), TargetError> {
        let (address, url) = first_endpoint(&trial.target.params)?;
        external::visit_database(&address, &url)
    }

    fn reach_external(trial: &Trial) -> Result<(PostgresAddress, PostgresWire), TargetError> {
        let (address, url) = first_endpoint(&trial.target.params)?;
        let admin = external::reach_server(&address, &url)?;
        Ok((address, admin))
    }

    fn found_words() -> &'static FoundWords {
        &FOUND_WORDS
    }

    fn join_external(
        trial: &Trial,
        common: &CommonData,
    ) -> Result<(PostgresAddress, PostgresWire, ExternalSchema), TargetError> {
        let (address, url) = first_endpoint(&trial.target.params)?;
        external::join_schema(&address, &url, common)
    }

    fn claim(admin: &mut PostgresWire) -> Result<bool, OpFailure> {
        external::is_alone(admin)
    }

    fn connect_admin(address: &PostgresAddress, patience: Duration) -> Result<PostgresWire, OpFailure> {
        address.connect_admin(patience)
    }

    fn replay_words() -> &'static ReplayWords {
        &REPLAY_WORDS
    }

    fn at_route(address: &PostgresAddress, route: Route) -> PostgresAddress {
        address.at(route)
    }

    fn in_recorded_schema(address: &PostgresAddress, name: &str) -> PostgresAddress {
        address.in_database(name)
    }

    fn display_name(address: &PostgresAddress) -> &str {
        address.shown()
    }

    fn session_factory(
        address: PostgresAddress,
        statements: Arc<[String]>,
        options: SessionOptions,
    ) -> ConnectPostgres {
        ConnectPostgres::new(address, statements, options)
    }

    fn bulk_connect(address: PostgresAddress, targets: Arc<[RowTarget]>, options: SessionOptions) -> CopyInto {
        CopyInto::new(address, targets, options)
    }

    fn connect_as_client(connect: &ConnectPostgres) -> Result<PostgresWire, OpFailure> {
        connect.connect_as_client()
    }

    fn variable_query(name: &str) -> String {
        format!("SHOW {name}")
    }

    fn reported_variables(&self) -> &'static [&'static str] {
        &SETTINGS
    }

    fn durability_from(&self, value: &dyn Fn(&str) -> String) -> &'static str {
        match (value("fsync").as_str(), value("synchronous_commit").as_str()) {
            ("on", "on") => "disk",
            ("on", "off") => "os",
            ("off", "off") => "none",
            _ => "unknown",
        }
    }

    /// Data and log go through the page cache. (`debug_io_direct` is for developers.)
    fn write_path_from(&self, _: &dyn Fn(&str) -> Option<String>) -> WritePath {
        WritePath::Buffered
    }

    fn quote_name(name: &str) -> String {
        tables::quote_name(name)
    }

    fn create_statements(&self, table: &SqlTable) -> Vec<String> {
        tables::create_statements(table)
    }

    fn index_statements(table: &SqlTable) -> Vec<String> {
        tables::index_statements(table)
    }

    fn foreign_key_statements(table: &SqlTable) -> Vec<String> {
        tables::foreign_key_statements(table)
    }

    fn procedure_statement(procedure: &SqlProcedure) -> String {
        procedures::create_statement(procedure)
    }

    fn quiesce_tables(&self, admin: &mut PostgresWire, tables: &[String], private: bool) -> Result<Bytes, OpFailure> {
        quiesce::quiesce_tables(admin, tables, private)?;
        Ok(Bytes(0))
    }

    fn cancel_query(id: u64) -> String {
        format!("SELECT pg_cancel_backend({id})")
    }

    fn end_session_query(id: u64) -> String {
        format!("SELECT pg_terminate_backend({id})")
    }

    const SESSION_ID: &'static str = "SELECT pg_backend_pid()";
    const ROW_LAYOUT: RowLayout = RowLayout::Counted;

    fn explain(admin: &mut PostgresWire, sql: &str, executes: bool) -> Result<Vec<Fact>, OpFailure> {
        explain::explain(admin, sql, executes).map_err(OpFailure::from)
    }

    fn check_needs(needs: &ClientNeeds, value: ReadVariable<'_>) -> Result<Vec<String>, TargetError> {
        let kept = ["superuser_reserved_connections", "reserved_connections"].map(|name| number_of(name, value));
        let kept = kept.into_iter().flatten().fold(OWN_CONNECTIONS, u64::saturating_add);
        needs.check_connections(MAX_CONNECTIONS, kept, value).map(|()| Vec::new())
    }

    fn counter_sources(&self, address: &PostgresAddress) -> Vec<Box<dyn CounterSource>> {
        let mut sources = counters::counter_sources(address);
        sources.push(wait_events::sessions_source(address));
        sources
    }

    fn node_sources(
        &self,
        address: &PostgresAddress,
        name: &str,
        first: &PostgresAddress,
    ) -> Vec<Box<dyn CounterSource>> {
        vec![replication::node_source(address, name, first)]
    }

    fn connect_within(address: &PostgresAddress, allowed: Duration) -> Result<PostgresWire, OpFailure> {
        address.connect_within(allowed)
    }

    fn route_of(address: &PostgresAddress) -> &Route {
        address.route()
    }

    fn hold_words(&self) -> &'static HoldWords {
        &HOLD_WORDS
    }

    /// Advisory locks are in the table of all locks, whose size is `max_locks_per_transaction` for each connection.
    fn lock_statement(locks: u64, nth: u64) -> String {
        let (first, last) = (nth * locks + 1, (nth + 1) * locks);
        format!("SELECT count(pg_advisory_xact_lock(key)) FROM generate_series({first}, {last}) AS key")
    }
}

/// A private server lets its owner in up to the last connection, those kept for superusers included.
static HOLD_WORDS: HoldWords = HoldWords {
    count: "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'",
    limit: "max_connections",
    usual_limit: "100",
};

/// Whoever can reach the socket is trusted, for its directory is closed to others; over the network every user needs a password.
fn install_arguments(data: &Path) -> Vec<OsString> {
    let auth = ["--auth-local=trust", "--auth-host=scram-sha-256"];
    let plain = ["--no-sync", "--no-instructions", "--locale=C", "--encoding=UTF8", "--username"];
    let args = [OsString::from("-D"), data.into()].into_iter().chain(auth.into_iter().chain(plain).map(OsString::from));
    args.chain([ROLE.into()]).collect()
}

/// PostgreSQL's MB is 2^20 bytes.
fn in_megabytes(bytes: Bytes) -> String {
    format!("{}MB", bytes.0 >> 20)
}

fn network_settings(network: &PrivateNetwork) -> Vec<OsString> {
    let mut settings = vec![format!("listen_addresses={LOOPBACK}"), format!("port={}", network.port)];
    if network.way == NetworkWay::Tls {
        // Relative to the data directory.
        settings.extend(["ssl=on".to_owned(), format!("ssl_cert_file={CERTIFICATE}"), format!("ssl_key_file={KEY}")]);
    }
    settings.into_iter().flat_map(|setting| ["-c".into(), setting.into()]).collect()
}

/// Settings on the command line are stronger than those of the configuration file that initdb has written.
fn server_arguments(data: &Path, params: &Params, variables: &ServerVariables) -> Vec<OsString> {
    let (fsync, synchronous_commit) = match params.word("durability") {
        "disk" => ("on", "on"),
        "os" => ("on", "off"),
        _ => ("off", "off"),
    };
    let settings = [
        ("listen_addresses", String::new()),
        // Relative to the data directory.
        ("unix_socket_directories", ".".into()),
        ("unix_socket_permissions", "0700".into()),
        ("max_connections", CONNECTIONS_MAX.to_string()),
        ("fsync", fsync.into()),
        ("synchronous_commit", synchronous_commit.into()),
        ("shared_buffers", in_megabytes(params.bytes("cache"))),
        ("max_wal_size", in_megabytes(params.bytes("log_size"))),
    ];
    let mut args = vec!["-D".into(), data.into()];
    let own = settings.into_iter().map(|(name, value)| format!("{name}={value}"));
    let set = variables.iter().map(|(name, value)| format!("{name}={value}"));
    args.extend(own.chain(set).flat_map(|setting| ["-c".into(), setting.into()]));
    args
}

/// What is asked about tables that are there.
static FOUND_WORDS: FoundWords = FoundWords {
    schema: "current_schema()",
    leading_columns: "SELECT a.attname FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0] \
                      WHERE i.indrelid = '{}'::regclass",
};

/// What a replay of a log asks. A server without a log collector, or a role that may not know, has no files.
static REPLAY_WORDS: ReplayWords = ReplayWords {
    dialect: LogDialect::Postgres,
    version: "SELECT current_setting('server_version')",
    port: "SELECT current_setting('port')",
    socket: "SELECT split_part(current_setting('unix_socket_directories'), ',', 1) || '/.s.PGSQL.' || current_setting('port')",
    log_files: &[
        "SELECT pg_current_logfile('stderr')",
        "SELECT pg_current_logfile('csvlog')",
        "SELECT pg_current_logfile('jsonlog')",
    ],
    begin: &["SET client_encoding = 'UTF8'"],
    read_only: "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY",
    catalogue: catalogue::WORDS,
    has_schema: "SELECT datname FROM pg_database WHERE datname = '{}'",
    enter_schema: None,
    made_columns: Some(MADE_COLUMNS),
    counters: CounterWords {
        before: None,
        columns: ID_COUNTERS,
        triggers: "SELECT DISTINCT f.prosrc FROM pg_trigger t JOIN pg_proc f ON f.oid = t.tgfoid WHERE NOT t.tgisinternal AND t.tgenabled <> 'D'",
        // A body of standard SQL is no text.
        routines: "SELECT p.proname, CASE WHEN p.prosrc = '' THEN pg_get_functiondef(p.oid) ELSE p.prosrc END FROM pg_proc p \
                   JOIN pg_namespace n ON n.oid = p.pronamespace JOIN pg_language l ON l.oid = p.prolang \
                   WHERE n.nspname NOT IN ('pg_catalog', 'information_schema') AND l.lanname NOT IN ('c', 'internal')",
    },
    keys: KeyWords {
        // Which ids the server made is known by their column.
        columns: "SELECT table_schema, column_name, data_type, 0, \
                  (SELECT count(*) FROM information_schema.views v WHERE v.table_schema = c.table_schema AND v.table_name = c.table_name), \
                  (SELECT pg_table_is_visible(t.oid)::int FROM pg_class t JOIN pg_namespace n ON n.oid = t.relnamespace \
                  WHERE n.nspname = c.table_schema AND t.relname = c.table_name) \
                  FROM information_schema.columns c WHERE table_name = {table} AND {in_schema} ORDER BY table_schema, ordinal_position",
        in_usual_schema: "table_schema NOT IN ('pg_catalog', 'information_schema')",
        quote: tables::quote_name,
    },
    triggers: None,
    plans: PlanWords { explain: "EXPLAIN (COSTS OFF, FORMAT JSON)", steps: plan_steps::steps },
};

/// Columns that a sequence fills, or that hold UUIDs which the server makes: of each table by its name with the schema and without, first by those that
/// are found without it; and their places.
const MADE_COLUMNS: &str = "SELECT CASE WHEN w.is_whole THEN n.nspname || '.' || c.relname ELSE c.relname END, a.attname, \
    CASE WHEN a.atttypid = 'uuid'::regtype THEN '' ELSE coalesce('nextval(' || \
    quote_literal(pg_get_serial_sequence(quote_ident(n.nspname) || '.' || quote_ident(c.relname), a.attname)) || '::regclass)', \
    pg_get_expr(d.adbin, d.adrelid)) END, (SELECT count(*) FROM pg_attribute b WHERE b.attrelid = a.attrelid AND b.attnum > 0 \
    AND b.attnum < a.attnum AND NOT b.attisdropped) \
    FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace \
    LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum \
    CROSS JOIN (VALUES (true), (false)) w(is_whole) \
    WHERE a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'p') AND n.nspname NOT IN ('pg_catalog', 'information_schema') \
    AND (a.attidentity <> '' OR pg_get_expr(d.adbin, d.adrelid) LIKE '%nextval(%' OR a.atttypid = 'uuid'::regtype AND d.oid IS NOT NULL) \
    ORDER BY pg_table_is_visible(c.oid) DESC";

/// Columns that sequences fill, with the last numbers that these gave and the first ones. A sequence is a table of one row, which only a query that
/// names it reads; one of which each connection takes several numbers at once gives them in no order.
const ID_COUNTERS: &str = "SELECT t.relname, t.attname, t.place, t.counter::regclass, CASE WHEN has_sequence_privilege(t.counter, 'SELECT') THEN \
    substring(query_to_xml('SELECT CASE WHEN is_called THEN last_value ELSE last_value - 1 END AS v FROM ' || t.counter::regclass, \
    false, true, '')::text from '<v>([0-9]+)</v>') END, q.seqstart, t.nspname, pg_table_is_visible(t.oid)::int \
    FROM (SELECT c.oid, n.nspname, c.relname, a.attname, (SELECT count(*) FROM pg_attribute b WHERE b.attrelid = a.attrelid AND b.attnum > 0 \
    AND b.attnum < a.attnum AND NOT b.attisdropped) AS place, \
    coalesce(pg_get_serial_sequence(quote_ident(n.nspname) || '.' || quote_ident(c.relname), a.attname)::regclass::oid, \
    (SELECT p.refobjid FROM pg_depend p JOIN pg_class s ON s.oid = p.refobjid AND s.relkind = 'S' \
    WHERE p.classid = 'pg_attrdef'::regclass AND p.objid = d.oid LIMIT 1)) AS counter \
    FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace \
    LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum \
    WHERE a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'p') AND n.nspname NOT IN ('pg_catalog', 'information_schema') \
    AND (a.attidentity <> '' OR pg_get_expr(d.adbin, d.adrelid) LIKE '%nextval(%')) t \
    JOIN pg_sequence q ON q.seqrelid = t.counter AND q.seqincrement = 1 AND q.seqcache = 1";

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
            &ServerVariables::default(),
        );
        for expected in ["shared_buffers=64MB", "max_wal_size=256MB", "synchronous_commit=off", "fsync=on"] {
            assert!(args.iter().any(|arg| arg == expected), "{expected} in {args:?}");
        }
    }
}
