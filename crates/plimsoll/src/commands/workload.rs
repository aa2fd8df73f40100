//! `plimsoll file|insert|oltp ...`: one workload from flags; a small plan, which `--print-plan` shows.

use super::measure;
use crate::context::Context;
use crate::exit::{Exit, Fault};
use crate::flags;
use crate::output;
use clap::{Arg, ArgAction, ArgMatches, Command};
use workload::WorkloadDef;

/// The command of one workload: its parameters, and those of every engine that can perform it.
pub fn clap(def: &WorkloadDef) -> Command {
    let print = Arg::new("print-plan").long("print-plan").action(ArgAction::SetTrue);
    let mut command = Command::new(def.entry.name).about(output::capital(def.entry.help)).arg(flags::directory());
    command = flags::with_params(command, "workload", &def.entry);
    for engine in
        engine::ENGINES.iter().filter(|engine| engine.entry.families.iter().any(|f| def.entry.families.contains(f)))
    {
        command = flags::with_params(command, "engine", &engine.entry);
    }
    let engines: Vec<model::Entry> = engine::ENGINES.iter().map(|engine| engine.entry).collect();
    let default = plan::default_engine(&def.entry, &engines).map_or("none", |engine| engine.name);
    flags::with_output(flags::with_scale(flags::with_common(command)))
        .mut_arg("engine", |engine| engine.help(format!("Engine to benchmark [default: {default}]")))
        .arg(print.help("Print these flags as a plan file, and run nothing"))
}

/// Does it.
pub fn execute(def: &WorkloadDef, matches: &ArgMatches, context: &Context) -> Result<Exit, Fault> {
    let overrides = flags::overrides(matches)?;
    let plan = plan::from_flags(def.entry.name, &overrides, flags::scale(matches)?, &context.catalogue)?;
    if matches.get_flag("print-plan") {
        output::print(&plan::to_toml(def.entry.name, &overrides));
        return Ok(Exit::Done);
    }
    measure::run_plan(&plan, &flags::options(matches), context)
}
