//! Configuration files of private servers: what they change, and what is refused in them.

use crate::lab::Lab;
use crate::servers::{is_here, servers_in};
use host::allocator::{ALLOCATORS, Allocator};
use model::{Fact, RunData};
use serde_json::Value;

/// An engine, the text of a configuration file for it, and the variable that the text sets with its value.
const CONFIGURED: [(&str, &str, &str, &str); 2] = [
    ("mariadb:innodb", "[client]\nport=3306\n[mysqld]\nlock-wait-timeout = 77\n", "mariadb.lock_wait_timeout", "77"),
    ("postgres", "# as measured\nwork_mem = '8192kB'\n", "postgres.work_mem", "8192kB"),
];

/// A load that ends after a few operations.
fn load<'a>(engine: &'a str, files: &'a str) -> [&'a str; 14] {
    [
        "oltp",
        "--engine",
        engine,
        "--config",
        files,
        "--durability",
        "none",
        "--table-rows",
        "100",
        "--ops-max",
        "50",
        "--time",
        "60s",
        "--interval=50ms",
    ]
}

#[test]
fn a_configuration_file_is_a_dimension_and_the_run_keeps_what_is_in_it() {
    let lab = Lab::new();
    for (engine, text, variable, value) in CONFIGURED.into_iter().filter(|(engine, ..)| is_here(&lab, engine)) {
        // A report takes as long as all else, and names the files of any server in the same way.
        let more: &[&str] = if engine == "postgres" { &["--no-report"] } else { &[] };
        std::fs::create_dir_all(lab.path().join("etc")).unwrap();
        std::fs::write(lab.path().join("etc/mine.conf"), text).unwrap();
        let run = lab.json(&[&load(engine, "default,etc/mine.conf")[..], more].concat());
        let points = run["points"].as_array().unwrap();
        let set: Vec<&Value> = points.iter().map(|point| &point["params"][variable]).collect();
        assert_eq!(set, [&Value::Null, &Value::from(value)], "{engine}");
        assert_eq!(run["report"].is_string(), more.is_empty(), "{engine}");
        if let Some(report) = run["report"].as_str() {
            let report = std::fs::read_to_string(lab.path().join(report).with_file_name("report.md")).unwrap();
            for label in ["config default", "mine.conf"] {
                assert!(report.contains(&format!("oltp {label}")), "{report}");
            }
            let own = format!("oltp mine.conf {variable}");
            assert!(!report.contains(&own), "the file stands for its variables: {report}");
        }
        std::fs::remove_dir_all(lab.path().join("etc")).unwrap();
        assert_eq!((servers_in(&lab), lab.left_behind()), (vec![], vec![]));
    }
}

#[test]
fn a_configuration_that_the_server_refuses_ends_in_its_own_error_before_anything_is_measured() {
    let lab = Lab::new();
    for (engine, files, text, exit, error) in [
        ("mariadb:innodb", "bad.conf", "[mysqld]\nno-such = 1\n", 2, "mariadbd: unknown variable 'no_such=1'"),
        (
            "mariadb:innodb",
            "default,bad.conf",
            "innodb_purge_threads = abc\n",
            2,
            "Error while setting value 'abc' to 'innodb",
        ),
        ("mariadb:innodb", "bad.conf", "innodb_page_size = 12345\n", 4, "InnoDB: Invalid page size=12345"),
        ("postgres", "bad.conf", "no_such = 1\n", 2, "FATAL:  unrecognized configuration parameter \"no_such\""),
        (
            "postgres",
            "default,bad.conf",
            "wal_level = minimal\n",
            2,
            "FATAL:  WAL streaming (max_wal_senders > 0) requires",
        ),
    ] {
        if !is_here(&lab, engine) {
            continue;
        }
        std::fs::write(lab.path().join("bad.conf"), text).unwrap();
        let refused = lab.run(&load(engine, files));
        let (last, stderr) = (refused.stderr.lines().next_back().unwrap_or_default(), &refused.stderr);
        assert!(refused.exit == exit && last.starts_with("plimsoll: ") && last.contains(error), "{engine}: {stderr}");
        assert_eq!(refused.stdout, "", "{engine} {files}");
        assert!(!lab.path().join("plimsoll-runs").exists(), "{engine} {files}");
        assert_eq!((servers_in(&lab), lab.left_behind()), (vec![], vec!["bad.conf".to_owned()]));
    }
}

#[test]
fn a_server_that_refuses_its_configuration_is_left_out_of_a_budget_and_the_others_are_measured() {
    let lab = Lab::new();
    for (engine, text, error) in [
        ("mariadb:innodb", "[mysqld]\nno-such = 1\n", "mariadbd: unknown variable 'no_such=1'"),
        ("postgres", "no_such = 1\n", "FATAL:  unrecognized configuration parameter \"no_such\""),
    ] {
        if !is_here(&lab, engine) {
            continue;
        }
        std::fs::write(lab.path().join("bad.conf"), text).unwrap();
        let compare = ["oltp", "--engine", engine, "--config", "default,bad.conf", "--durability", "none"];
        let load = ["--table-rows", "100", "--time", "1s", "--warmup", "0s", "--interval", "50ms", "--repeat", "2"];
        let run = lab.run(&[&compare[..], &load, &["--budget", "120s", "--no-report", "--json"]].concat());
        assert_eq!(run.exit, 2, "{engine}: {}", run.stderr);
        let begins = format!("engine `{engine}` does not start for some points: ");
        let named = run.stderr.lines().find(|line| line.contains(&begins));
        assert!(named.is_some_and(|line| line.contains(error)), "{engine}: {}", run.stderr);
        let answered = run.json();
        let states = |state: &str| {
            let points = answered["points"].as_array().unwrap().iter();
            points.filter(|point| point["state"] == state).map(|point| &point["error"]).collect::<Vec<_>>()
        };
        assert_eq!((states("failed").len(), states("complete").is_empty()), (1, false), "{engine}: {}", run.stderr);
        assert!(states("failed")[0].as_str().unwrap().contains(error), "{engine}: {answered}");
        let trust = answered["answer"]["trust"].as_array().unwrap();
        let told = trust.iter().filter_map(Value::as_str).find(|one| one.contains("failed before it was measured: "));
        assert!(told.is_some_and(|told| told.contains("bad.conf") && told.contains(error)), "{engine}: {trust:?}");
        assert_eq!((servers_in(&lab), lab.left_behind()), (vec![], vec!["bad.conf".to_owned()]));
    }
}

/// Whether the library is installed that `cargo xtask test` asks for; where it is not, the test says so and ends.
fn has_library(allocator: Allocator) -> bool {
    let found = allocator.find_library();
    found.inspect_err(|why| eprintln!("skipped: {why}")).is_ok()
}

/// The newest run file.
fn recorded(lab: &Lab) -> RunData {
    store::read(lab.run_files().last().unwrap()).unwrap()
}

/// The value of the fact `name`.
fn value_of(facts: &[Fact], name: &str) -> String {
    facts.iter().find(|fact| fact.name == name).unwrap_or_else(|| panic!("{name}: {facts:?}")).value.clone()
}

#[test]
fn an_allocator_is_a_dimension_and_read_back_from_the_running_server() {
    let lab = Lab::new();
    let words: Vec<&str> =
        ALLOCATORS.into_iter().filter(|word| has_library(Allocator::from_word(word).unwrap())).collect();
    // The contract has each allocator in each server.
    for engine in ["mariadb:innodb"].into_iter().filter(|engine| is_here(&lab, engine)) {
        let run = lab.json(&[&load(engine, "default")[..], &["--allocator", &words.join(","), "--no-report"]].concat());
        let points = run["points"].as_array().unwrap();
        assert_eq!(points.len(), words.len());
        for (point, word) in points.iter().zip(&words) {
            assert_eq!(point["params"]["allocator"], **word, "{engine}");
        }
        let loaded: Vec<String> =
            recorded(&lab).points.iter().map(|point| value_of(&point.facts, "server.allocator")).collect();
        let loaded: Vec<&str> = loaded.iter().filter_map(|fact| fact.split(' ').next()).collect();
        assert_eq!(loaded, words, "{engine}");
        assert_eq!((servers_in(&lab), lab.left_behind()), (vec![], vec![]));
    }
}

#[test]
fn plimsoll_itself_runs_with_another_allocator_if_it_is_asked_to() {
    let lab = Lab::new();
    let load =
        ["oltp", "--engine", "sqlite", "--durability", "none", "--table-rows", "100", "--ops-max", "50", "--no-report"];
    let mut found = vec![("system", "system")];
    found.extend(has_library(Allocator::Jemalloc).then_some(("jemalloc", "jemalloc (libjemalloc.so.2)")));
    for (word, expected) in found {
        lab.json(&[&load[..], &["--client-allocator", word]].concat());
        assert_eq!(value_of(&recorded(&lab).meta.environment, "plimsoll.allocator"), expected);
        std::fs::remove_dir_all(lab.path().join("plimsoll-runs")).unwrap();
    }
    let refused = lab.run(&[&load[..], &["--client-allocator", "system,jemalloc"]].concat());
    let expected = "plimsoll: --client-allocator cannot be a list: one plimsoll measures all points of a run; run the plan once for each\n";
    assert_eq!((refused.exit, refused.stderr.as_str()), (2, expected));
}

#[test]
fn a_file_that_a_private_server_may_not_have_is_refused_by_its_line() {
    let lab = Lab::new();
    std::fs::write(lab.path().join("a.cnf"), "[mysqld]\ninnodb_buffer_pool_size = 1G\nport = 3306\n").unwrap();
    let refused = lab.run(&load("mariadb", "a.cnf"));
    let expected = "plimsoll: --config: `a.cnf`, line 2: `innodb_buffer_pool_size` follows from the parameter `cache`: remove the line and \
                    use --cache; refused for such reasons, too: line 3 (`port`)\n";
    assert_eq!((refused.exit, refused.stderr.as_str()), (2, expected));
    let refused = lab.run(&load("sqlite", "a.cnf"));
    assert!(refused.exit == 2 && refused.stderr.contains("--config is a parameter of neither"), "{}", refused.stderr);
    assert_eq!(lab.run_files().len(), 0);
}
