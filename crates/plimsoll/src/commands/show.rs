//! `plimsoll show RUN`: a recorded run on the terminal.

use super::list;
use crate::context::Context;
use crate::exit::{Exit, Fault};
use crate::flags::{self, StatedMachine};
use crate::output;
use clap::{ArgMatches, Command};

/// The command.
pub fn clap() -> Command {
    flags::with_stated_machine(list::run_arguments(Command::new("show")))
        .about("Show a recorded run: its points, findings and verdict")
}

/// Does it.
pub fn execute(matches: &ArgMatches, context: &Context) -> Result<Exit, Fault> {
    let path = list::run_file(matches)?;
    let mut run = store::read(&path)?;
    StatedMachine::from_flags(matches)?.state(&mut run.meta);
    let analysis = analysis::analyse(&run);
    match context.json {
        true => output::json::print(&output::json::run(&analysis, &run, &path, None)),
        false => output::print(&report::terminal::summary(&analysis, context.width(), context.colour())),
    }
    Ok(Exit::Done)
}
