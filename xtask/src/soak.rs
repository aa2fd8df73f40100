//! `cargo xtask soak`: kill -9 at random moments of real runs, far more often than the tests have time for.
//!
//! In: the release binary. Out: for each kill, that the run file opens, how many intervals it lost, and that nothing is left
//! behind; the first failure ends the soak. Limits: the load is the insert benchmark on the embedded engines, in turn; the
//! moments come from a seed, the machine's timing does not.
//!
//! As root it then runs the README's commands in a bare Debian: see [`crate::fresh`]. With `--minutes` it watches the growth of one
//! run instead: see [`growth`]; with `--engines` it tries what works on which engine: see [`compatibility`]; `soak hosts` makes the faults of a run
//! from several hosts: see [`hosts`]; `soak faults` and `soak fuzz` run the test program of faults for longer: see [`long_tests`].

mod compatibility;
mod growth;
pub mod hosts;
mod long_tests;
mod old_server;

use crate::fresh;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// The options of `cargo xtask soak`.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct SoakArguments {
    #[command(subcommand)]
    what: Option<SoakKind>,
    /// Number of runs to kill.
    #[arg(long, default_value_t = 50)]
    kills: u32,
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
    /// Makes every fault of docs/reference/faults.md, also those that take longer than a test may.
    Faults,
    /// Reads run files, plans and results of other programs that are mutated at random.
    Fuzz(long_tests::FuzzArguments),
}

const INTERVAL: Duration = Duration::from_millis(100);
const ENGINES: [&str; 2] = ["sqlite", "fjall"];

/// What one kill lost.
struct KilledRun {
    /// Whether the point had begun.
    begun: bool,
    /// Whole intervals between the start of the load and the kill that are not in the file.
    lost: f64,
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
        None => {}
    }
    built_binary(root, None)?;
    match arguments.minutes {
        Some(minutes) => growth::watch_run(root, &work, minutes),
        None => kill_all(root, &work, arguments.kills).and_then(|()| run_on_bare_debian(root)),
    }
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
    match rustix::process::geteuid().is_root() {
        true => fresh::run(root, &fresh::FreshArguments::default()),
        false => {
            println!("soak: `cargo xtask fresh` was left out, because only root can make a Debian of its own");
            Ok(())
        }
    }
}

fn kill_all(root: &Path, work: &Path, kills: u32) -> Result<()> {
    let mut worst: f64 = 0.0;
    let mut begun = 0;
    for nth in 0..kills {
        let killed = kill_one(root, work, nth)?;
        worst = worst.max(killed.lost);
        begun += u32::from(killed.begun);
    }
    println!(
        "soak: {} kills, {begun} of them in a point; every run file opened; {worst:.2} intervals lost at most",
        kills
    );
    Ok(())
}

/// Starts a run, kills it at its moment, and checks what is left.
fn kill_one(root: &Path, work: &Path, nth: u32) -> Result<KilledRun> {
    let engine = ENGINES[nth as usize % ENGINES.len()];
    let runs = work.join(format!("runs-{nth}"));
    let started = Instant::now();
    let mut child = start_run(root, work, &runs, engine)?;
    std::thread::sleep(kill_moment(nth)); // the real time of another process
    child.kill()?;
    let lived = started.elapsed();
    child.wait()?;
    let killed = check_run_file(root, &runs, lived);
    let killed = killed.with_context(|| format!("kill {nth}, {engine}, after {lived:?}"))?;
    check_sweep(root, work).with_context(|| format!("after kill {nth}, {engine}"))?;
    Ok(killed)
}

/// Between 50 ms and 1.65 s after the start: before, in and well after the beginning of the load.
fn kill_moment(nth: u32) -> Duration {
    // Fibonacci hashing (D. Knuth, "The Art of Computer Programming", volume 3, section 6.4): the moments of neighbouring numbers are
    // far apart, and the same in each soak.
    let random = u64::from(nth + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
    Duration::from_millis(50 + random % 1_600)
}

fn plimsoll(root: &Path) -> Command {
    quiet_command(root.join("target/release/plimsoll"))
}

fn quiet_command(program: PathBuf) -> Command {
    let mut command = Command::new(program);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn start_run(root: &Path, work: &Path, runs: &Path, engine: &str) -> Result<Child> {
    let mut command = plimsoll(root);
    command.args([
        "insert",
        "--step",
        "l.i1",
        "--rows",
        "0",
        "--rows-per-commit",
        "1",
        "--engine",
        engine,
        "--durability",
        "os",
        "--time",
        "60s",
        "--interval",
        "100ms",
        "--quiet",
    ]);
    Ok(command.arg("--dir").arg(work).arg("--runs").arg(runs).spawn()?)
}

/// Checks that the run file opens, and that it has all intervals up to the kill except the last.
fn check_run_file(root: &Path, runs: &Path, lived: Duration) -> Result<KilledRun> {
    let Some(file) = run_file(runs) else { return Ok(KilledRun { begun: false, lost: 0.0 }) };
    let shown = plimsoll(root).arg("show").arg(&file).arg("--json").output()?;
    if !shown.status.success() {
        // Killed after the file was created and before its first commit: nothing could be lost yet.
        let text = String::from_utf8_lossy(&shown.stderr).into_owned();
        ensure!(
            lived < Duration::from_millis(400) && shown.status.code() == Some(2),
            "the run file does not open: {text}"
        );
        return Ok(KilledRun { begun: false, lost: 0.0 });
    }
    let run: Value = serde_json::from_slice(&shown.stdout)?;
    let Some(point) = run["points"].get(0) else { return Ok(KilledRun { begun: false, lost: 0.0 }) };
    ensure!(point["state"] == "partial", "a killed point is {}", point["state"]);
    let recorded_s = point["seconds"].as_f64().unwrap_or(0.0);
    // Some tens of milliseconds pass between the start of the process and that of the load: they count as lost, too.
    let lost = (lived.as_secs_f64() - recorded_s) / INTERVAL.as_secs_f64();
    ensure!(lost < 3.0, "{lost:.2} intervals are missing: {recorded_s} s recorded in {lived:?}");
    Ok(KilledRun { begun: true, lost })
}

fn run_file(runs: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(runs).ok()?.flatten().map(|entry| entry.path());
    entries.filter(|path| path.extension().is_some_and(|extension| extension == "plimsoll")).min()
}

/// Checks that the next run removes what the killed one left.
fn check_sweep(root: &Path, work: &Path) -> Result<()> {
    let mut command = plimsoll(root);
    command.args(["file", "--engine", "null", "--time", "20ms", "--interval", "10ms", "--no-report"]);
    let Output { status, stderr, .. } =
        command.arg("--dir").arg(work).arg("--runs").arg(work.join("runs-next")).output()?;
    ensure!(status.success(), "the next run failed: {}", String::from_utf8_lossy(&stderr));
    let left: Vec<_> =
        std::fs::read_dir(work)?.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    ensure!(left.iter().all(|name| name.starts_with("runs-")), "left behind: {left:?}");
    Ok(())
}
