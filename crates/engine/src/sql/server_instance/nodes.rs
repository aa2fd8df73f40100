//! The nodes of a private cluster, and the endpoints of an instance that has several.
//!
//! In: a server that knows how its nodes are started. Out: the further nodes, each in a directory of its own with a manifest; the endpoints
//! with their health. Limits: the first node begins the cluster and the others join it one after the other, each with a copy of the data
//! directory of a node that is there. Nodes are never restarted: one that ends is gone for the rest of the points. They find each other by
//! ports of loopback, which are not protected from other users of this machine.

use super::starting::{launch_server, make_server_dir};
use crate::engine::StartContext;
use crate::instance_group::summed_sources;
use crate::server::dir::ServerDir;
use crate::server::location::DataLocation;
use crate::server::private_network::free_ports;
use crate::server::program::FoundPrograms;
use crate::server::sighting::ServerSighting;
use crate::server::url::schema_name;
use crate::server::variables::ServerVariables;
use crate::sql::admin_connection::AdminConnection;
use crate::sql::endpoints::{
    EndpointHealth, EndpointIdentity, EndpointPolicy, PROBE_PATIENCE, Probe, check_cluster, start_watch,
};
use crate::sql::server_kind::{ADMIN_PATIENCE, SqlServer};
use crate::sql::{OpFailure, server_error};
use host::deadline::poll_until_interrupted;
use host::error::{TargetError, shown};
use model::{Bytes, CounterSource, Fact, Params, Trial};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// How long a node that has joined may take to have what the others have: a copy of the data directory, which is nearly empty.
const SYNCED_AT_MOST: Duration = Duration::from_secs(60);
/// How long the rows of the load may take to be on every endpoint.
const ROWS_THERE_AT_MOST: Duration = Duration::from_secs(600);
/// A node that is asked who it is answers at once.
const IDENTITY_PATIENCE: Duration = Duration::from_secs(5);

/// The nodes of a private cluster, by which they find each other.
pub struct NodeGroup {
    /// A random name, so that no node joins another cluster.
    pub name: String,
    /// The ports of each node on loopback.
    pub ports: Vec<NodePorts>,
}

/// The ports of one node.
#[derive(Clone, Copy)]
pub struct NodePorts {
    /// For messages within the group.
    pub group: u16,
    /// For write sets that a node has missed.
    pub catch_up: u16,
    /// For the copy of the data directory that a new node gets.
    pub copy: u16,
}

impl NodeGroup {
    /// A group of `nodes` nodes with ports that are free now; `None` if there is only one.
    pub fn choose(nodes: usize) -> Result<Option<NodeGroup>, TargetError> {
        if nodes <= 1 {
            return Ok(None);
        }
        let ports = free_ports(3 * nodes)?;
        let ports = ports.chunks(3).map(|own| NodePorts { group: own[0], catch_up: own[1], copy: own[2] }).collect();
        Ok(Some(NodeGroup { name: schema_name(), ports }))
    }
}

/// One node of a group, by its number from 0.
#[derive(Clone, Copy)]
pub(super) struct NodeOf<'a> {
    pub group: &'a NodeGroup,
    pub nth: usize,
}

/// The name of node number `nth`, from 0.
fn node_name(nth: usize) -> String {
    format!("node {}", nth + 1)
}

/// The nodes of a private cluster but for the first.
#[derive(Default)]
pub(super) struct ClusterNodes(Vec<ServerDir>);

impl ClusterNodes {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn processes(&self) -> Vec<u32> {
        self.0.iter().flat_map(ServerDir::processes).collect()
    }

    pub fn log_files(&self) -> impl Iterator<Item = PathBuf> {
        self.0.iter().map(|node| node.log().to_owned())
    }

    /// Whether any of them has not ended.
    pub fn any_runs(&self) -> bool {
        self.0.iter().any(|node| node.describe_trouble(false).is_none())
    }

    /// The space that they take, and that of their logs.
    pub fn footprints(&self) -> [Bytes; 2] {
        let sum = |size: fn(&ServerDir) -> Bytes| Bytes(self.0.iter().map(|node| size(node).0).sum());
        [sum(|node| node.dir.footprint()), sum(|node| node.dir.footprint_of(&crate::server::location::is_log))]
    }

    /// How each node ended that did; the first is at `location`.
    pub fn closing_facts(&self, location: &DataLocation) -> Vec<Fact> {
        let of_first = location.closing_facts();
        let all = [of_first].into_iter().chain(self.0.iter().map(ServerDir::facts));
        let ended = all.enumerate().flat_map(|(nth, facts)| {
            let ended = facts.into_iter().find(|fact| fact.name == "server.ended");
            ended.map(|fact| Fact::new(format!("node.{}.ended", nth + 1), fact.value))
        });
        ended.collect()
    }

    /// Stops them and removes their directories.
    pub fn remove(self) -> Result<(), TargetError> {
        self.0.into_iter().map(ServerDir::remove).fold(Ok(()), Result::and)
    }
}

/// Starts the further nodes of `group`, whose first node is at `first`, and waits until all have the same.
pub(super) fn join_nodes<S: SqlServer>(
    server: &S,
    programs: &FoundPrograms,
    start: &StartContext,
    variables: &ServerVariables,
    group: &NodeGroup,
    first: &S::Address,
) -> Result<(ClusterNodes, Option<Endpoints<S>>), TargetError> {
    let (own, params) = (server.spec(), &start.trial.target.params);
    let (mut nodes, mut all) = (ClusterNodes::default(), vec![(node_name(0), first.clone())]);
    for nth in 1..group.ports.len() {
        let mut dir = make_server_dir(server, programs, start, variables)?;
        let named = format!("{} {} in `{}`", own.name, node_name(nth), shown(dir.dir.path()));
        let address = S::private_address(dir.socket_at(&own.socket_name(None)), named);
        let node = Some(NodeOf { group, nth });
        let launched = launch_server(server, programs, &mut dir, &address, params, variables, None, node);
        let mut admin = launched.map_err(|error| error.within(&node_name(nth)))?;
        wait_until_synced::<S>(&mut admin).map_err(|error| error.within(&node_name(nth)))?;
        all.push((node_name(nth), S::in_schema_of(&address, first)));
        nodes.0.push(dir);
    }
    let identities = identify_all::<S>(&all, start.trial)?;
    Ok((nodes, Some(Endpoints::new(all, identities))))
}

/// Waits until a node that has joined performs statements.
fn wait_until_synced<S: SqlServer>(admin: &mut S::Admin) -> Result<(), TargetError> {
    let synced = poll_until_interrupted(SYNCED_AT_MOST, || S::identify(admin).ok().filter(|found| found.is_ready));
    synced.map(drop).ok_or_else(|| {
        TargetError::Failed(format!("it was not synced with its cluster within {} s", SYNCED_AT_MOST.as_secs()))
    })
}

/// What each of `named` reports of itself; refuses those that are not one cluster, or that the policy of `trial` cannot use.
pub(super) fn identify_all<S: SqlServer>(
    named: &[(String, S::Address)],
    trial: &Trial,
) -> Result<Vec<EndpointIdentity>, TargetError> {
    let identify = |(_, address): &(String, S::Address)| {
        let found = S::connect_admin(address, IDENTITY_PATIENCE).and_then(|mut admin| S::identify(&mut admin));
        found.map_err(|failure| server_error(S::display_name(address), failure))
    };
    let found = named.iter().map(identify).collect::<Result<Vec<EndpointIdentity>, TargetError>>()?;
    check_identities(named.iter().map(|(name, _)| name), &found, &trial.target.params)?;
    Ok(found)
}

/// What is seen of the servers at `addresses` that run on this machine. Without that their work would be that of other processes.
pub(super) fn see_nodes<'a, S: SqlServer>(
    server: &S,
    addresses: impl Iterator<Item = &'a S::Address>,
) -> Vec<ServerSighting> {
    let see = |address: &S::Address| {
        let mut admin = S::connect_admin(address, IDENTITY_PATIENCE).ok()?;
        let data_dir = admin.query_value(server.spec().data_dir).ok().flatten();
        let seen = ServerSighting::look(admin.socket_fd(), data_dir.as_deref(), server.spec().process_names);
        seen.pid().is_some().then_some(seen)
    };
    addresses.filter_map(see).collect()
}

fn check_identities<'a>(
    names: impl Iterator<Item = &'a String>,
    found: &[EndpointIdentity],
    params: &Params,
) -> Result<(), TargetError> {
    let all: Vec<(String, EndpointIdentity)> = names.cloned().zip(found.iter().cloned()).collect();
    check_cluster(&all, EndpointPolicy::from_params(params))
}

/// The endpoints of an instance, the first of which is that of its control connection.
pub(super) struct Endpoints<S: SqlServer> {
    all: Vec<(String, S::Address)>,
    identities: Vec<EndpointIdentity>,
    /// Which of them clients can use.
    pub health: Arc<EndpointHealth>,
}

impl<S: SqlServer> Endpoints<S> {
    /// Endpoints with their names and what they report of themselves. They are watched from now on.
    pub fn new(all: Vec<(String, S::Address)>, identities: Vec<EndpointIdentity>) -> Self {
        let names: Vec<String> = all.iter().map(|(name, _)| name.clone()).collect();
        let health = Arc::new(EndpointHealth::new(&names));
        start_watch(&health, all.iter().map(|(_, address)| probe_of::<S>(address.clone())).collect());
        Endpoints { all, identities, health }
    }

    pub fn count(&self) -> usize {
        self.all.len()
    }

    pub fn addresses(&self) -> impl Iterator<Item = &S::Address> {
        self.all.iter().map(|(_, address)| address)
    }

    /// Refuses endpoints that the policy of `params` cannot use.
    pub fn check_policy(&self, params: &Params) -> Result<(), TargetError> {
        check_identities(self.all.iter().map(|(name, _)| name), &self.identities, params)
    }

    /// The names of the endpoints, and what they have in common.
    pub fn facts(&self) -> Vec<Fact> {
        let names: Vec<&str> = self.all.iter().map(|(name, _)| name.as_str()).collect();
        let cluster = self.identities.first().and_then(|first| first.cluster.as_deref());
        let cluster = cluster.map(|cluster| Fact::new("endpoints.cluster", cluster));
        [Fact::new("endpoints", names.join(", "))].into_iter().chain(cluster).collect()
    }

    /// The counters of all servers: their own added up, those of the cluster for each endpoint.
    pub fn counter_sources(&self, server: &S) -> Vec<Box<dyn CounterSource>> {
        let mut sources = summed_sources(self.addresses().flat_map(|address| server.counter_sources(address)));
        let (_, first) = &self.all[0];
        sources.extend(self.all.iter().flat_map(|(name, address)| server.node_sources(address, name, first)));
        sources
    }

    /// Waits until each endpoint has as many rows in each of `tables` as the first.
    pub fn wait_for_rows(&self, tables: &[String]) -> Result<(), TargetError> {
        let counts = |address: &S::Address| -> Result<Vec<u64>, OpFailure> {
            let mut admin = S::connect_admin(address, ADMIN_PATIENCE)?;
            let count = |table: &String| format!("SELECT count(*) FROM {}", S::quote_name(table));
            tables.iter().map(|table| Ok(admin.number_patiently(&count(table))?)).collect()
        };
        let (_, first) = &self.all[0];
        let expected = counts(first).map_err(|failure| server_error(S::display_name(first), failure))?;
        for (name, address) in &self.all[1..] {
            // A table may not be there yet.
            let there =
                poll_until_interrupted(ROWS_THERE_AT_MOST, || counts(address).ok().filter(|there| *there == expected));
            there.ok_or_else(|| {
                let waited = ROWS_THERE_AT_MOST.as_secs();
                TargetError::Failed(format!(
                    "endpoint `{name}` has not the rows of the first endpoint after {waited} s"
                ))
            })?;
        }
        Ok(())
    }

    /// Writes out what is pending on all nodes but the first. One that is gone is left.
    pub fn quiesce_others(&self, server: &S, tables: &[String]) {
        for address in self.addresses().skip(1) {
            let brought = S::connect_admin(address, ADMIN_PATIENCE)
                .and_then(|mut admin| server.quiesce_tables(&mut admin, tables, true));
            // What is pending there is no debt of the point, whose engine is the cluster.
            drop(brought);
        }
    }
}

/// Whether the endpoint at `address` performs statements.
fn probe_of<S: SqlServer>(address: S::Address) -> Probe {
    Box::new(move || {
        let found = S::connect_admin(&address, PROBE_PATIENCE).and_then(|mut admin| S::identify(&mut admin));
        found.is_ok_and(|identity| identity.is_ready)
    })
}
