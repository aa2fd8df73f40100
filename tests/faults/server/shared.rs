//! A server that another plimsoll measures, or that takes fewer clients than the plan has.

use super::hangs::{measuring, signal};
use crate::database::{MariaDb, PASSWORD, PostgreSql, has_mariadb};
use crate::lab::{Finished, Lab};

/// A short load of so many clients on the server at `url`.
fn measured(lab: &Lab, url: &str, more: &[&str]) -> Finished {
    let load = ["oltp", "--engine", url, "--table-rows", "100", "--time", "300ms", "--no-report", "--plain"];
    let mut command = lab.command(&[&load[..], more].concat());
    command.env("PLIMSOLL_PASSWORD", PASSWORD).output().unwrap().into()
}

/// A second plimsoll, while the first measures the same server from another directory: points so short that the second would find the server free
/// between two of them.
fn second(lab: &Lab, url: &str) -> Finished {
    let other = Lab::new();
    let first = measuring(&other, url, &["--time", "500ms", "--repeat", "100"]);
    let second = measured(lab, url, &[]);
    signal(first.id(), "INT");
    let first: Finished = first.wait_with_output().unwrap().into();
    assert_eq!(first.exit, 130, "the first was not disturbed: {}", first.stderr);
    second
}

pub fn at_once_on_mariadb(lab: &Lab) -> Option<Finished> {
    if !has_mariadb() {
        return None;
    }
    let server = MariaDb::start(&[]);
    let finished = second(lab, &server.url());
    assert_eq!(server.schemas_left(), "");
    Some(finished)
}

pub fn at_once_on_postgres(lab: &Lab) -> Option<Finished> {
    let server = PostgreSql::start()?;
    let finished = second(lab, &server.url());
    // 100 connections, of which plimsoll has a few and root keeps three.
    let many = measured(lab, &server.url(), &["--clients", "99"]);
    assert!(many.exit == 2 && many.stderr.contains("max_connections = `100`"), "{}: {}", many.exit, many.stderr);
    assert_eq!(server.schemas_left(), "");
    Some(finished)
}

/// Connections, prepared statements, and open tables.
pub fn with_low_limits(lab: &Lab) -> Option<Finished> {
    if !has_mariadb() {
        return None;
    }
    let server = MariaDb::start(&["--max-connections=30", "--max-prepared-stmt-count=100", "--table-open-cache=10"]);
    let refused = |more: &[&str], words: &[&str]| {
        let finished = measured(lab, &server.url(), more);
        assert_eq!((finished.exit, server.schemas_left().as_str()), (2, ""), "{}", finished.stderr);
        words.iter().for_each(|word| assert!(finished.stderr.contains(word), "{word}: {}", finished.stderr));
        finished
    };
    let many = ["20 clients", "prepared statements each", "max_prepared_stmt_count = `100`"];
    refused(&["--mix", "read_write", "--tables", "4", "--clients", "20"], &many);
    let few = Lab::new();
    let plain = ["--statements", "plain", "--mix", "read_write", "--tables", "16", "--clients", "2"];
    let slow = measured(&few, &server.url(), &plain);
    assert_eq!(slow.exit, 0, "{}", slow.stderr);
    assert!(slow.stderr.contains("table_open_cache = `10`"), "{}", slow.stderr);
    Some(refused(&["--clients", "64"], &["64 clients", "max_connections = `30`", "raise it on the server"]))
}
