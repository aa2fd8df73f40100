//! Replays of several copies of a log that writes, each with keys of its own: on real servers.
//!
//! In: logs and a capture in which orders are inserted, with ids that the client said and with ids that the server made, and then named. Out: the
//! rows on the copy, and what JSON and facts say. Limits: a session names its own orders only, so nothing here depends on how fast the machine is.

use crate::lab::Lab;
use crate::replaying_sql::{fact, replayed};
use crate::servers::{ask_mariadb, ask_postgres, is_here, measuring, socket_of};
use serde_json::Value;
use std::path::{Path, PathBuf};

const SESSIONS: u64 = 4;
/// The orders that the log inserts with an id that the server made; it inserts as many with one of the client's.
const ORDERS: u64 = 20;
/// Three copies that all send the same at the same moments.
const COPIES: [&str; 6] = ["--times", "3", "--shift", "0", "--allow-writes", "true"];

fn with_keys(keys: &str) -> Vec<&str> {
    [&COPIES[..], &["--keys", keys]].concat()
}

/// A statement of a log: its text, the id that it made, and how many rows it returned and changed.
struct Logged {
    text: String,
    made_id: Option<u64>,
    returned: u64,
    changed: u64,
}

fn logged(text: String, returned: u64, changed: u64) -> Logged {
    Logged { text, made_id: None, returned, changed }
}

/// What a session does with order number `nth`, of those that the log inserts.
fn statements_of(nth: u64) -> Vec<Logged> {
    let (id, own) = (101 + nth, 1_001 + nth);
    let inserted = "INSERT INTO orders (customer, total) VALUES (7, 0)".to_owned();
    vec![
        Logged { made_id: Some(id), ..logged(inserted, 0, 1) },
        logged(format!("INSERT INTO order_lines VALUES ({id}, 1, 5), ({id}, 2, 6)"), 0, 2),
        logged(format!("UPDATE orders o SET o.total = 11 WHERE o.id IN ({id})"), 0, 1),
        logged(format!("SELECT qty FROM order_lines WHERE order_id = '{id}'"), 2, 0),
        logged(
            format!("SELECT qty FROM order_lines WHERE (order_id, line) IN (({id}, 1), (CAST({id} AS SIGNED), 2))"),
            2,
            0,
        ),
        logged(format!("INSERT INTO orders (id, note) SELECT {own}, 'id = {id}'"), 0, 1),
        logged(format!("SELECT note FROM orders WHERE id BETWEEN {own} AND {own}"), 1, 0),
        logged(format!("SELECT total FROM orders WHERE id = {}", nth + 1), 1, 0),
    ]
}

/// The values of `orders.id` and `order_lines.order_id` above 100 that these statements say, and the ids that they make.
const MOVED_PER_ORDER: u64 = 1 + 2 + 1 + 1 + 2 + 1 + 2;

/// A slow log of MariaDB.
fn slow_log(lab: &Lab) -> PathBuf {
    let mut log = String::new();
    let all = (0..ORDERS).flat_map(|nth| statements_of(nth).into_iter().map(move |it| (nth % SESSIONS, it)));
    for (nth, (session, Logged { text, made_id, returned, changed })) in (0u64..).zip(all) {
        let us = nth * 10_000;
        let set = made_id.map_or_else(String::new, |id| format!("insert_id={id},"));
        log += &format!(
            "# Time: 2026-11-28T19:59:{:02}.{:06}Z\n# User@Host: a[a] @ localhost []  Id: {session:>5}\n\
             # Query_time: 0.000000  Lock_time: 0.0 Rows_sent: {returned}  Rows_examined: 1\n# Rows_affected: {changed}  Bytes_sent: 1\n\
             use shop;\nSET {set}timestamp=1795895999;\n{text};\n",
            50 + us / 1_000_000,
            us % 1_000_000,
        );
    }
    let path = lab.path().join("slow.log");
    std::fs::write(&path, log).unwrap();
    path
}

const MARIADB_TABLES: &str = "CREATE DATABASE shop; USE shop; \
    CREATE TABLE orders (id INT AUTO_INCREMENT PRIMARY KEY, customer INT, total INT, note VARCHAR(50)); \
    CREATE TABLE order_lines (order_id INT, line INT, qty INT, PRIMARY KEY (order_id, line)); \
    INSERT INTO orders (id) SELECT seq FROM seq_1_to_100; CREATE VIEW all_orders AS SELECT * FROM orders";

#[test]
fn copies_of_a_log_of_mariadb_write_rows_of_their_own() {
    let (lab, held) = (Lab::new(), Lab::new());
    if !is_here(&lab, "mariadb:innodb") {
        return;
    }
    let _server = measuring(&held, &[]);
    let socket = socket_of(&held, "m.sock");
    ask_mariadb(&socket, "CREATE USER visitor@localhost; GRANT ALL ON *.* TO visitor@localhost");
    ask_mariadb(&socket, MARIADB_TABLES);
    let url = format!("mysql://visitor@localhost/?socket={socket}");
    let log = slow_log(&lab);
    refuses_what_is_no_key(&lab, &log, &url);

    let point = replayed(&lab, &log, &url, &with_keys("orders.id:order_lines.order_id"));
    assert_eq!((point["failed"].as_u64(), diverged(&point)), (Some(0), 0), "{point}");
    let ask = |question: &str| ask_mariadb(&socket, question).trim().to_owned();
    let orders = ask("SELECT count(*), count(DISTINCT id DIV 100000000), sum(total) FROM shop.orders WHERE id > 100");
    let expected = format!("{}\t3\t{}", 6 * ORDERS, 3 * ORDERS * 11);
    assert_eq!(orders, expected, "each copy has all orders in its own range");
    let lines =
        ask("SELECT count(*), count(DISTINCT order_id) FROM shop.order_lines JOIN shop.orders ON id = order_id");
    assert_eq!(lines, format!("{}\t{}", 6 * ORDERS, 3 * ORDERS), "lines are those of orders of their copy");
    let moved = 2 * ORDERS * MOVED_PER_ORDER;
    let told = format!("orders.id:order_lines.order_id above 100 by 100000000 in each further copy: {moved} values");
    assert_eq!(fact(&lab, "replay_keys"), told);

    // Without them, copies insert the same rows.
    ask_mariadb(&socket, &format!("DROP DATABASE shop; {MARIADB_TABLES}"));
    let point = replayed(&lab, &log, &url, &COPIES);
    assert!(point["failed"].as_u64().unwrap() >= 2 * ORDERS, "{point}");
    ask_mariadb(&socket, &format!("DROP DATABASE shop; {MARIADB_TABLES}"));
    let point = replayed(&lab, &log, &url, &["--allow-writes", "true", "--keys", "orders.id"]);
    assert_eq!((point["failed"].as_u64(), diverged(&point)), (Some(0), 0), "{point}");
    assert_eq!(fact(&lab, "replay_keys"), "none: one copy keeps its values");
}

fn diverged(point: &Value) -> u64 {
    point["replay_divergence"]["diverged"].as_u64().unwrap_or_else(|| panic!("nothing was compared: {point}"))
}

fn refuses_what_is_no_key(lab: &Lab, log: &Path, url: &str) {
    let base = ["replay-sql", "--log", log.to_str().unwrap(), "--engine", url, "--no-report"];
    for (keys, line) in [
        ("orders", "plimsoll: `--keys orders`: write `TABLE.COLUMN`"),
        ("orders.id=0", "plimsoll: `--keys orders.id=0`: write a range above 0"),
        ("orders.nr", "keys: table `orders` has no column `nr`"),
        ("invoices.id", "keys: the server has no table `invoices`"),
        ("all_orders.id", "keys: `all_orders` is a view: name its table"),
        ("orders.note", "keys: `orders.note` is varchar(50): only whole numbers move"),
        ("orders.id=2000000000", "which is no room for 3 copies of 2000000000 values"),
    ] {
        let refused = lab.run(&[&base[..], &with_keys(keys)].concat());
        assert!(refused.exit != 0 && refused.stderr.contains(line), "{keys}: {}", refused.stderr);
    }
}

/// A log of PostgreSQL in CSV, in which clients say all ids.
fn csv_log(lab: &Lab) -> PathBuf {
    let statements = |nth: u64| {
        let id = 101 + nth;
        [
            (format!("statement: INSERT INTO orders VALUES ({id}, 7, 0)"), String::new()),
            (
                "execute s1: INSERT INTO order_lines (line, order_id) VALUES ($1, $2)".to_owned(),
                format!("$1 = '1', $2 = '{id}'"),
            ),
            (format!("statement: INSERT INTO order_lines (line, order_id) VALUES (2, '{id}')"), String::new()),
            (format!("statement: UPDATE orders SET total = 11 WHERE id = ANY ('{{{id},100}}')"), String::new()),
            (format!("statement: DELETE FROM order_lines AS l WHERE l.order_id = {id} AND l.line = 2"), String::new()),
        ]
    };
    let all = (0..ORDERS).flat_map(|nth| statements(nth).into_iter().map(move |it| (nth % SESSIONS, it)));
    write_csv(lab, all)
}

/// A log in CSV with these messages and values, each with its session.
fn write_csv(lab: &Lab, all: impl Iterator<Item = (u64, (String, String))>) -> PathBuf {
    let mut text = String::new();
    for (nth, (session, (message, values))) in (0u64..).zip(all) {
        let ms = nth * 10;
        let detail = if values.is_empty() { String::new() } else { format!("\"parameters: {values}\"") };
        text += &format!(
            "2026-11-28 03:16:{:02}.{:03} UTC,\"plimsoll\",\"postgres\",{session},\"[local]\",s.{session},1,\"idle\",2026-11-28 03:16:35 UTC,4/2,0,LOG,00000,\"{message}\",{detail},,,,,,,,\"psql\",\"client backend\",,0\n",
            35 + ms / 1_000,
            ms % 1_000,
        );
    }
    let log = lab.path().join("kept.csv");
    std::fs::write(&log, text).unwrap();
    log
}

#[test]
fn copies_of_logs_of_postgresql_write_rows_of_their_own() {
    let (lab, held) = (Lab::new(), Lab::new());
    if !is_here(&lab, "postgres") {
        return;
    }
    let _server = measuring(&held, &["--engine", "postgres"]);
    let socket = socket_of(&held, ".s.PGSQL.5432");
    ask_postgres(
        &socket,
        "CREATE TABLE orders (id BIGINT PRIMARY KEY, customer INT, total INT); INSERT INTO orders SELECT i, 7, 0 FROM generate_series(1, 100) i; \
         CREATE TABLE order_lines (order_id BIGINT REFERENCES orders, line INT, PRIMARY KEY (order_id, line))",
    );
    let url = format!("postgres://plimsoll@localhost/postgres?socket={socket}");
    let point = replayed(&lab, &csv_log(&lab), &url, &with_keys("orders.id:order_lines.order_id"));
    assert_eq!((point["failed"].as_u64(), point["ops"].as_u64()), (Some(0), Some(3 * 5 * ORDERS)), "{point}");
    let ask = |question: &str| {
        let answer = ask_postgres(&socket, question);
        answer.split_whitespace().find(|word| word.contains('/')).unwrap_or_default().to_owned()
    };
    let orders = ask("SELECT count(*) || '/' || sum(total) FROM orders WHERE id > 100");
    assert_eq!(orders, format!("{}/{}", 3 * ORDERS, 3 * ORDERS * 11));
    let lines = ask("SELECT count(*) || '/' || count(DISTINCT order_id) FROM order_lines WHERE line = 1");
    assert_eq!(lines, format!("{0}/{0}", 3 * ORDERS));
    assert_eq!(ask("SELECT count(*) || '/' FROM order_lines WHERE line <> 1"), "0/", "each copy deleted its own");

    // What the server made, of a capture: the first is 501.
    ask_postgres(
        &socket,
        "DROP TABLE order_lines, orders; CREATE TABLE customers (id SERIAL PRIMARY KEY, email VARCHAR(50)); \
         CREATE TABLE orders (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, customer INT, total INT, note VARCHAR(50), \
         created timestamptz DEFAULT now()); \
         CREATE TABLE order_lines (id SERIAL PRIMARY KEY, order_id BIGINT REFERENCES orders, qty INT)",
    );
    let capture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../capture/tests/fixtures/postgres-ids.pcap");
    let mut more = with_keys("orders.id:order_lines.order_id+order_lines.id");
    more.extend(["--speed", "0.02", "--schemas", "shop=postgres"]);
    let point = replayed(&lab, &capture, &url, &more);
    assert_eq!(point["failed"].as_u64(), Some(0), "{point}");
    let ids = ask(
        "SELECT count(*) || '/' || count(DISTINCT id % 1000000000) FROM orders WHERE id % 1000000000 BETWEEN 501 AND 504",
    );
    assert_eq!(ids, "12/4");
    let lines =
        ask("SELECT count(*) || '/' || count(DISTINCT l.id) FROM order_lines l JOIN orders o ON o.id = l.order_id");
    assert_eq!(lines, "6/6");
    assert_eq!(fact(&lab, "replay_ids"), "15 set");
}

#[test]
fn keys_of_postgresql_are_found_where_a_session_looks_for_tables() {
    let (lab, held) = (Lab::new(), Lab::new());
    if !is_here(&lab, "postgres") {
        return;
    }
    let _server = measuring(&held, &["--engine", "postgres"]);
    let socket = socket_of(&held, ".s.PGSQL.5432");
    ask_postgres(
        &socket,
        "CREATE TABLE orders (id BIGINT PRIMARY KEY); CREATE SCHEMA crm; CREATE TABLE crm.orders (id BIGINT PRIMARY KEY)",
    );
    let texts = [
        "INSERT INTO orders VALUES (101)",
        "SET search_path = crm, public",
        "INSERT INTO orders VALUES (101) ON CONFLICT DO NOTHING",
        "INSERT INTO public.orders VALUES (102)",
        "RESET search_path",
        "INSERT INTO orders VALUES (103)",
    ];
    let log = write_csv(&lab, texts.into_iter().map(|text| (1, (format!("statement: {text}"), String::new()))));
    let url = format!("postgres://plimsoll@localhost/postgres?socket={socket}");
    let point = replayed(&lab, &log, &url, &with_keys("public.orders.id=1000"));
    assert_eq!((point["failed"].as_u64(), point["ops"].as_u64()), (Some(0), Some(18)), "{point}");
    let rows = "SELECT (SELECT count(*) FROM public.orders) || '/' || (SELECT count(*) FROM crm.orders)";
    let answer = ask_postgres(&socket, rows);
    assert!(answer.split_whitespace().any(|word| word == "9/1"), "{answer}");

    // With keys in both, a name without a schema is that of the table which a connection finds.
    ask_postgres(&socket, "TRUNCATE public.orders, crm.orders");
    let texts = ["INSERT INTO orders VALUES (101)", "INSERT INTO crm.orders VALUES (101)"];
    let log = write_csv(&lab, texts.into_iter().map(|text| (1, (format!("statement: {text}"), String::new()))));
    let point = replayed(&lab, &log, &url, &with_keys("public.orders.id=1000+crm.orders.id=1000"));
    assert_eq!((point["failed"].as_u64(), point["ops"].as_u64()), (Some(0), Some(6)), "{point}");
    let answer = ask_postgres(&socket, rows);
    assert!(answer.split_whitespace().any(|word| word == "3/3"), "{answer}");
}
