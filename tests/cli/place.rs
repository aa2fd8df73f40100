//! Places to measure in: file systems that are made for it, block devices, disks that are full, broken or somebody else's.
//!
//! Real loop devices and file systems, so these need root.

use crate::disks::{Disk, Mounted, done, loops_in, mounts_in};
use crate::lab::{Finished, Lab, NULL, wait_until};
use serde_json::Value;
use std::path::PathBuf;
use std::process::{Child, Command};

const SHORT: [&str; 5] = ["--time", "300ms", "--interval", "30ms", "--no-report"];
const SMALL: [&str; 2] = ["--file-size", "32MiB"];

fn signal(child: &Child, name: &str) {
    assert!(Command::new("kill").args(["-s", name, &child.id().to_string()]).status().unwrap().success());
}

/// Nothing of plimsoll's is in the directory, mounted in it or attached to a file in it.
fn assert_nothing_left(lab: &Lab) {
    assert_eq!(lab.left_behind(), Vec::<String>::new());
    assert_eq!(mounts_in(lab.path()), Vec::<String>::new());
    // A device clears itself when its last user is gone, which the kernel does a moment after the unmount.
    wait_until("the end of all loop devices", || loops_in(lab.path()).is_empty());
}

fn on_volume(lab: &Lab, fs: &str, more: &[&str]) -> Child {
    let load = ["file", "--fs", fs, "--mode", "rndrw", "--time", "600s", "--interval", "50ms", "--no-report", "--json"];
    lab.command(&[&load, &SMALL[..], more].concat()).spawn().unwrap()
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
    let shown = lab.run(&["show", lab.run_files().pop().unwrap().to_str().unwrap()]).stdout;
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

#[test]
fn ctrl_c_unmounts_and_removes_what_was_made() {
    let lab = Lab::new();
    let mut child = on_volume(&lab, "ext4", &[]);
    lab.wait_for_load(&mut child, 3);
    assert_eq!(mounts_in(lab.path()).len(), 1, "it is mounted now");
    signal(&child, "INT");
    let finished: Finished = child.wait_with_output().unwrap().into();
    assert_eq!(
        (finished.exit, &finished.json()["points"][0]["state"]),
        (130, &"partial".into()),
        "{}",
        finished.stderr
    );
    assert_nothing_left(&lab);
}

#[test]
fn after_kill_nine_the_next_start_unmounts_and_removes_what_was_made() {
    let lab = Lab::new();
    let mut child = on_volume(&lab, "btrfs", &[]);
    lab.wait_for_load(&mut child, 3);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!((mounts_in(lab.path()).len(), lab.left_behind().len()), (1, 1), "both are still there");
    let next = lab.run(&[NULL, &["--time", "100ms"]].concat());
    assert!(next.exit == 0 && next.stderr.contains("left by a run that was killed"), "{}", next.stderr);
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
    let db = rusqlite::Connection::open(&lab.run_files()[0]).unwrap();
    let facts: String = db.query_row("SELECT facts FROM point LIMIT 1", [], |row| row.get(0)).unwrap();
    assert!(facts.contains("compress.daemon_cpu_s") && facts.contains("zfs-fuse, pool version"), "{facts}");
    assert_nothing_left(&lab);
    refused(
        &Lab::new(),
        &["file", "--fs", "zfs", "--time", "1s", "--file-size", "32MiB"],
        2,
        &["`--fs zfs` is for `compress` only", "`ext4`"],
    );

    let mut child = lab.command(&[&by("zfs:gzip-9")[..], &["1000"]].concat()).spawn().unwrap();
    wait_until("the mount", || !mounts_in(lab.path()).is_empty());
    child.kill().unwrap();
    child.wait().unwrap();
    let next = lab.run(&[NULL, &["--time", "100ms"]].concat());
    assert!(next.exit == 0 && next.stderr.contains("left by a run that was killed"), "{}", next.stderr);
    assert_nothing_left(&lab);
}

#[test]
fn what_somebody_else_mounted_in_an_abandoned_directory_stays_with_what_is_in_it() {
    let lab = Lab::new();
    let mut child = on_volume(&lab, "ext4", &[]);
    lab.wait_for_load(&mut child, 3);
    child.kill().unwrap();
    child.wait().unwrap();
    let at = mounts_in(lab.path()).remove(0);
    let theirs = Disk::with(64, "mkfs.ext4", &["-q"]);
    // Lazily: the kernel may still be ending what the killed process had under way.
    done("umount", &["--lazy", &at]);
    done("mount", &[&theirs.node, &at]);
    std::fs::write(PathBuf::from(&at).join("thesis"), "years of work").unwrap();
    let next = lab.run(&[NULL, &["--time", "100ms"]].concat());
    assert!(next.exit == 0 && next.stderr.contains("has something else mounted on it"), "{}", next.stderr);
    assert_eq!(std::fs::read_to_string(PathBuf::from(&at).join("thesis")).unwrap(), "years of work");
    done("umount", &[&at]);
    assert_eq!(lab.run(&[NULL, &["--time", "100ms"]].concat()).exit, 0);
    assert_nothing_left(&lab);
}

#[test]
fn a_file_system_that_dies_under_the_load_gives_failures_and_keeps_what_was_measured() {
    for io in ["sync", "uring"] {
        let lab = Lab::new();
        let mut child = on_volume(&lab, "xfs", &["--io", io, "--depth", if io == "uring" { "8" } else { "1" }]);
        lab.wait_for_load(&mut child, 3);
        done("xfs_io", &["-x", "-c", "shutdown -f", &mounts_in(lab.path())[0]]);
        let finished: Finished = child.wait_with_output().unwrap().into();
        assert_eq!(finished.exit, 4, "{io}: {}", finished.stderr);
        assert!(finished.stderr.contains("Input/output error"), "{io}: {}", finished.stderr);
        let run = finished.json();
        let point = &run["points"][0];
        assert_eq!((&point["state"], &point["validity"]), (&"failed".into(), &"invalid".into()), "{io}");
        assert!(point["ops"].as_u64().unwrap() > 0 && point["failed"].as_u64().unwrap() > 0, "{io}: {point}");
        assert_nothing_left(&lab);
    }
}

#[test]
fn failures_that_are_counted_are_never_successes() {
    let lab = Lab::new();
    let mut child = on_volume(&lab, "xfs", &["--io", "uring", "--depth", "4", "--on-error", "count"]);
    lab.wait_for_load(&mut child, 3);
    done("xfs_io", &["-x", "-c", "shutdown -f", &mounts_in(lab.path())[0]]);
    let before = lab.intervals(1, "run");
    lab.wait_for_load(&mut child, before + 30);
    signal(&child, "INT");
    let finished: Finished = child.wait_with_output().unwrap().into();
    let point = &finished.json()["points"][0];
    assert_eq!((finished.exit, &point["validity"]), (130, &"invalid".into()), "{point}");
    let (ops, failed) = (point["ops"].as_u64().unwrap(), point["failed"].as_u64().unwrap());
    assert!(failed > ops, "a dead file system fails faster than a disk reads: {ops} done, {failed} failed");
    assert_nothing_left(&lab);
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
fn a_device_that_holds_something_is_not_written_to_and_what_it_holds_is_named() {
    let lab = Lab::new();
    let makers: [(&str, &[&str], &str); 4] = [
        ("mkfs.ext4", &["-q"], "an ext2, ext3 or ext4 file system"),
        ("mkfs.xfs", &["-q"], "an XFS file system"),
        ("mkfs.btrfs", &["-q"], "a btrfs file system"),
        ("mkswap", &["-q"], "a swap area"),
    ];
    let made = makers.map(|(program, arguments, name)| (Disk::with(320, program, arguments), name));
    let partitioned = Disk::new(320);
    let script = format!("printf 'label: gpt\\n,\\n' | sfdisk -q --no-reread --no-tell-kernel {}", partitioned.node);
    done("sh", &["-c", &script]);
    for (disk, name) in made.iter().map(|(disk, name)| (disk, *name)).chain([(&partitioned, "a partition table (GPT)")])
    {
        let before = disk.checksum();
        let flag = format!("--destroy {}", disk.consent());
        refused(&lab, &writes(&disk.node, &[]), 3, &[&disk.node, "320 MiB", name, &flag]);
        let other = format!("{}=WD-4711", disk.node);
        refused(&lab, &writes(&disk.node, &["--destroy", &other]), 3, &[name, &flag]);
        assert_eq!(disk.checksum(), before, "{name}");
    }
}

#[test]
fn a_device_in_use_is_not_written_to_whatever_was_consented_to() {
    let lab = Lab::new();
    let mounted = Disk::with(320, "mkfs.ext4", &["-q"]).mount();
    let consent = mounted.disk().consent();
    refused(&lab, &writes(&mounted.disk().node, &["--destroy", &consent]), 3, &["is mounted", mounted.text()]);
    let swap = Disk::with(64, "mkswap", &["-q"]);
    done("swapon", &[&swap.node]);
    let finished = lab.run(&writes(&swap.node, &["--destroy", &swap.consent()]));
    done("swapoff", &[&swap.node]);
    assert!(finished.exit == 3 && finished.stderr.contains("is used for swap"), "{}", finished.stderr);
    // Part of a file system over two devices: only the kernel's own claim shows the second.
    let (first, second) = (Disk::new(256), Disk::new(256));
    done("mkfs.btrfs", &["-q", &first.node, &second.node]);
    let both = first.mount();
    refused(&lab, &writes(&second.node, &["--destroy", &second.consent()]), 3, &["exclusively"]);
    drop(both);
}

#[test]
fn the_disk_that_holds_the_run_files_is_not_written_to() {
    let lab = Lab::new();
    let runs = Disk::with(320, "mkfs.ext4", &["-q"]).mount();
    let (node, consent) = (runs.disk().node.clone(), runs.disk().consent());
    let more = ["--destroy", &consent, "--runs", runs.text()];
    refused(&lab, &writes(&node, &more), 3, &["holds `", runs.text()]);
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
fn a_block_that_a_device_cannot_move_is_refused_with_the_one_that_it_can() {
    let lab = Lab::new();
    let disk = Disk::with_blocks(64, "4096");
    let flags = [&["file", "--path", &disk.node, "--block", "512"], &SMALL[..], &SHORT].concat();
    let finished = lab.run(&flags);
    assert_eq!(finished.exit, 2, "{}", finished.stderr);
    assert!(finished.stderr.contains("not a multiple of 4096 bytes, which O_DIRECT needs"), "{}", finished.stderr);
    lab.json(&[&flags[..3], &["--block", "4KiB"], &SMALL[..], &SHORT].concat());
}

#[test]
fn the_scripted_engine_is_on_no_file_system() {
    let lab = Lab::new();
    refused(&lab, &[NULL, &["--fs", "ext4"]].concat(), 2, &["engine `null`", "`--fs ext4`"]);
}

#[test]
fn a_plan_cannot_consent_for_who_runs_it() {
    let lab = Lab::new();
    let disk = Disk::new(64);
    let plan = format!("workload = 'file'\nmode = 'rndwr'\npath = '{}'\nfile_size = '32MiB'\n", disk.node);
    let path = lab.path().join("p.toml");
    std::fs::write(&path, format!("{plan}destroy = '{}'\n", disk.consent())).unwrap();
    let finished = lab.run(&["run", "p.toml"]);
    assert!(finished.exit == 2 && finished.stderr.contains("p.toml:5: unknown key `destroy`"), "{}", finished.stderr);
    let finished = lab.run(&["run", "p.toml", "--set", &format!("destroy={}", disk.consent())]);
    assert_eq!(finished.exit, 2, "{}", finished.stderr);
    std::fs::write(&path, plan).unwrap();
    let mut command = lab.command(&["run", "p.toml", "--time", "300ms"]);
    let finished: Finished = command.env("PLIMSOLL_DESTROY", disk.consent()).output().unwrap().into();
    assert!(finished.exit == 3 && finished.stderr.contains("--destroy"), "{}", finished.stderr);
}

#[test]
fn a_symlink_to_a_device_or_file_is_not_followed_and_what_it_leads_to_is_named() {
    let lab = Lab::new();
    let disk = Disk::new(64);
    let elsewhere = tempfile::tempdir().unwrap();
    let link = elsewhere.path().join("by-id");
    std::os::unix::fs::symlink(&disk.node, &link).unwrap();
    let finished = lab.run(&[&["file", "--path", link.to_str().unwrap()], &SMALL[..], &SHORT].concat());
    assert_eq!(finished.exit, 3, "{}", finished.stderr);
    assert!(finished.stderr.contains("symlink") && finished.stderr.contains(&disk.node), "{}", finished.stderr);
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
fn a_plan_that_does_not_fit_is_refused_before_the_first_byte() {
    let place = Disk::with(64, "mkfs.ext4", &["-q"]).mount();
    let lab = Lab::new();
    let before = done("df", &["--output=used,iused", place.text()]);
    for more in [&["--file-size", "200MiB"][..], &["--file-size", "200MiB", "--fs", "xfs"]] {
        let flags = [&["file", "--dir", place.text()], more, &SHORT].concat();
        refused(&lab, &flags, 3, &["not enough space", "the plan needs", "1 GiB must stay free", "are free"]);
    }
    assert_eq!(done("df", &["--output=used,iused", place.text()]), before);
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

#[test]
fn a_disk_that_somebody_fills_ends_the_point_before_it_is_full_and_gets_its_space_back() {
    let place = Disk::with(1600, "mkfs.ext4", &["-q"]).mount();
    let lab = Lab::new();
    let load = ["insert", "--step", "l.i1", "--rows", "0", "--rows-per-commit", "1", "--rate", "500", "--time", "60s"];
    let more = [
        "--engine",
        "sqlite",
        "--durability",
        "none",
        "--dir",
        place.text(),
        "--interval",
        "50ms",
        "--no-report",
        "--json",
    ];
    let mut child = lab.command(&[&load[..], &more].concat()).spawn().unwrap();
    lab.wait_for_load(&mut child, 3);
    done("fallocate", &["--length", "500MiB", place.path().join("theirs").to_str().unwrap()]);
    let finished: Finished = child.wait_with_output().unwrap().into();
    assert_eq!(finished.exit, 4, "{}", finished.stderr);
    assert!(finished.stderr.contains("stopped because the disk was nearly full"), "{}", finished.stderr);
    let point = &finished.json()["points"][0];
    assert_eq!(point["state"], "partial");
    assert!(point["ops"].as_u64().unwrap() > 0);
    let left: Vec<_> = std::fs::read_dir(place.path()).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert!(left.iter().all(|name| name == "theirs" || name == "lost+found"), "{left:?}");
}

#[test]
fn a_disk_without_inodes_says_so() {
    let place = Disk::with(2100, "mkfs.ext4", &["-q", "-N", "16"]).mount();
    (0..10_000).take_while(|nth| std::fs::write(place.path().join(format!("theirs{nth}")), b"").is_ok()).count();
    let lab = Lab::new();
    let flags = [&["file", "--dir", place.text(), "--quiet"], &SMALL[..], &SHORT].concat();
    let finished = lab.run(&flags);
    assert_eq!(finished.exit, 4, "{}", finished.stderr);
    assert!(finished.stderr.contains("no inodes are left; remove some files"), "{}", finished.stderr);
    assert!(lab.run_files().is_empty());
}

#[test]
fn a_file_system_is_made_by_root_only_and_nothing_is_written_by_others() {
    let lab = Lab::new();
    done("chmod", &["0777", lab.path().to_str().unwrap()]);
    // The binary may lie where only root can go.
    let copy = tempfile::tempdir().unwrap();
    done("chmod", &["0755", copy.path().to_str().unwrap()]);
    let binary = copy.path().join("plimsoll");
    std::fs::copy(env!("CARGO_BIN_EXE_plimsoll"), &binary).unwrap();
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(binary).current_dir(lab.path());
    let finished: Finished = command.args(["file", "--fs", "ext4"]).args(SMALL).output().unwrap().into();
    assert_eq!(finished.exit, 2, "{}", finished.stderr);
    assert!(finished.stderr.contains("`--fs ext4` needs root"), "{}", finished.stderr);
    assert_eq!((lab.left_behind(), lab.run_files()), (Vec::new(), Vec::new()));
}

#[test]
fn a_volume_too_small_for_its_data_is_refused_with_the_size_that_is_enough() {
    let lab = Lab::new();
    let flags = ["file", "--fs", "xfs", "--fs-size", "310MiB", "--file-size", "1GiB"];
    refused(&lab, &[&flags[..], &SHORT].concat(), 2, &["`--fs-size 310MiB`", "1 GiB", "use at least", "`auto`"]);
}
