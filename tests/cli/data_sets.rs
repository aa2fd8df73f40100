//! Data sets that stay under the real binary: made once, used by several runs, verified, changed, damaged, in use, half made and removed.

use crate::hosts_lab::query;
use crate::lab::{Lab, wait_until};
use crate::servers::{Running, ask_mariadb, ask_postgres, is_here, measuring, servers_in, socket_of};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

const ROWS: &str = "2000";
const PASSWORD: &str = "of-the-data-sets";

/// `plimsoll data make oltp` with a small table.
fn make(lab: &Lab, name: &str, more: &[&str]) -> Value {
    lab.json(&[&["data", "make", "oltp", "--table-rows", ROWS, "--name", name], more].concat())
}

/// A run on the data set `name`, and what its last point says of its data.
fn used(lab: &Lab, name: &str, more: &[&str]) -> (Value, String) {
    let run = lab.json(&[&["oltp", "--data", name, "--time", "300ms", "--no-report"], more].concat());
    (run, query(lab.run_files().last().unwrap(), "SELECT facts FROM point ORDER BY id DESC LIMIT 1"))
}

/// Intervals in which data was made, in the newest run.
fn prepared(lab: &Lab) -> u32 {
    query(lab.run_files().last().unwrap(), "SELECT count(*) FROM interval WHERE phase = 'prepare'")
}

/// What `arguments` are refused with, in one line.
fn refused(lab: &Lab, exit: i32, arguments: &[&str]) -> String {
    let finished = lab.run(arguments);
    assert_eq!(finished.exit, exit, "{arguments:?}: {}", finished.stderr);
    assert_eq!(finished.stderr.trim_end().lines().count(), 1, "{}", finished.stderr);
    finished.stderr
}

fn listed(lab: &Lab, more: &[&str]) -> Vec<Value> {
    lab.json(&[&["data", "list"], more].concat())["sets"].as_array().unwrap().clone()
}

/// The file with the database of an SQLite set.
fn database(lab: &Lab, name: &str) -> PathBuf {
    lab.path().join("plimsoll-data").join(name).join("files/plimsoll.db")
}

/// Makes a set on `engine`, uses it in a run that reads for each of `clients`, and in one that inserts, and drops it.
fn is_made_once_and_used_often(lab: &Lab, engine: &str, clients: &[&str]) {
    let made = make(lab, "big", &["--engine", engine]);
    assert_eq!(made["set"]["rows"], 2000, "{made}");
    for clients in clients {
        let (run, facts) = used(lab, "big", &["--engine", engine, "--mix", "read_only", "--clients", clients]);
        assert!(run["points"][0]["ops"].as_u64().unwrap() > 0, "{run}");
        assert_eq!(prepared(lab), 0, "{engine}: nothing was loaded");
        assert!(facts.contains("data.set"), "{facts}");
        assert!(facts.contains("restored ("), "{facts}");
    }
    // Rows that one point inserts are there for no other: a second one would meet them.
    let twice = ["--clients", &clients.join(","), "--repeat", "2"];
    let (run, _) = used(lab, "big", &[&["--engine", engine, "--mix", "insert"], &twice[..]].concat());
    assert_eq!(run["points"].as_array().unwrap().len(), 2 * clients.len());
    assert_eq!(prepared(lab), 0);
    let verified = lab.json(&["data", "verify", "big"]);
    assert_eq!(verified["set"]["rows"], 2000, "{engine}: the set is as it was made");
    let all = listed(lab, &[]);
    assert!(all.len() == 1 && all[0]["state"] == "complete" && all[0]["used"].is_string(), "{all:?}");
    lab.json(&["data", "drop", "big"]);
    assert_eq!(lab.left_behind(), Vec::<String>::new(), "{engine}");
}

#[test]
fn a_set_of_an_embedded_engine_is_made_once_and_used_by_points_repeats_and_runs() {
    let lab = Lab::new();
    is_made_once_and_used_often(&lab, "sqlite", &["1", "2"]);
    lab.json(&["data", "make", "kv", "--records", "1000", "--name", "keys", "--engine", "fjall"]);
    let run = lab.json(&["kv", "--data", "keys", "--mix", "c", "--time", "300ms", "--no-report"]);
    assert_eq!((run["points"][0]["engine"].as_str(), prepared(&lab)), (Some("fjall"), 0), "{run}");
    lab.json(&["data", "verify", "keys"]);
    lab.json(&["data", "drop", "keys"]);
    assert_eq!(lab.left_behind(), Vec::<String>::new());
}

#[test]
fn a_set_of_a_private_server_is_made_once_and_used_by_points_repeats_and_runs() {
    let lab = Lab::new();
    for engine in ["mariadb:innodb", "postgres"] {
        if is_here(&lab, engine) {
            is_made_once_and_used_often(&lab, engine, &["2"]);
            assert_eq!(servers_in(&lab), Vec::<String>::new());
        }
    }
}

#[test]
fn a_set_of_a_private_server_is_used_over_another_way_than_it_was_made() {
    let lab = Lab::new();
    for engine in ["mariadb:innodb", "postgres"] {
        if is_here(&lab, engine) {
            make(&lab, "big", &["--engine", engine, "--via", "tcp"]);
            used(&lab, "big", &["--engine", engine, "--mix", "read_only", "--via", "tls", "--between", "restart"]);
            lab.json(&["data", "drop", "big"]);
        }
    }
}

#[test]
fn a_run_takes_what_it_does_not_ask_for_from_the_set() {
    let lab = Lab::new();
    make(&lab, "big", &["--tables", "2", "--seed", "9"]);
    let (run, _) = used(&lab, "big", &["--mix", "point_select"]);
    let trial = &run["points"][0];
    assert!(trial["ops"].as_u64().unwrap() > 0, "{run}");
    let planned = lab.run(&["oltp", "--data", "big", "--mix", "point_select", "--print-plan"]);
    assert!(planned.stdout.contains("data_set") && planned.stdout.contains("table_rows"), "{}", planned.stdout);
    let file = lab.path().join("p.toml");
    fs::write(&file, planned.stdout).unwrap();
    let told = lab.run(&["plan", "p.toml"]);
    assert!(told.stdout.contains("data made      no: points use the data set `big`"), "{}", told.stdout);
    assert_eq!(lab.run(&["run", "p.toml", "--time", "300ms", "--no-report"]).exit, 0);
    fs::remove_file(file).unwrap();
    lab.json(&["data", "drop", "big"]);
}

#[test]
fn a_set_that_does_not_fit_is_refused_before_any_point_with_what_would() {
    let lab = Lab::new();
    make(&lab, "big", &[]);
    let on = |more: &[&str]| refused(&lab, 3, &[&["oltp", "--data", "big", "--no-report"], more].concat());
    let scale = on(&["--table-rows", "5000"]);
    assert!(scale.contains("with `--table-rows 2000`") && scale.contains("has `--table-rows 5000`"), "{scale}");
    assert!(scale.contains("`--table-rows 2000`") && scale.contains("plimsoll data make oltp"), "{scale}");
    let seed = on(&["--seed", "7"]);
    assert!(seed.contains("with `--seed 1`") && seed.contains("has `--seed 7`"), "{seed}");
    let other = refused(&lab, 3, &["kv", "--data", "big", "--engine", "sqlite", "--no-report"]);
    assert!(other.contains("workload = `oltp`"), "{other}");
    let engine = refused(&lab, 3, &["kv", "--data", "big", "--engine", "fjall", "--no-report"]);
    assert!(engine.contains("with `--engine sqlite`"), "{engine}");
    let absent = refused(&lab, 3, &["oltp", "--data", "huge", "--no-report"]);
    assert!(absent.contains("no data set `huge`") && absent.contains("there are `big`"), "{absent}");
    let bad = refused(&lab, 2, &["oltp", "--data", "../big", "--no-report"]);
    assert!(bad.contains("small letters"), "{bad}");
    assert!(refused(&lab, 2, &["data", "drop", "../big"]).contains("small letters"));
    let twice = refused(&lab, 3, &["data", "make", "oltp", "--name", "big"]);
    assert!(twice.contains("already") && twice.contains("plimsoll data drop big"), "{twice}");
    let files = refused(&lab, 2, &["file", "--data", "big", "--file-size", "1MiB", "--no-report"]);
    assert!(files.contains("keeps no data sets"), "{files}");
    let steps = refused(&lab, 2, &["insert", "--data", "big", "--rows", "100", "--no-report"]);
    assert!(steps.contains("measures how its data is made"), "{steps}");
    assert_eq!(lab.run_files(), Vec::<PathBuf>::new(), "no point began");
}

#[test]
fn a_set_that_is_damaged_or_of_another_version_is_refused() {
    let lab = Lab::new();
    make(&lab, "big", &[]);
    let manifest = lab.path().join("plimsoll-data/big/SET.json");
    let whole = fs::read_to_string(&manifest).unwrap();
    let on = || refused(&lab, 3, &["oltp", "--data", "big", "--table-rows", ROWS, "--no-report"]);
    let version = whole.split("\"engine_version\": \"").nth(1).unwrap().split('"').next().unwrap();
    fs::write(
        &manifest,
        whole.replace(&format!("\"engine_version\": \"{version}\""), "\"engine_version\": \"2.8.17\""),
    )
    .unwrap();
    let other = on();
    assert!(other.contains("sqlite 2.8.17") && other.contains("major version"), "{other}");
    fs::write(&manifest, whole.replace("\"generator_version\": 1", "\"generator_version\": 0")).unwrap();
    assert!(on().contains("made other rows of the same seed"));
    fs::write(&manifest, &whole).unwrap();

    let file = database(&lab, "big");
    let mut bytes = fs::read(&file).unwrap();
    bytes[100] ^= 0xff;
    fs::write(&file, &bytes).unwrap();
    let changed = on();
    assert!(changed.contains("does not hold what was made") && changed.contains("plimsoll data drop big"), "{changed}");
    assert!(refused(&lab, 3, &["data", "verify", "big"]).contains("does not hold what was made"));
    fs::write(&file, &bytes[..5000]).unwrap();
    assert!(on().contains("has 5000 bytes"));
    fs::write(&manifest, "{").unwrap();
    assert!(on().contains("is damaged"));
    assert_eq!(listed(&lab, &[])[0]["state"], "damaged");
    assert!(refused(&lab, 3, &["data", "drop", "big"]).contains("by hand"), "its manifest does not say what is in it");
    fs::write(&manifest, whole).unwrap();
    fs::write(file.with_file_name("notes.txt"), "mine").unwrap();
    assert!(refused(&lab, 3, &["data", "drop", "big"]).contains("notes.txt"));
    fs::remove_file(file.with_file_name("notes.txt")).unwrap();
    lab.json(&["data", "drop", "big"]);
    assert_eq!(lab.run_files(), Vec::<PathBuf>::new(), "no point began");
}

#[test]
fn a_set_in_use_is_not_dropped() {
    let lab = Lab::new();
    make(&lab, "big", &[]);
    let load = ["oltp", "--data", "big", "--mix", "point_select", "--think", "5ms", "--time", "600s"];
    let more = ["--interval", "50ms", "--no-report", "--json"];
    let mut run = Running(lab.command(&[&load[..], &more].concat()).spawn().unwrap());
    lab.wait_for_load(&mut run.0, 1);
    assert!(refused(&lab, 3, &["data", "drop", "big"]).contains("is in use by another plimsoll"));
    assert_eq!(Command::new("kill").args(["-INT", &run.0.id().to_string()]).status().unwrap().code(), Some(0));
    run.finished();
    lab.json(&["data", "drop", "big"]);
    assert_eq!(lab.left_behind(), Vec::<String>::new());
}

#[test]
fn a_make_that_was_killed_is_listed_and_dropped_and_one_that_was_interrupted_leaves_nothing() {
    let lab = Lab::new();
    let endless = ["data", "make", "oltp", "--table-rows", "20000000", "--name", "half", "--quiet"];
    let mut making = Running(lab.command(&endless).spawn().unwrap());
    wait_until("the set that is made", || listed(&lab, &[]).first().is_some_and(|set| set["state"] == "in use"));
    making.0.kill().unwrap();
    making.0.wait().unwrap();
    let all = listed(&lab, &[]);
    assert_eq!((all[0]["name"].as_str(), all[0]["state"].as_str()), (Some("half"), Some("half made")), "{all:?}");
    let told = lab.run(&["data", "list"]).stdout;
    assert!(told.contains("oltp on sqlite") && told.contains("plimsoll data drop half"), "{told}");
    let on = refused(&lab, 3, &["oltp", "--data", "half", "--quiet", "--no-report"]);
    assert!(on.contains("is half made") && on.contains("plimsoll data drop half"), "{on}");
    let again = refused(&lab, 3, &["data", "make", "oltp", "--table-rows", "100", "--name", "half", "--quiet"]);
    assert!(again.contains("is half made"), "{again}");
    lab.json(&["data", "drop", "half"]);
    assert_eq!(lab.left_behind(), Vec::<String>::new(), "what was loaded so far went with the next start");

    let mut making = Running(lab.command(&endless).spawn().unwrap());
    wait_until("the set that is made", || listed(&lab, &[]).first().is_some_and(|set| set["state"] == "in use"));
    assert_eq!(Command::new("kill").args(["-INT", &making.0.id().to_string()]).status().unwrap().code(), Some(0));
    let ended = making.finished();
    assert_eq!((ended.exit, lab.left_behind()), (130, vec![]), "{}", ended.stderr);
}

/// Makes a set at `url`, uses it in two runs and drops it; `ask` queries the server.
fn stays_on_a_server(lab: &Lab, url: &str, ask: impl Fn(&str) -> String) {
    let json = |arguments: &[&str]| -> Value {
        let mut command = lab.command(&[arguments, &["--engine", url, "--json"]].concat());
        let finished = crate::lab::Finished::from(command.env("PLIMSOLL_PASSWORD", PASSWORD).output().unwrap());
        assert_eq!(finished.exit, 0, "{arguments:?}: {}", finished.stderr);
        finished.json()
    };
    let before = ask("SELECT schema_name FROM information_schema.schemata ORDER BY 1");
    let made = json(&["data", "make", "oltp", "--table-rows", ROWS, "--name", "big-1"]);
    assert_eq!(made["set"]["rows"], 2000, "{made}");
    let on = ["oltp", "--data", "big-1", "--time", "300ms", "--no-report"];
    for _ in 0..2 {
        let run = json(&[&on[..], &["--mix", "read_only"]].concat());
        assert!(run["points"][0]["ops"].as_u64().unwrap() > 0 && prepared(lab) == 0, "{run}");
    }
    assert_eq!(json(&["data", "verify", "big-1"])["set"]["rows"], 2000);
    assert!(json(&["data", "list"])["sets"][0]["changed"].is_null());
    // A run that changes rows says so to all that come after it.
    json(&[&on[..], &["--mix", "insert"]].concat());
    let run = json(&[&on[..], &["--mix", "read_only"]].concat());
    let file = lab.path().join(run["run"].as_str().unwrap());
    let facts: String = query(&file, "SELECT facts FROM point ORDER BY id DESC LIMIT 1");
    assert!(facts.contains("by a run on ") && facts.contains("made with 2000"), "{facts}");
    assert!(json(&["data", "list"])["sets"][0]["changed"].is_string());
    let with = |arguments: &[&str]| {
        let mut command = lab.command(&[arguments, &["--engine", url, "--quiet"]].concat());
        crate::lab::Finished::from(command.env("PLIMSOLL_PASSWORD", PASSWORD).output().unwrap())
    };
    let verified = with(&["data", "verify", "big-1"]);
    assert!(verified.exit == 3 && verified.stderr.contains("changed by a run on"), "{}", verified.stderr);
    let other = with(&["oltp", "--data", "big-1", "--table-rows", "10", "--no-report"]);
    assert!(other.exit == 3 && other.stderr.contains("with `--table-rows 2000`"), "{}", other.stderr);
    let absent = with(&["oltp", "--data", "huge", "--no-report"]);
    assert!(absent.exit == 3 && absent.stderr.contains("there are `big-1`"), "{}", absent.stderr);
    let twice = with(&["data", "make", "oltp", "--table-rows", ROWS, "--name", "big-1"]);
    assert!(twice.exit == 3 && twice.stderr.contains("already"), "{}", twice.stderr);
    json(&["data", "drop", "big-1"]);
    assert_eq!(ask("SELECT schema_name FROM information_schema.schemata ORDER BY 1"), before);
    assert!(json(&["data", "list"])["sets"].as_array().unwrap().is_empty());
}

#[test]
fn a_set_on_a_mariadb_by_url_stays_until_it_is_dropped() {
    let (theirs, ours) = (Lab::new(), Lab::new());
    if !is_here(&ours, "mariadb:innodb") {
        return;
    }
    let _server = measuring(&theirs, &[]);
    let socket = socket_of(&theirs, "m.sock");
    let ask = |sql: &str| ask_mariadb(&socket, sql);
    ask(&format!("CREATE USER visitor@localhost IDENTIFIED BY '{PASSWORD}'; GRANT ALL ON *.* TO visitor@localhost"));
    stays_on_a_server(&ours, &format!("mysql://visitor@localhost/?socket={socket}"), ask);
}

#[test]
fn a_set_on_a_postgresql_by_url_stays_until_it_is_dropped() {
    let (theirs, ours) = (Lab::new(), Lab::new());
    if !is_here(&ours, "postgres") {
        return;
    }
    let _server = measuring(&theirs, &["--engine", "postgres"]);
    let socket = socket_of(&theirs, ".s.PGSQL.5432");
    let ask = |sql: &str| ask_postgres(&socket, sql);
    stays_on_a_server(&ours, &format!("postgres://plimsoll@localhost/postgres?socket={socket}"), ask);
}
