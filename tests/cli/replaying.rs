//! `plimsoll replay` and `plimsoll record-io`: a recorded InnoDB again, and what cannot be replayed.

use crate::disks::Disk;
use crate::lab::{Lab, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::path::Path;

/// A tenth of a second of an InnoDB that inserts rows, on ext4: 220 requests.
fn recording() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../workload/tests/fixtures/innodb-insert.trace");
    path.to_str().expect("the path is UTF-8").to_owned()
}

/// What the fixture holds: counted by `grep block_rq_issue` and `awk`.
const REQUESTS: u64 = 220;
/// So many of them are writes, and the others are flushes.
const WRITES: u64 = 132;

fn moved(point: &Value) -> u64 {
    (point["bytes_per_s"].as_f64().unwrap() * point["seconds"].as_f64().unwrap()).round() as u64
}

#[test]
fn a_recorded_database_is_replayed_in_full_at_each_speed_and_by_each_interface() {
    let lab = Lab::new();
    let trace = recording();
    let run = lab.json(&["replay", &trace, "--speed", "1,2,max", "--no-report"]);
    let threads = ["--io", "sync", "--clients", "16", "--no-report"];
    let sync = lab
        .json(&[&["replay", "--trace", &trace, "--places", "wrapped", "--file-size", "1MiB"], &threads[..]].concat());
    let points = [run["points"].as_array().unwrap().clone(), sync["points"].as_array().unwrap().clone()].concat();
    assert_eq!(points.len(), 4);
    for point in &points {
        let counts = (point["ops"].as_u64(), point["failed"].as_u64(), point["unserved"].as_u64());
        assert_eq!(
            (point["state"].as_str(), counts),
            (Some("complete"), (Some(REQUESTS), Some(0), Some(0))),
            "{point}"
        );
        assert_eq!(moved(point), moved(&points[0]), "{point}");
    }
    // No shorter than the recording, however fast the disk is: its last request falls due then.
    let lengths: Vec<f64> = points.iter().map(|point| point["seconds"].as_f64().unwrap()).collect();
    let recorded = REQUESTS as f64 / points[0]["params"]["rate"].as_f64().unwrap();
    assert!((0.138..0.139).contains(&recorded), "{recorded}");
    assert!(lengths[0] >= recorded && lengths[1] >= recorded / 2.0, "{lengths:?}");
    assert_eq!(lab.left_behind(), Vec::<String>::new());
}

#[test]
fn what_cannot_be_replayed_is_refused_in_one_line_before_anything_is_made() {
    let lab = Lab::new();
    let trace = recording();
    let write = |name: &str, text: &[u8]| std::fs::write(lab.path().join(name), text).unwrap();
    let whole = std::fs::read(&trace).unwrap();
    let line = whole.split_inclusive(|byte| *byte == b'\n').nth(20).unwrap();
    write("cut", &[&line[..70], b"\n", line].concat());
    write("nothing", b"# tracer: nop\n#\n");
    write("unknown", b"a letter\n");
    write("two", &[line, String::from_utf8_lossy(line).replace(" 7,1 ", " 8,0 ").as_bytes()].concat());
    let cases: [(&[&str], &str); 13] = [
        (&[], "`replay` needs the file of a recording as `trace`"),
        (&["--trace", "missing"], "cannot read `missing`"),
        (&["--trace", "."], "is a directory"),
        (&["--trace", "cut"], "`cut`, line 1: "),
        (&["--trace", "nothing"], "`nothing`: it has no read, write or flush"),
        (&["--trace", "unknown"], "`unknown`: it is in no format that plimsoll knows"),
        (&["--trace", "two"], "choose one of them with `device`"),
        (&["--trace", &trace, "--device", "8:0"], "it has no request to device `8:0`, but to 7:1"),
        (&["--trace", &trace, "--rate", "5"], "`rate` has no use in a replay"),
        (&["--trace", &trace, "--think", "1ms"], "`think` has no use in a replay"),
        (&["--trace", &trace, "--speed", "0"], "a number above 0, at most 1000, or `max`"),
        (&["--trace", &trace, "--file-size", "1MiB"], "is smaller than the 2 MiB that the recording needs"),
        (&["--trace", &trace, "--verify", "true"], "cannot be used with a recording"),
    ];
    for (arguments, why) in cases {
        let refused = lab.run(&[&["replay"], arguments].concat());
        assert!((2..=3).contains(&refused.exit), "{arguments:?}: {}", refused.stderr);
        // Another test may have killed a recording meanwhile, and what that left is removed.
        let told = refused.stderr.lines().filter(|line| !line.contains("removed the trace instance"));
        assert!(refused.stderr.contains(why) && told.count() == 1, "{arguments:?}: {}", refused.stderr);
    }
    assert!(lab.run_files().is_empty());
}

/// Recorded again while it is replayed, by the kernel: what the device gets is what was recorded. The kernel may merge requests and
/// flushes that have to wait, so of their number only the most is known. The recording has no reads: those are plimsoll's, which looks at
/// what is on the device before it writes.
#[test]
fn a_device_gets_the_bytes_of_the_recording_and_the_recorder_leaves_nothing() {
    let lab = Lab::new();
    let disk = Disk::new(64);
    let device = disk.node.clone();
    let started =
        lab.command(&["record-io", "--device", &device, "--time", "5m", "-o", "again.trace", "--json"]).spawn();
    let mut recorder = started.unwrap();
    wait_until("the recording", || lab.path().join("again.trace").exists() || recorder.try_wait().unwrap().is_some());
    if let Some(ended) = recorder.try_wait().unwrap() {
        assert_eq!(ended.code(), Some(2));
        return eprintln!("skipped: tracefs is not to be had here");
    }
    // A second one, which is killed: what it recorded until a second before is kept.
    let second = ["record-io", "--device", &device, "--time", "5m", "-o", "killed.trace"];
    let mut killed = lab.command(&second).spawn().unwrap();
    wait_until("the second recording", || lab.path().join("killed.trace").exists());
    let trace = recording();
    let replay = ["replay", "--trace", &trace, "--path", &device, "--same-device", "true", "--no-report"];
    let refused = lab.run(&replay);
    assert!(refused.exit == 3 && refused.stderr.contains("--destroy"), "{}", refused.stderr);
    let run = lab.json(&[&replay[..], &["--destroy", &disk.consent()]].concat());
    assert_eq!(run["points"][0]["ops"].as_u64(), Some(REQUESTS), "{run}");
    let kept = || std::fs::read_to_string(lab.path().join("killed.trace")).unwrap_or_default().lines().count() as u64;
    wait_until("what is kept", || kept() > WRITES);
    killed.kill().and_then(|()| killed.wait()).unwrap();
    assert!(kept() > WRITES);
    kill_process(Pid::from_child(&recorder), Signal::INT).unwrap();
    let seen: Value = serde_json::from_slice(&recorder.wait_with_output().unwrap().stdout).unwrap();
    assert_eq!(seen["written_bytes"].as_u64(), Some(moved(&run["points"][0])), "{seen}");
    let count = |name: &str| seen[name].as_u64().unwrap();
    assert!((1..=WRITES).contains(&count("writes")) && count("flushes") <= REQUESTS - WRITES, "{seen}");
    assert_eq!(count("requests"), count("reads") + count("writes") + count("flushes"), "{seen}");
}

#[test]
fn what_cannot_be_recorded_is_refused_in_one_line() {
    let lab = Lab::new();
    for (arguments, why) in [
        (["--device", ".", "-o", "t"], "is no block device"),
        (["--device", "/dev/no such", "-o", "t"], "does not exist"),
        (["--pid", "4194305", "-o", "t"], ""),
    ] {
        let refused = lab.run(&[&["record-io"], &arguments[..]].concat());
        assert!((2..=3).contains(&refused.exit), "{arguments:?}: {} {}", refused.exit, refused.stderr);
        assert!(
            refused.stderr.contains(why) && refused.stderr.lines().count() == 1,
            "{arguments:?}: {}",
            refused.stderr
        );
    }
    assert!(!lab.path().join("t").exists());
}
