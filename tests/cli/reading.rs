//! Reading: lists, shows, exports, reports, and what plimsoll says of itself.

use crate::lab::{Lab, NULL, RecordedRuns};
use serde_json::Value;
use std::process::Command;
use std::sync::OnceLock;

/// A lab with one short run in it, and the path of its run file.
fn measured() -> (Lab, String) {
    static RECORDED: OnceLock<(RecordedRuns, String)> = OnceLock::new();
    let (runs, file) = RECORDED.get_or_init(|| {
        let lab = Lab::new();
        let run = lab.json(&[NULL, &["--clients", "1,2", "--time", "1s"]].concat());
        (RecordedRuns::of(&lab), run["run"].as_str().unwrap().to_owned())
    });
    let lab = Lab::new();
    runs.copy_into(&lab);
    (lab, file.clone())
}

#[test]
fn a_recorded_run_can_be_listed_shown_exported_and_reported() {
    let (lab, file) = measured();
    assert_eq!(lab.json(&["list"])["runs"][0]["points"].as_array().unwrap().len(), 2);
    assert_eq!(lab.json(&["show", &file])["points"].as_array().unwrap().len(), 2);
    let points = lab.run(&["export", &file]).stdout;
    assert_eq!(points.lines().count(), 3, "a header and two points: {points}");
    let lines = lab.run(&["export", &file, "--format", "jsonl", "--what", "intervals"]).stdout;
    assert!(lines.lines().all(|line| serde_json::from_str::<Value>(line).unwrap()["ops_per_s"].is_number()));
    let report = lab.json(&["report", &file]);
    let html = lab.path().join(report["reports"][0].as_str().unwrap());
    assert!(html.exists() && html.with_file_name("report.md").exists() && html.with_file_name("charts").is_dir());
}

#[test]
fn the_last_run_and_a_run_by_its_name_can_be_read() {
    let (lab, file) = measured();
    let name = std::path::Path::new(&file).file_stem().unwrap().to_str().unwrap();
    for run in ["last", name] {
        assert_eq!(lab.json(&["show", run])["points"].as_array().unwrap().len(), 2);
        assert_eq!(lab.run(&["export", run]).stdout.lines().count(), 3);
        assert!(lab.json(&["report", run])["reports"][0].as_str().unwrap().starts_with("plimsoll-runs/"));
    }
    let elsewhere = lab.run(&["show", "last", "--runs", "nowhere"]);
    assert!(elsewhere.exit == 2 && elsewhere.stderr.contains("`nowhere`"), "{}", elsewhere.stderr);
}

#[test]
fn help_is_a_command_too() {
    let lab = Lab::new();
    assert_eq!(lab.run(&["help"]).stdout, lab.run(&["--help"]).stdout);
    let quick = lab.run(&["help", "quick"]).stdout;
    let said = quick.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("at most a minute"), "it takes half of one where the disk is fast: {quick}");
    let show = lab.run(&["help", "show"]);
    assert_eq!((show.exit, show.stdout.contains("--runs")), (0, true), "{}", show.stderr);
}

#[test]
fn the_answer_is_one_screen_of_eighty_columns_and_the_details_end_with_the_verdict() {
    let (lab, file) = measured();
    let [answer, shown] = [&["show", &file][..], &["show", &file, "--details"]].map(|words| lab.run(words).stdout);
    for text in [&answer, &shown] {
        // The path of the report cannot be broken.
        let mut lines = text.lines().filter(|line| !line.starts_with("Run file: ") && !line.starts_with("Report: "));
        assert!(lines.all(|line| line.chars().count() <= 80), "{text}");
        assert!(!text.contains('\u{1b}'), "no colours into a pipe");
    }
    assert!(answer.lines().count() <= 24, "{answer}");
    let last: Vec<&str> = answer.lines().rev().take(2).collect();
    assert!(last[0] == "Details: plimsoll show last --details" && last[1].contains(&file), "{answer}");
    let whole = answer.split("\n\nRun file: ").next().unwrap();
    assert!(shown.starts_with(whole) && shown.contains("validity"), "{shown}");
    let verdict = shown.trim_end().rsplit("\n\n").nth(1).unwrap();
    let verdict = verdict.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(verdict.contains(" operations succeeded."), "{shown}");
    let end = shown.trim_end().rsplit("\n\n").next().unwrap();
    assert!(end.starts_with("The run took ") && end.contains(" % measuring"), "{shown}");
    let json = lab.json(&["show", &file]);
    let claims = json["answer"]["claims"].as_array().unwrap();
    let sentences = claims.iter().map(|claim| claim["sentence"].as_str().unwrap());
    let flat = answer.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(sentences.take(1).all(|sentence| flat.contains(sentence)), "{json}");
}

/// People query run files with the sqlite3 that their system has.
#[test]
fn the_system_s_sqlite3_reads_a_run_file() {
    let (lab, file) = measured();
    let query = "select count(*), sum(ok) > 0 from interval where phase = 'run'";
    let answered = Command::new("sqlite3").args([&file, query]).current_dir(lab.path()).output();
    let answered = answered.expect("`sqlite3` is installed by `cargo xtask test`");
    let text = String::from_utf8(answered.stdout).unwrap();
    let own = rusqlite::Connection::open(lab.path().join(&file)).unwrap();
    let (rows, any) = own.query_row(query, [], |row| Ok((row.get::<_, u32>(0)?, row.get::<_, u32>(1)?))).unwrap();
    assert!(rows > 0 && any == 1, "{rows} {any}");
    assert_eq!(text.trim(), format!("{rows}|{any}"));
}

#[test]
fn plimsoll_says_what_it_has() {
    let lab = Lab::new();
    let names = |answer: &Value, list: &str, key: &str| -> Vec<String> {
        answer[list].as_array().unwrap().iter().map(|entry| entry[key].as_str().unwrap().to_owned()).collect()
    };
    let all: Vec<&str> = engine::ENGINES.iter().map(|engine| engine.entry.name).collect();
    assert_eq!(names(&lab.json(&["engines"]), "engines", "engine"), all);
    assert!(names(&lab.json(&["plans"]), "plans", "plan").contains(&"quick".to_owned()));
    assert!(names(&lab.json(&["explain"]), "findings", "code").contains(&"stall".to_owned()));
    assert!(lab.run(&["explain", "stall"]).stdout.contains("stall"));
    for shell in ["bash", "zsh", "fish"] {
        assert!(lab.run(&["completions", shell]).stdout.contains("plimsoll"));
    }
    assert!(lab.run(&["man"]).stdout.contains(".TH plimsoll"));
    assert!(lab.run(&["man", "file"]).stdout.contains("table") || lab.run(&["man", "file"]).stdout.contains("mode"));
}

#[test]
fn the_man_pages_of_all_commands_are_written_into_a_directory() {
    let lab = Lab::new();
    assert_eq!(lab.run(&["man", "--into", "."]).exit, 0);
    let page = |name: &str| std::fs::read_to_string(lab.path().join(name)).unwrap();
    assert!(page("plimsoll.1").contains(".TH plimsoll"));
    assert!(page("plimsoll-file.1").contains("\\-\\-file\\-size"), "{}", page("plimsoll-file.1"));
    assert!(!lab.path().join("plimsoll-reference.1").exists(), "a hidden command has no page");
    let missing = lab.run(&["man", "--into", "not/there"]);
    assert_eq!(missing.exit, 1);
    assert!(missing.stderr.contains("cannot write man pages into `not/there`: "), "{}", missing.stderr);
    assert_eq!(lab.run(&["man", "file", "--into", "."]).exit, 2);
}

#[test]
fn a_dry_run_says_what_a_plan_needs_and_writes_nothing() {
    let lab = Lab::new();
    let plan = lab.json(&["plan", "quick"]);
    assert_eq!(plan["points"], 10);
    assert!(plan["seconds"].as_f64().unwrap() <= 75.0);
    assert!(plan["peak_disk_bytes"].as_u64().unwrap() >= 256 << 20);
    assert_eq!(lab.left_behind(), Vec::<String>::new());
    assert!(lab.run_files().is_empty());
}

#[test]
fn the_doctor_finds_the_ceiling_of_the_generator() {
    let lab = Lab::new();
    let doctor = lab.json(&["doctor"]);
    let ceilings = doctor["ceilings"].as_array().unwrap();
    assert!(ceilings.len() >= 5);
    assert!(ceilings.iter().all(|ceiling| ceiling["ops_per_s"].as_f64().unwrap() > 0.0), "{doctor}");
    let disturbances = doctor["disturbances"].as_array().unwrap();
    assert!(disturbances.iter().any(|line| line.as_str().unwrap().starts_with("debug build: ")), "{doctor}");
    assert_eq!(lab.left_behind(), Vec::<String>::new());
}
