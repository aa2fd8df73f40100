//! Watches real servers that a test loads with a known number of statements, and what may go wrong with a watch.
//!
//! Each watch goes on until the test has seen what it waits for, and is then ended as a user does. Only counts are looked at.

use crate::lab::{Finished, Lab, assert_runs, wait_until};
use crate::replaying_sql::{OwnPostgres, open_directory};
use crate::serve::Served;
use crate::servers::{MariadbByHand, Running, ask_postgres, is_here};
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A watch that goes on until it is ended, when it has recorded some intervals.
struct Watching {
    lab: Lab,
    child: Running,
}

impl Watching {
    fn start(arguments: &[&str]) -> Watching {
        let lab = Lab::new();
        let more = ["--time", "600s", "--interval", "100ms", "--no-report", "--json"];
        let mut command = lab.command(&[&["observe"], arguments, &more].concat());
        let mut child = Running(command.env("PLIMSOLL_PASSWORD", "canary").spawn().unwrap());
        lab.wait_for_load(&mut child.0, 2);
        Watching { lab, child }
    }

    /// Waits for so many more intervals, in which what was done before is seen.
    fn see(&mut self, intervals: u32) {
        let before = self.lab.intervals(1, "run");
        self.lab.wait_for_load(&mut self.child.0, before + intervals);
    }

    /// Waits until what it has kept of its point has `part`.
    fn await_kept(&mut self, part: &str) {
        let file = self.lab.run_files().remove(0);
        wait_until(part, || {
            assert_runs(&mut self.child.0);
            let db = Connection::open_with_flags(&file, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
            let sql = "SELECT count(*) FROM point WHERE instr(traits, ?1)";
            db.query_row(sql, [part], |row| row.get::<_, u32>(0)).is_ok_and(|points| points > 0)
        });
    }

    /// Waits until it has recorded an event whose text has `part`.
    fn await_event(&mut self, part: &str) {
        let file = self.lab.run_files().remove(0);
        wait_until(part, || {
            assert_runs(&mut self.child.0);
            let db = Connection::open_with_flags(&file, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
            let sql = "SELECT count(*) FROM event WHERE instr(text, ?1)";
            db.query_row(sql, [part], |row| row.get::<_, u32>(0)).is_ok_and(|events| events > 0)
        });
    }

    /// Ends it as Ctrl-C does, and returns what it said.
    fn end(mut self) -> (Lab, Finished) {
        self.see(2);
        self.interrupt()
    }

    fn interrupt(mut self) -> (Lab, Finished) {
        let pid = rustix::process::Pid::from_child(&self.child.0);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        (self.lab, finished(&mut self.child))
    }

    /// The same of one that went well: its point.
    fn point(self) -> (Lab, Finished, Value) {
        let (lab, finished) = self.end();
        assert_eq!(finished.exit, 0, "Ctrl-C is how a watch ends: {}", finished.stderr);
        let run = finished.json();
        let point = run["points"][0].clone();
        assert_eq!((&run["state"], &point["validity"]), (&"complete".into(), &"valid".into()), "{run}");
        (lab, finished, point)
    }
}

/// Waits for its own end, however much it says.
fn finished(child: &mut Running) -> Finished {
    let read = |stream: &mut dyn Read| {
        let mut said = String::new();
        stream.read_to_string(&mut said).unwrap();
        said
    };
    let stdout = read(child.0.stdout.as_mut().unwrap());
    let stderr = read(child.0.stderr.as_mut().unwrap());
    Finished { exit: child.0.wait().unwrap().code().expect("it ends by itself"), stdout, stderr }
}

/// How many operations of `kind` a point has.
fn ops(point: &Value, kind: &str) -> u64 {
    let rows = point["statements"].as_array().expect("kinds of statement");
    rows.iter().find(|row| row["kind"] == kind).map_or(0, |row| row["ops"].as_u64().unwrap())
}

/// What was seen of the statements whose text has `part`.
fn cost(point: &Value, part: &str) -> Value {
    let all = point["observed"]["statements"].as_array().expect("statements");
    let found = all.iter().find(|one| one["text"].as_str().unwrap().to_lowercase().contains(part));
    found.map_or(Value::Null, |one| one["cost"].clone())
}

fn mariadb(options: &[&str]) -> Option<(MariadbByHand, Running)> {
    if !is_here(&Lab::new(), "mariadb:innodb") {
        return None;
    }
    let server = MariadbByHand::make();
    let running = server.start(options);
    server.ask(
        "CREATE USER visitor@localhost IDENTIFIED BY 'canary'; CREATE DATABASE shop; CREATE TABLE shop.t (id INT PRIMARY KEY, n INT); \
         INSERT INTO shop.t VALUES (1, 0), (2, 0), (3, 0)",
    );
    Some((server, running))
}

const READS: u64 = 120;
const WRITES: u64 = 30;

/// The statements of the known load.
fn load() -> String {
    let read = "SELECT id FROM shop.t WHERE n >= 0;".repeat(READS as usize);
    let write = "UPDATE shop.t SET n = n + 1 WHERE id = 2;".repeat(WRITES as usize);
    read + &write
}

/// On one server: each watch knows only what comes in its time.
#[test]
fn what_a_mariadb_does_is_counted_exactly_without_rights_after_a_reset_and_after_a_restart() {
    let Some((server, running)) = mariadb(&["--performance-schema=ON"]) else { return };
    an_account_without_rights_sees_the_counters_and_is_told_what_it_lacks(&server);
    server.ask("GRANT SELECT ON performance_schema.* TO visitor@localhost");
    a_known_load_is_counted_exactly_over_one_connection(&server);
    digests_that_are_reset_are_noticed_and_counted_on(&server);
    a_watch_that_goes_on_is_shown_in_a_browser(&server);
    a_watch_keeps_who_blocked_whom_and_goes_on_in_one_file_after_the_other(&server);
    a_server_that_hangs_is_told_and_holds_up_no_end(&server, &running);
    a_server_that_is_started_again_is_watched_on(&server, running);
}

fn an_account_without_rights_sees_the_counters_and_is_told_what_it_lacks(server: &MariadbByHand) {
    let watching = Watching::start(&[&server.url()]);
    server.ask(&load());
    let (_lab, finished, point) = watching.point();
    assert_eq!(ops(&point, "update"), WRITES);
    let grant = "GRANT SELECT ON performance_schema.* TO 'visitor'@'localhost'";
    assert!(finished.stderr.contains(grant), "{}", finished.stderr);
    assert_eq!(finished.json()["answer"]["next"], grant);
}

fn a_known_load_is_counted_exactly_over_one_connection(server: &MariadbByHand) {
    let watching = Watching::start(&[&server.url()]);
    server.ask(&load());
    let connections = server.ask("SELECT count(*) FROM information_schema.processlist WHERE user = 'visitor'");
    assert_eq!(connections.trim(), "1");
    let (_lab, finished, point) = watching.point();
    // The client asks for the version of the server, and the test for its connections.
    assert!((READS..=READS + 4).contains(&ops(&point, "select")), "{}", point["statements"]);
    assert_eq!((ops(&point, "update"), ops(&point, "insert"), ops(&point, "delete")), (WRITES, 0, 0));
    let read = cost(&point, "where `n` >=");
    assert_eq!(
        (&read["calls"], &read["rows_sent"], &read["rows_read"]),
        (&READS.into(), &(3 * READS).into(), &(3 * READS).into())
    );
    assert_eq!(cost(&point, "update `shop`")["calls"], WRITES);
    assert_eq!(cost(&point, "plimsoll_watch"), Value::Null, "its own questions are left out");
    let rate = &finished.json()["answer"]["claims"][0]["sentence"];
    assert!(rate.as_str().unwrap().starts_with("MariaDB executes "), "{rate}");
}

fn digests_that_are_reset_are_noticed_and_counted_on(server: &MariadbByHand) {
    server.ask(&load());
    let mut watching = Watching::start(&[&server.url()]);
    server.ask(&load());
    watching.see(20);
    server.ask("TRUNCATE performance_schema.events_statements_summary_by_digest");
    watching.see(20);
    server.ask(&load());
    watching.see(20);
    let (_lab, finished, point) = watching.point();
    assert!(finished.stderr.contains("account of statements was set to zero"), "{}", finished.stderr);
    assert_eq!(cost(&point, "where `n` >=")["calls"], 2 * READS);
    assert_eq!(ops(&point, "update"), 2 * WRITES, "its counters are others");
}

fn a_watch_that_goes_on_is_shown_in_a_browser(server: &MariadbByHand) {
    let watching = Watching::start(&[&server.url()]);
    let served = Served::start(&watching.lab, &[]);
    let file = watching.lab.run_files().remove(0);
    let page = format!("/run/{}", file.file_stem().unwrap().to_str().unwrap());
    server.ask(&load());
    let mut view = Value::Null;
    wait_until("the statements of the load", || {
        view = serde_json::from_str(&served.page(&format!("{page}/live.json"))).unwrap();
        view["tables"][0].to_string().contains("WHERE `n` >=")
    });
    let figures: Vec<&str> =
        view["figures"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(figures[..2], ["statements/s now", "mean time of a statement now"]);
    assert_eq!(view["trends"][0]["title"], "statements per second");
    assert_eq!(view["tables"][0]["title"], "Statements of the server");
    assert!(served.page("/").contains("statements/s."), "the list has what it sees now");
    let html = served.page(&page);
    assert!(html.contains("what MariaDB does: ") && html.contains("mean time of a statement"), "{html}");
    let (_lab, finished) = watching.end();
    assert_eq!(finished.exit, 0, "{}", finished.stderr);
    let over: Value = serde_json::from_str(&served.page(&format!("{page}/live.json"))).unwrap();
    assert_eq!(over["is_over"], true);
}

/// A value that must be in nothing that is kept.
const CANARY: &str = "c4n4ry";

/// A client that keeps a transaction open in which it has executed a statement.
struct Blocker(Running);

impl Blocker {
    fn start(client: &mut Command, statement: &str) -> Blocker {
        let client = client.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut running = Running(client.spawn().unwrap());
        let said = format!("BEGIN;\n{statement};\nSELECT 'done';\n");
        let stdin = running.0.stdin.as_mut().unwrap();
        stdin.write_all(said.as_bytes()).unwrap();
        stdin.flush().unwrap();
        let mut seen = [0; 1];
        running.0.stdout.as_mut().unwrap().read_exact(&mut seen).unwrap();
        Blocker(running)
    }

    /// Ends it with its transaction.
    fn end(mut self) {
        drop(self.0.0.stdin.take());
        self.0.0.wait().unwrap();
    }
}

/// Lets one client wait for another while a watch keeps details, and looks at what it kept.
fn watch_a_blocked_update(url: &str, client: &dyn Fn() -> Command, (begins, table): (&str, &str)) {
    let mut watching = Watching::start(&[url, "--when", "waiting>0"]);
    let update = format!("UPDATE {table} SET n = n + 1 WHERE id = 1 AND '{CANARY}' = '{CANARY}'");
    let blocker = Blocker::start(&mut client(), &update);
    let mut waiter = Running(client().args([begins, &update]).stdout(Stdio::null()).spawn().unwrap());
    watching.await_kept("\"blocker\"");
    blocker.end();
    assert!(waiter.0.wait().unwrap().success());
    watching.see(5);
    let (lab, finished, point) = watching.point();
    let events = point["observed"]["events"].as_array().unwrap_or_else(|| panic!("no events: {point}"));
    assert_eq!((events.len(), &events[0]["condition"]), (1, &"waiting>0".into()));
    let looks = events[0]["looks"].as_array().unwrap();
    let look = looks.iter().find(|look| !look["waits"].as_array().unwrap().is_empty()).expect("one has the wait");
    let session = |id: &Value| look["sessions"].as_array().unwrap().iter().find(|session| session["id"] == *id);
    let wait = &look["waits"][0];
    let (waiting, blocking) = (session(&wait["waiter"]).unwrap(), session(&wait["blocker"]).unwrap());
    let statement = waiting["statement"].as_str().unwrap();
    assert!(statement.starts_with(&format!("update {table} set n = n + ? where id = ? and ? = ?")), "{statement}");
    assert!(blocking["transaction_s"].is_number(), "{blocking}");
    let answer = finished.json()["answer"]["claims"].to_string();
    assert!(answer.contains("idle in a transaction of") && answer.contains("blocked 1 session"), "{answer}");
    let shown = lab.run(&["show", "last", "--details"]);
    assert!(shown.stdout.contains("Who worked and who waited then"), "{}", shown.stdout);
    let kept = std::fs::read(&lab.run_files()[0]).unwrap();
    for all in [&kept[..], finished.stdout.as_bytes(), finished.stderr.as_bytes(), shown.stdout.as_bytes()] {
        assert!(!all.windows(CANARY.len()).any(|part| part == CANARY.as_bytes()), "a value was kept");
    }
}

/// Lets a client wait for one that has only read, and locked what it read, beside one that has read without a lock.
fn watch_a_wait_beside_a_reader(url: &str, client: &dyn Fn() -> Command) {
    let mut watching = Watching::start(&[url, "--when", "waiting>0"]);
    let reader = Blocker::start(&mut client(), "SELECT n FROM shop.t WHERE id = 2");
    let blocker = Blocker::start(&mut client(), "SELECT n FROM shop.t WHERE id = 1 LOCK IN SHARE MODE");
    let update = ["-e", "UPDATE shop.t SET n = n + 1 WHERE id = 1"];
    let mut waiter = Running(client().args(update).stdout(Stdio::null()).spawn().unwrap());
    watching.await_kept("\"blocker\"");
    [blocker, reader].into_iter().for_each(Blocker::end);
    assert!(waiter.0.wait().unwrap().success());
    let (_lab, _, point) = watching.point();
    let looks = point["observed"]["events"][0]["looks"].as_array().unwrap_or_else(|| panic!("no looks: {point}"));
    for look in looks {
        assert!(look["waits"].as_array().unwrap().len() <= 1, "who holds no lock blocks nobody: {look}");
    }
}

/// Lets a change of a table wait for a client that has read from it.
fn watch_a_wait_for_a_metadata_lock(server: &MariadbByHand, client: &dyn Fn() -> Command) {
    server.ask(
        "UPDATE performance_schema.setup_instruments SET enabled = 'YES' WHERE name = 'wait/lock/metadata/sql/mdl'",
    );
    let mut watching = Watching::start(&[&server.url(), "--when", "running>0"]);
    let blocker = Blocker::start(&mut client(), "SELECT n FROM shop.t WHERE id = 2");
    let change = ["-e", "ALTER TABLE shop.t FORCE"];
    let mut waiter = Running(client().args(change).stdout(Stdio::null()).spawn().unwrap());
    watching.await_kept("shop.t (metadata)");
    blocker.end();
    assert!(waiter.0.wait().unwrap().success());
    let _ = watching.point();
}

/// Watches in several files while a known load goes on, and adds up what is in them.
fn watch_in_several_files(server: &MariadbByHand) {
    let mut watching = Watching::start(&[&server.url(), "--roll", "1s"]);
    let mut loads = 0;
    wait_until("a fourth file", || {
        assert_runs(&mut watching.child.0);
        server.ask(&load());
        loads += 1;
        watching.lab.run_files().len() > 3
    });
    // What was done just now is seen when one more file has ended.
    let files = watching.lab.run_files().len();
    wait_until("one more file", || {
        assert_runs(&mut watching.child.0);
        watching.lab.run_files().len() > files + 1
    });
    let (lab, finished) = watching.interrupt();
    assert_eq!(finished.exit, 0, "{}", finished.stderr);
    assert!(finished.stderr.contains("is complete; the watch goes on"), "{}", finished.stderr);
    let (mut updates, mut last) = (0, String::new());
    for file in lab.run_files() {
        let run = lab.json(&["show", file.to_str().unwrap()]);
        let point = &run["points"][0];
        assert_eq!((&run["state"], &point["state"]), (&"complete".into(), &"complete".into()), "{run}");
        assert!(!run["answer"]["trust"].as_array().unwrap().is_empty(), "{run}");
        updates += has_no_holes(&file);
        let begins = started(&file);
        assert!(begins > last, "names sort by time");
        last = begins;
    }
    assert_eq!(updates, WRITES * loads, "nothing is lost between files, and nothing is twice");
    let files = lab.run_files();
    let compared = lab.run(&["compare", files[1].to_str().unwrap(), files[2].to_str().unwrap()]);
    assert_eq!(compared.exit, 0, "{}", compared.stderr);
    assert!(compared.stdout.contains("watch it again at the same hour"), "{}", compared.stdout);
    assert!(!compared.stdout.contains("--repeat"), "a watch has no repeats: {}", compared.stdout);
}

/// Each interval of the run phase has its number, from 0 on, and is over when the phase ends, and each source has been read. How many updates there
/// are.
fn has_no_holes(file: &Path) -> u64 {
    let db = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    let numbers = "SELECT count(DISTINCT interval), max(interval) + 1 FROM interval WHERE phase = 'run'";
    let (intervals, after_last): (u32, u32) = db.query_row(numbers, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    assert_eq!(intervals, after_last, "{}", file.display());
    let late =
        "SELECT count(*) FROM interval i JOIN phase p USING (point, phase) WHERE i.start_ns + i.length_ns > p.end_ns";
    assert_eq!(db.query_row(late, [], |row| row.get::<_, i64>(0)).unwrap(), 0, "{}", file.display());
    let sources = "SELECT (SELECT count(*) FROM source) - (SELECT count(DISTINCT source) FROM counter)";
    assert_eq!(db.query_row(sources, [], |row| row.get::<_, i64>(0)).unwrap(), 0, "{}", file.display());
    let updates = "SELECT coalesce(sum(ok), 0) FROM interval JOIN kind USING (point, kind) WHERE kind.name = 'update'";
    db.query_row(updates, [], |row| row.get::<_, i64>(0)).unwrap() as u64
}

/// When a run began, as a text that sorts.
fn started(file: &Path) -> String {
    let db = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    db.query_row("SELECT value FROM meta WHERE key = 'started_unix_ms'", [], |row| row.get(0)).unwrap()
}

fn a_watch_keeps_who_blocked_whom_and_goes_on_in_one_file_after_the_other(server: &MariadbByHand) {
    let (_lab, finished, _) = Watching::start(&[&server.url(), "--when", "waiting>0"]).point();
    let expected = "who waits for whom, and open transactions: ";
    assert!(
        finished.stderr.contains(expected) && finished.stderr.contains("GRANT PROCESS ON *.* TO 'visitor'@'localhost'"),
        "{}",
        finished.stderr
    );
    watch_in_several_files(server);
    server.ask("GRANT PROCESS ON *.* TO visitor@localhost");
    let client = || {
        let mut command = Command::new("mariadb");
        command.args(["-N", "--unbuffered", "-uroot", "-S", server.socket()]);
        command
    };
    watch_a_blocked_update(&server.url(), &client, ("-e", "shop.t"));
    watch_a_wait_beside_a_reader(&server.url(), &client);
    watch_a_wait_for_a_metadata_lock(server, &client);
}

/// It waits for a server that hangs less long than for two answers.
const ENDS_WITHIN: Duration = Duration::from_secs(5);

fn a_server_that_hangs_is_told_and_holds_up_no_end(server: &MariadbByHand, running: &Running) {
    use rustix::process::{Pid, Signal, kill_process};
    let signal = |signal| kill_process(Pid::from_child(&running.0), signal).unwrap();
    let mut watching = Watching::start(&[&server.url()]);
    server.ask(&load());
    watching.see(2);
    signal(Signal::STOP);
    watching.await_event("the server does not answer");
    let (_lab, finished) = watching.interrupt();
    signal(Signal::CONT);
    assert_eq!(finished.exit, 0, "{}", finished.stderr);
    let answer = finished.json()["answer"].to_string();
    assert!(answer.contains("The server did not answer for ") && answer.contains(", up to the end."), "{answer}");
    let watching = Watching::start(&[&server.url()]);
    signal(Signal::STOP);
    let stopped = Instant::now();
    let (_lab, finished) = watching.interrupt();
    let took = stopped.elapsed();
    signal(Signal::CONT);
    assert!(finished.exit == 0 && took < ENDS_WITHIN, "{took:?}: {}", finished.stderr);
}

fn a_server_that_is_started_again_is_watched_on(server: &MariadbByHand, mut running: Running) {
    let mut watching = Watching::start(&[&server.url()]);
    server.ask(&load());
    watching.see(2);
    running.end();
    watching.await_event("the server does not answer");
    let _again = server.start(&["--performance-schema=ON"]);
    server.ask(&load());
    watching.see(20);
    let (lab, finished, point) = watching.point();
    for said in ["the server does not answer", "the server was restarted"] {
        assert!(finished.stderr.contains(said), "{said}: {}", finished.stderr);
    }
    // The end of the connection may hide what came in the last interval before.
    assert!((WRITES..=2 * WRITES).contains(&ops(&point, "update")), "{}", point["statements"]);
    for own in ["set session", "@@global"] {
        assert_eq!(cost(&point, own), Value::Null, "what the watch sends when it connects again is left out");
    }
    let findings: Vec<&Value> = point["findings"].as_array().unwrap().iter().map(|finding| &finding["code"]).collect();
    assert!(findings.contains(&&"restarted".into()), "{findings:?}");
    let shown = lab.run(&["show", "last"]);
    assert!(shown.exit == 0 && shown.stdout.contains("restarted"), "{}", shown.stdout);
}

#[test]
fn without_performance_schema_statements_are_counted_and_what_shows_more_is_said() {
    let Some((server, _running)) = mariadb(&["--performance-schema=OFF"]) else { return };
    let watching = Watching::start(&[&server.url()]);
    server.ask(&load());
    let (_lab, finished, point) = watching.point();
    assert_eq!(ops(&point, "update"), WRITES);
    assert_eq!(point["observed"]["statements"].as_array().unwrap().len(), 0);
    assert!(
        finished.stderr.contains("statements: performance_schema is off; set `performance_schema = ON`"),
        "{}",
        finished.stderr
    );
}

fn postgres(preloads: bool) -> Option<(Lab, OwnPostgres)> {
    let lab = Lab::new();
    if !is_here(&lab, "postgres") {
        return None;
    }
    let dir = open_directory(&lab);
    let more = if preloads { "-c shared_preload_libraries=pg_stat_statements" } else { "" };
    let Some(server) = OwnPostgres::start_with(dir, more) else {
        eprintln!("skipped: PostgreSQL is elsewhere");
        return None;
    };
    let socket = server.socket();
    ask_postgres(&socket, "CREATE TABLE t (id INT PRIMARY KEY, n INT)");
    ask_postgres(&socket, "INSERT INTO t VALUES (1, 0), (2, 0), (3, 0)");
    if preloads {
        ask_postgres(&socket, "CREATE EXTENSION pg_stat_statements");
    }
    Some((lab, server))
}

fn url_of(server: &OwnPostgres) -> String {
    let socket = server.socket();
    format!("postgres://plimsoll@/postgres?host={}", socket.rsplit_once('/').unwrap().0)
}

/// Sends each of the statements by itself.
fn load_postgres(server: &OwnPostgres) {
    let mut command = Command::new("psql");
    command.args(["-qAt", "-U", "plimsoll", "postgres", "-h", server.socket().rsplit_once('/').unwrap().0]);
    for (text, times) in [("SELECT id FROM t WHERE n >= 0", READS), ("UPDATE t SET n = n + 1 WHERE id = 2", WRITES)] {
        for _ in 0..times {
            command.args(["-c", text]);
        }
    }
    assert!(command.output().unwrap().status.success());
}

#[test]
fn a_known_load_on_postgresql_is_counted_exactly() {
    let Some((_lab, server)) = postgres(true) else { return };
    let watching = Watching::start(&[&url_of(&server)]);
    load_postgres(&server);
    let (_runs, _, point) = watching.point();
    let kinds = (ops(&point, "select"), ops(&point, "update"), ops(&point, "insert"));
    assert_eq!(kinds, (READS, WRITES, 0), "{}", point["statements"]);
    let read = cost(&point, "from t where n >=");
    assert_eq!((&read["calls"], &read["rows_sent"]), (&READS.into(), &(3 * READS).into()));
    assert_eq!(cost(&point, "plimsoll_watch"), Value::Null, "its own questions are left out");
    let client = || {
        let mut command = Command::new("psql");
        command.args(["-qAt", "-U", "plimsoll", "postgres", "-h", server.socket().rsplit_once('/').unwrap().0]);
        command
    };
    watch_a_blocked_update(&url_of(&server), &client, ("-c", "t"));
}

#[test]
fn without_pg_stat_statements_transactions_are_counted_and_what_shows_more_is_said() {
    let Some((_lab, server)) = postgres(false) else { return };
    let mut watching = Watching::start(&[&url_of(&server)]);
    load_postgres(&server);
    // Sessions report at their end.
    watching.see(15);
    let (_runs, finished, point) = watching.point();
    assert!((READS + WRITES..READS + WRITES + 40).contains(&point["ops"].as_u64().unwrap()), "{point}");
    assert!(
        finished.stderr.contains("this database has no pg_stat_statements; execute CREATE EXTENSION"),
        "{}",
        finished.stderr
    );
}

#[test]
fn an_account_of_postgresql_without_rights_is_told_the_grant_that_it_lacks() {
    let Some((_lab, server)) = postgres(false) else { return };
    ask_postgres(&server.socket(), "CREATE ROLE \"Bob\" LOGIN");
    let url = url_of(&server).replace("//plimsoll@", "//Bob@");
    let (_runs, finished, _) = Watching::start(&[&url]).point();
    let answer = &finished.json()["answer"];
    assert_eq!(answer["next"], "GRANT pg_monitor TO \"Bob\"");
    assert!(answer["claims"].to_string().contains("Not seen: statements and sessions of other accounts"), "{answer}");
}

#[test]
fn a_process_is_watched_until_it_ends_and_what_was_seen_is_kept() {
    let mut sleeper = Running(Command::new("sleep").arg("600").spawn().unwrap());
    let pid = sleeper.0.id().to_string();
    let watching = Watching::start(&["--pid", &pid]);
    let (_lab, _, point) = watching.point();
    assert_eq!((&point["ops"], &point["observed"]["counts"]), (&0.into(), &"nothing".into()));
    let mut watching = Watching::start(&["--pid", &pid]);
    sleeper.end();
    let finished = finished(&mut watching.child);
    assert_eq!(finished.exit, 4, "{}", finished.stderr);
    assert!(finished.stderr.contains(&format!("process {pid}) ended; what was seen is kept")), "{}", finished.stderr);
    let shown = watching.lab.json(&["show", "last"]);
    assert_eq!((&shown["points"][0]["state"], &shown["points"][0]["validity"]), (&"failed".into(), &"valid".into()));
}

#[test]
fn a_report_that_cannot_be_written_is_not_named_and_the_answer_is_told_all_the_same() {
    let lab = Lab::new();
    // That of somebody else, in the place of the report.
    let place = lab.path().join("seen-report");
    std::fs::create_dir(&place).unwrap();
    std::fs::write(place.join("report.html"), "mine").unwrap();
    let pid = std::process::id().to_string();
    let watch = ["observe", "--pid", &pid, "--time", "300ms", "--interval", "100ms", "--out", "seen.plimsoll"];
    let finished = lab.run(&watch);
    assert_ne!(finished.exit, 0, "{}", finished.stdout);
    assert!(finished.stderr.contains("no report of plimsoll"), "{}", finished.stderr);
    assert!(
        finished.stdout.contains("Watched for ") && finished.stdout.contains("\nRun file: "),
        "{}",
        finished.stdout
    );
    assert!(!finished.stdout.contains("report.html"), "{}", finished.stdout);
    assert_eq!(std::fs::read_to_string(place.join("report.html")).unwrap(), "mine");
}

#[test]
fn what_cannot_be_watched_is_one_line() {
    let lab = Lab::new();
    for (arguments, exit, expected) in [
        (&["--pid", "999999999"][..], 2, "there is no process 999999999"),
        (&["--pid", "0"], 2, "--pid"),
        (&[], 2, "URL"),
        (&["sqlite"], 2, "`sqlite` is no URL of a server that can be watched"),
        (&["mysql://a@h1,h2/"], 2, "name one server"),
        (&["mysql://nobody@127.0.0.1:1/"], 4, "mysql://nobody@127.0.0.1:1/"),
        (&["--pid", "1", "--time", "1s", "--interval", "2s"], 2, "--interval is longer than --time"),
        (&["--pid", "1", "--interval", "1ms"], 2, "--interval"),
        (&["--pid", "1", "--time", "unlimited"], 2, "--time unlimited needs --roll: one file would grow without end"),
        (
            &["--pid", "1", "--time", "30d"],
            2,
            "one file would have 2592000 intervals, and may have 300000; make --interval longer",
        ),
        (&["--pid", "1", "--roll", "1s", "--interval", "2s"], 2, "--interval is longer than --roll"),
        (
            &["--pid", "1", "--when", "p99>50ms"],
            2,
            "the names are `qps`, `mean`, `running`, `waiting`, `connections`, `cpu`, `disk`",
        ),
        (&["--pid", "1", "--when", "running>5"], 2, "--when: `running>5` is not seen here: only the server tells it"),
        (&["--pid", "1", "--out", "x.txt"], 2, "--out: `x.txt` is no name of a run file"),
        (&["--pid", "1", "--out", "nowhere/x.plimsoll"], 2, "--out: the directory `nowhere` does not exist; create it"),
    ] {
        let refused = lab.run(&[&["observe"], arguments].concat());
        assert_eq!(refused.exit, exit, "{arguments:?}: {}", refused.stderr);
        assert!(refused.stderr.contains(expected), "{arguments:?}: {}", refused.stderr);
    }
    assert!(lab.run_files().is_empty() && lab.left_behind().is_empty(), "{:?}", lab.left_behind());
}
