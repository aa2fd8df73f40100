//! `plimsoll report RUN...`: the report of each run next to its file, or with `--out` one report of all of them that can be published.

use super::list;
use super::measure::write_report;
use crate::context::Context;
use crate::exit::{Exit, Fault};
use crate::flags::{self, StatedMachine};
use crate::output;
use crate::output::progress::chores::ProgressLine;
use crate::read_run::{ReadRun, read_data, run_name};
use analysis::compare::{ComparedRun, compare_runs, overlay_runs};
use clap::{Arg, ArgAction, ArgMatches, Command};
use model::RunData;
use report::redact::{Redaction, Redactor};
use report::{PointCharts, PublishedRun};
use std::path::{Path, PathBuf};

pub fn clap() -> Command {
    let runs = Arg::new("run").value_name("RUN").required(true).num_args(1..).action(ArgAction::Append);
    let out = Arg::new("out").short('o').long("out").value_name("DIR");
    let base = Arg::new("base").long("base").value_name("RUN").requires("out");
    let all_charts = Arg::new("all-charts").long("all-charts").action(ArgAction::SetTrue).conflicts_with("out");
    let redact = Arg::new("redact").long("redact").value_name("hosts,users,paths").requires("out");
    flags::with_stated_machine(Command::new("report"))
        .arg(runs.help("Run files, names of runs in --runs, or `last`"))
        .arg(out.help(
            "Write one report of all RUNs into this directory: index.html, charts/, tables.md, data.csv [default: a report next to each run file]",
        ))
        .arg(base.help("With --out, the RUN that the others are compared with [default: the first]"))
        .arg(all_charts.help(
            "Draw the charts of single points of all points, not only of those that something disturbed and of the best and the worst of each sweep",
        ))
        .arg(redact.value_parser(Redaction::parse).help(
            "With --out, replace names of hosts, names of users, and paths with the serial numbers of devices by host-1, user-1 and /path-1",
        ))
        .arg(flags::runs("Directory of run files"))
        .about("Write the report of each recorded run, or one report of several that can be published")
}

pub fn execute(matches: &ArgMatches, context: &Context) -> Result<Exit, Fault> {
    let names: Vec<&String> = matches.get_many("run").into_iter().flatten().collect();
    let written = match matches.get_one::<String>("out") {
        Some(dir) => vec![write_one(&names, Path::new(dir), matches, context)?],
        None => write_each(&names, matches, context)?,
    };
    if context.json {
        output::json::print(&serde_json::json!({"schema": "plimsoll.report/1", "reports": written}))
    } else {
        written.iter().for_each(|html| output::print(&format!("report: {}\n", output::shown(html))))
    }
    Ok(Exit::Done)
}

/// Writes the report of each run next to its file.
fn write_each(names: &[&String], matches: &ArgMatches, context: &Context) -> Result<Vec<PathBuf>, Fault> {
    let stated = StatedMachine::from_flags(matches)?;
    let points = if matches.get_flag("all-charts") { PointCharts::All } else { PointCharts::Telling };
    let progress = ProgressLine::start(names.len() as u64, context);
    let mut written = Vec::new();
    for name in names {
        let file = list::find(name, flags::runs_dir(matches))?;
        progress.step(&format!("report of {}", output::shown(&file)));
        let mut recorded = read_data(&file)?;
        stated.state(&mut recorded.meta);
        written.push(write_report(&analysis::analyse(&recorded), &file, points)?.html);
    }
    Ok(written)
}

/// Writes one report of all runs into `dir`.
fn write_one(names: &[&String], dir: &Path, matches: &ArgMatches, context: &Context) -> Result<PathBuf, Fault> {
    if dir.file_name().is_none() {
        let text = format!("--out: `{}` has no name of its own; name a new directory", output::shown(dir));
        return Err(Fault::usage(text));
    }
    host::safety::check_links(dir)?;
    let files = with_base_first(list::find_distinct(names, flags::runs_dir(matches), "name each run once")?, matches)?;
    let stated = StatedMachine::from_flags(matches)?;
    // Reading, the comparison, and a report of each run.
    let progress = ProgressLine::start(2 * files.len() as u64 + 1, context);
    let mut recorded = Vec::new();
    for file in &files {
        progress.step(&format!("reading {}", output::shown(file)));
        let mut data = read_data(file)?;
        stated.state(&mut data.meta);
        recorded.push((run_name(file), data));
    }
    if let Some(redaction) = matches.get_one::<Redaction>("redact") {
        redact(*redaction, &mut recorded);
    }
    let runs: Vec<ReadRun> = recorded.into_iter().map(|(name, data)| ReadRun::analyse(name, data)).collect();
    let compared: Vec<ComparedRun> = runs.iter().map(ReadRun::as_compared).collect();
    let published: Vec<PublishedRun> =
        runs.iter().map(|run| PublishedRun { file: &run.name, analysis: &run.analysis }).collect();
    Ok(report::publish(&published, compare_runs(&compared), &overlay_runs(&compared), dir, &|what: &str| {
        progress.step(what)
    })?
    .html)
}

/// `files` with the one that `--base` names first.
fn with_base_first(mut files: Vec<PathBuf>, matches: &ArgMatches) -> Result<Vec<PathBuf>, Fault> {
    let Some(base) = matches.get_one::<String>("base") else { return Ok(files) };
    let wanted = list::find(base, flags::runs_dir(matches))?;
    let Some(at) = files.iter().position(|file| file.canonicalize().ok() == wanted.canonicalize().ok()) else {
        return Err(Fault::usage(format!(
            "--base: `{}` is none of the runs of the report; add it to them",
            base.escape_debug()
        )));
    };
    files[..=at].rotate_right(1);
    Ok(files)
}

/// Replaces names in the runs, and in what they are called.
fn redact(redaction: Redaction, recorded: &mut [(String, RunData)]) {
    let mut data: Vec<&mut RunData> = recorded.iter_mut().map(|(_, data)| data).collect();
    let redactor = Redactor::redact(redaction, &mut data);
    recorded.iter_mut().for_each(|(name, _)| *name = redactor.text(name));
}
