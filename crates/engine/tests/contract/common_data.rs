//! Data on a server that several hosts use: one makes it, the others join it and leave it.

use crate::lab::{Seen, directory, fact, join, load_data, prepare, prepared, run, run_loading, servers, start, trial};
use crate::schemas::{ask, visiting};
use crate::visited::Visited;
use engine::Instance;
use host::TargetError;
use load::{LoadEnd, LoadOutcome};
use model::{CommonData, DataOrigin, Phase, Trial, divide_trial};
use std::path::Path;

/// The shares of two hosts of a trial on the server `engine`, which is in `theirs`.
fn shares(
    engine: &str,
    theirs: &Path,
    workload: &str,
    settings: &[(&str, &str)],
    clients: u32,
    data: DataOrigin,
) -> [Trial; 2] {
    let visiting = visiting(engine, theirs);
    let url = visiting.target.params.word("url").to_owned();
    let mut whole = trial(&visiting.target.engine, workload, &[settings, &[("url", &url)]].concat());
    whole.load.clients = clients;
    divide_trial(&whole, 2, data).unwrap().try_into().expect("two hosts")
}

/// The first host, which has its schema and no data yet.
fn opened(share: &Trial, parent: &Path) -> (Box<dyn Instance>, CommonData) {
    let mut first = start(share, parent).unwrap();
    let common = first.share_data().unwrap().expect("a server can be reached by others");
    assert_eq!(first.share_data().unwrap().as_ref(), Some(&common), "it has one token");
    (first, common)
}

/// The operations that `trial` did on `instance`.
fn ops_of(instance: &mut dyn Instance, trial: &Trial) -> u64 {
    ops_in(run(instance, trial).unwrap())
}

fn ops_in((outcome, seen): (LoadOutcome, Seen)) -> u64 {
    assert_eq!(outcome.ended, LoadEnd::AsPlanned, "{:?}", seen.events);
    assert_eq!(seen.total(Phase::Run).1, 0, "{:?}", seen.events);
    seen.total(Phase::Run).0
}

/// The servers that are visited. Those with MyRocks differ in their storage only.
fn visited() -> impl Iterator<Item = &'static str> {
    servers().map(|engine| engine.entry.name).filter(|name| !name.ends_with(":rocksdb"))
}

#[test]
fn a_second_host_works_on_the_data_of_the_first_and_leaves_it_to_it() {
    let parent = directory();
    for engine in visited() {
        let theirs = Visited::of(engine);
        let [one, other] = shares(
            engine,
            theirs.path(),
            "oltp",
            &[("mix", "read_write"), ("tables", "2")],
            5,
            DataOrigin::MadeByFirst,
        );
        let (mut first, common) = opened(&one, parent.path());
        assert!(
            join(&other, parent.path(), &common).unwrap().finish_load().is_err(),
            "data that is not complete is not used"
        );
        assert_eq!(prepare(&mut *first, &one).unwrap().0.ended, LoadEnd::AsPlanned);
        assert_eq!(first.measure_space().rows, Some(1_000));

        let mut second = join(&other, parent.path(), &common).unwrap();
        assert!(second.make_loaders(&other).unwrap().is_none(), "the first has made it all");
        second.finish_load().unwrap();
        assert_eq!(fact(&*second, "server.schema").as_deref(), Some(&*common.schema));
        assert_eq!(second.measure_space().rows, Some(1_000));
        let sources: Vec<String> = second.counter_sources().iter().map(|source| source.describe().name).collect();
        assert_eq!(sources, ["clients"], "each counts what its own clients do; the first reads those of the server");
        assert!(second.settings_reader(&other).is_none(), "the first reads them");
        assert_eq!(ops_of(&mut *first, &one) + ops_of(&mut *second, &other), 300, "ops_max of both");

        let there = || ask(engine, theirs.path(), "SELECT schema_name FROM information_schema.schemata");
        second.stop().unwrap();
        assert!(there().contains(&common.schema), "a host that has joined drops nothing");
        drop(join(&other, parent.path(), &common).unwrap());
        assert!(there().contains(&common.schema), "nor if it ends without a stop");
        first.stop().unwrap();
        assert!(!there().contains(&common.schema));
    }
}

#[test]
fn hosts_make_the_data_by_parts_and_it_is_that_of_one_host() {
    let parent = directory();
    for engine in visited() {
        let theirs = Visited::of(engine);
        let settings = [("table_rows", "3500"), ("tables", "2")];
        let [one, other] = shares(engine, theirs.path(), "oltp", &settings, 2, DataOrigin::MadeByAll);
        let (mut first, common) = opened(&one, parent.path());
        let loading = first.make_loaders(&one).unwrap().expect("it has a part to make");
        let mut second = join(&other, parent.path(), &common).unwrap();
        let other_loading = second.make_loaders(&other).unwrap().expect("it has a part to make");
        for (loading, own) in [(other_loading, &other), (loading, &one)] {
            assert_eq!(load_data(loading, own).ended, LoadEnd::AsPlanned);
        }
        first.finish_load().unwrap();
        second.finish_load().unwrap();
        assert_eq!((first.measure_space().rows, second.measure_space().rows), (Some(7_000), Some(7_000)));
        let sums = "SELECT count(*), sum(id), sum(k) FROM";
        let of = |schema: &str, table: &str| ask(engine, theirs.path(), &format!("{sums} {schema}.{table}"));
        let shared = ["sbtest1", "sbtest2"].map(|table| of(&common.schema, table));
        second.stop().unwrap();
        first.stop().unwrap();

        let whole = Trial { share: None, ..one.clone() };
        let alone = prepared(&whole, parent.path());
        let schema = fact(&*alone, "server.schema").expect("it has one");
        assert_eq!(["sbtest1", "sbtest2"].map(|table| of(&schema, table)), shared);
        alone.stop().unwrap();
    }
}

#[test]
fn the_steps_of_two_hosts_leave_every_row_once_and_one_of_them_makes_the_indexes() {
    let parent = directory();
    for engine in visited() {
        let theirs = Visited::of(engine);
        let of_step = |step| {
            let settings = [
                ("step", step),
                ("rows", "1003"),
                ("rows_per_commit", "10"),
                ("schema", "ibench"),
                ("tables", "2"),
                ("indexes", "1"),
            ];
            shares(engine, theirs.path(), "insert", &settings, 3, DataOrigin::MadeByFirst)
        };
        let without_limit = |mut own: Trial| {
            own.phases.ops_max = None;
            own
        };
        let [one, other] = of_step("l.i0").map(without_limit);
        let (mut first, common) = opened(&one, parent.path());
        prepare(&mut *first, &one).unwrap();
        let mut second = join(&other, parent.path(), &common).unwrap();
        prepare(&mut *second, &other).unwrap();
        let mut ops = Vec::new();
        for step in ["l.i0", "l.x", "l.i1"] {
            let [one, other] = of_step(step).map(without_limit);
            // Both are ready before one of them begins.
            let loadings = [(first.make_clients(&one).unwrap(), one), (second.make_clients(&other).unwrap(), other)];
            ops.push(loadings.map(|(loading, own)| ops_in(run_loading(loading, &own))));
        }
        let name = &common.schema;
        let counted = ["purchases_index1", "purchases_index2"].map(|table| {
            let rows = format!("SELECT count(*), max(transactionid), min(transactionid) FROM {name}.{table}");
            let said = ask(engine, theirs.path(), &rows);
            let numbers: Vec<u64> = said.split(['|', '\t']).map(|number| number.parse().expect("a number")).collect();
            assert_eq!((numbers[0], numbers[2]), (numbers[1], 1), "no gap: {said}");
            numbers[0]
        });
        assert_eq!(counted.iter().sum::<u64>(), 2_006);
        assert_eq!(ops[1].iter().sum::<u64>(), 2, "an index for each table");
        assert!(ops[0].iter().sum::<u64>() == 101 && ops[0].iter().all(|ops| *ops > 0), "{ops:?}");

        // A host that comes in the middle of the sequence knows what was done before.
        let [_, late] = of_step("l.i2").map(without_limit);
        let mut third = join(&late, parent.path(), &common).unwrap();
        third.pass_steps(&["l.i0", "l.x", "l.i1"].map(|step| without_limit(of_step(step)[1].clone())));
        third.make_loaders(&late).unwrap();
        third.finish_load().unwrap();
        assert!(ops_of(&mut *third, &late) > 0);
        for host in [third, second, first] {
            host.stop().unwrap();
        }
    }
}

#[test]
fn a_schema_that_this_run_has_not_made_is_refused_and_left() {
    const TAKEN: &str = "plimsoll_fedcba9876543210";
    let parent = directory();
    for engine in visited() {
        let theirs = Visited::of(engine);
        let [one, other] = shares(engine, theirs.path(), "oltp", &[], 2, DataOrigin::MadeByFirst);
        let (first, common) = opened(&one, parent.path());
        let ask = |statements: &str| ask(engine, theirs.path(), statements);
        let refusal = |schema: &str, token: &str| {
            let named = CommonData { schema: schema.into(), token: token.into() };
            match join(&other, parent.path(), &named).err().expect("a refusal") {
                TargetError::Unsafe(text) => text,
                other => panic!("{engine}: {other:?}"),
            }
        };
        ask(&format!("CREATE SCHEMA {TAKEN}; CREATE TABLE {TAKEN}.sbtest1 (id INT)"));
        assert!(refusal(TAKEN, &common.token).contains("no marker"));
        ask(&format!("CREATE TABLE {TAKEN}.plimsoll_marker (made_by VARCHAR(20), name VARCHAR(64))"));
        assert!(refusal(TAKEN, &common.token).contains("of another schema"));
        ask(&format!("INSERT INTO {TAKEN}.plimsoll_marker VALUES ('plimsoll', '{TAKEN}')"));
        assert!(refusal(TAKEN, &common.token).contains("of another run"));
        assert!(refusal(&common.schema, &"0".repeat(32)).contains("of another run"));
        assert!(refusal("plimsoll_0000000000000000", &common.token).contains("not there"));
        for name in ["mysql", "public", "x; DROP TABLE y", ""] {
            assert!(refusal(name, &common.token).contains("a schema of plimsoll's own"), "{name}");
        }
        assert_eq!(ask(&format!("SELECT count(*) FROM {TAKEN}.sbtest1")), "0", "it was left");
        first.stop().unwrap();
    }
}

#[test]
fn data_of_a_private_server_is_not_for_other_hosts() {
    let parent = directory();
    for engine in ["sqlite"].into_iter().chain(visited()) {
        let whole =
            Trial { load: model::Load { clients: 2, ..trial(engine, "oltp", &[]).load }, ..trial(engine, "oltp", &[]) };
        let [one, other]: [Trial; 2] = divide_trial(&whole, 2, DataOrigin::MadeByFirst).unwrap().try_into().unwrap();
        // Whether a server was started by plimsoll does not depend on which one it is.
        if engine != "postgres" {
            let mut first = start(&one, parent.path()).unwrap();
            assert_eq!(first.share_data().unwrap(), None);
            first.stop().unwrap();
        }
        let common = CommonData { schema: "plimsoll_0123456789abcdef".into(), token: "0".repeat(32) };
        let def = engine::find(engine).unwrap();
        let cpus = host::cpu::EngineCpus::default();
        let refused = engine::start_instances(&engine::StartContext {
            engine: def,
            trial: &other,
            parent: parent.path(),
            data: "data",
            destroy: &[],
            cgroups: None,
            cpus: &cpus,
            volume_daemon: None,
            joins: Some(&common),
            data_set: engine::data_set::SetUse::None,
        });
        assert!(matches!(refused.err(), Some(TargetError::Unsupported(text)) if text.contains(engine)));
    }
}
