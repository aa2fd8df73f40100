//! The options of the clients of SQL engines: statements of the user's own, and how clients connect to the server.

use crate::insert::asked;
use crate::lab::{custom_trial, directory, fact, names_in, prepared, run, run_loading, servers, sql_engines, trial};
use engine::Instance;
use load::LoadEnd;
use model::{OnError, Phase, Trial};
use std::path::Path;

const NOTHING: [String; 0] = [];

const MIXED: &str = "
    [[statement]]
    name = 'by_key'
    weight = 8
    sql = 'SELECT c FROM sbtest{table} WHERE id = :id'
    [[statement]]
    name = 'near'
    weight = 4
    sql = \"SELECT count(*), ':id' FROM sbtest{table} WHERE id BETWEEN :id AND :id + 9 OR k = :int(1,500)\"
    [[statement]]
    name = 'replace'
    weight = 2
    sql = [
        'DELETE FROM sbtest{table} WHERE id = :id',
        'INSERT INTO sbtest{table} (id, k, c, pad) VALUES (:id, :k, :c, :text(40))',
    ]
    [[statement]]
    name = 'add'
    sql = 'INSERT INTO sbtest{table} (id, k, c, pad) VALUES (:new_id, :k, :c, :pad)'
";

/// A trial on the rows that all parts of the test below share.
fn on_two_tables(engine: &str, settings: &[(&str, &str)]) -> Trial {
    trial(engine, "oltp", &[&TWO_TABLES[..], settings].concat())
}

const TWO_TABLES: [(&str, &str); 4] = [("tables", "2"), ("clients", "2"), ("durability", "none"), ("time", "60s")];

#[test]
fn every_sql_engine_does_what_its_clients_ask_for_and_quotes_what_it_does_not_take() {
    let parent = directory();
    for engine in sql_engines() {
        let mut instance = prepared(&on_two_tables(engine, &[]), parent.path());
        performs_the_statements_of_a_plan_file_in_their_shares(&mut *instance, engine, parent.path());
        ends_the_point_at_a_statement_that_it_does_not_take(&mut *instance, engine);
        has_the_statements_connections_and_isolation_that_were_asked_for(&mut *instance, engine);
        instance.stop().unwrap();
        assert_eq!(names_in(parent.path()), NOTHING);
    }
}

fn performs_the_statements_of_a_plan_file_in_their_shares(instance: &mut dyn Instance, engine: &str, parent: &Path) {
    for settings in [vec![("clients", "3")], vec![("rate", "2000")]] {
        let trial = custom_trial(engine, MIXED, &[&TWO_TABLES[..], &settings[..]].concat());
        let names: Vec<&str> = instance.make_clients(&trial).unwrap().kinds.iter().map(|kind| kind.name).collect();
        assert_eq!(names, ["by_key", "near", "replace", "add", "load"]);
        let (outcome, seen) = run(instance, &trial).unwrap();
        let (ok, failed) = seen.total(Phase::Run);
        assert_eq!((outcome.ended, failed), (LoadEnd::AsPlanned, 0), "{engine}: {:?}", seen.events);
        let kinds: Vec<u8> = seen.counts.keys().map(|(_, kind)| *kind).collect();
        assert!(ok == 300 && kinds == [0, 1, 2, 3], "{engine}: {:?}", seen.counts);
        // The next run adds the same rows.
        ["sbtest1", "sbtest2"].iter().for_each(|table| {
            asked(engine, parent, &format!("DELETE FROM {table} WHERE id > 500"));
        });
    }
}

fn ends_the_point_at_a_statement_that_it_does_not_take(instance: &mut dyn Instance, engine: &str) {
    let wrong = "[[statement]]\nname = 'wrong'\nsql = 'SELECT nothing FROM sbtest{table} WHERE id = :id'";
    let (outcome, _) = run(instance, &custom_trial(engine, wrong, &TWO_TABLES)).unwrap();
    let LoadEnd::Failed { text, .. } = &outcome.ended else { panic!("{outcome:?}") };
    assert!(text.contains("statement `wrong` was rejected: ") && !text.contains("cannot connect"), "{engine}: {text}");
    assert!(text.ends_with(" in `SELECT nothing FROM sbtest{table} WHERE id = :id`"), "{engine}: {text}");
}

/// All operations are done, each of their statements has found its rows, and BEGIN and COMMIT are not counted.
fn sends_operations_before_others_are_answered(instance: &mut dyn Instance, engine: &str) {
    for transaction in ["true", "false"].into_iter().filter(|word| *word == "false" || engine == "postgres") {
        let deep = [("mix", "read_write"), ("transaction", transaction), ("depth", "8"), ("ops_max", "200")];
        let trial = on_two_tables(engine, &deep);
        let loading = instance.make_clients(&trial).unwrap();
        assert_eq!(loading.kinds[0].queries, 18.0, "{engine} {transaction}");
        let (outcome, seen) = run_loading(loading, &trial);
        let done = (outcome.ended, seen.total(Phase::Run));
        assert_eq!(done, (LoadEnd::AsPlanned, (200, 0)), "{engine} {transaction}: {:?}", seen.events);
    }
}

fn has_the_statements_connections_and_isolation_that_were_asked_for(instance: &mut dyn Instance, engine: &str) {
    let with = |settings: &[(&str, &str)]| {
        on_two_tables(engine, &[&[("mix", "read_write"), ("ops_max", "100")], settings].concat())
    };
    // MyRocks has no serializable transactions.
    let strictest = if engine.ends_with(":rocksdb") { "repeatable-read" } else { "serializable" };
    let all: [&[(&str, &str)]; 4] = [
        &[("statements", "plain"), ("isolation", strictest)],
        &[("connection", "per-transaction")],
        &[("statements", "plain"), ("connection", "per-transaction")],
        &[("transaction", "false"), ("statements", "plain")],
    ];
    for settings in all {
        let (outcome, seen) = run(instance, &with(settings)).unwrap();
        let done = (outcome.ended, seen.total(Phase::Run));
        assert_eq!(done, (LoadEnd::AsPlanned, (100, 0)), "{engine} {settings:?}: {:?}", seen.events);
    }
    if engine != "sqlite" {
        sends_operations_before_others_are_answered(instance, engine);
    }
    let default = match engine {
        "sqlite" => "serializable",
        "postgres" => "read-committed",
        _ => "repeatable-read",
    };
    let levels = ["default", "read-committed", strictest];
    for level in levels.iter().filter(|level| engine != "sqlite" || **level != "read-committed") {
        drop(instance.make_clients(&with(&[("isolation", level)])).unwrap());
        let expected = if *level == "default" { default } else { level };
        assert_eq!(fact(instance, "isolation").as_deref(), Some(expected), "{engine}");
    }
}

#[test]
fn serializable_transactions_that_are_not_tried_again_are_counted_as_conflicts() {
    let parent = directory();
    for engine in servers().map(|engine| engine.entry.name).filter(|name| !name.ends_with(":rocksdb")) {
        let settings = [("mix", "read_write"), ("table_rows", "10"), ("clients", "4"), ("durability", "none")];
        let more = [("isolation", "serializable"), ("retries_for", "0"), ("ops_max", "150"), ("time", "60s")];
        let trial = Trial { on_error: OnError::Count, ..trial(engine, "oltp", &[settings, more].concat()) };
        let mut instance = prepared(&trial, parent.path());
        // They need not meet in any one round of 150 transactions; that they never do would be a miracle.
        let failed = (0..20).map(|_| run(&mut *instance, &trial).unwrap().1).find(|seen| seen.total(Phase::Run).1 > 0);
        let events = failed.expect("4 clients on 10 rows did not meet").events;
        assert!(events.iter().all(|text| text.starts_with("conflict: ")), "{engine}: {events:?}");
        let retries = instance.finish_trial().into_iter().find(|fact| fact.name == "client.retries").unwrap();
        assert_eq!(retries.value, "0");
        instance.stop().unwrap();
    }
}
