//! `cargo xtask soak`: proofs that take longer than the tests may.
//!
//! In: the release binary. Out: what was tried, and how often; the first failure ends the soak. Limits: those of its parts.
//!
//! It ends real runs by force at random moments: see [`kills`]. As root it then runs the README's commands in a bare Debian: see
//! [`crate::fresh`]. With `--minutes` it watches the growth of one run instead: see [`growth`]; with `--engines` it tries what works on which engine: see [`compatibility`]; `soak hosts` makes the faults of a run
//! from several hosts: see [`hosts`]; `soak faults`, `soak fuzz` and `soak statements` run tests for longer: see [`long_tests`];
//! `soak storm` runs loads with faults at random: see [`storms`].

mod compatibility;
mod forced_run;
mod growth;
pub mod hosts;
mod kills;
mod leftovers;
mod long_tests;
mod old_server;
mod storms;

use crate::fresh;
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The options of `cargo xtask soak`.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct SoakArguments {
    #[command(subcommand)]
    what: Option<SoakKind>,
    /// Number of runs to kill; every fifth run of a kind is ended in another way, in addition.
    #[arg(long, default_value_t = 50)]
    kills: u32,
    /// Only these kinds of runs, and no bare Debian after them.
    #[arg(long, value_parser = clap::builder::PossibleValuesParser::new(kills::case_names()))]
    run: Vec<String>,
    /// Use this binary of plimsoll for the kills, build none, and try no bare Debian after them.
    #[arg(long)]
    binary: Option<PathBuf>,
    /// Watch memory and run file of one run of so many minutes instead (at least 2).
    #[arg(long, conflicts_with = "kills", value_parser = clap::value_parser!(u32).range(2..))]
    minutes: Option<u32>,
    /// Try every mix and every step on every engine instead, and write the table of compatibility.
    #[arg(long, conflicts_with_all = ["kills", "minutes"])]
    engines: bool,
    /// Compile with these cargo features, too: `rocksdb`.
    #[arg(long, requires = "engines", value_delimiter = ',')]
    features: Vec<String>,
}

/// What is tried instead.
#[derive(clap::Subcommand)]
enum SoakKind {
    /// Makes each fault of a run from several hosts again and again, and checks what is left.
    Hosts(hosts::HostsArguments),
    /// Makes every fault of docs/reference/faults.md, also those that take longer than a test may, and runs the long tests of engines.
    Faults,
    /// Reads run files, plans, results of other programs and recordings that are mutated at random.
    Fuzz(long_tests::FuzzArguments),
    /// Performs 100,000 generated statements on MariaDB and PostgreSQL, and cuts logs of both at every byte.
    Statements,
    /// Runs OLTP and inserts for an hour each, with faults at random moments.
    Storm(storms::StormArguments),
}

/// Kills `kills` runs and reports what was lost, or watches one run for some minutes and reports what grew.
pub fn run(root: &Path, arguments: &SoakArguments) -> Result<()> {
    let work = root.join("target/soak");
    drop(std::fs::remove_dir_all(&work));
    std::fs::create_dir_all(&work).with_context(|| format!("cannot make `{}`", work.display()))?;
    if arguments.engines {
        return compatibility::write_table(root, &work, &arguments.features);
    }
    match &arguments.what {
        Some(SoakKind::Hosts(hosts)) => {
            return hosts::run(&built_binary(root, hosts.binary.as_deref())?, &work, hosts);
        }
        Some(SoakKind::Faults) => return long_tests::make_all_faults(root),
        Some(SoakKind::Fuzz(fuzz)) => return long_tests::fuzz(root, fuzz),
        Some(SoakKind::Statements) => return long_tests::judge_statements(root),
        Some(SoakKind::Storm(storm)) => {
            return storms::run(&built_binary(root, storm.binary.as_deref())?, &work, storm);
        }
        None => {}
    }
    match arguments.minutes {
        Some(minutes) => {
            built_binary(root, None)?;
            growth::watch_run(root, &work, minutes)
        }
        None => kill_runs(root, &work, arguments),
    }
}

fn kill_runs(root: &Path, work: &Path, arguments: &SoakArguments) -> Result<()> {
    let binary = built_binary(root, arguments.binary.as_deref())?;
    kills::run(&binary, work, arguments.kills, &arguments.run)?;
    if arguments.run.is_empty() && arguments.binary.is_none() { run_on_bare_debian(root) } else { Ok(()) }
}

/// The binary at `given`, or the release binary, which is built.
fn built_binary(root: &Path, given: Option<&Path>) -> Result<PathBuf> {
    if let Some(given) = given {
        ensure!(given.is_file(), "`{}` is no file", given.display());
        return Ok(std::path::absolute(given)?);
    }
    let mut command = Command::new("cargo");
    let built = command.current_dir(root).args(["build", "--release", "--quiet"]).status()?;
    ensure!(built.success(), "the release build failed");
    Ok(root.join("target/release/plimsoll"))
}

fn run_on_bare_debian(root: &Path) -> Result<()> {
    if rustix::process::geteuid().is_root() {
        fresh::run(root, &fresh::FreshArguments::default())
    } else {
        println!("soak: `cargo xtask fresh` was left out, because only root can make a Debian of its own");
        Ok(())
    }
}

/// A seed that is another one each second.
fn seed_of_now() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default().as_secs()
}

fn plimsoll(root: &Path) -> Command {
    quiet_command(root.join("target/release/plimsoll"))
}

fn quiet_command(program: PathBuf) -> Command {
    let mut command = Command::new(program);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}
