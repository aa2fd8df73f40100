//! `plimsoll show RUN`: a recorded run on the terminal.

use super::{answer, list};
use crate::context::Context;
use crate::exit::{Exit, Fault};
use crate::flags::{self, StatedMachine};
use crate::output;
use clap::{ArgMatches, Command};

pub fn clap() -> Command {
    flags::with_stated_machine(list::run_arguments(Command::new("show")).arg(flags::details()))
        .about("Show the answer of a recorded run; with --details its points, findings and verdict, too")
}

pub fn execute(matches: &ArgMatches, context: &Context) -> Result<Exit, Fault> {
    let path = list::run_file(matches)?;
    let mut run = store::read(&path)?;
    StatedMachine::from_flags(matches)?.state(&mut run.meta);
    let analysis = analysis::analyse(&run);
    let page = answer::page_of(&path);
    if context.json {
        output::json::print(&output::json::run(&analysis, &run, &path, page.as_deref()))
    } else {
        answer::print(&analysis, &path, page.as_deref(), matches.get_flag("details"), context);
    }
    Ok(Exit::Done)
}
