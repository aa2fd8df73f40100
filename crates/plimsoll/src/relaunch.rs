//! `--client-allocator`: plimsoll itself with another memory allocator.
//!
//! In: the flag. Out: nothing if the allocator is loaded; else plimsoll starts again in the same process with the library preloaded.
//! Limits: one allocator for a run, because one process measures all points. It needs a dynamically linked plimsoll.

use crate::exit::{Exit, Fault};
use clap::ArgMatches;
use host::allocator::{ALLOCATORS, Allocator, preload_value};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// The name of the flag.
pub const CLIENT_ALLOCATOR: &str = "client-allocator";
/// Set in the environment of a plimsoll that was started again, so that it does not start a third time.
const RELAUNCHED: &str = "PLIMSOLL_RELAUNCHED";

/// Loads the allocator that the flag names, if it is not loaded.
pub fn load_allocator(matches: &ArgMatches) -> Result<(), Fault> {
    // Commands that measure nothing do not have the flag.
    let Some(text) = matches.try_get_one::<String>(CLIENT_ALLOCATOR).ok().flatten() else { return Ok(()) };
    let wanted = parse_allocator(text).map_err(Fault::usage)?;
    let loaded = loaded_here();
    if loaded == wanted {
        return Ok(());
    }
    if std::env::var_os(RELAUNCHED).is_some() {
        let text = format!("--{CLIENT_ALLOCATOR}: `{text}` was not loaded: plimsoll is not dynamically linked");
        return Err(Fault::new(Exit::Usage, text));
    }
    match wanted.find_library().map_err(|why| Fault::usage(format!("--{CLIENT_ALLOCATOR}: {why}")))? {
        Some(library) => Err(start_again(&library)),
        None => {
            let text = format!("is loaded by LD_PRELOAD; leave that out to use `{}`", wanted.as_str());
            Err(Fault::usage(format!("--{CLIENT_ALLOCATOR}: `{}` {text}", loaded.as_str())))
        }
    }
}

/// The allocator that this process has.
pub fn loaded_here() -> Allocator {
    Allocator::loaded_in(std::process::id()).map_or(Allocator::System, |(allocator, _)| allocator)
}

fn parse_allocator(text: &str) -> Result<Allocator, String> {
    if text.contains(',') {
        let why = "one plimsoll measures all points of a run; run the plan once for each";
        return Err(format!("--{CLIENT_ALLOCATOR} cannot be a list: {why}"));
    }
    Allocator::from_word(text).ok_or_else(|| {
        let (shown, hint) = (text.escape_debug(), plan::hint(text, ALLOCATORS));
        format!("--{CLIENT_ALLOCATOR} cannot be `{shown}`; use one of `{}`{hint}", ALLOCATORS.join("`, `"))
    })
}

/// Replaces this process by a plimsoll with the same arguments. Returns only if that fails.
fn start_again(library: &std::path::Path) -> Fault {
    let program = match std::env::current_exe() {
        Ok(program) => program,
        Err(error) => return cannot_start(&error),
    };
    let mut arguments = std::env::args_os();
    let mut command = Command::new(program);
    if let Some(name) = arguments.next() {
        command.arg0(name);
    }
    let preload = preload_value(library, std::env::var_os("LD_PRELOAD"));
    cannot_start(&command.args(arguments).env("LD_PRELOAD", preload).env(RELAUNCHED, "1").exec())
}

fn cannot_start(error: &std::io::Error) -> Fault {
    let why = host::error::system_words(error);
    Fault::new(Exit::Internal, format!("--{CLIENT_ALLOCATOR}: cannot start plimsoll again: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_allocator_is_taken_and_a_list_is_refused_with_the_reason() {
        assert_eq!(parse_allocator("jemalloc"), Ok(Allocator::Jemalloc));
        assert!(parse_allocator("system,jemalloc").unwrap_err().contains("cannot be a list: one plimsoll measures"));
        assert!(parse_allocator("jemaloc").unwrap_err().ends_with("did you mean `jemalloc`?"));
    }
}
