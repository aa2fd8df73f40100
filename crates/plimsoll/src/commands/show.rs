//! `plimsoll show RUN`: a recorded run on the terminal.

use crate::cli::Context;
use crate::exit::{Exit, Fault};
use crate::output;
use clap::{Arg, ArgMatches, Command};
use std::path::Path;

/// The command.
pub fn clap() -> Command {
    let run = Arg::new("run").value_name("RUN").required(true).help("A run file");
    Command::new("show").arg(run).about("Show a recorded run: its points, findings and verdict")
}

/// Does it.
pub fn execute(matches: &ArgMatches, context: &Context) -> Result<Exit, Fault> {
    let path = Path::new(matches.get_one::<String>("run").expect("required"));
    let run = store::read(path)?;
    let analysis = analysis::analyse(&run);
    match context.json {
        true => output::json::print(&output::json::run(&analysis, &run, path, None)),
        false => output::print(&report::terminal::summary(&analysis, context.width(), context.colour())),
    }
    Ok(Exit::Done)
}
