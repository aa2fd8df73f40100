//! `plimsoll history`: the runs of a directory that share a plan, over time, and where their numbers changed.

use super::list;
use crate::context::Context;
use crate::exit::{Exit, Fault};
use crate::flags;
use crate::output;
use analysis::history::{History, HistoryRun};
use clap::{Arg, ArgAction, ArgMatches, Command};
use std::path::{Path, PathBuf};

/// A file that is left out, and why.
pub struct UnreadRun {
    pub file: PathBuf,
    /// Why it cannot be used.
    pub reason: String,
}

pub fn clap() -> Command {
    let dir = Arg::new("directory").value_name("DIR").conflicts_with("runs");
    let out = Arg::new("out")
        .long("out")
        .value_name("DIR")
        .help("Directory of the report [default: history-report next to the run files]");
    let no_report = Arg::new("no-report").long("no-report").action(ArgAction::SetTrue).conflicts_with("out");
    Command::new("history")
        .arg(dir.help("Directory of run files; the same as --runs"))
        .arg(flags::runs("Directory of run files"))
        .arg(out)
        .arg(no_report.help("Write no report"))
        .about("Show how the numbers of a plan changed over its runs, and with which run that began")
}

pub fn execute(matches: &ArgMatches, context: &Context) -> Result<Exit, Fault> {
    let dir = matches.get_one::<String>("directory").map_or_else(|| flags::runs_dir(matches), |dir| Path::new(dir));
    let report = (!matches.get_flag("no-report")).then(|| report_dir(matches, dir));
    report.as_deref().map_or(Ok(()), host::safety::check_links)?;
    let (runs, unread) = read_runs(&list::run_files_of(dir)?);
    for one in &unread {
        context.note(format_args!("left out: {}", one.reason));
    }
    if runs.is_empty() {
        return Err(Fault::usage(format!(
            "there are no runs to compare in `{}`; name another directory with --runs",
            output::shown(dir)
        )));
    }
    let history = History::from_runs(runs);
    let report = report.map(|into| report::write_history(&history, &into)).transpose()?.map(|report| report.html);
    if context.json {
        output::json::print(&output::history_json::history(&history, &unread, report.as_deref()))
    } else {
        print_text(&history, report.as_deref(), context)
    }
    Ok(Exit::Done)
}

/// Reads each file and keeps what the history needs of it: whole runs together might not fit into memory.
fn read_runs(files: &[PathBuf]) -> (Vec<HistoryRun>, Vec<UnreadRun>) {
    let (mut runs, mut unread) = (Vec::new(), Vec::new());
    for file in files {
        match store::read(file) {
            Ok(run) => runs.push(HistoryRun::from_run(&run, &analysis::analyse(&run))),
            Err(error) => unread.push(UnreadRun { file: file.clone(), reason: error.to_string() }),
        }
    }
    (runs, unread)
}

fn report_dir(matches: &ArgMatches, dir: &Path) -> PathBuf {
    matches.get_one::<String>("out").map_or_else(|| dir.join("history-report"), PathBuf::from)
}

fn print_text(history: &History, report: Option<&Path>, context: &Context) {
    output::print(&report::history_text(history, context.width()));
    if let Some(report) = report {
        output::print(&format!("\nreport: {}\n", output::shown(report)));
    }
}
