//! Faults of the target: what was measured is kept and marked, the exit code is 4, the message names the cause.

use crate::lab::{Finished, Lab};
use std::process::Command;

/// plimsoll under a limit on the size of files: a disk that is full, without filling one.
fn with_file_limit(lab: &Lab, kib: u32, arguments: &[&str]) -> Finished {
    let script = format!("ulimit -f {kib} && exec \"$0\" \"$@\"");
    let mut command = Command::new("bash");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_plimsoll")]).args(arguments).current_dir(lab.path());
    command.output().unwrap().into()
}

#[test]
fn a_file_that_cannot_be_made_fails_the_point_and_leaves_nothing() {
    let lab = Lab::new();
    let finished =
        with_file_limit(&lab, 16 << 10, &["file", "--file-size", "64MiB", "--time", "1s", "--json", "--no-report"]);
    assert_eq!(finished.exit, 4, "{}", finished.stderr);
    assert!(finished.stderr.contains("File too large"), "{}", finished.stderr);
    let run = finished.json();
    assert_eq!((&run["state"], &run["points"][0]["state"]), (&"failed".into(), &"failed".into()));
    assert_eq!(lab.left_behind(), Vec::<String>::new());
}

#[test]
fn points_before_a_failure_stay_complete() {
    let lab = Lab::new();
    let sqlite = [
        "insert",
        "--step",
        "l.i1",
        "--schema",
        "iibench-2012",
        "--rows",
        "0",
        "--engine",
        "sqlite",
        "--indexes",
        "0,3",
        "--durability",
        "none",
        "--ops-max",
        "10000",
        "--time",
        "300s",
    ];
    let finished =
        with_file_limit(&lab, 6 << 10, &[&sqlite[..], &["--rows-per-commit", "10", "--json", "--no-report"]].concat());
    assert_eq!(finished.exit, 4, "{}", finished.stderr);
    let run = finished.json();
    let points = run["points"].as_array().unwrap();
    assert_eq!(points[0]["state"], "complete", "100,000 rows without indexes take 4 MiB");
    assert_eq!(points[1]["state"], "failed", "with three they do not");
    assert!(points[1]["ops"].as_u64().unwrap() > 0, "what was measured is kept");
    assert_eq!(points[1]["validity"], "invalid");
    assert_eq!(lab.left_behind(), Vec::<String>::new());
}
