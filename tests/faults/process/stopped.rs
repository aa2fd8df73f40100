//! plimsoll is interrupted, killed or stopped.

use crate::disk::failing::{assert_nothing_left, on_volume};
use crate::disk::places::is_root;
use crate::disks::{done, mounts_in, with_own_mounts};
use crate::fault::signal;
use crate::lab::{CALM, Finished, Lab, NULL, assert_runs, wait_until};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

/// Intervals that `plimsoll export` finds in a run file that must be readable.
fn intervals(lab: &Lab, file: &Path) -> usize {
    let exported = lab.run(&["export", file.to_str().unwrap(), "--what", "intervals", "--format", "jsonl"]);
    assert_eq!(exported.exit, 0, "{}", exported.stderr);
    exported.stdout.lines().count()
}

/// Inserts that go on, with three intervals recorded.
fn inserting(lab: &Lab) -> Child {
    let load = ["insert", "--step", "l.i1", "--rows", "0", "--engine", "fjall", "--durability", "os"];
    // What it can write in its time must find room.
    let lasting = ["--rows-per-commit", "1", "--think", "1ms", "--time", "600s", "--interval", "50ms", "--json"];
    let mut child = lab.command(&[&load[..], &lasting].concat()).spawn().unwrap();
    lab.wait_for_load(&mut child, 3);
    child
}

fn ended(child: Child) -> Option<Finished> {
    Some(child.wait_with_output().unwrap().into())
}

pub fn by_ctrl_c(lab: &Lab) -> Option<Finished> {
    let child = inserting(lab);
    signal(&child, "INT");
    let finished = ended(child)?;
    let run = finished.json();
    assert_eq!((&run["state"], &run["points"][0]["state"]), (&"partial".into(), &"partial".into()));
    assert!(run["points"][0]["ops"].as_u64().unwrap() > 0);
    assert!(lab.path().join(run["report"].as_str().unwrap()).exists());
    assert_eq!(lab.left_behind(), Vec::<String>::new());
    Some(finished)
}

pub fn in_a_warmup(lab: &Lab) -> Option<Finished> {
    let two = ["--clients", "1,2", "--warmup", "5s", "--time", "300ms", "--json"];
    let mut child = lab.command(&[CALM, &two[..]].concat()).spawn().unwrap();
    wait_until("the warmup of the second point", || {
        assert_runs(&mut child);
        lab.intervals(2, "warmup") > 0
    });
    signal(&child, "INT");
    let finished = ended(child)?;
    let run = finished.json();
    assert_eq!((&run["points"][0]["state"], &run["points"][1]["state"]), (&"complete".into(), &"partial".into()));
    assert!(run["points"][0]["ops"].as_u64().unwrap() > 0);
    Some(finished)
}

/// `timeout` signals its child and the group of the child, one call after the other.
pub fn by_a_signal_that_comes_twice(lab: &Lab) -> Option<Finished> {
    let child = inserting(lab);
    let pid = rustix::process::Pid::from_child(&child);
    for _ in 0..2 {
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    }
    let finished = ended(child)?;
    assert_eq!(finished.json()["state"], "partial", "it was no second request");
    Some(finished)
}

/// After 50 operations, when intervals are recorded, its client is blocked, for longer than a load that is told to stop waits.
pub fn by_a_second_ctrl_c(lab: &Lab) -> Option<Finished> {
    let load = ["file", "--engine", "null", "--service", "1ms", "--stall-every", "50", "--stall", "20s"];
    let short = ["--time", "60s", "--interval", "20ms", "--no-report"];
    let mut child = lab.command(&[&load[..], &short[..]].concat()).spawn().unwrap();
    lab.wait_for_load(&mut child, 0);
    std::thread::sleep(Duration::from_secs(1)); // until it is blocked
    signal(&child, "INT");
    std::thread::sleep(Duration::from_millis(500)); // what comes sooner is the first one again
    signal(&child, "INT");
    let finished = ended(child)?;
    assert_eq!(finished.stdout, "", "it ended with a report");
    assert!(intervals(lab, &lab.run_files()[0]) > 0);
    Some(finished)
}

pub fn by_sigterm(lab: &Lab) -> Option<Finished> {
    let mut child = lab.command(&[NULL, &["--time", "600s", "--json"]].concat()).spawn().unwrap();
    lab.wait_for_load(&mut child, 3);
    signal(&child, "TERM");
    let finished = ended(child)?;
    assert_eq!(finished.json()["state"], "partial");
    Some(finished)
}

/// `nohup` and `trap '' HUP` do the same: the signal is ignored from the start.
pub fn by_no_hangup(lab: &Lab) -> Option<Finished> {
    let mut command = std::process::Command::new("sh");
    command.args(["-c", "trap '' HUP; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_plimsoll")]);
    command.args(CALM).args(["--time", "1500ms"]).current_dir(lab.path());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    lab.wait_for_load(&mut child, 3);
    signal(&child, "HUP");
    ended(child)
}

pub fn with_a_volume(lab: &Lab) -> Option<Finished> {
    is_root()?;
    let mut child = on_volume(lab, "ext4", &[]);
    lab.wait_for_load(&mut child, 3);
    assert_eq!(mounts_in(lab.path()).len(), 1, "it is mounted now");
    signal(&child, "INT");
    let finished = ended(child)?;
    assert_eq!(finished.json()["points"][0]["state"], "partial");
    assert_nothing_left(lab);
    Some(finished)
}

/// The next start records elsewhere.
fn next_start(lab: &Lab) -> Finished {
    let elsewhere = tempfile::tempdir().unwrap();
    let runs = elsewhere.path().join("runs");
    lab.run(&[NULL, &["--time", "100ms", "--runs", runs.to_str().unwrap()]].concat())
}

fn kill(child: &mut Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Three times: the moments differ.
pub fn by_kill_9(lab: &Lab) -> Option<Finished> {
    (0..2).map(|_| Lab::new()).for_each(|other| drop(killed_and_cleaned(&other)));
    Some(killed_and_cleaned(lab))
}

fn killed_and_cleaned(lab: &Lab) -> Finished {
    let mut child = inserting(lab);
    let before = intervals(lab, &lab.run_files()[0]);
    kill(&mut child);
    let file = lab.run_files()[0].clone();
    assert!(intervals(lab, &file) >= before);
    let shown = lab.run(&["show", file.to_str().unwrap(), "--json"]).json();
    assert_eq!(shown["points"][0]["state"], "partial");
    assert_eq!(lab.left_behind().len(), 1, "its data is still there");
    let next = lab.run(&[NULL, &["--time", "100ms"]].concat());
    assert!(next.stderr.contains("left by a run that was killed"), "{}", next.stderr);
    assert_eq!(lab.left_behind(), Vec::<String>::new());
    // What is kept is looked for in the newest file. Within a second the order of their names is that of the plans.
    lab.run_files().iter().filter(|other| **other != file).for_each(|other| std::fs::remove_file(other).unwrap());
    next
}

pub fn by_kill_9_with_a_volume(lab: &Lab) -> Option<Finished> {
    is_root()?;
    Some(with_own_mounts(|| {
        let mut child = on_volume(lab, "btrfs", &[]);
        lab.wait_for_load(&mut child, 3);
        kill(&mut child);
        assert_eq!((mounts_in(lab.path()).len(), lab.left_behind().len()), (1, 1), "both are still there");
        let next = next_start(lab);
        assert_nothing_left(lab);
        next
    }))
}

/// 30,000 rows, of which some are made. All of them are there when the run goes on.
pub fn while_data_is_made(lab: &Lab) -> Option<Finished> {
    let load = ["oltp", "--engine", "sqlite", "--mix", "point_select", "--table-rows", "30000", "--time", "200ms"];
    let more = ["--durability", "none", "--interval", "20ms", "--no-report"];
    let mut child = lab.command(&[&load[..], &more].concat()).spawn().unwrap();
    wait_until("the making of data", || {
        assert_runs(&mut child);
        lab.intervals(1, "prepare") > 0
    });
    kill(&mut child);
    assert_eq!((lab.intervals(1, "run"), lab.left_behind().len()), (0, 1), "it was killed too late");
    let next = lab.run(&["run", "--resume", "last", "--no-report"]);
    let facts = lab.facts();
    assert!(facts.contains(r#"{"name":"load.rows","value":"30000"}"#), "{facts}");
    assert_eq!(lab.left_behind(), Vec::<String>::new());
    Some(next)
}

/// A file system whose writers wait until this goes.
struct Frozen(String);

impl Frozen {
    fn new(at: String) -> Frozen {
        done("fsfreeze", &["--freeze", &at]);
        Frozen(at)
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        done("fsfreeze", &["--unfreeze", &self.0]);
    }
}

/// The file system is frozen: its writers wait in the kernel, and no signal ends them.
pub fn by_a_second_ctrl_c_with_a_volume(lab: &Lab) -> Option<Finished> {
    is_root()?;
    with_own_mounts(|| ended_twice_with_a_volume(lab))
}

fn ended_twice_with_a_volume(lab: &Lab) -> Option<Finished> {
    let mut child = on_volume(lab, "ext4", &["--grace", "60s"]);
    lab.wait_for_load(&mut child, 3);
    let frozen = Frozen::new(mounts_in(lab.path()).remove(0));
    signal(&child, "INT");
    std::thread::sleep(Duration::from_millis(500)); // what comes sooner is the first one again
    signal(&child, "INT");
    std::thread::sleep(Duration::from_millis(500)); // until it has begun to end
    drop(frozen);
    let finished = ended(child)?;
    assert_eq!((finished.exit, finished.stdout.as_str()), (130, ""), "it ended with a report: {}", finished.stderr);
    assert_eq!((mounts_in(lab.path()).len(), lab.left_behind().len()), (1, 1), "both are still there");
    let next = next_start(lab);
    assert_nothing_left(lab);
    Some(next)
}

pub fn while_a_disk_is_timed(lab: &Lab) -> Option<Finished> {
    let mut child = lab.command(&["disk", "--time", "5s"]).spawn().unwrap();
    wait_until("its file", || {
        assert_runs(&mut child);
        !lab.left_behind().is_empty()
    });
    kill(&mut child);
    let next = next_start(lab);
    assert_eq!(lab.left_behind(), Vec::<String>::new());
    Some(next)
}

pub fn for_a_while(lab: &Lab) -> Option<Finished> {
    let mut child = lab.command(&[NULL, &["--time", "600s", "--json"]].concat()).spawn().unwrap();
    lab.wait_for_load(&mut child, 3);
    signal(&child, "STOP");
    std::thread::sleep(Duration::from_secs(2)); // the time of a stopped process is what is tested
    let before = lab.intervals(1, "run");
    signal(&child, "CONT");
    lab.wait_for_load(&mut child, before + 3);
    signal(&child, "INT");
    let finished = ended(child)?;
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
    Some(finished)
}

pub fn by_a_second_plimsoll(lab: &Lab) -> Option<Finished> {
    let child = inserting(lab);
    let second = lab.run(&[NULL, &["--time", "100ms"]].concat());
    signal(&child, "INT");
    assert_eq!(ended(child)?.exit, 130, "the first was not disturbed");
    Some(second)
}

pub fn without_a_reader(lab: &Lab) -> Option<Finished> {
    let mut child = lab.command(&[CALM, &["--time", "3s"]].concat()).spawn().unwrap();
    drop(child.stderr.take());
    ended(child)
}
