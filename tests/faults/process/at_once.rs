//! Several plimsolls start at the same moment, as jobs of one minute of cron do: one measures or records, and the others say so.

use crate::fault::signal;
use crate::lab::{CALM, Finished, Lab, assert_runs, has_ended, wait_until};
use rusqlite::{Connection, OpenFlags};
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command};

/// Rounds of a test, and of the soak.
const FEW: u32 = 2;
const MANY: u32 = 100;
const STARTED_AT_ONCE: usize = 8;
const RESUMED_AT_ONCE: usize = 4;

/// Reads of a small file, which hardly take any time.
const FILE: [&str; 9] = ["file", "--file-size", "1MiB", "--direct", "false", "--io", "sync", "--think", "10ms"];

/// Loads that go on until they are ended, each on another kind of engine.
fn loads() -> Vec<Vec<&'static str>> {
    let common = ["--dir", "two", "--time", "600s", "--interval", "50ms", "--no-report"];
    let sqlite = ["oltp", "--engine", "sqlite", "--table-rows", "1000", "--think", "10ms"];
    let mariadb = ["oltp", "--engine", "mariadb", "--table-rows", "1000", "--think", "10ms"];
    let has_mariadb = Command::new("mariadbd").arg("--version").output().is_ok();
    let loads = [&FILE[..], &sqlite[..]].into_iter().chain(has_mariadb.then_some(&mariadb[..]));
    loads.map(|load| [load, &common[..]].concat()).collect()
}

pub fn in_one_directory(lab: &Lab) -> Option<Finished> {
    rounds_in_one_directory(lab, FEW)
}

pub fn in_one_directory_again_and_again(lab: &Lab) -> Option<Finished> {
    rounds_in_one_directory(lab, MANY)
}

fn rounds_in_one_directory(lab: &Lab, rounds: u32) -> Option<Finished> {
    std::fs::create_dir(lab.path().join("two")).unwrap();
    let mut refused = None;
    let loads = loads();
    for load in loads.iter().cycle().take(loads.len().max(rounds as usize)) {
        lab.run_files().iter().for_each(|file| std::fs::remove_file(file).unwrap());
        let children = (0..STARTED_AT_ONCE).map(|_| lab.command(load).spawn().unwrap()).collect();
        refused = Some(all_but_one_refused(lab, children, 1, |text| {
            text.contains("another plimsoll run is using this directory") && text.contains("two`): process ")
        }));
        assert_eq!(lab.run_files().len(), 1, "only one measured");
        let left: Vec<_> = std::fs::read_dir(lab.path().join("two")).unwrap().collect();
        assert!(left.is_empty(), "{left:?}");
    }
    refused
}

pub fn on_one_run(lab: &Lab) -> Option<Finished> {
    rounds_on_one_run(lab, FEW)
}

pub fn on_one_run_again_and_again(lab: &Lab) -> Option<Finished> {
    rounds_on_one_run(lab, MANY)
}

/// Each measures in a directory of its own: only the run file is shared.
fn rounds_on_one_run(lab: &Lab, rounds: u32) -> Option<Finished> {
    let dirs: Vec<String> = (0..RESUMED_AT_ONCE).map(|nth| format!("d{nth}")).collect();
    dirs.iter().for_each(|dir| std::fs::create_dir(lab.path().join(dir)).unwrap());
    let mut killed = lab.command(&[CALM, &["--time", "600s"]].concat()).spawn().unwrap();
    lab.wait_for_load(&mut killed, 1);
    killed.kill().unwrap();
    killed.wait().unwrap();
    let mut refused = None;
    for round in 1..=rounds {
        let resume = |dir: &String| lab.command(&["run", "--resume", "last", "--dir", dir, "--no-report"]);
        let children = dirs.iter().map(|dir| resume(dir).spawn().unwrap()).collect();
        refused = Some(all_but_one_refused(lab, children, round + 1, |text| {
            text.contains("is in use: it is being recorded by process")
        }));
        let run = lab.json(&["show", "last"]);
        assert_eq!(run["points"].as_array().unwrap().len(), 1, "one of them recorded");
        assert_eq!(attempts(lab), round + 1, "one of them began a point");
    }
    refused
}

/// The points that the run file has, those that were begun and not ended among them.
fn attempts(lab: &Lab) -> u32 {
    let count = |file: &std::path::PathBuf| -> rusqlite::Result<u32> {
        let db = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        db.query_row("SELECT count(*) FROM point", [], |row| row.get(0))
    };
    // In the moment in which the file is made it holds nothing yet.
    lab.run_files().first().and_then(|file| count(file).ok()).unwrap_or(0)
}

/// The second begins when the first has ended.
pub fn awaited(lab: &Lab) -> Option<Finished> {
    let reads = |more: &[&'static str]| [&FILE[..], &["--interval", "50ms", "--no-report"], more].concat();
    let mut first = lab.command(&reads(&["--time", "600s"])).spawn().unwrap();
    lab.wait_for_load(&mut first, 1);
    let mut waits = lab.command(&reads(&["--time", "300ms", "--wait"])).spawn().unwrap();
    let mut said = BufReader::new(waits.stderr.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    assert!(line.contains("waiting until it has finished"), "{line}");
    let files = lab.run_files();
    let [of_first] = &files[..] else { panic!("the second has not begun: {files:?}") };
    signal(&first, "INT");
    assert_eq!(first.wait().unwrap().code(), Some(130));
    // The second may have its own by now.
    std::fs::remove_file(of_first).unwrap();
    said.read_to_string(&mut line).unwrap();
    let finished = Finished::from(waits.wait_with_output().unwrap());
    Some(Finished { stderr: line, ..finished })
}

/// Waits until all `children` but one have ended, and ends that one under its load, which is that of the run's point number `point`. Returns one
/// of those that were refused.
fn all_but_one_refused(lab: &Lab, children: Vec<Child>, point: u32, is_refusal: impl Fn(&str) -> bool) -> Finished {
    let (mut running, mut refused) = (children, Vec::new());
    wait_until("the refusal of all but one", || {
        let (ended, left): (Vec<Child>, Vec<Child>) = running.drain(..).partition(|child| has_ended(child.id()));
        running = left;
        refused.extend(ended.into_iter().map(|child| Finished::from(child.wait_with_output().unwrap())));
        running.len() <= 1
    });
    for one in &refused {
        assert!(one.exit == 3 && is_refusal(&one.stderr), "exit {}: {}", one.exit, one.stderr);
    }
    let mut measures = running.pop().expect("one measures");
    wait_until("the load", || {
        assert_runs(&mut measures);
        lab.intervals(point, "run") > 0
    });
    signal(&measures, "INT");
    let measured = Finished::from(measures.wait_with_output().unwrap());
    assert_eq!(measured.exit, 130, "{}", measured.stderr);
    refused.pop().expect("the others were refused")
}
