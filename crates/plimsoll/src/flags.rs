//! The flags of every command that measures, made from the declarations of common keys and parameters.
//!
//! In: declarations. Out: clap arguments, and back: overrides for the plan, options of the run.
//! Limits: values stay text; `plan` reads them and knows the flag's name for its message.

use crate::exit::Fault;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};
use host::device::DestroyConsent;
use model::{Entry, ParamDef, ParamKind};
use plan::Overrides;
use runner::RunSite;
use std::path::{Path, PathBuf};

/// What a run needs in addition to its plan.
pub struct Options {
    /// Where it is measured and recorded.
    pub site: RunSite,
    /// Whether to write the report.
    pub report: bool,
    /// Whether an invalid point makes the exit code 5.
    pub strict: bool,
}

/// The directory of run files, if --runs is not given.
pub const RUNS: &str = "plimsoll-runs";
/// The directory to measure, if --dir is not given.
pub const DIR: &str = ".";

const COMMON: &str = "Load and plan";
const OUTPUT: &str = "Output";

/// Adds one flag for each key that every sweep has, `--set` and `--destroy`.
pub fn with_common(command: Command) -> Command {
    let set = Arg::new("set").long("set").value_name("KEY=VALUE").action(ArgAction::Append).help_heading(COMMON);
    let common = plan::DEFAULTS.iter().filter(|key| key.name != "workload");
    let command = command.args(common.map(|key| flag(key.name, key.help, key.default, COMMON)));
    command.arg(set.help("Set a key of the plan; overrides the flag of the same name")).arg(destroy())
}

/// `--destroy`. It is no environment variable and no key of a plan, so that you allow it each time.
fn destroy() -> Arg {
    let destroy = Arg::new("destroy").long("destroy").value_name("DEV=SERIAL").action(ArgAction::Append);
    let destroy = destroy
        .value_parser(|text: &str| DestroyConsent::parse(text).ok_or("use DEVICE=SERIAL, such as `/dev/sdb=S3Z8NB0K`"));
    destroy
        .help_heading(COMMON)
        .help("Allow a block device given by --path to be overwritten: device and serial number")
}

/// Adds one flag for each parameter of `entry` that is not there yet, under a heading such as `engine sqlite`.
pub fn with_params(command: Command, what: &str, entry: &Entry) -> Command {
    let heading = format!("Parameters of {what} {}", entry.name);
    let is_flag = |def: &&ParamDef| !matches!(def.kind, ParamKind::Statements { .. } | ParamKind::Variables);
    let new: Vec<&ParamDef> = entry.params.iter().filter(is_flag).filter(|def| !has(&command, def.name)).collect();
    command.args(new.into_iter().map(|def| {
        let words = match def.kind {
            ParamKind::OneOf(words) | ParamKind::Steps(words) => format!(" ({})", words.join(", ")),
            ParamKind::Access => format!(" ({})", forms().join(", ")),
            _ => String::new(),
        };
        let flag = flag(def.name, &format!("{}{words}", def.help), shown_default(def), &heading);
        match def.kind {
            // Several are the rule: `--step l.i0,l.i1` reads as well in the plural.
            ParamKind::Steps(_) => flag.visible_alias(format!("{}s", def.name)),
            _ => flag,
        }
    }))
}

/// The default of `def`, as help shows it.
pub fn shown_default(def: &ParamDef) -> &'static str {
    if matches!(def.kind, ParamKind::Steps(_)) { "all, in this order" } else { def.default }
}

/// How the distributions are written.
fn forms() -> Vec<String> {
    workload::distribution::DISTRIBUTIONS.iter().map(|def| def.entry.form()).collect()
}

/// Adds `--scale`.
pub fn with_scale(command: Command) -> Command {
    let scale = Arg::new("scale")
        .long("scale")
        .value_name("FACTOR")
        .default_value("1")
        .env("PLIMSOLL_SCALE")
        .allow_hyphen_values(true);
    command.arg(scale.help_heading(COMMON).help(
        "Multiply rows, partitions, and the sizes of files, caches, logs and memory_limit by this factor, such as 0.01",
    ))
}

/// Adds the flags that say where results go.
pub fn with_output(command: Command) -> Command {
    let no_report = Arg::new("no-report").long("no-report").action(ArgAction::SetTrue);
    let strict = Arg::new("strict").long("strict").action(ArgAction::SetTrue);
    command
        .arg(runs("Directory for run files and reports").help_heading(OUTPUT))
        .arg(no_report.help_heading(OUTPUT).help("Write the run file, but no report"))
        .arg(strict.help_heading(OUTPUT).help("Exit with code 5 if a point is invalid"))
}

/// `--runs`: the directory of run files.
pub fn runs(help: &'static str) -> Arg {
    Arg::new("runs").long("runs").value_name("DIR").default_value(RUNS).env("PLIMSOLL_RUNS").help(help)
}

/// The value of `--runs`.
pub fn runs_dir(matches: &ArgMatches) -> &Path {
    Path::new(matches.get_one::<String>("runs").expect("it has a default"))
}

/// `--dir`: what is measured.
pub fn directory() -> Arg {
    Arg::new("dir")
        .long("dir")
        .value_name("DIR")
        .default_value(DIR)
        .env("PLIMSOLL_DIR")
        .help("Directory to measure; data is created in it")
}

/// The factor of `--scale`.
pub fn scale(matches: &ArgMatches) -> Result<f64, Fault> {
    let text = matches.get_one::<String>("scale").expect("it has a default");
    text.parse().map_err(|_| Fault::usage(format!("--scale: `{text}` is not a number; use one such as `0.01`")))
}

/// Where to measure and where results go. Of a command without output flags, their defaults.
pub fn options(matches: &ArgMatches) -> Options {
    let path = |name, default: &str| {
        let given = matches.try_get_one::<String>(name).ok().flatten();
        PathBuf::from(given.map_or(default, String::as_str))
    };
    let set = |name| matches.try_get_one::<bool>(name).ok().flatten() == Some(&true);
    Options {
        site: RunSite {
            dir: path("dir", DIR),
            runs: path("runs", RUNS),
            destroy: matches.try_get_many("destroy").ok().flatten().map_or(Vec::new(), |all| all.cloned().collect()),
        },
        report: !set("no-report"),
        strict: set("strict"),
    }
}

/// What the flags, the environment and `--set` say, the strongest last.
pub fn overrides(matches: &ArgMatches) -> Result<Overrides, Fault> {
    let given = |id: &str| matches.value_source(id).is_some_and(|source| source != ValueSource::DefaultValue);
    let keys = matches.ids().map(|id| id.as_str()).filter(|id| is_key(id) && given(id));
    let mut all: Vec<(String, String)> =
        keys.filter_map(|id| Some((id.to_owned(), matches.try_get_one::<String>(id).ok()??.clone()))).collect();
    for text in matches.get_many::<String>("set").into_iter().flatten() {
        let pair = text.split_once('=').map(|(key, value)| (key.trim().to_owned(), value.to_owned()));
        all.push(pair.ok_or_else(|| Fault::usage(format!("--set: `{}` is not KEY=VALUE", text.escape_debug())))?);
    }
    Ok(Overrides(all))
}

/// Refuses keys of a plan on the command line together with a flag that names a plan whose values are kept.
pub fn no_keys(matches: &ArgMatches, beside: &str) -> Result<(), Fault> {
    let written = |id: &&str| matches.value_source(id) == Some(ValueSource::CommandLine);
    let mut keys = matches.ids().map(|id| id.as_str()).filter(|id| is_key(id) || ["scale", "set"].contains(id));
    keys.find(written).map_or(Ok(()), |id| {
        let flag = id.replace('_', "-");
        Err(Fault::usage(format!(
            "--{flag}: a resumed run keeps its plan; leave the flag out together with --{beside}"
        )))
    })
}

/// Whether the argument of that name is a key of a plan.
fn is_key(id: &str) -> bool {
    const OTHERS: [&str; 13] = [
        "engine-bin",
        "plan",
        "resume",
        "dir",
        "runs",
        "scale",
        "set",
        "json",
        "quiet",
        "no-report",
        "strict",
        "print-plan",
        "destroy",
    ];
    !OTHERS.contains(&id)
}

fn has(command: &Command, name: &str) -> bool {
    command.get_arguments().any(|argument| argument.get_id() == name)
}

/// `table_rows` becomes `--table-rows` and PLIMSOLL_TABLE_ROWS.
fn flag(name: &'static str, help: &str, default: &str, heading: &str) -> Arg {
    let default = if default.is_empty() { String::new() } else { format!(" [default: {default}]") };
    Arg::new(name)
        .long(name.replace('_', "-"))
        .env(format!("PLIMSOLL_{}", name.to_uppercase()))
        .hide_env(true)
        .value_name("VALUE")
        .allow_hyphen_values(true)
        .help_heading(heading.to_owned())
        .help(format!("{help}{default}"))
}
