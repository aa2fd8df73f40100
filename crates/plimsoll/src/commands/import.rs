//! `plimsoll import FILE...`: results of other programs become a run file.

use super::answer;
use crate::context::Context;
use crate::exit::{Exit, Fault};
use crate::flags;
use crate::output;
use clap::{Arg, ArgAction, ArgMatches, Command};
use import::{STATED_WORKLOAD, StatedSettings};
use model::Params;
use plan::Overrides;
use std::path::PathBuf;

pub fn clap() -> Command {
    let files = Arg::new("file").value_name("FILE").required(true).num_args(1..).action(ArgAction::Append);
    let name = Arg::new("name").long("name").value_name("NAME");
    let engine = Arg::new("import-engine").long("engine").value_name("ENGINE");
    let set = Arg::new("import-set").long("set").value_name("KEY=VALUE").action(ArgAction::Append);
    Command::new("import")
        .arg(files.help("Output of fio (JSON), sysbench, pgbench, HammerDB, YCSB, go-tpc or memtier_benchmark, and logs of fio or pgbench of the same run"))
        .arg(flags::runs("Directory of run files"))
        .arg(flags::details())
        .arg(name.help("Name of the run [default: when it began, and the program]"))
        .arg(engine.help("The database, which sysbench does not print, such as `mariadb`"))
        .arg(set.help("A parameter that sysbench does not print, such as `mix=read_write` or `table_rows=1000000`; may be repeated"))
        .about("Import results of fio, sysbench, pgbench, HammerDB, YCSB, go-tpc or memtier_benchmark, to show, report and compare them like recorded runs")
}

pub fn execute(matches: &ArgMatches, context: &Context) -> Result<Exit, Fault> {
    let runs = flags::runs_dir(matches);
    host::safety::check_links(runs)?;
    let files: Vec<PathBuf> = matches.get_many::<String>("file").into_iter().flatten().map(PathBuf::from).collect();
    let stated = stated_settings(matches, context)?;
    let imported = import::read_files(&files, &stated, &context.catalogue)?;
    let name = matches.get_one::<String>("name").cloned().unwrap_or_else(|| imported.usual_name());
    let run_file = imported.write(runs, &name)?;
    let run = store::read(&run_file)?;
    let analysis = analysis::analyse(&run);
    imported.notes().iter().for_each(|note| output::say(format_args!("left out of {note}")));
    if context.json {
        output::json::print(&output::json::run(&analysis, &run, &run_file, None))
    } else {
        answer::print(&analysis, &run_file, None, matches.get_flag("details"), context);
    }
    Ok(Exit::Done)
}

/// What the user states of the engine and the workload, checked as a plan would be.
fn stated_settings(matches: &ArgMatches, context: &Context) -> Result<StatedSettings, Fault> {
    let entries = &context.catalogue.engines;
    let asked = matches.get_one::<String>("import-engine");
    let engine = asked.and_then(|name| plan::entry_named(name, entries)).map(|entry| entry.name.to_owned());
    if let Some(name) = asked.filter(|_| engine.is_none()) {
        let (name, names) = (name.escape_debug(), plan::offered_engines(entries));
        return Err(Fault::usage(format!("--engine: there is no engine `{name}`; use one of {names}")));
    }
    let (mut engine_params, mut workload_params) = (Params::default(), Params::default());
    for pair in matches.get_many::<String>("import-set").into_iter().flatten() {
        let (key, value) = pair
            .split_once('=')
            .ok_or_else(|| Fault::usage(format!("--set: `{}` is not KEY=VALUE", pair.escape_debug())))?;
        let mut keys = Overrides::default();
        engine.iter().for_each(|engine| keys.flag("engine", engine));
        keys.set(key.trim(), value);
        let planned = plan::from_flags(STATED_WORKLOAD, &keys, 1.0, &context.catalogue)?;
        let [trial] = planned.trials.as_slice() else {
            return Err(Fault::usage(format!("--set: `{}` has several values; a result has one", pair.escape_debug())));
        };
        let of = |params: &Params| params.0.get(key.trim()).cloned();
        match (of(&trial.workload.params), of(&trial.target.params)) {
            (Some(value), _) => drop(workload_params.0.insert(key.trim().to_owned(), value)),
            (None, Some(value)) => drop(engine_params.0.insert(key.trim().to_owned(), value)),
            (None, None) => {
                return Err(Fault::usage(format!(
                    "--set: `{}` is no parameter of an engine or of the workload `{STATED_WORKLOAD}`; `plimsoll {STATED_WORKLOAD} --help` lists them",
                    key.escape_debug()
                )));
            }
        }
    }
    Ok(StatedSettings { engine, engine_params, workload_params })
}
