//! Replays of several copies of a log, of a part of it, and with what statements return: on real servers.
//!
//! In: logs that the tests write, and private servers that runs of plimsoll hold. Out: how many statements arrive, the limit as a multiple of
//! the load, and what a comparison says of statements. Limits: nothing here depends on how fast the machine is; what was slowed down is slow
//! by a hundred times.

use crate::hosts_lab::query;
use crate::lab::Lab;
use crate::replaying_sql::{OwnPostgres, fact, open_directory, replayed};
use crate::servers::{Running, ask_mariadb, ask_postgres, is_here, measuring, socket_of};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The statements of the log: so many in a second, of so many sessions, for so long.
const PER_S: u64 = 100;
const SESSIONS: u64 = 8;
const SECONDS: u64 = 5;

/// A slow log of MySQL with the statements `text` makes, each with its number.
fn slow_log(lab: &Lab, text: impl Fn(u64) -> String) -> PathBuf {
    let mut log = String::new();
    for nth in 0..=PER_S * SECONDS {
        let us = nth * 1_000_000 / PER_S;
        log += &format!(
            "# Time: 2026-11-28T{}.{:06}Z\n# User@Host: a[a] @ localhost []  Id: {:>5}\n# Query_time: 0.000000  Lock_time: 0.0 Rows_sent: 1  Rows_examined: 1\nuse shop;\nSET timestamp=1795895999;\n{};\n",
            clock(us),
            us % 1_000_000,
            nth % SESSIONS,
            text(nth)
        );
    }
    let path = lab.path().join("slow.log");
    std::fs::write(&path, log).unwrap();
    path
}

/// The time of the day so long after 19:59:58.
fn clock(us: u64) -> String {
    let seconds = 19 * 3_600 + 59 * 60 + 58 + us / 1_000_000;
    format!("{:02}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60)
}

/// A MariaDB with a table `shop.t` of a thousand rows, and the URL of an account that reads.
fn copy(lab: &Lab) -> (Running, String, String) {
    let server = measuring(lab, &[]);
    let socket = socket_of(lab, "m.sock");
    ask_mariadb(
        &socket,
        "CREATE USER visitor@localhost; GRANT SELECT ON *.* TO visitor@localhost; CREATE DATABASE shop; USE shop; \
         CREATE TABLE t (id INT PRIMARY KEY, k INT, c VARCHAR(100), KEY (k)) SELECT seq AS id, seq % 100 AS k, repeat('x', 50) AS c FROM seq_1_to_1000",
    );
    let url = format!("mysql://visitor@localhost/?socket={socket}");
    (server, socket, url)
}

fn by_id(nth: u64) -> String {
    format!("SELECT c FROM t WHERE id = {}", nth % 1_000 + 1)
}

fn number(point: &Value, key: &str) -> f64 {
    point[key].as_f64().unwrap_or_else(|| panic!("no {key}: {point}"))
}

#[test]
fn copies_of_a_log_have_as_many_times_its_rate_and_a_part_has_its_own_statements() {
    let (lab, held) = (Lab::new(), Lab::new());
    if !is_here(&lab, "mariadb:innodb") {
        return;
    }
    let (_server, _, url) = copy(&held);
    let log = slow_log(&lab, by_id);
    let all = PER_S * SECONDS + 1;
    let one = replayed(&lab, &log, &url, &[]);
    assert_eq!((one["ops"].as_u64(), &one["failed"]), (Some(all), &0.into()), "{one}");
    for times in ["2", "3.5"] {
        let point = replayed(&lab, &log, &url, &["--times", times]);
        // Copies last for nine tenths of the log: by its times, and not by how long the last statement took.
        let in_copy = 0.9 * all as f64 * times.parse::<f64>().unwrap();
        let ratio = number(&point, "ops") / in_copy;
        assert!((ratio - 1.0).abs() < 0.01, "{times}: {ratio}, {point}");
        assert_eq!((&point["failed"], &point["unserved"]), (&0.into(), &0.into()), "{point}");
        let sent = fact(&lab, "recorded.statements");
        assert_eq!(point["ops"].as_u64().unwrap().to_string(), sent, "all that were to be sent: {point}");
        let copies = fact(&lab, "recorded.copies");
        // A session that is taken in part has whole statements.
        let (told, rest) = copies.split_once(" times ").unwrap();
        let is_near = (told.parse::<f64>().unwrap() / times.parse::<f64>().unwrap() - 1.0).abs() < 0.01;
        assert!(is_near && rest.starts_with("4.5"), "{copies}");
    }
    assert_eq!(fact(&lab, "recorded.sessions"), "28", "three copies of eight, and four of the fourth");
    let part = replayed(&lab, &log, &url, &["--from", "20:00", "--for", "2s"]);
    assert_eq!(part["ops"].as_u64(), Some(2 * PER_S + 1), "{part}");
    let tail = replayed(&lab, &log, &url, &["--from", "4s"]);
    assert_eq!(tail["ops"].as_u64(), Some(PER_S + 1), "{tail}");
}

#[test]
fn what_a_log_holds_is_told_without_a_server() {
    let lab = Lab::new();
    let log =
        slow_log(&lab, |nth| if nth % 2 == 0 { by_id(nth) } else { format!("UPDATE t SET c = {nth} WHERE id = 1") });
    let shown = lab.json(&["workload", "show", log.to_str().unwrap()]);
    let (all, seconds) = (PER_S * SECONDS + 1, SECONDS as f64);
    assert_eq!((shown["statements"].as_u64(), shown["seconds"].as_f64()), (Some(all), Some(seconds)), "{shown}");
    assert_eq!((&shown["sessions"], &shown["begins_at"]), (&SESSIONS.into(), &"19:59:58".into()), "{shown}");
    let table = &shown["tables"][0];
    assert_eq!((&table["table"], &table["reads"], &table["writes"]), (&"t".into(), &251.into(), &250.into()));
    let rates = shown["rates"].as_array().unwrap().iter().map(|stretch| stretch["statements"].as_u64().unwrap());
    assert_eq!(rates.sum::<u64>(), all);
    let text = lab.run(&["workload", "show", log.to_str().unwrap()]);
    assert!(text.exit == 0 && text.stdout.contains("select c from t where id = ?"), "{} {}", text.stdout, text.stderr);
    let refused = lab.run(&["workload", "show", "no.log"]);
    assert!(refused.exit == 2 && refused.stderr.lines().count() == 1, "{}", refused.stderr);
}

#[test]
fn the_limit_of_a_recorded_load_is_a_multiple_of_it() {
    let (lab, held) = (Lab::new(), Lab::new());
    if !is_here(&lab, "mariadb:innodb") {
        return;
    }
    let (_server, _, url) = copy(&held);
    let log = slow_log(&lab, by_id);
    let base = ["limit", "replay-sql", log.to_str().unwrap(), "--engine", &url, "--no-report", "--json", "--quiet"];
    // Twice the load is certain to be carried with so much time, and nothing more is tried.
    let most = (2 * PER_S).to_string();
    let run = lab.run(&[&base[..], &["--slo", "p99<5s", "--time", "2s", "--hold", "3s", "--rate-max", &most]].concat());
    assert_eq!(run.exit, 0, "{}", run.stderr);
    let json = run.json();
    let limit = &json["verdict_detail"]["groups"][0]["limit"];
    assert_eq!(limit["outcome"], "lower-bound", "{limit}");
    assert!((number(limit, "times") - 2.0).abs() < 0.02, "{limit}");
    let probes: Vec<f64> =
        limit["probes"].as_array().unwrap().iter().map(|probe| number(probe, "rate_per_s")).collect();
    assert!(
        (probes[0] / PER_S as f64 - 1.0).abs() < 0.01 && probes.len() >= 2,
        "the load itself is tried first: {probes:?}"
    );
    let answer = json["answer"].to_string();
    assert!(answer.contains("carries at least 2.0 times the recorded load"), "{answer}");
    assert!(answer.contains("Each copy replayed up to two seconds of the log in a probe"), "{answer}");
    assert!(!answer.contains("before the work was done"), "{answer}");
    // The log goes on after the warmup of a probe, where that has left it.
    let of_first =
        |what: &str| query::<i64>(&lab.run_files()[0], &format!("SELECT {what} FROM interval WHERE point = 1"));
    let (warmup, run) = (of_first("sum(ok * (phase = 'warmup'))"), of_first("sum(ok * (phase = 'run'))"));
    assert!((80..=105).contains(&warmup) && (190..=210).contains(&run), "{warmup} and {run} of 100 a second");
    let times = lab.run(&[&base[..], &["--times", "2"]].concat());
    assert!(times.exit == 2 && times.stderr.contains("is what is searched for"), "{}", times.stderr);
    let unpaced = lab.run(&[&base[..], &["--speed", "max"]].concat());
    assert!(unpaced.exit == 2 && unpaced.stderr.contains("have no times"), "{}", unpaced.stderr);
}

/// Twenty kinds of statement; number 7 needs the index on `k`.
fn one_of_twenty(nth: u64) -> String {
    match nth % 20 {
        7 => format!("SELECT count(*) FROM big WHERE k = {}", nth % 1_000),
        kind => format!("SELECT c, {} AS c{kind} FROM t WHERE id = {}", "1".repeat(3), nth % 1_000 + 1),
    }
}

/// The plan of the other kinds.
const BY_KEY: &str = "reads `t` by its primary key";

const BIG: &str =
    "CREATE TABLE big (id INT PRIMARY KEY, k INT, KEY (k)) SELECT seq AS id, seq % 1000 AS k FROM seq_1_to_100000";

/// The run file that was recorded last, once the statements of `log` were replayed at `url`.
fn measured(lab: &Lab, log: &Path, url: &str, more: &[&str]) -> String {
    replayed(lab, log, url, &[&["--speed", "2", "--check-results", "true"], more].concat());
    let newest = lab.run_files().into_iter().max_by_key(|file| file.metadata().unwrap().modified().unwrap());
    newest.expect("a run file").display().to_string()
}

#[test]
fn a_dropped_index_and_a_changed_row_are_what_a_comparison_of_replays_says_first() {
    let (lab, held) = (Lab::new(), Lab::new());
    if !is_here(&lab, "mariadb:innodb") {
        return;
    }
    let (_server, socket, url) = copy(&held);
    ask_mariadb(&socket, &format!("USE shop; {BIG}"));
    let log = slow_log(&lab, one_of_twenty);
    let repeats = ["--repeat", "4"];
    let base = measured(&lab, &log, &url, &repeats);
    ask_mariadb(&socket, "USE shop; ALTER TABLE big DROP KEY k");
    let new = measured(&lab, &log, &url, &repeats);
    let compared = lab.json(&["compare", &base, &new]);
    let slowest = &compared["statements"][0];
    assert_eq!(compared["statements"].as_array().unwrap().len(), 20, "{compared}");
    assert!(slowest["kind"].as_str().unwrap().starts_with("select count(*) from big"), "{slowest}");
    assert!(slowest["verdict"] == "slower" && number(slowest, "ratio") > 5.0, "{slowest}");
    let plans = [&slowest["base_plan"][0], &slowest["new_plan"][0]];
    assert_eq!(plans, ["reads `big` by index `k` alone", "reads all of `big`"], "{slowest}");
    let others = compared["statements"].as_array().unwrap()[1..].iter();
    let alike = others.filter(|kind| kind["plan_differs"] == false && kind["new_plan"][0] == BY_KEY).count();
    assert_eq!((&slowest["plan_differs"], alike), (&true.into(), 19), "{compared}");
    assert_eq!(fact(&lab, "replay_plans"), "20 of 20 kinds");
    assert_eq!(compared["other_results"], serde_json::json!([]), "{compared}");
    let text = lab.run(&["compare", &base, &new]).stdout;
    assert!(text.contains("All 20 kinds of statement whose answers were compared answer alike."), "{text}");
    let (answer, table) = text.split_once("Kinds of statement, by their service times:").expect("a table of kinds");
    let words = |text: &str| text.split_whitespace().collect::<Vec<&str>>().join(" ");
    let differs = |text: &str| {
        let told = words(text);
        told.contains("plan differs: ")
            && told.contains(" reads big by index k alone; ")
            && told.contains(" reads all of big")
    };
    assert!(differs(answer) && differs(table) && !text.contains("plan of 1 kind"), "{text}");

    // One row of one kind.
    ask_mariadb(&socket, "USE shop; UPDATE big SET k = k + 1 WHERE id = 7");
    let changed = measured(&lab, &log, &url, &[]);
    let compared = lab.json(&["compare", &new, &changed]);
    let [other] = compared["other_results"].as_array().unwrap().as_slice() else { panic!("{compared}") };
    assert!(other["kind"].as_str().unwrap().starts_with("select count(*) from big"), "{other}");
    assert_eq!(other["base"]["rows"], other["new"]["rows"], "as many rows, other values: {other}");
    let first = compared["answer"][0].as_str().unwrap().to_owned();
    assert!(first.starts_with("1 kind of statement answers differently: `select count(*) from big"), "{first}");
    let refused = lab.run(&[
        "replay-sql",
        "--log",
        log.to_str().unwrap(),
        "--engine",
        &url,
        "--check-results",
        "true",
        "--times",
        "2",
    ]);
    assert!(
        refused.exit != 0 && refused.stderr.contains("each repeat of several copies has other statements"),
        "{}",
        refused.stderr
    );
}

#[test]
fn copies_and_results_work_on_postgresql_with_writes_and_without() {
    let lab = Lab::new();
    if !is_here(&lab, "postgres") {
        return;
    }
    let Some(server) = OwnPostgres::start(open_directory(&lab)) else {
        return eprintln!("skipped: PostgreSQL is elsewhere");
    };
    let socket = server.socket();
    ask_postgres(
        &socket,
        "CREATE TABLE t (id INT PRIMARY KEY, c TEXT); INSERT INTO t SELECT i, 'x' FROM generate_series(1, 1000) i; CREATE TABLE w (session INT)",
    );
    let mut text = String::new();
    for (nth, kind) in (0..400).flat_map(|nth| ["BEGIN", "SELECT", "INSERT", "COMMIT"].map(|kind| (nth, kind))) {
        let statement = match kind {
            "SELECT" => format!("SELECT c FROM t WHERE id = {}", nth % 1_000 + 1),
            "INSERT" => format!("INSERT INTO w VALUES ({})", nth % 4),
            other => other.to_owned(),
        };
        let ms = nth * 5;
        text += &format!(
            "2026-11-28 03:16:{:02}.{:03} UTC,\"plimsoll\",\"postgres\",{},\"[local]\",s.{},1,\"idle\",2026-11-28 03:16:35 UTC,4/2,0,LOG,00000,\"statement: {statement}\",,,,,,,,,\"psql\",\"client backend\",,0\n",
            35 + ms / 1_000,
            ms % 1_000,
            nth % 4,
            nth % 4
        );
    }
    let log = lab.path().join("kept.csv");
    std::fs::write(&log, text).unwrap();
    let url = format!("postgres://plimsoll@localhost/postgres?socket={socket}");
    let point = replayed(&lab, &log, &url, &["--times", "2", "--shift", "0", "--allow-writes", "true"]);
    assert_eq!((point["ops"].as_u64(), &point["failed"]), (Some(3_200), &0.into()), "{point}");
    assert_eq!(ask_postgres(&socket, "SELECT count(*) FROM w").trim(), "800", "each copy wrote all of its rows");
    assert_eq!(fact(&lab, "replay_plans"), "2 of 2 kinds", "of the INSERT, too, which was not executed for that");
    let base = measured(&lab, &log, &url, &[]);
    let same = measured(&lab, &log, &url, &[]);
    assert_eq!(lab.json(&["compare", &base, &same])["other_results"], serde_json::json!([]));
    ask_postgres(&socket, "DELETE FROM t WHERE id = 300; ALTER TABLE t DROP CONSTRAINT t_pkey");
    let other = measured(&lab, &log, &url, &[]);
    let compared = lab.json(&["compare", &base, &other]);
    let kind = &compared["statements"][0];
    let plans = [&kind["base_plan"][0], &kind["new_plan"][0]];
    assert_eq!(plans, ["reads `t` by index `t_pkey` (id = ?)", "reads all of `t`"], "{kind}");
    let found = compared["other_results"].clone();
    assert_eq!((&found[0]["base"]["rows"], &found[0]["new"]["rows"]), (&400.into(), &399.into()), "{found}");
}
