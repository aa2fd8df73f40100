//! `run --resume`: what was killed goes on where it was, in the same run file, and every point is complete once.

use crate::lab::{CALM, Finished, Lab, assert_runs, is_so, one_of, usable_pairs, wait_until};
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;
use std::process::{Child, Command};

/// Inserts into SQLite, one point for each number of indexes, with pauses in which others can work.
const INSERT: &[&str] = &[
    "insert",
    "--think",
    "2ms",
    "--engine",
    "sqlite",
    "--durability",
    "none",
    "--interval",
    "50ms",
    "--no-report",
    "--quiet",
    "--rows",
    "0",
    "--step",
    "l.i1",
];

/// A run of `arguments` that was ended by `signal` while point number `nth` was measured. On a busy machine the signal can come too
/// late, when that point has ended: then another run is tried.
fn ended(arguments: &[&str], nth: u32, signal: &str) -> Lab {
    one_of(5, || {
        let lab = Lab::new();
        let mut child = lab.command(arguments).spawn().unwrap();
        wait_for_point(&lab, &mut child, nth);
        let sent = Command::new("kill").args(["-s", signal, &child.id().to_string()]).status().unwrap();
        let exit = child.wait().unwrap().code();
        let expected = if signal == "KILL" { None } else { Some(130) };
        is_so(sent.success() && exit == expected, || format!("{signal}: {exit:?}"))?;
        let is_open = points_begun(&lab) == nth && lab.intervals(nth, "run") > 0;
        is_so(is_open, || format!("point {nth} had ended"))?;
        Ok(lab)
    })
}

/// Waits until point number `nth` has recorded an interval of its run.
fn wait_for_point(lab: &Lab, child: &mut Child, nth: u32) {
    wait_until("the point", || {
        assert_runs(child);
        lab.intervals(nth, "run") > 0
    });
}

/// How many points the run file has, the last of them not complete.
fn points_begun(lab: &Lab) -> u32 {
    let db = Connection::open_with_flags(&lab.run_files()[0], OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    let sql = "SELECT max(id) FROM point WHERE (SELECT state FROM point ORDER BY id DESC LIMIT 1) IS NOT 'complete'";
    db.query_row(sql, [], |row| row.get::<_, Option<u32>>(0)).unwrap().unwrap_or(0)
}

/// Kills a run of `arguments` in its second point.
fn killed(arguments: &[&str]) -> Lab {
    ended(arguments, 2, "KILL")
}

fn resumed(lab: &Lab) -> Finished {
    lab.run(&["run", "--resume", "last", "--no-report", "--json"])
}

#[test]
fn a_killed_run_goes_on_and_every_point_is_complete_once() {
    let lab = killed(&[INSERT, &["--indexes", "0,1,2,3", "--time", "2s"][..]].concat());
    assert_eq!(lab.left_behind().len(), 1, "its data is still there");
    let finished = resumed(&lab);
    assert_eq!(finished.exit, 0, "{}", finished.stderr);
    assert!(finished.stderr.contains("left by a run that was killed"), "{}", finished.stderr);
    let run = finished.json();
    let points = run["points"].as_array().unwrap();
    let seen: Vec<_> =
        points.iter().map(|point| (point["point"].as_u64().unwrap(), &point["params"]["indexes"])).collect();
    assert_eq!(seen, [(1, &0.into()), (3, &1.into()), (4, &2.into()), (5, &3.into())]);
    assert!(points.iter().all(|point| point["state"] == "complete" && point["ops"].as_u64() > Some(0)));
    let codes =
        |point: &Value| point["findings"].as_array().unwrap().iter().map(|f| f["code"].clone()).collect::<Vec<_>>();
    let again: Vec<bool> = points.iter().map(|point| codes(point).contains(&"measured-again".into())).collect();
    assert_eq!((run["state"].as_str(), again), (Some("complete"), vec![false, true, false, false]));
    let listed = lab.json(&["list"]);
    assert_eq!((&listed["runs"][0]["points_complete"], &listed["runs"][0]["points_planned"]), (&4.into(), &4.into()));
    assert_eq!(lab.left_behind(), Vec::<String>::new());
    assert_eq!(lab.run_files().len(), 1);
}

#[test]
fn the_gap_is_an_event_and_time_goes_on_behind_it() {
    let lab = killed(&[CALM, &["--clients", "1,2", "--time", "2s"][..]].concat());
    assert_eq!(resumed(&lab).exit, 0);
    let db = Connection::open(&lab.run_files()[0]).unwrap();
    let ns = |sql: &str| db.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    let last = ns("SELECT max(start_ns + length_ns) FROM interval WHERE point = 2");
    let gap =
        ns("SELECT at_ns FROM event WHERE kind = 'clock_gap' AND point = 3 AND text LIKE 'the run was interrupted%'");
    let next = ns("SELECT start_ns FROM phase WHERE point = 3 AND phase = 'run'");
    assert!(last < gap && gap < next, "{last} {gap} {next}");
}

#[test]
fn a_run_ended_by_ctrl_c_goes_on_too_and_its_report_is_written_anew() {
    let calm = ["file", "--engine", "null", "--service", "10ms", "--interval", "50ms"];
    let lab = ended(&[&calm[..], &["--clients", "1,2", "--time", "2s", "--quiet"]].concat(), 2, "INT");
    let name = lab.run_files()[0].file_stem().unwrap().to_str().unwrap().to_owned();
    let run = lab.json(&["run", "--resume", &name]);
    assert_eq!(run["state"], "complete");
    let report = std::fs::read_to_string(lab.path().join(run["report"].as_str().unwrap())).unwrap();
    assert!(report.contains("this point was repeated after 1 interrupted attempt"));
}

/// Two caches in turn: a b b a, 300 commits each with a pause of 2 ms behind each.
const IN_TURN: &[&str] = &[
    "oltp",
    "--engine",
    "sqlite",
    "--durability",
    "none",
    "--mix",
    "update_index",
    "--ab",
    "cache=1MiB,8MiB",
    "--repeat",
    "2",
    "--think",
    "2ms",
    "--ops-max",
    "300",
    "--warmup",
    "0s",
    "--interval",
    "50ms",
    "--no-report",
    "--quiet",
];

#[test]
fn a_comparison_that_is_interrupted_keeps_its_pairs_and_its_order() {
    // In the second point of a pair, and in the first of one.
    for (nth, signal) in [(2, "KILL"), (3, "INT")] {
        let lab = ended(IN_TURN, nth, signal);
        let finished = resumed(&lab);
        assert_eq!(finished.exit, 0, "{}", finished.stderr);
        let run = finished.json();
        let points = run["points"].as_array().unwrap();
        let caches: Vec<&Value> = points.iter().map(|point| &point["params"]["cache"]).collect();
        assert!(caches[0] == caches[3] && caches[1] == caches[2] && caches[0] != caches[1], "{caches:?}");
        let expected: Vec<u32> = (1..=5).filter(|point| *point != nth).collect();
        let numbers = points.iter().map(|point| point["point"].as_u64().unwrap() as u32);
        let all_ended = points.iter().all(|point| point["ops"] == 300);
        assert_eq!((numbers.collect::<Vec<_>>(), all_ended), (expected, true));
        assert_eq!(lab.left_behind(), Vec::<String>::new());
        let (cell, pairs) = (&run["verdict_detail"]["relative"][0]["rows"][0]["cells"][0], usable_pairs(points));
        assert_eq!(cell["n"].as_u64().unwrap_or(0) as usize, pairs, "{signal}: {cell}");
        assert!(pairs == 0 || cell["is_interleaved"] == true, "{signal}: {cell}");
    }
}

#[test]
fn a_run_is_gone_on_with_only_where_that_makes_sense() {
    let lab = Lab::new();
    let refused = |arguments: &[&str], exit: i32, why: &str| {
        let finished = lab.run(arguments);
        assert_eq!(finished.exit, exit, "{}", finished.stderr);
        assert!(finished.stderr.contains(why) && finished.stderr.lines().count() == 1, "{}", finished.stderr);
    };
    std::fs::create_dir(lab.path().join("plimsoll-runs")).unwrap();
    refused(&["run", "--resume", "last"], 2, "there are no runs in `plimsoll-runs`");
    let mut child = lab.command(&[CALM, &["--clients", "1,2", "--time", "6s"][..]].concat()).spawn().unwrap();
    wait_for_point(&lab, &mut child, 1);
    let other = tempfile::tempdir().unwrap();
    let elsewhere = ["run", "--resume", "last", "--dir", other.path().to_str().unwrap()];
    refused(&elsewhere, 3, "is in use: it is being recorded by process");
    assert_eq!(child.wait().unwrap().code(), Some(0), "whoever records it was not disturbed");
    refused(&["run", "--resume", "last"], 2, "cannot be resumed: all its points are complete");
    refused(&["run", "--resume", "nobody"], 2, "there is no run `nobody`");
    refused(&["run", "--resume", "last", "--clients", "4"], 2, "--clients: a resumed run keeps its plan");
    refused(&["run", "quick", "--resume", "last"], 2, "PLAN and --resume exclude each other; leave one out");
}

#[test]
fn another_version_and_another_machine_are_refused_and_another_setting_is_told() {
    let lab = killed(&[CALM, &["--clients", "1,2", "--time", "2s"][..]].concat());
    let file = lab.run_files()[0].clone();
    let db = Connection::open(&file).unwrap();
    let value = |key: &str| -> String {
        db.query_row("SELECT value FROM meta WHERE key = ?1", [key], |row| row.get(0)).unwrap()
    };
    let set = |key: &str, value: &str| {
        db.execute("UPDATE meta SET value = ?2 WHERE key = ?1", [key, value]).unwrap();
    };
    let (version, environment) = (value("plimsoll_version"), value("environment"));
    let asked = |why: &str| {
        db.pragma_update_and_check(None, "wal_checkpoint", "TRUNCATE", |_| Ok(())).unwrap();
        let finished = lab.run(&["run", "--resume", file.to_str().unwrap(), "--no-report"]);
        assert!(finished.exit == 2 && finished.stderr.contains(why), "{} {}", finished.exit, finished.stderr);
    };
    set("plimsoll_version", "\"0.0.1\"");
    asked("recorded by plimsoll `0.0.1`");
    set("plimsoll_version", &version);
    let other = |name: &str, value: &str| {
        let mut facts: Vec<Value> = serde_json::from_str(&environment).unwrap();
        let fact = facts.iter_mut().find(|fact| fact["name"] == name).unwrap();
        fact["value"] = value.into();
        set("environment", &serde_json::to_string(&facts).unwrap());
    };
    other("cpu.model", "abacus");
    asked("`cpu.model` changed from `abacus` to ");
    other("os", "Plan 9");
    drop(db);
    let finished = lab.run(&["run", "--resume", file.to_str().unwrap(), "--no-report"]);
    assert_eq!(finished.exit, 0, "{}", finished.stderr);
    let text = "earlier points of this run used `Plan 9`";
    assert!(finished.stderr.contains("`os` changed from `Plan 9` to ") && finished.stderr.contains(text));
}

/// Steps of a second each: 200 commits with a pause of 5 ms behind each, drained at once.
const CHAIN: &[&str] = &[
    "insert",
    "--engine",
    "sqlite",
    "--durability",
    "none",
    "--interval",
    "50ms",
    "--no-report",
    "--rows",
    "2000",
    "--rows-per-commit",
    "10",
    "--think",
    "5ms",
    "--steps",
    "l.i0,l.x,l.i1,drain",
];

fn step(point: &Value) -> (&str, u64) {
    (point["params"]["step"].as_str().unwrap(), point["ops"].as_u64().unwrap())
}

/// The bytes that the data took when it was drained.
fn drained(lab: &Lab) -> u64 {
    let db = Connection::open_with_flags(&lab.run_files()[0], OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    let sql = "SELECT f.value ->> '$.value' FROM point, json_each(facts) f \
               WHERE f.value ->> '$.name' = 'data.bytes' AND trial LIKE '%drain%'";
    let text: String = db.query_row(sql, [], |row| row.get(0)).unwrap();
    text.parse().unwrap()
}

#[test]
fn a_sequence_goes_on_at_the_interrupted_step_with_the_data_of_the_steps_before_it() {
    let whole = Lab::new();
    let expected = whole.json(CHAIN);
    let lab = ended(CHAIN, 3, "KILL");
    let finished = resumed(&lab);
    assert_eq!(finished.exit, 0, "{}", finished.stderr);
    let run = finished.json();
    let steps = |run: &Value| -> Vec<(String, u64)> {
        run["points"].as_array().unwrap().iter().map(step).map(|(step, ops)| (step.to_owned(), ops)).collect()
    };
    assert_eq!(steps(&run), steps(&expected));
    assert_eq!(steps(&run), [("l.i0".into(), 200), ("l.x".into(), 1), ("l.i1".into(), 200), ("drain".into(), 1)]);
    let again = &run["points"][2];
    assert_eq!(again["point"], 4, "the attempt that broke off is point 3");
    let findings = again["findings"].as_array().unwrap();
    let told = findings.iter().find(|finding| finding["code"] == "measured-again").unwrap();
    assert_eq!(told["detail"]["repeated_steps"], "l.i0, l.x", "{told}");
    // How full pages are depends on how the clients took turns.
    let (again, once) = (drained(&lab), drained(&whole));
    assert!(again.abs_diff(once) <= 4 * 4096, "the same rows and indexes: {again} and {once} bytes");
}

fn codes(point: &Value) -> Vec<&str> {
    point["findings"].as_array().unwrap().iter().map(|finding| finding["code"].as_str().unwrap()).collect()
}

#[test]
fn a_step_that_a_number_of_operations_cut_short_says_so_and_is_the_same_work_on_all_engines() {
    let lab = Lab::new();
    let load = ["insert", "--engine", "sqlite", "--rows", "2000", "--rows-per-commit", "10", "--no-report"];
    let run = lab.json(&[&load[..], &["--step", "l.i0", "--ops-max", "50"]].concat());
    let point = &run["points"][0];
    assert!(codes(point).contains(&"cut-short"), "{point}");
    assert_eq!((&point["ops"], &point["work_done"]["kind"]), (&50.into(), &"whole".into()));
}

#[test]
fn a_time_is_that_of_the_queries_and_leaves_loads_whole() {
    let lab = Lab::new();
    let load = ["insert", "--engine", "sqlite", "--rows", "2000", "--rows-per-commit", "10", "--think", "5ms"];
    let run = lab.json(&[&load[..], &["--steps", "l.i0,qp", "--time", "300ms", "--no-report"]].concat());
    let [load, queries] = &run["points"].as_array().unwrap()[..] else { panic!("{run}") };
    assert_eq!(load["ops"], 200, "200 commits with a pause of 5 ms take a second: {load}");
    assert!(load["seconds"].as_f64().unwrap() > 0.9, "{load}");
    assert!(queries["seconds"].as_f64().unwrap() < 0.9, "{queries}");
    assert!([load, queries].iter().all(|point| point["work_done"]["kind"] == "whole"), "{run}");
}

#[test]
fn a_load_that_is_interrupted_is_marked_everywhere_and_so_are_the_steps_on_its_data() {
    let lab = ended(CHAIN, 1, "INT");
    let run = lab.json(&["show", "last"]);
    let point = &run["points"][0];
    assert_eq!(point["work_done"]["kind"], "cut-short", "{point}");
    let share = point["work_done"]["share"].as_f64().unwrap();
    assert!((0.0..1.0).contains(&share), "{point}");
    let shown = lab.run(&["show", "last", "--details"]).stdout;
    assert!(shown.contains("cut short after ") && shown.contains("not compared with other points"), "{shown}");
    let exported = lab.run(&["export", "last", "--what", "points", "--format", "csv"]).stdout;
    assert!(exported.contains("cut-short"), "{exported}");
}

#[test]
fn whole_sequences_are_swept_and_repeated_there_and_back() {
    let lab = Lab::new();
    let sweep = "workload = 'insert'\nengine = 'sqlite'\nstep = ['l.i1', 'l.i0', 'qp']\nindexes = [0, 3]\nrepeat = 2";
    std::fs::write(lab.path().join("p.toml"), sweep).unwrap();
    let plan = lab.json(&["plan", "p.toml"]);
    let told = |trial: &Value| {
        let params = &trial["workload"]["params"];
        format!("{} {} {}", trial["repeat"], params["indexes"]["int"], params["step"]["word"].as_str().unwrap())
    };
    let order: Vec<String> = plan["trials"].as_array().unwrap().iter().map(told).collect();
    let chain = |begin: &str| ["l.i0", "l.i1", "qp"].map(|step| format!("{begin} {step}"));
    assert_eq!(order, ["1 0", "1 3", "2 3", "2 0"].map(chain).concat());
    assert_eq!((&plan["points_until_rows"], &plan["seconds"]), (&8.into(), &120.0.into()));
}
