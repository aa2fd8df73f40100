//! `cargo xtask bench [NAME]`: plimsoll beside its peers, in the same minutes on the same machine.
//!
//! In: the working tree. Out: ratios with their intervals on the terminal, and a line in docs/benchmarks. Limits: absolute times
//! belong to the machine; only the ratios of interleaved pairs are to be quoted.

mod dist;
mod fio;
mod plimsoll;
mod process;
mod statistics;
mod uring_cache;

use anyhow::Result;
use std::path::Path;

/// The options of `cargo xtask bench`.
#[derive(clap::Args)]
pub struct Arguments {
    /// Which one; all of them where none is named.
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(BENCHES.iter().map(|bench| bench.name)))]
    name: Option<String>,
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

/// How much is measured.
#[derive(Clone, Copy)]
struct Effort {
    rounds: u32,
    seconds: u32,
}

const BENCHES: &[Bench] =
    &[Bench { name: uring_cache::NAME, run: uring_cache::run }, Bench { name: dist::NAME, run: dist::run }];

/// Runs the bench that was named, or all.
pub fn run(root: &Path, arguments: &Arguments) -> Result<()> {
    let effort = Effort { rounds: arguments.rounds, seconds: arguments.seconds };
    let wanted = |bench: &&Bench| arguments.name.as_deref().is_none_or(|name| name == bench.name);
    BENCHES.iter().filter(wanted).try_for_each(|bench| (bench.run)(root, &effort))
}
