//! Places to measure in: file systems that are made for it, block devices, disks that are full, broken or somebody else's.
//!
//! Real loop devices and file systems, so these need root.

use crate::disks::{Disk, Mounted, loops_in, mounts_in, with_own_mounts};
use crate::lab::{Lab, NULL, wait_until};
use serde_json::Value;
use std::process::Child;

const SHORT: [&str; 5] = ["--time", "300ms", "--interval", "30ms", "--no-report"];
const SMALL: [&str; 2] = ["--file-size", "32MiB"];

/// Nothing of plimsoll's is in the directory, mounted in it or attached to a file in it.
fn assert_nothing_left(lab: &Lab) {
    assert_eq!(lab.left_behind(), Vec::<String>::new());
    assert_eq!(mounts_in(lab.path()), Vec::<String>::new());
    // A device clears itself when its last user is gone, which the kernel does a moment after the unmount.
    wait_until("the end of all loop devices", || loops_in(lab.path()).is_empty());
}

#[test]
fn file_systems_are_made_measured_side_by_side_and_gone() {
    let lab = Lab::new();
    let sweep = ["file", "--fs", "none,ext4,xfs,btrfs:zstd:3", "--mode", "rndrw", "--repeat", "2", "--io", "sync"];
    let moves = |point: &Value, cost: &str| point["cost"][cost].as_f64() > Some(1000.0);
    let has_moved = |point: &Value| moves(point, "read_bytes_per_op") && moves(point, "written_bytes_per_op");
    let run = lab.short_with(&[&sweep, &SMALL[..], &["--interval", "30ms"]].concat(), has_moved);
    let points = run["points"].as_array().unwrap();
    let places: Vec<_> = points.iter().map(|point| point["params"]["fs"].as_str().unwrap_or("none")).collect();
    let there = ["none", "ext4", "xfs", "btrfs:zstd:3"];
    assert_eq!(places, [there, [there[3], there[2], there[1], there[0]]].concat(), "interleaved A B B A");
    for point in points {
        assert_eq!((&point["state"], &point["failed"]), (&"complete".into(), &0.into()), "{point}");
    }
    let shown = lab.run(&["show", lab.run_files().pop().unwrap().to_str().unwrap(), "--details"]).stdout;
    assert!(there[1..].iter().all(|words| shown.contains(words)) && shown.contains("fs none"), "{shown}");
    assert_nothing_left(&lab);
}

#[test]
fn an_engine_works_on_a_file_system_of_its_own_and_says_which() {
    let lab = Lab::new();
    let load = ["insert", "--step", "l.i1", "--rows", "0", "--engine", "sqlite,fjall", "--ops-max", "200"];
    let fs = ["--fs", "ext4:nobarrier", "--fs-size", "1GiB"];
    lab.json(&[&load[..], &fs, &SHORT].concat());
    let file = &lab.run_files()[0];
    let db = rusqlite::Connection::open(file).unwrap();
    let facts: Vec<String> = db
        .prepare("SELECT facts FROM point")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(facts.len(), 2);
    for facts in facts {
        for word in
            ["\"ext4\"", "nosuid,nodev,noatime", "mke2fs", "\"filesystem.barrier\",\"value\":\"off\"", "1073741824"]
        {
            assert!(facts.contains(word), "`{word}` is not in {facts}");
        }
    }
    assert_nothing_left(&lab);
}

/// Files through ZFS, which is a process of plimsoll's own: measured, and gone with it however it ends.
#[test]
fn zfs_compresses_files_counts_its_process_and_is_gone_after_kill_nine() {
    let lab = Lab::new();
    let rows: String = (0..600_000).map(|row| format!("row {row}, paid in full\n")).collect();
    let elsewhere = Lab::new();
    let file = elsewhere.path().join("rows");
    std::fs::write(&file, &rows).unwrap();
    let file = file.to_str().unwrap();
    let by = |fs: &'static str| ["compress", file, "--fs", fs, "--no-report", "--repeat"];
    if !["/usr/sbin/zfs-fuse", "/sbin/zfs-fuse"].iter().any(|program| std::path::Path::new(program).exists()) {
        refused(&Lab::new(), &[&by("zfs:lzjb")[..], &["1"]].concat(), 2, &["on Debian: `apt-get install zfs-fuse`"]);
        return eprintln!("skipped: needs zfs-fuse");
    }
    let run = lab.json(&[&by("zfs,zfs:gzip-1..2")[..], &["1"]].concat());
    let points = run["points"].as_array().unwrap();
    let places: Vec<_> = points.iter().map(|point| point["params"]["fs"].as_str().unwrap()).collect();
    assert_eq!(places, ["zfs", "zfs:gzip-1", "zfs:gzip-2"]);
    let ratio = |point: &Value| point["compress"]["ratio"].as_f64().unwrap();
    assert!((0.9..1.02).contains(&ratio(&points[0])), "nothing is compressed, and checksums are added: {run}");
    assert!(points[1..].iter().all(|point| ratio(point) > 3.0), "{run}");
    let facts = lab.facts();
    assert!(facts.contains("compress.daemon_cpu_s") && facts.contains("zfs-fuse, pool version"), "{facts}");
    assert_nothing_left(&lab);
    refused(
        &Lab::new(),
        &["file", "--fs", "zfs", "--time", "1s", "--file-size", "32MiB"],
        2,
        &["`--fs zfs` is for `compress` only", "`ext4`"],
    );

    with_own_mounts(|| {
        let mut child = lab.command(&[&by("zfs:gzip-9")[..], &["1000"]].concat()).spawn().unwrap();
        wait_until("the mount", || !mounts_in(lab.path()).is_empty());
        child.kill().unwrap();
        child.wait().unwrap();
        let next = lab.run(&[NULL, &["--time", "100ms"]].concat());
        assert!(next.exit == 0 && next.stderr.contains("left by a run that was killed"), "{}", next.stderr);
        assert_nothing_left(&lab);
    });
}

/// A run on a file system of its own that is at work in `lab`.
fn at_work(lab: &Lab) -> Child {
    let load = ["file", "--fs", "ext4", "--mode", "rndrw", "--time", "600s", "--interval", "30ms", "--no-report"];
    let mut child = lab.command(&[&load, &SMALL[..]].concat()).spawn().unwrap();
    lab.wait_for_load(&mut child, 3);
    assert_eq!((mounts_in(lab.path()).len(), loops_in(lab.path()).len()), (1, 1), "it is mounted now");
    child
}

#[test]
fn the_file_system_of_a_killed_run_goes_with_the_next_start_in_any_directory_and_that_of_a_living_one_stays() {
    with_own_mounts(|| {
        let (lab, elsewhere) = (Lab::new(), Lab::new());
        let starts: [&[&str]; 2] = [&[NULL, &["--time", "100ms"]].concat(), &["doctor"]];
        for start in starts {
            let mut child = at_work(&lab);
            let meanwhile = elsewhere.run(start);
            assert_eq!(meanwhile.exit, 0, "{start:?}: {}", meanwhile.stderr);
            assert_eq!((mounts_in(lab.path()).len(), lab.left_behind().len()), (1, 1), "{start:?}: it is in use");
            let before = lab.intervals(1, "run");
            lab.wait_for_load(&mut child, before + 3);
            child.kill().unwrap();
            child.wait().unwrap();
            assert_eq!(
                (mounts_in(lab.path()).len(), loops_in(lab.path()).len()),
                (1, 1),
                "{start:?}: nothing is undone"
            );
            let next = elsewhere.run(start);
            let said = next.stderr + &next.stdout;
            let place = lab.path().canonicalize().unwrap();
            let line = format!("removed `{}/plimsoll-data-", place.display());
            assert!(next.exit == 0 && said.contains(&line), "{start:?}: {said}");
            assert_nothing_left(&lab);
            lab.run_files().iter().for_each(|file| std::fs::remove_file(file).unwrap());
        }
        assert_eq!(elsewhere.left_behind(), Vec::<String>::new());
    });
}

/// Runs `arguments`, which must be refused with `exit` and one line that has all of `words`.
fn refused(lab: &Lab, arguments: &[&str], exit: i32, words: &[&str]) {
    let finished = lab.run(&[arguments, &["--quiet"]].concat());
    assert_eq!(finished.exit, exit, "{arguments:?}: {}", finished.stderr);
    assert_eq!((finished.stderr.lines().count(), finished.stdout.as_str()), (1, ""), "{}", finished.stderr);
    for word in words {
        assert!(finished.stderr.contains(word), "{arguments:?}: `{word}` is not in: {}", finished.stderr);
    }
    assert!(lab.run_files().is_empty() && lab.left_behind().is_empty(), "nothing was begun");
}

fn writes<'a>(node: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["file", "--path", node, "--mode", "rndwr"], &SMALL[..], &SHORT, more].concat()
}

#[test]
fn an_empty_device_is_measured_with_consent_and_only_read_without() {
    let lab = Lab::new();
    let disk = Disk::new(64);
    let before = disk.checksum();
    refused(&lab, &writes(&disk.node, &[]), 3, &["holds no data that plimsoll recognises", "--destroy"]);
    let mixed = ["file", "--path", &disk.node, "--mode", "rndrd,rndwr"];
    refused(&lab, &[&mixed, &SMALL[..], &SHORT].concat(), 3, &["--destroy"]);
    let read = lab.json(&[&["file", "--path", &disk.node], &SMALL[..], &SHORT].concat());
    assert_eq!((&read["state"], &read["points"][0]["engine"]), (&"complete".into(), &disk.node.as_str().into()));
    assert_eq!(disk.checksum(), before);
    for io in ["sync", "uring", "aio"] {
        let run = lab.json(&writes(&disk.node, &["--io", io, "--destroy", &disk.consent()]));
        assert_eq!((&run["state"], &run["points"][0]["failed"]), (&"complete".into(), &0.into()), "{io}");
    }
    assert_ne!(disk.checksum(), before, "it was written to");
    assert_eq!(lab.left_behind(), Vec::<String>::new());
}

#[test]
fn all_of_a_device_is_measured_unless_a_size_is_given() {
    let lab = Lab::new();
    let disk = Disk::new(48);
    let size_of = |more: &[&str]| {
        let run = lab.json(&[&["file", "--path", &disk.node], more, &SHORT].concat());
        assert_eq!(run["state"], "complete");
        let db = rusqlite::Connection::open(lab.path().join(run["run"].as_str().unwrap())).unwrap();
        let sql = "SELECT json_extract(trial, '$.workload.params.file_size.bytes') FROM point";
        db.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap()
    };
    assert_eq!([size_of(&[]), size_of(&["--file-size", "8MiB"])], [48 << 20, 8 << 20]);
}

#[test]
fn the_scripted_engine_is_on_no_file_system() {
    let lab = Lab::new();
    refused(&lab, &[NULL, &["--fs", "ext4"]].concat(), 2, &["engine `null`", "`--fs ext4`"]);
}

#[test]
fn places_side_by_side_are_points_of_their_own_with_facts_of_their_own() {
    let lab = Lab::new();
    let places = [("mkfs.ext4", "ext4"), ("mkfs.xfs", "xfs")].map(|(program, name)| {
        let place: Mounted = Disk::with(1600, program, &["-q"]).mount();
        (place.path().join("f0").to_str().unwrap().to_owned(), name, place)
    });
    let paths = format!("{},{}", places[0].0, places[1].0);
    let run = lab.json(&[&["file", "--path", &paths, "--io", "sync"], &SMALL[..], &SHORT].concat());
    let points = run["points"].as_array().unwrap();
    let targets: Vec<_> = points.iter().map(|point| point["engine"].as_str().unwrap()).collect();
    assert_eq!(targets, [&places[0].0, &places[1].0]);
    let shown: Value = lab.run(&["show", lab.run_files()[0].to_str().unwrap(), "--json"]).json();
    assert_eq!(shown["points"].as_array().unwrap().len(), 2);
    let exported = rusqlite::Connection::open(&lab.run_files()[0]).unwrap();
    for (point, (_, name, _)) in (1..).zip(&places) {
        let facts: String =
            exported.query_row("SELECT facts FROM point WHERE id = ?1", [point], |row| row.get(0)).unwrap();
        assert!(facts.contains(&format!("\"filesystem\",\"value\":\"{name}\"")), "{facts}");
    }
}

#[test]
fn plan_looks_for_room_where_each_point_has_its_data() {
    let place = Disk::with(64, "mkfs.ext4", &["-q"]).mount();
    let lab = Lab::new();
    let planned = |name: &str, path: &str, dir: &str| {
        let plan = format!("workload = 'file'\nfile_size = '200MiB'\npath = '{path}'\n");
        std::fs::write(lab.path().join(name), plan).unwrap();
        lab.run(&["plan", name, "--dir", dir])
    };
    let (small, large) = (format!("{}/f0", place.text()), lab.path().join("f0"));
    let refused = planned("small.toml", &small, ".");
    assert_eq!(refused.exit, 3, "{}", refused.stderr);
    assert!(refused.stderr.contains(&format!("not enough space in `{}`", place.text())), "{}", refused.stderr);
    let fits = planned("large.toml", large.to_str().unwrap(), place.text());
    assert_eq!((fits.exit, fits.stderr.as_str()), (0, ""), "the directory itself needs no room");
}
