//! Large data on a server that several hosts make at the same time.
//!
//! In: `redis-server` on PATH, MariaDB or PostgreSQL. Out: each row is there once, and the data is that of one host. Limits: without the servers the
//! tests end at once.

use crate::hosts_lab::{HostsLab, VISITOR, end, query};
use crate::lab::{Lab, wait_until};
use crate::servers::{Running, ask_mariadb, ask_postgres, is_here, measuring, socket_of};
use std::path::PathBuf;
use std::process::Command;

/// As many rows in two tables as are made by all hosts, and a block of each table that is not full.
const ROWS: &str = "25500";

/// A server of another run, which agents visit.
struct VisitedServer {
    _server: Running,
    url: String,
    /// Answers a query.
    ask: Box<dyn Fn(&str) -> String>,
    /// The query for the schemas of plimsoll's kind.
    schemas: &'static str,
    /// What of a row is summed up.
    hash: &'static str,
}

fn mariadb(theirs: &Lab) -> VisitedServer {
    let server = measuring(theirs, &[]);
    let socket = socket_of(theirs, "m.sock");
    let grant = "GRANT ALL ON *.* TO visitor@localhost";
    ask_mariadb(&socket, &format!("CREATE USER visitor@localhost IDENTIFIED BY '{VISITOR}'; {grant}"));
    VisitedServer {
        _server: server,
        url: format!("mysql://visitor@localhost/?socket={socket}"),
        ask: Box::new(move |sql| ask_mariadb(&socket, sql)),
        schemas: "SHOW DATABASES LIKE 'plimsoll\\_%'",
        hash: "crc32(concat_ws('#', id, k, c, pad))",
    }
}

fn postgres(theirs: &Lab) -> VisitedServer {
    let server = measuring(theirs, &["--engine", "postgres"]);
    let socket = socket_of(theirs, ".s.PGSQL.5432");
    VisitedServer {
        _server: server,
        url: format!("postgres://plimsoll@localhost/postgres?socket={socket}"),
        ask: Box::new(move |sql| ask_postgres(&socket, sql)),
        schemas: "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'plimsoll\\_%'",
        hash: "hashtext(concat_ws('#', id, k, c, pad))::bigint",
    }
}

/// Makes the data from `agents`. Returns the sums over each table, and the run file.
fn make_data(lab: &HostsLab, server: &VisitedServer, agents: &[&str]) -> (String, PathBuf) {
    let (count, before) = (agents.len().to_string(), lab.lab.run_files().len());
    let started: Vec<_> = agents.iter().map(|name| lab.agent(name, "load")).collect();
    let tables = ["--tables", "2", "--table-rows", ROWS];
    let load = ["oltp", "--engine", &server.url, "--mix", "point_select", "--clients", "2", "--agents", &count];
    let more = ["--time", "600s", "--interval", "100ms", "--json", "--no-report"];
    let mut run = lab.command(&[&load[..], &tables, &more].concat()).spawn().unwrap();
    wait_until("the run file", || lab.lab.run_files().len() > before);
    lab.lab.wait_for_load(&mut run, 1);
    let schema = (server.ask)(server.schemas).trim().to_owned();
    let of_table = |table: u32| {
        let (hash, name) = (server.hash, format!("{schema}.sbtest{table}"));
        (server.ask)(&format!("SELECT count(*), count(DISTINCT id), sum({hash}) FROM {name}"))
    };
    let made = of_table(1) + &of_table(2);
    Command::new("kill").args(["-s", "INT", &run.id().to_string()]).status().unwrap();
    let run = end(run);
    assert_eq!(run.exit, 130, "{}", run.stderr);
    started.into_iter().map(end).for_each(|agent| assert_eq!(agent.exit, 0, "{}", agent.stderr));
    assert_eq!((server.ask)(server.schemas).trim(), "", "the schema is gone");
    (made, lab.lab.run_files().pop().unwrap())
}

fn assert_made_by_all(engine: &str, visit: fn(&Lab) -> VisitedServer) {
    let theirs = Lab::new();
    let Some(lab) = HostsLab::new(None).filter(|_| is_here(&theirs, engine)) else { return };
    let server = visit(&theirs);
    let (made, run_file) = make_data(&lab, &server, &["c1", "c2"]);
    assert!(made.starts_with(ROWS), "{made}");
    let of_host = |host: &str| -> i64 {
        let rows = "interval i JOIN host h USING (point, host)";
        let of_load = format!("h.name = '{host}' AND phase = 'prepare'");
        query(&run_file, &format!("SELECT coalesce(sum(ok), 0) FROM {rows} WHERE {of_load}"))
    };
    assert_eq!((of_host("c1"), of_host("c2")), (6, 6), "each makes its part");
    let of_phase = "SELECT count(*) FROM phase WHERE phase = 'prepare' AND end_ns > start_ns";
    assert_eq!(query::<i64>(&run_file, of_phase), 1);
    assert_eq!(make_data(&lab, &server, &["c3"]).0, made, "the data is that of one host");
}

#[test]
fn two_hosts_make_large_data_on_a_mariadb_and_it_is_that_of_one() {
    assert_made_by_all("mariadb:innodb", mariadb);
}

#[test]
fn two_hosts_make_large_data_on_a_postgresql_and_it_is_that_of_one() {
    assert_made_by_all("postgres", postgres);
}
