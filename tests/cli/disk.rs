//! `plimsoll disk`: every number is there, nothing is left behind, nothing is written where it should not be.

use crate::disks::Disk;
use crate::lab::{Finished, Lab, wait_until};
use serde_json::Value;
use std::process::Command;

const SHORT: &[&str] = &["disk", "--file-size", "16MiB", "--time"];

/// What plimsoll says of the disk, and the seconds of a timing. On a disk that is busy with others one read can take longer than a
/// timing; plimsoll then asks for a longer one, and gets it.
fn timed(lab: &Lab, more: &[&str]) -> (Finished, f64) {
    for (time, seconds) in [("100ms", 0.1), ("500ms", 0.5), ("2500ms", 2.5)] {
        let finished = lab.run(&[SHORT, &[time, "--quiet"], more].concat());
        if finished.exit != 4 || !finished.stderr.contains("no operation was done in ") {
            assert_eq!((finished.exit, finished.stderr.as_str()), (0, ""), "{more:?}");
            return (finished, seconds);
        }
    }
    panic!("no operation was done in 2.5 s");
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

fn list<'a>(of: &'a Value, key: &str) -> &'a Vec<Value> {
    of[key].as_array().unwrap_or_else(|| panic!("`{key}` is no list: {of}"))
}

#[test]
fn the_disk_is_timed_four_ways_three_times_and_has_a_ceiling_per_block_size() {
    let lab = Lab::new();
    let (finished, time_s) = timed(&lab, &["--write", "--json"]);
    let disk = finished.json();
    assert_eq!((&disk["schema"], &disk["file_bytes"]), (&"plimsoll.disk/1".into(), &(16 << 20).into()));
    let timings = list(&disk, "timings");
    assert_eq!(timings.len(), 4);
    for timing in timings {
        let repeats = list(timing, "repeats");
        assert_eq!((repeats.len(), &timing["error"]), (3, &Value::Null), "{timing}");
        for repeat in repeats {
            let (bytes, seconds) = (number(&repeat["bytes"]), number(&repeat["seconds"]));
            assert!(bytes > 0.0 && bytes % f64::from(2 << 20) == 0.0 && seconds >= time_s, "{timing}");
            assert!((number(&repeat["bytes_per_s"]) / (bytes / seconds) - 1.0).abs() < 1e-9, "{timing}");
        }
    }
    let ceilings = list(&disk, "ceilings");
    assert_eq!(ceilings.len(), 16, "reads and writes at four block sizes and two depths");
    for ceiling in ceilings {
        assert!(number(&ceiling["ops_per_s"]) > 0.0 && number(&ceiling["service_ns"]["p99"]) > 0.0, "{ceiling}");
        let bytes_per_op = number(&ceiling["bytes_per_s"]) / number(&ceiling["ops_per_s"]);
        assert!((bytes_per_op / number(&ceiling["block_bytes"]) - 1.0).abs() < 1e-9, "{ceiling}");
    }
    assert!(list(&disk, "facts").iter().any(|fact| fact["name"] == "filesystem"), "{disk}");
    assert_eq!(lab.left_behind(), Vec::<String>::new());
}

#[test]
fn the_text_has_the_lines_of_hdparm_in_80_columns_and_no_writes_unasked() {
    let lab = Lab::new();
    let (finished, _) = timed(&lab, &[]);
    for name in ["O_DIRECT cached reads:", "O_DIRECT disk reads:", "cached reads:", "buffered disk reads:"] {
        let lines = finished.stdout.lines().filter(|line| line.starts_with(&format!(" Timing {name}")));
        assert_eq!(lines.filter(|line| line.ends_with("MB/sec")).count(), 3, "{name}: {}", finished.stdout);
    }
    assert!(finished.stdout.lines().all(|line| line.chars().count() <= 80), "{}", finished.stdout);
    assert!(!finished.stdout.contains("\n  write "), "{}", finished.stdout);
}

#[test]
fn a_device_is_timed_as_hdparm_times_it_and_never_written() {
    if !rustix::process::geteuid().is_root() {
        return eprintln!("skipped: needs root: a device cannot be made");
    }
    let (lab, device) = (Lab::new(), Disk::new(16));
    let before = device.checksum();
    let finished = lab.run(&["disk", &device.node, "--time", "100ms", "--quiet", "--json"]);
    assert_eq!((finished.exit, finished.stderr.as_str()), (0, ""));
    let disk = finished.json();
    assert_eq!((&disk["file_bytes"], &disk["device_bytes"]), (&Value::Null, &(16 << 20).into()));
    let layers: Vec<&str> = list(&disk, "timings").iter().filter_map(|timing| timing["layer"].as_str()).collect();
    assert_eq!(layers[1], "the disk");
    assert_eq!(layers[3], "the disk through the page cache");
    assert_eq!(list(&disk, "ceilings").len(), 8, "random reads");
    let refused = lab.run(&["disk", &device.node, "--write"]);
    assert_eq!(refused.exit, 2);
    assert!(refused.stderr.contains("--write has no effect on a device"), "{}", refused.stderr);
    assert_eq!((device.checksum(), lab.left_behind()), (before, Vec::<String>::new()));
}

#[test]
fn a_place_that_is_no_directory_of_its_own_is_refused_and_untouched() {
    let lab = Lab::new();
    let real = lab.path().join("real");
    std::fs::create_dir(&real).unwrap();
    std::os::unix::fs::symlink(&real, lab.path().join("link")).unwrap();
    let finished = lab.run(&[SHORT, &["100ms", "link"]].concat());
    assert_eq!(finished.exit, 3, "{}", finished.stderr);
    assert!(finished.stderr.contains("`link`") && finished.stderr.contains("symlink"), "{}", finished.stderr);
    assert_eq!(std::fs::read_dir(&real).unwrap().count(), 0);
}

#[test]
fn sizes_and_times_that_cannot_be_are_refused_before_anything_is_written() {
    let lab = Lab::new();
    for (flags, exit, word) in [
        (["--file-size", "1MiB"], 2, "`1 MiB`"),
        (["--file-size", "900TiB"], 3, "not enough space"),
        (["--file-size", "16MiB,32MiB"], 2, "one value each"),
        (["--time", "soon"], 2, "`soon`"),
    ] {
        let finished = lab.run(&[&["disk"], &flags[..]].concat());
        assert_eq!(finished.exit, exit, "{flags:?}: {}", finished.stderr);
        assert!(finished.stderr.contains(word), "{flags:?}: {}", finished.stderr);
    }
    assert_eq!(lab.left_behind(), Vec::<String>::new());
}

#[test]
fn ctrl_c_removes_the_file_and_says_so() {
    let lab = Lab::new();
    let child = lab.command(&["disk", "--file-size", "16MiB", "--time", "600s"]).spawn().unwrap();
    wait_until("the file", || !lab.left_behind().is_empty());
    let sent = Command::new("kill").args(["-s", "INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let finished: Finished = child.wait_with_output().unwrap().into();
    assert_eq!((finished.exit, finished.stdout.as_str()), (130, ""), "{}", finished.stderr);
    assert!(finished.stderr.contains("interrupted; the file was removed"), "{}", finished.stderr);
    assert_eq!(lab.left_behind(), Vec::<String>::new());
}

#[test]
fn ceilings_are_remembered_and_a_later_run_on_the_disk_is_set_beside_them() {
    let lab = Lab::new();
    timed(&lab, &[]);
    let remembered = lab.path().join("plimsoll-runs/ceilings.json");
    let mut known: Value = serde_json::from_slice(&std::fs::read(&remembered).unwrap()).unwrap();
    assert_eq!(known["schema"], "plimsoll.ceilings/1");
    assert_eq!(list(&known["disks"][0], "ceilings").len(), 8, "{known}");
    let run = ["file", "--block", "16KiB", "--file-size", "16MiB", "--io", "sync", "--time", "2s", "--no-report"];
    let beside = |run: &Value| {
        let findings = list(&run["points"][0], "findings");
        findings.iter().find(|finding| finding["code"] == "load-line").map(|finding| finding["title"].to_string())
    };
    // More than any disk does: what the run below does is under this line, however busy the machine is.
    known["disks"][0]["ceilings"].as_array_mut().unwrap().iter_mut().for_each(|one| one["ops_per_s"] = 1e9.into());
    std::fs::write(&remembered, known.to_string()).unwrap();
    let title = beside(&lab.json(&run)).expect("the load line of the disk is known");
    assert!(title.contains(" of this disk's best random-read rate (16 KiB, "), "{title}");
    std::fs::write(&remembered, "{").unwrap();
    let finished = lab.run(&[&run[..], &["--json"]].concat());
    assert_eq!((finished.exit, beside(&finished.json())), (0, None));
    assert!(finished.stderr.contains("ceilings.json` is ignored: "), "{}", finished.stderr);
}
