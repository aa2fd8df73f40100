//! plimsoll: how much load does it carry, how steadily, and what holds it back?
//!
//! In: the command line. Out: data on stdout, everything else on stderr, and an exit code that scripts can rely on.
//! Limits: wiring only. Each command is one file in `commands/`; the crate `runner` measures.

mod cli;
mod commands;
mod exit;
mod flags;
mod output;
mod signals;

use exit::{Exit, Fault};
use std::process::ExitCode;

fn main() -> ExitCode {
    let matches = match cli::command().try_get_matches() {
        Ok(matches) => matches,
        Err(error) => return cli::refuse(&error),
    };
    let context = cli::Context::new(&matches);
    let (name, arguments) = matches.subcommand().expect("clap requires a command");
    let done = cli::look_first(arguments).and_then(|()| commands::find(name).execute(arguments, &context));
    let exit = done.unwrap_or_else(|fault| tell(&fault, &context));
    match output::broken() {
        Some(why) if exit == Exit::Done => {
            output::say(format_args!("plimsoll: cannot write the output: {why}"));
            Exit::Internal.into()
        }
        _ => exit.into(),
    }
}

/// Says what went wrong: one line on stderr, or with `--json` the error object on stdout.
fn tell(fault: &Fault, context: &cli::Context) -> Exit {
    if context.json && !fault.told {
        output::json::error(fault);
    }
    crate::output::say(format_args!("plimsoll: {}", fault.text));
    fault.exit
}
