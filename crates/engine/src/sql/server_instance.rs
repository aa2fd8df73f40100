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
mod making;
mod needs;
mod nodes;
mod replaying;
mod starting;
mod variants;

pub use self::data_sets::sets_on_server;
pub use self::nodes::{NodeGroup, NodePorts};
pub use self::replaying::check_before_restore;
pub use crate::sql::server_kind::{ServerSpec, SqlServer};

use self::common::CommonSchema;
use self::maintenance::ServerMaintenance;
use self::nodes::{ClusterNodes, Endpoints};
use self::starting::{client_address, launch_server};
use self::variants::{OpenSessions, VariantServer};
use crate::conditions::{CONDITION_PATIENCE, CheckedConditions, check_conditions};
use crate::connect;
use crate::connect::hold::HoldReport;
use crate::data_description::DataDescription;
use crate::data_set::KeptIn;
use crate::engine::{DataSpace, Instance, InstanceReport, ResetFor, WorkloadClients, loaders_for, workload_of};
use crate::maintenance::{RemainingDebt, maintenance_clients};
use crate::reset::{DataReset, ResetMode, WhileStopped};
use crate::server::answers::CONTROL_ANSWER;
use crate::server::identity::IdentityWatch;
use crate::server::location::DataLocation;
use crate::server::private_network::PrivateNetwork;
use crate::server::program::FoundPrograms;
use crate::server::variables::ServerVariables;
use crate::settings::{AskServer, QueriedSettings, SettingsReader};
use crate::sql::admin_connection::AdminConnection;
use crate::sql::bulk::{BulkConnect, bulk_clients};
use crate::sql::client_tally::{self, ClientTally};
use crate::sql::clients::sql_clients;
use crate::sql::endpoints::{self, EndpointPolicy, endpoint_clients};
use crate::sql::found_data;
use crate::sql::open_connections::{CANCEL_WITHIN, OpenConnections};
use crate::sql::replay;
use crate::sql::replay_clients::ReplayTally;
use crate::sql::replay_plans::ReplayPlans;
use crate::sql::row_tally::{ReplacedRows, StatementRows};
use crate::sql::server_kind::{ADMIN_PATIENCE, found_server};
use crate::sql::session_options::{self, ClientThreads, SessionOptions};
use crate::sql::variant::{self, VariantResult, VariantRun};
use crate::sql::watched_tables::watched_tables;
use crate::sql::{OpFailure, program_of, server_error};
use host::error::{TargetError, shown};
use host::privileged::copy::move_contents;
use model::{Bytes, CommonData, CounterSource, Fact, LoadPart, Params, SqlOp, Trial, WritePath};
use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::Arc;
use workload::{BackgroundOps, OpKindDef, OpStream, SqlLoad, SqlTable, SqlWork};

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

impl<S: SqlServer> SqlServerInstance<S> {
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
