//! `causes`: makes known bottlenecks, and counts how often plimsoll names them, and how often it names them without the cause.
//!
//! In: the release build, the servers, root. Out: per cause in how many runs it was named with it and without it, as rows in docs/benchmarks;
//! an error if a goal is missed. Limits: one machine with private servers; a machine that is busy with something else spoils the counts.

mod cases;
mod surroundings;

use super::effort::Effort;
use super::keep::measure_on_servers;
use super::{plimsoll, process};
use anyhow::{Context, Result, ensure};
use cases::{CASES, CauseCase};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;
use surroundings::CauseSetup;

pub const NAME: &str = "causes";

/// Of ten runs with a cause, in so many it is to be named.
const NAMED_MIN: f64 = 0.9;

/// The cases by name.
pub fn case_names() -> impl Iterator<Item = &'static str> {
    CASES.iter().map(|case| case.name)
}

/// Makes each cause, prints what was named, and keeps it.
pub fn run(root: &Path, effort: &Effort) -> Result<()> {
    let runs = effort.rounds.unwrap_or(if effort.quick { 3 } else { 10 });
    let mut missed = Vec::new();
    measure_on_servers(root, NAME, HEAD, &[], |work, rows| {
        for case in CASES.iter().filter(|case| effort.wants(case.name)) {
            let lab = CauseLab { root, work, runs, seconds: effort.seconds(5, 4) };
            let (row, is_met) = lab.measure(case)?;
            println!("{row}");
            rows.push(row);
            missed.extend((!is_met).then_some(case.name));
        }
        Ok(())
    })?;
    ensure!(missed.is_empty(), "the goal is missed for: {}", missed.join(", "));
    Ok(())
}

/// Where the runs are made.
struct CauseLab<'a> {
    root: &'a Path,
    work: &'a Path,
    runs: u32,
    seconds: u32,
}

/// What was named in the runs of one side.
#[derive(Debug, Default, PartialEq)]
struct Named {
    /// Runs that were judged.
    judged: usize,
    /// Runs in which the cause was named.
    hits: usize,
    /// How often each set of causes was named.
    answers: BTreeMap<String, usize>,
}

impl CauseLab<'_> {
    /// The row of `case`, and whether its goal is met.
    fn measure(&self, case: &CauseCase) -> Result<(String, bool)> {
        let with = self.name_causes(case, true).with_context(|| format!("case `{}`", case.name))?;
        let without = self.name_causes(case, false).with_context(|| format!("case `{}` without it", case.name))?;
        let is_met = is_met(&with, &without);
        Ok((table_row(case, &with, &without, is_met), is_met))
    }

    /// Runs `case` with its cause or without it, and counts what was named.
    fn name_causes(&self, case: &CauseCase, is_made: bool) -> Result<Named> {
        let dir = tempfile::Builder::new().prefix("case").tempdir_in(self.work)?;
        let surroundings = CauseSetup::make(case.surroundings, is_made, dir.path())?;
        let mut command = surroundings.command(&plimsoll::binary(self.root));
        command.args(case.workload).args(case.fixed).args(surroundings.arguments());
        command.args(if is_made { case.made } else { case.unmade });
        command.arg("--time").arg(format!("{}s", self.seconds)).args(["--interval", "250ms", "--json", "--quiet"]);
        command.arg("--repeat").arg(self.runs.to_string()).arg("--no-report");
        command.arg("--dir").arg(dir.path()).arg("--runs").arg(dir.path().join("runs"));
        count_named(&process::run(&mut command)?.stdout, case.code)
    }
}

/// Counts the points of a run whose causes have `code`.
fn count_named(json: &str, code: &str) -> Result<Named> {
    #[derive(Deserialize)]
    struct CauseRun {
        points: Vec<CausePoint>,
    }
    #[derive(Deserialize)]
    struct CausePoint {
        bottlenecks: Vec<CauseReport>,
    }
    #[derive(Deserialize)]
    struct CauseReport {
        code: String,
    }
    let run: CauseRun = serde_json::from_str(json).context("plimsoll's JSON is not of the schema plimsoll.run/1")?;
    let mut named = Named::default();
    for point in run.points {
        let codes: Vec<String> = point.bottlenecks.into_iter().map(|cause| cause.code).collect();
        named.judged += 1;
        named.hits += usize::from(codes.iter().any(|one| one == code));
        *named.answers.entry(codes.join(" and ")).or_default() += 1;
    }
    Ok(named)
}

/// Named in nine of ten runs with the cause, and in none without it.
fn is_met(with: &Named, without: &Named) -> bool {
    with.judged > 0 && with.hits as f64 >= NAMED_MIN * with.judged as f64 && without.hits == 0
}

fn table_row(case: &CauseCase, with: &Named, without: &Named, is_met: bool) -> String {
    let goal = if is_met { "met" } else { "missed" };
    let (name, code, what) = (case.name, case.code, case.what);
    let [made, unmade] = [with, without].map(|named| format!("{} of {}", named.hits, named.judged));
    format!("{name} | {what} | {code} | {made} | {} | {unmade} | {} | {goal}", answers(with), answers(without))
}

/// `throttled 9, cpu 1`: what was named how often, the most frequent first.
fn answers(named: &Named) -> String {
    let mut all: Vec<(&String, &usize)> = named.answers.iter().collect();
    all.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let shown = all.into_iter().map(|(codes, count)| format!("{codes} {count}"));
    shown.collect::<Vec<String>>().join(", ")
}

const HEAD: &str = "\
# causes

Whether plimsoll names the bottleneck that was made, as `cargo xtask bench causes` counts it. It adds its lines here. Each case is measured
several times with its cause and as often without it, everything else being equal. `named` is the number of runs in which the cause was among
those that plimsoll named, and the columns after it are all that it named, with the number of runs. The goal is nine of ten runs with the
cause, and none without it.

| date | versions | kernel | case | what was made | code | named with it | all that was named | named without it | all that was named | goal |
|---|---|---|---|---|---|---|---|---|---|---|
";

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: &str =
        r#"{"points":[{"bottlenecks":[{"code":"cpu"},{"code":"checkpoint"}]},{"bottlenecks":[{"code":"cpu"}]}]}"#;

    #[test]
    fn a_cause_is_counted_if_it_is_among_those_that_were_named() {
        let named = count_named(RUN, "checkpoint").unwrap();
        assert_eq!((named.judged, named.hits), (2, 1));
        assert_eq!(answers(&named), "cpu 1, cpu and checkpoint 1");
        assert!(count_named("{}", "cpu").is_err());
    }

    #[test]
    fn the_goal_needs_both_sides_and_a_row_fits_its_head() {
        let named = |judged, hits| Named { judged, hits, ..Named::default() };
        assert!(is_met(&named(10, 9), &named(10, 0)));
        for (with, without) in [((10, 8), (10, 0)), ((10, 10), (10, 1)), ((0, 0), (0, 0))] {
            assert!(!is_met(&named(with.0, with.1), &named(without.0, without.1)));
        }
        let row = table_row(&CASES[0], &named(10, 9), &named(10, 0), true);
        let columns = HEAD.lines().last().unwrap().matches('|').count() - 1;
        assert_eq!(row.matches('|').count() + 4, columns, "{row}");
    }

    #[test]
    fn each_case_has_a_name_of_its_own() {
        let mut names: Vec<&str> = case_names().collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), CASES.len());
    }
}
