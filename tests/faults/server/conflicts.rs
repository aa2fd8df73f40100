//! Transactions lose against each other, wait too long for a lock, or fail whatever they do.

use crate::database::{MariaDb, PASSWORD, PostgreSql, has_mariadb};
use crate::lab::{Finished, Lab};
use serde_json::Value;
use std::process::Child;

/// Eight clients on ten rows, whose reads take locks.
fn meeting(lab: &Lab, url: &str, time: &str) -> Child {
    let load = ["oltp", "--engine", url, "--mix", "read_write", "--table-rows", "10", "--clients", "8"];
    let more = ["--isolation", "serializable", "--retries-for", "60s", "--interval", "50ms", "--time", time];
    let mut command = lab.command(&[&load[..], &more, &["--no-report", "--quiet", "--json"]].concat());
    let mut child = command.env("PLIMSOLL_PASSWORD", PASSWORD).spawn().unwrap();
    lab.wait_for_load(&mut child, 1);
    child
}

/// Checks that the retries of the only point are counted, shown and judged, and that no operation failed.
fn retried(finished: &Finished) -> Value {
    let run = finished.json();
    let point = run["points"][0].clone();
    assert!(point["retries"]["per_op"].as_f64().unwrap() > 0.01, "{point}");
    assert!(point["retries"]["per_s"].as_f64().unwrap() > 0.0 && point["ops"].as_u64().unwrap() > 0, "{point}");
    assert_eq!((&point["failed"], &point["success_rate"]), (&0.into(), &1.0.into()), "{point}");
    let found = point["findings"].as_array().unwrap().iter().find(|finding| finding["code"] == "retries");
    assert_eq!(found.unwrap_or_else(|| panic!("{point}"))["severity"], "warning");
    assert_ne!(point["validity"], "valid");
    point
}

/// Deadlocks all the time, and a lock on the whole table for longer than two lock-wait timeouts.
pub fn of_mariadb(lab: &Lab) -> Option<Finished> {
    if !has_mariadb() {
        return None;
    }
    let server = MariaDb::start(&["--innodb-lock-wait-timeout=1", "--lock-wait-timeout=1"]);
    let child = meeting(lab, &server.url(), "4s");
    let schema = server.schemas_left();
    let table = format!("{}.sbtest1", schema.trim());
    server.ask(&format!("SET lock_wait_timeout = 60; LOCK TABLES {table} WRITE; DO SLEEP(2.2); UNLOCK TABLES"));
    let finished: Finished = child.wait_with_output().unwrap().into();
    let point = retried(&finished);
    let longest = point["response_ns"]["max"].as_u64().unwrap();
    assert!(longest > 2_000_000_000, "two timeouts of a second are within {longest} ns: {point}");
    let deadlocks = server.ask("SELECT count FROM information_schema.innodb_metrics WHERE name = 'lock_deadlocks'");
    assert!(deadlocks.trim().parse::<u64>().unwrap() > 0, "{deadlocks}");
    assert_eq!(server.schemas_left(), "");
    Some(finished)
}

/// Serialization failures.
pub fn of_postgres(lab: &Lab) -> Option<Finished> {
    let server = PostgreSql::start()?;
    let finished: Finished = meeting(lab, &server.url(), "2s").wait_with_output().unwrap().into();
    retried(&finished);
    assert_eq!(server.schemas_left(), "");
    Some(finished)
}

/// A load of which `share` of the transactions break a primary key, again and again.
fn failing(lab: &Lab, weights: [u32; 2]) -> Finished {
    let [good, bad] = weights;
    let good = match good {
        0 => String::new(),
        _ => format!("[[statement]]\nname = 'look'\nweight = {good}\nsql = 'SELECT c FROM sbtest1 WHERE id = :id'\n"),
    };
    let plan = format!(
        "workload = 'oltp'\nengine = 'sqlite'\nmix = 'custom'\ntable_rows = 100\ndurability = 'none'\ntime = '1s'\ninterval = '50ms'\non_error = 'count'\n\
         {good}[[statement]]\nname = 'insert'\nweight = {bad}\nsql = \"INSERT INTO sbtest1 (id, k, c, pad) VALUES (1, 1, '', '')\"\n"
    );
    let path = lab.path().join("plan.toml");
    std::fs::write(&path, plan).unwrap();
    let finished = lab.run(&["run", "plan.toml", "--no-report", "--quiet"]);
    std::fs::remove_file(path).unwrap();
    finished
}

/// 5 % of the transactions fail, and then all of them.
pub fn for_ever(lab: &Lab) -> Option<Finished> {
    let some = failing(&Lab::new(), [95, 5]);
    assert_eq!(some.exit, 0, "{}", some.stderr);
    let all = failing(lab, [0, 1]);
    for (finished, share) in [(&some, " % of the operations failed"), (&all, " 100 % of the operations failed")] {
        let words: Vec<&str> = finished.stdout.split_whitespace().collect();
        let said = words.join(" ");
        assert!(said.contains(share) && said.contains("The only point cannot be used"), "`{share}` is not in: {said}");
    }
    Some(all)
}
