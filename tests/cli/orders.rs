//! Order entry from the command line to the answer: new orders per minute, conditions that hold, and a row that breaks one.

use crate::lab::{Finished, Lab, is_so, one_of};
use rusqlite::Connection;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::Duration;

const SMALL: [&str; 9] = ["orders", "--engine", "sqlite", "--items", "1000", "--customers", "30", "--durability", "os"];

#[test]
fn new_orders_per_minute_are_the_headline_and_the_conditions_are_checked() {
    let lab = Lab::new();
    let run = lab.short(&[&SMALL[..], &["--clients", "4", "--warehouses", "2"]].concat());
    let point = &run["points"][0];
    let per_minute = point["new_orders"]["per_minute"].as_f64().unwrap();
    let all_per_minute = 60.0 * point["ops_per_s"].as_f64().unwrap();
    // The deck is exact for each client; a short run sees a part of it.
    assert!((0.2..0.7).contains(&(per_minute / all_per_minute)), "{point}");
    assert!(run["verdict"].to_string().contains("new orders/min"), "{}", run["verdict"]);
    let codes: Vec<&Value> = point["findings"].as_array().unwrap().iter().map(|finding| &finding["code"]).collect();
    assert!(!codes.iter().any(|code| *code == "broken-conditions" || *code == "errors"), "{codes:?}");
    let shown = lab.run(&["show", "last", "--details"]);
    assert!(shown.stdout.contains("orders/min"), "{}", shown.stdout);
    assert_eq!(lab.left_behind(), Vec::<String>::new());
}

#[test]
fn with_pauses_the_rate_is_that_of_a_warehouse_and_no_more_than_ten_terminals_can_enter() {
    let lab = Lab::new();
    let null = ["orders", "--engine", "null", "--items", "1000", "--customers", "30"];
    // A thousandth of the pauses: 20 ms a transaction. 60 clients for a warehouse are six times as many as there are terminals.
    let paced = |clients| {
        lab.json(&[&null[..], &["--pauses", "0.001", "--clients", clients, "--time", "2s", "--no-report"]].concat())
    };
    let [ten, sixty] = ["10", "60"].map(paced);
    let rate = |run: &Value| run["points"][0]["new_orders"]["per_minute_and_warehouse"].as_f64().unwrap();
    assert!(rate(&ten) < 1.3 * 12_860.0, "{ten}");
    assert!(ten["verdict"].to_string().contains("new orders/min and warehouse"), "{}", ten["verdict"]);
    let exceeded = |run: &Value| run["points"][0]["findings"].to_string().contains("pace-exceeded");
    assert!(!exceeded(&ten) && exceeded(&sixty), "{} {}", rate(&ten), rate(&sixty));
    assert_eq!(sixty["points"][0]["validity"], "invalid");
}

/// The database of a run, somewhere below `dir`.
fn database_below(dir: &Path) -> Option<PathBuf> {
    std::fs::read_dir(dir).ok()?.flatten().find_map(|entry| match entry.path() {
        path if path.is_dir() => database_below(&path),
        path => (entry.file_name() == "plimsoll.db").then_some(path),
    })
}

/// A run of so many seconds in which a row is damaged once clients work.
fn damaged_run(lab: &Lab, seconds: u32) -> Value {
    let time = format!("{seconds}s");
    let arguments =
        [&SMALL[..], &["--think", "5ms", "--time", &time, "--interval", "100ms", "--json", "--quiet", "--no-report"]]
            .concat();
    let mut child = lab.command(&arguments).spawn().unwrap();
    lab.wait_for_load(&mut child, 0);
    let database = Connection::open(database_below(lab.path()).expect("it is there while it runs")).unwrap();
    database.busy_timeout(Duration::from_secs(60)).unwrap();
    let damage = "UPDATE warehouse SET w_ytd = w_ytd + 1 WHERE w_id = 1";
    assert_eq!(database.execute(damage, []).unwrap(), 1);
    drop(database);
    Finished::from(child.wait_with_output().unwrap()).json()
}

#[test]
fn a_run_whose_rows_break_a_condition_is_invalid_and_names_the_first_row() {
    one_of(3, || {
        let lab = Lab::new();
        let run = damaged_run(&lab, 4);
        let point = &run["points"][0];
        let findings = point["findings"].as_array().unwrap();
        let broken = findings.iter().find(|finding| finding["code"] == "broken-conditions");
        is_so(broken.is_some(), || format!("the damage came too late: {point}"))?;
        let evidence = broken.unwrap()["evidence"].as_str().unwrap();
        assert!(
            evidence.contains("condition 1: w_ytd is the sum of d_ytd; not so for w_id = 1, w_ytd = "),
            "{evidence}"
        );
        assert!(evidence.contains("condition 8: "), "{evidence}");
        assert_eq!(point["validity"], "invalid", "{point}");
        Ok(())
    });
}

#[test]
fn what_order_entry_cannot_do_is_refused_in_one_line() {
    let lab = Lab::new();
    let refused = |arguments: &[&str]| {
        let finished = lab.run(arguments);
        assert_eq!(finished.exit, 2, "{arguments:?}: {}", finished.stderr);
        finished.stderr
    };
    let many = refused(&["orders", "--engine", "sqlite", "--warehouses", "1000001"]);
    assert!(many.contains("warehouses"), "{many}");
    let pauses = refused(&["orders", "--engine", "sqlite", "--pauses", "2"]);
    assert!(pauses.contains("pauses"), "{pauses}");
    let engine = refused(&["orders", "--engine", "fjall"]);
    assert!(engine.contains("orders") && engine.contains("fjall"), "{engine}");
    assert_eq!(lab.left_behind(), Vec::<String>::new());
}
