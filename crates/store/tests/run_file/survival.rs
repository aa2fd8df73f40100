//! What is committed survives its recorder, wherever the file lies and whoever reads meanwhile.

use crate::sample::*;
use model::*;
use rusqlite::Connection;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use store::{RunWriter, StoreError, read, read_meta};

/// The files that a recorder leaves that is killed after `intervals` intervals, copied into `folder` while it still lives.
pub fn killed_after(intervals: u32, folder: &Path) -> PathBuf {
    let recording = tempfile::tempdir().unwrap();
    let (mut run, point) = begin(&recording.path().join("run.plimsoll"));
    (0..intervals).for_each(|index| record(&mut run, point, index).unwrap());
    for name in files_in(recording.path()).into_keys().filter(|name| !name.ends_with("-shm")) {
        fs::copy(recording.path().join(&name), folder.join(&name)).unwrap();
    }
    folder.join("run.plimsoll")
}

#[test]
fn everything_committed_is_read_after_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let path = killed_after(4, folder.path());
    let data = read(&path).unwrap();
    let point = &data.points[0];
    assert_eq!((data.meta, point.state), (meta(), PointState::Partial));
    let phase = point.phase(Phase::Run).unwrap();
    assert_eq!((phase.intervals.len(), phase.end), (4, Tick(14 * SECOND.0)));
    assert_eq!(phase.intervals[3].kinds[0].ok, 53);
    assert_eq!((point.counters.len(), point.events.len()), (4, 4));
}

#[test]
fn reading_a_killed_run_changes_nothing_where_it_lies() {
    let folder = tempfile::tempdir().unwrap();
    let path = killed_after(2, folder.path());
    let before = files_in(folder.path());
    assert!(before["run.plimsoll-wal"] > 0);
    read(&path).unwrap();
    read_meta(&path).unwrap();
    assert_eq!(files_in(folder.path()), before);
}

#[test]
fn a_point_killed_before_its_first_interval_has_an_empty_phase() {
    let folder = tempfile::tempdir().unwrap();
    let data = read(&killed_after(0, folder.path())).unwrap();
    let phase = data.points[0].phase(Phase::Run).unwrap();
    assert_eq!((phase.start, phase.end, phase.intervals.len()), (Tick(10 * SECOND.0), Tick(10 * SECOND.0), 0));
}

#[test]
fn a_log_cut_at_any_length_gives_the_intervals_before_the_cut() {
    let folder = tempfile::tempdir().unwrap();
    let path = killed_after(6, folder.path());
    let log = folder.path().join("run.plimsoll-wal");
    let whole = fs::read(&log).unwrap();
    let mut last = 0;
    for len in (0..whole.len()).step_by(997).chain([whole.len()]) {
        fs::write(&log, &whole[..len]).unwrap();
        let data = read(&path).unwrap();
        let intervals = data.points.first().map_or(0, |point| point.phases.first().map_or(0, |p| p.intervals.len()));
        assert!(intervals >= last, "{len} bytes give {intervals} intervals, fewer gave {last}");
        last = intervals;
    }
    assert_eq!(last, 6);
}

#[test]
fn a_database_without_its_log_is_what_was_there_when_the_log_began() {
    let folder = tempfile::tempdir().unwrap();
    let path = killed_after(3, folder.path());
    fs::remove_file(folder.path().join("run.plimsoll-wal")).unwrap();
    let data = read(&path).unwrap();
    assert_eq!((data.meta, data.points.len()), (meta(), 0));
    assert_eq!(files_in(folder.path()).len(), 1);
}

#[test]
fn a_change_that_a_rollback_journal_undoes_is_not_read() {
    let (folder, copy) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write_finished(&folder.path().join("run.plimsoll"), 200);
    let db = Connection::open(folder.path().join("run.plimsoll")).unwrap();
    // A cache of one page makes SQLite write to the database before the commit.
    db.execute_batch("PRAGMA cache_size = 1; BEGIN; UPDATE interval SET ok = 7; UPDATE histogram SET kind = 1")
        .unwrap();
    for name in ["run.plimsoll", "run.plimsoll-journal"] {
        fs::copy(folder.path().join(name), copy.path().join(name)).unwrap();
    }
    let path = copy.path().join("run.plimsoll");
    let before = files_in(copy.path());
    assert_eq!(read(&path).unwrap().points[0].phases[0].intervals[0].kinds[0].ok, 50);
    assert_eq!(files_in(copy.path()), before);
    fs::remove_file(copy.path().join("run.plimsoll-journal")).unwrap();
    assert!(read(&path).is_err(), "the change did not reach the database, so nothing was undone");
}

#[test]
fn a_recorder_dropped_without_finishing_leaves_a_partial_point() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.plimsoll");
    let (mut run, point) = begin(&path);
    record(&mut run, point, 0).unwrap();
    drop(run);
    assert_eq!(read_meta(&path).unwrap().points[0].state, PointState::Partial);
    assert_eq!(read(&path).unwrap().points[0].phases[0].intervals.len(), 1);
}

#[test]
fn a_process_that_records_is_read_meanwhile_and_after_it_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.plimsoll");
    let mut child = start_recorder(&path);
    let mut reports = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    for _ in 0..10 {
        let reported = reports.by_ref().filter(|line| line.starts_with("recorded")).take(12).last().unwrap();
        let index: usize = reported.trim_start_matches("recorded ").parse().unwrap();
        assert!(read(&path).unwrap().points[0].phases[0].intervals.len() > index);
    }
    child.kill().unwrap();
    child.wait().unwrap();
    // The last line may be cut short, and then names an earlier interval or none.
    let last = reports.last().unwrap_or_default();
    let index: usize = last.trim_start_matches("recorded ").parse().unwrap_or(0);
    assert!(read(&path).unwrap().points[0].phases[0].intervals.len() > index);
}

#[test]
fn a_run_whose_recorder_was_killed_is_recorded_further_and_keeps_what_it_holds() {
    let folder = tempfile::tempdir().unwrap();
    let path = killed_after(4, folder.path());
    let mut run = RunWriter::reopen(&path).unwrap();
    assert_eq!(run.last_tick().unwrap(), Tick(14 * SECOND.0));
    let again = begin_point(&mut run, &trial()).unwrap();
    run.begin_phase(again, Phase::Run, Tick(90 * SECOND.0)).unwrap();
    record(&mut run, again, 0).unwrap();
    run.finish_point(again, PointState::Complete, None).unwrap();
    run.finish().unwrap();
    let data = read(&path).unwrap();
    let seen: Vec<_> =
        data.points.iter().map(|point| (point.id, point.state, point.phases[0].intervals.len())).collect();
    assert_eq!(seen, [(1, PointState::Partial, 4), (2, PointState::Complete, 1)]);
    assert_eq!(files_in(folder.path()).len(), 1, "its log is in it");
}

#[test]
fn a_run_that_is_being_recorded_is_not_recorded_by_another() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.plimsoll");
    let (mut run, point) = begin(&path);
    record(&mut run, point, 0).unwrap();
    let refused = RunWriter::reopen(&path).err().unwrap();
    assert!(matches!(refused, StoreError::InUse { .. }), "{refused}");
    record(&mut run, point, 1).unwrap();
    run.finish().unwrap();
    assert_eq!(read(&path).unwrap().points[0].phases[0].intervals.len(), 2);
}

#[test]
fn a_trigger_in_a_run_file_is_not_fired_by_recording_further() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.plimsoll");
    write_finished(&path, 1);
    let db = Connection::open(&path).unwrap();
    db.execute_batch("CREATE TRIGGER t AFTER INSERT ON point BEGIN DELETE FROM interval; END").unwrap();
    drop(db);
    let mut run = RunWriter::reopen(&path).unwrap();
    begin_point(&mut run, &trial()).unwrap();
    run.finish().unwrap();
    assert_eq!(read(&path).unwrap().points[0].phases[0].intervals.len(), 1);
}

/// Starts this test program once more, as a recorder.
pub fn start_recorder(path: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "survival::records_until_it_is_killed", "--ignored", "--nocapture"])
        .env("PLIMSOLL_TEST_RUN", path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// The recorder of the test above. It moves its log into the database often, which a reader must bear.
#[test]
#[ignore = "records until it is killed; the test of a killed process starts it"]
fn records_until_it_is_killed() {
    let Some(path) = std::env::var_os("PLIMSOLL_TEST_RUN") else { return };
    let (mut run, point) = begin(Path::new(&path));
    for index in 0..100_000 {
        record(&mut run, point, index).unwrap();
        println!("recorded {index}");
        if index % 7 == 0 {
            run.finish_point(point, PointState::Partial, None).unwrap();
        }
    }
}
