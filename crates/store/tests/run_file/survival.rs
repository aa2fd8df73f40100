//! What is committed survives its recorder, wherever the file lies and whoever reads meanwhile.

use crate::sample::*;
use model::*;
use std::fs;
use std::path::{Path, PathBuf};
use store::{read, read_meta};

/// The files that a recorder leaves that is killed after `intervals` intervals, copied into `folder` while it still lives.
fn killed_after(intervals: u32, folder: &Path) -> PathBuf {
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
fn a_process_killed_while_it_records_leaves_every_interval_it_reported() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.plimsoll");
    let this_test = std::env::current_exe().unwrap();
    let mut child = std::process::Command::new(this_test)
        .args(["--exact", "survival::records_until_it_is_killed", "--ignored", "--nocapture"])
        .env("PLIMSOLL_TEST_RUN", &path)
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let reported = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()))
        .map_while(Result::ok)
        .filter(|line| line.starts_with("recorded"))
        .take(40)
        .count();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(reported, 40);
    let data = read(&path).unwrap();
    assert!(data.points[0].phases[0].intervals.len() >= reported);
}

/// The child of the test above.
#[test]
#[ignore = "runs until it is killed; the test of a killed process starts it"]
fn records_until_it_is_killed() {
    let Some(path) = std::env::var_os("PLIMSOLL_TEST_RUN") else { return };
    let (mut run, point) = begin(Path::new(&path));
    for index in 0..100_000 {
        record(&mut run, point, index).unwrap();
        println!("recorded {index}");
    }
}

#[test]
fn a_run_is_read_while_it_is_recorded_by_another_process() {
    let folder = tempfile::tempdir().unwrap();
    let (mut run, point) = begin(&folder.path().join("run.plimsoll"));
    let copy = tempfile::tempdir().unwrap();
    for index in 0..3 {
        record(&mut run, point, index).unwrap();
        for name in ["run.plimsoll", "run.plimsoll-wal"] {
            fs::copy(folder.path().join(name), copy.path().join(name)).unwrap();
        }
        let data = read(&copy.path().join("run.plimsoll")).unwrap();
        assert_eq!(data.points[0].phases[0].intervals.len(), index as usize + 1);
    }
    run.finish().unwrap();
}
