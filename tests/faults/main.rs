//! Makes every fault that plimsoll must survive, by real means, and checks what is promised for it.
//!
//! In: the binary that cargo built, and the faults of the families. Out: one test for each fault, and the page
//! `docs/reference/faults.md`, which is made from the same table: it cannot promise what is not checked. Limits: faults that take
//! longer than some seconds are ignored here; `cargo xtask soak faults` makes them, too (`--ignored`).

mod database;
#[path = "../cli/disks.rs"]
#[allow(dead_code, reason = "these tests need less of it than those of the command line")]
mod disks;
mod fault;
mod fuzz;
#[path = "../cli/lab.rs"]
#[allow(dead_code, reason = "these tests need less of it than those of the command line")]
mod lab;
mod liar;
mod page;
#[path = "../cli/verified.rs"]
mod verified;

mod clock;
mod disk;
mod input;
mod memory;
mod network;
mod process;
mod server;
mod user;

use fault::{Family, Length};
use libtest_mimic::{Arguments, Trial};
use std::process::ExitCode;

/// All families, in the order of the page.
const FAMILIES: &[&Family] = &[
    &disk::DISK,
    &memory::MEMORY,
    &process::PROCESS,
    &network::NETWORK,
    &clock::CLOCK,
    &server::SERVER,
    &input::INPUT,
    &user::USER,
];

/// Those of the command line. Libtest reads how many tests run at a time from a variable, too, and libtest-mimic does not.
fn arguments() -> Arguments {
    let mut arguments = Arguments::from_args();
    let threads = || std::env::var("RUST_TEST_THREADS").ok()?.parse().ok();
    arguments.test_threads = arguments.test_threads.or_else(threads);
    arguments
}

fn main() -> ExitCode {
    if let Some(code) = fuzz::work_if_asked() {
        return code;
    }
    let faults = FAMILIES.iter().flat_map(|family| family.faults.iter().map(move |fault| (family, fault)));
    let mut trials: Vec<Trial> = faults
        .map(|(family, fault)| {
            let name = format!("{}::{}", family.name, fault.name);
            Trial::test(name, || {
                fault.check();
                Ok(())
            })
            .with_ignored_flag(fault.length == Length::Long)
        })
        .collect();
    trials.push(Trial::test("the_page_is_up_to_date", || {
        page::check(FAMILIES);
        Ok(())
    }));
    libtest_mimic::run(&arguments(), trials).exit_code()
}
