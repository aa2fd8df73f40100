//! The server of a trial as a host sees it that makes no load: the process that listens, without a connection to it.
//!
//! In: the URL of a trial, or the number of a process. Out: its process and the device of its data, or why they are not known. Limits: only what
//! listens for TCP in this network namespace is found, and only by root or by the user of the server; a process of another program at that port
//! is a proxy, and is left alone.

use super::peer::{TcpListenerEntry, holder_of, tcp_listeners};
use super::sighting::ServerSighting;
use super::url::{ServerUrl, URL};
use model::{Trial, UnseenServer, Value};
use std::net::{IpAddr, SocketAddr, ToSocketAddrs, UdpSocket};

/// Schemes, the programs of their servers, and the port that they have if the URL has none.
const MYSQL: (&[&str], u16) = (&["mariadbd", "mysqld"], 3306);
const POSTGRES: (&[&str], u16) = (&["postgres", "postmaster"], 5432);
const SCHEMES: &[&str] = &["mysql", "postgres", "postgresql"];

/// A server on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerHere {
    /// The process that its others descend from.
    pub pid: u32,
    /// The name of its program.
    pub program: String,
    /// The block device under its data, if it is known.
    pub device: Option<String>,
}

/// The name of the endpoint of the URL of `trial` that is on this machine, in the words of the counters of that endpoint; `None` if it is none
/// of several, or if they cannot be distinguished by their addresses.
pub fn find_endpoint_here(trial: &Trial) -> Option<String> {
    trial.target.params.0.get(URL.name)?;
    let endpoints = ServerUrl::endpoints_from_params(&trial.target.params, SCHEMES, "").ok()?;
    let mut here = endpoints.iter().filter(|endpoint| is_here(endpoint));
    match (here.next(), here.next()) {
        (Some(only), None) if endpoints.len() > 1 => Some(only.endpoint_name()),
        _ => None,
    }
}

/// Whether the host of `endpoint` is an address of this machine, which others reach it by.
fn is_here(endpoint: &ServerUrl) -> bool {
    let named = (endpoint.host.as_str(), 0).to_socket_addrs();
    let is_own = |address: SocketAddr| !address.ip().is_loopback() && UdpSocket::bind(address).is_ok();
    endpoint.socket.is_none() && named.is_ok_and(|mut addresses| addresses.any(is_own))
}

/// The server that `trial` names by its URL, if it listens on this machine; or the process `pid`, whatever its program.
///
/// # Errors
/// With the reason why it is not seen, for people.
pub fn find_server_here(trial: &Trial, pid: Option<u32>) -> Result<ServerHere, String> {
    if let Some(pid) = pid {
        let seen = ServerSighting::of_process(pid, None).and_then(|seen| seen.server_here());
        return seen
            .ok_or_else(|| format!("there is no process {pid}; give --engine-pid the number of the server's process"));
    }
    let Some(Value::Word(url)) = trial.target.params.0.get(URL.name) else {
        return Err("the engine is no server that the plan names by its URL".into());
    };
    let endpoints = ServerUrl::endpoints_from_params(&trial.target.params, SCHEMES, "").unwrap_or_default();
    let (programs, usual_port) = if url.starts_with("mysql") { MYSQL } else { POSTGRES };
    let listeners = tcp_listeners();
    let of_endpoints = endpoints.iter().flat_map(|endpoint| listeners_at(&listeners, endpoint, usual_port));
    let mut why = "no process listens here at the port of its URL".to_owned();
    for listener in of_endpoints {
        match see_holder(listener, programs) {
            Ok(found) => return Ok(found),
            Err(reason) => why = reason,
        }
    }
    Err(format!("{why}; name its process with --engine-pid"))
}

/// Those of `listeners` that are at the port of `endpoint`; one at its very address comes first.
fn listeners_at<'a>(
    listeners: &'a [TcpListenerEntry],
    endpoint: &ServerUrl,
    usual_port: u16,
) -> impl Iterator<Item = &'a TcpListenerEntry> {
    let (port, address) = (endpoint.port.unwrap_or(usual_port), endpoint.host.parse::<IpAddr>().ok());
    let is_tcp = endpoint.socket.is_none();
    let mut found: Vec<&TcpListenerEntry> =
        listeners.iter().filter(|listener| is_tcp && listener.address.port() == port).collect();
    found.sort_by_key(|listener| Some(listener.address.ip()) != address);
    found.into_iter()
}

fn see_holder(listener: &TcpListenerEntry, programs: &[&str]) -> Result<ServerHere, String> {
    let pid = holder_of(listener.inode).map_err(|why| match why {
        UnseenServer::NotPermitted => {
            "the process at its port is not visible to this user; start the agent as root".to_owned()
        }
        _ => "the process at its port is not visible".to_owned(),
    })?;
    let seen = ServerSighting::of_process(pid, Some(programs)).and_then(|seen| seen.server_here());
    seen.ok_or_else(|| format!("process {pid} at its port is another program"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn the_process_that_listens_at_the_port_is_found_if_it_is_of_the_program() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let url = |text: &str| {
            let mut params = model::Params::default();
            params.0.insert("url".into(), model::Value::Word(text.to_owned()));
            ServerUrl::endpoints_from_params(&params, SCHEMES, "").unwrap().remove(0)
        };
        let all = tcp_listeners();
        let found: Vec<_> = listeners_at(&all, &url(&format!("mysql://u@127.0.0.1:{port}/")), 1).collect();
        assert_eq!(found.len(), 1);
        let own = std::fs::read_to_string("/proc/self/comm").unwrap();
        let seen = see_holder(found[0], &[own.trim()]).unwrap();
        assert_eq!(seen.program, own.trim());
        assert!(see_holder(found[0], &["mariadbd"]).unwrap_err().contains("another program"));
        assert_eq!(listeners_at(&all, &url("mysql://u@db1/?socket=/s"), port).count(), 0);
        let named = listeners_at(&all, &url("mysql://u@db1/"), port).count();
        assert_eq!(named, 1, "the host's name need not be known here");
    }
}
