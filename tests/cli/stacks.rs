//! The stacks of a server: taken at a stall and at random moments, refused where they would stop the load, and left out with a note.

use crate::lab::{Finished, Lab};
use crate::servers::{is_here, servers_in};
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};
use std::time::Duration;

const TOOLS: [&str; 3] = ["eu-stack", "gdb", "perf"];
const LOAD: [&str; 9] =
    ["oltp", "--engine", "mariadb", "--mix", "point_select", "--table-rows", "1000", "--durability", "none"];

fn is_on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

fn signal(process: &str, name: &str) {
    let status = Command::new("kill").args([&format!("-{name}"), process]).status().unwrap();
    assert!(status.success(), "kill -{name} {process}");
}

/// The snapshots of the newest run: for what reason, how long the engine was stopped, and the stacks.
fn snapshots(lab: &Lab) -> Vec<(String, i64, String)> {
    let file = lab.run_files().pop().expect("a run file");
    let db = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    let mut query = db.prepare("SELECT reason, stopped_ns, folded FROM stack_snapshot ORDER BY at_ns").unwrap();
    let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap();
    rows.map(Result::unwrap).collect()
}

#[test]
fn a_server_that_stands_still_has_its_stacks_taken_at_the_stall_and_at_random_moments() {
    let lab = Lab::new();
    if !is_here(&lab, "mariadb:innodb") || !TOOLS[..2].iter().any(|tool| is_on_path(tool)) {
        return eprintln!("skipped: there is no tool that sees threads that wait");
    }
    let more = ["--clients", "2", "--think", "2ms", "--time", "7s", "--interval", "300ms", "--stacks", "--json"];
    let mut child = lab.command(&[&LOAD[..], &more].concat()).stderr(Stdio::piped()).spawn().unwrap();
    lab.wait_for_load(&mut child, 5);
    let server = servers_in(&lab).into_iter().next().expect("the server runs");
    signal(&server, "STOP");
    // The time of a stopped server is what is tested.
    std::thread::sleep(Duration::from_millis(1_500));
    signal(&server, "CONT");
    let finished: Finished = child.wait_with_output().unwrap().into();
    if finished.stderr.contains("no stacks of") {
        return eprintln!("skipped: {}", finished.stderr); // a container may forbid to trace
    }
    assert_eq!(finished.exit, 0, "{}", finished.stderr);
    let all = snapshots(&lab);
    let of = |reason: &str| all.iter().filter(|snapshot| snapshot.0 == reason).count();
    assert!(of("stall") >= 1 && of("random") >= 1, "{all:?}");
    assert!(all.iter().all(|(.., folded)| folded.contains(';')), "{all:?}");
    // A stop of one thread may fall between two looks, 2 ms apart; not all of them do.
    assert!(all.iter().any(|(_, stopped_ns, _)| *stopped_ns > 0), "{all:?}");
    let run = finished.json();
    let point = &run["points"][0];
    assert_eq!(point["stacks"]["stalls"]["snapshots"], of("stall"), "{}", point["stacks"]);
    let found = point["findings"].as_array().unwrap().iter().find(|finding| finding["code"] == "stacks-taken");
    let found = found.unwrap_or_else(|| panic!("{point}"));
    assert_eq!(found["detail"]["at_random"], of("random"), "{found}");
    let charts = lab.path().join(run["report"].as_str().unwrap()).parent().unwrap().join("charts");
    let drawn = std::fs::read_to_string(charts.join("stacks-1-stalls.svg")).unwrap();
    assert!(drawn.contains("mariadbd") && !drawn.contains("<script"), "{drawn}");
    assert_eq!(lab.left_behind(), Vec::<String>::new());
}

#[test]
fn without_a_tool_the_run_goes_on_with_one_note() {
    let lab = Lab::new();
    if !is_here(&lab, "mariadb:innodb") {
        return;
    }
    let others = tempfile::tempdir().unwrap();
    for folder in std::env::split_paths(&std::env::var_os("PATH").unwrap()) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let is_tool = TOOLS.iter().any(|tool| entry.file_name() == *tool);
            if !is_tool {
                let _ = symlink(entry.path(), others.path().join(entry.file_name())); // the first of a name counts
            }
        }
    }
    let more = ["--clients", "1,2", "--time", "300ms", "--stacks", "--no-report", "--json"];
    let output = lab.command(&[&LOAD[..], &more].concat()).env("PATH", others.path()).output().unwrap();
    let finished: Finished = output.into();
    assert_eq!(finished.exit, 0, "{}", finished.stderr);
    let why = "no stacks of `mariadb:innodb`: none of `eu-stack`, `gdb` and `perf` is installed";
    assert_eq!(finished.stderr.matches(why).count(), 1, "{}", finished.stderr);
    let run = finished.json();
    assert!(run["points"].as_array().unwrap().iter().all(|point| point["stacks"] == Value::Null));
    assert!(snapshots(&lab).is_empty());
}

#[test]
fn an_engine_inside_plimsoll_is_refused_in_one_line() {
    let lab = Lab::new();
    for command in [&["oltp", "--engine", "sqlite", "--stacks"][..], &["file", "--stacks=true"]] {
        let refused = lab.run(command);
        assert_eq!(refused.exit, 2, "{}", refused.stderr);
        assert!(refused.stderr.contains("`stacks` needs an engine with processes of its own"), "{}", refused.stderr);
        assert_eq!(refused.stderr.trim().lines().count(), 1, "{}", refused.stderr);
    }
    assert_eq!(lab.run(&["oltp", "--engine", "sqlite", "--stacks=yes"]).exit, 2);
    assert!(lab.run_files().is_empty());
}
