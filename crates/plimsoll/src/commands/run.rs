//! `plimsoll run PLAN`: a plan file, a built-in plan, or the plan of a run file; or the rest of a run that was interrupted.

use super::measure::RecordedRun;
use super::{ceiling, list, measure, plans};
use crate::bus_flags;
use crate::context::Context;
use crate::exit::{Exit, Fault};
use crate::flags::{self, Options};
use crate::foreseen_pairs::fit_lengths;
use crate::output;
use clap::{Arg, ArgAction, ArgMatches, Command};
use model::Plan;

pub fn clap() -> Command {
    let plan = Arg::new("plan").value_name("PLAN").required_unless_present("resume").conflicts_with("resume");
    let resume = Arg::new("resume").long("resume").value_name("RUN");
    let ceiling = Arg::new("ceiling").long("ceiling").action(ArgAction::SetTrue);
    let command = Command::new("run")
        .arg(plan.help("Plan file, name of a built-in plan (`plimsoll plans`), or run file (NAME.plimsoll) whose plan is measured again; required without --resume"))
        .arg(resume.help("Resume an interrupted run: its file, its name in --runs, or `last`"))
        .arg(ceiling.help(
            "Afterwards show how much of what the disk carries of its I/O each point used, as `plimsoll ceiling` does",
        ))
        .arg(flags::directory());
    let command = flags::with_common(flags::with_writes(command), &flags::engine_entries());
    let command = flags::with_output(flags::with_scale(command));
    let command = flags::with_quick_look(command).mut_arg("quick-look", |flag| flag.conflicts_with("resume"));
    bus_flags::with_coordinator(command).about("Run a plan: measure every point of its matrix, then write the report")
}

pub fn execute(matches: &ArgMatches, context: &Context) -> Result<Exit, Fault> {
    let options = flags::options(matches);
    let with_ceiling = matches.get_flag("ceiling");
    if with_ceiling && context.json {
        return Err(Fault::usage(
            "--ceiling and --json exclude each other; use `plimsoll ceiling last --json` afterwards",
        ));
    }
    if let Some(run) = matches.get_one::<String>("resume") {
        flags::no_keys(matches, "resume")?;
        let recorded = measure::record_rest(&list::find(run, &options.site.runs)?, &options, context)?;
        return conclude(recorded, with_ceiling, &options, context);
    }
    let name = matches.get_one::<String>("plan").expect("clap requires it without --resume");
    let plan = if name.ends_with(&format!(".{}", store::EXTENSION)) {
        // Its points are as long as they were.
        flags::quick_look(recorded_plan(name, matches, &options, context)?, matches, &context.catalogue)?
    } else {
        let plan = plans::load(name, &flags::overrides(matches)?, flags::scale(matches)?, context)?;
        fit_lengths(plan, matches, &options.site.runs, &context.catalogue)?
    };
    conclude(measure::record_plan(&plan, &options, context)?, with_ceiling, &options, context)
}

/// The plan that the run called `name` holds: the same points with the same seeds.
fn recorded_plan(name: &str, matches: &ArgMatches, options: &Options, context: &Context) -> Result<Plan, Fault> {
    if let Some(flag) = flags::written_key(matches) {
        return Err(Fault::usage(format!("--{flag}: the plan of a run file is measured as it is; leave the flag out")));
    }
    let plan = store::read_meta(&list::find(name, &options.site.runs)?)?.meta.plan;
    if let Some(why) = &plan.why {
        let (run, point) = (&why.run_id, why.point);
        let command = format!("plimsoll why {} --point {point}", output::shell_word(run));
        return Err(Fault::usage(format!("`{name}` is a run of `plimsoll why`; repeat it with `{command}`")));
    }
    plan::check(&plan, name, &context.catalogue)?;
    Ok(plan)
}

fn conclude(recorded: RecordedRun, with_ceiling: bool, options: &Options, context: &Context) -> Result<Exit, Fault> {
    let run = recorded.read_back()?;
    let exit = measure::conclude_run(&run, recorded, options, context)?;
    if with_ceiling {
        ceiling::of_run(&run, options, context)?;
    }
    Ok(exit)
}
