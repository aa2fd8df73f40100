//! `cargo xtask bench show`: what it costs to show a recorded run, and to write its report, by the size of the run.
//!
//! In: the working tree, and with `--older` another binary. Out: CPU seconds and peak memory of `plimsoll show` and `plimsoll report` for
//! runs of 1,000 to 10,000 points, of 1 to 24 hours, and for a sweep of 24 points of servers, in docs/benchmarks/show.md, with the size of
//! the page; the ratio to the older binary, in turns; and whether the goals are met.
//! Limits: the runs are made up (crates/store/examples/made_run) by the store's own writer, so a point has nothing but numbers.

use super::effort::Effort;
use super::process::Finished;
use super::statistics::{median, ratio};
use super::{keep, plimsoll, process};
use crate::workspace;
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The name of the bench.
pub const NAME: &str = "show";

/// A run of a given size.
struct ShowCase {
    name: &'static str,
    points: u32,
    seconds: u32,
    /// As made_run takes it: how many, or `servers`.
    counters: &'static str,
    /// A report has a picture of each sheet: those of thousands of points would take longer than all the rest.
    has_report: bool,
    /// CPU seconds of `show` and of `report` at most.
    goal_s: Option<[f64; 2]>,
    /// Bytes of the page at most.
    goal_bytes: Option<u64>,
}

impl ShowCase {
    const fn points(name: &'static str, points: u32) -> ShowCase {
        let case = ShowCase::long(name, 10);
        ShowCase { points, counters: "40", has_report: points <= 1_000, ..case }
    }

    const fn long(name: &'static str, seconds: u32) -> ShowCase {
        ShowCase { name, points: 1, seconds, counters: "200", has_report: true, goal_s: None, goal_bytes: None }
    }
}

const SHOW_CASES: [ShowCase; 8] = [
    ShowCase::points("points-1000", 1_000),
    ShowCase::points("points-2000", 2_000),
    ShowCase::points("points-4000", 4_000),
    ShowCase { goal_s: Some([10.0, f64::INFINITY]), ..ShowCase::points("points-10000", 10_000) },
    ShowCase {
        points: 24,
        counters: "servers",
        goal_s: Some([2.0, 2.0]),
        goal_bytes: Some(2_000_000),
        ..ShowCase::long("sweep-24", 60)
    },
    ShowCase { goal_s: Some([1.0, 1.0]), goal_bytes: Some(1_500_000), ..ShowCase::long("hour", 3_600) },
    ShowCase::long("ten-hours", 36_000),
    ShowCase { goal_s: Some([10.0, 10.0]), goal_bytes: Some(1_500_000), ..ShowCase::long("day", 86_400) },
];

/// The names of its cases.
pub const CASES: [&str; 8] =
    ["points-1000", "points-2000", "points-4000", "points-10000", "sweep-24", "hour", "ten-hours", "day"];
/// Those of a bench of two minutes.
const QUICK: [&str; 4] = ["points-1000", "points-2000", "sweep-24", "hour"];

/// Measures, prints, and keeps the result.
pub fn run(root: &Path, effort: &Effort) -> Result<()> {
    workspace::run(workspace::cargo(root).args(["build", "--release", "--locked", "--package", "plimsoll"]))?;
    let example = ["build", "--release", "--locked", "--package", "store", "--example", "made_run"];
    workspace::run(workspace::cargo(root).args(example))?;
    let below = root.join("target/bench");
    fs::create_dir_all(&below)?;
    let dir = tempfile::Builder::new().prefix(NAME).tempdir_in(below)?;
    let mut rows = Vec::new();
    let measured = measure_all(root, dir.path(), effort, &mut rows);
    println!();
    rows.iter().for_each(|row| println!("{row}"));
    keep::keep_rows(root, NAME, HEAD, &[], &rows).and(measured)
}

fn measure_all(root: &Path, dir: &Path, effort: &Effort, rows: &mut Vec<String>) -> Result<()> {
    let is_asked = |name: &str| effort.wants(name) && (!effort.quick || QUICK.contains(&name));
    for case in SHOW_CASES.iter().filter(|case| is_asked(case.name)) {
        let file = make_run(root, dir, case)?;
        let (own, older) = measure(root, effort, &["show", path_text(&file)?])?;
        rows.push(cells(case, "show", (&own, &older), None));
        println!("{}", rows[rows.len() - 1]);
        if case.has_report {
            let report = dir.join("report");
            // The older binary would leave its page: the last one that is written is measured.
            let arguments = ["report", path_text(&file)?, "--out", path_text(&report)?];
            let (own, older) = measure(root, effort, &arguments)?;
            let page = fs::metadata(report.join("index.html"))?.len();
            rows.push(cells(case, "report", (&own, &older), Some(page)));
            println!("{}", rows[rows.len() - 1]);
            fs::remove_dir_all(&report)?;
        }
        fs::remove_file(&file)?;
    }
    Ok(())
}

fn path_text(path: &Path) -> Result<&str> {
    path.to_str().context("the path of the working tree is no text")
}

fn make_run(root: &Path, dir: &Path, case: &ShowCase) -> Result<PathBuf> {
    let file = dir.join(format!("{}.plimsoll", case.name));
    let mut command = Command::new(root.join("target/release/examples/made_run"));
    command.arg(&file);
    command.args([case.points, case.seconds].map(|number| number.to_string())).arg(case.counters);
    process::run(&mut command)?;
    Ok(file)
}

/// One command on one run, measured in turns with the older binary if there is one: what this version took, and what the older.
fn measure(root: &Path, effort: &Effort, arguments: &[&str]) -> Result<(Vec<Finished>, Vec<Finished>)> {
    let run_once = |binary: &Path| process::run(Command::new(binary).args(arguments));
    let own_binary = plimsoll::binary(root);
    let (mut own, mut older): (Vec<Finished>, Vec<Finished>) = (Vec::new(), Vec::new());
    for _ in 0..effort.rounds() {
        // A B B A.
        own.push(run_once(&own_binary)?);
        if let Some(binary) = &effort.older {
            older.push(run_once(binary)?);
            older.push(run_once(binary)?);
            own.push(run_once(&own_binary)?);
        }
    }
    Ok((own, older))
}

fn cells(case: &ShowCase, command: &str, (own, older): (&[Finished], &[Finished]), page: Option<u64>) -> String {
    let cpu_s = |all: &[Finished]| median(all.iter().map(|one| one.cpu_ns / 1e9));
    let peak_mb = |all: &[Finished]| median(all.iter().map(|one| one.peak_bytes / 1e6));
    let pairs: Vec<(f64, f64)> = own.iter().zip(older).map(|(own, older)| (own.cpu_ns, older.cpu_ns)).collect();
    let before = match older {
        [] => "- | - | -".to_owned(),
        _ => {
            let ratio = ratio(&pairs).map_or("-".to_owned(), |ratio| ratio.to_string());
            format!("{:.2} | {:.0} | {ratio}", cpu_s(older), peak_mb(older))
        }
    };
    let page_mb = page.map_or("-".to_owned(), |bytes| format!("{:.2}", bytes as f64 / 1e6));
    let goal = goal_cell(case, command, cpu_s(own), page);
    format!("{} | {command} | {page_mb} | {:.2} | {:.0} | {goal} | {before}", case.name, cpu_s(own), peak_mb(own))
}

/// The goals with whether they are met; a dash without one.
fn goal_cell(case: &ShowCase, command: &str, cpu_s: f64, page: Option<u64>) -> String {
    let most_s = case.goal_s.map(|[show, report]| if command == "show" { show } else { report });
    let time = most_s.filter(|most| most.is_finite()).map(|most| (format!("{most} s"), cpu_s <= most));
    let size = page.zip(case.goal_bytes).map(|(bytes, most)| (format!("{} MB", most as f64 / 1e6), bytes <= most));
    let goals: Vec<(String, bool)> = time.into_iter().chain(size).collect();
    if goals.is_empty() {
        return "-".to_owned();
    }
    let words: Vec<&str> = goals.iter().map(|(goal, _)| goal.as_str()).collect();
    let verdict = if goals.iter().all(|(_, is_met)| *is_met) { "met" } else { "missed" };
    format!("{}: {verdict}", words.join(" and "))
}

const HEAD: &str = "\
# show

What it costs to show a recorded run and to write its report with all its charts. `cargo xtask bench show` adds its lines here. The runs are made
up: of 1,000 to 10,000 points each has 10 intervals of a second and 40 counters; `sweep-24` is three servers, two mixes and four numbers of
clients for 60 seconds each, with all counters that charts are drawn of; of 1, 10 and 24 hours the only point has 200 counters. Each second
has some 2,000 operations in some 900 buckets of their histogram. CPU time and peak memory are those of the whole process, as the kernel counts
them: medians, and true of that machine in those minutes only. `page` is the size of index.html. With `--older BINARY` both binaries run in
turns (A B B A); the ratio is this version : older, the geometric mean over the pairs with its 95 % confidence interval (Student's t on the
logarithms); below 1 this version needs less. A dash: it was not compared, or does not apply.

| date | versions | kernel | run | command | page MB | CPU s | peak MB | goal | older CPU s | older peak MB | ratio of CPU |
|---|---|---|---|---|---|---|---|---|---|---|---|
";

#[cfg(test)]
mod tests {
    use super::*;

    fn finished(seconds: f64, megabytes: f64) -> Finished {
        Finished { stdout: String::new(), cpu_ns: seconds * 1e9, user_ns: 0.0, peak_bytes: megabytes * 1e6 }
    }

    #[test]
    fn a_row_has_a_cell_for_each_column_with_an_older_binary_and_without() {
        let hour = SHOW_CASES.iter().find(|case| case.name == "hour").unwrap();
        let own = || vec![finished(1.0, 50.0), finished(1.0, 52.0), finished(1.2, 51.0)];
        let alone = cells(hour, "show", (&own(), &[]), None);
        assert_eq!(alone, "hour | show | - | 1.00 | 51 | 1 s: met | - | - | -");
        let older = [finished(4.0, 100.0), finished(4.0, 100.0)];
        let compared = cells(hour, "report", (&own()[..2], &older), Some(1_600_000));
        let begin =
            "hour | report | 1.60 | 1.00 | 51 | 1 s and 1.5 MB: missed | 4.00 | 100 | 0.250 (95 %: 0.250 to 0.250";
        assert!(compared.starts_with(begin), "{compared}");
        let columns = HEAD.lines().last().unwrap().matches('|').count() - 1;
        assert!([alone, compared].iter().all(|row| row.matches(" | ").count() + 4 == columns));
    }

    #[test]
    fn every_case_has_its_name_in_the_list_of_the_command_line() {
        assert_eq!(SHOW_CASES.map(|case| case.name), CASES);
        assert!(QUICK.iter().all(|name| CASES.contains(name)));
    }
}
