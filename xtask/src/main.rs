//! The project's own chores: `cargo xtask test`, `tidy`, `docs`, `bench`, `engines`, `dist`, `fresh`, `site`, `soak`.
//!
//! In: the working tree. Out: exit code 0, or the problems and their places. Limits: `test` installs packages only as root on Debian;
//! `docs` writes below `docs/reference`, `bench` below `target` and `docs/benchmarks`, `dist`, `engines`, `fresh`, `site` and
//! `soak` below `target`. Nothing else is written to.

mod bare;
mod bench;
mod dist;
mod docs;
mod engines;
mod fresh;
mod galera;
mod licences;
mod namespaces;
mod needs;
mod retry;
mod server_files;
mod site;
mod soak;
mod test;
mod test_folder;
mod test_programs;
mod tidy;
mod tools;
mod workspace;

use clap::{Parser, Subcommand};
use std::path::Path;
use std::process::ExitCode;

/// The chores of the project plimsoll.
#[derive(Parser)]
#[command(name = "cargo xtask")]
struct XtaskArguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Runs all checks and tests of CI, in order; installs what they need if it may.
    Test(test::TestArguments),
    /// Checks what the compiler does not: arrows, circles, floors, registration, prose, names, words, links, openings.
    Tidy,
    /// Generates docs/reference from the binary.
    Docs {
        /// Compare only; stale files are named and fail the command.
        #[arg(long)]
        check: bool,
    },
    /// Compares plimsoll with its peers and keeps the result in docs/benchmarks.
    Bench(bench::BenchArguments),
    /// Fetches versions of servers into target/engines; takes Debian, Maven and 300 MB of downloads.
    Engines,
    /// Makes the packages that users install, in target/dist, and tries each on a bare system; the trial needs root.
    Dist(dist::DistArguments),
    /// Runs the README's two commands in a bare Debian; needs root and an hour.
    Fresh(fresh::FreshArguments),
    /// Makes the documentation site in target/site with mdBook, and checks its links; measures the experiments of its pages if asked to.
    Site(site::SiteArguments),
    /// Kills real runs at random moments and checks what is left; as root it then does what `fresh` does.
    Soak(soak::SoakArguments),
}

fn main() -> ExitCode {
    let chore = XtaskArguments::parse().chore;
    match workspace::root().and_then(|root| perform_chore(&chore, &root)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn perform_chore(chore: &Chore, root: &Path) -> anyhow::Result<()> {
    match chore {
        Chore::Test(arguments) => test::run(root, arguments),
        Chore::Tidy => tidy::run(root),
        Chore::Docs { check } => {
            let plimsoll = test_programs::build(root, test_programs::BINARY, &[])?.plimsoll;
            if *check { docs::check_reference(root, &plimsoll) } else { docs::write_reference(root, &plimsoll) }
        }
        Chore::Bench(arguments) => bench::run(root, arguments),
        Chore::Engines => engines::run(root),
        Chore::Dist(arguments) => dist::run(root, arguments),
        Chore::Fresh(arguments) => fresh::run(root, arguments),
        Chore::Site(arguments) => site::run(root, arguments),
        Chore::Soak(arguments) => soak::run(root, arguments),
    }
}
