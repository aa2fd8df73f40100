//! plimsoll: how much load can the system carry, how steadily, and what is the bottleneck?
//!
//! In: the command line. Out: data on stdout, everything else on stderr, and an exit code that scripts can rely on.
//! Limits: wiring only. Each command is one file in `commands/`; the crate `runner` measures.

mod bus_flags;
mod cli;
mod command_line;
mod commands;
mod context;
#[cfg(test)]
mod document_tests;
mod exit;
mod flags;
mod foreseen_pairs;
mod foreseen_time;
mod metrics;
mod other_tools;
mod output;
mod read_run;
mod relaunch;
mod serve;
mod signals;

use exit::{Exit, Fault};
use rustix::fs::Mode;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::process::ExitCode;

/// The static program has no allocator of the system to use, and that of musl is slow with several threads.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    keep_files_from_others();
    keep_secrets_out_of_dumps();
    let matches = match cli::command().try_get_matches() {
        Ok(matches) => matches,
        Err(error) => return cli::refuse(&error),
    };
    let context = context::Context::new(&matches);
    let (name, arguments) = matches.subcommand().expect("clap requires a command");
    let ready = relaunch::load_allocator(arguments).and_then(|()| cli::look_first(arguments));
    let done = ready.and_then(|()| commands::find(name).execute(arguments, &context));
    let exit = done.unwrap_or_else(|fault| report_fault(&cli::in_our_words(fault), &context));
    match output::broken() {
        Some(why) if exit == Exit::Done => {
            output::say(format_args!("plimsoll: cannot write the output: {why}"));
            Exit::Internal.into()
        }
        _ => exit.into(),
    }
}

/// Others may not read what plimsoll makes, and its group may not write it, whatever the umask allows: files are 0640 at most,
/// directories 0750.
fn keep_files_from_others() {
    let others = Mode::WGRP | Mode::RWXO;
    let given = rustix::process::umask(others);
    rustix::process::umask(given | others);
}

/// A core dump has the memory of the process, passwords included. plimsoll writes none. As soon as it has a password or a key, it is closed as
/// well (`model::close_own_memory`): no other process of this user can look into it, and no program that collects dumps gets its memory.
/// Those in the environment it has from the start.
fn keep_secrets_out_of_dumps() {
    let limit = getrlimit(Resource::Core);
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), ..limit }); // 0 is always allowed
    let is_secret =
        |name: &str| name.starts_with("PLIMSOLL_") && ["PASSWORD", "KEY"].iter().any(|word| name.contains(word));
    if std::env::vars_os().any(|(name, _)| is_secret(&name.to_string_lossy())) {
        model::close_own_memory();
    }
}

/// Reports what went wrong: one line on stderr, or with `--json` the error object on stdout.
fn report_fault(fault: &Fault, context: &context::Context) -> Exit {
    if context.json && !fault.reported {
        output::json::error(fault);
    }
    context::tell(format_args!("plimsoll: {}", fault.text));
    fault.exit
}
