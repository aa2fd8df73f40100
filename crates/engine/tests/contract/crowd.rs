//! Clients that share threads, on the real servers: what they do is what the server counts, and each of them does some of it.

use crate::insert::asked;
use crate::lab::{
    custom_trial, directory, fact, names_in, prepared, run, run_loading, server_programs, servers, trial, until,
};
use engine::Instance;
use load::LoadEnd;
use model::{OnError, Phase, Trial};
use std::path::Path;

const NOTHING: [String; 0] = [];
const SIXTEEN_ON_TWO: [(&str, &str); 4] =
    [("clients", "16"), ("threads", "2"), ("durability", "none"), ("time", "100s")];

fn sixteen(engine: &str, more: &[(&str, &str)]) -> Trial {
    trial(engine, "oltp", &[&SIXTEEN_ON_TWO[..], more].concat())
}

/// How many operations of `trial` were done; none failed.
fn done(instance: &mut dyn Instance, trial: &Trial) -> u64 {
    let (outcome, seen) = run(instance, trial).unwrap();
    let (ok, failed) = seen.total(Phase::Run);
    assert_eq!((outcome.ended, outcome.hung, failed), (LoadEnd::AsPlanned, vec![], 0), "{:?}", seen.events);
    ok
}

/// A number that the server counts: of connections, of transactions or of executed statements.
fn count(engine: &str, parent: &Path, mariadb: &str) -> u64 {
    let question = match engine {
        "postgres" => {
            let counter = if mariadb == "Connections" { "sessions" } else { "xact_commit" };
            format!("SELECT {counter} FROM pg_stat_database WHERE datname = 'postgres'")
        }
        _ => format!("SHOW GLOBAL STATUS LIKE '{mariadb}'"),
    };
    // MariaDB and MySQL answer with the name and the number.
    let answer = asked(engine, parent, &question).remove(0);
    answer.rsplit('\t').next().unwrap().parse().unwrap()
}

#[test]
fn the_server_counts_what_the_clients_count_and_each_has_its_part_at_any_pace() {
    let parent = directory();
    for engine in server_programs().map(|engine| engine.entry.name) {
        let mut instance = prepared(&sixteen(engine, &[]), parent.path());
        for sockets in ["best", "epoll"] {
            the_server_counts_as_many_operations_as_the_clients(&mut *instance, engine, parent.path(), sockets);
        }
        each_client_has_a_connection_and_its_part_of_the_operations(&mut *instance, engine, parent.path());
        instance.stop().unwrap();
        assert_eq!(names_in(parent.path()), NOTHING);
    }
}

fn the_server_counts_as_many_operations_as_the_clients(
    instance: &mut dyn Instance,
    engine: &str,
    parent: &Path,
    sockets: &str,
) {
    for (mix, counter) in [("point_select", "Com_stmt_execute"), ("read_write", "Com_commit")] {
        for statements in ["prepared", "plain"] {
            let counter = if statements == "plain" && mix == "point_select" { "Com_select" } else { counter };
            let more = [("mix", mix), ("ops_max", "1000"), ("statements", statements), ("sockets", sockets)];
            let trial = sixteen(engine, &more);
            let before = count(engine, parent, counter);
            assert_eq!(done(instance, &trial), 1_000, "{engine} {mix}");
            // PostgreSQL's processes tell what they did when they end, and once a second; it and those that ask commit, too.
            let mut counted = 0;
            until(|| {
                counted = count(engine, parent, counter) - before;
                counted >= 1_000
            });
            let asking = if engine == "postgres" || counter == "Com_select" { 300 } else { 0 };
            assert!((1_000..=1_000 + asking).contains(&counted), "{engine} {mix} {statements}: {counted}");
        }
    }
    let told = fact(instance, "client.threads").unwrap();
    assert!(told.starts_with("2; a reply may wait for its thread"), "{told}");
    let told = fact(instance, "client.sockets").unwrap();
    assert!(sockets == "best" || told.starts_with("epoll"), "{told}");
}

/// The last of its instance: its clients sign the rows.
fn each_client_has_a_connection_and_its_part_of_the_operations(
    instance: &mut dyn Instance,
    engine: &str,
    parent: &Path,
) {
    let own = if engine == "postgres" { "pg_backend_pid()" } else { "connection_id()" };
    let sql = format!("INSERT INTO sbtest1 (id, k, c, pad) VALUES (:new_id, {own}, :c, :pad)");
    let text = format!("[[statement]]\nname = 'sign'\nsql = '{sql}'");
    for pace in [&[][..], &[("rate", "1000")], &[("think", "2ms")]] {
        let trial = custom_trial(engine, &text, &[&SIXTEEN_ON_TWO[..], &[("ops_max", "800")], pace].concat());
        asked(engine, parent, "DELETE FROM sbtest1");
        assert_eq!(done(instance, &trial), 800, "{engine} {pace:?}");
        let signed = asked(engine, parent, "SELECT count(*) FROM sbtest1 GROUP BY k");
        let signed: Vec<u64> = signed.iter().map(|count| count.parse().unwrap()).collect();
        assert_eq!((signed.len(), signed.iter().sum()), (16, 800), "{engine} {pace:?}: {signed:?}");
    }
}

#[test]
fn clients_that_share_threads_are_encrypted_and_take_their_leave() {
    let parent = directory();
    for engine in server_programs().map(|engine| engine.entry.name) {
        let with =
            |sockets, mix| sixteen(engine, &[("via", "tls"), ("ops_max", "500"), ("sockets", sockets), ("mix", mix)]);
        let mut instance = prepared(&with("best", "read_write"), parent.path());
        for (sockets, mix) in [("best", "read_write"), ("epoll", "read_write"), ("best", "point_select")] {
            assert_eq!(done(&mut *instance, &with(sockets, mix)), 500, "{engine} {sockets} {mix}");
        }
        assert!(fact(&*instance, "server.tls").unwrap().starts_with("TLS"));
        if engine != "postgres" {
            // A server counts those that are gone without a word, and does so in its own time.
            until(|| count(engine, parent.path(), "Threads_connected") <= 3);
            assert_eq!(count(engine, parent.path(), "Aborted_clients"), 0, "{engine}");
        }
        instance.stop().unwrap();
    }
}

#[test]
fn the_steps_of_the_insert_benchmark_end_with_all_of_their_rows() {
    let parent = directory();
    for engine in servers().map(|engine| engine.entry.name) {
        let settings = [("schema", "ibench"), ("rows", "2345"), ("rows_per_commit", "50"), ("ops_max", "none")];
        let step = |step| {
            let all = [&settings[..], &SIXTEEN_ON_TWO, &[("threads", "3"), ("step", step)]].concat();
            trial(engine, "insert", &all)
        };
        let mut instance = prepared(&step("l.i0"), parent.path());
        for name in ["l.i0", "l.x", "l.i1"] {
            done(&mut *instance, &step(name));
        }
        let table = asked(engine, parent.path(), "SELECT count(*) FROM purchases_index");
        assert_eq!(table, ["4690"], "{engine}");
        instance.stop().unwrap();
    }
}

#[test]
fn the_server_counts_a_connection_for_each_transaction_however_it_is_reached() {
    let parent = directory();
    for engine in server_programs().map(|engine| engine.entry.name) {
        for via in ["socket", "tcp", "tls"] {
            let with = |more: &[_]| visitors(engine, &[&[("via", via)], more].concat());
            let mut instance = prepared(&with(&[]), parent.path());
            for (sockets, statements) in [("best", "prepared"), ("epoll", "prepared"), ("best", "plain")] {
                let trial = with(&[("sockets", sockets), ("statements", statements)]);
                let before = count(engine, parent.path(), "Connections");
                assert_eq!(done(&mut *instance, &trial), 600, "{engine} {via} {sockets} {statements}");
                let mut counted = 0;
                until(|| {
                    counted = count(engine, parent.path(), "Connections") - before;
                    // Each thread has looked once whether the server takes connections.
                    counted >= 602
                });
                // Those that ask have connections, too.
                let asking = if engine == "postgres" { 300 } else { 20 };
                assert!((602..=602 + asking).contains(&counted), "{engine} {via} {sockets} {statements}: {counted}");
            }
            let told = instance.finish_trial().into_iter().find(|fact| fact.name == "client.reconnects").unwrap();
            assert_eq!(told.value, "0", "{engine} {via}");
            instance.stop().unwrap();
        }
    }
}

/// 200 clients on 2 threads, with a connection per transaction.
fn visitors(engine: &str, more: &[(&str, &str)]) -> Trial {
    let all = [("clients", "200"), ("connection", "per-transaction"), ("mix", "read_write"), ("ops_max", "600")];
    // PostgreSQL looks for deadlocks once a second: on a busy machine a client may lose for longer than usual.
    let patient = [("retries_for", "60s")];
    sixteen(engine, &[&all[..], &patient, more].concat())
}

#[test]
fn connections_that_the_server_has_no_room_for_are_counted_and_the_others_go_on() {
    let parent = directory();
    for engine in server_programs().map(|engine| engine.entry.name).filter(|name| *name != "postgres") {
        let trial = Trial { on_error: OnError::Count, ..visitors(engine, &[("ops_max", "2000")]) };
        let mut instance = prepared(&trial, parent.path());
        let loading = instance.make_clients(&trial).unwrap();
        asked(engine, parent.path(), "SET GLOBAL max_connections = 10");
        let (outcome, seen) = run_loading(loading, &trial);
        let (ok, failed) = seen.total(Phase::Run);
        assert_eq!((outcome.ended, outcome.hung), (LoadEnd::AsPlanned, vec![]), "{engine}");
        assert!(ok > 0 && failed > 0, "{engine}: {ok} {failed}");
        let is_full = |text: &String| text.starts_with("lost: ") && text.contains("Too many connections");
        assert!(seen.events.iter().all(is_full), "{engine}: {:?}", seen.events);
        asked(engine, parent.path(), "SET GLOBAL max_connections = 1000");
        assert_eq!(done(&mut *instance, &visitors(engine, &[])), 600, "{engine}");
        instance.stop().unwrap();
    }
}

#[test]
fn threads_that_cannot_be_shared_are_refused_with_what_to_do() {
    for engine in servers() {
        let trial = sixteen(engine.entry.name, &[("threads", "17")]);
        let text = (engine.check)(&trial).unwrap_err().to_string();
        assert!(text.contains("threads (17) exceeds clients (16)"), "{text}");
        for threads in ["2", "16"] {
            let each = sixteen(engine.entry.name, &[("threads", threads), ("connection", "per-transaction")]);
            (engine.check)(&each).unwrap();
        }
        let alone = sixteen(engine.entry.name, &[("threads", "0"), ("sockets", "epoll")]);
        let text = (engine.check)(&alone).unwrap_err().to_string();
        assert!(text.contains("sockets = `epoll` is for clients that share threads"), "{text}");
    }
}
