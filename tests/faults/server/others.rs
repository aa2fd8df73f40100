//! Another client loads the server from the middle of the run on.

use super::hangs::measuring;
use crate::database::{MariaDb, PostgreSql, has_mariadb};
use crate::lab::{Finished, Lab, is_so, one_of};
use std::io::Write;
use std::process::{Child, ChildStdin, Command, Stdio};

const WHILE: &[&str] = &["--time", "4s", "--grace", "2s", "--json"];

/// A client that sends `statement` again and again until it is dropped.
struct Busy(Child);

impl Busy {
    fn sending(client: &mut Command, statement: &'static str) -> Busy {
        let mut child = client.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let stdin = child.stdin.take().unwrap();
        std::thread::spawn(move || send_until_closed(stdin, statement));
        Busy(child)
    }
}

fn send_until_closed(mut stdin: ChildStdin, statement: &str) {
    let many = statement.repeat(1_000);
    while stdin.write_all(many.as_bytes()).is_ok() {}
}

impl Drop for Busy {
    fn drop(&mut self) {
        let _ = self.0.kill(); // it may have gone
        let _ = self.0.wait();
    }
}

fn measured_beside(lab: &Lab, url: &str, client: &mut Command, statement: &'static str) -> Finished {
    // Alone there are no others.
    let alone: Finished = measuring(&Lab::new(), url, WHILE).wait_with_output().unwrap().into();
    assert!(!alone.stdout.contains("foreign-statements"), "{}", alone.stdout);
    // Where the machine has hardly any time for the others, there are hardly any.
    one_of(3, || {
        let child = measuring(lab, url, WHILE);
        let _busy = Busy::sending(client, statement);
        let finished: Finished = child.wait_with_output().unwrap().into();
        let point = &finished.json()["points"][0];
        let found = point["findings"].as_array().unwrap().iter().any(|one| one["code"] == "foreign-statements");
        assert!(!found || point["validity"] != "valid", "{point}");
        is_so(found, || point.to_string()).map(|()| finished)
    })
}

pub fn of_mariadb(lab: &Lab) -> Option<Finished> {
    if !has_mariadb() {
        return None;
    }
    let server = MariaDb::start(&["--innodb-flush-log-at-trx-commit=2"]);
    Some(measured_beside(lab, &server.url(), &mut server.client(), "DO 1;\n"))
}

pub fn of_postgres(lab: &Lab) -> Option<Finished> {
    let server = PostgreSql::start()?;
    Some(measured_beside(lab, &server.url(), &mut server.client(), "SELECT 1;\n"))
}
