//! How an instance of an SQL server comes to be: a private server is started, or an existing one opened.
//!
//! In: a kind of server, the trial that it is made for. Out: the instance, before its data is made. Limits: an error removes what was made.

use super::common::CommonSchema;
use super::nodes::{self, ClusterNodes, Endpoints, NodeGroup, NodeOf};
use super::starting::{StartedServer, client_address, make_server_dir, start_listening};
use super::variants::OpenSessions;
use super::{SqlServer, SqlServerInstance};
use crate::connect::hold::HoldReport;
use crate::connect::{self, connect_program_of};
use crate::data_description::DataDescription;
use crate::data_set::SetUse;
use crate::engine::StartContext;
use crate::maintenance::RemainingDebt;
use crate::recordings;
use crate::reset::DataReset;
use crate::server::identity::IdentityWatch;
use crate::server::location::DataLocation;
use crate::server::sighting::ServerSighting;
use crate::server::variables::ServerVariables;
use crate::sql::admin_connection::AdminConnection;
use crate::sql::endpoints::{self, EndpointPolicy};
use crate::sql::external::SchemaUse;
use crate::sql::found_data;
use crate::sql::open_connections::OpenConnections;
use crate::sql::server_error;
use crate::sql::server_kind::found_server;
use crate::sql::session_options::SessionOptions;
use crate::sql::variant;
use host::error::TargetError;
use std::cell::RefCell;
use std::sync::Arc;

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
}
