//! Statements of a server's log, replayed on a copy: what real servers write, and what arrives.
//!
//! One private server is recorded and another one is the copy. Both are held by a run that inserts now and then, whose statements are in
//! the log, too, and are left out.

use crate::lab::{Finished, Lab, wait_until};
use crate::servers::{MariadbByHand, Running, ask_mariadb, ask_postgres, is_here, measuring, socket_of};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The tables that the recorded statements read.
const TABLES: &str =
    "CREATE TABLE t (id INT PRIMARY KEY, c VARCHAR(20)); INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'it''s')";

/// Each statement that a session sends, and how long it waits before.
const SESSION: [(&str, u64); 6] = [
    ("SELECT c FROM t WHERE id = 1", 0),
    ("SELECT c FROM t WHERE id = 2", 300),
    ("SELECT count(*) FROM t WHERE c IN ('a', 'it''s')", 300),
    ("BEGIN", 0),
    ("INSERT INTO t VALUES (%, 'new')", 0),
    ("COMMIT", 0),
];

/// The number of sessions that send it.
const SESSIONS: u64 = 3;

/// A run of `replay-sql`.
fn replay(lab: &Lab, log: &Path, url: &str, more: &[&str]) -> Finished {
    let base = ["replay-sql", "--log", log.to_str().unwrap(), "--engine", url, "--no-report"];
    lab.run(&[&base[..], more].concat())
}

pub fn replayed(lab: &Lab, log: &Path, url: &str, more: &[&str]) -> Value {
    let finished = replay(lab, log, url, &[more, &["--json", "--quiet"]].concat());
    assert_eq!(finished.exit, 0, "{more:?}: {}", finished.stderr);
    finished.json()["points"][0].clone()
}

fn ops_of(point: &Value, kind: &str) -> u64 {
    let all = point["statements"].as_array().expect("several kinds");
    all.iter().find(|row| row["kind"] == kind).map_or(0, |row| row["ops"].as_u64().unwrap())
}

const BY_ID: &str = "select c from t where id = ?";
const COUNTED: &str = "select count(*) from t where c in(?)";

fn has_all_reads(point: &Value) {
    assert_eq!((ops_of(point, BY_ID), ops_of(point, COUNTED)), (2 * SESSIONS, SESSIONS), "{point}");
}

fn has_no_failure(point: &Value) {
    assert_eq!(point["failed"], 0, "{point}");
}

/// A fact of the point that was recorded last.
pub fn fact(lab: &Lab, name: &str) -> String {
    facts(lab, name).into_iter().next().unwrap_or_else(|| panic!("no {name}"))
}

/// All of that name.
fn facts(lab: &Lab, name: &str) -> Vec<String> {
    let newest = lab.run_files().into_iter().max_by_key(|file| file.metadata().unwrap().modified().unwrap());
    let db = rusqlite::Connection::open(newest.expect("a run file")).unwrap();
    let text: String = db.query_row("SELECT facts FROM point", [], |row| row.get(0)).unwrap();
    let facts: Vec<Value> = serde_json::from_str(&text).unwrap();
    let found = facts.iter().filter(|fact| fact["name"] == name);
    found.map(|fact| fact["value"].as_str().unwrap().to_owned()).collect()
}

fn mariadb(lab: &Lab) -> (Running, String) {
    let server = measuring(lab, &[]);
    (server, socket_of(lab, "m.sock"))
}

/// Lets the server of `socket` write both its logs to `dir` from now on.
fn log_to(socket: &str, dir: &Path) -> [PathBuf; 2] {
    let [slow, general] = ["slow.log", "general.log"].map(|name| dir.join(name));
    let set = |name: &str, path: &Path| format!("SET GLOBAL {name} = '{}';", path.display());
    ask_mariadb(
        socket,
        &[
            set("slow_query_log_file", &slow),
            set("general_log_file", &general),
            "SET GLOBAL log_output = 'FILE'; SET GLOBAL long_query_time = 0; SET GLOBAL slow_query_log = ON; SET GLOBAL general_log = ON".into(),
        ]
        .concat(),
    );
    [slow, general]
}

/// A directory into which a server of any user may write.
pub fn open_directory(lab: &Lab) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let dir = lab.path().join("logs");
    std::fs::create_dir(&dir).unwrap();
    for path in [lab.path(), &dir] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o777)).unwrap();
    }
    dir
}

/// Sends the statements of all sessions through `client`, one process for each, and waits for them.
fn send_sessions(client: impl Fn() -> Command + Sync) {
    std::thread::scope(|scope| {
        for nth in 0..SESSIONS {
            let client = &client;
            scope.spawn(move || {
                use std::io::Write as _;
                let mut child =
                    client().stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::null()).spawn().unwrap();
                let mut input = child.stdin.take().unwrap();
                for (text, wait_ms) in SESSION {
                    std::thread::sleep(Duration::from_millis(wait_ms));
                    writeln!(input, "{};", text.replace('%', &(100 + nth).to_string())).unwrap();
                    input.flush().unwrap();
                }
                drop(input);
                assert!(child.wait().unwrap().success());
            });
        }
    });
}

/// The server that writes the log, one that is like it, one that is named as it, and one without its schema are refused. Only the last one is
/// restored before, because that may bring the schema.
fn assert_recorded_servers_are_refused(lab: &Lab, socket: &str, logs: [&Path; 2], (own, url): (&str, &str)) {
    let [written, kept] = logs;
    let restored = lab.path().join("restored");
    let command = format!("touch '{}'", restored.display());
    let restore = ["--restore", command.as_str()];
    // The server still writes them.
    let refused = replay(lab, written, own, &restore);
    assert!(
        refused.exit != 0
            && refused.stderr.contains("writes `")
            && refused.stderr.contains("it is the recorded server"),
        "{}",
        refused.stderr
    );
    ask_mariadb(socket, "SET GLOBAL slow_query_log = OFF; SET GLOBAL general_log = OFF");
    let limit = ["limit", "replay-sql", kept.to_str().unwrap(), "--engine", own, "--slo", "p99<5s", "--no-report"];
    for like in [replay(lab, kept, own, &restore), lab.run(&[&limit[..], &restore].concat())] {
        assert!(
            like.exit != 0 && like.stderr.contains("this server has the same: it may be the recorded one"),
            "{}",
            like.stderr
        );
    }
    // No server is restored if another one of the run is the recorded one.
    let both = format!("{url},{own}");
    for servers in [own, both.as_str()] {
        let more = ["--same-server", "true", "--recorded-on", socket];
        let named = replay(lab, kept, servers, &[&more[..], &restore].concat());
        assert!(named.exit != 0 && named.stderr.contains("is the server of the URL"), "{}", named.stderr);
    }
    let silent = replay(lab, kept, "mysql://visitor@127.0.0.1:1/", &restore);
    assert!(silent.exit != 0 && silent.stderr.contains("start it first"), "{}", silent.stderr);
    assert!(!restored.exists(), "the command has run on a server that may be the recorded one");
    // Both are private servers, whose sockets have one name.
    let lacks = replay(lab, kept, url, &[&["--same-server", "true"][..], &restore].concat());
    assert!(
        lacks.exit != 0 && lacks.stderr.contains("the server has no `shop`, in which statements of the log are"),
        "{}",
        lacks.stderr
    );
    assert!(restored.exists(), "{}", lacks.stderr);
}

#[test]
fn logs_of_mariadb_are_replayed_on_a_copy_and_never_on_the_recorded_server() {
    let (recorded, copy) = (Lab::new(), Lab::new());
    if !is_here(&recorded, "mariadb:innodb") {
        return;
    }
    let ((_one, socket), (_two, copied)) = (mariadb(&recorded), mariadb(&copy));
    for (socket, schema) in [(&socket, "shop"), (&copied, "shop_copy")] {
        ask_mariadb(socket, "CREATE USER visitor@localhost; GRANT ALL ON *.* TO visitor@localhost");
        ask_mariadb(socket, &format!("CREATE DATABASE {schema}; USE {schema}; {TABLES}"));
    }
    let lab = Lab::new();
    let [slow, general] = log_to(&socket, &open_directory(&lab));
    send_sessions(|| {
        let mut command = Command::new("mariadb");
        command.args(["-N", "-n", "-uroot", "-S", &socket, "shop"]);
        command
    });
    let url = format!("mysql://visitor@localhost/?socket={copied}");
    let own = format!("mysql://visitor@localhost/?socket={socket}");
    // As they are now: what plimsoll asks of the recorded server would be in them, too.
    let kept = [&slow, &general].map(|log| {
        let kept = log.with_extension("kept");
        std::fs::copy(log, &kept).unwrap();
        kept
    });
    assert_recorded_servers_are_refused(&lab, &socket, [&slow, &kept[0]], (&own, &url));

    let map = ["--schemas", "shop=shop_copy", "--same-server", "true"];
    for log in &kept {
        let point = replayed(&lab, log, &url, &map);
        has_all_reads(&point);
        has_no_failure(&point);
        assert!(fact(&lab, "recorded.times").starts_with("whole seconds"), "{point}");
        assert!(fact(&lab, "recorded.left_out_writes").parse::<u64>().unwrap() >= SESSIONS);
        // The run that holds the server reads its counters over a connection that is older than its slow log.
        let of_plimsoll = fact(&lab, "recorded.left_out_own");
        assert!(log == &kept[0] || of_plimsoll != "0", "the general log has its questions");
        assert_eq!(
            point["clients"].as_u64().unwrap().to_string(),
            fact(&lab, "recorded.sessions_at_once"),
            "one for each session"
        );
    }
    let before = ask_mariadb(&copied, "SELECT count(*) FROM shop_copy.t");
    assert_eq!(before.trim(), "3", "nothing was written");
    // With writes, on fewer clients and as fast as it goes.
    let more = ["--allow-writes", "true", "--speed", "max", "--clients", "2"];
    let point = replayed(&lab, &kept[0], &url, &[&map[..], &more].concat());
    has_all_reads(&point);
    assert_eq!(ask_mariadb(&copied, "SELECT count(*) FROM shop_copy.t WHERE c = 'new'").trim(), SESSIONS.to_string());
    ask_mariadb(&copied, "DELETE FROM shop_copy.t WHERE c = 'new'");
    // The order within each session, as the copy has seen it.
    let seen = log_to(&copied, &{
        let dir = lab.path().join("logs").join("copy");
        std::fs::create_dir(&dir).unwrap();
        std::fs::set_permissions(&dir, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
        dir
    });
    replayed(&lab, &kept[0], &url, &map);
    ask_mariadb(&copied, "SET GLOBAL slow_query_log = OFF; SET GLOBAL general_log = OFF");
    assert_orders(&std::fs::read_to_string(&seen[1]).unwrap());
}

/// Each connection in the general log that sent reads of `t` sent them in the order of the sessions.
fn assert_orders(log: &str) {
    let mut by_connection: std::collections::BTreeMap<String, Vec<String>> = Default::default();
    for line in
        log.lines().filter(|line| line.contains("\tSELECT c FROM t") || line.contains("\tSELECT count(*) FROM t WHERE"))
    {
        let (head, text) = line.rsplit_once("Query\t").unwrap();
        let connection = head.split_whitespace().last().unwrap().to_owned();
        by_connection.entry(connection).or_default().push(text.to_owned());
    }
    let expected: Vec<&str> = SESSION[..3].iter().map(|(text, _)| *text).collect();
    let sessions: usize =
        by_connection.values().map(|texts| texts.chunks(3).filter(|session| *session == expected).count()).sum();
    assert_eq!(sessions as u64, SESSIONS, "{by_connection:?}");
}

/// The reads in a log of PostgreSQL, and the seconds from the beginning of the first to that of the last.
fn reads_in(log: &str) -> (u64, f64) {
    let began = |line: &str| -> Option<f64> {
        let (ms, _) = line.split_once("\"duration: ")?.1.split_once(" ms  statement: SELECT")?;
        let clock: Vec<f64> = line.split([' ', ':']).skip(1).take(3).map(|part| part.parse().unwrap()).collect();
        Some(clock[0] * 3_600.0 + clock[1] * 60.0 + clock[2] - ms.parse::<f64>().unwrap() / 1e3)
    };
    let all: Vec<f64> = log.lines().filter_map(began).collect();
    let [first, last] = [f64::min, f64::max].map(|which| all.iter().copied().reduce(which).unwrap());
    (all.len() as u64, last - first)
}

/// A PostgreSQL of the test's own, with a log in CSV, which ends with it.
pub struct OwnPostgres {
    dir: PathBuf,
    programs: PathBuf,
}

impl OwnPostgres {
    pub fn start(dir: PathBuf) -> Option<OwnPostgres> {
        OwnPostgres::start_with(dir, "")
    }

    /// The same with `more` options.
    pub fn start_with(dir: PathBuf, more: &str) -> Option<OwnPostgres> {
        let programs =
            std::fs::read_dir("/usr/lib/postgresql").ok()?.flatten().map(|entry| entry.path().join("bin")).max()?;
        let server = OwnPostgres { dir, programs };
        let dir = server.dir.display().to_string();
        server.run("initdb", &["-D", &format!("{dir}/data"), "-A", "trust", "-U", "plimsoll", "--no-sync"]);
        let options = format!(
            "-c listen_addresses= -k {dir} -c logging_collector=on -c log_destination=csvlog -c log_directory={dir} -c log_filename=pg.log \
             -c log_min_duration_statement=0 -c log_file_mode=0644 {more}"
        );
        server
            .run("pg_ctl", &["-D", &format!("{dir}/data"), "-o", &options, "-l", &format!("{dir}/out"), "-w", "start"]);
        Some(server)
    }

    /// Runs a program of the server, which does not run as root.
    fn run(&self, program: &str, arguments: &[&str]) {
        let mut command = Command::new("setpriv");
        let user = if rustix::process::geteuid().is_root() {
            &["--reuid=postgres", "--regid=postgres", "--clear-groups"][..]
        } else {
            &[]
        };
        command.args(user).arg(self.programs.join(program)).args(arguments).current_dir("/");
        let output = command.stdout(std::process::Stdio::null()).status().unwrap();
        assert!(output.success(), "{program} {arguments:?}");
    }

    pub fn socket(&self) -> String {
        self.dir.join(".s.PGSQL.5432").display().to_string()
    }
}

impl Drop for OwnPostgres {
    fn drop(&mut self) {
        self.run("pg_ctl", &["-D", &self.dir.join("data").display().to_string(), "-m", "immediate", "stop"]);
    }
}

#[test]
fn a_csv_log_of_postgresql_is_replayed_on_a_copy_at_its_own_times() {
    let (lab, copy) = (Lab::new(), Lab::new());
    if !is_here(&lab, "postgres") {
        return;
    }
    let dir = open_directory(&lab);
    let Some(server) = OwnPostgres::start(dir.clone()) else { return eprintln!("skipped: PostgreSQL is elsewhere") };
    ask_postgres(&server.socket(), TABLES);
    send_sessions(|| {
        let mut command = Command::new("psql");
        command.args(["-q", "-U", "plimsoll", "-h"]).arg(&dir).arg("postgres");
        command
    });
    let own = format!("postgres://plimsoll@localhost/postgres?socket={}", server.socket());
    let watched = lab.run(&["observe", &own, "--time", "2s", "--no-report", "--json", "--quiet"]);
    assert_eq!(watched.exit, 0, "{}", watched.stderr);
    let (written, log) = (dir.join("pg.csv"), dir.join("kept.csv"));
    std::fs::copy(&written, &log).unwrap();
    let restored = lab.path().join("restored");
    let command = format!("touch '{}'", restored.display());
    let refused = replay(&lab, &written, &own, &["--restore", &command]);
    assert!(refused.exit != 0 && refused.stderr.contains("it is the recorded server"), "{}", refused.stderr);
    assert!(!restored.exists(), "the command has run on the recorded server");

    let _held = measuring(&copy, &["--engine", "postgres"]);
    let socket = socket_of(&copy, ".s.PGSQL.5432");
    ask_postgres(&socket, TABLES);
    // The database of the URL may come by the command: only then is its lack a reason.
    let lacks = format!("postgres://plimsoll@localhost/lacking?socket={socket}");
    let refused = replay(&lab, &log, &lacks, &["--restore", &command]);
    assert!(refused.exit != 0 && refused.stderr.contains("3D000") && restored.exists(), "{}", refused.stderr);
    let url = format!("postgres://plimsoll@localhost/postgres?socket={socket}");
    let point = replayed(&lab, &log, &url, &[]);
    has_all_reads(&point);
    has_no_failure(&point);
    assert_eq!(fact(&lab, "recorded.times"), "fractions of seconds");
    assert!(fact(&lab, "recorded.left_out_own").parse::<u64>().unwrap() > 2, "each reading of the watch is a question");
    let (reads, length_s) = reads_in(&std::fs::read_to_string(&log).unwrap());
    assert_eq!(facts(&lab, "run.ops"), [reads.to_string()], "it is recorded once");
    let fast = replayed(&lab, &log, &url, &["--speed", "4"]);
    has_all_reads(&fast);
    for (point, speed) in [(&point, 1.0), (&fast, 4.0)] {
        let offered = point["offered_per_s"].as_f64().unwrap() * length_s / speed / reads as f64;
        assert!((offered - 1.0).abs() < 0.01, "{offered}: {reads} reads in {length_s} s, {point}");
        assert_eq!(
            (point["ops"].as_u64(), &point["unserved"]),
            (Some(reads), &0.into()),
            "late or in time, all were sent"
        );
        assert!(point["seconds"].as_f64().unwrap() >= 0.99 * length_s / speed, "{point}");
    }
    assert_eq!(ask_postgres(&socket, "SELECT count(*) FROM t").trim(), "3", "nothing was written");
    let other = replay(&lab, &log, "mysql://visitor@127.0.0.1:1/", &[]);
    assert!(other.exit != 0, "there is no such server");
}

#[test]
fn what_was_prepared_under_a_name_is_prepared_again() {
    let (lab, one, two) = (Lab::new(), Lab::new(), Lab::new());
    let (dir, copy_dir) = (open_directory(&one), open_directory(&two));
    let Some(recorded) = OwnPostgres::start(dir.clone()) else { return eprintln!("skipped: PostgreSQL is elsewhere") };
    let copy = OwnPostgres::start(copy_dir.clone()).expect("as the other");
    for server in [&recorded, &copy] {
        ask_postgres(&server.socket(), &format!("SET log_min_duration_statement = -1; {TABLES}"));
    }
    let script = lab.path().join("script.sql");
    std::fs::write(
        &script,
        "\\set id 2\nSELECT c FROM t WHERE id = :id;\nUPDATE t SET c = 'it''s' WHERE id = 1 + :id;\n",
    )
    .unwrap();
    recorded.run(
        "pgbench",
        &[
            "-n",
            "-M",
            "prepared",
            "-c",
            "2",
            "-t",
            "5",
            "-f",
            script.to_str().unwrap(),
            "-h",
            dir.to_str().unwrap(),
            "-U",
            "plimsoll",
            "postgres",
        ],
    );
    let log = lab.path().join("kept.csv");
    std::fs::copy(dir.join("pg.csv"), &log).unwrap();
    let url = format!("postgres://plimsoll@localhost/postgres?socket={}", copy.socket());
    let point = replayed(&lab, &log, &url, &["--allow-writes", "true"]);
    has_no_failure(&point);
    assert_eq!(ops_of(&point, BY_ID), 10);
    let told = fact(&lab, "recorded.prepared");
    assert_eq!(told, "20 statements of the log are calls of 2 that are prepared again");
    let seen = || std::fs::read_to_string(copy_dir.join("pg.csv")).unwrap();
    wait_until("the last call in the log of the copy", || seen().matches(" execute plimsoll_").count() == 20);
    assert!(!seen().contains(" statement: SELECT c FROM t"), "{}", seen());
    // The same of a workload file, and as text where rows are compared.
    let file = lab.path().join("it.workload");
    let saved = lab.run(&["workload", "save", "--log", log.to_str().unwrap(), "--out", file.to_str().unwrap()]);
    assert_eq!(saved.exit, 0, "{}", saved.stderr);
    replayed(&lab, &file, &url, &["--allow-writes", "true"]);
    assert_eq!(fact(&lab, "recorded.prepared"), told);
    has_no_failure(&replayed(&lab, &log, &url, &["--check-results", "true"]));
}

/// A general log of `statements` in the schema `shop`.
pub fn general_log(lab: &Lab, statements: &[impl AsRef<str>]) -> PathBuf {
    let mut text = "261128  3:16:29\t     4 Init DB\tshop\n".to_owned();
    statements.iter().for_each(|statement| text.push_str(&format!("\t\t     4 Query\t{}\n", statement.as_ref())));
    let log = lab.path().join("reads.log");
    std::fs::write(&log, text).unwrap();
    log
}

#[test]
fn a_replay_as_fast_as_it_can_be_is_given_up_if_its_server_hangs() {
    use rustix::process::{Pid, Signal, kill_process};
    let lab = Lab::new();
    if !is_here(&lab, "mariadb:innodb") || !rustix::process::geteuid().is_root() {
        return eprintln!("skipped: needs mariadb and root");
    }
    let theirs = MariadbByHand::make();
    let server = theirs.start(&[]);
    theirs.ask(&format!("CREATE DATABASE shop; USE shop; {TABLES}; CREATE USER visitor@localhost"));
    theirs.ask("GRANT SELECT ON shop.* TO visitor@localhost");
    // More than it answers before it is stopped: each joins half a million rows.
    let tables: Vec<String> = (0..12).map(|nth| format!("t t{nth}")).collect();
    let slow = format!("SELECT count(*) FROM {}", tables.join(", "));
    let log = general_log(&lab, &std::iter::repeat_n(slow, 2_000).collect::<Vec<String>>());
    let url = theirs.url();
    let base = ["replay-sql", "--log", log.to_str().unwrap(), "--engine", &url, "--same-server", "true"];
    let more = ["--speed", "max", "--clients", "1", "--grace", "2s", "--no-report", "--quiet"];
    let mut run = Running(lab.command(&[&base[..], &more].concat()).spawn().unwrap());
    lab.wait_for_load(&mut run.0, 1);
    let signal = |signal| kill_process(Pid::from_child(&server.0), signal).unwrap();
    signal(Signal::STOP);
    wait_until("the end of the replay", || run.0.try_wait().unwrap().is_some());
    signal(Signal::CONT);
    let finished = run.finished();
    assert!(finished.exit != 0 && finished.stderr.contains("still blocked"), "{}", finished.stderr);
}

#[test]
fn reads_of_a_log_of_mariadb_have_no_effect_whoever_the_account_is() {
    let (lab, held) = (Lab::new(), Lab::new());
    if !is_here(&lab, "mariadb:innodb") {
        return;
    }
    let (_server, socket) = mariadb(&held);
    ask_mariadb(&socket, "CREATE USER visitor@localhost; GRANT ALL ON *.* TO visitor@localhost");
    ask_mariadb(
        &socket,
        &format!(
            "CREATE DATABASE shop; USE shop; {TABLES}; CREATE SEQUENCE s; \
        CREATE FUNCTION good(a INT) RETURNS INT DETERMINISTIC RETURN lower(a); CREATE FUNCTION locks() RETURNS INT NO SQL RETURN GET_LOCK('a', 1); \
        CREATE VIEW bad AS SELECT locks(); CREATE VIEW worse AS SELECT * FROM bad"
        ),
    );
    let log = general_log(
        &lab,
        &[
            "SELECT c FROM t",
            "SELECT good(1)",
            "SELECT locks()",
            "SELECT * FROM worse",
            "SELECT sleep(100)",
            "SELECT NEXT VALUE FOR s",
            "SELECT c FROM t /*!50000 INTO OUTFILE '/tmp/plimsoll-never' */",
            "SELECT nowhere(1)",
        ],
    );
    let url = format!("mysql://visitor@localhost/?socket={socket}");
    let finished = replay(&lab, &log, &url, &["--json"]);
    assert!(
        finished.exit == 0 && finished.stderr.contains("the account has") && finished.stderr.contains("FILE"),
        "{}",
        finished.stderr
    );
    has_no_failure(&finished.json()["points"][0]);
    let facts = ["statements", "left_out_effects", "left_out_writes", "effects"]
        .map(|name| fact(&lab, &format!("recorded.{name}")));
    assert_eq!(facts, ["2", "5", "1", "locks 1, next 1, nowhere 1, sleep 1, worse 1"]);
    replayed(&lab, &log, &url, &["--functions", "locks+worse"]);
    assert_eq!(fact(&lab, "recorded.statements"), "4");
    let other = lab.path().join("other.sock");
    pass_on(&other, socket);
    let named = replay(&lab, &log, &url, &["--recorded-on", other.to_str().unwrap()]);
    assert!(named.exit != 0 && named.stderr.contains("is the server of the URL"), "{}", named.stderr);
}

/// Passes what comes to the socket at `from` on to the server at `to`, as a proxy does.
fn pass_on(from: &Path, to: String) {
    use std::os::unix::net::{UnixListener, UnixStream};
    let listener = UnixListener::bind(from).unwrap();
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let server = UnixStream::connect(&to).unwrap();
            let ways = [(client.try_clone().unwrap(), server.try_clone().unwrap()), (server, client)];
            for (mut one, mut other) in ways {
                std::thread::spawn(move || std::io::copy(&mut one, &mut other));
            }
        }
    });
}

/// A log in CSV of `statements`.
fn csv_log(lab: &Lab, statements: &[&str]) -> PathBuf {
    let mut text = String::new();
    for (nth, statement) in statements.iter().enumerate() {
        text.push_str(&format!(
            "2026-11-28 03:16:35.{nth:03} UTC,\"plimsoll\",\"postgres\",1,\"[local]\",s.1,1,\"idle\",2026-11-28 03:16:35 UTC,4/2,0,LOG,00000,\"statement: {}\",,,,,,,,,\"psql\",\"client backend\",,0\n",
            statement.replace('"', "\"\"")
        ));
    }
    let log = lab.path().join("reads.csv");
    std::fs::write(&log, text).unwrap();
    log
}

#[test]
fn reads_of_a_log_of_postgresql_have_no_effect_whoever_the_account_is() {
    let (lab, held) = (Lab::new(), Lab::new());
    if !is_here(&lab, "postgres") {
        return;
    }
    let _held = measuring(&held, &["--engine", "postgres"]);
    let socket = socket_of(&held, ".s.PGSQL.5432");
    ask_postgres(
        &socket,
        &format!(
            "{TABLES}; CREATE SEQUENCE s; \
        CREATE FUNCTION good(a int) RETURNS int STABLE LANGUAGE sql AS 'SELECT a'; CREATE FUNCTION f(t) RETURNS int VOLATILE LANGUAGE sql AS 'SELECT 1'; \
        CREATE FUNCTION yes(int, int) RETURNS bool VOLATILE LANGUAGE sql AS 'SELECT true'; CREATE OPERATOR ## (leftarg = int, rightarg = int, function = yes); \
        CREATE VIEW bad AS SELECT nextval('s'); CREATE VIEW worse AS SELECT * FROM bad; CREATE DOMAIN checked AS int CHECK (pg_sleep(0) IS NOT NULL)"
        ),
    );
    let log = csv_log(
        &lab,
        &[
            "SELECT c FROM t",
            "SELECT good(1)",
            "SELECT t.f FROM t",
            "SELECT * FROM worse",
            "SELECT 1 ## 2",
            "SELECT '1'::checked",
            "SELECT pg_catalog.\"set_config\"('default_transaction_read_only', 'off', false)",
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()",
            "SELECT nowhere(1)",
        ],
    );
    let url = format!("postgres://plimsoll@localhost/postgres?socket={socket}");
    let finished = replay(&lab, &log, &url, &["--json"]);
    assert!(finished.exit == 0 && finished.stderr.contains("the account has SUPERUSER"), "{}", finished.stderr);
    has_no_failure(&finished.json()["points"][0]);
    let facts = ["statements", "left_out_effects", "effects"].map(|name| fact(&lab, &format!("recorded.{name}")));
    assert_eq!(facts, ["2", "7", "## 1, checked 1, f 1, nowhere 1, pg_terminate_backend 1, set_config 1, worse 1"]);
    assert_eq!(ask_postgres(&socket, "SELECT is_called FROM s").trim(), "f");
}

#[test]
fn what_cannot_be_replayed_is_refused_with_file_and_line_before_a_server_is_asked() {
    let lab = Lab::new();
    let refused = |text: &str, more: &[&str]| {
        let log = lab.path().join("a.log");
        std::fs::write(&log, text).unwrap();
        let finished = replay(&lab, &log, "mysql://nobody@127.0.0.1:1/", more);
        assert!(finished.exit == 2 && finished.stderr.lines().count() == 1, "{}: {}", finished.exit, finished.stderr);
        finished.stderr
    };
    let entry = "261128  3:16:29\t     4 Query\tselect 1\n";
    assert!(refused("hello\n", &[]).contains("a.log`, line 1: `hello` begins neither a slow or general log"));
    assert!(refused(entry.trim_end(), &[]).contains("to replay; skipped: entry_that_is_cut_off (1, first in line 1)"));
    assert!(
        refused("261128  3:16:29\t     4 Query\tselect 'a\n", &[]).contains("statement_with_an_open_quote_or_comment")
    );
    assert!(refused("261128  3:16:29\t     4 Query\tdelete from t\n", &[]).contains("it has no read to replay"));
    assert!(refused(entry, &["--rate", "5"]).contains("`rate` has no use in a replay"));
    assert!(refused(entry, &["--speed", "0"]).contains("speed"));
    let sqlite = lab.run(&["replay-sql", "--log", "a.log", "--engine", "sqlite"]);
    assert!(sqlite.exit != 0 && sqlite.stderr.contains("needs a server that holds a copy"), "{}", sqlite.stderr);
    let none = lab.run(&["replay-sql", "--engine", "mysql://nobody@127.0.0.1:1/"]);
    assert!(
        none.exit == 2 && none.stderr.contains("`replay-sql` needs the file of a recording as `log`"),
        "{}",
        none.stderr
    );
}
