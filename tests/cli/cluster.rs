//! Several endpoints of one database under the real binary: a private Galera cluster of three nodes, one of which is killed; and endpoints
//! that are refused.

use crate::lab::{Lab, wait_until};
use crate::servers::{Running, ask_mariadb, asked, is_here, servers_in};
use serde_json::Value;
use std::process::Command;

const ENGINE: &str = "mariadb:galera";
/// A cluster of small nodes.
const CLUSTER: [&str; 9] =
    ["oltp", "--engine", ENGINE, "--durability", "none", "--cache", "32MiB", "--table-rows", "1000"];

fn endpoints(point: &Value) -> &[Value] {
    point["endpoints"].as_array().unwrap_or_else(|| panic!("{point}"))
}

fn number(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or_else(|| panic!("{key} of {value}"))
}

/// The transactions of all nodes that conflicted with those of others.
fn conflicts(point: &Value) -> f64 {
    let of = |one: &Value| number(one, "certification_failures") + number(one, "replication_aborts");
    endpoints(point).iter().map(of).sum()
}

fn point_with<'a>(run: &'a Value, policy: &str, access: &str) -> &'a Value {
    let mut points = run["points"].as_array().unwrap().iter();
    let found = points.find(|point| point["params"]["policy"] == policy && point["params"]["access"] == access);
    found.unwrap_or_else(|| panic!("{policy} {access}: {run}"))
}

#[test]
fn clients_go_to_the_first_node_or_round_all_and_conflict_on_one_hot_row() {
    let lab = Lab::new();
    if !is_here(&lab, ENGINE) {
        return;
    }
    let hot = "hotspot:0.001:1";
    let swept = ["--policy", "first,spread", "--access", "uniform,hotspot:0.001:1", "--mix", "update_non_index"];
    let load = ["--clients", "6", "--time", "1s", "--interval", "100ms", "--no-report"];
    let run = lab.json(&[&CLUSTER[..], &swept, &load].concat());
    assert_eq!((&run["state"], run["points"].as_array().unwrap().len()), (&"complete".into(), 4), "{run}");
    for access in ["uniform", hot] {
        let [one, others @ ..] = endpoints(point_with(&run, "first", access)) else { panic!("{run}") };
        assert_eq!((&one["endpoint"], number(one, "share"), others.len()), (&"node 1".into(), 1.0, 2));
        assert!(others.iter().all(|other| other["ops"] == 0 && other["response_ns"].is_null()), "{others:?}");
        let spread = endpoints(point_with(&run, "spread", access));
        assert!(spread.iter().all(|one| number(one, "ops") > 0.0 && one["response_ns"]["p99"].is_u64()), "{spread:?}");
    }
    for point in run["points"].as_array().unwrap() {
        let sum: f64 = endpoints(point).iter().map(|one| number(one, "ops")).sum();
        assert_eq!((sum, &point["failed"]), (number(point, "ops"), &0.into()), "{point}");
        assert!(endpoints(point).iter().all(|one| number(one, "down_s") == 0.0), "{point}");
    }
    // One row is changed on three nodes at once: all but one of them lose, and are tried again.
    let [alone, cold, contended] = [("first", hot), ("spread", "uniform"), ("spread", hot)]
        .map(|(policy, access)| point_with(&run, policy, access));
    assert_eq!(conflicts(alone), 0.0, "one node does not conflict with itself: {alone}");
    assert!(conflicts(contended) > 10.0 * conflicts(cold).max(1.0), "{cold} {contended}");
    let retries: f64 = endpoints(contended).iter().map(|one| number(one, "retries")).sum();
    assert!(retries > 0.0, "{contended}");
    assert_eq!((servers_in(&lab), lab.left_behind()), (vec![], vec![]));
}

/// When the process was started, in ticks since the machine was (proc_pid_stat(5)).
fn started_at(pid: &str) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    // The name, in brackets, may have blanks; the time is the 20th field behind it.
    stat.rsplit_once(')').unwrap().1.split_whitespace().nth(19).unwrap().parse().unwrap()
}

#[test]
fn a_node_that_is_killed_is_an_outage_and_its_clients_use_the_others() {
    let lab = Lab::new();
    if !is_here(&lab, ENGINE) {
        return;
    }
    const RUN_S: f64 = 6.0;
    let load = ["--mix", "point_select", "--clients", "6", "--think", "1ms", "--time", "6s", "--interval", "100ms"];
    let on_error = ["--on-error", "count", "--no-report", "--json", "--quiet"];
    let mut run = Running(lab.command(&[&CLUSTER[..], &load, &on_error].concat()).spawn().unwrap());
    lab.wait_for_load(&mut run.0, 15);
    let mut nodes = servers_in(&lab);
    nodes.retain(|pid| pid.parse() != Ok(run.0.id()));
    assert_eq!(nodes.len(), 3, "{nodes:?}");
    // They were started one after the other; their numbers may begin again at the lowest in between.
    nodes.sort_by_key(|pid| started_at(pid));
    let killed_at_s = f64::from(lab.intervals(1, "run")) / 10.0;
    assert!(Command::new("kill").args(["-9", &nodes[1]]).status().unwrap().success());
    wait_until("the end of the node", || !servers_in(&lab).contains(&nodes[1]));
    let finished = run.finished();
    assert_eq!(finished.exit, 0, "{}", finished.stderr);
    let run = finished.json();
    let point = &run["points"][0];
    let [first, second, third] = endpoints(point) else { panic!("{point}") };
    let down_s = number(second, "down_s");
    assert!((RUN_S - killed_at_s - 1.0..RUN_S).contains(&down_s), "{down_s} after {killed_at_s}");
    // Each of its two clients failed an operation, and went elsewhere.
    let lost = number(&second["failed_by_class"], "lost");
    assert!((1.0..=2.0).contains(&lost) && number(point, "failed") == lost, "{point}");
    assert_eq!(number(first, "reconnects") + number(third, "reconnects"), 2.0, "{point}");
    assert!(number(third, "ops") > 1.2 * number(first, "ops"), "the next one has the clients: {point}");
    let findings = point["findings"].as_array().unwrap();
    let found =
        findings.iter().find(|finding| finding["code"] == "endpoint-outage").unwrap_or_else(|| panic!("{point}"));
    let outage = &found["detail"]["outages"][0];
    assert_eq!((&outage["endpoint"], &outage["end"]), (&"node 2".into(), &"end-of-run".into()), "{found}");
    assert!((number(outage, "down_ns") / 1e9 - down_s).abs() < 0.3, "{found}");
    assert!(found["title"].as_str().unwrap().starts_with("node 2 was down for "), "{found}");
    assert!(!findings.iter().any(|finding| finding["code"] == "outage"), "{point}");
    assert_eq!((servers_in(&lab), lab.left_behind()), (vec![], vec![]));
}

#[test]
fn a_node_that_leaves_its_cluster_and_takes_connections_is_left_by_its_clients() {
    let lab = Lab::new();
    if !is_here(&lab, ENGINE) {
        return;
    }
    // The nodes wait 5 s for each other.
    let load = ["--mix", "point_select", "--clients", "3", "--think", "1ms", "--time", "15s", "--interval", "100ms"];
    let more = ["--statements", "plain", "--on-error", "count", "--no-report", "--json", "--quiet"];
    let mut run = Running(lab.command(&[&CLUSTER[..], &load, &more].concat()).spawn().unwrap());
    lab.wait_for_load(&mut run.0, 10);
    let found = asked(Command::new("find").args([lab.path().to_str().unwrap(), "-name", "m.sock"]));
    let second = found.lines().find(|socket| ask_mariadb(socket, "SELECT @@wsrep_node_name").trim() == "node2");
    ask_mariadb(second.expect("it has a socket"), "SET GLOBAL wsrep_provider_options = 'gmcast.isolate = 1'");
    let finished = run.finished();
    assert_eq!(finished.exit, 0, "{}", finished.stderr);
    let point = &finished.json()["points"][0];
    let [first, second, third] = endpoints(point) else { panic!("{point}") };
    assert!(number(second, "down_s") > 1.0, "{point}");
    assert!(number(&second["failed_by_class"], "lost") <= 5.0, "its client went elsewhere: {point}");
    assert!(number(first, "ops") > 0.0 && number(third, "ops") > 1.2 * number(first, "ops"), "{point}");
    let findings = point["findings"].as_array().unwrap();
    assert!(findings.iter().any(|finding| finding["code"] == "endpoint-outage"), "{point}");
}

#[test]
fn what_several_endpoints_cannot_do_is_refused_in_a_line() {
    let lab = Lab::new();
    let refused = |arguments: &[&str]| {
        let finished = lab.run(&[arguments, &["--time", "300ms", "--no-report"]].concat());
        assert_ne!(finished.exit, 0, "{arguments:?}");
        assert!(!finished.stderr.contains("panicked"), "{}", finished.stderr);
        finished.stderr
    };
    let url = "mysql://u@127.0.0.1:1,127.0.0.1:2,127.0.0.1:3/";
    let threads = refused(&["oltp", "--engine", url, "--clients", "4", "--threads", "2"]);
    assert!(threads.contains("works with one endpoint") && threads.contains("3 endpoints"), "{threads}");
    let connect = refused(&["connect", "--engine", "postgres://u@127.0.0.1:1,127.0.0.1:2/d"]);
    assert!(connect.contains("workload `connect` works with one endpoint"), "{connect}");
    let twice = refused(&["oltp", "--engine", "mysql://u@127.0.0.1:1,127.0.0.1:1/"]);
    assert!(twice.contains("endpoint 2 of the URL is the same server"), "{twice}");
    let password = refused(&["oltp", "--engine", "mysql://u@127.0.0.1:1,u:secret@127.0.0.1:2/"]);
    assert!(password.contains("takes no password from the URL") && !password.contains("secret"), "{password}");
    let gone = refused(&["oltp", "--engine", url]);
    assert!(gone.contains("127.0.0.1") && gone.contains("refused"), "{gone}");
    assert_eq!(lab.left_behind(), Vec::<String>::new());
}
