//! Private servers under the real binary: measured, missing, killed with it and without it.

use crate::lab::{Finished, Lab};
use std::process::{Child, Command};
use std::time::Duration;

/// Whether the server is installed; where it is not, the test says so and ends.
fn is_here(lab: &Lab, engine: &str) -> bool {
    let engines = lab.json(&["engines"]);
    let missing = |entry: &serde_json::Value| entry["engine"] == engine && entry["version"].is_null();
    let is_missing = engines["engines"].as_array().unwrap().iter().any(missing);
    if is_missing {
        eprintln!("skipped: {engine} is not installed");
    }
    !is_missing
}

/// Processes whose command line names a place in the lab.
fn servers_in(lab: &Lab) -> Vec<String> {
    let path = lab.path().canonicalize().unwrap();
    let found = Command::new("pgrep").args(["-f", "--", path.to_str().unwrap()]).output().unwrap();
    String::from_utf8(found.stdout).unwrap().split_whitespace().map(str::to_owned).collect()
}

fn intervals(lab: &Lab) -> usize {
    let Some(file) = lab.run_files().pop() else { return 0 };
    let exported = lab.run(&["export", file.to_str().unwrap(), "--what", "intervals", "--format", "jsonl"]);
    if exported.exit == 0 { exported.stdout.lines().count() } else { 0 }
}

/// A run of a minute, when its run file holds some intervals.
fn measuring(lab: &Lab, more: &[&str]) -> Child {
    let load = ["insert", "--engine", "mariadb", "--durability", "none", "--time", "60s", "--interval", "50ms"];
    let mut child = lab.command(&[&load[..], &["--no-report", "--json"], more].concat()).spawn().unwrap();
    for _ in 0..600 {
        std::thread::sleep(Duration::from_millis(50)); // the real time of another process: there is nothing to fake
        assert!(child.try_wait().unwrap().is_none(), "it ended too early");
        if intervals(lab) > 3 {
            return child;
        }
    }
    panic!("the load did not begin in 30 s");
}

#[test]
fn a_server_is_measured_apart_from_the_client_and_is_gone_afterwards() {
    let lab = Lab::new();
    for engine in ["mariadb", "mariadb:rocksdb", "postgres"] {
        if !is_here(&lab, engine.replace("mariadb", "mariadb:innodb").trim_end_matches(":rocksdb")) {
            continue;
        }
        let load = ["oltp", "--engine", engine, "--mix", "read_write", "--table-rows", "500", "--clients", "1,2"];
        let run = lab.json(&[&load[..], &["--time", "500ms", "--interval", "100ms", "--durability", "none"]].concat());
        assert_eq!(run["state"], "complete");
        for point in run["points"].as_array().unwrap() {
            assert!(point["ops"].as_u64().unwrap() > 0 && point["failed"] == 0, "{point}");
            assert!(point["cost"]["engine_cpu_ns_per_op"].as_f64().unwrap() > 0.0, "{point}");
            assert_ne!(point["validity"], "invalid", "{point}");
        }
        assert_eq!((servers_in(&lab), lab.left_behind()), (vec![], vec![]));
    }
}

#[test]
fn a_server_that_is_not_installed_is_a_usage_error_that_says_what_to_install() {
    if !rustix::process::geteuid().is_root() {
        return eprintln!("skipped: needs root: programs cannot be hidden");
    }
    let lab = Lab::new();
    // Empty file systems in the places of the programs, which nobody else sees.
    let hidden = "for place in /usr/sbin /usr/lib/postgresql; do [ ! -d $place ] || mount -t tmpfs none $place; done; \
                  PATH=/nonexistent exec \"$0\" \"$@\"";
    for (engine, package) in [("mariadb", "mariadb-server"), ("postgres", "postgresql")] {
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", hidden, env!("CARGO_BIN_EXE_plimsoll"), "insert", "--engine", engine]);
        let finished: Finished = command.current_dir(lab.path()).output().unwrap().into();
        assert_eq!(finished.exit, 2, "{}", finished.stderr);
        assert!(finished.stderr.contains(&format!("apt-get install {package}")), "{}", finished.stderr);
        assert_eq!(lab.run_files().len(), 0);
    }
}

#[test]
fn a_server_that_is_killed_fails_the_point_and_what_was_measured_is_kept() {
    let lab = Lab::new();
    if !is_here(&lab, "mariadb:innodb") {
        return;
    }
    let child = measuring(&lab, &[]);
    for server in servers_in(&lab) {
        assert!(Command::new("kill").args(["-9", &server]).status().unwrap().success());
    }
    let finished: Finished = child.wait_with_output().unwrap().into();
    assert_eq!(finished.exit, 4, "{}", finished.stderr);
    assert!(finished.stderr.contains("what was measured is kept"), "{}", finished.stderr);
    let point = &finished.json()["points"][0];
    assert_eq!((&point["state"], &point["validity"]), (&"failed".into(), &"invalid".into()));
    assert!(point["ops"].as_u64().unwrap() > 0);
    assert_eq!((servers_in(&lab), lab.left_behind()), (vec![], vec![]));
}

#[test]
fn a_plimsoll_that_is_killed_takes_its_server_with_it_and_the_next_one_removes_the_data() {
    let lab = Lab::new();
    if !is_here(&lab, "mariadb:innodb") {
        return;
    }
    let mut child = measuring(&lab, &[]);
    let refused = lab.run(&["insert", "--engine", "mariadb", "--time", "100ms"]);
    assert_eq!(refused.exit, 3, "two at once: {}", refused.stderr);
    child.kill().unwrap();
    child.wait().unwrap();
    for _ in 0..200 {
        if servers_in(&lab).is_empty() {
            break;
        }
        std::thread::sleep(Duration::from_millis(50)); // the kernel takes it down in its own time
    }
    assert_eq!((servers_in(&lab), lab.left_behind().len()), (vec![], 1), "its data is still there");
    let next = lab.run(&["insert", "--engine", "sqlite", "--durability", "none", "--time", "100ms", "--no-report"]);
    assert_eq!(next.exit, 0, "{}", next.stderr);
    assert!(next.stderr.contains("left by a run that was killed"), "{}", next.stderr);
    assert_eq!(lab.left_behind(), Vec::<String>::new());
}
