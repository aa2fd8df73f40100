//! `sql`: how many statements a second are judged and get their shapes, as `replay-sql` does with each statement of a log.
//!
//! In: the test of the crate `sql` that measures. Out: a rate for each dialect with its goal, rows in docs/benchmarks; an error if a goal
//! is missed. Limits: one thread, statements of sysbench's and TPC-C's shapes, the best of five rounds; no peer.

use super::effort::Effort;
use super::{keep, process};
use crate::workspace;
use anyhow::{Context, Result, ensure};
use std::path::Path;
use std::process::Command;

pub const NAME: &str = "sql";

/// A log of 20 million statements, the longest that is read, then takes 100 s.
const GOAL_PER_S: f64 = 200_000.0;

/// Measures, prints, and keeps the result.
pub fn run(root: &Path, _: &Effort) -> Result<()> {
    let mut command = workspace::cargo(root);
    command.args(["test", "--release", "--locked", "--package", "sql", "--test", "corpus", "--"]);
    let output = process::run(command.args(["--ignored", "--exact", "--nocapture", "the_bench"]))?;
    let figures = parse_figures(&output.stdout)?;
    let cells: Vec<String> =
        figures.iter().map(|(dialect, rate)| format!("{dialect} | {rate:.0} | {GOAL_PER_S:.0}")).collect();
    cells.iter().for_each(|cells| println!("{cells}"));
    let commit = workspace::output_of(Command::new("git").args(["rev-parse", "--short", "HEAD"]).current_dir(root))?;
    keep::add_rows(root, NAME, HEAD, commit.trim(), &cells)?;
    let missed = figures.iter().filter(|(_, rate)| *rate < GOAL_PER_S).count();
    ensure!(missed == 0, "{missed} of {} goals are missed", figures.len());
    Ok(())
}

/// The lines `figure`, dialect, statements a second.
fn parse_figures(text: &str) -> Result<Vec<(String, f64)>> {
    // The harness writes the name of the test in front of the first.
    let lines = text.lines().filter_map(|line| line.split_once("figure\t")?.1.split_once('\t'));
    let figures = lines.map(|(dialect, rate)| Ok((dialect.to_owned(), rate.trim().parse().context("no rate")?)));
    let figures = figures.collect::<Result<Vec<_>>>()?;
    ensure!(!figures.is_empty(), "the test printed no figure: {}", text.trim());
    Ok(figures)
}

const HEAD: &str = "\
# sql

How many statements a second are split into tokens, judged and given their shapes: what `replay-sql` does with each statement of a log. Statements
of sysbench's and TPC-C's shapes, one thread, the best of five rounds. `cargo xtask bench sql` adds its lines here.

| date | commit | dialect | statements a second | at least |
|---|---|---|---|---|
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_are_read_from_the_output_of_the_test() {
        let output = "running 1 test\ntest the_bench ... figure\tmysql\t512345\nfigure\tpostgres\t400000\nok\n";
        assert_eq!(
            parse_figures(output).unwrap(),
            [("mysql".to_owned(), 512_345.0), ("postgres".to_owned(), 400_000.0)]
        );
        assert!(parse_figures("running 0 tests\n").is_err());
    }
}
