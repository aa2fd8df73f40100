//! Interruption: Ctrl-C keeps what was measured, kill -9 loses one interval at most, nothing is left unaccounted.

use crate::lab::{CALM, Finished, Lab, NULL, assert_runs, wait_until};
use std::process::{Child, Command};
use std::time::Duration;

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args(["-s", name, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

/// Intervals that `plimsoll export` finds in a run file that must be readable.
fn intervals(lab: &Lab, file: &std::path::Path) -> usize {
    let exported = lab.run(&["export", file.to_str().unwrap(), "--what", "intervals", "--format", "jsonl"]);
    assert_eq!(exported.exit, 0, "{}", exported.stderr);
    exported.stdout.lines().count()
}

fn insert(lab: &Lab) -> Child {
    let load = ["insert", "--step", "l.i1", "--rows", "0", "--engine", "fjall", "--durability", "os"];
    // What it can write in its time must find room.
    let lasting = ["--rows-per-commit", "1", "--think", "1ms", "--time", "600s", "--interval", "50ms", "--json"];
    lab.command(&[&load[..], &lasting].concat()).spawn().unwrap()
}

#[test]
fn ctrl_c_ends_with_the_report_of_what_was_measured() {
    let lab = Lab::new();
    let mut child = insert(&lab);
    lab.wait_for_load(&mut child, 3);
    signal(&child, "INT");
    let finished: Finished = child.wait_with_output().unwrap().into();
    assert_eq!(finished.exit, 130, "{}", finished.stderr);
    let run = finished.json();
    assert_eq!((&run["state"], &run["points"][0]["state"]), (&"partial".into(), &"partial".into()));
    assert!(run["points"][0]["ops"].as_u64().unwrap() > 0);
    assert!(lab.path().join(run["report"].as_str().unwrap()).exists());
    assert_eq!(lab.left_behind(), Vec::<String>::new());
}

#[test]
fn a_plimsoll_that_was_stopped_says_so_and_blames_no_stall_on_the_engine() {
    let lab = Lab::new();
    let mut child = lab.command(&[NULL, &["--time", "600s", "--json"]].concat()).spawn().unwrap();
    lab.wait_for_load(&mut child, 3);
    signal(&child, "STOP");
    std::thread::sleep(Duration::from_secs(2)); // the time of a stopped process is what is tested
    let before = lab.intervals(1, "run");
    signal(&child, "CONT");
    lab.wait_for_load(&mut child, before + 3);
    signal(&child, "INT");
    let finished: Finished = child.wait_with_output().unwrap().into();
    assert_eq!(finished.exit, 130, "{}", finished.stderr);
    let run = finished.json();
    let point = &run["points"][0];
    assert_ne!(point["validity"], "valid");
    let found = |code: &str| point["findings"].as_array().unwrap().iter().find(|finding| finding["code"] == code);
    let gap = found("own-gap").unwrap_or_else(|| panic!("{point}"));
    assert_ne!(gap["severity"], "note", "{gap}");
    assert!(gap["title"].as_str().unwrap().starts_with("plimsoll itself was stopped"), "{gap}");
    assert!(gap["detail"]["longest_ns"].as_u64().unwrap() >= 1_900_000_000, "{gap}");
    // Others on the machine may hold up the engine for a moment, but not for half of that time.
    let blamed = |code| found(code).and_then(|finding| finding["detail"]["longest_ns"].as_u64()).unwrap_or(0);
    assert!(blamed("stall").max(blamed("starvation")) < 1_000_000_000, "{point}");
}

#[test]
fn ctrl_c_in_a_warmup_keeps_the_points_before_it() {
    let lab = Lab::new();
    let two = ["--clients", "1,2", "--warmup", "5s", "--time", "300ms", "--json"];
    let mut child = lab.command(&[CALM, &two[..]].concat()).spawn().unwrap();
    wait_until("the warmup of the second point", || {
        assert_runs(&mut child);
        lab.intervals(2, "warmup") > 0
    });
    signal(&child, "INT");
    let finished: Finished = child.wait_with_output().unwrap().into();
    assert_eq!(finished.exit, 130, "{}", finished.stderr);
    assert!(finished.stderr.contains("; resume with `plimsoll run --resume last`"), "{}", finished.stderr);
    let run = finished.json();
    assert_eq!((&run["points"][0]["state"], &run["points"][1]["state"]), (&"complete".into(), &"partial".into()));
    assert!(run["points"][0]["ops"].as_u64().unwrap() > 0);
}

#[test]
fn a_second_plimsoll_in_the_same_directory_is_refused() {
    let lab = Lab::new();
    let mut child = insert(&lab);
    lab.wait_for_load(&mut child, 3);
    let second = lab.run(&[NULL, &["--time", "100ms"]].concat());
    assert_eq!(second.exit, 3);
    assert!(second.stderr.contains("another plimsoll run is using this directory"), "{}", second.stderr);
    signal(&child, "INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[test]
fn a_reader_of_the_progress_that_goes_away_does_not_end_the_run() {
    let lab = Lab::new();
    let mut child = lab.command(&[CALM, &["--time", "3s"]].concat()).spawn().unwrap();
    drop(child.stderr.take());
    let finished: Finished = child.wait_with_output().unwrap().into();
    assert_eq!(finished.exit, 0);
    assert!(finished.stdout.contains("The result is "), "the verdict is there: {}", finished.stdout);
}

#[test]
fn sigterm_does_the_same_with_its_own_exit_code() {
    let lab = Lab::new();
    let mut child = lab.command(&[NULL, &["--time", "600s", "--json"]].concat()).spawn().unwrap();
    lab.wait_for_load(&mut child, 3);
    signal(&child, "TERM");
    let finished: Finished = child.wait_with_output().unwrap().into();
    assert_eq!(finished.exit, 143);
    assert_eq!(finished.json()["state"], "partial");
}

#[test]
fn a_second_ctrl_c_ends_at_once_and_the_run_file_is_readable() {
    let lab = Lab::new();
    // After 50 operations, when intervals are recorded, its client is blocked, for longer than a load that is told to stop waits.
    let load = ["file", "--engine", "null", "--service", "1ms", "--stall-every", "50", "--stall", "20s"];
    let short = ["--time", "60s", "--interval", "20ms", "--no-report"];
    let mut child = lab.command(&[&load[..], &short[..]].concat()).spawn().unwrap();
    lab.wait_for_load(&mut child, 0);
    std::thread::sleep(Duration::from_secs(1)); // until it is blocked
    signal(&child, "INT");
    std::thread::sleep(Duration::from_millis(500)); // what comes sooner is the first one again
    signal(&child, "INT");
    let ended = child.wait_with_output().unwrap();
    assert_eq!((ended.status.code(), ended.stdout.as_slice()), (Some(130), &b""[..]), "it ended with a report");
    assert!(intervals(&lab, &lab.run_files()[0]) > 0);
}

#[test]
fn a_ctrl_c_that_is_told_twice_is_one() {
    let lab = Lab::new();
    let mut child = insert(&lab);
    lab.wait_for_load(&mut child, 3);
    // `timeout` signals its child and the group of the child, one call after the other.
    let pid = rustix::process::Pid::from_child(&child);
    for _ in 0..2 {
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    }
    let finished: Finished = child.wait_with_output().unwrap().into();
    assert_eq!((finished.exit, &finished.json()["state"]), (130, &"partial".into()), "{}", finished.stderr);
}

#[test]
fn kill_nine_loses_one_interval_at_most_and_the_next_start_cleans_up() {
    for _ in 0..3 {
        let lab = Lab::new();
        let mut child = insert(&lab);
        lab.wait_for_load(&mut child, 3);
        let before = intervals(&lab, &lab.run_files()[0]);
        child.kill().unwrap();
        child.wait().unwrap();
        let file = lab.run_files()[0].clone();
        assert!(intervals(&lab, &file) >= before);
        let shown = lab.run(&["show", file.to_str().unwrap(), "--json"]).json();
        assert_eq!(shown["points"][0]["state"], "partial");
        assert_eq!(lab.left_behind().len(), 1, "its data is still there");
        let next = lab.run(&[NULL, &["--time", "100ms"]].concat());
        assert_eq!(next.exit, 0);
        assert!(next.stderr.contains("left by a run that was killed"), "{}", next.stderr);
        assert_eq!(lab.left_behind(), Vec::<String>::new());
    }
}
