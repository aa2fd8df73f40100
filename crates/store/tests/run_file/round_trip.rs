//! What is written is read: whole, summed, in order, and by people with SQL.

use crate::sample::*;
use model::*;
use rusqlite::Connection;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use store::{Batch, RunWriter, StoreError, read, read_meta, read_points_from, read_wall_times};
use tempfile::TempDir;

fn place() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a run.plimsoll");
    (folder, path)
}

fn background() -> Background {
    Background { kinds: vec![OpKind(1)], clients: 3, per_s: Some(12.5) }
}

#[test]
fn what_is_known_of_run_and_point_is_read_as_written() {
    let (_folder, path) = place();
    let mut run = RunWriter::create(&path, &meta()).unwrap();
    let first = begin_point(&mut run, &trial()).unwrap();
    run.add_facts(first, &[Fact::new("data.bytes", "4096"), Fact::new("say", "\"'[],")]).unwrap();
    run.set_background(first, vec![background()]).unwrap();
    run.finish_point(first, PointState::Failed, Some("the engine is gone")).unwrap();
    let second = run.begin_point(&bare(&trial(), &PointTraits::default())).unwrap();
    run.finish_point(second, PointState::Complete, None).unwrap();
    run.finish().unwrap();

    let data = read(&path).unwrap();
    assert_eq!(data.meta, meta());
    assert_eq!(data.points.iter().map(|point| point.id).collect::<Vec<_>>(), [1, 2]);
    let point = &data.points[0];
    assert_eq!((point.state, point.error.as_deref()), (PointState::Failed, Some("the engine is gone")));
    assert_eq!((&point.trial, &point.params, &point.sources), (&trial(), &params(), &sources()));
    let mut kinds = kinds();
    kinds[1].background = true;
    assert_eq!(point.kinds, kinds);
    let facts = [("version", "3.54"), ("engine.process", "own"), ("data.bytes", "4096"), ("say", "\"'[],")];
    assert_eq!(point.facts, facts.map(|(name, value)| Fact::new(name, value)));
    let mut traits = traits();
    (traits.engine.process, traits.outcome.data_bytes) = (EngineProcess::Own, Some(4_096));
    traits.course.background = vec![background()];
    assert_eq!(point.traits, traits);
    assert_eq!(data.points[1].traits, PointTraits::default());
}

#[test]
fn a_point_took_the_time_from_the_end_of_the_one_before_or_from_when_its_session_went_on() {
    let (_folder, path) = place();
    let mut run = RunWriter::create(&path, &meta()).unwrap();
    let second = |n: u64| Tick(n * SECOND.0);
    // When it begins and ends, and its first gap. The second is killed at once; the gap of the last is within its phase.
    let all = [(3, Some(5), None), (7, None, None), (102, Some(104), Some(100)), (105, Some(107), Some(106))];
    for (began, ended, gap) in all {
        let point = begin_point(&mut run, &trial()).unwrap();
        let events: Vec<Event> =
            gap.map(|at| Event::new(second(at), EventKind::ClockGap, "a gap")).into_iter().collect();
        run.record(point, &Batch { events: &events, ..Batch::default() }).unwrap();
        run.begin_phase(point, Phase::Run, second(began)).unwrap();
        ended.iter().for_each(|at| run.end_phase(point, Phase::Run, second(*at), 0, 0).unwrap());
    }
    run.finish().unwrap();
    let seconds: Vec<(u32, u64)> =
        read_wall_times(&path).unwrap().iter().map(|(point, took)| (*point, took.0 / SECOND.0)).collect();
    assert_eq!(seconds, [(1, 5), (2, 2), (3, 4), (4, 3)]);
}

#[test]
fn points_from_a_number_on_are_those_of_the_whole_run() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/engines/run.plimsoll");
    let points = read(&path).unwrap().points;
    assert!(points.len() > 2, "{}", points.len());
    for (place, first) in points.iter().enumerate() {
        // The text shows all that is in a point.
        assert_eq!(format!("{:?}", read_points_from(&path, first.id).unwrap()), format!("{:?}", &points[place..]));
    }
    assert!(read_points_from(&path, points.len() as u32 + 1).unwrap().is_empty());
}

#[test]
fn stacks_are_read_as_written_and_in_the_order_of_time() {
    let (_folder, path) = place();
    let (mut run, point) = begin(&path);
    let snapshot = |at_s: u64, reason, frames: [&str; 2]| StackSnapshot {
        at: Tick(at_s * SECOND.0),
        reason,
        tool: "gdb".to_owned(),
        took: Nanos::from_millis(300),
        stopped: Nanos::from_millis(120),
        stacks: vec![FoldedStack::new("mariadbd", frames)],
    };
    let stall = snapshot(12, StackReason::Stall, ["main", "wait (lock)"]);
    let random = snapshot(11, StackReason::Random, ["main", "work"]);
    run.record(point, &Batch { stacks: &[stall.clone(), random.clone()], ..Batch::default() }).unwrap();
    run.finish_point(point, PointState::Complete, None).unwrap();
    run.finish().unwrap();
    assert_eq!(read(&path).unwrap().points[0].stacks, [random, stall]);
}

#[test]
fn what_was_done_on_each_endpoint_is_summed_and_only_of_endpoints_that_are_declared() {
    let (_folder, path) = place();
    let (mut run, point) = begin(&path);
    run.add_facts(point, &[Fact::new("endpoints", "n1:3306, n2:3306")]).unwrap();
    let row = |index, endpoint, ok: u64, lost: u64| {
        let mut failed = FailureCounts::default();
        failed.add_of(FailureClass::Lost, lost);
        let response = times_of((0..ok).map(|n| 100_000 + n * 1_237));
        EndpointInterval { phase: Phase::Run, index, row: EndpointRow { endpoint, ok, failed, response } }
    };
    let rows = [row(1, 1, 5, 0), row(0, 1, 7, 1), row(0, 0, 9, 0), row(0, 1, 2, 2)];
    run.record(point, &Batch { endpoints: &rows, ..Batch::default() }).unwrap();
    run.finish().unwrap();
    let read_back = read(&path).unwrap().points.remove(0);
    assert_eq!(read_back.traits.engine.endpoints, ["n1:3306", "n2:3306"]);
    let [first, sum, last] = &read_back.endpoints[..] else { panic!("{:?}", read_back.endpoints) };
    assert_eq!((first, last), (&rows[2], &rows[0]));
    assert_eq!((sum.row.endpoint, sum.row.ok, sum.row.failed.total(), sum.row.response.len()), (1, 9, 3, 9));
    let none = "UPDATE endpoint_interval SET endpoint = 2 WHERE interval = 1";
    Connection::open(&path).unwrap().execute_batch(none).unwrap();
    assert!(read(&path).unwrap_err().to_string().contains("no endpoint 2"));
}

#[test]
fn intervals_counters_and_events_are_read_as_written() {
    let (_folder, path) = place();
    write_finished(&path, 3);
    let data = read(&path).unwrap();
    let point = &data.points[0];
    let phase = point.phase(Phase::Run).unwrap();
    assert_eq!((phase.start, phase.end), (Tick(10 * SECOND.0), Tick(13 * SECOND.0)));
    assert_eq!((phase.offered, phase.unserved, phase.intervals.len()), (500, 5, 3));
    for (index, interval) in (0..).zip(&phase.intervals) {
        let written = row(Phase::Run, index, 0, 50 + u64::from(index));
        assert_eq!((interval.index, interval.start, interval.length), (index, written.start, SECOND));
        assert_eq!((interval.generator, interval.kinds.len()), (written.generator, 1));
        let (kind, made) = (&interval.kinds[0], &written.kinds[0]);
        assert_eq!(kind, made);
    }
    assert_eq!(point.counters.samples()[1], reading(12, 0, &[Some(12e9), None]));
    assert_eq!(point.events[2], Event::new(Tick(13 * SECOND.0), EventKind::Engine, "second 13"));
}

#[test]
fn increments_of_one_interval_are_summed() {
    let (_folder, path) = place();
    let (mut run, point) = begin(&path);
    // A closed-loop part, an open-loop part and another kind, delivered in three ticks.
    for part in [row(Phase::Run, 1, 0, 7), row(Phase::Run, 1, 0, 10), row(Phase::Run, 1, 1, 5)] {
        run.record(point, &Batch { intervals: &[part], ..Batch::default() }).unwrap();
    }
    run.finish().unwrap();
    let data = read(&path).unwrap();
    let interval = &data.points[0].phases[0].intervals[1];
    let [first, second] = &interval.kinds[..] else { panic!("{} kinds", interval.kinds.len()) };
    assert_eq!((first.ok, first.failed, first.bytes, first.late), (17, 6, 17 * 16_384, 4));
    assert_eq!((first.service.len(), first.response.len()), (17, 17));
    assert_eq!(first.response.count_from(500_000), 10);
    assert_eq!((second.kind, second.ok), (OpKind(1), 5));
    assert_eq!((interval.generator.cpu_user_ns, interval.generator.lag_max_ns), (33, 17));
}

#[test]
fn missing_intervals_are_empty_ones_on_the_grid_up_to_the_end_of_the_phase() {
    let (_folder, path) = place();
    let (mut run, point) = begin(&path);
    record(&mut run, point, 2).unwrap();
    run.end_phase(point, Phase::Run, Tick(15 * SECOND.0 + 5), 0, 0).unwrap();
    run.finish_point(point, PointState::Complete, None).unwrap();
    run.finish().unwrap();
    let data = read(&path).unwrap();
    let intervals = &data.points[0].phases[0].intervals;
    let starts: Vec<u64> = intervals.iter().map(|interval| interval.start.0 / SECOND.0).collect();
    let busy: Vec<bool> = intervals.iter().map(|interval| !interval.kinds.is_empty()).collect();
    assert_eq!(starts, [10, 11, 12, 13, 14]);
    assert_eq!(busy, [false, false, true, false, false]);
}

#[test]
fn an_interval_in_which_nothing_ended_keeps_what_the_generator_used() {
    let (_folder, path) = place();
    let (mut run, point) = begin(&path);
    let idle = IntervalRow { kinds: Vec::new(), length: Nanos(77), ..row(Phase::Run, 0, 0, 1) };
    run.record(point, &Batch { intervals: &[idle], ..Batch::default() }).unwrap();
    run.finish().unwrap();
    let data = read(&path).unwrap();
    let interval = &data.points[0].phases[0].intervals[0];
    assert_eq!((interval.kinds.len(), interval.length, interval.generator.cpu_system_ns), (0, Nanos(77), 12));
}

#[test]
fn phases_readings_and_events_come_in_order_of_time() {
    let (_folder, path) = place();
    let (mut run, point) = begin(&path);
    run.begin_phase(point, Phase::Prepare, Tick(1)).unwrap();
    let batch = Batch {
        intervals: &[],
        stacks: &[],
        counters: &[reading(9, 1, &[Some(0.5)]), reading(3, 0, &[Some(-1.25), Some(1e300)])],
        events: &[Event::new(Tick(9), EventKind::Phase, "late"), Event::new(Tick(3), EventKind::ClockGap, "early")],
        ..Batch::default()
    };
    run.record(point, &batch).unwrap();
    run.finish().unwrap();
    let point = read(&path).unwrap().points.remove(0);
    assert_eq!(point.phases.iter().map(|phase| phase.phase).collect::<Vec<_>>(), [Phase::Prepare, Phase::Run]);
    assert_eq!(point.counters.samples(), [batch.counters[1].clone(), batch.counters[0].clone()]);
    assert_eq!(point.events, [batch.events[1].clone(), batch.events[0].clone()]);
}

#[test]
fn a_value_that_is_not_finite_is_a_gap() {
    let (_folder, path) = place();
    let (mut run, point) = begin(&path);
    let broken = reading(1, 0, &[Some(f64::NAN), Some(f64::INFINITY)]);
    run.record(point, &Batch { counters: &[broken], ..Batch::default() }).unwrap();
    run.finish().unwrap();
    assert_eq!(read(&path).unwrap().points[0].counters.samples()[0].values, [None, None]);
}

#[test]
fn a_list_needs_no_measurements() {
    let (_folder, path) = place();
    write_finished(&path, 2);
    let head = read_meta(&path).unwrap();
    assert_eq!(head.meta, meta());
    let point = &head.points[0];
    assert_eq!((point.id, point.state, point.engine.as_str()), (1, PointState::Complete, "sqlite"));
    assert_eq!((point.workload.as_str(), point.clients, point.depth, point.repeat), ("oltp", 4, 2, 1));
}

#[test]
fn a_target_with_a_path_is_called_by_it() {
    let (_folder, path) = place();
    let mut run = RunWriter::create(&path, &meta()).unwrap();
    let mut trial = trial();
    trial.target.path = Some("/data/f0".into());
    run.begin_point(&bare(&trial, &PointTraits::default())).unwrap();
    run.finish().unwrap();
    assert_eq!(read_meta(&path).unwrap().points[0].engine, "/data/f0");
}

#[test]
fn a_finished_run_is_exactly_one_file_that_the_group_may_read() {
    let (folder, path) = place();
    write_finished(&path, 3);
    assert_eq!(files_in(folder.path()).into_keys().collect::<Vec<_>>(), ["a run.plimsoll"]);
    let mode = std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode & !0o640, 0, "mode {mode:o}");
    read(&path).unwrap();
    assert_eq!(files_in(folder.path()).len(), 1);
}

#[test]
fn an_existing_file_is_never_overwritten() {
    let (_folder, path) = place();
    std::fs::write(&path, "somebody's").unwrap();
    let refused = RunWriter::create(&path, &meta()).err().unwrap();
    assert!(matches!(refused, StoreError::Exists { .. }), "{refused}");
    assert_eq!(std::fs::read(&path).unwrap(), b"somebody's");
}

#[test]
fn a_run_in_a_directory_that_is_not_there_is_refused_by_name() {
    let (folder, _) = place();
    let path = folder.path().join("gone/run.plimsoll");
    let refused = RunWriter::create(&path, &meta()).err().unwrap().to_string();
    assert!(refused.contains("gone/run.plimsoll`"), "{refused}");
}

#[test]
fn people_with_sql_see_throughput_and_named_counters() {
    let (_folder, path) = place();
    write_finished(&path, 2);
    let db = Connection::open(&path).unwrap();
    let rates: Vec<(u32, u64, f64)> = rows(&db, "SELECT interval, ok, ops_per_s FROM throughput", |row| {
        (row.get(0).unwrap(), row.get::<_, i64>(1).unwrap() as u64, row.get(2).unwrap())
    });
    assert_eq!(rates, [(0, 50, 50.0), (1, 51, 51.0)]);
    let sql = "SELECT name || ' ' || coalesce(value, 'gap') FROM counter_long WHERE at_ns = 11000000000 ORDER BY 1";
    let named: Vec<String> = rows(&db, sql, |row| row.get(0).unwrap());
    assert_eq!(named, ["system_ns gap", "user_ns 11000000000"]);
    let params: Vec<String> = rows(&db, "SELECT params ->> 'cache' FROM point", |row| row.get(0).unwrap());
    assert_eq!(params, ["64 MiB"]);
}

#[test]
fn people_with_sql_see_the_measured_clients_without_those_in_the_background() {
    let (_folder, path) = place();
    let mut run = RunWriter::create(&path, &meta()).unwrap();
    let point = begin_point(&mut run, &trial()).unwrap();
    run.set_background(point, vec![background()]).unwrap();
    let both = [row(Phase::Run, 0, 0, 50), row(Phase::Run, 0, 1, 7), row(Phase::Run, 1, 1, 8)];
    run.record(point, &Batch { intervals: &both, ..Batch::default() }).unwrap();
    run.finish().unwrap();
    let db = Connection::open(&path).unwrap();
    let take = |row: &rusqlite::Row| (row.get(0).unwrap(), row.get(1).unwrap());
    let all: Vec<(u32, f64)> = rows(&db, "SELECT interval, ops_per_s FROM throughput ORDER BY 1", take);
    assert_eq!(all, [(0, 50.0), (1, 0.0)]);
    let sql = "SELECT kind || ' ' || background || ' ' || ops_per_s FROM throughput_by_kind ORDER BY interval, kind";
    let by_kind: Vec<String> = rows(&db, sql, |row| row.get(0).unwrap());
    assert_eq!(by_kind, ["read 0 50.0", "write 1 7.0", "write 1 8.0"]);
}

fn rows<T>(db: &Connection, sql: &str, take: impl Fn(&rusqlite::Row) -> T) -> Vec<T> {
    let mut query = db.prepare(sql).unwrap();
    query.query_map([], |row| Ok(take(row))).unwrap().map(|row| row.unwrap()).collect()
}
