//! Connections: opened, asked and closed, retried by the kernel, held until one is refused.

use crate::lab::{Finished, Lab, assert_runs, wait_until};
use serde_json::Value;
use std::net::TcpListener;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

/// A listener whose queue holds two connections. It accepts all for a while, then none for `deaf`, and then all again.
struct DeafListener {
    address: String,
    ended: Arc<AtomicBool>,
    accepting: Option<thread::JoinHandle<()>>,
}

impl DeafListener {
    fn start(hears: Duration, deaf: Duration) -> DeafListener {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        rustix::net::listen(&listener, 1).unwrap();
        listener.set_nonblocking(true).unwrap();
        let (address, ended) = (format!("tcp://{}", listener.local_addr().unwrap()), Arc::new(AtomicBool::new(false)));
        let stop = ended.clone();
        let accepting = thread::spawn(move || {
            let mut first = None;
            while !stop.load(Relaxed) {
                // Its silence begins after it was first connected to, whenever that is.
                let since = first.map_or(Duration::ZERO, |at: Instant| at.elapsed());
                let is_deaf = since > hears && since < hears + deaf;
                match if is_deaf { None } else { listener.accept().ok() } {
                    Some(_) => drop(first.get_or_insert_with(Instant::now)),
                    None => thread::sleep(Duration::from_millis(1)),
                }
            }
        });
        DeafListener { address, ended, accepting: Some(accepting) }
    }
}

impl Drop for DeafListener {
    fn drop(&mut self) {
        self.ended.store(true, Relaxed);
        self.accepting.take().map(thread::JoinHandle::join);
    }
}

fn codes(point: &Value) -> Vec<&str> {
    point["findings"].as_array().unwrap().iter().map(|finding| finding["code"].as_str().unwrap()).collect()
}

fn kinds(point: &Value) -> Vec<&str> {
    point["kinds"].as_array().unwrap().iter().map(|kind| kind["kind"].as_str().unwrap()).collect()
}

#[test]
fn connections_that_find_the_queue_full_wait_for_the_kernels_retries_and_the_finding_names_them() {
    let lab = Lab::new();
    // All clients but two wait from the beginning of the silence to the first retry behind its end.
    let listener = DeafListener::start(Duration::from_millis(500), Duration::from_millis(2_500));
    let run = lab.json(&["connect", "--engine", &listener.address, "--clients", "24", "--time", "6s", "--no-report"]);
    let point = &run["points"][0];
    assert_eq!(kinds(point), ["connect", "close"]);
    let finding = point["findings"].as_array().unwrap().iter().find(|finding| finding["code"] == "connect-retries");
    let finding = finding.unwrap_or_else(|| panic!("{:?} {}", codes(point), point["kinds"]));
    let title = finding["title"].as_str().unwrap();
    assert!(title.contains("to repeat a SYN") && title.contains("the listener's queue (holds 1, somaxconn"), "{title}");
    let evidence = finding["evidence"].as_str().unwrap();
    assert!(evidence.contains("the listener's queue holds 1;") && !evidence.contains("queue full 0,"), "{evidence}");
}

#[test]
fn a_listener_that_accepts_at_once_has_no_retries() {
    let lab = Lab::new();
    let listener = DeafListener::start(Duration::from_secs(3_600), Duration::ZERO);
    // One client at a time never fills the queue.
    let run = lab.short(&["connect", "--engine", &listener.address]);
    assert!(!codes(&run["points"][0]).contains(&"connect-retries"));
}

#[test]
fn connect_first_query_and_close_have_times_of_their_own() {
    let lab = Lab::new();
    let run = lab.short(&["connect", "--engine", "postgres", "--rate", "50", "--clients", "4", "--pause", "1ms"]);
    let point = &run["points"][0];
    assert_eq!(kinds(point), ["connect", "first_query", "close"]);
    let ops: Vec<u64> = point["kinds"].as_array().unwrap().iter().map(|kind| kind["ops"].as_u64().unwrap()).collect();
    assert!(ops[0] > 0 && ops.iter().all(|count| *count == ops[0]), "{ops:?}");
    assert!(!codes(point).contains(&"plausibility"), "{:?}", codes(point));
}

/// What a hold reached.
fn held(arguments: &[&str]) -> Value {
    let lab = Lab::new();
    let run = lab.json(&[&["connect", "--no-report"], arguments].concat());
    run["points"][0]["hold"].clone()
}

#[test]
fn mariadb_holds_as_many_connections_as_it_is_set_to() {
    let hold = held(&["--engine", "mariadb", "--hold", "connections", "--set", "mariadb.max_connections=60"]);
    assert_eq!((&hold["kind"], &hold["limit"]), (&"connections".into(), &"engine".into()), "{hold}");
    assert_eq!((&hold["connections"], &hold["connections_max"]), (&60.into(), &60.into()), "{hold}");
    assert!(hold["error"].as_str().unwrap().contains("Too many connections"), "{hold}");
    let reached = hold["reached"].as_u64().unwrap();
    assert!((50..60).contains(&reached), "{hold}");
    let threads = hold["threads"].as_array().unwrap();
    assert!(threads[1].as_u64().unwrap() >= threads[0].as_u64().unwrap() + reached - 10, "{hold}");
}

#[test]
fn postgres_holds_transactions_until_the_table_of_its_locks_is_full() {
    let set = "postgres.max_locks_per_transaction=10";
    let hold = held(&["--engine", "postgres", "--hold", "transactions", "--locks", "100", "--set", set]);
    assert!(hold["error"].as_str().unwrap().contains("out of shared memory"), "{hold}");
    assert!((6..90).contains(&hold["reached"].as_u64().unwrap()), "{hold}");
}

#[test]
fn mariadb_holds_transactions_until_the_memory_of_its_locks_is_used_up() {
    let hold = held(&["--engine", "mariadb", "--hold", "transactions", "--locks", "60000", "--cache", "8MiB"]);
    assert!(hold["error"].as_str().unwrap().contains("number of locks exceeds the lock table size"), "{hold}");
    // Each transaction takes some 100 bytes for each of 900 pages, of three quarters of the pool.
    let reached = hold["reached"].as_u64().unwrap();
    assert!((30..120).contains(&reached) && hold["connections"].as_u64() < Some(151), "{hold}");
}

#[test]
fn private_servers_are_compared_by_socket_and_tls() {
    let lab = Lab::new();
    for engine in ["mariadb", "postgres"] {
        let run = lab.short(&["connect", "--engine", engine, "--via", "socket,tls", "--clients", "2"]);
        let points = run["points"].as_array().unwrap();
        let ways: Vec<&str> = points.iter().map(|point| point["params"]["via"].as_str().unwrap()).collect();
        assert_eq!(ways, ["socket", "tls"], "{engine}");
        for point in points {
            assert_eq!(kinds(point), ["connect", "first_query", "close"]);
            assert!(point["ops"].as_u64().unwrap() > 0 && point["failed"].as_u64() == Some(0), "{point}");
        }
    }
    assert_eq!(lab.left_behind(), Vec::<String>::new());
}

#[test]
fn connections_are_held_over_tcp_and_tls_too() {
    // A server by URL is tried in each way.
    for (engine, via, set) in
        [("mariadb", "tcp", "mariadb.max_connections=40"), ("postgres", "tls", "postgres.max_connections=40")]
    {
        let hold = held(&["--engine", engine, "--via", via, "--hold", "connections", "--set", set]);
        assert_eq!(
            (&hold["limit"], &hold["connections_max"]),
            (&"engine".into(), &40.into()),
            "{engine} {via}: {hold}"
        );
        assert!((30..40).contains(&hold["reached"].as_u64().unwrap()), "{engine} {via}: {hold}");
        assert!(hold["memory_bytes_per_connection"].as_f64().unwrap() > 0.0, "{engine} {via}: {hold}");
    }
}

/// The hold that `arguments` ask for, interrupted when it has so many connections.
fn interrupted_hold(arguments: &[&str], connections: usize) -> Value {
    let lab = Lab::new();
    let mut child = lab.command(&[&["connect", "--json", "--no-report"], arguments].concat()).spawn().unwrap();
    wait_until("the hold", || {
        assert_runs(&mut child);
        let files = std::fs::read_dir(format!("/proc/{}/fd", child.id())).unwrap().flatten();
        let links = files.filter_map(|file| std::fs::read_link(file.path()).ok());
        links.filter(|link| link.to_string_lossy().starts_with("socket:")).count() >= connections
    });
    let sent = Command::new("kill").args(["-s", "INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let finished: Finished = child.wait_with_output().unwrap().into();
    assert_eq!(finished.exit, 130, "{}", finished.stderr);
    assert_eq!(lab.left_behind(), Vec::<String>::new());
    finished.json()["points"][0]["hold"].clone()
}

#[test]
fn ctrl_c_ends_a_hold_and_keeps_what_was_held() {
    // Without Ctrl-C it would open a server process for each of 2,000 connections.
    let many = ["--engine", "postgres", "--set", "postgres.max_connections=2000", "--hold", "connections"];
    let hold = interrupted_hold(&many, 30);
    assert_eq!(hold["limit"], "interrupted", "{hold}");
    assert!((20..2_000).contains(&hold["reached"].as_u64().unwrap()), "{hold}");
}

#[test]
fn ctrl_c_ends_a_hold_whose_server_does_not_answer() {
    // It accepts the first connection and then none: the queue takes two more, and the next attempt waits for 10 minutes.
    let listener = DeafListener::start(Duration::ZERO, Duration::from_secs(3_600));
    let waiting = ["--engine", &listener.address, "--hold", "connections", "--timeout", "600s", "--grace", "600s"];
    let began = Instant::now();
    let hold = interrupted_hold(&waiting, 2);
    assert_eq!(hold["limit"], "interrupted", "{hold}");
    assert!((1..10).contains(&hold["reached"].as_u64().unwrap()), "{hold}");
    assert!(began.elapsed() < Duration::from_secs(300), "{:?}", began.elapsed());
}

#[test]
fn what_goes_over_the_network_is_counted_and_the_speed_of_its_link_can_be_stated_later() {
    let (lab, listener) = (Lab::new(), DeafListener::start(Duration::from_secs(60), Duration::ZERO));
    let connect = ["connect", "--engine", &listener.address, "--link", "1Gbit"];
    let run = lab.short_with(&connect, |point| !point["network"]["bytes_per_op"].is_null());
    let network = &run["points"][0]["network"];
    let number = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("{run}"));
    // To open a connection takes three packets, each with the headers of IP and TCP. Other programs may use loopback, too.
    assert!(number(&network["packets_per_op"]) >= 3.0 && number(&network["bytes_per_op"]) >= 120.0, "{network}");
    let share = |link: f64| number(&network["sent_bytes_per_s"]) * 8.0 / link;
    assert!((number(&network["link_share"]) / share(1e9) - 1.0).abs() < 1e-9, "{network}");
    assert_eq!(run["points"][0]["cost"]["network_bytes_per_op"], network["bytes_per_op"]);
    let later = lab.json(&["show", "last", "--link", "1Mbit"]);
    assert!((number(&later["points"][0]["network"]["link_share"]) / share(1e6) - 1.0).abs() < 1e-9, "{later}");
    let inside = lab.short(&["file", "--mode", "rndrd", "--file-size", "1MiB", "--direct", "false"]);
    assert!(inside["points"][0]["network"].is_null(), "{inside}");
    let refused = lab.run(&["file", "--link", "1GB"]);
    assert!(refused.stderr.contains("a speed above 0 in `kbit`, `Mbit` or `Gbit`"), "{}", refused.stderr);
}

#[test]
fn what_has_no_connections_or_does_not_listen_is_refused_in_one_line() {
    let lab = Lab::new();
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for (engine, expected) in [
        ("sqlite", "engine `sqlite` cannot run workload `connect`; use one of"),
        ("tcp://127.0.0.1", "a listener needs a host and a port"),
        (format!("tcp://{free}").as_str(), "connection refused"),
        (format!("mysql://root@{free}/").as_str(), "connection refused"),
    ] {
        let refused = lab.run(&["connect", "--engine", engine, "--time", "1s", "--quiet", "--no-report"]);
        assert!(refused.exit != 0 && refused.stderr.contains(expected), "{engine}: {}", refused.stderr);
        assert_eq!(refused.stderr.lines().count(), 1, "{}", refused.stderr);
    }
    let listener = DeafListener::start(Duration::from_secs(60), Duration::ZERO);
    let refused = lab.run(&["connect", "--engine", &listener.address, "--hold", "transactions", "--quiet"]);
    assert!(refused.stderr.contains("has no transactions"), "{}", refused.stderr);
}
