//! Several instances at once, and what a point costs: from the command line to the answer.

use crate::lab::{Lab, is_usable, wait_until};
use crate::servers::{ask_mariadb, asked, changed_settings, is_here, measuring, point_of_interrupted, servers_in};
use serde_json::Value;
use std::process::Command;

const SMALL: [&str; 7] = ["oltp", "--engine", "sqlite", "--table-rows", "100", "--durability", "os"];

fn numbers(list: &Value) -> Vec<f64> {
    list.as_array().unwrap_or_else(|| panic!("{list}")).iter().filter_map(Value::as_f64).collect()
}

#[test]
fn instances_are_a_dimension_whose_points_have_the_rate_of_each() {
    let lab = Lab::new();
    let run = lab.short(&[&SMALL[..], &["--instances", "1,3", "--clients", "2", "--ops-max", "3000"]].concat());
    let [one, three] = &run["points"].as_array().unwrap()[..] else { panic!("{run}") };
    assert!(one["instances"].is_null() && one["params"]["instances"].is_null(), "{one}");
    let shares = &three["instances"];
    assert_eq!((&shares["n"], &three["params"]["instances"], &three["clients"]), (&3.into(), &3.into(), &2.into()));
    let (rates, ops) = (numbers(&shares["ops_per_s"]), numbers(&shares["ops"]));
    let total = three["ops_per_s"].as_f64().unwrap();
    assert!((rates.iter().sum::<f64>() / total - 1.0).abs() < 1e-6, "{three}");
    assert_eq!((ops.len(), ops.iter().sum::<f64>()), (3, three["ops"].as_f64().unwrap()), "{three}");
    let fairness = shares["fairness"].as_f64().unwrap();
    assert!((1.0 / 3.0..=1.0).contains(&fairness), "{fairness}");
    assert_eq!(lab.left_behind(), Vec::<String>::new());
    let gain = &run["verdict_detail"]["instances"][0];
    if !is_usable(one) || !is_usable(three) {
        return assert!(gain.is_null(), "{gain}");
    }
    assert_eq!((&gain["base"]["instances"], &gain["more"]["instances"]), (&1.into(), &3.into()), "{gain}");
    assert_eq!(gain["has_equal_clients"], false, "{gain}");
}

#[test]
fn what_cannot_run_several_times_is_refused_before_anything_is_made() {
    let lab = Lab::new();
    let refused = |arguments: &[&str]| {
        let finished = lab.run(arguments);
        assert_ne!(finished.exit, 0, "{arguments:?}");
        finished.stderr
    };
    let url = refused(&["oltp", "--engine", "mysql", "--url", "mysql://a@127.0.0.1:1/x", "--instances", "2"]);
    assert!(url.contains("a server that plimsoll did not start"), "{url}");
    let path = refused(&["file", "--path", "f0", "--instances", "2"]);
    assert!(path.contains("`instances` and `path` exclude each other"), "{path}");
    let memory = refused(&["oltp", "--engine", "sqlite", "--cache", "1TiB", "--instances", "200"]);
    assert!(memory.contains("each need 200 TiB together"), "{memory}");
    let disk = refused(&["file", "--file-size", "10TiB", "--instances", "100"]);
    assert!(disk.contains("not enough space"), "{disk}");
    assert_eq!(lab.left_behind(), Vec::<String>::new());
}

#[test]
fn a_kill_leaves_the_data_of_all_instances_to_the_next_start() {
    let lab = Lab::new();
    let long = [&SMALL[..], &["--instances", "3", "--time", "600s", "--interval", "50ms"]].concat();
    let mut child = lab.command(&long).spawn().unwrap();
    lab.wait_for_load(&mut child, 2);
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until("the data of three instances", || lab.left_behind().len() == 3);
    let next = lab.run(&[&SMALL[..], &["--time", "300ms", "--no-report"]].concat());
    assert_eq!((next.exit, next.stderr.matches("left by a run that was killed").count()), (0, 3), "{}", next.stderr);
    assert_eq!(lab.left_behind(), Vec::<String>::new());
}

#[test]
fn a_price_gives_the_cost_of_an_operation_and_without_one_there_is_none() {
    let lab = Lab::new();
    let file = ["file", "--mode", "rndrd", "--file-size", "1MiB", "--direct", "false"];
    let run = lab.short(&[&file[..], &["--price", "876/year", "--watts", "50"]].concat());
    let (point, cost) = (&run["points"][0], &run["points"][0]["cost"]);
    let number = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("{point}"));
    let hours = 1e6 / number(&point["ops_per_s"]) / 3600.0;
    assert!((number(&cost["per_million_ops"]) / (0.1 * hours) - 1.0).abs() < 1e-6, "{cost}");
    assert!((number(&cost["kwh_per_million_ops"]) / (0.05 * hours) - 1.0).abs() < 1e-6, "{cost}");
    assert_eq!((&cost["per_year"], number(&cost["kwh_per_year"])), (&Value::from(876.0), 438.0), "{cost}");
    let later = lab.json(&["show", "last", "--price", "2/h"]);
    assert_eq!(later["points"][0]["cost"]["price_per_hour"], 2.0);
    let free = lab.short(&file);
    assert!(free["points"][0]["cost"]["per_million_ops"].is_null(), "{free}");
    let refused = lab.run(&["file", "--price", "cheap"]);
    assert!(refused.stderr.contains("an amount above 0 per `h`, `day`, `month` or `year`"), "{}", refused.stderr);
}

/// Two instances of `engine` work at once, and leave nothing.
fn two_run(engine: &str) {
    let lab = Lab::new();
    let run = lab.short(&["oltp", "--engine", engine, "--table-rows", "100", "--durability", "os", "--instances", "2"]);
    let point = &run["points"][0];
    let ops = numbers(&point["instances"]["ops"]);
    assert_eq!((ops.len(), ops.iter().sum::<f64>()), (2, point["ops"].as_f64().unwrap()), "{point}");
    assert_eq!((lab.left_behind(), servers_in(&lab)), (vec![], vec![]));
}

#[test]
fn two_instances_of_postgres_run() {
    if is_here(&Lab::new(), "postgres") {
        two_run("postgres");
    }
}

#[test]
fn two_instances_of_fjall_run() {
    if is_here(&Lab::new(), "fjall") {
        two_run("fjall");
    }
}

#[test]
fn a_setting_of_the_second_instance_that_changes_voids_the_point_and_names_the_instance() {
    let lab = Lab::new();
    if !is_here(&lab, "mariadb:innodb") {
        return;
    }
    let mut run = measuring(&lab, &["--engine", "mariadb", "--instances", "2"]);
    let sockets = asked(Command::new("find").args([lab.path().to_str().unwrap(), "-name", "m.sock"]));
    // The second is the one that was started last.
    let started = |socket: &&str| std::fs::metadata(socket).and_then(|it| it.modified()).expect("a socket has a time");
    let second = sockets.lines().max_by_key(started).expect("two sockets");
    ask_mariadb(second, "SET GLOBAL innodb_flush_log_at_trx_commit = 2");
    let change = "innodb_flush_log_at_trx_commit (instance 2) from `0` to `2`";
    let point = point_of_interrupted(&mut run);
    assert_eq!(changed_settings(&point), format!("the server's settings were changed: {change}"));
}
