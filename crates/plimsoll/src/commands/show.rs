//! `plimsoll show RUN`: a recorded run on the terminal.

use super::list;
use crate::context::Context;
use crate::exit::{Exit, Fault};
use crate::flags::{self, StatedMachine};
use crate::output;
use clap::{ArgMatches, Command};

pub fn clap() -> Command {
    flags::with_stated_machine(list::run_arguments(Command::new("show")))
        .about("Show a recorded run: its points, findings and verdict")
}

pub fn execute(matches: &ArgMatches, context: &Context) -> Result<Exit, Fault> {
    let path = list::run_file(matches)?;
    let mut run = store::read(&path)?;
    StatedMachine::from_flags(matches)?.state(&mut run.meta);
    let analysis = analysis::analyse(&run);
    if context.json {
        output::json::print(&output::json::run(&analysis, &run, &path, None))
    } else {
        output::print(&report::terminal::summary(&analysis, context.width(), context.colour()))
    }
    Ok(Exit::Done)
}
