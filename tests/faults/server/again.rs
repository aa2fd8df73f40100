//! Connections and servers that end under the load and are there again: what is counted goes on, and another server is no such thing.

use super::hangs::measuring;
use crate::database::{MariaDb, PostgreSql, has_mariadb};
use crate::lab::{Finished, Lab};
use crate::liar::listen;
use serde_json::Value;
use std::io;
use std::net::{Shutdown, TcpStream};
use std::process::Child;
use std::sync::atomic::{AtomicU16, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// Two points that go on after failures. The fault is in the first.
const TWO_POINTS: &[&str] = &["--time", "3s", "--grace", "2s", "--on-error", "count", "--repeat", "2", "--json"];

fn ended(child: Child) -> Finished {
    child.wait_with_output().unwrap().into()
}

/// How many readings of each point of the run have a value of `counter`.
fn readings(lab: &Lab, source: &str, counter: &str) -> Vec<i64> {
    let db = rusqlite::Connection::open(&lab.run_files()[0]).unwrap();
    let sql = "SELECT count(value) FROM point LEFT JOIN counter_long ON point.id = counter_long.point \
               AND source = ?1 AND name = ?2 GROUP BY point.id ORDER BY point.id";
    let mut found = db.prepare(sql).unwrap();
    let counts = found.query_map([source, counter], |row| row.get(0)).unwrap();
    counts.map(Result::unwrap).collect()
}

/// The server's own counter has been read as often as what the kernel counts of the machine.
fn misses_nothing(lab: &Lab, source: &str, counter: &str) {
    let all = readings(lab, "cpu", "user_ns");
    assert_eq!(readings(lab, source, counter), all, "{source}.{counter}");
    assert!(all.len() == 2 && all.iter().all(|count| *count > 20), "{all:?}");
}

/// The last point knows what its server did, and how it is set.
fn knows_its_server(lab: &Lab, finished: &Finished) {
    let point = &finished.json()["points"][1];
    assert!(point["cost"]["engine_cpu_ns_per_op"].is_number(), "{point}");
    let facts = lab.facts();
    let unknown = |name: &str| facts.contains(&format!(r#""name":"{name}","value":"unknown""#));
    assert!(facts.contains("engine.version") && !unknown("engine.version") && !unknown("isolation"), "{facts}");
}

pub fn connections_of_mariadb(lab: &Lab) -> Option<Finished> {
    if !has_mariadb() {
        return None;
    }
    let server = MariaDb::start(&[]);
    let child = measuring(lab, &server.url(), TWO_POINTS);
    // Those of the clients, of the counters and of the instance.
    server.ask("KILL USER visitor");
    let finished = ended(child);
    misses_nothing(lab, "innodb", "os_log_written");
    knows_its_server(lab, &finished);
    assert_eq!(server.schemas_left(), "", "{}", finished.stderr);
    Some(finished)
}

pub fn connections_of_postgres(lab: &Lab) -> Option<Finished> {
    let server = PostgreSql::start()?;
    let child = measuring(lab, &server.url(), TWO_POINTS);
    server.ask(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()",
    );
    let finished = ended(child);
    misses_nothing(lab, "postgres", "commits");
    knows_its_server(lab, &finished);
    assert_eq!(server.schemas_left(), "", "{}", finished.stderr);
    Some(finished)
}

pub fn server_of_the_next_point(lab: &Lab) -> Option<Finished> {
    if !has_mariadb() {
        return None;
    }
    let mut server = MariaDb::start(&[]);
    let child = measuring(lab, &server.url(), TWO_POINTS);
    server.restart(&[]);
    let finished = ended(child);
    for (source, counter) in [("innodb", "os_log_written"), ("engine-threads", "cpu_ns"), ("process", "cpu_user_ns")] {
        let read = readings(lab, source, counter);
        assert!(read[1] > 20, "{source}: {read:?}");
    }
    knows_its_server(lab, &finished);
    let run = finished.json();
    assert!(
        codes(&run["points"][0]).contains(&"restarted".to_owned())
            || codes(&run["points"][0]).contains(&"outage".to_owned())
    );
    assert!(!codes(&run["points"][0]).contains(&"other-server".to_owned()), "{}", run["points"][0]);
    Some(finished)
}

fn codes(point: &Value) -> Vec<String> {
    let findings = point["findings"].as_array().unwrap();
    findings.iter().map(|finding| finding["code"].as_str().unwrap().to_owned()).collect()
}

/// A proxy that can lead to another server.
struct Proxy {
    port: u16,
    to: Arc<AtomicU16>,
    /// The connections that it has passed on.
    open: Arc<Mutex<Vec<TcpStream>>>,
}

impl Proxy {
    fn before(server: u16) -> Proxy {
        let (to, open) = (Arc::new(AtomicU16::new(server)), Arc::<Mutex<Vec<TcpStream>>>::default());
        let (leads_to, opened) = (to.clone(), open.clone());
        let port = listen(move |client| {
            let server = TcpStream::connect(("127.0.0.1", leads_to.load(Relaxed)))?;
            opened.lock().unwrap().extend([client.try_clone()?, server.try_clone()?]);
            let (back, forth) = ((server.try_clone()?, client.try_clone()?), (client.try_clone()?, server));
            std::thread::spawn(move || pass_on(back)); // ends with the connection
            pass_on(forth)
        });
        Proxy { port, to, open }
    }

    /// From here on it leads to `server`, and what was open is closed.
    fn turn_to(&self, server: u16) {
        self.to.store(server, Relaxed);
        for stream in self.open.lock().unwrap().drain(..) {
            let _ = stream.shutdown(Shutdown::Both); // it may have been closed
        }
    }
}

fn pass_on((mut from, mut to): (TcpStream, TcpStream)) -> io::Result<()> {
    let _ = io::copy(&mut from, &mut to);
    to.shutdown(Shutdown::Both)
}

pub fn failover_behind_a_proxy(lab: &Lab) -> Option<Finished> {
    if !has_mariadb() {
        return None;
    }
    let (first, second) = (MariaDb::start(&[]), MariaDb::start(&[]));
    let proxy = Proxy::before(first.port());
    let url = format!("mysql://visitor@127.0.0.1:{}/", proxy.port);
    let child = measuring(lab, &url, &["--time", "5s", "--grace", "2s", "--on-error", "count", "--json"]);
    let schema = first.schemas_left().trim().to_owned();
    // As a replica has it.
    second.copy_schema(&first, &schema);
    proxy.turn_to(second.port());
    let finished = ended(child);
    let point = &finished.json()["points"][0];
    assert_eq!(point["validity"], "invalid", "{point}");
    let found = point["findings"].as_array().unwrap().iter().find(|finding| finding["code"] == "other-server");
    let title = found.unwrap_or_else(|| panic!("{point}"))["title"].as_str().unwrap();
    let [of_first, of_second] = [first.port(), second.port()].map(|port| title.find(&format!("port `{port}`")));
    assert!(of_second.is_some() && of_second < of_first, "{title}");
    assert!(lab.facts().contains("server.port"), "something is between");
    assert!(finished.stderr.contains(&schema) && finished.stderr.contains("was left"), "{}", finished.stderr);
    assert_eq!((first.schemas_left().trim(), second.schemas_left().trim()), (&*schema, ""));
    Some(finished)
}
