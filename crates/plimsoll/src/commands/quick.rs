//! `plimsoll quick [DIR]`: the built-in plan `quick` on a directory.

use super::{measure, plans};
use crate::context::Context;
use crate::exit::{Exit, Fault};
use crate::flags;
use clap::{Arg, ArgMatches, Command};

pub fn clap() -> Command {
    let dir = Arg::new("dir").value_name("DIR").default_value(".").help("Directory on the disk to measure");
    flags::with_output(flags::with_scale(Command::new("quick").arg(dir)))
        .about("Measure this disk and the embedded engines in at most a minute; needs no root and no server")
}

pub fn execute(matches: &ArgMatches, context: &Context) -> Result<Exit, Fault> {
    let plan = plans::load("quick", &plan::Overrides::default(), flags::scale(matches)?, context)?;
    measure::run_plan(&plan, &flags::options(matches), context)
}
