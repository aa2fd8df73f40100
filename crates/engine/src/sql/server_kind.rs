//! What one kind of SQL server has of its own: its constants, and how it is started, asked and talked to.
//!
//! In: nothing; each kind of server fills it in. Out: [`SqlServer`], by which one instance type serves them all. Limits: it keeps no state;
//! what is made on a server is of its [instance](super::server_instance).

use crate::server::dir::ServerSocket;
use crate::server::location::ExternalSchema;
use crate::server::network::Route;
use crate::server::private_network::PrivateNetwork;
use crate::server::program::{FoundPrograms, ProgramSet};
use crate::server::variables::{ServerVariables, VariableRules};
use crate::settings::WatchedSettings;
use crate::sql::admin_connection::AdminConnection;
use crate::sql::bulk::BulkConnect;
use crate::sql::client_needs::{ClientNeeds, ReadVariable};
use crate::sql::connections::HoldWords;
use crate::sql::endpoints::EndpointIdentity;
use crate::sql::external::SchemaUse;
use crate::sql::found_data::{FoundServer, FoundWords};
use crate::sql::multiplex::PollableSession;
use crate::sql::replay_calls::PreparesLater;
use crate::sql::replay_words::ReplayWords;
use crate::sql::row_tally::ReplacedRows;
use crate::sql::server_instance::NodeGroup;
use crate::sql::session_options::SessionOptions;
use crate::sql::variant::rows::RowLayout;
use crate::sql::{OpFailure, SessionFactory};
use host::error::TargetError;
use model::{Bytes, CommonData, CounterSource, Fact, Params, Trial, WritePath};
use rustix::process::Signal;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use workload::program::HoldProgram;
use workload::{RowTarget, SqlProcedure, SqlTable};

/// Counting rows and flushing have no time limit of their own, and a load may leave much to be written.
pub const ADMIN_PATIENCE: Duration = Duration::from_secs(600);

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
    pub(super) fn socket_name(&self, network: Option<&PrivateNetwork>) -> String {
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
    /// Connects to the server that `trial` names, whose database may be missing, unless it is in use for something else. Nothing is made.
    fn reach_external(trial: &Trial) -> Result<(Self::Address, Self::Admin), TargetError>;
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
pub fn found_server<S: SqlServer>() -> FoundServer {
    let ReplayWords { begin, read_only, .. } = S::replay_words();
    FoundServer { words: S::found_words(), begin, read_only, quote_name: S::quote_name, row_layout: S::ROW_LAYOUT }
}
