//! One run from several hosts: agents and a coordinator on a real bus, and what goes wrong between them.
//!
//! In: `redis-server` on PATH; each test has a server of its own on a socket. Out: run files of all hosts agree. Limits: the hosts are processes of
//! this machine. Without a server the tests end at once.

use crate::hosts_lab::{HostsLab, VISITOR, assert_all_arrived, end, ops_of, query, socket, start_bus};
use crate::lab::{Finished, Lab, assert_runs, wait_until};
use crate::servers::{ask_mariadb, is_here, measuring, servers_in, socket_of};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::Command;

#[test]
fn the_rows_of_all_hosts_are_in_one_run_file() {
    let Some(lab) = HostsLab::new(Some("hunter2")) else { return };
    let agents = [lab.agent("c1", "load"), lab.agent("c2", "load,observe"), lab.agent("db1", "observe")];
    let run = end(lab.coordinator(&["--time", "1s", "--warmup", "300ms"]));
    assert_eq!(run.exit, 0, "{}", run.stderr);
    assert_eq!(run.json()["state"], "complete");
    for agent in agents {
        let agent = end(agent);
        assert_eq!(agent.exit, 0, "{}", agent.stderr);
        assert!(!agent.stderr.contains("hunter2") && !agent.stdout.contains("hunter2"));
    }
    assert_all_arrived(&lab, &["c1", "c2"]);
    let run_file = lab.lab.run_files().pop().unwrap();
    assert_eq!(
        query::<i64>(
            &run_file,
            "SELECT count(*) FROM host WHERE clock_bound_ns > 0 AND coalesce(start_skew_ns, 1) > 0"
        ),
        3
    );
    assert_eq!(query::<i64>(&run_file, "SELECT clients FROM host WHERE name = 'c1'"), 2);
    assert!(
        query::<i64>(
            &run_file,
            "SELECT count(*) FROM counter_long WHERE host = (SELECT host FROM host WHERE name = 'db1')"
        ) > 0
    );
    let apart = "SELECT max(start_ns) - min(start_ns) FROM interval WHERE phase = 'run' AND interval = 3";
    assert!(query::<i64>(&run_file, apart) < 5_000_000, "interval 3 is the same time on all hosts");
    for file in ["plimsoll-runs", "c1-runs"] {
        let text = std::fs::read(lab.run_file(file)).unwrap();
        let has = |word: &[u8]| text.windows(word.len()).any(|part| part == word);
        assert!(!has(b"hunter2") && !has(b"0123456789abcdef"), "{file}");
    }
}

#[test]
fn hosts_whose_clocks_differ_by_hours_are_aligned_within_their_bounds() {
    let Some(lab) = HostsLab::new(None) else { return };
    let ahead = |name, can, time| lab.agent_with(name, can, &["--clock-ahead", time]);
    let agents = [ahead("c1", "load", "3h"), lab.agent("c2", "load"), ahead("db1", "observe", "7h")];
    let run = end(lab.coordinator(&["--time", "1s", "--warmup", "300ms"]));
    assert_eq!(run.exit, 0, "{}", run.stderr);
    assert!(agents.into_iter().map(end).all(|agent| agent.exit == 0));
    assert_all_arrived(&lab, &["c1", "c2"]);
    let run_file = lab.lab.run_files().pop().unwrap();
    let hours = |name: &str| {
        let offset_ns: i64 = query(&run_file, &format!("SELECT clock_offset_ns FROM host WHERE name = '{name}'"));
        offset_ns as f64 / 3.6e12
    };
    for (name, ahead) in [("c1", 3.0), ("c2", 0.0), ("db1", 7.0)] {
        assert!((hours(name) + ahead).abs() < 0.01, "{name}: {}", hours(name));
    }
    let apart: i64 = query(
        &run_file,
        "SELECT max(apart) FROM (SELECT max(start_ns) - min(start_ns) AS apart FROM interval WHERE phase = 'run' GROUP BY interval)",
    );
    let allowed: i64 = query(&run_file, "SELECT sum(clock_bound_ns) FROM host WHERE name LIKE 'c%'");
    assert!(apart <= allowed, "{apart} ns apart, {allowed} allowed");
    for table in ["counter", "event"] {
        let latest: i64 = query(&run_file, &format!("SELECT coalesce(max(at_ns), 0) FROM {table}"));
        assert!(latest < 1_800_000_000_000, "{table}: all moments are of the run: {latest}");
    }
}

#[test]
fn an_agent_that_is_killed_ends_the_point_and_what_it_did_is_kept() {
    let Some(lab) = HostsLab::new(None) else { return };
    let (first, mut second) = (lab.agent("c1", "load"), lab.agent("c2", "load"));
    let mut run = lab.coordinator(&["--time", "600s", "--host-wait", "3s"]);
    lab.lab.wait_for_load(&mut run, 3);
    second.kill().unwrap();
    let run = end(run);
    assert_eq!(run.exit, 4, "{}", run.stderr);
    assert!(run.stderr.contains("host `c2` is lost: it was silent for 3 s"), "{}", run.stderr);
    let run_file = lab.lab.run_files().pop().unwrap();
    assert_eq!(query::<String>(&run_file, "SELECT state FROM point"), "partial");
    assert!(query::<i64>(&run_file, "SELECT count(*) FROM event WHERE kind = 'host_lost'") > 0);
    assert!(ops_of(&run_file, "c2") > 0 && ops_of(&run_file, "c1") > ops_of(&run_file, "c2"));
    assert_eq!(end(first).exit, 0);
    second.wait().unwrap();
}

#[test]
fn a_point_goes_on_without_a_host_that_is_lost_and_has_the_stretch_in_which_it_did() {
    let Some(lab) = HostsLab::new(None) else { return };
    let (first, mut second) = (lab.agent("c1", "load"), lab.agent("c2", "load"));
    let mut run = lab.coordinator(&["--time", "10s", "--host-wait", "3s", "--on-host-loss", "go-on"]);
    lab.lab.wait_for_load(&mut run, 3);
    second.kill().unwrap();
    let run = end(run);
    second.wait().unwrap();
    assert_eq!(run.exit, 0, "{}", run.stderr);
    let point = &run.json()["points"][0];
    assert_eq!(point["state"], "complete", "{point}");
    // Other findings of a busy machine may make it invalid.
    assert_ne!(point["validity"], "valid", "{point}");
    let lost = point["findings"].as_array().unwrap().iter().find(|finding| finding["code"] == "host-lost").unwrap();
    assert_eq!((&lost["detail"]["went_on"], &lost["detail"]["lost"][0]["host"]), (&json!(true), &json!("c2")));
    assert_eq!(lost["severity"], "warning");
    assert!(lost["spans"][0]["to_s"].as_f64().unwrap() > 9.9, "to the end of the run: {lost}");
    assert!(end(first).exit == 0);
    let run_file = lab.lab.run_files().pop().unwrap();
    assert!(ops_of(&run_file, "c2") > 0 && ops_of(&run_file, "c1") > ops_of(&run_file, "c2"));
}

#[test]
fn an_agent_that_is_there_and_takes_no_order_is_given_up() {
    let Some(lab) = HostsLab::new(None) else { return };
    let address = bus::BusAddress::parse(&lab.url(), None).unwrap();
    let secret = bus::RunSecret::read(Some(&lab.lab.path().join("key"))).unwrap();
    let (connector, keys) = (bus::BusConnector::new(address, secret), bus::BusKeys::new("main").unwrap());
    let version = env!("CARGO_PKG_VERSION");
    let info = json!({ "name": "c2", "incarnation": "i", "version": version, "role": "load", "facts": [] }).to_string();
    let _lease = bus::Lease::take(&connector, keys.agent("c2"), info.into_bytes()).unwrap().unwrap();
    let mut bus = connector.connect().unwrap();
    bus.add_member(&keys.agents(), "c2").unwrap();
    let first = lab.agent("c1", "load");
    let run = lab.coordinator(&["--time", "600s", "--host-wait", "5s"]);
    let mut lead = None;
    wait_until("the coordinator", || {
        lead = bus.lease_value(&keys.lead()).unwrap();
        lead.is_some()
    });
    let lead: Value = serde_json::from_slice(&lead.unwrap()).unwrap();
    bus.append(&keys.reports(lead["run"].as_str().unwrap(), "c2", "i"), 1, br#"{"began":null}"#).unwrap();
    let run = end(run);
    assert_eq!(run.exit, 4, "{}", run.stderr);
    assert!(run.stderr.contains("host `c2` is lost: it did not take an order for 5 s"), "{}", run.stderr);
    assert_eq!(end(first).exit, 0);
}

#[test]
fn a_bus_that_is_killed_and_comes_back_loses_nothing() {
    let Some(mut lab) = HostsLab::new(None) else { return };
    let agents = [lab.agent("c1", "load"), lab.agent("c2", "load")];
    let mut run = lab.coordinator(&["--time", "5s"]);
    lab.lab.wait_for_load(&mut run, 3);
    lab.kill_bus();
    std::thread::sleep(std::time::Duration::from_secs(2)); // the load goes on without the bus: that is what is tested
    lab.bus = start_bus(lab.lab.path(), None).unwrap();
    let run = end(run);
    assert_eq!(run.exit, 0, "{}", run.stderr);
    assert!(agents.into_iter().map(end).all(|agent| agent.exit == 0));
    assert_all_arrived(&lab, &["c1", "c2"]);
}

#[test]
fn a_coordinator_that_was_killed_is_followed_by_another_that_resumes() {
    let Some(lab) = HostsLab::new(None) else { return };
    let agents = [lab.agent("c1", "load"), lab.agent("c2", "load")];
    let mut run = lab.coordinator(&["--repeat", "2", "--time", "2s"]);
    lab.lab.wait_for_load(&mut run, 3);
    run.kill().unwrap();
    run.wait().unwrap();
    let alone = lab.lab.run(&["run", "--resume", "last", "--no-report"]);
    assert!(alone.exit == 2 && alone.stderr.contains("from several hosts"), "{}: {}", alone.exit, alone.stderr);
    let resume = ["run", "--resume", "last", "--agents", "2", "--json", "--no-report"];
    let mut last = None;
    // The place of the one that was killed is free after some seconds.
    wait_until("the second coordinator", || {
        let run: Finished = lab.command(&resume).output().unwrap().into();
        let is_taken = run.exit == 3;
        last = Some(run);
        !is_taken
    });
    let run = last.unwrap();
    assert_eq!(run.exit, 0, "{}", run.stderr);
    let run_file = lab.lab.run_files().pop().unwrap();
    assert_eq!(query::<i64>(&run_file, "SELECT count(*) FROM point WHERE state = 'complete'"), 2);
    for agent in agents.into_iter().map(end) {
        assert_eq!(agent.exit, 0, "{}", agent.stderr);
    }
}

#[test]
fn an_order_of_a_stranger_is_refused_and_the_run_goes_on() {
    let Some(lab) = HostsLab::new(None) else { return };
    let agents = [lab.agent("c1", "load"), lab.agent("c2", "load")];
    let mut run = lab.coordinator(&["--time", "3s"]);
    lab.lab.wait_for_load(&mut run, 3);
    let redis = |arguments: &[&str]| {
        let mut command = Command::new("redis-cli");
        let output = command.arg("-s").arg(socket(lab.lab.path())).args(arguments).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let orders = redis(&["KEYS", "plimsoll:main:*:ctl"]);
    let forged = redis(&["XADD", orders.trim(), "7777-0", "p", r#"{"nth":99,"order":"end"}"#]);
    assert_eq!(forged.trim(), "7777-0");
    redis(&["XADD", orders.trim(), "7777-1", "x", "y"]);
    let run = end(run);
    assert_eq!(run.exit, 0, "{}", run.stderr);
    for agent in agents.into_iter().map(end) {
        assert_eq!(agent.exit, 0, "{}", agent.stderr);
        assert!(
            agent.stderr.contains("an order was refused") && agent.stderr.contains("another key"),
            "{}",
            agent.stderr
        );
    }
    assert_all_arrived(&lab, &["c1", "c2"]);
}

#[test]
fn only_one_may_coordinate_and_a_name_is_of_one_agent() {
    let Some(lab) = HostsLab::new(None) else { return };
    let agents = [lab.agent("c1", "load"), lab.agent("c2", "load")];
    let mut run = lab.coordinator(&["--time", "600s"]);
    lab.lab.wait_for_load(&mut run, 1);
    let second = end(lab.coordinator(&["--time", "1s"]));
    assert_eq!(second.exit, 3, "{}", second.stderr);
    assert!(second.stderr.contains("another coordinator conducts a run"), "{}", second.stderr);
    let twin = end(lab.agent("c1", "load"));
    assert_eq!(twin.exit, 3, "{}", twin.stderr);
    assert!(twin.stderr.contains("another agent has the name `c1`"), "{}", twin.stderr);
    assert_runs(&mut run);
    let sent = Command::new("kill").args(["-s", "INT", &run.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let run = end(run);
    assert_eq!(run.exit, 130, "{}", run.stderr);
    assert!(agents.into_iter().map(end).all(|agent| agent.exit == 0));
    assert_all_arrived(&lab, &["c1", "c2"]);
}

#[test]
fn what_cannot_work_is_refused_in_one_line_before_any_load() {
    let Some(mut lab) = HostsLab::new(Some("hunter2")) else { return };
    let refusal = |command: &mut Command| {
        let refused: Finished = command.output().unwrap().into();
        assert!(!refused.stderr.contains("hunter2"), "{}", refused.stderr);
        // A process notes first that it waits.
        let notes = ["waits for a coordinator", "waiting for it for up to 1 s"];
        let is_note = |line: &str| notes.iter().any(|note| line.contains(note));
        let lines: Vec<&str> = refused.stderr.lines().filter(|line| !is_note(line)).collect();
        assert_eq!(lines.len(), 1, "{}", refused.stderr);
        (refused.exit, lines[0].to_owned())
    };
    let url = lab.url();
    let plain =
        |more: &[&str]| lab.lab.command(&[&["file", "--engine", "null", "--time", "1s", "--bus", &url], more].concat());
    let cases: [(Command, i32, &str); 8] = [
        (plain(&["--bus-key-file", "key"]), 4, "did not accept the user or the password"),
        (plain(&[]), 2, "need a key in common"),
        (plain(&["--bus-key-file", "no-such"]), 2, "cannot read the key of the bus from `no-such`"),
        (
            lab.command(&["file", "--engine", "null", "--host-wait", "1s"]),
            4,
            "too few agents that load came in 1 s: 1 wanted (--agents), 0 there (none)",
        ),
        (
            lab.command(&["oltp", "--engine", "mariadb:innodb", "--clients", "2", "--agents", "2"]),
            2,
            "name a server that all reach",
        ),
        (lab.command(&["file", "--engine", "null", "--agents", "2"]), 2, "2 agents cannot share `--clients 1`"),
        (lab.command(&["agent", "--name", "a b"]), 2, "--name cannot be `a b`"),
        (lab.command(&["agent", "--wait", "1s"]), 4, "no coordinator came in 1 s"),
    ];
    for (mut command, exit, text) in cases {
        let (code, text_seen) = refusal(&mut command);
        assert!(code == exit && text_seen.contains(text), "{code}: {text_seen}");
    }
    assert_eq!(lab.lab.run_files(), Vec::<PathBuf>::new());
    lab.kill_bus();
    for waits in [&["agent", "--wait", "1s"][..], &["file", "--engine", "null", "--host-wait", "1s"]] {
        let (code, text) = refusal(&mut lab.command(waits));
        assert!(code == 4 && text.contains("cannot be reached: Connection refused"), "{code}: {text}");
    }
    lab.bus = start_bus(lab.lab.path(), lab.password).unwrap();
}

#[test]
fn agents_and_a_coordinator_that_come_before_the_bus_wait_for_it() {
    let Some(mut lab) = HostsLab::new(None) else { return };
    lab.kill_bus();
    let agents = [lab.agent("c1", "load"), lab.agent("c2", "load")];
    let mut run = lab.coordinator(&["--time", "1s"]);
    let mut said = std::io::BufReader::new(run.stderr.take().unwrap());
    let mut first = String::new();
    std::io::BufRead::read_line(&mut said, &mut first).unwrap();
    assert!(first.contains("cannot be reached") && first.contains("waiting for it for up to 30 s"), "{first}");
    lab.bus = start_bus(lab.lab.path(), None).unwrap();
    std::io::copy(&mut said, &mut std::io::sink()).unwrap();
    assert_eq!(end(run).exit, 0);
    for agent in agents.into_iter().map(end) {
        assert_eq!(agent.exit, 0, "{}", agent.stderr);
    }
    assert_all_arrived(&lab, &["c1", "c2"]);
}

#[test]
fn hosts_with_different_versions_refuse_each_other_before_any_load() {
    let Some(lab) = HostsLab::new(None) else { return };
    let address = bus::BusAddress::parse(&lab.url(), None).unwrap();
    let mut other = bus::BusConnector::new(address, bus::RunSecret::new(b"0123456789abcdef")).connect().unwrap();
    let keys = bus::BusKeys::new("main").unwrap();
    let hold = std::time::Duration::from_secs(600);
    let own = env!("CARGO_PKG_VERSION");

    let lead = br#"{"run":"r1","version":"9.8.7"}"#;
    other.hold_lease(&keys.lead(), lead, hold).unwrap();
    let agent = end(lab.agent("c1", "load"));
    let line = format!("the coordinator is plimsoll `9.8.7`, and this is `{own}`; use the same on all hosts");
    assert!(agent.exit == 3 && agent.stderr.contains(&line), "{}: {}", agent.exit, agent.stderr);
    other.release_lease(&keys.lead(), lead).unwrap();

    let agent = br#"{"name":"c2","incarnation":"i","version":"9.8.7","role":"load","facts":[]}"#;
    other.hold_lease(&keys.agent("c2"), agent, hold).unwrap();
    other.add_member(&keys.agents(), "c2").unwrap();
    let run = end(lab.coordinator(&["--time", "1s"]));
    let line = format!("agent `c2` is plimsoll `9.8.7`, and this is `{own}`; use the same on all hosts");
    assert!(run.exit == 3 && run.stderr.contains(&line), "{}: {}", run.exit, run.stderr);
    assert_eq!(lab.lab.run_files(), Vec::<PathBuf>::new());
}

#[test]
fn an_agent_that_cannot_measure_the_plan_refuses_it_and_names_the_reason() {
    let Some(lab) = HostsLab::new(None) else { return };
    let nowhere = ["agent", "--name", "c1", "--dir", "no-such-dir", "--runs", "c1-runs"];
    let agent = lab.command(&nowhere).spawn().unwrap();
    let run = end(lab.command(&["file", "--engine", "null", "--time", "1s", "--json", "--no-report"]).spawn().unwrap());
    let agent = end(agent);
    assert!(agent.exit != 0 && agent.stderr.contains("no-such-dir"), "{}: {}", agent.exit, agent.stderr);
    assert_eq!(run.exit, agent.exit, "{}", run.stderr);
    assert!(run.stderr.contains("host `c1`: ") && run.stderr.contains("no-such-dir"), "{}", run.stderr);
    assert_eq!(lab.lab.run_files(), Vec::<PathBuf>::new());
}

#[test]
fn several_hosts_search_for_the_largest_rate() {
    let Some(lab) = HostsLab::new(None) else { return };
    let agents = [lab.agent("c1", "load"), lab.agent("c2", "load")];
    let search = ["--rate", "limit", "--rate-max", "50", "--slo", "p99<10s", "--time", "2s", "--hold", "2s"];
    let run = end(lab.coordinator(&search));
    assert_eq!(run.exit, 0, "{}", run.stderr);
    for agent in agents.into_iter().map(end) {
        assert_eq!(agent.exit, 0, "{}", agent.stderr);
    }
    assert_all_arrived(&lab, &["c1", "c2"]);
    let run_file = lab.lab.run_files().pop().unwrap();
    let states: i64 = query(&run_file, "SELECT count(*) FROM point WHERE state = 'complete'");
    assert!(states >= 2 && states == query::<i64>(&run_file, "SELECT count(*) FROM point"), "probes, and a hold");
    assert_eq!(query::<i64>(&run_file, "SELECT count(DISTINCT host) FROM interval WHERE phase = 'run'"), 2);
}

#[test]
fn an_agent_on_whose_host_a_point_failed_does_not_end_with_success() {
    let Some(lab) = HostsLab::new(None) else { return };
    let agents = [lab.agent("c1", "load"), lab.agent("c2", "load")];
    let load = ["oltp", "--engine", "mysql://u@127.0.0.1:1/", "--clients", "2", "--agents", "2", "--time", "1s"];
    let run = end(lab.command(&load).spawn().unwrap());
    assert_eq!(run.exit, 4, "{}", run.stderr);
    let [first, second] = agents.map(end);
    assert!(first.exit == 4 && first.stderr.contains("127.0.0.1:1"), "{}: {}", first.exit, first.stderr);
    assert!(run.stderr.contains("host `c1`: "), "{}", run.stderr);
    assert_eq!(second.exit, 0, "it was asked for nothing: {}", second.stderr);
}

#[test]
fn a_point_that_fails_on_a_host_is_left_out_of_a_budget_and_the_others_go_on() {
    let Some(lab) = HostsLab::new(None) else { return };
    let agents = [lab.agent("c1", "load"), lab.agent("c2", "load")];
    let compare = ["oltp", "--engine", "null,mysql://u@127.0.0.1:1/", "--clients", "2", "--agents", "2"];
    let budget = ["--budget", "120s", "--repeat", "4", "--time", "300ms", "--warmup", "0s", "--interval", "50ms"];
    let arguments = [&compare[..], &budget, &["--json", "--no-report"]].concat();
    let run = end(lab.command(&arguments).spawn().unwrap());
    assert_eq!(run.exit, 4, "{}", run.stderr);
    let answered = run.json();
    let points = answered["points"].as_array().unwrap();
    let (failed, others): (Vec<&Value>, Vec<&Value>) = points.iter().partition(|point| point["state"] == "failed");
    assert!(failed.len() == 1 && failed[0]["error"].as_str().unwrap().contains("host `c1`: "), "{failed:?}");
    // One may be before it; repeats are after it.
    assert!(others.len() > 1 && others.iter().all(|point| point["state"] == "complete"), "{}", run.stderr);
    let trust = answered["answer"]["trust"].to_string();
    assert!(trust.contains("failed before it was measured: host `c1`: "), "{trust}");
    let [first, second] = agents.map(end);
    assert!(first.exit == 4 && first.stderr.contains("127.0.0.1:1"), "{}: {}", first.exit, first.stderr);
    assert_eq!(second.exit, 0, "{}", second.stderr);
}

#[test]
fn hosts_work_on_the_data_that_the_first_has_made_on_a_server() {
    let theirs = Lab::new();
    let Some(lab) = HostsLab::new(None).filter(|_| is_here(&theirs, "mariadb:innodb")) else { return };
    let _server = measuring(&theirs, &[]);
    let socket = socket_of(&theirs, "m.sock");
    let grant = "GRANT ALL ON *.* TO visitor@localhost";
    ask_mariadb(&socket, &format!("CREATE USER visitor@localhost IDENTIFIED BY '{VISITOR}'; {grant}"));
    let before = ask_mariadb(&socket, "SHOW DATABASES");
    let comm =
        |pid: &String| std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm == "mariadbd\n");
    let pid = servers_in(&theirs).into_iter().find(comm).unwrap();
    let observer = lab.agent_with("db1", "observe", &["--engine-pid", &pid]);
    let agents = [lab.agent("c1", "load"), lab.agent("c2", "load"), observer];
    let url = format!("mysql://visitor@localhost/?socket={socket}");
    let load = ["oltp", "--engine", &url, "--mix", "read_write", "--table-rows", "300", "--clients", "3"];
    let more = ["--time", "1s", "--interval", "100ms", "--agents", "2", "--json", "--no-report"];
    let run = end(lab.command(&[&load[..], &more].concat()).spawn().unwrap());
    assert_eq!(run.exit, 0, "{}", run.stderr);
    for agent in agents {
        let agent = end(agent);
        assert_eq!(agent.exit, 0, "{}", agent.stderr);
    }
    assert_all_arrived(&lab, &["c1", "c2"]);
    let run_file = lab.lab.run_files().pop().unwrap();
    let of = |host: &str, what: &str| -> i64 {
        let rows = "interval i JOIN host h USING (point, host)";
        query(&run_file, &format!("SELECT {what} FROM {rows} WHERE h.name = '{host}' AND phase = 'prepare'"))
    };
    assert!(of("c1", "sum(ok)") > 0 && of("c2", "coalesce(sum(ok), 0)") == 0, "the first host makes the data");
    assert_eq!(query::<String>(&run_file, "SELECT group_concat(clients) FROM host"), "2,1");
    assert!(run.stderr.contains(&format!("db1: it observes mariadbd (process {pid})")), "{}", run.stderr);
    let point = &run.json()["points"][0];
    let node = point["hosts"].as_array().unwrap().iter().find(|host| host["host"] == "db1").unwrap();
    assert!(node["cpu"]["engine"].is_f64(), "the CPU of the server on its own host is known: {node}");
    assert_eq!(ask_mariadb(&socket, "SHOW DATABASES"), before, "the schema is gone");
}
