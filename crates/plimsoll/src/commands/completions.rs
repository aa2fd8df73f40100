//! `plimsoll completions SHELL`: completions for a shell, on stdout.

use crate::cli;
use crate::context::Context;
use crate::exit::{Exit, Fault};
use clap::{Arg, ArgMatches, Command, value_parser};
use clap_complete::Shell;

pub fn clap() -> Command {
    let shell = Arg::new("shell").value_name("SHELL").required(true).value_parser(value_parser!(Shell));
    Command::new("completions").arg(shell).about("Print shell completions")
}

pub fn execute(matches: &ArgMatches, context: &Context) -> Result<Exit, Fault> {
    context.refuse_json("completions")?;
    let shell = *matches.get_one::<Shell>("shell").expect("clap requires it");
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut cli::command(), "plimsoll", &mut text);
    crate::output::print(&String::from_utf8_lossy(&text));
    Ok(Exit::Done)
}
