//! What every engine must do with every workload.

use crate::lab::{
    MOMENT, Seen, can_run, directory, embedded, found, key_value, names_in, pairs, prepare, prepared, quick_pairs, run,
    servers, start, trial,
};
use engine::{EngineDef, Instance};
use host::TargetError;
use load::LoadEnd;
use model::{FailureClass, Family, Phase, Trial};
use rusqlite::Connection;

const NOTHING: [String; 0] = [];

#[test]
fn two_instances_live_side_by_side_and_leave_nothing_whether_they_are_stopped_or_not() {
    let parent = directory();
    for (engine, workload) in quick_pairs() {
        let trial = trial(engine.entry.name, workload.entry.name, &[MOMENT]);
        if !can_run(&trial, parent.path()) {
            continue;
        }
        let mut one = start(&trial, parent.path()).unwrap();
        let loaded = prepare(&mut *one, &trial).unwrap().1;
        let mut other = prepared(&trial, parent.path());
        kinds_are_named_and_the_load_has_its_own(&mut *one, &trial, &loaded);
        one.stop().unwrap();
        assert_eq!(run(&mut *other, &trial).unwrap().0.ended, LoadEnd::AsPlanned);
        drop(other);
        assert_eq!(names_in(parent.path()), NOTHING, "{}", engine.entry.name);
    }
}

fn kinds_are_named_and_the_load_has_its_own(instance: &mut dyn Instance, trial: &Trial, loaded: &Seen) {
    let kinds = instance.make_clients(trial).unwrap().kinds;
    let (outcome, performed) = run(instance, trial).unwrap();
    assert_eq!(outcome.ended, LoadEnd::AsPlanned);
    assert!(kinds.iter().all(|kind| !kind.name.is_empty()), "{kinds:?}");
    let of_load: Vec<u8> = loaded.counts.keys().map(|(_, kind)| *kind).collect();
    for (_, kind) in performed.counts.keys() {
        assert!((*kind as usize) < kinds.len() && !of_load.contains(kind), "{kind} of {kinds:?}");
    }
}

#[test]
fn data_of_another_seed_or_shape_or_unfinished_is_refused() {
    let parent = directory();
    let shapes = [("file", "file", ("file_size", "4MiB")), ("sqlite", "oltp", ("table_rows", "400"))];
    let of_keys = key_value().map(|engine| (engine, "oltp", ("tables", "2")));
    let more = of_keys.chain([("sqlite", "insert", ("indexes", "1"))]);
    for (engine, workload, shape) in shapes.into_iter().chain(more) {
        let sync = if engine == "file" { vec![("io", "sync"), ("direct", "false")] } else { vec![] };
        let with = |setting| trial(engine, workload, &[sync.clone(), vec![setting]].concat());
        let made_for = with(("seed", "1"));
        let mut unfinished = start(&made_for, parent.path()).unwrap();
        drop(unfinished.make_loaders(&made_for).unwrap());
        let refused = |error: Option<TargetError>| matches!(error, Some(TargetError::Unsafe(_)));
        assert!(refused(unfinished.make_clients(&made_for).err()), "{engine}: unfinished");
        unfinished.stop().unwrap();

        let mut instance = prepared(&made_for, parent.path());
        assert!(instance.make_clients(&made_for).is_ok());
        assert!(refused(instance.make_clients(&with(("seed", "2"))).err()), "{engine}: another seed");
        assert!(refused(instance.make_clients(&with(shape)).err()), "{engine}: another {}", shape.0);
        instance.stop().unwrap();
    }
}

#[test]
fn a_depth_is_refused_where_operations_come_one_at_a_time() {
    // Servers take an operation before they have answered those before it.
    let is_server = |engine: &EngineDef| engine.entry.families.contains(&Family::Sql) && engine.entry.name != "sqlite";
    for (engine, workload) in pairs().filter(|(engine, _)| engine.scripted || !is_server(engine)) {
        let sync = if engine.entry.name == "file" { vec![("io", "sync"), ("direct", "false")] } else { vec![] };
        let trial = trial(engine.entry.name, workload.entry.name, &[sync, vec![("depth", "2")]].concat());
        let error = (engine.check)(&trial).unwrap_err();
        assert!(matches!(error, TargetError::Unsupported(_)) && error.to_string().contains("`2`"), "{error}");
    }
}

#[test]
fn a_depth_is_refused_on_postgresql_where_clients_wait_for_answers() {
    let refusal = |workload, settings: &[(&str, &str)]| {
        let trial = trial("postgres", workload, &[settings, &[("depth", "8")]].concat());
        (engine::find("postgres").unwrap().check)(&trial).unwrap_err().to_string()
    };
    for (text, why) in [
        (refusal("oltp", &[("statements", "plain")]), "use statements = `prepared`"),
        (refusal("oltp", &[("connection", "per-transaction")]), "use connection = `kept`"),
        (refusal("oltp", &[("clients", "4"), ("threads", "2")]), "leave out `threads`"),
        (refusal("oltp", &[("via", "tls")]), "does not work over TLS"),
        (refusal("orders", &[]), "wait for answers"),
        (refusal("insert", &[("step", "drain")]), "wait for answers"),
    ] {
        assert!(text.contains("depth = `8`") && text.contains(why), "{text}");
    }
}

#[test]
fn a_transaction_is_not_sent_ahead_to_a_server_that_goes_on_after_a_failure() {
    let check = |settings: &[(&str, &str)]| {
        let trial = trial("mariadb:innodb", "oltp", &[settings, &[("depth", "8")]].concat());
        (engine::find("mariadb:innodb").unwrap().check)(&trial)
    };
    let refusal = check(&[("mix", "read_write")]).unwrap_err().to_string();
    assert!(refusal.contains("half of a transaction") && refusal.contains("use transaction = `false`"), "{refusal}");
    check(&[("mix", "read_write"), ("transaction", "false")]).unwrap();
}

#[test]
fn more_clients_than_a_plan_lets_its_server_have_are_refused_before_it_starts() {
    for (engine, variable) in [("mariadb:innodb", "mariadb.max_connections"), ("postgres", "postgres.max_connections")]
    {
        if !servers().any(|here| here.entry.name == engine) {
            continue;
        }
        let check = |clients: &str| {
            let settings = [(variable, "50"), ("clients", clients)];
            (engine::find(engine).unwrap().check)(&trial(engine, "oltp", &settings))
        };
        check("40").unwrap();
        let refusal = check("41").unwrap_err().to_string();
        let expected = "41 clients do not fit: the server takes max_connections = `50`, of which 10 are kept; ";
        assert!(refusal.contains(expected), "{refusal}");
    }
}

#[test]
fn arrays_of_rows_are_refused_where_no_statement_inserts_several() {
    let trial = trial("mariadb:innodb", "oltp", &[("statements", "arrays")]);
    let refusal = (engine::find("mariadb:innodb").unwrap().check)(&trial).unwrap_err().to_string();
    assert!(refusal.contains("use statements = `prepared`"), "{refusal}");
}

#[test]
fn a_workload_that_does_not_exist_for_key_value_engines_is_refused_with_what_to_use() {
    let parent = directory();
    for engine in key_value() {
        let trial = trial(engine, "oltp", &[("mix", "read_write")]);
        let mut instance = start(&trial, parent.path()).unwrap();
        let error = instance.make_loaders(&trial).err().unwrap();
        assert!(
            matches!(error, TargetError::Unsupported(_)) && error.to_string().contains("`point_select`"),
            "{error}"
        );
        instance.stop().unwrap();
    }
}

/// The statements that made `table` and its indexes, as SQLite keeps them, without the quotes around names.
fn schema(connection: &Connection, table: &str) -> Vec<String> {
    let sql = "SELECT sql FROM sqlite_master WHERE tbl_name = ? ORDER BY name";
    let mut statement = connection.prepare(sql).unwrap();
    let all = statement.query_map([table], |row| row.get::<_, String>(0)).unwrap();
    all.map(|text| text.unwrap().replace('"', "")).collect()
}

fn count(connection: &Connection, sql: &str) -> i64 {
    connection.query_row(sql, [], |row| row.get(0)).unwrap()
}

#[test]
fn sqlite_has_every_row_of_the_load_and_the_tables_of_sysbench() {
    let parent = directory();
    let trial = trial("sqlite", "oltp", &[("tables", "2"), ("table_rows", "2500"), ("mix", "read_write")]);
    let mut instance = prepared(&trial, parent.path());
    let connection = Connection::open(found(parent.path(), "plimsoll.db")).unwrap();
    let rows_are_there = || {
        for table in ["sbtest1", "sbtest2"] {
            let all = format!("SELECT count(*) FROM {table} WHERE id BETWEEN 1 AND 2500 AND length(c) = 119");
            assert_eq!(
                (count(&connection, &format!("SELECT count(*) FROM {table}")), count(&connection, &all)),
                (2500, 2500)
            );
        }
    };
    rows_are_there();
    let expected = [
        "CREATE TABLE sbtest2 (id INTEGER PRIMARY KEY NOT NULL, k INTEGER NOT NULL, c CHAR(120) NOT NULL, \
         pad CHAR(60) NOT NULL)",
        "CREATE INDEX sbtest2_k_2 ON sbtest2 (k)",
    ];
    assert_eq!(schema(&connection, "sbtest2"), expected);
    assert_eq!(run(&mut *instance, &trial).unwrap().1.total(Phase::Run).1, 0);
    rows_are_there(); // each transaction puts back the row that it deletes
    assert_eq!(connection.query_row("PRAGMA integrity_check", [], |row| row.get::<_, String>(0)).unwrap(), "ok");
    drop(connection);
    instance.stop().unwrap();
    assert_eq!(names_in(parent.path()), NOTHING);
}

#[test]
fn sqlite_inserts_into_the_table_of_2012_a_row_for_each_that_was_counted() {
    let parent = directory();
    let trial = trial("sqlite", "insert", &[("rows_per_commit", "3"), ("clients", "4"), ("durability", "none")]);
    let mut instance = prepared(&trial, parent.path());
    let connection = Connection::open(found(parent.path(), "plimsoll.db")).unwrap();
    assert_eq!(count(&connection, "SELECT count(*) FROM purchases_index"), 0);
    let (ok, failed) = run(&mut *instance, &trial).unwrap().1.total(Phase::Run);
    assert_eq!((count(&connection, "SELECT count(*) FROM purchases_index"), failed), (3 * ok as i64, 0));
    let expected = [
        "CREATE TABLE purchases_index (transactionid INTEGER PRIMARY KEY NOT NULL, dateandtime TEXT, \
         cashregisterid INTEGER NOT NULL, customerid INTEGER NOT NULL, productid INTEGER NOT NULL, price REAL NOT NULL)",
        "CREATE INDEX purchases_index_marketsegment ON purchases_index (price, customerid)",
        "CREATE INDEX purchases_index_pdc ON purchases_index (price, dateandtime, customerid)",
        "CREATE INDEX purchases_index_registersegment ON purchases_index (cashregisterid, price, customerid)",
    ];
    assert_eq!(schema(&connection, "purchases_index"), expected);
    drop(connection);
    instance.stop().unwrap();
}

#[test]
fn sixteen_clients_of_sqlite_wait_for_each_other_and_none_fails() {
    let parent = directory();
    for (workload, setting) in [("oltp", ("mix", "read_write")), ("insert", ("rows_per_commit", "1"))] {
        let settings = [setting, ("clients", "16"), ("durability", "os"), ("ops_max", "1000000"), ("time", "2s")];
        let trial = trial("sqlite", workload, &settings);
        let mut instance = prepared(&trial, parent.path());
        let (outcome, seen) = run(&mut *instance, &trial).unwrap();
        let (ok, failed) = seen.total(Phase::Run);
        assert_eq!((outcome.ended, outcome.hung, failed), (LoadEnd::AsPlanned, vec![], 0), "{:?}", seen.events);
        assert!(ok > 16, "{ok} operations");
        instance.stop().unwrap();
    }
}

#[test]
fn every_statement_of_many_tables_stays_prepared() {
    let parent = directory();
    let trial = trial("sqlite", "oltp", &[("tables", "40"), ("table_rows", "10"), ("mix", "read_write")]);
    let mut instance = prepared(&trial, parent.path());
    assert_eq!(run(&mut *instance, &trial).unwrap().1.total(Phase::Run).1, 0);
    instance.stop().unwrap();
}

#[test]
fn keys_and_values_are_all_there_after_the_load_and_one_that_is_missing_is_told() {
    let parent = directory();
    for engine in key_value() {
        let trial = trial(engine, "oltp", &[("tables", "2")]);
        let mut instance = prepared(&trial, parent.path());
        assert!(instance.measure_space().total.0 > 2 * 500 * 190, "{engine}: {}", instance.measure_space().total);
        assert_eq!(instance.measure_space().rows, Some(2 * 500), "{engine}");
        assert_eq!(run(&mut *instance, &trial).unwrap().1.total(Phase::Run), (300, 0), "{engine}");
        instance.stop().unwrap();

        let mut empty = start(&trial, parent.path()).unwrap();
        drop(empty.make_loaders(&trial).unwrap());
        empty.finish_load().unwrap();
        let (outcome, seen) = run(&mut *empty, &trial).unwrap();
        assert!(matches!(outcome.ended, LoadEnd::Failed { class: Some(FailureClass::Corrupt), .. }), "{outcome:?}");
        assert_eq!(seen.total(Phase::Run).0, 0);
        empty.stop().unwrap();
    }
}

#[test]
fn a_block_that_direct_io_cannot_move_is_refused_by_name_and_moved_through_the_page_cache() {
    let parent = directory();
    let direct = trial("file", "file", &[("block", "777"), ("direct", "true"), ("io", "sync")]);
    if !can_run(&direct, parent.path()) {
        return;
    }
    let mut instance = prepared(&direct, parent.path());
    let error = instance.make_clients(&direct).err().unwrap();
    assert!(matches!(error, TargetError::Unsupported(_)) && error.to_string().contains("777"), "{error}");
    instance.stop().unwrap();
    let buffered = trial("file", "file", &[("block", "777"), ("direct", "false"), ("io", "sync")]);
    let mut instance = prepared(&buffered, parent.path());
    assert_eq!(run(&mut *instance, &buffered).unwrap().1.total(Phase::Run), (300, 0));
    instance.stop().unwrap();
}

#[test]
fn a_file_is_read_and_written_directly_and_through_the_page_cache_at_every_depth() {
    let parent = directory();
    for (io, depth) in [("sync", "1"), ("uring", "1"), ("uring", "8"), ("aio", "1"), ("aio", "8")] {
        for direct in ["true", "false"] {
            let settings = [("io", io), ("depth", depth), ("direct", direct), ("mode", "rndrw"), ("clients", "2")];
            let trial = trial("file", "file", &settings);
            if !can_run(&trial, parent.path()) {
                continue;
            }
            let mut instance = prepared(&trial, parent.path());
            let (outcome, seen) = run(&mut *instance, &trial).unwrap();
            let (ok, failed) = seen.total(Phase::Run);
            assert_eq!((outcome.ended, failed), (LoadEnd::AsPlanned, 0), "{settings:?}: {:?}", seen.events);
            assert!(ok > 0 && seen.counts.len() == 2, "{settings:?}: {:?}", seen.counts);
            assert_eq!(instance.measure_space().total.0, 8 << 20);
            instance.stop().unwrap();
        }
    }
}

#[test]
fn buffers_that_would_fill_the_memory_are_refused() {
    for io in ["uring", "aio"] {
        let settings = [("io", io), ("direct", "false"), ("depth", "4096"), ("block", "8MiB"), ("clients", "1000")];
        let trial = trial("file", "file", &settings);
        let error = (engine::find("file").unwrap().check)(&trial).unwrap_err();
        assert!(matches!(error, TargetError::Unsupported(_)) && error.to_string().contains("memory"), "{error}");
    }
}

/// The counters of where rows stay: a database, tables, or a log that is all there is. The first that an engine has is meant.
const ROWS_STAY_IN: [&str; 3] = ["database_bytes", "table_bytes", "log_bytes"];

#[test]
fn an_embedded_engine_counts_what_its_log_and_its_tables_became() {
    let parent = directory();
    for engine in embedded() {
        let settings = [("rows_per_commit", "100"), ("durability", "none")];
        let trial = trial(engine, "insert", &settings);
        let mut instance = start(&trial, parent.path()).unwrap();
        assert_eq!(prepare(&mut *instance, &trial).unwrap().0.ended, LoadEnd::AsPlanned);
        let mut source = instance.counter_sources().remove(0);
        let def = source.describe();
        assert_eq!((def.name.as_str(), def.counters.len()), (engine, source.read().len()));
        assert_eq!(run(&mut *instance, &trial).unwrap().1.total(Phase::Run).1, 0);
        instance.finish_load().unwrap(); // brings the rows to where they stay
        let after = source.read();
        let position = |name: &&str| def.counters.iter().position(|counter| counter.name == *name);
        let at = ROWS_STAY_IN.iter().find_map(position).expect("it counts the bytes in which its rows stay");
        assert!(after[at].is_some_and(|bytes| bytes > 20_000.0), "{def:?} {after:?}");
        instance.stop().unwrap();
    }
}
