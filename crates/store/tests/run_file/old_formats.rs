//! Run files of older formats are read, and what they do not declare is recovered from the names that things had then.
//!
//! In: runs of format 1 among the golden runs, and `format_2.plimsoll`, recorded by `plimsoll oltp --engine sqlite --clients 2 --rate 50
//! --warmup 1s --time 3s --interval 500ms` of the last version that wrote this format. Out: what is read of them. Limits: no run is ever
//! recorded again.

use model::{Background, CounterRole, EngineProcess, OpClass, ParamRole, RunData};
use std::path::{Path, PathBuf};
use store::{RunWriter, StoreError, read, read_meta, read_points_from};
use tempfile::TempDir;

/// A recorded run of format 1: `stall`, `engines` or `killed`.
fn of_format_1(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden").join(name).join("run.plimsoll")
}

fn of_format_2() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/run_file/format_2.plimsoll")
}

fn copy(name: &str) -> (TempDir, PathBuf) {
    copy_of(&of_format_1(name))
}

fn copy_of(original: &Path) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.plimsoll");
    std::fs::copy(original, &path).expect("a copy");
    (folder, path)
}

fn run(name: &str) -> RunData {
    read(&of_format_1(name)).expect("format 1 is read")
}

#[test]
fn a_run_of_format_1_has_roles_kinds_and_traits_by_name() {
    for name in ["stall", "engines", "killed"] {
        let run = run(name);
        assert!(run.meta.machine.cpus.is_some(), "{name}");
        for point in &run.points {
            let roles: Vec<CounterRole> =
                point.sources.iter().flat_map(|source| &source.counters).filter_map(|counter| counter.role).collect();
            assert!(roles.contains(&CounterRole::MachineCpuIdle), "{name}: {roles:?}");
            assert_ne!(point.traits.engine.process, EngineProcess::Unknown, "{name}");
            assert!(
                !point.kinds.is_empty()
                    && point.params.iter().any(|param| param.role == ParamRole::Mode || param.role == ParamRole::Work),
                "{name}"
            );
            assert_eq!(read_meta(&of_format_1(name)).expect("its head is read").meta, run.meta);
        }
    }
}

#[test]
fn points_from_a_number_on_are_those_of_the_whole_run() {
    let points = run("engines").points;
    assert!(points.len() > 2, "{}", points.len());
    for (place, first) in points.iter().enumerate() {
        let read = read_points_from(&of_format_1("engines"), first.id).expect("it is read");
        // The text shows all that is in a point.
        assert_eq!(format!("{read:?}"), format!("{:?}", &points[place..]));
    }
    let beyond = points.len() as u32 + 1;
    assert!(read_points_from(&of_format_1("engines"), beyond).expect("it is read").is_empty());
}

#[test]
fn what_an_operation_amounts_to_was_a_fact_of_format_1() {
    let (_folder, path) = copy("engines");
    let fact = r#"json_insert(facts, '$[#]', json('{"name":"rows_per_op.insert","value":"50"}'))"#;
    let db = rusqlite::Connection::open(&path).expect("it opens");
    db.execute(&format!("UPDATE point SET facts = {fact}"), []).expect("it takes a fact");
    db.close().expect("it closes");
    let kind = &read(&path).expect("it is read").points[0].kinds[0];
    assert_eq!((kind.class, kind.background, kind.rows_per_op), (OpClass::Write, false, 50.0));
}

/// The facts of clients in the background, of the flush after the load and of a drain have other names since.
#[test]
fn facts_of_format_1_are_found_under_their_old_names() {
    let (_folder, path) = copy("engines");
    let db = rusqlite::Connection::open(&path).expect("it opens");
    let old = [
        ("beside.kinds", "insert"),
        ("beside.clients", "2"),
        ("beside.per_s", "50"),
        ("load.rest_s", "0.5"),
        ("rest.unpaid_bytes", "4096"),
    ];
    for (name, value) in old {
        let fact = format!(r#"json_insert(facts, '$[#]', json('{{"name":"{name}","value":"{value}"}}'))"#);
        db.execute(&format!("UPDATE point SET facts = {fact}"), []).expect("it takes a fact");
    }
    db.close().expect("it closes");
    let point = &read(&path).expect("it is read").points[0];
    let (course, outcome) = (&point.traits.course, &point.traits.outcome);
    assert_eq!(course.background, [Background { kinds: vec![], clients: 2, per_s: Some(50.0) }]);
    assert!(point.kinds[0].background);
    assert_eq!((outcome.load_settle_s, outcome.pending_bytes), (Some(0.5), Some(4_096)));
}

#[test]
fn a_run_of_format_1_is_not_recorded_further() {
    let (_folder, path) = copy("killed");
    let refused = RunWriter::reopen(&path).err().expect("it is refused");
    assert!(matches!(refused, StoreError::Older { format: 1, .. }), "{refused}");
    let text = refused.to_string();
    assert!(text.lines().count() == 1 && text.ends_with("run its plan again without `--resume`"), "{text}");
}

#[test]
fn all_rows_of_a_run_of_format_2_are_those_of_the_machine_that_recorded_it() {
    let run = read(&of_format_2()).expect("format 2 is read");
    let point = &run.points[0];
    assert_eq!((run.points.len(), point.hosts.len(), point.sources.len()), (1, 0, 11));
    let intervals = point.phases.iter().flat_map(|phase| &phase.intervals);
    let done: u64 = intervals.flat_map(|interval| &interval.kinds).map(|kind| kind.ok).sum();
    assert_eq!((point.phases.len(), done), (4, 210));
    assert_eq!(point.counters.len(), 11 * 14);
    assert_eq!(read_meta(&of_format_2()).expect("its head is read").meta, run.meta);
}

#[test]
fn stacks_and_endpoints_of_format_2_are_read_and_may_be_missing() {
    let (_folder, path) = copy_of(&of_format_2());
    let change = |sql: &str| {
        let db = rusqlite::Connection::open(&path).expect("it opens");
        db.execute_batch(sql).expect("it is changed");
    };
    change(
        r#"INSERT INTO stack_snapshot VALUES (1, 5, 'random', 'gdb', 2, 1, 'main;work 1');
           UPDATE point SET traits = json_set(traits, '$.engine.endpoints', json('["n1","n2"]'));
           INSERT INTO endpoint_interval VALUES (1, 'run', 0, 1, '{"lost":2}', 0, NULL, 0, 0)"#,
    );
    let point = read(&path).expect("it is read").points.remove(0);
    assert_eq!((point.stacks.len(), point.endpoints[0].row.failed.total()), (1, 2));
    change("DROP TABLE stack_snapshot; DROP TABLE endpoint_interval");
    let point = read(&path).expect("earlier versions of the format made no such tables").points.remove(0);
    assert_eq!((point.stacks.len(), point.endpoints.len()), (0, 0));
    change("DROP TABLE kind");
    assert!(read(&path).expect_err("that was always there").to_string().contains("`kind` is missing"));
}

#[test]
fn a_run_of_format_2_is_not_recorded_further() {
    let (_folder, path) = copy_of(&of_format_2());
    let refused = RunWriter::reopen(&path).err().expect("it is refused");
    assert!(matches!(refused, StoreError::Older { format: 2, .. }), "{refused}");
}
