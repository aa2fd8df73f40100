//! Estimates against what is really there.

use crate::lab::{directory, embedded, prepared, run, trial};
use engine::estimate::{bytes_beside_set, chain_bytes, disk_bytes, written_bytes_at_most};
use model::{Bytes, Phase, Trial};

/// Asserts that `estimated` is within a factor of three of what is `real`.
fn assert_near(estimated: Bytes, real: Bytes, what: &str) {
    let ratio = estimated.0 as f64 / real.0 as f64;
    println!("{what}: estimated {estimated}, is {real}, ratio {ratio:.2}");
    assert!((1.0 / 3.0..=3.0).contains(&ratio), "{what}: estimated {estimated}, is {real}");
}

#[test]
fn loaded_data_takes_about_what_was_estimated_and_in_sqlite_no_more() {
    let parent = directory();
    for engine in embedded() {
        let trial = trial(engine, "oltp", &[("tables", "2"), ("table_rows", "10000"), ("durability", "none")]);
        let estimated = (workload::oltp::OLTP.data_bytes)(&trial.workload.params);
        let instance = prepared(&trial, parent.path());
        assert_near(estimated, instance.measure_space().total, engine);
        assert!(engine != "sqlite" || estimated >= instance.measure_space().total);
        assert!(disk_bytes(&trial) >= instance.measure_space().total);
        instance.stop().unwrap();
    }
}

#[test]
fn warehouses_take_no_more_than_is_foreseen_and_a_run_adds_what_its_transactions_can() {
    let parent = directory();
    for engine in crate::lab::sql_engines() {
        let settings = [("warehouses", "2"), ("items", "5000"), ("customers", "100"), ("durability", "none")];
        let trial = trial(engine, "orders", &[&settings[..], &[("ops_max", "10")]].concat());
        let instance = prepared(&trial, parent.path());
        let space = instance.measure_space();
        let rows = Bytes(space.total.0 - space.logs.unwrap_or_default().0);
        let estimated = (workload::orders::ORDERS.data_bytes)(&trial.workload.params);
        println!("{engine}: estimated {estimated}, is {rows} and {} with logs", space.total);
        assert!(disk_bytes(&trial) >= space.total, "{engine}: {} of {}", disk_bytes(&trial), space.total);
        instance.stop().unwrap();
    }
    // What a run adds is bounded by what transactions of many statements can add, and by the pauses of terminals.
    let added = |settings: &[(&str, &str)]| {
        let always = [("warehouses", "10"), ("time", "600s"), ("clients", "10"), ("ops_max", "none")];
        let trial = trial("sqlite", "orders", &[&always[..], settings].concat());
        let data = (workload::orders::ORDERS.data_bytes)(&trial.workload.params).0 as f64;
        // So few rows may all be changed.
        ((disk_bytes(&trial).0 as f64 - f64::from(64 << 20)) / 1.5 - data) / 500.0
    };
    assert!((added(&[]) - 600.0 * 20_000.0).abs() < 2.0, "{}", added(&[]));
    assert!((added(&[("pauses", "1")]) - 6_000.0 / 20.99).abs() < 2.0, "{}", added(&[("pauses", "1")]));
}

#[test]
fn inserted_rows_take_about_what_was_estimated_and_never_more_than_the_peak() {
    let parent = directory();
    for engine in embedded() {
        for (schema, indexes) in [("iibench-2012", "0"), ("iibench-2012", "3"), ("ibench", "0"), ("ibench", "3")] {
            let settings = [("indexes", indexes), ("rows_per_commit", "100"), ("ops_max", "500"), ("time", "60s")];
            let more = [("durability", "none"), ("schema", schema)];
            let trial = trial(engine, "insert", &[&settings[..], &more].concat());
            let mut instance = prepared(&trial, parent.path());
            assert_eq!(run(&mut *instance, &trial).unwrap().1.total(Phase::Run), (500, 0));
            let peak = instance.measure_space().total;
            instance.finish_load().unwrap(); // brings the log to rest
            let growth = (workload::insert::INSERT.growth_bytes_per_op)(&trial.workload.params);
            assert_near(
                Bytes(500 * growth.0),
                instance.measure_space().total,
                &format!("{engine}, {schema}, {indexes} indexes"),
            );
            assert!(disk_bytes(&trial) >= peak, "{} of {peak}", disk_bytes(&trial));
            instance.stop().unwrap();
        }
    }
}

#[test]
fn a_file_takes_its_size_and_one_that_is_there_nothing() {
    let parent = directory();
    let there = parent.path().join("there");
    std::fs::write(&there, b"x").unwrap();
    assert_eq!(disk_bytes(&trial("file", "file", &[])), Bytes::from_mib(8));
    assert_eq!(disk_bytes(&trial("file", "file", &[("path", there.to_str().unwrap())])), Bytes(0));
    let absent = parent.path().join("absent");
    assert_eq!(disk_bytes(&trial("file", "file", &[("path", absent.to_str().unwrap())])), Bytes::from_mib(8));
    assert_eq!(disk_bytes(&trial("null", "file", &[])), Bytes(0));
}

#[test]
fn a_sequence_takes_the_space_of_the_steps_that_it_has() {
    let steps = |names: &[&str], delete: &str| -> Vec<model::Trial> {
        let all = [("rows", "1000000"), ("indexes", "0"), ("schema", "iibench-2012"), ("delete", delete)];
        let step = |name: &&str| trial("sqlite", "insert", &[&all[..], &[("step", name)]].concat());
        names.iter().map(step).collect()
    };
    let rows = |names: &[&str], delete| ((chain_bytes(&steps(names, delete)).0 - (64 << 20)) * 2 / 3) as f64 / 50.0;
    let near = |seen: f64, rows: f64| assert!((seen - rows).abs() < 2.0, "{seen} rows, wanted {rows}");
    near(rows(&["l.i1", "drain"], "false"), 1e6);
    near(rows(&["l.i0", "l.x", "l.i1", "l.i2", "qr"], "false"), 2.2e6);
    near(rows(&["l.i0", "l.x", "l.i1", "l.i2", "qr"], "true"), 1e6);
    near(rows(&["l.i1", "l.i2"], "true"), 1e6);
}

#[test]
fn what_grows_is_bounded_by_operations_by_rate_by_think_time_or_by_a_guess() {
    let peak = |settings: &[(&str, &str)]| {
        let always = [("indexes", "0"), ("time", "10s")];
        let trial = trial("sqlite", "insert", &[&always, settings].concat());
        (disk_bytes(&trial).0 - (64 << 20)) * 2 / 3 / 50
    };
    let near = |seen: u64, rows: u64| assert!(seen.abs_diff(rows) <= 1, "{seen} rows, wanted {rows}");
    near(peak(&[("ops_max", "1000")]), 1_000);
    near(peak(&[("ops_max", "1000"), ("step", "l.i1"), ("delete", "true")]), 1_000);
    near(peak(&[("ops_max", "none"), ("rate", "200")]), 2_000);
    near(peak(&[("ops_max", "none"), ("rate", "200"), ("warmup", "5s")]), 3_000);
    near(peak(&[("ops_max", "none"), ("think", "1s"), ("clients", "3")]), 30);
    near(peak(&[("ops_max", "none")]), 1_000_000);
    near(peak(&[("ops_max", "none"), ("rows_per_commit", "1000")]), 20_000_000);
}

#[test]
fn bytes_to_be_written_are_known_for_files_with_a_number_of_operations_and_for_reads() {
    let written =
        |engine, workload, settings: &[(&str, &str)]| written_bytes_at_most(&trial(engine, workload, settings));
    assert_eq!(written("file", "file", &[("mode", "rndwr"), ("block", "4KiB")]), Some(Bytes(300 << 12)));
    assert_eq!(written("file", "file", &[("mode", "seqrd")]), Some(Bytes(0)));
    assert_eq!(written("file", "file", &[("mode", "rndwr"), ("ops_max", "none")]), None);
    assert_eq!(written("file", "file", &[("mode", "rndwr"), ("warmup", "1s")]), None);
    let paced = [("mode", "rndwr"), ("block", "4KiB"), ("ops_max", "none"), ("time", "5s"), ("warmup", "1s")];
    assert_eq!(written("file", "file", &[&paced[..], &[("rate", "100")]].concat()), Some(Bytes(600 << 12)));
    let random = [("rate", "100"), ("arrivals", "poisson")];
    assert_eq!(written("file", "file", &[&paced[..], &random].concat()), None, "more may fall due by chance");
    assert_eq!(written("sqlite", "oltp", &[]), Some(Bytes(0)));
    assert_eq!(written("sqlite", "insert", &[]), None);
    assert_eq!(written("fjall", "oltp", &[("mix", "read_write")]), None);
    assert_eq!(written("null", "insert", &[]), Some(Bytes(0)));
}

#[test]
fn a_large_load_in_order_takes_little_more_than_its_rows_and_a_run_changes_a_part_of_them() {
    let load =
        |mix: &str, rows: &str| trial("postgres", "oltp", &[("mix", mix), ("table_rows", rows), ("time", "600s")]);
    let data = |trial: &Trial| (workload::oltp::OLTP.data_bytes)(&trial.workload.params).0 as f64;
    let times = |trial: &Trial| disk_bytes(trial).0 as f64 / data(trial);
    // PostgreSQL took 28.4 GiB for a hundred million rows.
    let large = load("read_only", "100000000");
    assert!(disk_bytes(&large).0 > 29 << 30 && times(&large) < 1.6, "{}", times(&large));
    let changed = load("read_write", "100000000");
    assert!(times(&changed) > times(&large) && times(&changed) < 2.2, "{}", times(&changed));
    assert!(times(&load("read_write", "1000000")) > 2.9, "all rows of a small table may be changed, and twice");
    // Of a data set of that size only what is changed has to fit, besides the copy.
    let beside = bytes_beside_set(std::slice::from_ref(&large), Bytes(28 << 30));
    assert!(beside < Bytes(3 << 30), "{beside}");
}
