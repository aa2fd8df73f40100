//! Files that fio 3.33, sysbench 1.0.20 and pgbench 15 have written, read and written as run files.
//!
//! In: the directory `fixtures`, as the programs wrote it (names of files and disks left out). Out: the totals are those that the program
//! printed. Limits: a catalogue without engines; what declared parameters do is tested with the program.

mod common;

use common::catalogue;
use import::{ImportError, ImportedPoint, ImportedRun, StatedSettings, read_files};
use model::{Nanos, Pacing, Phase, PointData, PointState, Times};
use proptest::prelude::*;
use std::fs;
use std::path::{Path, PathBuf};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

fn import(files: &[PathBuf]) -> Result<ImportedRun, ImportError> {
    read_files(files, &StatedSettings::default(), &catalogue())
}

fn imported(names: &[&str]) -> ImportedRun {
    import(&names.iter().map(|name| fixture(name)).collect::<Vec<_>>()).unwrap()
}

/// The points of the run file that is made of the files.
fn stored(names: &[&str]) -> Vec<PointData> {
    let folder = tempfile::tempdir().unwrap();
    let path = imported(names).write(folder.path(), "run").unwrap();
    store::read(&path).unwrap().points
}

fn fact<'a>(point: &'a ImportedPoint, name: &str) -> Option<&'a str> {
    point.facts.iter().find(|fact| fact.name == name).map(|fact| fact.value.as_str())
}

/// What a point has done by the end of its run phase, and all its response times.
fn totals(point: &PointData) -> (u64, u64, u64, Times) {
    let intervals = &point.phase(Phase::Run).expect("it has a run phase").intervals;
    let kinds = || intervals.iter().flat_map(|interval| &interval.kinds);
    let sum = |of: fn(&model::KindRow) -> u64| kinds().map(of).sum();
    (
        sum(|kind| kind.ok),
        sum(|kind| kind.failed),
        sum(|kind| kind.bytes),
        Times::merged(kinds().map(|kind| &kind.response)),
    )
}

fn seconds(point: &PointData) -> f64 {
    let run = point.phase(Phase::Run).unwrap();
    run.end.since(run.start).as_secs_f64()
}

#[test]
fn jobs_of_fio_are_points_with_the_totals_that_fio_printed() {
    let json: serde_json::Value = serde_json::from_str(&fs::read_to_string(fixture("fio.json")).unwrap()).unwrap();
    let points = stored(&["fio.json", "jobs_iops.1.log"]);
    assert_eq!(points.len(), 2, "the clones of a job are one point");
    let printed = |jobs: &[usize], key: &str| -> u64 {
        let one = |job: &usize, way: &str| json["jobs"][*job][way][key].as_u64().unwrap();
        jobs.iter().map(|job| one(job, "read") + one(job, "write")).sum()
    };
    for (point, jobs) in points.iter().zip([&[0][..], &[1, 2]]) {
        let (ok, failed, bytes, times) = totals(point);
        assert_eq!((ok, failed, bytes), (printed(jobs, "total_ios"), 0, printed(jobs, "io_bytes")));
        assert_eq!(times.len(), ok);
        assert_eq!(point.traits.imported.as_deref(), Some("fio 3.33"));
    }
    let read = &json["jobs"][0]["read"];
    let times = totals(&points[0]).3;
    for (percentile, quantile) in [("50.000000", 0.5), ("99.000000", 0.99), ("99.900000", 0.999)] {
        let (own, of_fio) =
            (times.value_at_quantile(quantile) as f64, read["clat_ns"]["percentile"][percentile].as_f64().unwrap());
        assert!((own / of_fio - 1.0).abs() < 0.02, "{percentile}: {own} for {of_fio}");
    }
    assert_eq!(times.max_ns(), read["clat_ns"]["max"].as_u64().unwrap());
    assert!((times.mean_ns() - read["clat_ns"]["mean"].as_f64().unwrap()).abs() < 1.0);
    assert!((28_641.0 / seconds(&points[0]) - read["iops"].as_f64().unwrap()).abs() < 0.01);
}

#[test]
fn options_of_fio_are_clients_depth_and_parameters() {
    let points = stored(&["fio.json"]);
    let loads: Vec<(u32, u32)> =
        points.iter().map(|point| (point.trial.load.clients, point.trial.load.depth)).collect();
    assert_eq!(loads, [(1, 1), (2, 4)]);
    let modes: Vec<&str> = points.iter().map(|point| point.trial.workload.params.word("mode")).collect();
    assert_eq!(modes, ["rndrd", "rndrw"]);
    assert_eq!(points[1].trial.workload.params.float("read_share"), 0.7);
    assert_eq!((points[0].trial.target.params.word("io"), points[1].trial.target.params.word("io")), ("sync", "aio"));
}

#[test]
fn averaged_logs_of_fio_are_intervals_and_no_times() {
    for log in ["jobs_iops.1.log", "jobs_bw.1.log"] {
        let run = imported(&["fio.json", log]);
        let timeline = run.points()[0].timeline.as_ref().expect(log);
        assert_eq!((timeline.interval, timeline.counts[0].len()), (Nanos(500_000_000), 6), "{log}");
        assert_eq!(timeline.counts[0].iter().sum::<u64>(), 28_641);
        assert!(timeline.times.is_empty() && run.points()[1].timeline.is_none());
    }
    let point = &stored(&["fio.json", "jobs_iops.1.log"])[0];
    let run = point.phase(Phase::Run).unwrap();
    let with_times: Vec<u32> = run
        .intervals
        .iter()
        .filter(|one| one.kinds.iter().any(|kind| !kind.response.is_empty()))
        .map(|one| one.index)
        .collect();
    assert_eq!(with_times.len(), 1);
    assert!(run.intervals[with_times[0] as usize].start >= run.end, "times of the whole run are in no interval of it");
}

#[test]
fn logs_of_single_operations_of_fio_are_intervals_with_exact_times() {
    let run = imported(&["fio-perio.json", "single_clat.1.log"]);
    let point = &run.points()[0];
    let timeline = point.timeline.as_ref().expect("it has a log");
    assert_eq!((timeline.counts[0].len(), timeline.counts[0].iter().sum::<u64>()), (3, 901));
    assert_eq!(timeline.times[0].iter().map(|(response, _)| response.len()).sum::<u64>(), 901);
    let text = fs::read_to_string(fixture("single_clat.1.log")).unwrap();
    let longest = text.lines().map(|line| line.split(", ").nth(1).unwrap().parse::<u64>().unwrap()).max();
    assert_eq!(Some(totals(&stored(&["fio-perio.json", "single_clat.1.log"])[0]).3.max_ns()), longest);
}

#[test]
fn percentiles_without_bins_are_those_that_fio_printed() {
    let json: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(fixture("fio-perio.json")).unwrap()).unwrap();
    let times = totals(&stored(&["fio-perio.json"])[0]).3;
    for (percentile, quantile) in [("50.000000", 0.5), ("95.000000", 0.95), ("99.000000", 0.99), ("99.900000", 0.999)] {
        let of_fio = json["jobs"][0]["write"]["clat_ns"]["percentile"][percentile].as_f64().unwrap();
        let own = times.value_at_quantile(quantile) as f64;
        assert!((own / of_fio - 1.0).abs() < 0.002, "{percentile}: {own} for {of_fio}");
    }
}

#[test]
fn sysbench_has_its_totals_its_intervals_and_its_histogram() {
    let run = imported(&["sysbench.txt"]);
    let point = &run.points()[0];
    let timeline = point.timeline.as_ref().expect("it printed intervals");
    assert_eq!((timeline.counts[0].len(), timeline.counts[0].iter().sum::<u64>()), (9, 4_025));
    assert_eq!((timeline.counts[0][5], timeline.counts[0][6]), (965, 3), "964.05 and 3.00 per second were printed");
    assert_eq!(timeline.failed[0], [1, 4, 0, 2, 2, 3, 0, 3, 3]);
    assert_eq!(fact(point, "sysbench.p95_ms"), Some("6.09"));
    let stored = &stored(&["sysbench.txt"])[0];
    let (ok, failed, _, times) = totals(stored);
    assert_eq!((ok, failed, times.len(), times.max_ns()), (4_025, 18, 4_025, 1_008_130_000));
    assert!(
        (times.mean_ns() / 1e6 - 4.47).abs() < 0.005
            && (times.value_at_quantile(0.95) as f64 / 1e6 - 6.09).abs() < 0.06
    );
    assert!((ok as f64 / seconds(stored) - 446.77).abs() < 0.05, "{}", ok as f64 / seconds(stored));
    assert!((stored.kinds[0].queries_per_op - 80_818.0 / 4_025.0).abs() < 1e-9);
    assert_eq!((stored.trial.load.clients, stored.trial.target.engine.as_str()), (2, "unknown"));
}

#[test]
fn fileio_of_sysbench_is_a_file_with_its_block_its_mode_and_its_syncs() {
    let run = imported(&["sysbench-fileio.txt"]);
    let point = &run.points()[0];
    let counts: Vec<(&str, u64)> = point.kinds.iter().map(|kind| (kind.def.name.as_str(), kind.ok)).collect();
    assert_eq!(counts, [("read", 18_010), ("write", 12_007), ("fsync", 4_803)]);
    let timeline = point.timeline.as_ref().expect("it printed intervals");
    assert_eq!((timeline.counts.len(), timeline.counts[0].iter().sum::<u64>()), (3, 18_010));
    let io = point.io.expect("it is a file");
    assert_eq!((io.block.0, io.read_share, io.syncs), (16_384, 0.6, true));
    let stored = &stored(&["sysbench-fileio.txt"])[0];
    assert_eq!((stored.trial.target.engine.as_str(), stored.trial.workload.name.as_str()), ("file", "file"));
    let mode = |name: &str| stored.trial.workload.params.0[name].to_string();
    assert_eq!([mode("mode"), mode("block"), mode("fsync_every")], ["rndrw", "16 KiB", "100"]);
    assert_eq!(fact(point, "sysbench.p95_ms"), Some("0.52"));
}

#[test]
fn fileio_of_old_sysbench_has_its_counts() {
    let run = imported(&["sysbench-0.4-fileio.txt"]);
    let point = &run.points()[0];
    let [written] = point.kinds.as_slice() else { panic!("{:?}", point.kinds) };
    assert_eq!((written.def.name.as_str(), written.ok, written.bytes), ("write", 23_520, 23_520 * 16_384));
    assert_eq!((point.clients, point.io.map(|io| io.read_share)), (8, Some(0.0)));
}

#[test]
fn checkpoints_of_sysbench_are_added_up() {
    let point = &stored(&["sysbench-checkpoints.txt"])[0];
    let (ok, _, _, times) = totals(point);
    assert_eq!((ok, times.len()), (79_176 + 55_443, 0), "percentiles of parts give none of the whole");
    assert!((seconds(point) - 4.0081).abs() < 1e-6);
    assert!(imported(&["sysbench-checkpoints.txt"]).points()[0].timeline.is_some());
}

#[test]
fn a_rate_of_sysbench_is_an_open_loop() {
    let point = &stored(&["sysbench-rate.txt"])[0];
    assert!(matches!(point.trial.load.pacing, Pacing::Open { arrivals } if arrivals.per_s() == 50.0));
    assert_eq!(totals(point).0, 144);
}

#[test]
fn pgbench_has_its_totals_and_the_exact_times_of_its_logs() {
    let files = ["pgbench.txt", "pgbench_log.1", "pgbench_log.1.1"];
    let point = &stored(&files)[0];
    let (ok, failed, _, times) = totals(point);
    assert_eq!((ok, failed, times.len()), (600, 0, 600));
    assert!((ok as f64 / seconds(point) - 545.805_349).abs() < 0.001);
    assert!((times.mean_ns() / 1e6 - 3.420).abs() < 0.001, "{}", times.mean_ns());
    let longest = |name: &str| {
        fs::read_to_string(fixture(name))
            .unwrap()
            .lines()
            .map(|line| line.split(' ').nth(2).unwrap().parse::<u64>().unwrap())
            .max()
    };
    assert_eq!(Some(times.max_ns() / 1_000), longest("pgbench_log.1").max(longest("pgbench_log.1.1")));
    assert_eq!((point.trial.load.clients, point.trial.target.engine.as_str()), (2, "postgresql"));
    let run = imported(&files);
    assert_eq!(fact(&run.points()[0], "pgbench.statement.11"), Some("0.382           0  END;"));
    assert_eq!(run.points()[0].workload_params.int("scale"), 1);
}

#[test]
fn lines_of_progress_are_intervals_without_times() {
    let run = imported(&["pgbench-aggregate.txt"]);
    let timeline = run.points()[0].timeline.as_ref().expect("it printed intervals");
    assert_eq!((timeline.counts[0].len(), timeline.counts[0].iter().sum::<u64>()), (5, 1_432));
    assert_eq!(totals(&stored(&["pgbench-aggregate.txt"])[0]).3.len(), 0);
}

#[test]
fn an_aggregated_log_that_begins_before_the_run_gives_way_to_lines_of_progress() {
    let run = imported(&["pgbench-aggregate.txt", "pgbench_aggregate_log.1"]);
    assert_eq!(run.points()[0].timeline.as_ref().unwrap().counts[0].iter().sum::<u64>(), 1_432);
}

#[test]
fn transactions_behind_schedule_have_another_service_time() {
    let point = &stored(&["pgbench-rate.txt", "pgbench_rate_log.1"])[0];
    let kinds = || point.phase(Phase::Run).unwrap().intervals.iter().flat_map(|interval| &interval.kinds);
    let (response, service) =
        (Times::merged(kinds().map(|kind| &kind.response)), Times::merged(kinds().map(|kind| &kind.service)));
    assert!(service.sum_ns() < response.sum_ns() && service.len() == response.len());
}

#[test]
fn scripts_of_pgbench_are_facts() {
    let run = imported(&["pgbench-scripts.txt"]);
    assert_eq!(run.points()[0].kinds[0].ok, 100);
    assert!(
        run.points()[0]
            .facts
            .iter()
            .any(|fact| fact.name == "pgbench.script" && fact.value.contains("75 transactions"))
    );
}

#[test]
fn files_of_several_programs_become_one_run_and_equal_ones_repeats() {
    let run = imported(&["sysbench.txt", "pgbench.txt", "sysbench.txt"]);
    assert!(run.usual_name().ends_with("-pgbench-sysbench"), "{}", run.usual_name());
    let points = stored(&["sysbench.txt", "pgbench.txt", "sysbench.txt"]);
    assert_eq!(points.iter().map(|point| point.trial.repeat).collect::<Vec<_>>(), [1, 1, 2]);
    assert!(points.iter().all(|point| point.state == PointState::Complete));
}

#[test]
fn a_run_is_never_overwritten_and_leaves_nothing_but_itself() {
    let folder = tempfile::tempdir().unwrap();
    let runs = folder.path().join("runs");
    let run = imported(&["sysbench.txt"]);
    let path = run.write(&runs, "mine").unwrap();
    let before = fs::read(&path).unwrap();
    assert!(matches!(run.write(&runs, "mine"), Err(ImportError::Store(store::StoreError::Exists { .. }))));
    assert!(run.write(&runs, "../mine").is_err());
    assert_eq!((fs::read(&path).unwrap(), fs::read_dir(&runs).unwrap().count()), (before, 1));
}

/// The error that a file called `name` with these contents gives: always one line.
fn refusal(name: &str, contents: &[u8], more: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, contents).unwrap();
    let files: Vec<PathBuf> = std::iter::once(path).chain(more.iter().map(|name| fixture(name))).collect();
    let refused = import(&files).map(|_| ()).expect_err(name).to_string();
    assert!(!refused.contains('\n') && refused.len() < 600, "{refused}");
    refused
}

#[test]
fn bad_files_are_refused_with_their_line_and_what_was_expected() {
    let sysbench = fs::read_to_string(fixture("sysbench.txt")).unwrap();
    let pgbench = fs::read_to_string(fixture("pgbench.txt")).unwrap();
    let fio = fs::read_to_string(fixture("fio-perio.json")).unwrap();
    let cut = sysbench.split("SQL statistics").next().unwrap();
    for (name, contents, more, parts) in [
        ("empty", String::new(), &[][..], &["is empty"][..]),
        ("other", "hello\n".to_owned(), &[], &["not the output of a program that is known"]),
        ("cut", cut.to_owned(), &[], &["SQL statistics", "cut"]),
        ("word", sysbench.replace("tps: 80.00", "tps: many"), &[], &["line 15", "--report-interval"]),
        (
            "negative",
            sysbench.replace("transactions:                        4025", "transactions: -4025"),
            &[],
            &["a whole number", "`-4025`"],
        ),
        (
            "huge",
            pgbench.replace("processed: 600", "processed: 99999999999999999999"),
            &[],
            &["a whole number", "line 11"],
        ),
        (
            "too many",
            fio.replace("\"total_ios\" : 901,", "\"total_ios\" : 200000000000000,"),
            &[],
            &["200000000000000 operations in", "more than any machine does"],
        ),
        ("cpu", "sysbench 1.0.20\nCPU speed:\n events per second: 1\n".to_owned(), &[], &["test `cpu`"]),
        ("x_iops.1.log", "1000, 5, 0, 0, 0\n".to_owned(), &[], &["needs the JSON output"]),
        ("x_iops.9.log", "1000, 5, 0, 0, 0\n".to_owned(), &["fio.json"], &["thread 9", "the JSON has 3"]),
        (
            "x_iops.1.log",
            "1000, 5, 0, 0, 0\n1000, -5, 0, 0, 0\n".to_owned(),
            &["fio.json"],
            &["line 2", "a line of fio's log"],
        ),
        ("x_iops.1.log", "9999999999, 5, 0, 0, 0\n".to_owned(), &["fio.json"], &["line 1", "intervals"]),
        (
            "log",
            "0 1 100 0 1795461829 1\n0 1 100 0 9795461829 1\n".to_owned(),
            &["pgbench.txt"],
            &["line 2", "of one run"],
        ),
        (
            "log",
            "0 1 100 0 1795461829 1\n0 1 100 0 1795461839 1\n0 1 1 0 1795461829 1\n".to_owned(),
            &["pgbench.txt"],
            &["line 3", "goes back"],
        ),
    ] {
        let refused = refusal(name, contents.as_bytes(), more);
        assert!(parts.iter().all(|part| refused.contains(part)), "{refused}");
    }
}

/// The fixtures by which damage is tried, each with the files that it needs.
const DAMAGED: [(&str, &[&str]); 7] = [
    ("sysbench-fileio.txt", &[]),
    ("fio-perio.json", &["single_clat.1.log"]),
    ("sysbench.txt", &[]),
    ("pgbench.txt", &["pgbench_log.1"]),
    ("single_clat.1.log", &["fio-perio.json"]),
    ("pgbench_log.1", &["pgbench.txt"]),
    ("pgbench_aggregate_log.1", &["pgbench-aggregate.txt"]),
];

/// Imports a fixture after `change`; if that succeeds, its run file can be read.
fn import_damaged(nth: usize, change: impl FnOnce(&mut Vec<u8>)) -> Result<(), TestCaseError> {
    let (name, more) = DAMAGED[nth];
    let mut contents = fs::read(fixture(name)).unwrap();
    change(&mut contents);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, contents).unwrap();
    let files: Vec<PathBuf> = std::iter::once(path).chain(more.iter().map(|name| fixture(name))).collect();
    match import(&files) {
        Ok(run) => {
            let written = run.write(folder.path(), "run").unwrap();
            prop_assert!(store::read(&written).is_ok());
        }
        Err(error) => prop_assert!(!error.to_string().is_empty()),
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn a_cut_file_is_refused_or_makes_a_whole_run(nth in 0..DAMAGED.len(), share in 0.0..1.0f64) {
        import_damaged(nth, |bytes| bytes.truncate((bytes.len() as f64 * share) as usize))?;
    }

    #[test]
    fn damaged_bytes_are_refused_or_make_a_whole_run(
        nth in 0..DAMAGED.len(),
        damage in prop::collection::vec((0.0..1.0f64, prop::sample::select(b"\0\x1b\"{}[],:.-eE0129nN \n\xff".to_vec())), 1..8),
    ) {
        import_damaged(nth, |bytes| damage.iter().for_each(|(at, byte)| {
            let at = (bytes.len() as f64 * at) as usize;
            bytes[at] = *byte;
        }))?;
    }

    #[test]
    fn any_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..2_000)) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bytes");
        fs::write(&path, bytes).unwrap();
        prop_assert!(import(&[path]).is_err());
    }
}
