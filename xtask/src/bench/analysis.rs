//! `analysis`: how often the findings are right on simulated series with a known answer.
//!
//! In: a seed of this moment; the test of the crate `analysis` that makes the series. Out: recall, precision, false alarms and coverage with
//! their goals, rows in docs/benchmarks, and the figures for the reference of findings; an error if a goal is missed. Limits: no peer,
//! and no time is measured, so the machine may be busy; options about rounds and seconds have no meaning here.

use super::effort::Effort;
use super::{keep, process};
use crate::workspace;
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

pub const NAME: &str = "analysis";

const TEST: &str = "known_answers::tests::the_bench";
const SEED: &str = "PLIMSOLL_BENCH_SEED";
/// What a line of the test begins with that has a figure.
const FIGURE: &str = "figure";
/// Where the reference and `plimsoll explain` read the figures.
const ACCURACY: &str = "crates/report/src/wording/finding/accuracy.tsv";
/// This measure is better if it is less.
const FALSE_ALARMS: &str = "false alarms";

/// One figure of one kind of series.
#[derive(Debug, PartialEq)]
struct FigureRow {
    /// The findings that it is about.
    codes: String,
    series: String,
    measure: String,
    share: f64,
    of: u64,
    goal: f64,
}

/// Makes the series, prints the figures, and keeps them.
pub fn run(root: &Path, _: &Effort) -> Result<()> {
    let seed = SystemTime::now().duration_since(UNIX_EPOCH).context("the clock is before 1970")?.as_secs();
    let mut command = workspace::cargo(root);
    command.args(["test", "--release", "--package", "analysis", "--lib", "--", "--ignored", "--exact", "--nocapture"]);
    let output = process::run(command.arg(TEST).env(SEED, seed.to_string()))?;
    let rows = parse_rows(&output.stdout)?;
    let cells: Vec<String> = rows.iter().map(|row| row.to_cells(seed)).collect();
    cells.iter().for_each(|cells| println!("{cells}"));
    let commit = workspace::output_of(Command::new("git").args(["rev-parse", "--short", "HEAD"]).current_dir(root))?;
    keep::add_rows(root, NAME, HEAD, commit.trim(), &cells)?;
    write_accuracy(root, &rows)?;
    let missed = rows.iter().filter(|row| !row.is_met()).count();
    ensure!(missed == 0, "{missed} of {} goals are missed with seed {seed}; see the column `goal` above", rows.len());
    Ok(())
}

fn parse_rows(text: &str) -> Result<Vec<FigureRow>> {
    let rows = text.lines().filter_map(|line| parse_row(line).transpose()).collect::<Result<Vec<FigureRow>>>()?;
    ensure!(!rows.is_empty(), "the test `{TEST}` printed no figure: {}", text.trim());
    Ok(rows)
}

/// The figure of a line; `None` if it is another line.
fn parse_row(line: &str) -> Result<Option<FigureRow>> {
    // The harness writes the name of the test in front of the first.
    let Some((_, rest)) = line.split_once(&format!("{FIGURE}\t")) else { return Ok(None) };
    let [codes, series, measure, share, of, goal] = rest.split('\t').collect::<Vec<_>>()[..] else {
        anyhow::bail!("a figure has other columns than expected: {line}");
    };
    let [share, goal] = [share, goal].map(str::parse::<f64>);
    Ok(Some(FigureRow {
        codes: codes.to_owned(),
        series: series.to_owned(),
        measure: measure.to_owned(),
        share: share?,
        of: of.parse()?,
        goal: goal?,
    }))
}

impl FigureRow {
    fn is_met(&self) -> bool {
        if self.measure == FALSE_ALARMS { self.share <= self.goal } else { self.share >= self.goal }
    }

    fn to_line(&self) -> String {
        let FigureRow { codes, series, measure, share, of, .. } = self;
        format!("{codes}\t{series}\t{measure}\t{share}\t{of}\n")
    }

    fn to_cells(&self, seed: u64) -> String {
        let bound = if self.measure == FALSE_ALARMS { "at most" } else { "at least" };
        let missed = if self.is_met() { "" } else { ", missed" };
        let FigureRow { codes, series, measure, share, of, goal } = self;
        let [share, goal] = [share, goal].map(|share| share * 100.0);
        format!("{seed} | {codes} | {series} | {measure} | {share:.1} % | {of} | {bound} {goal:.0} %{missed}")
    }
}

const HEAD: &str = "\
# analysis

How often the findings about the course of a rate are right, on simulated series with a known answer, as `cargo xtask bench analysis` counts
it with a fresh seed each time. It adds its lines here. Each series is analysed like a recorded point; there are 400 of each kind. `recall` is
the share of what was put in that is found, `precision` the share of what is found that was put in. `exact` is the share of the series in
which a period is found within 2 %, or one shift within three intervals of its place. `false alarms` is the share of the series in which
something is found that is not there, and `coverage` the share of the 95 % intervals that have the true rate. `of` is how many there were.

| date | commit | seed | finding | series | figure | value | of | goal |
|---|---|---|---|---|---|---|---|---|
";

/// Writes the figures for the reference of findings and for `plimsoll explain`.
fn write_accuracy(root: &Path, rows: &[FigureRow]) -> Result<()> {
    let lines: String = rows.iter().map(FigureRow::to_line).collect();
    fs::write(root.join(ACCURACY), lines).with_context(|| format!("cannot write `{ACCURACY}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "running 1 test\ntest known_answers::tests::the_bench ... figure\tdrops\tten dips\trecall\t0.9912\t340\t0.99\n\
        figure\tlevel-shift\tramps\tfalse alarms\t0.0600\t400\t0.05\nok\n";

    #[test]
    fn the_figures_are_read_from_the_output_of_the_test() {
        let cells: Vec<String> = parse_rows(OUTPUT).unwrap().iter().map(|row| row.to_cells(7)).collect();
        let expected = [
            "7 | drops | ten dips | recall | 99.1 % | 340 | at least 99 %",
            "7 | level-shift | ramps | false alarms | 6.0 % | 400 | at most 5 %, missed",
        ];
        assert_eq!(cells, expected);
        let columns = HEAD.lines().last().unwrap().matches('|').count() - 1;
        assert!(cells.iter().all(|cells| cells.matches(" | ").count() + 3 == columns));
    }

    #[test]
    fn output_without_a_figure_is_an_error() {
        assert!(parse_rows("running 0 tests\n").is_err());
        assert!(parse_rows("figure\tdrops\tten dips\trecall\n").is_err());
    }
}
