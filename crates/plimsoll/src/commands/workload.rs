//! `plimsoll file|insert|oltp ...`: one workload from flags; a small plan, which `--print-plan` shows.

use super::measure;
use crate::bus_flags;
use crate::context::Context;
use crate::exit::{Exit, Fault};
use crate::flags;
use crate::foreseen_pairs::fit_lengths;
use crate::output;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};
use engine::{ENGINES, EngineDef};
use model::{Catalogue, DataSet, Entry, Family, Plan};
use plan::{Overrides, PlanError};
use report::wording::list::capital;
use runner::SetPlace;
use workload::WorkloadDef;
use workload::replay_sql::REPLAY_SQL;

/// The command of one workload: its parameters, and those of every engine that can perform it.
pub fn clap(def: &WorkloadDef) -> Command {
    let print = Arg::new("print-plan").long("print-plan").action(ArgAction::SetTrue);
    let mut command = Command::new(def.entry.name).about(capital(def.entry.help)).arg(flags::directory());
    let engines = engines_of(def);
    command = flags::with_engine_params(flags::with_workload_params(command, &def.entry), &engines);
    command = flags::with_writes(command);
    let default = plan::default_engine(&def.entry, &engines).map_or("none", |engine| engine.name);
    let offered = plan::offered_engines(&engines);
    command = bus_flags::with_coordinator(flags::with_output(flags::with_scale(flags::with_common(command, &engines))));
    command = flags::with_quick_look(command)
        .mut_arg("engine", |engine| engine.help(format!("Engine to benchmark: {offered} [default: {default}]")))
        .arg(print.help("Print these flags as a plan file, and run nothing"));
    command = def.usual_keys.iter().fold(command, |command, (key, text)| flags::with_usual(command, key, text));
    let is_on_files = def.entry.families.contains(&Family::Io);
    let is_of_statements = def.entry.name == REPLAY_SQL.entry.name;
    let not_useful =
        ON_FILES_ONLY.iter().filter(|_| !is_on_files).chain(["restore"].iter().filter(|_| !is_of_statements));
    not_useful.fold(command, |command, flag| command.mut_arg(*flag, |flag| flag.hide(true)))
}

/// Flags that no database takes: hidden there, and still answered with the reason.
const ON_FILES_ONLY: [&str; 4] = ["path", "depth", "precondition", "destroy"];

/// The engines that can perform the workload, those for tests of plimsoll itself last.
fn engines_of(def: &WorkloadDef) -> Vec<Entry> {
    let families = def.entry.families;
    let able = ENGINES.iter().copied().filter(|engine| engine.entry.families.iter().any(|own| families.contains(own)));
    let (scripted, real): (Vec<&EngineDef>, Vec<&EngineDef>) = able.partition(|engine| engine.scripted);
    real.into_iter().chain(scripted).map(|engine| engine.entry).collect()
}

/// Keys of the plan that a command sets itself: stronger than flags.
pub struct PresetKeys<'a>(pub &'a [(&'a str, &'a str)]);

impl PresetKeys<'_> {
    /// Adds them to `overrides`.
    pub fn add_to(&self, overrides: &mut Overrides) {
        self.0.iter().for_each(|(key, text)| overrides.flag(key, text));
    }
}

pub fn execute(def: &WorkloadDef, matches: &ArgMatches, context: &Context) -> Result<Exit, Fault> {
    execute_with(def, matches, &PresetKeys(&[]), context)
}

/// Does it with the keys that the command sets itself.
pub fn execute_with(
    def: &WorkloadDef,
    matches: &ArgMatches,
    preset: &PresetKeys,
    context: &Context,
) -> Result<Exit, Fault> {
    let (plan, overrides) = plan_of_flags(def, matches, preset, context)?;
    if matches.get_flag("print-plan") {
        let scale = flags::scale(matches)?;
        output::print(&plan::to_toml(def.entry.name, &overrides, scale, &context.catalogue));
        return Ok(Exit::Done);
    }
    let options = flags::options(matches);
    let plan = fit_lengths(plan, matches, &options.site.runs, &context.catalogue)?;
    let done = measure::run_plan(&plan, &options, context);
    done.map_err(|fault| Fault { text: flags::in_flags(&fault.text, &clap(def)), ..fault })
}

/// The plan that the flags of a command make, and its keys.
pub fn plan_of_flags(
    def: &WorkloadDef,
    matches: &ArgMatches,
    preset: &PresetKeys,
    context: &Context,
) -> Result<(Plan, Overrides), Fault> {
    let mut given = flags::overrides(matches)?;
    preset.add_to(&mut given);
    // What is not asked for is as in the data set.
    let set = found_set(def, matches, &given, context);
    keys_of_set(def, matches, set).iter().for_each(|(key, text)| given.usual(key, text));
    plan_of(def, &given, flags::scale(matches)?, &context.catalogue)
        .map_err(|error| Fault::usage(flags::in_flags(&error.to_string(), &clap(def))))
}

/// The data set that `matches` name, in the directory that is measured or else on the server; `None` if nothing can be read of it. What is
/// wrong with it is said before the first point.
fn found_set(def: &WorkloadDef, matches: &ArgMatches, given: &Overrides, context: &Context) -> Option<DataSet> {
    let name = matches.get_one::<String>("data_set")?;
    host::data_set::one(&flags::options(matches).site.dir, name).or_else(|| {
        let (plan, _) = plan_of(def, given, 1.0, &context.catalogue).ok()?;
        let found = runner::data_sets(SetPlace::Server(plan.trials.first()?)).ok()?;
        found.into_iter().find(|found| found.name == *name)?.set
    })
}

/// The keys that shape the data of `set`.
fn keys_of_set(def: &WorkloadDef, matches: &ArgMatches, set: Option<DataSet>) -> Vec<(String, String)> {
    let set = set.filter(|set| set.trial.workload.name == def.entry.name);
    let keys = set.map_or_else(Default::default, |set| engine::set_fit::shape(&set.trial));
    // With a scale the numbers are multiplied, and what a plan file spells out is no flag.
    let is_given = |key: &str| matches.value_source("scale") == Some(ValueSource::CommandLine) && key != "engine";
    let is_flag = |key: &str, text: &str| key != "workload" && !text.contains('#') && !is_given(key);
    keys.into_iter().filter(|(key, text)| is_flag(key, text)).collect()
}

/// The plan of the flags that were given, and these with what is usual.
pub fn plan_of(
    def: &WorkloadDef,
    given: &Overrides,
    scale: f64,
    catalogue: &Catalogue,
) -> Result<(Plan, Overrides), PlanError> {
    let parse = |usual: &[(&str, &str)]| -> Result<(Plan, Overrides), PlanError> {
        let mut overrides = given.clone();
        usual.iter().rev().for_each(|(key, text)| overrides.usual(key, text));
        Ok((plan::from_flags(def.entry.name, &overrides, scale, catalogue)?, overrides))
    };
    let steps = def.entry.steps().map(|(name, _)| name);
    let mut usual_steps: Vec<(&str, &str)> = def.usual_keys.to_vec();
    usual_steps.retain(|(key, _)| Some(*key) == steps);
    // What is usual may contradict what was given, such as a time and until = `steady`. The usual steps stay: without them all are run.
    let plan = parse(def.usual_keys).or_else(|_| parse(&usual_steps));
    if steps.is_none() || !given.has("time") {
        return plan;
    }
    // No time shortens a load of a number of rows. If you give a time and no number, and there is nothing else to be timed, loads end by it.
    plan.or_else(|error| parse(&[&[ENDLESS][..], &usual_steps].concat()).map_err(|_| error))
}

/// Inserts go on until their time is over.
pub const ENDLESS: (&str, &str) = ("rows", "0");

#[cfg(test)]
mod tests {
    use super::*;
    use workload::WORKLOADS;

    /// The rows of each step of `insert` with these flags, or why they are refused.
    fn rows(flags: &[(&str, &str)]) -> Result<Vec<String>, String> {
        let def = WORKLOADS.iter().find(|def| def.entry.name == "insert").expect("it is a workload");
        let given =
            Overrides::from_flags(flags.iter().map(|(key, text)| (key.to_string(), text.to_string())).collect());
        let (plan, overrides) = plan_of(def, &given, 1.0, &runner::catalogue()).map_err(|error| error.to_string())?;
        let again = plan::from_flags("insert", &overrides, 1.0, &runner::catalogue());
        assert_eq!(again.as_ref(), Ok(&plan), "what is printed is what is run");
        Ok(plan.trials.iter().map(|trial| trial.workload.params.0["rows"].to_string()).collect())
    }

    #[test]
    fn a_time_without_rows_ends_loads_if_nothing_else_is_timed() {
        assert_eq!(rows(&[]).unwrap(), ["100000", "100000"]);
        assert_eq!(rows(&[("time", "5s")]).unwrap(), ["0", "0"]);
        assert_eq!(rows(&[("time", "5s"), ("step", "l.i0,l.i1")]).unwrap(), ["0", "0"]);
        assert_eq!(rows(&[("time", "5s"), ("step", "l.i0,qp")]).unwrap(), ["100000", "100000"]);
        let refused = rows(&[("time", "5s"), ("rows", "1000")]).unwrap_err();
        assert!(refused.contains("`time` has no effect") || refused.contains("--time has no effect"), "{refused}");
        assert!(rows(&[("warmup", "5s")]).is_err(), "a warmup says nothing of how long to insert");
    }
}
