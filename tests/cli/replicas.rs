//! PostgreSQL with a streaming replica under the real binary: where reads and writes go, and how far the replica is behind.
//!
//! In: PostgreSQL and its clients, and root, so that its servers can run as `postgres`. Both servers are on this machine, on ports that
//! were free. Without PostgreSQL or root the test ends at once.

use crate::lab::Lab;
use crate::servers::{Running, asked, directory_of, is_here, started_by_hand};
use serde_json::Value;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A primary server and its replica, which shows each commit 300 ms later.
struct ReplicatedPostgres {
    _primary: Running,
    _replica: Running,
    ports: [u16; 2],
}

impl ReplicatedPostgres {
    fn start(lab: &Lab) -> ReplicatedPostgres {
        std::fs::set_permissions(lab.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let [data, copy] = ["primary", "replica"].map(|name| directory_of(lab, name, "postgres"));
        let ports = free_ports();
        asked(as_postgres("initdb").args(["--auth=trust", "--no-sync", "-U", "bench", "-D", &data]));
        let primary = start_server(&data, ports[0], &[]);
        let from = ["-h", "127.0.0.1", "-p", &ports[0].to_string(), "-U", "bench"].map(str::to_owned);
        asked(as_postgres("pg_basebackup").args(from).args(["-R", "--no-sync", "-c", "fast", "-D", &copy]));
        let replica = start_server(&copy, ports[1], &["-c", "recovery_min_apply_delay=300ms"]);
        ReplicatedPostgres { _primary: primary, _replica: replica, ports }
    }

    fn url(&self) -> String {
        let [primary, replica] = self.ports;
        format!("postgres://bench@127.0.0.1:{primary},127.0.0.1:{replica}/postgres?sslmode=disable")
    }
}

fn free_ports() -> [u16; 2] {
    let listeners = [0; 2].map(|_| TcpListener::bind("127.0.0.1:0").unwrap());
    listeners.map(|listener| listener.local_addr().unwrap().port())
}

/// A program of PostgreSQL's, as its user.
fn as_postgres(program: &str) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]).arg(path_of(program)).current_dir("/");
    command
}

fn path_of(program: &str) -> PathBuf {
    let found = asked(Command::new("sh").args(["-c", "ls -d /usr/lib/postgresql/*/bin | tail -1"]));
    Path::new(found.trim()).join(program)
}

fn start_server(data: &str, port: u16, more: &[&str]) -> Running {
    let port = port.to_string();
    let listens = ["-D", data, "-p", &port, "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="];
    let fast = ["-c", "fsync=off", "-c", "max_connections=50"];
    let is_up = || {
        let mut psql = Command::new("psql");
        psql.args(["-h", "127.0.0.1", "-p", &port, "-U", "bench", "-c", "SELECT 1", "postgres"]);
        psql.output().unwrap().status.success()
    };
    started_by_hand("postgres", path_of("postgres").to_str().unwrap(), &[&listens[..], &fast, more].concat(), is_up)
}

#[test]
fn reads_are_spread_over_a_replica_and_how_far_it_is_behind_is_recorded() {
    let (theirs, ours) = (Lab::new(), Lab::new());
    if !is_here(&ours, "postgres") || !rustix::process::geteuid().is_root() {
        return eprintln!("skipped: needs postgres and root");
    }
    let servers = ReplicatedPostgres::start(&theirs);
    let url = servers.url();
    let refused = ours.run(&["oltp", "--engine", &url, "--time", "300ms"]);
    assert!(refused.exit != 0 && refused.stderr.contains("is a read-only replica"), "{}", refused.stderr);

    // Queries of the newest rows, which the replica does not have yet, while others insert.
    let load =
        ["insert", "--engine", &url, "--policy", "split", "--step", "l.i0,qr", "--rows", "1000", "--clients", "2"];
    let run = ours.json(&[&load[..], &["--time", "2s", "--interval", "100ms", "--no-report"]].concat());
    let points = run["points"].as_array().unwrap();
    let [loaded, queried] = points.as_slice() else { panic!("{run}") };
    let endpoints = |point: &Value| point["endpoints"].as_array().unwrap().clone();
    let [primary, replica] = endpoints(loaded).try_into().unwrap();
    assert!(primary["ops"].as_u64() > Some(0) && replica["ops"] == 0, "writes go to the first: {loaded}");
    let [primary, replica] = endpoints(queried).try_into().unwrap();
    assert!(primary["ops"].as_u64() > Some(0) && replica["ops"].as_u64() > Some(0), "{queried}");
    assert_eq!(
        (&queried["failed"], &replica["failed"]),
        (&0.into(), &0.into()),
        "a row that is not there yet is no failure"
    );
    assert!(replica["replica_lag_bytes_max"].as_u64() > Some(0), "{replica}");
    assert!(primary["replica_delay_ns_max"].as_u64() >= Some(300_000_000), "{primary}");
    assert_eq!([&primary["replica_lag_bytes_max"], &replica["replica_delay_ns_max"]], [&Value::Null; 2]);
    let is_gap = |finding: &&Value| finding["code"] == "counter-gap";
    let gaps = points.iter().flat_map(|point| point["findings"].as_array().unwrap()).find(is_gap);
    assert_eq!(gaps, None, "the counters of both servers are read");
    // Both are on this machine: the CPU time of neither is that of other processes.
    let facts = ours.facts();
    assert!(facts.contains("server.process") && facts.contains("server.further_process"), "{facts}");
}
