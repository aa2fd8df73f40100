//! The history of a plan: runs that are copies of two measured ones, with other names, times and conditions.

use crate::lab::Lab;
use rusqlite::Connection;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Eight runs of one plan, a day apart: from the fifth on operations take far longer, and a setting of the kernel is another.
fn slower_from_the_fifth() -> Lab {
    let lab = Lab::new();
    let measured = |service: &str| -> PathBuf {
        let null =
            ["file", "--engine", "null", "--interval", "50ms", "--time", "1s", "--no-report", "--runs", "measured"];
        let run = lab.json(&[&null[..], &["--service", service]].concat());
        lab.path().join(run["run"].as_str().unwrap())
    };
    let (fast, slow) = (measured("1ms"), measured("200ms"));
    let plan = meta(&fast, "plan");
    for nth in 0..8 {
        copy(&lab, if nth < 4 { &fast } else { &slow }, &plan, nth);
    }
    lab
}

fn meta(file: &Path, key: &str) -> Value {
    let text: String = Connection::open(file)
        .unwrap()
        .query_row("SELECT value FROM meta WHERE key = ?1", [key], |row| row.get(0))
        .unwrap();
    serde_json::from_str(&text).unwrap()
}

/// A copy of the run in `from` as if it had been the run number `nth` of `plan`.
fn copy(lab: &Lab, from: &Path, plan: &Value, nth: u64) {
    let runs = lab.path().join("runs");
    std::fs::create_dir_all(&runs).unwrap();
    let file = runs.join(format!("run-{nth}.plimsoll"));
    std::fs::copy(from, &file).unwrap();
    let ratio = if nth < 4 { "20" } else { "5" };
    let mut environment = meta(&file, "environment");
    let facts = environment.as_array_mut().unwrap();
    facts.retain(|fact| fact["name"] != "kernel.vm.dirty_ratio");
    facts.push(json!({"name": "kernel.vm.dirty_ratio", "value": ratio}));
    let db = Connection::open(&file).unwrap();
    let set = |key: &str, value: Value| {
        let changed = db.execute("UPDATE meta SET value = ?2 WHERE key = ?1", (key, value.to_string())).unwrap();
        assert_eq!(changed, 1, "{key}");
    };
    set("plan", plan.clone());
    set("environment", environment);
    set("run_id", json!(format!("run-{nth}")));
    set("started_unix_ms", json!(1_000_000_000_000u64 + nth * 86_400_000));
    let trial = plan["trials"][0].to_string();
    assert_eq!(db.execute("UPDATE point SET trial = ?1", [trial]).unwrap(), 1);
    // Without the account of the CPU no neighbour on the machine can spoil the copies.
    let cpu = "(point, source) IN (SELECT point, source FROM source WHERE name = 'cpu')";
    assert!(db.execute(&format!("DELETE FROM counter WHERE {cpu}"), []).unwrap() > 0);
}

#[test]
fn the_run_that_began_a_change_is_named_with_what_changed_in_all_forms() {
    let lab = slower_from_the_fifth();
    let history = lab.json(&["history", "runs"]);
    assert_eq!(
        (&history["schema"], &history["plans"][0]["runs"][4]["run"]),
        (&json!("plimsoll.history/1"), &json!("run-4"))
    );
    let series = history["plans"][0]["series"].as_array().unwrap();
    let rate = series.iter().find(|one| one["metric"] == "ops_per_s").unwrap();
    let [change] = &rate["changes"].as_array().unwrap()[..] else { panic!("{rate}") };
    assert_eq!((&change["run"], &change["run_before"], &change["direction"]), (&json!(5), &json!(4), &json!("worse")));
    assert!(change["ratio"].as_f64().unwrap() < 0.9, "{change}");
    let conditions = json!([{"role": "kernel-setting", "name": "kernel.vm.dirty_ratio", "before": "20", "after": "5"}]);
    assert_eq!(change["conditions"], conditions);
    let text = lab.run(&["history", "--runs", "runs"]).stdout;
    assert!(text.contains("Run 5 (2001-09-13 01:46:40 UTC, run-4)"), "{text}");
    assert!(text.contains("  Changed since run 4: kernel.vm.dirty_ratio from 20 to 5.\n"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let html = lab.path().join(history["report"].as_str().unwrap());
    let report = ["report.html", "report.md", "history.csv"].map(|name| html.with_file_name(name));
    assert!(report.iter().all(|file| file.exists()) && html.with_file_name("charts").is_dir());
    let csv = std::fs::read_to_string(&report[2]).unwrap();
    assert_eq!(csv.lines().filter(|line| line.contains(",ops_per_s,")).count(), 8, "{csv}");
}

#[test]
fn files_that_are_no_runs_are_noted_and_too_few_runs_say_how_many_are_needed() {
    let lab = slower_from_the_fifth();
    let runs = lab.path().join("runs");
    std::fs::write(runs.join("foreign.plimsoll"), "no run").unwrap();
    (2..8).for_each(|nth| std::fs::remove_file(runs.join(format!("run-{nth}.plimsoll"))).unwrap());
    let finished = lab.run(&["history", "runs", "--no-report"]);
    assert_eq!(finished.exit, 0, "{}", finished.stderr);
    assert_eq!(finished.stderr.matches("foreign.plimsoll").count(), 1, "{}", finished.stderr);
    assert!(finished.stdout.contains("a change needs 6 usable runs"), "{}", finished.stdout);
    assert!(!runs.join("history-report").exists());
    let nowhere = lab.run(&["history", "nowhere"]);
    assert!(nowhere.exit == 2 && nowhere.stderr.contains("`nowhere`"), "{}", nowhere.stderr);
}
