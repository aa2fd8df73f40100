//! `cargo xtask bench [NAME]`: plimsoll beside its peers, in the same minutes on the same machine.
//!
//! In: the working tree. Out: ratios with their intervals on the terminal, and a line in docs/benchmarks. Limits: absolute times
//! belong to the machine; only the ratios of interleaved pairs are to be quoted.

mod cases;
mod dist;
mod file;
mod fio;
mod insert;
mod oltp;
mod pairs;
mod peers;
mod plimsoll;
mod process;
mod server;
mod statistics;
mod sysbench;
mod watch;

use crate::{needs, workspace};
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::Path;
use std::process::Command;

/// The options of `cargo xtask bench`.
#[derive(clap::Args)]
pub struct Arguments {
    /// Which one; all of them where none is named.
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(BENCHES.iter().map(|bench| bench.name)))]
    name: Option<String>,
    /// Only these cases of it.
    #[arg(long, value_parser = clap::builder::PossibleValuesParser::new(all_cases()))]
    case: Vec<String>,
    /// Rounds of A B B A, two pairs each [default: 4, quick: 2].
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: Option<u32>,
    /// Seconds of each single run [default: what the bench needs].
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=600))]
    seconds: Option<u32>,
    /// A look in two minutes: fewer and shorter runs.
    #[arg(long)]
    quick: bool,
}

/// One bench.
struct Bench {
    name: &'static str,
    run: fn(&Path, &Effort) -> Result<()>,
}

/// What is measured, and how much.
struct Effort {
    /// The cases by name; none for all.
    cases: Vec<String>,
    rounds: Option<u32>,
    seconds: Option<u32>,
    quick: bool,
}

impl Effort {
    /// How many rounds of A B B A.
    fn rounds(&self) -> u32 {
        self.rounds.unwrap_or(if self.quick { 2 } else { 4 })
    }

    /// How long each run is, where nothing was asked for.
    fn seconds(&self, usually: u32, quick: u32) -> u32 {
        self.seconds.unwrap_or(if self.quick { quick } else { usually })
    }

    /// Whether the case `name` is to be measured,
    fn wants(&self, name: &str) -> bool {
        self.cases.is_empty() || self.cases.iter().any(|case| case == name)
    }

    /// or any of several.
    fn wants_any(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.wants(name))
    }
}

/// What one run of a program did.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cost {
    /// I/Os done in a second.
    per_s: f64,
    /// CPU of the generator's thread per I/O,
    thread_ns: f64,
    /// and the part of it outside of the kernel.
    user_ns: f64,
    /// CPU of the whole process per I/O, with its start and its end.
    process_ns: f64,
}

const BENCHES: &[Bench] = &[
    Bench { name: file::NAME, run: file::run },
    Bench { name: dist::NAME, run: dist::run },
    Bench { name: oltp::NAME, run: oltp::run },
    Bench { name: insert::NAME, run: insert::run },
];

fn all_cases() -> impl Iterator<Item = &'static str> {
    cases::CASES.iter().map(|case| case.name).chain(oltp::CASES).chain(insert::CASES)
}

/// Runs the bench that was named, or all.
pub fn run(root: &Path, arguments: &Arguments) -> Result<()> {
    let Arguments { rounds, seconds, quick, .. } = *arguments;
    let effort = Effort { cases: arguments.case.clone(), rounds, seconds, quick };
    let wanted = |bench: &&Bench| arguments.name.as_deref().is_none_or(|name| name == bench.name);
    BENCHES.iter().filter(wanted).try_for_each(|bench| (bench.run)(root, &effort))
}

/// Does what `measure` does in a directory of its own, with servers and their peers there and plimsoll built, and keeps the rows that it
/// made; also where a later case of it failed.
fn beside_servers(
    root: &Path,
    name: &str,
    head: &str,
    peers: &[&str],
    measure: impl FnOnce(&Path, &mut Vec<String>) -> Result<()>,
) -> Result<()> {
    if let [missing, ..] = needs::ensure(needs::OLTP_NEEDS)?[..] {
        bail!("`{}` is not there: {}; install the package `{}`", missing.binary, missing.what_for, missing.package);
    }
    workspace::run(workspace::cargo(root).args(["build", "--release", "--locked", "--package", "plimsoll"]))?;
    let below = root.join("target/bench");
    fs::create_dir_all(&below)?;
    let dir = tempfile::Builder::new().prefix(name).tempdir_in(below)?;
    let mut rows = Vec::new();
    let measured = measure(dir.path(), &mut rows);
    println!();
    rows.iter().for_each(|row| println!("{row}"));
    keep(root, name, head, peers, &rows).and(measured)
}

/// Adds `rows` to the table of the bench `name` in docs/benchmarks, below `head` where it is new, with date, versions and kernel.
fn keep(root: &Path, name: &str, head: &str, peers: &[&str], rows: &[String]) -> Result<()> {
    let date = workspace::output_of(Command::new("date").args(["-u", "+%F"]))?;
    let mut versions = vec![plimsoll::version(root)?];
    for peer in peers {
        versions.push(workspace::output_of(Command::new(peer).arg("--version"))?.trim().to_owned());
    }
    let kernel = file::kernel(&rustix::system::uname().release().to_string_lossy());
    let path = root.join("docs/benchmarks").join(format!("{name}.md"));
    let mut text = fs::read_to_string(&path).unwrap_or_else(|_| head.to_owned());
    for row in rows {
        text.push_str(&format!("| {} | {} | {kernel} | {row} |\n", date.trim(), versions.join(", ")));
    }
    fs::write(&path, text).with_context(|| format!("cannot write `{}`", path.display()))?;
    println!("kept in docs/benchmarks/{name}.md");
    Ok(())
}
