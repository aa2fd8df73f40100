//! `plimsoll engines`: what can be measured here.

use crate::context::Context;
use crate::exit::{Exit, Fault};
use crate::output;
use clap::{ArgMatches, Command};
use engine::{ENGINES, EngineDef};
use std::fmt::Write as _;

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
        false => output::print(&ENGINES.iter().map(|def| text(def)).collect::<String>()),
    }
    Ok(Exit::Done)
}

/// The workloads that `def` can perform.
pub fn workloads_of(def: &EngineDef) -> Vec<&'static str> {
    let performs =
        |w: &&&workload::WorkloadDef| w.entry.families.iter().any(|family| def.entry.families.contains(family));
    workload::WORKLOADS.iter().filter(performs).map(|w| w.entry.name).collect()
}

fn text(def: &EngineDef) -> String {
    let mut text = String::new();
    let version = (def.version)().unwrap_or_else(|missing| missing);
    let _ = writeln!(
        text,
        "{:15} {version}\n                {}\n                workloads: {}",
        def.entry.name,
        def.entry.help,
        workloads_of(def).join(", ")
    );
    text
}

fn json(def: &EngineDef) -> serde_json::Value {
    let version = (def.version)();
    serde_json::json!({
        "engine": def.entry.name, "help": def.entry.help, "version": version.as_ref().ok(), "missing": version.as_ref().err(),
        "workloads": workloads_of(def),
    })
}
