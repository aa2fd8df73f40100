//! A point that several hosts measured: exactly once, summed over them, and each on its own.

use crate::sample::*;
use model::*;
use rusqlite::Connection;
use std::path::Path;
use store::{Batch, PointId, RunWriter, StoreError, read};

fn host(id: u16, name: &str, role: HostRole) -> PointHost {
    PointHost {
        id: HostId(id),
        name: name.into(),
        incarnation: format!("{name}-1"),
        role,
        share: role.loads().then_some(LoadShare { clients: 2, part: 0.5 }),
        facts: vec![Fact::new("cpu.count", "8")],
        clock: Some(HostClock { offset_ns: -1_500, bound_ns: 40_000 }),
        start_skew_ns: Some(-12),
    }
}

fn source(subject: &str) -> SourceDef {
    SourceDef { subject: subject.into(), ..sources().remove(0) }
}

/// A point with its run phase begun, and two hosts that load and one that is observed.
fn begin_with_hosts(path: &Path) -> (RunWriter, PointId) {
    let (mut run, point) = begin(path);
    for (id, name, role) in [(1, "c1", HostRole::Load), (2, "c2", HostRole::Load), (3, "n1", HostRole::Observe)] {
        run.set_host(point, &host(id, name, role)).unwrap();
    }
    (run, point)
}

fn rows_of(intervals: Vec<IntervalRow>) -> HostRows {
    HostRows { intervals, ..HostRows::default() }
}

#[test]
fn the_hosts_of_a_point_are_read_as_they_were_last_described() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.plimsoll");
    let (mut run, point) = begin_with_hosts(&path);
    let known = PointHost { clock: None, start_skew_ns: Some(90_000), ..host(2, "c2", HostRole::LoadAndObserve) };
    run.set_host(point, &known).unwrap();
    run.finish().unwrap();
    let hosts: Vec<PointHost> = read(&path).unwrap().points.remove(0).hosts.into_iter().map(|one| one.host).collect();
    assert_eq!(hosts, [host(1, "c1", HostRole::Load), known, host(3, "n1", HostRole::Observe)]);
}

#[test]
fn intervals_of_hosts_are_summed_for_the_point_and_kept_for_each_host() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.plimsoll");
    let (mut run, point) = begin_with_hosts(&path);
    run.record_of_host(point, HostId(1), 1, &rows_of(vec![row(Phase::Run, 0, 0, 10)])).unwrap();
    run.record_of_host(point, HostId(2), 1, &rows_of(vec![row(Phase::Run, 2, 1, 7), row(Phase::Run, 0, 0, 5)]))
        .unwrap();
    run.record_of_host(point, HostId(2), 2, &rows_of(vec![row(Phase::Run, 0, 0, 1)])).unwrap();
    run.end_phase(point, Phase::Run, Tick(14 * SECOND.0), 40, 1).unwrap();
    run.finish().unwrap();

    let point = read(&path).unwrap().points.remove(0);
    let done = |intervals: &[Interval]| -> Vec<u64> {
        intervals.iter().map(|interval| interval.kinds.iter().map(|kind| kind.ok).sum()).collect()
    };
    assert_eq!(done(&point.phases[0].intervals), [16, 0, 7, 0]);
    let first = &point.phases[0].intervals[0];
    assert_eq!((first.kinds[0].response.len(), first.generator.cpu_user_ns), (16, 33));
    let of_host = |place: usize| done(&point.hosts[place].phase(Phase::Run).unwrap().intervals);
    assert_eq!((of_host(0), of_host(1)), (vec![10, 0, 0, 0], vec![6, 0, 7, 0]));
    assert_eq!(point.hosts[1].phases[0].intervals[0].kinds[0].service.len(), 6);
    assert!(point.hosts[2].phases.is_empty());
}

#[test]
fn each_host_has_its_sources_readings_and_events_and_the_point_has_those_of_the_recorder() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.plimsoll");
    let (mut run, point) = begin_with_hosts(&path);
    let event = |text: &str| Event::new(Tick(11), EventKind::HostLost, text);
    let rows = |sources: &[&str], samples: &[(u16, f64)], events: &[&str]| HostRows {
        sources: sources.iter().map(|subject| source(subject)).collect(),
        counters: samples.iter().map(|(source, value)| reading(11, *source, &[Some(*value), None])).collect(),
        events: events.iter().map(|text| event(text)).collect(),
        ..HostRows::default()
    };
    run.record_of_host(point, HostId(3), 1, &rows(&["a", "b"], &[(1, 31.0)], &["n"])).unwrap();
    run.record_of_host(point, HostId(1), 1, &rows(&["c"], &[], &[])).unwrap();
    run.record_of_host(point, HostId(3), 2, &rows(&["d"], &[(2, 32.0), (0, 30.0)], &[])).unwrap();
    run.record_of_host(point, HostId(1), 2, &rows(&[], &[(0, 10.0)], &["c"])).unwrap();
    let own = Batch { counters: &[reading(11, 0, &[Some(1.0), None])], events: &[event("own")], ..Batch::default() };
    run.record(point, &own).unwrap();
    run.finish().unwrap();

    let point = read(&path).unwrap().points.remove(0);
    assert_eq!((&point.sources, &point.events), (&sources(), &vec![event("own")]));
    assert_eq!(point.counters.samples(), own.counters);
    let [first, _, node] = &point.hosts[..] else { panic!("{} hosts", point.hosts.len()) };
    let subjects = |host: &HostData| -> Vec<String> { host.sources.iter().map(|one| one.subject.clone()).collect() };
    assert_eq!((subjects(first), subjects(node)), (vec!["c".to_owned()], vec!["a".into(), "b".into(), "d".into()]));
    let values =
        |host: &HostData, source| -> Vec<f64> { host.counters.of_counter(source, 0).map(|(_, value)| value).collect() };
    assert_eq!(values(first, 0), [10.0]);
    assert_eq!([0, 1, 2].map(|source| values(node, source)), [vec![30.0], vec![31.0], vec![32.0]]);
    assert_eq!((&first.events, &node.events), (&vec![event("c")], &vec![event("n")]));
}

#[test]
fn the_recorder_can_be_one_of_the_hosts() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.plimsoll");
    let (mut run, point) = begin(&path);
    run.set_host(point, &host(0, "c0", HostRole::Load)).unwrap();
    run.set_host(point, &host(1, "c1", HostRole::Load)).unwrap();
    record(&mut run, point, 0).unwrap();
    run.record_of_host(point, HostId(1), 1, &rows_of(vec![row(Phase::Run, 0, 0, 4)])).unwrap();
    run.finish().unwrap();
    let point = read(&path).unwrap().points.remove(0);
    let ok = |intervals: &[Interval]| intervals[0].kinds[0].ok;
    assert_eq!(ok(&point.phases[0].intervals), 54);
    let recorder = &point.hosts[0];
    assert_eq!((ok(&recorder.phases[0].intervals), &recorder.sources), (50, &point.sources));
    assert_eq!((&recorder.counters, &recorder.events), (&point.counters, &point.events));
}

#[test]
fn a_row_that_is_in_the_file_is_not_written_again_even_by_a_recorder_that_starts_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.plimsoll");
    let (mut run, point) = begin_with_hosts(&path);
    let rows = rows_of(vec![row(Phase::Run, 0, 0, 10)]);
    assert!(run.record_of_host(point, HostId(1), 4, &rows).unwrap());
    assert!(!run.record_of_host(point, HostId(1), 4, &rows).unwrap());
    assert!(!run.record_of_host(point, HostId(1), 3, &rows).unwrap());
    assert!(run.record_of_host(point, HostId(2), 1, &HostRows::default()).unwrap());
    drop(run);

    let mut run = RunWriter::reopen(&path).unwrap();
    let position = |host, name: &str, row| BusPosition {
        point: 1,
        host: HostId(host),
        name: name.into(),
        incarnation: format!("{name}-1"),
        row,
    };
    assert_eq!(run.bus_positions().unwrap(), [position(1, "c1", 4), position(2, "c2", 1)]);
    assert!(!run.record_of_host(point, HostId(1), 4, &rows).unwrap());
    assert!(run.record_of_host(point, HostId(1), 5, &rows).unwrap());
    run.finish().unwrap();
    assert_eq!(read(&path).unwrap().points[0].phases[0].intervals[0].kinds[0].ok, 20);
}

#[test]
fn rows_that_would_make_the_file_unreadable_are_refused_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.plimsoll");
    let (mut run, point) = begin_with_hosts(&path);
    let reading_of = |number: u16, values: &[Option<f64>]| HostRows {
        sources: vec![source("cpu")],
        counters: vec![reading(11, number, values)],
        ..HostRows::default()
    };
    let wrong = [
        (HostId(1), rows_of(vec![row(Phase::Run, 0, 0, 1), row(Phase::Warmup, 0, 0, 1)]), "`warmup` did not begin"),
        (HostId(1), rows_of(vec![row(Phase::Run, 0, 2, 1)]), "no operations of kind 2"),
        (HostId(1), reading_of(1, &[None, None]), "a reading of its source 1"),
        (HostId(1), reading_of(0, &[None]), "a reading of its source 0"),
        (HostId(9), HostRows::default(), "no such host"),
    ];
    for (host, rows, what) in wrong {
        let refused = run.record_of_host(point, host, 1, &rows).unwrap_err();
        assert!(matches!(refused, StoreError::Unfit { .. }), "{refused}");
        let text = refused.to_string();
        assert!(text.contains(what) && text.ends_with("run the same plimsoll on all hosts"), "{text}");
    }
    assert_eq!(run.bus_positions().unwrap(), []);
    run.finish().unwrap();
    let point = read(&path).unwrap().points.remove(0);
    assert!(point.phases[0].intervals.is_empty() && point.hosts.iter().all(|host| host.sources.is_empty()));
}

#[test]
fn what_the_recorder_notices_of_a_host_is_an_event_of_that_host() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.plimsoll");
    let (mut run, point) = begin_with_hosts(&path);
    let lost = Event::new(Tick(12 * SECOND.0), EventKind::HostLost, "its lease has ended");
    run.record_event_of_host(point, HostId(2), &lost).unwrap();
    let refused = run.record_event_of_host(point, HostId(9), &lost).unwrap_err();
    assert!(matches!(refused, StoreError::Unfit { host: HostId(9), .. }), "{refused}");
    assert_eq!(run.bus_positions().unwrap(), []);
    run.finish().unwrap();
    let point = read(&path).unwrap().points.remove(0);
    assert_eq!((point.events.len(), &point.hosts[1].events), (0, &vec![lost]));
}

#[test]
fn people_with_sql_see_the_throughput_of_each_host() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.plimsoll");
    let (mut run, point) = begin_with_hosts(&path);
    for (host, ok) in [(1, 10), (2, 7)] {
        run.record_of_host(point, HostId(host), 1, &rows_of(vec![row(Phase::Run, 0, 0, ok)])).unwrap();
    }
    run.finish().unwrap();
    let db = Connection::open(&path).unwrap();
    let mut query = db.prepare("SELECT host || ' ' || ok FROM throughput_by_host ORDER BY 1").unwrap();
    let shown: Vec<String> = query.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    assert_eq!(shown, ["c1 10", "c2 7"]);
    let all: i64 = db.query_row("SELECT ok FROM throughput", [], |row| row.get(0)).unwrap();
    assert_eq!(all, 17);
}
