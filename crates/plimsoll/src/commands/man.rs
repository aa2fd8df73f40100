//! `plimsoll man [COMMAND]`: the man page of plimsoll or of one command, on stdout, or those of all commands as files.

use crate::cli;
use crate::context::Context;
use crate::exit::{Exit, Fault};
use clap::{Arg, ArgMatches, Command};
use std::path::Path;

pub fn clap() -> Command {
    let name = Arg::new("command").value_name("COMMAND").help("Command [default: the page of plimsoll itself]");
    let into = Arg::new("into").long("into").value_name("DIR").conflicts_with("command");
    Command::new("man")
        .arg(name)
        .arg(into.help("Write the pages of plimsoll and of all its commands into this directory"))
        .about("Print the man page (try `plimsoll man | man -l -`)")
}

pub fn execute(matches: &ArgMatches, context: &Context) -> Result<Exit, Fault> {
    context.refuse_json("man")?;
    match matches.get_one::<String>("into") {
        Some(dir) => write_pages(Path::new(dir)),
        None => print_page(matches.get_one::<String>("command")),
    }
}

fn write_pages(dir: &Path) -> Result<Exit, Fault> {
    host::safety::check_links(dir)?;
    clap_mangen::generate_to(cli::command(), dir).map_err(|error| {
        let why = model::system_words(&error);
        Fault::new(Exit::Internal, format!("cannot write man pages into `{}`: {why}", host::error::shown(dir)))
    })?;
    Ok(Exit::Done)
}

fn print_page(name: Option<&String>) -> Result<Exit, Fault> {
    let mut all = cli::command();
    all.build();
    let page = match name {
        None => all,
        Some(name) => {
            let found = all.find_subcommand(name).cloned();
            found.ok_or_else(|| Fault::usage(format!("there is no command `{}`", name.escape_debug())))?
        }
    };
    let mut text = Vec::new();
    clap_mangen::Man::new(page).render(&mut text).map_err(|error| {
        Fault::new(Exit::Internal, format!("cannot make the man page: {}", model::system_words(&error)))
    })?;
    crate::output::print(&String::from_utf8_lossy(&text));
    Ok(Exit::Done)
}
