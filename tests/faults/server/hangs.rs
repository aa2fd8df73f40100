//! A server, or a statement on it, hangs.

use crate::database::{MariaDb, PASSWORD, PostgreSql, has_mariadb};
use crate::lab::{Finished, Lab, is_so, one_of, wait_until};
use crate::liar::{self, Serve, Stage, arguments, be_silent, listen, several_at_a_time};
use std::io;
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// The most that plimsoll may take after Ctrl-C.
const ENDS_WITHIN: Duration = Duration::from_secs(2);
/// So many are interrupted at a time: more of them would hold each other up.
const AT_A_TIME: usize = 3;

pub fn signal(pid: u32, name: &str) {
    assert!(Command::new("kill").args(["-s", name, &pid.to_string()]).status().unwrap().success());
}

/// Ctrl-C while a server of either kind is silent, at each stage.
pub fn interrupted_at_each_stage(lab: &Lab) -> Option<Finished> {
    use Stage::{CleanUp, Control, Count, Greeting, Load, Login, Prepare, Run, Schema, Table};
    let mysql = [Greeting, Login, Control, Schema, Table, Prepare, Load, Count, Run, CleanUp];
    let postgres = [Login, Control, Table, Load, Run, CleanUp];
    let mut all: Vec<(&str, Serve, Stage)> = mysql.map(|at| ("mysql", liar::mysql::serve as Serve, at)).into();
    all.extend(postgres.map(|at| ("postgres", liar::postgres::serve as Serve, at)));
    // Nothing but plimsoll decides when it ends, but others on the machine may hold it up.
    let first = several_at_a_time(AT_A_TIME, &all, |_, (scheme, serve, at)| {
        one_of(3, || {
            let (finished, took) = interrupted(scheme, *serve, *at);
            let said = format!("{scheme}, {at:?}: {took:?}, exit {}: {}", finished.exit, finished.stderr);
            assert_eq!(finished.exit, 130, "{said}");
            is_so(took <= ENDS_WITHIN, || said).map(|()| finished)
        })
    });
    assert!(lab.run_files().is_empty());
    Some(first)
}

/// plimsoll that gets SIGINT when its server has fallen silent at this stage, and how long it took to end.
fn interrupted(scheme: &str, serve: Serve, at: Stage) -> (Finished, Duration) {
    let (lab, is_silent) = (Lab::new(), Arc::new(AtomicBool::new(false)));
    let reached = is_silent.clone();
    let port = listen(move |stream| {
        let served = serve(stream, at, |_| Err(io::ErrorKind::Other.into()));
        // The lie is an error of its own kind: from here on it is silent.
        match served {
            Err(error) if error.kind() == io::ErrorKind::Other => {
                reached.store(true, Relaxed);
                be_silent(stream)
            }
            served => served,
        }
    });
    let url = format!("{scheme}://visitor@127.0.0.1:{port}/");
    // The usual deadlines, so that it is not one of them that ends the wait.
    let time = if at == Stage::CleanUp { "300ms" } else { "60s" };
    let patient = ["--control-timeout", "60s", "--setup-timeout", "60s", "--grace", "60s", "--time", time];
    let kept: Vec<&str> = without_timeouts(&arguments(&url));
    let mut child = lab.command(&[&kept[..], &patient].concat()).spawn().unwrap();
    wait_until("the silence", || is_silent.load(Relaxed) || child.try_wait().unwrap().is_some());
    std::thread::sleep(Duration::from_millis(200)); // until plimsoll waits for the answer
    signal(child.id(), "INT");
    let signalled = Instant::now();
    let ended = child.wait_with_output().unwrap();
    (ended.into(), signalled.elapsed())
}

fn without_timeouts<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    let is_timeout = |name: &str| ["--control-timeout", "--setup-timeout", "--grace", "--time"].contains(&name);
    let mut kept = Vec::new();
    let mut all = arguments.iter().copied();
    while let Some(one) = all.next() {
        if is_timeout(one) {
            all.next();
        } else {
            kept.push(one);
        }
    }
    kept
}

/// plimsoll that measures the server at `url`, when it has recorded some intervals.
pub fn measuring(lab: &Lab, url: &str, more: &[&str]) -> Child {
    measuring_mix(lab, url, "read_write", more)
}

/// The same with the operations of `mix`.
pub fn measuring_mix(lab: &Lab, url: &str, mix: &str, more: &[&str]) -> Child {
    let load = ["oltp", "--engine", url, "--mix", mix, "--table-rows", "100", "--clients", "2"];
    let times = ["--think", "5ms", "--interval", "100ms", "--no-report", "--quiet"];
    let mut command = lab.command(&[&load[..], &times, more].concat());
    let mut child = command.env("PLIMSOLL_PASSWORD", PASSWORD).spawn().unwrap();
    lab.wait_for_load(&mut child, 3);
    child
}

/// SIGSTOP in the middle of the run, and SIGCONT after plimsoll has ended.
pub fn stopped_across_the_end(lab: &Lab) -> Option<Finished> {
    if !has_mariadb() {
        return None;
    }
    let server = MariaDb::start(&[]);
    let (time, grace) = (Duration::from_secs(4), Duration::from_secs(2));
    let began = Instant::now();
    let child = measuring(lab, &server.url(), &["--time", "4s", "--grace", "2s"]);
    signal(server.pid(), "STOP");
    let stopped = Instant::now();
    let finished: Finished = child.wait_with_output().unwrap().into();
    // From the stop on there are at most time and grace; the rest is for the end of plimsoll itself, on a busy machine.
    let (took, most) = (stopped.elapsed(), time + grace + Duration::from_secs(8));
    assert!(took < most, "{took:?} after the stop, {:?} in all: {}", began.elapsed(), finished.stderr);
    signal(server.pid(), "CONT");
    let left = server.schemas_left();
    assert!(finished.stderr.contains(left.trim()) && left.starts_with("plimsoll_"), "{left}: {}", finished.stderr);
    Some(finished)
}

/// A plan whose only statement is `sql`.
fn hanging_plan(lab: &Lab, url: &str, sql: &str) -> String {
    let plan = format!(
        "workload = 'oltp'\nengine = '{url}'\nmix = 'custom'\ntable_rows = 100\ntime = '2s'\ngrace = '1s'\n\
         [[statement]]\nname = 'hang'\nsql = '{sql}'\n"
    );
    let path = lab.path().join("plan.toml");
    std::fs::write(&path, plan).unwrap();
    path.display().to_string()
}

fn hanging(lab: &Lab, url: &str, sql: &str) -> (Finished, Duration) {
    let plan = hanging_plan(lab, url, sql);
    let mut command = lab.command(&["run", &plan, "--no-report", "--quiet"]);
    let began = Instant::now();
    let ended = command.env("PLIMSOLL_PASSWORD", PASSWORD).output().unwrap();
    (ended.into(), began.elapsed())
}

/// A statement that takes 100 s, on MariaDB.
pub fn statement_of_mysql(lab: &Lab) -> Option<Finished> {
    if !has_mariadb() {
        return None;
    }
    let server = MariaDb::start(&[]);
    let (finished, took) = hanging(lab, &server.url(), "SELECT SLEEP(100) FROM sbtest1 WHERE id = 1");
    assert!(took < Duration::from_secs(60), "{took:?}: {}", finished.stderr);
    let sleeping = "SELECT count(*) FROM information_schema.processlist WHERE info LIKE 'SELECT SLEEP%'";
    assert_eq!((server.ask(sleeping).trim(), server.schemas_left().trim()), ("0", ""), "{}", finished.stderr);
    Some(finished)
}

/// The same on PostgreSQL.
pub fn statement_of_postgres(lab: &Lab) -> Option<Finished> {
    let server = PostgreSql::start()?;
    let (finished, took) = hanging(lab, &server.url(), "SELECT pg_sleep(100) FROM sbtest1 WHERE id = 1");
    assert!(took < Duration::from_secs(60), "{took:?}: {}", finished.stderr);
    let sleeping = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'SELECT pg_sleep%'";
    assert_eq!((server.ask(sleeping).trim(), server.schemas_left().trim()), ("0", ""), "{}", finished.stderr);
    Some(finished)
}
