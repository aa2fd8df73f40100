//! `plimsoll man [COMMAND]`: the man page of plimsoll or of one command, on stdout.

use crate::cli;
use crate::context::Context;
use crate::exit::{Exit, Fault};
use clap::{Arg, ArgMatches, Command};

/// The command.
pub fn clap() -> Command {
    let name = Arg::new("command").value_name("COMMAND").help("Command [default: the page of plimsoll itself]");
    Command::new("man").arg(name).about("Print the man page (try `plimsoll man | man -l -`)")
}

/// Does it.
pub fn execute(matches: &ArgMatches, context: &Context) -> Result<Exit, Fault> {
    context.refuse_json("man")?;
    let mut all = cli::command();
    all.build();
    let page = match matches.get_one::<String>("command") {
        None => all,
        Some(name) => {
            let found = all.find_subcommand(name).cloned();
            found.ok_or_else(|| Fault::usage(format!("there is no command `{}`", name.escape_debug())))?
        }
    };
    let mut text = Vec::new();
    let cannot =
        |error| Fault::new(Exit::Internal, format!("cannot make the man page: {}", model::system_words(&error)));
    clap_mangen::Man::new(page).render(&mut text).map_err(cannot)?;
    crate::output::print(&String::from_utf8_lossy(&text));
    Ok(Exit::Done)
}
