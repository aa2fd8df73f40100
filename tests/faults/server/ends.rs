//! A server ends, ends a connection, or turns into another one.

use super::hangs::measuring;
use crate::database::{MariaDb, PostgreSql, has_mariadb};
use crate::lab::{Finished, Lab};
use std::process::Child;

/// So long at most: the fault ends it sooner.
const LONG: &[&str] = &["--time", "60s", "--grace", "2s"];

fn ended(child: Child) -> Finished {
    child.wait_with_output().unwrap().into()
}

/// The texts of the failures in the newest run file.
fn failures(lab: &Lab) -> String {
    let file = lab.run_files().pop().expect("there is a run file");
    let db = rusqlite::Connection::open_with_flags(file, rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    let mut found = db.prepare("SELECT text FROM event WHERE kind = 'failure'").unwrap();
    let texts = found.query_map([], |row| row.get::<_, String>(0)).unwrap();
    texts.map(Result::unwrap).collect::<Vec<_>>().join("\n")
}

pub fn connection_of_mysql(lab: &Lab) -> Option<Finished> {
    if !has_mariadb() {
        return None;
    }
    let server = MariaDb::start(&[]);
    let child = measuring(lab, &server.url(), LONG);
    // Those of the clients: the control connections have executed no transaction.
    server.ask("KILL USER visitor");
    let finished = ended(child);
    let failures = failures(lab);
    assert!(failures.contains("killed: client "), "{failures}\n{}", finished.stderr);
    assert_eq!(server.schemas_left(), "", "{}", finished.stderr);
    Some(finished)
}

pub fn connection_of_postgres(lab: &Lab) -> Option<Finished> {
    let server = PostgreSql::start()?;
    let child = measuring(lab, &server.url(), LONG);
    server.ask(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()",
    );
    let finished = ended(child);
    let failures = failures(lab);
    assert!(failures.contains("killed: client "), "{failures}\n{}", finished.stderr);
    assert_eq!(server.schemas_left(), "", "{}", finished.stderr);
    Some(finished)
}

pub fn server_killed(lab: &Lab) -> Option<Finished> {
    if !has_mariadb() {
        return None;
    }
    let mut server = MariaDb::start(&[]);
    let child = measuring(lab, &server.url(), LONG);
    server.kill();
    let finished = ended(child);
    assert!(finished.stderr.contains("ended; client "), "{}", finished.stderr);
    Some(finished)
}

pub fn restarted_with_another_setting(lab: &Lab) -> Option<Finished> {
    if !has_mariadb() {
        return None;
    }
    let mut server = MariaDb::start(&["--innodb-flush-log-at-trx-commit=2"]);
    let child = measuring(lab, &server.url(), &["--time", "20s", "--grace", "2s", "--on-error", "count", "--json"]);
    server.restart(&["--innodb-flush-log-at-trx-commit=0"]);
    let finished = ended(child);
    let point = &finished.json()["points"][0];
    assert_eq!(point["validity"], "invalid", "{point}");
    let title = |code: &str| {
        let found = point["findings"].as_array().unwrap().iter().find(|finding| finding["code"] == code);
        found.unwrap_or_else(|| panic!("no {code}: {point}"))["title"].to_string()
    };
    assert!(title("settings-changed").contains("innodb_flush_log_at_trx_commit from `2` to `0`"), "{point}");
    let codes = point["findings"].to_string();
    assert!(codes.contains("\"restarted\"") || codes.contains("\"outage\""), "{point}");
    Some(finished)
}

pub fn turned_read_only(lab: &Lab) -> Option<Finished> {
    if !has_mariadb() {
        return None;
    }
    let server = MariaDb::start(&[]);
    // One that is not root: root may write all the same.
    server.ask("REVOKE ALL ON *.* FROM visitor@'%'; GRANT ALL ON `plimsoll\\_%`.* TO visitor@'%'");
    let child = measuring(lab, &server.url(), LONG);
    server.ask("SET GLOBAL read_only = 1");
    let finished = ended(child);
    let failures = failures(lab);
    assert!(failures.contains("read-only: client "), "{failures}\n{}", finished.stderr);
    assert!(finished.stderr.contains("was left: "), "{}", finished.stderr);
    assert!(finished.stderr.contains(server.schemas_left().trim()), "{}", finished.stderr);
    Some(finished)
}
