//! The command line: the definition for clap, and its errors in one line.
//!
//! In: the commands. Out: clap's command.
//! Limits: values of the flags that are keys of a plan are text here; the crate `plan` parses and checks them.

use crate::commands;
use crate::exit::{Exit, Fault};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, ArgMatches, Command};
use std::path::Path;
use std::process::ExitCode;

/// Looks for the programs of servers in the directory of `--engine-bin` first. It is no key of a plan, because where they are
/// installed is a matter of this machine and not of the experiment.
pub fn look_first(matches: &ArgMatches) -> Result<(), Fault> {
    let dir = matches.get_one::<String>("engine-bin").filter(|dir| !dir.is_empty());
    Ok(dir.map_or(Ok(()), |dir| engine::server::program::look_first_in(Path::new(dir)))?)
}

/// The whole command line.
pub fn command() -> Command {
    let json = Arg::new("json").long("json").action(ArgAction::SetTrue).global(true);
    let quiet = Arg::new("quiet").long("quiet").short('q').action(ArgAction::SetTrue).global(true);
    let engine_bin =
        Arg::new("engine-bin").long("engine-bin").value_name("DIR").env("PLIMSOLL_ENGINE_BIN").global(true);
    Command::new("plimsoll")
        .version(env!("CARGO_PKG_VERSION"))
        .about("A benchmark laboratory for databases and the storage under them:\nhow much load can the system carry, how steadily, and what is the bottleneck?")
        .after_help("Start with `plimsoll quick`: 60 seconds, no root, no server.")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .max_term_width(100)
        .arg(json.help("Print one JSON object on stdout and nothing else"))
        .arg(quiet.help("Print no progress and no notes"))
        .arg(engine_bin.hide_env_values(true).help("Directory to search first for server programs (mariadbd, postgres)"))
        .subcommands(commands::all().into_iter().map(|command| command.clap()))
}

/// Prints help and version as clap has them, and anything wrong as one line with exit code 2.
pub fn refuse(error: &clap::Error) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let _ = error.print(); // a closed pipe is no reason to complain
            Exit::Done.into()
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = error.print();
            Exit::Usage.into()
        }
        _ => {
            let text = one_line(error);
            if std::env::args().any(|argument| argument == "--json") {
                crate::output::json::error(&crate::exit::Fault::usage(&text));
            }
            crate::output::say(format_args!("plimsoll: {text}"));
            Exit::Usage.into()
        }
    }
}

/// What clap found wrong: where, the value, what was probably meant.
fn one_line(error: &clap::Error) -> String {
    let get = |kind| error.get(kind).and_then(first_text);
    let wrong = get(ContextKind::InvalidArg).or(get(ContextKind::InvalidSubcommand)).unwrap_or_default();
    let wrong = wrong.split(' ').next().unwrap_or_default().to_owned();
    let meant = [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand, ContextKind::SuggestedValue];
    let meant = meant.into_iter().find_map(get).map_or(String::new(), |meant| format!("; did you mean `{meant}`?"));
    match error.kind() {
        ErrorKind::UnknownArgument => format!("unknown argument `{wrong}`{meant}{}", see_help(&meant)),
        ErrorKind::InvalidSubcommand => format!("unknown command `{wrong}`{meant}{}", see_help(&meant)),
        ErrorKind::InvalidValue if get(ContextKind::InvalidValue).is_some_and(|value| value.is_empty()) => {
            format!("`{wrong}` needs a value")
        }
        ErrorKind::InvalidValue => {
            let value = get(ContextKind::InvalidValue).unwrap_or_default();
            let valid =
                error.get(ContextKind::ValidValue).map_or(String::new(), |valid| format!("; use one of {valid}"));
            let more = if valid.is_empty() { meant } else { valid };
            format!("`{wrong}` cannot be `{value}`{more}")
        }
        ErrorKind::MissingRequiredArgument => format!("`{wrong}` is missing{}", see_help("")),
        _ => error.to_string().lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned(),
    }
}

fn see_help(meant: &str) -> &'static str {
    if meant.is_empty() { "; see `plimsoll --help` and `plimsoll COMMAND --help`" } else { "" }
}

fn first_text(value: &ContextValue) -> Option<String> {
    match value {
        ContextValue::String(text) => Some(text.clone()),
        ContextValue::Strings(texts) => texts.first().cloned(),
        _ => None,
    }
}
