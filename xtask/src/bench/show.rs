//! `cargo xtask bench show`: what it costs to show a recorded run, and to write its report, by the size of the run.
//!
//! In: the working tree, and with `--older` another binary. Out: CPU seconds and peak memory of `plimsoll show` and `plimsoll report` for
//! runs of 1,000 to 10,000 points and of 1 to 24 hours, in docs/benchmarks/show.md; the ratio to the older binary, in turns.
//! Limits: the runs are made up (crates/store/examples/made_run.rs) by the store's own writer, so a point has nothing but numbers.

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
    counters: u32,
    /// A report has a picture of each sheet: those of thousands of points would take longer than all the rest.
    has_report: bool,
}

const SHOW_CASES: [ShowCase; 7] = [
    ShowCase { name: "points-1000", points: 1_000, seconds: 10, counters: 40, has_report: true },
    ShowCase { name: "points-2000", points: 2_000, seconds: 10, counters: 40, has_report: false },
    ShowCase { name: "points-4000", points: 4_000, seconds: 10, counters: 40, has_report: false },
    ShowCase { name: "points-10000", points: 10_000, seconds: 10, counters: 40, has_report: false },
    ShowCase { name: "hour", points: 1, seconds: 3_600, counters: 200, has_report: true },
    ShowCase { name: "ten-hours", points: 1, seconds: 36_000, counters: 200, has_report: true },
    ShowCase { name: "day", points: 1, seconds: 86_400, counters: 200, has_report: true },
];

/// The names of its cases.
pub const CASES: [&str; 7] = ["points-1000", "points-2000", "points-4000", "points-10000", "hour", "ten-hours", "day"];
/// Those of a bench of two minutes.
const QUICK: [&str; 3] = ["points-1000", "points-2000", "hour"];

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
        rows.push(measure(root, effort, case, &["show", path_text(&file)?])?);
        if case.has_report {
            let report = dir.join("report");
            rows.push(measure(root, effort, case, &["report", path_text(&file)?, "--out", path_text(&report)?])?);
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
    command.args([case.points, case.seconds, case.counters].map(|number| number.to_string()));
    process::run(&mut command)?;
    Ok(file)
}

/// The row of one command on one run, measured in turns with the older binary if there is one.
fn measure(root: &Path, effort: &Effort, case: &ShowCase, arguments: &[&str]) -> Result<String> {
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
    let row = cells(case.name, arguments[0], &own, &older);
    println!("{row}");
    Ok(row)
}

fn cells(name: &str, command: &str, own: &[Finished], older: &[Finished]) -> String {
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
    format!("{name} | {command} | {:.2} | {:.0} | {before}", cpu_s(own), peak_mb(own))
}

const HEAD: &str = "\
# show

What it costs to show a recorded run and to write its report. `cargo xtask bench show` adds its lines here. The runs are made up: of
1,000 to 10,000 points each has 10 intervals of a second and 40 counters; of 1, 10 and 24 hours the only point has 200 counters. Each second
has 2,000 operations in some 900 buckets of their histogram. CPU time and peak memory are those of the whole process, as the kernel counts
them: medians, and true of that machine in those minutes only. With `--older BINARY` both binaries run in turns (A B B A); the ratio is this
version : older, the geometric mean over the pairs with its 95 % confidence interval (Student's t on the logarithms); below 1 this version
needs less. A dash: it was not compared.

| date | versions | kernel | run | command | CPU s | peak MB | older CPU s | older peak MB | ratio of CPU |
|---|---|---|---|---|---|---|---|---|---|
";

#[cfg(test)]
mod tests {
    use super::*;

    fn finished(seconds: f64, megabytes: f64) -> Finished {
        Finished { stdout: String::new(), cpu_ns: seconds * 1e9, peak_bytes: megabytes * 1e6 }
    }

    #[test]
    fn a_row_has_a_cell_for_each_column_with_an_older_binary_and_without() {
        let own = || vec![finished(1.0, 50.0), finished(1.0, 52.0), finished(1.2, 51.0)];
        let alone = cells("hour", "show", &own(), &[]);
        assert_eq!(alone, "hour | show | 1.00 | 51 | - | - | -");
        let compared = cells("hour", "show", &own()[..2], &[finished(4.0, 100.0), finished(4.0, 100.0)]);
        assert!(
            compared.starts_with("hour | show | 1.00 | 51 | 4.00 | 100 | 0.250 (95 %: 0.250 to 0.250"),
            "{compared}"
        );
        let columns = HEAD.lines().last().unwrap().matches('|').count() - 1;
        assert!([alone, compared].iter().all(|row| row.matches(" | ").count() + 4 == columns));
    }

    #[test]
    fn every_case_has_its_name_in_the_list_of_the_command_line() {
        assert_eq!(SHOW_CASES.map(|case| case.name), CASES);
        assert!(QUICK.iter().all(|name| CASES.contains(name)));
    }
}
