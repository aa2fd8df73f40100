//! `logs`: how fast logs of servers are read for a replay, and in how much memory.
//!
//! In: the test of the crate `workload` that makes the logs and reads them. Out: statements a second, peak memory and the room for what is
//! kept, in docs/benchmarks. Limits: no peer; logs of 500 MB, or of 100 with `--quick`; options about rounds and seconds have no meaning here.

use super::effort::Effort;
use super::{keep, process};
use crate::workspace;
use anyhow::{Context, Result, ensure};
use std::path::Path;
use std::process::Command;

pub const NAME: &str = "logs";

const TEST: &str = "large_logs_are_read_in_little_memory";
const SIZE: &str = "PLIMSOLL_BENCH_MB";
/// What is refused: the memory must not grow with the log.
const PEAK_MIB_MAX: u64 = 200;

/// Reads the logs, prints the figures, and keeps them.
pub fn run(root: &Path, effort: &Effort) -> Result<()> {
    let mut command = workspace::cargo(root);
    command.args(["test", "--release", "--package", "workload", "--test", "large_logs"]);
    command.args(["--", "--ignored", "--exact", "--nocapture", TEST]);
    let output = process::run(command.env(SIZE, if effort.quick { "100" } else { "500" }))?;
    let rows = parse_rows(&output.stdout)?;
    rows.iter().for_each(|row| println!("{row}"));
    let commit = workspace::output_of(Command::new("git").args(["rev-parse", "--short", "HEAD"]).current_dir(root))?;
    keep::add_rows(root, NAME, HEAD, commit.trim(), &rows)
}

fn parse_rows(text: &str) -> Result<Vec<String>> {
    let lines = text.lines().filter_map(|line| line.split_once("figure\t"));
    let rows = lines.map(|(_, figures)| parse_row(figures)).collect::<Result<Vec<String>>>()?;
    ensure!(rows.len() == 2, "the test `{TEST}` printed {} figures: {}", rows.len(), text.trim());
    Ok(rows)
}

fn parse_row(figures: &str) -> Result<String> {
    let [log, mb, statements, per_s, peak_mib, room_mb] = figures.split('\t').collect::<Vec<_>>()[..] else {
        anyhow::bail!("a figure has other columns than expected: {figures}");
    };
    let peak: u64 = peak_mib.parse().context("peak memory")?;
    ensure!(peak <= PEAK_MIB_MAX, "reading the {log} log took {peak} MiB; at most {PEAK_MIB_MAX} MiB were expected");
    Ok(format!("{log} | {mb} MB | {statements} | {per_s} | {peak} MiB | {room_mb} MB"))
}

const HEAD: &str = "\
# logs

How fast `replay-sql` reads a log, as `cargo xtask bench logs` measures it: a general and a slow log of sysbench's `oltp_read_write`, all
statements with other values. `room` is what the statements take on the disk while they are replayed. The rates belong to the machine; the
memory does not.

| date | commit | log | size | statements | statements/s | peak memory | room |
|---|---|---|---|---|---|---|---|
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_are_read_from_the_output_of_the_test() {
        let output = "test a ... figure\tgeneral\t500\t10\t20\t30\t40\nfigure\tslow\t500\t1\t2\t3\t4\nok\n";
        let rows = parse_rows(output).unwrap();
        assert_eq!(rows[0], "general | 500 MB | 10 | 20 | 30 MiB | 40 MB");
        let columns = HEAD.lines().last().unwrap().matches('|').count() - 1;
        assert!(rows.iter().all(|row| row.matches(" | ").count() + 3 == columns));
        assert!(parse_rows("figure\tgeneral\t500\n").is_err());
        assert!(parse_row("general\t500\t10\t20\t300\t40").is_err(), "that is too much memory");
    }
}
