//! Galera: the nodes of a private cluster, what a node reports of its cluster, and its counters.
//!
//! In: the ports of the nodes. Out: their command lines, their identity, the counter source `wsrep`. Limits: a node gets a copy of the data
//! directory by rsync, or by mariadb-backup and socat if there is no rsync; how nodes find each other is not encrypted and bound to
//! loopback. (<https://mariadb.com/kb/en/galera-cluster-system-variables/>)

use super::client::MysqlAddress;
use super::counters::status_source;
use super::params::{APPLIERS, NODES};
use super::programs::GALERA_FILE;
use super::wire::MysqlWire;
use crate::counters::{ServerSource, grows, level};
use crate::server::private_network::LOOPBACK;
use crate::server::program::FoundPrograms;
use crate::sql::OpFailure;
use crate::sql::admin_connection::{AdminConnection, allowed};
use crate::sql::endpoints::EndpointIdentity;
use crate::sql::server_instance::{NodeGroup, NodePorts};
use host::error::TargetError;
use model::{Bytes, CounterRole, CounterSource, Params, Value};
use std::collections::HashMap;
use std::ffi::OsString;
use std::path::Path;

/// The file in which a node keeps write sets for others, which grows to this size.
pub const WRITE_SET_CACHE: Bytes = Bytes(128 << 20);

/// How many nodes `params` ask for.
pub fn node_count(params: &Params) -> usize {
    match params.0.get(NODES.name) {
        Some(Value::Int(nodes)) => *nodes as usize,
        _ => 1,
    }
}

/// The arguments that make a server node number `nth`, from 0, of `group`. The first begins the cluster.
pub fn node_arguments(
    found: &FoundPrograms,
    params: &Params,
    group: &NodeGroup,
    nth: usize,
) -> Result<Vec<OsString>, TargetError> {
    let NodePorts { group: port, catch_up, copy } = group.ports[nth];
    let others: Vec<String> = group.ports[..nth].iter().map(|node| format!("{LOOPBACK}:{}", node.group)).collect();
    let options = [
        format!("gmcast.listen_addr=tcp://{LOOPBACK}:{port}"),
        format!("ist.recv_addr={LOOPBACK}:{catch_up}"),
        format!("ist.recv_bind={LOOPBACK}:{catch_up}"),
        format!("gcache.size={}", WRITE_SET_CACHE.0),
    ];
    let mut provider = OsString::from("--wsrep-provider=");
    provider.push(found.path_of(GALERA_FILE));
    let copied_by = copy_method(is_installed).map_err(TargetError::Unsupported)?;
    let mut args = vec![provider];
    // Without it the first node would wait for others.
    args.extend((nth == 0).then(|| "--wsrep-new-cluster".into()));
    let named = [
        ("wsrep-on", "ON".to_owned()),
        ("wsrep-cluster-name", group.name.clone()),
        ("wsrep-cluster-address", format!("gcomm://{}", others.join(","))),
        ("wsrep-node-name", format!("node{}", nth + 1)),
        ("wsrep-node-address", format!("{LOOPBACK}:{port}")),
        // Clients come by the socket, and nothing is sent here.
        ("wsrep-node-incoming-address", format!("{LOOPBACK}:{port}")),
        ("wsrep-provider-options", options.join(";")),
        ("wsrep-sst-method", copied_by.to_owned()),
        ("wsrep-sst-receive-address", format!("{LOOPBACK}:{copy}")),
        ("wsrep-sst-auth", "root:".to_owned()),
        ("wsrep-slave-threads", params.int(APPLIERS.name).to_string()),
        ("binlog-format", "ROW".to_owned()),
        ("innodb-autoinc-lock-mode", "2".to_owned()),
    ];
    args.extend(named.into_iter().map(|(name, value)| format!("--{name}={value}").into()));
    Ok(args)
}

/// How a node that joins gets a copy of the data directory.
fn copy_method(is_installed: impl Fn(&str) -> bool) -> Result<&'static str, String> {
    if is_installed("rsync") {
        Ok("rsync")
    } else if is_installed("mariadb-backup") && is_installed("socat") {
        Ok("mariabackup")
    } else {
        Err("a node that joins a cluster needs `rsync`, or `mariadb-backup` and `socat`; on Debian: apt-get install rsync".into())
    }
}

/// Whether a node finds the program, which has the PATH that servers are started with.
fn is_installed(program: &str) -> bool {
    ["/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"].iter().any(|dir| Path::new(dir).join(program).exists())
}

/// What the server reports of itself and of its cluster: of Galera, or of MySQL's group replication.
pub fn identify(admin: &mut MysqlWire) -> Result<EndpointIdentity, OpFailure> {
    let mut first = |question: &str| -> Result<Option<String>, OpFailure> {
        let rows = allowed(admin.query_rows(question))?;
        Ok(rows.unwrap_or_default().into_iter().next().and_then(|row| row.into_iter().last()?))
    };
    let version = first("SHOW GLOBAL VARIABLES LIKE 'version'")?.unwrap_or_default();
    let status = |name: &str| format!("SHOW GLOBAL STATUS LIKE '{name}'");
    let galera = first(&status("wsrep_cluster_state_uuid"))?.filter(|uuid| !uuid.is_empty());
    let is_ready = galera.is_none() || first(&status("wsrep_ready"))?.as_deref() == Some("ON");
    let group = first("SHOW GLOBAL VARIABLES LIKE 'group_replication_group_name'")?.filter(|name| !name.is_empty());
    let is_read_only = first("SHOW GLOBAL VARIABLES LIKE 'read_only'")?.as_deref() == Some("ON");
    Ok(EndpointIdentity { version, cluster: galera.or(group), is_read_only, is_ready })
}

/// The counters of the node at `address`, which is called `name`.
pub fn node_source(address: &MysqlAddress, name: &str) -> Box<dyn CounterSource> {
    status_source(&WSREP, name, address)
}

/// One node of a Galera cluster.
pub static WSREP: ServerSource = ServerSource {
    name: "wsrep",
    help: "replication, certification and flow control of one node of a Galera cluster (mariadb:galera, MariaDB by URL)",
    counters: &[
        grows("replicated_bytes", "wsrep_replicated_bytes", "bytes", "bytes of write sets that this node sent")
            .read_as(CounterRole::ReplicatedBytes),
        grows("received_bytes", "wsrep_received_bytes", "bytes", "bytes of write sets that this node received")
            .read_as(CounterRole::ReplicatedBytesReceived),
        grows(
            "flow_control_paused_ns",
            "wsrep_flow_control_paused_ns",
            "ns",
            "time in which flow control held this node back",
        )
        .read_as(CounterRole::FlowControlPaused),
        grows("flow_control_sent", "wsrep_flow_control_sent", "ops", "times that this node asked the others to wait")
            .read_as(CounterRole::FlowControlSent),
        grows("cert_failures", "wsrep_local_cert_failures", "ops", "own transactions that failed certification")
            .read_as(CounterRole::CertificationFailures),
        grows(
            "bf_aborts",
            "wsrep_local_bf_aborts",
            "ops",
            "own transactions that were aborted for one of another node",
        )
        .read_as(CounterRole::ReplicationAborts),
        level(
            "cert_deps_distance",
            "wsrep_cert_deps_distance",
            "count",
            "write sets that could be applied in parallel, on average",
        )
        .read_as(CounterRole::ApplyParallelism),
        level("recv_queue", "wsrep_local_recv_queue", "count", "write sets that wait to be applied here")
            .read_as(CounterRole::ReceiveQueue),
        level("send_queue", "wsrep_local_send_queue", "count", "write sets that wait to be sent")
            .read_as(CounterRole::SendQueue),
        level("repl_latency_ns", LATENCY, "ns", "mean time of a message to all nodes and back, of the last seconds")
            .read_as(CounterRole::ReplicationLatency),
        level("cluster_size", "wsrep_cluster_size", "count", "nodes of the cluster that this node sees"),
    ],
};

/// What Galera has five numbers for: the least, the mean, the greatest, the deviation (in seconds), and the number of samples.
const LATENCIES: &str = "wsrep_evs_repl_latency";
/// The mean of them, under a name of its own.
const LATENCY: &str = "wsrep_evs_repl_latency_mean_ns";

/// Adds the mean latency to `values`, if there were any messages.
pub fn add_latency(values: &mut HashMap<String, String>) {
    let parts: Option<Vec<f64>> =
        values.get(LATENCIES).map(|text| text.split('/').filter_map(|part| part.parse().ok()).collect());
    let Some([_, mean_s, _, _, samples]) = parts.as_deref() else { return };
    if *samples > 0.0 {
        values.insert(LATENCY.to_owned(), format!("{:.0}", mean_s * 1e9));
    }
}

/// The names that are asked for in addition, to make other values of.
pub const ALSO_ASKED: [&str; 1] = [LATENCIES];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_latency_is_the_second_of_five_numbers_and_missing_without_samples() {
        let latency = |text: &str| {
            let mut values = HashMap::from([(LATENCIES.to_owned(), text.to_owned())]);
            add_latency(&mut values);
            values.get(LATENCY).cloned()
        };
        assert_eq!(latency("0.000214/0.000389/0.0011/0.0002/31").as_deref(), Some("389000"));
        assert_eq!(latency("0/0/0/0/0"), None);
        assert_eq!(latency("what?"), None);
    }

    #[test]
    fn a_node_is_copied_by_what_is_installed() {
        let with = |there: &'static [&'static str]| copy_method(move |program| there.contains(&program));
        assert_eq!(with(&["rsync", "socat"]), Ok("rsync"));
        assert_eq!(with(&["mariadb-backup", "socat"]), Ok("mariabackup"));
        assert!(with(&["socat"]).unwrap_err().contains("apt-get install rsync"));
    }
}
