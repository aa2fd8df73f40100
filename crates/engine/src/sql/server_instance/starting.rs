//! Starts a private SQL server, and what it needs to listen on a port of loopback.
//!
//! In: a directory that is set up, and the parameters of the trial. Out: a running server with a control connection, and its network if
//! it has one. Limits: a port is chosen before the server binds it, so another program can take it first; then another one is chosen.

use super::nodes::NodeOf;
use crate::engine::StartContext;
use crate::params::allocator_in;
use crate::server::dir::ServerDir;
use crate::server::private_network::{NetworkWay, PrivateNetwork, is_port_taken};
use crate::server::program::FoundPrograms;
use crate::server::variables::ServerVariables;
use crate::sql::server_error;
use crate::sql::server_kind::{ADMIN_PATIENCE, SqlServer};
use host::data_dir::DataDir;
use host::error::{TargetError, shown};
use model::Params;

/// How often a server is started that finds its port taken.
const STARTS_AT_MOST: u32 = 5;

/// A private server that has just started.
pub(super) struct StartedServer<S: SqlServer> {
    /// Its address for control.
    pub(super) address: S::Address,
    pub(super) admin: S::Admin,
    /// Its network, if it has one.
    pub(super) network: Option<PrivateNetwork>,
}

/// Starts the server of `server_dir`, on a port of loopback if `params` ask for one, and as a node of a cluster if it is one.
pub(super) fn start_listening<S: SqlServer>(
    server: &S,
    programs: &FoundPrograms,
    server_dir: &mut ServerDir,
    params: &Params,
    variables: &ServerVariables,
    node: Option<NodeOf>,
) -> Result<StartedServer<S>, TargetError> {
    let (own, way) = (server.spec(), NetworkWay::from_params(params));
    let mut starts_left = STARTS_AT_MOST;
    loop {
        let network = way.map(PrivateNetwork::choose).transpose()?;
        write_network_files(server, server_dir, network.as_ref())?;
        let shown = format!("{} in `{}`", own.name, shown(server_dir.dir.path()));
        let address = S::private_address(server_dir.socket_at(&own.socket_name(network.as_ref())), shown);
        let launched = launch_server(server, programs, server_dir, &address, params, variables, network.as_ref(), node);
        starts_left -= 1;
        match launched {
            Err(error) if network.is_some() && starts_left > 0 && is_port_taken(&error) => {}
            launched => return Ok(StartedServer { address, admin: launched?, network }),
        }
    }
}

pub(super) fn write_network_files<S: SqlServer>(
    server: &S,
    server_dir: &ServerDir,
    network: Option<&PrivateNetwork>,
) -> Result<(), TargetError> {
    let Some(network) = network else { return Ok(()) };
    network.tls_files().into_iter().try_for_each(|(name, text)| server_dir.write_file(name, text))?;
    server.startup_file(network).map_or(Ok(()), |(name, text)| server_dir.write_file(name, &text))
}

/// The address for clients of a server that listens on `network`, after one of them has logged in.
pub(super) fn client_address<S: SqlServer>(
    server: &S,
    admin: &mut S::Admin,
    address: &S::Address,
    network: &PrivateNetwork,
) -> Result<S::Address, TargetError> {
    let refused = |failure| server_error(S::display_name(address), failure);
    let client = server.network_address(admin, address, network).map_err(refused)?;
    // A server without TLS, for one, is refused here and not when its first point begins.
    S::connect_admin(&client, ADMIN_PATIENCE).map(|_| client.clone()).map_err(refused)
}

/// Starts the server of `server_dir`, as a node of a cluster if it is one, and connects to it.
#[expect(clippy::too_many_arguments, reason = "all that decides about the command line of one server")]
pub(super) fn launch_server<S: SqlServer>(
    server: &S,
    programs: &FoundPrograms,
    server_dir: &mut ServerDir,
    address: &S::Address,
    params: &Params,
    variables: &ServerVariables,
    network: Option<&PrivateNetwork>,
    node: Option<NodeOf>,
) -> Result<S::Admin, TargetError> {
    let mut arguments = server.server_arguments(programs, server_dir.data(), params, variables, network);
    if let Some(NodeOf { group, nth }) = node {
        arguments.extend(server.node_arguments(programs, params, group, nth)?);
    }
    server_dir.start_server(programs.server().to_owned(), arguments, || {
        // A server is up when it accepts a login, and not when its process runs.
        S::connect_admin(address, ADMIN_PATIENCE).map(drop).map_err(|failure| failure.text)
    })?;
    S::connect_admin(address, ADMIN_PATIENCE).map_err(|failure| server_error(S::display_name(address), failure))
}

/// A directory with the files of a new server that has not started. Dropped, it is removed.
pub(super) fn make_server_dir<S: SqlServer>(
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
