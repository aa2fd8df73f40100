//! `plimsoll report RUN...`: report.html, charts, Markdown and CSV of recorded runs.

use super::list;
use super::measure::report_dir;
use crate::context::Context;
use crate::exit::{Exit, Fault};
use crate::flags::{self, StatedMachine};
use crate::output;
use crate::output::progress::chores::ProgressLine;
use clap::{Arg, ArgAction, ArgMatches, Command};
use std::path::PathBuf;

/// The command.
pub fn clap() -> Command {
    let runs = Arg::new("run").value_name("RUN").required(true).num_args(1..).action(ArgAction::Append);
    let out = Arg::new("out")
        .long("out")
        .value_name("DIR")
        .help("Directory to write to (only with one RUN) [default: next to the run file]");
    flags::with_stated_machine(Command::new("report"))
        .arg(runs.help("Run files, names of runs in --runs, or `last`"))
        .arg(out)
        .arg(flags::runs("Directory of run files"))
        .about("Write the report of each recorded run: HTML, charts, Markdown, CSV")
}

/// Does it.
pub fn execute(matches: &ArgMatches, context: &Context) -> Result<Exit, Fault> {
    let runs: Vec<&String> = matches.get_many("run").into_iter().flatten().collect();
    let out = matches.get_one::<String>("out").map(PathBuf::from);
    if out.is_some() && runs.len() > 1 {
        return Err(Fault::usage("--out takes one RUN; without --out each report is written next to its run file"));
    }
    let stated = StatedMachine::from_flags(matches)?;
    let mut written = Vec::new();
    let progress = ProgressLine::start(runs.len() as u64, context);
    for run in runs {
        let run_file = list::find(run, flags::runs_dir(matches))?;
        progress.step(&format!("report of {}", output::shown(&run_file)));
        let mut recorded = store::read(&run_file)?;
        stated.state(&mut recorded.meta);
        let analysis = analysis::analyse(&recorded);
        let dir = out.clone().unwrap_or_else(|| report_dir(&run_file));
        written.push(report::write(&analysis, &dir)?.html);
    }
    drop(progress);
    match context.json {
        true => output::json::print(&serde_json::json!({"schema": "plimsoll.report/1", "reports": written})),
        false => written.iter().for_each(|html| output::print(&format!("report: {}\n", output::shown(html)))),
    }
    Ok(Exit::Done)
}
