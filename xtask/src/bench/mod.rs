//! `cargo xtask bench [NAME]`: compares plimsoll with its peers, in the same minutes on the same machine; `analysis` and
//! `causes` compare its findings with known answers.
//!
//! In: the working tree. Out: ratios with their intervals on the terminal, and a line in docs/benchmarks. Limits: absolute times
//! belong to the machine; quote only the ratios of interleaved pairs.

mod analysis;
mod cases;
mod causes;
mod cluster;
mod dist;
mod effort;
mod file;
mod fio;
mod floor;
mod insert;
mod keep;
mod load;
mod logs;
mod loop_disk;
mod oltp;
mod one_cpu;
mod pairs;
mod peers;
mod plimsoll;
mod process;
mod replay;
pub mod server;
mod show;
mod slow_link;
mod sockets;
mod sql;
mod statistics;
mod sysbench;
mod terminal;
mod traces;
mod viewers;
mod watch;
mod watch_day;
mod workloads;

use anyhow::Result;
use effort::Effort;
use std::path::{Path, PathBuf};

/// The options of `cargo xtask bench`.
#[derive(clap::Args)]
pub struct BenchArguments {
    /// The bench to run [default: all].
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(BENCHES.iter().map(|bench| bench.name)))]
    name: Option<String>,
    /// Only these cases of it.
    #[arg(long, value_parser = clap::builder::PossibleValuesParser::new(all_cases()))]
    case: Vec<String>,
    /// Rounds of A B B A, two pairs each [default: 4, quick: 2]; of `causes` the runs with a cause, and without [default: 10, quick: 3].
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: Option<u32>,
    /// Seconds of each single run [default: what the bench needs].
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=600))]
    seconds: Option<u32>,
    /// Rows of each load (bench `load`) [default: 250000, quick: 100000], intervals of a day (bench `watch-day`) [default: 86400, quick: 3600].
    #[arg(long, value_parser = clap::value_parser!(u64).range(10_000..=1_000_000_000))]
    rows: Option<u64>,
    /// Compare with this binary of plimsoll, too (bench `show`), or with it in place of anything else (benches `file` and `workloads`).
    #[arg(long)]
    older: Option<PathBuf>,
    /// Use this binary of plimsoll, build none, and keep no result (benches `cluster`, `floor`, `load`, `replay` and `sockets`).
    #[arg(long)]
    binary: Option<PathBuf>,
    /// Takes two minutes: fewer and shorter runs.
    #[arg(long)]
    quick: bool,
}

struct Bench {
    name: &'static str,
    run: fn(&Path, &Effort) -> Result<()>,
}

const BENCHES: &[Bench] = &[
    Bench { name: file::NAME, run: file::run },
    Bench { name: floor::NAME, run: floor::run },
    Bench { name: dist::NAME, run: dist::run },
    Bench { name: oltp::NAME, run: oltp::run },
    Bench { name: insert::NAME, run: insert::run },
    Bench { name: load::NAME, run: load::run },
    Bench { name: show::NAME, run: show::run },
    Bench { name: analysis::NAME, run: analysis::run },
    Bench { name: viewers::NAME, run: viewers::run },
    Bench { name: causes::NAME, run: causes::run },
    Bench { name: cluster::NAME, run: cluster::run },
    Bench { name: workloads::NAME, run: workloads::run },
    Bench { name: replay::NAME, run: replay::run },
    Bench { name: logs::NAME, run: logs::run },
    Bench { name: sql::NAME, run: sql::run },
    Bench { name: sockets::NAME, run: sockets::run },
    Bench { name: watch_day::NAME, run: watch_day::run },
];

fn all_cases() -> impl Iterator<Item = &'static str> {
    cases::CASES
        .iter()
        .map(|case| case.name)
        .chain(floor::CASES)
        .chain(oltp::case_names())
        .chain(insert::CASES)
        .chain(load::CASES)
        .chain(show::CASES)
        .chain(viewers::CASES)
        .chain(causes::case_names())
        .chain(cluster::CASES.iter().map(|case| case.name))
        .chain(workloads::CASES)
        .chain(replay::CASES)
        .chain(sockets::case_names())
        .chain(watch_day::CASES)
}

/// Runs the bench that was named, or all.
pub fn run(root: &Path, arguments: &BenchArguments) -> Result<()> {
    let BenchArguments { rounds, seconds, rows, quick, .. } = *arguments;
    let (cases, older, binary) = (arguments.case.clone(), arguments.older.clone(), arguments.binary.clone());
    let effort = Effort { cases, rounds, seconds, rows, older, binary, quick };
    let mut wanted = BENCHES.iter().filter(|bench| arguments.name.as_deref().is_none_or(|name| name == bench.name));
    wanted.try_for_each(|bench| (bench.run)(root, &effort))
}
