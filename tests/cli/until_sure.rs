//! Runs that end when they are sure.
//!
//! In: the null engine, whose two arms differ by a factor of four: no other program makes up for that. Out: fewer points than were planned, and a run
//! that is complete. Limits: how soon it ends depends on the machine, and is not looked at.

use crate::lab::Lab;

#[test]
fn a_comparison_that_is_decided_measures_no_more_pairs_and_is_complete() {
    let lab = Lab::new();
    let compare = ["file", "--engine", "null", "--ab", "service=1ms,4ms", "--until", "sure", "--time", "300ms"];
    let run = lab.json(&[&compare[..], &["--interval", "20ms", "--no-report"]].concat());
    let points = run["points"].as_array().unwrap();
    assert!((8..40).contains(&points.len()) && points.len().is_multiple_of(2), "{} points", points.len());
    assert_eq!(run["state"], "complete");
    let trust: Vec<&str> = run["answer"]["trust"].as_array().unwrap().iter().filter_map(|one| one.as_str()).collect();
    assert!(trust.iter().any(|sentence| sentence.contains("ecided after")), "{trust:?}");
    assert!(!trust.iter().any(|sentence| sentence.contains("Not measured")), "{trust:?}");
    let resumed = lab.run(&["run", "--resume", "last", "--no-report"]);
    assert!(resumed.exit != 0 && resumed.stderr.contains("nothing is left to decide"), "{}", resumed.stderr);
}

#[test]
fn a_run_with_a_budget_prints_a_first_table_when_every_point_was_measured_once() {
    let lab = Lab::new();
    let compare = ["file", "--engine", "null", "--ab", "service=1ms,4ms", "--budget", "60s", "--time", "300ms"];
    let run = lab.run(&[&compare[..], &["--interval", "20ms", "--warmup", "0s", "--no-report"]].concat());
    assert_eq!(run.exit, 0, "{}", run.stderr);
    let lines: Vec<&str> = run.stderr.lines().collect();
    let first = lines.iter().position(|line| line.starts_with("First look after ")).expect("a heading");
    // Rows of a table begin with a blank, and those of points do not.
    let table: Vec<&&str> = lines[first..].iter().skip_while(|line| !line.starts_with(' ')).collect();
    assert!(table.len() > 2 && table[1].starts_with(' '), "{}", run.stderr);
    assert_eq!(lines.iter().filter(|line| line.starts_with("First look")).count(), 1, "{}", run.stderr);
    assert!(!run.stdout.contains("First look"), "{}", run.stdout);
}

#[test]
fn a_run_whose_time_is_over_does_not_go_on() {
    let lab = Lab::new();
    let compare = ["file", "--engine", "null", "--ab", "service=1ms,4ms", "--budget", "10s", "--time", "2s"];
    let run = lab.run(&[&compare[..], &["--warmup", "0s", "--no-report", "--json"]].concat());
    let short = "a budget of 10.0 s is too short: it takes 4 pairs to decide anything, and there is time for ";
    assert!(run.exit == 0 && run.stderr.contains(short), "{}: {}", run.exit, run.stderr);
    let points = run.json()["points"].as_array().unwrap().len();
    assert!((2..=6).contains(&points) && points.is_multiple_of(2), "{points} points of 2 s in 10 s");
    let resumed = lab.run(&["run", "--resume", "last", "--no-report"]);
    let why = "its budget of 10.0 s is spent; start the plan again with a larger `budget`";
    assert!(resumed.exit != 0 && resumed.stderr.contains(why), "{}", resumed.stderr);
}

#[test]
fn a_plan_says_what_it_would_do_with_its_time() {
    let lab = Lab::new();
    let plan = lab.run(&["plan", "quick", "--budget", "5m"]);
    assert_eq!(plan.exit, 0, "{}", plan.stderr);
    let line = plan.stdout.lines().find(|line| line.starts_with("budget")).expect("a line about it");
    assert!(
        line.contains("5 min: first all 10 points once (") && line.contains("repeats of what is not decided"),
        "{line}"
    );
    let first = lab.run(&["plan", "quick", "--budget", "30s"]);
    assert!(first.stdout.contains("\nwarning: a budget of 30.0 s is too short: it takes 4 "), "{}", first.stdout);
    let few = lab.run(&["plan", "quick", "--budget", "10s"]);
    assert!(
        few.exit == 2 && few.stderr.contains("is too short for 9 points of up to 2 s"),
        "{}: {}",
        few.exit,
        few.stderr
    );
}
