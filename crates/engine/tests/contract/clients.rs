//! The options of the clients of SQL engines: statements of the user's own, and how clients connect to the server.

use crate::lab::{custom_trial, directory, fact, prepared, run, servers, sql_engines, trial};
use load::LoadEnd;
use model::{OnError, Phase, Trial};

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

#[test]
fn every_sql_engine_performs_the_statements_of_a_plan_file_in_their_shares() {
    let parent = directory();
    for engine in sql_engines() {
        for settings in [vec![("clients", "3")], vec![("rate", "2000"), ("clients", "2")]] {
            let trial = custom_trial(
                engine,
                MIXED,
                &[&settings[..], &[("tables", "2"), ("durability", "none"), ("time", "60s")]].concat(),
            );
            let mut instance = prepared(&trial, parent.path());
            let names: Vec<&str> = instance.make_clients(&trial).unwrap().kinds.iter().map(|kind| kind.name).collect();
            assert_eq!(names, ["by_key", "near", "replace", "add", "load"]);
            let (outcome, seen) = run(&mut *instance, &trial).unwrap();
            let (ok, failed) = seen.total(Phase::Run);
            assert_eq!((outcome.ended, failed), (LoadEnd::AsPlanned, 0), "{engine}: {:?}", seen.events);
            let kinds: Vec<u8> = seen.counts.keys().map(|(_, kind)| *kind).collect();
            assert!(ok == 300 && kinds == [0, 1, 2, 3], "{engine}: {:?}", seen.counts);
            instance.stop().unwrap();
            assert_eq!(crate::lab::names_in(parent.path()), NOTHING);
        }
    }
}

#[test]
fn a_statement_that_the_engine_does_not_take_ends_the_point_and_is_quoted_as_it_was_written() {
    let parent = directory();
    for engine in sql_engines() {
        let wrong = "[[statement]]\nname = 'wrong'\nsql = 'SELECT nothing FROM sbtest{table} WHERE id = :id'";
        let trial = custom_trial(engine, wrong, &[]);
        let mut instance = prepared(&trial, parent.path());
        let (outcome, _) = run(&mut *instance, &trial).unwrap();
        let LoadEnd::Failed { text, .. } = &outcome.ended else { panic!("{outcome:?}") };
        assert!(
            text.contains("statement `wrong` was rejected: ") && !text.contains("cannot connect"),
            "{engine}: {text}"
        );
        assert!(text.ends_with(" in `SELECT nothing FROM sbtest{table} WHERE id = :id`"), "{engine}: {text}");
        instance.stop().unwrap();
    }
}

#[test]
fn statements_connections_and_isolation_are_what_was_asked_for_on_the_same_data() {
    let parent = directory();
    for engine in sql_engines() {
        let with = |settings: &[(&str, &str)]| {
            let all = [&[("mix", "read_write"), ("clients", "2"), ("durability", "none"), ("time", "60s")], settings]
                .concat();
            trial(engine, "oltp", &[&all[..], &[("ops_max", "100")]].concat())
        };
        let mut instance = prepared(&with(&[]), parent.path());
        // MyRocks has no serializable transactions.
        let strictest = if engine.ends_with(":rocksdb") { "repeatable-read" } else { "serializable" };
        let all: [&[(&str, &str)]; 4] = [
            &[("statements", "plain"), ("isolation", strictest)],
            &[("connection", "per-transaction")],
            &[("statements", "plain"), ("connection", "per-transaction")],
            &[("transaction", "false"), ("statements", "plain")],
        ];
        for settings in all {
            let trial = with(settings);
            let (outcome, seen) = run(&mut *instance, &trial).unwrap();
            let done = seen.total(Phase::Run);
            assert_eq!(
                (outcome.ended, done),
                (LoadEnd::AsPlanned, (100, 0)),
                "{engine} {settings:?}: {:?}",
                seen.events
            );
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
            assert_eq!(fact(&*instance, "isolation").as_deref(), Some(expected), "{engine}");
        }
        instance.stop().unwrap();
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
