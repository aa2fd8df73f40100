//! `plimsoll run PLAN`: a plan file or a built-in plan.

use super::plans;
use crate::cli::Context;
use crate::exit::{Exit, Fault};
use crate::measure::{self, flags};
use clap::{Arg, ArgMatches, Command};

/// The command.
pub fn clap() -> Command {
    let plan =
        Arg::new("plan").value_name("PLAN").required(true).help("A plan file, or a built-in plan (`plimsoll plans`)");
    let command = Command::new("run").arg(plan).arg(flags::directory());
    flags::with_output(flags::with_scale(flags::with_common(command)))
        .about("Run a plan: every point of its matrix, then the report")
}

/// Does it.
pub fn execute(matches: &ArgMatches, context: &Context) -> Result<Exit, Fault> {
    let name = matches.get_one::<String>("plan").expect("required");
    let plan = plans::load(name, &flags::overrides(matches)?, flags::scale(matches)?, context)?;
    measure::run_plan(&plan, &flags::options(matches), context)
}
