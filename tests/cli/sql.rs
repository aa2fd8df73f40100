//! Variants of a statement: their results, their steps, their mistakes. On SQLite, which is always there; the servers in
//! `on_a_server`, if they are installed.

use crate::lab::{Lab, usable_pairs, wait_until};
use crate::servers::{Running, ask_mariadb, ask_postgres, is_here, measuring, socket_of};
use serde_json::Value;
use std::process::Command;

const PLAN: &str = "\
workload = 'sql'
rows = 50
repeat = 2
[[data]]
name = 'numbers'
statements = ['CREATE TABLE t (a INT, b INT)', 'INSERT INTO t VALUES (1, 10), (2, 20), (3, {rows})']
[[variant]]
name = 'plain'
statement = 'SELECT a, b FROM t'
[[variant]]
name = 'temp'
setup = ['CREATE TEMPORARY TABLE x AS SELECT a, b FROM t', 'CREATE INDEX i ON x (a)']
statement = 'SELECT a, b FROM x ORDER BY a DESC'
cleanup = 'DROP TABLE x'
";

const ENDLESS: &str = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT max(x) FROM n";

fn lab_with(plan: &str) -> Lab {
    let lab = Lab::new();
    std::fs::write(lab.path().join("p.toml"), plan).unwrap();
    lab
}

fn step_names(point: &Value) -> Vec<&str> {
    let steps = point["variant"]["steps"].as_array().unwrap();
    steps.iter().map(|step| step["name"].as_str().unwrap()).collect()
}

/// What holds of the run of [`PLAN`] on any engine.
fn all_agree(run: &Value) {
    let points = run["points"].as_array().unwrap();
    assert_eq!(points.len(), 4);
    for point in points {
        assert_eq!(point["result"], points[0]["result"], "{point}");
        assert_eq!((&point["result"]["rows"], &point["result"]["columns"]), (&3.into(), &2.into()));
        assert!(point["variant"]["total_seconds"].as_f64() >= point["variant"]["statement_seconds"].as_f64());
    }
    assert_eq!(step_names(&points[1]), ["setup-1", "setup-2", "statement", "cleanup-1"]);
    assert!(points[1]["variant"]["built"].is_string() && points[1]["variant"]["efforts"].is_object());
    // The base, and the other with its ratio of the pairs.
    let arms = run["verdict_detail"]["variants"][0]["arms"].as_array().unwrap();
    let pairs = arms[1]["ratio"]["n"].as_u64().unwrap_or(0) as usize;
    assert_eq!((arms[0]["name"].as_str(), pairs), (Some("plain"), usable_pairs(points)));
}

#[test]
fn variants_return_the_same_and_have_their_steps_and_their_plan() {
    let lab = lab_with(PLAN);
    let run = lab.json(&["sql", "p.toml", "--engine", "sqlite"]);
    all_agree(&run);
    let report = std::fs::read_dir(lab.path().join("plimsoll-runs")).unwrap().flatten().map(|entry| entry.path());
    let report = report.into_iter().find(|path| path.is_dir()).expect("a report");
    let csv = std::fs::read_to_string(report.join("variants.csv")).unwrap();
    assert_eq!(csv.lines().count(), 3, "{csv}");
    let text = std::fs::read_to_string(report.join("report.md")).unwrap();
    assert!(text.contains("### Variants") && text.contains("Plan of temp"), "{text}");
    let has_chart = report.join("charts/variants.svg").exists();
    assert!(has_chart || usable_pairs(run["points"].as_array().unwrap()) < 2, "{run}");
    assert_eq!(lab.left_behind(), ["p.toml"]);
}

#[test]
fn a_variant_that_returns_something_else_ends_the_run_with_the_first_row_that_differs() {
    let lab = lab_with(&PLAN.replace("ORDER BY a DESC", "WHERE a < 3 UNION ALL SELECT 3, 51"));
    let finished = lab.run(&["sql", "p.toml", "--engine", "sqlite"]);
    assert_eq!(finished.exit, 4, "{}", finished.stderr);
    let expected = "variant `temp` returned another result than variant `plain`; the first row that differs: (3, 51) instead of (3, 50);";
    assert!(finished.stderr.contains(expected), "{}", finished.stderr);
}

#[test]
fn a_statement_that_does_not_end_is_cancelled_and_the_next_variant_is_measured() {
    let lab = Lab::new();
    let endless = format!("endless={ENDLESS}");
    let arguments = [
        "sql",
        "--engine",
        "sqlite",
        "--statement-timeout",
        "200ms",
        "--statement",
        &endless,
        "--statement",
        "one=SELECT 1",
    ];
    let run = lab.json(&[&arguments[..], &["--no-report"]].concat());
    let points = run["points"].as_array().unwrap();
    assert_eq!((&points[0]["variant"]["timeouts"], &points[0]["result"]), (&1.into(), &Value::Null));
    assert_eq!((&points[1]["variant"]["timeouts"], &points[1]["result"]["rows"]), (&0.into(), &1.into()));
    let verdict = run["verdict"].to_string();
    assert!(verdict.contains("endless was cancelled at its time limit of 200 ms"), "{verdict}");
}

#[test]
fn mistakes_are_one_line_with_the_variant_and_the_step() {
    let lab = lab_with(&PLAN.replace("ON x (a)", "ON x (nosuch)"));
    let of = |arguments: &[&str], exit: i32| {
        let finished = lab.run(&[&["sql", "--quiet"], arguments].concat());
        assert_eq!(finished.exit, exit, "{}", finished.stderr);
        finished.stderr
    };
    let wrong = of(&["p.toml", "--engine", "sqlite"], 4);
    assert!(wrong.contains("variant `temp`, setup-2: ") && wrong.contains("no such column: nosuch"), "{wrong}");
    assert!(of(&[], 2).contains("there are no variants: name a PLAN"));
    assert!(of(&["none.toml"], 2).contains("there is no plan file and no built-in plan `none.toml`"));
    assert!(of(&["quick"], 2).contains("the plan `quick` is of workload `file`, not `sql`"));
    let missing = of(&["--statement", "a=@none.sql"], 2);
    assert!(missing.contains("cannot read `none.sql`: "), "{missing}");
    assert!(of(&["--statement", "SELECT 1"], 2).contains("`SELECT 1` is not NAME=SQL"));
    assert!(of(&["p.toml", "--clients", "2", "--engine", "sqlite"], 2).contains("has one client, not 2"));
}

#[test]
fn flags_are_printed_as_a_plan_that_does_the_same() {
    let lab = Lab::new();
    let flags = [
        "--engine",
        "sqlite",
        "--statement",
        "a=SELECT '\"x\"'",
        "--statement",
        "b=SELECT '\"x\"'",
        "--data",
        "CREATE TABLE t (a INT)",
    ];
    let printed = lab.run(&[&["sql"], &flags[..], &["--print-plan"]].concat());
    assert_eq!(printed.exit, 0, "{}", printed.stderr);
    std::fs::write(lab.path().join("p.toml"), printed.stdout).unwrap();
    let params =
        |run: Value| run["points"].as_array().unwrap().iter().map(|point| point["params"].clone()).collect::<Vec<_>>();
    let direct = lab.json(&[&["sql"], &flags[..], &["--no-report"]].concat());
    assert_eq!(params(lab.json(&["sql", "p.toml", "--no-report"])), params(direct));
}

fn on_a_server(engine: &str, more: &[&str]) {
    let lab = lab_with(PLAN);
    all_agree(&lab.json(&[&["sql", "p.toml", "--engine", engine, "--no-report"], more].concat()));
    let endless = format!("endless={ENDLESS}");
    let endless = if engine == "mariadb" {
        "endless=SELECT COUNT(*) FROM seq_1_to_100000 a, seq_1_to_100000 b WHERE a.seq + b.seq < 0"
    } else {
        &endless
    };
    let arguments = ["sql", "--engine", engine, "--statement-timeout", "1s", "--statement", endless, "--no-report"];
    let run = lab.json(&arguments);
    assert_eq!(run["points"][0]["variant"]["timeouts"], 1, "{run}");
}

#[test]
fn variants_run_on_mariadb() {
    if is_here(&Lab::new(), "mariadb:innodb") {
        on_a_server("mariadb", &[]);
    }
}

#[test]
fn variants_run_on_postgres_and_start_cold() {
    if is_here(&Lab::new(), "postgres") {
        on_a_server("postgres", &["--start", "cold"]);
    }
}

/// A statement that takes a server hours.
const LONG: &str = "\
workload = 'sql'
[[data]]
name = 'digits'
statements = ['CREATE TABLE t (a INT)', 'INSERT INTO t VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)']
[[variant]]
name = 'long'
statement = 'SELECT count(*) FROM t a, t b, t c, t d, t e, t f, t g, t h, t i, t j, t k, t l'
";

/// A server that plimsoll did not start: what is done by `url` leaves nothing there. `schemas` lists its schemas, `busy` is the number
/// of statements like that of [`LONG`] which it executes.
fn on_a_server_by_url(url: &str, schemas: &dyn Fn() -> String, busy: &dyn Fn() -> String) {
    let lab = lab_with(PLAN);
    std::fs::write(lab.path().join("long.toml"), LONG).unwrap();
    let before = schemas();
    all_agree(&lab.json(&["sql", "p.toml", "--engine", url, "--no-report"]));
    assert_eq!(schemas(), before);
    let cold = lab.run(&["sql", "p.toml", "--engine", url, "--start", "cold"]);
    assert!(cold.exit == 2 && cold.stderr.contains("needs an engine that plimsoll can restart"), "{}", cold.stderr);

    let start = || {
        let run = Running(lab.command(&["sql", "long.toml", "--engine", url, "--no-report"]).spawn().unwrap());
        wait_until("the statement", || busy().trim() == "1");
        run
    };
    // Ctrl-C: the server drops no schema that a statement still reads.
    let mut run = start();
    assert!(Command::new("kill").args(["-s", "INT", &run.0.id().to_string()]).status().unwrap().success());
    let finished = run.finished();
    assert!(finished.exit == 130 && !finished.stderr.contains("could not"), "{}", finished.stderr);
    wait_until("the end of the statement", || busy().trim() == "0");
    assert_eq!(schemas(), before);
    // A plimsoll that is killed can remove nothing, and the next one names what it left.
    drop(start());
    let next = lab.run(&["sql", "p.toml", "--engine", url, "--no-report"]);
    assert!(next.stderr.contains("schemas left on the server by an earlier run: plimsoll_"), "{}", next.stderr);
    assert_eq!((next.exit, schemas().matches("plimsoll_").count()), (0, 1));
}

#[test]
fn variants_leave_nothing_on_a_mariadb_by_url() {
    let theirs = Lab::new();
    if !is_here(&theirs, "mariadb:innodb") {
        return;
    }
    let _server = measuring(&theirs, &[]);
    let socket = socket_of(&theirs, "m.sock");
    let ask = |sql: &str| ask_mariadb(&socket, sql);
    ask("CREATE USER visitor@localhost; GRANT ALL ON *.* TO visitor@localhost; CREATE DATABASE empty_one");
    let named = format!("mysql://visitor@localhost/empty_one?socket={socket}");
    let refused = lab_with(PLAN).run(&["sql", "p.toml", "--engine", &named]);
    let why = "leave `empty_one` out of the URL: plimsoll then makes a schema of its own";
    assert!(refused.exit == 2 && refused.stderr.contains(why), "{}: {}", refused.exit, refused.stderr);
    assert_eq!(ask("SHOW TABLES IN empty_one"), "");
    let busy = "SELECT count(*) FROM information_schema.processlist WHERE info LIKE 'SELECT count(*) FROM t a, %'";
    let url = format!("mysql://visitor@localhost/?socket={socket}");
    on_a_server_by_url(&url, &|| ask("SHOW DATABASES"), &|| ask(busy));
}

#[test]
fn variants_leave_nothing_on_a_postgresql_by_url() {
    let theirs = Lab::new();
    if !is_here(&theirs, "postgres") {
        return;
    }
    let _server = measuring(&theirs, &["--engine", "postgres"]);
    let socket = socket_of(&theirs, ".s.PGSQL.5432");
    let ask = |sql: &str| ask_postgres(&socket, sql);
    let url = format!("postgres://plimsoll@localhost/postgres?socket={socket}");
    let schemas = || ask("SELECT nspname FROM pg_namespace WHERE nspname NOT LIKE 'pg_%' ORDER BY 1");
    let busy =
        "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'SELECT count(*) FROM t a, %'";
    on_a_server_by_url(&url, &schemas, &|| ask(busy));
}
