//! Measuring: the main job, workloads from flags, plans.

use crate::lab::{Finished, Lab, NULL, is_so, is_usable, one_of, usable_pairs};
use serde_json::{Value, json};
use std::process::Command;

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// What every complete point owes its reader.
fn check_point(point: &Value) {
    assert!(number(&point["ops"]) > 0.0, "{point}");
    let response = &point["response_ns"];
    // Too few operations have no p99.9.
    let stated =
        ["p50", "p95", "p99", "p999", "max"].map(|name| &response[name]).into_iter().filter(|one| !one.is_null());
    let quantiles: Vec<f64> = stated.map(number).collect();
    assert!(quantiles.len() >= 4, "{point}");
    assert!(quantiles.is_sorted(), "{point}");
    assert!(["valid", "indicative", "invalid"].contains(&point["validity"].as_str().unwrap()), "{point}");
    assert!(point["cost"].as_object().unwrap().values().any(|cost| !cost.is_null()), "{point}");
    assert_eq!(point["state"], "complete");
}

#[test]
fn the_main_job_measures_reports_and_cleans_up() {
    let lab = Lab::new();
    // A quarter of its times, which change nothing of what is looked at here.
    let run = lab.json(&["run", "quick", "--time", "1s"]);
    let points = run["points"].as_array().unwrap();
    assert_eq!(points.len(), 10);
    points.iter().for_each(check_point);
    assert_eq!((&run["state"], &run["schema"]), (&"complete".into(), &"plimsoll.run/1".into()));
    let verdict = run["verdict"].as_array().unwrap();
    assert!((3..=12).contains(&verdict.len()), "{verdict:?}");
    // Each point is measured once: ratios are given as measured, and nothing is claimed of them.
    let told: Vec<&str> = verdict.iter().filter_map(Value::as_str).collect();
    if points.iter().all(is_usable) {
        assert!(told.iter().any(|sentence| sentence.starts_with("Indicative only (1 pair): ")), "{told:?}");
    }
    assert!(told.iter().all(|sentence| !sentence.starts_with("Against ")), "{told:?}");
    assert_eq!(lab.left_behind(), Vec::<String>::new(), "data is removed");

    let html = std::fs::read_to_string(lab.path().join(run["report"].as_str().unwrap())).unwrap();
    assert!(html.matches("<svg").count() >= 8);
    let foreign = html
        .match_indices("http")
        .filter(|(at, _)| !html[*at..].starts_with("http://www.w3.org/") && !html[*at..].starts_with("http-equiv"));
    assert_eq!(foreign.count(), 0, "the report refers to nothing outside");
}

#[test]
fn quick_is_the_plan_of_that_name_and_is_interrupted_as_any_run() {
    let lab = Lab::new();
    let mut child = lab.command(&["quick", "--json"]).spawn().unwrap();
    lab.wait_for_load(&mut child, 3);
    assert!(Command::new("kill").args(["-s", "INT", &child.id().to_string()]).status().unwrap().success());
    let finished: Finished = child.wait_with_output().unwrap().into();
    assert_eq!(finished.exit, 130, "{}", finished.stderr);
    let recorded = store::read(&lab.run_files()[0]).unwrap().meta.plan.trials;
    assert_eq!((lab.json(&["plan", "quick"])["trials"].clone(), recorded.len()), (json!(recorded), 10));
    assert!(lab.path().join(finished.json()["report"].as_str().unwrap()).exists());
    assert_eq!(lab.left_behind(), Vec::<String>::new(), "data is removed");
}

#[test]
fn every_workload_runs_from_flags_with_its_engines() {
    let lab = Lab::new();
    let cases: [&[&str]; 7] = [
        &["file", "--file-size", "8MiB", "--mode", "rndrw", "--depth", "1,4"],
        &["file", "--file-size", "8MiB", "--io", "sync", "--mode", "seqrd", "--clients", "1..2"],
        &["file", "--file-size", "8MiB", "--direct", "false", "--access", "zipf:0.9"],
        &[
            "insert",
            "--step",
            "l.i1",
            "--rows",
            "0",
            "--engine",
            "sqlite,fjall",
            "--indexes",
            "0,3",
            "--durability",
            "os",
        ],
        &["oltp", "--mix", "read_write", "--table-rows", "500", "--clients", "1,3", "--durability", "none"],
        &["oltp", "--engine", "fjall", "--table-rows", "500"],
        &["oltp", "--engine", "null", "--rate", "1000", "--arrivals", "poisson"],
    ];
    for (case, points) in cases.iter().zip([2, 2, 1, 4, 2, 1, 1]) {
        let run = lab.short(&[case, &["--interval", "50ms"][..]].concat());
        let measured = run["points"].as_array().unwrap();
        assert_eq!(measured.len(), points, "{case:?}");
        measured.iter().for_each(check_point);
    }
    assert_eq!(lab.left_behind(), Vec::<String>::new());
}

/// Inserts, indexes, rest and queries on key-value engines.
const KEYS: &[&str] = &["insert", "--steps", "l.i0,l.x,drain,qp", "--rows", "20000", "--durability", "none"];

#[cfg(feature = "rocksdb")]
#[test]
fn rocksdb_goes_through_the_steps_beside_another_tree_and_says_what_it_wrote_and_was_set_to() {
    let lab = Lab::new();
    let set = ["--set", "rocksdb.write_buffer_size=1M", "--set", "rocksdb.block_size=16K"];
    let more = ["--engine", "rocksdb,fjall", "--time", "1s", "--interval", "50ms", "--no-report"];
    let run = lab.json(&[KEYS, &more, &set].concat());
    let points = run["points"].as_array().unwrap();
    assert_eq!(points.len(), 8);
    for point in points {
        assert_eq!((&point["state"], &point["failed"]), (&"complete".into(), &0.into()), "{point}");
    }
    let of_rocksdb: Vec<&Value> = points.iter().filter(|point| point["engine"] == "rocksdb").collect();
    let [loaded, .., drained, _] = of_rocksdb[..] else { panic!("{run}") };
    let told = |name: &str| number(&loaded["cost"][name]);
    assert!(told("engine_log_bytes_per_insert") > 5.0 && told("unflushed_bytes") > 20_000.0, "{loaded}");
    assert!(number(&drained["cost"]["unflushed_bytes"]) <= 4_096.0, "an empty memtable is all: {drained}");
    let db = rusqlite::Connection::open(&lab.run_files()[0]).unwrap();
    let fact = "SELECT count(*) FROM point WHERE facts LIKE ?";
    for set in ["\"rocksdb.write_buffer_size\",\"value\":\"1048576\"", "\"rocksdb.block_size\",\"value\":\"16384\""] {
        assert_eq!(db.query_row(fact, [format!("%{set}%")], |row| row.get::<_, i64>(0)).unwrap(), 4, "{set}");
    }
    let unknown = lab.run(&[KEYS, &["--engine", "rocksdb", "--set", "rocksdb.no_such=1", "--quiet"]].concat());
    assert_eq!((unknown.exit, unknown.stderr.lines().count()), (2, 1), "{}", unknown.stderr);
    assert!(unknown.stderr.contains("`rocksdb.no_such`"), "{}", unknown.stderr);
    assert_eq!(lab.left_behind(), Vec::<String>::new());
}

#[cfg(not(feature = "rocksdb"))]
#[test]
fn an_engine_that_was_not_built_in_is_a_usage_error_that_says_how_to_build_it() {
    let lab = Lab::new();
    let refused = lab.run(&[KEYS, &["--engine", "fjall,rocksdb", "--quiet"]].concat());
    assert_eq!((refused.exit, refused.stderr.lines().count()), (2, 1), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("`rocksdb`") && refused.stderr.contains("--features rocksdb"),
        "{}",
        refused.stderr
    );
    assert_eq!((lab.left_behind(), lab.run_files().len()), (vec![], 0));
}

#[test]
fn a_search_for_the_largest_rate_measures_its_probes_as_points_and_prints_each() {
    let lab = Lab::new();
    // Whatever the machine does meanwhile, half of the operations end within an hour: the highest rate allowed is held. Two intervals are
    // too few for a rhythm, which would take longer probes.
    let objective =
        ["--slo", "p50<3600s", "--rate-max", "100", "--time", "200ms", "--interval", "100ms", "--hold", "1s"];
    let finished = lab.run(&[&["limit", "oltp", "--engine", "null", "--json"], &objective[..]].concat());
    assert_eq!(finished.exit, 0, "{}", finished.stderr);
    let lines: Vec<&str> = finished.stderr.lines().filter(|line| line.contains("/s")).collect();
    let has = |words: [&str; 2]| lines.iter().any(|line| words.iter().all(|word| line.contains(word)));
    assert!(lines.iter().any(|line| line.starts_with("closed loop: ")), "{lines:?}");
    assert!(has(["probe ", "100/s  kept"]) && has(["hold ", "100/s  kept"]), "{lines:?}");
    let run = finished.json();
    assert_eq!((run["state"].as_str(), run["points"].as_array().map(Vec::len)), (Some("complete"), Some(3)));
}

#[test]
fn a_search_that_finds_no_rate_fails_only_if_it_is_asked_to() {
    let search = ["limit", "oltp", "--engine", "null", "--set", "service=2ms", "--slo", "p50<1ms", "--no-report"];
    let short = ["--time", "200ms", "--interval", "100ms", "--hold", "1s"];
    let exit = |more: &[&str]| Lab::new().run(&[&search[..], &short, more].concat()).exit;
    assert_eq!([exit(&[]), exit(&["--strict"])], [0, 5]);
}

#[test]
fn an_open_loop_says_what_was_offered_and_what_was_not_served() {
    let run = Lab::new().json(&[NULL, &["--rate", "40000", "--time", "1s"]].concat());
    let point = &run["points"][0];
    assert_eq!(number(&point["offered_per_s"]), 40_000.0);
    let (done, unserved) = (number(&point["ops"]), number(&point["unserved"]));
    assert!((done + unserved - 40_000.0).abs() <= 1.0, "{done} done and {unserved} unserved");
    assert!(unserved > 20_000.0, "one client of 0.1 ms serves 10,000 at most");
    assert!(number(&point["response_ns"]["max"]) > 100.0 * number(&point["service_ns"]["p50"]), "the wait counts");
    assert_ne!(point["validity"], "valid");
}

#[test]
fn inserts_beside_queries_that_cannot_keep_their_rate_mark_the_point() {
    let lab = Lab::new();
    // 1000 commits of 5 rows a second are asked of each client beside, which does 100 of 10 ms at most.
    let insert = [
        "insert",
        "--engine",
        "null",
        "--steps",
        "l.i1,qp",
        "--rows",
        "100",
        "--insert-rate",
        "5000",
        "--small-commit",
        "5",
    ];
    let slow = ["--clients", "2", "--service", "10ms", "--time", "2s", "--no-report"];
    let run = lab.json(&[&insert[..], &slow].concat());
    let (point, background) = (&run["points"][1], &run["points"][1]["background"][0]);
    assert_eq!((number(&background["asked_per_s"]), &background["kinds"][0]), (2_000.0, &"insert".into()));
    assert!((1.0..=220.0).contains(&number(&background["ops_per_s"])), "{background}");
    assert_eq!(number(&background["rows_per_s"]), 5.0 * number(&background["ops_per_s"]));
    let performed = number(&background["ops"]) + number(&background["unserved"]);
    assert!(
        (performed - 4_000.0).abs() <= 2.0,
        "4000 were due, two of them may have ended after the end: {background}"
    );
    let codes: Vec<&str> = point["findings"].as_array().unwrap().iter().map(|f| f["code"].as_str().unwrap()).collect();
    assert!(codes.contains(&"background-rate-missed") && !codes.contains(&"plausibility"), "{codes:?}");
    assert!(number(&point["ops_per_s"]) <= 220.0 && point["offered_per_s"].is_null(), "{point}");
    assert!(number(&background["response_ns"]["max"]) > 10.0 * number(&point["response_ns"]["p50"]), "the wait counts");
}

#[test]
fn transactions_are_told_in_queries_too_and_what_a_query_costs() {
    let oltp = ["oltp", "--mix", "read_write", "--table-rows", "500", "--durability", "none", "--time", "1s"];
    let run = Lab::new().json(&[&oltp[..], &["--interval", "50ms", "--no-report"]].concat());
    let point = &run["points"][0];
    assert!((number(&point["queries_per_s"]) / number(&point["ops_per_s"]) - 20.0).abs() < 1e-9, "{point}");
    let [ops, queries] = ["ops_per_s_ci95", "queries_per_s_ci95"].map(|name| number(&point[name][1]));
    assert!((queries / ops - 20.0).abs() < 1e-9, "{point}");
    assert_eq!(number(&point["success_rate"]), 1.0);
    let [per_op, per_query] = [("cost", "engine_cpu_ns_per_op"), ("cost_per_query", "engine_cpu_ns_per_query")]
        .map(|(of, name)| number(&point[of][name]));
    assert!((per_op / per_query - 20.0).abs() < 1e-6, "{per_op} {per_query}");
    let told = run["verdict"].to_string();
    assert_eq!(told.contains("queries/s"), is_usable(point), "{run}");
}

#[test]
fn two_arms_are_measured_in_turn_on_fresh_data_and_reported_as_a_ratio() {
    let lab = Lab::new();
    let arms = ["oltp", "--ab", "durability=os,none", "--repeat", "2", "--mix", "update_index", "--table-rows", "500"];
    let run = lab.json(&[&arms[..], &["--time", "200ms", "--interval", "20ms"]].concat());
    let points = run["points"].as_array().unwrap();
    let of = |name: &str| points.iter().map(|point| point["params"][name].as_str().unwrap()).collect::<Vec<_>>();
    assert_eq!((of("durability"), of("between")), (vec!["os", "none", "none", "os"], vec!["restart"; 4]));
    let row = &run["verdict_detail"]["relative"][0]["rows"][0];
    let (cell, pairs) = (&row["cells"][0], usable_pairs(points));
    assert_eq!(cell["n"].as_u64().unwrap_or(0) as usize, pairs, "{run}");
    if pairs > 0 {
        assert_eq!((&row["metric"], &cell["verdict"]), (&"ops_per_s".into(), &"indicative".into()), "{row}");
        assert_eq!((number(&cell["ratio"]) > 0.0, cell["ci95"].is_array()), (true, pairs == 2), "{row}");
    }
    let refused = lab.run(&["oltp", "--ab", "durability=os,none,disk"]);
    assert!(refused.exit == 2 && refused.stderr.contains("--ab takes two values"), "{}", refused.stderr);
}

#[test]
fn a_stall_is_found_by_both_loops_and_only_the_open_one_shows_it_in_p99() {
    // Operations end it, so that there are three stalls however slow the machine is.
    let stalls = ["--stall-every", "5000", "--stall", "300ms", "--ops-max", "17000", "--time", "600s"];
    let stall = [NULL, &stalls].concat();
    let lab = Lab::new();
    let codes = |run: &Value| -> Vec<String> {
        let findings = run["points"][0]["findings"].as_array().unwrap();
        findings.iter().map(|finding| finding["code"].as_str().unwrap().to_owned()).collect()
    };
    let p99 = |run: &Value| number(&run["points"][0]["response_ns"]["p99"]);
    // What others do to one operation in a hundred is in the p99 of the closed loop, too.
    one_of(3, || {
        let closed = lab.json(&stall);
        let open = lab.json(&[&stall, &["--rate", "5000"][..]].concat());
        let found = [codes(&closed), codes(&open)];
        is_so(found.iter().all(|codes| codes.contains(&"stall".to_owned())), || format!("{found:?}"))?;
        is_so(found[0].contains(&"coordinated-omission".to_owned()), || format!("{found:?}"))?;
        is_so(p99(&open) > 50.0 * p99(&closed), || format!("p99: open {} and closed {}", p99(&open), p99(&closed)))
    });
}

#[test]
fn the_printed_plan_of_flags_is_the_same_run() {
    let lab = Lab::new();
    let flags = [NULL, &["--clients", "1,2", "--time", "200ms"]].concat();
    let printed = lab.run(&[&flags, &["--print-plan"][..]].concat());
    assert_eq!(printed.exit, 0);
    assert!(lab.run_files().is_empty(), "nothing ran");
    std::fs::write(lab.path().join("mine.toml"), &printed.stdout).unwrap();
    let from_plan = lab.json(&["run", "mine.toml", "--no-report"]);
    let from_flags = lab.json(&flags);
    let shape = |run: &Value| -> Vec<(Value, Value)> {
        run["points"].as_array().unwrap().iter().map(|p| (p["clients"].clone(), p["params"].clone())).collect()
    };
    assert_eq!(shape(&from_plan), shape(&from_flags));
}

#[test]
fn a_flag_is_stronger_than_the_environment_and_that_than_the_plan() {
    let lab = Lab::new();
    std::fs::write(
        lab.path().join("p.toml"),
        "engine = \"null\"\nworkload = \"file\"\nclients = 3\ntime = \"100ms\"\n",
    )
    .unwrap();
    let clients = |environment: Option<&str>, flags: &[&str]| -> Value {
        let mut command = lab.command(&[&["run", "p.toml", "--no-report", "--json", "--quiet"], flags].concat());
        environment.map(|value| command.env("PLIMSOLL_CLIENTS", value));
        let run = crate::lab::Finished::from(command.output().unwrap()).json();
        run["points"][0]["clients"].clone()
    };
    assert_eq!(clients(None, &[]), 3);
    assert_eq!(clients(Some("2"), &[]), 2);
    assert_eq!(clients(Some("2"), &["--clients", "1"]), 1);
    assert_eq!(clients(Some("2"), &["--clients", "1", "--set", "clients=4"]), 4);
}

#[test]
fn a_run_until_steady_ends_when_its_rounds_are_level_or_says_that_they_are_not() {
    let lab = Lab::new();
    let rounds = ["--until", "steady", "--round", "200ms", "--rounds-max", "12", "--interval", "20ms", "--no-report"];
    let run =
        lab.json(&[&["file", "--file-size", "8MiB", "--direct", "false", "--clients", "2"], &rounds[..]].concat());
    let point = &run["points"][0];
    check_point(point);
    assert_eq!((&point["params"]["until"], &point["params"]["precondition"]), (&"steady".into(), &2.into()));
    let rates: Vec<f64> = point["rounds"]["ops_per_s"].as_array().unwrap().iter().map(number).collect();
    assert_eq!(number(&point["rounds"]["seconds"]), 0.2);
    let codes: Vec<&str> = point["findings"].as_array().unwrap().iter().map(|f| f["code"].as_str().unwrap()).collect();
    match point["steady"].as_object() {
        Some(steady) => {
            assert!(codes.contains(&"steady") && !codes.contains(&"not-steady"), "{codes:?}");
            assert_eq!(number(&steady["round"]), rates.len() as f64, "it ended with the round at which it was steady");
            assert!(number(&steady["range"]) <= 0.2 && number(&steady["slope"]).abs() <= 0.1, "{steady:?}");
        }
        None => {
            assert!(codes.contains(&"not-steady") && !codes.contains(&"steady"), "{codes:?}");
            assert_eq!(rates.len(), 12);
        }
    }
    // The numbers are those of five rounds.
    let window = &rates[rates.len() - 5..];
    let mean = window.iter().sum::<f64>() / 5.0;
    assert!((number(&point["seconds"]) - 1.0).abs() < 1e-9, "{}", point["seconds"]);
    assert!((number(&point["ops_per_s"]) / mean - 1.0).abs() < 1e-9, "{} and {mean}", point["ops_per_s"]);
    assert_eq!(lab.left_behind(), Vec::<String>::new());
}

#[test]
fn a_plan_until_steady_says_what_it_takes_at_most_and_refuses_a_time_beside_it() {
    let lab = Lab::new();
    std::fs::write(lab.path().join("p.toml"), "workload = \"file\"\nfile_size = \"8MiB\"\n").unwrap();
    let planned = lab.run(&["plan", "p.toml", "--until", "steady", "--round", "2s", "--rounds-max", "9"]);
    assert!(planned.stdout.contains(" in all: at most 18.0 s of measuring"), "{}", planned.stdout);
    let refused = lab.run(&["plan", "p.toml", "--until", "steady", "--time", "60s"]);
    assert_eq!(refused.exit, 2);
    assert!(refused.stderr.contains("--time has no effect with until = `steady`"), "{}", refused.stderr);
}

#[test]
fn a_named_file_is_made_once_and_read_again() {
    let lab = Lab::new();
    let on = |mode| lab.short(&["file", "--path", "f0", "--mode", mode, "--file-size", "4MiB"]);
    check_point(&on("rndwr")["points"][0]);
    check_point(&on("rndrd")["points"][0]);
    let mut left = lab.left_behind();
    left.sort();
    assert_eq!(left, ["f0", "f0.plimsoll.json"]);
}

#[test]
fn statements_of_a_plan_file_are_kinds_of_their_own_and_the_run_file_keeps_them() {
    let lab = Lab::new();
    let plan = "workload = 'oltp'\nengine = 'sqlite'\ntable_rows = 1500\nmix = ['point_select', 'custom']\n\
                interval = '50ms'\n[[statement]]\nname = 'mine'\nweight = 3\nsql = 'SELECT c FROM sbtest{table} WHERE id = :id'\n\
                [[statement]]\nname = 'pair'\nsql = ['UPDATE sbtest1 SET k = :k WHERE id = :id', 'SELECT 1']\n";
    std::fs::write(lab.path().join("mine.toml"), plan).unwrap();
    let run = lab.short(&["run", "mine.toml", "--set", "durability=none"]);
    let points = run["points"].as_array().unwrap();
    points.iter().for_each(check_point);
    assert_eq!(points[0]["params"]["statement"], Value::Null);
    assert_eq!(points[1]["params"]["statement"][0]["name"], "mine");
    assert_eq!(points[1]["params"]["statement"][1]["statements"][0]["values"][1]["draw"], "id");
    let file = rusqlite::Connection::open(lab.run_files().pop().unwrap()).unwrap();
    let kept = |sql: &str| file.query_row(sql, [], |row| row.get::<_, String>(0)).unwrap();
    let kinds = "SELECT group_concat(name) FROM (SELECT name FROM kind WHERE point = 2 ORDER BY kind)";
    assert_eq!(kept(kinds), "mine,pair,load");
    let params = kept("SELECT params FROM point WHERE id = 2");
    assert!(params.contains("mine 3, pair 1"), "{params}");

    let load = &points[0]["load"];
    assert_eq!((&load["rows"], &points[1]["load"]), (&1500.into(), &Value::Null));
    let per_row = number(&load["bytes"]) / 1500.0;
    assert!(number(&load["rows_per_s"]) > 0.0 && number(&load["seconds"]) > 0.0 && (150.0..1_000.0).contains(&per_row));
}

#[test]
fn points_that_begin_with_restored_data_pay_one_load() {
    let lab = Lab::new();
    let plan = ["oltp", "--engine", "sqlite", "--mix", "delete,insert", "--clients", "1,2", "--table-rows", "500"];
    let short = ["--interval", "50ms", "--durability", "none"];
    for (between, loads) in [("restore", 1), ("keep", 4)] {
        let run = lab.short(&[&plan[..], &short, &["--between", between]].concat());
        let points = run["points"].as_array().unwrap();
        points.iter().for_each(check_point);
        assert_eq!(points.iter().filter(|point| !point["load"].is_null()).count(), loads, "{between}");
        let bytes = number(&points[0]["load"]["bytes"]);
        assert!(bytes < 500.0 * 600.0, "{between}: the copy is not counted: {bytes}");
    }
    assert_eq!(lab.left_behind(), Vec::<String>::new());
}

#[test]
fn a_point_after_one_that_changed_its_rows_begins_with_new_data() {
    let lab = Lab::new();
    let run =
        lab.json(&["oltp", "--engine", "sqlite", "--mix", "delete,point_select", "--time", "200ms", "--no-report"]);
    let made: Vec<bool> = run["points"].as_array().unwrap().iter().map(|point| !point["load"].is_null()).collect();
    assert_eq!(made, [true, true]);
}

#[test]
fn steps_that_nobody_wrote_are_those_that_the_engine_has_and_a_written_one_is_refused() {
    let lab = Lab::new();
    let insert = ["insert", "--engine", "fjall", "--rows", "500", "--durability", "none"];
    let steps = |run: &Value| -> Vec<String> {
        let points = run["points"].as_array().unwrap().iter();
        points.map(|point| point["params"]["step"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(steps(&lab.json(&[&insert[..], &["--no-report"]].concat())), ["l.i1", "drain"], "what the command does");
    let plan = "workload = 'insert'\nengine = 'fjall'\nrows = 500\ndurability = 'none'\ntime = '300ms'";
    std::fs::write(lab.path().join("plan.toml"), plan).unwrap();
    let all = lab.json(&["run", "plan.toml", "--no-report"]);
    assert_eq!(steps(&all), ["l.i0", "l.x", "l.i1", "l.i2", "drain", "qp"]);
    let refused = lab.run(&[&insert[..], &["--steps", "l.i0,qr"]].concat());
    assert_eq!(refused.exit, 2);
    assert!(
        refused.stderr.contains("engine `fjall`: a key-value engine cannot run workload `insert` with `--step qr`"),
        "{}",
        refused.stderr
    );
}
