//! Replays of writes: the ids that the recorded server made are made again, the copy is restored before each point, sessions keep their order on the
//! same row, and what diverged is told.
//!
//! In: captures of the crate `capture`, of servers on which the next id was 501; servers whose tables are new, so that they would make other ids;
//! logs that are made here, with INSERTs in another order than their ids among them.
//! Out: the rows on the copy, and what JSON and facts say. Limits: nothing here depends on how fast the machine is.

use crate::lab::Lab;
use crate::replaying_sql::{fact, replayed};
use crate::servers::{ask_mariadb, ask_postgres, is_here, measuring, socket_of};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Statements of several tables wait for nothing: what sessions did within a millisecond stays in order if it goes slowly.
const WRITES: [&str; 4] = ["--allow-writes", "true", "--speed", "0.02"];

fn capture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../capture/tests/fixtures").join(name)
}

/// By what a point was compared with the log, and how many statements diverged.
fn divergence(point: &Value) -> (&str, u64) {
    let found = &point["replay_divergence"];
    assert!(found["compared"].as_u64().unwrap() > 5, "{point}");
    (found["compared_by"].as_str().unwrap(), found["diverged"].as_u64().unwrap())
}

#[test]
fn a_capture_of_mariadb_has_its_ids_made_again_on_a_server_that_is_restored_before_each_point() {
    let (lab, held) = (Lab::new(), Lab::new());
    if !is_here(&lab, "mariadb:innodb") {
        return;
    }
    let _server = measuring(&held, &[]);
    let socket = socket_of(&held, "m.sock");
    ask_mariadb(
        &socket,
        "CREATE USER visitor@localhost; GRANT ALL ON *.* TO visitor@localhost; CREATE DATABASE shop; USE shop; \
         CREATE TABLE orders (id INT AUTO_INCREMENT PRIMARY KEY, customer INT, total INT, note VARCHAR(50)); \
         CREATE TABLE order_lines (id INT AUTO_INCREMENT PRIMARY KEY, order_id INT, qty INT); \
         INSERT INTO orders (id) VALUES (501)",
    );
    let url = format!("mysql://visitor@localhost/?socket={socket}");
    let log = capture("mysql-ids.pcap");
    let restore =
        format!("mariadb -N -uroot -S '{socket}' shop -e 'TRUNCATE orders; TRUNCATE order_lines; SELECT \"restored\"'");
    let base = ["replay-sql", "--log", log.to_str().unwrap(), "--engine", &url];
    let more = ["--restore", &restore, "--repeat", "2", "--no-report"];
    let all = lab.json(&[&base[..], &WRITES, &more].concat());
    let points = all["points"].as_array().unwrap();
    assert_eq!(points.len(), 2, "{all}");
    points.iter().for_each(|point| assert_eq!(divergence(point), ("rows", 0), "{point}"));
    let ids = ask_mariadb(&socket, "SELECT group_concat(id ORDER BY id), sum(total) FROM shop.orders");
    assert_eq!(ids.split_whitespace().collect::<Vec<_>>(), ["501,502,503", "5"]);
    let lines = ask_mariadb(&socket, "SELECT id, order_id FROM shop.order_lines");
    assert_eq!(lines.split_whitespace().collect::<Vec<_>>(), ["501", "501"]);

    // Rows that are there already are inserted again.
    let point = replayed(&lab, &log, &url, &WRITES);
    assert!(divergence(&point).1 >= 2, "{point}");
    assert!(fact(&lab, "replay_ids").ends_with(" set"), "{}", fact(&lab, "replay_ids"));

    let failing = ["--restore", "sh -c 'echo begun; echo it broke >&2; exit 3'", "--no-report"];
    let refused = lab.run(&[&base[..], &WRITES, &failing].concat());
    let line = "--restore: `sh`: it ended with exit status: 3: it broke";
    assert!(refused.exit != 0 && refused.stderr.contains(line), "{} {}", refused.exit, refused.stderr);
    let begun = "plimsoll: `sh` restores the copy at mysql://visitor@localhost";
    assert!(refused.stderr.contains(begun), "it may take long: {}", refused.stderr);
}

#[test]
fn a_capture_of_postgresql_has_its_ids_made_again_in_both_protocols() {
    let (lab, held) = (Lab::new(), Lab::new());
    if !is_here(&lab, "postgres") {
        return;
    }
    let _server = measuring(&held, &["--engine", "postgres"]);
    let socket = socket_of(&held, ".s.PGSQL.5432");
    ask_postgres(
        &socket,
        "CREATE TABLE customers (id SERIAL PRIMARY KEY, email VARCHAR(50) UNIQUE); \
         CREATE TABLE orders (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, customer INT, total INT, note VARCHAR(50), \
         created timestamptz DEFAULT now()); \
         CREATE TABLE order_lines (id SERIAL PRIMARY KEY, order_id BIGINT REFERENCES orders, qty INT)",
    );
    let url = format!("postgres://plimsoll@localhost/postgres?socket={socket}");
    let more = [&WRITES[..], &["--schemas", "shop=postgres"]].concat();
    let point = replayed(&lab, &capture("postgres-ids.pcap"), &url, &more);
    assert_eq!(divergence(&point), ("rows", 0), "{point}");
    let ids_of = |table: &str| {
        let ids = ask_postgres(&socket, &format!("SELECT string_agg(id::text, ',' ORDER BY id) FROM {table}"));
        ids.split_whitespace().find(|word| word.contains("501")).unwrap_or_default().to_owned()
    };
    assert_eq!((ids_of("orders"), ids_of("order_lines")), ("501,502,503,504".into(), "501,502".into()));
    assert_eq!(fact(&lab, "replay_ids"), "5 set");
}

/// One statement of a slow log: when it ended and how long it took, in microseconds within a second, its session and text.
fn logged(ended_us: u64, took_us: u64, session: u32, text: &str) -> String {
    format!(
        "# Time: 2026-11-28T03:16:30.{ended_us:06}Z\n# User@Host: app[app] @ localhost []\n\
         # Thread_id: {session}  Schema: shop  QC_hit: No\n\
         # Query_time: 0.{took_us:06}  Lock_time: 0.000000  Rows_sent: 0  Rows_examined: 0\n# Rows_affected: 1  Bytes_sent: 52\n\
         SET timestamp=1795835790;\n{text};\n"
    )
}

#[test]
fn a_statement_waits_for_the_session_that_wrote_its_row_before_it_however_fast_it_goes() {
    const PAIRS: u64 = 300;
    let (lab, held) = (Lab::new(), Lab::new());
    if !is_here(&lab, "mariadb:innodb") {
        return;
    }
    let _server = measuring(&held, &[]);
    let socket = socket_of(&held, "m.sock");
    ask_mariadb(
        &socket,
        "CREATE USER visitor@localhost; GRANT ALL ON *.* TO visitor@localhost; CREATE DATABASE shop; \
         CREATE TABLE shop.pairs (id INT PRIMARY KEY, v INT)",
    );
    // Each row takes longer to insert than to find, and is changed a millisecond after it was there.
    let pair = |nth: u64| {
        let insert = format!("INSERT INTO pairs (id, v) VALUES ({nth}, SLEEP(0.002))");
        let update = format!("UPDATE `pairs` SET v = v + 1 WHERE id = '{nth}'");
        let at_us = nth * 3_000;
        logged(at_us + 1_000, 1_000, 11, &insert) + &logged(at_us + 2_200, 200, 12, &update)
    };
    let log = lab.path().join("pairs.log");
    std::fs::write(&log, (0..PAIRS).map(pair).collect::<String>()).unwrap();
    let url = format!("mysql://visitor@localhost/?socket={socket}");
    let point = replayed(&lab, &log, &url, &["--allow-writes", "true", "--speed", "max"]);
    assert_eq!(divergence(&point), ("rows", 0), "{point}");
    assert_eq!(ask_mariadb(&socket, "SELECT count(*), sum(v) FROM shop.pairs").trim(), format!("{PAIRS}\t{PAIRS}"));
    let order = fact(&lab, "replay_order");
    let named = format!("{PAIRS} statements name a row that another session wrote before; ");
    assert!(order.starts_with(&named) && order.ends_with("; 0 went ahead of it"), "{order}");
}

#[test]
fn sessions_that_wait_for_one_lock_do_not_wait_for_each_other_without_end() {
    const TRANSACTIONS: u64 = 100;
    let (lab, held) = (Lab::new(), Lab::new());
    if !is_here(&lab, "mariadb:innodb") {
        return;
    }
    let _server = measuring(&held, &[]);
    let socket = socket_of(&held, "m.sock");
    ask_mariadb(
        &socket,
        "CREATE USER visitor@localhost; GRANT ALL ON *.* TO visitor@localhost; CREATE DATABASE shop; \
         CREATE TABLE shop.pairs (id INT PRIMARY KEY, v INT); INSERT INTO shop.pairs VALUES (1, 0)",
    );
    // Each begins to wait for the lock before the one before it has set the value and committed.
    let transaction = |nth: u64| {
        let (at_us, session) = (10_000 + nth * 2_000, 21 + nth as u32 % 4);
        let lock = "SELECT v FROM pairs WHERE id = 1 FOR UPDATE";
        let set = "UPDATE pairs SET v = v + 1 WHERE id = 1";
        [
            (at_us - 1_200, 100, "BEGIN"),
            (at_us + 500, 1_500, lock),
            (at_us + 1_000, 100, set),
            (at_us + 1_500, 100, "COMMIT"),
        ]
        .map(|(ended_us, took_us, text)| (ended_us, logged(ended_us, took_us, session, text)))
    };
    let mut entries: Vec<(u64, String)> = (0..TRANSACTIONS).flat_map(transaction).collect();
    entries.sort();
    let log = lab.path().join("locks.log");
    std::fs::write(&log, entries.into_iter().map(|(_, text)| text).collect::<String>()).unwrap();
    let url = format!("mysql://visitor@localhost/?socket={socket}");
    let point = replayed(&lab, &log, &url, &["--allow-writes", "true", "--speed", "max"]);
    assert_eq!(point["failed"].as_u64(), Some(0), "{point}");
    assert_eq!(ask_mariadb(&socket, "SELECT v FROM shop.pairs").trim(), TRANSACTIONS.to_string());
    let order = fact(&lab, "replay_order");
    assert!(order.contains(" waited for it, ") && !order.contains("in vain"), "{order}");
}

#[test]
fn what_triggers_executed_is_executed_once_and_letters_in_latin1_stay_the_same() {
    let (lab, held) = (Lab::new(), Lab::new());
    if !is_here(&lab, "mariadb:innodb") {
        return;
    }
    let _server = measuring(&held, &[]);
    let socket = socket_of(&held, "m.sock");
    ask_mariadb(
        &socket,
        "CREATE USER visitor@localhost; GRANT ALL ON *.* TO visitor@localhost; CREATE DATABASE shop; USE shop; \
         CREATE TABLE r_t (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(20) CHARACTER SET utf8mb4); \
         CREATE TABLE r_n (id INT PRIMARY KEY, n INT); INSERT INTO r_n VALUES (1, 0); \
         CREATE TRIGGER r_tr AFTER INSERT ON r_t FOR EACH ROW UPDATE r_n SET n=n+1 WHERE id=1",
    );
    let begin =
        "261201 14:40:48\t   334 Connect\tb@localhost on shop using TCP/IP\n\t\t   334 Query\tSET NAMES latin1\n";
    let mut text = begin.as_bytes().to_vec();
    for _ in 0..3 {
        text.extend_from_slice(b"\t\t   334 Query\tinsert into r_t(v) values('caf\xe9')\n");
        text.extend_from_slice(b"\t\t   334 Query\tUPDATE r_n SET n=n+1 WHERE id=1\n");
    }
    let log = lab.path().join("triggers.log");
    std::fs::write(&log, text).unwrap();
    let url = format!("mysql://visitor@localhost/?socket={socket}");
    let point = replayed(&lab, &log, &url, &["--allow-writes", "true"]);
    assert_eq!(point["failed"].as_u64(), Some(0), "{point}");
    let found = "SELECT n, (SELECT group_concat(DISTINCT hex(v)) FROM shop.r_t) FROM shop.r_n";
    assert_eq!(ask_mariadb(&socket, found).trim(), "3\t636166C3A9");
    assert_eq!(fact(&lab, "recorded.left_out_triggered"), "3");
}

#[test]
fn an_error_of_the_application_in_a_slow_log_without_errors_counts_as_done() {
    let (lab, held) = (Lab::new(), Lab::new());
    if !is_here(&lab, "mariadb:innodb") {
        return;
    }
    let _server = measuring(&held, &[]);
    let socket = socket_of(&held, "m.sock");
    ask_mariadb(
        &socket,
        "CREATE USER visitor@localhost; GRANT ALL ON *.* TO visitor@localhost; CREATE DATABASE shop; \
         CREATE TABLE shop.pairs (id INT PRIMARY KEY, v INT)",
    );
    let failed = |at_us, text: &str| logged(at_us, 100, 11, text).replace("Rows_affected: 1", "Rows_affected: 0");
    let text = [
        logged(1_000, 100, 11, "INSERT INTO pairs VALUES (1, 0)"),
        failed(2_000, "INSERT INTO pairs VALUES (1, 0)"),
        failed(3_000, "selec 1"),
        logged(4_000, 100, 11, "UPDATE pairs SET v = 1 WHERE id = 1"),
    ];
    let log = lab.path().join("errors.log");
    std::fs::write(&log, text.concat()).unwrap();
    let url = format!("mysql://visitor@localhost/?socket={socket}");
    let point = replayed(&lab, &log, &url, &["--allow-writes", "true"]);
    assert_eq!((point["failed"].as_u64(), point["ops"].as_u64()), (Some(0), Some(4)), "{point}");
    assert_eq!(point["replay_divergence"]["diverged"].as_u64(), Some(0), "{point}");
    assert_eq!(fact(&lab, "replay_failed_untold"), "2");
}

#[test]
fn what_postgresql_has_rolled_back_is_rolled_back_again() {
    let (lab, held) = (Lab::new(), Lab::new());
    if !is_here(&lab, "postgres") {
        return;
    }
    let _server = measuring(&held, &["--engine", "postgres"]);
    let socket = socket_of(&held, ".s.PGSQL.5432");
    ask_postgres(&socket, "CREATE TABLE pairs (id INT PRIMARY KEY, v INT); INSERT INTO pairs VALUES (1, 0), (2, 0)");
    let ended = |text: &str| ("LOG", format!("duration: 0.020 ms  statement: {text}"), String::new());
    let failed = |message: &str, text: &str| ("ERROR", message.to_owned(), text.to_owned());
    let records = [
        ended("BEGIN"),
        ended("UPDATE pairs SET v = 1 WHERE id = 1"),
        failed("duplicate key value", "INSERT INTO pairs VALUES (1, 5)"),
        failed("current transaction is aborted", "UPDATE pairs SET v = 2 WHERE id = 2"),
        failed("current transaction is aborted", "SELECT v FROM pairs"),
        ended("COMMIT"),
        ended("SELECT v FROM pairs"),
        // Its values are not in the log.
        ended("BEGIN"),
        ended("UPDATE pairs SET v = 3 WHERE id = 2"),
        failed("duplicate key value", "INSERT INTO pairs VALUES ($1, $2)"),
        ended("COMMIT"),
    ];
    let entry = |(nth, (severity, message, statement)): (usize, (&str, String, String))| {
        format!(
            "2026-11-28 03:16:35.{:03} UTC,\"plimsoll\",\"postgres\",7,\"[local]\",s.7,1,\"idle\",2026-11-28 03:16:35 UTC,4/2,0,\
             {severity},00000,\"{message}\",,,,,,\"{statement}\",,,\"psql\",\"client backend\",,0\n",
            (nth + 1) * 10
        )
    };
    let log = lab.path().join("kept.csv");
    std::fs::write(&log, records.into_iter().enumerate().map(entry).collect::<String>()).unwrap();
    let url = format!("postgres://plimsoll@localhost/postgres?socket={socket}");
    let point = replayed(&lab, &log, &url, &["--allow-writes", "true"]);
    assert_eq!(point["failed"].as_u64(), Some(0), "{point}");
    assert_eq!(ask_postgres(&socket, "SELECT sum(v) FROM pairs").trim(), "0");
    assert_eq!(
        (fact(&lab, "replay_failed_as_recorded"), fact(&lab, "recorded.left_out_unbound")),
        ("3".into(), "1".into())
    );
    // Of reads alone nothing aborts a transaction.
    let point = replayed(&lab, &log, &url, &[]);
    let compared = &point["replay_divergence"];
    assert_eq!((point["ops"].as_u64(), compared["compared"].as_u64()), (Some(2), Some(1)), "{point}");
    assert_eq!(compared["diverged"].as_u64(), Some(0), "{point}");
}

/// Pairs of orders whose ids are exchanged.
const EXCHANGED: u64 = 30;

/// What two sessions do at once, each statement with its session: the order of the first session has the later id.
fn exchanged(nth: u64) -> [(u64, String); 6] {
    let (first, second) = (502 + 2 * nth, 501 + 2 * nth);
    let order = |customer: u64| format!("INSERT INTO orders (customer, total) VALUES ({customer}, 0)");
    let line = |id: u64, qty: u64| format!("INSERT INTO order_lines (order_id, qty) VALUES ('{id}', {qty})");
    let update = |id: u64, total: u64| format!("UPDATE orders SET total = {total} WHERE id = {id}");
    [
        (1, order(1)),
        // Without a list of columns.
        (2, "INSERT INTO orders VALUES (DEFAULT, 2, 0)".to_owned()),
        (1, line(first, 11)),
        (2, line(second, 12)),
        (1, update(first, 21)),
        (2, update(second, 22)),
    ]
}

/// How many orders have the customers, the totals and the lines that the log says, and how many lines they have.
const AS_LOGGED: &str = "SELECT concat(count(*), '/', count(DISTINCT l.id)) FROM orders o JOIN order_lines l ON l.order_id = o.id \
    WHERE o.customer = 1 + o.id % 2 AND o.total = o.customer + 20 AND l.qty = o.customer + 10";

fn check_worked_out(lab: &Lab, log: &Path, url: &str, ask: impl Fn(&str) -> String) {
    let point = replayed(lab, log, url, &["--allow-writes", "true"]);
    assert_eq!((point["failed"].as_u64(), point["ops"].as_u64()), (Some(0), Some(6 * EXCHANGED)), "{point}");
    let answer = ask(AS_LOGGED);
    let found = answer.split_whitespace().find(|word| word.contains('/'));
    assert_eq!(found, Some(format!("{0}/{0}", 2 * EXCHANGED).as_str()), "{answer}");
    let many = 2 * EXCHANGED;
    let worked = format!("worked out: {many} by what the sessions say later and 0 by the order of the log, {many} not");
    let told = format!("{many} set; {worked}; none of order_lines, whose ids no session says");
    assert_eq!(fact(lab, "replay_ids"), told);
}

#[test]
fn ids_that_a_log_of_postgresql_does_not_have_are_worked_out() {
    let (lab, held) = (Lab::new(), Lab::new());
    if !is_here(&lab, "postgres") {
        return;
    }
    let _server = measuring(&held, &["--engine", "postgres"]);
    let socket = socket_of(&held, ".s.PGSQL.5432");
    ask_postgres(
        &socket,
        "CREATE TABLE orders (id BIGINT GENERATED ALWAYS AS IDENTITY (START WITH 501) PRIMARY KEY, customer INT, total INT); \
         CREATE TABLE order_lines (id SERIAL PRIMARY KEY, order_id BIGINT REFERENCES orders, qty INT)",
    );
    let mut text = String::new();
    for (nth, (session, statement)) in (0u64..).zip((0..EXCHANGED).flat_map(exchanged)) {
        let ms = nth * 5;
        text += &format!(
            "2026-11-28 03:16:{:02}.{:03} UTC,\"plimsoll\",\"postgres\",{session},\"[local]\",s.{session},1,\"idle\",2026-11-28 03:16:35 UTC,4/2,0,LOG,00000,\"statement: {statement}\",,,,,,,,,\"psql\",\"client backend\",,0\n",
            35 + ms / 1_000,
            ms % 1_000,
        );
    }
    let log = lab.path().join("exchanged.csv");
    std::fs::write(&log, text).unwrap();
    let url = format!("postgres://plimsoll@localhost/postgres?socket={socket}");
    check_worked_out(&lab, &log, &url, |question| ask_postgres(&socket, question));
}

#[test]
fn ids_that_a_log_of_mariadb_does_not_have_are_worked_out() {
    let (lab, held) = (Lab::new(), Lab::new());
    if !is_here(&lab, "mariadb:innodb") {
        return;
    }
    let _server = measuring(&held, &[]);
    let socket = socket_of(&held, "m.sock");
    ask_mariadb(
        &socket,
        "CREATE USER visitor@localhost; GRANT ALL ON *.* TO visitor@localhost; CREATE DATABASE shop; USE shop; \
         CREATE TABLE orders (id INT AUTO_INCREMENT PRIMARY KEY, customer INT, total INT) AUTO_INCREMENT = 501; \
         CREATE TABLE order_lines (id INT AUTO_INCREMENT PRIMARY KEY, order_id INT, qty INT)",
    );
    let all = (0u64..).zip((0..EXCHANGED).flat_map(exchanged));
    let text: String = all.map(|(nth, (session, text))| logged(nth * 5_000, 0, session as u32, &text)).collect();
    let log = lab.path().join("exchanged.log");
    std::fs::write(&log, text).unwrap();
    let url = format!("mysql://visitor@localhost/?socket={socket}");
    check_worked_out(&lab, &log, &url, |question| ask_mariadb(&socket, &format!("USE shop; {question}")));
}
