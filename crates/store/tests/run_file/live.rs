//! What is shown of a run while another process records it.

use crate::sample::*;
use crate::survival::{killed_after, start_recorder};
use model::*;
use std::io::{BufRead, BufReader};
use std::path::Path;
use store::{LIVE_BYTES_MAX, StoreError, is_being_recorded, read_live};

fn live(path: &Path, most: u32) -> LiveRun {
    let scratch = tempfile::tempdir().unwrap();
    let run = read_live(path, scratch.path(), most).unwrap();
    assert_eq!(files_in(scratch.path()).len(), 0, "the copy is removed");
    run
}

#[test]
fn a_run_is_read_as_far_as_it_is_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let path = killed_after(6, folder.path());
    let run = live(&path, 3);
    assert_eq!((run.meta.clone(), run.points.len(), run.complete()), (meta(), 1, 0));
    let point = run.current().unwrap();
    assert_eq!((point.ops, point.failed, point.measured), ((50..56).sum(), 6 * 3, Nanos::from_secs(6)));
    let phase = run.phase.unwrap();
    assert_eq!((phase.phase, phase.start), (Phase::Run, Tick(10 * SECOND.0)));
    let starts: Vec<u64> = phase.intervals.iter().map(|one| one.start.0 / SECOND.0).collect();
    assert_eq!(starts, [13, 14, 15], "the last three of six");
    assert_eq!((phase.intervals[2].ops, phase.intervals[2].per_s()), (55, 55.0));
    // The response times of row 5 are 100 us + n * 1.237 us for n below 55.
    let p99_ns = phase.intervals[2].p99_ns.unwrap();
    assert!((160_000..170_000).contains(&p99_ns), "{p99_ns}");
}

#[test]
fn a_finished_run_can_be_read_so_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.plimsoll");
    write_finished(&path, 4);
    let run = live(&path, 100);
    assert_eq!((run.complete(), run.current(), run.phase.as_ref().unwrap().intervals.len()), (1, None, 4));
    assert!(!is_being_recorded(&path));
}

#[test]
fn only_a_file_that_another_process_records_is_being_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let killed = killed_after(2, folder.path());
    assert!(!is_being_recorded(&killed), "it has a log, and no recorder");
    assert!(!is_being_recorded(&folder.path().join("nothing.plimsoll")));

    let path = folder.path().join("recorded.plimsoll");
    let mut child = start_recorder(&path);
    // Kept until the end: a recorder that cannot print would end.
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    lines.find(|line| line.starts_with("recorded 20")).unwrap();
    let (is_recorded, run) = (is_being_recorded(&path), live(&path, 5));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(is_recorded && !is_being_recorded(&path));
    assert!(run.points[0].ops >= (50..70).sum(), "{}", run.points[0].ops);
}

#[test]
fn what_is_no_run_or_damaged_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.plimsoll");
    std::fs::write(&path, "no run").unwrap();
    assert!(matches!(read_live(&path, folder.path(), 5), Err(StoreError::NotARun { .. })));
    std::fs::remove_file(&path).unwrap();
    write_finished(&path, 2);
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.execute("UPDATE phase SET phase = 'x'", []).unwrap();
    drop(connection);
    assert!(read_live(&path, folder.path(), 5).is_err());
}

#[test]
fn a_file_that_is_too_large_is_not_copied() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.plimsoll");
    write_finished(&path, 2);
    // Bytes behind the last page are none of SQLite's, and take no room.
    std::fs::File::options().write(true).open(&path).unwrap().set_len(LIVE_BYTES_MAX + 1).unwrap();
    let error = read_live(&path, folder.path(), 5).unwrap_err().to_string();
    assert!(error.contains("too large"), "{error}");
}
