//! `plimsoll run PLAN`: a plan file or a built-in plan; or the rest of a run that was interrupted.

use super::{list, measure, plans};
use crate::context::Context;
use crate::exit::{Exit, Fault};
use crate::flags;
use clap::{Arg, ArgMatches, Command};

/// The command.
pub fn clap() -> Command {
    let plan = Arg::new("plan").value_name("PLAN").required_unless_present("resume").conflicts_with("resume");
    let resume = Arg::new("resume").long("resume").value_name("RUN");
    let command = Command::new("run")
        .arg(plan.help("Plan file, or name of a built-in plan (`plimsoll plans`); required without --resume"))
        .arg(resume.help("Resume an interrupted run: its file, its name in --runs, or `last`"))
        .arg(flags::directory());
    flags::with_output(flags::with_scale(flags::with_common(command, &flags::engine_entries())))
        .about("Run a plan: measure every point of its matrix, then write the report")
}

/// Does it.
pub fn execute(matches: &ArgMatches, context: &Context) -> Result<Exit, Fault> {
    let options = flags::options(matches);
    if let Some(run) = matches.get_one::<String>("resume") {
        flags::no_keys(matches, "resume")?;
        return measure::resume_run(&list::find(run, &options.site.runs)?, &options, context);
    }
    let name = matches.get_one::<String>("plan").expect("clap requires it without --resume");
    let plan = plans::load(name, &flags::overrides(matches)?, flags::scale(matches)?, context)?;
    measure::run_plan(&plan, &options, context)
}
