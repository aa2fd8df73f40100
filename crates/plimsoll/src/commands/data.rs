//! `plimsoll data make|list|verify|drop`: data sets that stay, for runs with `--data NAME`.
//!
//! In: the flags of a workload, or a plan; the name of a set. Out: a set in the directory that is measured, or on a server; what sets there
//! are. Limits: the crate `runner` makes and removes them; each command works in one directory or on one server.

use super::{plans, workload};
use crate::command_line::command_line;
use crate::context::Context;
use crate::exit::{Exit, Fault};
use crate::flags::{self, SET_NAME};
use crate::output::progress::{NotesOnly, ProgressDisplay};
use crate::output::{self, shell_word};
use crate::signals;
use ::workload::{WORKLOADS, WorkloadDef};
use clap::{Arg, ArgMatches, Command};
use load::Stop;
use model::{Bytes, DataSet, Family, FoundSet, ParamKind, Plan, SET_NAMES, SetState, Trial, is_set_name};
use runner::{RunEvent, RunObserver, SetPlace, SetRequest};
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

/// Flags that make no difference to the data.
const NOT_USEFUL: [&str; 6] = ["data_set", "print-plan", "no-report", "strict", "details", "metrics"];

pub fn clap() -> Command {
    let named = |command: Command| command.arg(Arg::new("name").value_name("NAME").required(true).help("Data set"));
    let placed = |command: Command| {
        let server = Arg::new("server").long("engine").value_name("URL");
        command
            .arg(flags::directory().help("Directory on the disk to measure, in which the data sets are"))
            .arg(server.help("Server with the data sets, such as `mysql://user@host/` [default: they are in --dir]"))
    };
    Command::new("data")
        .about("Data sets that stay: make one once, and use it in many runs with --data NAME")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .disable_help_subcommand(true)
        .subcommands([
            make(),
            placed(Command::new("list")).about("List the data sets"),
            placed(named(Command::new("verify"))).about("Check that a data set is as it was made, and count its rows"),
            placed(named(Command::new("drop"))).about("Remove a data set"),
        ])
}

fn make() -> Command {
    let name = || Arg::new(SET_NAME).long("name").value_name("NAME").required(true);
    let name = || name().help("Name of the data set: small letters, digits, `_` and `-`");
    let hidden = |command: Command| {
        let useful: Vec<&str> = NOT_USEFUL.into_iter().filter(|flag| has_flag(&command, flag)).collect();
        useful.into_iter().fold(command, |command, flag| command.mut_arg(flag, |flag| flag.hide(true)))
    };
    let workloads = WORKLOADS.iter().filter(|def| is_made_of_flags(def));
    let workloads = workloads.map(|def| hidden(workload::clap(def).arg(name())));
    let plan = Arg::new("plan").value_name("PLAN").required(true);
    let of_plan = Command::new("plan")
        .arg(plan.help("Plan file, or name of a built-in plan (`plimsoll plans`), whose points use one data set"))
        .arg(flags::directory())
        .arg(flags::wait())
        .arg(name())
        .about("The data that the points of a plan use");
    let of_plan = flags::with_common(flags::with_writes(of_plan), &flags::engine_entries());
    let of_plan = flags::with_scale(of_plan);
    Command::new("make")
        .about("Make a data set")
        .after_help("Example: plimsoll data make oltp --engine mariadb --tables 16 --table-rows 1000000 --name big")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand_value_name("WORKLOAD")
        .subcommand_help_heading("Workloads, and plans")
        .disable_help_subcommand(true)
        .subcommands(workloads.chain([hidden(of_plan)]))
}

fn has_flag(command: &Command, name: &str) -> bool {
    command.get_arguments().any(|argument| argument.get_id() == name)
}

/// Whether flags tell all about the data of a workload, and the workload does not measure how it is made.
fn is_made_of_flags(def: &WorkloadDef) -> bool {
    use ParamKind::{Recording, Steps, Tables, Variants};
    let is_database = def.entry.families.iter().any(|family| matches!(family, Family::Sql | Family::Kv));
    let tells_otherwise = |kind: &ParamKind| matches!(kind, Recording | Steps(_) | Tables { .. } | Variants);
    is_database && !def.entry.params.iter().any(|param| tells_otherwise(&param.kind))
}

pub fn execute(matches: &ArgMatches, context: &Context) -> Result<Exit, Fault> {
    let (command, matches) = matches.subcommand().expect("clap requires a command");
    if command == "make" {
        let (what, matches) = matches.subcommand().expect("clap requires a workload");
        return make_set(what, matches, context);
    }
    let dir = flags::options(matches).site.dir;
    host::safety::check_directory(&dir)?;
    let url = matches.get_one::<String>("server");
    let on_server = url.map(|url| trial_on(url, context)).transpose()?;
    let place = on_server.as_ref().map_or(SetPlace::Directory(&dir), SetPlace::Server);
    if command == "list" {
        return list(place, &dir, url, context);
    }
    let name = matches.get_one::<String>("name").expect("clap requires it");
    check_name(name)?;
    if command == "verify" {
        // The engine starts on a copy: what killed runs left takes room for it.
        let swept = host::data_dir::sweep_abandoned(&dir, host::privileged::volume::release_volume);
        swept.notes.iter().for_each(|note| context.note(note));
        let set = runner::verify_data_set(name, place, &dir)?;
        say(&set, format!("data set `{name}` is as it was made: {}", amount(&set)), context);
    } else {
        runner::drop_data_set(name, place)?;
        if context.json {
            output::json::print(&serde_json::json!({"schema": "plimsoll.data/1", "dropped": name}));
        } else {
            output::print(&format!("removed data set `{name}`\n"));
        }
    }
    Ok(Exit::Done)
}

fn check_name(name: &str) -> Result<(), Fault> {
    if is_set_name(name) {
        return Ok(());
    }
    Err(Fault::usage(format!("a data set cannot be called `{}`; use {SET_NAMES}", name.escape_debug())))
}

/// A trial on the server at `url`.
fn trial_on(url: &str, context: &Context) -> Result<Trial, Fault> {
    let flags = plan::Overrides::from_flags(vec![("engine".to_owned(), url.to_owned())]);
    let mut plan = plan::from_flags("oltp", &flags, 1.0, &context.catalogue)?;
    let trial = plan.trials.remove(0);
    if engine::engine_of(&trial).server_sets.is_none() {
        return Err(Fault::usage(format!(
            "--engine: `{}` is no URL of a server; the data sets of other engines are in --dir",
            url.escape_debug()
        )));
    }
    engine::server::url::ask_for_passwords([&trial.target.params].into_iter())?;
    Ok(trial)
}

fn make_set(what: &str, matches: &ArgMatches, context: &Context) -> Result<Exit, Fault> {
    let name = matches.get_one::<String>(SET_NAME).expect("clap requires it");
    check_name(name)?;
    let plan = match WORKLOADS.iter().find(|def| def.entry.name == what) {
        Some(def) => workload::plan_of_flags(def, matches, &workload::PresetKeys(&[]), context)?.0,
        None => {
            let plan = matches.get_one::<String>("plan").expect("clap requires it");
            plans::load(plan, &flags::overrides(matches)?, flags::scale(matches)?, context)?
        }
    };
    let plan = of_one_set(plan)?;
    let site = flags::options(matches).site;
    let _held = runner::check_before_run(&plan, &site, &context.catalogue, &mut NotesOnly(context))?;
    let stop = Arc::new(Stop::default());
    signals::listen(&stop)?;
    let mut progress = ProgressDisplay::start(&plan, &[], &stop, context);
    let command = command_line();
    let request = SetRequest { name, trial: &plan.trials[0], command: &command };
    let made = runner::make_data_set(request, &site.dir, &stop, &mut progress);
    progress.on(RunEvent::SessionEnded);
    drop(progress);
    let set = made?;
    say(
        &set,
        format!("made data set `{name}` in {:.1} s: {}; use it with `--data {name}`", set.seconds, amount(&set)),
        context,
    );
    Ok(Exit::Done)
}

/// `plan` with its first trial only; refused if its points need different data.
fn of_one_set(mut plan: Plan) -> Result<Plan, Fault> {
    if plan.trials.iter().any(|trial| trial.data_set.is_some()) {
        return Err(Fault::usage("--data-set names a set that is there; what is made has its name by --name"));
    }
    // Repeats have seeds of their own, and use one set.
    let shape = |trial: &Trial| engine::set_fit::shape(&Trial { seed: 0, ..trial.clone() });
    let first = shape(&plan.trials[0]);
    for trial in &plan.trials {
        let other = shape(trial);
        if let Some((key, value)) = first.iter().find(|(key, value)| other.get(*key) != Some(*value)) {
            let others = other.get(key).map_or("none", String::as_str);
            return Err(Fault::usage(format!(
                "the points need different data: {key} = `{value}` and `{others}`; make a data set for each"
            )));
        }
    }
    plan.trials.truncate(1);
    Ok(plan)
}

/// `1,000,000 rows, 225 MB`.
fn amount(set: &DataSet) -> String {
    let rows = set.rows.map_or("no rows".to_owned(), |rows| format!("{} rows", report::with_separators(rows)));
    format!("{rows}, {}", Bytes(set.bytes))
}

/// Says `text` of `set`; with `--json` what the set is.
fn say(set: &DataSet, text: String, context: &Context) {
    if context.json {
        output::json::print(&serde_json::json!({"schema": "plimsoll.data/1", "set": set}));
    } else {
        output::print(&format!("{text}\n"));
    }
}

fn list(place: SetPlace<'_>, dir: &Path, url: Option<&String>, context: &Context) -> Result<Exit, Fault> {
    let sets = runner::data_sets(place)?;
    if context.json {
        let all: Vec<serde_json::Value> = sets.iter().map(json).collect();
        output::json::print(&serde_json::json!({"schema": "plimsoll.data/1", "sets": all}));
    } else if sets.is_empty() {
        let place = url.map_or_else(|| output::shown(dir), |url| url.escape_debug().to_string());
        output::print(&format!("no data sets in `{place}`; `plimsoll data make WORKLOAD --name NAME` makes one\n"));
    } else {
        output::print(&text(&sets));
    }
    Ok(Exit::Done)
}

fn text(sets: &[FoundSet]) -> String {
    let width = sets.iter().map(|found| found.name.len()).max().unwrap_or_default();
    let mut text = String::new();
    for found in sets {
        let _ = writeln!(text, "{:width$}  {}", found.name, about(found));
    }
    text
}

/// `oltp on sqlite, 1,000,000 rows, 225 MB, made 2026-11-29 03:05:00 UTC, last used ...`. What is not complete says what to do.
fn about(found: &FoundSet) -> String {
    let state = &found.state;
    let mut parts = Vec::new();
    if let Some(set) = &found.set {
        let what = format!("{} on {}", set.trial.workload.name, set.trial.target.engine);
        let is_complete = *state == SetState::Complete;
        parts.push(if is_complete { format!("{what}, {}", amount(set)) } else { what });
        parts.push(format!("made {} UTC", set.made));
    }
    parts.extend(found.used.iter().map(|when| format!("last used {when}")));
    parts.extend(found.changed.iter().map(|when| format!("changed by a run on {when}")));
    match state {
        SetState::Complete => {}
        SetState::Damaged(why) => parts.push(format!("damaged: {why}")),
        SetState::InUse => parts.push(state.as_str().to_owned()),
        SetState::Making => {
            parts.push(format!("{}: `plimsoll data drop {}` removes it", state.as_str(), shell_word(&found.name)));
        }
    }
    report::terminal_text(&parts.join(", "))
}

fn json(found: &FoundSet) -> serde_json::Value {
    let why = if let SetState::Damaged(why) = &found.state { Some(why) } else { None };
    serde_json::json!({
        "name": found.name, "state": found.state.as_str(), "why": why, "set": found.set, "used": found.used,
        "changed": found.changed,
    })
}
