//! Workload files: a log is saved, shown and replayed as the log would be, on real servers, and what is no such file is refused.
//!
//! In: logs of the crate `workload` and others that the tests write. Out: JSON of both, what arrives at a server, exit codes and lines. Limits: that each
//! format of log is saved whole, and that no value is in a hashed file, is tested in the crate.

use crate::lab::{Finished, Lab};
use crate::replaying_sql::{OwnPostgres, fact, open_directory, replayed};
use crate::servers::{ask_mariadb, ask_postgres, is_here, measuring, socket_of};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A slow log of MySQL: 200 statements of four sessions in two seconds, from 19:59:59 on.
fn slow_log(lab: &Lab) -> PathBuf {
    let mut log = String::new();
    for nth in 0..200 {
        let us = 71_999_000_000u64 + nth * 10_000;
        let s = us / 1_000_000;
        let clock = format!("{:02}:{:02}:{:02}.{:06}", s / 3_600, s / 60 % 60, s % 60, us % 1_000_000);
        let id = nth % 4;
        let text = if nth % 2 == 0 {
            format!("SELECT c FROM t WHERE id = {nth}")
        } else {
            format!("SELECT k /* {nth} */ FROM t WHERE c = 'name {nth}'")
        };
        log += &format!(
            "# Time: 2026-11-28T{clock}Z\n# User@Host: a[a] @ localhost []  Id: {id:>5}\n# Query_time: 0.000000  Lock_time: 0.0 Rows_sent: 1  Rows_examined: 1\nuse shop;\nSET timestamp=1795895999;\n{text};\n"
        );
    }
    let path = lab.path().join("slow.log");
    std::fs::write(&path, log).unwrap();
    path
}

fn postgres_log() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../workload/tests/logs/postgres-both.csv")
}

/// Saves the log, and where.
fn saved(lab: &Lab, log: &Path, name: &str, more: &[&str]) -> PathBuf {
    let out = lab.path().join(name);
    let base = ["workload", "save", log.to_str().unwrap(), "--out", out.to_str().unwrap()];
    let told = lab.json(&[&base[..], more].concat());
    assert_eq!(told["file"].as_str(), out.to_str(), "{told}");
    assert_eq!(told["bytes"].as_u64(), Some(out.metadata().unwrap().len()));
    out
}

fn show(lab: &Lab, path: &Path) -> Value {
    let mut shown = lab.json(&["workload", "show", path.to_str().unwrap()]);
    shown.as_object_mut().unwrap().remove("log");
    shown
}

fn assert_refused(finished: &Finished, exit: i32, parts: &[&str]) {
    assert!(finished.exit == exit && finished.stderr.lines().count() == 1, "{} {}", finished.exit, finished.stderr);
    assert!(parts.iter().all(|part| finished.stderr.contains(part)), "{parts:?}: {}", finished.stderr);
}

#[test]
fn a_file_shows_what_its_log_shows_and_says_if_its_values_are_others() {
    let lab = Lab::new();
    for log in [slow_log(&lab), postgres_log()] {
        let name = log.file_stem().unwrap().to_str().unwrap();
        let file = saved(&lab, &log, &format!("{name}.workload"), &[]);
        assert_eq!(show(&lab, &file), show(&lab, &log));
        let hashed = saved(&lab, &log, &format!("{name} hashed.workload"), &["--hash-values"]);
        let shown = show(&lab, &hashed);
        assert_eq!((&shown["hashed"], &shown["kinds"][0]), (&true.into(), &show(&lab, &log)["kinds"][0]));
        let text = lab.run(&["workload", "show", hashed.to_str().unwrap()]);
        assert!(
            text.exit == 0 && text.stdout.contains("Its values are not those that were recorded"),
            "{}",
            text.stdout
        );
    }
    let part = saved(&lab, &slow_log(&lab), "part.workload", &["--from", "20:00", "--for", "500ms"]);
    assert_eq!(show(&lab, &part)["statements"], 51);
    let log = slow_log(&lab);
    let again = lab.run(&["workload", "save", "--log", log.to_str().unwrap(), "--out", part.to_str().unwrap()]);
    assert_refused(&again, 2, &["slow.log`: ", "part.workload`, which exists and is never overwritten"]);
    let wrong =
        lab.run(&["workload", "save", "--log", log.to_str().unwrap(), "--out", "none.workload", "--from", "noon"]);
    assert_refused(&wrong, 2, &["from = `noon`: write a time of the day"]);
    assert!(
        !lab.left_behind().iter().any(|name| name.contains("none") || name.starts_with('.')),
        "{:?}",
        lab.left_behind()
    );
}

#[test]
fn what_is_of_transactions_and_settings_is_no_read() {
    let lab = Lab::new();
    let log = postgres_log();
    let classes = |word: &str| -> Vec<String> {
        let shown = show(&lab, &log);
        let kinds = shown["kinds"].as_array().unwrap().iter().filter(|kind| kind["class"] == word);
        kinds.map(|kind| kind["kind"].as_str().unwrap().to_owned()).collect()
    };
    assert!(classes("session").iter().any(|kind| kind == "begin"), "{:?}", classes("session"));
    let is_of_session = |kind: &String| ["begin", "commit"].contains(&kind.as_str());
    assert!(!classes("read").is_empty() && !classes("read").iter().any(is_of_session), "{:?}", classes("read"));
}

/// Something in place of a log, and what is said of it.
fn strange_files(lab: &Lab) -> Vec<(PathBuf, &'static str)> {
    let path = |name: &str| lab.path().join(name);
    let file = saved(lab, &slow_log(lab), "whole.workload", &[]);
    let changed = |name: &str, sql: &str| {
        std::fs::copy(&file, path(name)).unwrap();
        rusqlite::Connection::open(path(name)).unwrap().execute_batch(sql).unwrap();
        path(name)
    };
    let newer = changed("newer.workload", "PRAGMA user_version = 4");
    let older = changed("older.workload", "PRAGMA user_version = 2");
    let damaged = changed("damaged.workload", "UPDATE statement SET vals = '[\"1\"]' WHERE id = 3");
    let other = changed("other.db", "PRAGMA application_id = 1");
    let cut = path("cut.workload");
    let bytes = std::fs::read(&file).unwrap();
    std::fs::write(&cut, &bytes[..bytes.len() / 2]).unwrap();
    let packed = path("packed.workload.gz");
    let packing = Command::new("gzip").arg("-c").arg(&file).output().unwrap();
    std::fs::write(&packed, packing.stdout).unwrap();
    lab.json(&["cpu", "--time", "100ms", "--no-report"]);
    let run = lab.run_files().remove(0);
    let fifo = path("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    std::fs::create_dir(path("directory")).unwrap();
    vec![
        (newer, "it has the workload file format 4, and this plimsoll reads format 3"),
        (older, "it has the workload file format 2, and this plimsoll reads format 3; save it again from its log"),
        (damaged, "the workload file is damaged: "),
        (other, "it is an SQLite database of another program"),
        (cut, "it is cut off: "),
        (packed, "it is an SQLite file that is packed"),
        (run, "it is the file of a run"),
        (fifo, "it is not a regular file"),
        (path("directory"), "directory"),
    ]
}

#[test]
fn what_is_no_workload_file_is_refused_in_one_line_by_each_command() {
    let lab = Lab::new();
    for (path, why) in strange_files(&lab) {
        let path = path.to_str().unwrap();
        for arguments in [
            &["workload", "show", path][..],
            &["workload", "save", "--log", path, "--out", "none.workload"],
            &["replay-sql", "--log", path, "--engine", "mysql://nobody@localhost:1/"],
        ] {
            assert_refused(&lab.run(arguments), 2, &[path, why]);
        }
    }
    assert!(!lab.left_behind().iter().any(|name| name.contains("none")), "{:?}", lab.left_behind());
}

#[test]
fn a_disk_that_becomes_full_leaves_nothing_half_written() {
    let lab = Lab::new();
    let log = slow_log(&lab);
    let script = "ulimit -f 16 && exec \"$0\" \"$@\"";
    let mut command = Command::new("bash");
    command.args(["-c", script, env!("CARGO_BIN_EXE_plimsoll"), "workload", "save", "--out", "it.workload", "--log"]);
    let finished: Finished = command.arg(&log).current_dir(lab.path()).output().unwrap().into();
    assert_refused(&finished, 2, &["it cannot be saved as `it.workload`", "free some room"]);
    assert_eq!(lab.left_behind(), ["slow.log"]);
}

#[test]
fn a_file_of_mysql_is_replayed_as_its_log_and_knows_the_server_that_was_asked() {
    let (lab, held) = (Lab::new(), Lab::new());
    if !is_here(&lab, "mariadb:innodb") {
        return;
    }
    let _server = measuring(&held, &[]);
    let socket = socket_of(&held, "m.sock");
    ask_mariadb(
        &socket,
        "CREATE USER visitor@localhost; GRANT SELECT ON *.* TO visitor@localhost; CREATE DATABASE shop; USE shop; \
         CREATE TABLE t (id INT PRIMARY KEY, k INT, c VARCHAR(100)) SELECT seq AS id, seq % 100 AS k, concat('name ', seq) AS c FROM seq_1_to_1000",
    );
    let url = format!("mysql://visitor@localhost/?socket={socket}");
    let log = slow_log(&lab);
    let file = saved(&lab, &log, "it.workload", &["--engine", &url]);
    let shown = show(&lab, &file);
    assert!(shown["settings"]["version"].as_str().is_some_and(|version| version.contains("MariaDB")), "{shown}");
    assert!(shown["settings"]["innodb_buffer_pool_size"].is_string(), "{shown}");
    assert_eq!(shown["sizes"][0]["table"], "shop.t", "{shown}");
    for more in [&[][..], &["--from", "20:00", "--speed", "2"], &["--times", "2"]] {
        let told = |path: &Path| {
            let point = replayed(&lab, path, &url, more);
            let kinds: Vec<(String, u64)> = point["statements"]
                .as_array()
                .unwrap()
                .iter()
                .map(|row| (row["kind"].as_str().unwrap().to_owned(), row["ops"].as_u64().unwrap()))
                .collect();
            let facts = ["recorded.statements", "recorded.sessions", "recorded.times"].map(|name| fact(&lab, name));
            (kinds, point["failed"].clone(), facts)
        };
        assert_eq!(told(&file), told(&log), "{more:?}");
    }
    let other = saved(&lab, &postgres_log(), "postgres.workload", &[]);
    let refused = lab.run(&["replay-sql", "--log", other.to_str().unwrap(), "--engine", &url, "--no-report"]);
    assert!(
        refused.exit != 0
            && refused.stderr.contains("has the statements of PostgreSQL; they cannot be replayed on `mysql`"),
        "{}",
        refused.stderr
    );
    let wrong =
        ["workload", "save", "--log", postgres_log().to_str().unwrap(), "--out", "none.workload", "--engine", &url]
            .map(str::to_owned);
    let wrong = lab.run(&wrong.iter().map(String::as_str).collect::<Vec<_>>());
    assert_refused(
        &wrong,
        2,
        &["it has the statements of PostgreSQL, and --engine names a server of MySQL or MariaDB"],
    );
    let hashed = saved(&lab, &log, "hashed.workload", &["--hash-values"]);
    let point = replayed(&lab, &hashed, &url, &[]);
    assert_eq!((point["ops"].as_u64(), &point["failed"]), (Some(200), &0.into()), "{point}");
    let times = [
        "limit",
        "replay-sql",
        "--log",
        file.to_str().unwrap(),
        "--engine",
        &url,
        "--slo",
        "p99<5s",
        "--time",
        "500ms",
        "--hold",
        "1s",
        "--rate-max",
        "100",
    ];
    let limit = lab.run(&[&times[..], &["--no-report", "--json", "--quiet"]].concat());
    assert_eq!(limit.exit, 0, "{}", limit.stderr);
}

#[test]
fn a_file_of_postgresql_is_replayed_as_its_log_and_not_on_another_kind_of_server() {
    let (lab, copy) = (Lab::new(), Lab::new());
    if !is_here(&lab, "postgres") {
        return;
    }
    let dir = open_directory(&copy);
    let Some(server) = OwnPostgres::start(dir) else { return eprintln!("skipped: PostgreSQL is elsewhere") };
    let socket = server.socket();
    ask_postgres(
        &socket,
        "CREATE TABLE t (id INT PRIMARY KEY, c TEXT); INSERT INTO t SELECT g, 'name ' || g FROM generate_series(1, 100) g",
    );
    let line = |nth: u64| {
        format!(
            "2026-11-28 03:16:{:02}.{:03} UTC [{}] app@postgres LOG:  statement: SELECT c FROM t WHERE id = {nth} AND c = 'name {nth}'\n",
            nth / 50,
            nth * 20 % 1_000,
            5 + nth % 3
        )
    };
    let log = lab.path().join("postgresql.log");
    std::fs::write(&log, (0..100).map(line).collect::<String>()).unwrap();
    let url = format!("postgres://plimsoll@localhost/postgres?socket={socket}");
    let file = saved(&lab, &log, "it.workload", &["--engine", &url]);
    let shown = show(&lab, &file);
    assert!(shown["settings"]["shared_buffers"].is_string() && shown["sizes"][0]["table"] == "public.t", "{shown}");
    for path in [&file, &log, &saved(&lab, &log, "hashed.workload", &["--hash-values"])] {
        let point = replayed(&lab, path, &url, &["--speed", "4"]);
        assert_eq!((point["ops"].as_u64(), &point["failed"]), (Some(100), &0.into()), "{point}");
    }
    let other = saved(&lab, &slow_log(&lab), "mysql.workload", &[]);
    let refused = lab.run(&["replay-sql", "--log", other.to_str().unwrap(), "--engine", &url, "--no-report"]);
    assert!(
        refused.exit != 0
            && refused.stderr.contains("has the statements of MySQL or MariaDB; they cannot be replayed on `postgres`"),
        "{}",
        refused.stderr
    );
}
