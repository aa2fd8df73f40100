//! `plimsoll engines`: what can be measured here.

use crate::context::Context;
use crate::exit::{Exit, Fault};
use crate::output;
use clap::{ArgMatches, Command};
use engine::{ENGINES, EngineDef};
use model::Family;
use std::fmt::Write as _;

const NAME_WIDTH: usize = 15;
const INDENT: usize = NAME_WIDTH + 1;

/// The command.
pub fn clap() -> Command {
    Command::new("engines").about("List the engines with their versions and the workloads that they support")
}

/// Does it.
pub fn execute(_: &ArgMatches, context: &Context) -> Result<Exit, Fault> {
    match context.json {
        true => output::json::print(
            &serde_json::json!({"schema": "plimsoll.engines/1", "engines": ENGINES.iter().map(|def| json(def)).collect::<Vec<_>>()}),
        ),
        false => output::print(&ENGINES.iter().map(|def| text(def, context.width())).collect::<String>()),
    }
    Ok(Exit::Done)
}

/// The workloads that `def` can perform.
pub fn workloads_of(def: &EngineDef) -> Vec<&'static str> {
    let performs =
        |w: &&&workload::WorkloadDef| w.entry.families.iter().any(|family| def.entry.families.contains(family));
    workload::WORKLOADS.iter().filter(performs).map(|w| w.entry.name).collect()
}

fn text(def: &EngineDef, width: usize) -> String {
    let version = (def.version)();
    let mut lines: Vec<String> = Vec::new();
    lines.extend(report::terminal::wrap(def.entry.help, width.saturating_sub(INDENT)));
    lines.push(format!("workloads: {}", workloads_of(def).join(", ")));
    if let Err(missing) = &version {
        lines.extend(report::terminal::wrap(missing, width.saturating_sub(INDENT)));
    }
    let mut text = format!("{:NAME_WIDTH$} {}\n", def.entry.name, shown_version(def, version.ok()));
    for line in &lines {
        let _ = writeln!(text, "{:INDENT$}{line}", "");
    }
    text
}

/// The version of files is that of the kernel; what only pretends to work has none.
fn shown_version(def: &EngineDef, version: Option<String>) -> String {
    match version {
        _ if def.scripted => "-".to_owned(),
        None => "not available".to_owned(),
        Some(kernel) if def.entry.families == [Family::Io] => format!("Linux {kernel}"),
        Some(version) => version,
    }
}

fn json(def: &EngineDef) -> serde_json::Value {
    let version = (def.version)();
    serde_json::json!({
        "engine": def.entry.name, "help": def.entry.help, "version": version.as_ref().ok(), "missing": version.as_ref().err(),
        "workloads": workloads_of(def),
    })
}
