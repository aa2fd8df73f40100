//! The command line: the definition for clap, and its errors in one line.
//!
//! In: the commands. Out: clap's command.
//! Limits: values of the flags that are keys of a plan are text here; the crate `plan` parses and checks them.

use crate::commands;
use crate::exit::{Exit, Fault};
use crate::other_tools;
use clap::builder::FalseyValueParser;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, ArgMatches, Command};
use std::path::Path;
use std::process::ExitCode;

/// Takes server programs from the directory of `--engine-bin`. It is no key of a plan: a plan names folders as `NAME@DIR`.
pub fn look_first(matches: &ArgMatches) -> Result<(), Fault> {
    if let Some((_, below)) = matches.subcommand() {
        return look_first(below);
    }
    let dir = matches.get_one::<String>("engine-bin").filter(|dir| !dir.is_empty());
    Ok(dir.map_or(Ok(()), |dir| engine::server::program::use_folder(Path::new(dir)))?)
}

/// The complete command line.
pub fn command() -> Command {
    let json = Arg::new("json").long("json").action(ArgAction::SetTrue).global(true);
    let quiet = Arg::new("quiet").long("quiet").short('q').action(ArgAction::SetTrue).global(true);
    let plain = Arg::new("plain").long("plain").action(ArgAction::SetTrue).global(true);
    let plain = plain.env("PLIMSOLL_PLAIN").hide_env(true).value_parser(FalseyValueParser::new());
    Command::new("plimsoll")
        .version(env!("CARGO_PKG_VERSION"))
        .about("A benchmark laboratory for databases and the storage under them:\nhow much load can the system carry, how steadily, and what is the bottleneck?")
        .after_help("Start with `plimsoll quick`: at most a minute, no root, no server.")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .max_term_width(100)
        .arg(json.help("Print one JSON object on stdout and nothing else (refused by export, completions and man)"))
        .arg(quiet.help("Print no progress messages; errors, results and findings are still printed"))
        .arg(plain.help("Print progress as a line each second, on a terminal and elsewhere"))
        // Every command takes it, so that it can be before the command; those that start servers list it.
        .arg(crate::flags::engine_bin().global(true).hide(true))
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
            let arguments = words();
            let text = one_line(error, &arguments);
            if arguments.iter().any(|argument| argument == "--json") {
                crate::output::json::error(&crate::exit::Fault::usage(&text));
            }
            crate::context::tell(format_args!("plimsoll: {text}"));
            Exit::Usage.into()
        }
    }
}

/// `fault` with the command line in our words if it was refused for values of another program.
pub fn in_our_words(fault: Fault) -> Fault {
    match fault.exit {
        Exit::Usage => Fault { text: other_tools::with_our_values(fault.text, &words()), ..fault },
        _ => fault,
    }
}

/// The words of the command line. One that is not UTF-8 must not end in a panic.
fn words() -> Vec<String> {
    std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect()
}

/// What clap found wrong with `arguments`, in one line: the argument, its value, what to use instead.
fn one_line(error: &clap::Error, arguments: &[String]) -> String {
    let text_of = |kind| error.get(kind).and_then(first_text);
    let typed = text_of(ContextKind::InvalidArg).or(text_of(ContextKind::InvalidSubcommand)).unwrap_or_default();
    let (name, value) = (bare(&typed), text_of(ContextKind::InvalidValue).unwrap_or_default());
    match error.kind() {
        ErrorKind::UnknownArgument => {
            let advice =
                as_setting(&typed, arguments).or_else(|| as_json(&typed)).or_else(|| after_workload(&typed, arguments));
            let advice = advice.or_else(|| other_tools::advice(&typed, arguments));
            format!("unknown argument `{typed}`{}", advice.unwrap_or_else(|| meant_or_help(error, arguments)))
        }
        ErrorKind::InvalidSubcommand => {
            let advice = other_tools::advice(&typed, arguments);
            format!("unknown command `{typed}`{}", advice.unwrap_or_else(|| meant_or_help(error, arguments)))
        }
        ErrorKind::MissingSubcommand => format!("a command is missing{}", see_help(arguments)),
        ErrorKind::MissingRequiredArgument => format!("{name} is missing{}", see_help(arguments)),
        ErrorKind::InvalidValue if value.is_empty() => format!("{name} needs a value"),
        ErrorKind::InvalidValue => format!("{name} cannot be `{value}`{}", possible_values(error)),
        ErrorKind::ValueValidation => format!("{name} cannot be `{value}`; {}", source_text(error)),
        ErrorKind::TooManyValues => format!("{name} takes no value"),
        ErrorKind::ArgumentConflict => conflict(&name, text_of(ContextKind::PriorArg)),
        ErrorKind::InvalidUtf8 => "an argument is not UTF-8; use names and paths in UTF-8".to_owned(),
        _ => error.to_string().lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned(),
    }
}

/// `--resume` of `--resume <RUN>`, `PLAN` of `[PLAN]`.
fn bare(argument: &str) -> String {
    let name = argument.split(' ').next().unwrap_or_default();
    name.trim_matches(['<', '>', '[', ']', '.', ',']).to_owned()
}

/// How to set the parameter that `typed` names as a flag, if the command runs a plan: there it has no flag.
fn as_setting(typed: &str, arguments: &[String]) -> Option<String> {
    let key = typed.strip_prefix("--")?.replace('-', "_");
    let runs_plan = arguments
        .iter()
        .skip(1)
        .find(|word| !word.starts_with('-'))
        .is_some_and(|word| word == "run" || word == "plan");
    let catalogue = runner::catalogue();
    let mut defs = catalogue.engines.iter().chain(&catalogue.workloads).flat_map(|entry| entry.params);
    let after = arguments.iter().skip_while(|word| *word != typed).nth(1).filter(|word| !word.starts_with('-'));
    let value = typed.split_once('=').map(|(_, value)| value).or(after.map(String::as_str)).unwrap_or("VALUE");
    (runs_plan && defs.any(|def| def.name == key)).then(|| format!("; a plan takes it by `--set {key}={value}`"))
}

/// That the flags of `limit` follow its workload, if `typed` is before it.
fn after_workload(typed: &str, arguments: &[String]) -> Option<String> {
    let (command, rest) = arguments.get(1..)?.split_first()?;
    let at = rest.iter().position(|word| word.split('=').next() == typed.split('=').next())?;
    let workload =
        rest.iter().skip(at).position(|word| workload::find(word).is_some()).filter(|_| command == "limit")? + at;
    let flags =
        rest.iter().enumerate().filter(|(nth, _)| *nth != workload).map(|(_, word)| crate::output::shell_word(word));
    let line: Vec<_> = flags.collect();
    Some(format!("; the workload comes first: plimsoll limit {} {}", rest[workload], line.join(" ")))
}

/// What prints in another format, if `typed` asks for one as many programs do.
fn as_json(typed: &str) -> Option<String> {
    let asks = ["--format", "--output", "-o"].contains(&typed.split('=').next().unwrap_or_default());
    asks.then(|| "; `--json` prints JSON, and `plimsoll export RUN` prints CSV or JSON lines".to_owned())
}

fn meant_or_help(error: &clap::Error, arguments: &[String]) -> String {
    let suggested = [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand, ContextKind::SuggestedValue];
    let meant = suggested.into_iter().find_map(|kind| error.get(kind).and_then(first_text));
    meant.map_or_else(|| see_help(arguments), |meant| format!("; did you mean `{meant}`?"))
}

fn possible_values(error: &clap::Error) -> String {
    error.get(ContextKind::ValidValue).map_or(String::new(), |valid| format!("; use one of {valid}"))
}

/// The message of our own parser of the value.
fn source_text(error: &clap::Error) -> String {
    std::error::Error::source(error).map_or(String::new(), ToString::to_string)
}

fn conflict(name: &str, other: Option<String>) -> String {
    match other.map(|other| bare(&other)) {
        Some(other) if other != name => format!("{name} and {other} exclude each other; leave one out"),
        _ => format!("{name} is given twice; give it once"),
    }
}

/// Where to find help: on the command in `arguments`, if there is one.
fn see_help(arguments: &[String]) -> String {
    let typed = arguments.iter().skip(1).find(|word| !word.starts_with('-'));
    let known = commands::all();
    match typed.filter(|typed| known.iter().any(|command| command.clap().get_name() == typed.as_str())) {
        Some(command) => format!("; see `plimsoll {command} --help`"),
        None => "; see `plimsoll --help`".to_owned(),
    }
}

fn first_text(value: &ContextValue) -> Option<String> {
    match value {
        ContextValue::String(text) => Some(text.clone()),
        ContextValue::Strings(texts) => texts.first().cloned(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_commands_that_start_servers_list_the_directory_of_their_programs_and_all_take_it() {
        let mut all = command();
        all.build();
        let mut lists = |name: &str| {
            let one = all.find_subcommand_mut(name).expect("a command");
            one.render_long_help().to_string().contains("--engine-bin")
        };
        assert!(["run", "plan", "insert", "oltp"].into_iter().all(&mut lists));
        assert!(!["quick", "file", "report", "list", "show", "disk", "explain"].into_iter().any(&mut lists));
        for arguments in [["--engine-bin", "d", "oltp"], ["oltp", "--engine-bin", "d"], ["list", "--engine-bin", "d"]] {
            let matches = command().try_get_matches_from([&["plimsoll"][..], &arguments].concat()).expect("accepted");
            assert_eq!(matches.get_one::<String>("engine-bin").map(String::as_str), Some("d"), "{arguments:?}");
        }
    }

    #[test]
    fn what_clap_refuses_is_told_in_words_of_our_own() {
        for (arguments, expected) in [
            (&["run", "quick", "--resume", "last"][..], "PLAN and --resume exclude each other; leave one out"),
            (&["file", "--strict=yes"], "--strict takes no value"),
            (
                &["file", "--destroy", "foo"],
                "--destroy cannot be `foo`; use DEVICE=SERIAL, such as `/dev/sdb=S3Z8NB0K`",
            ),
            (&["completions", "tcsh"], "SHELL cannot be `tcsh`; use one of bash, elvish, fish, powershell, zsh"),
            (&["export", "last", "--format", "xml"], "--format cannot be `xml`; use one of csv, jsonl"),
            (&["file", "--clients"], "--clients needs a value"),
            (&["file", "--clients", "1", "--clients", "2"], "--clients is given twice; give it once"),
            (&["file", "--clientz", "1"], "unknown argument `--clientz`; did you mean `--clients`?"),
            (
                &["run", "quick", "--allocator", "jemalloc"],
                "unknown argument `--allocator`; a plan takes it by `--set allocator=jemalloc`",
            ),
            (
                &["show", "last", "--format", "json"],
                "unknown argument `--format`; `--json` prints JSON, and `plimsoll export RUN` prints CSV or JSON lines",
            ),
            (
                &["limit", "--slo", "p99<9ms", "oltp", "--clients", "8"],
                "unknown argument `--slo`; the workload comes first: plimsoll limit oltp --slo 'p99<9ms' --clients 8",
            ),
            (&["quik"], "unknown command `quik`; did you mean `quick`?"),
            (&["run"], "PLAN is missing; see `plimsoll run --help`"),
            (&["file", "more"], "unknown argument `more`; see `plimsoll file --help`"),
            (&["--json"], "a command is missing; see `plimsoll --help`"),
        ] {
            let arguments: Vec<String> = [&["plimsoll"], arguments].concat().into_iter().map(String::from).collect();
            let error = command().try_get_matches_from(&arguments).unwrap_err();
            assert_eq!(one_line(&error, &arguments), expected, "{arguments:?}: {:?}", error.kind());
        }
    }
}
