//! The commands: one file each.
//!
//! In: matched arguments. Out: what was asked, or a [`Fault`]. Limits: each workload is a command of its own; they are made
//! from the workloads' declarations and not written here.

mod agent;
mod answer;
mod ceiling;
mod compare;
mod completions;
mod compress;
mod data;
mod disk;
mod dist;
mod doctor;
mod engines;
mod explain;
mod export;
mod history;
mod import;
mod limit;
pub mod list;
mod man;
pub mod measure;
mod observe;
mod plan;
pub mod plans;
mod quick;
mod record_io;
mod recorded;
mod recorded_save;
mod reference;
mod report;
mod run;
mod schema;
mod serve;
mod show;
mod sql;
mod verify;
mod why;
pub mod workload;

pub use history::UnreadRun;

use crate::context::Context;
use crate::exit::{Exit, Fault};
use clap::{ArgMatches, Command};

#[derive(Clone, Copy)]
pub enum CommandDef {
    /// It is written by hand.
    Fixed {
        /// Its name and arguments.
        clap: fn() -> Command,
        execute: fn(&ArgMatches, &Context) -> Result<Exit, Fault>,
    },
    /// One workload from flags.
    Workload(&'static ::workload::WorkloadDef),
}

const FIXED: &[CommandDef] = &[
    CommandDef::Fixed { clap: quick::clap, execute: quick::execute },
    CommandDef::Fixed { clap: run::clap, execute: run::execute },
    CommandDef::Fixed { clap: plan::clap, execute: plan::execute },
    CommandDef::Fixed { clap: limit::clap, execute: limit::execute },
    CommandDef::Fixed { clap: why::clap, execute: why::execute },
    CommandDef::Fixed { clap: ceiling::clap, execute: ceiling::execute },
    CommandDef::Fixed { clap: observe::clap, execute: observe::execute },
    CommandDef::Fixed { clap: agent::clap, execute: agent::execute },
    CommandDef::Fixed { clap: data::clap, execute: data::execute },
    CommandDef::Fixed { clap: report::clap, execute: report::execute },
    CommandDef::Fixed { clap: compare::clap, execute: compare::execute },
    CommandDef::Fixed { clap: list::clap, execute: list::execute },
    CommandDef::Fixed { clap: show::clap, execute: show::execute },
    CommandDef::Fixed { clap: history::clap, execute: history::execute },
    CommandDef::Fixed { clap: serve::clap, execute: serve::execute },
    CommandDef::Fixed { clap: import::clap, execute: import::execute },
    CommandDef::Fixed { clap: record_io::clap, execute: record_io::execute },
    CommandDef::Fixed { clap: recorded::clap, execute: recorded::execute },
    CommandDef::Fixed { clap: verify::clap, execute: verify::execute },
    CommandDef::Fixed { clap: export::clap, execute: export::execute },
    CommandDef::Fixed { clap: engines::clap, execute: engines::execute },
    CommandDef::Fixed { clap: plans::clap, execute: plans::execute },
    CommandDef::Fixed { clap: schema::clap, execute: schema::execute },
    CommandDef::Fixed { clap: disk::clap, execute: disk::execute },
    CommandDef::Fixed { clap: dist::clap, execute: dist::execute },
    CommandDef::Fixed { clap: doctor::clap, execute: doctor::execute },
    CommandDef::Fixed { clap: explain::clap, execute: explain::execute },
    CommandDef::Fixed { clap: completions::clap, execute: completions::execute },
    CommandDef::Fixed { clap: man::clap, execute: man::execute },
    CommandDef::Fixed { clap: reference::clap, execute: reference::execute },
];

/// All commands in the order of the help: those that measure first.
pub fn all() -> Vec<CommandDef> {
    let (measuring, others) = FIXED.split_at(6);
    let workloads: Vec<CommandDef> = ::workload::WORKLOADS.iter().map(|def| of_workload(def)).collect();
    [measuring, &workloads, others].concat()
}

/// The command of a workload: made from its declarations, unless it has arguments of its own.
fn of_workload(def: &'static ::workload::WorkloadDef) -> CommandDef {
    match def.entry.name {
        compress::NAME => CommandDef::Fixed { clap: compress::clap, execute: compress::execute },
        name if name == ::workload::sql::SQL.entry.name => CommandDef::Fixed { clap: sql::clap, execute: sql::execute },
        _ => CommandDef::Workload(def),
    }
}

/// The command that clap has matched.
pub fn find(name: &str) -> CommandDef {
    let found = all().into_iter().find(|command| command.clap().get_name() == name);
    found.expect("clap matches only commands that it knows")
}

impl CommandDef {
    /// Its name, help and arguments.
    pub fn clap(&self) -> Command {
        match self {
            CommandDef::Fixed { clap, .. } => clap(),
            CommandDef::Workload(def) => workload::clap(def),
        }
    }

    pub fn execute(&self, matches: &ArgMatches, context: &Context) -> Result<Exit, Fault> {
        match self {
            CommandDef::Fixed { execute, .. } => execute(matches, context),
            CommandDef::Workload(def) => workload::execute(def, matches, context),
        }
    }
}
