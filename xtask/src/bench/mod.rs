//! `cargo xtask bench [NAME]`: plimsoll beside its peers, in the same minutes on the same machine.
//!
//! In: the working tree. Out: ratios with their intervals on the terminal, and a line in docs/benchmarks. Limits: absolute times
//! belong to the machine; only the ratios of interleaved pairs are to be quoted.

mod cases;
mod dist;
mod file;
mod fio;
mod peers;
mod plimsoll;
mod process;
mod statistics;
mod sysbench;

use anyhow::Result;
use std::path::Path;

/// The options of `cargo xtask bench`.
#[derive(clap::Args)]
pub struct Arguments {
    /// Which one; all of them where none is named.
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(BENCHES.iter().map(|bench| bench.name)))]
    name: Option<String>,
    /// Only these cases of it.
    #[arg(long, value_parser = clap::builder::PossibleValuesParser::new(cases::CASES.iter().map(|case| case.name)))]
    case: Vec<String>,
    /// Rounds of A B B A, two pairs each.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// Seconds of each single run.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=600))]
    seconds: u32,
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
    rounds: u32,
    seconds: u32,
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

const BENCHES: &[Bench] = &[Bench { name: file::NAME, run: file::run }, Bench { name: dist::NAME, run: dist::run }];

/// Runs the bench that was named, or all.
pub fn run(root: &Path, arguments: &Arguments) -> Result<()> {
    let Arguments { rounds, seconds, .. } = *arguments;
    let effort = Effort { cases: arguments.case.clone(), rounds, seconds };
    let wanted = |bench: &&Bench| arguments.name.as_deref().is_none_or(|name| name == bench.name);
    BENCHES.iter().filter(wanted).try_for_each(|bench| (bench.run)(root, &effort))
}
