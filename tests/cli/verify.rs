//! Verified data: damage behind plimsoll's back is found with its place and its sort, and nothing else is.

use crate::lab::{Finished, Lab};
use crate::verified::{codes, damaged, data_file, flip, overwrite, started, verified};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

const UNIT: u64 = 4096;

/// A fact of the only point of `run`.
fn fact(lab: &Lab, run: &Value, name: &str) -> Option<String> {
    let run = rusqlite::Connection::open(run_file(lab, run)).unwrap();
    let query = "SELECT json_extract(f.value, '$.value') FROM point, json_each(facts) f
                 WHERE json_extract(f.value, '$.name') = ?1";
    run.query_row(query, [name], |row| row.get(0)).ok()
}

fn run_file(lab: &Lab, run: &Value) -> PathBuf {
    lab.path().join(run["run"].as_str().unwrap())
}

fn verify(lab: &Lab, run_file: &Path) -> Finished {
    lab.run(&["verify", run_file.to_str().unwrap(), "--json"])
}

#[test]
fn clients_that_write_over_each_other_all_the_time_raise_no_alarm() {
    let lab = Lab::new();
    let few_blocks = ["512KiB", "--mode", "rndrw", "--access", "zipf:1.1", "--clients", "4", "--time", "1s"];
    for way in [&["--io", "uring", "--depth", "16"][..], &["--io", "mmap", "--direct", "false"], &["--io", "sync"]] {
        let run = lab.json(&[&verified(&few_blocks)[..], way].concat());
        assert!(!codes(&run).contains(&"corrupt") && !codes(&run).contains(&"errors"), "{run}");
        let counts =
            ["corrupt", "stale", "misdirected"].map(|sort| fact(&lab, &run, &format!("verify.{sort}")).unwrap());
        assert_eq!(counts, ["0", "0", "0"], "{way:?}");
    }
    assert_eq!(lab.left_behind(), Vec::<String>::new());
}

#[test]
fn what_a_killed_plimsoll_wrote_is_whole_and_a_flipped_byte_in_it_is_found() {
    for way in [&["--io", "uring", "--depth", "8"][..], &["--io", "mmap", "--direct", "false"]] {
        let lab = Lab::new();
        let writes = ["8MiB", "--mode", "rndwr", "--clients", "2", "--time", "600s", "--files", "3"];
        let mut child = started(&lab, &[&verified(&writes)[..], way].concat());
        let run_file = lab.run_files().pop().unwrap();
        let in_use = lab.run(&["verify", run_file.to_str().unwrap()]);
        assert_eq!(in_use.exit, 3, "{}", in_use.stderr);
        assert!(in_use.stderr.contains("another plimsoll run is using the data"), "{}", in_use.stderr);
        child.kill().unwrap();
        child.wait().unwrap();
        let whole = verify(&lab, &run_file);
        assert_eq!((whole.exit, damaged(&whole)), (0, vec![]), "{}", whole.stderr);
        assert!(whole.json()["data"][0]["units"].as_u64().unwrap() > 2000);
        // Most units are at rest: of those under way when it was killed nobody knows, so several are flipped.
        let file = data_file(&lab).join("data.1");
        (0..40).for_each(|nth| flip(&file, nth * 16 * UNIT + 77));
        let found = verify(&lab, &run_file);
        assert_eq!(found.exit, 4, "{}", found.stderr);
        assert!(found.json()["data"][0]["corrupt"].as_u64().unwrap() >= 8, "{}", found.stdout);
        assert!(found.json()["data"][0]["damaged"][0]["file"].as_str().unwrap().ends_with("data/data.1"));
        assert_eq!(lab.left_behind().len(), 1, "it is read and not removed");
    }
}

#[test]
fn nothing_to_verify_is_one_line_and_the_code_of_a_wrong_command() {
    let lab = Lab::new();
    let plain = lab.json(&["file", "--file-size", "1MiB", "--time", "50ms", "--no-report"]);
    let gone = lab.json(&verified(&["1MiB", "--time", "50ms"]));
    for (run, why) in [(plain, "with verify = `true`"), (gone, "the data of this run was removed")] {
        let run_file = run_file(&lab, &run);
        let refused = lab.run(&["verify", run_file.to_str().unwrap()]);
        assert_eq!((refused.exit, refused.stderr.lines().count()), (2, 1), "{}", refused.stderr);
        assert!(refused.stderr.contains(why), "{}", refused.stderr);
    }
}

#[test]
fn verified_data_is_made_used_and_left_by_its_rules() {
    let lab = Lab::new();
    lab.json(&overwrite());
    let plain = ["file", "--path", "f0", "--file-size", "2MiB", "--time", "50ms", "--no-report"];
    lab.json(&[&plain[..], &["--mode", "rndrd"]].concat());
    let unverified = lab.run(&[&plain[..], &["--mode", "rndwr"]].concat());
    assert_eq!(unverified.exit, 3, "{}", unverified.stderr);
    assert!(unverified.stderr.contains("use `--verify true` or another path"), "{}", unverified.stderr);
    fs::write(lab.path().join("mine"), vec![1; 2 << 20]).unwrap();
    let foreign = lab.run(&verified(&["2MiB", "--path", "mine", "--mode", "rndrd", "--time", "50ms"]));
    assert_eq!(foreign.exit, 3, "{}", foreign.stderr);
    assert!(foreign.stderr.contains("so it cannot be checked"), "{}", foreign.stderr);
    for (flags, why) in [
        (["--block", "512B"], "so `--block 512B` must be a multiple"),
        (["--block", "6000B"], "must be a multiple"),
        (["--dedupe", "10"], "use `--dedupe 0`"),
    ] {
        let refused = lab.run(&[&verified(&["2MiB", "--time", "50ms"])[..], &flags].concat());
        assert_eq!(refused.exit, 2, "{}", refused.stderr);
        assert!(refused.stderr.contains(why), "{}", refused.stderr);
    }
    let absurd = lab.run(&verified(&["1000TiB", "--time", "50ms"]));
    assert!(absurd.exit == 2 && absurd.stderr.contains("needs a table of"), "{}", absurd.stderr);
}

#[test]
fn every_way_of_writing_is_read_back_whole() {
    let lab = Lab::new();
    let common = ["4MiB", "--time", "60s", "--ops-max", "400", "--clients", "3", "--files", "2"];
    for more in [
        &["--mode", "seqwr", "--cursor", "shared", "--fsync", "fdatasync", "--fsync-every", "10", "--io", "aio"][..],
        &["--mode", "rndwr", "--direct", "false", "--sync", "odsync", "--io", "sync", "--fsync-end", "true"],
        &["--mode", "rndrw", "--io", "uring", "--depth", "4", "--stamp", "each", "--compressible", "50"],
        &["--mode", "rndrw", "--io", "mmap", "--direct", "false", "--fsync", "fsync", "--block", "4KiB"],
    ] {
        let run = lab.json(&[&verified(&common)[..], more].concat());
        assert_eq!((&run["points"][0]["failed"], &run["points"][0]["ops"]), (&0.into(), &400.into()), "{more:?}");
        let told = fact(&lab, &run, "verify.read_back").unwrap();
        assert!(told.starts_with("1024 blocks of 4 KiB checked, 0 wrong"), "{more:?}: {told}");
    }
    assert_eq!(lab.left_behind(), Vec::<String>::new());
}
