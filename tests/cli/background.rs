//! Statements in the background of a workload: their own rate, their own row, and nothing of them in the headline.

use crate::lab::Lab;
use crate::servers::{ask_mariadb, is_here, measuring, socket_of};
use serde_json::Value;

/// Runs `plan` and returns the answer.
fn run_plan(lab: &Lab, plan: &str) -> Value {
    std::fs::write(lab.path().join("plan.toml"), plan).unwrap();
    lab.json(&["run", "plan.toml", "--no-report"])
}

fn row<'a>(point: &'a Value, kind: &str) -> &'a Value {
    let all = point["statements"].as_array().expect("statements");
    all.iter().find(|row| row["kind"] == kind).unwrap_or_else(|| panic!("no {kind} in {all:?}"))
}

/// A plan of `head` whose clients pause, with a report ten times a second and two clients that pause for 20 ms between their reads of `table`.
fn with_background(head: &str, table: &str) -> String {
    format!(
        "{head}\nthink = '5ms'\ntime = '2s'\n[[background]]\nname = 'report'\nrate = 10\nsql = 'SELECT count(*) FROM {table}'\n\
         [[background]]\nname = 'reader'\nclients = 2\nthink = '20ms'\nsql = ['SELECT count(*) FROM {table}', 'SELECT :int(1,9)']\n"
    )
}

/// Each workload of statements with its head and one of its tables.
const HEADS: [(&str, &str); 5] = [
    ("workload = 'oltp'\ntable_rows = 200\nclients = 2", "sbtest{table}"),
    ("workload = 'orders'\nitems = 1000\ncustomers = 30\nclients = 2", "warehouse"),
    ("workload = 'micro'\nstep = 'point-query.pre'\ntable_rows = 200\nclients = 2", "sbtest1"),
    ("workload = 'kv'\nmix = 'b'\nrecords = 200\nclients = 2", "usertable"),
    ("workload = 'insert'\nstep = 'l.i0'\nrows = 0\nclients = 2", "purchases_index"),
];

fn each_workload_on(engine: &str) {
    for (head, table) in HEADS {
        let lab = Lab::new();
        let run = run_plan(&lab, &with_background(&format!("engine = '{engine}'\n{head}"), table));
        let point = &run["points"][0];
        let (report, reader) = (row(point, "report"), row(point, "reader"));
        assert_eq!(
            (&report["background"], &report["asked_per_s"], &report["share"]),
            (&true.into(), &10.0.into(), &Value::Null)
        );
        assert_eq!((&reader["background"], &reader["asked_per_s"]), (&true.into(), &Value::Null));
        let ops = |row: &Value| row["ops"].as_u64().unwrap();
        // What a busy machine did not serve in time is unserved, and counted so.
        let unserved = point["background"][0]["unserved"].as_u64().unwrap();
        let grace = 20 - ops(report) - unserved;
        assert!(ops(report) > 0 && grace <= 1, "{head} on {engine}: {point}");
        assert!((1..=200).contains(&ops(reader)), "two clients with pauses of 20 ms: {reader}");
        let times = |row: &Value| row["response_ns"]["p99"].as_u64().unwrap();
        assert!(times(report) > 0 && times(reader) > 0);
        let own: u64 =
            point["statements"].as_array().unwrap().iter().filter(|row| row["background"] == false).map(ops).sum();
        assert_eq!(
            point["ops"].as_u64(),
            Some(own),
            "{head} on {engine}: the headline is that of the measured clients"
        );
        assert_eq!(point["failed"], 0, "{point}");
        assert_eq!(lab.left_behind(), ["plan.toml"]);
    }
}

#[test]
fn each_workload_of_statements_has_a_background_on_sqlite() {
    each_workload_on("sqlite");
}

#[test]
fn each_workload_of_statements_has_a_background_on_mariadb() {
    let theirs = Lab::new();
    if is_here(&theirs, "mariadb:innodb") {
        let _server = measuring(&theirs, &[]);
        let socket = socket_of(&theirs, "m.sock");
        ask_mariadb(&socket, "CREATE USER visitor@localhost; GRANT ALL ON *.* TO visitor@localhost");
        each_workload_on(&format!("mysql://visitor@localhost/?socket={socket}"));
    }
}

#[test]
fn each_workload_of_statements_has_a_background_on_postgres() {
    let theirs = Lab::new();
    if is_here(&theirs, "postgres") {
        let _server = measuring(&theirs, &["--engine", "postgres"]);
        let socket = socket_of(&theirs, ".s.PGSQL.5432");
        each_workload_on(&format!("postgres://plimsoll@localhost/postgres?socket={socket}"));
    }
}

#[test]
fn points_with_and_without_a_report_differ_by_it_and_the_tables_name_it() {
    let lab = Lab::new();
    let plan = "workload = 'oltp'\nengine = 'sqlite'\ntable_rows = 500\ntime = '1s'\n[[sweep]]\n[[sweep]]\n[[sweep.background]]\n\
                name = 'report'\nrate = 5\nsql = 'SELECT sum(k) FROM sbtest1'\n";
    run_plan(&lab, plan);
    let shown = lab.run(&["show", "last", "--details"]).stdout;
    assert!(shown.contains("background none") && shown.contains("background report 5/s"), "{shown}");
    assert!(shown.contains("background report: ") && shown.contains("report (background)"), "{shown}");
    let csv = lab.run(&["export", "last", "--what", "statements"]).stdout;
    assert!(csv.lines().any(|line| line.contains(",report,read,") && line.contains(",true,5,")), "{csv}");
    let file = lab.run_files()[0].display().to_string();
    let again = lab.json(&["run", &file, "--no-report"]);
    assert_eq!(row(&again["points"][1], "report")["asked_per_s"], 5.0);
}

#[test]
fn a_background_that_cannot_be_is_refused_in_one_line() {
    let lab = Lab::new();
    let refused = |head: &str, entry: &str| {
        let plan = format!("{head}\ntime = '1s'\n[[background]]\nname = 'report'\n{entry}\n");
        std::fs::write(lab.path().join("plan.toml"), plan).unwrap();
        let finished = lab.run(&["run", "plan.toml", "--no-report"]);
        assert!(finished.exit == 2 || finished.exit == 4, "{}: {}", finished.exit, finished.stderr);
        finished.stderr
    };
    let oltp = "workload = 'oltp'\nengine = 'sqlite'";
    let both = refused(oltp, "rate = 1\nthink = '1s'\nsql = 'SELECT 1'");
    assert!(both.contains("plan.toml:7: `rate` and `think` exclude each other"), "{both}");
    let unknown = refused("workload = 'orders'\nengine = 'sqlite'", "rate = 1\nsql = 'SELECT :id'");
    assert!(unknown.contains("unknown placeholder `:id`"), "{unknown}");
    let fjall = refused("workload = 'kv'\nengine = 'fjall'", "rate = 1\nsql = 'SELECT 1'");
    assert!(fjall.contains("needs an SQL engine, and `fjall` is none"), "{fjall}");
    // The name of an operation of the workload itself.
    let named = |head: &str, name: &str| {
        let plan = format!("{head}\ntime = '1s'\n[[background]]\nname = '{name}'\nrate = 1\nsql = 'SELECT 1'\n");
        std::fs::write(lab.path().join("plan.toml"), plan).unwrap();
        lab.run(&["run", "plan.toml", "--no-report"])
    };
    for (workload, name) in [("orders", "payment"), ("oltp", "point_select"), ("kv", "read")] {
        let taken = named(&format!("workload = '{workload}'\nengine = 'sqlite'"), name);
        let why = format!("a `[[background]]` is named `{name}`, and so is an operation of workload `{workload}`");
        assert!((2..=3).contains(&taken.exit) && taken.stderr.contains(&why), "{}: {}", taken.exit, taken.stderr);
        assert_eq!(taken.stderr.lines().count(), 1, "{}", taken.stderr);
    }
    let rejected =
        refused(&format!("{oltp}\ntable_rows = 50"), "rate = 1\nsql = 'SELECT nosuch FROM sbtest1 WHERE id = :id'");
    assert!(rejected.contains("statement `report` was rejected: no such column: nosuch"), "{rejected}");
    assert!(rejected.contains("WHERE id = :id"), "as it was written: {rejected}");
    let done = lab.json(&["show", "last"]);
    assert_eq!(done["points"][0]["ops"].as_u64().unwrap_or(0), 0, "it failed before its first operation: {done}");
}
