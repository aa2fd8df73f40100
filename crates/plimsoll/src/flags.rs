//! The flags of every command that measures, made from the declarations of common keys and parameters.
//!
//! In: declarations. Out: clap arguments, and back: overrides for the plan, options of the run.
//! Limits: values stay text; `plan` reads them and knows the flag's name for its message.

use crate::bus_flags::{self, BusFlags};
use crate::exit::Fault;
use crate::metrics;
use crate::relaunch::CLIENT_ALLOCATOR;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};
use host::device::DestroyConsent;
use host::lock::IfHeld;
use host::user_command::UserCommand;
use model::{Catalogue, Entry, HourlyCost, LinkSpeed, ParamDef, ParamKind, Plan, RunMeta};
use plan::{CommonKey, CommonKind, Overrides};
use report::wording::list::capital;
use runner::{RunSite, SystemChangeConsent, WriteConsent};
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// What a run needs in addition to its plan.
pub struct Options {
    /// Where it is measured and recorded.
    pub site: RunSite,
    /// Whether to write the report.
    pub report: bool,
    /// Whether to print what is behind the answer.
    pub details: bool,
    /// Whether an invalid point makes the exit code 5.
    pub strict: bool,
    /// Where to serve metrics while it is measured.
    pub metrics: Option<SocketAddr>,
    /// The bus, if several hosts measure.
    pub bus: Option<BusFlags>,
}

/// The directory of run files, if --runs is not given.
pub const RUNS: &str = "plimsoll-runs";
/// The directory to measure, if --dir is not given.
pub const DIR: &str = ".";

/// The flag that allows settings of the kernel to be changed.
const SYSTEM_CHANGE: &str = "allow-system-change";
/// The flag that allows statements of a plan to change what plimsoll did not make. Workloads on tables that are there have a parameter of that
/// name, too, whose flag is the same.
const ALLOW_WRITES: &str = "allow-writes";
const WRITES_PARAM: &str = "allow_writes";
/// The flag by which another plimsoll is awaited. An agent has a flag `--wait`, too, which takes a time.
const WAIT: &str = "wait-for-others";
/// The files that `compress` takes by position. `files` is a key of plans.
pub const COMPRESSED_FILES: &str = "compressed-files";
/// The name of a data set that is made, by `--name`.
pub const SET_NAME: &str = "set-name";
/// What the name of an argument begins with that is the value of a parameter without its flag. The name of the parameter follows.
const BARE: &str = "value-of-";
const COMMON: &str = "Load and plan";
const OUTPUT: &str = "Output";

/// Adds one flag for each key that every sweep has, `--set` and `--destroy`. The variables of `engines` can be set.
pub fn with_common(command: Command, engines: &[Entry]) -> Command {
    let set = Arg::new("set").long("set").value_name("KEY=VALUE").action(ArgAction::Append).help_heading(COMMON);
    let common = plan::DEFAULTS.iter().filter(|key| key.name != "workload");
    let command = command.args(common.map(common_flag));
    let has_servers = engines.iter().filter_map(|entry| engine::find(entry.name)).any(|def| def.programs.is_some());
    let command = command.args(has_servers.then(engine_bin)).arg(set.help(set_help(engines)));
    command.arg(destroy()).arg(system_change()).arg(restore())
}

/// The flag of a common key. One that is on or off may be given alone, and takes its value behind `=` only: the next argument is no value.
fn common_flag(key: &CommonKey) -> Arg {
    let flag = flag(key.name, &common_value_name(key), key.help, default_words(key), COMMON);
    match key.kind {
        CommonKind::Truth => flag.num_args(0..=1).require_equals(true).default_missing_value("true"),
        CommonKind::DataSet => flag.visible_alias("data"),
        _ => flag,
    }
}

pub fn engine_bin() -> Arg {
    Arg::new("engine-bin")
        .long("engine-bin")
        .value_name("DIR")
        .env("PLIMSOLL_ENGINE_BIN")
        .hide_env_values(true)
        .help_heading(COMMON)
        .help(
            "Directory with the programs of private servers (mariadbd, mysqld, postgres), for engines that are not given as \
            `NAME@DIR` \
             [default: those installed on this machine]",
        )
}

/// Adds the flags by which the user of this machine allows what changes it.
pub fn with_consents(command: Command) -> Command {
    with_writes(command.arg(destroy()).arg(system_change()))
}

/// The help of `--set`, which names the variables of `engines`: they have no flags of their own.
fn set_help(engines: &[Entry]) -> String {
    let mut variables: Vec<&str> = Vec::new();
    let defs = engines.iter().flat_map(|entry| entry.params).filter(|def| def.kind == ParamKind::Variables);
    for name in defs.map(|def| def.name) {
        if !variables.contains(&name) {
            variables.push(name);
        }
    }
    let more = if variables.is_empty() {
        String::new()
    } else {
        format!(", or any variable of an engine ({}), such as `--set postgres.work_mem=16MB`", variables.join(", "))
    };
    format!("Set a key of the plan{more}; overrides the flag of the same name")
}

/// Shows `text` as the default of the flag `key`, in place of its own.
pub fn with_usual(command: Command, key: &'static str, text: &str) -> Command {
    command.mut_arg(key, |flag| {
        let help = flag.get_help().map(ToString::to_string).unwrap_or_default();
        let own = help.rfind(" [default: ").unwrap_or(help.len());
        flag.help(format!("{} [default: {text}]", &help[..own]))
    })
}

/// All engines, as plans name them.
pub fn engine_entries() -> Vec<Entry> {
    engine::ENGINES.iter().map(|engine| engine.entry).collect()
}

/// `--restore`. It is no environment variable and no key of a plan: a plan of a stranger starts no program.
fn restore() -> Arg {
    Arg::new("restore")
        .long("restore")
        .value_name("COMMAND")
        .help_heading(COMMON)
        .value_parser(UserCommand::parse)
        .help(
            "Command that brings the server of a replay of statements back to what its data was, run before each point, once the server has shown \
            that it is not the recorded one, without a shell, as `/usr/local/bin/restore copy1`; the variable RESTORE_URL tells it which server; it \
            is recorded with the command line, so write no password in it",
        )
}

/// `--destroy`. It is no environment variable and no key of a plan, so that you allow it each time.
fn destroy() -> Arg {
    let destroy = Arg::new("destroy").long("destroy").value_name("DEVICE=SERIAL").action(ArgAction::Append);
    let destroy = destroy
        .value_parser(|text: &str| DestroyConsent::parse(text).ok_or("use DEVICE=SERIAL, such as `/dev/sdb=S3Z8NB0K`"));
    destroy
        .help_heading(COMMON)
        .help(
            "Allow a block device given by --path to be overwritten: the device and its serial number or WWID (without it the \
            error \
             shows which; a loop device has the name of its file instead, another device without either its size)",
        )
}

/// `--allow-system-change`. It is no environment variable and no key of a plan, so that you allow it each time.
fn system_change() -> Arg {
    let allow = Arg::new(SYSTEM_CHANGE).long(SYSTEM_CHANGE).action(ArgAction::SetTrue).help_heading(COMMON);
    allow.help(
        "Allow settings of the kernel to be changed for all processes while this runs (`smt`, `turbo`, `scheduler`); they are put back \
         at the end, and after a kill at the next start",
    )
}

/// Adds one flag for each parameter of the workload `entry`, and an argument for the value that may be given without its flag.
pub fn with_workload_params(command: Command, entry: &Entry) -> Command {
    let bare = entry.params.iter().filter(|def| def.is_positional());
    let command = command.args(bare.map(bare_value));
    let defs = entry.params.iter().filter(|def| has_flag(def));
    command.args(defs.map(|def| {
        let help = format!("{}{}", def.help, values_text(&[def.help], &value_lists(&[(entry.name, def)])));
        let flag = flag(def.name, &value_name(def), &help, shown_default(def), "Workload parameters");
        match def.kind {
            // Several are the rule: `--step l.i0,l.i1` reads as well in the plural.
            ParamKind::Steps(_) => flag.visible_alias(format!("{}s", def.name)),
            // The guides, and other programs, call what it holds a distribution.
            ParamKind::Access => flag.alias("distribution"),
            _ if def.is_positional() => flag.help(format!("The same as {}", value_name(def))),
            _ => flag,
        }
    }))
}

/// The value of a parameter without its flag.
fn bare_value(def: &ParamDef) -> Arg {
    Arg::new(format!("{BARE}{}", def.name)).value_name(value_name(def)).help(capital(def.help))
}

/// Adds one flag for each parameter of `engines` that is not there yet. Its help names the engines that have it.
pub fn with_engine_params(command: Command, engines: &[Entry]) -> Command {
    let mut flags: Vec<Arg> = Vec::new();
    for def in engines.iter().flat_map(|entry| entry.params).filter(|def| has_flag(def)) {
        let is_there = has(&command, def.name) || flags.iter().any(|flag| flag.get_id() == def.name);
        if !is_there {
            let declared: Vec<(&'static str, &'static ParamDef)> = declarations(def.name, engines).collect();
            let (value, help) = (shared_value_name(&declared), engine_help(&declared, engines));
            flags.push(flag(def.name, &value, &help, shown_default(def), "Engine parameters"));
        }
    }
    command.args(flags)
}

/// Whether the parameter is a flag: statements and variables are written otherwise.
fn has_flag(def: &ParamDef) -> bool {
    use ParamKind::{Background, DataSets, Statements, Tables, Variables, Variants};
    !matches!(def.kind, Statements { .. } | Background { .. } | Variables | Variants | DataSets | Tables { .. })
}

/// The default of a common key as help shows it, or what happens without a value.
fn default_words(key: &CommonKey) -> &'static str {
    if key.default.is_empty() { key.without } else { key.default }
}

/// What to type for a common key: `N`, `TIME`, `stop|count`.
fn common_value_name(key: &CommonKey) -> String {
    match key.kind {
        CommonKind::Name | CommonKind::Path => key.name.to_uppercase(),
        CommonKind::DataSet => "NAME".to_owned(),
        CommonKind::FileSystem => "FS".to_owned(),
        CommonKind::Size { .. } => "SIZE".to_owned(),
        CommonKind::Limit => "LIMIT".to_owned(),
        CommonKind::Cpus => "CPUS".to_owned(),
        CommonKind::Objective => "OBJECTIVE".to_owned(),
        CommonKind::Price => "AMOUNT/h".to_owned(),
        CommonKind::LinkSpeed => "SPEED".to_owned(),
        CommonKind::Int { .. } | CommonKind::IntOrNone { .. } | CommonKind::RateOrNone { .. } => "N".to_owned(),
        CommonKind::Duration { .. } => "TIME".to_owned(),
        CommonKind::OneOf(words) => words.join("|"),
        CommonKind::Ending => "time|sure[:PERCENT]|steady".to_owned(),
        CommonKind::Truth => "true|false".to_owned(),
        CommonKind::Arms => "KEY=A,B".to_owned(),
    }
}

/// What to type for a parameter: `SIZE`, `true|false`; its words if they are short.
pub fn value_name(def: &ParamDef) -> String {
    match def.kind {
        ParamKind::Bool => "true|false".to_owned(),
        ParamKind::Int { .. } => "N".to_owned(),
        ParamKind::Float { .. } => "NUMBER".to_owned(),
        ParamKind::Bytes { .. } => "SIZE".to_owned(),
        ParamKind::Duration => "TIME".to_owned(),
        ParamKind::OneOf(words) if are_short(words) => words.join("|"),
        ParamKind::Steps(_) => "STEP,...".to_owned(),
        ParamKind::Leveled(_) => format!("{},...", def.name.to_uppercase()),
        ParamKind::Access => "DISTRIBUTION".to_owned(),
        // `--password-file <FILE>`, `--url <URL>`
        ParamKind::Path => def.name.rsplit('_').next().unwrap_or_default().to_uppercase(),
        ParamKind::ConfigFile => "FILE".to_owned(),
        ParamKind::Name => "NAME".to_owned(),
        ParamKind::Recording => "FILE".to_owned(),
        ParamKind::Speed => "N|max".to_owned(),
        ParamKind::OneOf(_) | ParamKind::Variables | ParamKind::Statements { .. } => "VALUE".to_owned(),
        ParamKind::Variants | ParamKind::DataSets => "VALUE".to_owned(),
        ParamKind::Tables { .. } | ParamKind::Background { .. } => "VALUE".to_owned(),
    }
}

/// The value name of a parameter that several engines have; `VALUE` if they take different words.
fn shared_value_name(declared: &[(&str, &ParamDef)]) -> String {
    let names: BTreeSet<String> = declared.iter().map(|(_, def)| value_name(def)).collect();
    match names.len() {
        1 => names.into_iter().collect(),
        _ => "VALUE".to_owned(),
    }
}

fn are_short(words: &[&str]) -> bool {
    const CHARS_MAX: usize = 36;
    words.join("|").len() <= CHARS_MAX
}

/// The help of a parameter of engines: its text once, or for each group of engines that have a text of their own. Clauses with which all
/// of these begin stand once.
fn engine_help(declared: &[(&'static str, &'static ParamDef)], engines: &[Entry]) -> String {
    let mut texts: Vec<&str> = Vec::new();
    for (_, def) in declared {
        if !texts.contains(&def.help) {
            texts.push(def.help);
        }
    }
    let shared = shared_clauses(&texts);
    let help: Vec<String> = texts
        .iter()
        .map(|text| {
            let own: Vec<&'static str> =
                declared.iter().filter(|(_, def)| def.help == *text).map(|(engine, _)| *engine).collect();
            format!("{} [{}]", &text[shared.len()..], takers(&own, engines))
        })
        .collect();
    shared.to_owned() + &help.join("; ") + &values_text(&texts, &value_lists(declared))
}

/// The clauses, each with its semicolon or colon, with which all `texts` begin; nothing of a single text.
fn shared_clauses<'t>(texts: &[&'t str]) -> &'t str {
    let [first, others @ ..] = texts else { return "" };
    let mut ends =
        first.match_indices([';', ':']).map(|(at, _)| at + 2).filter(|end| first.get(end - 1..*end) == Some(" "));
    ends.rfind(|end| !others.is_empty() && others.iter().all(|other| other.starts_with(&first[..*end])))
        .map_or("", |end| &first[..end])
}

/// ` [values: a, b]`, unless the name of the value lists them or all `texts` explain each in backticks.
fn values_text(texts: &[&str], lists: &[(&str, Vec<String>)]) -> String {
    let Some((_, most)) = lists.iter().max_by_key(|(_, words)| words.len()) else { return String::new() };
    if most.iter().all(|word| texts.iter().all(|text| text.contains(&format!("`{word}`")))) {
        return String::new();
    }
    let fewer = lists.iter().filter(|(_, words)| words != most);
    let fewer: String = fewer.map(|(engine, words)| format!("; {engine}: {}", words.join(", "))).collect();
    format!(" [values: {}{fewer}]", most.join(", "))
}

/// The words that each declaration takes, if the name of the value does not list them.
fn value_lists<'e>(declared: &[(&'e str, &ParamDef)]) -> Vec<(&'e str, Vec<String>)> {
    let is_listed = !shared_value_name(declared).contains('|');
    let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let list = |(engine, def): &(&'e str, &ParamDef)| match def.kind {
        ParamKind::OneOf(words) | ParamKind::Steps(words) => Some((*engine, owned(words))),
        ParamKind::Leveled(names) => Some((*engine, names.iter().map(ToString::to_string).collect())),
        ParamKind::Access => Some((*engine, forms())),
        _ => None,
    };
    declared.iter().filter_map(list).filter(|_| is_listed).collect()
}

/// The declarations of the parameter `name`, each with its engine.
fn declarations<'e>(
    name: &'e str,
    engines: &'e [Entry],
) -> impl Iterator<Item = (&'static str, &'static ParamDef)> + 'e {
    engines.iter().filter_map(move |entry| Some((entry.name, entry.params.iter().find(|def| def.name == name)?)))
}

/// The engines in `has_it`: `mariadb` for all of `mariadb:innodb` and `mariadb:rocksdb`.
fn takers(has_it: &[&'static str], engines: &[Entry]) -> String {
    let server = |engine: &'static str| engine.split_once(':').map_or(engine, |(server, _)| server);
    let is_whole =
        |of: &str| engines.iter().filter(|entry| server(entry.name) == of).all(|entry| has_it.contains(&entry.name));
    let mut names: Vec<&'static str> = Vec::new();
    for engine in has_it.iter().copied() {
        let shown = if is_whole(server(engine)) { server(engine) } else { engine };
        if !names.contains(&shown) {
            names.push(shown);
        }
    }
    names.join(", ")
}

/// The default of `def`, as help shows it.
pub fn shown_default(def: &ParamDef) -> &'static str {
    match (def.kind, def.default) {
        (ParamKind::Steps(_), _) => "all",
        (ParamKind::Duration, "0") => "0s",
        (_, default) => default,
    }
}

/// How the distributions are written.
fn forms() -> Vec<String> {
    workload::distribution::DISTRIBUTIONS.iter().map(|def| def.entry.form()).collect()
}

pub fn with_scale(command: Command) -> Command {
    let scale = Arg::new("scale")
        .long("scale")
        .value_name("FACTOR")
        .default_value("1")
        .env("PLIMSOLL_SCALE")
        .hide_env_values(true)
        .allow_hyphen_values(true);
    command.arg(scale.help_heading(COMMON).help(
        "Multiply rows, partitions, and the sizes of files, caches, logs and memory_limit by this factor, such as 0.01",
    ))
}

pub fn with_quick_look(command: Command) -> Command {
    let quick_look = Arg::new(QUICK_LOOK).long(QUICK_LOOK).action(ArgAction::SetTrue).help_heading(COMMON);
    command.arg(quick_look.conflicts_with_all(["time", "repeat", "budget"]).help(
        "Each point once and for 3 s at most: shows the direction only, and concludes nothing (its numbers are indicative)",
    ))
}

/// `plan`, or its short form if `--quick-look` is given. That of a plan file which goes on until it is sure is short as well; who asks for both on
/// one command line would get only one of them.
pub fn quick_look(plan: Plan, matches: &ArgMatches, catalogue: &Catalogue) -> Result<Plan, Fault> {
    if !matches.get_flag(QUICK_LOOK) {
        return Ok(plan);
    }
    let given = overrides(matches)?;
    let until = [(given.asks_to_be_sure(), "--until sure"), (given.asks_to_be_steady(), "--until steady")];
    let set = [
        (given.has("time"), "--set time"),
        (given.has("repeat"), "--set repeat"),
        (given.has("budget"), "--set budget"),
    ];
    if let Some((_, other)) = until.into_iter().chain(set).find(|(is_given, _)| *is_given) {
        return Err(Fault::usage(format!("--{QUICK_LOOK} and {other} exclude each other; leave one out")));
    }
    Ok(plan::quick_look(plan, catalogue))
}

const QUICK_LOOK: &str = "quick-look";

/// `--client-allocator`. It is no key of a plan: one process measures all points.
fn client_allocator() -> Arg {
    let flag = Arg::new(CLIENT_ALLOCATOR).long(CLIENT_ALLOCATOR).value_name("system|jemalloc|tcmalloc");
    let flag = flag.env("PLIMSOLL_CLIENT_ALLOCATOR").hide_env_values(true).help_heading(COMMON);
    flag.help("Memory allocator of plimsoll itself: of its clients, and of engines inside it (sqlite, fjall); one for a run [default: as it was started]")
}

/// `--allow-writes`, if no parameter of `command` is called so. It is no key of a plan: who passes a plan on would allow it to themselves.
pub fn with_writes(command: Command) -> Command {
    let is_there = has(&command, WRITES_PARAM);
    let flag = Arg::new(ALLOW_WRITES).long(ALLOW_WRITES).action(ArgAction::SetTrue).help_heading(COMMON);
    let help = "Allow statements of the plan to change what plimsoll did not make: your tables, other schemas, the server itself \
                (`plimsoll plan` lists them); a plan that says `allow_writes = true` needs it, too";
    command.args((!is_there).then(|| flag.help(help)))
}

/// Whether the command line or the environment allows it, and not only a plan.
fn allows_writes(matches: &ArgMatches) -> bool {
    let flag = matches.try_get_one::<bool>(ALLOW_WRITES).ok().flatten() == Some(&true);
    let param = matches.try_get_one::<String>(WRITES_PARAM).ok().flatten();
    let param = param.is_some_and(|text| text.split(',').any(|word| word.trim() == "true"));
    let set = matches.try_get_many::<String>("set").ok().flatten().into_iter().flatten();
    let is_set = |text: &String| {
        text.split_once('=').is_some_and(|(key, value)| key.trim() == WRITES_PARAM && value.trim() == "true")
    };
    flag || param || set.into_iter().any(is_set)
}

pub fn wait() -> Arg {
    let wait = Arg::new(WAIT).long("wait").action(ArgAction::SetTrue).help_heading(COMMON);
    wait.help(
        "If another plimsoll measures in the directory or on the server, or records the run, wait until it has finished [default: refuse, with exit code 3]",
    )
}

/// Adds the flags for results, the one for plimsoll's own allocator, and `--wait`.
pub fn with_output(command: Command) -> Command {
    let no_report = Arg::new("no-report").long("no-report").action(ArgAction::SetTrue);
    let strict = Arg::new("strict").long("strict").action(ArgAction::SetTrue);
    command
        .arg(client_allocator())
        .arg(wait())
        .arg(runs("Directory for run files and reports").help_heading(OUTPUT))
        .arg(details().help_heading(OUTPUT))
        .arg(no_report.help_heading(OUTPUT).help("Write the run file, but no report"))
        .arg(strict.help_heading(OUTPUT).help("Exit with code 5 if a point is invalid, or a search finds no rate"))
        .arg(metrics())
}

pub fn details() -> Arg {
    let details = Arg::new("details").long("details").action(ArgAction::SetTrue);
    details
        .help("Print what is behind the answer, too: tables of all points, what was found, and what limits each point")
}

fn metrics() -> Arg {
    let metrics = Arg::new("metrics").long("metrics").value_name("127.0.0.1:PORT").help_heading(OUTPUT);
    metrics.value_parser(metrics::parse_address).help(
        "While it is measured serve its numbers at http://127.0.0.1:PORT/metrics, for Prometheus (OpenMetrics); port 0 chooses one",
    )
}

/// `--runs`: the directory of run files.
pub fn runs(help: &'static str) -> Arg {
    Arg::new("runs")
        .long("runs")
        .value_name("DIR")
        .default_value(RUNS)
        .env("PLIMSOLL_RUNS")
        .hide_env_values(true)
        .help(help)
}

/// The value of `--runs`.
pub fn runs_dir(matches: &ArgMatches) -> &Path {
    Path::new(matches.get_one::<String>("runs").expect("it has a default"))
}

/// Adds to a command that shows recorded runs the flags that state what the machine is: `--price`, `--watts` and `--link`.
pub fn with_stated_machine(command: Command) -> Command {
    let keys = plan::DEFAULTS.iter().filter(|key| ["price", "watts", "link"].contains(&key.name));
    let flag = |key: &CommonKey| {
        let flag = Arg::new(key.name).long(key.name).value_name(common_value_name(key)).allow_hyphen_values(true);
        flag.help(format!("{} [default: as recorded]", capital(key.help)))
    };
    command.args(keys.map(flag))
}

/// What the flags of [`with_stated_machine`] state.
#[derive(Clone, Copy)]
pub struct StatedMachine {
    hourly: HourlyCost,
    link: Option<LinkSpeed>,
}

impl StatedMachine {
    /// As `matches` state it.
    pub fn from_flags(matches: &ArgMatches) -> Result<StatedMachine, Fault> {
        let text = |id| matches.get_one::<String>(id).map(String::as_str);
        let hourly = plan::hourly_cost(text("price"), text("watts"))?;
        Ok(StatedMachine { hourly, link: plan::link_speed(text("link"))? })
    }

    /// Puts it in place of what was stated when the run was recorded.
    pub fn state(self, meta: &mut RunMeta) {
        meta.state_cost(self.hourly);
        meta.state_link(self.link);
    }
}

/// `--dir`: a directory on the disk to measure.
pub fn directory() -> Arg {
    Arg::new("dir")
        .long("dir")
        .value_name("DIR")
        .default_value(DIR)
        .env("PLIMSOLL_DIR")
        .hide_env_values(true)
        .help("Directory on the disk to measure; data is created in it")
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
            system_changes: if set(SYSTEM_CHANGE) { SystemChangeConsent::Given } else { SystemChangeConsent::Refused },
            writes: if allows_writes(matches) { WriteConsent::Given } else { WriteConsent::Refused },
            if_held: if set(WAIT) { IfHeld::Wait } else { IfHeld::Refuse },
            restore: matches.try_get_one("restore").ok().flatten().cloned(),
        },
        report: !set("no-report"),
        details: set("details"),
        strict: set("strict"),
        metrics: matches.try_get_one("metrics").ok().flatten().copied(),
        bus: BusFlags::from_matches(matches),
    }
}

/// Keys and values from the flags, the environment and `--set`, the strongest last.
pub fn overrides(matches: &ArgMatches) -> Result<Overrides, Fault> {
    let given = |id: &str| matches.value_source(id).is_some_and(|source| source != ValueSource::DefaultValue);
    let keys = matches.ids().map(|id| id.as_str()).filter(|id| is_key(id) && given(id));
    let text_of = |id: &str| {
        let text = matches.try_get_one::<String>(id).ok()??;
        Some((key_of(matches, id, text), text.clone()))
    };
    let mut all = Overrides::from_flags(keys.filter_map(text_of).collect());
    if let Some((key, text)) = bare_text(matches)? {
        all.flag(key, text);
    }
    for text in matches.get_many::<String>("set").into_iter().flatten() {
        let (key, value) = text
            .split_once('=')
            .ok_or_else(|| Fault::usage(format!("--set: `{}` is not KEY=VALUE", text.escape_debug())))?;
        all.set(key.trim(), value);
    }
    Ok(all)
}

/// The parameter whose value was given without its flag, and the value, which is stronger than that of the environment.
fn bare_text(matches: &ArgMatches) -> Result<Option<(&str, &str)>, Fault> {
    let bare = matches.ids().map(|id| id.as_str()).find_map(|id| Some((id, id.strip_prefix(BARE)?)));
    let Some((id, key)) = bare else { return Ok(None) };
    let value = |id: &str| matches.get_one::<String>(id).map(String::as_str);
    let text = value(id).expect("an argument that is there has a value");
    let is_typed = matches.value_source(key) == Some(ValueSource::CommandLine);
    match value(key).filter(|other| is_typed && *other != text) {
        Some(other) => Err(Fault::usage(format!(
            "`{}` and `--{key} {}` are not the same; leave one out",
            text.escape_debug(),
            other.escape_debug()
        ))),
        None => Ok(Some((key, text))),
    }
}

/// The key that the flag `id` sets to `text`. `--hold` is the time for which a rate is held, unless it names connections or transactions.
fn key_of(matches: &ArgMatches, id: &str, text: &str) -> String {
    let has_held = || matches.try_contains_id(HELD).is_ok();
    if id == "hold" && has_held() && text.split(',').all(|word| model::HoldKind::from_word(word.trim()).is_some()) {
        HELD.to_owned()
    } else {
        typed_name(id)
    }
}

/// The parameter of what is held.
const HELD: &str = "held";

/// The name of the flag `id` as it was typed: a list of steps may be given by the plural, `--steps`, which clap does not tell.
fn typed_name(id: &str) -> String {
    let plural = format!("--{id}s");
    let is_plural = |argument: &str| argument == plural || argument.starts_with(&format!("{plural}="));
    let typed = std::env::args_os().any(|argument| argument.to_str().is_some_and(is_plural));
    if typed { format!("{id}s") } else { id.to_owned() }
}

/// Refuses keys of a plan on the command line together with the flag `other`, which names a plan whose values are kept.
pub fn no_keys(matches: &ArgMatches, other: &str) -> Result<(), Fault> {
    written_key(matches).map_or(Ok(()), |flag| {
        Err(Fault::usage(format!("--{flag}: a resumed run keeps its plan; leave the flag out together with --{other}")))
    })
}

/// The first flag on the command line that is a key of a plan, or changes one.
pub fn written_key(matches: &ArgMatches) -> Option<String> {
    let mut keys = matches.ids().map(|id| id.as_str()).filter(|id| is_key(id) || ["scale", "set"].contains(id));
    keys.find(|id| matches.value_source(id) == Some(ValueSource::CommandLine)).map(|id| id.replace('_', "-"))
}

/// `text` with the keys of plans written as flags of `command`: `` `--direct false` `` for ``direct = `false` ``.
pub fn in_flags(text: &str, command: &Command) -> String {
    const EQUALS: &str = " = `";
    let (mut written, mut rest) = (String::new(), text);
    while let Some(at) = rest.find(EQUALS) {
        let (before, after) = (&rest[..at], &rest[at + EQUALS.len()..]);
        let (others, key) =
            before.split_at(before.trim_end_matches(|c: char| c.is_ascii_alphanumeric() || c == '_').len());
        match after.split_once('`') {
            Some((value, more)) if is_key(key) && has(command, key) => {
                // A shell would split `512 MiB`.
                written += &format!("{others}`--{} {}`", key.replace('_', "-"), value.replace(' ', ""));
                rest = more;
            }
            _ => {
                written += &rest[..at + EQUALS.len()];
                rest = after;
            }
        }
    }
    advised_flags(&(written + rest), command)
}

/// `text` with the keys that it advises to use as flags of `command`: `` use `--clients` ``. The values that a key takes may be called as other
/// keys are, so a sentence that lists them stays.
fn advised_flags(text: &str, command: &Command) -> String {
    const ADVICE: [&str; 7] = ["use ", "set ", "needs ", "leave out ", "leave out one of ", "raise ", "use fewer "];
    const ALSO: [&str; 5] = [", ", " and ", " or ", ", and ", ", or "];
    if text.contains(" cannot be `") {
        return text.to_owned();
    }
    let (mut written, mut is_advised) = (String::new(), false);
    for (nth, part) in text.split('`').enumerate() {
        if nth > 0 {
            written.push('`');
        }
        let is_name = nth % 2 == 1;
        if is_name && is_advised && is_key(part) && has(command, part) {
            written += &format!("--{}", part.replace('_', "-"));
        } else {
            let goes_on =
                !is_name && (is_advised && ALSO.contains(&part) || ADVICE.iter().any(|verb| part.ends_with(verb)));
            is_advised = goes_on;
            written += part;
        }
    }
    written
}

/// Whether the argument of that name is a key of a plan.
fn is_key(id: &str) -> bool {
    const OTHERS: [&str; 24] = [
        SET_NAME,
        WAIT,
        ALLOW_WRITES,
        "ceiling",
        "metrics",
        "sql-statement",
        "sql-data",
        "engine-bin",
        CLIENT_ALLOCATOR,
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
        "restore",
        SYSTEM_CHANGE,
        COMPRESSED_FILES,
    ];
    !OTHERS.contains(&id) && !bus_flags::FLAGS.contains(&id) && !id.starts_with(BARE)
}

fn has(command: &Command, name: &str) -> bool {
    command.get_arguments().any(|argument| argument.get_id() == name)
}

/// `table_rows` becomes `--table-rows` and PLIMSOLL_TABLE_ROWS.
fn flag(name: &'static str, value: &str, help: &str, default: &str, heading: &str) -> Arg {
    let default = if default.is_empty() { String::new() } else { format!(" [default: {default}]") };
    Arg::new(name)
        .long(name.replace('_', "-"))
        .env(format!("PLIMSOLL_{}", name.to_uppercase()))
        .hide_env(true)
        .value_name(value.to_owned())
        .allow_hyphen_values(true)
        .help_heading(heading.to_owned())
        .help(format!("{}{default}", capital(help)))
}

#[cfg(test)]
mod tests {
    use crate::exit::Fault;
    use plan::Overrides;

    /// The help of the flag `name` of the command for a workload, in one line, with the name of its value.
    fn help_of(workload: &str, name: &str) -> (String, String) {
        let command = crate::commands::find(workload).clap();
        let flag = command.get_arguments().find(|flag| flag.get_id() == name).expect("the workload has it");
        let value = flag.get_value_names().and_then(|names| names.first()).map(ToString::to_string);
        (value.unwrap_or_default(), flag.get_help().map(ToString::to_string).unwrap_or_default())
    }

    #[test]
    fn a_flag_shows_its_values_once_and_begins_with_a_capital() {
        let (value, help) = help_of("file", "cursor");
        assert_eq!(value, "region|shared");
        assert!(help.starts_with("Sequential modes: ") && help.ends_with("as in sysbench [default: region]"), "{help}");
        let (value, help) = help_of("oltp", "mix");
        assert!(value == "VALUE" && help.contains("[values: point_select, read_only, "), "{value}: {help}");
        let (value, help) = help_of("insert", "step");
        assert!(value == "STEP,..." && !help.contains("[values"), "{value}: {help}");
        assert_eq!(help_of("file", "stall").0, "TIME");
        assert!(help_of("file", "stall").1.contains("[default: 0s]"));
    }

    #[test]
    fn a_parameter_that_engines_explain_differently_has_each_text_with_its_engines() {
        let (value, help) = help_of("oltp", "cache");
        assert_eq!(value, "SIZE");
        assert!(help.contains("size of shared_buffers [postgres]"), "{help}");
        assert!(
            help.contains("size of the buffer pool (innodb_buffer_pool_size) [mariadb:innodb, mysql:innodb]"),
            "{help}"
        );
        let (value, help) = help_of("oltp", "isolation");
        assert!(
            value == "VALUE" && help.contains("; mariadb:rocksdb: default, read-committed, repeatable-read"),
            "{help}"
        );
    }

    #[test]
    fn clauses_that_all_engines_share_stand_once() {
        let (_, help) = help_of("oltp", "durability");
        assert_eq!(help.matches("after it is on disk").count(), 1, "{help}");
        assert!(
            help.contains(
                "; innodb_flush_log_at_trx_commit = 1, 2 or 0 [mariadb:innodb, mariadb:galera, mysql:innodb]; "
            ) && help.contains("in this order: PRAGMA"),
            "{help}"
        );
        assert_eq!(super::shared_clauses(&["a; b: c", "a; b: d"]), "a; b: ");
        assert_eq!([super::shared_clauses(&["a; b"]), super::shared_clauses(&["a; b", "a, c"])], ["", ""]);
    }

    /// What a command line without its first word gives.
    fn given(words: &[&str]) -> Result<Overrides, Fault> {
        let matches = crate::cli::command().try_get_matches_from([&["plimsoll"][..], words].concat());
        let matches = matches.expect("clap accepts it");
        let mut below = &matches;
        while let Some((_, next)) = below.subcommand() {
            below = next;
        }
        super::overrides(below)
    }

    #[test]
    fn a_recording_may_be_given_without_its_flag() {
        for (command, flag) in
            [(&["replay-sql"][..], "--log"), (&["limit", "replay-sql"], "--log"), (&["replay"], "--trace")]
        {
            let with = |words: &[&str]| given(&[command, words].concat()).map_err(|fault| fault.text);
            assert_eq!(with(&["a.log"]), with(&[flag, "a.log"]), "{command:?}");
            assert!(with(&["a.log", flag, "a.log"]).is_ok(), "{command:?}");
            let refused = with(&["a.log", flag, "b.log"]).expect_err("these are two files");
            assert_eq!(refused, format!("`a.log` and `{flag} b.log` are not the same; leave one out"));
        }
        let (value, help) = help_of("replay-sql", "value-of-log");
        assert!(value == "FILE" && help.starts_with("Log to replay, "), "{value}: {help}");
        assert_eq!(help_of("replay-sql", "log").1, "The same as FILE");
    }

    #[test]
    fn keys_in_a_message_are_written_as_flags() {
        let command = crate::commands::find("file").clap();
        let in_flags = |text| super::in_flags(text, &command);
        assert_eq!(
            in_flags("io = `mmap` goes through the page cache: use direct = `false`"),
            "`--io mmap` goes through the page cache: use `--direct false`"
        );
        assert_eq!(in_flags("memory_limit = `520 MiB` is small"), "`--memory-limit 520MiB` is small");
        let others = "`postgres.nosuch` = `1` and x = `y` stay, and so does direct = `open";
        assert_eq!(in_flags(others), others);
        assert_eq!(in_flags("for more at once use `clients`"), "for more at once use `--clients`");
        assert_eq!(in_flags("leave out `rate` or `think`: `rate`"), "leave out `--rate` or `--think`: `rate`");
        for values in ["--until cannot be `x`; use `time`, `steady`", "use `steady`, `time`"] {
            assert_eq!(in_flags(values), values);
        }
    }

    #[test]
    fn a_workload_names_its_own_default_engine() {
        assert_eq!(
            help_of("file", "engine"),
            ("ENGINE".into(), "Engine to benchmark: file, null [default: file]".into())
        );
        let oltp = help_of("oltp", "engine").1;
        assert!(oltp.starts_with("Engine to benchmark: sqlite, ") && oltp.ends_with(" [default: sqlite]"), "{oltp}");
        assert!(
            oltp.contains("mariadb:innodb, ") && oltp.contains(", or a URL (mysql://..., postgres://...)"),
            "{oltp}"
        );
    }
}
