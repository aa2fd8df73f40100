//! The project's own chores: `cargo xtask test`, `tidy`, `docs`, `bench`, `fresh`, `soak`.
//!
//! In: the working tree. Out: exit code 0, or what is wrong and where. Limits: `test` installs packages only as root on Debian;
//! `docs` writes below `docs/reference`, `bench` below `target` and `docs/benchmarks`, `fresh` and `soak`
//! below `target`. Nothing else is written to.

mod bench;
mod docs;
mod fresh;
mod licences;
mod needs;
mod retry;
mod soak;
mod test;
mod tidy;
mod workspace;

use clap::{Parser, Subcommand};
use std::path::Path;
use std::process::ExitCode;

/// The chores of the project plimsoll.
#[derive(Parser)]
#[command(name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Everything that CI runs, in order; installs what the tests need where it may.
    Test(test::Arguments),
    /// Checks what the compiler does not: arrows, registration, long functions, words, links, openings.
    Tidy,
    /// Generates docs/reference from the binary.
    Docs {
        /// Compare only; stale files are named and fail the command.
        #[arg(long)]
        check: bool,
    },
    /// Measures plimsoll beside its peers and keeps the result in docs/benchmarks.
    Bench(bench::Arguments),
    /// Runs the README's two commands in a bare Debian; needs root and an hour.
    Fresh(fresh::Arguments),
    /// Kills real runs at random moments and checks what is left; as root it then does what `fresh` does.
    Soak(soak::Arguments),
}

fn main() -> ExitCode {
    let chore = Arguments::parse().chore;
    match workspace::root().and_then(|root| perform(&chore, &root)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn perform(chore: &Chore, root: &Path) -> anyhow::Result<()> {
    match chore {
        Chore::Test(arguments) => test::run(root, arguments),
        Chore::Tidy => tidy::run(root),
        Chore::Docs { check: true } => docs::check(root),
        Chore::Docs { check: false } => docs::write(root),
        Chore::Bench(arguments) => bench::run(root, arguments),
        Chore::Fresh(arguments) => fresh::run(root, arguments),
        Chore::Soak(arguments) => soak::run(root, arguments),
    }
}
