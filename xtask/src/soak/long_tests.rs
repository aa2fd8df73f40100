//! `cargo xtask soak faults`, `soak fuzz` and `soak statements`: tests that take longer than the tests have time for.
//!
//! In: the working tree. Out: what the programs print; they fail if one fault is not answered as the table promises, if one input makes a
//! reader fail, hang or use too much, or if a statement that a server refuses as a write is judged as a read. Limits: the build of the first
//! two is that of the tests, which checks more and is slower than the release.

use crate::bench::server::BenchServer;
use crate::workspace;
use anyhow::Result;
use std::path::Path;
use std::process::Command;

/// The options of `cargo xtask soak fuzz`.
#[derive(clap::Args)]
pub struct FuzzArguments {
    /// How long.
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..))]
    minutes: u32,
    /// Which inputs: the same number makes the same ones. Without it they follow from the time.
    #[arg(long)]
    seed: Option<u64>,
}

/// Makes every fault, one at a time, and runs the tests of engines that take longer than others.
pub fn make_all_faults(root: &Path) -> Result<()> {
    let mut faults = test_faults(root);
    // A fault that this machine cannot make would pass unseen.
    faults.args(["--include-ignored", "--test-threads=1"]).env("PLIMSOLL_ALL_FAULTS", "1");
    workspace::run(&mut faults)?;
    let mut engines = workspace::cargo(root);
    engines.args(["test", "--locked", "-p", "engine", "--test", "contract", "--", "--ignored", "--test-threads=1"]);
    workspace::run(&mut engines)
}

/// Reads mutated files for some minutes.
pub fn fuzz(root: &Path, arguments: &FuzzArguments) -> Result<()> {
    let seed = arguments.seed.unwrap_or_else(super::seed_of_now);
    println!("soak: seed {seed}");
    let mut command = test_faults(root);
    command.args(["--exact", "input::files_are_mutated", "--nocapture"]);
    command.env("PLIMSOLL_FUZZ_SECONDS", (u64::from(arguments.minutes) * 60).to_string());
    workspace::run(command.env("PLIMSOLL_FUZZ_SEED", seed.to_string()))
}

/// Performs 100,000 generated statements on each of two servers, and cuts logs at every byte.
pub fn judge_statements(root: &Path) -> Result<()> {
    let (mariadb, postgres) = (BenchServer::start_mariadb()?, BenchServer::start_postgres()?);
    let socket = mariadb.dir().join("m.sock");
    let mut judged = workspace::cargo(root);
    judged.args([
        "test",
        "--release",
        "--locked",
        "-p",
        "sql",
        "--test",
        "differential",
        "--",
        "--ignored",
        "--nocapture",
    ]);
    judged
        .env("PLIMSOLL_MARIADB", format!("mariadb --no-defaults -u root -S {} --force -B -N sbtest", socket.display()));
    judged.env("PLIMSOLL_PSQL", format!("psql -X -q -A -t -U plimsoll -h {} postgres", postgres.dir().display()));
    workspace::run(&mut judged)?;
    let mut cut = workspace::cargo(root);
    cut.args(["test", "--release", "--locked", "-p", "workload", "--test", "logs", "--", "--ignored"]);
    workspace::run(&mut cut)
}

fn test_faults(root: &Path) -> Command {
    let mut command = workspace::cargo(root);
    command.args(["test", "--locked", "-p", "plimsoll", "--test", "faults", "--"]);
    command
}
