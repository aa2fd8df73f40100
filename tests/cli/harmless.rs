//! A replay of reads only: nothing changes, whoever the account is.
//!
//! The statements are in `effects/`: those that have an effect outside of their own result though many look like reads, and reads that
//! applications send. Both were tried on the servers by people who had not seen how plimsoll judges. Each list becomes a log, which is
//! replayed under an account with all rights. What the server has, holds and is set to is printed before and after.

use crate::lab::Lab;
use crate::replaying_sql::{OwnPostgres, fact, general_log, open_directory, replayed};
use crate::servers::{MariadbByHand, asked, is_here};
use serde_json::Value;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Of reads without an effect, at least so many are sent.
const SENT_PERCENT: u64 = 85;

/// A file of `effects/` in which the places of this server stand.
fn part(name: &str, dir: &Path) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cli/effects").join(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let dir = dir.to_str().unwrap();
    ["{SCRATCH}", "{SOCKETS}", "{DATA}"]
        .iter()
        .fold(text, |text, place| text.replace(place, dir))
        .replace("{PORT}", "5432")
}

/// The statements of a list.
fn statements(name: &str, dir: &Path) -> Vec<String> {
    let list: Vec<Value> = serde_json::from_str(&part(name, dir)).unwrap();
    list.iter().map(|one| one["sql"].as_str().or(one.as_str()).unwrap().to_owned()).collect()
}

/// What a client of a server answers to a script; what it refuses is left out.
fn answers(client: &mut Command, script: &str) -> String {
    let mut child = client.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let script = script.to_owned();
    let writer = std::thread::spawn(move || input.write_all(script.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The names and sizes of the files in `dir`, but for those that servers write by themselves.
fn files_in(dir: &Path) -> String {
    let listed = Command::new("find").arg(dir).args(["-type", "f", "-printf", "%P %s\n"]).output().unwrap();
    let mut lines: Vec<String> = String::from_utf8_lossy(&listed.stdout).lines().map(str::to_owned).collect();
    lines.retain(|line| {
        !["ib", "aria_log", "ddl_recovery.log", "mysql/", "pg.", "data/"].iter().any(|own| line.contains(own))
    });
    lines.sort();
    lines.join("\n")
}

fn assert_equal(before: &str, after: &str) {
    let only_in = |one: &str, other: &str| -> Vec<String> {
        one.lines().filter(|line| !other.lines().any(|known| known == *line)).map(str::to_owned).collect()
    };
    assert!(before == after, "gone: {:#?}\nnew: {:#?}", only_in(before, after), only_in(after, before));
}

/// Replays the harmless reads and then, on a server that has the traps, all that has effects.
struct Trial<'a> {
    lab: &'a Lab,
    url: &'a str,
    /// The URL with an account that may only read.
    reader: &'a str,
    dir: &'a Path,
    server: &'static str,
    /// Writes a log of statements.
    log: fn(&Lab, &[String]) -> PathBuf,
    /// Runs a script.
    run: &'a dyn Fn(&str) -> String,
    /// Prints what the server has.
    state: &'a dyn Fn() -> String,
}

impl Trial<'_> {
    fn replay(&self, url: &str, statements: &[String]) -> Value {
        let path = (self.log)(self.lab, statements);
        replayed(self.lab, &path, url, &["--speed", "max", "--clients", "1", "--same-server", "true"])
    }

    fn conduct(&self) {
        let file = |name: &str| format!("{}-{name}", self.server);
        (self.run)(&part(&file("tables.sql"), self.dir));
        let before = (self.state)();
        assert!(before.lines().count() > 50, "the state is seen: {before}");
        let reads = statements(&file("reads.json"), self.dir);
        for url in [self.url, self.reader] {
            let point = self.replay(url, &reads);
            assert_equal(&before, &(self.state)());
            // What waits, what another statement of its session has left, and what is named like something with an effect is not sent.
            let (sent, effects) = (point["ops"].as_u64().unwrap(), fact(self.lab, "recorded.effects"));
            assert!(sent * 100 >= reads.len() as u64 * SENT_PERCENT, "{sent} of {}: {effects}", reads.len());
            assert!(url == self.reader || point["failed"] == 0, "{}", point["findings"]);
        }
        // One read that is sent: a log without any is refused.
        let mut all = statements(&file("effects.json"), self.dir);
        all.insert(0, "SELECT 1".to_owned());
        for script in ["traps.sql", "shadows.sql"] {
            (self.run)(&part(&file(script), self.dir));
            let traps = (self.run)("SELECT count(*) FROM information_schema.routines WHERE routine_name LIKE 'f%';");
            assert!(traps.trim().parse::<u32>().is_ok_and(|count| count > 10), "the traps are there: {traps}");
            let before = (self.state)();
            let point = self.replay(self.url, &all);
            eprintln!("{} of {} were sent, {} refused by the server", point["ops"], all.len(), point["failed"]);
            assert_equal(&before, &(self.state)());
        }
    }
}

/// In the format of PostgreSQL 15 (<https://www.postgresql.org/docs/15/runtime-config-logging.html>).
fn csv_log(lab: &Lab, statements: &[String]) -> PathBuf {
    let mut log = String::new();
    for (nth, text) in statements.iter().enumerate() {
        writeln!(
            log,
            "2026-11-29 03:16:29.{:03} UTC,\"plimsoll\",\"shop\",4711,\"[local]\",6a1b2c3d.1267,{},\"SELECT\",\
             2026-11-29 03:16:00 UTC,3/4,0,LOG,00000,\"statement: {}\",,,,,,,,,\"psql\",\"client backend\",,0",
            nth % 1_000,
            nth + 1,
            text.replace('"', "\"\"")
        )
        .unwrap();
    }
    let path = lab.path().join("reads.csv");
    std::fs::write(&path, log).unwrap();
    path
}

#[test]
fn a_replay_of_reads_changes_nothing_on_mariadb() {
    let lab = Lab::new();
    if !is_here(&lab, "mariadb:innodb") || !rustix::process::geteuid().is_root() {
        return eprintln!("skipped: needs mariadb and root");
    }
    let (theirs, dir) = (MariadbByHand::make(), open_directory(&lab));
    let _server =
        theirs.start(&["--secure-file-priv=", "--innodb-buffer-pool-size=64M", "--innodb-stats-auto-recalc=OFF"]);
    theirs.ask(
        "CREATE DATABASE shop; CREATE USER visitor@localhost; GRANT ALL ON *.* TO visitor@localhost WITH GRANT OPTION",
    );
    let client = || {
        let mut client = Command::new("mariadb");
        client.args(["--no-defaults", "-N", "-B", "-f", "-uroot", "-S", theirs.socket()]);
        client
    };
    let state = || {
        let generated = answers(&mut client(), &part("mariadb-checksums.sql", &dir));
        let seen = answers(&mut client(), &(generated + &part("mariadb-state.sql", &dir)));
        seen + &files_in(&dir) + &files_in(Path::new(theirs.data()))
    };
    let run = |script: &str| answers(&mut client(), script);
    let (server, log) = ("mariadb", general_log as fn(&Lab, &[String]) -> PathBuf);
    theirs.ask("CREATE USER reader@localhost; GRANT SELECT, EXECUTE, SHOW VIEW ON shop.* TO reader@localhost");
    let (url, reader) = (theirs.url(), theirs.url().replace("visitor", "reader"));
    Trial { lab: &lab, url: &url, reader: &reader, dir: &dir, server, log, run: &run, state: &state }.conduct();
}

#[test]
fn a_replay_of_reads_changes_nothing_on_postgresql() {
    let lab = Lab::new();
    if !is_here(&lab, "postgres") {
        return;
    }
    let dir: PathBuf = open_directory(&lab);
    let Some(server) = OwnPostgres::start(dir.clone()) else { return eprintln!("skipped: PostgreSQL is elsewhere") };
    let client = |database: &str| {
        let mut client = Command::new("psql");
        client.args(["-X", "-q", "-A", "-t", "-U", "plimsoll", "-d", database, "-h"]).arg(&dir);
        client
    };
    asked(client("postgres").args(["-c", "CREATE DATABASE shop"]));
    asked(client("postgres").args(["-c", "ALTER SYSTEM SET autovacuum = off"]));
    asked(client("postgres").args(["-c", "SELECT pg_reload_conf()"]));
    let state = || answers(&mut client("shop"), &part("postgres-state.sql", &dir)) + &files_in(&dir);
    let run = |script: &str| answers(&mut client("shop"), script);
    let url = format!("postgres://plimsoll@localhost/shop?socket={}", server.socket());
    let (server, log) = ("postgres", csv_log as fn(&Lab, &[String]) -> PathBuf);
    asked(client("postgres").args(["-c", "CREATE ROLE reader LOGIN", "-c", "GRANT pg_read_all_data TO reader"]));
    let reader = url.replace("plimsoll@", "reader@");
    Trial { lab: &lab, url: &url, reader: &reader, dir: &dir, server, log, run: &run, state: &state }.conduct();
}
