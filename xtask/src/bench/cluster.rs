//! `cluster`: the built-in plan `cluster-challenge` on one machine, with network namespaces as client hosts and as nodes.
//!
//! In: the release build, MariaDB with galera-4, `redis-server`, root. Out: which host and link are named with one client host and with two; an error if
//! it is not the right one. Limits: all hosts share the CPUs and the disk of this machine, so links are made that are full before the CPUs are: 100 Mbit/s
//! for each client host, 50 Mbit/s for each node, and as much for what the nodes send each other on interfaces of their own.

use super::effort::Effort;
use super::keep::measure_on_servers;
use super::plimsoll;
use crate::galera::{GaleraCluster, NodePlace};
use crate::namespaces::HostNetwork;
use crate::soak::hosts::lab::SoakLab;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::path::{Path, PathBuf};

pub const NAME: &str = "cluster";

/// A number of client hosts, and where the bottleneck is then.
pub struct ClusterCase {
    pub name: &'static str,
    agents: usize,
    /// How the names of the hosts begin one of which is to be named.
    limited: &'static str,
}

pub const CASES: &[ClusterCase] = &[
    ClusterCase { name: "one-client-host", agents: 1, limited: "c" },
    ClusterCase { name: "two-client-hosts", agents: 2, limited: "n" },
];

const CLIENT_LINK: (&str, &str) = ("100mbit", "100Mbit");
const NODE_LINK: (&str, &str) = ("50mbit", "50Mbit");
/// The most client hosts, and how many nodes.
const CLIENT_HOSTS: usize = 2;
const NODES: usize = 3;

/// Measures each case, and prints what was named.
pub fn run(root: &Path, effort: &Effort) -> Result<()> {
    if let Some(binary) = &effort.binary {
        let work = root.join("target/bench-cluster");
        drop(std::fs::remove_dir_all(&work));
        return measure_all(&std::path::absolute(binary)?, &work, effort, &mut Vec::new());
    }
    let binary = plimsoll::binary(root);
    measure_on_servers(root, NAME, HEAD, &[], |work, rows| measure_all(&binary, work, effort, rows))
}

fn measure_all(binary: &Path, work: &Path, effort: &Effort, rows: &mut Vec<String>) -> Result<()> {
    ensure!(rustix::process::geteuid().is_root(), "only root makes network namespaces");
    let hosts = ClusterHosts::make()?;
    for case in CASES.iter().filter(|case| effort.wants(case.name)) {
        let dir = work.join(case.name);
        let run = hosts.measure(binary, dir, case, effort.seconds(30, 10))?;
        let points = run["points"].as_array().context("a run has points")?;
        for point in points {
            let row = ClusterRow::of(point);
            println!("{} | {}", case.name, row.cells());
            rows.push(format!("{} | {}", case.name, row.cells()));
        }
        let first = ClusterRow::of(&points[0]);
        let is_right = first.cause == "network" && first.host.starts_with(case.limited);
        ensure!(is_right, "{}: the bottleneck is `{}` on `{}`", case.name, first.cause, first.host);
    }
    Ok(())
}

/// The hosts, and the cluster on some of them.
struct ClusterHosts {
    // The nodes end before their hosts do.
    cluster: GaleraCluster,
    network: HostNetwork,
    _between_nodes: HostNetwork,
}

impl ClusterHosts {
    fn make() -> Result<ClusterHosts> {
        let mut network = HostNetwork::make("plcl", "10.99.74")?;
        let mut between_nodes = HostNetwork::make("plnode", "10.99.75")?;
        for _ in 0..CLIENT_HOSTS {
            network.add(Some(CLIENT_LINK.0))?;
        }
        let mut places = Vec::new();
        for _ in 0..NODES {
            let node = network.add(Some(NODE_LINK.0))?;
            let group_address = between_nodes.add_host_of(node, Some(NODE_LINK.0))?.address().to_owned();
            places.push(NodePlace { address: node.address().to_owned(), group_address, prefix: node.prefix() });
        }
        Ok(ClusterHosts { cluster: GaleraCluster::start(places)?, network, _between_nodes: between_nodes })
    }

    /// Runs the plan on the agents of `case`.
    fn measure(&self, binary: &Path, dir: PathBuf, case: &ClusterCase, seconds: u32) -> Result<Value> {
        let mut lab = SoakLab::start(binary, dir, Some(&self.network))?;
        for nth in 0..case.agents {
            lab.start_agent_with(nth, &format!("c{}", nth + 1), "load", &["--link", CLIENT_LINK.1])?;
        }
        for nth in 0..NODES {
            let (host, name) = (CLIENT_HOSTS + nth, format!("n{}", nth + 1));
            lab.start_agent_with(host, &name, "observe", &["--link", NODE_LINK.1])?;
        }
        let (url, agents, time) = (self.cluster.url(), case.agents.to_string(), format!("{seconds}s"));
        let plan = ["run", "cluster-challenge", "--engine", &url, "--agents", &agents, "--time", &time];
        lab.start_coordinator(
            &[&plan[..], &["--warmup", "2s", "--clients", "24", "--set", "table_rows=10000"]].concat(),
        )?;
        let end = lab.end_coordinator()?;
        ensure!(end.exit == 0, "the run ended with {}: {}", end.exit, end.stderr);
        let exits = lab.end_agents()?;
        ensure!(exits.iter().all(|exit| *exit == 0), "agents ended with {exits:?}");
        end.json()
    }
}

/// What is kept of a point.
struct ClusterRow {
    mix: String,
    ops_per_s: f64,
    cause: String,
    host: String,
    interface: String,
    hosts: String,
}

impl ClusterRow {
    fn of(point: &Value) -> ClusterRow {
        let cause = &point["bottlenecks"][0];
        let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
        let hosts = point["hosts"].as_array().into_iter().flatten();
        ClusterRow {
            mix: text(&point["params"]["mix"]),
            ops_per_s: point["ops_per_s"].as_f64().unwrap_or(0.0),
            cause: text(&cause["code"]),
            host: text(&cause["host"]),
            interface: text(&cause["interface"]),
            hosts: hosts.map(links_of).collect::<Vec<_>>().join(", "),
        }
    }

    fn cells(&self) -> String {
        let ClusterRow { mix, ops_per_s, cause, host, interface, hosts } = self;
        format!("{mix} | {ops_per_s:.0} | {cause} | {host} | {interface} | {hosts}")
    }
}

/// `n1: plcl3i 97 %, plnode1i 1.2 MB/s`: each interface of a host.
fn links_of(host: &Value) -> String {
    let links = host["networks"].as_array().into_iter().flatten().map(|link| {
        let name = link["interface"].as_str().unwrap_or("-");
        let sent = link["sent_bytes_per_s"].as_f64().unwrap_or(0.0) / 1e6;
        match link["link_share"].as_f64() {
            Some(share) => format!("{name} {sent:.1} MB/s sent, {:.0} % of its link", share * 100.0),
            None => format!("{name} {sent:.1} MB/s sent"),
        }
    });
    format!("{}: {}", host["host"].as_str().unwrap_or("-"), links.collect::<Vec<_>>().join("; "))
}

const HEAD: &str = "\
# cluster

The plan `cluster-challenge` on one machine, as `cargo xtask bench cluster` runs it. It adds its lines here. Each client host is a network namespace
with a link of 100 Mbit/s, each node of the Galera cluster one with 50 Mbit/s for clients and another for the other nodes. With one client
host its link is full; with two, those of the nodes are.

| date | versions | kernel | case | mix | transactions/s | bottleneck | host | interface | interfaces of all hosts |
|---|---|---|---|---|---|---|---|---|---|
";
