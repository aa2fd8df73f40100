//! `plimsoll import`: results of fio, sysbench and pgbench, shown, reported and compared like recorded runs.

use crate::lab::Lab;
use serde_json::Value;
use std::path::Path;

/// A file that another program has written.
fn fixture(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../import/tests/fixtures").join(name);
    path.to_str().expect("the path is UTF-8").to_owned()
}

fn codes(point: &Value) -> Vec<&str> {
    let findings = point["findings"].as_array().expect("a point has findings");
    findings.iter().filter_map(|finding| finding["code"].as_str()).collect()
}

#[test]
fn results_of_sysbench_are_shown_and_reported_as_imported() {
    let lab = Lab::new();
    let run = lab.json(&["import", &fixture("sysbench.txt"), "--name", "old"]);
    let point = &run["points"][0];
    assert_eq!((point["ops"].as_u64(), point["validity"].as_str()), (Some(4_025), Some("indicative")));
    assert!(codes(point).contains(&"imported") && !codes(point).contains(&"bottleneck"), "{point}");
    let rate = point["ops_per_s"].as_f64().expect("it has a rate");
    assert!((rate - 446.77).abs() < 0.05, "{rate}");
    let shown = lab.run(&["show", "old", "--details"]);
    assert!(
        shown.exit == 0 && shown.stdout.contains("imported from sysbench 1.0.20, conditions unknown"),
        "{}",
        shown.stdout
    );
    assert!(shown.stdout.lines().all(|line| line.chars().count() <= 80), "{}", shown.stdout);
    assert_eq!(lab.run(&["report", "old"]).exit, 0);
    let html =
        std::fs::read_to_string(lab.path().join("plimsoll-runs/old-report/report.html")).expect("it was written");
    assert!(html.contains("imported from sysbench 1.0.20"));
    assert!(lab.run(&["list"]).stdout.contains("1 point: oltp on unknown"));
}

#[test]
fn what_sysbench_does_not_print_is_a_dash_or_stated_by_the_user() {
    let lab = Lab::new();
    let arguments = [
        "import",
        &fixture("sysbench-checkpoints.txt"),
        "--engine",
        "sqlite",
        "--set",
        "mix=point_select",
        "--name",
        "old",
    ];
    let point = &lab.json(&arguments)["points"][0];
    assert!(point["response_ns"].is_null(), "{point}");
    let row = lab.run(&["show", "old", "--details"]).stdout;
    let row = row.lines().find(|line| line.contains("sqlite oltp")).expect("the table has the point").to_owned();
    assert_eq!(
        row.split_whitespace().filter(|cell| *cell == "-").count(),
        4,
        "p50, p99, max, and no interval of the rate: {row}"
    );
    let refused = lab.run(&["import", &fixture("sysbench.txt"), "--set", "mix=nothing"]);
    assert!(refused.exit == 2 && refused.stderr.contains("nothing"), "{}", refused.stderr);
    let refused = lab.run(&["import", &fixture("sysbench.txt"), "--engine", "oracle"]);
    assert!(refused.exit == 2 && refused.stderr.contains("no engine `oracle`"), "{}", refused.stderr);
}

#[test]
fn a_job_of_fio_is_compared_with_the_same_point_of_plimsoll() {
    let lab = Lab::new();
    let fio = lab.json(&["import", &fixture("fio-perio.json"), &fixture("single_clat.1.log"), "--name", "by-fio"]);
    assert_eq!(fio["points"][0]["workload"], "file");
    let own = [
        "file",
        "--mode",
        "rndwr",
        "--block",
        "4KiB",
        "--file-size",
        "4MiB",
        "--direct",
        "false",
        "--io",
        "sync",
        "--time",
        "1s",
        "--no-report",
    ];
    let own = lab.json(&own)["run"].as_str().expect("a run has its file").to_owned();
    let compared = lab.json(&["compare", &own, "by-fio"]);
    let generator = compared["unlike"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["what"] == "load_generator")
        .expect("it is listed");
    assert_eq!((&generator["base"][0], &generator["new"][0]), (&"plimsoll".into(), &"fio 3.33".into()));
    let metrics: Vec<&str> =
        compared["pairs"].as_array().unwrap().iter().filter_map(|pair| pair["metric"].as_str()).collect();
    assert!(metrics.contains(&"ops_per_s"), "the points correspond: {compared}");
    let text = lab.run(&["compare", &own, "by-fio"]).stdout;
    assert!(text.contains("fio 3.33 were imported") || text.contains("imported:"), "{text}");
}

#[test]
fn imports_of_one_job_have_a_history() {
    let lab = Lab::new();
    for name in ["first", "second", "third"] {
        lab.json(&[
            "import",
            &fixture("pgbench.txt"),
            &fixture("pgbench_log.1"),
            &fixture("pgbench_log.1.1"),
            "--name",
            name,
        ]);
    }
    let history = lab.json(&["history", "--no-report"]);
    let plans = history["plans"].as_array().expect("a history has plans");
    assert_eq!((plans.len(), plans[0]["runs"].as_array().map(Vec::len)), (1, Some(3)), "{history}");
}

#[test]
fn a_file_that_cannot_be_imported_leaves_nothing() {
    let lab = Lab::new();
    let cut = std::fs::read_to_string(fixture("sysbench.txt")).unwrap();
    std::fs::write(lab.path().join("cut.txt"), &cut[..900]).unwrap();
    let refused = lab.run(&["import", "cut.txt"]);
    assert!(
        refused.exit == 2 && refused.stderr.contains("cut.txt") && refused.stderr.lines().count() == 1,
        "{}",
        refused.stderr
    );
    assert!(!lab.path().join("plimsoll-runs").exists());
    lab.json(&["import", &fixture("sysbench.txt"), "--name", "old"]);
    let again = lab.run(&["import", &fixture("sysbench.txt"), "--name", "old"]);
    assert!(again.exit == 3 && again.stderr.contains("never overwritten"), "{}", again.stderr);
    let files: Vec<String> = std::fs::read_dir(lab.path().join("plimsoll-runs"))
        .unwrap()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    assert_eq!(files, ["old.plimsoll"]);
}
