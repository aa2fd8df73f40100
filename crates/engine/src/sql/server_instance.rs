//! The instance of an SQL server: a private one in a directory of plimsoll's own, or an existing one given by its URL.
//!
//! In: what one kind of server has of its own ([`SqlServer`]: programs, arguments, words for tables and settings). Out: an
//! [`Instance`]. Limits: one control connection (`admin`) makes all queries outside of the load, and never while clients wait; an
//! existing server is never started, stopped or configured.

mod common;
mod connecting;
mod data_sets;
mod loading;
mod looking;
mod maintenance;
mod needs;
mod nodes;
mod starting;
mod variants;

pub use self::data_sets::sets_on_server;
pub use self::nodes::{NodeGroup, NodePorts};

use self::common::CommonSchema;
use self::maintenance::ServerMaintenance;
use self::nodes::{ClusterNodes, Endpoints, NodeOf};
use self::starting::{StartedServer, client_address, launch_server, start_listening};
use self::variants::{OpenSessions, VariantServer};
use crate::conditions::{CONDITION_PATIENCE, CheckedConditions, check_conditions};
use crate::connect::hold::HoldReport;
use crate::connect::{self, connect_program_of};
use crate::data_description::DataDescription;
use crate::data_set::{KeptIn, SetUse};
use crate::engine::{
    DataSpace, Instance, InstanceReport, ResetFor, StartContext, WorkloadClients, loaders_for, workload_of,
};
use crate::maintenance::{RemainingDebt, maintenance_clients};
use crate::params::allocator_in;
use crate::recordings;
use crate::reset::{DataReset, ResetMode, WhileStopped};
use crate::server::answers::CONTROL_ANSWER;
use crate::server::dir::{ServerDir, ServerSocket};
use crate::server::identity::IdentityWatch;
use crate::server::location::{DataLocation, ExternalSchema};
use crate::server::network::Route;
use crate::server::private_network::PrivateNetwork;
use crate::server::program::{FoundPrograms, ProgramSet};
use crate::server::sighting::ServerSighting;
use crate::server::variables::{ServerVariables, VariableRules};
use crate::settings::{AskServer, QueriedSettings, SettingsReader, WatchedSettings};
use crate::sql::admin_connection::AdminConnection;
use crate::sql::bulk::{BulkConnect, bulk_clients};
use crate::sql::client_needs::{ClientNeeds, ReadVariable};
use crate::sql::client_tally::{self, ClientTally};
use crate::sql::clients::sql_clients;
use crate::sql::connections::HoldWords;
use crate::sql::endpoints::{self, EndpointIdentity, EndpointPolicy, endpoint_clients};
use crate::sql::external::SchemaUse;
use crate::sql::found_data::{self, FoundServer, FoundWords};
use crate::sql::multiplex::PollableSession;
use crate::sql::open_connections::{CANCEL_WITHIN, OpenConnections};
use crate::sql::replay::{self, ReplayTally, ReplayWords};
use crate::sql::replay_calls::PreparesLater;
use crate::sql::replay_plans::ReplayPlans;
use crate::sql::row_tally::{ReplacedRows, StatementRows};
use crate::sql::session_options::{self, ClientThreads, SessionOptions};
use crate::sql::variant::rows::RowLayout;
use crate::sql::variant::{self, VariantResult, VariantRun};
use crate::sql::watched_tables::watched_tables;
use crate::sql::{OpFailure, SessionFactory, program_of, server_error};
use host::data_dir::DataDir;
use host::error::{TargetError, shown};
use host::privileged::copy::move_contents;
use model::{Bytes, CommonData, CounterSource, Fact, LoadPart, Params, SqlOp, Trial, WritePath};
use rustix::process::Signal;
use std::cell::RefCell;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use workload::program::HoldProgram;
use workload::{BackgroundOps, OpKindDef, OpStream, RowTarget, SqlLoad, SqlProcedure, SqlTable, SqlWork};

/// Counting rows and flushing have no time limit of their own, and a load may leave much to be written.
const ADMIN_PATIENCE: Duration = Duration::from_secs(600);

/// The constants of one kind of server.
pub struct ServerSpec {
    /// The name of a private one: in messages, of its directory, and as the prefix of its facts.
    pub name: &'static str,
    /// What it needs to run.
    pub programs: &'static ProgramSet,
    /// The name of the program that makes its files.
    pub install: &'static str,
    /// Its socket, in its directory.
    pub socket: &'static str,
    /// If its name ends with the server's port: that of a server which listens on none.
    pub socket_ends_with_port: Option<u16>,
    /// The signal that kills it with all its processes.
    pub killed_by: Signal,
    /// The signal that shuts it down cleanly, without waiting for clients.
    pub ended_by: Signal,
    /// Which of its variables a plan may set.
    pub rules: VariableRules,
    /// The variable that holds its version.
    pub version: &'static str,
    /// The settings that must not change during a point.
    pub watched: WatchedSettings,
    /// What its statements find of rows that other transactions replace.
    pub replaced_rows: ReplacedRows,
    /// Queries for the isolation level of a connection. Each server knows one of them.
    pub isolation: &'static [&'static str],
    /// The query for the size of the tables, in bytes.
    pub table_bytes: &'static str,
    /// The query for the directory of the data.
    pub data_dir: &'static str,
    /// The names that processes of such servers have.
    pub process_names: &'static [&'static str],
}

impl ServerSpec {
    /// The name of the socket of a server that listens on `network`.
    fn socket_name(&self, network: Option<&PrivateNetwork>) -> String {
        let port = self.socket_ends_with_port.map(|unused| network.map_or(unused, |network| network.port));
        format!("{}{}", self.socket, port.map_or(String::new(), |port| port.to_string()))
    }
}

/// What one kind of server has of its own.
pub trait SqlServer: Clone + Send + Sync + 'static {
    /// The address of a server, with the login.
    type Address: Clone + Send + Sync + 'static;
    type Admin: AdminConnection;
    type Sessions: SessionFactory<Session: PollableSession + PreparesLater>;
    /// How its loaders connect.
    type Bulk: BulkConnect;

    /// The constants of this kind.
    fn spec(&self) -> &'static ServerSpec;
    /// The programs of a private server for `trial`.
    fn find_programs(&self, trial: &Trial) -> Result<FoundPrograms, TargetError> {
        let found = self.spec().programs.find(trial.target.programs.as_deref());
        found.map_err(|why| TargetError::Unsupported(format!("engine `{}`: {why}", trial.target.engine)))
    }

    /// Refuses a trial that this kind of server, or this machine, cannot run.
    fn check_trial(&self, trial: &Trial) -> Result<(), TargetError>;
    /// Arguments of the program that makes the files in `data`.
    fn install_arguments(&self, found: &FoundPrograms, data: &Path, variables: &ServerVariables) -> Vec<OsString>;
    /// Arguments of the server on them.
    fn server_arguments(
        &self,
        found: &FoundPrograms,
        data: &Path,
        params: &Params,
        variables: &ServerVariables,
        network: Option<&PrivateNetwork>,
    ) -> Vec<OsString>;
    /// A file in its directory that it needs to listen on `network`, with what is in it.
    fn startup_file(&self, _network: &PrivateNetwork) -> Option<(&'static str, String)> {
        None
    }
    /// The address of clients of a private server that listens on `network`.
    fn network_address(
        &self,
        admin: &mut Self::Admin,
        address: &Self::Address,
        network: &PrivateNetwork,
    ) -> Result<Self::Address, OpFailure>;
    /// The address of the server behind a private socket.
    fn private_address(socket: ServerSocket, shown: String) -> Self::Address;
    /// Makes the schema for the tables on a new private server, and returns its address.
    fn create_schema(link: &mut Self::Admin, address: Self::Address) -> Result<Self::Address, OpFailure>;
    /// The endpoints of the existing database that `trial` names, with their names; no database is chosen on them yet.
    fn external_endpoints(trial: &Trial) -> Result<Vec<(String, Self::Address)>, TargetError>;
    /// `address` with the database and schema of `like`.
    fn in_schema_of(address: &Self::Address, like: &Self::Address) -> Self::Address;
    /// What the server reports of itself and of its cluster.
    fn identify(admin: &mut Self::Admin) -> Result<EndpointIdentity, OpFailure>;
    /// How many nodes a private instance has.
    fn node_count(&self, _params: &Params) -> usize {
        1
    }
    /// The further arguments of node number `nth`, from 0, of `group`.
    fn node_arguments(
        &self,
        _found: &FoundPrograms,
        _params: &Params,
        _group: &NodeGroup,
        _nth: usize,
    ) -> Result<Vec<OsString>, TargetError> {
        Ok(Vec::new())
    }
    /// The counters that one node of a cluster called `name` keeps of the cluster, whose first node is at `first`.
    fn node_sources(
        &self,
        _address: &Self::Address,
        _name: &str,
        _first: &Self::Address,
    ) -> Vec<Box<dyn CounterSource>> {
        Vec::new()
    }
    /// Makes a schema on the existing server that `trial` names, or opens that of a data set.
    fn open_external(
        trial: &Trial,
        schema: SchemaUse<'_>,
    ) -> Result<(Self::Address, Self::Admin, ExternalSchema), TargetError>;
    /// Opens the database that `trial` names, in which nothing is made.
    fn visit_external(trial: &Trial) -> Result<(Self::Address, Self::Admin, ExternalSchema), TargetError>;
    /// What is asked about tables that are there.
    fn found_words() -> &'static FoundWords;
    /// Opens the schema that another host has made there, if its marker is that of `common`.
    fn join_external(
        trial: &Trial,
        common: &CommonData,
    ) -> Result<(Self::Address, Self::Admin, ExternalSchema), TargetError>;
    /// Takes the lock that only one plimsoll has on a server. False if another has it.
    fn claim(admin: &mut Self::Admin) -> Result<bool, OpFailure>;
    /// A connection that gives up after `patience` without an answer.
    fn connect_admin(address: &Self::Address, patience: Duration) -> Result<Self::Admin, OpFailure>;
    /// The server, for messages.
    fn display_name(address: &Self::Address) -> &str;
    /// What a replay of statements asks of such a server.
    fn replay_words() -> &'static ReplayWords;
    /// The same account of the server at the end of `route`.
    fn at_route(address: &Self::Address, route: Route) -> Self::Address;
    /// The same address with the recorded schema `name` as the current one.
    fn in_recorded_schema(address: &Self::Address, name: &str) -> Self::Address;
    /// Makes the connections of clients that execute `statements` with `options`.
    fn session_factory(address: Self::Address, statements: Arc<[String]>, options: SessionOptions) -> Self::Sessions;
    /// Makes the connections of loaders that add rows to `targets`.
    fn bulk_connect(address: Self::Address, targets: Arc<[RowTarget]>, options: SessionOptions) -> Self::Bulk;
    /// Makes a control connection with the session options of clients.
    fn connect_as_client(connect: &Self::Sessions) -> Result<Self::Admin, OpFailure>;
    /// The query for the value of a variable.
    fn variable_query(name: &str) -> String;
    /// The variables that are read back as facts.
    fn reported_variables(&self) -> &'static [&'static str];
    /// The durability (`disk`, `os`, `none`) that results from the values of its variables.
    fn durability_from(&self, value: &dyn Fn(&str) -> String) -> &'static str;
    /// How data and log reach the disk, by the values of its variables.
    fn write_path_from(&self, value: &dyn Fn(&str) -> Option<String>) -> WritePath;
    /// `name` as an identifier.
    fn quote_name(name: &str) -> String;
    /// The statements that make `table` with its indexes.
    fn create_statements(&self, table: &SqlTable) -> Vec<String>;
    /// The statements that add its indexes to a table without them.
    fn index_statements(table: &SqlTable) -> Vec<String>;
    /// The statements that add its foreign keys to a table with rows for which they hold.
    fn foreign_key_statements(table: &SqlTable) -> Vec<String>;
    /// The statement that makes a stored procedure.
    fn procedure_statement(procedure: &SqlProcedure) -> String;
    /// Writes out what is pending for `tables`, as far as a server that is not `private` allows it. Returns the bytes left if it
    /// makes no progress any more.
    fn quiesce_tables(&self, link: &mut Self::Admin, tables: &[String], private: bool) -> Result<Bytes, OpFailure>;
    /// The query for the number by which a connection is named in [`SqlServer::cancel_query`].
    const SESSION_ID: &'static str;
    /// The layout of the rows that it sends.
    const ROW_LAYOUT: RowLayout;
    /// The statement that cancels what connection number `id` executes.
    fn cancel_query(id: u64) -> String;
    /// The statement that ends connection number `id` with what it executes.
    fn end_session_query(id: u64) -> String;
    /// What the optimizer does with `sql`, and if `executes`, what one more execution costs.
    fn explain(link: &mut Self::Admin, sql: &str, executes: bool) -> Result<Vec<Fact>, OpFailure>;
    /// Refuses clients that a server whose variables have these values would turn away. Returns what the user should know of it.
    fn check_needs(needs: &ClientNeeds, value: ReadVariable<'_>) -> Result<Vec<String>, TargetError>;
    /// The counters that it keeps of itself.
    fn counter_sources(&self, address: &Self::Address) -> Vec<Box<dyn CounterSource>>;
    /// A connection that is measured: it logs in, and gives up if that takes longer than `allowed`.
    fn connect_within(address: &Self::Address, allowed: Duration) -> Result<Self::Admin, OpFailure>;
    /// How connections get there.
    fn route_of(address: &Self::Address) -> &Route;
    /// What connections that are held need to know.
    fn hold_words(&self) -> &'static HoldWords;
    /// The statement by which held transaction number `nth` takes `locks` locks that conflict with those of no other.
    fn lock_statement(locks: u64, nth: u64) -> String;
    /// The statements that make what those locks are taken on.
    fn lock_targets(_hold: &HoldProgram) -> Vec<String> {
        Vec::new()
    }
    /// The address of an account for which a private server keeps no connections in reserve.
    fn ordinary_address(_admin: &mut Self::Admin, address: &Self::Address) -> Result<Self::Address, OpFailure> {
        Ok(address.clone())
    }
}

/// How servers of this kind are asked about data that is there.
fn found_server<S: SqlServer>() -> FoundServer {
    let ReplayWords { begin, read_only, .. } = S::replay_words();
    FoundServer { words: S::found_words(), begin, read_only, quote_name: S::quote_name, row_layout: S::ROW_LAYOUT }
}

/// A server with the data that was made on it.
pub struct SqlServerInstance<S: SqlServer> {
    server: S,
    /// Those of a private server.
    programs: Option<FoundPrograms>,
    /// The control connection. Not used while clients wait.
    admin: RefCell<S::Admin>,
    address: S::Address,
    /// The address for clients: that of the control connection, or over the network of a private server.
    client_address: S::Address,
    /// The network of a private server, if it has one.
    network: Option<PrivateNetwork>,
    tables: Vec<String>,
    /// The tables with the indexes and foreign keys that they still lack.
    incomplete: Vec<SqlTable>,
    /// The rows of the data set that it begins with.
    rows_there: Option<u64>,
    /// How loaders connect, while data is made.
    loading: Option<S::Bulk>,
    /// The seed of the data.
    seed: u64,
    tally: Arc<ClientTally>,
    debt: RemainingDebt,
    made_for: DataDescription,
    /// Variables that the plan sets.
    variables: ServerVariables,
    /// What is reset before each point.
    reset: DataReset,
    params: Params,
    /// Those of the clients of the last trial, or of the first.
    options: SessionOptions,
    /// The variant of the last trial, if it was one.
    variant: Option<VariantRun>,
    /// The connections of variants.
    variant_sessions: OpenSessions,
    /// The connections of other clients.
    open: OpenConnections,
    /// The server that is measured, and others that answer in its place.
    identity: IdentityWatch,
    location: DataLocation,
    /// Whose the schema is, and who uses it.
    common: CommonSchema,
    /// The further nodes of a private cluster.
    nodes: ClusterNodes,
    /// All endpoints; `None` if there is one.
    endpoints: Option<Endpoints<S>>,
    /// How clients choose among them.
    policy: EndpointPolicy,
    /// Whether its trials open connections and do nothing else.
    is_connecting: bool,
    replay_facts: Vec<Fact>,
    /// How many statements the clients that were made last replay.
    replayed_ops: Option<u64>,
    /// What the statements of a replay have come to; `None` of any other load.
    replay_tally: Option<ReplayTally>,
    /// What is asked about its plans when it is over.
    replay_plans: Option<ReplayPlans>,
    /// What was found of data that is there already; empty of data that plimsoll makes.
    found_facts: Vec<Fact>,
    /// What a hold found.
    held: HoldReport,
    /// What the server can do for the clients only slowly.
    warnings: Vec<String>,
}

/// A directory with the files of a new server that has not started. Dropped, it is removed.
fn make_server_dir<S: SqlServer>(
    server: &S,
    programs: &FoundPrograms,
    start: &StartContext,
    variables: &ServerVariables,
) -> Result<ServerDir, TargetError> {
    let own = server.spec();
    let dir = DataDir::create(start.parent, start.data, start.trial.data_seed())?;
    // From here on an error drops the directory, which stops the server and removes its files.
    let server_dir = ServerDir::make(dir, own.name, own.programs.user, own.killed_by)?;
    let server_dir = server_dir.limited_by(start.cgroups).pinned_to(start.cpus);
    let server_dir = server_dir.with_allocator(allocator_in(&start.trial.target.params))?;
    let arguments = server.install_arguments(programs, server_dir.data(), variables);
    let made = server_dir.set_up(programs.path_of(own.install).to_owned(), arguments);
    made.map(|()| server_dir).map_err(|error| own.rules.blame(variables, error))
}

impl<S: SqlServer> SqlServerInstance<S> {
    /// Starts `server` in a directory of its own.
    pub fn start(server: S, start: &StartContext) -> Result<Self, TargetError> {
        server.check_trial(start.trial)?;
        let (own, params) = (server.spec(), &start.trial.target.params);
        let group = NodeGroup::choose(server.node_count(params))?;
        let programs = server.find_programs(start.trial)?;
        let mut variables = own.rules.variables_in(params);
        if connect::is_connecting(start.trial) && connect_program_of(start.trial, true).hold.is_some() {
            // Plimsoll's own limit is far beyond what a server is set to, and would take all of the memory to reach.
            let words = server.hold_words();
            variables.set_unless_set(words.limit, words.usual_limit);
        }
        let mut server_dir = make_server_dir(&server, &programs, start, &variables)?;
        let node = group.as_ref().map(|group| NodeOf { group, nth: 0 });
        let launched = start_listening(&server, &programs, &mut server_dir, params, &variables, node);
        let StartedServer { address, mut admin, network } =
            launched.map_err(|error| own.rules.blame(&variables, error))?;
        let said = S::display_name(&address).to_owned();
        let address = S::create_schema(&mut admin, address).map_err(|failure| server_error(&said, failure))?;
        let client_address = match &network {
            None => address.clone(),
            Some(network) => client_address(&server, &mut admin, &address, network)?,
        };
        let (nodes, endpoints) = match &group {
            None => (ClusterNodes::default(), None),
            Some(group) => nodes::join_nodes(&server, &programs, start, &variables, group, &address)?,
        };
        let (location, reset) = (DataLocation::Private(Box::new(server_dir)), DataReset::for_trial(start.trial));
        let reset = reset.with_set(start.data_set);
        let made = SqlServerInstance {
            programs: Some(programs),
            nodes,
            endpoints,
            variables,
            reset,
            client_address,
            network,
            ..SqlServerInstance::on_server(server, start, address, admin, location)
        };
        own.rules.check_known(&made.variables, |name| made.read_variable(name))?;
        made.with_room_for(start.trial)
    }

    /// Makes a schema on an existing server, or opens the one of another host.
    pub fn open_external(server: S, start: &StartContext) -> Result<Self, TargetError> {
        if variant::is_variant(start.trial) {
            variant::check_trial(start.trial, false)?;
        }
        let named = S::external_endpoints(start.trial)?;
        endpoints::check_trial(start.trial, named.len())?;
        // Before anything is made on any of them.
        let identities = if named.len() > 1 { nodes::identify_all::<S>(&named, start.trial)? } else { Vec::new() };
        let wanted = found_data::wanted_by(start.trial);
        if let (Some(wanted), SetUse::Makes(_) | SetUse::Uses(_)) = (&wanted, start.data_set) {
            return Err(TargetError::Unsupported(format!(
                "{}: tables that are there already are no data set of plimsoll's; leave out one of both",
                wanted.asked
            )));
        }
        let (address, mut admin, mut external) = match (start.joins, &wanted) {
            (None, None) if !recordings::replays_statements(start.trial) => {
                S::open_external(start.trial, SchemaUse::of_instance(start.data_set))?
            }
            // Nothing is made: an account that may only read is enough for a replay of reads.
            (None, _) => S::visit_external(start.trial)?,
            (Some(common), _) => S::join_external(start.trial, common)?,
        };
        let found = wanted
            .map(|wanted| found_data::find_data(&found_server::<S>(), &wanted, &mut admin, S::display_name(&address)));
        // An account may not be allowed to know the directory, which is no reason to refuse it.
        let data_dir = admin.query_value(server.spec().data_dir).ok().flatten();
        if let SetUse::Uses(_) = start.data_set {
            external.keep();
        }
        external.sighting = ServerSighting::look(admin.socket_fd(), data_dir.as_deref(), server.spec().process_names);
        external.further_nodes = nodes::see_nodes(&server, named.iter().skip(1).map(|(_, address)| address));
        let all = named.iter().map(|(name, endpoint)| (name.clone(), S::in_schema_of(endpoint, &address)));
        let endpoints = (named.len() > 1).then(|| Endpoints::<S>::new(all.collect(), identities));
        let location = DataLocation::External(Box::new(external));
        let common = CommonSchema::from_start(start);
        let mut on_server = SqlServerInstance::on_server(server, start, address, admin, location);
        on_server.admin.get_mut().is_other(&on_server.identity, false);
        if let Some((data, facts)) = found.transpose()? {
            on_server.made_for.sequence.set_found(data);
            on_server.found_facts = facts;
        }
        let made = SqlServerInstance { endpoints, common, ..on_server };
        made.describe_use(start.data_set)?;
        made.with_room_for(start.trial)
    }

    /// The instance on a server that is running.
    fn on_server(
        server: S,
        start: &StartContext,
        address: S::Address,
        admin: S::Admin,
        location: DataLocation,
    ) -> Self {
        let identity = IdentityWatch::new(server.spec().watched.identity);
        SqlServerInstance {
            server,
            programs: None,
            admin: RefCell::new(admin),
            client_address: address.clone(),
            address,
            network: None,
            tables: Vec::new(),
            incomplete: Vec::new(),
            rows_there: start.data_set.rows_there(),
            loading: None,
            seed: start.trial.data_seed(),
            tally: Arc::default(),
            debt: RemainingDebt::default(),
            made_for: DataDescription::new(start),
            variables: ServerVariables::default(),
            reset: DataReset::unchanged(),
            params: start.trial.target.params.clone(),
            options: SessionOptions::from_trial(start.trial),
            variant: None,
            variant_sessions: OpenSessions::default(),
            open: OpenConnections::default(),
            identity,
            location,
            common: CommonSchema::NotShared,
            nodes: ClusterNodes::default(),
            endpoints: None,
            policy: EndpointPolicy::from_params(&start.trial.target.params),
            is_connecting: connect::is_connecting(start.trial),
            replay_facts: Vec::new(),
            replayed_ops: None,
            replay_tally: None,
            replay_plans: None,
            found_facts: Vec::new(),
            held: HoldReport::default(),
            warnings: Vec::new(),
        }
    }

    /// Stops a private server (cleanly if `in_order`), runs `meanwhile` on its directory, and starts it again.
    fn restart_server(&mut self, in_order: bool, meanwhile: WhileStopped) -> Result<(), TargetError> {
        let (DataLocation::Private(server_dir), Some(programs)) = (&mut self.location, &self.programs) else {
            return Ok(());
        };
        // In order, the server flushes its cache and leaves nothing to recover; otherwise its files are about to be replaced.
        server_dir.end_server(in_order.then_some(self.server.spec().ended_by))?;
        let data = server_dir.data().to_owned();
        meanwhile(&mut self.reset, &mut server_dir.dir, &data)?;
        // A data set has none of this run.
        starting::write_network_files(&self.server, server_dir, self.network.as_ref())?;
        self.admin = RefCell::new(launch_server(
            &self.server,
            programs,
            server_dir,
            &self.address,
            &self.params,
            &self.variables,
            self.network.as_ref(),
            // A cluster is never restarted.
            None,
        )?);
        if let Some(network) = &self.network {
            client_address(&self.server, &mut self.admin.borrow_mut(), &self.address, network)?;
        }
        Ok(())
    }

    fn stream_clients(
        &self,
        options: SessionOptions,
        statements: Vec<String>,
        stream: &OpStream<SqlOp>,
        background: &[BackgroundOps<SqlOp>],
        kinds: &[OpKindDef],
        clients: LoadPart,
    ) -> WorkloadClients {
        let statements: Arc<[String]> = statements.into();
        let options = SessionOptions { open: self.open.clone(), ..options };
        let connect = |address: &S::Address, identity: IdentityWatch| {
            S::session_factory(address.clone(), statements.clone(), SessionOptions { identity, ..options.clone() })
        };
        let Some(endpoints) = &self.endpoints else {
            let connect = connect(&self.client_address, self.identity.clone());
            return sql_clients(stream, background, kinds, clients, &connect, &self.tally);
        };
        // Each of several is a server of its own.
        let connects: Vec<S::Sessions> =
            endpoints.addresses().map(|address| connect(address, IdentityWatch::default())).collect();
        let choice = (&endpoints.health, self.policy);
        endpoint_clients(stream, background, kinds, clients, &connects, choice)
    }

    /// The clients that replay a log, if this is a server to replay it on.
    fn make_replaying_clients(&mut self, trial: &Trial) -> Result<WorkloadClients, TargetError> {
        if self.location.is_private() {
            return Err(TargetError::Unsupported(replay::NEEDS_COPY.to_owned()));
        }
        if trial.share.is_some() || self.endpoints.is_some() || self.options.threads != ClientThreads::Each {
            let text = "workload `replay-sql` has one host, one endpoint, and a thread for each client";
            return Err(TargetError::Unsupported(text.to_owned()));
        }
        let mut admin = self.admin.borrow_mut();
        let data_dir = admin.query_value(self.server.spec().data_dir).ok().flatten();
        let path = recordings::path_of(trial);
        replay::check_writes_elsewhere::<S>(path, &mut admin, data_dir.as_deref())?;
        let log = recordings::log_of(trial)?;
        let params = &trial.workload.params;
        replay::check_comparable(params)?;
        replay::check_server(&self.server, &log, params, &self.address, &mut admin)?;
        let whole = replay::judged_recording::<S>(&log, params, &self.address, &mut admin)?;
        let made_columns = replay::made_columns::<S>(&whole, params, &self.address, &mut admin)?;
        let recording = replay::copied_recording(&whole, trial)?;
        let keys = replay::moving_keys::<S>(&recording, params, &self.address, &mut admin)?;
        let worked = if replay::makes_ids(&recording, &keys) {
            replay::worked_ids::<S>(&log, params, &self.address, &mut admin)?
        } else {
            None
        };
        drop(admin);
        self.replay_facts = replay::facts(&recording);
        self.replayed_ops = Some(recording.len());
        let (open, identity) = (self.open.clone(), self.identity.clone());
        let options = SessionOptions { open, identity, ..self.options.clone() };
        let (clients, tally) =
            replay::replay_clients::<S>(&recording, trial, &self.client_address, &options, made_columns, worked, keys)?;
        self.replay_tally = Some(tally);
        self.replay_plans = replay::plans_of(&recording, trial)?;
        Ok(clients)
    }

    /// Performs `statement`, which sets up a schema and touches no data.
    fn set_up(&self, statement: &str) -> Result<(), TargetError> {
        self.admin.borrow_mut().set_up(statement).map_err(|failure| self.admin_error(failure))
    }

    /// Performs `statement`, which works on data and may take long.
    fn run_statement(&self, statement: &str) -> Result<(), TargetError> {
        self.admin.borrow_mut().run_statement(statement).map_err(|failure| self.admin_error(failure))
    }

    /// The number that the query `question` returns; 0 if it returns none.
    fn query_number(&self, question: &str) -> Result<u64, TargetError> {
        self.admin.borrow_mut().number_patiently(question).map_err(|failure| self.admin_error(failure))
    }

    /// The size of the tables, in bytes. The control connection is made again if a restart of the server has closed it.
    fn query_table_bytes(&self) -> Result<u64, TargetError> {
        self.query_number(self.server.spec().table_bytes).or_else(|_| {
            let admin = S::connect_admin(&self.address, ADMIN_PATIENCE).map_err(|failure| self.admin_error(failure))?;
            self.admin.replace(admin);
            self.query_number(self.server.spec().table_bytes)
        })
    }

    fn read_variable(&self, name: &str) -> Option<String> {
        self.admin.borrow_mut().query_value(&S::variable_query(name)).ok().flatten()
    }

    /// The isolation level of the clients' transactions, as reported by the server.
    fn read_isolation(&self) -> Option<String> {
        // Asked as a client would: the control connection has none of their options.
        // It is one question, and not what is measured: a server that is silent is not waited for as long as clients do.
        let patience = self.options.patience.min(CONTROL_ANSWER);
        let options = SessionOptions { patience, ..self.options.clone() };
        let connect = S::session_factory(self.client_address.clone(), [].into(), options);
        let mut link = S::connect_as_client(&connect).ok()?;
        let level = self.server.spec().isolation.iter().find_map(|question| link.query_value(question).ok()?);
        level.map(|level| session_options::isolation_word(&level))
    }

    /// Rows are counted, not assumed.
    fn rows_in_tables(&self) -> Result<u64, TargetError> {
        self.tables.iter().try_fold(0u64, |rows, table| {
            let counted = self.query_number(&format!("SELECT count(*) FROM {}", S::quote_name(table)))?;
            Ok(rows.saturating_add(counted))
        })
    }

    /// What clients need for maintenance.
    fn make_maintenance(&self, work: SqlWork) -> ServerMaintenance<S> {
        ServerMaintenance {
            server: self.server.clone(),
            address: self.address.clone(),
            tables: self.tables.clone().into(),
            private: self.location.is_private(),
            debt: self.debt.clone(),
            work: work.into(),
        }
    }

    /// The processes of the server and of all further nodes.
    fn processes(&self) -> Vec<u32> {
        [self.location.processes(), self.nodes.processes()].concat()
    }

    /// Whether a client has lost its connection.
    fn has_lost(&self) -> bool {
        // Loaders have one endpoint.
        self.tally.has_lost() || self.endpoints.as_ref().is_some_and(|endpoints| endpoints.health.has_lost())
    }

    /// A message if the private server has ended by itself. A cluster goes on while one of its nodes does.
    fn describe_end(&self, suspected: bool) -> Option<String> {
        self.location.describe_trouble(suspected).filter(|_| !self.nodes.any_runs())
    }

    fn variant_server(&self) -> VariantServer<S> {
        VariantServer::new(self.address.clone(), self.variant_sessions.clone())
    }

    fn admin_error(&self, failure: impl Into<OpFailure>) -> TargetError {
        server_error(S::display_name(&self.address), failure)
    }
}

impl<S: SqlServer> Instance for SqlServerInstance<S> {
    fn report(&self) -> InstanceReport {
        let value = |name: &str| self.read_variable(name).unwrap_or("unknown".into());
        let (own, durability) = (self.server.spec(), self.server.durability_from(&value));
        let mut facts = vec![Fact::new("engine.version", value(own.version)), Fact::new("durability", durability)];
        let known = self.server.reported_variables().iter().filter_map(|name| Some((name, self.read_variable(name)?)));
        facts.extend(known.map(|(name, value)| Fact::new(format!("{}.{name}", own.rules.server), value)));
        for fact in own.rules.facts_of(&self.variables, |name| self.read_variable(name)) {
            // A plan may set a variable that is reported in any case.
            if !facts.iter().any(|known| known.name == fact.name) {
                facts.push(fact);
            }
        }
        facts.push(Fact::new("isolation", self.read_isolation().unwrap_or("unknown".into())));
        facts.extend(self.programs.iter().map(|found| Fact::new("server.program", shown(found.server()))));
        facts.extend(self.location.facts());
        facts.extend(self.identity_facts());
        facts.extend(self.found_facts.iter().cloned());
        facts.extend(self.endpoints.iter().flat_map(Endpoints::facts));
        facts.extend(self.reset.facts());
        facts.extend(self.options.facts());
        if self.is_connecting {
            facts.extend(self.connection_facts());
        }
        // An external server reports these by itself.
        if self.network.is_some() {
            facts.extend(S::route_of(&self.client_address).facts());
        }
        let set = own.rules.warnings_of(&self.variables, |name| self.read_variable(name));
        let warnings = self.location.warnings().into_iter().chain(set).chain(self.warnings.clone()).collect();
        InstanceReport {
            facts,
            warnings,
            processes: self.processes(),
            device: self.location.device(),
            data_dir: self.location.data_dir(),
            way: S::route_of(&self.client_address).server_way(),
        }
    }

    fn write_path(&self, _: &Trial) -> WritePath {
        // Of a server that is not seen nothing counts what it writes.
        if self.location.is_private() || self.location.data_dir().is_some() {
            self.server.write_path_from(&|name| self.read_variable(name))
        } else {
            WritePath::Unknown
        }
    }

    fn finish_trial(&mut self) -> Vec<Fact> {
        // Of a cluster the nodes are named: the point goes on without one of them.
        let ended = if self.nodes.is_empty() {
            self.location.closing_facts()
        } else {
            self.nodes.closing_facts(&self.location)
        };
        let variant = self.variant.as_ref().map(|run| run.closing_facts(&self.variant_server()));
        let limit = if self.held.is_empty() { None } else { self.read_variable(self.server.hold_words().limit) };
        let limit = limit.map(|limit| Fact::new("hold.connections_max", limit));
        let tally = self.endpoints.as_ref().map_or_else(|| self.tally.take_facts(), |all| all.health.take_facts());
        let replayed = self.replay_tally.take().map_or_else(Vec::new, |tally| tally.facts());
        let plans = self
            .replay_plans
            .take()
            .map_or_else(Vec::new, |plans| replay::plan_facts::<S>(&plans, &self.client_address));
        let replayed = replayed.into_iter().chain(plans);
        let own = tally.into_iter().chain(ended).chain(self.debt.take_fact()).chain(limit).chain(replayed);
        own.chain(variant.into_iter().flatten()).chain(std::mem::take(&mut self.replay_facts)).collect()
    }

    fn take_held(&mut self) -> Vec<Fact> {
        self.held.take_facts()
    }

    fn take_counted_ops(&mut self) -> Option<u64> {
        self.replayed_ops.take()
    }

    fn share_data(&mut self) -> Result<Option<CommonData>, TargetError> {
        self.mark_shared()
    }

    fn pass_steps(&mut self, steps: &[Trial]) {
        // To make its program is all that a step does to the state of its sequence; the rows are looked up before the next one.
        steps.iter().for_each(|step| drop(program_of(step, &self.made_for.sequence)));
    }

    fn make_loaders(&mut self, trial: &Trial) -> Result<Option<WorkloadClients>, TargetError> {
        if connect::is_connecting(trial) {
            return self.make_held_rows(trial).map(|()| None);
        }
        let program = program_of(trial, &self.made_for.sequence);
        self.tables.extend(program.schema.iter().map(|table| table.name.clone()));
        if self.rows_there.is_some() {
            return Ok(None);
        }
        if !self.common.is_joined() {
            self.make_tables(&program)?;
        }
        let Some(load) = &program.load else { return Ok(None) };
        if let SqlWork::Variant(steps) = &program.work {
            return Ok(Some(variant::data_clients(&self.variant_server(), steps, load.ops(), &program.kinds)));
        }
        let SqlLoad::Rows { targets, blocks } = load else {
            unreachable!("only variants have statements for their data")
        };
        let loaders = loaders_for(trial, blocks.ops);
        if loaders.count() == 0 {
            return Ok(None);
        }
        let options = SessionOptions { open: self.open.clone(), ..SessionOptions::for_loading(trial) };
        let connect = S::bulk_connect(self.client_address.clone(), targets.clone().into(), options);
        let clients = bulk_clients(blocks, &program.kinds, loaders, &connect, &self.tally);
        self.loading = Some(connect);
        Ok(Some(clients))
    }

    fn finish_load(&mut self) -> Result<Vec<Fact>, TargetError> {
        if let CommonSchema::Joined(common) = &self.common {
            let rows = self.read_seal(common)?;
            return self.location.seal(rows, self.seed).map(|()| Vec::new());
        }
        if let Some(rows) = self.rows_there {
            self.restart_server(false, |reset, _, data| reset.restore_data(data))?;
            return self.location.seal(rows, self.seed).map(|()| Vec::new());
        }
        let mut facts = self.complete_tables()?;
        let way = self.loading.take().and_then(|connect| connect.way());
        facts.extend(way.map(|way| Fact::new("load.way", way)));
        self.quiesce()?;
        let rows = self.made_for.sequence.found().map_or_else(|| self.rows_in_tables(), |data| Ok(data.rows()))?;
        self.endpoints.iter().try_for_each(|endpoints| endpoints.wait_for_rows(&self.tables))?;
        if self.reset.mode != ResetMode::Keep {
            self.restart_server(true, DataReset::keep_copy)?;
        }
        self.location.seal(rows, self.seed)?;
        self.write_seal(rows)?;
        facts.extend(self.reset.facts_of_load());
        Ok(facts)
    }

    fn quiesce(&mut self) -> Result<(), TargetError> {
        // The host that made the data does.
        if self.common.is_joined() {
            return Ok(());
        }
        let private = self.location.is_private();
        let brought = self.server.quiesce_tables(&mut self.admin.borrow_mut(), &self.tables, private);
        self.debt.store(brought.map_err(|failure| self.admin_error(failure))?);
        if private {
            self.endpoints.iter().for_each(|endpoints| endpoints.quiesce_others(&self.server, &self.tables));
        }
        Ok(())
    }

    fn can_restore(&self) -> bool {
        self.reset.can_restore()
    }

    fn reset(&mut self, purpose: ResetFor) -> Result<(), TargetError> {
        self.look_again()?;
        if !self.reset.is_due(purpose, &mut self.made_for) {
            return Ok(());
        }
        // What a restore replaces need not be shut down in order, which can take minutes.
        self.restart_server(!self.reset.brings_back, |reset, _, data| reset.restore_data(data))
    }

    fn make_clients(&mut self, trial: &Trial) -> Result<WorkloadClients, TargetError> {
        self.made_for.check_on(&self.location, trial)?;
        if let Some(endpoints) = &self.endpoints {
            endpoints::check_trial(trial, endpoints.count())?;
            // Points on the same data may have another policy.
            endpoints.check_policy(&trial.target.params)?;
            self.policy = EndpointPolicy::from_params(&trial.target.params);
        }
        if connect::is_connecting(trial) {
            return self.make_connecting_clients(trial);
        }
        self.note_rows_of_all(trial)?;
        self.note_change(trial)?;
        let program = program_of(trial, &self.made_for.sequence);
        self.check_needs(trial, &program)?;
        self.options = SessionOptions::from_trial(trial);
        if let Some(wanted) = &program.found {
            self.options.begins_with = found_data::session_begin(&found_server::<S>(), wanted);
            found_data::note_writes(&mut self.found_facts, program.writes);
        }
        if let SqlWork::Variant(steps) = &program.work {
            variant::check_trial(trial, self.location.is_private())?;
            let run = VariantRun::new(trial, steps);
            let clients = run.clients(&self.variant_server(), &program.run, &program.kinds);
            self.variant = Some(run);
            return Ok(clients);
        }
        if program.work == SqlWork::Replay {
            return self.make_replaying_clients(trial);
        }
        if program.work != SqlWork::Calls {
            // An index build or a drain blocks its connection for minutes: it would block the other clients of its thread.
            self.options.threads = ClientThreads::Each;
            return Ok(maintenance_clients(
                &program.run,
                &program.kinds,
                trial.data_part(),
                &self.make_maintenance(program.work),
            ));
        }
        let replaced = match self.options.isolation.as_deref() {
            Some("READ UNCOMMITTED") => ReplacedRows::GoneForAll,
            _ => self.server.spec().replaced_rows,
        };
        self.options.rows = StatementRows::new(&program, replaced);
        let (run, background) = (&program.run, &program.background[..]);
        Ok(self.stream_clients(
            self.options.clone(),
            program.statements,
            run,
            background,
            &program.kinds,
            trial.data_part(),
        ))
    }

    fn take_result(&mut self) -> Option<VariantResult> {
        self.variant.take()?.take_result()
    }

    fn check_conditions(
        &mut self,
        trial: &Trial,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<Option<CheckedConditions>, TargetError> {
        // The host that made the data checks it, and connections without statements leave none.
        if self.common.is_joined() || workload_of(trial).sql.is_none() {
            return Ok(None);
        }
        let program = program_of(trial, &self.made_for.sequence);
        if program.conditions.is_empty() {
            return Ok(None);
        }
        // A connection of its own: the control connection gives up earlier, and a restart of the server may have closed it.
        let connected = S::connect_admin(&self.address, CONDITION_PATIENCE);
        let mut admin = connected.map_err(|failure| self.admin_error(failure))?;
        let ask = |query: &str| {
            let rows = admin.rows_patiently(query).map_err(|failure| self.admin_error(failure))?;
            Ok(rows.into_iter().next())
        };
        check_conditions(&program.conditions, go_on, ask).map(Some)
    }

    fn counter_sources(&self) -> Vec<Box<dyn CounterSource>> {
        let mut sources = match &self.endpoints {
            // The host that made the data reads them: what the server counts would otherwise be there once for each host.
            _ if self.common.is_joined() => Vec::new(),
            None => self.server.counter_sources(&self.address),
            Some(endpoints) => endpoints.counter_sources(&self.server),
        };
        // Clients on each host count what they did.
        match &self.endpoints {
            Some(endpoints) => sources.extend(endpoints.health.counter_sources()),
            None if self.is_connecting => {}
            None => sources.push(client_tally::counter_source(&self.tally)),
        }
        sources
    }

    fn log_files(&self) -> Vec<PathBuf> {
        self.location.log_file().into_iter().chain(self.nodes.log_files()).collect()
    }

    fn settings_reader(&self, trial: &Trial) -> Option<Box<dyn SettingsReader>> {
        if self.common.is_joined() {
            return None;
        }
        let address = self.address.clone();
        let connect = move |patience| -> Option<AskServer> {
            let mut connection = S::connect_admin(&address, patience).ok()?;
            Some(Box::new(move |question| connection.query_rows(question).ok()))
        };
        // Connections have no statements.
        let tables = if connect::is_connecting(trial) {
            Vec::new()
        } else {
            watched_tables(&program_of(trial, &self.made_for.sequence))
        };
        let settings = QueriedSettings::new(&self.server.spec().watched, self.identity.clone(), connect);
        Some(Box::new(settings.with_tables(tables)))
    }

    fn describe_trouble(&self) -> Option<String> {
        self.describe_end(self.has_lost())
    }

    fn has_ended(&self) -> bool {
        self.describe_end(false).is_some()
    }

    fn explain_failure(&self) -> Option<String> {
        self.location.describe_external_end(self.has_lost())
    }

    fn abandon_clients(&mut self) {
        // A private server is killed with what it executes.
        let answered = self.location.is_private() || self.open.end_all(CANCEL_WITHIN);
        if let DataLocation::External(external) = &mut self.location {
            external.is_silent = !answered;
        }
    }

    fn measure_space(&self) -> DataSpace {
        let total = self.location.footprint(|| Bytes(self.query_table_bytes().unwrap_or_default()));
        let [of_nodes, logs_of_nodes] = self.nodes.footprints();
        let logs = self.location.log_footprint().map(|logs| Bytes(logs.0 + logs_of_nodes.0));
        DataSpace { total: Bytes(total.0 + of_nodes.0), logs, rows: self.location.rows() }
    }

    fn count_rows(&mut self) -> Result<Option<u64>, TargetError> {
        self.rows_in_tables().map(Some)
    }

    fn keep_data(&mut self, place: KeptIn<'_>) -> Result<(), TargetError> {
        if let KeptIn::Server(set) = place {
            self.describe_complete(set)?;
        }
        match (place, &mut self.location) {
            (KeptIn::Directory(to), DataLocation::Private(server_dir)) => {
                server_dir.end_server(Some(self.server.spec().ended_by))?;
                move_contents(server_dir.data(), to)?;
            }
            (KeptIn::Server(_), DataLocation::External(external)) => external.keep(),
            _ => unreachable!("data is kept where it was made"),
        }
        Ok(())
    }

    fn stop(self: Box<Self>) -> Result<(), TargetError> {
        if let DataLocation::External(external) = &self.location
            && !external.is_silent
        {
            self.variant_server().end_sessions();
        }
        // The data goes with it, so it need not shut down in order: it is killed, which takes milliseconds.
        // All of them are removed, whatever becomes of the first.
        let left = self.schema_on_first();
        let of_nodes = self.nodes.remove();
        let removed = self.location.remove().and(of_nodes);
        // The other server has a copy, and what was made is still on the first.
        left.map_or(removed, Err)
    }
}
